"""What is drawn: a plan, what else is known about a call, and its statements and loops."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import planning, ranges
from ..keeping import cached_property
from ..markup import Plane
from ..planning.sharding import ShardedPlan
from ..symbolic import Affine, IndexVar
from .points import Points, walked

# Evaluates a bound of a range of a program at a point, with arrays by name.
Evaluate = Callable[[Affine, ranges.Bound, Mapping[IndexVar, int], Mapping[str, Any]], int]
# Arrays by name before a statement, from those of the parameters; only these where the others are not known.
Compute = Callable[[ranges.Bound, int, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of the pictures of a statement or loop: its text, and its number, from 0."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Mesh:
    """The plan of one device, and how many devices there are along each axis."""

    plan: ShardedPlan
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Subject:
    """A plan to be drawn.

    `needed` are planes of what one tile needs of the tensors that are computed inside a loop, by name. `values` are the
    arguments that are more than shapes; `compute` gives all tensors before a statement, `evaluate` the value of what
    reads them at a point.
    """

    plan: planning.Plan
    needed: Mapping[str, Plane] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    evaluate: Evaluate | None = None
    compute: Compute | None = None
    mesh: Mesh | None = None

    @cached_property
    def parts(self) -> tuple[tuple[Heading, Points | planning.Call], ...]:
        """Statements that are formulas, and loops, in the order of the program."""
        return tuple((Heading(number, text), part) for number, (text, part) in enumerate(walked(self.plan)))

    @property
    def statements(self) -> Iterator[tuple[Heading, Points]]:
        """The statements that are formulas."""
        return ((heading, part) for heading, part in self.parts if isinstance(part, Points))

    @property
    def loops(self) -> Iterator[tuple[Heading, planning.Call]]:
        """The loops: definitions that are called with steps, or by diagonals."""
        return ((heading, part) for heading, part in self.parts if isinstance(part, planning.Call))


Drawn = Iterator[tuple[Heading, Plane]]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of picture: how it is drawn, what it shows, and what to do if there is none."""

    name: str
    planes: Callable[[Subject], Drawn]
    shows: str
    help: Callable[[Subject], str]
