"""What runs where the primitive is lowered in XLA operations."""

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
    """A nest as operations that XLA fuses, over operands that lie as `layouts` say (without: as they are)."""

    node: Node
    axes: Axes
    shape: tuple[int, ...]
    layouts: tuple[Layout, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """A loop without points: what each result is then."""

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
    """A nest in loops, of which each has a part of `axis` (None: there is one)."""

    axis: IndexVar | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class OneByOne:
    """The results of a group one after the other: plainly, or each as a nest with a schedule of its own.

    `behind` says that XLA must not compute what two results share once, and store it. The nests are the group's, or
    `others` that compute the same.
    """

    parts: tuple[Alone | LoopSchedule, ...]
    behind: bool = False
    others: tuple[Nest, ...] = ()


@dataclass(frozen=True, slots=True)
class Pallas:
    """The results as Pallas kernels, which a CPU has to `interpret`; `otherwise` where none can be made.

    Kernels compute the group, or an `other` one with the same results.
    """

    interpret: bool
    otherwise: "Loops"
    other: Group | None = None


Loops = Alone | Pieces | BlockedLoop | OneByOne | Pallas
