"""Devices, on which recorded operations run.

The GPU of a Mac shares its memory with the processor, so an array is on both devices.
The setting decides only where operations are computed.
"""

from __future__ import annotations

from mxnp._bridge import DEVICE, DOUBLES

from . import core, environment
from .settings import Block, Setting


def devices() -> tuple[str, ...]:
    """
    Return the devices on which operations can run.

    Returns
    -------
    tuple of str
        "cpu" and, on machines with a GPU that this build supports, its name: "metal"
        or "cuda". Further GPUs of the same kind are "cuda:1" and so on. A process uses
        one of them: see `set_device`.

    Examples
    --------
    >>> import mxnp as np
    >>> np.devices()  # doctest: +SKIP
    ('cpu', 'metal')
    """
    kind, n = core.gpu().name, len(core.gpu().models)
    others = range(1, n if core.has_choice() else 0)
    return ("cpu", *(kind for _ in range(min(n, 1))), *(f"{kind}:{i}" for i in others))


GPU = core.gpu().name  # the device beside "cpu", whether or not this machine has it


def _check(name: str) -> None:
    for row in core.devices():
        if name == row.name and name not in devices():
            problem = core.device_problem(row) or f"this machine has no {row.title}"
            raise ValueError(f"device {name!r} is not available: {problem}")


class _Device(Setting):
    """The setting of the device, whose value may have the number of a GPU."""

    def find_number(self, value: str) -> int:
        return super().find_number(_kind(value))


def _kind(name: str) -> str:
    """Return the kind of a device. If the name has a number, that GPU is chosen."""
    kind, _, number = name.partition(":") if isinstance(name, str) else (name, "", "")
    if not number.isdecimal() or kind != GPU:
        return name
    if f"{kind}:{int(number)}" not in (f"{kind}:0", *devices()):
        raise ValueError(f"device {name!r} is not available: use one of {devices()}")
    try:
        core.choose_gpu(int(number))
    except ValueError as error:
        raise ValueError(f"device {name!r} is not available: {error}") from None
    return kind


# The bridge knows the numbers of the first three: the others are never available.
_others = (row.name for row in core.devices() if row.name != GPU)
_device = _Device(DEVICE, "device", ("auto", "cpu", GPU, *_others), _check)
_device.read_environment("MXNP_DEVICE")
_float64 = Setting(DOUBLES, "float64 policy", ("cpu", "error", "float32"))

if core.gpu().models:
    from . import auto_sizes

    _measured = auto_sizes.read(core.gpu().models[0], core.core_version())
    _sizes = _measured or auto_sizes.guess(core.gpu().auto_size)
    # The stand-in of tests is there at once.
    _is_real = not environment.get("MXNP_CUDA_STAND_IN")
    core.use_gpu(_sizes, core.gpu().opening if _is_real else 0)


def describe_auto() -> str:
    """Return from which sizes on device "auto" uses the GPU, and how they are known."""
    source = f"measured: {auto_sizes.file()}" if _measured else "guessed"
    return f"{auto_sizes.describe(_sizes)} ({source})"


def get_device() -> str:
    """
    Return the device for which operations are recorded.

    Returns
    -------
    {"auto", "cpu", "metal", "cuda"}
        The device of the block, or else of the process.

    See Also
    --------
    set_device, device, devices
    """
    return _device.get()


def set_device(name: str) -> str:
    """
    Set the device for which operations of all threads are recorded.

    Parameters
    ----------
    name : {"auto", "cpu", "metal", "cuda"}
        With "metal" or "cuda", every recorded operation runs on the GPU if the GPU
        supports it; Metal lacks float64 and complex128. With "auto", only operations
        that are large enough to be faster there do. The environment variable
        ``MXNP_DEVICE`` sets the initial device, which is otherwise "auto".

    Returns
    -------
    {"auto", "cpu", "metal", "cuda"}
        The previous device.

    Raises
    ------
    ValueError
        If `name` is not a device, or this machine lacks it.

    See Also
    --------
    device : Set the device for a block.
    set_float64_policy : Set what happens to float64 on the GPU.

    Notes
    -----
    Operations on arrays below the threshold are not recorded. NumPy computes them on
    the processor.

    On a machine with several GPUs of NVIDIA, "cuda:1" chooses the second one, before
    the first operation on a GPU. From then on "cuda" is that GPU, and another number
    raises a ValueError: a process uses one GPU.
    """
    return _device.set(name)


class device(Block):  # noqa: N801
    """
    Context manager that sets the device for a block.

    The device applies to the thread or task that runs the block, like `numpy.errstate`.

    Parameters
    ----------
    name : {"auto", "cpu", "metal", "cuda"}
        The device; see `set_device`.

    Raises
    ------
    ValueError
        If `name` is not a device, or this machine lacks it.

    See Also
    --------
    set_device : Set the device for the process.

    Examples
    --------
    >>> import mxnp as np
    >>> with np.device("cpu"):
    ...     np.get_device()
    'cpu'
    """

    __module__ = "mxnp"
    _setting = _device


def get_float64_policy() -> str:
    """
    Return what happens to float64 and complex128 on a device that lacks them.

    Returns
    -------
    {"cpu", "error", "float32"}
        The policy; see `set_float64_policy`.
    """
    return _float64.get()


def set_float64_policy(policy: str) -> str:
    """
    Set what happens to float64 and complex128 on a device that lacks them.

    Parameters
    ----------
    policy : {"cpu", "error", "float32"}
        The initial policy is "cpu":

        - "cpu": the processor computes operations on these dtypes, exactly;
        - "error": recording such an operation for device "metal" raises a TypeError,
          which shows where a program leaves float32;
        - "float32": while "metal" is the device, new arrays of floats are float32 and
          new arrays of complex numbers are complex64, unless the call names a dtype.
          This applies to `zeros`, `linspace`, `array` of Python numbers, random numbers
          and others.

    Returns
    -------
    {"cpu", "error", "float32"}
        The previous policy.

    Raises
    ------
    ValueError
        If `policy` is not one of these.
    """
    return _float64.set(policy)


def may_use_gpu() -> bool:
    """Return whether operations recorded now may run on a GPU."""
    device = get_device()
    is_wanted = device == GPU or (device == "auto" and core.is_gpu_wanted())
    return is_wanted and bool(devices()[1:]) and core.is_gpu_usable()


def is_made_on_gpu(size: int) -> bool:
    """Return whether a GPU with its own memory makes new arrays of this size."""
    if not core.gpu_has_own_memory():
        return False
    is_large = get_device() == GPU or size >= _sizes.elementwise
    return is_large and may_use_gpu()


def prefers_gpu() -> bool:
    """Return whether operations recorded now run on a GPU that has their dtypes."""
    return get_device() != "auto" and may_use_gpu()


def check_device(name: str) -> None:
    """Raise a ValueError if this machine or process lacks the device."""
    if _kind(name) not in devices():
        raise ValueError(f"device {name!r} is not available: use one of {devices()}")
