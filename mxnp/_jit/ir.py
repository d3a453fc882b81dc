"""Prints instructions of LLVM's intermediate representation (IR) on vectors."""

from __future__ import annotations

import struct
from typing import NamedTuple


class UnsupportedError(Exception):
    """An operation that cannot have NumPy's bits in LLVM."""


class Value(NamedTuple):
    """The result of an instruction: one element, or one of each lane."""

    name: str
    dtype: str
    is_single: bool = False  # whether the operand is one value for all elements


# In memory a bool takes a byte.
TYPES = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "i8",
    "uint16": "i16",
    "uint32": "i32",
    "uint64": "i64",
    "float32": "float",
    "float64": "double",
}
BITS = {name: int("".join(filter(str.isdigit, name)) or 1) for name in TYPES}


def is_float(dtype: str) -> bool:
    """Return whether a dtype is a floating-point type."""
    return dtype.startswith("float")


def is_signed(dtype: str) -> bool:
    """Return whether a dtype is a signed integer."""
    return dtype.startswith("int")


class Block:
    """Instructions that compute elements of `lanes` positions at once."""

    def __init__(self, lanes: int, prefix: str) -> None:
        self.lanes = lanes
        self.index = f"%{prefix}i"  # the position of the first lane
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self._prefix = prefix
        self._count = 0

    def type(self, dtype: str) -> str:
        """Return the IR's type of a value."""
        return TYPES[dtype] if self.lanes == 1 else f"<{self.lanes} x {TYPES[dtype]}>"

    def constant(self, dtype: str, number: float) -> Value:
        """Return a value with the same element in each lane."""
        if is_float(dtype):
            (rounded,) = struct.unpack("f", struct.pack("f", number))
            exact = rounded if dtype == "float32" else number
            text = f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"
        else:
            text = str(int(number))
        if self.lanes > 1:
            text = f"splat ({TYPES[dtype]} {text})"
        return Value(text, dtype)

    def append(self, instruction: str) -> str:
        """Append an instruction, and return the name of its result."""
        name = f"%{self._prefix}{self._count}"
        self._count += 1
        self.lines.append(f"  {name} = {instruction}")
        return name

    def emit(self, dtype: str, instruction: str) -> Value:
        """Append an instruction whose result is a value."""
        return Value(self.append(instruction), dtype)

    def call(
        self,
        dtype: str,
        function: str,
        *arguments: Value,
        metadata: tuple[str, ...] = (),
    ) -> Value:
        """Call an intrinsic function that is overloaded on its dtypes."""
        types = [self.type(value.dtype) for value in arguments]
        kinds = [arguments[0].dtype]
        if function.endswith(("fptrunc", "fptosi")):
            kinds.insert(0, dtype)
        lanes = "" if self.lanes == 1 else f"v{self.lanes}"
        suffix = ".".join(
            f"{lanes}{'f' if is_float(kind) else 'i'}{BITS[kind]}" for kind in kinds
        )
        name = f"@llvm.{function}.{suffix}"
        declared = ", ".join([*types, *["metadata"] * len(metadata)])
        self.declarations.add(f"declare {self.type(dtype)} {name}({declared})")
        passed = [f"{self.type(value.dtype)} {value.name}" for value in arguments]
        passed += [f'metadata !"{each}"' for each in metadata]
        return self.emit(dtype, f"call {self.type(dtype)} {name}({', '.join(passed)})")

    def binary(self, instruction: str, a: Value, b: Value) -> Value:
        """Append an instruction on two values whose dtype is that of the result."""
        return self.emit(
            a.dtype, f"{instruction} {self.type(a.dtype)} {a.name}, {b.name}"
        )

    def constrained(
        self, dtype: str, function: str, *arguments: Value, metadata: str = ""
    ) -> Value:
        """
        Call a floating-point operation whose conditions count, even if nothing uses it.

        LLVM may remove a plain instruction, since it ignores the processor's sticky
        flags. `metadata` is a rounding mode, or the condition of a comparison.
        """
        return self.call(
            dtype,
            f"experimental.constrained.{function}",
            *arguments,
            metadata=(*filter(None, [metadata]), "fpexcept.strict"),
        )

    def arithmetic(self, function: str, *arguments: Value) -> Value:
        """Append an operation on floats that can overflow, underflow or be invalid."""
        return self.constrained(
            arguments[0].dtype, function, *arguments, metadata="round.tonearest"
        )

    def compare(self, condition: str, a: Value, b: Value) -> Value:
        """
        Compare two values of one dtype, and return a bool.

        An order comparison of floats is printed such that NaN is not an invalid
        operation, as in NumPy's loops.
        """
        if is_float(a.dtype) and condition not in ("oeq", "une", "uno", "ord"):
            return self.constrained("bool", "fcmp", a, b, metadata=condition)
        instruction = "fcmp" if is_float(a.dtype) else "icmp"
        return self.emit(
            "bool", f"{instruction} {condition} {self.type(a.dtype)} {a.name}, {b.name}"
        )

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """Return the first value where the condition is true, otherwise the second."""
        truth, of = self.type("bool"), self.type(a.dtype)
        return self.emit(
            a.dtype, f"select {truth} {condition.name}, {of} {a.name}, {of} {b.name}"
        )

    def convert(self, instruction: str, value: Value, dtype: str) -> Value:
        """Append an instruction that converts a value to another dtype."""
        before, after = self.type(value.dtype), self.type(dtype)
        return self.emit(dtype, f"{instruction} {before} {value.name} to {after}")

    def reinterpret(self, value: Value, dtype: str) -> Value:
        """Return the same bits as a value of another dtype."""
        if TYPES[value.dtype] == TYPES[dtype]:
            return value._replace(dtype=dtype)
        if {BITS[value.dtype], BITS[dtype]} == {1, 8}:  # the byte of a bool
            if dtype == "bool":
                return self.compare("ne", value, self.constant(value.dtype, 0))
            return self.convert("zext", value, dtype)
        if BITS[value.dtype] != BITS[dtype]:
            raise UnsupportedError(f"bits of {value.dtype} as {dtype}")
        return self.convert("bitcast", value, dtype)
