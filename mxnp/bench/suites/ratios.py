"""Ratios: 320 calls of NumPy's functions, in four dtypes, from 1,000 elements on.

They show from which size on a call should be recorded: no size may be slower than
NumPy. The calls are timed in a loop, without a function call around them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from mxnp.bench.case import Case, of_statement

SIZES = (1_000, 4_096, 16_384, 65_536, 131_072, 524_288, 4_194_304)
QUICK_SIZES = (1_000, 16_384)
DTYPES = ("float64", "float32", "int64", "complex128")

OF_REALS = " of real numbers"  # ends the names of kinds that complex numbers lack
MATRIX = 64  # elements of a small matrix, of which there is one for each 64 elements

# Calls by their kind. Their names stand for these objects:
#   x y        vectors, and xn one in which a tenth of the elements are NaN
#   S          a sorted vector, and w9 one of nine elements
#   M M2 rm    square matrices with about as many elements; rm can be inverted
#   P3 Q3      matrices of three columns
#   T          an array of three axes
#   B V        stacks of matrices of 8 rows: square ones, and single columns
#   i j k      vectors of int64: places of x, and numbers below 1,000
#   b c        a vector of bools, true for half of the elements, and a complex one
#   N n2       the numbers of elements of x and of rows of M
# A call that returns nothing changes a copy, which is held until it is complete.
STATEMENTS = {
    "elementwise": (
        "x+y",
        "x*y-x/y",
        "x**2",
        "x**0.5",
        "x**y",
        "-x",
        "abs(x)",
        "x>y",
        "(x>y)&(x<0.5)",
        "~b",
        "j+k",
        "j//(k+1)",
        "j%7",
        "j<<2",
        "j&k",
        "np.sqrt(x)",
        "np.exp(x)",
        "np.exp2(x)",
        "np.expm1(x)",
        "np.log(x)",
        "np.log2(x)",
        "np.log10(x)",
        "np.log1p(x)",
        "np.sin(x)",
        "np.cos(x)",
        "np.tan(x)",
        "np.arcsin(x)",
        "np.arccos(x)",
        "np.arctan(x)",
        "np.sinh(x)",
        "np.cosh(x)",
        "np.tanh(x)",
        "np.arcsinh(x)",
        "np.arctanh(x)",
        "np.power(x,3)",
        "np.float_power(x,y)",
        "np.maximum(x,y)",
        "np.fmax(x,y)",
        "np.minimum(x,y)",
        "np.clip(x,.2,.8)",
        "np.round(x,2)",
        "np.rint(x)",
        "np.sign(x)",
        "np.isnan(xn)",
        "np.isfinite(x)",
        "np.isinf(x)",
        "np.isclose(x,y)",
        "np.allclose(x,y)",
        "np.array_equal(x,y)",
        "np.nan_to_num(xn)",
        "np.sinc(x)",
        "np.angle(c)",
        "np.real(c)",
        "c*c",
        "np.abs(c)",
        "np.conj(c)",
        "np.exp(c)",
        "np.gcd(j,k)",
        "np.lcm(j,k)",
        "np.where(x>y,x,y)",
        "np.select([x>.5,y>.5],[x,y])",
        "np.piecewise(x,[x<.5,x>=.5],[0.0,1.0])",
        "np.choose(j%2,[x,y])",
    ),
    "elementwise of real numbers": (
        "x//y",
        "x%y",
        "divmod(x,y)",
        "np.cbrt(x)",
        "np.arctan2(x,y)",
        "np.hypot(x,y)",
        "np.floor(x)",
        "np.ceil(x)",
        "np.trunc(x)",
        "np.fix(x)",
        "np.copysign(x,y)",
        "np.nextafter(x,y)",
        "np.ldexp(x,3)",
        "np.frexp(x)",
        "np.modf(x)",
        "np.fmod(x,y)",
        "np.remainder(x,y)",
        "np.heaviside(x,y)",
        "np.deg2rad(x)",
        "np.i0(x)",
        "np.logaddexp(x,y)",
        "np.spacing(x)",
    ),
    "reduction": (
        "x.sum()",
        "M.sum(0)",
        "M.sum(1)",
        "T.sum(1)",
        "x.prod()",
        "x.mean()",
        "x.std()",
        "x.var()",
        "M.std(0)",
        "M.std(1)",
        "x.max()",
        "x.min()",
        "np.ptp(x)",
        "x.argmax()",
        "x.argmin()",
        "M.argmax(0)",
        "M.argmax(1)",
        "b.any()",
        "b.all()",
        "np.count_nonzero(b)",
        "np.count_nonzero(x)",
        "np.nansum(xn)",
        "np.nanmean(xn)",
        "np.nanstd(xn)",
        "np.nanmax(xn)",
        "np.nanargmax(xn)",
        "np.nanmedian(xn)",
        "np.median(x)",
        "np.median(M,axis=0)",
        "np.average(x,weights=y)",
        "np.cov(M[:50])",
        "np.corrcoef(M[:50])",
        "np.histogram2d(x,y,50)",
        "np.histogramdd(P3,10)",
        "np.bincount(j)",
        "np.cumsum(x)",
        "np.cumsum(M,0)",
        "np.cumsum(M,1)",
        "np.cumprod(x)",
        "np.nancumsum(xn)",
        "np.maximum.accumulate(x)",
        "np.logical_or.reduce(b)",
        "np.add.reduceat(x,np.arange(0,N,100))",
        "np.diff(x)",
        "np.diff(M,axis=0)",
        "np.ediff1d(x)",
        "np.gradient(x)",
        "np.gradient(M)",
        "np.trapezoid(x)",
        "np.cross(P3,Q3)",
        "np.convolve(x,w9)",
        "np.correlate(x,w9,'same')",
    ),
    "reduction of real numbers": (
        "np.nanpercentile(xn,90)",
        "np.histogram(x,100)",
        "np.percentile(x,90)",
        "np.percentile(M,[10,90],axis=1)",
        "np.quantile(x,.3)",
        "np.bincount(j,weights=x)",
        "np.digitize(x,S[:1000])",
        "np.unwrap(x)",
        "np.interp(x,S[:1000],y[:1000])",
    ),
    "order and index": (
        "np.sort(x)",
        "np.sort(M,0)",
        "np.sort(M,1)",
        "np.sort(j)",
        "np.argsort(x)",
        "np.argsort(j,kind='stable')",
        "np.argsort(M,1)",
        "np.partition(x,N//2)[N//2]",  # the order around this place is undefined
        "x[np.argpartition(x,N//2)[N//2]]",
        "np.lexsort((j,k))",
        "np.unique(j)",
        "np.unique(x)",
        "np.unique(j,return_inverse=True)",
        "np.unique(j,return_counts=True)",
        "np.isin(j,k[:100])",
        "np.intersect1d(j,k)",
        "np.setdiff1d(j,k)",
        "np.union1d(j,k)",
        "np.searchsorted(S,x)",
        "np.nonzero(b)",
        "np.flatnonzero(b)",
        "np.argwhere(b)",
        "x[b]",
        "x[x>.5]",
        "x[i]",
        "M[:,::-1]*1",
        "M[i[:200]%n2]",
        "np.take(x,i)",
        "np.take_along_axis(M,np.argsort(M,1),1)",
        "(z := M.copy(), np.put_along_axis(z,j[:n2][:,None]%n2,0.0,1))",
        "np.compress(b,x)",
        "np.extract(b,x)",
        "(z := x.copy(), np.place(z,b,[1.0]))",
        "(z := x.copy(), np.putmask(z,b,y))",
        "(z := x.copy(), np.copyto(z,y,where=b))",
        "(z := x.copy(), z.__setitem__(b,0.0))",
        "(z := x.copy(), z.__setitem__(i,y))",
        "(z := x.copy(), np.add.at(z,i,y))",
        "(z := x.copy(), np.maximum.at(z,i,y))",
        "np.delete(x,i[:100])",
        "np.insert(x,5,1.0)",
        "np.append(x,y)",
        "np.resize(x,2*N)",
        "np.trim_zeros(x)",
    ),
    "creation and layout": (
        "np.zeros(N)",
        "np.ones(N)",
        "np.full(N,3.0)",
        "np.arange(N)",
        "np.linspace(0,1,N)",
        "np.logspace(0,1,N)",
        "np.geomspace(1,2,N)",
        "np.eye(n2)",
        "np.identity(n2)",
        "np.tri(n2)",
        "np.tril(M)",
        "np.triu(M)",
        "np.diag(x[:n2])",
        "np.diagonal(M).copy()",
        "np.meshgrid(x[:n2],y[:n2])",
        "np.indices((n2,n2))",
        "np.mgrid[0:n2,0:n2]",
        "np.fromfunction(lambda a,b:a*b,(n2,n2))",
        "np.vander(x[:n2])",
        "x.copy()",
        "x.astype('f4')",
        "x.astype('i4')",
        "np.ascontiguousarray(M.T)",
        "M.T.copy()",
        "np.concatenate((x,y))",
        "np.stack((x,y))",
        "np.stack((x,y),-1)",
        "np.vstack((x,y))",
        "np.hstack((x,y))",
        "np.column_stack((x,y))",
        "np.dstack((M,M2))",
        "np.block([[M,M2],[M2,M]])",
        "np.tile(x,3)",
        "np.repeat(x,3)",
        "np.repeat(x,j%3)",
        "np.roll(x,7)",
        "np.roll(M,(3,4),(0,1))",
        "np.rot90(M).copy()",
        "np.flip(M).copy()",
        "np.pad(M,2)",
        "np.pad(M,2,mode='edge')",
        "np.pad(M,2,mode='reflect')",
        "np.pad(M,2,mode='wrap')",
        "np.split(x,2)[0].copy()",
        "np.broadcast_to(x[:n2],(n2,n2)).copy()",
        "np.transpose(T,(2,0,1)).copy()",
        "np.lib.stride_tricks.sliding_window_view(x,9).mean(1)",
        "np.apply_along_axis(np.sum,1,M[:50])",
        "np.packbits(b)",
        "np.unpackbits(np.packbits(b))",
        "x.tolist()[:1]",
        "x.tobytes()[:1]",
    ),
    "product": (
        "M@M2",
        "np.dot(M,M2)",
        "M@M2[:,0]",
        "np.dot(x,y)",
        "np.vdot(x,y)",
        "np.inner(M,M2)",
        "np.outer(x[:n2],y[:n2])",
        "np.tensordot(T,T,((0,1),(0,1)))",
        "np.einsum('ij,jk->ik',M,M2)",
        "np.einsum('ij,ij->i',M,M2)",
        "np.einsum('ii',M)",
        "np.einsum('bij,bjk->bik',B,B)",
        "np.einsum('i,j->ij',x[:n2],y[:n2])",
        "np.kron(M[:20,:20],M2[:30,:30])",
        "B@B",
        "B@V",
        "np.matmul(B,V)",
        "np.linalg.norm(x)",
        "np.linalg.norm(M,axis=1)",
        "np.linalg.norm(M,2)",
        "np.trace(M)",
        "np.linalg.solve(rm,x[:n2])",
        "np.linalg.solve(B,V)",
        "np.linalg.inv(rm)",
        "np.linalg.inv(B)",
        "np.linalg.det(rm)",
        "np.linalg.det(B)",
        "np.linalg.slogdet(B)",
        "np.linalg.qr(M)",
        "np.linalg.svd(M[:200,:200])",
        "np.linalg.svd(B)",
        "np.linalg.eigh(M[:200,:200]+M[:200,:200].T)",
        "np.linalg.eigh(B)",
        "np.linalg.eigvalsh(B)",
        "np.linalg.eig(M[:200,:200])",
        "np.linalg.lstsq(M,x[:n2])",
        "np.linalg.pinv(M[:200,:200])",
        "np.linalg.matrix_power(M,5)",
        "np.linalg.matrix_rank(M[:200,:200])",
        "np.linalg.multi_dot((M,M2,M))",
    ),
    "product of real numbers": ("np.linalg.cholesky(M@M.T+n2*np.eye(n2))",),
    "transform": (
        "np.fft.fft(x)",
        "np.fft.ifft(c)",
        "np.fft.irfft(c)",
        "np.fft.fft2(M)",
        "np.fft.fft(M,axis=0)",
        "np.fft.fft(M,axis=1)",
        "np.fft.fftn(T)",
        "np.fft.fftshift(M)",
        "np.fft.fftfreq(N)",
        "np.polyval([1,2,3,4],x)",
        "np.polynomial.Polynomial([1,2,3])(x)",
        "np.polynomial.chebyshev.chebval(x,[1,2,3])",
        "np.polyfit(x,y,3)",
        "np.vectorize(lambda a:a+1)(x[:1000])",
    ),
    "transform of real numbers": ("np.fft.rfft(x)",),
    "random": (
        "np.random.default_rng(0).random(N)",
        "np.random.default_rng(0).standard_normal(N)",
        "np.random.default_rng(0).normal(0,1,N)",
        "np.random.default_rng(0).integers(0,100,N)",
        "np.random.default_rng(0).uniform(0,1,N)",
        "np.random.default_rng(0).exponential(1,N)",
        "np.random.default_rng(0).poisson(3,N)",
        "np.random.default_rng(0).gamma(2,1,N)",
        "np.random.default_rng(0).beta(2,3,N)",
        "np.random.default_rng(0).binomial(10,.3,N)",
        "np.random.default_rng(0).choice(N,N)",
        "np.random.default_rng(0).choice(N,N//2,replace=False)",
        "np.random.default_rng(0).permutation(N)",
        "(z := x.copy(), np.random.default_rng(0).shuffle(z))",
        "np.random.default_rng(0).random(N,dtype='f4')",
        "np.random.default_rng(0).standard_normal(N,dtype='f4')",
        "np.random.rand(N)",
        "np.random.randn(N)",
        "np.random.randint(0,100,N)",
        "np.random.uniform(0,1,N)",
        "np.random.normal(0,1,N)",
        "np.random.choice(N,N)",
        "np.random.permutation(N)",
    ),
}


def cases(sizes: Sequence[int]) -> list[Case]:
    """Return every call in every dtype that NumPy has it for, at every size."""
    return [
        _case(statement, kind, dtype, size)
        for size in sizes
        for dtype in DTYPES
        for kind, statements in STATEMENTS.items()
        if dtype != "complex128" or not kind.endswith(OF_REALS)
        for statement in statements
    ]


def _case(statement: str, kind: str, dtype: str, size: int) -> Case:
    names = tuple(name for name in _MAKERS if re.search(rf"\b{name}\b", statement))
    # The results of two draws only agree if both begin with the same state.
    is_draw = re.match(r"np\.random\.(?!default_rng)", statement)
    compared = f"(np.random.seed(0), {statement})[1]" if is_draw else statement
    return Case(
        "ratios",
        statement,
        dtype,
        size,
        of_statement(compared, names),
        lambda: {name: _input(name, dtype, size) for name in names},
        kind=kind.removesuffix(OF_REALS),
        statement=statement,
    )


@functools.lru_cache(maxsize=24)
def _input(name: str, dtype: str, size: int) -> Any:
    """Make one of the objects that the calls name."""
    rng = numpy.random.default_rng(sorted(_MAKERS).index(name))
    made = _MAKERS[name](_Random(rng, numpy.dtype(dtype)), size, int(size**0.5))
    if isinstance(made, numpy.ndarray):
        made.flags.writeable = False  # several cases share it
    return made


class _Random:
    """Arrays of random numbers of one dtype."""

    def __init__(self, rng: numpy.random.Generator, dtype: Any) -> None:
        self.rng = rng
        self.dtype = dtype

    def __call__(self, *shape: int) -> Any:
        """Return numbers below 1, or integers below 10, zero among them."""
        if self.dtype.kind == "i":
            return self.rng.integers(0, 10, shape, dtype=self.dtype)
        real = self.rng.random(shape)
        imaginary = 1j * self.rng.random(shape) if self.dtype.kind == "c" else 0
        return (real + imaginary).astype(self.dtype)

    def with_nan(self, size: int) -> Any:
        """Return numbers, a tenth of which are NaN where the dtype has it."""
        numbers = self(size)
        if self.dtype.kind != "i":
            numbers[self.rng.random(size) > 0.9] = numpy.nan
        return numbers

    def regular(self, rows: int, *stack: int) -> Any:
        """Return square matrices whose diagonals exceed the sums of their rows."""
        diagonal = 16 * rows * numpy.eye(rows, dtype=self.dtype)
        return self(*stack, rows, rows) + diagonal

    def complex(self, size: int) -> Any:
        """Return complex numbers of the precision of the dtype."""
        single = self.dtype == numpy.float32
        numbers = self.rng.random(size) + 1j * self.rng.random(size)
        return numbers.astype(numpy.complex64 if single else numpy.complex128)


def _axes(size: int) -> tuple[int, int, int]:
    side = 64 if size >= 64 * 64 else 8
    return side, side, max(1, size // side**2)


_MAKERS: dict[str, Callable[[_Random, int, int], Any]] = {
    "N": lambda random, n, rows: n,
    "n2": lambda random, n, rows: rows,
    "x": lambda random, n, rows: random(n),
    "y": lambda random, n, rows: random(n),
    "xn": lambda random, n, rows: random.with_nan(n),
    "S": lambda random, n, rows: numpy.sort(random(n)),
    "w9": lambda random, n, rows: random(9),
    "M": lambda random, n, rows: random(rows, rows),
    "M2": lambda random, n, rows: random(rows, rows),
    "rm": lambda random, n, rows: random.regular(rows),
    "P3": lambda random, n, rows: random(n // 3, 3),
    "Q3": lambda random, n, rows: random(n // 3, 3),
    "T": lambda random, n, rows: random(*_axes(n)),
    "B": lambda random, n, rows: random.regular(8, max(1, n // MATRIX)),
    "V": lambda random, n, rows: random(max(1, n // MATRIX), 8, 1),
    "i": lambda random, n, rows: random.rng.integers(0, n, n),
    "j": lambda random, n, rows: random.rng.integers(0, 1000, n),
    "k": lambda random, n, rows: random.rng.integers(0, 1000, n),
    "b": lambda random, n, rows: random.rng.random(n) > 0.5,
    "c": lambda random, n, rows: random.complex(n),
}
