"""scipy: algorithms of science and engineering."""

import numpy as np
from scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)

# The mean of spectra depends on the alignment of memory.
TOLERANCES = {"signals": 1e-15}


def _matrix(x):
    return x[:36].reshape(6, 6) + 3 * np.eye(6)


def linear_algebra(x):
    m = _matrix(x)
    lu = linalg.lu_factor(m)
    return (
        linalg.solve(m, m[0]),
        linalg.inv(m),
        linalg.svdvals(m),
        linalg.lu_solve(lu, m[1]),
        linalg.expm(m / 9),
    )


def decompositions(x):
    m = _matrix(x)
    return (
        linalg.cholesky(m @ m.T),
        linalg.eigh(m + m.T)[0],
        linalg.qr(m)[1],
        linalg.get_blas_funcs("gemm", (m,))(1.0, m, m),
    )


def optimization(x):
    t = np.linspace(0, 1, x.size)
    fit, _ = optimize.curve_fit(lambda t, a, b: a * t + b, t, x)
    least = optimize.least_squares(lambda p: p[0] * t - x, [1.0])
    small = optimize.minimize(
        optimize.rosen, x[:3], method="BFGS", jac=optimize.rosen_der
    )
    root = optimize.root(lambda v: v**3 - x[:3], x[:3] + 1)
    return fit, least.x, small.x, root.x, optimize.brentq(lambda v: v - x[1], -1, 2)


def assignment_and_programming(x):
    _, columns = optimize.linear_sum_assignment(x[:36].reshape(6, 6))
    lp = optimize.linprog(x[:4], A_ub=-x[4:12].reshape(2, 4), b_ub=-np.ones(2))
    return columns, lp.x, optimize.nnls(x[:12].reshape(4, 3), x[:4])[0]


def sparse_matrices(x):
    m = sparse.csr_matrix(np.where(x > 0.8, x, 0).reshape(-1, 4))
    rows = np.arange(x.size)
    coo = sparse.coo_array((x, (rows, rows[::-1])), shape=(x.size, x.size)).tocsr()
    v = x[:4]
    return (
        m @ v,
        (m.T @ m).toarray(),
        coo @ x,
        m.toarray(),
        m[np.array([1, 3])].toarray(),
        m.multiply(v).toarray(),
    )


def operators_with_sparse(x):
    m = sparse.csr_array(np.where(x > 0.8, x, 0).reshape(-1, 4))
    return (
        x[: m.shape[0]] @ m,
        x[:4] * m.toarray(),
        (m * 2.0).toarray(),
        sparse.diags(x) @ x,
    )


def sparse_solvers(small):
    a = sparse.diags_array(
        [small[:-1], small + 4, small[:-1]], offsets=[-1, 0, 1]
    ).tocsc()
    from scipy.sparse.linalg import cg, eigsh, spsolve

    return spsolve(a, small), cg(a, small)[0], eigsh(a, k=2, v0=small)[0]


def interpolation(x):
    t = np.arange(float(x.size))
    cubic = interpolate.CubicSpline(t, x)
    grid = interpolate.RegularGridInterpolator(
        (np.arange(6), np.arange(6)), x[:36].reshape(6, 6)
    )
    return (
        interpolate.interp1d(t, x)(t[:-1] + 0.5),
        cubic(t[:9] + 0.25),
        interpolate.make_interp_spline(t, x)(t[:4]),
        grid(np.array([[1.5, 2.5]])),
        interpolate.UnivariateSpline(t[:50], x[:50])(t[:5]),
    )


def integration(x):
    solution = integrate.solve_ivp(lambda t, y: -x[:3] * y, (0, 1), np.ones(3))
    return (
        solution.y,
        integrate.trapezoid(x),
        integrate.simpson(x),
        integrate.quad(lambda t: t * x[1], 0, 1)[0],
        integrate.odeint(lambda y, t: -y, x[:2], np.linspace(0, 1, 5)),
    )


def signals(x):
    b, a = signal.butter(3, 0.2)
    return (
        signal.lfilter(b, a, x),
        signal.filtfilt(b, a, x),
        signal.find_peaks(x)[0],
        signal.welch(x, nperseg=16)[1],
        signal.convolve(x, x[:5]),
        signal.savgol_filter(x, 5, 2),
        signal.resample(x, 50),
        signal.medfilt(x, 3),
    )


def images(x):
    m = x.reshape(-1, 4)
    labels, count = ndimage.label(m > 0.6)
    return (
        ndimage.gaussian_filter(m, 1.0),
        ndimage.zoom(m[:20], 2),
        labels,
        ndimage.center_of_mass(m),
        ndimage.map_coordinates(m, np.array([[0.5, 1.5], [1.0, 2.0]])),
        ndimage.sum_labels(m, labels, np.arange(1, count + 1)),
        ndimage.median_filter(m, 3),
        ndimage.distance_transform_edt(m > 0.2),
    )


def statistics(x):
    return (
        stats.ttest_ind(x[:30], x[30:])[1],
        stats.norm.fit(x),
        stats.norm.pdf(x),
        stats.gaussian_kde(x[:50])(x[:5]),
        stats.rankdata(x),
        stats.spearmanr(x, x**2)[0],
        stats.zscore(x),
        stats.linregress(np.arange(x.size), x).slope,
        stats.ks_2samp(x[:30], x[30:]).pvalue,
        stats.entropy(x),
    )


def random_variates(small):
    rng = np.random.default_rng(3)
    return stats.norm.rvs(size=5, random_state=rng), stats.multivariate_normal(
        np.zeros(2), np.eye(2)
    ).rvs(3, random_state=np.random.RandomState(4))


def special_functions(x):
    return (
        special.gamma(x + 1),
        special.erf(x),
        special.expit(x),
        special.logsumexp(x),
        special.jv(1, x),
        special.comb(5, np.arange(5)),
    )


def spatial_trees(x):
    points = x.reshape(-1, 2)
    tree = spatial.cKDTree(points)
    return (
        tree.query(points[:9] + 0.01, k=3),
        sorted(tree.query_ball_point([0.5, 0.5], 0.1)),
        spatial.distance.cdist(points[:5], points[:7]),
        spatial.distance.pdist(points[:6]),
        spatial.ConvexHull(points).vertices,
        spatial.Delaunay(points[:30]).simplices,
    )


def rotations(small):
    r = spatial.transform.Rotation.from_rotvec(small[:3])
    return r.apply(small[:9].reshape(3, 3)), r.as_matrix(), r.as_quat()


def clustering(small):
    points = small.reshape(-1, 2)
    z = cluster.hierarchy.linkage(points, "average")
    return (
        z,
        cluster.hierarchy.fcluster(z, 3, "maxclust"),
        cluster.vq.kmeans2(points, points[:3], minit="matrix")[1],
    )


def fourier(x):
    return (
        fft.fft(x),
        fft.rfft(x.astype(np.float32)),
        fft.dct(x),
        fft.irfft(fft.rfft(x)),
        fft.fftfreq(8),
    )


def files(x):
    import io

    from scipy.io import loadmat, savemat, wavfile

    buffer = io.BytesIO()
    savemat(buffer, {"x": x, "m": x.reshape(-1, 4)})
    sound = io.BytesIO()
    wavfile.write(sound, 8000, (x * 30000).astype(np.int16))
    return loadmat(buffer)["m"], wavfile.read(sound)[1]


def shared_output(x):
    m = x.reshape(-1, 4)
    before = m + 1
    ndimage.gaussian_filter(m, 1.0, output=m)
    after = m + 1
    linalg.solve(_matrix(x), x[:6], overwrite_b=True)
    return before, after, m


def shared_out(x):
    out = np.zeros_like(x)
    before = out + 1
    special.erf(x, out)
    special.expit(x, out=out)
    return before, out, out * 2


def shared_sparse_data(x):
    m = sparse.csr_array((x, np.arange(x.size), np.array([0, x.size])))
    x[0] = 5
    return m.data is x, m.sum(), (m * 2).data


def error_singular(small):
    return linalg.inv(np.zeros((3, 3)))
