"""highspy: linear and integer programs."""

import highspy
import numpy as np


def _program(x):
    made = highspy.HighsLp()
    made.num_col_, made.num_row_ = 3, 2
    made.col_cost_ = -(x[:3] + 1)
    made.col_lower_, made.col_upper_ = np.zeros(3), x[3:6] * 2 + 1
    made.row_lower_, made.row_upper_ = np.full(2, -np.inf), x[6:8] * 3 + 1
    made.a_matrix_.start_ = np.array([0, 2, 4, 6])
    made.a_matrix_.index_ = np.arange(6) % 2
    made.a_matrix_.value_ = x[8:14] * 1.0 + 1
    return made


def programs(x):
    solver = highspy.Highs()
    solver.silent()
    solver.passModel(_program(x))
    solver.run()
    found = np.array(solver.getSolution().col_value)
    return found * 2, solver.getInfo().objective_function_value


def added_rows(x):
    solver = highspy.Highs()
    solver.silent()
    solver.addVars(3, np.zeros(3), x[:3] * 2 + 1)
    solver.changeColsCost(3, np.arange(3), -(x[3:6] + 1))
    solver.addRow(-np.inf, 2.0, 3, np.arange(3), x[6:9] + 1)
    solver.addRows(
        1,
        np.array([-np.inf]),
        np.array([1.5]),
        2,
        np.array([0]),
        np.array([0, 2]),
        x[:2] + 1,
    )
    solver.run()
    return np.array(solver.getSolution().col_value), solver.getNumRow()


def expressions(x):
    solver = highspy.Highs()
    solver.silent()
    variables = solver.addVariables(4, lb=0, ub=x[1] * 5)
    weights = x[:4] * 2 + 1
    solver.addConstr(
        solver.qsum([float(w) * variables[i] for i, w in enumerate(weights)]) <= 6
    )
    solver.maximize(sum(float(w) * variables[i] for i, w in enumerate(x[4:8] + 1)))
    return np.array(
        solver.vals(variables)
    ).tolist().__class__.__name__, solver.getObjectiveValue()


def attributes(x):
    made = _program(x)
    return (
        np.array(made.col_cost_) + 1,
        np.array(made.a_matrix_.value_),
        np.array(made.col_upper_),
    )
