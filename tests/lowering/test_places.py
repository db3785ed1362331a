"""Positions of extrema among a few terms, compared in one fused loop: as in NumPy, including NaN and ties."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import Node, Unroll, operands
from tcjax.planning.data.stages import Compute

WINDOWS = "def f(TYPE(N,H,W) I) -> (P) { P(n,h,w) REDUCE=! I(n,2*h+i,2*w+j) where i in 0:2, j in 0:2 }"


def unrolled(kernel: tcjax.Kernel, *arrays: object) -> bool:
    """Whether the terms of the only statement are unrolled."""
    (stage,) = kernel.plan(*arrays).stages
    assert isinstance(stage, Compute)

    def below(node: Node) -> bool:
        return isinstance(node, Unroll) or any(map(below, operands(node)))

    return below(stage.value)


def images() -> dict[str, np.ndarray]:
    normal = np.random.default_rng(0).standard_normal((3, 8, 6)).astype(np.float32)
    ties = np.round(normal)
    infinite = np.where(ties > 0, np.inf, np.where(ties < 0, -np.inf, ties)).astype(np.float32)
    return {
        "normal": normal,
        "ties": ties,
        "infinite": infinite,
        "missing": np.where(ties > 0, np.float32("nan"), ties),
        "integers": ties.astype(np.int32),
        "conditions": ties > 0,
    }


@pytest.mark.parametrize("reduce", ["argmin", "argmax"])
@pytest.mark.parametrize("name", images())
def test_the_place_in_a_window_is_the_one_that_numpy_finds(name: str, reduce: str) -> None:
    image = images()[name]
    rows = image.reshape(3, 4, 2, 3, 2).transpose(0, 1, 3, 2, 4).reshape(3, 4, 3, 4)
    text = WINDOWS.replace("TYPE", {"float32": "float"}.get(str(image.dtype), str(image.dtype)))
    kernel = tcjax.kernel(text.replace("REDUCE", reduce))

    found = kernel(image)

    assert unrolled(kernel, image) and found.dtype == jnp.int32
    np.testing.assert_array_equal(found, getattr(rows, reduce)(-1))


def test_a_place_of_halves_is_found_too() -> None:
    image = jnp.asarray(images()["missing"], jnp.bfloat16)
    kernel = tcjax.kernel(WINDOWS.replace("TYPE", "bfloat16").replace("REDUCE", "argmin"))

    np.testing.assert_array_equal(kernel(image), kernel.interpret(image))


def test_what_a_guard_leaves_out_does_not_win() -> None:
    rows = np.array([[3, 1, 2, 0], [0, 0, 0, 0], [-np.inf] * 4], np.float32)
    kernel = tcjax.kernel("def f(float(N,K) A) -> (P) { P(n) argmax=! A(n,k) where k != n }")

    found = kernel(rows)

    assert not unrolled(kernel, rows)
    np.testing.assert_array_equal(found, [2, 0, 0])


def test_a_place_counts_from_the_start_of_its_range_and_has_no_derivative() -> None:
    rows = images()["normal"][0]
    kernel = tcjax.kernel("def f(float(N,K) A) -> (P, M) { P(n) argmax=! A(n,k) where k in 2:5  M(n) max=! A(n,k) }")

    (place, _), pull_back = jax.vjp(lambda A: (kernel(A)[0], kernel(A)[1]), rows)

    (slope,) = pull_back((np.zeros(8, jax.dtypes.float0), jnp.ones(8)))
    np.testing.assert_array_equal(place, rows[:, 2:5].argmax(1))
    np.testing.assert_array_equal(slope, np.arange(6) == rows.argmax(1)[:, None])
