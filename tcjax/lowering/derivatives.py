"""Elementwise functions with explicit partial derivatives, where JAX's own are missing or unsuitable."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from .. import ir

Function = Callable[..., jax.Array]


def elementwise(*partials: Function | None, widen: bool = True) -> Callable[[Function], Function]:
    """A decorator: the k-th derivative is ``partials[k](answer, *arguments)``, None where it is zero.

    The partial derivatives are themselves differentiated for higher orders. Arguments are broadcast against each other;
    with `widen`, 16-bit floats are computed in float32.
    """

    def decorate(value: Function) -> Function:
        rule = jax.custom_jvp(value)

        @partial(rule.defjvp, symbolic_zeros=True)
        def _(primals: tuple[jax.Array, ...], tangents: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
            answer = rule(*primals)
            total = jnp.zeros_like(answer)
            for derivative, tangent in zip(partials, tangents, strict=True):
                # A zero tangent must not multiply a derivative that is infinite or NaN there.
                if derivative is not None and not isinstance(tangent, SymbolicZero):
                    total = total + derivative(answer, *primals) * tangent
            return answer, total

        @wraps(value)
        def function(*arguments: jax.Array) -> jax.Array:
            arrays = jnp.broadcast_arrays(*arguments)
            dtype = arrays[0].dtype
            if widen and str(dtype) in ir.types.HALVES:
                return rule(*(array.astype(jnp.float32) for array in arrays)).astype(dtype)
            return rule(*arrays)

        return function

    return decorate
