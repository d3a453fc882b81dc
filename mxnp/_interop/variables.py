"""Show NumPy arrays to compiled code that looks up the variables of its caller.

duckdb finds the tables of a query among the variables of the calling frame. No argument
passes the boundary there. So the call is made from a frame whose variables are those
that the query names, with NumPy arrays in place of mxnp arrays.
"""

from __future__ import annotations

import functools
import re
import sys
from collections import ChainMap
from collections.abc import Callable
from typing import Any

from mxnp._array.ndarray import unwrap

# No query refers to a variable of this name.
_CALL = compile("__mxnp_call__()", __file__, "eval")
_WORD = re.compile(r"\w+")


def _unwrap_all(value: Any) -> Any:
    """Return a value with NumPy arrays in place of mxnp arrays, also in a dict."""
    if type(value) is not dict:
        return unwrap(value)
    return {key: unwrap(x) for key, x in value.items()}


def with_numpy_variables(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function find NumPy arrays in the variables that its strings name."""

    @functools.wraps(function)
    def call_with_variables(*args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        scope = ChainMap(frame.f_locals, frame.f_globals)
        texts = (x for x in (*args, *kwargs.values()) if isinstance(x, str))
        names = {name for text in texts for name in _WORD.findall(text)}
        variables = {name: _unwrap_all(scope[name]) for name in names if name in scope}
        called = functools.partial(function, *args, **kwargs)
        # Messages and tracebacks name the program's line.
        call = _CALL.replace(
            co_filename=frame.f_code.co_filename, co_firstlineno=frame.f_lineno
        )
        return eval(call, {"__mxnp_call__": called}, variables)

    return call_with_variables


def with_numpy_columns(register: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that keeps a dict of columns find NumPy arrays in it."""

    @functools.wraps(register)
    def call_with_columns(*args: Any, **kwargs: Any) -> Any:
        for table in (*args, *kwargs.values()):
            if type(table) is dict:
                table.update(_unwrap_all(table))
        return register(*args, **kwargs)

    return call_with_columns


_QUERIES = ("execute", "executemany", "from_query", "query", "sql", "table", "view")


def adapt_duckdb(duckdb: Any) -> None:
    """Make queries of duckdb find mxnp arrays in variables and registered dicts."""
    for owner in (duckdb, duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation):
        for name in _QUERIES:
            if name in vars(owner):
                setattr(owner, name, with_numpy_variables(getattr(owner, name)))
        if "register" in vars(owner):
            owner.register = with_numpy_columns(owner.register)
