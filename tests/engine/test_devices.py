"""Test devices: which exist, which is selected, and where operations run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from support.metal import HOST, needs_host, needs_metal, no_reports, run

import mxnp as np
from mxnp import _bridge
from mxnp._engine import core, devices
from mxnp._namespace import ways

N = 20_000


@pytest.fixture(autouse=True)
def at_the_start() -> Any:
    """Start on the processor, with a low threshold."""
    threshold = _bridge.set_threshold(1_000)
    device, policy = np.set_device("cpu"), np.set_float64_policy("cpu")
    with no_reports():
        yield
        np.synchronize()
    np.set_device(device)
    np.set_float64_policy(policy)
    _bridge.set_threshold(threshold)


def test_work_before_a_device_is_initialized() -> None:
    """Tests use devices at once; docs/cuda.md states how much others wait for."""
    bytes_before = {device.name: device.opening for device in core.devices()}
    assert bytes_before == {"metal": 0, "cuda": 4 << 30}


def groups(body: Callable[[], Any]) -> int:
    """Count the groups of operations that ran on the device."""
    np.synchronize()
    before = core.gpu_counts()["groups"]
    kept = body()
    np.synchronize()
    del kept
    return core.gpu_counts()["groups"] - before


def dispatches(body: Callable[[], Any]) -> int:
    """Count the dispatches that were encoded for the device."""
    np.synchronize()
    before = core.gpu_counts()["dispatches"]
    of_host = HOST.dispatch_count() if HOST else 0
    kept = body()
    np.synchronize()
    del kept
    count = core.gpu_counts()["dispatches"] - before
    if HOST:
        assert HOST.dispatch_count() - of_host == count
    return count


def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine without a GPU."""
    monkeypatch.setattr(core.gpu(), "models", ())


def work(dtype: str = "float32") -> Any:
    x = np.arange(N, dtype=dtype)
    return (x * 2 + 1).sum()


# -- Available devices -----------------------------------------------------------------


def test_devices() -> None:
    assert np.devices()[:2] in {("cpu",), ("cpu", core.gpu().name)}
    assert len(np.devices()) - 1 == len(core.gpu().models)


@needs_host
def test_the_name_of_the_host() -> None:
    assert core.gpu().models == ("Metal emulator (CPU)",)


def test_no_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpu(monkeypatch)
    assert np.devices() == ("cpu",)
    for choose in (np.set_device, np.device):
        with pytest.raises(ValueError, match="device 'metal' is not available"):
            choose("metal")
    assert np.get_device() == "cpu"
    assert np.set_device("auto") == "cpu"
    with np.device("cpu"):
        assert np.get_device() == "cpu"


def test_a_kernel_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpu(monkeypatch)
    made = np.gpu_kernel("test", ["x"], ["out"], "out[0] = x[0];")
    with pytest.raises(
        RuntimeError, match="kernels need a GPU: Metal on macOS"
    ) as caught:
        made(
            inputs=[np.ones(10, "f4")],
            grid=(1, 1, 1),
            threadgroup=(1, 1, 1),
            output_shapes=[(1,)],
            output_dtypes=["f4"],
        )
    assert "-Csetup-args=-Dmetal=emulator" in str(caught.value)


# -- Selection -------------------------------------------------------------------------


@needs_metal
def test_the_device_of_the_process() -> None:
    assert np.get_device() == "cpu"
    assert np.set_device("metal") == "cpu"
    assert np.get_device() == "metal"
    assert np.set_device("auto") == "metal"
    assert np.set_device("cpu") == "auto"


# The kinds of GPU that the core has a row for, first that of this machine.
KINDS = sorted((row.name for row in core.devices()), key=core.gpu().name.__ne__)
CHOICES = [repr(name) for name in ("auto", "cpu", *KINDS)]
CHOICE = f"device must be {', '.join(CHOICES[:-1])} or {CHOICES[-1]}"


@pytest.mark.parametrize("name", ["gpu", "", "CPU", "fpga:0", None, 0])
def test_unknown_names(name: Any) -> None:
    message = f"{CHOICE}, not "
    with pytest.raises(ValueError, match=message):
        np.set_device(name)
    with pytest.raises(ValueError, match=message):
        np.device(name)
    assert np.get_device() == "cpu"


@needs_metal
def test_the_device_of_a_block() -> None:
    with np.device("metal") as block:
        assert np.get_device() == "metal"
        with np.device("auto"):
            assert np.get_device() == "auto"
            with block:
                assert np.get_device() == "metal"
            assert np.get_device() == "auto"
        assert np.get_device() == "metal"
        assert np.set_device("auto") == "metal"  # of the process, not of the block
        assert np.get_device() == "metal"
    assert np.get_device() == "auto"


@needs_metal
def test_an_error_ends_a_block() -> None:
    with pytest.raises(ZeroDivisionError), np.device("metal"):
        raise ZeroDivisionError
    assert np.get_device() == "cpu"


@needs_metal
def test_a_block_is_its_threads() -> None:
    found = []

    def look() -> None:
        found.append(np.get_device())
        with np.device("auto"):
            found.append(np.get_device())

    with np.device("metal"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        found.append(np.get_device())
    assert found == ["cpu", "auto", "metal"]


@needs_metal
def test_a_block_is_its_tasks() -> None:
    found = {}

    async def look(name: str, turns: list[asyncio.Event]) -> None:
        with np.device(name):
            turns[0].set()
            await turns[1].wait()
            found[name] = np.get_device()

    async def main() -> None:
        first, second = asyncio.Event(), asyncio.Event()
        await asyncio.gather(
            look("metal", [first, second]), look("auto", [second, first])
        )
        assert np.get_device() == "cpu"

    asyncio.run(main())
    assert found == {"metal": "metal", "auto": "auto"}


@needs_metal
def test_operations_of_threads_are_placed_by_their_blocks() -> None:
    counts: dict[str, int] = {}
    for name in ("metal", "cpu"):

        def body(name: str = name) -> None:
            with np.device(name):
                counts[name] = groups(work)

        with np.device("cpu" if name == "metal" else "metal"):
            thread = threading.Thread(target=body)
            thread.start()
            thread.join()
    assert counts["metal"] > 0
    assert counts["cpu"] == 0


# -- The environment -------------------------------------------------------------------

SHOW = "import mxnp; print(mxnp.get_device())"


@pytest.mark.slow
def test_the_environment() -> None:
    assert run(SHOW, MXNP_DEVICE="cpu") == "cpu"
    assert run(SHOW, MXNP_DEVICE=None) == "auto"
    assert run(SHOW, MXNP_DEVICE="") == "auto"
    assert run(SHOW, MXNP_DEVICE="auto") == "auto"


@needs_metal
def test_the_environment_chooses_metal() -> None:
    assert run(SHOW, MXNP_DEVICE="metal") == "metal"


def test_the_environment_is_wrong() -> None:
    message = f"ImportError: MXNP_DEVICE is 'gpu': {CHOICE}"
    run(SHOW, MXNP_DEVICE="gpu", error=message)


# -- float64 ---------------------------------------------------------------------------


def test_policies() -> None:
    assert np.get_float64_policy() == "cpu"
    assert np.set_float64_policy("error") == "cpu"
    assert np.get_float64_policy() == "error"
    assert np.set_float64_policy("cpu") == "error"
    for policy in ("float16", "", None):
        with pytest.raises(ValueError, match="must be 'cpu', 'error' or 'float32'"):
            np.set_float64_policy(policy)


@needs_metal
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_processor_computes_with_float64(dtype: str) -> None:
    def compute(xp: Any) -> Any:
        x = xp.linspace(0.1, 5, N).astype(dtype)
        y = xp.exp(xp.sqrt(x)) * x - 1 / x
        y[::3] += x[::3] ** 2
        return y[y.real > 3]

    expected = compute(numpy)
    with np.device("metal"):
        found = compute(np)
        assert numpy.asarray(found).tobytes() == expected.tobytes()


@needs_metal
def test_float64_isnt_encoded() -> None:
    with np.device("metal"):
        assert groups(lambda: work("float64")) == 0
        assert groups(lambda: work("complex128")) == 0
        assert groups(lambda: work("float32")) > 0
        assert groups(lambda: work("int64")) > 0


@needs_metal
@pytest.mark.parametrize(
    ("dtype", "instead"), [("float64", "float32"), ("complex128", "complex64")]
)
def test_float64_is_an_error(dtype: str, instead: str) -> None:
    x = np.ones(N, dtype=dtype)
    np.set_float64_policy("error")
    with np.device("metal"):
        message = (
            f"{dtype} is not available on device 'metal'; use {instead} or device 'cpu'"
        )
        for operation in (
            lambda: x + 1,
            lambda: np.sqrt(x),
            lambda: np.ones(N, instead) + x,
            lambda: x[np.arange(N)],
            lambda: x == 1,
        ):
            with pytest.raises(TypeError) as caught:
                operation()
            assert str(caught.value) == message
        assert (np.ones(N, "float32") + 1).sum() == 2 * N
    for name in ("cpu", "auto"):
        with np.device(name):
            assert (x + 1).sum() == 2 * N
    np.set_float64_policy("cpu")
    with np.device("metal"):
        assert (x + 1).sum() == 2 * N


@needs_metal
@pytest.mark.parametrize("name", ["sum", "cumsum"])
def test_float64_is_an_error_of_methods(name: str) -> None:
    _bridge.set_threshold(0)
    x = np.ones(400_000)
    np.synchronize()
    np.set_float64_policy("error")
    calls = {
        "sum": lambda: x.sum(axis=0, keepdims=True),
        "cumsum": lambda: x.cumsum(),
    }
    with np.device("metal"), pytest.raises(TypeError, match="float64 is not available"):
        calls[name]()


@needs_metal
def test_an_update_that_was_refused_changes_nothing() -> None:
    x = np.arange(N, dtype="float64")
    np.synchronize()
    np.set_float64_policy("error")
    with np.device("metal"), pytest.raises(TypeError, match="float64 is not available"):
        x += 1
    numpy.testing.assert_array_equal(x, numpy.arange(N, dtype="float64"))


# -- Placement -------------------------------------------------------------------------


@needs_metal
def test_where_operations_run() -> None:
    assert groups(work) == 0
    with np.device("metal"):
        assert groups(work) > 0
        with np.device("cpu"):
            assert dispatches(work) == 0
            x = np.linspace(0, 1, N, dtype="f4")
            assert dispatches(lambda: np.sort(x)[::-1].cumsum()) == 0
            assert dispatches(lambda: x[x > 0.5] @ x[x > 0.5]) == 0
    np.set_device("metal")
    assert groups(work) > 0


@needs_metal
def test_the_device_when_it_is_recorded_counts() -> None:
    x = np.arange(N, dtype="f4")
    np.synchronize()

    def on_the_processor() -> Any:
        with np.device("cpu"):
            y = x + 1
        with np.device("metal"):
            np.synchronize()
        return y

    def on_metal() -> Any:
        with np.device("metal"):
            y = x + 1
        with np.device("cpu"):
            np.synchronize()
        return y

    assert dispatches(on_the_processor) == 0
    assert dispatches(on_metal) == 1


@needs_metal
def test_results_of_both_devices_mix() -> None:
    x = np.arange(N, dtype="f4")
    for _ in range(5):
        with np.device("metal"):
            x = x + 1
        with np.device("cpu"):
            x = x * 2
            x[::2] -= 1
    y = numpy.arange(N, dtype="f4")
    for _ in range(5):
        y = (y + 1) * 2
        y[::2] -= 1
    numpy.testing.assert_array_equal(x, y)


@needs_metal
def test_small_operations_are_computed_immediately() -> None:
    with np.device("metal"):
        assert dispatches(lambda: np.ones(10, "f4") + 1) == 0


@needs_metal
def test_auto_selects_the_device_by_size() -> None:
    few, many = np.ones(2**17 - 8, "f4"), np.ones(2**17, "f4")
    with np.device("auto"):
        assert dispatches(lambda: few + 1) == 0
        assert dispatches(lambda: many + 1) == 1
    with np.device("metal"):
        assert dispatches(lambda: few + 1) == 1
        assert dispatches(lambda: many + 1) == 1
    with np.device("cpu"):
        assert dispatches(lambda: many + 1) == 0


@needs_metal
def test_auto_is_of_operations_that_agree() -> None:
    """Operations for the processor are not fused with operations for the GPU."""
    x = np.ones(2**17, "f4")
    np.synchronize()

    def body() -> Any:
        with np.device("metal"):
            y = x + 1
        with np.device("cpu"):
            z = y * 2
        return z

    before = core.gpu_counts()["dispatches"]
    numpy.testing.assert_array_equal(body(), numpy.full(2**17, 4, "f4"))
    assert core.gpu_counts()["dispatches"] <= before + 1


@needs_metal
def test_the_standards_device() -> None:
    x = np.ones(3, "f4")
    with np.device("cpu"):
        assert x.device == "cpu"


@needs_metal
def test_devices_of_the_array_api_standard() -> None:
    info = np.__array_namespace_info__()
    assert info.devices() == ("cpu", "metal")
    assert "float64" in info.dtypes(device="cpu")
    assert not {"float64", "complex128"} & info.dtypes(device="metal").keys()
    with np.device("cpu"):
        assert info.default_device() == np.ones(3, "f4").device == "cpu"
        with pytest.raises(ValueError, match="'metal' is not the current one"):
            np.zeros(3, device="metal")
    with np.device("metal"):
        assert info.default_device() == "metal"
        for make in (
            np.zeros,
            np.ones,
            np.empty,
            np.eye,
            lambda n, **k: np.linspace(0, 1, n, **k),
        ):
            made = make(3, device="metal")
            assert made.dtype == info.default_dtypes(device="metal")["real floating"]
            assert made.device == "metal"
        assert np.ones(3).device == "cpu"  # float64
        x = np.ones(3, "f4")
        assert x.to_device("cpu") is x.to_device("metal") is x
        assert np.asarray([1, 2], device="metal").dtype == "int64"
        taken = np.from_dlpack(x, device="metal", copy=False)
        assert np.shares_memory(taken, x)
        assert taken.device == "metal"
        for call in (
            lambda: np.zeros(3, "f8", device="metal"),
            lambda: np.ones(3).to_device("metal"),
            lambda: np.asarray(numpy.ones(3), device="metal"),
            lambda: np.from_dlpack(numpy.ones(3), device="metal"),
        ):
            with pytest.raises(
                TypeError, match="float64 is not available on device 'metal'"
            ):
                call()
        with pytest.raises(ValueError, match="'gpu' is not available"):
            np.zeros(3, device="gpu")
        with pytest.raises(ValueError, match="stream"):
            x.to_device("cpu", stream=1)


@needs_metal
def test_new_arrays_are_float32() -> None:
    rng = np.random.default_rng(0)
    makes = {
        "zeros": lambda: np.zeros(5),
        "ones": lambda: np.ones((300, 300)),
        "linspace": lambda: np.linspace(0, 1, 5),
        "arange": lambda: np.arange(0.0, 5.0),
        "full": lambda: np.full(3, 2.5),
        "eye": lambda: np.eye(3),
        "array": lambda: np.array([1.0, 2.0]),
        "asarray": lambda: np.asarray((1.5, 2)),
        "random": lambda: np.random.rand(5),
        "normal": lambda: rng.normal(size=70_000),
    }
    assert np.set_float64_policy("float32") == "cpu"
    for name, make in makes.items():
        with np.device("cpu"):
            assert make().dtype == "float64", name
        with np.device("metal"):
            made = make()
            assert made.dtype == "float32", name
            assert made.device == "metal"
    with np.device("metal"):
        assert np.array([1j]).dtype == "complex64"
        assert np.zeros(3, float).dtype == np.array([1], "f8").dtype == "float64"
        assert (
            np.asarray(numpy.ones(3)).dtype
            == np.array(numpy.ones(3)).dtype
            == "float64"
        )
        assert np.zeros(3, int).dtype == np.arange(3).dtype == "int64"
        assert isinstance(rng.random(), float)
        x = np.linspace(0, 1, 1000)
        before = core.gpu_counts()["groups"]
        assert (x * 2 + 1).sum().dtype == "float32"
        assert core.gpu_counts()["groups"] > before


@needs_metal
def test_a_dtype_of_the_processor_keeps_others_on_the_device() -> None:
    """Steps over the same elements form one group only if one device runs them all."""
    x = np.arange(N, dtype="float32")

    def body() -> Any:
        with np.device("metal"):
            y = x * 2
            wide = y.astype("float64") + 1
            return np.sqrt(y + 3), wide

    np.synchronize()
    before = core.gpu_counts()["groups"]
    narrow, wide = body()
    np.synchronize()
    flushed = [group.operations for group in core.last_flush()]
    assert core.gpu_counts()["groups"] - before == 1
    assert flushed == [("multiply", "add", "sqrt"), ("cast", "add")]
    numpy.testing.assert_array_equal(wide, numpy.arange(N) * 2.0 + 1)
    numpy.testing.assert_allclose(narrow, numpy.sqrt(numpy.arange(N) * 2 + 3), 1e-6)


def test_forms_for_a_gpu_are_not_asked_on_the_processor() -> None:
    asked = []
    function = _bridge.Function(numpy.ptp)
    form = lambda *args: asked.append(args) or NotImplemented  # noqa: E731
    _bridge.set_gpu_way(function, form, 1, "a", 0)
    x = np.ones(N)
    assert function(x) == function(x, axis=0) == 0
    assert not asked
    if devices.GPU in np.devices():
        with np.device(devices.GPU):
            assert function(x) == 0
        assert len(asked) == 1


@pytest.mark.parametrize("name", ["einsum", "vdot", "sort", "random.Generator.random"])
def test_a_gpu_changes_nothing_on_the_processor(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attached(has_gpu: bool) -> list[Any]:
        for kind in ("gpu", "card"):
            monkeypatch.setitem(ways._KINDS, kind, (has_gpu, "mxnp._gpu"))
        ways._find_ways.cache_clear()
        function = _bridge.Function(numpy.ptp)
        ways.attach(function, name)
        assert (function.gpu_implementation is not None) is has_gpu
        sizes = function.threshold_factor, function.size_rule, function.size_place
        return [function.implementation is not None, function.layer, *sizes]

    assert attached(True) == attached(False)
    ways._find_ways.cache_clear()
