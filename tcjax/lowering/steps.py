"""Loops, step by step with `lax.scan` or in place."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Final, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .. import ir
from ..ir import Reducer
from ..planning.data.stages import Plan
from ..planning.data.steps import Kept, Lagged, State, Steps, Value, Whole, Window
from ..planning.replanning import plan_adjoint
from .batch_axes import batch_first
from .builtins import BUILTINS
from .context import numeric
from .linear import linear
from .placing import is_placed
from .provisos import either_of
from .reducers import combine
from .sizes import as_int32
from .varying import steady, varies

Arrays = Mapping[str, jax.Array]
# What is carried from step to step: the last rows of each tensor, latest first, and whole states.
Carry = dict[str, tuple[jax.Array, ...]]
Step = Callable[..., tuple[jax.Array, ...]]
# Maps arrays and their tangents to the tangents of what a loop writes.
Forward = Callable[[Arrays, Arrays], Arrays]

# Up to this many rows before a loop are treated as steps of it, in its derivative.
MOST_ROWS_BEFORE: Final = 4
# Composed linear maps must keep their numbers below two to this power.
LARGEST_EXPONENT: Final = 120.0
# Elements of a cache line of 64 bytes.
FEW_ELEMENTS: Final = 16


class WayBack(Protocol):
    """A way to compute the tangents of a loop that has its own transpose."""

    def tangents(self, given: Arrays, moving: Arrays, found: Arrays, forward: Forward) -> Arrays | None:
        """The tangents of `found`, like ``forward(given, moving)`` but with its own transpose; None without one."""
        ...


@dataclass(frozen=True, slots=True)
class ByProgram:
    """The adjoint of a loop as a program, which stores at most `most` bytes; `run` runs a plan."""

    program: ir.Function
    most: int
    arguments: tuple[str, ...]
    run: Callable[[Plan, Arrays], tuple[jax.Array, ...]]

    def tangents(self, given: Arrays, moving: Arrays, found: Arrays, forward: Forward) -> Arrays | None:
        """The tangents of `found`, as ``forward(given, moving)`` computes them; the program is the transpose."""
        plan = plan_adjoint(self.program, self.most)
        floats = moving_names({name: given[name] for name in self.arguments})
        smooth = [tensor.name for tensor in self.program.returns if tensor.name in moving_names(found)]
        if plan is None or {*moving} - {*self.arguments} or len(plan.returns) != len(floats):
            return None

        def ahead(given: Sequence[Any], moving: Sequence[Any]) -> list[Any]:
            tangents = forward(dict(zip(self.arguments, given, strict=True)), dict(zip(floats, moving, strict=True)))
            return [tangents[name] for name in smooth]

        def back(given: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            return list(self.run(plan, dict(zip(plan.parameters, [*given, *cotangents], strict=True))))

        arrays = [given[name] for name in self.arguments]
        tangents = linear(ahead, back, arrays, [moving[name] for name in floats], [found[name] for name in smooth])
        return dict(zip(smooth, tangents, strict=True))


def moving_names(arrays: Arrays) -> list[str]:
    """The arrays that have tangents."""
    return [name for name, array in arrays.items() if jnp.issubdtype(array.dtype, jnp.floating)]


def all_tangents(arrays: Arrays, moving: Arrays) -> dict[str, Any]:
    """A tangent for each of the arrays: of type float0 for those without."""
    return {n: moving[n] if n in moving else np.zeros(a.shape, jax.dtypes.float0) for n, a in arrays.items()}


def lower_steps(
    steps: Steps,
    known: Arrays,
    step: Step,
    way_back: WayBack | None = None,
    shifts: Mapping[str, Step] | None = None,
    found: Arrays | None = None,
) -> dict[str, jax.Array]:
    """What a loop writes and later statements need; `step` computes the results of one step.

    `shifts` are steps that compute, instead of a tensor, what is added to it first. If a derivative only needs rows
    that were `found` before, no step runs again.
    """
    if not steps.count:
        return {kept.tensor: content_before(kept, known) for kept in steps.kept if kept.stays}
    if isinstance(way_back, ByProgram):
        # The adjoint program takes whole tensors.
        parts = [kept for kept in steps.kept if kept.held is not None and kept.tensor in known]
        known = {**known, **{kept.tensor: content_before(kept, known) for kept in parts}}
        steps = replace(steps, kept=tuple(replace(kept, held=None) for kept in steps.kept))
    names = {taken.tensor for _, taken in steps.inputs if not isinstance(taken, Value)}
    names |= {kept.tensor for kept in steps.kept}
    # The adjoint program also takes what every step writes before it reads it.
    names |= {*way_back.arguments} if isinstance(way_back, ByProgram) else set()
    is_found = way_back is not None and {kept.tensor for kept in steps.kept} <= {*(found or {})}

    @jax.custom_jvp
    def run(used: dict[str, jax.Array], before: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return batch_first(before or in_turn_or_at_once(steps, used, step, _in_place, shifts))

    # The derivative of an in-place update would take as long for one step as for all.
    @run.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        # Recomputing a step needs all rows that it reads.
        whole = steps.whole if steps.again else steps

        def stacked(used: Arrays) -> dict[str, jax.Array]:
            return in_turn_or_at_once(whole, used, step, _stacked, shifts)

        def staying(arrays: Arrays) -> dict[str, jax.Array]:
            return {kept.tensor: arrays[kept.tensor] for kept in steps.kept if kept.stays}

        def forward(given: Arrays, moving: Arrays) -> Arrays:
            return jax.jvp(stacked, (dict(given),), (all_tangents(given, moving),))[1]

        (used, before), (dots, _) = primals, tangents
        if way_back is not None and not any(is_placed(array) or varies(array) for array in used.values()):
            found = before or lower_steps(whole, used, step, way_back, shifts)
            moving = {name: dots[name] for name in moving_names(used)}
            linearly = way_back.tangents(used, moving, found, forward)
            if linearly is not None:
                return batch_first(staying(found)), staying(all_tangents(found, linearly))
        found, moved = jax.jvp(stacked, (used,), (dots,))
        return batch_first(staying(found)), staying(moved)

    used = {name: known[name] for name in sorted(names) if name in known}
    return run(used, {kept.tensor: found[kept.tensor] for kept in steps.kept} if found and is_found else {})


def in_turn_or_at_once(
    steps: Steps,
    known: Arrays,
    step: Step,
    in_turn: Callable[[Steps, Arrays, Step], dict[str, jax.Array]],
    shifts: Mapping[str, Step] | None = None,
) -> dict[str, jax.Array]:
    """The steps one by one, or several at once on platforms for which the plan says so."""
    if steps.at_once is None or any(map(is_placed, known.values())):
        return in_turn(steps, known, step)

    def many(known: Arrays) -> dict[str, jax.Array]:
        return _stacked(steps, known, step, at_once=True, shifts=shifts or {})

    ways = dict.fromkeys(steps.at_once.platforms, many)
    return lax.platform_dependent(dict(known), **ways, default=lambda known: in_turn(steps, known, step))


def _in_place(steps: Steps, known: Arrays, step: Step) -> dict[str, jax.Array]:
    """All steps in one loop that reads and writes rows of whole arrays in place."""
    given = Given.of(steps, known)
    stays = [(kept, kept.dimension) for kept in steps.kept if kept.stays and kept.dimension is not None]
    along = {kept.tensor: 0 if lies_apart(kept.shape, d) else d for kept, d in stays}
    whole = {kept.tensor: jnp.moveaxis(content_before(kept, known), d, along[kept.tensor]) for kept, d in stays}
    reads = {name: rows.closely() for name, rows in given.moving.items()}

    def body(number: Any, carried: tuple[Carry, dict[str, jax.Array]]) -> tuple[Carry, dict[str, jax.Array]]:
        carry, whole = carried
        at = steps.count - 1 - number if steps.backwards else number
        after, rows = given.results(carry, {n: read(at) for n, read in reads.items()}, at, step)
        for (kept, _), row in zip(stays, rows, strict=True):
            place, axis = at * steps.apart + (steps.low + kept.offset), along[kept.tensor]
            part = jnp.moveaxis(row, 0, axis) if kept.many > 1 else jnp.expand_dims(row, axis)
            whole[kept.tensor] = lax.dynamic_update_slice_in_dim(whole[kept.tensor], part, place, axis)
        return after, whole

    first = {kept.tensor: _first(kept, steps, known) for kept in steps.kept}
    carry = steady(lambda carry: body(jnp.int32(0), carry), (first, whole), known.values())
    last, whole = lax.fori_loop(0, steps.count, body, carry)
    found = {kept.tensor: jnp.moveaxis(whole[kept.tensor], along[kept.tensor], d) for kept, d in stays}
    return found | {k.tensor: last[k.tensor][0] for k in steps.kept if k.stays and k.dimension is None}


def lies_apart(shape: Sequence[int], dimension: int) -> bool:
    """Whether a row along a dimension is in pieces that are shorter than a cache line.

    A step would read or write a whole line for each piece; contiguous rows avoid that.
    """
    return prod(shape[:dimension]) > 1 and prod(shape[dimension + 1 :]) < FEW_ELEMENTS


def _stacked(
    steps: Steps, known: Arrays, step: Step, *, at_once: bool = False, shifts: Mapping[str, Step] | None = None
) -> dict[str, jax.Array]:
    """All steps by `lax.scan`, which gives them slices and stacks their rows: its derivative takes linear time.

    Or blocks of them `at_once`.
    """
    more = 0 if at_once else _rows_before(steps, known)
    wide = (
        steps
        if not more
        else replace(steps, count=steps.count + more, low=steps.low if steps.backwards else steps.low - more)
    )
    given = replace(Given.of(wide, known), shifts=shifts or {})
    values = jnp.arange(wide.count, dtype="int32")
    moving = {name: jax.vmap(read)(values) if read.is_odd else read.all() for name, read in given.moving.items()}

    def body(carry: Carry, inside: tuple[Arrays, jax.Array]) -> tuple[Carry, list[jax.Array]]:
        rows, at = inside
        if not more:
            return given.results(carry, rows, at, step)
        live = at < steps.count if steps.backwards else at >= more
        return given.guarded(carry, rows, at, step, live, known)

    begin = jax.tree.map(lambda a: a[0], (moving, values))
    first = {kept.tensor: _first(kept, wide, known) for kept in wide.kept}
    first = steady(lambda carry: body(carry, begin)[0], first, known.values())

    def block(carry: Carry, inside: tuple[Arrays, jax.Array]) -> tuple[Carry, list[jax.Array]]:
        return given.at_once(carry, *inside, step)

    if at_once:
        assert steps.at_once is not None
        last, stacked = _scanned(block, first, (moving, values), wide, steps.at_once.block)
    else:
        last, stacked = _scanned(
            functools.partial(_in_turn, body, steps.backwards), first, (moving, values), wide, steps.chunk
        )
    found = iter(stacked)
    return {
        kept.tensor: last[kept.tensor][0] if kept.dimension is None else _joined(kept, wide, known, next(found))
        for kept in wide.kept
        if kept.stays
    }


def _rows_before(steps: Steps, known: Arrays) -> int:
    """The number of rows before the loop that can be treated as steps, which return the existing rows.

    Then no arrays are sliced before the loop or concatenated after it.
    """
    if steps.apart != 1:
        return 0
    found: set[int] = set()
    for kept in steps.kept:
        if kept.dimension is None or not kept.stays:
            continue
        low = steps.low + kept.offset
        high, extent = low + steps.count, kept.shape[kept.dimension]
        first, last = (low, extent) if not steps.backwards else (0, high)
        held = kept.held or ((0, 0) if kept.tensor not in known else (0, extent))
        wanted = (high, extent) if steps.backwards else (0, low)
        found.add(wanted[1] - wanted[0] if held == wanted and (first, last) == (low, high) else 0)
    shared = sum(known[taken.tensor].nbytes for _, taken in steps.inputs if isinstance(taken, Whole))
    rows = [known[taken.tensor].nbytes // max(1, steps.count) for _, taken in steps.inputs if isinstance(taken, Window)]
    [more] = found if len(found) == 1 else [0]
    # Each step would have to guard what all steps share.
    return more if more <= MOST_ROWS_BEFORE and shared <= 2 * sum(rows) else 0


@dataclass(frozen=True, slots=True)
class Rows:
    """A slice of an array that moves with the steps: where it begins in step 0, and how far it moves per step.

    Dimensions in `dropped` have one element and are squeezed out. Where slices reach out of bounds, the array is padded
    with zeros (`low` elements before its `extents`), or look-ups there give zero. It `is_odd` if the slices of all
    steps are not rows of the array.
    """

    array: jax.Array
    begins: tuple[int, ...]
    moves: tuple[int, ...]
    sizes: tuple[int, ...]
    dropped: tuple[int, ...]
    count: int
    low: tuple[int, ...]
    extents: tuple[int, ...]

    @staticmethod
    def of(
        array: jax.Array,
        begins: Sequence[int],
        moves: Sequence[int],
        sizes: Sequence[int | None],
        count: int,
        *,
        around: bool,
    ) -> "Rows":
        widths: list[tuple[int, int, int]] = []
        for begin, move, size, extent in zip(begins, moves, sizes, array.shape, strict=True):
            if not around:
                widths.append((0, 0, 0))
                continue
            ends = begin, begin + move * (count - 1)
            widths.append((max(0, -min(ends)), max(0, max(ends) + (1 if size is None else size) - extent), 0))
        extents = array.shape
        if any(low or high for low, high, _ in widths):
            array = lax.pad(array, jnp.zeros((), array.dtype), widths)
        begins = tuple(begin + low for begin, (low, _, _) in zip(begins, widths, strict=True))
        dropped = tuple(d for d, size in enumerate(sizes) if size is None)
        counts = tuple(1 if size is None else size for size in sizes)
        lows = tuple(low for low, _, _ in widths)
        return Rows(array, begins, tuple(moves), counts, dropped, count, lows, extents)

    @property
    def is_odd(self) -> bool:
        moving = tuple(d for d, move in enumerate(self.moves) if move)
        return len(moving) != 1 or self.dropped != moving

    def __call__(self, at: Any) -> jax.Array:
        """The slice of a step."""
        starts = [begin + move * at if move else begin for begin, move in zip(self.begins, self.moves, strict=True)]
        return lax.squeeze(lax.dynamic_slice(self.array, starts, self.sizes), self.dropped)

    def looked_up(self, at: jax.Array) -> jax.Array:
        """The slices of these steps, gathered along the dimensions that move: zero out of bounds."""
        array = self.array
        for d, (begin, move, size) in reversed([*enumerate(zip(self.begins, self.moves, self.sizes, strict=True))]):
            if move or d in self.dropped:
                places = as_int32(begin) + move * at
                places = places if d in self.dropped else places + jnp.arange(size, dtype=jnp.int32)
                array = jnp.take(array, places, axis=d, mode="fill", fill_value=0)
        return array

    def without_around(self, array: jax.Array) -> jax.Array:
        """An array of the padded shape, without the padding."""
        limits = [low + extent for low, extent in zip(self.low, self.extents, strict=True)]
        return lax.slice(array, self.low, limits) if array.shape != self.extents else array

    def closely(self) -> Callable[[Any], jax.Array]:
        """A function that gives the slice of a step, from a contiguous copy where a slice `lies_apart`."""
        if self.is_odd or not lies_apart(self.array.shape, self.dropped[0]):
            return self
        parts = self.all()
        return lambda at: lax.dynamic_index_in_dim(parts, at, keepdims=False)

    def all(self) -> jax.Array:
        """The slices of all steps, stacked."""
        [d] = self.dropped
        stride, last = self.moves[d], self.begins[d] + self.moves[d] * (self.count - 1)
        low, high = min(self.begins[d], last), max(self.begins[d], last)
        found = lax.slice_in_dim(self.array, low, high + 1, abs(stride), d)
        return jnp.moveaxis(lax.rev(found, (d,)) if stride < 0 else found, d, 0)


@dataclass(frozen=True, slots=True)
class Given:
    """What the steps receive: whole arrays, and slices that move."""

    steps: Steps
    whole: Arrays
    moving: Mapping[str, Rows]
    shifts: Mapping[str, Step] = field(default_factory=dict)

    @staticmethod
    def of(steps: Steps, known: Arrays, *, around: bool = True) -> "Given":
        whole: dict[str, jax.Array] = {}
        moving: dict[str, Rows] = {}
        for name, taken in steps.inputs:
            match taken:
                case Whole(tensor):
                    whole[name] = known[tensor]
                case Window(tensor, begins, counts):
                    starts = [start + weight * steps.low for weight, start in begins]
                    moves = [weight * steps.apart for weight, _ in begins]
                    moving[name] = Rows.of(known[tensor], starts, moves, counts, steps.count, around=around)
                case Lagged(tensor, 0):
                    kept = next(kept for kept in steps.kept if kept.tensor == tensor)
                    content = content_before(kept, known)
                    starts = [steps.low + kept.offset if d == kept.dimension else 0 for d in range(content.ndim)]
                    moves = [steps.apart if d == kept.dimension else 0 for d in range(content.ndim)]
                    sizes = [None if d == kept.dimension else extent for d, extent in enumerate(content.shape)]
                    moving[name] = Rows.of(content, starts, moves, sizes, steps.count, around=around)
                case _:
                    continue
        return Given(steps, whole, moving)

    def guarded(
        self, carry: Carry, moving: Arrays, at: jax.Array, step: Step, live: jax.Array, known: Arrays
    ) -> tuple[Carry, list[jax.Array]]:
        """`results` of a step that may be before the loop, which then returns the existing rows.

        What it computes then is not used and must have a zero derivative: operands that could make it inf or NaN are
        replaced by ones.
        """
        steps, rows_before = self.steps, max(kept.order for kept in self.steps.kept)

        def safe(array: jax.Array) -> jax.Array:
            # The single step before the loop only passes its derivative on to zeros.
            return array if steps.is_tame and rows_before == 1 else jnp.where(live, array, jnp.ones((), array.dtype))

        inside = replace(self, whole={name: safe(array) for name, array in self.whole.items()})
        after, rows = inside.results(jax.tree.map(safe, carry), jax.tree.map(safe, moving), at, step)
        stays = [kept.tensor for kept in steps.kept if kept.stays and kept.dimension is not None]
        new = dict(zip(stays, rows, strict=True))
        for kept in steps.kept:
            if kept.dimension is None:
                after[kept.tensor] = (jnp.where(live, after[kept.tensor][0], carry[kept.tensor][0]),)
                continue
            computed = new[kept.tensor] if kept.tensor in new else after[kept.tensor][0]
            row = jnp.where(live, computed, self.before(kept, at, known, computed))
            after[kept.tensor] = (row, *carry[kept.tensor])[: kept.order]
            if kept.tensor in new:
                new[kept.tensor] = row
        return after, [new[name] for name in stays]

    def before(self, kept: Kept, at: jax.Array, known: Arrays, like: jax.Array) -> jax.Array:
        """The existing row of a step before the loop."""
        if kept.tensor not in known or kept.held is None or kept.dimension is None:
            return jnp.zeros_like(like)
        rows = kept.held[1] - kept.held[0]
        place = at - (self.steps.count - rows) if self.steps.backwards else at
        if rows == 1:
            return lax.index_in_dim(known[kept.tensor], 0, kept.dimension, keepdims=False)
        place = jnp.clip(place, 0, rows - 1)
        return lax.dynamic_index_in_dim(known[kept.tensor], place, kept.dimension, keepdims=False)

    def at_once(self, carry: Carry, moving: Arrays, values: jax.Array, step: Step) -> tuple[Carry, list[jax.Array]]:
        """The carry after consecutive steps, and the rows that they keep: at once, if nothing can overflow by that.

        A product of many factors may overflow where the steps, one by one, do not.
        """
        leaves, tree = jax.tree.flatten((dict(self.whole), carry, dict(moving), values))

        def of(way: Callable[..., Any]) -> Callable[..., list[jax.Array]]:
            def run(*leaves: jax.Array) -> list[jax.Array]:
                whole, *rest = jax.tree.unflatten(tree, leaves)
                return jax.tree.leaves(way(replace(self, whole=whole), *rest, step))

            return run

        def fit(*leaves: jax.Array) -> jax.Array:
            [found] = of(Given.fit)(*leaves)
            return found

        assert self.steps.at_once is not None
        if not self.shifts and all(reducer is not Reducer.SUM for _, reducer in self.steps.at_once.order):
            return self.together(carry, moving, values, step)
        found = either_of(fit, of(Given.together), of(Given.in_turn), leaves)
        shape = jax.eval_shape(functools.partial(self.in_turn, step=step), carry, moving, values)
        return jax.tree.unflatten(jax.tree.structure(shape), found)

    def in_turn(self, carry: Carry, moving: Arrays, values: jax.Array, step: Step) -> tuple[Carry, list[jax.Array]]:
        """The same, step by step."""

        def body(carry: Carry, inside: tuple[Arrays, jax.Array]) -> tuple[Carry, list[jax.Array]]:
            return self.results(carry, *inside, step)

        return _in_turn(body, self.steps.backwards, carry, (moving, values))

    def together(self, carry: Carry, moving: Arrays, values: jax.Array, step: Step) -> tuple[Carry, list[jax.Array]]:
        """The same at once: each step receives the carry computed by the scan."""
        _, before = self.maps(carry, moving, values, step)
        carries = {name: (before[name],) if name in before else () for name in carry}
        after, rows = jax.vmap(lambda carry, moving, at: self.results(carry, moving, at, step))(carries, moving, values)
        end = 0 if self.steps.backwards else -1
        return jax.tree.map(lambda a: a[end], after), rows

    def fit(self, carry: Carry, moving: Arrays, values: jax.Array, step: Step) -> jax.Array:
        """Whether the scan of these steps' maps does not overflow."""
        return jnp.stack([jnp.bool_(True), *self.maps(carry, moving, values, step)[0]]).all()

    def maps(
        self, carry: Carry, moving: Arrays, values: jax.Array, step: Step
    ) -> tuple[list[jax.Array], dict[str, jax.Array]]:
        """For each tensor that steps add to, whether its scan fits; and the carry before each step, of all tensors."""
        assert self.steps.at_once is not None
        fits: list[jax.Array] = []
        before: dict[str, jax.Array] = {}
        order = -1 if self.steps.backwards else 1
        for name, reducer in self.steps.at_once.order:
            [start] = carry[name]

            def new(
                old: jax.Array, others: Arrays, moving: Arrays, at: jax.Array, name: str = name, step: Step = step
            ) -> jax.Array:
                # Tensors that are not known yet are not read.
                carried = {n: tuple(map(jnp.zeros_like, rows)) for n, rows in carry.items()}
                carried |= {n: (row,) for n, row in others.items()}
                return self.results({**carried, name: (old,)}, moving, at, step)[0][name][0]

            def linear(
                others: Arrays, moving: Arrays, at: jax.Array, start: jax.Array = start, new: Any = new
            ) -> tuple[jax.Array, jax.Array]:
                old = jnp.zeros_like(start)
                return jax.jvp(lambda old: new(old, others, moving, at), (old,), (jnp.ones_like(old),))

            if reducer is Reducer.SUM:
                numbers, weights = jax.vmap(linear)(before, moving, values)
                fits.append(_products_fit(weights, numbers, start))
                weights, numbers = weights[::order], numbers[::order]
                numbers = lax.concatenate([numbers[:1] + weights[:1] * start, numbers[1:]], 0)
                rows = linear_scan(weights, numbers)
            else:
                nothing = jnp.full_like(start, reducer.empty(str(start.dtype)))
                numbers = jax.vmap(functools.partial(new, nothing))(before, moving, values)[::order]
                shifts = None
                first = start[None]
                if name in self.shifts:
                    shift = functools.partial(new, nothing, step=self.shifts[name])
                    shifts = jax.vmap(shift)(before, moving, values)[::order]
                    fits.append(_sums_fit(shifts, numbers, start, nothing))
                    first = first + shifts[:1]
                numbers = lax.concatenate([joined_by(reducer)(first, numbers[:1]), numbers[1:]], 0)
                rows = scan_of(reducer, numbers, shifts)
            before[name] = lax.concatenate([start[None], rows[:-1]], 0)[::order]
        return fits, before

    def results(self, carry: Carry, moving: Arrays, at: Any, step: Step) -> tuple[Carry, list[jax.Array]]:
        """The carry after step number `at` (counted upwards), and the rows that it keeps."""
        arrays = {**self.whole, **moving}
        for name, taken in self.steps.inputs:
            match taken:
                case Lagged(tensor, lag) if lag:
                    arrays[name] = carry[tensor][lag - 1]
                case State(tensor):
                    [arrays[name]] = carry[tensor]
                case Value():
                    arrays[name] = at * self.steps.apart + self.steps.low
                case _:
                    continue
        after: Carry = {}
        rows: list[jax.Array] = []
        results = iter(step(arrays))
        for kept in self.steps.kept:
            own = [next(results) for _ in range(kept.many)]
            if kept.dimension is None:
                after[kept.tensor] = tuple(own)
                continue
            after[kept.tensor] = (*reversed(own), *carry[kept.tensor])[: kept.order]
            if kept.stays:
                upwards = own[::-1] if self.steps.backwards else own
                rows.append(jnp.stack(upwards) if kept.many > 1 else own[0])
        return after, rows


# ---------------------------------------------------------------- steps at once


@jax.custom_jvp
def linear_scan(weights: jax.Array, numbers: jax.Array) -> jax.Array:
    """``h[t] = weights[t] * h[t-1] + numbers[t]`` along the first axis, from zero, as an associative scan."""

    def combined(one: tuple[jax.Array, ...], two: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        return one[0] * two[0], two[0] * one[1] + two[1]

    return lax.associative_scan(combined, (weights, numbers))[1]


@linear_scan.defjvp
def _(primals: Any, tangents: Any) -> Any:
    weights, numbers = primals
    found = linear_scan(weights, numbers)
    before = lax.concatenate([jnp.zeros_like(found[:1]), found[:-1]], 0)
    return found, linear_scan(weights, tangents[0] * before + tangents[1])


def joined_by(reducer: Reducer) -> Callable[..., jax.Array]:
    """How a step combines two values; builtins also have a derivative where both are the identity."""
    return combine(reducer) if reducer.joins is None else BUILTINS[reducer.joins]


def scan_of(reducer: Reducer, numbers: jax.Array, shifts: jax.Array | None = None) -> jax.Array:
    """``h[t] = join(h[t-1] + shifts[t], numbers[t])`` along the first axis; its derivative is a linear scan."""
    join = joined_by(reducer)

    def combined(one: tuple[jax.Array, ...], two: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        return one[0] + two[0], join(one[1] + two[0], two[1])

    @jax.custom_jvp
    def scan(numbers: jax.Array, shifts: jax.Array | None) -> jax.Array:
        if shifts is None:
            return lax.associative_scan(join, numbers)
        return lax.associative_scan(combined, (shifts, numbers))[1]

    @scan.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        found, (numbers, shifts), (moved, shifted) = scan(*primals), primals, tangents
        pair = found[:-1] if shifts is None else found[:-1] + shifts[1:], numbers[1:]
        none, one = jnp.zeros_like(pair[0]), jnp.ones_like(pair[0])
        by_old, by_new = (jax.jvp(join, pair, ways)[1] for ways in ((one, none), (none, one)))
        weights = lax.concatenate([jnp.zeros_like(found[:1]), by_old], 0)
        added = by_new * moved[1:] if shifts is None else by_new * moved[1:] + by_old * shifted[1:]
        return found, linear_scan(weights, lax.concatenate([moved[:1], added], 0))

    exact = not jnp.issubdtype(numbers.dtype, jnp.inexact)
    return lax.associative_scan(join, numbers) if exact else scan(numbers, shifts)


def _products_fit(weights: jax.Array, numbers: jax.Array, start: jax.Array) -> jax.Array:
    """Whether a scan of linear maps does not overflow."""
    growth = jnp.sum(jnp.maximum(jnp.log2(jnp.abs(weights)), 0), axis=0).max(initial=0)
    size = jnp.maximum(jnp.abs(numbers).max(initial=0), jnp.abs(start).max(initial=0))
    return growth + jnp.log2(size * (len(numbers) + 1) + 1) < LARGEST_EXPONENT


def _sums_fit(shifts: jax.Array, numbers: jax.Array, start: jax.Array, nothing: jax.Array) -> jax.Array:
    """Whether a scan of shifts does not overflow; the identity may be infinite."""

    def size(array: jax.Array) -> jax.Array:
        return jnp.where(array == nothing, 0, jnp.abs(array))

    largest = jnp.maximum(size(numbers).max(initial=0), size(start).max(initial=0))
    return jnp.sum(size(shifts), axis=0).max(initial=0) + largest < 2.0**LARGEST_EXPONENT


def _in_turn(
    body: Callable[..., Any], backwards: bool, carry: Carry, given: tuple[Arrays, jax.Array]
) -> tuple[Carry, list[jax.Array]]:
    return lax.scan(body, carry, given, reverse=backwards)


def _scanned(
    run: Callable[..., tuple[Carry, list[jax.Array]]], first: Carry, given: Any, steps: Steps, size: int | None
) -> tuple[Carry, list[jax.Array]]:
    """All steps by `run`; if `size` is given, in chunks, for which a derivative stores only the inputs."""
    count, backwards = steps.count, steps.backwards
    if size is None or size >= count:
        return run(first, given)
    chunks, rest = count // size, count % size
    # The steps that do not fill a chunk run last.
    cut = rest if backwards else count - rest
    low, high = jax.tree.map(lambda a: a[:cut], given), jax.tree.map(lambda a: a[cut:], given)
    whole, part = (high, low) if backwards else (low, high)
    whole = jax.tree.map(lambda a: a.reshape(chunks, size, *a.shape[1:]), whole)
    chunk = jax.checkpoint(run, prevent_cse=False)
    last, rows = lax.scan(chunk, first, whole, reverse=backwards)
    found = [row.reshape(chunks * size, *row.shape[2:]) for row in rows]
    if not rest:
        return last, found
    last, others = run(last, part)
    pairs = zip(others, found, strict=True) if backwards else zip(found, others, strict=True)
    return last, [lax.concatenate(pair, 0) for pair in pairs]


def content_before(kept: Kept, known: Arrays) -> jax.Array:
    """A tensor before the loop: zeros where it has not been written."""
    found = known.get(kept.tensor)
    if found is None:
        return jnp.zeros(kept.shape, numeric(kept.dtype))
    if kept.held is None or kept.dimension is None:
        return found
    around = kept.held[0], kept.shape[kept.dimension] - kept.held[1], 0
    widths = [around if d == kept.dimension else (0, 0, 0) for d in range(found.ndim)]
    return lax.pad(found, jnp.zeros((), found.dtype), widths)


def _first(kept: Kept, steps: Steps, known: Arrays) -> tuple[jax.Array, ...]:
    """What the first step receives of a tensor: the rows before it, or the whole tensor."""
    if kept.dimension is None:
        return (content_before(kept, known),)
    rest = (*kept.shape[: kept.dimension], *kept.shape[kept.dimension + 1 :])
    rows: list[jax.Array] = []
    for lag in range(1, kept.order + 1):
        # Of several rows a step each is beside the next.
        beside = steps.value(0) + (kept.many - 1 + lag if steps.backwards else -lag)
        at = (steps.value(-lag) if kept.many == 1 else beside) + kept.offset
        begin, end = kept.held or (0, kept.shape[kept.dimension])
        if kept.tensor in known and begin <= at < end:
            rows.append(lax.index_in_dim(known[kept.tensor], at - begin, kept.dimension, keepdims=False))
        else:
            rows.append(jnp.zeros(rest, numeric(kept.dtype)))
    return tuple(rows)


def _joined(kept: Kept, steps: Steps, known: Arrays, rows: jax.Array) -> jax.Array:
    """The tensor with the rows of all steps written to it."""
    dimension = kept.dimension
    assert dimension is not None
    if kept.many > 1:
        rows = rows.reshape(-1, *rows.shape[2:])
        steps = replace(steps, count=steps.count * kept.many, apart=1)
    found = jnp.moveaxis(rows, 0, dimension)
    extent, low = kept.shape[dimension], steps.low + kept.offset
    if steps.apart == 1:
        if low == 0 and steps.count == extent:
            return found
        high = low + steps.count
        if kept.held == (0, low) and high == extent:
            return lax.concatenate([known[kept.tensor], found], dimension)
        if kept.held == (high, extent) and low == 0:
            return lax.concatenate([found, known[kept.tensor]], dimension)
        content = content_before(kept, known)
        parts = [
            lax.slice_in_dim(content, 0, low, axis=dimension),
            found,
            lax.slice_in_dim(content, low + steps.count, extent, axis=dimension),
        ]
        return lax.concatenate([part for part in parts if part.shape[dimension]], dimension)
    places = (slice(None),) * dimension + (slice(low, low + steps.apart * (steps.count - 1) + 1, steps.apart),)
    return content_before(kept, known).at[places].set(found)
