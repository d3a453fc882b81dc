"""The hook of PyInstaller, which finds it by the entry point of the package."""

from pathlib import Path


def hook_folders() -> list[str]:
    """Return the folders of hooks."""
    return [str(Path(__file__).parent)]
