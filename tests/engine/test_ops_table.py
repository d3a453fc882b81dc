"""Compare csrc/ir/ops.def and csrc/ir/dtypes.def with NumPy and metal/scalar.metal."""

import re

import numpy
import pytest
from support.lanes import ON_CUDA
from support.paths import ROOT
from support.tolerances import NUMPYS, near

import mxnp
from mxnp import _bridge
from mxnp._engine import core

DTYPES = {row.name: numpy.dtype(row.name) for row in NUMPYS}

INTEGER = {name for name, dtype in DTYPES.items() if dtype.kind in "iu"}
REAL_FLOATING = {"float16", "float32", "float64"}
FLOATING = REAL_FLOATING | {"complex64", "complex128"}
CLASSES = {  # defined at the top of ops.def
    "any": {"bool"} | INTEGER | FLOATING,
    "numeric": INTEGER | FLOATING,
    "real": INTEGER | REAL_FLOATING,
    "real_or_bool": {"bool"} | INTEGER | REAL_FLOATING,
    "integer": INTEGER,
    "integer_or_bool": {"bool"} | INTEGER,
    "floating": FLOATING,
    "real_floating": REAL_FLOATING,
    "double": {"float64", "complex128"},
    "scaled": REAL_FLOATING,
}
RESULTS = {
    "same": ("{0}",),
    "truth": ("bool",),
    "count": ("uint8",),
    "magnitude": ("{1}",),
    "same_same": ("{0}", "{0}"),
    "same_int": ("{0}", "int32"),
}
IDENTITIES = {
    "none": None,
    "0": 0,
    "1": 1,
    "-1": -1,
    "true": True,
    "false": False,
    "-INFINITY": -numpy.inf,
}

# Not recorded: integer powers may raise, and expm1 differs at complex limits.
NOT_RECORDED = {"power": INTEGER, "expm1": {"complex64", "complex128"}}

# Numeric ufuncs with core dimensions are not elementwise.
NOT_ELEMENTWISE = {"matmul", "matvec", "vecdot", "vecmat"}
# Ufuncs of one operand without loops over numbers.
NOT_NUMERIC = {"isnat"}

each_op = pytest.mark.parametrize("op", core.ops(), ids=lambda op: op.name)


def public_ufuncs():
    found = (value for name, value in vars(numpy).items() if not name.startswith("_"))
    return {f.__name__: f for f in found if isinstance(f, numpy.ufunc)}


def magnitude_of(name):
    return {"complex64": "float32", "complex128": "float64"}.get(name, name)


def test_every_ufunc_over_numbers_has_a_row():
    expected = public_ufuncs().keys() - NOT_ELEMENTWISE - NOT_NUMERIC
    assert {op.name for op in core.ops()} == expected


def test_rows_are_not_repeated():
    names = [op.name for op in core.ops()]
    assert len(names) == len(set(names))


@each_op
def test_arity_and_identity_are_those_of_the_ufunc(op):
    ufunc = getattr(numpy, op.name)
    assert (ufunc.nin, ufunc.nout) == (op.nin, op.nout)
    identity = IDENTITIES[op.identity]
    assert (ufunc.identity, type(ufunc.identity)) == (identity, type(identity))


@each_op
def test_types_are_those_of_the_ufunc(op):
    first_inputs = {types[0] for types in getattr(numpy, op.name).types}
    have = {name for name, dtype in DTYPES.items() if dtype.char in first_inputs}
    assert have == CLASSES[op.types]


@pytest.mark.sampled(17)
@each_op
def test_operation_is_recorded_and_gives_the_result_dtypes(op):
    for name in CLASSES[op.types]:
        inputs = [name, "int32" if op.types == "scaled" else name][: op.nin]
        outputs = [word.format(name, magnitude_of(name)) for word in RESULTS[op.result]]
        arrays = [numpy.ones((400, 400), dtype) for dtype in inputs]
        ours = [mxnp.array(array) for array in arrays]
        mxnp.synchronize()
        with numpy.errstate(divide="ignore"):
            expected = getattr(numpy, op.name)(*arrays)
            results = getattr(mxnp, op.name)(*ours)
        if op.nout == 1:
            expected, results = (expected,), (results,)
        assert [array.dtype.name for array in expected] == outputs
        assert [array.dtype.name for array in results] == outputs
        is_recorded = name not in NOT_RECORDED.get(op.name, ())
        assert _bridge.pending() == is_recorded, name
        mxnp.synchronize()
        groups = [group.operations for group in core.last_flush()]
        assert not is_recorded or groups == [(op.name,)], name
        for result, want in zip(results, expected, strict=True):
            found = numpy.asarray(result)
            assert found.tobytes() == want.tobytes() or near(found, want).all(), name


@each_op
def test_expression_uses_every_operand(op):
    operands = set(re.findall(r"\b[abc]\b", op.expression))
    assert operands == set("ab"[: op.nin]) | ({"c"} if op.nout == 2 else set())


@each_op
def test_functions_of_the_expressions_are_defined(op):
    metal = (ROOT / "metal" / "scalar.metal").read_text(encoding="utf-8")
    defined = set(re.findall(r"MX_INLINE \w+ (mx_\w+)\(", metal))
    called = set(re.findall(r"(\w+)\(", op.expression))
    assert called <= defined


@each_op
def test_summary_is_a_sentence(op):
    assert re.fullmatch(r"[-\w].*[^.]\.", op.summary)


@pytest.mark.parametrize("row", NUMPYS, ids=lambda row: row.name)
def test_dtypes_are_numpys(row):
    dtype = numpy.dtype(row.name)
    assert (row.itemsize, row.kind) == (dtype.itemsize, dtype.kind)


def test_bfloat16_is_a_float_for_the_core():
    import ml_dtypes

    dtype = numpy.dtype(ml_dtypes.bfloat16)
    (row,) = set(core.dtypes()) - set(NUMPYS)
    assert (row.name, row.itemsize, row.kind) == (dtype.name, dtype.itemsize, "f")


def test_metal_has_no_double_precision():
    without = {row.name for row in core.dtypes()} - core.gpu().types.keys()
    assert without == (set() if ON_CUDA else {"float64", "complex128"})
