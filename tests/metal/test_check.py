"""Test the command that measures on a machine what the documentation says of its GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.metal import needs_host

import mxnp
from mxnp._engine import core
from mxnp._metal import check, check_page


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the parts that repeat, and test functions at few points."""
    monkeypatch.setattr(check, "_SECONDS", 0.0)
    monkeypatch.setattr(check, "_POINTS", 64)
    monkeypatch.setattr(check, "_LONG", 0.0)


@needs_host
@pytest.mark.usefixtures("short")
def test_report(tmp_path: Path) -> None:
    lines: list[str] = []
    assert check.main(str(tmp_path / "report.json"), lines.append)
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [
        name
        for name, part in report.items()
        if isinstance(part, dict) and "error" in part
    ] == []
    assert report["is emulated"]
    assert report["language"]["300, -1, 70000 as uint8"] == [44, 255, 112]
    assert report["reductions"] == {"reductions": 68, "wrong": 0}
    assert all(report["sorts"].values())
    assert all(report["divisions"].values())
    assert all(report["copies"].values())
    assert all(report["tiles"].values())
    assert report["matrices"]["arrays of matrices are whole"]
    assert all(report["updates"].values())
    assert report["products"]["largest error, of the bound k * 2**-24"] < 1
    assert all(each["ulp"] <= each["bound"] for each in report["precision"].values())
    assert report["long kernels"]["operations afterwards are right"]
    assert report["lifetimes"]["rounds"] > 0
    assert report["kernels"]["rejected"] == 0
    assert report["wrong"] == []
    assert len(lines) == len(check._PARTS) + 2  # the kernels, and the verdict


def test_a_part_that_fails_does_not_end_the_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Any) -> Any:
        raise ValueError("no such thing")

    monkeypatch.setattr(check, "_PARTS", {"one": fail, "two": lambda _: {"x": 1}})
    lines: list[str] = []
    report = check.run(lines.append)
    assert report["one"] == {"error": "ValueError: no such thing"}
    assert report["two"] == {"x": 1}
    assert "ValueError: no such thing" in lines[0]
    assert report["wrong"] == ["one: error"]


@pytest.mark.parametrize(
    ("part", "result"),
    [
        ("sorts", {"sort is NumPy's": False}),
        ("reductions", {"reductions": 68, "wrong": 1}),
        ("kernels", {"rejected": 1}),
        ("precision", {"sin": {"ulp": 7.0, "bound": 6}}),
        ("language", {"300, -1, 70000 as uint8": [255, 0, 255]}),
    ],
)
def test_what_is_wrong_is_named(part: str, result: Any) -> None:
    assert check._wrong({part: result}) == [f"{part}: {[*result][-1]}"]


def test_a_gpu_that_cannot_run_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(core.gpu(), "models", ("a GPU",))
    monkeypatch.setattr(core, "device_problem", lambda _: "it has its own memory")
    lines: list[str] = []
    assert not check.main(str(tmp_path / "none.json"), lines.append)
    assert lines == ["the GPU cannot run kernels: it has its own memory\n"]


def test_crossover() -> None:
    rows = {n: {"cpu": float(n), "gpu": 40.0} for n in (10, 20, 80, 160)}
    assert check._crossover(rows, "gpu") == 80
    rows[160]["gpu"] = 500.0
    assert check._crossover(rows, "gpu") is None


def test_page() -> None:
    report: dict[str, Any] = {
        "precision": {"sin": {"ulp": 7.0, "bound": 6}},
        "crossovers": {"sort": {"crossover": None, "seconds": {8: {"cpu": 1e-6}}}},
        "wrong": ["precision: sin"],
        "seconds": 3,
        "is emulated": False,
    }
    page = check_page.page(report)
    assert "| sin | 7.0 | 6 |" in page
    assert "wrong:** precision: sin." in page
    assert "| sort | 8 | 1 |" in page
    assert "ABOVE THE BOUND" in check_page.text("precision", report["precision"])


def test_no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(core.gpu(), "models", ())
    lines: list[str] = []
    assert not check.main(str(tmp_path / "none.json"), lines.append)
    assert lines == ["there is no GPU that mxnp can use\n"]
    assert mxnp.arange(3).sum() == 3
