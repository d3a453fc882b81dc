"""Test that the benchmarks run, compare results before timing, and write reports."""

import dataclasses
import json
import math
import re
import subprocess
import sys
import warnings
from itertools import product

import numpy
import pytest
from support.paths import ROOT

pytest.importorskip("rich")

import mxnp
from mxnp import _bridge
from mxnp._engine import core
from mxnp.bench import __main__ as command
from mxnp.bench import clock, markdown, peers, plot, report, suites, table
from mxnp.bench.case import Case, difference, of_statement, uniform
from mxnp.bench.measure import measure
from mxnp.bench.page import read_page

OURS = ["--peers", "numpy,mxnp"]
# Sizes for which the suites are quick.
SIZES = {
    "imports": [1],
    "overhead": [10],
    "ratios": [64],
    "row_loops": [64],
    "chains": [64],
    "reductions": [64],
    "stencils": [64],
    "scatter": [64],
    "bounds": [300],
    "programs": [300],
}


def bench(*args, **options):
    return subprocess.run(
        [sys.executable, "-m", "mxnp.bench", *map(str, args)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


@pytest.fixture(autouse=True)
def same_threads():
    count = mxnp.get_num_threads()
    yield
    mxnp.set_num_threads(count)


@pytest.fixture
def started():
    """Return NumPy and mxnp as peers."""
    return peers.start(["numpy", "mxnp"], 1)[0]


@pytest.fixture
def without_warnings():
    """Ignore warnings of cases that divide by zero."""
    with warnings.catch_warnings(action="ignore"):
        yield


def a_case(function=None, **options):
    function = function or (lambda np, a: np.sqrt(a) + 1.0)
    inputs = uniform("a", 50, "float64", 0.5, 1.5)
    return Case("chains", "of a test", "float64", 50, function, inputs, **options)


# -- Whole runs -----------------------------------------------------------------------


def test_parts_of_a_run_are_one_report(tmp_path, capsys):
    parts = [tmp_path / f"{dtype}.json" for dtype in ("float64", "int64")]
    for part in parts:
        bench(
            "ratios", "-k", "np.diff", "--quick", *OURS, "--threads", 1,
            "--sizes", "64,128", "--dtypes", part.stem, "--json", part,
        )  # fmt: skip
    read = report.read_reports(parts)
    found = {(row.name, row.dtype, row.size, row.threads) for row in read.rows}
    names = ("np.diff(x)", "np.diff(M,axis=0)")
    assert found == set(product(names, ("float64", "int64"), (64, 128), (1,)))
    for row in read.rows:
        assert 0 < row.timings["mxnp"].least <= row.timings["mxnp"].median
        assert row.timings["mxnp"].processor > 0
    assert read.command.endswith("(the first of 2 parts)")

    other = json.loads(parts[1].read_text(encoding="utf-8"))
    other["machine"]["processor"] = "another"
    parts[1].write_text(json.dumps(other))
    with pytest.raises(SystemExit):
        command.main([f"--read={part}" for part in parts])
    assert "the reports differ in the processor" in capsys.readouterr().err


def test_every_suite_is_tested():
    assert set(SIZES) == set(suites.NAMES)


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
@pytest.mark.parametrize("suite", suites.NAMES)
def test_run_writes_its_results(suite, tmp_path):
    from matplotlib import pyplot

    sizes = SIZES[suite]
    # All dtypes of this suite would be too many rows for a page that lists them.
    dtypes = ["--dtypes", "float64"] if suite == "ratios" else []
    files = {name: tmp_path / f"out.{name}" for name in ("json", "md", "png")}
    done = bench(
        suite, "--quick", "--threads", 1, *OURS, *dtypes, "--sizes", ",".join(map(str, sizes)),
        "--json", files["json"], "--markdown", files["md"], "--plot", files["png"],
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr

    found = json.loads(files["json"].read_text(encoding="utf-8"))
    cases = suites.load(suite).cases(sizes)
    cases = [case for case in cases if not dtypes or case.dtype in dtypes]
    assert [
        (row["name"], row["layout"], row["dtype"], row["size"]) for row in found["rows"]
    ] == [(case.name, case.layout, case.dtype, case.size) for case in cases]
    assert found["versions"] == {"numpy": numpy.__version__, "mxnp": mxnp.mxnp_version}
    assert found["threads"] == {"numpy": "1", "mxnp": "1"}
    assert found["missing"] == {}
    assert [len(values) for values in found["load"].values()] == [3, 3]
    assert all(found["machine"].values())
    for row in found["rows"]:
        assert row["errors"] == {}
        assert row["skipped"] == ""
        assert set(row["timings"]) == {"numpy", "mxnp"}
        for timing in row["timings"].values():
            assert 0 < timing["low"] <= timing["median"] <= timing["high"]
            assert timing["samples"] >= clock.MIN_ROUNDS or timing["repetitions"] == 1
            assert timing["repetitions"] >= 1
            assert timing["page_faults"] >= 0
            assert 0 <= timing["preempted"] <= timing["samples"]
            base = row["timings"]["numpy"]["median"]
            assert timing["speed"] == pytest.approx(base / timing["median"])

    page = files["md"].read_text(encoding="utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings == ["## Slower cases", "## Summary", f"## {suite}"]
    assert page.count("**: ") == len(cases)  # one best case for each
    for text in (numpy.__version__, found["machine"]["processor"], "--quick"):
        assert text in page
    picture = pyplot.imread(files["png"])
    assert picture.shape[0] > 250
    assert picture.shape[1] > 250
    assert picture.std() > 0.02  # the picture is not blank
    assert suite in done.stdout
    assert "error" not in done.stdout


def test_ratios_are_listed(tmp_path):
    kept = tmp_path / "kept.json"
    run = bench(
        "overhead", "-k", "a + b", "--quick", "--sizes", "1,10", *OURS,
        "--json", kept, "--above", 0,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "geometric mean by number of elements: 1: " in run.stdout
    assert "mxnp's time over NumPy's is above 0 in 2 cases:" in run.stdout
    listed = re.findall(
        r"^ +([\d.]+)  overhead: a \+ b float64, 10?$", run.stdout, re.M
    )
    ratios = [row.ratio for row in report.read_json(kept).rows]
    assert list(map(float, listed)) == pytest.approx(
        sorted(ratios, reverse=True), abs=0.01
    )
    none = bench("--read", kept, "--above", 1e9)
    assert "is above 1e+09 in 0 cases:" in none.stdout


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
def test_several_suites_give_a_picture_each(tmp_path):
    done = bench(
        "chains", "stencils", "-k", "0.5", "--quick", "--sizes", "20", *OURS,
        "--plot", tmp_path / "out.png",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pictures = sorted(tmp_path.glob("*.png"))
    assert [path.name for path in pictures] == ["out-chains.png", "out-stencils.png"]
    assert all(path.stat().st_size > 5000 for path in pictures)


@pytest.mark.slow
def test_a_file_of_before_gives_the_same_page(tmp_path):
    first, again = tmp_path / "first.md", tmp_path / "again.md"
    kept = tmp_path / "kept.json"
    run = bench(
        "overhead", "-k", "a +", "--quick", "--sizes", "5", *OURS,
        "--json", kept, "--markdown", first,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert bench("--read", kept, "--markdown", again).returncode == 0
    assert again.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_page_is_read_back(tmp_path):
    kept, page = tmp_path / "kept.json", tmp_path / "kept.md"
    run = bench(
        "chains", "stencils", "-k", "0.5", "--quick", "--sizes", "5,40000", *OURS,
        "--json", kept, "--markdown", page,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    whole, read = report.read_json(kept), read_page(page)
    for name in ("command", "started", "machine", "load", "versions"):
        assert getattr(read, name) == getattr(whole, name), name
    assert read.seconds == round(whole.seconds)
    assert read.threads == whole.threads
    assert len(read.rows) == len(whole.rows) > 0
    for ours, original in zip(read.rows, whole.rows, strict=True):
        for name in ("suite", "label", "size"):
            assert getattr(ours, name) == getattr(original, name)
        assert ours.timings.keys() == original.timings.keys()
        for peer, timing in ours.timings.items():
            of_peer = original.timings[peer]
            assert timing.median == pytest.approx(of_peer.median, rel=0.01)
            assert timing.speed == pytest.approx(of_peer.speed, rel=0.02)
            assert timing.spread == pytest.approx(of_peer.spread, abs=0.006)


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
def test_a_page_is_drawn(tmp_path):
    page = ROOT / "docs" / "benchmarks.md"
    picture = tmp_path / "out.png"
    run = bench("--read", page, "chains", "-k", "a*b", "--plot", picture)
    assert run.returncode == 0, run.stderr
    assert 5000 < picture.stat().st_size < 100_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--json", "x.json"], "a page can only be drawn"),
        pytest.param(
            *(["scatter", "--plot", "x.png"], "no case of"),
            marks=pytest.mark.needs("matplotlib"),
        ),
    ],
)
def test_options_that_need_more_than_a_page_are_refused(
    args, complaint, tmp_path, capsys
):
    path = tmp_path / "page.md"
    run = bench(
        "chains", "-k", "0.5", "--quick", "--sizes", "5", *OURS, "--markdown", path
    )
    assert run.returncode == 0, run.stderr
    with pytest.raises(SystemExit):
        command.main(["--read", str(path), *args])
    assert complaint in capsys.readouterr().err


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
def test_other_pages_are_refused(tmp_path, capsys):
    path = tmp_path / "other.md"
    path.write_text("# Title\n\n| a | b |\n|---|---|\n| c | d |\n")
    with pytest.raises(SystemExit):
        command.main(["--read", str(path), "--plot", "x.png"])
    assert "is not a page of mxnp.bench" in capsys.readouterr().err


def test_cases_beyond_the_time_budget_are_skipped(tmp_path):
    out = tmp_path / "out.json"
    done = bench("overhead", "--quick", *OURS, "--time-budget", "1e-9", "--json", out)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert {row["skipped"] for row in rows} == {"the time budget was used up"}
    assert len(rows) == len(suites.load("overhead").cases([1, 100]))
    assert "skipped: overhead: a + b float64, 100: the time budget" in done.stdout


def test_list_names_suites_and_peers():
    done = bench("--list")
    assert done.returncode == 0
    for name in suites.NAMES:
        assert f"\n  {name}: " in done.stdout
    for name in peers.PEERS:
        assert f"\n  {name}" in done.stdout


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["nonsense"], "no suite 'nonsense'"),
        (["--peers", "cupy"], "no peer 'cupy'"),
        (["--sizes", "0"], "sizes must be positive whole numbers"),
        (["--sizes", "1.5"], "sizes must be positive whole numbers"),
        (["--threads", "0"], "must be positive"),
        (["chains", "-k", "no such case"], "no case has 'no such case'"),
        (["chains", "--dtypes", "int8"], "no case of int8 has"),
        (["--read", "/nonexistent.json"], "No such file"),
    ],
)
def test_wrong_options_are_refused(args, complaint, capsys):
    with pytest.raises(SystemExit) as refusal:
        command.main(args)
    assert refusal.value.code == 2
    assert complaint in capsys.readouterr().err


def test_other_json_is_refused(tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text("[1]")
    with pytest.raises(SystemExit):
        command.main(["--read", str(path)])
    assert "is not a report of this version" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("absent", "args", "complaint"),
    [
        ("rich", [], "the table requires rich: pip install rich"),
        (
            "matplotlib",
            ["--plot", "x.png"],
            "--plot requires matplotlib: pip install matplotlib",
        ),
    ],
)
def test_missing_packages_are_errors_with_advice(
    absent, args, complaint, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, absent, None)  # simulates a missing package
    with pytest.raises(SystemExit):
        command.main(args)
    assert complaint in capsys.readouterr().err


def test_mxnp_does_not_import_it():
    program = "import sys, mxnp; print([m for m in sys.modules if 'bench' in m])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert done.stdout == "[]\n"


# -- Errors and warnings --------------------------------------------------------------


def off_by_one(np, a):
    return a + float(np is mxnp)


def other_dtype(np, a):
    return a.astype("float32" if np is mxnp else "float64")


def failing(np, a):
    if np is mxnp:
        raise RuntimeError("broken\nand more")
    return a


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (off_by_one, "differs from NumPy's by up to 1, in 50 of 50 elements"),
        (other_dtype, "has dtype float32, NumPy's float64"),
        (failing, "RuntimeError: broken"),
    ],
)
def test_a_wrong_case_is_an_error(function, complaint, started):
    row = measure(a_case(function), started, 0.0, 1e-5)
    assert set(row.timings) == {"numpy"}
    assert set(row.errors) == {"mxnp"}
    assert row.errors["mxnp"].startswith(complaint)


def test_a_case_that_numpy_cannot_run_is_an_error(started):
    row = measure(a_case(lambda np, a: a + numpy.ones(3)), started, 0.0, 1e-5)
    assert row.timings == {}
    assert "could not be broadcast" in row.errors["numpy"]


@pytest.mark.slow
def test_errors_are_in_all_that_is_written(monkeypatch, tmp_path, capsys):
    cases = [a_case(off_by_one), a_case(failing)]
    suite = suites.Suite("chains", "Wrong", (50,), (50,), lambda sizes: cases)
    monkeypatch.setattr(suites, "load", lambda name: suite)
    files = [tmp_path / "out.json", tmp_path / "out.md"]
    status = command.main(
        [
            "chains",
            "--quick",
            "--json",
            str(files[0]),
            "--markdown",
            str(files[1]),
            *OURS,
        ]
    )
    assert status == 1
    errors = [
        row["errors"]
        for row in json.loads(files[0].read_text(encoding="utf-8"))["rows"]
    ]
    assert [list(error) for error in errors] == [["mxnp"], ["mxnp"]]
    page = files[1].read_text(encoding="utf-8")
    assert "## Errors" in page
    for text in (page, capsys.readouterr().out):
        assert "differs from NumPy's by up to 1" in text
        assert "RuntimeError: broken" in text


def test_a_case_too_large_for_the_memory_is_not_run(started, monkeypatch):
    monkeypatch.setattr("mxnp.bench.measure.memory_available", lambda: 100)
    row = measure(a_case(), started, 0.0)
    assert row.timings == {}
    assert row.skipped.startswith("needs about")


@pytest.mark.parametrize(
    ("result", "expected", "complaint"),
    [
        (numpy.ones(3), numpy.ones(3), ""),
        (numpy.ones(3) + 1e-13, numpy.ones(3), ""),
        (numpy.array([1.0, 1e-13]), numpy.array([1.0, 0.0]), ""),  # small next to 1.0
        (numpy.ones(3) + 1e-9, numpy.ones(3), "differs from NumPy's by up to 1e-09"),
        (numpy.array([math.nan, 1]), numpy.array([math.nan, 1]), ""),
        (numpy.array([math.nan, 1]), numpy.array([1.0, 1]), "differs"),
        (numpy.array([math.inf, 1]), numpy.array([math.inf, 1]), ""),
        (numpy.array([1, 2]), numpy.array([1, 3]), "differs from NumPy's in 1 of 2"),
        (numpy.ones((3, 1)), numpy.ones(3), "has shape (3, 1), NumPy's (3,)"),
        (numpy.array([1, 2]), numpy.array([1.0, 2.0]), "has dtype int64"),
        ((numpy.ones(2), 1.0), (numpy.ones(2), 2.0), "result 1 differs"),
        ((numpy.ones(2),), (numpy.ones(2), 2.0), "returns 1 results, NumPy 2"),
    ],
)  # fmt: skip
def test_difference(result, expected, complaint):
    said = difference(result, expected, 1e-11, exact_type=True)
    assert said.startswith(complaint) if complaint else said == ""


# -- Cases ----------------------------------------------------------------------------


@pytest.mark.slow
def test_results_agree_where_operations_are_recorded(started, without_warnings):
    """Check every case at a size that mxnp records; nothing is timed."""
    ours = started[1]
    for name in suites.NAMES:
        for case in suites.load(name).cases([40_000]):
            inputs = case.inputs()
            arrays = [peer.arrays(inputs, case.target) for peer in started]
            expected = started[0].call(case, arrays[0])()
            result = ours.as_numpy(ours.call(case, arrays[1])())
            said = difference(result, expected, case.relative, exact_type=True)
            assert said == "", f"{case.suite}: {case.label}"


def test_inputs_are_not_written_to(started, without_warnings):
    for name in suites.NAMES:
        for case in suites.load(name).cases([100]):
            inputs = case.inputs()
            for peer in started:
                peer.call(case, peer.arrays(inputs, case.target))()
            for key, value in case.inputs().items():
                before, after = (numpy.asarray(x) for x in (inputs[key], value))
                assert before.tobytes() == after.tobytes(), case.label


def test_suites_have_the_documented_cases():
    assert len(suites.load("overhead").cases([1])) >= 60
    assert len(suites.load("row_loops").cases([10])) >= 12
    chains = suites.load("chains").cases([10])
    assert len({case.name for case in chains}) == 10
    assert {case.dtype for case in chains} == {"float32", "float64", "int64"}
    assert len({case.name for case in suites.load("programs").cases([10])}) >= 12
    with pytest.raises(ValueError, match="no suite"):
        suites.load("nonsense")


@pytest.mark.parametrize(
    ("statement", "expected"),
    [("a + b", 5), ("np.maximum(a, b)", 3), ("c[:] = a", [2, 2]), ("c += b", [3, 3])],
)
def test_of_statement(statement, expected):
    function = of_statement(statement, ("a", "b", "c"))
    result = function(numpy, a=2, b=3, c=numpy.zeros(2))
    assert numpy.array_equal(result, expected)


def test_a_recorded_statement_is_computed_each_time(started):
    size = 100_000
    inputs = uniform("a b", size, "float64", 0.5, 1.5)
    statement = "a + b"
    function = of_statement(statement, ("a", "b"))
    case = Case(
        "overhead", statement, "float64", size, function, inputs, statement=statement
    )
    arrays = started[1].arrays(inputs(), "")
    sample = started[1].sampler(case, arrays)
    assert sample(3) > 0
    assert _bridge.pending() == 0
    (group,) = core.last_flush()  # of the last repetition, whose operations all ran
    assert group.operations == ("add",)
    assert group.bytes_written == 8 * size


# -- The clock ------------------------------------------------------------------------


def test_calibrate_repeats_until_a_sample_is_long_enough():
    count, seconds = clock.calibrate(lambda count: 1e-6 * count, 2e-3)
    assert seconds >= 2e-3
    assert 2000 <= count < 4000


def switching(monkeypatch, preempted):
    """Simulate preemption in the samples for which `preempted` is true."""
    each = iter(preempted)
    asked = total = 0

    def system_counts():
        nonlocal asked, total
        asked += 1
        if asked % 2 == 0:  # after a sample
            total += next(each, False)
        return clock.SystemCounts(0, total)

    monkeypatch.setattr(clock, "system_counts", system_counts)


def test_a_preempted_sample_is_taken_again(monkeypatch):
    switching(monkeypatch, [True, False])
    # Two samples calibrate. Then an untimed sample precedes each timed one.
    seconds = iter([1.0, 1.0, 1.0, 9.0])
    timing = clock.in_turn({"numpy": lambda count: next(seconds, 1.0)}, 1.0, 1e-3)[
        "numpy"
    ]
    assert list(seconds) == []
    assert timing.high == 1.0  # the nine seconds were in the preempted sample
    assert timing.samples == clock.MIN_ROUNDS
    assert timing.preempted == 0


def test_a_sample_that_is_always_preempted_counts(monkeypatch):
    switching(monkeypatch, [True] * 100)
    timing = clock.in_turn({"numpy": lambda count: 1e-3 * count}, 0.0, 1e-3)["numpy"]
    assert timing.samples == timing.preempted == clock.MIN_ROUNDS


def test_slow_cases_are_timed_once():
    calls = []

    def slow(count):
        calls.append(count)
        return 5.0 * count

    samples = {"numpy": slow, "mxnp": lambda count: 1e-3 * count}
    timings = clock.in_turn(samples, 0.0, 1e-3)
    assert calls == [1]
    assert timings["numpy"].samples == 1
    assert timings["numpy"].low == timings["numpy"].high == 5.0
    assert timings["mxnp"].samples == clock.MIN_ROUNDS
    assert timings["mxnp"].speed == pytest.approx(5000)


def test_samples_are_taken_in_turn(monkeypatch):
    switching(monkeypatch, [])
    calls = []

    def sample_of(name, seconds):
        def sample(count):
            calls.append((name, count))
            return seconds * count

        return sample

    samples = {"numpy": sample_of("numpy", 2e-3), "mxnp": sample_of("mxnp", 1e-3)}
    timings = clock.in_turn(samples, 0.0, 2e-3)
    assert timings["numpy"].speed == 1.0
    assert timings["mxnp"].speed == pytest.approx(2.0)
    assert timings["mxnp"].median == pytest.approx(1e-3)
    assert timings["mxnp"].samples == clock.MIN_ROUNDS
    timed = calls[-4 * clock.MIN_ROUNDS :]  # an untimed sample precedes each
    assert [name for name, _ in timed[::2]] == [
        "numpy",
        "mxnp",
        "mxnp",
        "numpy",
        "numpy",
        "mxnp",
    ]
    assert {count for _, count in timed[::2]} == {1}


def test_an_allowance_buys_rounds():
    samples = {"numpy": lambda count: 1e-3 * count}
    assert clock.in_turn(samples, 1e9, 1e-3)["numpy"].samples == clock.MAX_ROUNDS


def test_sampler_repeats_the_statement():
    seen = []
    sample = clock.sampler(
        "seen.append(x)", {"seen": seen, "x": 7}, lambda: seen.append(0)
    )
    assert sample(3) > 0
    assert seen == [7, 7, 7, 0]


# -- Summaries ------------------------------------------------------------------------


def page_of(made, folder):
    """Return the page of a report."""
    path = folder / "page.md"
    markdown.write(made, path)
    return path.read_text(encoding="utf-8")


def test_slower_cases_are_listed_first(tmp_path, capsys):
    def timing(median, base=1.0):
        return clock.Timing(
            median, 0.9 * median, 1.1 * median, base / median, 5, 1, 0.0, 0
        )

    rows = [report.Row.of(a_case()) for _ in range(2)]
    rows[0].timings = {"numpy": timing(1.0), "mxnp": timing(1.25), "torch": timing(0.5)}
    rows[1].timings = {"numpy": timing(1.0), "mxnp": timing(1.04), "torch": timing(2.0)}
    assert rows[0].faster() == ["torch", "numpy"]
    assert rows[1].faster() == []  # the difference is within 5 %
    versions = dict.fromkeys(["numpy", "mxnp", "torch"], "1")
    made = report.Report(
        "command", "now", 1.0, {"cores": "4 usable, of 4"}, {"before": [1.5]}, versions, versions,
        {"jax": "No module named 'jax'"}, rows,
    )  # fmt: skip
    page = page_of(made, tmp_path)
    assert "### Slower than numpy: 1 of 2" in page
    assert "| chains | of a test float64 | 50: 0.80 |" in page
    assert "### Slower than torch: 1 of 2" in page
    assert "| chains | of a test float64 | 50: 0.40 |" in page
    assert page.index("Slower cases") < page.index("Summary") < page.index("## chains")
    assert "| not installed | jax |" in page
    assert "**The load average was 1.5 before the run, on 4 cores" in page
    table.show(made)
    printed = capsys.readouterr().out
    assert "< torch, numpy" in printed
    assert "not installed: jax" in printed
    assert "The load average was 1.5" in printed
    made.load = {"before": [0.5]}
    assert made.busy == ""


def row_of(size, *seconds, name="of a test"):
    """Return the row of a case with the times of NumPy and mxnp in seconds."""
    made = report.Row.of(dataclasses.replace(a_case(), name=name, size=size))
    for peer, median in zip(("numpy", "mxnp"), seconds, strict=False):
        made.timings[peer] = clock.Timing(median, median, median, 1.0, 5, 1, 0.0, 0)
    return made


def timed(least, processor):
    return clock.Timing(least, least, least, 1.0, 5, 1, 0.0, 0, least, processor)


def test_many_rows_are_tables_by_size(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(report, "MOST_ROWS", 5)
    rows = []
    for name, threads, size, speed in (
        ("fast", 1, 64, 2.0),
        ("fast", 1, 128, 2.0),
        ("slow", 1, 64, 1.0),
        ("slow", 1, 128, 0.5),
        ("fast", 2, 64, 4.0),
        ("fast", 2, 128, 0.94),
    ):
        row = report.Row.of(dataclasses.replace(a_case(), name=name, size=size))
        row.threads = threads
        row.timings = {"numpy": timed(1.0, 1.0), "mxnp": timed(1 / speed, 0.5)}
        rows.append(row)
    assert report.speeds_by_size(rows) == [
        ["threads", "elements", "float64", "all", "processor time"],
        ["1", "64", "1.41, 0 of 2", "1.41, 0 of 2", "0.50"],
        ["1", "128", "1.00, 1 of 2", "1.00, 1 of 2", "0.50"],
        ["2", "64", "4.00, 0 of 1", "4.00, 0 of 1", "0.50"],
        ["2", "128", "0.94, 1 of 1", "0.94, 1 of 1", "0.50"],
    ]
    assert report.slow_by_size(rows) == [
        ["case", "dtype", "threads", "64", "128"],
        ["slow", "float64", "1", "1.00", "0.50"],
        ["fast", "float64", "2", "4.00", "0.94"],
    ]
    made = report.Report(
        "command", "now", 1.0, {"cores": "1 usable, of 4"}, {"before": [0.5]},
        {"numpy": "1", "mxnp": "1"}, {"numpy": "1", "mxnp": "1, 2"}, {}, rows,
    )  # fmt: skip
    page = page_of(made, tmp_path)
    assert "| 1 | 128 | 1.00, 1 of 2 | 1.00, 1 of 2 | 0.50 |" in page
    assert "| fast | float64 | 2 | 4.00 | 0.94 |" in page
    assert "The tables of the suites below list them." in page
    table.show(made)
    assert "slow cases" in capsys.readouterr().out


def test_many_cases_that_were_not_run_are_counted(monkeypatch):
    rows = [report.Row.of(a_case(), skipped="no time") for _ in range(3)]
    made = report.Report("", "", 1.0, {}, {}, {}, {}, {}, rows)
    assert len(list(made.skipped())) == 3
    monkeypatch.setattr(report, "MOST_SKIPPED", 2)
    assert list(made.skipped()) == [("chains", "3 cases", 50, "no time")]


@pytest.mark.needs("matplotlib")
@pytest.mark.slow
@pytest.mark.parametrize(("other", "legends"), [("of a test", 1), ("other", 0)])
def test_chart_has_a_legend_of_sizes_that_cases_share(other, legends):
    from matplotlib import pyplot

    rows = [row_of(100, 1.0, 4.0), row_of(1, 1.0, 0.5, name=other)]
    cases = {}
    for row in rows:
        cases.setdefault(row.label, []).append(row)
    figure = plot._draw_rows(cases)
    assert len(figure.legends) == legends
    assert [text.get_text() for text in figure.axes[0].texts].count("100") == legends
    pyplot.close(figure)


def test_ratios_are_geometric_means_by_size():
    rows = [row_of(100, 1.0, 4.0), row_of(1, 1.0, 0.5), row_of(1, 1.0, 2.0)]
    rows.append(row_of(1, 1.0))  # mxnp was not timed
    assert report.mean_ratios(rows) == pytest.approx(
        {"1": 1.0, "100": 4.0, "all": 4 ** (1 / 3)}
    )
    assert report.mean_ratios(rows[3:]) == {}
    alone = [row_of(100, 1.0, 4.0, name="other"), rows[1]]
    assert report.mean_ratios(alone) == pytest.approx({"all": 2**0.5})
    assert table.ratios_text(rows[3:]) == ""
    assert table.ratios_text(rows).endswith(
        "1: 1.000, 100: 4.000, all: 1.587; above 1 in 2 of 3 cases."
    )
    assert report.rows_above(rows, 1.0) == [rows[0], rows[2]]


@pytest.mark.parametrize(
    ("number", "text"),
    [(1, "1"), (1000, "1000"), (10_000, "1e4"), (30_000_000, "3e7"), (12_345, "12345")],
)
def test_size_text(number, text):
    assert report.size_text(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.5, "1.5 s"), (0.0123, "12.3 ms"), (4.56e-6, "4.56 us"), (7.8e-8, "78 ns")],
)
def test_seconds_text(seconds, text):
    assert report.seconds_text(seconds) == text


# -- Other peers ----------------------------------------------------------------------


def test_a_missing_peer_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "numexpr", None)
    there, missing = peers.start(["numexpr"], 1)
    assert [peer.name for peer in there] == ["numpy", "mxnp"]
    assert list(missing) == ["numexpr"]
    assert "numexpr" in missing["numexpr"]


# Runs each case of a peer without timing, and prints errors.
EVERY_CASE = """
import sys
from mxnp.bench import peers, suites
from mxnp.bench.measure import measure

name = sys.argv[1]
there, missing = peers.start([name], 1)
assert not missing, missing
for suite in suites.NAMES:
    for case in suites.load(suite).cases([40]):
        if there[-1].takes(case):
            row = measure(case, there, 0.0, 1e-9)
            print(suite, name in row.timings, row.errors, case.label)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "counts"),
    [
        pytest.param(
            "numexpr",
            {"chains": 19, "reductions": 35},
            marks=pytest.mark.needs("numexpr"),
        ),
        pytest.param(
            "jax",
            {"chains": 19, "reductions": 70, "stencils": 11, "scatter": 19},
            marks=pytest.mark.needs("jax"),
        ),
        pytest.param(
            "jax.jit",
            {"chains": 19, "reductions": 70, "stencils": 11, "scatter": 16},
            marks=pytest.mark.needs("jax"),
        ),
        pytest.param(
            "torch",
            {"chains": 19, "reductions": 70, "stencils": 11},
            marks=pytest.mark.needs("torch"),
        ),
    ],
)
def test_peer_agrees(name, counts):
    done = subprocess.run(
        [sys.executable, "-c", EVERY_CASE, name], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if " True {} " not in line] == []
    found = [line.split()[0] for line in lines]
    assert {suite: found.count(suite) for suite in found} == counts


@pytest.mark.needs("numexpr")
@pytest.mark.slow
def test_numexpr_computes_in_single_precision():
    (peer,) = [
        peer for peer in peers.start(["numexpr"], 1)[0] if peer.name == "numexpr"
    ]
    for case in suites.load("chains").cases([20]):
        if case.dtype == "float32":
            result = peer.call(case, peer.arrays(case.inputs(), case.target))()
            assert result.dtype == "float32", case.label
