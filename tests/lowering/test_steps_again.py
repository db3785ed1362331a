"""Derivatives of loops that recompute their steps: all at once if a step is one number, else in place."""

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.planning.data.stages import Call, Plan

rng = np.random.default_rng(3)

WARPING = """
def warping(float(N,M) c) -> (D) {
    D(i,0) = c(i,0)
    D(0,j) = c(0,j)
    for i in 1:N { for j in 1:M { D(i,j) = c(i,j) + min(D(i-1,j), min(D(i,j-1), D(i-1,j-1))) } }
}"""


def every(
    count: int, first: int, step: Callable[[np.ndarray, int], float], v: np.ndarray, apart: int = 1
) -> np.ndarray:
    """The rows from `first` on with stride `apart`, each from earlier ones; the others as in `v`."""
    y = np.array(v)
    for t in range(first, count, apart):
        y[t] = step(y, t)
    return y


def crossed(v: np.ndarray, a: float) -> np.ndarray:
    y, z = np.array(v), np.full(len(v), a)
    for t in range(1, len(v)):
        y[t], z[t] = a * z[t - 1] + v[t], v[t] * y[t - 1] + z[t - 1]
    return y


# Loops, and the same in NumPy.
NUMBERS: dict[str, tuple[str, Callable[[np.ndarray, float], np.ndarray]]] = {
    "one after the other": (
        "y(0) = v(0) for t in 1:T { y(t) = v(t) * y(t-1) + a() * v(t-1) }",
        lambda v, a: every(len(v), 1, lambda y, t: v[t] * y[t - 1] + a * v[t - 1], v),
    ),
    "the other way": (
        "y(T-1) = v(T-1) for t in T-2:-1:-1 { y(t) = v(t) * y(t+1) + a() }",
        lambda v, a: every(len(v), 1, lambda y, t: v[::-1][t] * y[t - 1] + a, v[::-1])[::-1],
    ),
    "every second one": (
        "y(t) = v(t) for t in 2:T:2 { y(t) = v(t) * y(t-2) + y(t) * a() }",
        lambda v, a: every(len(v), 2, lambda y, t: v[t] * y[t - 2] + y[t] * a, v, apart=2),
    ),
    "two before": (
        "y(0) = v(0) y(1) = v(1) for t in 2:T { y(t) = v(t) * y(t-1) + a() * y(t-2) }",
        lambda v, a: every(len(v), 2, lambda y, t: v[t] * y[t - 1] + a * y[t - 2], v),
    ),
    "two tensors": (
        "y(0) = v(0) z(0) = a() for t in 1:T { y(t) = a() * z(t-1) + v(t) z(t) = v(t) * y(t-1) + z(t-1) }",
        crossed,
    ),
    "the first of them nothing": (
        "y(t) = v(t) for t in 0:T { y(t) = y(t) + (t > 1 ? v(t) * y(t-2) : a()) }",
        lambda v, a: every(len(v), 0, lambda y, t: v[t] + (v[t] * y[t - 2] if t > 1 else a), v),
    ),
    "a column": (
        "y(t,0) = v(t) where t in 0:1 for t in 1:T { y(t,0) = v(t) * y(t-1,0) + a() }",
        lambda v, a: every(len(v), 1, lambda y, t: v[t] * y[t - 1] + a, v),
    ),
}


def ways(plan: Plan) -> list[str | None]:
    """How the derivative of each loop recomputes steps, outer loops first."""
    found: list[str | None] = []
    for stage in plan.stages:
        if isinstance(stage, Call):
            found += [] if stage.steps is None else [stage.steps.again]
            found += ways(stage.plan)
    return found


@pytest.mark.parametrize("name", NUMBERS)
def test_the_derivative_of_steps_with_one_number_each_is_that_of_finite_differences(name: str) -> None:
    text, in_numpy = NUMBERS[name]
    kernel = tcjax.kernel(f"def f(float(T) v, float a) -> (y) {{ {text} }}")
    v, w, a = rng.uniform(0.5, 1.5, 7), rng.standard_normal(7), 0.7

    def total(v, a):
        return jnp.sum(kernel(v, a).reshape(-1) * w.astype(np.float32))

    d_v, d_a = jax.jit(jax.grad(total, (0, 1)))(v.astype(np.float32), np.float32(a))

    step = 1e-6
    moved = [(v + step * e, v - step * e, a, a) for e in np.eye(7)] + [(v, v, a + step, a - step)]
    slopes = [((in_numpy(p, b) - in_numpy(q, c)) * w).sum() / (2 * step) for p, q, b, c in moved]
    assert ways(kernel.plan(v.astype(np.float32), np.float32(a))) == ["by factors"]
    np.testing.assert_allclose([*d_v, d_a], slopes, rtol=2e-5, atol=2e-5)


def test_a_loop_inside_of_a_loop_does_not_run_forwards_again_for_the_derivative() -> None:
    kernel = tcjax.kernel(WARPING)
    c = rng.uniform(size=(6, 7)).astype(np.float32)

    text = jax.jit(jax.grad(lambda c: kernel(c).sum())).lower(c).as_text()

    assert ways(kernel.plan(c)) == ["in place", "by factors"]
    # Both loops ascending, and both descending.
    assert len(re.findall(r"stablehlo\.while", text)) == 4


def test_the_derivative_of_warping_follows_the_least_way() -> None:
    c = rng.permutation(42).reshape(6, 7).astype(np.float32)
    kernel = tcjax.kernel(WARPING)

    found = jax.grad(lambda c: kernel(c)[-1, -1])(c)

    D, path = c.copy(), np.zeros_like(c)
    for i in range(1, 6):
        for j in range(1, 7):
            D[i, j] += min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    i, j = 5, 6
    while i and j:
        path[i, j] = 1
        _, i, j = min((D[a, b], a, b) for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1)))
    path[i, j] = 1
    np.testing.assert_array_equal(found, path)
