"""Write random programs, in which most statements are valid for the arrays so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from .foreign import Statements
from .programs import Program, Step, attempt, namespace, quiet
from .unusual import Statements as UnusualStatements

DTYPES = [*"?bBhHiIqQefdFD"]
SHAPES = [
    (), (1,), (7,), (40,), (0,), (3, 5), (8, 8), (4, 1), (1, 6), (2, 3, 4), (5, 0), (3, 1, 2, 4),
]  # fmt: skip
LARGE = [(3000,), (70_000,), (300, 400), (5, 9000), (20_000, 3)]

# The results of these do not depend on the layout of arrays, to the last bit.
UNARY = [
    *("negative", "positive", "absolute", "sign", "square", "conjugate", "logical_not"),
    *("invert", "rint", "floor", "ceil", "trunc", "sqrt", "isnan", "isinf", "isfinite"),
    *("bitwise_count", "spacing", "fabs"),
]
BINARY = [
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod"),
    *("maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "less", "less_equal"),
    *("greater", "greater_equal", "logical_and", "logical_or", "logical_xor"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd"),
    *("lcm", "heaviside", "nextafter"),
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">", "&", "|", "^"]
NEAR = ["exp", "log", "sin", "cos", "tan", "tanh", "exp2", "log1p", "arctan", "cbrt"]
EXACT_REDUCTIONS = ["max", "min", "any", "all", "argmax", "argmin", "count_nonzero"]
NEAR_REDUCTIONS = ["sum", "prod", "mean", "var", "std", "nansum", "nanmax", "ptp"]
UPDATES = ["add", "subtract", "multiply", "maximum", "minimum", "logical_or"]


def write(
    seed: int, n_steps: int | None = None, *, has_process: bool = True
) -> Program:
    """
    Write a program.

    Parameters
    ----------
    seed : int
        The seed of the random numbers, which determines the program.
    n_steps : int, optional
        The number of statements, by default 8 to 39.
    has_process : bool
        Whether the program may fork, start threads and set signal handlers.

    Returns
    -------
    list of Step
    """
    with quiet():
        return Writer(seed, has_process).write(n_steps)


class Writer:
    """The state while a program is written: NumPy's arrays after each statement."""

    def __init__(self, seed: int, has_process: bool) -> None:
        self.random = numpy.random.default_rng(seed)
        self.names = namespace(numpy)
        self.count = 0
        self.is_exact = True
        self.shapes = [*SHAPES, *(LARGE if seed % 7 == 0 else [])]
        self.checks = (0.0, 0.1, 1.0)[int(self.random.integers(3))]
        self.foreign = Statements(self, has_process)
        self.unusual = UnusualStatements(self)

    def write(self, n_steps: int | None) -> Program:
        steps = []
        for number in range(n_steps or int(self.random.integers(8, 40))):
            self.is_exact = True
            text = self.creation() if number < 3 else self.statement()
            step = Step(text, self.is_exact, bool(self.random.random() < self.checks))
            attempt(step, self.names)
            steps.append(step)
        return steps

    # -- Choices ----------------------------------------------------------------------

    def weighted(self, kinds: Mapping[Callable[[], str], float]) -> str:
        """Call one of several functions, chosen by their weights."""
        weights = numpy.array([*kinds.values()], float)
        at = self.random.choice(len(weights), p=weights / weights.sum())
        return [*kinds][at]()

    def one(self, choices: Any) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def chance(self, p: float) -> bool:
        return bool(self.random.random() < p)

    def new(self, letter: str = "a") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def arrays(self, accept: Any = None, letters: str = "a") -> list[str]:
        return [
            name
            for name, value in self.names.items()
            if name[0] in letters
            and name[1:].isdigit()
            and isinstance(value, numpy.ndarray)
            and (accept is None or accept(value))
        ]

    def array(self, accept: Any = None) -> str:
        """Return the name of an array, or an expression that creates one."""
        there = self.arrays(accept)
        # The newest arrays are the most likely, so that chains of operations arise.
        if there and self.chance(0.6):
            return str(
                there[-1 - min(int(self.random.geometric(0.5)) - 1, len(there) - 1)]
            )
        return str(self.one(there)) if there else self.made((7,), "d")

    def value(self, name: str) -> Any:
        return self.names.get(name)

    def made(self, shape: tuple[int, ...], dtype: str) -> str:
        return f"make({int(self.random.integers(10_000))}, {shape}, {dtype!r})"

    # -- Expressions ------------------------------------------------------------------

    def partner(self, name: str) -> str:
        """Return another array or a scalar that can be broadcast with an array."""
        shape = numpy.shape(self.value(name))

        def fits(value: Any) -> bool:
            try:
                return bool(numpy.broadcast_shapes(value.shape, shape)) or True
            except ValueError:
                return False

        if self.chance(0.02):
            return self.array()  # Its shape may not fit.
        if self.chance(0.25):
            return str(
                self.one(["2", "3", "0.5", "-1", "True", "np.float32(1.5)", "7"])
            )
        there = self.arrays(
            lambda v: (
                fits(v) and numpy.broadcast_shapes(v.shape, shape) in (shape, v.shape)
            )
        )
        if there and self.chance(0.8):
            return str(self.one(there))
        return self.made(shape, str(self.one(DTYPES)))

    def expression(self, depth: int = 2) -> str:
        name = self.array()
        kind = self.one("uubbbbows" if depth else "nnv")
        if kind == "n":
            return name
        if kind == "v":
            return self.viewed(name)
        if kind == "u":
            return f"np.{self.one(UNARY)}({self.inner(name, depth)})"
        if kind == "w":
            mask = f"({name} > {self.one(['0', '1', '3'])})"
            return f"np.where({mask}, {self.inner(name, depth)}, {self.partner(name)})"
        if kind == "s":
            return (
                f"np.clip({name}, {self.one(['0', '-1', '2'])}, {self.one(['5', '9'])})"
            )
        if self.value(name) is not None and self.value(name).dtype.kind == "c":
            # Products of complex numbers depend on the layout in NumPy itself.
            return f"({self.inner(name, depth)} {self.one('+-')} {self.partner(name)})"
        if kind == "o":
            return f"np.{self.one(BINARY)}({self.inner(name, depth)}, {self.partner(name)})"
        return f"({self.inner(name, depth)} {self.one(OPERATORS)} {self.partner(name)})"

    def inner(self, name: str, depth: int) -> str:
        if depth <= 1 or self.chance(0.4):
            return name
        value = self.value(name)
        if value is None or value.dtype.kind == "c":
            return name
        return f"({name} {self.one('+-*')} {self.partner(name)})"

    def viewed(self, name: str) -> str:
        value = self.value(name)
        if value is None or value.ndim == 0:
            return f"{name}[None]"
        n = value.shape[0]
        choices = [
            *("[::-1]", "[1:]", "[::2]", ".T", "[None]", "[..., :1]", "[...]", "[:0]"),
            *(".reshape(-1)", ".ravel()", ".swapaxes(0, -1)", ".squeeze()", "[-3:-1]"),
        ]
        if value.ndim > 1:
            choices += ["[:, 0]", "[:, ::-1]", ".diagonal()", "[:, 1:]", "[..., None]"]
        if n:
            choices += [f"[{int(self.random.integers(n))}]"]
        if value.dtype.kind == "c":
            choices += [".real", ".imag", ".real"]
        if value.dtype.char in "iI":
            choices += [".view('f')" if self.is_safe_as_float(value) else ".view('I')"]
        if value.dtype.char in "qQ":
            choices += [".view('Q')"]
        return f"{name}{self.one(choices)}"

    @staticmethod
    def is_safe_as_float(value: Any) -> bool:
        """Return whether no number is NaN as a float: the bits of NaN may change."""
        return bool(numpy.isfinite(value.view("f")).all()) if value.size else True

    def index(self, n: int) -> str:
        """Return an expression for indices of an axis of n elements."""
        size = int(self.one([1, 3, 10]))
        dtype = self.one("bhiqBI")
        seed = int(self.random.integers(10_000))
        if self.chance(0.03):
            return f"np.array([{n}, 0])"
        computed = f"np.abs(make({seed}, ({size},), 'q')) % {n}"
        if self.chance(0.3):
            return f"({computed}).astype({dtype!r})"
        if self.chance(0.5):
            return f"({computed} - {n})"
        return f"({computed})"

    def key(self, name: str) -> str:
        value = self.value(name)
        if value is None or value.ndim == 0 or 0 in value.shape:
            return "..."
        n = value.shape[0]
        kind = self.one("iimmbr")
        if kind == "m":
            return f"{name} > {self.one(['0', '2', '5'])}"
        if kind == "b":
            return f"make({int(self.random.integers(10_000))}, ({n},), '?')"
        if kind == "r" and value.ndim > 1:
            last = value.shape[-1]
            return f"{self.one([':', 'None', '1:'])}, ..., {self.index(last)}"
        if value.ndim > 1 and self.chance(0.3):
            return f"{self.index(n)}[:1], {self.index(value.shape[1])}"
        return self.index(n)

    # -- Statements -------------------------------------------------------------------

    def statement(self) -> str:
        if len(self.arrays()) > 9:
            return f"del {self.one(self.arrays(letters='an'))}"
        kinds = {
            self.creation: 2,
            self.assignment: 8,
            self.view: 4,
            self.in_place: 6,
            self.with_out: 3,
            self.store: 5,
            self.update: 3,
            self.reduction: 5,
            self.selection: 4,
            self.rearrangement: 4,
            self.cast: 3,
            self.near: 2,
            self.foreign.statement: 12,
            self.unusual.statement: 12,
            self.reading: 3,
            self.deletion: 2,
            self.loop: 1,
            self.copying: 2,
        }
        return self.weighted(kinds)

    def creation(self) -> str:
        name, shape, dtype = self.new(), self.one(self.shapes), self.one(DTYPES)
        kind = self.one("mmmmmzofraeb")
        if kind == "z":
            return f"{name} = np.zeros({shape}, {dtype!r})"
        if kind == "o":
            return f"{name} = np.ones({shape}, {dtype!r})"
        if kind == "f":
            return f"{name} = np.full({shape}, 3, {dtype!r})"
        if kind == "r":
            return f"{name} = np.arange({self.one([1, 12, 40])}, dtype={self.one('iqdfe')!r})"
        if kind == "a":
            return f"{name} = np.linspace(0, 8, 9)"
        if kind == "e":
            return f"{name} = np.eye({self.one([2, 5])}, dtype={dtype!r})"
        if kind == "b":
            return f"{name} = np.broadcast_to({self.made((1, 5), dtype)}, (4, 5))"
        return f"{name} = {self.made(shape, dtype)}"

    def assignment(self) -> str:
        return f"{self.new()} = {self.expression()}"

    def view(self) -> str:
        name = self.array()
        text = self.viewed(name)
        return f"{self.new()} = {text}"

    def deletion(self) -> str:
        return f"del {self.one(self.arrays(letters='an'))}" if self.arrays() else "pass"

    def target(self) -> str:
        return self.array(lambda v: v.flags.writeable)

    def can_cast(self, text: str, dtype: Any) -> bool:
        """Return whether C defines the conversion of the numbers to another dtype."""
        try:
            with numpy.errstate(all="ignore"):
                value = numpy.asarray(eval(text, dict(self.names)))
        except Exception:
            return True  # Both libraries raise an error.
        if value.dtype.kind not in "fc" or dtype.kind in "fcb":
            return True
        limits = numpy.iinfo(dtype)
        real = value.real.astype("f8")
        within = (real > float(limits.min)) & (real < float(limits.max))
        return bool(within.all())

    def in_place(self) -> str:
        name = self.target()
        value = self.value(name)
        operator = self.one(["+=", "-=", "*=", "|=", "&=", "//=", "/=", "%=", "<<="])
        if value is not None and value.dtype.kind == "c":
            operator = self.one(["+=", "-="])
        place = name
        if value is not None and value.ndim and self.chance(0.3):
            place = f"{name}[{self.one(['1:', '::2', '::-1', '...', ':-1'])}]"
            return f"{place} {operator} {self.one(['2', '3', place, '1'])}"
        if self.chance(0.1) and value is not None and value.ndim and value.shape[0] > 1:
            return f"{name}[1:] {operator} {name}[:-1]"
        return f"{place} {operator} {self.partner(name)}"

    def with_out(self) -> str:
        name, out = self.array(), self.target()
        value, to = self.value(name), self.value(out)
        if value is None or to is None or "c" in (value.dtype.kind, to.dtype.kind):
            return self.assignment()
        operation, partner = self.one(BINARY), self.partner(name)
        where = ""
        # NumPy 2.4.6 may crash if it compares unsigned integers with -1 and has `where`,
        # because it frees memory that it has not set.
        if to.shape and partner != "-1" and self.chance(0.4):
            where = f", where={self.made(to.shape, '?')}"
        casting = ", casting='unsafe'" if self.chance(0.2) else ""
        if casting and not self.can_cast(
            f"np.{operation}({name}, {partner})", to.dtype
        ):
            casting = ""
        return f"np.{operation}({name}, {partner}, out={out}{where}{casting})"

    def store(self) -> str:
        name = self.target()
        value = self.value(name)
        if value is None:
            return self.assignment()
        key = (
            self.key(name) if self.chance(0.6) else self.one(["...", "1:", "::2", "-1"])
        )
        given = self.one(["1", "2", "0", f"{name}[{key}]", f"{name}[{key}] + 1", ""])
        if not given:
            given = self.array()
        if not self.can_cast(given, value.dtype):
            given = "1"
        kind = self.one("sssfcpm")
        if kind == "f":
            return f"{name}.fill(3)"
        if kind == "c" and self.can_cast(given, value.dtype):
            mask = self.made(value.shape, "?")
            return f"np.copyto({name}, {given}, casting='unsafe', where={mask})"
        if kind == "p":
            return f"np.putmask({name}, {self.made(value.shape, '?')}, 2)"
        if kind == "m":
            return f"{name}[{name} > 2] = {self.one(['0', '1'])}"
        return f"{name}[{key}] = {given}"

    def update(self) -> str:
        name = self.target()
        value = self.value(name)
        if value is None or value.ndim == 0 or 0 in value.shape:
            return self.assignment()
        operation = self.one(UPDATES[:2] if value.dtype.kind == "c" else UPDATES)
        key = self.index(value.shape[0])
        given = self.one(["1", "2", "True"])
        if value.dtype == numpy.uint64:  # NumPy converts Python's numbers to float64.
            given = f"np.uint64({given})"
        return f"np.{operation}.at({name}, {key}, {given})"

    def reduction(self) -> str:
        name = self.array()
        value = self.value(name)
        if value is None:
            return self.assignment()
        axis = ""
        if value.ndim and self.chance(0.6):
            axis = f"axis={int(self.random.integers(-value.ndim, value.ndim))}"
        keep = ", keepdims=True" if axis and self.chance(0.3) else ""
        if self.chance(0.15) and value.ndim:
            self.is_exact = value.dtype.kind not in "fc"
            function = self.one(["cumsum", "cumprod", "diff", "maximum.accumulate"])
            if function == "cumprod" and value.dtype.kind in "fc":
                # Overflow would depend on the precision of the steps.
                name = f"np.sign({name})"
            return f"{self.new()} = np.{function}({name}, axis=-1)"
        new = self.new("a" if axis else "s")
        if self.chance(0.5):
            function = self.one(EXACT_REDUCTIONS)
            if value.dtype.kind in "iu" and self.chance(0.5):
                function = self.one(["sum", "prod"])
            # The sign of a zero that is the maximum or minimum depends on the order.
            has_zeros = value.dtype.kind == "f" and function in ("max", "min")
            self.is_exact = value.dtype.kind != "c" and not has_zeros
            return f"{new} = np.{function}({name}, {axis}{keep})"
        if axis and self.chance(0.4) and value.dtype.kind in "iufb":
            # An array is combined with its reduction, in one pass or in two.
            function, place = self.one(["max", "min"]), f"{axis}, keepdims=True"
            if self.chance(0.3) and value.flags.writeable and value.dtype.kind in "iuf":
                return (
                    f"{name} -= np.{function}({name}, {place}){self.one(['', ' + 1'])}"
                )
            operator = self.one(["+", "*", "<", "=="])
            return f"{new} = {name} {operator} np.{function}({name}, {place})"
        function = self.one(NEAR_REDUCTIONS)
        self.is_exact = False
        inner = name if self.chance(0.6) or value.dtype.kind == "c" else f"({name} * 2)"
        if function == "prod" and value.dtype.kind in "fc":
            inner = f"np.sign({name})"  # Overflow would depend on the order.
        return f"{new} = np.{function}({inner}, {axis}{keep})"

    def selection(self) -> str:
        name = self.array()
        value = self.value(name)
        if value is None or value.ndim == 0 or 0 in value.shape:
            return self.assignment()
        kind = self.one("kkktnwsubh")
        n, new = value.shape[0], self.new()
        if kind == "t":
            return f"{new} = np.take({name}, {self.index(n)}, axis=0)"
        if kind == "n":
            return f"{new} = np.flatnonzero({name})"
        if kind == "w":
            return f"{new} = np.argwhere({name} > 1)"
        if kind == "s":
            return f"{new} = np.searchsorted(np.arange(0, 40, 3), {self.index(n)})"
        if kind == "u":
            return f"{new} = np.unique({self.index(n)})"
        if kind == "b":
            return f"{new} = np.bincount({self.index(n)}, minlength=4)"
        if kind == "h":
            return f"{new} = np.take_along_axis({name}, np.argsort({name}, axis=0, kind='stable'), 0)"
        return f"{new} = {name}[{self.key(name)}]"

    def rearrangement(self) -> str:
        name = self.array()
        value = self.value(name)
        if value is None or value.ndim == 0:
            return self.copying()
        other = self.made(value.shape, str(self.one(DTYPES)))
        text = self.one(
            [
                f"np.concatenate([{name}, {other}])",
                f"np.stack([{name}, {name}])",
                f"np.repeat({name}, 2, axis=0)",
                f"np.roll({name}, 1)",
                f"np.flip({name})",
                f"np.tile({name}, 2)",
                f"np.pad({name}, 1)",
                f"np.sort({name}, axis=-1)",
                f"np.split({name}, [1])[1]",
                f"np.append({name}, 1)",
                f"np.where({other}, {name}, 0)",
                f"np.moveaxis({name}, 0, -1)",
                f"np.tril(np.atleast_2d({name}))",
            ]
        )
        return f"{self.new()} = {text}"

    def copying(self) -> str:
        name = self.array()
        text = self.one(
            [
                f"{name}.copy()",
                f"np.array({name})",
                f"np.ascontiguousarray({name})",
                f"np.asfortranarray({name})",
                f"{name}.flatten()",
                f"np.zeros_like({name})",
                f"__import__('copy').deepcopy({name})",
                f"__import__('pickle').loads(__import__('pickle').dumps({name}))",
            ]
        )
        return f"{self.new()} = {text}"

    def cast(self) -> str:
        name, dtype = self.array(), numpy.dtype(self.one(DTYPES))
        if not self.can_cast(name, dtype):
            dtype = numpy.dtype("d")
        return f"{self.new()} = {name}.astype({dtype.char!r})"

    def near(self) -> str:
        self.is_exact = False
        name = self.array(lambda v: v.dtype.kind in "fiub")
        return f"{self.new()} = np.{self.one(NEAR)}({name})"

    def reading(self) -> str:
        name, new = self.array(), self.new("s")
        text = self.one(
            [
                f"{name}.tolist()",
                f"str({name})",
                f"bool(({name} != 0).any())",
                f"len({name})",
                f"{name}.item(0)",
                f"int(np.count_nonzero({name}))",
                f"[x for x in {name}.ravel()[:3]]",
                f"np.array_equal({name}, {name})",
                f"{name}.tobytes()[:0]",
            ]
        )
        return f"{new} = {text}"

    def loop(self) -> str:
        name = self.target()
        value = self.value(name)
        if value is None or value.dtype.kind == "c":
            return self.assignment()
        partner, operator = self.partner(name), self.one("+-")
        return f"for _ in range(4): {name} = {name} {operator} {partner}"
