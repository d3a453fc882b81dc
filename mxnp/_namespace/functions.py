"""The table of NumPy's functions that run as NumPy's own code over mxnp's arrays.

`mxnp._numpy_layer` executes the code. A function that also has a recorded form runs as
NumPy's code where that form declines. Functions that only return views are not in the
table: they are fast in NumPy.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A function that runs as NumPy's own code."""

    threshold_factor: int  # the multiple of the threshold from which a call is large
    size_rule: str  # what is large: see `Function.size_rule`
    calls: tuple[str, ...]  # ordinary calls, as the tests make them


def _read(table: str) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for line in table.strip().splitlines():
        name, size, calls = line.split(maxsplit=2)
        factor, rule = size.rstrip("snm"), size[-1] if size[-1] in "snm" else "a"
        rows[f"numpy.{name}"] = Row(int(factor), rule, tuple(calls.split("; ")))
    return rows


# By qualified name. With "s" after the factor, the size is that of the shape in the
# first argument, with "n" its square, and with "m" only stacks are large. In the calls,
# the letter of an array names its elements and the digit the number of axes: f has
# floats, p positive ones, n NaN too, q small integers, b bools and c complex numbers.
ROWS = _read("""
allclose 2 (f1, f1); (f1, p1); (n1, n1, equal_nan=True)
angle 1 (c1); (c2, deg=True)
append 16 (f1, f1); (f2, f2, axis=0)
argwhere 2 (b2); (f2 > 0.5)
array_equal 1 (f1, f1); (f1, p1); (n1, n1, equal_nan=True)
array_equiv 2 (f1, f1); (f2, f2[:1])
average 16 (f1); (f1, weights=p1); (f2, 1, returned=True)
block 16 ([[f2, p2], [p2, f2]]); ([f1, p1])
column_stack 16 ((f1, f1)); ((f2, f2[:, 0]))
convolve 4 (f1, p1[:5]); (f1, p1[:4], 'same'); (f1[:50], p1[:5], 'valid')
correlate 4 (f1, p1[:5], 'same'); (f1, p1[:20], 'full'); (f1, p1[:9])
cross 4 (f2[:, :3], p2[:, :3]); (f1[:3], f1[:3])
cumulative_prod 4 (p1); (p2, axis=1)
cumulative_sum 4 (f1, include_initial=True); (f2, axis=0)
delete 64 (f1, q1); (f1, 3); (f2, slice(1, 4, 2), axis=1); (f1, [1, 2])
diff 16 (f1); (i2, axis=0); (f1, 3); (f1, prepend=0)
digitize 2 (f1, [0.0, 1.0, 2.0]); (f1, p1.cumsum(), right=True)
dstack 16 ([f1, f1]); ([f2, p2])
ediff1d 64 (f1); (f1, to_end=[1.0, 2.0])
einsum 16 ('ij,jk->ik', f2, p2); ('ij,ij->i', f2, p2); ('ii', f2)
fix 8 (f1)
flatnonzero 1 (f1); (b1)
gradient 1 (f1); (f2); (f1, 2.0); (f2, axis=1, edge_order=2)
histogram2d 1 (f1, p1, 5)
histogramdd 2 (f2[:, :3], 4)
i0 1 (f1)
insert 64 (f1, 1, 2.0); (f2, [3, 4], 1.0, axis=1)
interp 4 (f1, [0, 1, 2], [3, 4, 5]); (f1, p1[:3].cumsum(), p1[:3], period=2.0)
intersect1d 1 (i1, i1); (i1, q1, return_indices=True)
iscomplex 16 (c1)
isclose 8 (f1, f1); (n1, n1, equal_nan=True); (f1, 0.25)
isin 16 (i1, [1, 3]); (f1, p1[:5], invert=True); (q1, q1[:3])
isneginf 32 (n1)
isposinf 32 (n1)
isreal 16 (c1)
kron 8 (f2[:5], p2[:4])
matmul 8m (f3, f3); (f3, f3[:1, :, :2]); (f2, f3)
median 8 (f1); (f2, axis=0); (f2, axis=1, keepdims=True)
nan_to_num 16 (n1); (f1); (n2, nan=1.5)
nanargmax 16 (n1); (f2, axis=0)
nanargmin 32 (n1); (f2, axis=1)
nancumprod 1 (n1)
nancumsum 1 (n1); (f2, axis=1)
nanmax 16 (n1); (f2, axis=0)
nanmean 16 (f1); (n2, axis=1)
nanmin 16 (n1); (f2, axis=0)
nanprod 16 (p1); (n1)
nanstd 16 (f1); (f2, axis=0)
nansum 16 (n1); (f2, axis=0)
nanvar 16 (f1); (n2, axis=0, ddof=1)
pad 16 (f1, 2); (f2, 2, mode='reflect'); (f2, ((1, 2), (0, 1)), mode='edge')
percentile 8 (f1, 50); (f2, [10, 90], axis=1)
piecewise 1 (f1, [b1], [1, 2]); (f1, [f1 < 1, f1 >= 1], [0.0, 1.0])
polyadd 16 (f1, p1[:5])
polyfit 1 (f1, p1, 2)
polymul 2 (f1, p1[:5])
polyval 1 ([1, 2, 3, 4], f1); (p1[:3], f2)
ptp 16 (f2); (i2, axis=0)
put_along_axis 1 (f2, q2, f2, 0); (f2, q2, 1.5, 1)
quantile 8 (f1, 0.5); (f2, 0.5, axis=0, method='nearest')
real_if_close 8 (c1); (f1 + 0j)
resize 8 (f1, 20); (f2, (3, 7))
select 1 ([b1, b1], [f1, i1]); ([b1], [f1], 5)
setdiff1d 1 (i1, [1]); (q1, q1[:2])
setxor1d 1 (i1, q1)
sinc 1 (f1)
take_along_axis 1 (f2, q2, 1)
tensordot 4 (p2, p2); (f3, p3, ((0, 1), (0, 1)))
tile 8 (f1, 3); (i2, (2, 1))
trapezoid 1 (f1); (f1, p1.cumsum()); (f2, axis=0)
tri 4n (100); (120, 90, 1, 'i4')
tril 1 (f2); (i2, 1)
trim_zeros 1 (f1)
triu 1 (f2); (i2, -1)
union1d 1 (i1, u1); (f1, p1)
unwrap 1 (f1); (f2, axis=0)
fft.fft 4 (f2); (f2, axis=0); (c2, norm='ortho')
fft.fft2 4 (f2)
fft.fftn 4 (f3)
fft.fftfreq 2s (S); (S, 0.5)
fft.fftshift 16 (f1); (f2, axes=0)
fft.hfft 4 (c2)
fft.ifft 4 (c2); (f2, 7, 0)
fft.ifft2 4 (c2)
fft.ifftn 4 (f3)
fft.ihfft 4 (f2)
fft.irfft 4 (c2)
fft.irfft2 4 (c2)
fft.irfftn 4 (c3)
fft.rfft 4 (f2)
fft.rfftfreq 2s (S)
fft.rfft2 4 (f2)
fft.rfftn 4 (f3)
fft.ifftshift 16 (f2)
lib.scimath.arccos 8 (f1)
lib.scimath.log 16 (f1); (p1)
lib.scimath.power 4 (f1, 2)
lib.scimath.sqrt 4 (f1); (p1)
linalg.cholesky 1 (np.eye(3) + f3[:, :3, :3] * 0)
linalg.cond 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.cross 4 (f2[:, :3], p2[:, :3])
linalg.det 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.eig 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.eigh 1 (p2[:3, :3]); (p3[:, :3, :3], 'U')
linalg.eigvals 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.eigvalsh 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.inv 1 (f2[:2, :2]); (np.eye(3) + f3[:, :3, :3] * 0)
linalg.matrix_norm 16 (f3)
linalg.matrix_power 1 (p2[:5, :5], 3)
linalg.multi_dot 4 ((f2, p2.T, f2))
linalg.matrix_rank 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.norm 16 (f1); (f2, axis=1); (f2); (f1, 1); (f2, 'fro')
linalg.pinv 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.qr 1 (f2[:5, :5]); (f3[:, :5, :5])
linalg.slogdet 1 (p2[:3, :3]); (p3[:, :3, :3])
linalg.solve 1 (f2[:2, :2], p1[:2]); (f3[:, :2, :2], p3[:, :2, :2])
linalg.svd 1 (f2[:5, :5]); (f3[:, :5, :5], False)
linalg.svdvals 1 (f3[:, :5, :5])
linalg.vector_norm 32 (f1); (f2, axis=0, ord=3)
polynomial.chebyshev.chebval 1 (f1, [1, 2, 3])
polynomial.chebyshev.chebvander 1 (f1, 3)
polynomial.hermite.hermval 1 (f1, [1, 2, 3])
polynomial.hermite_e.hermeval 1 (f1, [1, 2, 3])
polynomial.laguerre.lagval 1 (f1, [1, 2, 3])
polynomial.legendre.legval 1 (f1, [1, 2, 3])
polynomial.polynomial.polyval 1 (f1, [1, 2, 3]); (f1, f2[:3, :3])
polynomial.polynomial.polyval2d 1 (f1, p1, f2[:3, :3])
polynomial.polynomial.polyvander 1 (f1, 3)
""")
