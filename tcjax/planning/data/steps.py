"""A loop of a program: the inputs of one step, and the results kept for later ones."""

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
    """A part of a tensor that no step changes: its start and number of elements along each dimension.

    It begins at position ``weight * t + start``, with `t` the value of the loop's index; a dimension with weight 0 is
    kept whole, one without a `count` is dropped. Elements beyond the tensor are zero and unused.
    """

    tensor: str
    begins: tuple[tuple[int, int], ...]
    counts: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Lagged:
    """The row of a loop's tensor that was written `lag` steps before; 0 means its content before this step."""

    tensor: str
    lag: int


@dataclass(frozen=True, slots=True)
class State:
    """A tensor of the loop as the previous step left it."""

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
    """Steps that combine the previous state with something, executed `block` at a time on these platforms.

    The states are computed by a scan, tensor after tensor in this `order`: of linear maps if they are joined by a sum,
    else by their reducer; the rest of a step then depends on no other step. If the old value is joined after a shift,
    `shifts` has the plan of a step that computes the shift in the tensor's place.
    """

    order: tuple[tuple[str, Reducer], ...]
    block: int
    platforms: tuple[str, ...]
    shifts: "Mapping[str, Plan]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Steps:
    """``for index``: `count` steps from the least value `low`, at distance `apart`, possibly `backwards`.

    `inputs` are those of one step by parameter name, `kept` its results in order. For each `chunk` of steps, a
    derivative stores the input and recomputes the steps; or it computes each step `again` from the rows written before:
    in sequence and in place, or, for steps that write one number, all at once, to get the factors by which they pass
    cotangents back. A step that `is_tame` gives operands other than rows a zero derivative if earlier rows are zero and
    its result is unused. Some platforms compute many steps `at_once`.
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
        """The same, with complete results."""
        return replace(self, kept=tuple([replace(kept, stays=True) for kept in self.kept]))

    def value(self, step: int) -> int:
        """The value of the index in a step, numbered in execution order."""
        return self.low + self.apart * (self.count - 1 - step if self.backwards else step)
