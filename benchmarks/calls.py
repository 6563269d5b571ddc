"""Single calls on known arrays of several sizes, as scripts make them: the expressions of a NumPy user."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from types import CodeType
from typing import Any

import numpy as np

import nabla_array

from .measure import OURS, Claim, Row, geometric_mean, race

# Of square matrices `a`, `b` and `c` (positive), integers `i` below 50, truth values `t`, complex `z`;
# vectors `v` (sorted) and `h`; a matrix `s` with an inverse, of 200 rows at most; `w`, which is written to.
_REDUCTIONS = """
np.sum(a); a.sum(axis=0); a.sum(axis=1); np.mean(a); a.mean(axis=0); np.var(a); a.std(axis=0); np.max(a)
a.min(axis=0); a.max(axis=1); np.argmax(a); a.argmin(axis=1); np.prod(a); np.ptp(a); np.any(t); t.all(axis=0)
np.count_nonzero(t); np.median(a); np.percentile(a, 30); np.average(a, axis=0); np.cumsum(a)
a.cumsum(axis=0); np.cumprod(a, axis=1); np.diff(a); np.gradient(a, axis=0); np.nansum(a); np.nanmax(a)
np.nanmean(a, axis=0); np.nanstd(a); np.cov(a[:20]); np.corrcoef(a[:20]); np.histogram(a, 20)[0]
np.bincount(i.ravel()); np.bincount(i.ravel(), weights=a.ravel()); np.digitize(a[0], v); np.interp(a[0], v, v)
np.searchsorted(v, a[0]); np.trapezoid(a); np.add.reduce(a); np.maximum.accumulate(a); np.trace(a)
"""
_ELEMENTWISE = """
a + b; a * 2; a - 1.5; a / b; a**2; c**0.5; np.exp(a); np.log(c); np.sqrt(c); np.sin(a); np.tanh(a); -a
np.abs(a); np.sign(a); np.floor(a); np.round(a, 2); np.clip(a, -1, 1); np.maximum(a, 0); np.minimum(a, b)
np.fmax(a, b); np.where(a > 0, a, 0); np.where(t, a, b); np.nan_to_num(a); np.isnan(a); np.isclose(a, b)
np.allclose(a, a); np.array_equal(a, a); a == b; a > 0; (a > 0) & (b > 0); ~t; np.logical_and(t, t)
np.logical_not(t); np.square(a); np.hypot(a, b); np.arctan2(a, b); np.mod(a, 2); a // 2; i % 3; i + 1; i // 2
i * i; i & 1; i == 3; a.astype(np.float32); i.astype(float); a.astype(int); z * 2; z * z; np.abs(z)
z.real + z.imag; np.angle(z); np.sum(a * b); np.sum((a - b)**2); np.sqrt(np.sum(a * a, axis=1)); a * b + c
np.exp(-(a**2) / 2); (a - a.mean(axis=0)) / a.std(axis=0); 1 / (1 + np.exp(-a)); np.mean((a - b)**2)
np.polyval([1, 2, 3], a); np.deg2rad(a); np.sinc(a); np.copysign(a, b); np.logaddexp(a, b); np.packbits(t)
"""
_MOVING = """
np.sort(a, axis=1); np.argsort(a, axis=1); np.argsort(a.ravel()); np.unique(i); np.unique(a)
np.partition(a, 3, axis=1); np.isin(i, [1, 2]); np.intersect1d(i, i); np.nonzero(t); np.flatnonzero(t); a[t]
a[a > 0]; a[i[0] % 50]; a[:, i[0] % 50]; np.take(a, [1, 2, 3], axis=1); np.compress(t[0], a, axis=1)
np.take_along_axis(a, np.argsort(a, axis=1), axis=1); np.extract(t, a); np.select([t], [a])
np.choose(i % 2, [a, b]); a[1:-1, 1:-1] * 2; a[::2] + 1; a[:, ::-1] * 1; a.T + 1; a.reshape(-1) * 1; a.copy()
np.roll(a, 1); np.roll(a, 1, axis=0); np.flip(a) * 1; np.rot90(a) * 1; np.tile(a, (2, 1))
np.repeat(a, 2, axis=0); np.concatenate([a, b]); np.stack([a, b]); np.hstack([a, b]); np.split(a, 2)[0] * 1
np.pad(a, 1); np.pad(a, 1, mode="edge"); np.insert(a, 1, 0, axis=0); np.delete(a, 1, axis=0); np.append(a, b)
np.triu(a); np.diag(a) * 1; np.meshgrid(v, v)[0]; np.swapaxes(a, 0, 1) * 1; np.zeros_like(a); np.ones(a.shape)
np.arange(a.size); np.linspace(0, 1, a.size); np.array([r for r in a[:50]]); [r.sum() for r in a[:20]]
np.apply_along_axis(np.sum, 1, a[:50]); np.piecewise(v, [v < 0], [0, 1]); np.random.rand(*a.shape); a.tolist()
"""
_LINEAR = """
a @ b; a.T @ b; a @ v; np.dot(v, v); np.outer(v, v); np.einsum("ij,ij->i", a, b); np.einsum("ii", a)
np.tensordot(a, b, 1); np.linalg.norm(a); np.linalg.norm(a, axis=1); np.linalg.norm(a - b); np.linalg.inv(s)
np.linalg.solve(s, s[0]); np.linalg.det(s); np.linalg.eigh(s)[0]; np.linalg.svd(s)[1]; np.linalg.qr(s)[1]
np.linalg.cholesky(s); np.linalg.lstsq(s, s[0])[0]; np.linalg.matrix_power(s, 2); np.fft.fft(a)
np.fft.fft2(a); np.fft.rfft(a); np.convolve(v, v[:50]); np.polyfit(v, h, 2); np.kron(a[:9, :9], a[:5, :5])
"""
_WRITES = """
w += 1; w *= 0.999; w[1:-1] = 0; w[t] = 0; w[:, 0] = 1; w[i[0] % 50] = 1; w[1:] += w[:-1]; w -= a; w[:] = a
np.add(a, b, out=w); w.fill(1); np.fill_diagonal(w, 1); np.put(h, [1], 2); np.copyto(h, 0)
np.add.at(h, i[0], 1); w[1:-1, 1:-1] = 0.25 * (w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2])
np.putmask(h, t[0], 0)
"""
_SILENT = _REDUCTIONS + _ELEMENTWISE + _MOVING + _LINEAR
# Divisions by zero and other faults, of which NumPy warns where a script does so first.
_FAULTS = """
np.log(a); np.sqrt(a) * 2; 1 / np.round(a); c / (a - a); (a - a) / (a - a) + b; np.arcsin(a) + a
np.where(a > 0, np.log(a), 0); np.nan_to_num(b / np.round(a)); np.exp(c * 1000) - 1; np.round(a)**-1.0 * b
"""
_FAULTY_WRITES = """
w[np.round(a) / np.round(b) == 1] = 1; w[1:] = a[1:] / np.round(b[1:]); np.divide(a, np.round(b), out=w)
"""


def _cases(expressions: str, statements: str) -> list[tuple[str, CodeType]]:
    found = []
    for text, mode in ((expressions, "eval"), (statements, "exec")):
        found += [(e, compile(e, e, mode)) for line in text.splitlines() for e in line.split("; ") if e]
    return found


def _names(xp: Any, side: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, side, side))
    few = a[:200, :200]
    values = {
        **{"a": a, "b": b, "c": np.abs(a) + 0.1, "w": a.copy(), "z": a + 1j * b, "t": a > 0},
        **{"i": rng.integers(0, 50, (side, side)), "v": np.sort(a[0]), "h": b[0]},
        "s": few @ few.T + len(few) * np.eye(len(few)),
    }
    return {"np": xp, **{name: xp.array(x) for name, x in values.items()}}


def _call(code: CodeType, names: dict[str, Any]) -> Callable[[], object]:
    def call() -> None:
        found = eval(code, names)
        if type(found) is not list:  # of numbers, which it would look through
            nabla_array.eval(names["w"] if found is None else found)

    return call if names["np"] is nabla_array else partial(eval, code, names)


def _measure(case: str, code: CodeType, names: dict[str, dict[str, Any]], seconds: float) -> Row:
    calls = {name: _call(code, own) for name, own in names.items()}
    took = []
    for call in calls.values():
        call()
        start = perf_counter()
        call()
        took.append(perf_counter() - start)
    number = max(1, int(2e-4 / max(took)))
    return Row(case, race(calls, min(40, max(4, int(seconds / number / sum(took)))), number))


def run(quick: bool) -> list[Row]:
    """Measure everything here; `quick` only tries whether it works."""
    out = []
    for side in (60,) if quick else (50, 200, 700, 1500):
        names = {OURS: _names(nabla_array, side), "numpy": _names(np, side)}
        seconds = 0 if quick else 0.2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = [_measure(case, code, names, seconds) for case, code in _cases(_SILENT, _WRITES)]
        with warnings.catch_warnings(record=True), nabla_array.config(float_warnings=True):
            warnings.simplefilter("default")
            faulty = [_measure(case, code, names, seconds) for case, code in _cases(_FAULTS, _FAULTY_WRITES)]
        size = f"{side} x {side}"
        rows.sort(key=lambda row: row.ratio("numpy"))
        # A microsecond for a call, and one for its evaluation, is much where arrays are small.
        most = 1.5 if side <= 60 else 1.1
        out.append(geometric_mean(f"{len(rows)} calls, {size}, geometric mean", rows, Claim("numpy", most)))
        out += [Row(f"{size}: {row.case}", row.figures) for row in rows[::-1][:8]]
        case = f"{len(faulty)} calls that NumPy warns of, {size}, geometric mean"
        out.append(geometric_mean(case, faulty, Claim("numpy", most)))
    return out
