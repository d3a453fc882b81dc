"""Collect what PyInstaller does not find in the source: mxnp imports it by name."""

from PyInstaller.utils.hooks import (
    collect_data_files,
    collect_dynamic_libs,
    collect_submodules,
)

hiddenimports = [
    "_cffi_backend",
    *collect_submodules("mxnp", filter=lambda name: "_pyinstaller" not in name),
    *collect_submodules("array_api_compat.numpy"),
    *("array_api_compat", "array_api_compat.common"),
]
datas = collect_data_files("mxnp", excludes=["**/*.pyi"])  # the sources of kernels
binaries = collect_dynamic_libs("mxnp", search_patterns=["*.so", "*.pyd"])
