"""Run the Array API tests of packages that take arrays, with mxnp as the library.

The wheels of scikit-learn, SciPy and array-api-extra contain their tests. Each suite
has a list of array libraries. This module replaces the list by the library to test, and
runs only the tests that are parametrized with it. It does not change files of the
suites.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# The configuration of the working directory does not apply to these tests.
OPTIONS = ["-q", "-rfE", "--tb=short", "--disable-warnings", "-c", os.devnull]
# Devices and dtypes with which scikit-learn's tests use a library.
COMBINATIONS = {"array_api_strict": [("CPU_DEVICE", "float64"), ("device1", "float32")]}
CPU = [("cpu", "float64"), ("cpu", "float32")]


def add_to_sklearn(library: str) -> None:
    """Parametrize scikit-learn's tests with a library."""
    tools = importlib.import_module("sklearn.utils._array_api")

    def yield_namespaces(include_numpy_namespaces: bool = True) -> Iterator[str]:
        yield library

    def yield_combinations(include_numpy_namespaces: bool = True) -> Iterator[Any]:
        for device, dtype in COMBINATIONS.get(library, CPU):
            yield library, device, dtype

    tools.yield_namespaces = yield_namespaces
    tools.yield_namespace_device_dtype_combinations = yield_combinations


def add_to_scipy(library: str) -> None:
    """Make SciPy's fixture `xp` return a library."""
    conftest = importlib.import_module("scipy.conftest")
    module = importlib.import_module(library)
    marks = pytest.mark.array_api_backends
    conftest.xp_known_backends.add(library)
    conftest.xp = with_parameter(
        conftest.xp, pytest.param(module, id=library, marks=marks)
    )


def add_to_array_api_extra(library: str) -> None:
    """Make the fixture `library` of array-api-extra return a library."""
    backends = importlib.import_module("array_api_extra._lib._backends").Backend
    conftest = importlib.import_module("array_api_extra.tests.main.conftest")
    if library not in [each.value for each in backends]:
        add_member(backends, library)
    parameter = backends(library).pytest_param()
    conftest.library = with_parameter(conftest.library, parameter)


def with_parameter(fixture: Any, parameter: Any) -> Any:
    """Return a fixture that calls another fixture's function with one parameter."""
    return pytest.fixture(params=[parameter])(fixture._get_wrapped_function())


def add_member(enumeration: Any, value: str) -> None:
    """Add a member to an existing enumeration."""
    member = object.__new__(enumeration)
    member._name_, member._value_ = value.upper(), value
    enumeration._member_names_.append(member._name_)
    enumeration._member_map_[member._name_] = member
    enumeration._value2member_map_[value] = member


@dataclass
class Package:
    """A package with Array API tests."""

    distribution: str
    add: Callable[[str], None]
    mentions: str  # a pattern that matches the text of files with such tests
    folder: str = "."
    options: tuple[str, ...] = ()


PACKAGES = {
    "sklearn": Package(
        "scikit-learn", add_to_sklearn, "yield_namespace|_array_api_for_tests"
    ),
    "scipy": Package(
        "scipy", add_to_scipy, r"\bxp\b", options=("-m", "not slow and not xslow")
    ),
    "array_api_extra": Package(
        "array-api-extra",
        add_to_array_api_extra,
        r"\bxp\b",
        "tests/main",
        ("-W", "error::DeprecationWarning"),  # as in its configuration
    ),
}


class Selection:
    """A pytest plugin that selects the tests of a library and records outcomes."""

    def __init__(self, package: Package, library: str) -> None:
        self.package, self.library = package, library
        self.outcomes: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Add the library before pytest reads fixtures and tests."""
        self.package.add(self.library)

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Deselect tests that do not use the library."""
        others = [item for item in items if not self.uses_library(item)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if self.uses_library(item)]

    def uses_library(self, item: Any) -> bool:
        """Return whether a parameter of a test is the library."""
        callspec = getattr(item, "callspec", None)
        values = callspec.params.values() if callspec else ()
        return self.library in map(name_of, values)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record the worst outcome of setup, call and teardown."""
        if report.failed:
            self.outcomes[report.nodeid] = "failed"
        elif report.when == "call" or report.skipped:
            is_expected = report.skipped and hasattr(report, "wasxfail")
            found = "expected" if is_expected else report.outcome
            self.outcomes.setdefault(report.nodeid, found)


def name_of(parameter: object) -> str | None:
    """Return the name of a library given as a string, a module or an Enum member."""
    if isinstance(parameter, ModuleType):
        return parameter.__name__
    value = parameter.value if isinstance(parameter, Enum) else parameter
    return value if isinstance(value, str) else None


def test_files(package: str) -> list[str]:
    """Return the paths of a package's files with Array API tests."""
    facts = PACKAGES[package]
    root = Path(str(importlib.import_module(package).__file__)).parent / facts.folder
    return [
        str(path)
        for path in sorted(root.rglob("test_*.py"))
        if re.search(facts.mentions, path.read_text(encoding="utf-8"))
    ]


def main(argv: list[str] | None = None) -> int:
    """
    Run a package's tests and print the counts on the last line.

    Returns
    -------
    int
        pytest's status.
    """
    parser = argparse.ArgumentParser(
        description=str(__doc__).partition("\n")[0],
        epilog="Other arguments are passed to pytest: -k, -x, --junitxml=FILE, "
        "test files.",
    )
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("--module", default="mxnp", help="the library to test")
    options, rest = parser.parse_known_args(argv)
    package = PACKAGES[options.package]
    os.environ["SCIPY_ARRAY_API"] = "1"
    if not any(word.partition("::")[0].endswith(".py") for word in rest):
        rest += test_files(options.package)
    selection = Selection(package, options.module)
    status = pytest.main([*OPTIONS, *package.options, *rest], plugins=[selection])
    counts = Counter(selection.outcomes.values())
    version = importlib.metadata.version(package.distribution)
    print(
        f"{options.module}: {counts['passed']} of {counts.total()} passed, "
        f"{counts['failed']} failed, {counts['expected']} failed as expected, "
        f"{counts['skipped']} skipped ({package.distribution} {version})"
    )
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
