"""The run of several sets of parameters as one test."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import mxnp

synchronize = getattr(mxnp, "synchronize", lambda: None)


def with_each(
    body: Callable[..., Any], sets: dict[str, dict[str, Any]], names: set[str]
) -> Callable[..., None]:
    """Return a body that runs with each set of parameters, by the names of its own."""

    @functools.wraps(body)
    def each(**arguments: Any) -> None:
        skipped = []
        for id, params in sets.items():
            own = {name: params[name] for name in names & params.keys()}
            try:
                with warnings.catch_warnings():
                    body(**arguments | own)
                    synchronize()  # Warnings belong to the set that caused them.
            except pytest.skip.Exception as reason:
                skipped.append(reason)
            except BaseException as error:
                error.add_note(f"with the parameters [{id}]")
                raise
        if len(skipped) == len(sets):
            raise skipped[-1]

    return each
