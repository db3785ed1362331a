"""Repeated subexpressions of a statement are computed once, and so are their derivatives."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tcjax
from tcjax.lowering.traced import functions_of

NAMED = "g(i) = x(i+2) - x(i)\n s(i) = sqrt(g(i) * g(i) + 1)"
WRITTEN_OUT = "s(i) = sqrt((x(i+2) - x(i)) * (x(i+2) - x(i)) + 1)"


def _slices(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("slice", "dynamic_slice"):
            yield equation.primitive.name
        for function in functions_of(equation):
            yield from _slices(function)


@pytest.mark.parametrize(("body", "reads"), [(NAMED, 2), (WRITTEN_OUT, 2)])
def test_what_is_there_twice_is_read_once(body: str, reads: int) -> None:
    kernel = tcjax.kernel(f"def f(float(N) x, float(K) w) -> (s) {{ {body} }}")

    traced = jax.make_jaxpr(kernel)(jnp.ones(50_000), jnp.ones(3))

    assert len(list(_slices(traced.jaxpr))) == reads


def test_elements_before_and_after_they_are_written_are_two() -> None:
    kernel = tcjax.kernel(
        "def f(float(N) x) -> (a, b, y) { y(i) = x(i)\n a(i) = sin(y(i))\n y(i) += 1\n b(i) = sin(y(i)) }"
    )

    a, b, _ = kernel(jnp.zeros(4))

    assert jnp.allclose(a, 0) and jnp.allclose(b, jnp.sin(1.0))
