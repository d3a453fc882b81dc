"""Prints the kernels of a program: a loop over the elements for each run of calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .ir import BITS, TYPES, Block, UnsupportedError, Value
from .program import Call, Layout, Program
from .scalar import compute


class Run(NamedTuple):
    """Calls that one kernel computes."""

    first: int
    n_calls: int


def _in_memory(dtype: str) -> str:
    """Return the dtype of elements in memory, where a bool is any byte."""
    return "uint8" if dtype == "bool" else dtype


def _itemsize(dtype: str) -> int:
    return max(BITS[dtype] // 8, 1)


def _dtypes(calls: tuple[Call, ...]) -> set[str]:
    return {
        operand.dtype for call in calls for operand in (*call.inputs, *call.outputs)
    }


class _Body:
    """The instructions of a loop's body, which computes `lanes` elements from %i on."""

    def __init__(self, program: Program, lanes: int, prefix: str) -> None:
        self.block = Block(lanes, prefix)
        self._accesses = program.accesses
        self._values: dict[int, Value] = {}
        self.pointers: set[int] = set()
        self.strides: set[int] = set()
        self.single: dict[int, str] = {}  # operands of one value, and their dtypes

    def _address(self, access: int, dtype: str, lane: int = 0) -> str:
        block = self.block
        self.pointers.add(access)
        if self._accesses[access].layout is Layout.ADJACENT:
            return block.append(
                f"getelementptr {TYPES[dtype]}, ptr %p{access}, i64 {block.index}"
            )
        self.strides.add(access)
        at = block.append(f"add i64 {block.index}, {lane}")
        offset = block.append(f"mul i64 {at}, %s{access}")
        return block.append(f"getelementptr i8, ptr %p{access}, i64 {offset}")

    def _load(self, access: int, dtype: str) -> Value:
        block, layout = self.block, self._accesses[access].layout
        if layout is Layout.ONE_VALUE:
            self.single[access] = dtype
            self.pointers.add(access)
            name = f"%one{access}" if block.lanes == 1 else f"%all{access}"
            return Value(name, dtype, is_single=True)
        align = _itemsize(dtype)
        if block.lanes == 1 or layout is Layout.ADJACENT:
            at = self._address(access, dtype)
            return block.emit(
                dtype, f"load {block.type(dtype)}, ptr {at}, align {align}"
            )
        vector, memory, of = "poison", TYPES[dtype], block.type(dtype)
        for lane in range(block.lanes):
            at = self._address(access, dtype, lane)
            one = block.append(f"load {memory}, ptr {at}, align {align}")
            vector = block.append(
                f"insertelement {of} {vector}, {memory} {one}, i64 {lane}"
            )
        return Value(vector, dtype)

    def read(self, access: int, dtype: str) -> Value:
        """Return the value of an operand at this point of the run."""
        if access not in self._values:
            self._values[access] = self._load(access, _in_memory(dtype))
        return self.block.reinterpret(self._values[access], dtype)

    def add_call(self, call: Call) -> None:
        """Append the instructions of a call."""
        (output,) = call.outputs
        inputs = [self.read(*operand) for operand in call.inputs]
        self._values[output.access] = compute(
            self.block, call.expression, inputs, output.dtype
        )

    def store(self, access: int) -> None:
        """Write the value of an operand to memory."""
        block, layout = self.block, self._accesses[access].layout
        value = self._values[access]
        name, dtype, _ = block.reinterpret(value, _in_memory(value.dtype))
        of, align = block.type(dtype), _itemsize(dtype)
        if block.lanes == 1 or layout is Layout.ADJACENT:
            at = self._address(access, dtype)
            block.lines.append(f"  store {of} {name}, ptr {at}, align {align}")
            return
        for lane in range(block.lanes):
            one = block.append(f"extractelement {of} {name}, i64 {lane}")
            at = self._address(access, dtype, lane)
            block.lines.append(f"  store {TYPES[dtype]} {one}, ptr {at}, align {align}")


# -- Runs ------------------------------------------------------------------------------


def _is_supported(program: Program, call: Call) -> bool:
    """Return whether a kernel can compute a call."""
    if not call.expression or len(call.outputs) != 1:
        return False
    if program.accesses[call.outputs[0].access].layout is Layout.ONE_VALUE:
        return False
    if not _dtypes((call,)) <= TYPES.keys():
        return False
    try:
        _Body(program, 1, "t").add_call(call)
    except UnsupportedError:
        return False
    return True


def find_runs(program: Program, least: int) -> Iterator[Run]:
    """Find the longest runs of at least `least` calls that kernels can compute."""
    first = 0
    for number, call in enumerate((*program.calls, None)):
        if call is None or not _is_supported(program, call):
            if number - first >= least:
                yield Run(first, number - first)
            first = number + 1


def _stored(program: Program, run: Run) -> list[int]:
    """Return the accesses that a run writes and that are used outside of it."""
    end = run.first + run.n_calls
    written = {c.outputs[0].access for c in program.calls[run.first : end]}
    read_later = {o.access for c in program.calls[end:] for o in c.inputs}
    return sorted(
        access
        for access in written
        if program.accesses[access].is_stored or access in read_later
    )


def _print_body(program: Program, run: Run, lanes: int, prefix: str) -> _Body:
    body = _Body(program, lanes, prefix)
    for call in program.calls[run.first : run.first + run.n_calls]:
        body.add_call(call)
    for access in _stored(program, run):
        body.store(access)
    return body


def _print_entry(body: _Body) -> Iterator[str]:
    """Print what a kernel loads before its loops."""
    lanes = body.block.lanes
    for access in sorted(body.pointers):
        yield f"  %pp{access} = getelementptr ptr, ptr %data, i64 {access}"
        yield f"  %p{access} = load ptr, ptr %pp{access}"
    for access in sorted(body.strides):
        yield f"  %ps{access} = getelementptr i64, ptr %strides, i64 {access}"
        yield f"  %s{access} = load i64, ptr %ps{access}"
    for access, dtype in sorted(body.single.items()):
        of = TYPES[dtype]
        yield f"  %one{access} = load {of}, ptr %p{access}, align {_itemsize(dtype)}"
        vector = f"<{lanes} x {of}>"
        yield f"  %in{access} = insertelement {vector} poison, {of} %one{access}, i64 0"
        yield (
            f"  %all{access} = shufflevector {vector} %in{access}, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer"
        )


def _print_function(
    program: Program, run: Run, name: str, lanes: int
) -> tuple[list[str], set[str]]:
    """Return the lines of a function, and the declarations that it needs."""
    main = _print_body(program, run, lanes, "v")
    rest = _print_body(program, run, 1, "r")
    lines = [
        f"define void @{name}(ptr %data, ptr %strides, i64 %n)",
        'strictfp "prefer-vector-width"="512" {',
        "entry:",
        *_print_entry(main),
        f"  %end = sub i64 %n, {lanes}",
        f"  %has_vectors = icmp sge i64 %n, {lanes}",
        "  br i1 %has_vectors, label %main, label %left",
        "main:",
        "  %vi = phi i64 [0, %entry], [%vnext, %main]",
        *main.block.lines,
        f"  %vnext = add i64 %vi, {lanes}",
        "  %more = icmp sle i64 %vnext, %end",
        "  br i1 %more, label %main, label %left",
        "left:",
        "  %begin = phi i64 [0, %entry], [%vnext, %main]",
        "  %some = icmp slt i64 %begin, %n",
        "  br i1 %some, label %rest, label %done",
        "rest:",
        "  %ri = phi i64 [%begin, %left], [%rnext, %rest]",
        *rest.block.lines,
        "  %rnext = add i64 %ri, 1",
        "  %again = icmp slt i64 %rnext, %n",
        "  br i1 %again, label %rest, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return lines, main.block.declarations | rest.block.declarations


def print_kernels(program: Program, runs: dict[str, Run], vector_bytes: int) -> str:
    """
    Return a module of LLVM's IR that has a function for each run.

    The main loop of a function computes two vectors of the widest dtype at once, and a
    second loop computes the elements that are left.

    Parameters
    ----------
    program : Program
        The program.
    runs : dict of str to Run
        The calls that each function computes, by its name.
    vector_bytes : int
        The size of the processor's vectors in bytes.
    """
    lines: list[str] = []
    declarations: set[str] = set()
    for name, run in runs.items():
        calls = program.calls[run.first : run.first + run.n_calls]
        lanes = 2 * vector_bytes // max(map(_itemsize, _dtypes(calls)))
        function, needed = _print_function(program, run, name, lanes)
        lines += function
        declarations |= needed
    return "\n".join([*sorted(declarations), *lines])
