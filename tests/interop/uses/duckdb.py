"""duckdb: SQL on arrays of the program."""

import duckdb
import numpy as np
from duckdb.sqltypes import DOUBLE


def _rows(query, *args):
    connection = duckdb.connect()
    return connection.execute(query, *args).fetchall()


def variables_by_name(x):
    i = np.arange(x.size) % 3
    y = x * 2.0
    columns = {"a": y, "i": i}
    pair = [y, i]
    query = "select i, sum(a), max(a) from columns group by i order by i"
    return (
        duckdb.sql(query).fetchall(),
        duckdb.execute("select sum(column0 * column1) from pair").fetchall(),
        duckdb.query("select count(*), max(column0) from y").fetchall(),
        duckdb.connect().sql("select sum(a) from columns").fetchnumpy(),
        duckdb.table("columns").filter("i = 1").aggregate("min(a)").fetchall(),
        pair[0] is y,
    )


def variables_of_other_kinds(x):
    y = x + 1.0
    plain = np.arange(5).tolist()
    columns = {"a": np.asarray(plain), "b": np.asarray(plain) * 2}
    query = "select sum(b), max(column0) from columns join y on columns.a < column0"
    return duckdb.sql(query).fetchall(), len(plain)


_LEVELS = np.arange(7) * 2.0


def variables_of_the_module():
    def nested():
        return duckdb.sql("select max(column0) from _LEVELS").fetchall()

    return nested(), duckdb.sql("select sum(column0) from _LEVELS").fetchall()


def error_variables_of_outer_frames(x):
    y = x + 1.0

    def nested():
        return duckdb.sql("select max(column0) from y").fetchall()

    return nested(), y


def relations(x):
    grid = x.reshape(2, -1) * 3.0
    relation = duckdb.sql("select * from grid")
    return relation.query("r", "select sum(column0), sum(column1) from r").fetchall()


def registered(x):
    connection = duckdb.connect()
    connection.register("table_of_x", {"x": x * 1.5})
    return connection.sql("select avg(x), count(*) from table_of_x").fetchall()


def parameters(x):
    y = x[:5] * 2.0
    return (
        _rows("select ?", [y]),
        _rows("select $a", {"a": y}),
        _rows("select ? + 1", [y[2]]),
        duckdb.sql("select 1 a").select(duckdb.ConstantExpression(y)).fetchall(),
    )


def inserted(x):
    connection = duckdb.connect()
    connection.execute("create table t (a double, b double[])")
    connection.executemany("insert into t values (?, ?)", [[v, x[:3]] for v in x[:9]])
    return connection.sql("select * from t order by a").fetchall()


def results_as_arrays(x):
    y = np.arange(x.size)
    result = duckdb.sql("select column0 * 2 as twice from y").fetchnumpy()
    return result, np.asarray(result["twice"]) + x


def functions_of_the_program(x):
    connection = duckdb.connect()
    connection.create_function("root", lambda v: float(np.sqrt(v)), [DOUBLE], DOUBLE)
    y = x * 1.0
    return connection.sql("select sum(root(column0)) from y").fetchall()


def error_unknown_variable():
    duckdb.sql("select * from absent").fetchall()
