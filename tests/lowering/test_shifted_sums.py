"""Sums at each of a few shifts, such as cotangents of a window's weights: all in one pass over their operands."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import Fold, Node, operands
from tcjax.planning.data.stages import Compute

Reference = Callable[[np.ndarray, np.ndarray], np.ndarray]


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def weights(stride: int = 1, dilation: int = 1, pad: int = 0) -> Reference:
    """The cotangents of 3 x 3 weights of each channel from `g`, in float64."""

    def reference(x: np.ndarray, g: np.ndarray) -> np.ndarray:
        x, g = np.pad(x.astype(float), [(0, 0), (0, 0), (pad, pad), (pad, pad)]), g.astype(float)
        high, wide = (stride * (size - 1) + 1 for size in g.shape[2:])
        taps = [
            (x[:, :, i : i + high : stride, j : j + wide : stride] * g).sum((0, 2, 3))
            for i in (0, dilation, 2 * dilation)
            for j in (0, dilation, 2 * dilation)
        ]
        return np.stack(taps, 1).reshape(-1, 3, 3)

    return reference


HEAD = "def f(float(N,C,H,W) x, float(N,C,Y,X) g) -> (d)"
SAME = "where i in 0:3, j in 0:3, 0 <= h+i-1, h+i-1 < H, 0 <= w+j-1, w+j-1 < W"
SUMS: dict[str, tuple[str, Reference, tuple[int, ...], tuple[int, ...]]] = {
    "every place": ("d(c,i,j) +=! x(n,c,h+i,w+j) * g(n,c,h,w)", weights(), (2, 8, 30, 31), (2, 8, 28, 29)),
    "strides": ("d(c,i,j) +=! g(n,c,h,w) * x(n,c,2*h+i,2*w+j) where i in 0:3, j in 0:3",
                *(weights(stride=2), (2, 8, 41, 41), (2, 8, 20, 20))),
    "dilation": ("d(c,i,j) +=! g(n,c,h,w) * x(n,c,h+2*i,w+2*j) where i in 0:3, j in 0:3",
                 *(weights(dilation=2), (2, 8, 30, 30), (2, 8, 26, 26))),
    "zeros around": (f"d(c,i,j) +=! g(n,c,h,w) * x(n,c,h+i-1,w+j-1) {SAME}",
                     *(weights(pad=1), (2, 8, 28, 29), (2, 8, 28, 29))),
}  # fmt: skip


def shifted(node: Node) -> Fold | None:
    """The sums in one pass of a computation."""
    if isinstance(node, Fold) and node.shifts:
        return node
    return next((found for inner in operands(node) if (found := shifted(inner)) is not None), None)


def computation(kernel: tcjax.Kernel, *arrays: np.ndarray) -> Node:
    (stage,) = kernel.plan(*arrays).stages
    assert isinstance(stage, Compute)
    return stage.value


@pytest.mark.parametrize("name", SUMS)
def test_what_weights_receive_is_one_pass(name: str) -> None:
    text, reference, first, second = SUMS[name]
    kernel, x, g = tcjax.kernel(f"{HEAD} {{ {text} }}"), normal(*first), normal(*second)

    found = shifted(computation(kernel, x, g))

    assert found is not None and [hi - lo for _, lo, hi in found.shifts] == [3, 3]
    expected = reference(x, g)
    np.testing.assert_allclose(kernel(x, g), expected, rtol=0, atol=4e-7 * np.abs(expected).max() * 4)


def test_many_channels_and_features_are_a_convolution() -> None:
    kernel = tcjax.kernel("d(f,c,i,j) +=! x(n,c,h+i,w+j) * g(n,f,h,w)")

    found = computation(kernel, normal(2, 16, 30, 30), normal(2, 32, 28, 28))

    assert shifted(found) is None


GROUPS = """
def f(float(N,G,C,H,W) x, float(N,G,F,Y,X) u) -> (d) {
    d(g,f,c,i,j) +=! x(n,g,c,h+i,w+j) * u(n,g,f,h,w) where i in 0:3, j in 0:3
}"""


def test_what_weights_of_few_channels_in_groups_receive_is_a_convolution() -> None:
    x, g = normal(4, 32, 4, 26, 26), normal(4, 32, 4, 24, 24)
    kernel = tcjax.kernel(GROUPS)
    taps = [
        np.einsum("ngchw,ngfhw->gfc", x[..., i : i + 24, j : j + 24].astype(float), g.astype(float))
        for i in range(3)
        for j in range(3)
    ]

    found, slopes = jax.value_and_grad(lambda x: (kernel(x, g) ** 2).sum())(jnp.asarray(x))

    expected = np.stack(taps, -1).reshape(32, 4, 4, 3, 3)
    # Faster than a product per shift, on both versions of JAX.
    assert "conv 2-D" in str(kernel.plan(x, g))
    np.testing.assert_allclose(kernel(x, g), expected, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(found, (expected**2).sum(), rtol=1e-4)
    # The sum is of squares of what is linear in x.
    np.testing.assert_allclose((slopes * x).sum(), 2 * found, rtol=1e-3)


def test_a_long_sum_is_no_pass_of_one_term_after_the_other() -> None:
    kernel = tcjax.kernel("d(k) +=! x(t+k) * g(t)")

    found = computation(kernel, normal(20_002), normal(20_000))

    assert shifted(found) is None


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_what_is_not_finite_meets_no_zero_around(bad: float) -> None:
    kernel = tcjax.kernel(f"{HEAD} {{ {SUMS['zeros around'][0]} }}")
    x, g = normal(1, 2, 12, 12), normal(1, 2, 12, 12)
    g[0, 0, 0, 5] = bad

    np.testing.assert_allclose(kernel(x, g), kernel.interpret(x, g), rtol=1e-4, atol=1e-5)


DEPTHWISE = "o(n,c,h,w) +=! x(n,c,h+i,w+j) * k(c,i,j)"


def plain(x: jax.Array, k: jax.Array) -> jax.Array:
    high, wide = x.shape[2] - 2, x.shape[3] - 2
    taps = [(i, j) for i in range(3) for j in range(3)]
    return sum(x[:, :, i : i + high, j : j + wide] * k[None, :, i, j, None, None] for i, j in taps)  # pyright: ignore


def test_derivatives_of_a_window_of_each_channel_of_any_order() -> None:
    kernel, x, k = tcjax.kernel(DEPTHWISE), normal(2, 33, 63, 63), normal(33, 3, 3)
    moved = normal(2, 33, 63, 63)[::-1].copy(), normal(33, 3, 3)[::-1].copy()

    def slopes(f: Callable[..., jax.Array]) -> Callable[..., object]:
        first = jax.grad(lambda x, k: jnp.sin(f(x, k)).sum(), argnums=(0, 1))
        return lambda x, k: (first(x, k), jax.jvp(first, (x, k), moved)[1])

    found, expected = jax.jit(slopes(kernel))(x, k), jax.jit(slopes(plain))(x, k)

    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * float(jnp.abs(other).max()))


def test_derivatives_by_weights_for_a_batch() -> None:
    kernel, x, k = tcjax.kernel(DEPTHWISE), normal(2, 33, 63, 63), normal(3, 33, 3, 3)

    def slope(f: Callable[..., jax.Array]) -> object:
        return jax.jit(jax.vmap(jax.grad(lambda k, x: jnp.sin(f(x, k)).sum()), (0, None)))(k, x)

    expected = slope(plain)

    np.testing.assert_allclose(slope(kernel), expected, rtol=0, atol=1e-5 * float(jnp.abs(expected).max()))  # pyright: ignore


def test_a_derivative_stores_no_slice() -> None:
    kernel = tcjax.kernel(DEPTHWISE)
    x, k, g = (jax.ShapeDtypeStruct(s, jnp.float32) for s in ((4, 64, 56, 56), (64, 3, 3), (4, 64, 54, 54)))

    compiled = jax.jit(lambda x, k, g: jax.vjp(kernel, x, k)[1](g)).lower(x, k, g).compile()

    # The cotangent with zeros around it, and partial sums.
    memory = compiled.memory_analysis()
    assert memory is not None and memory.temp_size_in_bytes < 2 * 4 * 64 * 56 * 56 * 4


def test_an_index_of_a_product_inside_is_no_shift() -> None:
    kernel = tcjax.kernel("def f(float(N,M) B) -> (O) { O +=! prod[r in 0:3](B(u + r, u)) where u in 0:M }")
    B = normal(6, 4)

    expected = sum(np.prod([float(B[u + r, u]) for r in range(3)]) for u in range(4))

    np.testing.assert_allclose(np.asarray(kernel(B)), expected, rtol=1e-5)
