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
        The least number of elements, or steps of work, for a thread, unless `GRAINS`
        has another one.
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

# Ufuncs that take 0.15 microseconds and more, or 5 and more, for an element.
_SLOW = """
    airy airye bdtrik bdtrin bei beip ber berp besselpoly betainc betaincc
    betainccinv betaincinv btdtria btdtrib chdtr chdtrc chdtri chdtriv chndtr
    chndtrix ellipeinc ellipj ellipkinc elliprd elliprf elliprg elliprj
    eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_gegenbauer
    eval_genlaguerre eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt
    eval_sh_chebyu eval_sh_jacobi eval_sh_legendre exp1 expi fdtr fdtrc fdtri
    fdtridfd gammainc gammaincc gammainccinv gammaincinv gdtr gdtrc gdtria gdtrix
    hankel1 hankel1e hankel2 hankel2e hyp0f1 hyp1f1 hyp2f1 it2i0k0 it2j0y0
    it2struve0 itairy iti0k0 itj0y0 itmodstruve0 itstruve0 iv ive jn jv jve kei
    keip kelvin ker kerp kolmogi kv kve mathieu_a mathieu_b mathieu_cem
    mathieu_sem modfresnelm modfresnelp nbdtrik nbdtrin ncfdtr ncfdtridfd
    ncfdtridfn ncfdtrinc nctdtr nctdtridf owens_t pbvv pbwa pdtr pdtrc pdtrik
    shichi stdtr stdtridf stdtrit tklmbda voigt_profile yv yve
"""
_SLOWEST = """
    chndtridf chndtrinc gdtrib hyperu log_wright_bessel mathieu_modcem1
    mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 modstruve ncfdtri nctdtrinc
    nctdtrit obl_ang1 obl_ang1_cv obl_cv obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv
    pbdv pro_ang1 pro_ang1_cv pro_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv
    struve wright_bessel
"""
GRAINS = dict.fromkeys(_SLOW.split(), 2**11) | dict.fromkeys(_SLOWEST.split(), 2**9)

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
        "special.gammaln(image)"),
    Row(_ND, "correlate1d",
        filters.lines(axis=2, output=3, taps=lambda args: args[1].size), 2**16,
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
        filters.lines(axis=5, output=2, is_result=True,
                      taps=lambda args: args[1].size // args[3]), 2**14,
        "signal.resample_poly(lines, 3, 2, axis=1)"),
    Row("scipy.sparse._sparsetools", "csr_matvec csr_matvecs", rows.matrix_rows, 2**18,
        "sparse.csr_array(image) @ image[0]", 2**14),
    Row("scipy.spatial._ckdtree", "cKDTree.query",
        rows.tree_workers("k eps p distance_upper_bound workers"), 2**10,
        "spatial.KDTree(points).query(points, 3)", 2**10),
    Row("scipy.spatial._ckdtree", "cKDTree.query_ball_point",
        rows.tree_workers("r p eps workers return_sorted return_length"), 2**10,
        "spatial.KDTree(points).query_ball_point(points, 0.5)", 2**10),
    Row("numpy._core._multiarray_umath", "interp", rows.linear, 2**15,
        "interpolate.interp1d(points[:9, 0].cumsum(), points[:9, 1])(image * 3 + 1)"),
    *(Row(module, "c2c r2c c2r r2r_fftpack", rows.workers(-1), 2**17,
          "fft.rfft2(image)", 2**17) for module in _FFT),
    *(Row(module, "dct dst", rows.workers(-2), 2**17,
          "fft.dctn(image)", 2**17) for module in _FFT),
)
# fmt: on
