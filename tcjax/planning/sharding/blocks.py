"""What a plan for many devices consists of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ... import ir
from ...ir import Reducer
from ..data.stages import Plan
from .lines import Stretches

# The names of mesh axes that one dimension or index runs along.
Axes = tuple[str, ...]
# For each dimension of a tensor the axes that cut it; empty where every device has it whole.
Layout = tuple[Axes, ...]

# What stands beyond a tensor where nobody asks.
NOTHING: Final = ir.Const(0, "int32")


@dataclass(frozen=True, slots=True)
class Move:
    """Elements of a block, from `start` on, `stride` apart, that go to the places from `place` on of a view.

    `pairs` are the devices that give and those that take. One that is both moves nothing; so do all of them then.
    """

    pairs: tuple[tuple[int, int], ...]
    start: int
    stride: int
    count: int
    place: int

    @property
    def is_local(self) -> bool:
        """Whether each device takes its own elements."""
        return all(giver == taker for giver, taker in self.pairs)


@dataclass(frozen=True, slots=True)
class Exchange:
    """``name``: what a device needs along a dimension of a tensor that is cut along `axes`, `count` elements.

    What no move brings is `fill`. Between devices only what is `inside` moves: of other dimensions, by number, a range
    of places each.
    """

    name: str
    tensor: str
    dimension: int
    axes: Axes
    count: int
    moves: tuple[Move, ...]
    fill: ir.Const = NOTHING
    inside: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Whole:
    """``name``: a dimension that is cut along `axes` with all its `extent` elements, which every device gets.

    All blocks have the elements `moved` together. It `is_shared` where every device along the axes computes the same
    with it.
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
    """``name``: of a dimension that a device has whole, the `count` places from ``lo + step * number`` on.

    `stretches` say which element is at which place for all devices, what is at none of them is `fill`; the device has
    its `number` along the `axes`, of which there are `parts`.
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
        """The first place of all devices, and the one behind the last."""
        last = self.step * (self.parts - 1)
        return self.lo + min(0, last), self.lo + max(0, last) + self.count


Fetch = Exchange | Whole | Part


@dataclass(frozen=True, slots=True)
class Start:
    """``name``: how many values of an index, int32, come before this device's block of `extent`."""

    name: str
    axes: Axes
    extent: int


@dataclass(frozen=True, slots=True)
class Combine:
    """``name``: the parts of a reduction that devices along `axes` have, as one; there are `parts` devices.

    What was there before is combined with it, if it `joins`. Where a part is a state of several components, or one that
    is not the result, these have the types `states`. Of some dimensions, by number, each of so many devices
    along axes gets its block alone, as `kept` says.
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
        """The dimensions whose blocks come to the devices that keep them, and to no others."""
        if self.reducer not in (Reducer.SUM, Reducer.MEAN) or self.dtype == "bool":
            return ()
        return tuple(each for each in self.kept if {*each[1]} <= {*self.axes})

    @property
    def left(self) -> Axes:
        """The axes along which every device gets the same."""
        gone = {axis for _, axes, _ in self.scattered for axis in axes}
        return tuple(axis for axis in self.axes if axis not in gone)


Collective = Fetch | Start | Combine


@dataclass(frozen=True, slots=True)
class ShardedPlan:
    """The plan of one device, which calls `collectives` as Python functions.

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
        """How an array is cut that JAX has in blocks: along dimensions that divide into equal ones."""
        ends = zip(self.layouts[name], self.shapes[name], self.padded[name], strict=True)
        return tuple(along if extent == padded else () for along, extent, padded in ends)
