"""More of the lines of `benchmarks.borders`: learning, solvers, sounds, files, and checks of types."""

from __future__ import annotations

from .border_library import Library

_TARGETS = "y = (x[:, 0] > 0).astype(int)\nw = np.abs(x[:, 1]) + 1"

MORE = {
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
}
