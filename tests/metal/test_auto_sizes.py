"""Test the sizes from which device "auto" uses the GPU."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.metal import needs_gpu, needs_host, run

from mxnp._engine import auto_sizes, core
from mxnp._engine.auto_sizes import NEVER, Sizes
from mxnp._metal import check

MEASURED = Sizes(2**14, 2**15, NEVER)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file for the sizes, in a folder that does not exist yet."""
    path = tmp_path / "cache" / "mxnp" / "auto-sizes.json"
    monkeypatch.delenv("MXNP_AUTO_SIZES", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return path


def test_measured_sizes_are_read(file: Path) -> None:
    assert auto_sizes.read("A", "1") is None
    assert auto_sizes.write("A", "1", MEASURED) == str(file)
    assert auto_sizes.read("A", "1") == MEASURED
    assert auto_sizes.read("B", "1") is None
    assert auto_sizes.read("A", "2") is None
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_several_gpus(file: Path) -> None:
    """The folder may be that of several machines; other versions are forgotten."""
    auto_sizes.write("A", "1", MEASURED)
    auto_sizes.write("A", "2", Sizes(1, 2, 3))
    auto_sizes.write("B", "2", Sizes(4, 5, 6))
    assert auto_sizes.read("A", "2") == (1, 2, 3)
    assert auto_sizes.read("B", "2") == (4, 5, 6)
    assert auto_sizes.read("A", "1") is None
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"A, mxnp 1": 3}',
        '{"A, mxnp 1": {"elementwise": 1, "reductions": 2}}',
        '{"A, mxnp 1": {"elementwise": 1, "reductions": 2, "scans": "3"}}',
        '{"A, mxnp 1": {"elementwise": 1, "reductions": true, "scans": 3}}',
        '{"A, mxnp 1": {"elementwise": -1, "reductions": 2, "scans": 3}}',
        '{"A, mxnp 1": {"elementwise": 1e9, "reductions": 2, "scans": 3}}',
        f'{{"A, mxnp 1": {{"elementwise": {2**63}, "reductions": 2, "scans": 3}}}}',
    ],
)
def test_damaged_files_are_ignored(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(0o600)
    assert auto_sizes.read("A", "1") is None
    auto_sizes.write("A", "1", MEASURED)
    assert auto_sizes.read("A", "1") == MEASURED


def test_bytes_that_are_no_text_are_ignored(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xff\xfe{}")
    file.chmod(0o600)
    assert auto_sizes.read("A", "1") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_can_write_are_ignored(file: Path, mode: int) -> None:
    auto_sizes.write("A", "1", MEASURED)
    file.chmod(mode)
    assert auto_sizes.read("A", "1") is None


def test_links_are_ignored(file: Path, tmp_path: Path) -> None:
    auto_sizes.write("A", "1", MEASURED)
    file.rename(tmp_path / "other")
    file.symlink_to(tmp_path / "other")
    assert auto_sizes.read("A", "1") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_others_are_ignored(file: Path) -> None:
    auto_sizes.write("A", "1", MEASURED)
    os.chown(file, 12345, -1)
    assert auto_sizes.read("A", "1") is None


def test_the_cache_can_be_cleared(file: Path) -> None:
    auto_sizes.write("A", "1", MEASURED)
    core.clear_cache()
    assert not file.exists()
    core.clear_cache()


def test_an_empty_name_turns_the_file_off(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    auto_sizes.write("A", "1", MEASURED)
    monkeypatch.setenv("MXNP_AUTO_SIZES", "")
    assert auto_sizes.read("A", "1") is None
    assert auto_sizes.write("A", "1", MEASURED) == ""
    core.clear_cache()
    assert file.exists()


def test_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNP_AUTO_SIZES", str(tmp_path / "chosen"))
    assert auto_sizes.write("A", "1", MEASURED) == str(tmp_path / "chosen")
    assert auto_sizes.read("A", "1") == MEASURED


def test_folders_that_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_text("a file")
    monkeypatch.setenv("MXNP_AUTO_SIZES", str(tmp_path / "x" / "y"))
    assert auto_sizes.write("A", "1", MEASURED) == ""
    assert auto_sizes.read("A", "1") is None


def test_text() -> None:
    assert auto_sizes.describe(MEASURED) == (
        "elementwise from 16,384 elements, reductions from 32,768 elements, scans never"
    )


# -- The check ----------------------------------------------------------------------------


def measured(crossover: int | None) -> dict[str, Any]:
    return {"crossover": crossover, "seconds": {4096: {"cpu": 1.0, "gpu": 2.0}}}


def crossovers() -> dict[str, Any]:
    return {
        "elementwise": measured(2**16),
        "total": measured(2**14),
        "rows": measured(2**18),
        "running sum": measured(None),
        "sort": measured(2**12),
    }


def test_sizes_of_a_report() -> None:
    """Reductions are faster from the size on from which all of them are."""
    assert check._sizes(crossovers()) == (2**16, 2**18, NEVER)
    unmeasured = {**crossovers(), "total": {"crossover": None, "seconds": {}}}
    assert check._sizes(unmeasured) is None
    assert check._sizes({"error": "ValueError: x"}) is None


@pytest.mark.parametrize("is_emulated", [False, True])
def test_the_check_keeps_the_sizes(
    file: Path, monkeypatch: pytest.MonkeyPatch, is_emulated: bool
) -> None:
    report = {"crossovers": crossovers(), "is emulated": is_emulated}
    monkeypatch.setattr(core.gpu(), "models", ("A",))
    lines: list[str] = []
    check._keep_sizes(report, lines.append)
    expected = None if is_emulated else (2**16, 2**18, NEVER)
    assert auto_sizes.read("A", core.core_version()) == expected
    assert lines == (
        [] if is_emulated else [f'device "auto" uses these sizes from now on: {file}\n']
    )


# -- The device ---------------------------------------------------------------------------

PROGRAM = """
    import mxnp as np
    from mxnp._cli import main
    from mxnp._engine import core

    def groups(call):
        np.synchronize()
        before = core.gpu_counts()["groups"]
        kept = call()
        np.synchronize()
        return core.gpu_counts()["groups"] - before

    x = np.ones(20_000, dtype="f4")
    y = np.ones((20, 2_000), dtype="f4")
    np.synchronize()
    print(groups(lambda: x + 1), groups(lambda: y.sum(axis=1)),
          groups(lambda: y.cumsum(axis=1)))
    print(dict(main._info())["auto"])
"""


@needs_gpu
@needs_host
@pytest.mark.parametrize(
    ("sizes", "counts", "text"),
    [
        (None, "0 0 0", "elementwise from 131,072 elements, "),
        ((20_000, NEVER, 50_000), "1 0 0", "elementwise from 20,000 elements, "),
        ((20_001, 40_000, 40_000), "0 1 1", "elementwise from 20,001 elements, "),
    ],
)
def test_auto(
    file: Path, sizes: tuple[int, int, int] | None, counts: str, text: str
) -> None:
    if sizes:
        auto_sizes.write(core.gpu().models[0], core.core_version(), Sizes(*sizes))
    variables: dict[str, str | None] = {"MXNP_DEVICE": "auto", "MXNP_THRESHOLD": "0"}
    output = run(PROGRAM, **variables, MXNP_AUTO_SIZES=None).splitlines()
    assert output[0] == counts
    assert output[1].startswith(text)
    assert output[1].endswith(f"(measured: {file})" if sizes else "(guessed)")
