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
    """An operand of a product and its axes; it is zero where it is not `live`, whose dimensions are the same or 1.

    Nothing uses the elements of the result that come of those that do not count.
    """

    array: jax.Array
    axes: Axes
    live: jax.Array | None
    counts: jax.Array | None = None


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


def product_of_live(
    product: Product, factors: tuple[Factor, Factor], axes: Axes, counts: jax.Array | None = None
) -> jax.Array:
    """The product of two factors, with these axes; what meets a zero of a point that is not live counts for nothing.

    It is the plain `product` unless a factor is infinite or not a number. So are the two products of its derivative, in
    which elements of the result that do not count take no part.
    """

    def chosen(watched: Sequence[jax.Array], *operands: jax.Array | None) -> jax.Array:
        left, right = operands[:2]
        assert left is not None and right is not None
        plain = product(left, right)
        if not watched:
            return plain

        def exact(left: jax.Array, right: jax.Array, *conditions: jax.Array | None) -> jax.Array:
            *live, counts = conditions
            given = [replace(f, array=a, live=own) for f, a, own in zip(factors, (left, right), live, strict=True)]
            return _one_by_one(given, axes, plain.dtype, counts)

        # The product is inside: where the other branch runs its zero cotangent must not meet what is infinite.
        # Along explicit axes each term would have to lie as the result does; so JAX moves what must meet.
        return lax.cond(
            finite_p.bind(*watched), lambda: product(left, right), lambda: placed_as(plain, exact, operands)
        )

    @jax.custom_jvp
    def run(left: jax.Array, right: jax.Array, *conditions: jax.Array | None) -> jax.Array:
        live = conditions[:2]
        watched = [other for other, own in ((right, live[0]), (left, live[1])) if own is not None]
        return chosen(watched, left, right, *live, None)

    def derivative(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[jax.Array, jax.Array]:
        left, right, *conditions, first, second = primals
        *live, counts = conditions
        # Masked on one side, a cotangent that is zero meets nothing on the other, and what it gives here is dropped.
        moved, turned = _where(first, tangents[0]), _where(second, tangents[1])
        # A tangent is zero where its factor is, and meets the other factor there as well; so does a cotangent. It may
        # be infinite where its factor is.
        value = run(*primals)
        left, right = _where(first, left), _where(second, right)
        some, other = ([array] if own is not None else [] for array, own in ((left, live[1]), (right, live[0])))
        changes = []
        if not isinstance(moved, SymbolicZero):
            changes.append(chosen([*some, *(other if counts is None else [right])], moved, right, *conditions))
        if not isinstance(turned, SymbolicZero):
            changes.append(chosen([*(some if counts is None else [left]), *other], left, turned, *conditions))
        return value, sum(changes[1:], changes[0]) if changes else jnp.zeros_like(value)

    run.defjvp(derivative, symbolic_zeros=True)
    given = [*(f.array for f in factors), *(f.live for f in factors), counts, *(f.counts for f in factors)]
    known = equally_varying([array for array in given if array is not None])
    return run(*(None if array is None else known.pop(0) for array in given))


def _where(counts: jax.Array | None, array: Any) -> Any:
    return array if counts is None or isinstance(array, SymbolicZero) else jnp.where(counts, array, 0)


def _one_by_one(factors: Sequence[Factor], axes: Axes, dtype: jnp.dtype, counts: jax.Array | None = None) -> jax.Array:
    """The product as a sum of one term after the other, which stores nothing else."""
    extents = {axis: size for f in factors for axis, size in zip(f.axes, f.array.shape, strict=True)}
    summed = [axis for axis in extents if axis not in axes]

    @jax.checkpoint
    def term(number: jax.Array, total: jax.Array) -> jax.Array:
        # JAX 0.10 counts in 64 bits where they are enabled.
        number = number.astype("int32")
        places: dict[IndexVar, jax.Array] = {}
        for axis in summed:
            number, places[axis] = lax.div(number, np.int32(extents[axis])), lax.rem(number, np.int32(extents[axis]))

        def at(array: jax.Array, own: Axes) -> jax.Array:
            if not array.ndim:
                return array
            for place, axis in reversed(list(enumerate(own))):
                if axis in places:
                    single = array.shape[place] == 1
                    array = lax.dynamic_index_in_dim(array, 0 if single else places[axis], place, keepdims=False)
            return align(array, tuple(axis for axis in own if axis not in places), axes)

        conditions = [at(factor.live, factor.axes) for factor in factors if factor.live is not None]
        live = functools.reduce(jnp.logical_and, conditions if counts is None else [*conditions, counts])
        # Each factor is masked, not the product: in the transpose its zero would meet the other factor.
        values = (jnp.where(live, at(f.array, f.axes).astype(dtype), 0) for f in factors)
        return total + functools.reduce(jnp.multiply, values)

    shape = [extents[axis] for axis in axes]
    count = np.int32(prod(extents[axis] for axis in summed))
    empty = steady(lambda total: term(jnp.int32(0), total), jnp.zeros(shape, dtype), [f.array for f in factors])
    return lax.fori_loop(np.int32(0), count, term, empty)
