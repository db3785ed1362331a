"""What a plan consists of: one stage for each statement, in order, and the tiles that a schedule makes of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod

from ... import ir, ranges
from ...ir import Monoid, Reducer
from ...symbolic import Box, IndexVar
from ...transforms import Diagonals
from .assembly import Assembly
from .nodes import Axes, FusedReduction, Lookup, Node, Strip
from .price import Price
from .steps import Steps


@dataclass(frozen=True, slots=True)
class Scatter:
    """How values go to places of their own: those of a point fill the `rows` of the target, which are dimensions.

    Of values that many points share, one slice goes after the other `along` an axis: none is repeated. Points that are
    sorted by their places come first, and each place takes what a running reduction over its points ends with. The axes
    of all `points`, those of rows among them, are in the order in which they come.
    """

    rows: tuple[int, ...] = ()
    along: IndexVar | None = None
    is_sorted: bool = False
    points: Axes = ()


@dataclass(frozen=True, slots=True)
class Store:
    """Where a statement's values go.

    `dimensions` address the target like a read does; those numbered in `open` are decided by data. The value is
    combined with what is there by `combine` (None: it takes its place). With `restart`, and in a target that is
    new, what the left side names first becomes `blank` (of the accumulating type), whatever the data of open
    dimensions. A new target is zero elsewhere; `keeps` says that it may not be new. Where `mask` is false
    nothing is written. Where several points may meet in one element, `weight` is what a mean or a position
    needs beside its value: the number of points, the extremum. Values that do not fill a box go by a `scatter`.
    """

    dimensions: tuple[Strip | Lookup, ...]
    open: tuple[int, ...] = ()
    combine: Reducer | Monoid | None = None
    keeps: bool = False
    restart: bool = False
    blank: bool | int | float = 0
    mask: Node | None = None
    weight: Node | None = None
    scatter: Scatter | None = None

    @property
    def goes_on(self) -> bool:
        """Whether values are combined with what is there, rather than put in its place."""
        return self.combine is not None and self.combine.continues

    @property
    def sliced(self) -> Axes:
        """The axes of the slices that it writes."""
        return tuple(axis for d in self.dimensions if isinstance(d, Strip) for axis, _, _ in d.factors)

    @property
    def is_scatter(self) -> bool:
        """Whether values go to places of their own: as data decide, along a diagonal, or at irregular distances."""
        axes = self.sliced
        if any(isinstance(d, Lookup) for d in self.dimensions) or len(set(axes)) < len(axes):
            return True
        strips = [d for d in self.dimensions if isinstance(d, Strip)]
        moves = any(strip.start.constant is None for strip in strips)
        apart = any(abs(strip.stride) > 1 and strip.count > 1 for strip in strips)
        return (apart and moves) or any(prod(size for _, size, _ in d.factors) != d.count for d in strips)


@dataclass(frozen=True, slots=True)
class ChunkedScatter:
    """A statement `count` times, each for other values of one of its indices, and once more for the `rest` of them.

    `index` is the number of the chunk. Every chunk adds to what the others left.
    """

    index: IndexVar
    count: int
    step: "Compute"
    rest: "Compute | None"


@dataclass(frozen=True, slots=True)
class Proviso:
    """What a statement as planned takes for granted: that some values are finite, or pointers in order.

    Values are finite where all `tests` are zero, each the sum of zero times such values, or zero times what they
    cannot exceed. Otherwise the statement is computed as in `otherwise`; `named` are the tensors of these values.
    Where each value becomes part of the result unless it has no place in the target, there is `placed`: true where all
    have one. Then a finite result tells that they are finite, and the tests are for other results.
    `of_order`, the tensors have pointers that do not decrease where all `tests` are false.
    """

    tests: "tuple[Compute, ...]"
    otherwise: "Compute"
    named: tuple[str, ...]
    placed: "Compute | None" = None
    of_order: bool = False

    @property
    def asked(self) -> "tuple[Compute, ...]":
        """What is computed of these in front of a statement whose values are finite."""
        return self.tests if self.placed is None else (self.placed,)


@dataclass(frozen=True, slots=True)
class Compute:
    """One statement: a computation and where it goes.

    `accumulate` is the type in which it is combined; `decided` says which conditions went, and why. With `chunks` it
    is not computed as a whole, but in these. What is computed `before` has targets that only this statement reads.
    With a `proviso` it is computed so only where some values are finite. What is `apart` is stored: what reads it must
    not compute it again. What is computed `in_turn` waits for what was so before. `runner_up` is the cheapest of the
    other plans that there were: its operation, and by how many seconds it is dearer.
    """

    target: str
    dtype: str
    shape: tuple[int, ...]
    accumulate: str
    value: Node
    store: Store
    statement: ir.Define | ir.Accumulate = field(compare=False)
    box: Box = field(compare=False)
    loops: frozenset[IndexVar] = field(default=frozenset(), compare=False)
    decided: tuple[str, ...] = field(default=(), compare=False)
    chunks: ChunkedScatter | None = field(default=None, compare=False)
    before: "tuple[Compute, ...]" = ()
    proviso: Proviso | None = None
    apart: bool = False
    in_turn: bool = field(default=False, compare=False)
    runner_up: tuple[str, Price] | None = field(default=None, compare=False)

    @property
    def piece(self) -> tuple[int, ...]:
        """The extents of what it writes, as far as they are slices."""
        strips = zip(self.store.dimensions, self.shape, strict=True)
        return tuple(strip.count if isinstance(strip, Strip) else extent for strip, extent in strips)


@dataclass(frozen=True, slots=True)
class Call:
    """Another definition, on whole tensors; with `steps` a loop, of which `plan` is one step.

    Of a loop that is a `program` too, the adjoint of that is the way back, where it stores at most so many bytes.
    On some platforms another plan for the whole loop takes its place (`elsewhere`). Of two nested loops that run by
    `diagonals`, there or everywhere, these say which step computes which point.
    """

    targets: tuple[str, ...]
    plan: "Plan"
    arguments: tuple[str, ...]
    steps: Steps | None = None
    program: tuple[ir.Function, int] | None = None
    elsewhere: "Elsewhere | None" = None
    diagonals: Diagonals | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another plan of a loop with the same arguments and results, for these platforms of JAX."""

    plan: "Plan"
    platforms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallForeign:
    """A Python function, on whole tensors; `results` are the types and shapes it must return.

    `frame` counts the leading dimensions of the results that it is mapped over, with those arguments that are
    `varying`.
    """

    targets: tuple[str, ...]
    function: str
    arguments: tuple[str, ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]
    frame: int = 0
    varying: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Unstored:
    """A statement that others compute where they read it: `readers` are their targets.

    `seconds` is the price of these as they are, `stored` that of all with what the statement writes in memory.
    """

    target: str
    dtype: str
    shape: tuple[int, ...]
    readers: tuple[str, ...]
    seconds: float = field(compare=False)
    stored: float = field(compare=False)
    statement: ir.Define | ir.Accumulate = field(compare=False)


Stage = Compute | Call | CallForeign | Unstored


@dataclass(frozen=True, slots=True)
class Parts:
    """A run of `stages` that is computed some rows at a time on a CPU: by one of the `plans` after the other.

    Each has the statements of the run for its rows, where the `row` index is in one of the `spans`. Their results are
    joined: of each, `dimensions` has the one that rows are along.
    """

    stages: int
    row: IndexVar
    spans: tuple[tuple[int, int], ...]
    plans: "tuple[Plan, ...]"
    dimensions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a function in order; `parameters` and `returns` by name.

    `initial` gives the types of the outputs that may start from a caller's array, `assemblies` the runs of stages
    whose values are put together into one array, by the number of the first stage, and `parts` the runs of stages that
    are computed some rows at a time. `scheduled` are the stages as a
    schedule arranges them, and `whole` says, by number, why one is not in the tiles that it asks for; derivatives are
    those of `stages`.
    """

    name: str
    parameters: tuple[str, ...]
    returns: tuple[str, ...]
    initial: Mapping[str, str]
    stages: tuple[Stage, ...]
    bound: ranges.Bound = field(repr=False, compare=False)
    assemblies: Mapping[int, Assembly] = field(default_factory=dict)
    parts: Mapping[int, Parts] = field(default_factory=dict)
    scheduled: "tuple[ScheduledStage, ...] | None" = None
    whole: Mapping[int, str] = field(default_factory=dict)

    def units(self) -> "Iterator[tuple[int, ScheduledStage | Parts]]":
        """What runs one after the other, by the number of its first stage: stages, and runs of them in parts."""
        done = 0
        for number, stage in enumerate(self.stages if self.scheduled is None else self.scheduled):
            parts = self.parts.get(number) if self.scheduled is None else None
            if number < done:
                continue
            if parts is not None:
                done = number + parts.stages
            yield number, stage if parts is None else parts

    def pieces(self, number: int) -> "tuple[tuple[Plan, Compute], ...]":
        """The statement of a stage for the rows of each part, with the part's plan; none where it is not in parts."""
        for first, parts in self.parts.items():
            run = self.stages[first : first + parts.stages]
            if 0 <= number - first < parts.stages:
                at = sum(isinstance(stage, Compute) for stage in run[: number - first])
                own = ((plan, plan.stages[at]) for plan in parts.plans)
                return tuple((plan, stage) for plan, stage in own if isinstance(stage, Compute))
        return ()


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
class Cast:
    """A reduction that went on from tile to tile in a wider type, in the type of its tensor."""

    target: str
    dtype: str


TiledStep = Begin | Loop | Cast | Compute


@dataclass(frozen=True, slots=True)
class Tiled:
    """One statement that stays outside of all others, and those computed inside of it; `number` is its place.

    `padded` gives the target's shape while the loops run: the last tile of an axis may reach over its end. On a GPU the
    statement and all that is computed inside of it are one `kernel`, if there is one.
    """

    number: int
    target: str
    dtype: str
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    keeps: bool
    steps: tuple[TiledStep, ...]
    kernel: FusedReduction | None = None

    def computes(self) -> Iterator[tuple[Compute, tuple[Loop, ...]]]:
        """Every computation, in order, and the loops around it."""
        pending: list[tuple[TiledStep, tuple[Loop, ...]]] = [(step, ()) for step in reversed(self.steps)]
        while pending:
            step, loops = pending.pop()
            match step:
                case Begin() | Cast():
                    continue
                case Loop(body=body):
                    pending.extend((inner, (*loops, step)) for inner in reversed(body))
                case _:
                    yield step, loops


ScheduledStage = Compute | Call | CallForeign | Unstored | Tiled
# What runs one after the other: stages, some of them in parts of their rows.
Unit = ScheduledStage | Parts


def targets_of(unit: Unit) -> tuple[str, ...]:
    """The tensors that a stage writes."""
    match unit:
        case Compute(target=target) | Tiled(target=target):
            return (target,)
        case Unstored():
            return ()
        case Call(targets=targets) | CallForeign(targets=targets):
            return targets
        case Parts(dimensions=dimensions):
            return tuple(dimensions)


def scope_of(stage: ScheduledStage, number: int) -> str:
    """The name of the operations that compute the stage of that number."""
    match stage:
        case Call(targets=targets) | CallForeign(targets=targets):
            return f"{'_'.join(targets)}.{number}"
        case _:
            return f"{stage.target}.{number}"
