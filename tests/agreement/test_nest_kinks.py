"""Where a nest has no derivative, at ties and zeros, its gradient is JAX's for the same formula in jnp."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tests.agreement.formulas import Formula
from tests.agreement.nesting import nesting

pytestmark = pytest.mark.usefixtures("quickly_compiled")

# `make deep` takes more blocks and directions.

INF = np.inf

# All distinct.
APART = np.array([0.5, -1.25, 2.0, -0.75, 1.5], "float32")
# Twice the least, three times the greatest; a zero.
TIES = np.array([1.0, -1.0, 2.0, 0.0, 2.0, -1.0, 2.0], "float32")
# Two zeros and a pair.
ZEROS = np.array([2.0, 0.0, -1.0, 3.0, 0.0, -1.0, 0.5], "float32")
EQUAL = np.full(7, 0.5, "float32")
ENDLESS = np.array([1.0, -INF, 0.5, -INF, 2.0, -3.0, 0.0], "float32")
MASK = np.array([[1, 0, 1, 1, 0, 1, 0], [0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1]], bool)


def outer(function, x, y):
    return function(x[:, None], y[None, :])


# Text, the same in jnp, arguments. `LOOSE` marks results with too few digits for their derivative.
KINKS = {
    "a least sum with ties": (
        "O(i) min=! x(i) + y(j)",
        lambda x, y: jnp.min(outer(jnp.add, x, y), axis=1),
        (APART, TIES),
    ),
    "a greatest sum with ties": (
        "O(i) max=! x(i) + y(j)",
        lambda x, y: jnp.max(outer(jnp.add, x, y), axis=1),
        (APART, TIES),
    ),
    "a greatest product, all equal": (
        "O(i) max=! x(i) * y(j)",
        lambda x, y: jnp.max(outer(jnp.multiply, x, y), axis=1),
        (APART, EQUAL),
    ),
    "a least over two indices": (
        "O min=! x(i) + y(j)  # tcjax: ignore[TC1209]",
        lambda x, y: jnp.min(outer(jnp.add, x, y)),
        (TIES, ZEROS),
    ),
    "a least over a whole matrix for each of some": (
        "O(h) min=! z(h) * (x(i) + y(j))",
        lambda z, x, y: jnp.min(z[:, None, None] * outer(jnp.add, x, y), axis=(1, 2)),
        (APART, TIES, ZEROS),
    ),
    "a least distance that is zero": (
        "O(i) min=! fabs(x(i) - y(j))",
        lambda x, y: jnp.min(jnp.abs(outer(jnp.subtract, x, y)), axis=1),
        (TIES, ZEROS),
    ),
    "a least square that is zero": (
        "O(i) min=! (x(i) - y(j)) * (x(i) - y(j))",
        lambda x, y: jnp.min(outer(jnp.subtract, x, y) ** 2, axis=1),
        (TIES, ZEROS),
    ),
    "ties of infinities": (
        "O(i) max=! x(i) + y(j)",
        lambda x, y: jnp.max(outer(jnp.add, x, y), axis=1),
        (APART, np.where(TIES > 0, -INF, TIES).astype("float32")),
    ),
    "ties of tropical products": (
        "C(i,j) min=! A(i,k) + B(k,j)",
        lambda a, b: jnp.min(a[:, :, None] + b[None], axis=1),
        (np.stack([TIES, ZEROS, EQUAL]), np.stack([TIES, ZEROS]).T),
    ),
    "a least of differences of itself": (
        "O(i) min=! fabs(x(i) - x(j))",
        lambda x: jnp.min(jnp.abs(outer(jnp.subtract, x, x)), axis=1),
        (ZEROS,),
    ),
    "ties that a guard leaves out": (
        "O(i) = max[j where j <= i](y(j) * x(i))",
        lambda y, x: jnp.max(jnp.where(np.tri(7, dtype=bool), outer(jnp.multiply, x, y), -INF), axis=1),
        (TIES, np.abs(ZEROS) + 1),
    ),
    "a product with zeros": (
        "O(i) *=! x(i) * y(j)",
        lambda x, y: jnp.prod(outer(jnp.multiply, x, y), axis=1),
        (APART, ZEROS),
    ),
    "a product with one zero for some": (
        "O(i) *=! x(i) - y(j)",
        lambda x, y: jnp.prod(outer(jnp.subtract, x, y), axis=1),
        (np.array([2.0, 0.0, 5.0, -1.0], "float32"), np.array([2.0, -1.0, 0.0, -1.0, 4.0], "float32")),
    ),
    "absolute values of zero": (
        "O(i) +=! fabs(x(i) - y(j)) * y(j)",
        lambda x, y: jnp.sum(jnp.abs(outer(jnp.subtract, x, y)) * y, axis=1),
        (TIES, ZEROS),
    ),
    "pairwise maxima of equals": (
        "O(i) +=! max(x(i), y(j)) * y(j)",
        lambda x, y: jnp.sum(outer(jnp.maximum, x, y) * y, axis=1),
        (TIES, ZEROS),
    ),
    "a hinge at its corner": (
        "O(i) +=! max(x(i) - y(j), 0.0) * min(x(i) * y(j), 1.0)",
        lambda x, y: jnp.sum(
            jnp.maximum(outer(jnp.subtract, x, y), 0.0) * jnp.minimum(outer(jnp.multiply, x, y), 1.0), axis=1
        ),
        (TIES, ZEROS),
    ),
    "rectified differences of equals": (
        "O(i) +=! relu(x(i) - y(j)) * y(j)",
        lambda x, y: jnp.sum(jax.nn.relu(outer(jnp.subtract, x, y)) * y, axis=1),
        (TIES, ZEROS),
    ),
    "logsumexp with infinities": (
        "O(i) logsumexp=! x(i) + y(j)",
        lambda x, y: jax.nn.logsumexp(outer(jnp.add, x, y), axis=1),
        (APART, ENDLESS),
    ),
    "logsumexp of far values": (
        "O(i) logsumexp=! x(i) * y(j)",
        lambda x, y: jax.nn.logsumexp(outer(jnp.multiply, x, y), axis=1),
        (APART * 20, TIES * 20),
    ),
    "the three least with ties": (
        "O(i,r) = mink[j](x(i) + y(j), r) where r in 0:3",
        lambda x, y: jnp.sort(outer(jnp.add, x, y), axis=1)[:, :3],
        (APART, TIES),
    ),
    "the four greatest with ties": (
        "O(i,r) = maxk[j](x(i) + y(j), r) where r in 0:4",
        lambda x, y: -jnp.sort(-outer(jnp.add, x, y), axis=1)[:, :4],
        (APART, TIES),
    ),
    "what stands at the first of ties": (
        "P(i) argmax=! x(i) + y(j)  O(i) = v(P(i)) * x(i)",
        lambda x, y, v: v[jnp.argmax(outer(jnp.add, x, y), axis=1)] * x,
        (APART, TIES, ZEROS),
    ),
    "a mean under a mask": (
        "O(i) = sum[j where M(i,j)](x(i) * y(j)) / (1 + sum[j where M(i,j)](1.0))",
        lambda m, x, y: jnp.sum(jnp.where(m, outer(jnp.multiply, x, y), 0.0), axis=1) / (1 + jnp.sum(m, axis=1)),
        (MASK, APART[:3], TIES),
    ),
    "a least under a mask": (
        "O(i) = min[j where M(i,j)](x(i) * y(j))",
        lambda m, x, y: jnp.min(outer(jnp.multiply, x, y), axis=1, where=m, initial=INF),
        (MASK[::2], APART[:2], TIES),
    ),
    "half precision, where rounding makes ties": (
        "O(i) min=! x(i) + y(j)",
        lambda x, y: jnp.min(outer(jnp.add, x, y), axis=1),
        (np.array([1024, 2048], "float16"), np.array([0.25, 0.5, 0.125, 0.25, 3.0], "float16")),
    ),
}

# A weight is the exponential of a difference from the result, which is as exact as the result is.
LOOSE = {"logsumexp of far values": 2e-4, "half precision, where rounding makes ties": 1e-3}


def _floats(arrays: tuple[np.ndarray, ...]) -> tuple[int, ...]:
    return tuple(n for n, array in enumerate(arrays) if array.dtype.kind == "f")


def _gradient(function, arrays):
    """Gradients of the weighted sum of the results; weights of infinite results are zero."""
    result, pull = jax.vjp(function, *map(jnp.asarray, arrays))
    weights = jnp.cos(jnp.arange(result.size)).reshape(result.shape).astype(result.dtype)
    return [pull(jnp.where(jnp.isfinite(result), weights, 0))[n] for n in _floats(arrays)]


@pytest.mark.parametrize("rows", [1, 3, 99])
@pytest.mark.parametrize("name", KINKS)
def test_the_gradient_is_the_one_of_jnp(name: str, rows: int) -> None:
    text, function, arrays = KINKS[name]
    tolerance = LOOSE.get(name, 1e-5)

    with nesting(rows=rows, unroll=2):
        kernel = tcjax.kernel(text)
        result = kernel(*arrays)
        found = _gradient(kernel, arrays)

    np.testing.assert_allclose(result, function(*map(jnp.asarray, arrays)), rtol=tolerance)
    for one, other in zip(found, _gradient(function, arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * max(1.0, float(jnp.abs(other).max())))


@pytest.mark.parametrize("name", [name for name in KINKS if "infinit" not in name and "half" not in name])
def test_the_tangent_is_the_one_of_jnp(name: str) -> None:
    text, function, arrays = KINKS[name]
    floats = _floats(arrays)

    def moved(f):
        def along(*given):
            everything = list(map(jnp.asarray, arrays))
            for n, array in zip(floats, given, strict=True):
                everything[n] = array
            return f(*everything)

        given = tuple(jnp.asarray(arrays[n]) for n in floats)
        ways = tuple(jnp.sin(jnp.arange(a.size) + 1.0 * n).reshape(a.shape) for n, a in enumerate(given))
        return jax.jvp(along, given, ways)

    with nesting(rows=2):
        found = moved(tcjax.kernel(text))

    for one, other in zip(found, moved(function), strict=True):
        tolerance = LOOSE.get(name, 1e-5)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * max(1.0, float(jnp.abs(other).max())))


def test_the_second_derivative_of_a_product_with_zeros() -> None:
    y = jnp.asarray(ZEROS)

    with nesting(rows=2):
        kernel = tcjax.kernel("O(i) *=! x(i) - y(j)")
        found = jax.hessian(lambda y: kernel(jnp.asarray(APART[:2]) * 0, y).sum())(y)

    expected = jax.hessian(lambda y: jnp.prod(-y) * 2)(y)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


EMPTY = {
    "min": ("O(i) = min[j where M(i,j)](x(i) * y(j))", INF),
    "max": ("O(i) = max[j where M(i,j)](x(i) * y(j))", -INF),
    "logsumexp": ("O(i) = logsumexp[j where M(i,j)](x(i) * y(j))", -INF),
    "sum": ("O(i) = sum[j where M(i,j)](fabs(x(i) - y(j)))", 0.0),
    "prod": ("O(i) = prod[j where M(i,j)](x(i) - y(j))", 1.0),
    "mean": ("O(i) = mean[j where M(i,j)](x(i) - y(j))", np.nan),
    "mink": ("O(i) = mink[j where M(i,j)](x(i) - y(j), 0)", INF),
    "argmax": ("O(i) = argmax[j where M(i,j)](x(i) - y(j))", 0),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("kind", ["values", "gradients", "tangents"])
def test_a_row_without_points_harms_no_other(name: str, kind: str) -> None:
    text, identity = EMPTY[name]
    x, y = APART[:3], ZEROS
    with nesting(rows=3):
        kernel = tcjax.kernel(text)
        if kind == "values":
            result = np.asarray(kernel(MASK, x, y))
            np.testing.assert_allclose(result, kernel.interpret(MASK, x, y), rtol=1e-5)
            np.testing.assert_array_equal(result[1], identity)
            return
        if name == "argmax":
            return
        if kind == "tangents":
            ways = jnp.cos(x), jnp.sin(y)
            _, tangent = jax.jvp(lambda x, y: kernel(MASK, x, y), (x, y), ways)
            _, alone = jax.jvp(lambda x, y: kernel(MASK[::2], x, y), (x[::2], y), (ways[0][::2], ways[1]))
            np.testing.assert_allclose(tangent[::2], alone, rtol=1e-5)
            if name != "mean":
                np.testing.assert_array_equal(tangent[1], 0)
            return

        # The others alone.
        weights = jnp.array([1.0, 0.0, 0.5])
        result, pull = jax.vjp(lambda x, y: kernel(MASK, x, y), x, y)
        of_x, of_y = pull(weights)
        alone = jax.vjp(lambda x, y: kernel(MASK[::2], x, y), x[::2], y)[1](weights[::2])

    np.testing.assert_array_equal(of_x[1], 0)
    np.testing.assert_allclose(of_x[::2], alone[0], rtol=1e-5)
    np.testing.assert_allclose(of_y, alone[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reducer", ["min", "max", "sum", "prod", "logsumexp", "mink", "maxk"])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (1, 1), (1, 5), (5, 1)])
def test_arrays_without_elements_have_gradients(reducer: str, shape: tuple[int, int]) -> None:
    rank = ", 0" if reducer.endswith("k") else ""
    formula = Formula(f"O(i) = {reducer}[j](x(i) * y(j){rank})", jnp.outer, ((shape[0],), (shape[1],)))
    arrays = formula.arrays()

    with nesting():
        kernel = formula.fresh()
        result, pull = jax.vjp(kernel, *arrays)
        slopes = pull(jnp.ones_like(result))

    np.testing.assert_allclose(result, kernel.interpret(*arrays))
    assert [s.shape for s in slopes] == [(shape[0],), (shape[1],)]
    assert all(np.isfinite(s).all() for s in slopes)
    if shape == (1, 1):
        # Every reducer of one point gives the point.
        np.testing.assert_allclose([s[0] for s in slopes], [arrays[1][0], arrays[0][0]], rtol=1e-6)


def test_not_a_number_passes_through_an_extremum() -> None:
    x, y = APART, TIES.copy()
    y[3] = np.nan

    for rows in (1, 2, 7):
        with nesting(rows=rows, unroll=2):
            for name in ("min", "max"):
                kernel = tcjax.kernel(f"O(i) {name}=! x(i) + y(j)")
                assert np.isnan(kernel(x, y)).all()
            for name in ("argmin", "argmax"):
                kernel = tcjax.kernel(f"O(i) {name}=! x(i) + y(j)")
                np.testing.assert_array_equal(kernel(x, y), 3)


def test_the_slope_of_a_number_whose_body_reads_where_data_say() -> None:
    rng = np.random.default_rng(5)
    D, F, G, I, J, K = (rng.normal(size=s).astype(np.float32) for s in (4, (5, 17), 7, (17, 2), 25, 7))
    C, E, H = (rng.integers(0, high, size).astype(np.int32) for high, size in ((4, 17), (5, 7), (2, 7)))
    D -= 4  # The least is where F is read.

    with nesting(1, 3, tile=3, written=0):
        kernel = tcjax.kernel("""
        def f(float(A) D, float(B,N) F, float(M) G, float(N,L) I, float(P) J, float(M) K,
              int32(N) C, int32(M) E, int32(M) H) -> (O) {
            O min=! (u + u) % 3 == 1 ? D(C(u)) + F(E(v), u) : G(v) * I(u, H(v)) where v in 0:M, J(u + v + 2) > K(v)
        }""")
        found = jax.grad(kernel, argnums=1)(D, F, G, I, J, K, C, E, H)

    values = {
        (u, v): D[C[u]] + F[E[v], u] if 2 * u % 3 == 1 else G[v] * I[u, H[v]]
        for u in range(17)
        for v in range(7)
        if J[u + v + 2] > K[v]
    }
    u, v = min(values, key=lambda point: values[point])
    wanted = np.zeros_like(F)
    wanted[E[v], u] = 2 * u % 3 == 1
    assert wanted.any()
    np.testing.assert_array_equal(found, wanted)
