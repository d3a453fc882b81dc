"""Test the Metal emulator's cache of compiled kernels on disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from metal_emulator import driver as module
from metal_emulator import toolchain
from support.driver import needs_host, run_script

pytestmark = [needs_host, pytest.mark.slow]


def kernel(value: int) -> str:
    return (
        "#include <metal_stdlib>\nkernel void f(device float* a [[buffer(0)]],"
        f" uint i [[thread_position_in_grid]]) {{ a[i] = {value}.0f; }}"
    )


def run(cache: Path, *values: int) -> None:
    """Let a process run kernels that store these values."""
    done = run_script(
        f"""
for value, source in {[(value, kernel(value)) for value in values]!r}:
    assert driver.compile(source), driver.error
    a = driver.zeros(1)
    assert driver.run("f", [a], 1, 1) == 0, driver.error
    assert a.array[0] == value
""",
        METAL_EMULATOR_CACHE=str(cache),
    )
    assert done.returncode == 0, done.stderr


def kept(cache: Path) -> set[Path]:
    return set(cache.glob("*.so"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kept") / "cache"


@pytest.fixture(scope="module")
def files(cache) -> tuple[Path, Path]:
    """The files of kernels that store 5, and 7."""
    run(cache, 5)
    (five,) = kept(cache)
    run(cache, 7)
    (seven,) = kept(cache) - {five}
    return five, seven


def test_cached_libraries_of_one_process_are_distinguished(cache, files):
    before = [path.stat().st_ino for path in files]
    run(cache, 5, 7)
    assert [path.stat().st_ino for path in files] == before  # none is compiled again


def test_two_hosts_of_a_process_have_kernels_of_their_own(cache, files, tmp_path):
    source, copy = module.build_driver(), tmp_path / "other.so"
    copy.write_bytes(source.read_bytes())
    done = run_script(
        f"""
other = module.Driver({str(copy)!r})
five, seven = {[kernel(5), kernel(7)]!r}
for first, second in (five, seven), (seven, five), (five, five):
    assert driver.compile(first) and other.compile(second)
    for host, source in (driver, first), (other, second):
        a = host.zeros(1)
        assert host.run("f", [a], 1, 1) == 0, host.error
        assert a.array[0] == (5 if source == five else 7)
""",
        METAL_EMULATOR_CACHE=str(cache),
    )
    assert done.returncode == 0, done.stderr


def cut(five, seven):
    os.truncate(five, five.stat().st_size // 2)


def empty(five, seven):
    os.truncate(five, 0)


def change(five, seven):
    content = bytearray(five.read_bytes())
    content[len(content) // 2] ^= 1
    five.write_bytes(content)


def lengthen(five, seven):
    five.write_bytes(five.read_bytes() + bytes(16))


def replace(five, seven):
    five.write_bytes(seven.read_bytes())


def link(five, seven):
    five.unlink()
    five.symlink_to(seven)


def open_to_others(five, seven):
    five.chmod(0o666)


@pytest.mark.parametrize(
    "damage", [cut, empty, change, lengthen, replace, link, open_to_others]
)
def test_a_changed_cache_file_is_compiled_again(cache, files, damage):
    five, seven = files
    sound = seven.read_bytes()
    damage(five, seven)
    found = five.lstat().st_ino
    run(cache, 5)
    assert five.lstat().st_ino != found
    assert five.lstat().st_mode & 0o7777 == 0o600
    assert seven.read_bytes() == sound
    assert len(kept(cache)) == 2


def refusal(cache: Path) -> str:
    """Return what a process says that may not keep anything there."""
    body = f"assert not driver.compile({kernel(5)!r}); print(driver.error)"
    return run_script(body, METAL_EMULATOR_CACHE=str(cache)).stdout


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_write_to_is_refused(tmp_path, monkeypatch, mode):
    tmp_path.chmod(mode)
    said = f"{tmp_path}, which others can write to"
    assert said in refusal(tmp_path)
    monkeypatch.setenv("METAL_EMULATOR_CACHE", str(tmp_path))
    with pytest.raises(PermissionError, match=said):
        toolchain.cache_folder()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    os.chown(tmp_path, 65534, -1)
    assert "its owner is user 65534" in refusal(tmp_path)
    monkeypatch.setenv("METAL_EMULATOR_CACHE", str(tmp_path))
    with pytest.raises(PermissionError, match="its owner is user 65534"):
        toolchain.cache_folder()


def test_a_folder_is_made_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("METAL_EMULATOR_CACHE", str(tmp_path / "a" / "b"))
    folder = Path(toolchain.cache_folder())
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_driver_that_was_cut_short_is_built_again(tmp_path, monkeypatch):
    monkeypatch.setenv("METAL_EMULATOR_CACHE", str(tmp_path))
    sound = b"\x7fELF"
    monkeypatch.setattr(module.build, "build", lambda out, product: out.touch())
    monkeypatch.setattr(module.build, "link", lambda _, out: out.write_bytes(sound))
    library = module.build_driver()
    whole = library.read_bytes()
    assert whole.startswith(sound)
    library.write_bytes(whole[:-1])
    assert module.build_driver() == library
    assert library.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [library]
