"""SciPy's compiled functions, which want NumPy's memory, take our arrays."""

import numpy as np
from scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    io,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)
from scipy.sparse import linalg as splinalg

rng = np.random.default_rng(2)
x = np.linspace(0, 10, 50)
y = np.sin(x) + 0.1 * rng.normal(size=50)

print("interpolate")
print(interpolate.interp1d(x, y)(np.array([1.5, 2.5])), interpolate.interp1d(x, y, kind="cubic")(3.3))
print(
    interpolate.CubicSpline(x, y)(np.arange(3.0)),
    interpolate.splev(np.arange(3.0), interpolate.splrep(x, y, s=1)),
)
print(interpolate.UnivariateSpline(x, y, s=1).get_knots(), interpolate.PchipInterpolator(x, y)(1.0))
print(interpolate.griddata(rng.random((20, 2)), np.arange(20.0), np.array([[0.5, 0.5]])))
print(interpolate.RegularGridInterpolator((x, x), np.outer(y, y))(np.array([[1.0, 2.0]])))

print("optimize")
print(optimize.minimize(lambda p: np.sum((p - np.arange(3)) ** 2), np.zeros(3)).x.round(5))
print(optimize.minimize(lambda p: ((p - 1) ** 2).sum(), np.zeros(2), method="Nelder-Mead").x.round(3))
found = optimize.minimize(optimize.rosen, np.array([1.3, 0.7]), jac=optimize.rosen_der, method="L-BFGS-B")
print(found.x.round(4), found.success)
values, covariance = optimize.curve_fit(lambda t, a, b: a * np.sin(b * t), x, y, p0=np.array([0.8, 1.1]))
print(values.round(6), np.sqrt(np.diag(covariance)).round(6))
print(optimize.root(lambda p: np.array([p[0] + p[1] - 3, p[0] * p[1] - 2]), np.array([0.0, 3.0])).x.round(6))
print(
    optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * x) - np.exp(-x), np.array([2.0, 0.5])).x.round(6)
)
print(optimize.brentq(lambda t: np.cos(t) - t, 0, 1), optimize.newton(lambda t: t**2 - 2, 1.0))
print(optimize.linprog(np.array([-1.0, -2.0]), A_ub=np.array([[1.0, 1.0]]), b_ub=np.array([4.0])).x)
print(optimize.linear_sum_assignment(np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])))
print(
    optimize.nnls(np.eye(3), np.array([1.0, -1.0, 2.0])),
    optimize.fsolve(lambda v: v**2 - np.array([1.0, 4.0]), [1, 1]),
)
print(optimize.differential_evolution(lambda p: np.sum(p**2), [(-1, 1), (-2, 2)], seed=1).fun < 1e-6)
print(
    optimize.minimize_scalar(lambda t: (t - 2) ** 2).x,
    optimize.approx_fprime(np.ones(2), lambda p: (p**2).sum()),
)

print("integrate")


def pendulum(state, t):
    return np.array([state[1], -np.sin(state[0])])


print(integrate.odeint(pendulum, np.array([1.0, 0.0]), np.linspace(0, 2, 4)))
solution = integrate.solve_ivp(
    lambda t, s: pendulum(s, t), (0, 2), np.array([1.0, 0.0]), t_eval=np.linspace(0, 2, 4)
)
print(solution.y.round(5), solution.t)
print(
    integrate.solve_ivp(
        lambda t, s: -np.array([[1.0, 0.2], [0.0, 50.0]]) @ s, (0, 1), np.ones(2), method="BDF"
    ).y[:, -1]
)
print(
    integrate.quad(lambda t: np.exp(-(t**2)), 0, np.inf)[0],
    integrate.trapezoid(y, x),
    integrate.simpson(y, x=x),
)
print(integrate.dblquad(lambda a, b: np.sin(a * b), 0, 1, 0, 1)[0], integrate.cumulative_trapezoid(y, x)[-1])

print("sparse")
matrix = sparse.diags([np.full(9, -1.0), np.full(10, 2.0), np.full(9, -1.0)], [-1, 0, 1], format="csr")
b = np.arange(10.0)
print(splinalg.spsolve(matrix, b), matrix @ b, matrix.dot(b), b @ matrix)
print(splinalg.cg(matrix, b)[0].round(4), splinalg.eigsh(matrix, k=2, which="LM")[0], splinalg.norm(matrix))
made = sparse.coo_matrix((np.array([1.0, 2.0]), (np.array([0, 1]), np.array([1, 0]))), shape=(2, 2))
print(
    made.toarray() + np.eye(2),
    sparse.csr_matrix(np.eye(3)).multiply(np.arange(3)).toarray(),
    made.todense() @ np.ones(2),
)
print(
    sparse.csr_matrix((np.ones(3), np.array([0, 1, 2]), np.array([0, 1, 2, 3])))[np.array([0, 2])].toarray()
)
print(splinalg.LinearOperator((3, 3), matvec=lambda v: 2 * v) @ np.arange(3.0), matrix[0].toarray() * b)

print("ndimage")
image = np.outer(y, y)
print(ndimage.gaussian_filter(image, 2)[::20, ::20], ndimage.convolve(image, np.ones((3, 3)) / 9)[10, 10])
print(
    ndimage.label(image > 0.5)[1],
    ndimage.zoom(image, 0.1),
    ndimage.rotate(image, 30)[20, 20],
    ndimage.sobel(image)[5, 5],
)
print(
    ndimage.map_coordinates(image, np.array([[1.5, 2.5], [3.5, 4.5]])), ndimage.median_filter(image, 3)[5, 5]
)
print(
    ndimage.binary_dilation(image > 0.8).sum(),
    ndimage.center_of_mass(image),
    ndimage.distance_transform_edt(image > 0)[9, 9],
)
filtered = np.zeros_like(image)
ndimage.uniform_filter(image, 5, output=filtered)
print(filtered[10, 10])

print("signal")
print(signal.lfilter(*signal.butter(3, 0.2), y)[:5], signal.filtfilt(*signal.butter(3, 0.2), y)[:5])
print(
    signal.convolve(y, np.ones(3) / 3, mode="same")[:3], signal.fftconvolve(y, y)[50], signal.find_peaks(y)[0]
)
print(
    signal.welch(y, nperseg=16)[1][:3],
    signal.spectrogram(y, nperseg=16)[2].shape,
    signal.savgol_filter(y, 7, 2)[:3],
)
print(
    signal.resample(y, 5),
    signal.detrend(y)[:3],
    signal.hilbert(y)[:2],
    signal.convolve2d(np.eye(3), np.ones((2, 2))),
)
print(
    signal.sosfilt(signal.butter(4, 0.3, output="sos"), y)[-2:],
    signal.medfilt(y, 3)[:3],
    signal.correlate(y, y)[49],
)

print("spatial")
points = rng.random((30, 2))
tree = spatial.cKDTree(points)
print(
    tree.query(np.array([0.5, 0.5]), k=3),
    tree.query_ball_point(points[0], 0.2),
    spatial.distance.cdist(points, points).sum(),
)
print(
    spatial.ConvexHull(points).area,
    spatial.Delaunay(points).simplices.shape,
    spatial.distance.pdist(points).max(),
)
print(spatial.distance.euclidean(points[0], points[1]), spatial.Voronoi(points).vertices.shape)
print(spatial.transform.Rotation.from_euler("z", np.pi / 2).apply(np.array([1.0, 0.0, 0.0])).round(6))

print("stats")
print(stats.norm.cdf(np.array([0.0, 1.0])), stats.norm.fit(y), stats.ttest_ind(y, x), stats.linregress(x, y))
print(
    stats.pearsonr(x, y),
    stats.spearmanr(x, y),
    stats.kstest(y, "norm"),
    stats.zscore(y)[:3],
    stats.mode(np.array([1, 2, 2])),
)
print(
    stats.gaussian_kde(y)(np.array([0.0, 0.5])),
    stats.describe(y),
    stats.iqr(y),
    stats.skew(y),
    stats.f_oneway(x, y),
)
print(stats.multivariate_normal(np.zeros(2), np.eye(2)).pdf(np.ones(2)), stats.entropy(np.array([0.5, 0.5])))
print(
    stats.norm.rvs(loc=np.zeros(3), random_state=0),
    stats.poisson.pmf(np.arange(3), 2.0),
    stats.rankdata(np.array([3, 1, 2])),
)
print(
    stats.chi2_contingency(np.array([[10, 20], [20, 10]])).pvalue,
    stats.binned_statistic(x, y, bins=3).statistic,
)

print("linalg and others")
a = rng.random((4, 4))
print(
    linalg.solve(a, np.ones(4)),
    linalg.lu(a)[2],
    linalg.expm(a),
    linalg.eigh(a + a.T)[0],
    linalg.svdvals(a),
    linalg.det(a),
)
print(
    linalg.cholesky(a @ a.T + np.eye(4)),
    linalg.qr(a)[1].shape,
    linalg.toeplitz(np.arange(3)),
    linalg.block_diag(a, np.eye(1)).shape,
)
print(
    fft.fft(y)[:3],
    fft.dct(y)[:3],
    fft.fftfreq(4),
    special.gamma(x[1:4]),
    special.jv(0, x[:3]),
    special.expit(y[:3]),
)
print(cluster.vq.kmeans2(points, points[:3].copy())[0], cluster.hierarchy.linkage(points[:5]))
io.savemat("saved.mat", {"y": y, "a": a})
print(io.loadmat("saved.mat")["a"] - a)
