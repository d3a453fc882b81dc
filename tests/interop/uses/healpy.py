"""healpy: maps of the sphere."""

import healpy as hp
import numpy as np

TOLERANCES = {"harmonics": 1e-10}


def pixels(x):
    return (
        hp.ang2pix(8, x, x * 2),
        hp.pix2vec(8, np.arange(20)),
        hp.vec2ang(np.array([1.0, 0, 0])),
        hp.query_disc(8, np.array([1.0, 0, 0]), 0.3),
    )


def maps(large):
    m = large[: 12 * 16 * 16]
    return (
        hp.ud_grade(m, 8),
        hp.reorder(m, r2n=True),
        hp.get_interp_val(m, large[:5], large[:5]),
        hp.smoothing(m, 0.1).shape,
    )


def harmonics(large):
    m = large[: 12 * 8 * 8]
    alm = hp.map2alm(m, lmax=10)
    return alm, hp.alm2cl(alm), hp.alm2map(alm, 8), hp.anafast(m, lmax=5)
