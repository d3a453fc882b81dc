"""The table of the compiled functions whose large calls are divided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import elements, filters, rows


class Row(NamedTuple):
    """
    A compiled function, or several with the same parameters.

    Attributes
    ----------
    module : str
        The module that has them.
    names : str
        Their names. ``"ufuncs"`` stands for the ufuncs of the module.
    divide : callable
        Takes an `Entry` and the arguments of a call. It returns the result of the
        call, or NotImplemented.
    grain : int
        The least number of elements, or steps of work, for a thread.
    sample : str
        A call of SciPy that is divided, over arrays that the tests have.
    least : int, optional
        The elements of the largest array, from which a call is looked at. By default
        they are those of two threads.
    """

    module: str
    names: str
    divide: Callable[..., Any]
    grain: int
    sample: str
    least: int = 0


# Ufuncs that warn of numbers that are not integers. They would name a line of mxnp.
NOT_DIVIDED = {
    *("_ellip_harm", "_smirnovc", "_smirnovci", "_smirnovp", "bdtr", "bdtrc", "bdtri"),
    *("expn", "kn", "nbdtr", "nbdtrc", "nbdtri", "pdtri", "smirnov", "smirnovi", "yn"),
    "sph_harm",  # until SciPy 1.16
}

_ND = "scipy.ndimage._nd_image"
_FFT = (
    "scipy.fft._pocketfft.pypocketfft",
    "scipy.fft._duccfft.pyduccfft",  # from SciPy 1.18 on
)

# fmt: off
ROWS = (
    Row("scipy.special._ufuncs", "ufuncs", elements.divide, 2**15,
        "special.gammainc(image, 2.0)"),
    Row("scipy.special._special_ufuncs", "ufuncs", elements.divide, 2**15,
        "special.j0(image)"),
    Row(_ND, "correlate1d", filters.lines(axis=2, output=3), 2**16,
        "ndimage.gaussian_filter(image, 2)"),
    Row(_ND, "uniform_filter1d", filters.lines(axis=2, output=3), 2**16,
        "ndimage.uniform_filter(image, 9)"),
    Row(_ND, "min_or_max_filter1d", filters.lines(axis=2, output=3), 2**16,
        "ndimage.maximum_filter(image, 7)"),
    Row(_ND, "spline_filter1d", filters.lines(axis=2, output=3), 2**16,
        "ndimage.spline_filter(image)"),
    Row(_ND, "correlate",
        filters.neighbourhoods(filters.Places(1, 2, 5), mode=3), 2**19,
        "ndimage.convolve(image, kernel)", 2**11),
    Row(_ND, "min_or_max_filter",
        filters.neighbourhoods(filters.Places(1, 3, 6), mode=4), 2**18,
        "ndimage.grey_erosion(image, structure=kernel)", 2**11),
    Row(_ND, "rank_filter",
        filters.neighbourhoods(filters.Places(2, 3, 6), mode=4), 2**15,
        "ndimage.median_filter(image, 5)", 2**11),
    Row("scipy.spatial._distance_pybind",
        "cdist_braycurtis cdist_canberra cdist_chebyshev cdist_cityblock cdist_dice "
        "cdist_euclidean cdist_hamming cdist_jaccard cdist_minkowski "
        "cdist_rogerstanimoto cdist_russellrao cdist_sokalsneath cdist_sqeuclidean "
        "cdist_yule",
        rows.distances, 2**19,
        "distance.cdist(points, points)", 2**10),
    Row("scipy.spatial._distance_wrap",
        "cdist_cosine_double_wrap cdist_jensenshannon_double_wrap "
        "cdist_mahalanobis_double_wrap cdist_seuclidean_double_wrap",
        rows.distances, 2**19,
        "distance.cdist(points, points, 'cosine')", 2**10),
    Row(_ND, "binary_erosion", filters.erosion, 2**19,
        "ndimage.binary_erosion(image > 0.3)", 2**11),
    Row(_ND, "geometric_transform", filters.transform, 2**13,
        "ndimage.rotate(image, 30)"),
    Row(_ND, "zoom_shift", filters.zoom, 2**13, "ndimage.zoom(image, 1.5)"),
    Row("scipy.signal._sigtools", "_linear_filter", rows.linear_filter, 2**17,
        "signal.lfilter([1, 0.5], [1, -0.3], lines)"),
    Row("scipy.signal._sigtools", "_medfilt2d", filters.windows, 2**15,
        "signal.medfilt2d(image, 5)", 2**11),
    Row("scipy.signal._sosfilt", "_sosfilt", rows.sections, 2**16,
        "signal.sosfilt(signal.butter(4, 0.2, output='sos'), lines)", 2**14),
    Row("scipy.signal._upfirdn_apply", "_apply",
        filters.lines(axis=5, output=2, is_result=True), 2**14,
        "signal.resample_poly(lines, 3, 2, axis=1)"),
    Row("scipy.sparse._sparsetools", "csr_matvec csr_matvecs", rows.matrix_rows, 2**18,
        "sparse.csr_array(image) @ image[0]", 2**14),
    Row("scipy.spatial._ckdtree", "cKDTree.query",
        rows.tree_workers("k eps p distance_upper_bound workers"), 2**10,
        "spatial.KDTree(points).query(points, 3)", 2**10),
    Row("scipy.spatial._ckdtree", "cKDTree.query_ball_point",
        rows.tree_workers("r p eps workers return_sorted return_length"), 2**10,
        "spatial.KDTree(points).query_ball_point(points, 0.5)", 2**10),
    Row("scipy.interpolate._rbfinterp_pythran", "_build_evaluation_coefficients",
        rows.coefficients, 2**14,
        "interpolate.RBFInterpolator(points[:30], points[:30])(points)", 2**9),
    Row("numpy._core._multiarray_umath", "interp", rows.linear, 2**15,
        "interpolate.interp1d(points[:9, 0].cumsum(), points[:9, 1])(image * 3 + 1)"),
    *(Row(module, "c2c r2c c2r r2r_fftpack", rows.workers(-1), 2**17,
          "fft.rfft2(image)", 2**17) for module in _FFT),
    *(Row(module, "dct dst", rows.workers(-2), 2**17,
          "fft.dctn(image)", 2**17) for module in _FFT),
)
# fmt: on
