"""Convolutions of few channels: sums of shifted slices with the derivatives of convolutions."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tcjax
from tcjax.lowering.traced import functions_of

Array = jax.Array

PLANES = "y(f,h,w) +=! x(c,h+p,w+q) * g(f,c,p,q)"
PIXELS = "y(b,h,w,f) +=! x(b,h+p,w+q,c) * g(p,q,c,f)"
PADDED = "y(h) +=! x(2*h+k-1) * g(k) where k in 0:3, h in 0:4, 2*h+k-1 >= 0, 2*h+k-1 < 7"


def normal(*shape: int) -> Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


def planes(x: Array, g: Array) -> Array:
    return lax.conv_general_dilated(x[None], g, (1, 1), "VALID")[0]


def pixels(x: Array, g: Array) -> Array:
    return lax.conv_general_dilated(x, g, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def strided(x: Array, g: Array) -> Array:
    return lax.conv_general_dilated(x[None, None], g[None, None], (2,), ((1, 1),))[0, 0]


def with_gradient(f: Callable[..., Array]) -> Callable[..., object]:
    return jax.value_and_grad(lambda x, g: jnp.sin(f(x, g)).sum(), argnums=(0, 1))


def operations(f: Callable[..., object], *arrays: Array) -> int:
    """The number of operations that XLA has to compile."""
    return len(re.findall(r"^ +%\S+ = ", jax.jit(f).lower(*arrays).as_text(), re.MULTILINE))


@pytest.mark.parametrize(
    ("layout", "channels", "features"), [("planes", 1, 1), ("pixels", 1, 8), ("planes", 3, 16), ("pixels", 6, 9)]
)
def test_a_gradient_adds_few_operations(layout: str, channels: int, features: int) -> None:
    text, x, g = {
        "planes": (PLANES, normal(channels, 64, 64), normal(features, channels, 3, 3)),
        "pixels": (PIXELS, normal(2, 64, 64, channels), normal(3, 3, channels, features)),
    }[layout]
    kernel = tcjax.kernel(text)

    forward, both = operations(kernel, x, g), operations(with_gradient(kernel), x, g)

    # A tap needs a slice of the image, one of the kernel, a product and a sum, and reshapes between them.
    assert forward < 12 * 9 * channels + 30
    assert both - forward < (35 * 9 if channels * features == 1 else 60)


@pytest.mark.usefixtures("quickly_compiled")
@pytest.mark.parametrize(
    ("text", "plain", "x", "g"),
    [
        (PLANES, planes, (1, 7, 6), (1, 1, 3, 3)),
        (PLANES, planes, (2, 7, 6), (3, 2, 3, 2)),
        (PIXELS, pixels, (2, 7, 6, 3), (3, 2, 3, 4)),
        (PADDED, strided, (7,), (3,)),
        (PLANES, planes, (1, 16, 12), (1, 1, 5, 6)),
    ],
)
def test_first_and_second_derivatives_are_those_of_a_convolution(
    text: str, plain: Callable[..., Array], x: tuple[int, ...], g: tuple[int, ...]
) -> None:
    kernel, given, moved = tcjax.kernel(text), (normal(*x), normal(*g)), (normal(*x) + 1, normal(*g) - 1)

    def slopes(f: Callable[..., Array]) -> object:
        def second(*arrays: Array) -> object:
            return jax.jvp(with_gradient(f), arrays, moved)

        return jax.jit(second)(*given)

    found, expected = (jax.tree.leaves(slopes(f)) for f in (kernel, plain))
    assert "unrolled sum" in str(kernel.plan(*given))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-3)


def test_the_gradient_of_few_groups_is_that_of_a_convolution_each() -> None:
    kernel = tcjax.kernel("y(n,g,f,h,w) +=! x(n,g,c,h+p,w+q) * v(g,f,c,p,q)")
    x, v = normal(2, 4, 3, 10, 10), normal(4, 2, 3, 3, 3)

    def plain(x: Array, v: Array) -> Array:
        return lax.conv_general_dilated(
            x.reshape(2, 12, 10, 10), v.reshape(8, 3, 3, 3), (1, 1), "VALID", feature_group_count=4
        ).reshape(2, 4, 2, 8, 8)

    found, expected = (jax.tree.leaves(jax.jit(with_gradient(f))(x, v)) for f in (kernel, plain))

    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-3)
    assert operations(with_gradient(kernel), x, v) - operations(kernel, x, v) < 50 * 4


def test_the_gradient_of_many_slices_in_groups_has_no_convolution_of_groups() -> None:
    kernel = tcjax.kernel("y(n,g,f,h,w) +=! x(n,g,c,h+p,w+q) * v(g,f,c,p,q)")
    x, v = normal(8, 4, 3, 34, 34), normal(4, 3, 3, 3, 3)

    def plain(x: Array, v: Array) -> Array:
        return sum(
            x[:, :, None, c, p : p + 32, q : q + 32] * v[:, :, c, p, q, None, None]
            for c in range(3)
            for p in range(3)
            for q in range(3)
        )

    found, expected = (jax.tree.leaves(jax.jit(with_gradient(f))(x, v)) for f in (kernel, plain))

    compiled = jax.jit(with_gradient(kernel)).lower(x, v).compile()
    assert "group_count" not in compiled.as_text()
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(
    ("text", "x", "g", "slices"),
    [
        (PLANES, (8, 40, 40), (8, 8, 3, 3), False),
        (PLANES, (8, 40, 40), (2, 8, 3, 3), True),
        ("y(b,h,w,f) +=! x(b,h+p,w+q,c) * g(f,p,q,c)", (1, 40, 40, 6), (9, 3, 3, 6), False),
    ],
)
def test_few_channels_are_slices_where_these_are_faster(
    text: str, x: tuple[int, ...], g: tuple[int, ...], slices: bool
) -> None:
    plan = str(tcjax.kernel(text).plan(normal(*x), normal(*g)))

    assert ("unrolled sum" in plan) == slices
    assert ("conv 2-D" in plan) != slices


def test_a_convolution_with_a_border_is_outside_of_branches() -> None:
    """XLA:CPU takes fifteen times as long for a convolution in a branch."""
    text = """def same(float(C,H,W) x, float(F,C,3,3) g) -> (y) {
      y(f,h,w) +=! x(c,h+p-1,w+q-1) * g(f,c,p,q)
          where 0 <= h+p-1, h+p-1 < H, 0 <= w+q-1, w+q-1 < W, h in 0:H, w in 0:W
    }"""
    kernel = tcjax.kernel(text)
    x, g = normal(8, 40, 40), normal(8, 8, 3, 3)

    def both(x: Any, g: Any) -> Any:
        y, back = jax.vjp(kernel, x, g)
        return y, back(y)

    found = list(_convolutions(jax.make_jaxpr(both)(x, g).jaxpr, inside=False))

    assert len(found) >= 3 and not any(found)


def _convolutions(jaxpr: Any, inside: bool) -> Iterator[bool]:
    """For each convolution of a traced function, whether it is inside a branch."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "conv_general_dilated":
            yield inside
        for function in functions_of(equation):
            yield from _convolutions(function, inside or equation.primitive.name == "cond")


# A matrix whose diagonals are constant, a long filter, and one with gaps: from one channel to one, in one dimension.
LONG = {
    "a Toeplitz matrix": ("float(S) t, float(N) x", "y(i) +=! t(i-j+N-1) * x(j) where i in 0:N", (511, 256)),
    "a filter": ("float(S) t, float(N) x", "y(i) +=! t(i+j) * x(j)", (1000, 200)),
    "every other element": ("float(S) t, float(N) x", "y(i) +=! t(2*i+j) * x(j)", (1000, 200)),
}


@pytest.mark.parametrize("name", LONG)
def test_derivatives_of_long_filters_are_sums_of_their_own_and_right(name: str) -> None:
    parameters, text, sizes = LONG[name]
    kernel = tcjax.kernel(f"def f({parameters}) -> (y) {{ {text} }}")
    rng = np.random.default_rng(3)
    t, x = (rng.standard_normal(size).astype(np.float32) for size in sizes)
    found, back = jax.vjp(kernel, jnp.asarray(t), jnp.asarray(x))
    weight = rng.standard_normal(found.shape).astype(np.float32)
    places = np.arange(found.shape[0])[:, None] * (2 if "2*i" in text else 1) + np.arange(x.size)[None]
    if "N-1" in text:
        places = np.arange(found.shape[0])[:, None] - np.arange(x.size)[None] + x.size - 1
    matrix = t.astype(np.float64)[places]
    by_t = np.zeros(t.size)
    np.add.at(by_t, places, np.outer(weight, x).astype(np.float64))

    moved = back(jnp.asarray(weight))
    batch = jax.vmap(kernel, in_axes=(0, None))(np.stack([t, 2 * t]), x)
    _, pushed = jax.jvp(kernel, (t, x), (t, x))

    np.testing.assert_allclose(found, matrix @ x, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moved[0], by_t, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moved[1], matrix.T @ weight, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(batch[1], 2 * (matrix @ x), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(pushed, 2 * (matrix @ x), rtol=1e-4, atol=1e-4)


def test_no_derivative_of_a_long_filter_pads_within_a_convolution() -> None:
    kernel = tcjax.kernel("def f(float(S) t, float(N) x) -> (y) { y(i) +=! t(i-j+N-1) * x(j) where i in 0:N }")
    t, x, y = (jax.ShapeDtypeStruct((size,), jnp.float32) for size in (4095, 2048, 2048))

    def back(t: jax.Array, x: jax.Array, weight: jax.Array) -> tuple[jax.Array, ...]:
        return jax.vjp(kernel, t, x)[1](weight)

    shown = str(jax.make_jaxpr(back)(t, x, y))

    assert "conv_general_dilated" in shown and "pad[" in shown
    assert set(re.findall(r"padding=\((\(\d+, \d+\)),\)", shown)) <= {"(0, 0)"}
