"""The arrays of JAX's own loops, foretold whatever a release of JAX calls their parameters."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tcjax.lowering.buffers import buffers

N = 1000
ROW = 4 * N


def _scan(x: jax.Array) -> jax.Array:
    carried, rows = lax.scan(lambda c, a: ((c[0] + a * x, c[1]), jnp.sin(c[0])), (x, x + 1), x)
    return jnp.sum(carried[0]) + jnp.sum(rows)


def _while(x: jax.Array) -> jax.Array:
    return jnp.sum(lax.while_loop(lambda c: c[0].sum() < 9.0, lambda c: (c[0] + x, c[1] * 2), (x, x))[0])


def _cond(x: jax.Array) -> jax.Array:
    return jnp.sum(lax.cond(x[0] > 0, lambda a: jnp.sort(a), lambda a: a, x))


def _reduce(x: jax.Array) -> jax.Array:
    return lax.reduce(x, jnp.float32(0), lambda a, b: a + b * 2, (0,))


@pytest.mark.parametrize(
    ("function", "least", "most"),
    [
        # The rows of the results, and the two that are carried.
        pytest.param(_scan, N * ROW + 2 * ROW, N * ROW + 5 * ROW, id="scan"),
        pytest.param(_while, 2 * ROW, 6 * ROW, id="while"),
        # What sorting needs beside its operand and its result.
        pytest.param(_cond, 2 * ROW, 5 * ROW, id="cond"),
        pytest.param(_reduce, 0, 0, id="reduce"),
        pytest.param(jax.jit(_scan), N * ROW + 2 * ROW, N * ROW + 5 * ROW, id="a call"),
        pytest.param(jax.checkpoint(_while), 2 * ROW, 6 * ROW, id="a checkpoint"),
    ],
)
def test_what_a_loop_carries_and_stacks_is_counted(function: Callable[..., Any], least: int, most: int) -> None:
    jaxpr = jax.make_jaxpr(function)(jax.ShapeDtypeStruct((N,), jnp.float32)).jaxpr

    found = buffers(jaxpr).peak

    assert least <= found <= most
