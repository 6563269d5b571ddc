"""More of the lines of `benchmarks.borders`: learning, solvers, signals, files, and checks of types."""

from __future__ import annotations

from .border_library import Library

_TARGETS = "y = (x[:, 0] > 0).astype(int)\nw = np.abs(x[:, 1]) + 1"

MORE = {
    "Plotly": Library(
        "plotly.graph_objects as go; plotly.express as px",
        (
            "go.Figure(go.Scatter(x=v, y=i)).to_json()",
            "go.Figure(go.Heatmap(z=A)).to_json()",
            "go.Figure(go.Surface(z=x)).to_json()",
            "go.Figure(go.Histogram(x=v)).to_json()",
            "go.Figure(go.Bar(x=i, y=v)).to_json()",
            "go.Figure(go.Scatter(x=[v.min(), v.max()], y=[f, n])).to_json()",
            "go.Figure().add_vline(v.mean()).to_json()",
            "go.Figure(layout={'xaxis': {'range': [v.min(), v.max()]}}).to_json()",
            "go.Figure(go.Scatter(x=v, y=i, marker={'size': v, 'color': i})).to_json()",
            "px.line(x=v, y=i).to_json()",
            "px.scatter(x=v, y=i, color=v).to_json()",
            "px.imshow(img).to_json()[:200]",
            "px.imshow(A).to_json()",
            "px.histogram(v).to_json()",
        ),
    ),
    "Zarr": Library(
        "zarr",
        (
            "z[:]",
            "z[:5] = np.arange(5.0); z[:]",
            "z[n] = f; z[n]",
            "z[n], z[i[1] : i[0]]",
            "z.oindex[i], z.vindex[i]",
            "z.oindex[np.arange(10) > 4]",
            "zarr.array(x, chunks=(5, 3))[n]",
            "zarr.array(v)[:]",
            "zarr.create_array({}, data=x, chunks=(5, 3))[:]",
            "zarr.zeros(shape=x.shape, chunks=(5, 3), dtype=x.dtype)[:].sum()",
            "zarr.full(shape=(n, n), fill_value=f)[:]",
            "np.asarray(z) + 1, np.sum(z), np.mean(z[:])",
            "z.attrs['m'] = float(v.mean()); z.attrs['m']",
            "z.attrs['m'] = v.mean(); z.attrs['m']",
            "g = zarr.group({}); g.create_array('a', data=v); g['a'][:]",
            "z.resize(int(n)); z.append(v); z[:]",
        ),
        setup='z = zarr.zeros(shape=(10,), chunks=(4,), dtype="f8")',
        is_small=True,
    ),
    "SciPy": Library(
        "scipy.stats; scipy.optimize; scipy.sparse; scipy.interpolate; scipy.signal; scipy.linalg; "
        "scipy.spatial; scipy.io; "
        "scipy.integrate; scipy.ndimage; io; scipy.io.wavfile",
        (
            "scipy.stats.norm.fit(v), scipy.stats.linregress(v, i).slope",
            "scipy.optimize.minimize(lambda p: ((p - v) ** 2).sum(), v * 0).x.round(4)",
            "scipy.optimize.curve_fit(lambda t, a, b: a * t + b, v, 2 * v + 1)[0].round(6)",
            "scipy.sparse.csr_matrix(A) @ v[:3], (scipy.sparse.eye(3) * f).toarray()",
            "scipy.sparse.coo_matrix((v, (i, i))).toarray(), scipy.sparse.diags(v).toarray()",
            "scipy.interpolate.interp1d(np.sort(v), v)(2.5), scipy.interpolate.CubicSpline(np.sort(v), v)(v)",
            "scipy.signal.butter(n, f / 2), scipy.signal.find_peaks(x[:, 0])[0]",
            "scipy.linalg.solve(A, A[0]), scipy.linalg.expm(A), scipy.linalg.lu_factor(A)[1]",
            "scipy.spatial.KDTree(x).query(x[n]), scipy.spatial.ConvexHull(x[:, :2]).area",
            "b = io.BytesIO(); scipy.io.savemat(b, {'v': v, 'f': f}); scipy.io.loadmat(b)['v']",
            "b = io.BytesIO(); scipy.io.wavfile.write(b, 8000, (v * 9).astype(np.int16)); b.getvalue()",
            "scipy.integrate.solve_ivp(lambda t, y: -y * f, (0, 1), v, t_eval=v[1:2] / 2).y",
            "scipy.ndimage.label(img[..., 0] > 100)[1], scipy.ndimage.zoom(A, f * 2)",
        ),
    ),
    "scikit-learn": Library(
        "sklearn.linear_model as lm; sklearn.preprocessing as pp; sklearn.model_selection as ms; "
        "sklearn.cluster; "
        "sklearn.ensemble; sklearn.metrics; sklearn.neighbors; sklearn.svm; sklearn.decomposition; "
        "sklearn.pipeline",
        (
            "lm.LinearRegression().fit(x[:, 1:], x[:, 0]).coef_",
            "lm.LogisticRegression(C=f).fit(x, y).predict(x)",
            "pp.StandardScaler().fit_transform(x), pp.MinMaxScaler().fit_transform(x)",
            "pp.LabelEncoder().fit_transform(names), pp.OneHotEncoder().fit_transform(names[:, "
            "None]).toarray()",
            "sklearn.ensemble.RandomForestClassifier(5, random_state=0).fit(x, names).predict(x[:3])",
            "lm.LogisticRegression().fit(x, names).classes_",
            "sklearn.metrics.accuracy_score(names, names[::-1]), sklearn.metrics.confusion_matrix(names, "
            "names)",
            "sklearn.metrics.f1_score(names, names, average='macro')",
            "sklearn.svm.SVC().fit(x, names).predict(x[:2]), "
            "sklearn.neighbors.KNeighborsClassifier(n).fit(x, y).predict(x)",
            "ms.train_test_split(x, y, random_state=0)[0].shape, ms.cross_val_score(lm.Ridge(), x[:, 1:], "
            "x[:, 0])",
            "sklearn.cluster.KMeans(n, random_state=0, n_init=1).fit_predict(x)",
            "sklearn.decomposition.PCA(n).fit(x).explained_variance_ratio_",
            "ms.GridSearchCV(lm.Ridge(), {'alpha': v}, cv=2).fit(x[:, 1:], x[:, 0]).best_params_",
            "sklearn.pipeline.make_pipeline(pp.StandardScaler(), lm.Ridge(alpha=f)).fit(x[:, 1:], x[:, "
            "0]).predict(x[:1, 1:])",
            "np.unique(names), names == 'a', np.isin(names, ['a']), names.astype('U5'), "
            "np.searchsorted(np.unique(names), names)",
        ),
        setup="y = (x[:, 0] > 0).astype(int)\nnames = np.array(['a', 'b'])[y]",
    ),
    "LightGBM": Library(
        "lightgbm as lgb",
        (
            "lgb.LGBMClassifier(**few).fit(x, y).predict(x)",
            "lgb.LGBMRegressor(**few).fit(x, w).predict(x[:2])",
            "lgb.LGBMClassifier(**few).fit(x, y, sample_weight=w).predict_proba(x[:2])",
            "lgb.LGBMRanker(**few).fit(x, y, group=np.array([10, 10])).predict(x)",
            "lgb.Dataset(x, label=y).construct().num_data()",
            "lgb.train(some, lgb.Dataset(x, label=y, weight=w), n + 1).predict(x)",
            "lgb.train(some, lgb.Dataset(x, y), 2, valid_sets=[lgb.Dataset(x, y)]).predict(x[0][None])",
            "lgb.cv(some, lgb.Dataset(x, y), 2, nfold=2)['valid binary_logloss-mean']",
            "d = lgb.Dataset(x); d.set_label(y); d.set_weight(w); d.construct().get_label()",
            "loss = lambda p, d: (p - d.get_label(), np.ones(20)); "
            "lgb.train({**some, 'objective': loss}, lgb.Dataset(x, w), 2).predict(x)",
        ),
        setup=_TARGETS
        + """
few = {"n_estimators": 3, "min_child_samples": 2, "verbose": -1}
some = {"objective": "binary", "min_data_in_leaf": 2, "verbose": -1}
""",
    ),
    "XGBoost": Library(
        "xgboost as xgb",
        (
            "xgb.XGBClassifier(n_estimators=3).fit(x, y).predict(x)",
            "xgb.XGBRegressor(n_estimators=3).fit(x, w).predict(x[:2])",
            "xgb.XGBClassifier(n_estimators=3).fit(x, y, sample_weight=w).predict_proba(x[:2])",
            "xgb.XGBRegressor(n_estimators=3).fit(x, w, eval_set=[(x, w)], verbose=False).evals_result()",
            "xgb.XGBRegressor(n_estimators=n + 1, learning_rate=f / 10).fit(x, w).predict(x[:2])",
            "xgb.DMatrix(x, label=y).num_row(), xgb.DMatrix(x, label=y).get_label()",
            "xgb.train({'max_depth': 2}, xgb.DMatrix(x, label=w, weight=w), 2).predict(xgb.DMatrix(x))",
            "xgb.train({'eta': f / 10}, xgb.DMatrix(x, label=w), 2).predict(xgb.DMatrix(x[:1]))",
            "xgb.cv({'max_depth': 2}, xgb.DMatrix(x, label=w), 2, nfold=2, as_pandas=False)",
            "xgb.XGBRegressor(n_estimators=3).fit(x, w).feature_importances_",
            "loss = lambda p, d: (np.asarray(p) - w, np.ones(20) * f); "
            "xgb.train({'base_score': 0.5}, xgb.DMatrix(x, label=w), 9, obj=loss).predict(xgb.DMatrix(x))",
            "loss = lambda t, p: (np.asarray(p) - np.asarray(t), np.ones(20)); "
            "xgb.XGBRegressor(n_estimators=9, objective=loss).fit(x, w).predict(x)",
        ),
        setup=_TARGETS,
    ),
    "CatBoost": Library(
        "catboost",
        (
            "catboost.CatBoostRegressor(**few).fit(x, w).predict(x[:3])",
            "catboost.CatBoostClassifier(**few).fit(x, y).predict(x)",
            "catboost.CatBoostClassifier(**few).fit(x, y, sample_weight=w).predict_proba(x[:2])",
            "catboost.CatBoostClassifier(**few).fit(x, y, eval_set=(x, y)).score(x, y)",
            "catboost.Pool(x, y).num_row(), catboost.Pool(x, y, weight=w).get_weight()",
            "catboost.CatBoostRegressor(**few).fit(catboost.Pool(x, w)).predict(catboost.Pool(x[:2]))",
            "catboost.CatBoostRegressor(**few).fit(x, w).feature_importances_",
            "catboost.CatBoostRegressor(**few).fit(x, w).get_feature_importance(catboost.Pool(x, w))",
            "catboost.CatBoostRegressor(**few, learning_rate=f / 10, depth=n).fit(x, w).predict(x[:2])",
            "list(catboost.CatBoostRegressor(**few).fit(x, w).staged_predict(x[:2]))",
        ),
        setup=_TARGETS + '\nfew = {"iterations": 2, "verbose": 0, "allow_writing_files": False}',
    ),
    "Gymnasium": Library(
        "gymnasium; gymnasium.spaces as spaces",
        (
            "spaces.Discrete(n).n, spaces.Discrete(5, start=n).start, spaces.Discrete(5).contains(n)",
            "spaces.Box(low=x[0] - 1, high=x[0] + 1, dtype=np.float64).contains(x[0])",
            "spaces.Box(-1, 1, (3,)).contains(x[0].astype(np.float32)), spaces.Box(-f, f, (2,)).high",
            "spaces.Box(-1, 1, (3,)).contains(x[0] * 9)",
            "spaces.MultiDiscrete([n, 3]).contains(np.array([0, 1]))",
            "spaces.MultiBinary(n).contains(np.array([0, 1], dtype=np.int8))",
            "spaces.Dict({'a': spaces.Discrete(3), 'b': spaces.Box(-1, 1, (3,), np.float64)})"
            ".contains({'a': n, 'b': x[0]})",
            "spaces.Tuple([spaces.Discrete(3)]).contains((n,)), spaces.flatten(spaces.Discrete(5), n)",
            "e = gymnasium.make('Pendulum-v1'); "
            "gymnasium.wrappers.RescaleAction(e, -v[:1], v[:1]).action_space.high",
            "spaces.Discrete(3).sample(mask=np.array([0, 1, 0], dtype=np.int8))",
            "e = gymnasium.make('CartPole-v1'); e.reset(seed=0); e.step(np.argmax(v[:2]))[0]",
            "e = gymnasium.make('Pendulum-v1'); e.reset(seed=0); e.step(np.array([f]))[:2]",
        ),
    ),
    "Autograd": Library(
        "autograd; autograd.numpy as anp",
        (
            "autograd.grad(lambda a: anp.sum(a ** 2))(x)",
            "autograd.grad(lambda a: np.sum(a ** 2))(x)",
            "autograd.grad(anp.sin)(f), autograd.elementwise_grad(anp.sin)(v)",
            "autograd.hessian(lambda a: anp.sum(anp.sin(a) * a))(v)",
            "autograd.jacobian(lambda a: anp.tanh(a) * v)(v)",
            "autograd.value_and_grad(anp.linalg.norm)(x)",
            "autograd.grad(lambda a, b: anp.dot(a, b) ** 2, 1)(v, v[::-1])",
            "autograd.grad(lambda a: anp.sum(anp.where(a > f, a, 0)))(v)",
            "autograd.grad(lambda p: anp.sum(p['w'] * x) + p['b'])({'w': x[0], 'b': f})",
            "autograd.grad(lambda a: anp.sum(anp.concatenate([a, a * 2])))(v)",
            "autograd.grad(lambda a: anp.sum(anp.linalg.solve(a, v[:3])))(A)",
        ),
    ),
    "sparse": Library(
        "sparse",
        (
            "sparse.COO(x).sum(), sparse.COO.from_numpy(x).todense()",
            "(sparse.COO(x) @ x.T)",
            "(sparse.COO(x) * x).todense(), (x * sparse.COO(x)).todense()",
            "(sparse.COO(x) * f).todense(), (f * sparse.COO(x)).todense()",
            "sparse.COO(np.array([[0, 1], [1, 0]]), v[:2], shape=(2, 2)).todense()",
            "np.sin(sparse.COO(x)).todense()",
            "sparse.tensordot(sparse.COO(x), x.T, axes=1)",
            "sparse.GCXS(x).todense()",
            "sparse.concatenate([sparse.COO(x), sparse.COO(x)]).shape",
            "sparse.COO(x)[n].todense(), (sparse.COO(x) + sparse.COO(x)).todense()",
        ),
    ),
    "CasADi": Library(
        "casadi",
        (
            "casadi.DM(x).full(), casadi.DM(v).full()",
            "(casadi.MX.sym('a', 3) * x[0]).shape, (x[0] * casadi.MX.sym('a', 3)).shape",
            "(f * casadi.MX.sym('a', 3)).shape, (casadi.MX.sym('a') + f).shape",
            "a = casadi.MX.sym('a', 3); casadi.Function('f', [a], [a * f])(x[0]).full()",
            "a = casadi.MX.sym('a'); casadi.Function('f', [a], [a * 2])(f).full()",
            "casadi.mtimes(casadi.DM(A), casadi.DM(v[:3])).full(), casadi.vertcat(f, v[0]).full()",
            "casadi.interpolant('a', 'linear', [np.sort(v)], np.sin(np.sort(v)))(f).full()",
            "np.array(casadi.DM(x)), np.asarray(casadi.DM(v))",
            "a = casadi.SX.sym('a', 2); casadi.Function('f', [a], [casadi.jacobian(a * f, a)])(v[:2]).full()",
            "a = casadi.MX.sym('a'); s = casadi.qpsol('s', 'qrqp', {'x': a, 'f': (a - f) ** 2}, "
            "{'print_iter': False, 'print_header': False}); s(lbx=f, ubx=f)['x'].full()",
        ),
    ),
    "librosa": Library(
        "librosa",
        (
            "librosa.stft(t, n_fft=16)",
            "librosa.istft(librosa.stft(t, n_fft=16), n_fft=16)",
            "librosa.feature.mfcc(y=np.tile(t, 9), sr=8000, n_mfcc=3, n_mels=8, n_fft=64)",
            "librosa.amplitude_to_db(np.abs(t) + 1), librosa.power_to_db(np.abs(t) + 1)",
            "librosa.resample(t, orig_sr=8000, target_sr=4000)",
            "librosa.hz_to_mel(f * 1000), librosa.midi_to_hz(v), librosa.hz_to_midi(v * 100)",
            "librosa.util.frame(t, frame_length=8, hop_length=4)",
            "librosa.util.normalize(t), librosa.zero_crossings(t)",
            "librosa.feature.rms(y=t, frame_length=16), librosa.feature.zero_crossing_rate(t)",
            "librosa.effects.trim(t, frame_length=16, hop_length=4)[1]",
        ),
        setup="t = np.sin(np.linspace(0, 40, 256))",
    ),
    "PyTables": Library(
        "tables; tempfile",
        (
            "h.create_array('/', 'a', x).read()",
            "h.create_carray('/', 'a', obj=v)[1:3]",
            "e = h.create_earray('/', 'a', tables.Float64Atom(), (0, 3)); e.append(x); e.append(x); e.read()",
            "e = h.create_vlarray('/', 'a', tables.Float64Atom()); e.append(v); e[0]",
            "a = h.create_array('/', 'a', x); a[0] = v[:3]; a[0:2]",
            "a = h.create_array('/', 'a', x); a[n], a[n, 1], a[n:, 0]",
            "a = h.create_array('/', 'a', v); a.attrs.q = f; float(a.attrs.q)",
            "h.create_array('/', 'a', f).read()",
            "h.create_array('/', 'a', m).read(), h.create_array('/', 'b', i).read()",
            "t = h.create_table('/', 'a', {'x': tables.Float64Col()}); t.row['x'] = f; t.row.append(); "
            "t.flush(); t.col('x')",
        ),
        setup="h = tables.open_file(tempfile.mktemp(), 'w')",
    ),
    "openpyxl": Library(
        "openpyxl; io; tempfile",
        (
            "s.append([f, n, m[0]]); [c.value for c in s[1]]",
            "s.append(list(v)); [c.value for c in s[1]]",
            "for r in x: s.append(list(r)); s.max_row",
            "s.cell(n, n, f).value",
            "s['A1'] = f; s['A1'].value",
            "s.append({'A': f, 'B': n}); s['B1'].value",
            "s.append([f.astype(np.float32), n.astype(np.int16)]); s['A1'].value",
            "s.append([f]); b.save(io.BytesIO())",
            "s.append([f, n]); p = tempfile.mktemp(suffix='.xlsx'); b.save(p); "
            "[c.value for c in openpyxl.load_workbook(p).active[1]]",
            "w = openpyxl.Workbook(write_only=True); w.create_sheet().append([f, n]); w.save(io.BytesIO())",
        ),
        setup="b = openpyxl.Workbook()\ns = b.active",
    ),
    "checks of types": Library(
        "attr; beartype; functools; jaxtyping; nabla_array.typing as npt; pydantic; typeguard; unittest",
        (
            "d = functools.singledispatch(lambda a: 0); d.register(np.ndarray)(lambda a: 1); [d(v), d(2.0)]",
            "g = beartype.beartype(g); g(v)",
            "g = beartype.beartype(g); g([1.0])",
            "k.__annotations__ = {'a': npt.NDArray[np.float64]}; k = beartype.beartype(k); k(v)",
            "h.__annotations__ = {'a': jaxtyping.Float[np.ndarray, 'n n']}; "
            "h = jaxtyping.jaxtyped(h, typechecker=beartype.beartype); h(A)",
            "h.__annotations__ = {'a': jaxtyping.Float[np.ndarray, 'n n']}; "
            "h = jaxtyping.jaxtyped(h, typechecker=beartype.beartype); h(x)",
            "M = pydantic.create_model('M', __config__={'arbitrary_types_allowed': True}, "
            "a=(np.ndarray, ...)); M(a=v).a",
            "M = pydantic.create_model('M', a=(float, ...), b=(int, ...)); M(a=f, b=n).model_dump()",
            "C = attr.make_class('C', {'a': attr.ib(validator=attr.validators.instance_of(np.ndarray))}); "
            "C(v).a",
            "unittest.TestCase().assertIsInstance(v, np.ndarray)",
            "typeguard.check_type(v, np.ndarray), typeguard.check_type([v], list[np.ndarray])",
        ),
        setup="def g(a: np.ndarray) -> np.ndarray:\n    return a * 2\ndef h(a):\n    return a * 2\n"
        "def k(a):\n    return a * 2",
    ),
    "TensorFlow": Library(
        "tensorflow as tf; keras",
        (
            "tf.constant(x).numpy(), tf.convert_to_tensor(v).numpy()",
            "tf.constant(f).numpy(), tf.constant([f, v[0]]).numpy()",
            "(tf.constant(v) * f).numpy(), (f * tf.constant(v)).numpy(), (v * tf.constant(v)).numpy()",
            "tf.reduce_sum(x).numpy(), tf.reshape(x, (3, 20)).numpy(), tf.zeros(n).numpy()",
            "tf.data.Dataset.from_tensor_slices((x, x[:, 0] > 0)).batch(int(n)).cardinality().numpy()",
            "tf.one_hot(i, 4).numpy(), tf.gather(tf.constant(v), i).numpy(), tf.boolean_mask(v, m).numpy()",
            "tf.Variable(x).assign(x * 2).numpy(), tf.constant(x)[n].numpy()",
            "np.asarray(tf.constant(x)), np.sum(tf.constant(x)), np.sin(tf.constant(v))",
            "tf.function(lambda a: a * 2)(x).numpy()",
            "tf.keras.optimizers.SGD(learning_rate=f).learning_rate.numpy()",
            "t = tf.Variable(v); g = tf.GradientTape(); g.__enter__(); y = tf.reduce_sum(t * v); "
            "g.gradient(y, t).numpy()",
        ),
    ),
    "PyTensor": Library(
        "pytensor; pytensor.tensor as pt",
        (
            "pt.as_tensor(x).eval(), pt.as_tensor(f).eval()",
            "pt.sum(pt.as_tensor(x)).eval(), pt.exp(v).eval()",
            "a = pt.dscalar(); pytensor.function([a], a * f)(f)",
            "a = pt.dmatrix(); pytensor.function([a], a * 2)(x)",
            "a = pt.dvector(); pytensor.function([a], a * v)(v)",
            "a = pt.dvector(); pytensor.function([a], v * a)(v)",
            "a = pt.dscalar(); (a + f).ndim, (f + a).ndim, (v + a).ndim",
            "pytensor.shared(x).get_value(), pytensor.shared(f).get_value()",
            "a = pytensor.shared(v); a.set_value(v * 2); (a + 1).eval()",
            "a = pt.dvector(); pytensor.function([a], pytensor.grad(pt.sum(a ** 2 * v), a))(v)",
        ),
        setup="pytensor.config.mode = 'FAST_COMPILE'",
    ),
    "Qiskit": Library(
        "qiskit; qiskit.quantum_info as qi",
        (
            "q.rx(f, 0); qi.Statevector(q).data",
            "q.u(f, v[0], v[2], 0); qi.Operator(q).data",
            "q.initialize(v[:2] / np.linalg.norm(v[:2]), 0); q.depth()",
            "q.unitary(np.eye(4), [0, 1]); qi.Operator(q).data",
            "qi.Operator(A[:2, :2]).data, qi.Statevector(np.array([1, 0])).probabilities()",
            "qi.SparsePauliOp(['XX', 'ZZ'], coeffs=v[:2]).to_matrix()",
            "qi.DensityMatrix(np.eye(2) / 2).purity()",
            "q.rx(p, 0); qi.Statevector(q.assign_parameters({p: f})).data",
            "q.rx(p, 0); qi.Statevector(q.assign_parameters(v[:1])).data",
            "q.h(n); q.cx(n - 1, n); q.depth()",
            "q.rx(f, 0); qi.Statevector(q).expectation_value(qi.Pauli('IIZ'))",
        ),
        setup="q = qiskit.QuantumCircuit(3)\np = qiskit.circuit.Parameter('p')",
    ),
    "PennyLane": Library(
        "pennylane as qml; pennylane.numpy as pnp",
        (
            "turned(f)",
            "turned(v[0]), turned(v.sum())",
            "both(v)",
            "both(v[:2] * 2)",
            "qml.grad(turned)(pnp.array(0.3, requires_grad=True))",
            "qml.matrix(qml.RX(f, wires=0)), qml.RY(v[0], wires=0).parameters",
            "qml.Hamiltonian(v[:2], [qml.PauliX(0), qml.PauliZ(0)]).coeffs",
            "prepared(v[:2] / np.linalg.norm(v[:2]))",
            "qml.QubitUnitary(np.eye(2), wires=0).matrix()",
            "qml.math.sum(x), qml.math.dot(v, v), qml.math.stack([v, v])",
        ),
        setup="""
device = qml.device("default.qubit", wires=1)
@qml.qnode(device)
def turned(a):
    qml.RX(a, wires=0)
    return qml.expval(qml.PauliZ(0))
@qml.qnode(device)
def both(a):
    qml.RX(a[0], wires=0)
    qml.RY(a[1], wires=0)
    return qml.expval(qml.PauliZ(0))
@qml.qnode(device)
def prepared(a):
    qml.StatePrep(a, wires=0)
    return qml.probs(wires=0)
""",
    ),
    "QuTiP": Library(
        "qutip",
        (
            "qutip.Qobj(A).eigenenergies(), qutip.Qobj(A).full()",
            "(qutip.Qobj(A) * f).tr(), (f * qutip.Qobj(A)).tr()",
            "qutip.basis(3, n).full(), qutip.coherent(5, f).full()",
            "qutip.mesolve(qutip.sigmax() * f, z, t, [], e_ops=[qutip.sigmaz()]).expect[0]",
            "h = qutip.QobjEvo([qutip.sigmax(), [qutip.sigmaz(), np.sin(t)]], tlist=t); "
            "qutip.sesolve(h, z, t, e_ops=[qutip.sigmaz()]).expect[0]",
            "qutip.expect(qutip.sigmaz(), qutip.Qobj(v[:2]).unit())",
            "(qutip.sigmaz() + f * qutip.sigmax()).eigenenergies()",
            "qutip.Qobj(A).expm().full(), qutip.Qobj(A[:2, :2]).inv().full()",
            "qutip.tensor(qutip.Qobj(A), qutip.qeye(n)).shape",
            "qutip.destroy(int(n) + 2).full(), qutip.fock_dm(4, n).tr()",
        ),
        setup="z = qutip.basis(2, 0)\nt = np.linspace(0, 1, 5)",
    ),
    "MDAnalysis": Library(
        "MDAnalysis; MDAnalysis.lib.distances as distances",
        (
            "distances.distance_array(p, p)",
            "distances.self_distance_array(p)",
            "distances.calc_bonds(p, p[::-1])",
            "distances.calc_angles(p[:2], p[2:4], p[4:6])",
            "distances.calc_dihedrals(p[:2], p[2:4], p[4:6], p[6:8])",
            "r = np.zeros((20, 20)); distances.distance_array(p, p, result=r); r",
            "u.atoms.positions = p; u.atoms.center_of_geometry()",
            "u.atoms.positions = p; u.atoms.translate(x[0]).positions",
            "u.atoms.positions = p; u.atoms.radius_of_gyration() if hasattr(u.atoms, 'masses') else 0",
            "u.atoms.positions = p; u.atoms[i].positions, u.atoms[n].position, len(u.atoms[x[:, 0] > 0])",
        ),
        setup="p = x.astype(np.float32)\nu = MDAnalysis.Universe.empty(20, trajectory=True)",
    ),
    "POT": Library(
        "ot",
        (
            "ot.emd(w, w[::-1], C), ot.emd2(w, w[::-1], C)",
            "ot.sinkhorn(w, w, C, f), ot.sinkhorn2(w, w, C, 1.0)",
            'ot.dist(x[:4], x[4:8]), ot.dist(x[:4], x[4:8], metric="cityblock")',
            "ot.emd_1d(v, x[:4, 0]), ot.wasserstein_1d(v, x[:4, 0])",
            "ot.gromov_wasserstein(C @ C.T, C + C.T, w, w)",
            "ot.bregman.barycenter(np.stack([w, w[::-1]], axis=1), C, 1.0)",
            "ot.sliced_wasserstein_distance(x[:10], x[10:], seed=n)",
            "ot.unbalanced.sinkhorn_unbalanced(w, w, C, f, f)",
            "ot.partial.partial_wasserstein(w, w, C, m=f / 2)",
            "ot.da.SinkhornTransport(reg_e=1.0).fit(Xs=x[:10], Xt=x[10:]).transform(Xs=x[:3])",
        ),
        setup="w = v / v.sum()\nC = np.abs(x[:4, :1] - x[4:8, 0])",
    ),
    "RDKit": Library(
        "rdkit.Chem as Chem; rdkit.Chem.rdMolTransforms as transforms; "
        "rdkit.DataStructs as bits; "
        "rdkit.Geometry as geometry",
        (
            "list(geometry.Point3D(*v[:3]) + geometry.Point3D(f, f, f))",
            "geometry.Point3D(*v[:3]).Distance(geometry.Point3D(f, 2.0, 3.0))",
            "[c.SetAtomPosition(k, geometry.Point3D(*x[k])) for k in range(3)]; c.GetPositions()",
            "[c.SetAtomPosition(k, x[k]) for k in range(3)]; c.GetPositions()",
            "c.SetPositions(x[:3]); c.GetPositions() - c.GetPositions().mean(axis=0)",
            "transforms.TransformConformer(c, np.eye(4) * f); c.GetPositions()",
            "transforms.SetBondLength(c, 0, 1, v[0]); transforms.GetBondLength(c, 0, 1)",
            "a = np.zeros(2048); bits.ConvertToNumpyArray(Chem.RDKFingerprint(mol), a); a.sum()",
            'mol.SetDoubleProp("p", f), mol.GetDoubleProp("p")',
            "mol.GetAtomWithIdx(int(i[1])).GetSymbol(), mol.GetNumAtoms()",
        ),
        setup='mol = Chem.MolFromSmiles("CCO")\nmol.AddConformer(Chem.Conformer(3))\nc = mol.GetConformer()',
    ),
    "PyAMG": Library(
        "pyamg; pyamg.relaxation.relaxation as relaxation; pyamg.graph; pyamg.krylov; "
        "pyamg.gallery.fem as fem",
        (
            "pyamg.ruge_stuben_solver(P).solve(b, tol=1e-10).round(6)",
            "pyamg.smoothed_aggregation_solver(P, B=np.ones((40, 1))).solve(b, tol=1e-10).round(6)",
            "pyamg.solve(P, b, verb=False, tol=1e-10).round(6)",
            "z = np.zeros(40); relaxation.gauss_seidel(P, z, b, iterations=n); z",
            "z = np.zeros(40); relaxation.jacobi(P, z, b, omega=v[1] / 2); z",
            "pyamg.krylov.cg(P, b, tol=1e-10)[0].round(6), pyamg.krylov.gmres(P, b, tol=1e-10)[0].round(6)",
            "Q = P.copy(); Q.data = np.abs(Q.data); pyamg.graph.bellman_ford(Q, i)[0]",
            "pyamg.strength.classical_strength_of_connection(P, theta=f / 4).toarray().sum()",
            "Q = P.tocoo(); Q.data = np.where(Q.data < 0, Q.data * f, Q.data); Q.tocsr().toarray().sum()",
            "fem.generate_quadratic(x[:3, :2], np.array([[0, 1, 2]]))",
        ),
        setup='P = pyamg.gallery.poisson((40,), format="csr")\nb = np.arange(40.0)',
    ),
    "PyWavelets": Library(
        "pywt",
        (
            'pywt.dwt(v, "db1"), pywt.idwt(v, v[::-1], "db2")',
            'pywt.wavedec(x[:, 0], "db2", level=n), pywt.waverec(pywt.wavedec(x[:, 0], "db1"), "db1")',
            'pywt.dwt2(x, "haar"), pywt.wavedec2(x, "db1", level=int(n))',
            'pywt.swt(x[:16, 0], "db1", level=n), pywt.iswt(pywt.swt(x[:16, 0], "db1", 2), "db1")',
            'pywt.swt2(x[:16, :2], "haar", 1)[0][0]',
            'pywt.threshold(v, f * 2, "soft"), pywt.threshold(v, 2, "hard")',
            'pywt.cwt(x[:, 0], np.arange(1, 5), "mexh")[0]',
            "pywt.coeffs_to_array([v, v])[0], pywt.ravel_coeffs([v[:2], v])[0]",
            'pywt.WaveletPacket(x[:16, 0], "db1").get_level(n)[0].data',
            'pywt.Wavelet("mine", filter_bank=[v / 2, v / 2, v / 2, v / 2]).dec_lo',
            "pywt.fswavedecn(x[:16], 'db1', levels=n).approx, pywt.mra(x[:16, 0], 'db1', n)[0]",
        ),
    ),
    "MNE": Library(
        "mne; mne.filter; mne.time_frequency",
        (
            "mne.io.RawArray(x.T, info, verbose=0).get_data()",
            "mne.EpochsArray(x.T[None], info, verbose=0).average().data",
            "mne.filter.filter_data(s, 100.0, 1, 40, verbose=0)[:9]",
            "mne.filter.notch_filter(s, 100.0, 20.0, verbose=0)[:9]",
            "mne.filter.resample(s, down=n, verbose=0)[:9]",
            "mne.time_frequency.psd_array_welch(s, 100.0, n_fft=64, verbose=0)[0]",
            "mne.time_frequency.psd_array_multitaper(s, 100.0, verbose=0)[0][:9]",
            "mne.time_frequency.tfr_array_morlet(np.tile(s, (1, 1, 1)), 100.0, v * 5 + 5, n_cycles=n, "
            "output='power', verbose=0).shape",
            "mne.io.RawArray(np.tile(s, (3, 1)), info, verbose=0).filter(1, 40, verbose=0).get_data()[0, :9]",
            "mne.create_info(int(n), f * 100)['sfreq']",
        ),
        setup="info = mne.create_info(3, 100.0)\ns = np.tile(np.sin(np.linspace(0, 40, 256)), 4)",
    ),
    "pygame": Library(
        "pygame; pygame.surfarray",
        (
            "pygame.surfarray.array3d(pygame.surfarray.make_surface(img))",
            "pygame.surfarray.blit_array(s, img); pygame.surfarray.array3d(s)",
            "pygame.Vector2(v[0], v[1]).length(), pygame.Vector2(v[:2]).length(), pygame.Vector2(f, f)[0]",
            "pygame.Rect(n, n, n, n).w, pygame.Color(int(n), 2, 3).r",
            # It asks a number for its length, and forgets the error: the next call tells of it.
            "abs((pygame.Vector2(1, 2) * f).x)",
            "abs((pygame.Vector2(1, 2) * float(f)).x)",
            "pygame.draw.circle(s, (255, 0, 0), v[:2], n).w",
            "pygame.draw.line(s, (255, 0, 0), (f, f), (v[0], v[1])).w",
            "pygame.draw.polygon(s, (255, 0, 0), x[:3, :2] * 5 + 5).w",
            "pygame.draw.lines(s, (255, 0, 0), False, [x[0, :2], x[1, :2]]).w",
            "pygame.Rect(v * 2).w, pygame.Rect(*v).w",
            "pygame.Rect((v * 2).tolist()).w",
            "s.set_at((n, n), (1, 2, 3)); s.get_at((n, n))[:3]",
        ),
        setup="s = pygame.Surface((16, 16))",
    ),
    "ONNX Runtime": Library(
        "onnxruntime; onnx; onnx.helper as oh; onnx.numpy_helper",
        (
            "s.run(None, {'a': p})[0]",
            "s.run(['b'], {'a': p[:1]})[0]",
            "s.run(None, {'a': p[::2]})[0]",
            "s.run(None, {'a': x})[0]",
            "onnxruntime.OrtValue.ortvalue_from_numpy(p).numpy()",
            "onnx.numpy_helper.to_array(onnx.numpy_helper.from_array(x))",
            "oh.make_tensor('a', 1, [4], v).float_data[0]",
            "oh.make_node('LeakyRelu', ['a'], ['b'], alpha=f).attribute[0].f",
            "onnx.numpy_helper.to_array(onnx.numpy_helper.from_array(m))",
            "onnx.numpy_helper.to_array(onnx.numpy_helper.from_array(i[::-1], 'i'))",
        ),
        setup="""p = x.astype(np.float32)
a, b = (oh.make_tensor_value_info(name, 1, [None, 3]) for name in "ab")
g = oh.make_graph([oh.make_node("Abs", ["a"], ["b"])], "g", [a], [b])
model = oh.make_model(g, opset_imports=[oh.make_opsetid("", 13)], ir_version=8)
s = onnxruntime.InferenceSession(model.SerializeToString())
""",
    ),
    "SimpleITK": Library(
        "SimpleITK as sitk",
        (
            "sitk.GetArrayFromImage(sitk.GetImageFromArray(x))",
            "sitk.GetArrayFromImage(sitk.GetImageFromArray(img[..., 0]) + 1)",
            "s.SetSpacing(v[:2]); s.GetSpacing()",
            "s.SetOrigin((f, f)); s.GetOrigin()",
            "s.SetDirection(np.eye(2).ravel()); s.GetDirection()",
            "sitk.GetArrayFromImage(sitk.DiscreteGaussian(s, 2.0))",
            "sitk.GetArrayFromImage(sitk.GetImageFromArray(img, isVector=True))",
            "sitk.GetArrayFromImage(sitk.GetImageFromArray(m[None].astype(np.uint8)) > 0)",
            "sitk.GetArrayFromImage(s * float(f))",
            "s.GetPixel(int(n), 1)",
        ),
        setup="s = sitk.GetImageFromArray(x)",
    ),
}
