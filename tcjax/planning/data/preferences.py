"""What a user asks of the planner beside a program."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .nests import LoopSchedule


@dataclass(frozen=True, slots=True)
class Backend:
    """Who computes nests - "auto", "xla" or "pallas" - and the most bytes that a temporary may have.

    Without a number for `memory`, it is what the memory contract says. `forms` are those of single nests, by what
    `Nest.name` says of them (None: no nest), for the nests of derivatives too; one that is no candidate is passed over.
    What is `rare` is compiled soon rather than that it runs fast: its loops are not unrolled, nor are its sums.
    A kernel has a `tile` of such rows and columns, if somebody says so.
    """

    name: str = "auto"
    memory: int | None = None
    forms: tuple[tuple[str, LoopSchedule | None], ...] = ()
    rare: bool = False
    tile: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """How nests run: `forms`, by the target of their statement (None: no nests), and on which `backend`.

    With `stored` every temporary that has a name is stored, as a schedule needs them.
    """

    forms: Mapping[str, LoopSchedule | None] = field(default_factory=dict)
    backend: Backend = field(default_factory=Backend)
    stored: bool = False


DEFAULT = Preferences()
