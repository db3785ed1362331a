"""What a plan for many devices consists of."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ... import ir
from ...ir import Reducer
from ..data.stages import Plan
from .lines import Stretches

# The names of mesh axes that one dimension or index runs along.
Axes = tuple[str, ...]
# For each dimension of a tensor, the axes that cut it; empty where the dimension is replicated.
Layout = tuple[Axes, ...]

# Fill beyond the ends of a tensor where the value is never used.
NOTHING: Final = ir.Const(0, "int32")


@dataclass(frozen=True, slots=True)
class Move:
    """`count` elements of a block, from `start` with `stride`, that are copied to a view at `place`.

    `pairs` are (source, destination) devices. Where source and destination are the same, in all pairs or in none,
    nothing is sent.
    """

    pairs: tuple[tuple[int, int], ...]
    start: int
    stride: int
    count: int
    place: int

    @property
    def is_local(self) -> bool:
        """Whether every device copies its own elements."""
        return all(giver == taker for giver, taker in self.pairs)

    @property
    def message(self) -> "Move":
        """What is sent for it, wherever it is put: one element for a stationary run."""
        if self.stride == 0 or self.count == 1:
            return Move(self.pairs, self.start, 1, 1, 0)
        return replace(self, place=0)


@dataclass(frozen=True, slots=True)
class Send:
    """``name``: the elements of a move along a dimension of a tensor, at their destination; zero on other devices.

    Devices send each other only what is `inside`: a range of places for each of some other dimensions, which are given
    by number.
    """

    name: str
    tensor: str
    dimension: int
    axes: Axes
    move: Move
    inside: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """``name``: the `count` elements that a device needs along a dimension of a tensor that is cut along `axes`.

    It is put together from the tensor and from what was sent. Places that no move covers are `fill`.
    """

    name: str
    tensor: str
    dimension: int
    axes: Axes
    count: int
    moves: tuple[Move, ...]
    fill: ir.Const = NOTHING
    inside: tuple[tuple[int, int, int], ...] = ()

    @property
    def sends(self) -> tuple[Send, ...]:
        """What devices send for it, in order."""
        return tuple(
            Send("", self.tensor, self.dimension, self.axes, move.message, self.inside)
            for move in self.moves
            if not move.is_local
        )


@dataclass(frozen=True, slots=True)
class Whole:
    """``name``: all `extent` elements of a dimension that is cut along `axes`, gathered on every device.

    The blocks together hold `moved` elements. It `is_shared` if all devices along the axes compute the same with it.
    """

    name: str
    tensor: str
    dimension: int
    axes: Axes
    extent: int
    moved: int
    is_shared: bool


@dataclass(frozen=True, slots=True)
class Part:
    """``name``: the `count` places from ``lo + step * number`` on of a dimension that is replicated.

    `stretches` say, for all devices, which element is at which place; other places are `fill`. `number` is the position
    of the device along the `axes`, which have `parts` devices.
    """

    name: str
    tensor: str
    dimension: int
    axes: Axes
    parts: int
    lo: int
    step: int
    count: int
    stretches: Stretches
    fill: ir.Const = NOTHING

    @property
    def places(self) -> tuple[int, int]:
        """The first place of any device, and one past the last."""
        last = self.step * (self.parts - 1)
        return self.lo + min(0, last), self.lo + max(0, last) + self.count


Fetch = Exchange | Whole | Part


@dataclass(frozen=True, slots=True)
class Start:
    """``name``: how many values of an index come before this device's block of `extent`, as int32."""

    name: str
    axes: Axes
    extent: int


@dataclass(frozen=True, slots=True)
class Combine:
    """``name``: the partial results of a reduction, combined over the `parts` devices along `axes`.

    If it `joins`, the previous value is combined with it. Where a partial result is a state of several components, or a
    state that is not yet the result, `states` are their types. `kept` lists, by number, the dimensions of which each
    device keeps its own block only, with their axes and the number of devices.
    """

    name: str
    part: str
    reducer: ir.Reducer | ir.Monoid
    axes: Axes
    parts: int
    dtype: str
    joins: bool = False
    kept: tuple[tuple[int, Axes, int], ...] = ()
    states: tuple[str, ...] = ()

    @property
    def scattered(self) -> tuple[tuple[int, Axes, int], ...]:
        """The dimensions whose blocks are sent only to the devices that keep them (reduce-scatter)."""
        if self.reducer not in (Reducer.SUM, Reducer.MEAN) or self.dtype == "bool":
            return ()
        return tuple(each for each in self.kept if {*each[1]} <= {*self.axes})

    @property
    def left(self) -> Axes:
        """The axes along which every device gets the same result (all-reduce)."""
        gone = {axis for _, axes, _ in self.scattered for axis in axes}
        return tuple(axis for axis in self.axes if axis not in gone)


Collective = Fetch | Send | Start | Combine


@dataclass(frozen=True, slots=True)
class ShardedPlan:
    """The plan of one device, in which the `collectives` are calls of Python functions.

    Of parameters, initial values and results by name there are `layouts` and `shapes`; `blocks` are the extents on one
    device, `padded` those that all blocks have together: those of the shape or more.
    """

    plan: Plan
    collectives: Mapping[str, Collective]
    layouts: Mapping[str, Layout]
    shapes: Mapping[str, tuple[int, ...]]
    blocks: Mapping[str, tuple[int, ...]]
    padded: Mapping[str, tuple[int, ...]]

    def even(self, name: str) -> Layout:
        """The layout of the JAX array: cut only along dimensions that divide into equal blocks."""
        ends = zip(self.layouts[name], self.shapes[name], self.padded[name], strict=True)
        return tuple(along if extent == padded else () for along, extent, padded in ends)
