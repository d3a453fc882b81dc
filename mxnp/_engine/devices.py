"""Devices: where recorded operations run.

The GPU of a Mac shares its memory with the processor: an array is on both. What is
chosen is where operations are computed.
"""

from __future__ import annotations

import os

from mxnp._bridge import DEVICE, DOUBLES

from . import core
from .settings import Block, Setting

_device = Setting(DEVICE, "device", ("auto", "cpu", "metal"))
_float64 = Setting(DOUBLES, "float64 policy", ("cpu", "error", "float32"))


def devices() -> tuple[str, ...]:
    """
    Return the devices that operations can run on.

    Returns
    -------
    tuple of str
        "cpu" and, where there is a GPU that Metal can use, "metal".

    Examples
    --------
    >>> import mxnp as np
    >>> np.devices()  # doctest: +SKIP
    ('cpu', 'metal')
    """
    return ("cpu", "metal") if core.metal_devices() else ("cpu",)


def _check(name: str) -> str:
    """Refuse a device that this machine has not."""
    if name == "metal" and not core.metal_devices():
        raise ValueError("device 'metal' is not available: this machine has no Metal")
    return name


def get_device() -> str:
    """
    Return the device that operations are recorded for.

    Returns
    -------
    str
        "cpu", "metal" or "auto".
    """
    return _device.get()


def set_device(name: str) -> str:
    """
    Set the device that operations of all threads are recorded for.

    Parameters
    ----------
    name : {"auto", "cpu", "metal"}
        With "metal" everything that is recorded runs on the GPU if it can: it has no
        float64 and complex128. With "auto", the first setting where there is a GPU,
        what is large enough to pay for a launch does. The environment variable
        ``MXNP_DEVICE`` sets the first one. Without effect on small arrays, which NumPy
        computes at once.

    Returns
    -------
    str
        The device before.

    Raises
    ------
    ValueError
        If there is no such device.

    See Also
    --------
    device : Set the device of a block.
    """
    return _device.set(_check(name))


class device(Block):  # noqa: N801
    """
    Context manager: the device that operations of a block are recorded for.

    It holds for the thread or task that runs the block, as `numpy.errstate` does.

    Parameters
    ----------
    name : {"auto", "cpu", "metal"}
        See `set_device`.

    Raises
    ------
    ValueError
        If there is no such device.

    Examples
    --------
    >>> import mxnp as np
    >>> with np.device("cpu"):
    ...     np.get_device()
    'cpu'
    """

    __module__ = "mxnp"
    _setting = _device

    def __init__(self, name: str) -> None:
        super().__init__(_check(name))


def get_float64_policy() -> str:
    """
    Return what becomes of float64 and complex128 on a device that has none.

    Returns
    -------
    str
        "cpu", "error" or "float32".
    """
    return _float64.get()


def set_float64_policy(policy: str) -> str:
    """
    Set what becomes of float64 and complex128 on a device that has none.

    Parameters
    ----------
    policy : {"cpu", "error", "float32"}
        With "cpu" the processor computes with them, exactly. With "error", recording
        such an operation for device "metal" raises a TypeError, which shows where a
        program leaves float32. With "float32", new arrays of floats are float32 while
        "metal" is the device, and complex ones complex64, unless the call names a
        dtype: those of `zeros`, `linspace`, `array` of Python's numbers, random ones.

    Returns
    -------
    str
        The policy before.

    Raises
    ------
    ValueError
        If there is no such policy.
    """
    return _float64.set(policy)


def may_use_metal() -> bool:
    """Tell whether what is recorded now may run on a Metal device."""
    return get_device() != "cpu" and bool(devices()[1:]) and core.is_metal_usable()


def check_known(name: str) -> None:
    """Refuse what is not one of `devices`."""
    if name not in devices():
        raise ValueError(f"device {name!r} is not available: use one of {devices()}")


def _start() -> None:
    """Take MXNP_DEVICE from the environment."""
    chosen = os.environ.get("MXNP_DEVICE") or "auto"
    try:
        set_device(chosen)
    except ValueError as error:
        raise ImportError(f"MXNP_DEVICE is {chosen!r}: {error}") from None
    if core.metal_devices():
        core.use_metal(_AUTO_THRESHOLD)


_AUTO_THRESHOLD = 2**17  # elements, from which on a launch is expected to pay

_start()
