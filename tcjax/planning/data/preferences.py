"""The user's options for the planner."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .nests import LoopSchedule


@dataclass(frozen=True, slots=True)
class Backend:
    """The backend of nests - "auto", "xla" or "pallas" - and the largest temporary allowed, in bytes.

    If `memory` is None, the memory contract applies. `forms` are schedules of single nests, by `Nest.name` (None: no
    nest), including the nests of derivatives; one that is not a candidate is ignored. A `rare` plan should compile fast
    rather than run fast: its loops and sums are not unrolled. A kernel has a `tile` of rows and columns, if given.
    """

    name: str = "auto"
    memory: int | None = None
    forms: tuple[tuple[str, LoopSchedule | None], ...] = ()
    rare: bool = False
    tile: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Preferences:
    """How nests run: `forms`, by the target of their statement (None: no nests), and the `backend`.

    With `stored`, every named temporary is stored, as schedules require.
    """

    forms: Mapping[str, LoopSchedule | None] = field(default_factory=dict)
    backend: Backend = field(default_factory=Backend)
    stored: bool = False


DEFAULT = Preferences()
