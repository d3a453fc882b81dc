"""Test that pickles of mxnp arrays load with mxnp, and without it as NumPy arrays."""

from __future__ import annotations

import copy
import pickle
import pickletools
import subprocess
import sys
import textwrap

import numpy
import pytest

import mxnp

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def arrays(xp):
    x = xp.linspace(-3, 3, 40_000).reshape(200, 200)
    return {
        "recorded": x * 2 + 1,
        "Fortran order": xp.asfortranarray(x),
        "transposed": x[:5, :3].T,
        "view": x[::-2, 3:9],
        "0-d": xp.array(3.5),
        "empty": xp.empty((0, 4)),
        "broadcast": xp.broadcast_to(xp.arange(3), (2, 3)),
        "big-endian": xp.arange(3, dtype=">i4"),
        "structured": xp.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        "dates": xp.array(["2001-01-01"], dtype="M8[D]"),
        "text": xp.array(["a", "bc"]),
        "objects": xp.array([None, {"x": xp.arange(2)}, 2.5], dtype=object),
        "objects in fields": xp.array([(1, [])], dtype="i4, O"),
    }


def facts(a):
    about = type(a).__module__, str(a.dtype), a.shape, a.strides, a.flags.writeable
    values = a.tolist()
    return about, [str(values), type(values)]


def read_by_numpy(data, what="facts(a)"):
    """Return facts about a pickled array from a process that does not import mxnp."""
    code = f"""
        import pickle, sys
        import numpy

        def facts(a):
            about = type(a).__module__, str(a.dtype), a.shape, a.strides, a.flags.writeable
            values = a.tolist()
            return about, [str(values), type(values)]

        a = pickle.load(sys.stdin.buffer)
        assert not any(name.startswith("mxnp") for name in sys.modules)
        sys.stdout.buffer.write(pickle.dumps({what}))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


def names(data):
    """Return the modules that a pickle of protocol 3 or lower names."""
    found = (
        argument
        for code, argument, _ in pickletools.genops(data)
        if code.name == "GLOBAL"
    )
    return {name.split()[0] for name in found}


def test_plain_numpy_reads_them():
    data = pickle.dumps([pickle.dumps(arrays(mxnp), each) for each in PROTOCOLS])
    what = "[{name: facts(x) for name, x in pickle.loads(each).items()} for each in a]"
    for protocol, found in enumerate(read_by_numpy(data, what)):
        expected = pickle.loads(pickle.dumps(arrays(numpy), protocol))
        assert found == {name: facts(each) for name, each in expected.items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_mxnp_reads_them_as_its_own(protocol):
    expected = pickle.loads(pickle.dumps(arrays(numpy), protocol))
    found = pickle.loads(pickle.dumps(arrays(mxnp), protocol))
    for name, array in expected.items():
        assert type(found[name]) is mxnp.ndarray
        assert facts(found[name])[0][1:] == facts(array)[0][1:], name
    assert type(found["objects"][1]["x"]) is mxnp.ndarray


@pytest.mark.parametrize("protocol", range(4))
def test_only_numpy_is_named(protocol):
    named = names(pickle.dumps(list(arrays(mxnp).values()), protocol))
    assert {name.split(".")[0] for name in named} <= {
        "numpy",
        "_codecs",
        "builtins",
        "__builtin__",
    }


def test_numpys_arrays_stay_numpys():
    a = pickle.loads(pickle.dumps([numpy.arange(3), numpy.array([None])]))
    assert [type(each) for each in a] == [numpy.ndarray, numpy.ndarray]


def test_dump_and_dumps_use_numpys_protocol(tmp_path):
    a, b = mxnp.arange(3.0) + 1, numpy.arange(3.0) + 1
    a.dump(tmp_path / "a")
    b.dump(tmp_path / "b")
    for ours, numpys in [
        (a.dumps(), b.dumps()),
        ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()),
    ]:
        found, expected = (next(pickletools.genops(each))[1] for each in (ours, numpys))
        assert found == expected
        assert pickle.loads(ours).tolist() == b.tolist()


@pytest.mark.slow
def test_an_array_that_contains_itself():
    a = mxnp.empty(2, object)
    a[:] = [a, 5]
    pickles = [pickle.dumps(a, protocol) for protocol in PROTOCOLS]
    for again in map(pickle.loads, pickles):
        assert again[0] is again
        assert type(again) is mxnp.ndarray
    what = "[(b[0] is b, b[1]) for b in map(pickle.loads, a)]"
    assert read_by_numpy(pickle.dumps(pickles), what) == [(True, 5)] * len(PROTOCOLS)


def test_out_of_band_without_a_copy():
    a = mxnp.arange(50_000.0) + 1
    buffers = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(data) < 300
    again = pickle.loads(data, buffers=buffers)
    assert type(again) is mxnp.ndarray
    assert mxnp.shares_memory(a, again)


@pytest.mark.slow
def test_a_file_of_objects(tmp_path):
    inner = mxnp.arange(3)
    a = mxnp.array([inner, None], dtype=object)
    mxnp.save(tmp_path / "a.npy", a)
    mxnp.savez(tmp_path / "a.npz", a=a)
    code = f"""
        import sys
        import numpy
        for name in ("a.npy", "a.npz"):
            a = numpy.load({str(tmp_path)!r} + "/" + name, allow_pickle=True)
            a = a if name == "a.npy" else a["a"]
            print(type(a[0]).__module__, a[0], a[1], "mxnp" in sys.modules)
    """
    out = subprocess.check_output(
        [sys.executable, "-c", textwrap.dedent(code)], text=True
    )
    assert out == "numpy [0 1 2] None False\n" * 2
    again = mxnp.load(tmp_path / "a.npy", allow_pickle=True)
    assert type(again) is type(again[0]) is mxnp.ndarray


def test_copies_are_mxnps():
    for a in arrays(mxnp).values():
        assert type(copy.copy(a)) is type(copy.deepcopy(a)) is mxnp.ndarray


@pytest.mark.slow
def test_pickles_written_under_the_runner(tmp_path):
    code = "import numpy as np, pickle, sys; pickle.dump(np.ones(3), sys.stdout.buffer)"
    data = subprocess.check_output([sys.executable, "-m", "mxnp", "-c", code])
    assert read_by_numpy(data)[0][0] == "numpy"
    back = f"import numpy as np, pickle; print(type(pickle.loads({data!r})).__module__)"
    out = subprocess.check_output([sys.executable, "-m", "mxnp", "-c", back], text=True)
    assert out == "mxnp\n"


@pytest.mark.needs("cloudpickle")
@pytest.mark.slow
def test_cloudpickle():
    import cloudpickle

    a = mxnp.arange(4)
    again = cloudpickle.loads(cloudpickle.dumps(lambda: a))()
    assert type(again) is mxnp.ndarray


@pytest.mark.needs("joblib")
@pytest.mark.slow
def test_joblib_maps_its_files(tmp_path):
    import joblib

    joblib.dump(mxnp.arange(5.0), tmp_path / "a")
    assert type(joblib.load(tmp_path / "a")) is mxnp.ndarray
    assert isinstance(joblib.load(tmp_path / "a", mmap_mode="r"), numpy.memmap)


@pytest.mark.parametrize("load", [copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("name", ["default_rng", "RandomState"])
def test_methods_of_random_generators(xp, name, load):
    generator = getattr(xp.random, name)(1)
    draw = generator.standard_normal
    drawn = draw(3), load(draw)(2), load(getattr(xp.random, name)(5).uniform)(size=4)
    return *drawn, draw(2), generator.standard_normal(2)


@pytest.mark.parametrize("kind", ["ndarray", "ufunc"])
def test_members_of_classes(kind):
    for name, original in vars(getattr(numpy, kind)).items():
        if callable(original) and name not in ("__array_namespace__", "__new__"):
            member = getattr(getattr(mxnp, kind), name)
            assert pickle.loads(pickle.dumps(member)) == member


def test_methods_of_arrays_by_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    x = mxnp.arange(20_000.0) + 1
    assert pickle.loads(cloudpickle.dumps(x.sum))() == x.sum()
