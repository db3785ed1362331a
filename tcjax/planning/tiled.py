"""What a scheduled function is made of: loops that run one after the other around computations of tiles."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..symbolic import IndexVar
from .stages import Call, CallForeign, Compute, Parts, Unstored


@dataclass(frozen=True, slots=True)
class Begin:
    """The target of an accumulation whose points several iterations share, before the first.

    It becomes what `compute` gives it, unless it has content that the statement goes on from (`keeps`).
    """

    compute: Compute
    keeps: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """``for index in 0:extent``, one iteration after the other. What `body` defines first is new in each iteration."""

    index: IndexVar
    extent: int
    body: "tuple[TiledStep, ...]"


@dataclass(frozen=True, slots=True)
class Round:
    """A reduction that went on from tile to tile in a wider type, in the type of its tensor."""

    target: str
    dtype: str


TiledStep = Begin | Loop | Round | Compute


@dataclass(frozen=True, slots=True)
class Tiled:
    """One statement that stays outside of all others, and those computed inside of it; `number` is its place.

    `padded` gives the target's shape while the loops run: the last tile of an axis may reach over its end.
    """

    number: int
    target: str
    dtype: str
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    keeps: bool
    steps: tuple[TiledStep, ...]

    def computes(self) -> Iterator[tuple[Compute, tuple[Loop, ...]]]:
        """Every computation, in order, and the loops around it."""
        pending: list[tuple[TiledStep, tuple[Loop, ...]]] = [(step, ()) for step in reversed(self.steps)]
        while pending:
            step, loops = pending.pop()
            match step:
                case Begin() | Round():
                    continue
                case Loop(body=body):
                    pending.extend((inner, (*loops, step)) for inner in reversed(body))
                case _:
                    yield step, loops


ScheduledStage = Compute | Call | CallForeign | Unstored | Tiled
# What runs one after the other: stages, some of them in parts of their rows.
Unit = ScheduledStage | Parts
