"""Reductions as monoids of states: what is kept of the points so far, and how states of parts combine."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

State = tuple[jax.Array, ...]
# The value at a point, the number of its block, and whether it is active (None: every point is).
Point = tuple[jax.Array, int | jax.Array, jax.Array | None]

# The position that stands for "no point".
NOWHERE: Final = 2**31 - 1


class Monoid(Protocol):
    """A reduction as states of arrays, whose first axis are the lanes.

    The points of a lane are passed to `absorb` in order of position, after an `empty` state; states of different lanes
    and loops are merged by `combine`, in any order. `place` turns block numbers into positions. The arrays of a state
    are computed `together` if all need the same work.
    """

    @property
    def together(self) -> bool: ...

    def empty(self, like: jax.Array) -> State: ...
    def absorb(self, state: State, points: Sequence[Point]) -> State: ...
    def place(self, state: State, lanes: int, offset: int) -> State: ...
    def combine(self, a: State, b: State) -> State: ...
    def finish(self, state: State) -> jax.Array: ...


def collapse(monoid: Monoid, state: State) -> State:
    """The combined state of all lanes, without their axis."""
    lanes = state[0].shape[0]
    left: State | None = None
    while lanes > 1:
        half = lanes // 2
        # Odd lanes are combined last: put behind the others, they would all have to be stored.
        ends = (slice(0, half), slice(half, 2 * half), slice(2 * half, lanes))
        low, high, rest = (tuple(array[end] for array in state) for end in ends)
        if lanes % 2:
            left = rest if left is None else monoid.combine(rest, left)
        state = monoid.combine(low, high)
        lanes = half
    if left is not None:
        state = monoid.combine(state, left)
    return tuple(array[0] for array in state)


def _extreme(dtype: jnp.dtype, *, largest: bool) -> np.ndarray:
    """The largest or smallest value of a type."""
    if dtype == jnp.bool_:
        return np.asarray(largest)
    if jnp.issubdtype(dtype, jnp.floating):
        return np.asarray(np.inf if largest else -np.inf, dtype)
    info = jnp.iinfo(dtype)
    return np.asarray(info.max if largest else info.min, dtype)


def _taken(value: jax.Array, live: jax.Array | None, otherwise: np.ndarray | int | bool) -> jax.Array:
    """The value where it is active."""
    return value if live is None else jnp.where(live, value, jnp.asarray(otherwise, value.dtype))


def _unordered(array: jax.Array) -> jax.Array | None:
    """Where it is NaN; None if it cannot be."""
    return array != array if jnp.issubdtype(array.dtype, jnp.floating) else None


def _either(a: jax.Array | None, b: jax.Array | None) -> jax.Array | None:
    if a is None or b is None:
        return b if a is None else a
    return a | b


@dataclass(frozen=True, slots=True)
class Operator:
    """An associative, commutative JAX operator with its identity: one array."""

    operator: Callable[[jax.Array, jax.Array], jax.Array]
    identity: int | bool

    @property
    def together(self) -> bool:
        return False

    def empty(self, like: jax.Array) -> State:
        return (jnp.full_like(like, self.identity),)

    def absorb(self, state: State, points: Sequence[Point]) -> State:
        values = [_taken(value, live, self.identity) for value, _, live in points]
        return (functools.reduce(self.operator, values, state[0]),)

    def place(self, state: State, lanes: int, offset: int) -> State:
        return state

    def combine(self, a: State, b: State) -> State:
        return (self.operator(a[0], b[0]),)

    def finish(self, state: State) -> jax.Array:
        return state[0]


@dataclass(frozen=True, slots=True)
class Extremum:
    """The largest or smallest value, NaN if any is."""

    descending: bool

    @property
    def together(self) -> bool:
        return False

    def empty(self, like: jax.Array) -> State:
        return (jnp.full_like(like, self._nothing(like)),)

    def absorb(self, state: State, points: Sequence[Point]) -> State:
        return self._joined(state[0], points)

    def place(self, state: State, lanes: int, offset: int) -> State:
        return state

    def combine(self, a: State, b: State) -> State:
        return self._joined(a[0], [(b[0], 0, None)])

    def finish(self, state: State) -> jax.Array:
        return state[0]

    def _nothing(self, value: jax.Array) -> np.ndarray:
        return _extreme(value.dtype, largest=not self.descending)

    def _joined(self, best: jax.Array, points: Sequence[Point]) -> State:
        """XLA:CPU does selects faster than extrema that propagate NaN; all NaN are found at once."""
        missing = _unordered(best)
        for value, _, live in points:
            value = _taken(value, live, self._nothing(value))
            best = jnp.where(value > best if self.descending else value < best, value, best)
            missing = _either(missing, _unordered(value))
        return (best if missing is None else jnp.where(missing, jnp.asarray(jnp.nan, best.dtype), best),)


@dataclass(frozen=True, slots=True)
class Mean:
    """The sum, and the number of values unless `count` gives it; NaN for none."""

    count: int | None

    @property
    def together(self) -> bool:
        return False

    def empty(self, like: jax.Array) -> State:
        sums = jnp.zeros_like(like)
        return (sums,) if self.count is not None else (sums, jnp.zeros_like(like, dtype=jnp.int32))

    def absorb(self, state: State, points: Sequence[Point]) -> State:
        for value, _, live in points:
            one = jnp.ones_like(value, dtype=jnp.int32) if live is None else live.astype(jnp.int32)
            # If the count is known, the state does not contain it.
            state = tuple(map(lax.add, state, (_taken(value, live, 0), one)))
        return state

    def place(self, state: State, lanes: int, offset: int) -> State:
        return state

    def combine(self, a: State, b: State) -> State:
        return tuple(map(lax.add, a, b))

    def finish(self, state: State) -> jax.Array:
        count = self.count if self.count is not None else state[1].astype(state[0].dtype)
        return state[0] / count


def lesser_share(a: jax.Array, b: jax.Array) -> jax.Array:
    """The exponential of the smaller exponent divided by that of the larger; 1 for equal ones, even infinite."""
    return jnp.where(a == b, 1, jnp.exp(-jnp.abs(a - b)))


@dataclass(frozen=True, slots=True)
class LogSumExp:
    """The largest exponent so far, and the sum of the exponentials divided by that of the largest."""

    @property
    def together(self) -> bool:
        return False

    def empty(self, like: jax.Array) -> State:
        return jnp.full_like(like, -jnp.inf), jnp.zeros_like(like)

    def absorb(self, state: State, points: Sequence[Point]) -> State:
        values = self._values(points)
        # Found once, before the exponentials: with both in one loop XLA:CPU takes 50% longer.
        known, largest = lax.optimization_barrier((state[0], functools.reduce(self._larger, values, state[0])))
        scale = jnp.exp(known - self._shift(largest))
        return largest, state[1] * scale + self._sum(values, largest)

    def place(self, state: State, lanes: int, offset: int) -> State:
        return state

    def combine(self, a: State, b: State) -> State:
        # One exponential: the sum that belongs to the largest exponent is unchanged.
        least = lesser_share(a[0], b[0]).astype(a[1].dtype)
        return self._larger(a[0], b[0]), jnp.where(b[0] > a[0], a[1] * least + b[1], a[1] + b[1] * least)

    def finish(self, state: State) -> jax.Array:
        return jnp.log(state[1]) + self._shift(state[0])

    def _values(self, points: Sequence[Point]) -> list[jax.Array]:
        return [_taken(value, live, _extreme(value.dtype, largest=False)) for value, _, live in points]

    def _larger(self, a: jax.Array, b: jax.Array) -> jax.Array:
        # NaN may be lost here: the sum keeps it.
        return jnp.where(b > a, b, a)

    def _shift(self, largest: jax.Array) -> jax.Array:
        return jnp.where(jnp.isfinite(largest), largest, jnp.zeros((), largest.dtype))

    def _sum(self, values: Sequence[jax.Array], largest: jax.Array) -> jax.Array:
        shift = self._shift(largest)
        return functools.reduce(lax.add, [jnp.exp(value - shift) for value in values])


def _better(a: jax.Array, b: jax.Array, *, descending: bool) -> jax.Array:
    """Whether `a` comes before `b`: NaN before everything, but not before itself."""
    if not jnp.issubdtype(a.dtype, jnp.floating):
        return a > b if descending else a < b
    behind = a <= b if descending else a >= b
    return ~behind & (b == b)


def _first(a: State, b: State, *, descending: bool) -> jax.Array:
    """Whether the value and position `a` come before `b`; "no position" is after all others."""
    same = (a[0] == b[0]) if (missing := _unordered(a[0])) is None else (a[0] == b[0]) | (missing & (b[0] != b[0]))
    ahead = (_better(a[0], b[0], descending=descending) & (a[1] != NOWHERE)) | (b[1] == NOWHERE)
    return ahead | (same & (a[1] < b[1]))


def _placed(blocks: jax.Array, lanes: int, offset: int) -> jax.Array:
    """Positions from the numbers of blocks of `lanes` points."""
    lane = lax.broadcasted_iota(jnp.int32, blocks.shape, 0) + jnp.int32(offset)
    return jnp.where(blocks == NOWHERE, blocks, blocks * jnp.int32(lanes) + lane)


@dataclass(frozen=True, slots=True)
class Position:
    """The largest or smallest value and its first position; NaN before all.

    Unless `guarded`, every point is active; unless `full`, some values may be those of "no point". With `tied` bits,
    the number of points with the value is known. While a lane's points arrive, that number is stored in the last bits
    of the block number: a state of two arrays stays one of two, which are computed together.
    """

    descending: bool
    guarded: bool
    full: bool = True
    tied: int = 0

    @property
    def together(self) -> bool:
        return True

    def empty(self, like: jax.Array) -> State:
        # If every point is active, the first point of a lane has its position even if its value is the last of all.
        number = NOWHERE if self.guarded else 0
        nothing = _extreme(like.dtype, largest=not self.descending)
        return jnp.full_like(like, nothing), jnp.full_like(like, number, dtype=jnp.int32)

    def absorb(self, state: State, points: Sequence[Point]) -> State:
        best, where = state
        for value, block, live in points:
            taken = self._taken(value, live)
            wins = _better(taken, best, descending=self.descending)
            if self.guarded and self.full:
                # An extreme value that is active comes before "none".
                wins |= where == NOWHERE if live is None else live & (where == NOWHERE)
            number = jnp.full_like(where, block)
            if self.tied:
                same = taken == best if live is None else live & (taken == best)
                number, where = (number << self.tied) + 1, where + same
            best, where = jnp.where(wins, taken, best), jnp.where(wins, number, where)
        return best, where

    def place(self, state: State, lanes: int, offset: int) -> State:
        best, where = state
        if not self.tied:
            return best, _placed(where, lanes, offset)
        nowhere = where == NOWHERE
        count = jnp.where(nowhere, 0, where & ((1 << self.tied) - 1))
        return best, _placed(jnp.where(nowhere, where, where >> self.tied), lanes, offset), count

    def combine(self, a: State, b: State) -> State:
        wins = _first(b, a, descending=self.descending)
        best, where, *count = (jnp.where(wins, y, x) for x, y in zip(a, b, strict=True))
        return best, where, *(jnp.where(a[0] == b[0], a[2] + b[2], one) for one in count)

    def finish(self, state: State) -> jax.Array:
        return jnp.where(state[1] == NOWHERE, jnp.int32(0), state[1]) if self.guarded else state[1]

    def found(self, state: State) -> State:
        """The position, the value, and how many points have it if that is counted."""
        return self.finish(state), state[0], *state[2:]

    def _taken(self, value: jax.Array, live: jax.Array | None) -> jax.Array:
        return _taken(value, live, _extreme(value.dtype, largest=not self.descending))
