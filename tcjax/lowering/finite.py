"""Matrix products of which a guard leaves points out: there zero times infinity must count for nothing."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jax.interpreters import ad, batching, mlir

from ..planning.nodes import Axes
from ..symbolic import IndexVar
from .context import align
from .placing import placed_as
from .varying import equally_varying, steady

Product = Callable[[jax.Array, jax.Array], jax.Array]


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product and its axes; it is zero where it is not `live`, whose dimensions are the same or 1."""

    array: jax.Array
    axes: Axes
    live: jax.Array | None


finite_p = jax.extend.core.Primitive("tcjax_finite")


def _finite(*arrays: jax.Array) -> jax.Array:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(array)) for array in arrays]))


finite_p.def_impl(jax.jit(_finite))


@finite_p.def_abstract_eval
def _(*avals: Any) -> Any:
    return jax.make_jaxpr(_finite)(*avals).out_avals[0]


mlir.register_lowering(finite_p, mlir.lower_fun(_finite, multiple_results=False))


def _jvp(primals: Any, tangents: Any) -> Any:
    return finite_p.bind(*primals), np.zeros((), jax.dtypes.float0)


ad.primitive_jvps[finite_p] = _jvp


def _batch(arrays: Any, dimensions: Any) -> Any:
    # One answer for the whole batch: with one for each element, `cond` would compute both branches.
    return finite_p.bind(*arrays), None


batching.primitive_batchers[finite_p] = _batch


def product_of_live(product: Product, factors: tuple[Factor, Factor], axes: Axes) -> jax.Array:
    """The product of two factors, with these axes; what meets a zero of a point that is not live counts for nothing.

    It is the plain `product` unless a factor is infinite or not a number. Its derivative is the plain product's: what
    chose the zeros of a factor leaves out what its derivative has there.
    """

    @jax.custom_jvp
    def run(left: jax.Array, right: jax.Array, *live: jax.Array | None) -> jax.Array:
        watched = [other for other, own in ((right, live[0]), (left, live[1])) if own is not None]
        plain = product(left, right)

        def exact(left: jax.Array, right: jax.Array, *live: jax.Array | None) -> jax.Array:
            given = [replace(f, array=a, live=own) for f, a, own in zip(factors, (left, right), live, strict=True)]
            return _one_by_one(given, axes, plain.dtype)

        # Along explicit axes each term would have to lie as the result does; so JAX moves what must meet.
        operands = left, right, *live
        return lax.cond(finite_p.bind(*watched), lambda: plain, lambda: placed_as(plain, exact, operands))

    def derivative(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[jax.Array, jax.Array]:
        left, right = primals[:2]
        moved, turned = tangents[:2]
        changes = [
            product(*pair)
            for pair, tangent in (((moved, right), moved), ((left, turned), turned))
            if not isinstance(tangent, SymbolicZero)
        ]
        value = run(*primals)
        return value, sum(changes[1:], changes[0]) if changes else jnp.zeros_like(value)

    run.defjvp(derivative, symbolic_zeros=True)
    lives = [factor.live for factor in factors]
    left, right, *known = equally_varying([*(f.array for f in factors), *(own for own in lives if own is not None)])
    return run(left, right, *(None if own is None else known.pop(0) for own in lives))


def _one_by_one(factors: Sequence[Factor], axes: Axes, dtype: jnp.dtype) -> jax.Array:
    """The product as a sum of one term after the other, which stores nothing else."""
    extents = {axis: size for f in factors for axis, size in zip(f.axes, f.array.shape, strict=True)}
    summed = [axis for axis in extents if axis not in axes]

    def term(number: jax.Array, total: jax.Array) -> jax.Array:
        # JAX 0.10 counts in 64 bits where they are enabled.
        number = number.astype("int32")
        places: dict[IndexVar, jax.Array] = {}
        for axis in summed:
            number, places[axis] = lax.div(number, np.int32(extents[axis])), lax.rem(number, np.int32(extents[axis]))

        def at(array: jax.Array, own: Axes) -> jax.Array:
            for place, axis in reversed(list(enumerate(own))):
                if axis in places:
                    single = array.shape[place] == 1
                    array = lax.dynamic_index_in_dim(array, 0 if single else places[axis], place, keepdims=False)
            return align(array, tuple(axis for axis in own if axis not in places), axes)

        value = functools.reduce(jnp.multiply, (at(f.array, f.axes).astype(dtype) for f in factors))
        for factor in factors:
            value = value if factor.live is None else jnp.where(at(factor.live, factor.axes), value, 0)
        return total + value

    shape = [extents[axis] for axis in axes]
    count = np.int32(prod(extents[axis] for axis in summed))
    empty = steady(lambda total: term(jnp.int32(0), total), jnp.zeros(shape, dtype), [f.array for f in factors])
    return lax.fori_loop(np.int32(0), count, term, empty)
