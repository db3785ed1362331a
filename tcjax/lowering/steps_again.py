"""The derivative of a loop that recomputes its steps from the rows that they wrote: nothing else is stored."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..planning.data.steps import Kept, Lagged, Steps, Whole, Window
from .batch_axes import batch_first
from .linear import linear
from .steps import Arrays, Carry, Forward, Given, Rows, Step, lies_apart, moving_names

Sums = dict[str, jax.Array]


@dataclass(frozen=True, slots=True)
class Again:
    """The backward pass of a loop, from all rows that its steps need, starting with the last step."""

    steps: Steps
    step: Step

    def tangents(self, given: Arrays, moving: Arrays, found: Arrays, forward: Forward) -> Arrays:
        """The tangents of `found`, as ``forward(given, moving)`` computes them; `back` is the transpose."""
        names, floats, smooth = list(given), moving_names(given), moving_names(found)

        def ahead(arrays: Sequence[Any], moving: Sequence[Any]) -> list[Any]:
            known = dict(zip(names, arrays[: len(names)], strict=True))
            tangents = forward(known, dict(zip(floats, moving, strict=True)))
            return [tangents[name] for name in smooth]

        def back(arrays: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            known = dict(zip(names, arrays[: len(names)], strict=True))
            rows = dict(zip(found, arrays[len(names) :], strict=True))
            handed = self.back(known, rows, dict(zip(smooth, cotangents, strict=True)), forward)
            return [handed[name] for name in floats]

        arrays = [*given.values(), *found.values()]
        tangents = linear(ahead, back, arrays, [moving[name] for name in floats], [found[name] for name in smooth])
        return dict(zip(smooth, tangents, strict=True))

    def back(self, known: Arrays, found: Arrays, cotangents: Arrays, forward: Forward) -> Sums:
        """The cotangents of the arrays of a loop."""

        def transposed(known: Sums, _: Sums, cotangents: Sums) -> Sums:
            floats = {name: known[name] for name in moving_names(known)}

            def tangents(moving: Sums) -> Sums:
                ahead = forward(known, moving)
                return {name: ahead[name] for name in cotangents}

            [handed] = jax.linear_transpose(tangents, floats)(cotangents)
            return handed

        @jax.custom_jvp
        def run(known: Sums, found: Sums, cotangents: Sums) -> Sums:
            def in_turn(known: Sums, found: Sums, cotangents: Sums) -> Sums:
                way = by_factors if self.steps.again == "by factors" else in_place
                return way(self.steps, known, found, cotangents, self.step)

            if self.steps.at_once is None:
                return batch_first(in_turn(known, found, cotangents))
            ways = dict.fromkeys(self.steps.at_once.platforms, transposed)
            return batch_first(lax.platform_dependent(known, found, cotangents, **ways, default=in_turn))

        # As in the forward pass: the derivative of an in-place update would take as long for one step as for all.
        @run.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            found, moved = jax.jvp(transposed, primals, tangents)
            return batch_first(found), moved

        return run(dict(known), dict(found), dict(cotangents))


def in_place(steps: Steps, known: Arrays, found: Arrays, cotangents: Arrays, step: Step) -> Sums:
    """All steps in one loop, last step first, which adds the cotangents that each gives to whole arrays."""
    given = Given.of(steps, known)
    reads = {name: rows.closely() for name, rows in given.moving.items()}
    sources = {n: t.tensor for n, t in steps.inputs if isinstance(t, (Window, Lagged)) and n in given.moving}
    left = {kept.tensor: _Left.of(kept, steps, found) for kept in steps.kept}
    weights = {kept.tensor: _Left.of(kept, steps, cotangents) for kept in steps.kept if kept.tensor in cotangents}
    # Cotangents of a tensor that is read in several ways share one array, if it needs no padding.
    sums = {name: _Sum.of(rows, [*sources.values()].count(sources[name]) > 1) for name, rows in given.moving.items()}
    sums = {name: each for name, each in sums.items() if jnp.issubdtype(each.rows.array.dtype, jnp.floating)}
    places = {name: _place(name, sources[name], each, known) for name, each in sums.items()}
    totals = {places[name]: each.empty() for name, each in sums.items()}
    whole = {name: jnp.zeros_like(given.whole[name]) for name in moving_names(given.whole)}
    pending = {
        kept.tensor: tuple(jnp.zeros_like(weights[kept.tensor].row(0, 0)) for _ in range(kept.order))
        for kept in steps.kept
        if kept.tensor in weights
    }

    def body(number: Any, state: tuple[Carry, Sums, Sums]) -> tuple[Carry, Sums, Sums]:
        pending, whole, totals = state
        at = number if steps.backwards else steps.count - 1 - number
        carry = {name: rows.before(at) for name, rows in left.items()}
        moving = {name: read(at) for name, read in reads.items()}

        known_step = partial(step, found=[each.row(at, 0) for each in left.values()])

        def one(carry: Carry, moving: Arrays, whole: Arrays) -> list[jax.Array]:
            return replace(given, whole=whole).results(carry, moving, at, known_step)[1]

        rows, pull_back = jax.vjp(one, carry, moving, given.whole)
        handed: list[Any] = []
        for kept, row in zip(steps.kept, rows, strict=True):
            if kept.tensor not in weights:
                handed.append(np.zeros(row.shape, jax.dtypes.float0))
                continue
            own = weights[kept.tensor].row(at, 0)
            handed.append(own + pending[kept.tensor][0] if kept.order else own)
        to_carry, to_moving, to_whole = pull_back(handed)
        new = {
            name: tuple([a + b for a, b in zip(rows[1:], to_carry[name], strict=False)] + [to_carry[name][-1]])
            if rows
            else ()
            for name, rows in pending.items()
        }
        whole = {name: total + to_whole[name] for name, total in whole.items()}
        totals = dict(totals)
        for name, each in sums.items():
            totals[places[name]] = each.added(totals[places[name]], to_moving[name], at)
        return new, whole, totals

    pending, whole, totals = lax.fori_loop(0, steps.count, body, (pending, whole, totals))
    parts: list[tuple[str, jax.Array]] = []
    for name in dict.fromkeys(places.values()):
        number = next(n for n, place in places.items() if place == name)
        parts.append((sources[number], sums[number].finish(totals[name])))
    return _received(steps, known, cotangents, whole, parts, pending)


def by_factors(steps: Steps, known: Arrays, found: Arrays, cotangents: Arrays, step: Step) -> Sums:
    """The same if each row is one number: all steps compute at once the factors of their cotangents.

    Only the cotangents that steps pass to each other are computed in order, as sums of products of numbers.
    """
    given = Given.of(steps, known)
    sources = {n: t.tensor for n, t in steps.inputs if isinstance(t, (Window, Lagged)) and n in given.moving}
    left = {kept.tensor: _Left.of(kept, steps, found) for kept in steps.kept}
    smooth = [kept.tensor for kept in steps.kept if kept.tensor in cotangents]
    weights = {kept.tensor: _Left.of(kept, steps, cotangents).rows(0) for kept in steps.kept if kept.tensor in smooth}

    def one(carry: Carry, moving: Arrays, at: jax.Array, whole: Arrays) -> dict[str, jax.Array]:
        rows = replace(given, whole=whole).results(carry, moving, at, step)[1]
        return {kept.tensor: row for kept, row in zip(steps.kept, rows, strict=True) if kept.tensor in smooth}

    def every(carry: Carry, arrays: Arrays, whole: Arrays) -> dict[str, jax.Array]:
        moving = {name: replace(rows, array=arrays[name]).all() for name, rows in given.moving.items()}
        return jax.vmap(one, (0, 0, 0, None))(carry, moving, jnp.arange(steps.count, dtype=jnp.int32), whole)

    carry = {name: tuple([rows.rows(lag) for lag in range(1, rows.kept.order + 1)]) for name, rows in left.items()}
    _, pull_back = jax.vjp(every, carry, {name: rows.array for name, rows in given.moving.items()}, given.whole)
    zeros = {name: jnp.zeros_like(rows) for name, rows in weights.items()}
    factors = {name: pull_back({**zeros, name: jnp.ones_like(rows)})[0] for name, rows in weights.items()}

    def body(pending: Carry, given: tuple[Arrays, Mapping[str, Carry]]) -> tuple[Carry, Sums]:
        weights, factors = given
        handed = {name: row + pending[name][0] if pending[name] else row for name, row in weights.items()}
        new: Carry = {}
        for name, rows in pending.items():
            back = [reduce(jnp.add, [handed[n] * factors[n][name][lag] for n in handed]) for lag in range(len(rows))]
            new[name] = tuple([a + b for a, b in zip(rows[1:], back, strict=False)] + back[-1:])
        return new, handed

    first = {name: tuple([jnp.zeros_like(rows[0]) for rows in carry[name]]) for name, rows in weights.items()}
    pending, handed = lax.scan(body, first, (weights, factors), reverse=not steps.backwards)
    _, arrays, whole = pull_back(handed)
    parts = [(sources[name], rows.without_around(arrays[name])) for name, rows in given.moving.items()]
    parts = [(tensor, array) for tensor, array in parts if array.dtype != jax.dtypes.float0]
    return _received(steps, known, cotangents, whole, parts, pending)


def _received(
    steps: Steps,
    known: Arrays,
    cotangents: Arrays,
    whole: Arrays,
    parts: Iterable[tuple[str, jax.Array]],
    pending: Carry,
) -> Sums:
    """Cotangents of a loop's arrays: those that steps share, those that they slice, and the rows before the loop."""
    handed: Sums = {}
    kept_by = {kept.tensor: kept for kept in steps.kept}
    floats = moving_names(known)

    def receive(tensor: str, array: jax.Array) -> None:
        handed[tensor] = handed[tensor] + array if tensor in handed else array

    for name, taken in steps.inputs:
        if isinstance(taken, Whole) and name in whole and taken.tensor in floats:
            receive(taken.tensor, whole[name])
    for tensor, array in parts:
        receive(tensor, _as_held(kept_by[tensor], array) if tensor in kept_by else array)
    for name, kept in kept_by.items():
        if name in floats:
            receive(name, _before(kept, steps, cotangents[name], pending[name]))
    return {name: handed[name] if name in handed else jnp.zeros_like(known[name]) for name in floats}


@dataclass(frozen=True, slots=True)
class _Left:
    """The rows of a tensor that the loop wrote, and the rows before it."""

    array: jax.Array
    axis: int
    kept: Kept
    steps: Steps

    @staticmethod
    def of(kept: Kept, steps: Steps, found: Arrays) -> "_Left":
        assert kept.dimension is not None
        array, axis = found[kept.tensor], kept.dimension
        if lies_apart(array.shape, axis):
            array, axis = jnp.moveaxis(array, axis, 0), 0
        return _Left(array, axis, kept, steps)

    def row(self, at: Any, lag: int) -> jax.Array:
        """The row that was written `lag` steps earlier; an arbitrary row if the tensor has none there."""
        before = lag if self.steps.backwards else -lag
        place = (at + before) * self.steps.apart + (self.steps.low + self.kept.offset)
        return lax.dynamic_index_in_dim(self.array, place, self.axis, keepdims=False)

    def rows(self, lag: int) -> jax.Array:
        """The same for all steps, stacked."""
        before = lag if self.steps.backwards else -lag
        low, apart, count = (
            before * self.steps.apart + self.steps.low + self.kept.offset,
            self.steps.apart,
            self.steps.count,
        )
        extent = self.array.shape[self.axis]
        high = low + apart * (count - 1) + 1
        array = self.array
        if low < 0 or high > extent:
            around = max(0, -low), max(0, high - extent)
            array = jnp.pad(array, [around if d == self.axis else (0, 0) for d in range(array.ndim)], mode="edge")
            low, high = low + around[0], high + around[0]
        return jnp.moveaxis(lax.slice_in_dim(array, low, high, apart, self.axis), self.axis, 0)

    def before(self, at: Any) -> tuple[jax.Array, ...]:
        """The earlier rows that a step receives."""
        return tuple(self.row(at, lag) for lag in range(1, self.kept.order + 1))


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of cotangents of slices; `shared` if slices overlap, or other slices are added to it."""

    rows: Rows
    shared: bool

    @staticmethod
    def of(rows: Rows, shared: bool) -> "_Sum":
        return _Sum(rows, shared or rows.is_odd)

    @property
    def in_front(self) -> int | None:
        """The dimension that is moved to the front during the loop."""
        rows = self.rows
        return rows.dropped[0] if not rows.is_odd and lies_apart(rows.array.shape, rows.dropped[0]) else None

    def empty(self) -> jax.Array:
        zeros = jnp.zeros_like(self.rows.array)
        return zeros if self.in_front is None else jnp.moveaxis(zeros, self.in_front, 0)

    def finish(self, total: jax.Array) -> jax.Array:
        found = total if self.in_front is None else jnp.moveaxis(total, 0, self.in_front)
        return self.rows.without_around(found)

    def added(self, total: jax.Array, part: jax.Array, at: Any) -> jax.Array:
        """The sum with the slice of a step added."""
        part = lax.expand_dims(part, self.rows.dropped)
        starts = [b + m * at if m else b for b, m in zip(self.rows.begins, self.rows.moves, strict=True)]
        if self.in_front is not None:
            part = jnp.moveaxis(part, self.in_front, 0)
            starts.insert(0, starts.pop(self.in_front))
        if self.shared:
            part += lax.dynamic_slice(total, starts, part.shape)
        return lax.dynamic_update_slice(total, part, starts)


def _place(name: str, tensor: str, each: _Sum, known: Arrays) -> str:
    """The name of the sum for a read: reads of a tensor with the same layout share one."""
    plain = tensor in known and each.rows.array.shape == known[tensor].shape
    return f"{tensor} {each.in_front}" if plain else name


def _as_held(kept: Kept, array: jax.Array) -> jax.Array:
    """The rows of a tensor that exist before the loop."""
    if kept.held is None:
        return array
    assert kept.dimension is not None
    return lax.slice_in_dim(array, *kept.held, axis=kept.dimension)


def _before(kept: Kept, steps: Steps, weights: jax.Array, pending: tuple[jax.Array, ...]) -> jax.Array:
    """Cotangents of the rows before a loop: their own where no step overwrites them, plus those from steps."""
    axis, low = kept.dimension, steps.low + kept.offset
    assert axis is not None
    found = _as_held(kept, weights)
    begin, end = kept.held or (0, kept.shape[axis])
    written = [place - begin for place in range(low, low + steps.apart * steps.count, steps.apart)]
    inside = [place for place in written if 0 <= place < end - begin]
    if inside:
        places = (slice(None),) * axis + (slice(inside[0], inside[-1] + 1, steps.apart),)
        found = found.at[places].set(0)
    for lag, row in enumerate(pending, 1):
        place = steps.value(-lag) + kept.offset
        if begin <= place < end:
            found = found.at[(slice(None),) * axis + (place - begin,)].add(row)
    return found
