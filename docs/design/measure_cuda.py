"""
Measure mxnp on an NVIDIA GPU beside CuPy, torch and JAX, and NumPy on the processor.

``python docs/design/measure_cuda.py [section ...]`` prints the tables of
benchmarks-cuda.md in Markdown. It needs a GPU. Peers that are not installed are left
out. Each peer runs alone in a process, and waits for the GPU after each computation.
A figure is the median of nine computations after two that are not counted. If one takes
longer than 30 ms, it is the median of three, and longer than a second, one is timed.
"""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy

Case = tuple[str, Callable[[], Any]]
ON_GPU = ("mxnp", "cupy", "torch", "jax")
EXAMPLES = Path(__file__).parents[1] / "examples"
SIZE = 10**7  # of the whole programs


class Peer:
    """A package, its functions for new arrays, and its wait for results."""

    def __init__(self, name: str) -> None:
        self.name = name
        module = {"processor": "mxnp", "jax": "jax.numpy"}.get(name, name)
        self.xp = xp = importlib.import_module(module)
        self.wait: Callable[[], Any] = lambda: None
        self.array: Callable[[Any], Any] = xp.asarray
        if module == "mxnp":
            xp.set_device("cpu" if name == "processor" else "cuda")
            self.wait, self.array = xp.synchronize, xp.array
        elif name == "cupy":
            self.wait = xp.cuda.Device().synchronize
        elif name == "torch":
            self.wait, self.array = xp.cuda.synchronize, lambda a: xp.tensor(a).cuda()
        elif name == "jax":
            import jax

            jax.config.update("jax_enable_x64", True)

    def run(self, function: Callable[[], Any]) -> Any:
        """Compute a result, and wait for it."""
        result = function()
        last = result[-1] if isinstance(result, list) else result
        if hasattr(last, "block_until_ready"):
            last.block_until_ready()
        self.wait()
        return result

    def milliseconds(self, function: Callable[[], Any]) -> float:
        """Return the median time of a computation."""
        for _ in range(2):
            begin = time.perf_counter()
            self.run(function)
            taken = time.perf_counter() - begin
            if taken > 1:
                break
        times = []
        for _ in range(9 if taken < 0.03 else 3 if taken < 1 else 1):
            begin = time.perf_counter()
            result = self.run(function)
            times.append(time.perf_counter() - begin)
            del result
        return 1e3 * sorted(times)[len(times) // 2]


def random(size: int | tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Return uniform random numbers."""
    return (
        numpy.random.default_rng(seed).random(size, "float32").astype(dtype, copy=False)
    )


def jitted(peer: Peer, function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    """Return a call of the function, compiled if the peer is JAX."""
    if peer.name == "jax":
        import jax

        function = jax.jit(function)
    return partial(function, *args)


# -- Sections --------------------------------------------------------------------------


def chains(peer: Peer) -> Iterator[Case]:
    """Yield elementwise operations, which can be one pass over memory."""
    xp = peer.xp
    cases: dict[str, Callable[[Any, Any], Any]] = {
        "`x + y`": lambda x, y: x + y,
        "`sqrt(x*x + y*y) * 0.5`": lambda x, y: xp.sqrt(x * x + y * y) * 0.5,
        "polynomial of degree 5": lambda x, y: (
            ((((x * 0.5 + y) * x + 0.25) * x + y) * x + 1.5) * x + y
        ),
        "`where(x > y, x - y, y - x) * 2`": lambda x, y: (
            xp.where(x > y, x - y, y - x) * 2
        ),
        "`exp(-x) * sin(y)`": lambda x, y: xp.exp(-x) * xp.sin(y),
        "3-point stencil": lambda x, y: x[:-2] + x[1:-1] * 2 + x[2:],
    }
    for dtype in ("float32", "float64"):
        for size in (10**7, 10**8):
            x, y = (peer.array(random(size, dtype, seed)) for seed in (0, 1))
            for name, function in cases.items():
                yield f"{name}, {size:.0e} {dtype}", jitted(peer, function, x, y)


def reductions(peer: Peer) -> Iterator[Case]:
    """Yield reductions, scans, selections and sorts."""
    xp, torch, jax = peer.xp, peer.name == "torch", peer.name == "jax"
    cases: dict[str, Callable[[Any], Any]] = {
        "sum": lambda x: x.sum(),
        "max": lambda x: x.max(),
        "var": lambda x: x.var(correction=0) if torch else x.var(),
        "argmax": lambda x: x.argmax(),
        "cumsum": lambda x: xp.cumsum(x, 0),
    }
    for dtype in ("float32", "float64"):
        for size in (10**7, 10**8):
            x = peer.array(random(size, dtype))
            for name, function in cases.items():
                yield f"{name}, {size:.0e} {dtype}", jitted(peer, function, x)
            if not jax:
                yield f"`x[x > 0.5]`, {size:.0e} {dtype}", lambda x=x: x[x > 0.5]
        x = peer.array(random(10**7, dtype))
        sort = jitted(peer, lambda x: xp.sort(x)[0] if torch else xp.sort(x), x)
        yield f"sort, 1e+07 {dtype}", sort
    shapes = {
        "(1e6, 64)": (10**6, 64),
        "(64, 1e6)": (64, 10**6),
        "(8000, 8000)": (8000, 8000),
        "(1e7, 4)": (10**7, 4),
    }
    for name, shape in shapes.items():
        x = peer.array(random(shape, "float32"))
        for axis in (0, 1):
            total = jitted(peer, lambda x, axis=axis: x.sum(axis), x)
            yield f"sum of {name}, axis {axis}, float32", total
    x = peer.array(random((8000, 8000), "float32"))
    if not torch:
        yield (
            "`x.T + 1` of (8000, 8000), float32",
            jitted(peer, lambda x: x.T + 1, x),
        )


def indices(peer: Peer) -> Iterator[Case]:
    """Yield reads, writes and updates with index arrays."""
    if peer.name == "jax":
        return
    rng = numpy.random.default_rng(1)
    for rows, width, count in (
        (10**5, 64, 10**6),
        (100, 64, 10**7),
        (2 * 10**7, 0, 2 * 10**7),
    ):
        shape = (width,) if width else ()
        table = peer.array(random((rows, *shape), "float32"))
        where = peer.array(rng.integers(0, rows, count))
        values = peer.array(random((count, *shape), "float32"))
        name = f"{(rows, *shape)} at {count:.0e}"
        for mode in ("strict", "fast") if peer.name == "mxnp" else ("",):
            suffix = f", {mode}" if mode == "fast" else ""
            read = partial(table.__getitem__, where)
            write = partial(table.__setitem__, where, values)
            yield f"read {name}{suffix}", in_mode(peer, mode, read)
            yield f"write {name}{suffix}", in_mode(peer, mode, write)
        del table, where, values, read, write
    for dtype in ("float32", "float64"):
        for slots in (10**5, 100, 1):
            table = peer.array(numpy.ones(slots, dtype))
            where = peer.array(rng.integers(0, slots, 10**7))
            values = peer.array(random(10**7, dtype))
            name = f"1e+07 {dtype} into {slots}"
            for operation in ("add", "multiply", "maximum"):
                if peer.name == "torch" and operation == "add":
                    change = partial(table.index_add_, 0, where, values)
                elif peer.name == "torch":
                    continue
                else:
                    at = getattr(peer.xp, operation).at
                    change = partial(at, table, where, values)
                yield f"`{operation}.at`, {name}", change


def in_mode(peer: Peer, mode: str, function: Callable[[], Any]) -> Callable[[], Any]:
    """Return the function, in one of mxnp's modes."""
    if not mode:
        return function

    def changed() -> Any:
        with peer.xp.mode(mode):
            return function()

    return changed


def to_list(function: Callable[[], Any]) -> list[Any]:
    """Return the arrays that a function of linear algebra returns, for `Peer.run`."""
    result = function()
    return list(result) if isinstance(result, tuple) else [result]


def libraries(peer: Peer) -> Iterator[Case]:
    """Yield operations for which CUDA has libraries."""
    xp = peer.xp
    for dtype in ("float32", "float64"):
        a, b = (peer.array(random((4096, 4096), dtype, seed)) for seed in (0, 1))
        yield f"`a @ b`, (4096, 4096) {dtype}", jitted(peer, lambda a, b: a @ b, a, b)
    x = peer.array(random(10**7, "float64"))
    yield "`fft.rfft`, 1e+07 float64", jitted(peer, xp.fft.rfft, x)
    a = peer.array(random((2000, 2000), "float64"))
    b = peer.array(random((2000, 1), "float64", 1))
    positive = a @ a.T
    cases: dict[str, Callable[[], Any]] = {
        "inv(a)": lambda: xp.linalg.inv(a),
        "solve(a, b)": lambda: xp.linalg.solve(a, b),
        "cholesky(a @ a.T)": lambda: xp.linalg.cholesky(positive),
        "qr(a)": lambda: xp.linalg.qr(a),
        "svd(a)": lambda: xp.linalg.svd(a),
        "eigh(a @ a.T)": lambda: xp.linalg.eigh(positive),
    }
    for name, function in cases.items():
        text = f"`linalg.{name}`, (2000, 2000) float64"
        yield text, partial(to_list, function)


def small(peer: Peer) -> Iterator[Case]:
    """Yield small operations, with a wait after each or after 100."""
    for size in (100, 2**14, 2**17, 2**20):
        x, y = (peer.array(random(size, "float64", seed)) for seed in (0, 1))
        yield f"`x + y` of {size}, wait after each", lambda x=x, y=y: x + y
        total = jitted(peer, lambda x: x.sum(), x)
        yield f"`float(x.sum())` of {size}", lambda total=total: float(total())

        def hundred(x: Any = x, y: Any = y) -> Any:
            return [x + y for _ in range(100)]

        yield f"100 times `x + y` of {size}, results kept, one wait", hundred


def transfers(peer: Peer) -> Iterator[Case]:
    """Yield copies of 0.8 GB between the memories."""
    if peer.name == "jax":
        return
    host = random(10**8, "float64")
    if peer.name == "mxnp":
        fresh = [peer.array(host) for _ in range(11)]
        yield "to the GPU, 0.8 GB", lambda: fresh.pop() + 1.0
        x = peer.array(host)
        results = [x + 1.0 for _ in range(11)]
        peer.wait()
        yield "to the processor, 0.8 GB", lambda: numpy.asarray(results.pop())
        return
    yield "to the GPU, 0.8 GB", lambda: peer.array(host) + 1.0
    x = peer.array(host)
    back = {"cupy": "get", "torch": "cpu"}[peer.name]
    yield "to the processor, 0.8 GB", getattr(x, back)


def programs(peer: Peer) -> Iterator[Case]:
    """Yield the programs of the benchmarks, and those of the examples."""
    from mxnp.bench import programs

    for info in pkgutil.iter_modules(programs.__path__):
        module = importlib.import_module(f"{programs.__name__}.{info.name}")
        yield info.name.replace("_", " "), partial(module.run, peer.xp, SIZE)
    sys.path.insert(0, str(EXAMPLES))
    for name, function in EXAMPLE_PARTS.items():
        module = importlib.import_module(name)
        module.np = peer.xp
        title = f"example: {name.replace('_', ' ')}"
        yield title, partial(function, module, peer.xp)


def _plate(example: Any, xp: Any) -> Any:
    u = example.plate(3162)
    for _ in range(20):
        example.step(u, 0.2)
    return u


def _points(example: Any, xp: Any) -> Any:
    n = 2000
    x, y = xp.linspace(-2.2, 1.0, n), xp.linspace(-1.2, 1.2, n)
    return example.escape_times(x + 1j * y[:, None], 25)


def _options(example: Any, xp: Any) -> Any:
    spot, years = xp.linspace(50, 150, 3162), xp.linspace(0.02, 2, 3162)[:, None]
    call, delta, put = example.black_scholes(spot, 100.0, years, 0.03, 0.25)
    rng = xp.random.default_rng(1973)
    price = example.simulate(105.0, 100.0, 1.0, 0.03, 0.25, 10**7, rng)
    return call.max(), delta.min(), put.max(), price[0]


def _bodies(example: Any, xp: Any) -> Any:
    t = xp.arange(1800.0)[:, None]
    position = xp.sin(t * xp.array([[0.1, 0.7, 1.3]]))
    velocity, mass = xp.zeros_like(position), xp.full(len(position), 1e-4)
    for _ in range(5):
        force = example.acceleration(position, mass)
        velocity += 0.01 * force
        position += 0.01 * velocity
    return position


def _pixels(example: Any, xp: Any) -> Any:
    t = xp.arange(10.0**6)[:, None]
    pixels = 0.5 + 0.5 * xp.sin(t * xp.array([[0.01, 0.07, 0.13]]))
    rng = numpy.random.default_rng(1982)
    return example.k_means(pixels, 12, rng, steps=5, tolerance=0.0)[0]


EXAMPLE_PARTS: dict[str, Callable[[Any, Any], Any]] = {
    "heat_equation": _plate,
    "mandelbrot": _points,
    "black_scholes": _options,
    "n_body": _bodies,
    "colour_quantisation": _pixels,
}

SECTIONS: dict[str, tuple[Callable[[Peer], Iterator[Case]], tuple[str, ...]]] = {
    "chains": (chains, ON_GPU),
    "reductions": (reductions, ON_GPU),
    "indices": (indices, ON_GPU),
    "libraries": (libraries, ON_GPU),
    "small": (small, ON_GPU),
    "transfers": (transfers, ON_GPU),
    "programs": (programs, ("mxnp", "cupy", "processor", "numpy")),
}

FIRST = {
    "mxnp": "import mxnp as np; np.set_device('cuda'); wait = np.synchronize",
    "cupy": "import cupy as np; wait = np.cuda.Device().synchronize",
    "jax": "import jax.numpy as np; wait = lambda: None",
}
FIRST_CALL = """
begin = time.perf_counter()
x = np.arange(1e6)
total = float((np.sqrt(x * x + 1.0) * 0.5).sum())
wait()
print(1e3 * (time.perf_counter() - begin))
"""


# -- Running ---------------------------------------------------------------------------


def first_calls() -> None:
    """Print the times until the first result, without and with a cache on disk."""
    print("\n| time to the first result, ms | " + " | ".join(FIRST) + " |")
    print("|---" * (len(FIRST) + 1) + "|")
    folder = tempfile.mkdtemp()
    names = ("MXNP_CUDA_CACHE", "CUPY_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR")
    caches = os.environ | dict.fromkeys(names, folder)
    for process in ("first process", "second process"):
        row = []
        for start in FIRST.values():
            command = [sys.executable, "-c", f"import time\n{start}{FIRST_CALL}"]
            done = subprocess.run(
                command, env=caches, capture_output=True, text=True, check=False
            )
            lines = done.stdout.split()
            row.append(f"{float(lines[-1]):.0f}" if lines else "-")
        print(f"| {process} | " + " | ".join(row) + " |")


def measure(section: str, name: str) -> None:
    """Print a line of JSON for each case of a section."""
    peer = Peer(name)
    for case, function in SECTIONS[section][0](peer):
        try:
            found = peer.milliseconds(function)
        except Exception as error:
            print(f"{name}: {case}: {error!r}"[:300], file=sys.stderr, flush=True)
            continue
        print(json.dumps([case, found]), flush=True)


def table(section: str) -> None:
    """Run a section with all peers, and print its table."""
    times: dict[str, dict[str, float]] = {}
    peers = SECTIONS[section][1]
    for name in peers:
        command = [sys.executable, __file__, "--peer", name, section]
        environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, env=environment, check=False
        )
        for line in done.stdout.splitlines():
            case, found = json.loads(line)
            times.setdefault(case, {})[name] = found
    print(f"\n| {section}, ms | " + " | ".join(peers) + " |")
    print("|---" * (len(peers) + 1) + "|")
    for case, row in times.items():
        shown = (_shown(row[name], row) if name in row else "-" for name in peers)
        print(f"| {case} | " + " | ".join(shown) + " |", flush=True)


def _shown(milliseconds: float, row: dict[str, float]) -> str:
    """Return a time, in bold type if it is the shortest of a row."""
    mark = "**" if len(row) > 1 and milliseconds == min(row.values()) else ""
    return f"{mark}{milliseconds:.3g}{mark}"


def main() -> None:
    """Run a peer if one is named, and otherwise all of them."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--peer"]:
        measure(arguments[2], arguments[1])
        return
    for section in arguments or [*SECTIONS, "first"]:
        if section == "first":
            first_calls()
        else:
            table(section)


if __name__ == "__main__":
    main()
