"""Matrix products with a guard: excluded terms contribute 0, even against inf or NaN."""

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

from .. import ir
from ..planning.data.nodes import Axes
from .apart import BARRIERS_HOLD, keep_apart
from .context import MOST_COMPILED, numeric, ranked
from .placing import placed_as
from .varying import equally_varying, steady


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product and its axes; it is zero where it is not `live`, a mask whose dimensions are the same or
    1.

    Elements of the result that come from masked ones are never used.
    """

    array: jax.Array
    axes: Axes
    live: jax.Array | None
    counts: jax.Array | None = None


def summed(
    a: jax.Array, first: Sequence[int], b: jax.Array, second: Sequence[int], result: Sequence[int], dtype: jnp.dtype
) -> jax.Array:
    """The sum of ``a * b`` over the labels that are not in the result; the labels are those of the dimensions.

    XLA:CPU compiles a product of bfloat16 whose first operand is read across its rows, and whose second one begins with
    other dimensions than those that both have and the result too, to one that it cannot run. So these come first.
    """
    shared = [label for label in result if label in first and label in second]
    factors: list[tuple[jax.Array, list[int]]] = []
    for array, own, other in ((a, first, second), (b, second, first)):
        order = [*shared, *(label for label in own if label not in shared)]
        across = bool(other) and (other[-1] not in own or other[-1] in result)
        if array.dtype == jnp.bfloat16 and across and order[: len(shared)] != list(own[: len(shared)]):
            turned = lax.transpose(array, [list(own).index(label) for label in order])
            array, own = keep_apart(turned, turned), order
        factors.append((array, list(own)))
    # Integer labels: letters run out at 52 (numpy.einsum).
    return jnp.einsum(*factors[0], *factors[1], list(result), preferred_element_type=dtype)


finite_p = jax.extend.core.Primitive("tcjax_finite")


def _finite(*arrays: jax.Array) -> jax.Array:
    # An infinity or a NaN minus itself is NaN: XLA compiles this sum in a third of the time of a logical reduction, and
    # stores nothing for it. For the products with zero it would store an array of zeros.
    return functools.reduce(jnp.logical_and, (jnp.sum(array - array) == 0 for array in arrays))


finite_p.def_impl(jax.jit(_finite))


@finite_p.def_abstract_eval
def _(*avals: Any) -> Any:
    return jax.make_jaxpr(_finite)(*avals).out_avals[0]


mlir.register_lowering(finite_p, mlir.lower_fun(_finite, multiple_results=False))


def _jvp(primals: Any, tangents: Any) -> Any:
    return finite_p.bind(*primals), np.zeros((), jax.dtypes.float0)


ad.primitive_jvps[finite_p] = _jvp


def _batch(arrays: Any, dimensions: Any) -> Any:
    # One decision for the whole batch: with one per element, `cond` would compute both branches.
    return finite_p.bind(*arrays), None


batching.primitive_batchers[finite_p] = _batch


# JAX keeps only a weak reference to it.
@dataclass(frozen=True)
class _Sum:
    """The sum of ``a * b`` over the points where all conditions hold, over the labels that are not in the result.

    The labels are those of the dimensions of a, of b and of the result; `given` says which of these three has a mask,
    of the same rank, with dimensions that are the same or 1. An operand is zero where its mask is false, and the result
    is unused there. So the derivative with respect to an operand is a sum of the same kind, and so is its transpose,
    which exchanges an operand and the result.
    """

    labels: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    given: tuple[bool, bool, bool]
    dtype: str

    def __call__(self, a: jax.Array, b: jax.Array, *conditions: jax.Array) -> jax.Array:
        """The plain product, unless it would multiply a masked zero by an infinity or a NaN."""
        plain = functools.partial(self.plain, a, b)
        watched = [other for other, own in ((b, self.given[0]), (a, self.given[1])) if own]
        if not watched:
            # XLA:CPU would fuse the rounding with its reader, and keep the wider sums until then.
            return lax.optimization_barrier(plain()) if BARRIERS_HOLD and self.dtype in ir.types.HALVES else plain()
        # A conditional returns row-major arrays: the product is returned in its own order, and its reader transposes
        # it.
        order = self.as_computed()

        def rare(*operands: jax.Array) -> jax.Array:
            return lax.transpose(self.one_by_one(*operands), order)

        labels = (*self.labels[:2], tuple(self.labels[2][place] for place in order))
        quick = functools.partial(replace(self, labels=labels).plain, a, b)
        # Along explicit mesh axes each term would need the result's layout, so JAX moves the operands.
        like = quick()
        found = lax.cond(_finite(*watched), quick, lambda: placed_as(like, rare, (a, b, *conditions)))
        return lax.transpose(found, [order.index(place) for place in range(len(order))])

    def as_computed(self) -> list[int]:
        """The dimensions of the result in the order of a matrix product: the batch, rows of a, columns of b."""
        first, second, result = self.labels
        batch = [label for label in result if label in first and label in second]
        rows, columns = ([label for label in own if label in result and label not in batch] for own in (first, second))
        return [result.index(label) for label in (*batch, *rows, *columns)]

    @property
    def accumulate(self) -> jnp.dtype:
        """The type in which the terms are added up."""
        return numeric(ir.types.accumulator(self.dtype))

    def plain(self, a: jax.Array, b: jax.Array) -> jax.Array:
        return summed(a, self.labels[0], b, self.labels[1], self.labels[2], self.accumulate).astype(self.dtype)

    def one_by_one(self, a: jax.Array, b: jax.Array, *conditions: jax.Array) -> jax.Array:
        """The sum of one term after another, which stores nothing else."""
        extents = dict(zip(self.labels[0] + self.labels[1], a.shape + b.shape, strict=True))
        summed = [label for label in extents if label not in self.labels[2]]
        dtype = self.accumulate
        with_condition = [own for own, given in zip(self.labels, self.given, strict=True) if given]

        def term(number: jax.Array, total: jax.Array) -> jax.Array:
            # JAX 0.10 counts in 64 bits if they are enabled.
            number = number.astype("int32")
            places: dict[int, jax.Array] = {}
            for label in summed:
                extent = np.int32(extents[label])
                number, places[label] = lax.div(number, extent), lax.rem(number, extent)

            def at(array: jax.Array, own: tuple[int, ...]) -> jax.Array:
                for place, label in reversed(list(enumerate(own))):
                    if label in places:
                        single = array.shape[place] == 1
                        array = lax.dynamic_index_in_dim(array, 0 if single else places[label], place, keepdims=False)
                left = [label for label in own if label not in places]
                array = lax.transpose(array, [left.index(label) for label in self.labels[2] if label in left])
                return lax.expand_dims(array, [n for n, label in enumerate(self.labels[2]) if label not in left])

            live = functools.reduce(jnp.logical_and, map(at, conditions, with_condition))
            left, right = (at(array, own).astype(dtype) for array, own in zip((a, b), self.labels, strict=False))
            return total + jnp.where(live, left * right, 0)

        shape = [extents[label] for label in self.labels[2]]
        count = np.int32(prod(extents[label] for label in summed))
        empty = steady(lambda total: term(jnp.int32(0), total), jnp.zeros(shape, dtype), [a, b])
        return lax.fori_loop(np.int32(0), count, term, empty).astype(self.dtype)


live_sum_p = jax.extend.core.Primitive("tcjax_live_sum")


@functools.lru_cache(maxsize=MOST_COMPILED)
def _compiled(sum_: _Sum) -> Callable[..., jax.Array]:
    return jax.jit(sum_)


@live_sum_p.def_impl
def _(*operands: jax.Array, sum_: _Sum) -> jax.Array:
    return _compiled(sum_)(*operands)


@live_sum_p.def_abstract_eval
def _(*avals: Any, sum_: _Sum) -> Any:
    return jax.make_jaxpr(sum_.plain)(*avals[:2]).out_avals[0]


mlir.register_lowering(live_sum_p, mlir.lower_fun(lambda *operands, sum_: sum_(*operands), multiple_results=False))


def _live_sum_jvp(primals: Any, tangents: Any, *, sum_: _Sum) -> Any:
    a, b, *conditions = primals
    value = live_sum_p.bind(*primals, sum_=sum_)
    moved = [
        live_sum_p.bind(*pair, *conditions, sum_=sum_)
        for pair, tangent in (((tangents[0], b), tangents[0]), ((a, tangents[1]), tangents[1]))
        if type(tangent) is not ad.Zero
    ]
    # JAX calls this only for operands with tangents, and masks have none.
    return value, functools.reduce(ad.add_jaxvals, moved)


ad.primitive_jvps[live_sum_p] = _live_sum_jvp


def _live_sum_transpose(cotangent: Any, a: Any, b: Any, *conditions: Any, sum_: _Sum) -> list[Any]:
    first = ad.is_undefined_primal(a)
    aval = (a if first else b).aval
    found = ad.Zero(aval)
    if type(cotangent) is not ad.Zero:
        # The result and the operand exchange places.
        left, right, result = (2, 1, 0) if first else (0, 2, 1)
        known = iter(conditions)
        every = [next(known) if given else None for given in sum_.given]
        # Along summed dimensions that only the operand has, the result is constant.
        own = sum_.labels[result]
        kept = [place for place, label in enumerate(own) if label in sum_.labels[left] + sum_.labels[right]]
        condition = every[result]
        if condition is not None:
            every[result] = jnp.any(condition, [place for place in range(len(own)) if place not in kept])
        turned = _Sum(
            (sum_.labels[left], sum_.labels[right], tuple(own[place] for place in kept)),
            (sum_.given[left], sum_.given[right], sum_.given[result]),
            str(aval.dtype),
        )
        pair = (cotangent, b) if first else (a, cotangent)
        live = (every[n] for n in (left, right, result) if every[n] is not None)
        found = live_sum_p.bind(*pair, *live, sum_=turned)
        if len(kept) < len(own):
            found = lax.broadcast_in_dim(found, aval.shape, kept)
    return [found if first else None, None if first else found, *[None] * len(conditions)]


ad.primitive_transposes[live_sum_p] = _live_sum_transpose


def _live_sum_batch(operands: Any, dimensions: Any, *, sum_: _Sum) -> Any:
    # One decision for the whole batch: with one per element, `cond` would compute both branches.
    every = list(zip(operands, dimensions, strict=True))
    size = next(array.shape[dimension] for array, dimension in every if dimension is not None)
    known = iter(every[2:])
    conditions = [next(known) if given else None for given in sum_.given]
    left, right = (
        pair[1] is not None or (own is not None and own[1] is not None)
        for pair, own in zip(every, conditions[:2], strict=False)
    )
    # Batch dimensions that only the result's mask has must come from an operand.
    batched = left or not right, right, True

    def put(array: jax.Array, dimension: int | None, wanted: int) -> jax.Array:
        if dimension is None:
            return jnp.broadcast_to(array, (wanted, *array.shape))
        return jnp.moveaxis(array, dimension, 0)

    arrays = [put(*pair, size) if own else pair[0] for pair, own in zip(every[:2], batched, strict=False)]
    arrays += [put(*c, 1) if own else c[0] for c, own in zip(conditions, batched, strict=True) if c is not None]
    label = max((label for own in sum_.labels for label in own), default=0) + 1
    first, second, result = ((label, *axes) if own else axes for axes, own in zip(sum_.labels, batched, strict=True))
    return live_sum_p.bind(*arrays, sum_=_Sum((first, second, result), sum_.given, sum_.dtype)), 0


batching.primitive_batchers[live_sum_p] = _live_sum_batch


def live_sum(
    factors: tuple[Any, Any], axes: tuple[Axes, Axes, Axes], conditions: Sequence[jax.Array | None], dtype: jnp.dtype
) -> jax.Array:
    """The product of two factors with the first two of the `axes`, summed to the third.

    The conditions are the masks of the first factor, the second one and the result, of the same ranks.
    """
    known = [ranked(c, len(own)) for c, own in zip(conditions, axes, strict=True) if c is not None]
    return live_sum_p.bind(*factors, *known, sum_=_sum_of(axes, conditions, dtype))


def _sum_of(axes: tuple[Axes, Axes, Axes], conditions: Sequence[jax.Array | None], dtype: jnp.dtype) -> _Sum:
    number = {axis: n for n, axis in enumerate(dict.fromkeys(axis for own in axes for axis in own))}
    first, second, result = (tuple(number[axis] for axis in own) for own in axes)
    left, right, whole = (condition is not None for condition in conditions)
    return _Sum((first, second, result), (left, right, whole), str(dtype))


def plain_product(factors: tuple[Any, Any], axes: tuple[Axes, Axes, Axes], dtype: jnp.dtype) -> jax.Array:
    """The product without conditions: an operation of JAX, which policies of `jax.checkpoint` know."""
    return _sum_of(axes, (None, None, None), dtype).plain(*factors)


def product_of_live(
    factors: tuple[Factor, Factor], axes: Axes, dtype: jnp.dtype, counts: jax.Array | None = None
) -> jax.Array:
    """The product of two factors, with these axes. Masked terms contribute 0, even against inf or NaN.

    Masked elements of the result do not take part in its derivatives. Sums of a 16-bit type are rounded to it here, and
    so are the products in their derivatives: if a cast rounded them, its derivative would give those products a float32
    copy of the cotangent, for which XLA converts the other operand too.
    """
    every = factors[0].axes, factors[1].axes, axes
    masked = any(factor.live is not None for factor in factors)

    @jax.custom_jvp
    def run(left: jax.Array, right: jax.Array, *conditions: jax.Array | None) -> jax.Array:
        if masked:
            return live_sum((left, right), every, (*conditions[:2], None), dtype)
        return plain_product((left, right), every, dtype)

    def derivative(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[jax.Array, jax.Array]:
        left, right, *conditions, counts_left, counts_right = primals
        # If one operand is masked, the zero cotangent multiplies nothing in the other, and its own result here is
        # dropped.
        moved, turned = _where(counts_left, tangents[0]), _where(counts_right, tangents[1])
        # Policies of `jax.checkpoint` do not look into functions that have a derivative of their own.
        value = run(*primals) if masked else plain_product((left, right), every, dtype)
        left, right = _where(counts_left, left), _where(counts_right, right)
        changes = [
            live_sum(pair, every, conditions, dtype)
            for pair, tangent in (((moved, right), moved), ((left, turned), turned))
            if not isinstance(tangent, SymbolicZero)
        ]
        return value, sum(changes[1:], changes[0]) if changes else jnp.zeros_like(value)

    run.defjvp(derivative, symbolic_zeros=True)
    given = [*(f.array for f in factors), *(f.live for f in factors), counts, *(f.counts for f in factors)]
    known = equally_varying([array for array in given if array is not None])
    return run(*(None if array is None else known.pop(0) for array in given))


def _where(counts: jax.Array | None, array: Any) -> Any:
    return array if counts is None or isinstance(array, SymbolicZero) else jnp.where(counts, array, 0)
