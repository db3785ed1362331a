"""A loop of a program: what one of its steps is given, and what it keeps for later ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ...ir import Reducer
from ...symbolic import IndexVar

if TYPE_CHECKING:
    from .stages import Plan


@dataclass(frozen=True, slots=True)
class Whole:
    """A tensor that no step changes."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a tensor that no step changes: for each dimension where it begins, and how many elements it has.

    It begins at position ``weight * t + start``, with `t` the value of the loop's index; a dimension with a weight of
    0 is there as a whole, one without a `count` is dropped. What lies beyond the tensor is zero: nothing uses it.
    """

    tensor: str
    begins: tuple[tuple[int, int], ...]
    counts: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Lagged:
    """The row of a tensor of the loop that was written `lag` steps before; with 0 what is there before this step."""

    tensor: str
    lag: int


@dataclass(frozen=True, slots=True)
class State:
    """A tensor of the loop as the step before left it."""

    tensor: str


@dataclass(frozen=True, slots=True)
class Value:
    """The value of the loop's index."""


Input = Whole | Window | Lagged | State | Value


@dataclass(frozen=True, slots=True)
class Kept:
    """A tensor that the loop writes.

    With a `dimension` each step writes `many` rows there, from position ``t + offset`` on, and later steps read as many
    rows as `order` says. Otherwise a step hands it on as a whole. It `stays` where something behind the loop needs it.
    Of the rows before the loop only those from `held[0]` up to `held[1]` are there, where they are not all; others are
    zero.
    """

    tensor: str
    dtype: str
    shape: tuple[int, ...]
    dimension: int | None
    offset: int
    order: int
    stays: bool
    held: tuple[int, int] | None = None
    many: int = 1


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Steps that join what the one before left with something, so many at once as `block` says, on these platforms.

    What steps hand on is computed by a scan, tensor after tensor in this `order`: of linear maps where a sum joins it,
    else by the reducer that does; what remains of a step then needs no other one. Where that joins the old value after
    a shift, `shifts` has the plan of a step that leaves the shift in the tensor's place.
    """

    order: tuple[tuple[str, Reducer], ...]
    block: int
    platforms: tuple[str, ...]
    shifts: "Mapping[str, Plan]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Steps:
    """``for index``: `count` steps, the least value of the index `low` and the others `apart`, or `backwards`.

    `inputs` are those of one step by the names of its parameters, `kept` its results in order. Of a chunk of so many
    steps as `chunk` says, a derivative stores what goes in, and computes it again; or `again` each step, of the rows
    that were written before: one after the other in place, or, of steps with one number each, all of them at once, to
    get the factors by which they hand back what later ones need. A step that `is_tame` gives operands
    other than rows a derivative of zero where the rows before are zero and nothing uses its result. Some
    platforms compute many steps `at_once`.
    """

    index: IndexVar
    count: int
    low: int
    apart: int
    backwards: bool
    inputs: tuple[tuple[str, Input], ...]
    kept: tuple[Kept, ...]
    chunk: int | None = None
    is_tame: bool = False
    at_once: AtOnce | None = None
    again: Literal["in place", "by factors"] | None = None

    @property
    def whole(self) -> "Steps":
        """The same with all that they write."""
        return replace(self, kept=tuple([replace(kept, stays=True) for kept in self.kept]))

    def value(self, step: int) -> int:
        """The value of the index in a step, counted in the order in which they run."""
        return self.low + self.apart * (self.count - 1 - step if self.backwards else step)
