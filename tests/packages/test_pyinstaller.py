"""Test the hook of PyInstaller, with functions in the place of PyInstaller's own."""

import runpy
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

FOUND = ["mxnp", "mxnp._cli.main", "mxnp._pyinstaller"]


def test_hook_collects_what_is_imported_by_name(monkeypatch):
    hooks = ModuleType("PyInstaller.utils.hooks")
    hooks.collect_submodules = lambda package, filter=bool: [
        name.replace("mxnp", package) for name in FOUND if filter(name)
    ]
    hooks.collect_data_files = lambda package, excludes: [(f"{package}/x.metal", ".")]
    hooks.collect_dynamic_libs = lambda package, search_patterns: [package]
    for name in ("PyInstaller", "PyInstaller.utils"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, hooks.__name__, hooks)
    (point,) = (
        each
        for each in entry_points(group="pyinstaller40")
        if each.value.startswith("mxnp.")
    )
    (folder,) = point.load()()
    found = runpy.run_path(str(Path(folder) / "hook-mxnp.py"))
    assert {"_cffi_backend", "mxnp._cli.main"} <= {*found["hiddenimports"]}
    assert "array_api_compat.numpy" in found["hiddenimports"]
    assert "mxnp._pyinstaller" not in found["hiddenimports"]
    assert found["datas"] == [("mxnp/x.metal", ".")]
    assert found["binaries"] == ["mxnp"]
