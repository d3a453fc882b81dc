"""The table of NumPy's functions that mxnp computes itself, and how it computes each.

A function without a row runs in NumPy. Ufuncs are in csrc/ir/ops.def; only a ufunc with
a form of its own has a row here. Functions that only return views have no row: they are
fast in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Way:
    """
    A way to compute large calls: a recorded form, or NumPy's code in the layer.

    Attributes
    ----------
    module : str
        The module of the form: "copies", "gpu/products", "card/linear".
    function : str
        The form, in that module.
    threshold_factor : int
        The multiple of the threshold from which a call is large.
    size_rule, size_place : str, int
        The part of a call that has to be large: see `Function.size_rule`.
    """

    def __init__(self, text: str, name: str) -> None:
        place, _, size = text.partition(":")
        self.module, _, function = place.partition(".")
        self.function = function or name
        self.size_rule = next(filter(str.isalpha, size), "a")
        factor, _, size_place = size.partition(self.size_rule)
        self.threshold_factor, self.size_place = int(factor or 1), int(size_place or 0)


class Row:
    """
    The ways in which a function is computed.

    Attributes
    ----------
    direct : str
        The function in csrc/python/direct for small arrays, or "".
    forms : tuple of Way
        Recorded forms, tried in turn if the machine has them.
    layer : Way or None
        NumPy's own code over mxnp's arrays, after the recorded form.
    calls : tuple of str
        Ordinary calls, as the tests make them.
    """

    def __init__(self, name: str, ways: str, calls: str) -> None:
        found = [Way(text, _form_name(name)) for text in ways.split(",")]
        self.direct = "".join(
            way.function.removeprefix("_") for way in found if way.module == "direct"
        )
        self.forms = tuple(
            way for way in found if way.module not in ("direct", "layer")
        )
        self.layer = next((way for way in found if way.module == "layer"), None)
        self.calls = () if calls == "-" else tuple(calls.split("; "))


def _form_name(name: str) -> str:
    """Return the name of a recorded form. For a draw, it begins with the class."""
    owner, _, method = name.rpartition(".")
    is_draw = owner.startswith("random.")
    return f"_{owner[7:].lower()}_{method}" if is_draw else f"_{method}"


class _Table(Mapping[str, Row]):
    """The rows of a table by name. A row is read when it is first needed."""

    def __init__(self, text: str) -> None:
        lines = text.strip().replace("\n    ", " ").splitlines()
        self._lines = {line.partition(" ")[0]: line for line in lines}
        self._rows: dict[str, Row] = {}

    def __getitem__(self, name: str) -> Row:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = Row(*self._lines[name].split(" ", 2))
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


# A row has the name of a function in `numpy`, its ways, and calls or "-".
#
# The ways are separated by commas. "direct" computes small arrays in C. A module of
# `mxnp/_routines` has the recorded form, which is named like the function after an
# underscore, or as the row says. "gpu/" is a module of `mxnp/_gpu` on machines with a
# GPU, and "card/" one for GPUs with memory of their own; "draws/" needs NumPy's
# samplers. "layer" is NumPy's code. After the colon is the factor of the threshold, and
# the size rule if it is not the largest array: "s" the shape in the first argument, "n"
# the square of that number or of the size of an array, "t" the number in the third
# argument or in `num`, "g" the grid of the arrays, "r" the length of a range, "w" the
# largest array if there are several threads, "m" the same if an array has three axes,
# "o" the largest array, but NumPy reduces one to a number if there is one thread, "i"
# the argument at a place, "q" what the form decides, "d" the size of a draw and its
# place, "p" the same if there are several threads.
#
# In calls, the letter of an array names its elements and the digit the number of axes:
# f has floats, p positive ones, n NaN too, s is float32, i and j are integers, q small
# ones, u bytes, b bools and c complex numbers. S is a number and T a shape. The call of
# a method begins with its array, and the call of a ufunc's method with the ufunc. Draws
# are calls of a new generator.
ROWS = _Table(
    """
all direct,reductions:16 (b1); (i2, axis=0)
allclose direct,layer:2 (f1, f1); (f1, p1); (n1, n1, equal_nan=True)
amax direct.max,reductions._max:64o (s1); (f2, axis=0)
amin direct.min,reductions._min:64o (u2)
angle layer:4 (c1); (c2, deg=True)
any direct,reductions:16 (b2); (f2, axis=1)
append direct,layer:16 (f1, f1); (f2, f2, axis=0)
arange direct,copies:r (S); (1, S, 2); (0.5, 90.0, 0.02)
argmax direct,reductions:32o (f1); (f2, axis=0)
argmin direct,reductions:32o (i1); (n2, axis=1)
argpartition sorting (f1, 5); (f1, [3, 5])
argsort gpu/functions,sorting.argsort (i1); (f2, kind='stable')
argwhere layer:2 (b2); (f2 > 0.5)
around direct._round,statistics._round:4 (f2)
array direct,copies:32 (f1); ([1.5, 2]); ([f1, f1])
array_equal layer:8 (f1, f1); (f1, p1); (n1, n1, equal_nan=True)
array_equiv layer:2 (f1, f1); (f2, f2[:1])
asanyarray copies._asarray:32 (f2, 'f4')
asarray direct,copies:32 (f2); ([1, 2]); (f2, 'i4'); ([f1, f1])
ascontiguousarray copies:16 (f2.T)
average direct,layer:16 (f1); (f1, weights=p1); (f2, 1, returned=True)
bartlett layer:2s (S)
bincount indexing:8 (q1); (q1, f1, 10)
blackman layer:2s (S)
block layer:16 ([[f2, p2], [p2, f2]]); ([f1, p1])
choose indexing (q1, [f1, f1, f1, f1, f1]); (q1, [i1, f1, i1], mode='clip')
clip direct,copies (f1, -1, 2); (i1, 0, None); (f2, f2, 3.0)
column_stack layer:16 ((f1, f1)); ((f2, f2[:, 0])); ([f1, f1])
compress selections (b1, f1); ([True, False], f2, axis=0)
concatenate direct,copies:16 ([f1, f1]); ([f2, s2], axis=1); ((i1, f1))
convolve layer:8w (f1, p1[:5]); (f1, p1[:4], 'same'); (f1[:50], p1[:5], 'valid');
    (f1[:50], p1[:5])
copy direct,copies:32 (f2)
copyto selections (f1, f1); (f2, 3, where=b2)
correlate layer:4w (f1, p1[:5], 'same'); (f1, p1[:20], 'full'); (f1, p1[:9]);
    (f1[:50], p1[:5])
count_nonzero direct,statistics:16 (f2); (b2, axis=0)
cross direct,layer:8 (f2[:, :3], p2[:, :3]); (f1[:3], f1[:3])
cumprod reductions:4 (p1); (p2, axis=1)
cumsum direct,reductions:4 (f1); (i2, axis=0)
cumulative_prod layer:4 (p1); (p2, axis=1)
cumulative_sum layer:4 (f1, include_initial=True); (f2, axis=0); (f1)
delete layer:64 (f1, q1); (f1, 3); (f2, slice(1, 4, 2), axis=1); (f1, [1, 2])
diagonal direct (f2); (f2, 1)
diff direct,layer:16 (f1); (i2, axis=0); (f1, 3); (f1, prepend=0)
digitize layer:2 (f1, [0.0, 1.0, 2.0]); (f1, p1.cumsum(), right=True)
dot direct,gpu/products (f1, f1); (p2.T, p2)
dstack layer:16 ([f1, f1]); ([f2, p2])
ediff1d layer:32 (f1); (f1, to_end=[1.0, 2.0])
einsum card/products,layer:16 ('ij,jk->ik', f2, p2.T); ('ij,ij->i', f2, p2);
    ('ij->ji', f2); ('i,i', p1, p1)
empty direct,copies:s (0); ((0, 3), 'i4')
empty_like direct,copies:4 (f2[:0])
extract selections (b1, f1)
fill_diagonal indexing (f2, 3); (i2, 3, wrap=True)
fix layer:16 (f1)
flatnonzero layer (f1); (b1)
full direct,copies:s (S, 1.5); (T, 3, 'f4'); (S, 7)
full_like copies:4 (f2, 2)
geomspace layer:16t (1, 2, S); (1.0, 500.0, S, False)
gradient layer:32 (f1); (f2); (f1, 2.0); (f2, axis=1, edge_order=2)
hamming layer:2s (S)
hanning layer:2s (S)
histogram indexing:8 (f1); (s1, 7, (-1, 4))
histogram2d layer (f1, p1, 5)
histogramdd layer:2 (f2[:, :3], 4)
hstack direct,layer:16 ([f2, f2])
i0 layer (f1)
imag direct (c2); (f1)
indices layer:16s (T)
inner card/products (p1, p1)
insert layer:32 (f1, 1, 2.0); (f2, [3, 4], 1.0, axis=1)
interp layer:4w (f1, [0, 1, 2], [3, 4, 5]); (f1, p1[:3].cumsum(), p1[:3], period=2.0)
intersect1d layer (i1, i1); (i1, q1, return_indices=True)
isclose direct,layer:8 (f1, f1); (n1, n1, equal_nan=True); (f1, 0.25)
iscomplex layer:16 (c1)
isin layer:16 (i1, [1, 3]); (f1, p1[:5], invert=True); (q1, q1[:3])
isneginf layer:32 (n1)
isposinf layer:32 (n1)
isreal layer:16 (c1)
kaiser layer:2s (S, 14.0)
kron layer:8 (f2[:5], p2[:4])
lexsort sorting ((q1, f1))
linspace direct,grids:4t (0, 1, 1000); (1.5, 20, 900, endpoint=False)
logspace grids:4t (0, 2, 1000)
matmul direct,gpu/products,layer:8m (f3, p3.swapaxes(1, 2));
    (f3, p3.swapaxes(1, 2)[:1]); (p2.T, p2)
max direct,reductions:64o (f2); (i2, axis=1)
mean direct,statistics:16 (f2); (i2, axis=0); (s2, axis=1)
median direct,layer:8 (f1); (f2, axis=0); (f2, axis=1, keepdims=True)
meshgrid grids:4g (f1[:100], f1[:90])
min direct,reductions:64o (f2, axis=0); (n1)
nan_to_num layer:16 (n1); (f1); (n2, nan=1.5)
nanargmax layer:16 (n1); (f2, axis=0)
nanargmin layer:32 (n1); (f2, axis=1)
nancumprod layer (n1)
nancumsum layer (n1); (f2, axis=1)
nanmax layer:16 (n1); (f2, axis=0)
nanmean nanfunctions:16,layer:16 (f1); (n2, axis=1)
nanmedian layer:8 (n1); (n2, axis=0); (f1, keepdims=True)
nanmin layer:16 (n1); (f2, axis=0)
nanpercentile layer:8 (n1, 90); (n2, [10, 90], axis=1)
nanprod nanfunctions:16,layer:16 (p1); (n1)
nanquantile layer:8 (n1, 0.5); (f1, [0.25, 0.75], method='lower')
nanstd nanfunctions:16,layer:16 (f1); (f2, axis=0)
nansum nanfunctions:16,layer:16 (n1); (f2, axis=0)
nanvar nanfunctions:16,layer:16 (f1); (n2, axis=0, ddof=1)
nonzero selections (f2)
ones direct,copies:s (S); (T, 'u1')
ones_like copies:4 (i1, 'f4')
outer grids:4g (f1[:150], f1[:160])
pad copies:32,layer:32 (f1, 2); (f2, 2, mode='reflect'); (f2, ((1, 2), (0, 1)),
    mode='edge'); (f1, 3, constant_values=2); (i2, 1, mode='wrap')
partition sorting (f1, 5); (f1, [3, 5])
percentile layer:8 (f1, 50); (f2, [10, 90], axis=1)
piecewise layer (f1, [b1], [1, 2]); (f1, [f1 < 1, f1 >= 1], [0.0, 1.0])
place selections:2 (f1, b1, f1); (f1, b1, p1); (i1, b1, i1[:3])
polyadd layer:16 (f1, p1[:5])
polyfit layer (f1, p1, 2)
polymul layer:2 (f1, p1[:5])
polyval layer ([1, 2, 3, 4], f1); (p1[:3], f2)
power layer:8 (i1, q1); (f1, q1)
prod direct,reductions:16 (p2); (i1[:10])
ptp layer:16 (f2); (i2, axis=0)
put indexing (f1, q1, 2.5); (i1, q1, q1); (f1, [0, 1], [5, 6], mode='wrap')
put_along_axis layer:i1 (f2, q2, f2, 0); (f2, q2, 1.5, 1)
putmask selections (f1, b1, f1); (i2, b2, i2)
quantile layer:8 (f1, 0.5); (f2, 0.5, axis=0, method='nearest')
ravel direct (f2)
real direct (c2); (f1)
real_if_close layer:8 (c1); (f1 + 0j)
repeat copies:4 (f1, 3); (f2, 2, axis=0)
resize layer:16 (f1, 20); (f2, (3, 7))
roll direct,copies (f1, 3); (f2, (1, 2), (0, 1))
round direct,statistics:4 (f1, 1)
searchsorted indexing (q1.cumsum(), q1); (p1.cumsum(), f1, side='right')
select indexing,layer ([b1, b1], [f1, i1]); ([b1], [f1], 5)
setdiff1d layer (i1, [1]); (q1, q1[:2])
setxor1d layer (i1, q1)
sinc layer (f1)
sort gpu/functions,sorting.sort (f1); (i2, axis=0)
stack direct,layer:16 ([f1, f1]); ([f2, i2], axis=1)
std direct,statistics:16 (f2, axis=1); (s1, ddof=1)
sum direct,reductions:16 (f2); (i2, axis=0); (f2, axis=1, keepdims=True)
take indexing:4 (f1, q1); (f2, q1, axis=1); (f1, q2, mode='clip'); (i2, [0, 1])
take_along_axis layer (f2, q2, 1)
tensordot card/products,layer:4 (p2, p2); (f3, p3, ((0, 1), (0, 1)))
tile layer:32 (f1, 3); (i2, (2, 1))
trace direct (f2); (f2, 1)
transpose direct (f2)
trapezoid layer:8 (f1); (f1, p1.cumsum()); (f2, axis=0)
tri layer:8n (100); (120, 90, 1, 'i4'); (20, 30, 1, 'i4')
tril layer:2 (f2); (i2, 1)
trim_zeros layer (f1)
triu layer:2 (f2); (i2, -1); (i2, 1)
union1d layer (i1, u1); (f1, p1)
unique indexing,layer:16 (i1); (f1); (q2, return_inverse=True);
    (p2, return_counts=True); (n1, return_inverse=True)
unwrap layer (f1); (f2, axis=0)
vander layer:2n (f1[:140]); (f1[:140], 150, increasing=True)
var direct,statistics:16 (f2); (i1)
vdot direct,card/products (p1, p1)
vstack direct,layer:16 ([f1, f1])
where direct,selections (b1, f1, 0); (b2, i2, f2); (f1)
zeros direct,copies:s (S); (T, 'i4')
zeros_like direct,copies:4 (f2)
fft.fft card/transforms,layer:4w (f2); (f2, axis=0); (c2, norm='ortho'); (f1)
fft.fft2 card/transforms,layer:4w (f2)
fft.fftfreq layer:8s (S); (S, 0.5)
fft.fftn card/transforms,layer:4w (f3)
fft.fftshift layer:16 (f1); (f2, axes=0)
fft.hfft card/transforms,layer:4w (c2)
fft.ifft card/transforms,layer:4w (c2); (f2, 7, 0); (c1)
fft.ifft2 card/transforms,layer:4w (c2)
fft.ifftn card/transforms,layer:4w (f3)
fft.ifftshift layer:16 (f2)
fft.ihfft card/transforms,layer:4w (f2)
fft.irfft card/transforms,layer:4w (c2); (c1)
fft.irfft2 card/transforms,layer:4w (c2)
fft.irfftn card/transforms,layer:4w (c3)
fft.rfft card/transforms,layer:4w (f2); (f2, axis=0)
fft.rfft2 card/transforms,layer:4w (f2)
fft.rfftfreq layer:8s (S)
fft.rfftn card/transforms,layer:4w (f3)
lib.scimath.arccos layer:8 (f1)
lib.scimath.log layer:16 (f1); (p1)
lib.scimath.power layer:4 (f1, 2)
lib.scimath.sqrt layer:4 (f1); (p1)
linalg.cholesky card/linear (np.eye(3) + f3[:, :3, :3] * 0); (np.eye(20))
linalg.cond card/linear,layer:16m (p2[:3, :3]); (p3[:, :3, :3])
linalg.cross layer:8 (f2[:, :3], p2[:, :3])
linalg.det direct,card/linear (p2[:3, :3]); (p3[:, :3, :3]); (f2[:3, :3])
linalg.eig layer:16m (p2[:3, :3]); (p3[:, :3, :3])
linalg.eigh card/linear,layer:16m (p2[:3, :3]); (p3[:, :3, :3], 'U')
linalg.eigvals layer:16m (p2[:3, :3]); (p3[:, :3, :3])
linalg.eigvalsh card/linear,layer:16m (p2[:3, :3]); (p3[:, :3, :3])
linalg.inv direct,card/linear,layer:16m (f2[:2, :2]); (np.eye(3) + f3[:, :3, :3] * 0)
linalg.lstsq card/linear (p2[:5, :3], p1[:5])
linalg.matrix_norm layer:16 (f3)
linalg.matrix_power card/linear,layer (p2[:5, :5], 3)
linalg.matrix_rank card/linear,layer:16m (p2[:3, :3]); (p3[:, :3, :3])
linalg.multi_dot layer:16 ((f2, p2.T, f2))
linalg.norm direct,layer:16 (f1); (f2, axis=1); (f2); (f1, 1); (f2, 'fro')
linalg.pinv card/linear,layer:16m (p2[:3, :3]); (p3[:, :3, :3])
linalg.qr card/linear,layer:16m (f2[:5, :5]); (f3[:, :5, :5])
linalg.slogdet card/linear (p2[:3, :3]); (p3[:, :3, :3])
linalg.solve direct,card/linear,layer:16m (f2[:2, :2], p1[:2]);
    (f3[:, :2, :2], p3[:, :2, :2])
linalg.svd card/linear,layer:16m (f2[:5, :5]); (f3[:, :5, :5], False)
linalg.svdvals card/linear,layer:16m (f3[:, :5, :5])
linalg.vector_norm layer:32 (f1); (f2, axis=0, ord=3)
mgrid.__getitem__ grids._mgrid:q ((slice(0, 90), slice(0, 80)))
ndarray.T direct.transpose -
ndarray.all direct,reductions:16 b1(); i2(axis=1)
ndarray.any direct,reductions:16 b2(); f2(axis=0)
ndarray.argmax direct,reductions:32o f1()
ndarray.argmin direct,reductions:32o f2(axis=0)
ndarray.argpartition sorting f1(3); f1([3, 5])
ndarray.argsort gpu/functions,sorting.argsort f1(); q1(kind='stable')
ndarray.astype direct,copies:32 f2('f4'); i1('f8'); f1('i4', copy=False)
ndarray.choose indexing._choose_method q1([f1, f1, f1, f1, f1])
ndarray.clip direct,copies._clip_method f1(0, 2); i2(max=3)
ndarray.compress selections._compress_method f1(b1)
ndarray.copy direct,copies._copy_method:32 f2(); f2.T('K')
ndarray.cumprod reductions:4 p1()
ndarray.cumsum direct,reductions:4 f1(); i2(axis=1)
ndarray.diagonal direct f2()
ndarray.dot direct,gpu/products f1(f1); p2.T(p2)
ndarray.fill direct,copies:4 f1(3)
ndarray.flatten copies:32 f2(); f1()
ndarray.imag direct -
ndarray.item direct f1(3)
ndarray.max direct,reductions:64o f2(); f2(0)
ndarray.mean direct,statistics:16 f2(); f2(axis=0)
ndarray.min direct,reductions:64o f1(); i2(axis=1)
ndarray.nonzero selections f2()
ndarray.partition sorting._partition_in_place f1(3); f1([3, 5])
ndarray.prod direct,reductions:16 i1()
ndarray.put indexing._put_method f1(q1, 3.5); i1([0, 1], [2, 3])
ndarray.ravel direct f2()
ndarray.real direct -
ndarray.repeat copies:4 f1(2); f2(2, axis=1)
ndarray.reshape direct f2(-1); f1(5, -1)
ndarray.round direct,statistics:4 f1(1)
ndarray.searchsorted indexing f1[:1](f1); p1[:1](p1, side='right')
ndarray.sort gpu/functions._sort_in_place,sorting.sort_in_place f1(); i2(axis=0)
ndarray.std direct,statistics:16 f1(); s2(axis=0)
ndarray.sum direct,reductions:16 f2(); f2(axis=0)
ndarray.take indexing:4 f1(q1); f2(q1, axis=0)
ndarray.trace direct f2()
ndarray.transpose direct.transposed f2(); f3(1, -1, 0)
ndarray.var direct,statistics:16 i1(); f2(axis=1)
polynomial.chebyshev.chebval layer:2 (f1, [1, 2, 3])
polynomial.chebyshev.chebvander layer (f1, 3)
polynomial.hermite.hermval layer:2 (f1, [1, 2, 3])
polynomial.hermite_e.hermeval layer:2 (f1, [1, 2, 3])
polynomial.laguerre.lagval layer:2 (f1, [1, 2, 3])
polynomial.legendre.legval layer:2 (f1, [1, 2, 3])
polynomial.polynomial.polyval layer:2 (f1, [1, 2, 3]); (f1, f2[:3, :3])
polynomial.polynomial.polyval2d layer (f1, p1, f2[:3, :3])
polynomial.polynomial.polyvander layer (f1, 3)
random.BitGenerator.random_raw gpu/random:d1 -
random.Generator.beta draws/random_streams:4p2 (2, 3, S)
random.Generator.binomial draws/random_streams:4p2 (10, 0.3, S)
random.Generator.bytes gpu/random:d0 -
random.Generator.chisquare draws/random_streams:4p1 (3, S)
random.Generator.choice draws/random_streams:4p1 (9, S); (f1, S)
random.Generator.exponential draws/random_streams:4p1 (2, S)
random.Generator.f draws/random_streams:4p2 (3, 4, S)
random.Generator.gamma draws/random_streams:4p2 (3, 2, S)
random.Generator.geometric draws/random_streams:4p1 (0.2, S)
random.Generator.gumbel draws/random_streams:4p2 (1, 2, S)
random.Generator.hypergeometric draws/random_streams:4p3 (9, 8, 7, S)
random.Generator.integers gpu/random:d2,draws/random_streams:4d2 (0, 100, S);
    (9, size=T, dtype='i2', endpoint=True)
random.Generator.laplace draws/random_streams:4p2 (1, 2, S)
random.Generator.logistic draws/random_streams:4p2 (1, 2, S)
random.Generator.lognormal draws/random_streams:4p2 (1, 2, S)
random.Generator.logseries draws/random_streams:4p1 (0.6, S)
random.Generator.negative_binomial draws/random_streams:4p2 (3, 0.4, S)
random.Generator.noncentral_chisquare draws/random_streams:4p2 (3, 2, S)
random.Generator.noncentral_f draws/random_streams:4p3 (3, 4, 1, S)
random.Generator.normal draws/random_streams:4p2 (1, 2, S)
random.Generator.pareto draws/random_streams:4p1 (3, S)
random.Generator.permutation draws/random_streams:4d0 (S); (f1)
random.Generator.poisson draws/random_streams:4p1 (3, S)
random.Generator.power draws/random_streams:4p1 (3, S)
random.Generator.random gpu/random:d0,draws/random_streams:4d0 (S); (T, 'f4')
random.Generator.rayleigh draws/random_streams:4p1 (2, S)
random.Generator.shuffle draws/random_streams:4d0 (f1)
random.Generator.standard_cauchy draws/random_streams:4p0 (S)
random.Generator.standard_exponential draws/random_streams:4p0 (T, 'f4')
random.Generator.standard_gamma draws/random_streams:4p1 (2.5, S)
random.Generator.standard_normal draws/random_streams:4p0 (S)
random.Generator.standard_t draws/random_streams:4p1 (3, S)
random.Generator.triangular draws/random_streams:4p3 (1, 2, 4, S)
random.Generator.uniform draws/random_streams:4d2 (1, 2, S)
random.Generator.vonmises draws/random_streams:4p2 (1, 2, S)
random.Generator.wald draws/random_streams:4p2 (2, 3, S)
random.Generator.weibull draws/random_streams:4p1 (2, S)
random.Generator.zipf draws/random_streams:4p1 (3, S)
random.RandomState.choice draws/random_streams:4p1 (f1, S)
random.RandomState.exponential draws/random_streams:4p1 (2, S)
random.RandomState.gumbel draws/random_streams:4p2 (1, 2, S)
random.RandomState.laplace draws/random_streams:4p2 (1, 2, S)
random.RandomState.logistic draws/random_streams:4p2 (1, 2, S)
random.RandomState.normal draws/random_streams:4p2 (1, 2, S)
random.RandomState.permutation draws/random_streams:4d0 (S); (f1)
random.RandomState.poisson draws/random_streams:4p1 (3, S)
random.RandomState.rand draws/random_streams:4d-1 (20, 30)
random.RandomState.randint draws/random_streams:4d2 (0, 100, T, 'i4')
random.RandomState.randn draws/random_streams:4p-1 (S)
random.RandomState.random draws/random_streams:4d0 (S)
random.RandomState.random_sample draws/random_streams:4d0 (S)
random.RandomState.shuffle draws/random_streams:4d0 (f1)
random.RandomState.standard_exponential draws/random_streams:4p0 (S)
random.RandomState.standard_normal draws/random_streams:4p0 (S)
random.RandomState.triangular draws/random_streams:4p3 (1, 2, 4, S)
random.RandomState.uniform draws/random_streams:4d2 (1, 2, S)
ufunc.accumulate reductions._ufunc_accumulate:16 add(f1); multiply(p2, axis=1);
    maximum(i2); subtract(f1)
ufunc.at indexing._ufunc_at add(f1, q1, 2.5); add(i1, q1, q1); maximum(f1, q1, p1);
    negative(f1, q1); logical_or(b1, q1, b1); multiply(f2, q1[:5], 2.0); divide(f1, q1,
    p1)
ufunc.outer grids._ufunc_outer:4g multiply(f1[:150], p1[:160]); add(i1[:20], i1[:30]);
    less(f1[:150], f1[:150])
ufunc.reduce direct,reductions._ufunc_reduce:16 add(f1); add(i2, axis=1); multiply(p2);
    maximum(f2, axis=0); logical_or(b2); logical_and(f1); fmax(n1); bitwise_or(i1);
    subtract(f1); minimum(i1, axis=None); add(f2, axis=(0, 1))
"""
)


def find_row(module: str, name: str) -> Row | None:
    """Return the row of a function in a module of NumPy, or None."""
    return ROWS.get(f"{module}.{name}".removeprefix("numpy."))


def calls_of(name: str) -> Iterator[str]:
    """Yield the ordinary calls of a row, as lines of Python."""
    owner, _, method = name.partition(".")
    for call in ROWS[name].calls:
        first, _, arguments = call.partition("(")
        if owner == "ndarray":
            yield f"{first}.{method}({arguments}"
        elif owner == "random":
            new = {"Generator": "default_rng"}.get(
                method.partition(".")[0], "RandomState"
            )
            yield f"np.random.{new}(1).{method.partition('.')[2]}{call}"
        elif owner == "ufunc":
            yield f"np.{first}.{method}({arguments}"
        else:
            yield f"np.{name}{call}"
