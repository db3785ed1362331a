"""What runs where the primitive is lowered to XLA operations."""

from dataclasses import dataclass

from ...symbolic import IndexVar
from .blocked_loop import BlockedLoop
from .groups import Group
from .layouts import Layout
from .nests import LoopSchedule, Nest
from .nodes import Axes, Node
from .two_stage import TwoStage


@dataclass(frozen=True, slots=True)
class Alone:
    """A nest as operations that XLA fuses, over operands with these `layouts` (unchanged without)."""

    node: Node
    axes: Axes
    shape: tuple[int, ...]
    layouts: tuple[Layout, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """A loop without points, and the value of each result in that case."""

    values: tuple[bool | int | float, ...]


@dataclass(frozen=True, slots=True)
class InTwoStages:
    """A nest in the steps of `sieve`, and how each of its nests runs."""

    sieve: TwoStage
    firsts: "Piece"
    blocks: "Piece"
    rest: "Piece"


@dataclass(frozen=True, slots=True)
class Piece:
    """One loop for a part of a nest: the `axes` and the `shape` of its results, their `dtypes`, and how it runs."""

    axes: Axes
    shape: tuple[int, ...]
    dtypes: tuple[str, ...]
    loop: BlockedLoop | InTwoStages | Nothing


@dataclass(frozen=True, slots=True)
class Pieces:
    """A nest as several loops, each for a part of `axis` (None: a single one)."""

    axis: IndexVar | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class OneByOne:
    """The results of a group one by one: plainly, or each as a nest with its own schedule.

    `behind` says that XLA must not compute subexpressions shared by two results once, and store them. The nests are the
    group's, or equivalent `others`.
    """

    parts: tuple[Alone | LoopSchedule, ...]
    behind: bool = False
    others: tuple[Nest, ...] = ()


@dataclass(frozen=True, slots=True)
class Pallas:
    """The results as Pallas kernels, which a CPU must `interpret`; `otherwise` if there are none.

    Kernels compute the group, or an equivalent `other` one.
    """

    interpret: bool
    otherwise: "Loops"
    other: Group | None = None


Loops = Alone | Pieces | BlockedLoop | OneByOne | Pallas
