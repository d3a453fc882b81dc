"""gpu_kernel: kernels that a program writes in the Metal Shading Language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy

from mxnp import _bridge
from mxnp._bridge import frameless
from mxnp._engine import core

# Attributes that a kernel can use by name, and their types.
_ATTRIBUTES = {
    "thread_position_in_grid": "uint3",
    "thread_position_in_threadgroup": "uint3",
    "threadgroup_position_in_grid": "uint3",
    "threads_per_grid": "uint3",
    "threads_per_threadgroup": "uint3",
    "threadgroups_per_grid": "uint3",
    "thread_index_in_threadgroup": "uint",
    "thread_index_in_simdgroup": "uint",
    "simdgroup_index_in_threadgroup": "uint",
    "simdgroups_per_threadgroup": "uint",
    "threads_per_simdgroup": "uint",
}

_FEW = 8  # elements; smaller inputs are in the constant address space

_HEAD = """\
#include <metal_stdlib>
using namespace metal;

/* Return the offset, in elements, of an element whose number in C order is `elem`. */
METAL_FUNC long elem_to_loc(uint elem, constant const int *shape,
                            constant const long *strides, int ndim)
{
    long location = 0;
    for (int i = ndim - 1; i >= 0; i--) {
        location += long(elem % uint(shape[i])) * strides[i];
        elem /= uint(shape[i]);
    }
    return location;
}
"""

_NO_DEVICE = (
    "kernels need a GPU: Metal on macOS, or one of NVIDIA on Linux, for which "
    "`python -m mxnp --info` shows what is missing; the Metal emulator of mxnp's tests "
    "runs kernels slowly: install mxnp from its sources with "
    "`pip install . -Csetup-args=-Dmetal=emulator`"
)


@frameless
def gpu_kernel(
    name: str,
    input_names: Sequence[str],
    output_names: Sequence[str],
    source: str,
    header: str = "",
    ensure_row_contiguous: bool = True,
    atomic_outputs: bool = False,
) -> Callable[..., list[Any]]:
    """
    Return a function that runs a kernel of the program on the GPU.

    `source` is the body of the kernel. Its head is generated from the arrays of each
    call. In the body, an input or output ``x`` is a pointer to its elements. If the
    body uses them, ``x_shape``, ``x_strides`` (in elements), ``x_ndim`` and every
    attribute of Metal, such as ``thread_position_in_grid``, are defined. On CUDA the
    text is translated to CUDA C++. ``metal_kernel`` is the same function.

    Parameters
    ----------
    name : str
        Name of the kernel, in reports and in the compiler's messages.
    input_names, output_names : sequence of str
        Names of the arrays, at most 12 in all.
    source : str
        Body of the kernel, in the Metal Shading Language.
    header : str, optional
        Text before the kernel: functions, constants, includes.
    ensure_row_contiguous : bool, optional
        Whether inputs that are not in C order are copied first. If they are not copied,
        the kernel must use ``x_strides``. The function ``elem_to_loc(i, x_shape,
        x_strides, x_ndim)`` returns the offset of element ``i``.
    atomic_outputs : bool, optional
        Whether outputs are declared as ``device atomic<T> *``.

    Returns
    -------
    callable
        ``kernel(*, inputs, grid, threadgroup, output_shapes, output_dtypes,
        template=(), init_value=None, verbose=False, stream=None)``, which returns the
        list of outputs:

        inputs : sequence of array_like
            The inputs, of any dtypes that the GPU has. Python numbers are converted to
            32 bits. A 0-d input is a reference. An input of fewer than 8 elements is in
            the constant address space.
        grid, threadgroup : tuple of three ints
            Numbers of threads along each axis, of the grid and of a threadgroup.
        output_shapes : sequence of tuple of ints
            The shape of each output.
        output_dtypes : sequence of dtype
            The dtype of each output.
        template : sequence of (str, dtype or bool or int)
            Names of types and constants that the header and the body can use.
        init_value : scalar, optional
            The initial value of all elements of the outputs. By default they are not
            initialized.
        verbose : bool, optional
            Whether to print the text of the kernel.
        stream : None
            Ignored. It is accepted for programs that were written for MLX.

    Raises
    ------
    ValueError
        If a name is not an identifier, if the kernel does not compile, or if its
        arguments do not match the names. The message of a compilation error has the
        lines of `source`.
    TypeError
        If the GPU lacks the dtype of an array.
    RuntimeError
        If there is no GPU. If it fails, the next wait raises the error.

    Notes
    -----
    Accesses of a kernel are not checked. Unlike for operations of mxnp, the behavior of
    an access out of bounds is undefined.

    Kernels are cached by their text, not by their name, so kernels of one name for
    several dtypes can be used together.

    Examples
    --------
    >>> import mxnp as np
    >>> exp = np.gpu_kernel(
    ...     name="my_exp",
    ...     input_names=["x"],
    ...     output_names=["out"],
    ...     source='''
    ...         uint i = thread_position_in_grid.x;
    ...         out[i] = metal::exp(x[i]);
    ...     ''',
    ... )
    """
    names = [*input_names, *output_names]
    for each in [name, *names]:
        if not each.isidentifier():
            raise ValueError(f"invalid identifier for a kernel or an array: {each!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"names of arrays must be unique, but are {names}")

    def kernel(
        *,
        inputs: Sequence[Any],
        grid: Sequence[int],
        threadgroup: Sequence[int],
        output_shapes: Sequence[Sequence[int]],
        output_dtypes: Sequence[Any],
        template: Iterable[tuple[str, Any]] = (),
        init_value: Any = None,
        verbose: bool = False,
        stream: None = None,
    ) -> list[Any]:
        del stream
        if not core.gpu().models:
            raise RuntimeError(_NO_DEVICE)
        _check_number("inputs", inputs, input_names)
        _check_number("output_shapes", output_shapes, output_names)
        _check_number("output_dtypes", output_dtypes, output_names)
        arrays = [_array(each, ensure_row_contiguous) for each in inputs]
        outputs = [
            _new_output(shape, dtype, init_value)
            for shape, dtype in zip(output_shapes, output_dtypes, strict=True)
        ]
        text, arguments = _write(
            name,
            list(zip(input_names, arrays, strict=True)),
            list(zip(output_names, outputs, strict=True)),
            source,
            header,
            list(template),
            atomic_outputs,
        )
        if verbose:
            print(text)
        threads = _three("threadgroup", threadgroup)
        counts = _three("grid", grid)
        if min(threads) < 1:
            raise ValueError(f"threadgroup must be positive, but is {threads}")
        if min(counts) > 0:
            _bridge.launch(
                b"",
                text.encode(),
                name.encode(),
                (*arrays, *outputs),
                len(outputs),
                arguments,
                False,
                counts,
                threads,
            )
        return outputs

    kernel.__name__ = kernel.__qualname__ = name
    kernel.__doc__ = f"Run the kernel {name!r}: see `mxnp.gpu_kernel`."
    return kernel


# -- Arrays ---------------------------------------------------------------------------


def _check_number(what: str, items: Sequence[Any], names: Sequence[str]) -> None:
    if len(items) != len(names):
        raise ValueError(f"{what} must have {len(names)} items, but has {len(items)}")


def _three(what: str, sizes: Sequence[int]) -> tuple[int, int, int]:
    """Read a size along three axes."""
    if len(sizes) != 3 or min(sizes) < 0 or max(sizes) >= 2**32:
        raise ValueError(f"{what} must be three sizes below 2**32, but is {sizes!r}")
    x, y, z = (int(size) for size in sizes)
    return x, y, z


def _array(x: Any, contiguous: bool) -> Any:
    """Return an mxnp array for an input, in C order if `contiguous` is true."""
    if not isinstance(x, _bridge.Array):
        x = _bridge.wrap(numpy.asarray(x, _number_dtype(x)))
    dtype = x.dtype
    wanted = _core_dtype(dtype) if _has_kernel_type(dtype) else dtype
    if dtype.num != wanted.num or not (dtype.isnative and x.flags.aligned):
        return _bridge.wrap(numpy.array(x, wanted))
    # Offsets in the constant address space need a larger alignment than an element's.
    is_small_view = x.size < _FEW and x.base is not None
    is_strided = contiguous and not x.flags.c_contiguous
    return x.copy() if is_small_view or is_strided else x


def _core_dtype(dtype: Any) -> Any:
    """Return the one dtype of the core among NumPy's dtypes of the same name."""
    return numpy.dtype(dtype.name)


def _number_dtype(x: Any) -> Any:
    """Return the dtype of a Python number on the device, or None for other objects."""
    kinds = {bool: numpy.bool_, int: numpy.int32, float: numpy.float32}
    return kinds.get(type(x), numpy.complex64 if type(x) is complex else None)


def _new_output(shape: Sequence[int], dtype: Any, init_value: Any) -> Any:
    """Return a new output, filled with the value if it is not None."""
    dims = tuple(int(n) for n in shape)
    _kernel_type(dtype)
    kind = _core_dtype(numpy.dtype(dtype))
    out = (
        _bridge.empty(dims, kind.num)
        if init_value is None
        else _bridge.fill(dims, kind.num, init_value)
    )
    if out is NotImplemented:
        empty = numpy.empty(dims, kind)
        if init_value is not None:
            empty[...] = init_value
        out = _bridge.wrap(empty)
    return out


# -- Text -----------------------------------------------------------------------------


def _has_kernel_type(dtype: Any) -> bool:
    return numpy.dtype(dtype).name in core.gpu().types


def _kernel_type(dtype: Any) -> str:
    """Return the type of a dtype in kernels, or raise a TypeError."""
    kind = numpy.dtype(dtype)
    if not _has_kernel_type(kind) or not kind.isnative:
        name = kind.name if kind.isnative else kind.str
        raise TypeError(f"{name} is not available on device '{core.gpu().name}'")
    return core.gpu().types[kind.name]


class _Arguments:
    """The 64-bit numbers that a kernel receives, and the lines that declare them."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.lines: list[str] = []

    def add(self, line: str, numbers: Sequence[int]) -> None:
        """Add numbers. The line is formatted with the position of the first."""
        self.lines.append(f"    {line.format(len(self.numbers))}\n")
        self.numbers += [int(number) for number in numbers]

    def describe(self, name: str, array: Any, body: str) -> None:
        """Add the shape, strides and ndim of an array that the body uses."""
        names = set(re.findall(rf"\b{name}_(?:shape|strides|ndim)\b", body))
        place = "mxnp_arguments + {}"
        if f"{name}_shape" in names:
            shape = (
                f"constant const int *{name}_shape = (constant const int *)({place});"
            )
            self.add(shape, _pairs(array.shape))
        if f"{name}_strides" in names:
            strides = [stride // array.itemsize for stride in array.strides]
            self.add(f"constant const long *{name}_strides = {place};", strides)
        if f"{name}_ndim" in names:
            self.add(f"const int {name}_ndim = int(*({place}));", [array.ndim])


def _pairs(numbers: Sequence[int]) -> list[int]:
    """Pack pairs of 32-bit numbers into 64-bit numbers."""
    padded = [*numbers, 0]
    both = zip(padded[::2], padded[1::2], strict=False)
    return [low | high << 32 for low, high in both]


def _input(name: str, array: Any, index: int) -> str:
    """Return the declaration of an input."""
    kind = _kernel_type(array.dtype)
    if array.ndim == 0:
        return f"constant const {kind} &{name} [[buffer({index})]]"
    space = "constant" if array.size < _FEW else "device"
    return f"{space} const {kind} *{name} [[buffer({index})]]"


def _output(name: str, array: Any, index: int, atomic: bool) -> str:
    """Return the declaration of an output."""
    kind = _kernel_type(array.dtype)
    if atomic and array.itemsize != 4:
        raise TypeError(f"an atomic output must have 32 bits, not be {array.dtype}")
    if atomic:
        kind = f"atomic<{kind}>"
    return f"device {kind} *{name} [[buffer({index})]]"


def _define(name: str, value: Any) -> str:
    """Return the definition of a type or a constant."""
    if isinstance(value, bool | numpy.bool):
        return f"constant constexpr bool {name} = {str(value).lower()};\n"
    if isinstance(value, int | numpy.integer):
        kind = "int" if -(2**31) < value < 2**31 else "long"
        return f"constant constexpr {kind} {name} = {value};\n"
    return f"using {name} = {_kernel_type(value)};\n"


def _write(
    name: str,
    inputs: list[tuple[str, Any]],
    outputs: list[tuple[str, Any]],
    source: str,
    header: str,
    template: list[tuple[str, Any]],
    atomic: bool,
) -> tuple[str, tuple[int, ...]]:
    """Return the text of the kernel for these arrays, and its numbers."""
    arguments = _Arguments()
    for each, array in [*inputs, *outputs]:
        arguments.describe(each, array, source)
    most = core.gpu().argument_bytes
    if 8 * len(arguments.numbers) > most:
        raise ValueError(
            f"shapes and strides of kernel {name!r} must have at most "
            f"{most} bytes, but have {8 * len(arguments.numbers)}"
        )
    parameters = [_input(each, a, i) for i, (each, a) in enumerate(inputs)]
    parameters += [
        _output(each, a, i, atomic) for i, (each, a) in enumerate(outputs, len(inputs))
    ]
    parameters.append(
        f"constant const long *mxnp_arguments [[buffer({len(parameters)})]]"
    )
    words = set(re.findall(r"\w+", source))
    parameters += [
        f"{kind} {each} [[{each}]]"
        for each, kind in _ATTRIBUTES.items()
        if each in words
    ]
    definitions = "".join(_define(*each) for each in template)
    text = (
        f"{_HEAD}{definitions}{header}\n"
        f"kernel void {name}(\n    " + ",\n    ".join(parameters) + ")\n{\n"
    )
    text += "".join(arguments.lines)
    return f'{text}#line 1 "{name}"\n{source}\n}}\n', tuple(arguments.numbers)


metal_kernel = gpu_kernel  # the name of MLX's function
