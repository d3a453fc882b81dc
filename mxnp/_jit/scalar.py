"""
The functions of the expressions of csrc/ir/ops.def, in LLVM's IR.

It corresponds to the file ``scalar`` of a GPU. A function is missing, or raises
`UnsupportedError`, where its results could differ from NumPy's in a bit.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

import numpy

from mxnp._engine import core

from .ir import BITS, Block, UnsupportedError, Value, is_float, is_signed

Function = Callable[..., Value]


def _same_dtype(*values: Value) -> str:
    if len({value.dtype for value in values}) > 1:
        raise UnsupportedError("operands of several dtypes")
    return values[0].dtype


def _moved(a: Value) -> Value:
    """
    Return a value as the result of a call.

    NumPy's loops keep the byte of a bool, which is any byte but 0 if it is true. A bool
    in LLVM has lost it.
    """
    if a.dtype == "bool":
        raise UnsupportedError("the byte of a bool")
    return a


def _not(block: Block, a: Value) -> Value:
    return block.binary("xor", a, block.constant("bool", 1))


# -- Arithmetic ------------------------------------------------------------------------


def _arithmetic(of_floats: str, of_integers: str, of_bools: str) -> Function:
    def compute(block: Block, a: Value, b: Value) -> Value:
        dtype = _same_dtype(a, b)
        if is_float(dtype):
            return block.arithmetic(of_floats, a, b)
        return block.binary(of_bools if dtype == "bool" else of_integers, a, b)

    return compute


def _divide(block: Block, a: Value, b: Value) -> Value:
    if not is_float(_same_dtype(a, b)):
        raise UnsupportedError("division of integers")
    return block.arithmetic("fdiv", a, b)


def _reciprocal(block: Block, a: Value) -> Value:
    return _divide(block, block.constant(a.dtype, 1), a)


def _negative(block: Block, a: Value) -> Value:
    if is_float(a.dtype):
        return block.emit(a.dtype, f"fneg {block.type(a.dtype)} {a.name}")
    return block.binary("sub", block.constant(a.dtype, 0), a)


def _absolute(block: Block, a: Value) -> Value:
    if is_float(a.dtype):
        return block.call(a.dtype, "fabs", a)
    if not is_signed(a.dtype):
        return a
    zero = block.constant(a.dtype, 0)
    return block.select(block.compare("slt", a, zero), block.binary("sub", zero, a), a)


def _sign(block: Block, a: Value) -> Value:
    zero, one = block.constant(a.dtype, 0), block.constant(a.dtype, 1)
    if not is_float(a.dtype) and not is_signed(a.dtype):
        return block.select(block.compare("ne", a, zero), one, zero)
    negative = block.select(_less(block, a, zero), block.constant(a.dtype, -1), zero)
    sign = block.select(_less(block, zero, a), one, negative)
    return (
        block.select(block.compare("uno", a, a), a, sign) if is_float(a.dtype) else sign
    )


# -- Comparisons -----------------------------------------------------------------------


def _equal(block: Block, a: Value, b: Value) -> Value:
    return block.compare("oeq" if is_float(_same_dtype(a, b)) else "eq", a, b)


def _less(block: Block, a: Value, b: Value) -> Value:
    dtype = _same_dtype(a, b)
    return block.compare(
        "olt" if is_float(dtype) else "slt" if is_signed(dtype) else "ult", a, b
    )


def _less_equal(block: Block, a: Value, b: Value) -> Value:
    dtype = _same_dtype(a, b)
    return block.compare(
        "ole" if is_float(dtype) else "sle" if is_signed(dtype) else "ule", a, b
    )


def _truth(block: Block, a: Value) -> Value:
    if a.dtype == "bool":
        return a
    return block.compare(
        "une" if is_float(a.dtype) else "ne", a, block.constant(a.dtype, 0)
    )


def _extreme(is_maximum: bool, ignores_nan: bool) -> Function:
    """Return a function that finds the larger or the smaller of two values."""

    def compute(block: Block, a: Value, b: Value) -> Value:
        dtype = _same_dtype(a, b)
        if is_float(dtype) and core.processor() != "x86-64":  # an instruction of arm64
            which = "max" if is_maximum else "min"
            return block.call(dtype, which + ("num" if ignores_nan else "imum"), a, b)
        is_first = _less(block, b, a) if is_maximum else _less(block, a, b)
        found = block.select(is_first, a, b)
        if not is_float(dtype):
            return found
        # Of two equal values, such as 0 and -0, NumPy's loops return the second.
        if ignores_nan:
            return block.select(block.compare("uno", b, b), a, found)
        return block.select(block.compare("uno", a, a), a, found)

    return compute


def _clip(block: Block, a: Value, low: Value, high: Value) -> Value:
    dtype = _same_dtype(a, low, high)
    if not is_float(dtype):
        raised = block.select(_less(block, a, low), low, a)
        return block.select(_less(block, high, raised), high, raised)
    # NumPy's loop for limits of one value keeps the sign of a zero that equals a limit.
    if low.is_single and high.is_single:
        raised = block.select(_less(block, a, low), low, a)
        clipped = block.select(_less(block, high, raised), high, raised)
        limit = block.select(_isnan(block, low), low, high)
        return block.select(block.compare("uno", low, high), limit, clipped)
    raised = block.select(_less(block, low, a), a, low)
    raised = block.select(_isnan(block, a), a, raised)
    clipped = block.select(_less(block, raised, high), raised, high)
    return block.select(_isnan(block, raised), raised, clipped)


# -- Bits ------------------------------------------------------------------------------


def _invert(block: Block, a: Value) -> Value:
    return block.binary(
        "xor", a, block.constant(a.dtype, 1 if a.dtype == "bool" else -1)
    )


def _shift(is_left: bool) -> Function:
    def compute(block: Block, a: Value, b: Value) -> Value:
        dtype = _same_dtype(a, b)
        width = block.constant(dtype, BITS[dtype])
        is_small = block.compare("ult", b, width)
        by = block.select(is_small, b, block.constant(dtype, 0))
        zero = block.constant(dtype, 0)
        if is_left:
            return block.select(is_small, block.binary("shl", a, by), zero)
        if not is_signed(dtype):
            return block.select(is_small, block.binary("lshr", a, by), zero)
        last = block.constant(dtype, BITS[dtype] - 1)
        return block.binary("ashr", a, block.select(is_small, b, last))

    return compute


def _bitwise_count(block: Block, a: Value) -> Value:
    return _cast(block, block.call(a.dtype, "ctpop", _absolute(block, a)), "uint8")


# -- Floating-point numbers ------------------------------------------------------------


def _rounding(name: str) -> Function:
    def compute(block: Block, a: Value) -> Value:
        return block.call(a.dtype, name, a) if is_float(a.dtype) else _moved(a)

    return compute


def _sqrt(block: Block, a: Value) -> Value:
    return block.arithmetic("sqrt", a)


def _copysign(block: Block, a: Value, b: Value) -> Value:
    _same_dtype(a, b)
    return block.call(a.dtype, "copysign", a, b)


def _magnitude_bits(block: Block, a: Value) -> tuple[Value, Value]:
    """Return the bits of a float without its sign, and those of an infinity."""
    dtype = f"uint{BITS[a.dtype]}"
    infinity = block.constant(dtype, 0x7FF << 52 if dtype == "uint64" else 0xFF << 23)
    return block.reinterpret(_absolute(block, a), dtype), infinity


def _isnan(block: Block, a: Value) -> Value:
    if not is_float(a.dtype):
        return block.constant("bool", 0)
    return block.compare("uno", a, a)


def _isinf(block: Block, a: Value) -> Value:
    if not is_float(a.dtype):
        return block.constant("bool", 0)
    return block.compare("eq", *_magnitude_bits(block, a))


def _isfinite(block: Block, a: Value) -> Value:
    if not is_float(a.dtype):
        return block.constant("bool", 1)
    return block.compare("ult", *_magnitude_bits(block, a))


def _signbit(block: Block, a: Value) -> Value:
    bits = block.reinterpret(a, f"int{BITS[a.dtype]}")
    return block.compare("slt", bits, block.constant(bits.dtype, 0))


def _scaled(of: float, divided_by: float) -> Function:
    """Return a function that multiplies by a quotient, rounded to the dtype."""

    def compute(block: Block, a: Value) -> Value:
        number = numpy.dtype(a.dtype).type
        factor = block.constant(a.dtype, float(number(of) / number(divided_by)))
        return block.arithmetic("fmul", a, factor)

    return compute


# -- Casts -----------------------------------------------------------------------------


def _whole(block: Block, a: Value, dtype: str) -> Value:
    """
    Return a float as an integer.

    A number beyond the range of the instruction raises the invalid condition. If that
    is reported, the loop of the cast computes it again. Otherwise the result must be
    that of the loop, too, which it is not for uint32 and uint64.
    """
    if dtype in ("uint32", "uint64"):
        raise UnsupportedError(f"float as {dtype}")
    through = "int64" if dtype == "int64" else "int32"
    # On arm64, LLVM converts vectors of float64 to int64 first, as NumPy does on Linux.
    if a.dtype == "float64" and core.processor() != "x86-64":
        if core.processor() == "macOS arm64" and dtype != "int64":
            raise UnsupportedError(f"float64 as {dtype}")
        through = "int64"
    return _cast(block, block.constrained(through, "fptosi", a), dtype)


def _cast(block: Block, a: Value, dtype: str) -> Value:
    if a.dtype == dtype:
        return _moved(a)
    if dtype == "bool":
        return _truth(block, a)
    if is_float(a.dtype):
        if not is_float(dtype):
            return _whole(block, a, dtype)
        if BITS[dtype] > BITS[a.dtype]:
            return block.convert("fpext", a, dtype)
        return block.constrained(dtype, "fptrunc", a, metadata="round.tonearest")
    if is_float(dtype):
        return block.convert("sitofp" if is_signed(a.dtype) else "uitofp", a, dtype)
    if BITS[dtype] == BITS[a.dtype]:
        return Value(a.name, dtype)
    if BITS[dtype] < BITS[a.dtype]:
        return block.convert("trunc", a, dtype)
    return block.convert("sext" if is_signed(a.dtype) else "zext", a, dtype)


def _select(block: Block, condition: Value, a: Value, b: Value) -> Value:
    _same_dtype(a, b)
    return block.select(_truth(block, condition), _moved(a), _moved(b))


_FUNCTIONS: dict[str, Function] = {
    "mx_add": _arithmetic("fadd", "add", "or"),
    "mx_subtract": _arithmetic("fsub", "sub", "xor"),
    "mx_multiply": _arithmetic("fmul", "mul", "and"),
    "mx_divide": _divide,
    "mx_reciprocal": _reciprocal,
    "mx_negative": _negative,
    "mx_absolute": _absolute,
    "mx_fabs": _absolute,
    "mx_sign": _sign,
    "mx_conjugate": lambda block, a: a,
    "mx_maximum": _extreme(is_maximum=True, ignores_nan=False),
    "mx_minimum": _extreme(is_maximum=False, ignores_nan=False),
    "mx_fmax": _extreme(is_maximum=True, ignores_nan=True),
    "mx_fmin": _extreme(is_maximum=False, ignores_nan=True),
    "mx_equal": _equal,
    "mx_less": _less,
    "mx_less_equal": _less_equal,
    "mx_truth": _truth,
    "mx_invert": _invert,
    "mx_left_shift": _shift(is_left=True),
    "mx_right_shift": _shift(is_left=False),
    "mx_bitwise_count": _bitwise_count,
    "mx_rint": _rounding("rint"),
    "mx_floor": _rounding("floor"),
    "mx_ceil": _rounding("ceil"),
    "mx_trunc": _rounding("trunc"),
    "mx_sqrt": _sqrt,
    "mx_isnan": _isnan,
    "mx_isinf": _isinf,
    "mx_isfinite": _isfinite,
    "mx_signbit": _signbit,
    "mx_copysign": _copysign,
    "mx_deg2rad": _scaled(numpy.pi, 180),
    "mx_rad2deg": _scaled(180, numpy.pi),
    "mx_select": _select,
    "mx_clip": _clip,
}

# -- Expressions -----------------------------------------------------------------------


@cache
def _parse(expression: str) -> ast.expr:
    """Return the tree of an expression of C, in which operators become Python's."""
    if "&c" in expression:
        raise UnsupportedError("a second output")
    text = expression.replace("&&", " and ").replace("||", " or ")
    text = text.replace("!=", "<>").replace("!", " not ").replace("<>", "!=")
    return ast.parse(text.strip(), mode="eval").body


_OPERATORS: dict[type, str] = {
    ast.And: "and",
    ast.Or: "or",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.NotEq: "xor",  # of two truth values
}


def compute(block: Block, expression: str, inputs: list[Value], dtype: str) -> Value:
    """
    Print the instructions of an expression of csrc/ir/ops.def.

    Parameters
    ----------
    block : Block
        Where to append the instructions.
    expression : str
        An expression over a, b and c.
    inputs : list of Value
        The values of a, b and c.
    dtype : str
        The dtype of the result.

    Raises
    ------
    UnsupportedError
        If the result could differ from NumPy's.
    """
    names = dict(zip("abc", inputs, strict=False))

    def evaluate(tree: ast.expr) -> Value:
        match tree:
            case ast.Name(id=name):
                return names[name]
            case ast.Call(func=ast.Name(id="mx_cast"), args=[argument]):
                return _cast(block, evaluate(argument), dtype)
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
                return _FUNCTIONS[name](block, *map(evaluate, arguments))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return _not(block, evaluate(operand))
            case (
                ast.BoolOp(op=operator, values=[left, right])
                | ast.BinOp(op=operator, left=left, right=right)
                | ast.Compare(ops=[operator], left=left, comparators=[right])
            ):
                a, b = evaluate(left), evaluate(right)
                _same_dtype(a, b)
                return block.binary(_OPERATORS[type(operator)], a, b)
        raise UnsupportedError(ast.unparse(tree))

    result = evaluate(_parse(expression))
    if result.dtype != dtype:
        raise UnsupportedError(f"{expression} of dtype {result.dtype}")
    return result
