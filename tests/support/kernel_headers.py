"""Headers of Metal kernels in wheels of other packages, with their includes."""

from __future__ import annotations

import functools
import re
import zipfile

from .wheels import wheel

INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*[<"](?P<path>(?:mlx|c10)/[^">]+)[">].*\n?',
    re.MULTILINE,
)


class KernelHeaders:
    """
    The headers in a folder of a wheel, which is downloaded when it is first read.

    Parameters
    ----------
    package : str
        The name of the package.
    root : str
        The folder that include directives are relative to.
    folder : str
        The folder of the headers, in `root`.
    """

    def __init__(self, package: str, root: str, folder: str) -> None:
        self.package, self.root, self.folder = package, root, folder

    @functools.cached_property
    def archive(self) -> zipfile.ZipFile:
        """The wheel."""
        return wheel(self.package)

    def names(self) -> set[str]:
        """Return the names of the headers, relative to their folder."""
        folder = self.root + self.folder
        paths = self.archive.namelist()
        return {
            path.removeprefix(folder)
            for path in paths
            if path.startswith(folder) and path.endswith(".h")
        }

    def text(self, *names: str) -> str:
        """Return the headers, and what they include before them, each once."""
        seen: set[str] = set()
        return "".join(self._inlined(self.folder + name, seen) for name in names)

    def _inlined(self, path: str, seen: set[str]) -> str:
        if path in seen:
            return ""
        seen.add(path)
        text = self.archive.read(self.root + path).decode()
        text = text.replace("#pragma once", "")
        return INCLUDE.sub(lambda match: self._inlined(match["path"], seen), text)


MLX = KernelHeaders("mlx-metal", "mlx/include/", "mlx/backend/metal/kernels/")
TORCH = KernelHeaders("torch", "torch/include/", "c10/metal/")
