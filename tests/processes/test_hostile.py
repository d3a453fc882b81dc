"""Test that no operation of a program on an array crashes the interpreter.

The attacks of each group run in a separate interpreter, which logs each attack before it
starts. If the interpreter dies, the test reports the attack. Errors are compared with
NumPy's errors. Values are printed and added up, so that their memory is really read.
"""

# A group is a long table. Its calls are bound as default values of lambdas.

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FUZZED = 400  # flipped or truncated copies of each pickle and file
ATTACK = "attack"

# -- Attacks: a group is a function of the library that yields names and calls -------------

Attacks = Iterator[tuple[str, Any]]


def constructors(np: Any) -> Attacks:
    """Shapes, strides, offsets and buffers that do not fit."""
    import copyreg
    import itertools

    memory = bytearray(range(64))
    shapes = [-1, (2, -2), (3,), (2, 4), (0, 5), (2**62,), (2**31, 2**31, 2**31),
              (1,) * 64, (1,) * 65, (2,) * 64, (0,) * 64, "x", None, (2.5,)]  # fmt: skip
    strides = [None, (8,), (-8,), (0,), (16, 8), (-16, 8), (2**62,), (2**62, 2**62), (1,),
               (-(2**63),), (2**63,), (8,) * 64, "x"]  # fmt: skip
    offsets = [0, 8, -8, 63, 64, 65, 2**62, -(2**63), 2**63]
    buffers = [
        None,
        memory,
        bytes(memory),
        b"",
        np.arange(8.0),
        memoryview(memory)[::2],
    ]
    for shape, stride, offset, buffer in itertools.product(
        shapes, strides, offsets, buffers
    ):
        if buffer is None and offset not in (0, -8):
            continue  # NumPy ignores the offset
        text = f"ndarray({shape}, strides={stride}, offset={offset}, {type(buffer).__name__})"
        yield (
            text,
            lambda a=(shape, float, buffer, offset, stride): np.ndarray(*a).shape,
        )
    for dtype in (
        "f8",
        "O",
        "S0",
        "V0",
        "S2147483647",
        "T",
        [("x", "O")],
        "f8,O",
        "M8",
    ):
        for shape in (3, 0, -1, 2**40, 2**61):
            for buffer in (None, memory):
                text = f"ndarray({shape}, {dtype}, {type(buffer).__name__})"
                if buffer is not None and "O" in str(dtype):
                    continue  # NumPy dereferences pointers in such a buffer
                yield text, lambda a=(shape, dtype, buffer): np.ndarray(*a).shape
    for made in (np.ndarray, np.dtype):
        yield f"object.__new__({made.__name__})", lambda a=made: object.__new__(a).shape
        yield (
            f"copyreg._reconstructor({made.__name__})",
            lambda a=made: copyreg._reconstructor(a, object, None).shape,
        )
    for count in (-2, -1, 0, 1, 9, 2**40, 2**62):
        for offset in (0, -1, 60, 64, 65, 2**62):
            for dtype in ("f8", "V0", "S3", "O", "u1"):
                yield (
                    f"frombuffer({dtype}, {count}, {offset})",
                    lambda a=(dtype, count, offset): np.frombuffer(memory, *a).sum(),
                )


def sizes(np: Any) -> Attacks:
    """Sizes beyond memory and beyond the address space."""
    huge = [2**40, 2**50, 2**59, 2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, 2**100]
    for n in huge:
        for m in (-n, n):
            for name in ("zeros", "ones", "empty", "identity", "eye", "arange", "tri"):
                size = float(m) * 1e6 if name == "arange" and m > 0 else m
                yield f"{name}({size})", lambda f=getattr(np, name), m=size: f(m).shape
            yield f"zeros(({m}, {m}))", lambda m=m: np.zeros((m, m)).shape
            yield f"full({m})", lambda m=m: np.full(m, 1.0).shape
            yield f"linspace({m})", lambda m=m: np.linspace(0, 1, m).shape
            yield f"repeat({m})", lambda m=m: np.arange(3).repeat(m).shape
            yield f"tile({m})", lambda m=m: np.tile(np.arange(3), m).shape
            yield f"resize({m})", lambda m=m: np.resize(np.arange(3), (m,)).shape
            yield f".resize({m})", lambda m=m: np.arange(3).resize(m, refcheck=False)
            yield f"pad({m})", lambda m=m: np.pad(np.arange(3), m).shape
            if m != 2**63 - 1:  # NumPy overflows and writes out of bounds
                yield f"bincount({m})", lambda m=m: np.bincount([m]).shape
            yield f"minlength {m}", lambda m=m: np.bincount([1], minlength=m).shape
            yield f"random({m})", lambda m=m: np.random.default_rng(1).random(m).shape
            yield f"rand({m})", lambda m=m: np.random.rand(m).shape
            yield f"permutation({m})", lambda m=m: np.random.permutation(m).shape
            yield f"fft({m})", lambda m=m: np.fft.fft([1.0], m).shape
            yield f"histogram({m})", lambda m=m: np.histogram([1.0], m)[0].shape
            yield f"S{m}", lambda m=m: np.zeros(3, f"S{m}").shape
            yield f"U{m}", lambda m=m: np.dtype(f"U{m}").itemsize
            yield f"subarray {m}", lambda m=m: np.dtype(("f8", (m, m))).itemsize
            yield f"broadcast {m}", lambda m=m: np.broadcast_to(1.0, (m, m, m)).shape
            yield (
                f"broadcast copy {m}",
                lambda m=m: np.broadcast_to(1.0, (m, 9)).copy().shape,
            )
            yield f"index {m}", lambda m=m: np.arange(3)[m]
            yield f"slice {m}", lambda m=m: np.arange(3)[m:-m:m].shape
            yield f"take {m}", lambda m=m: np.arange(3).take([m]).shape
            yield f"set {m}", lambda m=m: np.arange(3).__setitem__(m, 0)
            yield f"put {m}", lambda m=m: np.arange(3).put([m], 0)
            yield f"at {m}", lambda m=m: np.add.at(np.arange(3), [m], 1)
            yield f"axis {m}", lambda m=m: np.arange(3).sum(axis=m)
            yield f"unravel {m}", lambda m=m: np.unravel_index(m, (m, m))
            yield f"roll {m}", lambda m=m: np.roll(np.arange(3), m)
            yield f"insert {m}", lambda m=m: np.insert(np.arange(3), m, 1)
            yield f"partition {m}", lambda m=m: np.partition(np.arange(3), m)
            yield f"eye k {m}", lambda m=m: np.eye(3, k=m)
            yield f"diag {m}", lambda m=m: np.diag(np.arange(3), m).shape
            yield f"left_shift {m}", lambda m=m: np.left_shift(np.arange(3), m)
            yield (
                f"outer {m}",
                lambda m=m: (
                    np.multiply.outer(
                        np.broadcast_to(1.0, (m,)), np.broadcast_to(1.0, (m,))
                    ).shape
                ),
            )
            yield f"multiply {m}", lambda m=m: np.strings.multiply(["ab"], m).shape
    for n in (0, 1, 63, 64, 65, 100, 1000):
        ones = (1,) * n
        yield f"{n} dims", lambda s=ones: np.zeros(s).shape
        yield f"reshape to {n}", lambda s=ones: np.arange(1).reshape(s).shape
        yield f"index {n}", lambda n=n: np.arange(1)[(None,) * n].shape
        yield f"full index {n}", lambda n=n: np.arange(1)[(0,) * n]
        yield f"expand {n}", lambda n=n: np.expand_dims(1, tuple(range(n))).shape
        yield f"broadcast {n}", lambda s=ones: np.broadcast_to(1, s).shape
        yield f"transpose {n}", lambda n=n: np.arange(1).transpose(tuple(range(n)))
        yield f"sum {n}", lambda n=n: np.arange(1).sum(axis=tuple(range(n)))
        yield f"outer {n}", lambda s=ones: np.add.outer(np.zeros(s), np.zeros(s)).shape
        yield f"operands {n}", lambda n=n: np.broadcast(*[1] * n).shape
        yield f"nditer {n}", lambda n=n: np.nditer([1] * n).nop
        yield f"choose {n}", lambda n=n: np.choose(0, [1] * n)
        yield f"einsum {n}", lambda n=n: np.einsum("," * n, *[1] * (n + 1))
        yield f"ufunc {n}", lambda n=n: np.frompyfunc(max, n, 1)(*[1] * n)
        yield f"ndmin {n}", lambda n=n: np.array(1, ndmin=n).shape
        yield f"subarrays {n}", lambda s=ones: np.dtype(("f8", s)).shape


def strides(np: Any) -> Attacks:
    """as_strided and setters, only where NumPy itself checks."""
    as_strided = np.lib.stride_tricks.as_strided
    a = np.arange(12.0).reshape(3, 4)
    for shape in [
        (-1,),
        (2, -1),
        (0, 2**62),
        (2**62, 2**62),
        "x",
        (2.5,),
        (1,) * 65,
        None,
    ]:
        for step in [None, (8,), (0,), (0, 0), (2**62, 8), (-8, 8), "x", (8,) * 65]:
            for kept in (True, False):
                text = f"as_strided({shape}, {step}, {kept})"
                yield text, lambda s=shape, t=step, k=kept: as_strided(a, s, t, k).shape
    for value in [-1, (3, 5), (2, -6), (2**62,), (2**62, 0), (1,) * 65, (), None, "x", 1.5,
                  (-1, -1), 2**64, a, (8, 8), (-8,), (0, 0), (2**40, 8), (1, 1)]:  # fmt: skip
        for name in ("shape", "strides", "dtype"):
            yield f".{name} = {value}", lambda v=value, n=name: setattr(a.copy(), n, v)
    for dtype in [
        "O",
        "T",
        "S0",
        "V0",
        "S13",
        "V96",
        "f8,O",
        ("f8", (2,)),
        "M8",
        "foo",
        "U",
    ]:
        yield f"view({dtype})", lambda d=dtype: a.view(d).shape
        yield f".dtype = {dtype}", lambda d=dtype: setattr(a.copy(), "dtype", d)
        yield f"O view({dtype})", lambda d=dtype: a.astype("O").view(d).shape
        yield f"getfield({dtype})", lambda d=dtype: a.getfield(d, 3).sum()
        yield f"getfield(-1, {dtype})", lambda d=dtype: a.getfield(d, -1)
        yield f"setfield({dtype})", lambda d=dtype: a.copy().setfield(1, d, 4)
        yield f"byteswap({dtype})", lambda d=dtype: np.zeros(3, d).byteswap()
    window = np.lib.stride_tricks.sliding_window_view
    for shape in [0, -1, 5, (2, 2, 2), (2**62, 1), (), "x"]:
        for axis in [None, 0, (0, 0), 5, -9, "x"]:
            yield (
                f"windows {shape} {axis}",
                lambda s=shape, x=axis: window(a, s, x).sum(),
            )


def states(np: Any) -> Attacks:
    """__setstate__ with garbage."""
    # With more than 64 dimensions, NumPy itself reads out of bounds.
    good = (1, (2, 2), np.dtype("i4"), False, bytes(range(16)))
    bad = [None, -1, 2**70, "x", b"", b"x" * 15, (), (-1,), (2**62,), (2**62, 2**62), (1,) * 64,
           [], [1, 2, 3, 4], np.dtype("O"), np.dtype("T"), np.dtype("V0"), np.dtype("f8,O"), int,
           object(), 1.5, {}, np.arange(4)]  # fmt: skip
    for place in range(len(good)):
        for value in bad:
            state = (*good[:place], value, *good[place + 1 :])

            def set_state(state: Any = state) -> Any:
                a = np.arange(3)
                a.__setstate__(state)
                return a.shape, a.dtype

            yield f"__setstate__({state!r:.300})", set_state
    for state in bad:
        yield (
            f"__setstate__({state!r:.80})",
            lambda s=state: np.arange(3).__setstate__(s),
        )
        yield (
            f"reconstruct {state!r:.80}",
            lambda s=state: np.ndarray.__new__(np.ndarray, (0,)).__setstate__(s),
        )
        yield (
            f"dtype state {state!r:.80}",
            lambda s=state: np.dtype("f8").__setstate__(s),
        )
        yield (
            f"generator state {state!r:.80}",
            lambda s=state: np.random.RandomState(1).set_state(s),
        )
        yield (
            f"bit generator state {state!r:.80}",
            lambda s=state: setattr(np.random.PCG64(1), "state", s),
        )


def pickles(np: Any) -> Attacks:
    """Truncated and bit-flipped pickles."""
    import pickle
    import random

    allowed = {"numpy", "mxnp", "builtins", "_codecs", "copyreg"}

    class Unpickler(pickle.Unpickler):
        """Loads only names of array pickles: a flipped name may be any other."""

        def find_class(self, module: str, name: str) -> Any:
            if module.partition(".")[0] not in allowed or module == "builtins":
                raise pickle.UnpicklingError(f"{module}.{name}")
            return super().find_class(module, name)

    def load(data: bytes) -> Any:
        import io

        loaded = Unpickler(io.BytesIO(data), buffers=[bytearray(96)]).load()
        return repr(loaded)[:50] and None

    chance = random.Random(1)
    a = np.arange(12.0).reshape(3, 4)
    records = np.zeros(2, [("x", "i4"), ("y", "S3")])
    for x in (a, a.T, a.astype("O"), np.array(["a", "bc"]), records, a[:0]):
        for protocol in (0, 2, 4, 5):
            data = pickle.dumps(x, protocol)
            for n in range(len(data)):
                yield (
                    f"{x.dtype} pickle {protocol} cut at {n}",
                    lambda d=data[:n]: load(d),
                )
            # With a flipped bit, a pickle of objects may create objects of any class.
            for _ in range(FUZZED // 8 if x.dtype != "O" else 0):
                flipped = bytearray(data)
                place, bit = chance.randrange(len(data)), chance.randrange(8)
                flipped[place] ^= 1 << bit
                text = f"{x.dtype} pickle {protocol}, bit {bit} of {place} flipped"
                yield text, lambda d=bytes(flipped): load(d)
    out_of_band = pickle.dumps(a, 5, buffer_callback=lambda _: None)
    for buffers in (
        None,
        [],
        [b""],
        [b"x" * 95],
        [b"x" * 97],
        ["x"],
        [None],
        [b"x" * 96] * 2,
    ):
        yield (
            f"buffers={buffers!r:.30}",
            lambda b=buffers: pickle.loads(out_of_band, buffers=b).shape,
        )


def files(np: Any) -> Attacks:
    """Truncated and bit-flipped .npy and .npz files."""
    import io
    import random

    chance = random.Random(2)
    records = np.zeros(2, [("x", "i4"), ("y", "S3")])
    for x in (
        np.arange(12.0).reshape(3, 4),
        np.array(["a", "bc"]),
        records,
        np.array(1.5),
    ):
        for save in (np.save, np.savez, np.savez_compressed):
            file = io.BytesIO()
            save(file, x)
            data = file.getvalue()

            def load(data: bytes) -> Any:
                loaded = np.load(io.BytesIO(data))
                if hasattr(loaded, "files"):
                    loaded = [loaded[name] for name in loaded.files]
                return repr(loaded)[:50] and None

            step = 1 if save is np.save else 7
            for n in range(0, len(data), step):
                yield (
                    f"{save.__name__} {x.dtype} cut at {n}",
                    lambda d=data[:n]: load(d),
                )
            for _ in range(FUZZED // 4):
                flipped = bytearray(data)
                place, bit = chance.randrange(len(data)), chance.randrange(8)
                flipped[place] ^= 1 << bit
                text = f"{save.__name__} {x.dtype}, bit {bit} of {place} flipped"
                yield text, lambda d=bytes(flipped): load(d)
    header = b"{'descr': %s, 'fortran_order': %s, 'shape': %s, }\n"
    for descr in (
        b"'<f8'",
        b"'|O'",
        b"[]",
        b"'<f8,O'",
        b"[('x', '<f8', -1)]",
        b"__import__('os')",
    ):
        for fortran in (b"False", b"3", b"None"):
            for shape in (
                b"(2,)",
                b"(-1,)",
                b"(2**62,)",
                b"(9999999999999,)",
                b"2",
                b"()",
                b"None",
            ):
                text = header % (descr, fortran, shape)
                data = (
                    b"\x93NUMPY\x01\x00"
                    + len(text).to_bytes(2, "little")
                    + text
                    + b"\0" * 16
                )
                yield text.decode(), lambda d=data: np.load(io.BytesIO(d)).shape
    for text in (
        "",
        "\0",
        "1\0 2",
        "1 2\n3",
        "x" * 5000,
        "1e99999",
        "9" * 400,
        "nan,inf",
        '"1',
    ):
        yield (
            f"loadtxt({text!r:.20})",
            lambda t=text: np.loadtxt(io.StringIO(t), quotechar='"'),
        )
        yield f"loadtxt({text!r:.20}, int)", lambda t=text: np.loadtxt([t], dtype=int)
        yield f"genfromtxt({text!r:.20})", lambda t=text: np.genfromtxt(io.StringIO(t))
        yield f"fromstring({text!r:.20})", lambda t=text: np.fromstring(t, sep=" ")


def capsules(np: Any) -> Attacks:
    """DLPack capsules that are wrong, used up, or not capsules."""
    import ctypes

    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = (
        ctypes.py_object,
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
    )
    memory = ctypes.create_string_buffer(256)
    names = [b"dltensor", b"dltensor_versioned", b"used_dltensor", b"other", None]
    kept: list[Any] = [memory, names]

    class Gives:
        def __init__(self, capsule: Any, device: Any = (1, 0)) -> None:
            self.capsule, self.device = capsule, device

        def __dlpack__(self, **_: Any) -> Any:
            if isinstance(self.capsule, Exception):
                raise self.capsule
            return self.capsule

        def __dlpack_device__(self) -> Any:
            if isinstance(self.device, Exception):
                raise self.device
            return self.device

    for name in names[2:]:
        capsule = new(ctypes.addressof(memory), name, None)
        kept.append(capsule)
        yield f"capsule {name}", lambda c=capsule: np.from_dlpack(Gives(c))
    for wrong in (
        None,
        3,
        "x",
        b"x",
        [],
        object(),
        ValueError("no"),
        np.arange(3),
        RuntimeError,
    ):
        yield f"capsule {wrong!r:.30}", lambda w=wrong: np.from_dlpack(Gives(w))
        yield (
            f"device {wrong!r:.30}",
            lambda w=wrong: np.from_dlpack(Gives(np.arange(3.0).__dlpack__(), w)),
        )
        yield f"from_dlpack({wrong!r:.30})", lambda w=wrong: np.from_dlpack(w)
    for device in (
        (2, 0),
        (1, 1),
        (99, 0),
        (-1, 0),
        (1,),
        (1, 0, 0),
        ("x", 0),
        (2**70, 0),
    ):
        yield (
            f"device {device}",
            lambda d=device: np.from_dlpack(
                Gives(np.arange(3.0).__dlpack__(), d)
            ).sum(),
        )
        yield (
            f"to device {device}",
            lambda d=device: type(np.arange(3.0).__dlpack__(dl_device=d)).__name__,
        )
    for version in ((1, 0), (0, 8), (99, 0), (-1, 0), (1,), "x", None, (2**70, 0)):

        def versioned(version: Any = version) -> Any:
            capsule = np.arange(3.0).__dlpack__(max_version=version)
            return np.from_dlpack(Gives(capsule)).sum()

        yield f"version {version}", versioned

    def twice() -> Any:
        capsule = np.arange(1000.0).__dlpack__()
        first = np.from_dlpack(Gives(capsule))
        return first.sum(), np.from_dlpack(Gives(capsule))

    def never() -> Any:
        for _ in range(1000):
            np.arange(1000.0).__dlpack__()

    def outlives() -> Any:
        a = np.arange(1000.0)
        b = np.from_dlpack(a)
        del a
        noise = [np.ones(1000) for _ in range(10)]
        return b.sum(), len(noise)

    def raw() -> Any:
        a = np.arange(3.0)
        return np.from_dlpack(a.__dlpack__())

    yield "a capsule used twice", twice
    yield "capsules never used", never
    yield "an array that outlives the one it came from", outlives
    yield "a bare capsule", raw


def liars(np: Any) -> Attacks:
    """Objects with wrong results of protocols."""
    import ctypes

    memory = (ctypes.c_double * 8)(*range(8))
    address = ctypes.addressof(memory)
    good = {"version": 3, "shape": (8,), "typestr": "<f8", "data": (address, False)}
    wrong = {
        "version": [None, 2, "x", 2**70],
        "shape": [
            None,
            (-1,),
            (2**62,),
            (2**62, 2**62),
            "x",
            8,
            (1,) * 65,
            (2.5,),
            [8],
            (),
        ],
        "typestr": [None, "<q9", "|O", "x", b"<f8", 3, "|V0", "|S0", "\0", ""],
        "data": [
            None,
            (address,),
            ("x", False),
            (-1, False),
            (2**70, False),
            "x",
            (),
            b"12",
        ],
        "strides": [(-8,), (8, 8), "x", (2.5,), (2**70,), 8, ()],
        "descr": [3, "x", [("x", "<q9")], [], [("", "<f8")], [()]],
        "offset": ["x", -1, 2**62],
        "mask": ["x", 3],
    }

    def lie(**attributes: Any) -> Any:
        return type("Liar", (), {"memory": memory, **attributes})()

    users = {
        "asarray": np.asarray,
        "array": np.array,
        "add": lambda x: np.add(x, 1),
        "in a list": lambda x: np.array([x, x]),
        "+": lambda x: np.ones(8) + x,
        "set": lambda x: np.ones(8).__setitem__(slice(None), x),
        "index": lambda x: np.ones(8)[x],
        "shape": np.zeros,
        "out": lambda x: np.add(1, 2, out=x),
        "concatenate": lambda x: np.concatenate([x, x]),
        "sum": np.sum,
    }
    for key, values in wrong.items():
        for value in values:
            interface = {**good, key: value}
            for name in ("asarray", "add", "+"):
                if (key, value) in (
                    ("data", (-1, False)),
                    ("offset", -1),
                    ("strides", (-8,)),
                ):
                    continue  # NumPy trusts the address
                yield (
                    f"__array_interface__ {key}={value!r} {name}",
                    lambda f=users[name], x=lie(__array_interface__=interface): (
                        f(x).shape
                    ),
                )
    raising = property(lambda self: 1 / 0)
    values = [None, 3, "x", (), [], {}, object(), raising, lambda *_, **__: None,
              lambda *_, **__: 1 / 0, lambda *_, **__: 3, lambda *_, **__: "x", type, "self",
              lambda *_, **__: [1, [2, 3]], lambda *_, **__: 2**70, lambda *_, **__: -1]  # fmt: skip
    names = ["__array_interface__", "__array_struct__", "__array__", "__dlpack__", "__len__",
             "__index__", "__float__", "__int__", "__iter__", "__array_ufunc__",
             "__array_function__", "__array_priority__", "__array_wrap__", "__array_finalize__",
             "__buffer__", "__eq__", "__hash__", "__bool__", "__radd__", "dtype",
             "shape"]  # fmt: skip
    for name in names:
        for n, value in enumerate(values):
            for user, use in users.items():
                x = lie(**{name: value})
                if value == "self":
                    setattr(type(x), name, x)
                yield f"{name} {n}, {user}", lambda f=use, x=x: type(f(x)).__name__
    for length in (0, 1, 5, -1, 2**62, 2**70, "x"):
        for item in (1, "x", None):

            class Sequence:
                def __len__(self, length: Any = length) -> Any:
                    return length

                def __getitem__(self, i: Any, item: Any = item) -> Any:
                    if i > 2:
                        raise IndexError
                    return item

            for user, use in users.items():
                yield (
                    f"sequence of {length} {item!r}, {user}",
                    lambda f=use, s=Sequence: type(f(s())).__name__,
                )

    class Shrinks(list):
        def __getitem__(self, i: Any) -> Any:
            self.clear()
            return list.__getitem__(self, i)

        def __iter__(self) -> Any:
            self.clear()
            return iter([1, 2, 3])

    class Grows(list):
        def __iter__(self) -> Any:
            for i in range(3):
                self.append(i)
                yield i

    for cls in (Shrinks, Grows):
        for user, use in users.items():
            yield (
                f"{cls.__name__} {user}",
                lambda f=use, c=cls: type(f(c([1, 2]))).__name__,
            )

    def shrink_inside() -> Any:
        outer: list[Any] = []

        class Clears:
            def __float__(self) -> float:
                outer.clear()
                return 1.0

            def __len__(self) -> int:
                outer.clear()
                return 1

            def __getitem__(self, i: int) -> float:
                outer.clear()
                return 1.0

        outer.extend([Clears(), Clears(), [Clears()], 1, 2])
        return np.array(outer, dtype=float)

    yield "a list cleared by its own items", shrink_inside

    def resized_while_used() -> Any:
        a = np.arange(100000.0)

        class Resizes:
            def __index__(self) -> int:
                a.resize(1, refcheck=False) if False else a.__setitem__(0, 1)
                return 99999

        return a[Resizes()]

    yield "an index that writes to the array", resized_while_used
    for given in (memory, memoryview(memory), ctypes.c_int(3), ctypes.pointer(memory)):
        yield f"from {type(given)}", lambda g=given: type(np.asarray(g)).__name__


def recursions(np: Any) -> Attacks:
    """Protocols that call themselves, objects that contain themselves, deep nesting."""

    class Array:
        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.asarray(self)

    class Interface:
        @property
        def __array_interface__(self) -> Any:
            return np.asarray(self).__array_interface__

    class Ufunc:
        def __array_ufunc__(
            self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any
        ) -> Any:
            return getattr(ufunc, method)(*inputs, **kwargs)

    class Function:
        def __array_function__(
            self, func: Any, types: Any, args: Any, kwargs: Any
        ) -> Any:
            return func(*args, **kwargs)

    class Index:
        def __index__(self) -> Any:
            return np.arange(3)[self]

    class Length:
        def __len__(self) -> Any:
            return len(np.asarray(self))

        def __getitem__(self, i: Any) -> Any:
            return np.asarray(self)[i]

    class Add:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> Any:
            return other + self

    a = np.arange(3.0)
    uses = {
        "asarray": np.asarray, "array": np.array, "add": lambda x: np.add(x, a),
        "+": lambda x: a + x, "r+": lambda x: x + a, "sum": np.sum, "index": lambda x: a[x],
        "concatenate": lambda x: np.concatenate([x, a]), "float": lambda x: np.array([x], float),
        "set": lambda x: a.__setitem__(0, x), "+=": lambda x: a.__iadd__(x),
        "matmul": lambda x: a @ x, "mean": np.mean, "zeros_like": np.zeros_like,
        "out": lambda x: np.add(a, a, out=x), "reduce": np.add.reduce, "dot": a.dot,
        "where": lambda x: np.where(x, a, a), "sort": np.sort, "==": lambda x: a == x,
    }  # fmt: skip
    for cls in (Array, Interface, Ufunc, Function, Index, Length, Add):
        for name, use in uses.items():
            yield f"{cls.__name__}, {name}", lambda f=use, c=cls: type(f(c())).__name__

    def self_list() -> Any:
        x: list[Any] = [1]
        x.append(x)
        return x

    def nested(depth: int) -> Any:
        x: Any = 1
        for _ in range(depth):
            x = [x]
        return x

    def self_array() -> Any:
        x = np.empty(2, dtype=object)
        x[0] = x
        x[1] = [x]
        return x

    def dug() -> Any:
        x = np.empty(1, dtype=object)
        for _ in range(50):
            y = np.empty(1, dtype=object)
            y[0] = x
            x = y
        return x

    made = {
        "a list in itself": self_list, "an object array in itself": self_array,
        "a list 65 deep": lambda: nested(65), "a list 100000 deep": lambda: nested(100_000),
        "a tuple of itself": lambda: (self_list(),), "object arrays 50 deep": dug,
    }  # fmt: skip
    looks = {
        **uses, "repr": lambda x: repr(x)[:9], "str": lambda x: str(x)[:9],
        "object": lambda x: np.array(x, dtype=object).shape, "copy": np.copy,
        "tolist": lambda x: type(np.asarray(x, object).tolist()).__name__,
        "stack": lambda x: np.stack([x, x]), "block": np.block, "unique": np.unique,
        "equal": np.array_equal.__class__ and (lambda x: np.array_equal(x, x)),
        "assert_equal": lambda x: np.testing.assert_equal(x, x), "flat": lambda x: list(x.flat)[:0],
        "shape": np.shape, "save": lambda x: np.save("/dev/null", x, allow_pickle=True),
        "nothing": lambda x: None,
    }  # fmt: skip
    for title, make in made.items():
        for name, use in looks.items():
            yield f"{title}, {name}", lambda f=use, m=make: type(f(m())).__name__


def references(np: Any) -> Attacks:
    """Memory that is freed, or changes, while it is in use."""
    import gc
    import pickle
    import weakref

    def released_buffer() -> Any:
        memory = bytearray(8000)
        a = np.frombuffer(memory)
        memory.extend(b"x")  # refused while `a` exports it
        return a.sum()

    def resized_under_memoryview() -> Any:
        a = np.arange(100.0)
        view = memoryview(a)
        a.resize(10_000_000)
        return view[99]

    def resized_under_view() -> Any:
        a = np.arange(100.0)
        view = a[50:]
        a.resize(10_000_000)
        return view.sum()

    def resized_under_iteration() -> Any:
        a = np.arange(100.0)
        for _ in a:
            a.resize(1)
        return a.sum()

    def flat_outlives() -> Any:
        flat = np.arange(1000.0).flat
        gc.collect()
        return sum(flat)

    def nditer_outlives() -> Any:
        it = np.nditer([np.arange(1000.0), None])
        gc.collect()
        for x, y in it:
            y[...] = x
        return it.operands[1].sum()

    def ctypes_outlives() -> Any:
        pointer = np.arange(1000.0).ctypes
        gc.collect()
        return pointer.data_as(
            __import__("ctypes").POINTER(__import__("ctypes").c_double)
        )[999]

    def row_outlives() -> Any:
        rows = list(np.arange(1e6).reshape(1000, 1000)[::100])
        gc.collect()
        return sum(row.sum() for row in rows)

    def interface_outlives() -> Any:
        class Holder:
            def __init__(self) -> None:
                self.a = np.arange(1000.0)
                self.__array_interface__ = self.a.__array_interface__

        b = np.asarray(Holder())
        gc.collect()
        return b.sum()

    def record_outlives() -> Any:
        field = np.zeros(1000, "f8,i4")["f1"]
        scalar = np.ones(10, "f8,i4")[3]
        gc.collect()
        return field.sum(), scalar["f0"]

    def weak_callback_uses_the_array() -> Any:
        seen = []
        a = np.arange(3)
        reference = weakref.ref(a, lambda r: seen.append(r()))
        del a
        return seen, reference()

    def cycles() -> Any:
        for _ in range(100):
            a = np.empty(1000, dtype=object)
            a[:] = [[a]] * 1000
            a[0].append(a[1:])
        gc.collect()

    def deleter_in_operation() -> Any:
        class Evil:
            def __del__(self) -> None:
                a[...] = None

            def __add__(self, other: Any) -> Any:
                a[...] = None
                return 1

        a = np.empty(10, dtype=object)
        a[:] = [Evil() for _ in range(10)]
        return (a + 1).tolist()

    def sort_that_changes() -> Any:
        class Changes:
            def __lt__(self, other: Any) -> bool:
                a[...] = None
                return True

        a = np.empty(50, dtype=object)
        a[:] = [Changes() for _ in range(50)]
        a.sort()

    def read_only_bytes() -> Any:
        a = np.frombuffer(b"abcdefgh" * 2)
        a.flags.writeable = True

    def threads() -> Any:
        from concurrent.futures import ThreadPoolExecutor

        a = np.zeros(10_000)

        def work(i: int) -> Any:
            for _ in range(50):
                a[i::8] += 1
                (a + a)[::-1].sum()
                pickle.loads(pickle.dumps(a[:10]))
            return None

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        return a.sum()

    for attack in (released_buffer, resized_under_memoryview, resized_under_view,
                   resized_under_iteration, flat_outlives, nditer_outlives, ctypes_outlives,
                   row_outlives, interface_outlives, record_outlives,
                   weak_callback_uses_the_array, cycles, deleter_in_operation,
                   sort_that_changes, read_only_bytes, threads):  # fmt: skip
        yield attack.__name__.replace("_", " "), attack


GROUPS = [constructors, sizes, strides, states, pickles, files, capsules, liars, recursions,
          references]  # fmt: skip

ADDRESS = r"0x[0-9a-f]+|[0-9]{14,}"  # differs between runs
MEMORY = 3 << 29  # bytes that an attack may use
PATIENCE = 20  # seconds for one attack; all take less than one


def attack_all(
    group: str, library: str, log: str, skipped: int, left_out: list[str]
) -> None:
    """Run the attacks of a group, and log each of them before it starts."""
    import faulthandler
    import importlib
    import itertools
    import re
    import resource
    import warnings

    warnings.simplefilter("ignore")
    # The system refuses more memory than this, like a smaller machine.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    np = importlib.import_module(library)
    with Path(log).open("a") as lines:
        attacks = enumerate(globals()[group](np))
        for n, (name, attack) in itertools.islice(attacks, skipped, None):
            title = re.sub(ADDRESS, "0x", f"{n}: {name}")
            if title in left_out:
                continue
            print(json.dumps([ATTACK, title]), file=lines, flush=True)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            try:
                result = attack()
                answer = [type(result).__name__, repr(result)[:200]]
            except BaseException as error:
                answer = [type(error).__name__, str(error)[:300]]
            faulthandler.cancel_dump_traceback_later()
            if answer[0] == "RecursionError":
                answer[1] = ""  # names the function that met the limit
            print(
                json.dumps([re.sub(ADDRESS, "0x", text) for text in answer]), file=lines
            )


Answers = dict[str, list[str] | None]


def answers(
    group: str,
    library: str,
    log: Path,
    skipped: int = 0,
    left_out: tuple[str, ...] = (),
) -> tuple[Answers, str | None]:
    """Return the result of each attack, and the errors of an interpreter that died."""
    given = group, library, str(log), skipped, left_out
    code = f"import runpy; runpy.run_path({__file__!r})['attack_all'](*{given!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    found: Answers = {}
    name = ""
    for line in log.read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        if said[0] == ATTACK:
            name = said[1]
            found[name] = None
        else:
            found[name] = said
    return found, done.stderr[-2000:] if done.returncode else None


@pytest.mark.slow
@pytest.mark.parametrize("group", [group.__name__ for group in GROUPS])
def test_nothing_crashes(group: str, tmp_path: Path) -> None:
    """
    Attacks that NumPy survives do not crash mxnp, and the errors are the same.

    If NumPy crashes, it is started again after that attack. The attack is left out for
    mxnp, which runs the same code of NumPy.
    """
    expected, died = answers(group, "numpy", tmp_path / "numpy")
    while died is not None:
        expected, died = answers(group, "numpy", tmp_path / "numpy", len(expected))
    deadly = tuple(name for name, answer in expected.items() if answer is None)
    assert len(deadly) < len(expected) / 20, deadly
    found, died = answers(group, "mxnp", tmp_path / "mxnp", 0, deadly)
    assert died is None, f"died of {list(found)[-1]}: {died}"
    if group == "pickles":
        return  # the bytes of the pickles differ
    assert list(found) == [name for name in expected if name not in deadly]
    different = {
        name: (answer, expected[name])
        for name, answer in found.items()
        if answer != expected[name]
    }
    assert not different
