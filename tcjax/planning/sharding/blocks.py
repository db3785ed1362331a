"""What a plan for many devices consists of."""

from collections.abc import Mapping
from dataclasses import dataclass

from ... import ir
from ..data.stages import Compute

# The names of mesh axes that one dimension or index runs along.
Axes = tuple[str, ...]
# For each dimension of a tensor the axes that cut it; empty where every device has it whole.
Layout = tuple[Axes, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """``name``: of a tensor that a device has whole, its block along the axes of `layout`."""

    name: str
    tensor: str
    layout: Layout


@dataclass(frozen=True, slots=True)
class Start:
    """``name``: how many elements of an index, int32, come before this device's block of `extent`."""

    name: str
    axes: Axes
    extent: int


@dataclass(frozen=True, slots=True)
class Step:
    """One statement on one device, for which it takes `blocks` and knows `starts`.

    With `axes` the result is a part of a reduction by `reducer`, which devices combine along these axes; `joins` says
    that the target may have content, with which the whole is combined.
    """

    compute: Compute
    blocks: tuple[Block, ...]
    starts: tuple[Start, ...]
    reducer: ir.Reducer | ir.Monoid | None = None
    axes: Axes = ()
    joins: bool = False


@dataclass(frozen=True, slots=True)
class ShardedPlan:
    """The steps of a function; `layouts` of parameters, initial values and results by name."""

    returns: tuple[str, ...]
    initial: Mapping[str, str]
    layouts: Mapping[str, Layout]
    steps: tuple[Step, ...]
