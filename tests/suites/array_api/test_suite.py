"""Run a part of the Array API conformance suite, if a checkout exists."""

import os
import re
import subprocess
import sys

import pytest
from support.paths import ROOT

FOLDER = ROOT / "array_api_tests"
SUITE = os.environ.get("MXNP_ARRAY_API_SUITE", "")
RUN = [sys.executable, str(FOLDER / "run.py")]


def run(*arguments):
    environment = os.environ | {"PYTEST_ADDOPTS": ""}
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not SUITE, reason="MXNP_ARRAY_API_SUITE does not name a checkout of the suite"
)
def test_only_expected_failures_occur():
    done = run("--suite", SUITE, "--max-examples", "5", "--hypothesis-seed=0")
    assert done.returncode == 0, done.stdout + done.stderr
    counts = re.search(r"mxnp: (\d+) of (\d+) passed, 0 failed", done.stdout)
    assert counts, done.stdout
    assert int(counts[1]) > 1350


def test_expected_failures_have_reasons():
    above = ""
    names = []
    for line in (FOLDER / "xfails.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("array_api_tests/"):
            assert above.startswith("# "), f"no reason above {line}"
            names.append(line)
        else:
            assert not line or line.startswith("#"), line
        above = line
    assert len(names) == len(set(names))


def test_folder_without_a_suite_is_an_error(tmp_path):
    done = run("--suite", str(tmp_path))
    assert done.returncode == 2
    assert f"{tmp_path} is not a checkout of" in done.stderr


def test_suite_without_its_submodule_is_an_error(tmp_path):
    (tmp_path / "array_api_tests").mkdir()
    (tmp_path / "array_api_tests" / "__init__.py").touch()
    done = run("--suite", str(tmp_path))
    assert done.returncode == 2
    assert "submodule update --init" in done.stderr


def test_failed_clone_is_an_error(tmp_path, monkeypatch):
    # This git behaves as without a network.
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\necho 'fatal: unable to access' >&2\nexit 128\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = run()
    assert done.returncode == 2
    assert "unable to access" in done.stderr
    assert "--suite DIR" in done.stderr
    assert list((tmp_path / "cache" / "mxnp").iterdir()) == []
