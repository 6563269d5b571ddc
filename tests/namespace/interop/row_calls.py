"""Calls of libraries whose modules are told of our arrays, and what these calls are written with."""

from __future__ import annotations

# Calls of each module's library, a line each: `f` makes an array of ours or leaves it NumPy's, `ns` is the
# namespace, `d`, `w` and `s` are tables and a series of pandas, `x` is a symbol.
CALLS: dict[str, str] = {
    "matplotlib.streamplot": """
        lines(streamplot(f(N), f(N), f(S), f(S), color=f(S)))
        lines(streamplot(f(N), f(N), f(S), f(S), linewidth=f(S)))
        lines(streamplot(f(N), f(N), f(S), f(S), color=f(S), linewidth=f(S), density=f(A[1:3])))
        lines(streamplot(f(N), f(N), f(S), f(S), start_points=f(T[:2] / 2)))
        fails(lambda: streamplot(f(N), f(N), f(S), f(S), color=f(T)))
    """,
    "librosa.util.utils": """
        librosa.util.normalize(f(A))
        librosa.util.frame(f(A), frame_length=2, hop_length=1)
        librosa.util.valid_audio(f(A))
        librosa.zero_crossings(f(A) - 2)
        librosa.stft(f(np.tile(A, 4)), n_fft=16)
        fails(lambda: librosa.util.valid_audio(f(I)))
    """,
    "mne.utils.check": """
        mne.filter.filter_data(f(np.tile(A, 200)), 100.0, 1, 40, verbose=0)[:9]
        mne.filter.notch_filter(f(np.tile(A, 200)), 100.0, 20.0, verbose=0)[:9]
        fails(lambda: mne.filter.filter_data(f(A).tolist() and "text", 100.0, 1, 40, verbose=0))
    """,
    "msgpack_numpy": """
        codec.unpackb(codec.packb({"a": f(T), "b": f(B)}))
        codec.unpackb(codec.packb([f(T)[::2, 1], f(I)]))
        codec.unpackb(codec.packb([f(I)[1], f(B)[0], f(A.astype("f"))[0]]))
    """,
    "networkx.algorithms.similarity": """
        nx.simrank_similarity(nx.from_numpy_array(f(S % 2)), source=f(I)[0], importance_factor=f(A)[1] / 2)
        nx.simrank_similarity(nx.cycle_graph(4))
    """,
    "numpy.ctypeslib._ctypeslib": """
        np.ctypeslib.ndpointer(np.float64).from_param(f(A)) is not None
        np.ctypeslib.ndpointer(np.int64, ndim=1, shape=(6,)).from_param(f(I)) is not None
        fails(lambda: np.ctypeslib.ndpointer(np.int64).from_param(f(A)))
    """,
    "pandas.core.algorithms": """
        pd.factorize(f(A))
        pd.factorize(f(A), sort=True)
        pd.factorize(f(B))
        pd.unique(f(A))
        pd.unique(f(B))
        pd.Series(f(A)).value_counts()
        pd.api.extensions.take(f(A), f(I))
        pd.api.extensions.take(f(T), f(I[:2] - 1), axis=1)
        s.isin(f(A[:2]))
        d.isin({"a": f(I)})
        pd.Index(I).isin(f(I))
        d.query("a in @k", local_dict={"k": f(I)})
        pd.Categorical(f(I))
        pd.Categorical(f(I), categories=f(np.array([1, 2, 3])))
        pd.cut(f(A), f(np.array([0, 2, 6.0])))
        pd.crosstab(f(I), f(B))
        pd.get_dummies(f(I))
        pd.MultiIndex.from_arrays([f(I), f(A)])
        s.searchsorted(f(A))
    """,
    "pandas.core.arrays.period": """
        pd.PeriodIndex.from_fields(year=f(I + 2000), month=f(I), freq="M")
        pd.PeriodIndex.from_fields(year=f(I + 2000), month=2, freq="M")
    """,
    "pandas.core.indexers.utils": """
        put(d.loc, (f(B), ["a", "b"]), f(T[:3]))
        put(d.iloc, (f(N[:2]), [0, 1]), f(T[:2]))
    """,
    "pandas.core.indexing": """
        put(w.iloc, (f(N[:2]), f(N[:2])), f(T[:2]))
        put(d.iloc, (f(N[3:]), f(N[:1])), f(A[:3]))
        put(d.loc, (f(N[:2]), ["a", "b"]), f(T[:2]))
        fails(lambda: put(d.iloc, f(B), f(T[:3, :1])))
    """,
    "pandas.core.reshape.pivot": """
        d.pivot_table(values="a", index=f(I), aggfunc="sum")
        d.pivot_table(values="b", index=f(I), columns=f(N % 2), fill_value=f(A)[1])
        pd.crosstab(f(I), f(N % 2), values=f(A), aggfunc="max")
    """,
    "pandas.core.series": """
        s.add(f(A), fill_value=f(A)[0])
        s.rsub(f(A), fill_value=1)
        s.eq(f(A))
        fails(lambda: s.add(f(A[:2]), fill_value=0))
    """,
    "pandas.io.formats.printing": """
        repr(pd.Series([f(A), f(I)]))
        pd.DataFrame({"k": [f(A), f(T)]}).to_string()
    """,
    "pandas.core.common": """
        d[f(B)]
        d.loc[f(B), "a"]
        d.iloc[f(B)]
        d.iloc[f(I), f(np.array([0, 1]))]
        d.loc[:, f(np.array([True, False, True]))]
        s[f(B)]
        s.loc[f(I)]
        put(s, f(B), f(A[:3]))
        put(d.loc, (f(B), "a"), f(I[:3]))
        pd.Index(I)[f(B)]
        d.reindex(f(I[:2]))
        d.drop(f(np.array([1, 2])))
        d.sample(3, random_state=f(I))
    """,
    "pandas.core.frame": """
        d.set_index(f(I))
        d.set_index([f(I), "a"])
        d.set_index([f(I), f(A)])
        fails(lambda: d.set_index(f(T)))
        pd.DataFrame(f(T))
        pd.DataFrame(f(T), columns=["u", "v"], index=f(I))
        pd.DataFrame(f(T), copy=False)
        pd.DataFrame(f(T), dtype="float32")
        pd.DataFrame(f(A))
        pd.DataFrame(f(I))
        pd.DataFrame(f(B))
        pd.DataFrame({"a": f(A), "b": f(I)})
        pd.DataFrame([f(A), f(A)])
        pd.DataFrame.from_records(f(T))
        put(d, "z", f(A))
        put(d, ["a", "b"], f(T))
        put(d[["a", "b"]], f(B), 7)
        put(d[["a", "b"]], f(T > 3), 7)
        d[["a", "b"]] + f(T)
        f(T) + d[["a", "b"]]
        d[["a", "b"]] > f(T)
        d[["a", "b"]].where(f(T > 3), f(T))
        d[["a", "b"]].mask(f(T > 3), f(T))
        d[["a", "b"]] @ f(T.T)
        d.merge(d, left_on="a", right_on=f(I))
        d[["a", "b"]].quantile(f(np.array([0.2, 0.5])))
        d.assign(k=f(A))
    """,
    "pandas.core.groupby.grouper": """
        d.groupby(f(I))["a"].sum()
        d.groupby([f(I), "d"])["a"].sum()
        d.groupby(f(A), sort=False)["a"].agg(list)
        d.groupby(f(np.sort(I)))["a"].sum()
        d.groupby(f(B))["a"].mean()
        d.groupby(f(I)).groups
        d.groupby(f(I)).ngroup()
        s.groupby(f(I)).cumsum()
        d.groupby(f(I), as_index=False)["a"].sum()
    """,
    "scipy.ndimage._fourier": """
        into(lambda out: ndimage.fourier_gaussian(f(S), 1.0, output=out))
        into(lambda out: ndimage.fourier_uniform(f(S), 2.0, output=out))
        into(lambda out: ndimage.fourier_ellipsoid(f(S), 2.0, output=out))
        into(lambda out: ndimage.fourier_shift(f(S), 2.0, output=out), complex)
        into(lambda out: ndimage.fourier_gaussian(out, 1.0, output=out))
        ndimage.fourier_gaussian(f(S), 1.0)
    """,
    "scipy.ndimage._interpolation": """
        into(lambda out: ndimage.spline_filter(f(S), output=out))
        into(lambda out: ndimage.zoom(f(S), 1, output=out))
        into(lambda out: ndimage.shift(f(S), 1, output=out))
        into(lambda out: ndimage.rotate(f(S), 30, reshape=False, output=out))
        into(lambda out: ndimage.map_coordinates(f(S), f(np.indices((6, 6)) * 0.5), output=out))
        into(lambda out: ndimage.affine_transform(f(S), f(np.eye(2)), output=out))
        into(lambda out: ndimage.affine_transform(f(S), f(np.eye(2)), output=out[:3, :4]))
        into(lambda out: ndimage.geometric_transform(f(S), lambda i: (i[0], i[1]), output=out))
    """,
    "scipy.ndimage._measurements": """
        fails(lambda: ndimage.label(f(S > 2), output=f(T)))
        into(lambda out: ndimage.watershed_ift(f(S.astype("u1")), f(S.astype("i1")), output=out), np.int8)
        ndimage.label(f(S > 2))
        ndimage.sum_labels(f(S), f(S.astype(int)), f(I))
    """,
    "scipy.ndimage._morphology": """
        into(lambda out: ndimage.binary_erosion(f(S > 2), output=out), bool)
        into(lambda out: ndimage.binary_dilation(f(S > 2), iterations=2, output=out), bool)
        into(lambda out: ndimage.distance_transform_edt(f(S), distances=out))
        into(lambda out: ndimage.distance_transform_cdt(f(S), distances=out), np.int32)
        into(lambda out: ndimage.distance_transform_bf(f(S), distances=out))
        into(lambda out: ndimage.grey_erosion(f(S), size=3, output=out))
        into(lambda out: ndimage.morphological_gradient(f(S), size=3, output=out))
        into(lambda out: ndimage.morphological_laplace(f(S), size=3, output=out))
        into(lambda out: ndimage.white_tophat(f(S), size=3, output=out))
        into(lambda out: ndimage.black_tophat(f(S), size=3, output=out))
    """,
    "scipy.ndimage._ni_support": """
        into(lambda out: ndimage.correlate(f(S), f(S[:3, :3]), output=out))
        into(lambda out: ndimage.median_filter(f(S), 3, output=out))
        into(lambda out: ndimage.gaussian_filter(f(S), 1.0, output=out))
        into(lambda out: ndimage.uniform_filter(f(S), 3, output=out))
        into(lambda out: ndimage.sobel(f(S), output=out))
        into(lambda out: ndimage.generic_filter(f(S), np.sum, 3, output=out))
        into(lambda out: ndimage.convolve1d(f(S), f(A[:3]), output=out))
        into(lambda out: ndimage.maximum_filter(f(S), 3, output=out[::-1]))
        into(lambda out: ndimage.rank_filter(f(S), 1, 3, output=out.T))
    """,
    "pint.delegates.formatter.plain": """
        str(units.Quantity(f(A), "m"))
        f"{units.Quantity(f(T), 'm'):.2f~P}"
    """,
    "pint.facets.plain.unit": """
        (f(A) / units.s).magnitude.tolist()
        (units.s / f(A)).to("ms").magnitude.tolist()
        fails(lambda: "text" / units.s)
    """,
    "scipy.linalg.interpolative": """
        interpolative.interp_decomp(f(S), 2, rand=False)[1]
        interpolative.svd(f(S), 2, rand=False)[1]
        fails(lambda: interpolative.svd(f(I), 2))
    """,
    "scipy.optimize._root_scalar": """
        optimize.root_scalar(np.cos, bracket=f(A[1:3])).root
        fails(lambda: optimize.root_scalar(np.cos, bracket=f(A)))
    """,
    "scipy.optimize._nonlin": """
        optimize._nonlin.asjacobian(f(S[:3, :3] + 9 * np.eye(3))).solve(A[:3])
        fails(lambda: optimize._nonlin.asjacobian(f(T)))
        optimize.newton_krylov(lambda v: f(A[:2]) * v - 1, f(A[:2]) / 9, inner_M=f(np.eye(2))).round(5)
    """,
    "scipy.signal._peak_finding": """
        signal.find_peaks(f(A), height=f(np.full(6, 2.5)))[0]
        signal.find_peaks(f(A), height=(f(np.full(6, 0.5)), f(A) * 2))[0]
        signal.find_peaks(f(A), prominence=(f(A)[1], None))[0]
    """,
    "scipy.signal._ltisys": """
        (signal.StateSpace(S, T[:, :1], T.T[:1], 0.0) * f(T[:1, 1:])).B
        (signal.StateSpace(S, T[:, :1], T.T[:1], 0.0) + f(T[:1, 1:])).D
        (f(T[:1, 1:]) * signal.StateSpace(S, T[:, :1], T.T[:1], 0.0)).C
        (signal.StateSpace(S, T[:, :1], T.T[:1], 0.0) * f(A)[4]).B
        (signal.StateSpace(S, T[:, :1], T.T[:1], 0.0) / f(A)[4]).B
    """,
    "scipy.sparse._sputils": """
        float(sparse.csr_array(S).minimum(f(S.T)).sum())
        float(sparse.csr_array(S).maximum(f(S.T)).sum())
        (sparse.csr_array(S) @ f(T)).sum(axis=0)
        float((sparse.csr_array(S) + f(S)).sum())
    """,
    "scipy.stats._mgc": """
        stats.multiscale_graphcorr(f(T), f(A[:, None]), reps=1000, random_state=1).stat
    """,
    "scipy.sparse.linalg._interface": """
        splinalg.aslinearoperator(f(T)).matvec(f(A[:2]))
        splinalg.aslinearoperator(f(T)).shape
        splinalg.aslinearoperator(f(A)).shape
        (splinalg.aslinearoperator(f(T)).T @ splinalg.aslinearoperator(f(T))).matvec(f(A[:2]))
        np.round(splinalg.cg(f(np.eye(6)), f(A))[0], 9)
        np.round(splinalg.gmres(f(np.eye(6)), f(A))[0], 9)
        np.round(splinalg.svds(f(S), 2, return_singular_vectors=False, random_state=0), 9)
        fails(lambda: splinalg.aslinearoperator(f(S[None])))
    """,
    "sklearn.linear_model._coordinate_descent": """
        linear_model.Lasso(9.0, fit_intercept=False, precompute=f(T.T @ T)).fit(f(T), f(A)).coef_.round(6)
        linear_model.enet_path(f(T), f(A), precompute=f(T.T @ T), alphas=[0.5, 9.0])[1].round(6)
    """,
    "sklearn.manifold._t_sne": """
        TSNE(init=f(T.astype("f")), perplexity=2, max_iter=250, method="exact").fit(f(S)).n_iter_
    """,
    "sklearn.neighbors._nca": """
        neighbors.NeighborhoodComponentsAnalysis(init=f(np.eye(2, 6)), max_iter=2).fit(f(S), f(I)).n_iter_
        fails(lambda: neighbors.NeighborhoodComponentsAnalysis(init=f(np.eye(2, 5))).fit(f(S), f(I)))
    """,
    "sklearn.model_selection._search": """
        list(ParameterGrid({"a": f(I), "b": [1]}))
        len(ParameterGrid([{"a": f(A)}, {"b": f(B)}]))
        GridSearchCV(Ridge(), {"alpha": f(A)}, cv=2).fit(f(T), f(A)).best_params_
        fails(lambda: ParameterGrid({"a": f(T)}))
    """,
    "sklearn.utils._param_validation": """
        KMeans(2, init=f(T[:2]), n_init=1).fit(f(T)).labels_
        GaussianMixture(2, means_init=f(T[:2]), random_state=0).fit(f(T)).predict(f(T))
        SplineTransformer(2, knots=f(T[:2])).fit_transform(f(T))
        fails(lambda: KMeans(f(I)).fit(f(T)))
        compute_class_weight("balanced", classes=f(np.unique(I)), y=f(I))
        float(log_likelihood(f(np.eye(2)), f(np.eye(2))))
        image.reconstruct_from_patches_2d(f(np.ones((4, 2, 2))), (3, 3))
        image.PatchExtractor(patch_size=(2, 2), max_patches=2, random_state=0).transform(f(S[None]))
        image.extract_patches_2d(f(S), (2, 2), max_patches=3, random_state=0)
        Ridge(alpha=f(A[:1])).fit(f(T), f(A)).coef_
    """,
    "astropy.coordinates.representation.cartesian": """
        coordinates.CartesianRepresentation(f(S[:3]), unit="m", xyz_axis=0).x.value
        coordinates.CartesianRepresentation(f(S[:2, :3]), unit="m", xyz_axis=1).x.value
    """,
    "astropy.coordinates.sky_coordinate_parsers": """
        coordinates.SkyCoord(f(T[:4]), unit="deg").ra.deg
        coordinates.SkyCoord(f(T[:4, :]) / 9, unit=("hourangle", "deg")).dec.deg
        fails(lambda: coordinates.SkyCoord(f(A), unit="deg"))
    """,
    "astropy.io.fits.convenience": """
        fits_of(lambda b: fits.writeto(b, f(T)))
        fits_of(lambda b: fits.writeto(b, f(I)[::2]))
        fails(lambda: fits.writeto(io.BytesIO(), "text"))
    """,
    "astropy.io.fits.hdu.compressed._tiled_compression": """
        fits_of(fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(f(S.astype("i4")))]).writeto)
    """,
    "astropy.modeling.bounding_box": """
        modeling.bounding_box.ModelBoundingBox.validate(models.Shift(), (f(-A), f(A + 1)))[0].upper
        fails(lambda: modeling.bounding_box.ModelBoundingBox.validate(models.Shift(), f(A)))
    """,
    "astropy.modeling.parameters": """
        [setattr(m := models.Shift(), "offset", f(np.array(3.0))), m(1.0)][1]
        [setattr(m := models.Shift(), "offset", f(np.array(3))), m.parameters][1]
        fails(lambda: setattr(models.Shift(), "offset", f(A)))
    """,
    "astropy.modeling.utils": """
        models.Gaussian1D(f(np.array(2.0)), mean=f(np.array(1)))(f(A))
        models.Rotation2D(angle=f(np.array(30.0)))(1.0, f(A)[1])
        models.Gaussian1D(f(A), mean=f(I), stddev=f(A) + 1, n_models=len(A))(1.0)
    """,
    "astropy.nddata.ccddata": """
        nddata.CCDData(T, unit="adu", uncertainty=nddata.StdDevUncertainty(f(T))).uncertainty.array
        nddata.CCDData(T, unit="adu", uncertainty=f(T)).uncertainty.array
    """,
    "astropy.nddata.flag_collection": """
        put(nddata.FlagCollection(shape=(6,)), "a", f(I))["a"]
        fails(lambda: put(nddata.FlagCollection(shape=(5,)), "a", f(I)))
    """,
    "astropy.nddata.nduncertainty": """
        measured.add(measured, uncertainty_correlation=f(A / 9)).uncertainty.array
        measured.multiply(measured, uncertainty_correlation=f(A / 9)).uncertainty.array
        measured.divide(measured, uncertainty_correlation=f(A)[1]).uncertainty.array
    """,
    "astropy.table.groups": """
        Table({"a": A}).group_by(f(I)).groups.aggregate(np.sum)["a"].tolist()
        Table({"a": A})["a"].group_by(f(I)).groups.aggregate(np.mean).tolist()
        len(Table({"a": A}).group_by(I).groups[f(np.array([True, False, True]))])
    """,
    "astropy.table.index": """
        indexed.loc[f(I[:1])]["b"].tolist()
        indexed.loc[f(np.array([2, 3]))]["b"].tolist()
        indexed.iloc[f(I)[1]]["b"]
    """,
    "astropy.time.formats": """
        time.Time({"year": f(I + 2000), "month": f(I)}, format="ymdhms").iso.tolist()
        time.Time(f(A), f(A / 9), format="jd").jd
    """,
    "astropy.units.decorators": """
        units.quantity_input(x="")(lambda x: x)(f(A))
        fails(lambda: units.quantity_input(x="m")(lambda x: x)(f(A)))
    """,
    "astropy.table.table": """
        Table(f(T), names=["a", "b"])["b"].tolist() if len(T[0]) == 2 else Table(f(T))["col0"].tolist()
        len(Table({"a": A})[f(A > 2)])
        len(Table({"a": A})[f(I)])
    """,
    "h5py._hl.selections": """
        H5["a"][f(A > 2)].tolist()
        H5["a"][f(np.array([0, 2]))].tolist()
    """,
    "jax._src.numpy.indexing": """
        np.asarray(jnp.arange(6)[f(I)]).tolist()
        np.asarray(jnp.arange(6)[f(A > 2)]).tolist()
        int(jnp.arange(6)[f(I)[1]])
        np.asarray(jnp.zeros(6).at[f(I)[0]].set(2)).tolist()
    """,
    "ot.backend": """
        ot.emd(f(A[:2] * 0 + 0.5), f(A[:2] * 0 + 0.5), f(S[:2, :2]))
        ot.dist(f(T[:2]), f(T[2:4]))
        ot.sinkhorn(f(A[:2] * 0 + 0.5), f(A[:2] * 0 + 0.5), f(S[:2, :2]), 5.0)
        ot.emd_1d(f(A[:3]), f(A[1:4]))
        fails(lambda: ot.dist([f(T[:2])], "text"))
    """,
    "pyamg.blackbox": """
        pyamg.blackbox.solver_configuration(poisson(8), B=f(np.ones((8, 1))), verb=False)["B"]
        pyamg.solve(poisson(8), f(np.arange(8.0)), verb=False, tol=1e-12).round(8)
    """,
    "pyamg.gallery.fem": """
        list(fem.generate_quadratic(f(TRIANGLE[0]), f(TRIANGLE[1])))
        float(fem.diameter(f(TRIANGLE[0]), f(TRIANGLE[1])))
        fails(lambda: fem.generate_quadratic(f(TRIANGLE[0]).tolist(), f(TRIANGLE[1])))
    """,
    "pyamg.relaxation.relaxation": """
        pyamg.ruge_stuben_solver(poisson(40)).solve(f(np.arange(40.0)), tol=1e-12).round(6)
        relaxed(relaxation.gauss_seidel, f(np.zeros(8)), f(np.arange(8.0)))
        relaxed(relaxation.jacobi, f(np.zeros(8)), f(np.arange(8.0)))
        fails(lambda: relaxation.sor(poisson(8), f(np.zeros(8)).tolist(), f(np.arange(8.0)), 1.2))
    """,
    "pywt._multilevel": """
        pywt.coeffs_to_array([f(A[:4]), f(A[:4])])[0]
        pywt.waverec2([f(S[:2, :2]), tuple([f(S[:2, :2])] * 3)], "db1")
        pywt.ravel_coeffs([f(A[:4]), f(A[:4])])[0]
        fails(lambda: pywt.coeffs_to_array([1, f(A[:4])]))
    """,
    "astropy.convolution.kernels": """
        convolution.CustomKernel(f(A[:3])).array
        convolution.convolve(f(A), convolution.CustomKernel(f(A[:3])))
        fails(lambda: convolution.CustomKernel("text"))
    """,
    "astropy.utils.diff": """
        [report_diff_values(f(I), f(I) // 2, report := StringIO()), report.getvalue()]
        [report_diff_values(f(T), f(T), report := StringIO()), report.getvalue()]
        [report_diff_values(f(T), f(A), report := StringIO()), report.getvalue()]
    """,
    "astropy.utils.metadata.merge": """
        metadata.merge({"a": f(I)}, {"a": f(A)})
        metadata.merge({"a": f(I)}, {"a": [1, 2]}, metadata_conflicts="error")
        fails(lambda: metadata.merge({"a": f(I)}, {"a": 1}, metadata_conflicts="error"))
    """,
    "astropy.utils.misc": """
        json.dumps({"a": f(I), "b": f(T)[:1]}, cls=JsonCustomEncoder)
        json.dumps([f(I)[1], f(A)[0], f(A.astype("f"))[0]], cls=JsonCustomEncoder)
    """,
    "scipy.stats._stats_py": """
        float(stats.pmean(f(A), f(A)[2]))
        fails(lambda: stats.pmean(f(A), f(A) > 2))
    """,
    "scipy.interpolate._fitpack2": """
        RectSphereBivariateSpline(A[:0:-1].cumsum() / 9, N, S[:5] + 1.0, pole_values=f(A)[1]).ev(1.0, 1.0)
        RectSphereBivariateSpline(A[:0:-1].cumsum() / 9, N, S[:5] + 1.0, pole_values=f(A[:2])).ev(1.0, 1.0)
    """,
    "scipy.interpolate._interpolate": """
        BPoly.from_derivatives([0, 1], [[0, 1], [1, 0]], orders=f(I)[4])(0.3)
        BPoly.from_derivatives([0, 1], [[0, 1], [1, 0]], orders=f(I[4:5]))(0.3)
    """,
    "scipy.signal._short_time_fft": """
        signal.ShortTimeFFT(A, hop=f(I)[1], fs=1.0).stft(N).round(9)
        signal.ShortTimeFFT(A, 2, 1.0).t(f(I)[4] * 10)
        fails(lambda: signal.ShortTimeFFT(A, hop=f(A)[0], fs=1.0))
    """,
    "skimage.morphology.footprints": """
        morphology.white_tophat(S, f(np.ones((3, 3))))
        morphology.closing(S, f(np.ones((2, 3))))
        fails(lambda: morphology.erosion(f(S), {1, 2}))
    """,
    "skimage.exposure.exposure": """
        exposure.histogram(f(I), nbins=f(np.array([1, 3])))
    """,
    "skimage.measure._marching_cubes_lewiner": """
        measure.marching_cubes(f(np.indices((4, 4, 4)).sum(axis=0) * 1.0), 4.5)[0]
        fails(lambda: measure.marching_cubes(f(T)))
    """,
    "skimage.segmentation._watershed": """
        segmentation.watershed(f(S), markers=f(np.diag(N)))
        segmentation.watershed(f(S), markers=f(I)[1], mask=f(S > 1))
    """,
    "statsmodels.distributions.copula.extreme_value": """
        ExtremeValueCopula(depfunc.HR()).cdf(f(T[1:4] / 12), args=f(A[1:2]))
    """,
    "statsmodels.imputation.mice": """
        imputed._boot_kwds({"status": f(I)}, I[:3])["status"]
        imputed._boot_kwds({"w": f(T), "k": f(A)[0]}, np.array([0, 1, 1, 2, 3, 3]))["w"]
    """,
    "statsmodels.stats.contingency_tables": """
        float(StratifiedTable(f(1 + S[:4, :6].reshape(2, 2, 6))).oddsratio_pooled)
    """,
    "statsmodels.stats.diagnostic": """
        diagnostic.linear_rainbow(sm.OLS(A + N, T).fit(), order_by=f(np.argsort(A)))
    """,
    "statsmodels.tools.data": """
        AutoReg(f(np.sin(np.arange(20.0) ** 2)), 1).fit().params.round(6).tolist()
    """,
    "wave": """
        written(f(I.astype(np.int16)))
    """,
    "xarray.core.indexing": """
        xr.DataArray(A, [("i", np.arange(6))])[f(I)[1]].item()
        xr.DataArray(A, [("i", np.arange(6))]).isel(i=f(I)[1]).item()
        xr.DataArray(T, dims=("a", "b")).isel(a=f(I)[1]).values
        xr.DataArray(f(S), dims=("a", "b")).isel(a=xr.DataArray(f(I), dims="p"), b=xr.DataArray(I, dims="p"))
        xr.DataArray(f(S), dims=("a", "b"))[f(I), f(I[:2])]
    """,
    "xarray.backends.zarr": """
        encode_zarr_attr_value(f(I))
        encode_zarr_attr_value(A)
    """,
    "xarray.core.utils": """
        xr.DataArray(A, dims="i", coords={"k": ("i", I)}).groupby("k").map(lambda a: f(a.values * 2))
        xr.DataArray(A, dims="i", attrs={"a": f(I), "b": f(A)[1]}).to_dict()
    """,
    "xarray.core.variable": """
        xr.DataArray(A, [("i", np.arange(6))])[f(I)[1]].item()
        xr.Variable("i", A)[f(I)[1]].item()
        xr.Dataset({"a": ("i", f(A)), "b": (("i", "j"), f(T))}, coords={"k": ("i", f(I))})
        xr.DataArray(A, dims="i", coords={"k": ("i", f(B))})
        written_values(xr.DataArray(f(A.copy()), dims="i"))
    """,
    "zarr.core.common": """
        zarr.zeros(shape=(f(I)[1], f(I)[2])).shape
        zarr.full(shape=f(I)[2], fill_value=1.0).shape
        fails(lambda: zarr.zeros(shape=(f(A)[0], 2)))
    """,
    "xarray.core.dataset": """
        xr.Dataset({"v": ("i", A)}, {"i": np.arange(6)}).interp(i=f(A[:2] / 2))
        xr.DataArray(A, [("i", np.arange(6))]).interp(i=f(A[:2] / 2))
    """,
    "fractions": """
        Fraction(f(A)[1])
        Fraction(f(A)[0] / 2)
        Fraction(f(I)[1])
        Fraction(f(I)[1], f(I)[2])
        Fraction(1, 2) == f(A)[0]
        Fraction(3) == f(A)[0]
        Fraction(1, 2) < f(A)[0]
        float(Fraction(1, 2) + f(A)[0])
        fails(lambda: Fraction(f(A)))
        fails(lambda: Fraction(f(A.astype("f"))[0]))
    """,
    "_pytest.approx": """
        f(A)[0] == pytest.approx(f(A)[0])
        f(A)[0] == pytest.approx(3.0)
        f(A)[0] != pytest.approx(f(A)[1])
        pytest.approx(f(A)[0]) == 3.0
        f(A) == pytest.approx(f(A))
        f(A) == pytest.approx(A + 1e-12)
        [f(A)[0], f(A)[1]] == pytest.approx([3.0, 1.0 + 1e-12])
        f(A).sum() == pytest.approx(A.sum())
        np.isscalar(f(A)[0])
    """,
    "numpy.lib._stride_tricks_impl": """
        np.lib.stride_tricks.as_strided(f(A), (5, 2), (8, 8))
        np.lib.stride_tricks.as_strided(f(T).T, (2, 2), f(T).T.strides)
        np.lib.stride_tricks.as_strided(f(S)[::2, ::-1], (3, 3), f(S)[::2, ::-1].strides)
        np.lib.stride_tricks.sliding_window_view(f(A), 3)
    """,
    "PIL.Image": """
        list(Image.fromarray(f(S.astype("u1"))).tobytes())
        list(Image.fromarray(f(S.astype("u1"))[:, ::2]).tobytes())
        list(Image.fromarray(f(S.astype("f"))).tobytes())
        Image.fromarray(f(S > 2)).mode
        Image.fromarray(f(np.zeros((2, 3, 3), "u1"))).size
        fails(lambda: Image.fromarray(f(T[None, None])))
    """,
    "sympy.core.sympify": """
        x * f(A)
        f(A) * x
        x + f(I)
        x - f(A[:1])
        x ** f(I)
        x / f(A)
        sympy.sympify(f(I))
        sympy.sympify(f(A)[0])
        x + f(A)[0]
        x == f(A)
        sympy.Matrix(f(T))
        sympy.lambdify(x, x**2 + 1)(f(A))
        fails(lambda: sympy.sympify(f(A), strict=True))
        fails(lambda: sympy.sin(f(A)))
    """,
    "scipy": """
        is_numpys(stats.norm.rvs(size=3, random_state=ns.random.default_rng(1)))
        is_numpys(stats.gamma.rvs(2.0, size=3, random_state=ns.random.RandomState(1)))
        is_numpys(stats.qmc.Sobol(2, rng=ns.random.default_rng(1)).random(4))
        is_numpys(stats.multivariate_normal.rvs([0, 1], np.eye(2), 2, random_state=ns.random.default_rng(1)))
        is_numpys(stats.ortho_group.rvs(3, random_state=ns.random.default_rng(1)))
        stats.bootstrap((A,), np.mean, n_resamples=9, rng=ns.random.default_rng(1)).standard_error
        is_numpys(random_array((5, 5), density=0.3, rng=ns.random.default_rng(1)).toarray())
        differential_evolution(lambda p: p @ p, [(-1, 1)], maxiter=2, rng=ns.random.default_rng(1)).x
    """,
    "sklearn": """
        KMeans(2, n_init=2, random_state=ns.random.RandomState(0)).fit(T).cluster_centers_
        LatentDirichletAllocation(2, max_iter=2, random_state=ns.random.RandomState(0)).fit_transform(T)
        is_numpys(KernelDensity().fit(T).sample(3, random_state=ns.random.RandomState(0)))
        is_numpys(GaussianRandomProjection(2, random_state=ns.random.RandomState(0)).fit(S).components_)
        is_numpys(train_test_split(A, random_state=ns.random.RandomState(0))[0])
        is_numpys(make_swiss_roll(5, random_state=ns.random.RandomState(0))[0])
        RandomForestClassifier(3, random_state=ns.random.RandomState(0)).fit(T, I).predict_proba(T)
        PCA(1, svd_solver="randomized", random_state=ns.random.RandomState(0)).fit_transform(T).round(9)
        [list(fold) for fold in ShuffleSplit(2, random_state=ns.random.RandomState(0)).split(T)]
        GaussianProcessRegressor().fit(T, A).sample_y(T, random_state=ns.random.RandomState(0)).round(9)
    """,
}
# What the calls are written with, by the package that it is of.
NAMES = {
    "matplotlib": ["matplotlib.pyplot as pyplot"],
    "pandas": ["pandas as pd"],
    "PIL": ["PIL.Image as Image"],
    "sympy": ["sympy as sympy"],
    "xarray": ["xarray as xr", "xarray.backends.zarr.encode_zarr_attr_value"],
    "librosa": ["librosa as librosa"],
    "mne": ["mne.filter as filter", "mne as mne"],
    "msgpack_numpy": ["msgpack_numpy as codec"],
    "astropy": [
        *("astropy.table.Table", "astropy.convolution as convolution", "json as json"),
        *("astropy.utils.misc.JsonCustomEncoder", "astropy.utils.diff.report_diff_values", "io.StringIO"),
        "astropy.utils.metadata as metadata",
        *("astropy.coordinates as coordinates", "astropy.io.fits as fits", "astropy.nddata as nddata"),
        *("astropy.modeling as modeling", "astropy.modeling.models as models"),
        *("astropy.time as time", "astropy.units as units"),
    ],
    "jax": ["jax.numpy as jnp"],
    "networkx": ["networkx as nx"],
    "ot": ["ot as ot"],
    "pint": ["pint as pint"],
    "pyamg": ["pyamg as pyamg", "pyamg.gallery.fem as fem", "pyamg.relaxation.relaxation as relaxation"],
    "pywt": ["pywt as pywt"],
    "skimage": [
        "skimage.morphology as morphology",
        *("skimage.exposure as exposure", "skimage.measure as measure"),
        "skimage.segmentation as segmentation",
    ],
    "statsmodels": [
        *("statsmodels.api as sm", "statsmodels.tsa.api.AutoReg", "statsmodels.imputation.mice as mice"),
        *(
            "statsmodels.stats.contingency_tables.StratifiedTable",
            "statsmodels.stats.diagnostic as diagnostic",
        ),
        *("statsmodels.distributions.copula.extreme_value.ExtremeValueCopula", "pandas as pd"),
        "statsmodels.distributions.copula.depfunc_ev as depfunc",
    ],
    "zarr": ["zarr as zarr"],
    "scipy": [
        *("scipy.ndimage as ndimage", "scipy.stats as stats", "scipy.sparse.linalg as splinalg"),
        *("scipy.sparse.random_array", "scipy.optimize.differential_evolution", "scipy.optimize as optimize"),
        *("scipy.signal as signal", "scipy.sparse as sparse"),
        *("scipy.linalg.interpolative as interpolative", "scipy.interpolate.BPoly"),
        "scipy.interpolate.RectSphereBivariateSpline",
    ],
    "sklearn": [
        *("sklearn.feature_extraction.image as image", "sklearn.utils.class_weight.compute_class_weight"),
        *("sklearn.covariance.log_likelihood", "sklearn.cluster.KMeans"),
        *("sklearn.datasets.make_swiss_roll", "sklearn.decomposition.PCA"),
        *("sklearn.decomposition.LatentDirichletAllocation", "sklearn.ensemble.RandomForestClassifier"),
        *("sklearn.gaussian_process.GaussianProcessRegressor", "sklearn.linear_model.Ridge"),
        *("sklearn.mixture.GaussianMixture", "sklearn.model_selection.GridSearchCV"),
        *("sklearn.model_selection.ParameterGrid", "sklearn.model_selection.ShuffleSplit"),
        *("sklearn.model_selection.train_test_split", "sklearn.neighbors.KernelDensity"),
        *("sklearn.linear_model as linear_model", "sklearn.manifold.TSNE", "sklearn.neighbors as neighbors"),
        *("sklearn.preprocessing.SplineTransformer", "sklearn.random_projection.GaussianRandomProjection"),
    ],
}
