"""Test that mxnp has NumPy's public names; tables list the differences."""

import importlib
import inspect
import operator
import pkgutil
import types

import numpy
import pytest

import mxnp

# Classes that mxnp replaces, with the reason.
DIFFERENT = {
    numpy.ndarray: "the array class",
    numpy.ufunc: "the class of the ufuncs",
    numpy.nditer: "takes mxnp arrays",
    numpy.broadcast: "takes and gives mxnp arrays",
    numpy.flatiter: "gives mxnp arrays",
    numpy.vectorize: "gives mxnp arrays",
    numpy.finfo: "takes arrays, as the standard asks",
    numpy.iinfo: "takes arrays, as the standard asks",
    numpy.__array_namespace_info__: "follows a later version of the standard",
    numpy.lib.npyio.NpzFile: "gives mxnp arrays",
    numpy.random.Generator: "gives mxnp arrays",
    numpy.random.RandomState: "gives mxnp arrays",
    numpy.random.SeedSequence: "takes mxnp arrays",
    numpy.random.MT19937: "takes mxnp arrays",
    numpy.random.PCG64: "takes mxnp arrays",
    numpy.random.PCG64DXSM: "takes mxnp arrays",
    numpy.random.Philox: "takes mxnp arrays",
    numpy.random.SFC64: "takes mxnp arrays",
}
INDEXING = {"CClass", "RClass", "MGridClass", "OGridClass"}  # see test_array.py
# Signatures that differ, with the reason.
SIGNATURES = {
    "default_rng": "NumPy's is compiled; the parameters are the same",
    "clip": "takes the standard's names too: see test_standard",
    "sort": "takes the standard's descending too",
    "argsort": "takes the standard's descending too",
    "fftfreq": "takes the standard's dtype too",
    "rfftfreq": "takes the standard's dtype too",
}


# Names that NumPy deprecates exist too, and warn as NumPy's do.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def modules():
    """Return the names of NumPy's public modules that can be imported."""
    names = ["numpy"]
    for info in pkgutil.walk_packages(numpy.__path__, "numpy.", onerror=lambda _: None):
        parts = info.name.split(".")
        if any(part.startswith("_") for part in parts) or {
            "tests", "distutils", "f2py", "conftest", "testing", "core", "matlib",
        } & set(parts):  # fmt: skip
            continue
        names.append(info.name)
    return [*names, "numpy.testing"]


MODULES = modules()


def counterpart(name):
    return importlib.import_module(name.replace("numpy", "mxnp", 1))


def public(module):
    names = set(getattr(module, "__all__", ()))
    return sorted(names | {name for name in dir(module) if not name.startswith("_")})


@pytest.mark.parametrize("name", MODULES)
def test_has_every_name(name):
    theirs, ours = importlib.import_module(name), counterpart(name)
    missing = [each for each in public(theirs) if not hasattr(ours, each)]
    assert not missing
    assert set(public(theirs)) <= set(dir(ours))


@pytest.mark.parametrize("name", MODULES)
def test_classes_constants_and_types_are_numpys_own(name):
    theirs, ours = importlib.import_module(name), counterpart(name)
    for each in public(theirs):
        value = getattr(theirs, each)
        mine = getattr(ours, each)
        if type(value) is numpy.ndarray:
            assert mine._np_array is value
        elif isinstance(value, type):
            assert (mine is not value) == (value in DIFFERENT), (name, each)
        elif not callable(value) and type(value).__name__ not in INDEXING:
            is_module = isinstance(value, types.ModuleType)
            assert is_module or mine is value or mine == value, (name, each)


@pytest.mark.parametrize("name", MODULES)
def test_signatures(name):
    theirs, ours = importlib.import_module(name), counterpart(name)
    for each in public(theirs):
        value = getattr(theirs, each)
        if not callable(value) or each in SIGNATURES or value in DIFFERENT:
            continue
        try:
            expected = inspect.signature(value)
        except (TypeError, ValueError):
            continue
        got = inspect.signature(getattr(ours, each))
        parameters = [(p.name, p.kind) for p in expected.parameters.values()]
        assert parameters == [(p.name, p.kind) for p in got.parameters.values()], each


# Attributes that only one of numpy.ndarray and mxnp.ndarray has, with the reason.
ATTRIBUTES = {
    "__cuda_array_interface__": "the memory on a GPU",
    "_np_array": "the NumPy array inside",
    "_buffer": "the memory under it",
    "_base": "the array it is a view of",
    "_is_standard": "whether results are arrays, never NumPy scalars",
    "__numpy_dtype__": "the refusal to be a dtype",
    "at": "changes that give a new array, as in JAX and MLX",
    "__module__": "a class written in Python names its module",
    "__slots__": "so that an array has no dictionary",
    "__buffer__": "the buffer protocol, from Python 3.12",
    "__release_buffer__": "the buffer protocol, from Python 3.12",
    "__static_attributes__": "written by Python 3.13 in classes",
    "__firstlineno__": "written by Python 3.13 in classes",
}


def test_array_attributes():
    difference = set(dir(mxnp.ndarray)) ^ set(dir(numpy.ndarray))
    assert difference <= set(ATTRIBUTES)


def test_array_methods_keep_their_signatures():
    for name in dir(numpy.ndarray):
        try:
            expected = inspect.signature(getattr(numpy.ndarray, name))
        except (TypeError, ValueError):
            continue
        if name in {"__class__", "__init_subclass__", "__subclasshook__", "__new__"}:
            continue
        got = inspect.signature(getattr(mxnp.ndarray, name))
        names = [p for p in expected.parameters if p not in ("self", "other")]
        assert [p for p in got.parameters if p not in ("self", "other")] == names, name


def test_ufunc_attributes():
    each_for_itself = {"__name__"}  # Python does not allow a property of that name
    assert set(dir(numpy.ufunc)) - set(dir(mxnp.ufunc)) == each_for_itself
    for name in dir(numpy.add):
        assert hasattr(mxnp.add, name), name


@pytest.mark.parametrize("function", [mxnp.sum, mxnp.add, mxnp.linalg.norm, mxnp.sinc])
def test_attributes_that_a_program_adds_to_a_function(function):
    """Where NumPy's function accepts them; that function does not get them."""
    function.note = "of the program"
    assert function.note == "of the program"
    assert not hasattr(function.__wrapped__, "note")
    del function.note
    assert not hasattr(function, "note")


@pytest.mark.parametrize(
    "name", ["mean", "add", "where", "array", "linalg.inv", "sinc"]
)
def test_the_error_of_a_missing_attribute_names_no_class_of_mxnp(name, xp):
    function = operator.attrgetter(name)(xp)
    messages = []
    for change in (getattr, delattr):
        with pytest.raises(AttributeError) as caught:
            change(function, "missing")
        messages.append(str(caught.value))
    return messages


def test_attributes_of_a_program_s_subclass_of_a_generator():
    class Own(mxnp.random.Generator):
        pass

    own = Own(mxnp.random.PCG64(1))
    own.random = own.note = "of the program"
    assert (own.random, own.note) == ("of the program",) * 2
    del own.random
    assert own.random(2).shape == (2,)


def test_the_options_of_indexing_objects():
    before, mxnp.c_.axis = mxnp.c_.axis, 0
    try:
        assert mxnp.c_[[1, 2], [3]].tolist() == [[1], [2], [3]]
    finally:
        mxnp.c_.axis = before


def test_a_name_added_to_numpy_works_immediately(monkeypatch):
    def spread(a):
        return numpy.asarray(a).max() - numpy.asarray(a).min(), numpy.sort(a)

    monkeypatch.setattr(numpy, "spread", spread, raising=False)
    width, ordered = mxnp.spread(mxnp.array([3, 1, 2]))
    assert width == 2
    assert type(ordered) is mxnp.ndarray


def test_a_name_added_to_a_ufunc_namespace_is_a_ufunc(monkeypatch):
    monkeypatch.setattr(numpy, "twice", numpy.frompyfunc(lambda x: 2 * x, 1, 1), False)
    assert isinstance(mxnp.twice, mxnp.ufunc)
    assert type(mxnp.twice(mxnp.arange(3))) is mxnp.ndarray


def test_star_import_gives_every_public_name():
    names = {}
    exec("from mxnp import *", names)
    assert set(numpy.__all__) <= set(names)


@pytest.mark.parametrize("name", ["sum", "add", "linalg.norm", "random.rand", "array"])
def test_functions_are_pickled_by_name(name):
    import copy
    import operator
    import pickle

    function = operator.attrgetter(name)(mxnp)
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    assert function == operator.attrgetter(name)(numpy) or name == "random.rand"


def test_versions():
    from importlib.metadata import version

    assert mxnp.__version__ == numpy.__version__
    assert mxnp.mxnp_version == version("mxnp")


@pytest.mark.parametrize("module", ["", ".linalg", ".fft", ".random", ".ma"])
def test_other_names_of_a_function_are_the_same_object(module: str) -> None:
    numpys, ours = (importlib.import_module(top + module) for top in ("numpy", "mxnp"))
    names: dict[int, list[str]] = {}
    for name, value in vars(numpys).items():
        if callable(value) and name[0] != "_":
            names.setdefault(id(value), []).append(name)
    for first, *others in names.values():
        for other in others:
            assert getattr(ours, other) is getattr(ours, first), other
