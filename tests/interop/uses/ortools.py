"""ortools: linear and combinatorial optimization."""

import numpy as np
import pandas as pd
from ortools.graph.python import linear_sum_assignment, max_flow, min_cost_flow
from ortools.linear_solver import pywraplp
from ortools.sat.python import cp_model


def assignment(x):
    costs = (x[:36].reshape(6, 6) * 100).astype(int) * 2
    made = linear_sum_assignment.SimpleLinearSumAssignment()
    left = np.repeat(np.arange(6), 6)
    made.add_arcs_with_cost(left, np.tile(np.arange(6), 6), costs.ravel())
    made.solve()
    return made.optimal_cost(), [made.right_mate(i) for i in range(6)]


def flows(x):
    made = max_flow.SimpleMaxFlow()
    start, end = np.array([0, 0, 1, 1, 2]), np.array([1, 2, 2, 3, 3])
    arcs = made.add_arcs_with_capacity(start, end, (x[:5] * 20).astype(int) + 1)
    made.solve(0, 3)
    return made.optimal_flow(), made.flows(arcs) * 2


def cheapest_flows(x):
    made = min_cost_flow.SimpleMinCostFlow()
    start, end = np.array([0, 0, 1]), np.array([1, 2, 2])
    costs = (x[:3] * 9).astype(int) + 1
    arcs = made.add_arcs_with_capacity_and_unit_cost(start, end, np.full(3, 10), costs)
    made.set_nodes_supplies(np.arange(3), np.array([5, 0, -5]))
    made.solve()
    return made.optimal_cost(), made.flows(arcs)


def linear_programs(x):
    solver = pywraplp.Solver.CreateSolver("GLOP")
    weights = x[:5] + 1
    values = [solver.NumVar(0, 10, f"v{i}") for i in range(5)]
    solver.Add(sum(w * v for w, v in zip(weights, values)) <= 12.5)
    solver.Maximize(sum(float(w) * v for w, v in zip(x[5:10] * 2, values)))
    solver.Solve()
    return np.round(solver.Objective().Value(), 9), [v.solution_value() for v in values]


def constraints(x):
    sizes = (x[:8] * 9).astype(int) + 1
    model = cp_model.CpModel()
    chosen = [model.new_bool_var(f"c{i}") for i in range(8)]
    model.add(cp_model.LinearExpr.weighted_sum(chosen, sizes) <= 20)
    model.maximize(sum(int(s) * c for s, c in zip(sizes * 2, chosen)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    return solver.objective_value


def series_of_variables(x):
    model = cp_model.CpModel()
    index = pd.Index(np.arange(4))
    made = model.new_int_var_series("v", index, 0, (x[:4] * 9).astype(int) + 2)
    model.add(made.sum() <= 7)
    model.maximize(made.dot((x[:4] * 5).astype(int) + 1))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    return solver.objective_value
