"""The interface of derivatives: what they take, what they give, what they refuse."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import nabla_array as xp
from nabla_array.transforms import (
    check_grads,
    checkpoint,
    compile,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal(3)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-10, atol=1e-12)


# -- grad and its relatives --------------------------------------------------------------------------------


def test_gradient() -> None:
    close(grad(lambda x: xp.sum(x**3))(xp.asarray(X)), 3 * X**2)
    close(grad(lambda x: xp.sum(xp.asarray(X) * x))(xp.asarray(X)), X)  # captured is not differentiated
    x = xp.asarray(X)
    close(grad(lambda y: xp.sum(x * y))(x), X)  # nor is the same array
    close(grad(xp.sin)(1.0), np.cos(1.0))
    close(grad(xp.sum)(X), np.ones(3))  # a NumPy array
    assert grad(lambda x: xp.sum(x))(xp.ones(2, dtype=xp.float32)).dtype == xp.float32


def test_arguments_by_place_and_by_name() -> None:
    def f(a: Any, b: Any, c: Any = 2.0) -> Any:
        return a * b**2 * c

    close(grad(f, 1)(3.0, 5.0), 60.0)
    close(grad(f, -1)(3.0, 5.0), 60.0)
    close(grad(f, "b")(3.0, 5.0), 60.0)
    close(grad(f, "c")(3.0, 5.0, c=1.0), 75.0)
    close(grad(f, ("a", "c"))(3.0, b=5.0, c=1.0)[1], 75.0)
    first, second = grad(f, (0, 1))(3.0, 5.0)
    close(first, 50.0)
    close(second, 60.0)


def test_trees_of_parameters() -> None:
    class Params(NamedTuple):
        w: Any
        rest: Any

    p = Params(xp.asarray(X), {"b": 2.0, "none": None})
    g = grad(lambda p, s: s * p.rest["b"] * xp.sum(p.w**2))(p, 3.0)
    assert type(g) is Params
    assert g.rest["none"] is None
    close(g.w, 12 * X)
    close(g.rest["b"], 3 * np.sum(X**2))


def test_value_and_auxiliary_output() -> None:
    def f(x: Any) -> Any:
        y = x * x
        return xp.sum(y), {"y": y, "note": "text"}

    (value, aux), g = value_and_grad(f, has_aux=True)(xp.asarray(X))
    close(value, np.sum(X**2))
    close(aux["y"], X**2)
    assert aux["note"] == "text"
    close(g, 2 * X)
    g, aux = grad(f, has_aux=True)(xp.asarray(X))
    close(g, 2 * X)
    value, g = value_and_grad(lambda x: xp.sum(x))(xp.asarray(X))
    close(value, X.sum())


def test_decorators() -> None:
    @grad
    def one(x: Any) -> Any:
        """Squares."""
        return x * x

    @grad(argnums=1)
    def other(x: Any, y: Any) -> Any:
        return x * y

    assert one.__name__ == "one"
    assert "Squares." in (one.__doc__ or "")
    close(one(3.0), 6.0)
    close(other(3.0, 1.0), 3.0)


def test_any_order() -> None:
    f = xp.sin
    for k in range(1, 6):
        f = grad(f)
        close(f(0.7), np.sin(0.7 + k * np.pi / 2))


def test_what_the_output_does_not_depend_on_is_zero() -> None:
    close(grad(lambda x, y: y * 2.0, 0)(xp.asarray(1.0), 3.0), 0.0)
    close(grad(lambda x: 5.0)(1.0), 0.0)
    close(grad(lambda x: xp.sum(xp.floor(x)) + xp.argmax(x) * 1.0)(xp.asarray(X)), np.zeros(3))
    close(jvp(lambda x: xp.ones(2), (1.0,), (1.0,))[1], np.zeros(2))


def test_values_may_be_looked_at() -> None:
    def f(x: Any) -> Any:
        if x[0] > 0:
            x = x * 2
        while xp.sum(x) < 10:
            x = x * x + 1
        n = int(xp.sum(x)) % 3
        return xp.sum(x) * n + float(stop_gradient(x[1])) * x[2]

    x = np.abs(X) + 0.5
    step = 1e-6
    g = np.asarray(grad(f)(xp.asarray(x)))
    # x[1] is a constant there: the difference quotient must keep it.
    kept = f(xp.asarray(x))
    assert np.isfinite(np.asarray(kept))

    def smooth(y: Any) -> Any:
        z = y * 2
        while np.sum(z) < 10:
            z = z * z + 1
        return z, int(np.sum(z)) % 3

    z0, n = smooth(x)
    for i in range(3):
        d = np.zeros(3)
        d[i] = step
        up, down = smooth(x + d)[0], smooth(x - d)[0]
        wanted = (n * (up.sum() - down.sum()) + z0[1] * (up[2] - down[2])) / (2 * step)
        np.testing.assert_allclose(g[i], wanted, rtol=1e-5)


def test_writes_and_views() -> None:
    def f(x: Any) -> Any:
        x[0] = x[1] * 2
        row = x[1:]
        row *= x[0]
        y = xp.zeros(4)
        y[1:] = x
        y[xp.asarray([1, 1])] = x[2]
        y += y
        return xp.sum(y * y)

    x = xp.asarray(X)
    check_grads(lambda a: f(a + 0), (x,), 2)
    close(x, X)  # the caller's array is as it was
    close(grad(f)(x), grad(lambda a: f(a + 0))(x))


def test_arrays_written_to_hold_values_afterwards() -> None:
    log = xp.zeros(2)

    def f(x: Any) -> Any:
        log[0] = x * 2
        return x * log[0]

    close(grad(f)(3.0), 12.0)
    close(log, [6.0, 0.0])
    close(grad(grad(f))(3.0), 4.0)


def test_chains_of_any_length() -> None:
    def f(x: Any) -> Any:
        for _ in range(5000):
            x = x * 1.0001
        return x

    close(grad(f)(1.0), 1.0001**5000)
    close(jvp(f, (1.0,), (1.0,))[1], 1.0001**5000)


def test_threads() -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        for _ in range(20):
            g = np.asarray(grad(lambda x: xp.sum(xp.sin(x * k)))(xp.asarray(X)))
            if not np.allclose(g, k * np.cos(X * k)):
                wrong.append(g)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# -- complex numbers ---------------------------------------------------------------------------------------


def test_complex_numbers_follow_jax() -> None:
    z = 1.0 + 2.0j
    close(grad(lambda z: z**3, holomorphic=True)(z), 3 * z**2)
    # A real function of a complex number: the conjugate of the direction of steepest ascent.
    close(grad(lambda z: (z * xp.conj(z)).real)(z), 2 * np.conj(z))
    close(grad(lambda z: xp.abs(z))(z), np.conj(z) / abs(z))
    close(grad(lambda z: z.real**2 + 3 * z.imag)(z), 2 * z.real - 3j)
    close(jacfwd(xp.exp, holomorphic=True)(z), np.exp(z))
    close(jacrev(xp.exp, holomorphic=True)(z), np.exp(z))
    zs = X + 1j * X[::-1]
    close(jacrev(lambda z: xp.abs(z))(xp.asarray(zs)), np.diag(np.conj(zs) / np.abs(zs)))
    close(grad(lambda x: xp.sum(xp.abs(xp.fft.fft(x)) ** 2))(xp.asarray(X)), 6 * X)
    check_grads(lambda z: xp.exp(z) * xp.conj(z), (xp.asarray([z, 1j]),), 2)


# -- jvp, vjp, linearize -----------------------------------------------------------------------------------


def test_forward_and_reverse_agree() -> None:
    A = RNG.standard_normal((4, 3))

    def f(tree: Any) -> Any:
        return {"y": xp.tanh(xp.asarray(A) @ tree["x"]) * tree["s"], "s": tree["s"] ** 2}

    primal = {"x": xp.asarray(X), "s": xp.asarray(2.0)}
    tangent = {"x": xp.asarray(RNG.standard_normal(3)), "s": xp.asarray(0.5)}
    ct = {"y": xp.asarray(RNG.standard_normal(4)), "s": xp.asarray(-1.0)}
    out, t = jvp(f, (primal,), (tangent,))
    out2, along = linearize(f, primal)
    out3, pullback = vjp(f, primal)
    for k in out:
        close(out2[k], out[k])
        close(out3[k], out[k])
        close(along(tangent)[k], t[k])
    (back,) = pullback(ct)
    left = sum(np.sum(np.asarray(ct[k]) * np.asarray(t[k])) for k in ct)
    right = sum(np.sum(np.asarray(back[k]) * np.asarray(tangent[k])) for k in tangent)
    close(left, right)
    close(pullback(ct)[0]["x"], back["x"])  # again


def test_several_primals_and_aux() -> None:
    y, pullback, aux = vjp(lambda a, b: (a * b, "aux"), 2.0, 3.0, has_aux=True)
    assert aux == "aux"
    close(pullback(1.0)[0], 3.0)
    close(pullback(xp.asarray(1.0))[1], 2.0)
    y, t, aux = jvp(lambda a: (a * a, 7), (3.0,), (1.0,), has_aux=True)
    assert aux == 7
    close(t, 6.0)
    y, along, aux = linearize(lambda a: (a * a, 7), 3.0, has_aux=True)
    close(along(2.0), 12.0)
    close(y, 9.0)


def test_pullbacks_and_linear_functions_under_vmap() -> None:
    x = xp.asarray(X)
    _y, pullback = vjp(lambda a: xp.sin(a) * a[0], x)
    cts = RNG.standard_normal((5, 3))
    (batched,) = vmap(pullback)(xp.asarray(cts))
    close(batched, np.stack([np.asarray(pullback(xp.asarray(c))[0]) for c in cts]))
    _, along = linearize(lambda a: xp.sin(a) * a[0], x)
    close(vmap(along)(xp.asarray(cts)), np.stack([np.asarray(along(xp.asarray(c))) for c in cts]))
    close(
        vmap(lambda a: vmap(vjp(xp.sin, a)[1])(xp.eye(3))[0])(xp.asarray(cts)),
        np.stack([np.diag(np.cos(c)) for c in cts]),
    )


def test_integer_outputs_have_zero_tangents() -> None:
    _out, t = jvp(lambda x: (xp.argmax(x), x * 2), (xp.asarray(X),), (xp.ones(3),))
    close(t[0], 0)
    close(t[1], 2 * np.ones(3))
    _, pullback = vjp(lambda x: (xp.argmax(x), x * 2), xp.asarray(X))
    close(pullback((0, xp.ones(3)))[0], 2 * np.ones(3))


# -- Jacobians ---------------------------------------------------------------------------------------------


def test_jacobians() -> None:
    A = RNG.standard_normal((4, 3))

    def f(x: Any, s: Any) -> Any:
        return {"a": xp.exp(xp.asarray(A) @ x), "b": s * xp.sum(x)}

    for transform in (jacfwd, jacrev):
        J = transform(f, argnums=(0, 1))(xp.asarray(X), 2.0)
        close(J["a"][0], np.exp(A @ X)[:, None] * A)
        close(J["a"][1], np.zeros(4))
        close(J["b"][0], 2 * np.ones(3))
        close(J["b"][1], X.sum())
        M = transform(lambda m: m @ m)(xp.asarray(A[:3]))
        assert M.shape == (3, 3, 3, 3)
        (J, aux) = transform(lambda x: (x * 2, "aux"), has_aux=True)(xp.asarray(X))
        assert aux == "aux"
        close(J, 2 * np.eye(3))


def test_hessians() -> None:
    A = RNG.standard_normal((3, 3))

    def f(x: Any) -> Any:
        return xp.sum(x * (xp.asarray(A) @ x)) + xp.sum(x**4)

    wanted = A + A.T + np.diag(12 * X**2)
    x = xp.asarray(X)
    close(hessian(f)(x), wanted)
    close(jacrev(jacfwd(f))(x), wanted)
    close(jacrev(jacrev(f))(x), wanted)
    close(jacfwd(jacfwd(f))(x), wanted)
    v = RNG.standard_normal(3)
    close(hvp(f, (x,), (xp.asarray(v),)), wanted @ v)
    close(vmap(hessian(f))(xp.stack([x, 2 * x]))[1], A + A.T + np.diag(48 * X**2))
    blocks = hessian(lambda p: p["a"] * xp.sum(p["b"] ** 2))({"a": 2.0, "b": x})
    close(blocks["a"]["b"], 2 * X)
    close(blocks["b"]["b"], 4 * np.eye(3))


Y = np.asarray([[1.0, 2.0, 0.5, 3.0], [2.0, 1.0, 7.0, 1.5], [0.2, 0.1, 3.0, 9.0]])
# Functions of what is a parameter rather than data, for NumPy (m is np) and for us.
PARAMETERS: dict[str, Callable[[Any, Any], Any]] = {
    "linspace": lambda m, x: m.linspace(x[0], x[1], 5),
    "linspace of arrays": lambda m, x: m.linspace(x[:2], x[2:], 3, endpoint=False, axis=-1),
    "step of linspace": lambda m, x: m.linspace(1.0, x[1], 5, retstep=True)[1],
    "logspace": lambda m, x: m.logspace(x[0], x[1], 3, base=x[2] + 1),
    "geomspace": lambda m, x: m.geomspace(x[0], x[1], 4),
    "quantile": lambda m, x: m.quantile(m.asarray(Y), x / 3, axis=1),
    "quantile of another kind": lambda m, x: m.quantile(m.asarray(Y[0]), x[0], method="hazen"),
    "percentile": lambda m, x: m.percentile(m.asarray(Y[0]), x * 20),
    "nanquantile": lambda m, x: m.nanquantile(m.asarray(Y), x / 3, axis=1),
    "nanpercentile": lambda m, x: m.nanpercentile(m.asarray(Y), x[0]),
    "even coordinates": lambda m, x: m.gradient(m.asarray([1.0, 2.0, 5.0, 7.0]), x[0] * m.arange(4.0)),
    "coordinates": lambda m, x: m.gradient(m.asarray([1.0, 2.0, 5.0, 7.0]), m.cumsum(x), edge_order=2),
    "weights of cov": lambda m, x: m.cov(m.asarray(Y), aweights=x),
    "weights of cov, biased": lambda m, x: m.cov(m.asarray(Y), aweights=x, bias=True),
    "edges of a histogram": lambda m, x: m.histogram(x, 3)[1],
    "density between edges": lambda m, x: m.histogram(m.asarray([0.5, 1.0, 1.5]), x[:2], density=True)[0],
    "setxor1d": lambda m, x: m.setxor1d(x, x[:2]) ** 2,
    "unique_values": lambda m, x: m.unique_values(x) ** 2,
    "unique_counts": lambda m, x: m.unique_counts(x)[0] ** 2,
    "unique_inverse": lambda m, x: m.unique_inverse(x)[0] ** 2,
    "unique_all": lambda m, x: m.unique_all(x)[0] ** 2,
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_have_derivatives(name: str) -> None:
    f, x, h = PARAMETERS[name], np.asarray([0.31, 1.23, 0.83, 1.74]), 1e-6
    columns = [(f(np, x + h * e) - f(np, x - h * e)) / (2 * h) for e in np.eye(4)]
    wanted = np.stack(columns, axis=-1)
    for transform in (jacfwd, jacrev, lambda f: jacrev(checkpoint(f))):
        found = transform(lambda x: f(xp, x))(xp.asarray(x))
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: xp.sum(xp.arange(x, x + 2)),
        lambda x: xp.sum(xp.arange(0.0, 3.0, x)),
        lambda x: xp.sum(xp.histogram2d(xp.ones(2), xp.ones(2), 2, weights=x * xp.ones(2))[0]),
    ],
)
def test_parameters_without_derivatives_are_refused(call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="a value that is being differentiated leaves"):
        grad(call)(1.0)
    assert grad(lambda x: xp.sum(xp.arange(0.0, x)))(3.0) == 0


def test_derivatives_at_special_points() -> None:
    points, values = [0.0, 1.0, 3.0], [0.0, 3.0, 4.0]
    for x, wanted in ((0.0, 3.0), (1.0, 0.5), (3.0, 0.5), (0.5, 3.0), (-1.0, 0.0), (4.0, 0.0)):
        slope = grad(lambda x: xp.interp(x, xp.asarray(points), xp.asarray(values)))
        close(slope(x), wanted)  # beside a sample, that of the next line
        close(jvp(slope, (x,), (1.0,))[1], 0.0)
    by_points, by_values = grad(lambda p, v: xp.interp(1.0, p, v), (0, 1))(
        xp.asarray(points), xp.asarray(values)
    )
    close(by_points, [0.0, -0.5, 0.0])
    close(by_values, [0.0, 1.0, 0.0])
    jump = compile(lambda x: xp.interp(x, xp.asarray([0.0, 1.0, 1.0]), xp.asarray([5.0, 6.0, 7.0])))
    close(jump(xp.asarray([0.5, 1.0])), [5.5, 7.0])
    one = compile(lambda x: xp.interp(x, xp.asarray([1.0]), xp.asarray([5.0])))
    close(one(xp.asarray([0.5, np.nan])), np.interp([0.5, np.nan], [1.0], [5.0]))
    close(vmap(grad(grad(xp.sinc)))(xp.asarray([0.0, 1.0])), [-(np.pi**2) / 3, 2.0])
    assert grad(xp.sinc)(np.float32(0)).dtype == np.float32


def test_stop_gradient() -> None:
    close(grad(lambda x: x * stop_gradient({"a": x, "b": "text"})["a"])(3.0), 3.0)
    close(jvp(lambda x: stop_gradient(x) + x, (2.0,), (1.0,))[1], 1.0)


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: grad(lambda x: x)(xp.ones(3)),
            TypeError,
            r"grad: .*one number, not an array of shape \(3,\)",
        ),
        (
            lambda: grad(lambda x: (x, x))(1.0),
            TypeError,
            r"grad: .*one number, not the structure tuple\(\*, \*\)",
        ),
        (lambda: grad(lambda x: x)(1), TypeError, r"grad: argument 0 is int64, which has no derivative"),
        (lambda: grad(lambda x, y: x, "y")(1.0, True), TypeError, r"grad: argument 'y' is bool"),
        (lambda: grad(lambda x: x)("text"), TypeError, r"grad: needs arrays or numbers, not str: 'text'"),
        (lambda: grad(lambda x: x, 1)(1.0), ValueError, r"argnums 1 is out of range: the call has 1"),
        (lambda: grad(lambda x: x, "z")(1.0), ValueError, r"argnums 'z' names no argument"),
        (
            lambda: grad(lambda x: x, 0.5)(1.0),
            TypeError,
            r"argnums must be ints or names of arguments, not 0.5",
        ),
        (
            lambda: grad(lambda x: x * 1j)(1.0),
            TypeError,
            r"must be a real number, not complex128; holomorphic",
        ),
        (lambda: grad(lambda x: x, holomorphic=True)(1.0), TypeError, r"holomorphic needs complex arguments"),
        (lambda: grad(lambda x: xp.abs(x), holomorphic=True)(1j), TypeError, r"must be a complex number"),
        (lambda: grad(lambda x: x, has_aux=True)(1.0), TypeError, r"must return a pair \(output, aux\)"),
        (lambda: grad(lambda x: xp.astype(x, xp.int64))(1.0), TypeError, r"must be a real number, not int64"),
        (lambda: jvp(xp.sin, (1.0,), (1.0, 2.0)), ValueError, r"jvp: the tangents have the structure"),
        (
            lambda: jvp(xp.sin, (xp.ones(2),), (xp.ones(3),)),
            ValueError,
            r"tangent of shape \(3,\) .* shape \(2,\)",
        ),
        (
            lambda: jvp(xp.sin, (xp.ones(2),), (xp.ones(2, dtype=xp.float32),)),
            TypeError,
            r"float32 .* float64",
        ),
        (lambda: jvp(xp.sin, (1,), (1,)), TypeError, r"jvp: a primal is int64"),
        (lambda: vjp(xp.sin, xp.ones(2))[1]((1.0,)), ValueError, r"vjp: the cotangents have the structure"),
        (lambda: vjp(xp.sin, xp.ones(2))[1](xp.ones(3)), ValueError, r"cotangent of shape \(3,\)"),
        (lambda: linearize(xp.sin, 1.0)[1](1.0, 2.0), ValueError, r"linearize: the tangents have"),
        (
            lambda: jacfwd(xp.sin)(1),
            TypeError,
            r"jacfwd: an input is int64, which has no derivative; floating-point numbers would do",
        ),
        (
            lambda: jacrev(lambda x: x * 1j)(1.0),
            TypeError,
            r"jacrev: outputs must be real numbers, not complex128",
        ),
        (lambda: jacfwd(xp.sin)(1j), TypeError, r"must be real floating-point numbers, not complex128"),
        (lambda: custom_jvp(xp.sin)(1.0), AttributeError, r"has no rule yet; give it one with defjvp"),
        (lambda: custom_vjp(xp.sin)(1.0), AttributeError, r"has no rules yet"),
        (lambda: check_grads(xp.sin, (1.0,), 1, modes=["both"]), ValueError, r"modes are 'fwd' and 'rev'"),
        (lambda: grad(3), TypeError, r"grad: needs a function, not 3"),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_wrong_rules_are_told() -> None:
    f = custom_jvp(lambda x: x * 2)
    f.defjvp(lambda p, t: p[0])
    with pytest.raises(TypeError, match=r"the rule must return \(output, output_tangent\)"):
        grad(f)(1.0)
    f.defjvp(lambda p, t: (p[0], xp.ones(3)))
    with pytest.raises(TypeError, match=r"the rule gave tangents of float64\[3\] for float64\[\]"):
        grad(f)(1.0)
    g = custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (x * y, ()), lambda res, ct: (ct,))
    with pytest.raises(TypeError, match=r"a tuple of 2 cotangents, one an argument, not 1"):
        grad(g)(1.0, 2.0)

    def captures(x: Any) -> Any:
        h = custom_jvp(lambda y: y * x)
        h.defjvps(lambda t, out, y: t)
        return h(1.0)

    with pytest.raises(ValueError, match="captures an array that is being differentiated"):
        grad(captures)(1.0)
