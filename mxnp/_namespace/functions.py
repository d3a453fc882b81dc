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
    calls: tuple[str, ...]  # ordinary calls, as the tests make them


def _read(table: str) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    for line in table.strip().splitlines():
        name, factor, calls = line.split(maxsplit=2)
        rows[f"numpy.{name}"] = Row(int(factor), tuple(calls.split("; ")))
    return rows


# By qualified name. The letter of an array names its values and the digit its axes: f
# floats, p positive ones, n with NaN, q small integers, b bools, c complex numbers.
ROWS = _read("""
allclose 1 (f1, f1); (f1, p1); (n1, n1, equal_nan=True)
angle 1 (c1); (c2, deg=True)
append 1 (f1, f1); (f2, f2, axis=0)
apply_along_axis 1 (np.sum, 0, f2[:5])
apply_over_axes 1 (np.sum, f3, [0, 2])
argwhere 1 (b2); (f2 > 0.5)
array_equal 1 (f1, f1); (f1, p1); (n1, n1, equal_nan=True)
array_equiv 1 (f1, f1); (f2, f2[:1])
average 1 (f1); (f1, weights=p1); (f2, 1, returned=True)
block 1 ([[f2, p2], [p2, f2]]); ([f1, p1])
column_stack 1 ((f1, f1)); ((f2, f2[:, 0]))
convolve 1 (f1, p1[:5]); (f1[:50], p1[:5], 'valid')
corrcoef 1 (f1, p1); (f2[:5])
correlate 1 (f1, p1[:5], 'same'); (f1[:50], p1[:5])
cov 1 (f2[:5]); (f1, p1); (f2[:5], ddof=0)
cross 1 (f1[:30].reshape(-1, 3), p1[:30].reshape(-1, 3)); (f1[:3], f1[:3])
cumulative_prod 1 (p1); (p2, axis=1)
cumulative_sum 1 (f1, include_initial=True); (f2, axis=0)
delete 1 (f1, q1); (f1, 3); (f2, slice(1, 4, 2), axis=1); (f1, [1, 2])
diff 1 (f1); (i2, axis=0); (f1, 3); (f1, prepend=0)
digitize 1 (f1, [0.0, 1.0, 2.0]); (f1, p1.cumsum(), right=True)
dstack 1 ([f1, f1]); ([f2, p2])
ediff1d 1 (f1); (f1, to_end=[1.0, 2.0])
einsum 1 ('i,i', p1, p1); ('ij,ij->i', f2, p2); ('ij->ji', f2)
extract 1 (b1, f1)
fix 1 (f1)
flatnonzero 1 (f1); (b1)
gradient 1 (f1); (f2); (f1, 2.0); (f2, axis=1, edge_order=2)
histogram 1 (f1); (s1, 7, (-1, 4)); (f1, 5, weights=p1); (f1, [-2, 0, 1], density=True)
histogram2d 1 (f1, p1, 5)
histogram_bin_edges 1 (f1); (f1, 'auto')
histogramdd 1 (f1[:30].reshape(-1, 3), 4)
i0 1 (f1)
insert 1 (f1, 1, 2.0); (f2, [3, 4], 1.0, axis=1)
interp 1 (f1, [0, 1, 2], [3, 4, 5]); (f1, p1[:3].cumsum(), p1[:3], period=2.0)
intersect1d 1 (i1, i1); (i1, q1, return_indices=True)
iscomplex 1 (c1)
isclose 1 (f1, f1); (n1, n1, equal_nan=True); (f1, 0.25)
isin 1 (i1, [1, 3]); (f1, p1[:5], invert=True); (q1, q1[:3])
isneginf 1 (n1)
isposinf 1 (n1)
isreal 1 (c1)
kron 1 (f2[:5], p2[:4])
median 1 (f1); (f2, axis=0); (f2, axis=1, keepdims=True)
nan_to_num 1 (n1); (f1); (n2, nan=1.5)
nanargmax 1 (n1); (f2, axis=0)
nanargmin 1 (n1); (f2, axis=1)
nancumprod 1 (n1)
nancumsum 1 (n1); (f2, axis=1)
nanmax 1 (n1); (f2, axis=0)
nanmean 1 (f1); (n2, axis=1)
nanmedian 1 (n1); (n2, axis=0)
nanmin 1 (n1); (f2, axis=0)
nanpercentile 1 (n1, 90)
nanprod 1 (p1); (n1)
nanquantile 1 (n1, 0.25)
nanstd 1 (f1); (f2, axis=0)
nansum 1 (n1); (f2, axis=0)
nanvar 1 (f1); (n2, axis=0, ddof=1)
pad 1 (f1, 2); (f2, 2, mode='reflect'); (f2, ((1, 2), (0, 1)), mode='edge')
percentile 1 (f1, 50); (f2, [10, 90], axis=1)
piecewise 1 (f1, [b1], [1, 2]); (f1, [f1 < 1, f1 >= 1], [0.0, 1.0])
polyadd 1 (f1, p1[:5])
polyfit 1 (f1, p1, 2)
polymul 1 (f1, p1[:5])
polyval 1 ([1, 2, 3, 4], f1); (p1[:3], f2)
ptp 1 (f2); (i2, axis=0)
put_along_axis 1 (f2, q2, f2, 0); (f2, q2, 1.5, 1)
quantile 1 (f1, 0.5); (f2, 0.5, axis=0, method='nearest')
real_if_close 1 (c1); (f1 + 0j)
resize 1 (f1, 20); (f2, (3, 7))
roll 1 (f1, 3); (f2, (1, 2), (0, 1)); (f2, 1)
select 1 ([b1, b1], [f1, i1]); ([b1], [f1], 5)
setdiff1d 1 (i1, [1]); (q1, q1[:2])
setxor1d 1 (i1, q1)
sinc 1 (f1)
take_along_axis 1 (f2, q2, 1)
tensordot 1 (p2, p2); (f3, p3, ((0, 1), (0, 1)))
tile 1 (f1, 3); (i2, (2, 1))
trapezoid 1 (f1); (f1, p1.cumsum()); (f2, axis=0)
tril 1 (f2); (i2, 1)
trim_zeros 1 (f1)
triu 1 (f2); (i2, -1)
union1d 1 (i1, u1); (f1, p1)
unique 1 (i1); (f1); (q2, return_inverse=True); (f1, return_index=True)
unwrap 1 (f1); (f2, axis=0)
vander 1 (f1[:50]); (f1, 3)
fft.fftshift 1 (f1); (f2, axes=0)
fft.ifftshift 1 (f2)
lib.scimath.arccos 1 (f1)
lib.scimath.log 1 (f1); (p1)
lib.scimath.power 1 (f1, 2)
lib.scimath.sqrt 1 (f1); (p1)
linalg.cond 1 (p2[:3, :3])
linalg.cross 1 (f1[:30].reshape(-1, 3), p1[:30].reshape(-1, 3))
linalg.matrix_norm 1 (f3)
linalg.matrix_power 1 (p2[:5, :5], 3)
linalg.multi_dot 1 ((f2, p2.T, f2))
linalg.norm 1 (f1); (f2, axis=1); (f2); (f1, 1); (f2, 'fro')
linalg.vector_norm 1 (f1); (f2, axis=0, ord=3)
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
