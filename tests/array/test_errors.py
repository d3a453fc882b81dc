"""Compare errors and warnings of programs with NumPy's: class, text, notes and line.

Each line of the two tables is a program. It runs on numpy and on mxnp, must raise or
warn in both, and the results are compared. A second line flushes the queue, so that an
error or a warning that comes after the call is noticed.
"""

from __future__ import annotations

import io
import sys
import textwrap
import traceback
import types
import warnings
from typing import Any, NamedTuple

import numpy
import pytest
from support.lanes import ON_CUDA

import mxnp

# The namespace of the programs.
GIVEN = """
import copy, ctypes, datetime, io, operator, pickle
a = np.arange(6.0).reshape(2, 3)
b = np.ones((2, 3), dtype=bool)
c = np.array([1 + 2j, 3])
e = np.empty((0, 3))
f = np.float32([1e38, -1e38])
i = np.arange(3)
u = np.arange(3, dtype=np.uint8)
o = np.array([None, "x"], dtype=object)
s = np.array(["ab", "c"])
d = np.array(["2020-01-01", "NaT"], dtype="M8[D]")
t = np.array([1, 2], dtype="m8[s]")
x = np.array(1.5)
r = np.zeros(2, dtype=[("x", int), ("y", float)])
v = np.arange(3.0); v.flags.writeable = False
w = np.broadcast_to(np.arange(3), (2, 3))
g = np.random.default_rng(1)
R = np.random.RandomState(1)
"""

ERRORS = """
# creation
np.zeros(-1)
np.zeros((2, -3))
np.empty((-1, 0))
np.ones("2")
np.ones(2.5)
np.ones((2, 2.5))
np.zeros()
np.zeros(2, 3, 4, 5, 6)
np.zeros(2, order="Z")
np.zeros(2, order=3)
np.zeros(2, dtypo=int)
np.zeros(2, device="gpu")
np.zeros(10**14)
np.zeros((10**10, 10**10, 10**10))
np.empty((2,) * 65)
np.ones((1,) * 100)
np.full(2, "x", dtype=float)
np.full((2, 2), [1, 2, 3])
np.full()
np.arange()
np.arange(0, 1, 0)
np.arange(0, 10**19, dtype=np.int8)
np.arange(0, float("nan"))
np.arange(0, float("inf"))
np.arange("a", "b")
np.arange(1, 2, 3, 4, 5)
np.arange(None)
np.arange(0, 3, dtype=bool)
np.linspace(0, 1, -1)
np.linspace(0, 1, 2.5)
np.linspace(0, 1, num="x")
np.logspace(0, 1, -2)
np.geomspace(0, 1)
np.eye(-1)
np.eye("x")
np.identity(-2)
np.array()
np.array(1, 2, 3)
np.array([1, [2, 3]])
np.array([[1, 2], [3]])
np.array([[1, 2], [3]], dtype=float)
np.array(["a", 1], dtype=int)
np.array("x", dtype=float)
np.array([None], dtype=int)
np.array({1: 2}, dtype=float)
np.array([1.5], dtype="i4", subok=None, ndmin=-1, foo=1)
np.array([1], ndmin=65)
np.array([1], copy="x")
np.array([1], copy=False)
np.asarray([1], copy=False)
np.asarray(1, dtype="foo")
np.asarray(a, dtype=int, copy=False)
np.array([300], dtype=np.uint8)
np.array(-1, dtype=np.uint8)
np.array([1 + 2j], dtype=float)
np.asarray_chkfinite([1, np.nan])
np.frombuffer(b"abc", dtype=float)
np.frombuffer(b"abc", dtype=object)
np.frombuffer(b"abcdefgh", offset=9)
np.frombuffer(b"abcdefgh", count=2)
np.frombuffer(b"abcdefgh", offset=-1)
np.frombuffer("abc")
np.frombuffer(3)
np.fromiter([1, 2], dtype=object, count=3)
np.fromiter([1, 2], int, count=5)
np.fromiter(3, int)
np.fromiter(["a"], int)
np.fromiter([1])
np.fromstring("1 2 x", sep="x")
np.fromstring(b"123", dtype=float)
np.fromfunction(3, (2, 2))
np.fromfunction(lambda p, q: p + undefined, (2, 2))
np.copy()
np.meshgrid([1, 2], [3], indexing="ab")
np.meshgrid([1, 2], foo=3)
np.tri(-1, "x")
np.tril(3)
np.vander([[1, 2]])
np.diag(np.ones((2, 2, 2)))
np.diagflat(1, 2, 3)
np.indices((2, -1))
np.mgrid[0:1:"x"]
np.ndarray()
np.ndarray((2, -1))
np.ndarray(2, buffer=b"ab")
np.ndarray(2, buffer=bytearray(16), strides=(16,))
np.ndarray(2, buffer=bytearray(16), strides=(8, 8))
np.ndarray(2, buffer=bytearray(16), offset=8)
np.ndarray(2, strides=(64,))
np.ndarray((10**10, 10**10))
np.ndarray("x")
np.ndarray(2, dtype="q8")
np.ndarray(2, foo=1)

# dtypes
np.dtype("foo")
np.dtype("i3")
np.dtype("f8,q9")
np.dtype([("x", int), ("x", float)])
np.dtype([("x",)])
np.dtype([("x", int, 2, 3)])
np.dtype([(1, int)])
np.dtype({"names": ["x"], "formats": ["i4"], "offsets": [-1]})
np.dtype({"names": ["x"], "formats": ["i4"], "itemsize": 2})
np.dtype("M8[foo]")
np.dtype("m8[2.5s]")
np.dtype("S-1")
np.dtype(("i4", -1))
np.dtype(("i4", (2, -1)))
np.dtype()
np.dtype(a)
np.dtype("x" * 100)
np.dtype(int)["x"]
np.dtype([("x", int)])["y"]
np.dtype([("x", int)])[3]
np.dtypes.StringDType(na_object=np.nan, foo=1)
np.array([1], dtype=np.dtypes.StringDType(coerce=False))
np.promote_types("i4", "x")
np.promote_types("M8[s]", "f8")
np.promote_types([("x", int)], [("y", int)])
np.result_type()
np.result_type("foo")
np.result_type(d, a)
np.can_cast(1, int)
np.can_cast("i4")
np.can_cast("i4", "i8", "foo")
np.finfo(int)
np.finfo("S3")
np.iinfo(float)
np.iinfo(a)
np.min_scalar_type()
np.issubdtype(1, 2)
np.common_type(s)
np.dtype("f8").newbyteorder("x")
np.dtype("f8").names = ("x",)
np.dtype("f8").itemsize = 3
np.dtype([("x", int)]).names = ("x", "y")
np.float64("x")
np.float64(1, 2)
np.int8(300)
np.int64("1.5")
np.uint8(-1)
np.bool("x", 2)
np.str_(1, 2, 3, 4)
np.datetime64("foo")
np.datetime64(3)
np.timedelta64(1.5)
np.timedelta64("x")
np.generic()
np.number(3)
np.int64(3).foo
np.int64(3).x = 2
np.float64(1)[0]
np.void(b"x")["y"]
np.isdtype(int, "foo")
np.isdtype(3, int)
np.sctypeDict["foo"]

# broadcasting
a + np.ones(4)
a * np.ones((3, 2))
a - [1, 2]
a < np.ones(4)
a == np.ones(4)
a != [1, 2]
a & a
np.add(a, np.ones(5))
np.hypot(a, i[:2])
np.broadcast(a, np.ones(4))
np.broadcast(a, foo=1)
np.broadcast_to(a, (3, 2))
np.broadcast_to(a, (2,))
np.broadcast_to(a, (-1, 3))
np.broadcast_arrays(a, np.ones(4))
np.broadcast_shapes((2, 3), (4,))
np.broadcast_shapes("x")
np.where(b, a, np.ones(4))
np.where(b, a)
np.where()
np.clip(a, np.ones(4), 2)
np.clip(a, 1, 2, min=3)
np.copyto(a, np.ones(4))
np.copyto(a, 1j)
np.copyto(3, a)
np.copyto(v, 1)
np.putmask(a, b)
np.putmask(3, b, 1)
np.put(a, [9], 1)
np.put(a, [9], 1, mode="foo")
np.put(3, [0], 1)
np.place(a, [1, 0], [])
np.place(a, b, [])
np.place(3, b, 1)
np.select([b], [a, a])
np.select([], [])
np.select([a], [a])
np.select([b], 7)
np.choose(3, [1, 2])
np.choose([0, 2], [[1, 2], [3, 4]])
np.choose([0], [])
np.choose(i, 2.5, None, "x")
np.piecewise(a, [b], [1, 2, 3])
np.fmin.outer(a)

# indexing: get
a[5]
a[-3]
a[0, 3]
a[0, 0, 0]
a[..., ...]
a["x"]
a[1.5]
a[None, None, 2]
a[0, "x"]
a[:, 1.0]
a["0"]
a[[0, 5]]
a[[0, 1], [0, 1, 2]]
a[np.array([0.5])]
a[[[0, 1], [0]]]
a[b[:, :2]]
a[np.ones(3, bool)]
a[True, True, True, 3]
a[b, 0]
a[{}]
a[object()]
a[slice(None, None, 0)]
a[slice("x", None)]
a[1:2.5]
a[10**30]
a[[10**30]]
a[i, :]
a[()][5]
x[0]
x[:]
x["x"]
e[0]
e[[0]]
r["z"]
r[["x", "z"]]
r[["x", "x"]]
r[["x", 1]]
r[0]["z"]
r[0][5]
i[0][0]
i[np.uint64(7)]
i[np.array(7)]
i[np.array([True, False])]
i.item(7)
a.item(0, 5)
a.item("x")
a.item()
a.item(1, 2, 3)
a.take([6])
a.take([0, 3], axis=1)
a.take([0], axis=2)
np.take(a, [9])
np.take(a, [0], mode="foo")
np.take(e, [0])
np.take_along_axis(a, i, 0)
np.take_along_axis(a, a, 0)
np.take_along_axis(a, i, axis=None); np.take_along_axis(a, [[5]], 1)
np.put_along_axis(a, [[5]], 1, 1)
np.compress([1, 0, 1, 1], a, axis=0)
np.compress([[1]], a)
np.extract(np.ones(9), a)
np.ix_([[1]])
np.ix_(1)
np.unravel_index(6, (2, 3))
np.unravel_index(1.5, (2, 3))
np.unravel_index(-1, (2, 3))
np.ravel_multi_index([3, 4], (2, 2))
np.ravel_multi_index([0, 0, 0], (2, 2))
np.ravel_multi_index([0], (2, 2), mode="foo")
np.diag_indices(2, -1)[0][5]
np.diag_indices_from(a)
np.fill_diagonal(i, 1)
np.fill_diagonal(np.ones((2, 3, 4)), 1)
np.triu_indices_from(i)
a.flat[9]
a.flat["x"]
a.flat[0, 0]
a.flat[np.ones(9, bool)]
np.ndindex(2, -1)
np.nditer([a, np.ones(4)])
np.nditer(a, ["foo"])
np.nditer(a, op_flags=["foo"])
np.nditer(a, op_dtypes=[int])
np.nditer([])
next(np.nditer(e))
np.nditer(v, op_flags=["readwrite"])
list(np.ndenumerate(a))[9]

# indexing: set
a[5] = 1
a[0, 3] = 1
a[0, 0, 0] = 1
a["x"] = 1
a[1.5] = 1
a[:] = np.ones((2, 2))
a[0] = [1, 2]
a[0, 0] = [1, 2]
a[b] = [1, 2]
a[[0, 5]] = 1
a[[0, 1]] = np.ones((3, 3))
a[0] = "x"
a[0] = "xyz", 1, 2
a[0, 0] = 1j
a[0, 0] = {}
a[0, 0] = object()
a[a > 2] = [[1, 2, 3]]
a[i] = 1
a[0] += [1, 2]
i[0] = 10**30
i[0] = "x"
i[0] = np.nan
i[0] = "1.5"
i[:] = [[1], [2, 3], [4]]
i += 0.5
i /= 2
i @= i
i **= -1
i <<= 0.5
a += 1j
b += b; b -= b
u[0] = 300
u[:] = -1
u += 1000
u + 300
u == None; u < None
v[0] = 1
v[:] = 1
v += 1
v[[0]] = 1
v[v > 0] = 1
v.sort()
v.fill(1)
v.put(0, 1)
v.itemset(0, 1)
v.partition(1)
v.byteswap(inplace=True)
v.flat[0] = 1
v.flat = 1
v.setfield(1, float)
v.flags.writeable = 3; v.flags.foo
w[0, 0] = 1
w += 1
del a[0]
del a[:]
x[0] = 1
x[:] = 1
x[...] = [1, 2]
r["z"] = 1
r["x"] = "foo"
r[0] = 1, 2, 3
r[0] = "foo"
r[0]["z"] = 1
r[["x", "y"]] = [1, 2, 3]
r[:] = [(1, 2), (3,)]
s[0] = [1, 2]
d[0] = "foo"
d[0] = 1.5
d[0] = "2020-13-01"
d[0] = datetime
o[0] = [1, 2, 3]; o[:] = [1, 2, 3]

# shape
a.reshape(4, 2)
a.reshape(-1, -1)
a.reshape(-1, 4)
a.reshape("x")
a.reshape(2.5)
a.reshape()
a.reshape(6, order="Z")
a.reshape(6, foo=1)
a.reshape((2, 3), copy=False).T.reshape(6, copy=False)
a.reshape(-2, -3)
a.reshape((1,) * 65)
e.reshape(-1, 0)
np.reshape(a)
np.reshape(a, (4, 2))
np.reshape(a, 6, newshape=3)
a.ravel(order="Z")
a.flatten("Z")
a.T.view(np.int32)[0].view(np.complex128)
a.view(np.complex128)
a.view("foo")
a.view(object)
a.view(np.int8, np.int8)
o.view(int)
x.view(np.int8)
a.transpose(0)
a.transpose(0, 0)
a.transpose(0, 5)
a.transpose("x")
np.transpose(a, (1, 0, 2))
np.permute_dims(a, (0, 0))
np.matrix_transpose(i)
i.mT
i.foo
a.swapaxes(0, 5)
a.swapaxes(0)
np.swapaxes(i, 0, 1)
np.moveaxis(a, 0, 5)
np.moveaxis(a, [0, 1], [0])
np.moveaxis(a, [0, 0], [0, 1])
np.rollaxis(a, 5)
np.expand_dims(a, 5)
np.expand_dims(a, (0, 0))
np.squeeze(a, 0)
np.squeeze(a, 7)
a.squeeze("x")
a.resize(4, 4, foo=1)
a.resize(2, 2)
a.T.resize(9)
np.array(a).resize(-1)
np.array([1]).resize(10**14)
np.resize(a, -1)
a.shape = (4, 2)
a.shape = "x"
a.shape = 2.5
a.T.shape = 6
del a.shape
a.strides = 3
a.strides = (8,)
a.strides = (800, 8)
a.dtype = "foo"
a.dtype = object
a[:, :1].dtype = np.complex128
del a.dtype
a.ndim = 3
a.size = 3
a.T = a
a.itemsize = 2
a.data = b"x"
a.base = None
a.flags = None
a.nbytes = 1
a.real = np.ones(4)
a.imag = 1
s.imag = 1
a.foo = 1
a.__dict__
a.flags["foo"]
a.flags["foo"] = True
a.flags.c_contiguous = True
a.setflags(foo=True)
a.setflags(write="x"); a.setflags(1, 2, 3, 4)
v.setflags(write=True); np.frombuffer(b"abcdefgh").setflags(write=True)
w.setflags(write=True); np.broadcast_to(v, (2, 3)).setflags(write=True)
np.lib.stride_tricks.as_strided(a, foo=1)
np.lib.stride_tricks.as_strided(a, shape=(-1,))
np.lib.stride_tricks.as_strided(a, shape=(2,), strides=(8, 8))
np.lib.stride_tricks.sliding_window_view(i, 5)
np.lib.stride_tricks.sliding_window_view(a, (2, 2, 2))
np.lib.stride_tricks.sliding_window_view(a, -1)
np.atleast_1d(foo=1)
np.rot90(i)
np.rot90(a, axes=(0, 0))
np.rot90(a, axes=(0, 5))
np.flip(a, 4)
np.fliplr(i)
np.flipud(3)
np.roll(a, (1, 2, 3), axis=(0, 1))
np.roll(a, 1, axis=3)
np.repeat(a, [1, 2])
np.repeat(i, -1)
np.repeat(i, [1, 2])
np.repeat(i, 2, axis=1)
np.tile(a, -1)
np.tile(a, "x")
np.pad(a, -1)
np.pad(a, 1, mode="foo")
np.pad(a, (1, 2, 3))
np.pad(a, 1, constant_value=3)
np.pad(e, 1, mode="edge")
np.pad(a, 1.5)
np.trim_zeros(a, "x")
np.insert(a, 9, 1, axis=0)
np.insert(a, 0, [1, 2], axis=0)
np.insert(a, 0, 1, axis=5)
np.delete(a, 9, axis=0)
np.delete(a, [0, 9], axis=0)
np.delete(a, np.ones(9, bool), axis=0)
np.append(a, [1, 2], axis=0)
np.unstack(x)
np.unstack(a, axis=4)
np.block([a, [a]])
np.block([[a], a, []])
np.block(())
np.block([[a, i]])

# axes
a.sum(axis=2)
a.sum(axis=-3)
a.sum(axis=(0, 0))
a.sum(axis=(0, 2))
a.sum(axis="x")
a.sum(axis=1.5)
a.mean(axis=2)
a.std(axis=2)
a.max(axis=2)
a.argmax(axis=2)
a.argmax(axis=(0, 1))
a.cumsum(axis=2)
a.any(axis=2)
a.all(axis=(1, 1))
a.sort(axis=2)
a.prod(axis=[0, 1])
a.trace(axis1=0, axis2=0)
a.diagonal(axis1=2)
i.diagonal()
i.trace()
np.sum(a, axis=2)
np.sum(x, axis=1)
np.mean(a, axis=(0, 5))
np.median(a, axis=2)
np.percentile(a, 50, axis=2)
np.cumprod(a, axis=2)
np.diff(a, axis=2)
np.diff(a, n=-1)
np.diff(x)
np.gradient(a, axis=2)
np.gradient(a, 1, 2, 3)
np.gradient(np.ones(1))
np.gradient(a, foo=1)
np.average(a, axis=2)
np.average(a, weights=[1, 2])
np.average(a, axis=0, weights=[1, 2, 3])
np.average(a, weights=np.zeros((2, 3)))
np.count_nonzero(a, axis=2)
np.apply_along_axis(len, 3, a)
np.apply_along_axis(np.sum, 0, e[:, :0])
np.apply_over_axes(np.sum, a, [0, 5])
np.linalg.norm(a, axis=2)
np.exceptions.AxisError()
raise np.exceptions.AxisError(3, 2, "foo")

# reductions
e.max()
e.min(axis=0)
e.argmax()
e.argmin(axis=0)
np.max([])
np.argmax([])
np.nanmax([])
np.nanargmax([np.nan])
np.nanargmin(np.full((2, 2), np.nan), axis=0)
np.maximum.reduce([])
np.minimum.reduce(e)
np.subtract.reduce(e, axis=0).foo
np.ptp([])
np.add.reduce(s)
s.sum()
s.mean()
s.max(axis=3)
d.sum()
d.mean()
t.prod()
t.std()
o.sum()
o.max()
o.argmax()
r.sum()
r.max()
r.argmax()
a.sum(dtype="foo")
a.sum(dtype=int, out=np.ones(3))
a.sum(out=np.ones(2))
a.sum(out=3)
a.sum(axis=0, out=v)
a.sum(keepdim=True)
a.sum(0, None, None, False, 0, True, 5)
a.sum(initial="x")
a.sum(where=[True, False])
a.max(where=b)
a.max(initial=None, where=b)
a.mean(where=i)
a.var(ddof="x")
a.var(ddof=1, correction=2)
a.round("x")
a.round(out=np.ones(2))
a.clip(1, 2, out=np.ones(3, int))
a.clip("x", "y")
a.cumsum(out=np.ones(2))
a.argmax(out=np.ones(3), axis=0)
a.dot(a)
a.dot()
a.nonzero(1)
x.nonzero()
a.searchsorted(1)
a.ptp()
a.all(out=np.ones(3))
np.percentile(a, 101)
np.percentile(a, [50, -1])
np.percentile(a, 50, method="foo")
np.percentile(a, "x")
np.percentile(c, 50)
np.quantile(a, 2)
np.quantile(a, 0.5, weights=[1, 2])
np.quantile(a, 0.5, weights=a, method="linear")
np.nanpercentile(a, 300)
np.histogram(a, bins=-1)
np.histogram(a, bins=0)
np.histogram(a, bins=[3, 2, 1])
np.histogram(a, bins="foo")
np.histogram(a, range=(2, 1))
np.histogram(a, range=(0, np.inf))
np.histogram([1, np.nan])
np.histogram(a, weights=[1, 2])
np.histogram(a, bins=[[1, 2]])
np.histogram2d([1, 2], [1])
np.histogramdd(np.ones((2, 3)), bins=[1, 2])
np.histogram_bin_edges(a, "auto", weights=a)
np.bincount([-1])
np.bincount(a)
np.bincount([1], weights=[1, 2])
np.bincount([1], minlength=-1)
np.digitize(a, [1, 3, 2])
np.digitize(c, [1, 2])
np.cov(a, ddof=1.5)
np.cov(np.ones((2, 2, 2)))
np.cov(a, fweights=[1.5, 2, 3])
np.cov(a, fweights=[-1, 1, 1])
np.cov(a, aweights=[1, 2])
np.correlate([], [])
np.convolve([1], [])
np.convolve([1], [2], mode="foo")
np.convolve(a, a)
np.interp(1, [1, 2], [1])
np.interp(1, [], [])
np.interp(1, [1, 2], [1, 2], period=0)
np.unwrap(s)
np.cross([1, 2, 3, 4], [1, 2, 3, 4])
np.cross([1, 2, 3], [1, 2, 3], axis=5)
np.trapezoid(s)
np.ediff1d([1, 2], to_begin="x")
np.polyfit([1], [1, 2], 1)
np.polyfit([], [], 1)
np.polyfit([1, 2], [1, 2], -1)
np.polyval()
np.roots([[1, 2]])
np.poly(np.ones((2, 3)))
np.poly(1)
np.roots(None)
np.roots(np.array(2.5))
np.histogramdd(1)
np.polydiv([1], [])
np.polyint([1], m=-1)
np.poly1d([[1, 2]])
np.polynomial.Polynomial([])
np.polynomial.Polynomial([1, 2]) + np.polynomial.Chebyshev([1])
np.polynomial.polynomial.polyfit([1, 2], [1], 1)
np.polynomial.polynomial.polyval2d([1], [1, 2], [[1]])
np.polynomial.chebyshev.chebval([1], 3, foo=2)
np.polynomial.legendre.leggauss(0)

# ufuncs
np.add(1)
np.add()
np.add(1, 2, 3, 4)
np.add(1, 2, foo=3)
np.add(a, 1, out=3)
np.add(a, 1, out=(a, a))
np.add(a, 1, out="x")
np.add(a, 1, a, out=a)
np.add(a, 1, out=np.ones(3))
np.add(a, 1, out=np.ones((2, 3), int))
np.add(a, 1, out=v)
np.add(a, 1, where=a)
np.add(a, 1, where=[True] * 4)
np.add(a, 1, casting="foo")
np.add(a, 1, casting=3)
np.add(a, 1, dtype=int)
np.add(a, 1, dtype="foo")
np.add(a, 1, order="Z")
np.add(a, 1, signature="foo")
np.add(a, 1, signature="dd->f")
np.add(a, 1, sig="ddd", signature="ddd")
np.add(a, 1, dtype=float, signature="dd->d")
np.add(a, 1, subok=3, extobj=[])
np.add(a, "x")
np.add(s, 1)
np.add(a, None)
np.add(a, {})
np.add(d, d)
np.add(d, 1.5)
np.add(r, r)
np.subtract(b, b)
np.negative(b)
np.positive(b)
np.invert(a)
np.left_shift(a, 1)
np.bitwise_and(a, 1)
np.bitwise_count(a)
np.sin(s)
np.sin(o)
np.sqrt("x")
np.sqrt(None)
np.sqrt(o)
np.exp(object())
np.exp(10**400)
np.floor(c)
np.maximum(s, a)
np.maximum(c, s)
np.isnan(s)
np.isnan(o)
np.isfinite("x")
np.sign(s)
np.logical_not(a, a, a)
np.power(2, -1)
np.power(i, -1)
np.float_power(s, 2)
np.modf(a, a, a, a)
np.divmod(a, 1, out=a)
np.divmod(a, 1, out=(a, a, a))
np.frexp(i, i)
np.ldexp(1.5, 2.5)
np.gcd(1.5, 2)
np.matmul(a, a)
np.matmul(a, 2)
np.matmul(a, x)
np.matmul(a, np.ones(4))
np.matmul(a, a.T, axis=0)
np.matmul(a, a.T, axes=[(0, 1)])
np.matmul(a, a.T, out=np.ones((3, 3)))
np.vecdot(a, np.ones(4))
np.matvec(a, np.ones(4))
np.add.reduce()
np.add.reduce(a, axis=4)
np.add.reduce(a, 0, None, None, False, 0, True, 3)
np.add.reduce(a, out=np.ones((2, 2)))
np.add.reduce(3, axis=1)
np.sin.reduce(a)
np.divmod.reduce(a)
np.matmul.reduce(a)
np.subtract.reduce(a, axis=(0, 1))
np.add.accumulate(3)
np.add.accumulate(a, axis=3)
np.add.accumulate(a, axis=(0, 1))
np.sin.accumulate(a)
np.add.reduceat(a, [0, 7])
np.add.reduceat(a)
np.add.reduceat(a, [[0]])
np.add.reduceat(3, [0])
np.add.outer(a)
np.sin.outer(a, a)
np.add.outer(a, i, out=np.ones(2))
np.matmul.outer(a, a)
np.add.at(a, 9, 1)
np.add.at(a, [0, 5], 1)
np.add.at(i, [0, 1], [1, 2, 3])
np.add.at(i, [0])
np.add.at(3, [0], 1)
np.add.at(a, "x", 1)
np.negative.at(i, [0], 1)
np.divmod.at(i, 0, 1)
np.matmul.at(a, 0, a)
np.add.resolve_dtypes((1,))
np.add.resolve_dtypes((np.dtype("f8"), np.dtype("S1"), None))
np.add.foo
np.add.nin = 3
np.ufunc()
np.frompyfunc(3, 1, 1)
np.frompyfunc(lambda p: p / 0, 1, 1)(i)
np.frompyfunc(len, 1, 1)(i)
np.frompyfunc(lambda p, q: p, 2, 1)(i)
np.vectorize()(i)
np.vectorize(3)
np.vectorize(lambda p: 1 / 0)(i)
np.vectorize(len, signature="(foo")(i)
np.vectorize(len, signature="(n)->()")(3)
np.vectorize(lambda p: p, signature="(n)->()")(i)
np.vectorize(len, otypes=3)
np.vectorize(lambda p: p)([])
np.lib.scimath.sqrt("x")
np.emath.log(s)
np.i0(c)
np.heaviside(a)
np.nextafter(c, 1)
np.spacing(s)
np.nan_to_num(a, nan="x")
np.isclose(a, i[:2])
np.allclose(s, 1)
np.array_equal(a)
np.fix(c)
np.sinc(s)
np.around(s)
np.angle(s)

# floating-point errors raised
with np.errstate(divide="raise"): a / 0
with np.errstate(all="raise"): x / 0
with np.errstate(over="raise"): f * 10
with np.errstate(under="raise"): f[:1] * 1e-30 * np.float32(1e-30) * np.float32(1e-30)
with np.errstate(invalid="raise"): np.sqrt(-a)
with np.errstate(invalid="raise"): np.array([np.inf]) - np.inf
with np.errstate(invalid="raise"): np.array([np.nan]).astype(int)
with np.errstate(divide="raise"): np.log(a)
with np.errstate(divide="raise"): i // 0
with np.errstate(divide="raise"): np.float64(1) / 0
with np.errstate(over="raise"): np.int8(100) + np.int8(100)
with np.errstate(over="raise"): np.exp(a * 1000)
with np.errstate(all="raise"): a /= 0
with np.errstate(all="raise"): np.divide.reduce([1.0, 0])
with np.errstate(all="raise"): np.divide.at(a, 0, 0)
with np.errstate(all="raise"): np.reciprocal(a)
with np.errstate(all="call"): a / 0
with np.errstate(divide="call", call=lambda kind, flag: 1 / 0): a / 0
with np.errstate(divide="call", call=lambda: 0): a / 0
with np.errstate(foo="raise"): a / 0
with np.errstate(divide="foo"): a / 0
np.errstate(3)
np.seterr(divide="foo")
np.seterr(foo="raise")
np.seterrcall(3)
np.setbufsize("x")
np.setbufsize(3)
np.set_printoptions(threshold="x")
np.set_printoptions(precision="x"); str(a)
np.set_printoptions(floatmode="foo")
np.set_printoptions(sign="foo")
with np.printoptions(foo=1): a
np.array2string(a, formatter={"float": 3})
np.array2string(a, foo=1)
np.array_str()
np.format_float_positional(1.5, precision=-2)
np.format_float_positional("x")
np.base_repr(3, base=99)
np.binary_repr(1.5)

# linear algebra
np.linalg.inv(np.zeros((2, 2)))
np.linalg.inv(a)
np.linalg.inv(i)
np.linalg.inv(s)
np.linalg.inv(np.ones((2, 2), np.float16))
np.linalg.inv(np.ones((2, 2), object))
np.linalg.solve(np.zeros((2, 2)), [1, 2])
np.linalg.solve(a, [1, 2])
np.linalg.solve(np.eye(2), [1, 2, 3])
np.linalg.solve(np.eye(2), 1)
np.linalg.det(a)
np.linalg.slogdet(i)
np.linalg.cholesky(-np.eye(2))
np.linalg.cholesky(a)
np.linalg.eig(a)
np.linalg.eig(np.full((2, 2), np.nan))
np.linalg.eigh(np.eye(2), UPLO="X")
np.linalg.eigvals(np.full((2, 2), np.inf))
np.linalg.svd(i)
np.linalg.svd(np.full((2, 2), np.nan))
np.linalg.qr(a, mode="foo")
np.linalg.qr(i)
np.linalg.lstsq(a, [1, 2, 3])
np.linalg.lstsq(i, i)
np.linalg.pinv(i)
np.linalg.matrix_power(a, 2)
np.linalg.matrix_power(np.eye(2), 1.5)
np.linalg.matrix_power(np.zeros((2, 2)), -1)
np.linalg.matrix_rank(a, tol=1, rtol=1)
np.linalg.norm(a, ord="foo")
np.linalg.norm(a, ord=3)
np.linalg.norm(i, ord="fro")
np.linalg.norm(np.ones((2, 2, 2)), ord=2)
np.linalg.norm(a, axis=(0, 1, 2))
np.linalg.cond(e)
np.linalg.cond(i)
np.linalg.multi_dot([a])
np.linalg.multi_dot([a, a])
np.linalg.tensorinv(a)
np.linalg.tensorinv(np.eye(4).reshape(2, 2, 2, 2), ind=-1)
np.linalg.tensorsolve(a, i)
np.linalg.cross(a, a, axis=0)
np.linalg.vector_norm(a, axis=5)
np.linalg.matrix_norm(i)
np.linalg.outer(a, a)
np.linalg.diagonal(i)
np.linalg.foo
np.dot(a, a)
np.dot(a, a, out=np.ones(3))
np.dot(a, a.T, out=np.ones((2, 2), int))
np.dot(r, r)
np.inner(a, np.ones(2))
np.outer(a)
np.vdot(a, i)
np.tensordot(a, a, axes=1)
np.tensordot(a, a, axes=([0, 1], [0]))
np.tensordot(a, a, axes=3)
np.kron(a)
np.einsum("ij,jk", a, a)
np.einsum("ij", a, a)
np.einsum("ij")
np.einsum("ij->k", a)
np.einsum("ij->ii", a)
np.einsum("ijk", a)
np.einsum("i$", a)
np.einsum("i.j", a)
np.einsum("ij,kl,mn->", a, a)
np.einsum(a, [0, 1], [0, 5])
np.einsum(a, [0, "x"])
np.einsum("ii", a)
np.einsum("ij->ij", a, out=np.ones(3))
np.einsum("ij->ij", a, foo=1)
np.einsum()
np.einsum_path("ij,jk", a, a)
a @ a
a @ 2
2 @ a
a @ None
a @ s
np.matrix([[1, 2], [3]])
np.matrix(np.ones((2, 2, 2)))
np.matrix("1 2; 3")
np.bmat("x")
np.matrix([[1, 2]]) * np.matrix([[1, 2]])

# Fourier transforms
np.fft.fft(x)
np.fft.fft([])
np.fft.fft(a, n=0)
np.fft.fft(a, n=-1)
np.fft.fft(a, axis=3)
np.fft.fft(a, norm="foo")
np.fft.fft(s)
np.fft.fft(a, out=np.ones(2))
np.fft.rfft(c)
np.fft.irfft([])
np.fft.fft2(i)
np.fft.fftn(a, s=(2,), axes=(0, 1))
np.fft.ifftn(a, axes=(0, 5))
np.fft.fftfreq(2.5)
np.fft.fftfreq("x")
np.fft.rfftfreq(1.5)
np.fft.fftshift(a, axes=5)
np.fft.foo

# random numbers
np.random.default_rng(-1)
np.random.default_rng("x")
np.random.default_rng(1.5)
np.random.Generator(3)
np.random.Generator()
np.random.PCG64(-1)
np.random.SeedSequence("x")
g.random(-1)
g.random((2, -1))
g.random(2, dtype=int)
g.random(2, out=np.ones(3))
g.random(out=np.ones(3, np.float32))
g.random(out=v)
g.normal(scale=-1)
g.normal([1, 2], [1, 2, 3])
g.normal(size=(2,), loc=[1, 2, 3])
g.normal("x")
g.integers()
g.integers(0)
g.integers(3, 2)
g.integers(0, 300, dtype=np.uint8)
g.integers(0, 3, dtype=float)
g.integers([0, 1], [1, 2, 3])
g.integers(0, [3, 0])
g.integers(1.5, size="x")
g.choice(0)
g.choice(-1)
g.choice([])
g.choice(3, 4, replace=False)
g.choice(3, p=[0.5, 0.5])
g.choice(2, p=[0.5, 0.6])
g.choice(2, p=[-0.5, 1.5])
g.choice(2, p=[np.nan, 1])
g.choice(2, p=[[0.5, 0.5]])
g.choice(a, axis=3)
g.choice(3, 2, replace=False, p=[1, 0, 0])
g.shuffle(v)
g.shuffle(a, axis=2)
g.shuffle(3)
g.permutation("x")
g.permutation(a, axis=2)
g.permuted(a, axis=3)
g.permuted(a, out=np.ones(2))
g.binomial(-1, 0.5)
g.binomial(1, 1.5)
g.binomial(3, [0.5, 2])
g.poisson(-1)
g.poisson(1e30)
g.beta(-1, 2)
g.gamma(-1)
g.exponential(-1)
g.dirichlet([-1, 2])
g.multinomial(-1, [0.5, 0.5])
g.multivariate_normal([0, 0], [[1, 0, 0]])
g.multivariate_normal([0, 0], np.eye(3))
g.multivariate_normal([0, 0], -np.eye(2), check_valid="raise")
g.hypergeometric(-1, 2, 3)
g.uniform(0, np.inf)
g.uniform(2, 1)
g.triangular(3, 2, 1)
g.zipf(0.5)
g.foo
g.bit_generator.state = {}
g.bit_generator.state = 3
g.spawn(-1)
np.random.seed(-1)
np.random.seed("x")
np.random.seed(2**33)
np.random.rand(-1)
np.random.rand("x")
np.random.randn(2.5)
np.random.randint(0)
np.random.randint(3, 2)
np.random.randint(0, 300, dtype=np.int8)
np.random.randint(0, 3, dtype=float)
np.random.choice([], 3)
np.random.choice(3, p=[1])
np.random.shuffle(3)
np.random.normal(0, -1)
np.random.uniform(size="x")
np.random.set_state(3)
np.random.set_state(("MT19937", 3))
np.random.set_state(("foo", i))
np.random.foo
R.seed("x")
R.randint(0)
R.choice(2, p=[1, 1])
R.normal(scale=-1)
R.binomial(1, 2)
R.multinomial(1, [2, 2])
R.permutation("x")
R.vonmises(0, -1)

# joining and splitting
np.concatenate()
np.concatenate([])
np.concatenate(a, i)
np.concatenate(3)
np.concatenate([a, i])
np.concatenate([a, np.ones((3, 2))])
np.concatenate([a, a], axis=2)
np.concatenate([1, 2])
np.concatenate([a, a], out=np.ones(3))
np.concatenate([a, a], out=a, dtype=float)
np.concatenate([a, a], dtype=int)
np.concatenate([a, a], casting="foo")
np.concatenate([d, a])
np.concatenate([a, s], dtype=float)
np.concatenate([a, None], axis=0)
np.stack([])
np.stack([a, i])
np.stack([a, a], axis=5)
np.stack(3)
np.stack(iter([a]))
np.vstack([a, np.ones(2)])
np.hstack([a, i])
np.dstack([a, i])
np.hstack(i for _ in range(2))
np.vstack()
np.column_stack([a, i])
np.split(a, 4)
np.split(a, 0)
np.split(a, 2, axis=3)
np.split(i, 2)
np.array_split(a, 0)
np.array_split(a, -1)
np.array_split(x, 2)
np.hsplit(x, 2)
np.vsplit(i, 2)
np.dsplit(a, 2)
np.r_["foo", a]
np.r_[a, i]
np.c_[a, i]
np.r_["0,x", a]

# sorting, searching, sets
np.sort(a, axis=3)
np.sort(x)
np.sort(a, kind="foo")
np.sort(a, order="x")
np.sort(a, kind="quick", stable=True)
np.sort(r, order="z")
np.sort(r, order=["x", "x"])
np.sort(o)
np.sort(np.array([1, "x", None], object))
a.sort(kind="foo")
a.sort(order="x")
a.sort(foo=1)
a.argsort(kind=3)
a.argsort(axis=5)
np.argsort(a, kind="foo")
np.lexsort(3)
np.lexsort([i, [1, 2]])
np.lexsort([])
np.partition(i, 5)
np.partition(i, -4)
np.partition(i, 1.5)
np.partition(i, 1, kind="foo")
np.partition(i, [[1]])
np.argpartition(i, 5)
a.partition(9)
a.partition(0, axis=4)
np.searchsorted(a, 1)
np.searchsorted(i, 1, side="foo")
np.searchsorted(i, 1, sorter=[0])
np.searchsorted(i, 1, sorter=[0.5, 1, 2])
np.searchsorted(i, "x", foo=1)
np.searchsorted(o, 1)
np.sort_complex(s)
np.argwhere()
np.flatnonzero()
np.nonzero(x)
np.unique(a, axis=4)
np.unique(o)
np.unique(a, foo=1)
np.unique(o, axis=0)
np.intersect1d(i)
np.intersect1d([1, 1], [1], assume_unique=True, foo=2)
np.union1d(i, o)
np.setdiff1d(o, i)
np.isin(i, i, kind="foo")
np.isin(a, a, kind="table")
np.isin(i)
np.in1d
np.trapz

# input and output
np.load(io.BytesIO(b""))
np.load(io.BytesIO(b"foo"))
np.load(io.BytesIO(b"\\x93NUMPY"))
np.load(io.BytesIO(b"\\x93NUMPY\\x09\\x00"))
np.load(io.BytesIO(b"\\x93NUMPY\\x01\\x00\\x10\\x00{'descr': 'f8'}\\n"))
np.load(io.BytesIO(b"\\x93NUMPY\\x01\\x00\\x08\\x00foo bar\\n"))
np.load(io.BytesIO(saved(a)[:-1]))
np.load(io.BytesIO(saved(a)[:20]))
np.load(io.BytesIO(saved(o)))
np.load(io.BytesIO(saved(o)[:-9]), allow_pickle=True)
np.load(io.BytesIO(saved(a).replace(b"<f8", b"<q9")))
np.load(io.BytesIO(saved(a).replace(b"(2, 3)", b"(-2, 3)")))
np.load(io.BytesIO(saved(a)), mmap_mode="foo")
np.load("/nonexistent/file.npy")
np.load(3)
np.load(b"x", foo=3)
np.load(io.BytesIO(b"PK\\x03\\x04foo"))
np.load(io.BytesIO(pickle.dumps(1)))
np.load(io.BytesIO(zipped(a)))["z"]
np.load(io.BytesIO(zipped(o)))["arr_0"]
np.save("/nonexistent/file.npy", a)
np.save(3, a)
np.save(io.BytesIO(), o, allow_pickle=False)
np.savez("/nonexistent/file.npz", a)
np.savez(io.BytesIO(), a, arr_0=a)
np.savetxt(io.StringIO(), np.ones((2, 2, 2)))
np.savetxt(io.StringIO(), a, fmt="%d %d")
np.savetxt(io.StringIO(), a, fmt=3)
np.savetxt(io.StringIO(), s)
np.savetxt(io.StringIO(), o, fmt="%f")
np.savetxt(3, a)
np.loadtxt("/nonexistent/file.txt")
np.loadtxt(["1 2", "3"])
np.loadtxt(["1 x"])
np.loadtxt(["1 2"], usecols=5)
np.loadtxt(["1 2"], usecols="x")
np.loadtxt(["1 2"], dtype=[("x", int)])
np.loadtxt(["1 2"], unpack=True, ndmin=5)
np.loadtxt(["1 2"], converters=3)
np.loadtxt(["1 2"], converters={5: float})
np.loadtxt(["1.5"], dtype=int)
np.loadtxt(["1,2"], delimiter=",,")
np.loadtxt(["1"], comments=["#", ""], quotechar="##")
np.loadtxt(3)
np.loadtxt(["1"], skiprows=-1, max_rows=-5, foo=1)
np.genfromtxt(["1 2", "3"])
np.genfromtxt(["1 2"], usecols=[5])
np.genfromtxt(["1 2"], names=3, dtype="foo")
np.genfromtxt(3)
np.genfromtxt(["1 2"], skip_footer=1, max_rows=1)
np.fromregex(io.StringIO("x"), "x", 3)
np.fromfile("/nonexistent/file")
np.fromfile(io.BytesIO(b"12"))
np.fromfile(3.5)
np.memmap("/nonexistent/file")
np.memmap(io.BytesIO(b""), mode="foo")
np.lib.format.open_memmap("/nonexistent/file")
np.lib.format.read_magic(io.BytesIO(b"x"))
np.lib.format.read_array(io.BytesIO(b"foo"))
np.lib.format.write_array(io.BytesIO(), o, allow_pickle=False)
np.lib.npyio.NpzFile(3)
a.tofile("/nonexistent/file")
a.tofile(io.BytesIO())
a.tofile()
o.tofile("/dev/null")
a.tobytes("Z")
a.tolist(1)
np.packbits([1.5])
np.packbits(b, bitorder="foo")
np.unpackbits(i)
np.unpackbits(u, count=-99)
np.unpackbits(u, axis=5)

# dates
np.datetime64("2020-13-01")
np.datetime64("2020-02-30")
np.datetime64("now", "foo")
np.datetime64(1, "D") + np.datetime64(1, "D")
np.datetime64("2020") + 1.5
np.timedelta64(1, "Y") + np.timedelta64(1, "D")
np.timedelta64(1, "D") * np.timedelta64(1, "D")
d + d
d * 2
d * d
-d
d + 1.5
d < 3
d + t + s
t ** 2
t * t
t @ t
t / "x"
d.astype(float, casting="safe")
d.astype("M8[Y]", casting="safe")
t.astype("M8[s]", casting="safe")
np.arange("2020-01", "2020-03", 1.5, dtype="M8[M]")
np.arange(d[0])
np.array(["2020", "foo"], "M8")
np.array(["2020-01-01T00:00Z", "x"], "M8[s]")
np.array([1.5], "M8[D]")
np.datetime_as_string(a)
np.datetime_as_string(d, unit="foo")
np.datetime_as_string(d, timezone="foo")
np.datetime_data(np.dtype(float))
np.busday_count("x", "y")
np.busday_offset("2020-01-04", 1)
np.busday_offset("NaT", 1, roll="raise")
np.busday_offset("2020-01-06", 1, roll="foo")
np.is_busday("foo")
np.is_busday("2020-01-06", weekmask="foo")
np.is_busday("2020-01-06", weekmask=[1, 1])
np.busdaycalendar(weekmask="0000000")
np.busdaycalendar(holidays="foo")

# strings
np.strings.add(s, 1)
np.strings.multiply(s, 1.5)
np.strings.upper(a)
np.strings.index(s, "z")
np.strings.center(s, 5, "xy")
np.strings.find(s, 1)
np.strings.str_len(i)
np.strings.startswith(a, "x")
np.strings.zfill(s, "x")
np.strings.foo
np.char.add(s, 1)
np.char.array([1, 2]) + 1
np.char.chararray((2,), itemsize=-1)
np.char.multiply(s, "x")
np.char.encode(s, "foo")
np.char.encode(np.array(["é"]), "ascii")
np.char.decode(np.array([b"\\xff"]), "ascii")
np.char.split(i)
np.char.join(",", i)
np.char.index(s, "z")
np.char.partition(s, "")
s + 1
s * 2
s - s
s < 1
s @ s
-s
s & s
s.astype(float)
s.astype("S1").astype(int)
np.array(["é"]).astype("S")
np.array([b"\\xff"]).astype("U")
np.array(["x"], "T") + 1
np.array(["x"], "T").astype(float)
np.array(["x"], "T").view(np.int8)
np.array([None], np.dtypes.StringDType()) + 1
np.array(["x", None], np.dtypes.StringDType(na_object=None)).sort()

# structured arrays
r + r
r < r
r == r["x"]
r["x"]["y"]
r.astype(int)
r.astype([("x", int)])
r.astype("i4,i4,i4")
r.view("i3")
r.x
r[0] + r[0]
r[0].foo
r.setfield(1, "foo")
r.getfield(int, 99)
r.getfield(int, -1)
r.getfield("S100")
np.array([(1, 2, 3)], dtype="i4,i4")
np.array([[1, 2]], dtype=[("x", "foo")])
np.rec.array([1, 2], formats="foo")
np.rec.array(None)
np.rec.fromarrays([i, a], names="x,y")
np.rec.fromrecords([(1, 2), (3,)])
np.rec.array([(1, 2)], names="x,y").foo
np.rec.array([(1, 2)], names="x,y").x = "foo"
np.rec.array([(1, 2)], names="x,x")
np.lib.recfunctions.append_fields(r, "x", 3)
np.lib.recfunctions.drop_fields(3, "x")
np.lib.recfunctions.structured_to_unstructured(i)
np.lib.recfunctions.unstructured_to_structured(a, np.dtype("i4"))
np.lib.recfunctions.unstructured_to_structured(a, r.dtype)
np.lib.recfunctions.join_by("z", r, r)
np.lib.recfunctions.rename_fields(i, {})

# conversion and protocols
bool(a)
bool(e)
if a: pass
not a
a and a
[1, 2] in a
int(a)
float(a)
complex(a)
float(s[:1])
int(x * np.nan)
int(x * np.inf)
float(o[:1])
float(c[:1])
operator.index(a)
operator.index(x)
operator.index(np.array(1.0))
range(a)
range(x)
[1, 2][x]
[1, 2][i]
"x" * a
b"x" * x
round(a, "x")
divmod(a, s)
pow(a, 2, 3)
a ** s
a // None
a % {}
a << 1
a | 1
~a
-b
+s
abs(s)
a < None
a < "x"
a < {}
a >= object()
a + None
None + a
a + {}
{} - a
a - "x"
"x" - a
a * object()
object() * a
a += "x"
a -= None
a @= a
len(x)
len()
iter(x)
list(x)
for _ in x: pass
p, q = x
p, q, *z = x
p, q = i
p, *q = np.float64(1)
max(a)
sorted(a)
sum(a, "x")
set(a)
{a: 1}
hash(a)
hash(x)
hash(r)
next(a)
a()
a(1, 2)
a.T()
a.shape()
with a: pass
await_ = a.__await__
a.__foo__
getattr(a, "foo")
delattr(a, "foo")
setattr(a, "foo", 1)
del a.T
format(a, "d")
format(a, ".2f")
f"{a:10}"
f"{i:d}"
format(x, "d")
"%d" % a
"%d" % s[0]
"{:x}".format(x)
"{0[5]}".format(i)
"{0.foo}".format(i)
chr(a)
open(a)
print(a, file=3)
isinstance(a, a)
issubclass(np.ndarray, a)
a.astype()
a.astype("foo")
a.astype(int, casting="safe")
a.astype(int, casting="foo")
a.astype(int, order="Z")
a.astype(int, foo=1)
a.astype(int, copy="x").astype([("x", int, -1)])
np.array([np.nan, "x"], object).astype(float)
o.astype(int)
np.astype(3, int)
np.astype(a, "foo")
a.copy("Z")
a.copy(order=5)
a.copy(1, 2)
copy.copy(a, 1)
a.__deepcopy__()
a.__setstate__()
a.__setstate__(3)
a.__setstate__((1, 2))
a.__setstate__((1, (2,), np.dtype(float), False, b"x"))
a.__setstate__((1, (-2,), np.dtype(float), False, b"x"))
a.__setstate__((1, (2,), 3, False, b"x"))
a.__array__("foo")
a.__array__(int, copy=False)
a.__array__(1, 2, 3)
a.__array_ufunc__()
a.__array_ufunc__(np.add)
a.__array_ufunc__(np.add, "foo", a)
a.__array_ufunc__(3, "__call__", a)
a.__array_function__(np.sum)
a.__array_function__(np.sum, (np.ndarray,), [a], {})
a.__array_function__(np.sum, (np.ndarray,), (a,), None)
a.__array_function__(3, (), (), {})
a.__array_function__(np.sum, 3, 3, 3)
a.__array_wrap__()
a.__array_wrap__(3)
a.__array_finalize__()
a.__array_namespace__(api_version="1999.12")
a.__array_namespace__(foo=1)
a.__dlpack__(stream=3)
a.__dlpack__(3)
a.__dlpack__(max_version=3)
a.__dlpack__(dl_device=(2, 0))
a.__dlpack__(dl_device=3)
s.__dlpack__()
o.__dlpack__()
d.__dlpack__()
v.__dlpack__()
a.astype(">f8").__dlpack__()
np.from_dlpack(3)
np.from_dlpack([1, 2])
np.from_dlpack(a.__dlpack__())
np.from_dlpack(a, device="gpu")
np.from_dlpack(a, foo=1)
np.from_dlpack(s)
np.from_dlpack(v, copy=3, device=2)
memoryview(d)
pickle.loads(pickle.dumps(a)[:-9])
pickle.loads(pickle.dumps(a)[:20])
pickle.loads(b"")
a.dump()
a.dump(3)
a.dump("/nonexistent/file")
a.ctypes.data_as(3)
a.ctypes.foo
np.ctypeslib.as_array(ctypes.pointer(ctypes.c_int()))
np.ctypeslib.as_ctypes(c)
np.ctypeslib.as_ctypes_type("S3")
np.ctypeslib.ndpointer(float, ndim=3).from_param(a)
np.ctypeslib.ndpointer(int).from_param(a)
np.ctypeslib.ndpointer(float).from_param(3)
np.ctypeslib.ndpointer(float, flags="F").from_param(a)
np.ctypeslib.load_library("foo", "/nonexistent")
a.tostring()
a.newbyteorder()
a.itemset(0, 1)
a.byteswap(foo=1)
a.setflags(write=1, align=1, uic=1)
a.choose([1, 2])
a.compress([1, 0, 1, 1], axis=0)
a.repeat([1, 2])
a.fill()
a.fill("x")
a.fill([1, 2])
a.put([9], 1)
a.take()
a.view(dtype=int, type=int)
a.view(1, 2, 3)
a.to_device("gpu")
a.to_device("cpu", stream=3)
a.device = "gpu"
np.ndarray[int, float, str]
np.ndarray[()]
np.ndarray.foo
np.ndarray.sum()
np.ndarray.sum(3)
np.ndarray.__add__(3, a)
np.ndarray.T.__get__(3)

# the namespace
np.foo
np.float_
np.int
np.float
np.bool8
np.object
np.Inf
np.NaN
np.infty
np.product
np.cumproduct
np.alltrue
np.sometrue
np.asfarray
np.cast
np.source
np.msort
np.row_stacks
np.unicode_
np.string_
np.issctype
np.find_common_type
np.set_string_function
np.mat
np.lib.foo
np.lib.stride_tricks.foo
np.char.foo
np.ma.foo
np.testing.foo
np.exceptions.foo
np.ma.masked.foo
import numpy.foo as np
from numpy import foo

# attributes that cannot be set
g.random = 5
g.nosuch = 5
g.bit_generator = 5
g.__class__ = int
del g.random
del g.nosuch
R.rand = 5
R.nosuch = 5
R.__setstate__ = 5
del R.rand
g.bit_generator.nosuch = 5
g.bit_generator.random_raw = 5
del g.bit_generator.random_raw
np.random.Philox(1).cffi = 5
np.random.SeedSequence(1).spawn = 5
np.random.SeedSequence(1).nosuch = 5
g.normal.nosuch = 5
g.normal.__doc__ = ""
g.normal.__self__ = 5
del g.normal.__call__
np.random.rand.nosuch = 5
np.array.nosuch = 5
np.array.__name__ = "array"
np.array.__class__ = int
del np.array.nosuch
del np.array.__name__
np.ndarray.sum.nosuch = 5
np.ndarray.sum.__name__ = "sum"
np.add.__name__ = "add"
np.add.nin = 5
np.add.__dict__ = {}
np.sum.__dict__ = {}
np.sum._implementation = 5
np.r_.nosuch = 5
np.r_.concatenate = 5
del np.r_.concatenate
np.mgrid.nosuch = 5
np.ndarray.resize(2.5, refcheck=False)
np.ndarray.dumps([1])
np.ndarray.dump({}, "x")
a.dumps(np.float32(2))
a.dumps(9)
np.frompyfunc(len)
np.frompyfunc(func=len, nin=1, nout=1)
np.frompyfunc(len, 1, 1, 1)
a.flat.base = 5
a.flat.index = 5
a.flat.nosuch = 5
del a.flat.coords
a.flags.nosuch = 5
a.dtype.nosuch = 5
del a.dtype.names

# what older NumPy only warned of
np.trapz(a)
np.in1d(i, i)
np.reshape(a, newshape=6)
float(np.array([1.0]))
int(np.array([1]))
complex(np.array([[1j]]))
np.array([1.0]).__float__()
x[()] = np.array([1.0])
a[0, 0] = np.array([1.0])
np.fromstring("1 2 x", sep=" ")
np.fromstring("1 2 3 junk", sep=" ")
np.fromstring(b"12345678")
np.lib.function_base
np.set_numeric_ops
np.recfromcsv(io.StringIO("1"))
np.find_common_type([], [])
np.round_(a)
np.product(a)
np.sum(n for n in [1, 2])
np.sum(a for _ in range(2))
np.vstack(n for n in [a])
np.quantile(a, 0.5, interpolation="lower")
np.percentile(a, 50, interpolation="nearest")
np.nanquantile(a, 0.5, interpolation="lower")
np.asarray(OldArray(), copy=False)
a + Wraps()
operator.concat(a, a)
operator.concat(a, [1])
operator.iconcat(a, a)
np.loadtxt(["1.0"], dtype=int)
np.save(io.BytesIO(), a, fix_imports=False)
np.datetime64(1, ("D", 1, 1, 1))
np.random.tomaxint()
np.ctypeslib.ctypes_load_library
np.finfo(float).machar
np.lib.utils
np.compat
np.disp("x")
np.safe_eval("1")
np.byte_bounds(a)
np.who()
np.eye(2.5)

# masked arrays
np.ma.array([1, 2], mask=[1, 0, 1])
np.ma.array([1, 2]) + np.ma.array([1, 2, 3])
np.ma.array([1, 2], mask=True).filled("x")
np.ma.masked_where([1, 0], [1, 2, 3])
np.ma.array([1, 2], fill_value="x")
np.ma.array([1, 2]).foo
np.ma.array([1, 2])[5]
np.ma.stack([a, i])
np.ma.median(a, axis=4)

# testing
np.testing.assert_equal(1, 2)
np.testing.assert_equal(a, i)
np.testing.assert_equal([1, 2], [1, 3])
np.testing.assert_equal({"x": a}, {"x": a + 1})
np.testing.assert_array_equal(a, a + 1)
np.testing.assert_array_equal(a, np.ones(4))
np.testing.assert_array_equal(a, 3, err_msg="foo")
np.testing.assert_array_equal([1, np.nan], [1, 2])
np.testing.assert_array_equal(a, a.astype(int), strict=True)
np.testing.assert_allclose(a, a + 1e-3)
np.testing.assert_allclose(a, a * 1.1, rtol=0.01, verbose=False)
np.testing.assert_allclose([1, np.nan], [1, np.inf])
np.testing.assert_almost_equal(1.0, 1.1)
np.testing.assert_array_less(a, a)
np.testing.assert_array_almost_equal(a, a + 0.1)
np.testing.assert_array_almost_equal_nulp(a, a + 1)
np.testing.assert_array_max_ulp(a, a + 1)
np.testing.assert_raises(ValueError, a.sum)
np.testing.assert_string_equal("x", "y")
np.testing.assert_warns(UserWarning, a.sum)
np.testing.assert_approx_equal(1, 2)

# the user's own classes and functions
np.array(Raises())
np.asarray([Raises()])
a + Raises()
np.add(a, Raises())
np.sum(Raises())
np.concatenate([a, Raises()])
a[Raises()]
a[0] = Raises()
a[0, 0] = Raises()
np.zeros(Raises())
a == Raises()
np.fromiter((1 / n for n in [1, 0]), float)
np.add(a, Declines())
a + Declines()
Declines() + a
np.sum(Declines())
np.matmul(a, Declines())
a @ Declines()
a += Declines()
np.concatenate([a, Declines()])
np.piecewise(a, [b], [lambda p: 1 / 0])
np.apply_along_axis(lambda p: 1 / 0, 0, a)
"""

WARNINGS = """
# floating point
a / 0
1 / a
a /= 0
a // 0
a % 0
np.divmod(a, 0)
x / 0
np.float64(1) / 0
np.float32(1e38) * 10
np.int8(100) + np.int8(100)
i // 0
i % 0
np.divide(a, 0, out=a)
np.divide(a, 0, where=b)
np.divide.reduce([1.0, 0.0])
np.divide.accumulate([1.0, 0.0])
np.divide.outer(a, i)
np.divide.at(a, (0, 0), 0)
np.log(a)
np.log(-a)
np.sqrt(-a)
np.arcsin(a)
np.arctanh(i)
np.exp(a * 1000)
np.power(a, 1000.0) * a ** 999
np.sinh(a * 1000)
np.reciprocal(a)
np.float_power(0, -1)
f * 10
f.sum() + f * f
f.astype(np.float16)
(f * np.float32(1e-30)).astype(np.float16)
np.multiply(f, f)
np.square(f)
np.cumprod(f)
f.prod()
np.add.reduce(np.float16([60000, 60000]))
np.inf - np.array([np.inf])
np.array([np.nan, 1]).astype(int)
np.array([np.inf]).astype("i4")
np.array([1e300]).astype("f4")
np.array([1e300], dtype="f4")
np.float32(np.array([1e300]))
i[:1] = np.array([np.nan])
np.array([np.inf]) % 1
np.array([np.inf]) // 1
np.sin(np.array([np.inf]))
np.floor_divide(np.inf, a)
np.ldexp(1.0, np.array([5000]))
np.nextafter(1.7976931348623157e308, np.array([np.inf]))
np.cos(c * 1e4)
c / 0
np.arange(3) ** -1.0
(-np.arange(3)) ** 0.5
np.abs(np.array([-128], dtype=np.int8)) / np.zeros(1)
np.dot(f, f)
f @ f
np.linalg.norm(f)
np.var(f)
np.gradient(a, 0)
np.corrcoef(np.ones((2, 3)))
np.cov(np.ones((2, 1)))
np.cov([[1.0]])
np.polyval([1e308, 1e308], np.array([10.0]))
np.random.default_rng(1).normal(size=3) / 0
np.emath.log(0)
np.lib.scimath.power(0, -1)
np.vectorize(lambda p: p / np.float64(0))(a)
[n / 0 for n in a]
sum(n / 0 for n in a)
np.apply_along_axis(lambda p: p / 0, 0, a)
np.frompyfunc(lambda p: np.float64(p) / 0, 1, 1)(a)
with np.errstate(divide="print"): np.log(-a)
with np.errstate(divide="ignore"): np.log(a) * 0
with np.errstate(divide="warn"): a / 0

# means of nothing
e.mean()
np.mean([])
np.std([])
np.var([], ddof=1)
np.var([1.0], ddof=1)
np.nanmean([np.nan])
np.nanstd([np.nan])
np.nanvar(e)
np.nanmax([np.nan])
np.nanmin(np.full((2, 2), np.nan), axis=0)
np.nanmedian([np.nan])
np.nanpercentile([np.nan], 50)
np.median([])
np.average(e)
np.ma.mean(np.ma.array([1], mask=[1])) / np.log(0)

# complex parts thrown away
c.astype(float)
a[0, :2] = c
np.array(c, dtype=float)
np.float64(c[0])
np.add(c, c, out=np.zeros(2), casting="unsafe")
np.copyto(np.zeros(2), c, casting="unsafe")
np.histogram(c)
np.interp(1, c.real, c).astype(float)
np.asarray(c, dtype="f4")
c.view()[:1].astype(int)

# polynomials and linear algebra
np.polyfit([1, 1, 1], [1, 2, 3], 2)
np.polynomial.polynomial.polyfit([1, 1], [1, 2], 3)
np.polynomial.Polynomial.fit([1, 1], [1, 2], 3)
np.polynomial.chebyshev.chebfit([1, 1], [1, 2], 3)
np.linalg.lstsq(a, [1, 2], rcond=None); np.log(0)

# deprecations
np.row_stack([a, a])
np.cross([1, 2], [3, 4])
np.dtype([("x", int)], align=1)
np.dtype("f8", 1, 2)
np.dtype("a3")
np.array(["x"], dtype="a3")
np.core.multiarray.add
np.core.numeric.ones
np.chararray((2,)); np.char.chararray((2,))
a.strides = a.strides
a.T.strides = (8, 24)
np.maximum(a, a, a)
np.array(OldArray())
np.fromiter(iter([1, 2.5]), int) / 0
np.unique(a, return_index=True)[0] / 0
np.histogram([], bins=3, density=True)
np.loadtxt([])
np.loadtxt(["1 2", "3 4"], max_rows=0)
np.genfromtxt([])
np.genfromtxt(["1 2", "3"], invalid_raise=False)
np.savetxt(io.StringIO(), c.astype(float))
np.datetime64("2020-01-01T00:00Z")
np.array(["2020-01-01T00:00+01:00"], "M8[s]")
np.timedelta64(3, "s") / 0.0
t / 0
t // 0
t % np.timedelta64(0)
np.random.seed(); np.random.random_integers(3)
np.random.rand(2).view() / 0
g.multivariate_normal([0, 0], -np.eye(2))
np.random.multivariate_normal([0, 0], -np.eye(2))
np.matrix([[1, 2]])
np.asmatrix(a)
np.bmat([[a]])
np.ma.array([1, 2]) / 0 + np.log(0)
np.testing.assert_almost_equal(np.float64(1) / 0, np.inf)
np.testing.suppress_warnings()
np.lib.math
np.broadcast_to(i, (2, 3))[0, 0] == 0; np.broadcast_arrays(i, a)[0][0, 0] = 5
a.setflags(write=True); a.flags.writeable = True; a / 0
v.flags.writeable = True; v / 0
np.diagonal(a).flags.writeable = 1; a / 0
np.seterr(divide="warn"); a / 0
np.array(Warns())
np.frompyfunc(warns, 1, 1)(i)
np.vectorize(warns)(i)
np.fromfunction(lambda p: warns(p), (2,))
np.apply_along_axis(warns, 0, a)
"""

# Rows for which mxnp's error or warning differs, with the reason.
DIFFERENT = {
    "a.dump()": "Python names the function, a private one in NumPy",
    "np.apply_along_axis(warns, 0, a)": "the caller of the function is in mxnp",
}
if sys.version_info >= (3, 14):
    OF_PYTHON = "Python names the class with its module"
    DIFFERENT |= {
        "set(a)": OF_PYTHON,
        "{a: 1}": OF_PYTHON,
        "with a: pass": OF_PYTHON,
    }
if "metal" in mxnp.devices():
    OF_DEVICES = 'NumPy allows "cpu" alone'
    DIFFERENT |= {
        'np.zeros(2, device="gpu")': OF_DEVICES,
        'a.to_device("gpu")': OF_DEVICES,
    }


class Raises:
    """An object that raises an error of its own when NumPy asks it for an array."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no array here")

    __index__ = __array__


class Declines:
    """An object that declines NumPy's operations."""

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented

    __array_function__ = __array_ufunc__

    def __repr__(self) -> str:
        return "Declines()"


class OldArray:
    """An object whose ``__array__`` has the signature from before NumPy 2."""

    def __array__(self, dtype: Any = None) -> numpy.ndarray:
        return numpy.arange(3.0)


class Wraps:
    """An object whose ``__array_wrap__`` has the signature from before NumPy 2."""

    __array_priority__ = 1000

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        return numpy.arange(3.0)

    def __array_wrap__(self, array: Any) -> Any:
        return array


class Warns:
    """An object that warns at the line of its caller."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
        warnings.warn("from the object", UserWarning, stacklevel=2)
        return numpy.arange(3.0)


def warns(x: Any) -> Any:
    warnings.warn("from the function", UserWarning, stacklevel=2)
    return x


def saved(array: Any) -> bytes:
    """Return the bytes of a .npy file."""
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def zipped(array: Any) -> bytes:
    """Return the bytes of a .npz file."""
    file = io.BytesIO()
    numpy.savez(file, array)
    return file.getvalue()


OURS = (Raises, Declines, OldArray, Wraps, Warns, warns, saved, zipped)


def rows(table: str) -> list[Any]:
    """Return the lines of a table as parameters, named after chapter and text."""
    chapter, found = "", []
    for line in table.strip().splitlines():
        if line.startswith("#"):
            chapter = line[2:]
        elif line and ("np.unstack" not in line or hasattr(numpy, "unstack")):
            found.append(pytest.param(line, id=f"{chapter}: {line}"))
    return found


class Outcome(NamedTuple):
    """The result of a program: its errors, innermost cause last, and its warnings."""

    errors: list[tuple[type, str, tuple[str, ...]]]
    line: int | None
    warnings: list[tuple[type, str, str, int]]


def run(library: types.ModuleType, row: str) -> Outcome:
    """Run a row of a table as the first line of a program."""
    file = "<program>"
    source = f"{row}\ngetattr(np, 'synchronize', int)()\n"
    names: dict[str, Any] = {"np": library, "__name__": "__main__"}
    names.update((each.__name__, each) for each in OURS)
    error, line = None, None
    state, printed = library.geterr(), library.get_printoptions()
    handler = library.geterrcall()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        exec(textwrap.dedent(GIVEN), names)
        warnings.simplefilter("always")
        try:
            exec(compile(source, file, "exec"), names)
        except Exception as raised:
            error = raised
            frames = traceback.extract_tb(raised.__traceback__)
            line = [frame.lineno for frame in frames if frame.filename == file][-1]
        finally:
            library.seterr(**state)
            library.seterrcall(handler)
            library.set_printoptions(**printed)
    errors = []
    while error is not None:
        notes = tuple(getattr(error, "__notes__", ()))
        errors.append((type(error), str(error), notes))
        hidden = error.__cause__ is not None or error.__suppress_context__
        error = error.__cause__ if hidden else error.__context__
    return Outcome(
        errors,
        line,
        [
            (each.category, str(each.message), each.filename, each.lineno)
            for each in caught
        ],
    )


# The tables are written for this NumPy. Others may raise or warn in fewer rows.
OF_THE_TABLES = numpy.__version__.startswith("2.4.")


# Rows about other devices, index arrays that a GPU checks when it uses them, and products,
# which issue no warnings there.
OTHER_WITH_CUDA = {
    *("np.dot(f, f)", "f @ f", "np.linalg.norm(f)"),
    *('np.zeros(2, device="gpu")', 'a.to_device("gpu")', "a[i] = 1", "a[i, :]"),
    *("a.__dlpack__(stream=3)", "a.__dlpack__(dl_device=(2, 0))"),
}


def run_numpy(row: str) -> Outcome:
    """Run a row with NumPy. Arrays that a scalar type makes are mxnp's there, too."""
    if ON_CUDA and row in OTHER_WITH_CUDA:
        pytest.skip("it has another meaning with CUDA")
    with mxnp.device("cpu"):
        return run(numpy, row)


def compare(row: str, expected: Outcome) -> None:
    ours = run(mxnp, row)
    if row not in DIFFERENT:
        assert ours == expected
    elif OF_THE_TABLES:
        assert ours != expected, "no difference any more"


@pytest.mark.sampled(217)
@pytest.mark.parametrize("row", rows(ERRORS))
def test_errors(row: str) -> None:
    expected = run_numpy(row)
    if OF_THE_TABLES:
        assert expected.errors, "NumPy raises nothing"
        assert expected.line == 1
    compare(row, expected)


@pytest.mark.parametrize("row", rows(WARNINGS))
def test_warnings(row: str) -> None:
    expected = run_numpy(row)
    if OF_THE_TABLES:
        assert expected.warnings, "NumPy warns of nothing"
    compare(row, expected)
