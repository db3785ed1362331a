"""The parts of a plan: one stage for each statement, in order, and the tiles that a schedule makes of them."""

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
    """How values are scattered: those of a point fill the `rows` of the target, which are whole dimensions.

    If many points share values, they are scattered slice by slice `along` an axis, without repeating them. If points
    are sorted by position, each position takes the last result of a running reduction over its points. The axes of all
    `points`, including those of rows, are in order.
    """

    rows: tuple[int, ...] = ()
    along: IndexVar | None = None
    is_sorted: bool = False
    points: Axes = ()


@dataclass(frozen=True, slots=True)
class Store:
    """Where a statement's values are stored.

    `dimensions` address the target like a read; those numbered in `open` depend on data. The value is combined with the
    old one by `combine` (None: it replaces it). With `restart`, and in a new target, the elements named by the left
    side first become `blank` (of the accumulating type), whatever the data of open dimensions. A new target is zero
    elsewhere; `keeps` says that it may not be new. Where `mask` is false nothing is written. If several points may
    write one element, `weight` is what a mean or a position needs besides its value: the number of points, the
    extremum. Values that do not fill a box are stored by a `scatter`.
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
        """Whether values are combined with the old ones, rather than replacing them."""
        return self.combine is not None and self.combine.continues

    @property
    def sliced(self) -> Axes:
        """The axes of the slices that it writes."""
        return tuple(axis for d in self.dimensions if isinstance(d, Strip) for axis, _, _ in d.factors)

    @property
    def is_scatter(self) -> bool:
        """Whether values are scattered: to data-dependent positions, along a diagonal, or at irregular distances."""
        axes = self.sliced
        if any(isinstance(d, Lookup) for d in self.dimensions) or len(set(axes)) < len(axes):
            return True
        strips = [d for d in self.dimensions if isinstance(d, Strip)]
        moves = any(strip.start.constant is None for strip in strips)
        apart = any(abs(strip.stride) > 1 and strip.count > 1 for strip in strips)
        return (apart and moves) or any(prod(size for _, size, _ in d.factors) != d.count for d in strips)


@dataclass(frozen=True, slots=True)
class ChunkedScatter:
    """A statement executed `count` times, each time for other values of one of its indices, and once more for the
    `rest`.

    `index` is the number of the chunk. Every chunk adds to the result of the others.
    """

    index: IndexVar
    count: int
    step: "Compute"
    rest: "Compute | None"


@dataclass(frozen=True, slots=True)
class Proviso:
    """The assumption of a statement's plan: that some values are finite, or pointers in order.

    Values are finite if all `tests` are zero, each the sum of zero times such values, or zero times a bound on them.
    Otherwise the statement is computed as in `otherwise`; `named` are the tensors of these values. If each value
    becomes part of the result unless its position is outside the target, there is `placed`: true if none is outside.
    Then a finite result shows that they are finite, and the tests are needed only for other results. With `of_order`,
    the tensors have pointers that do not decrease if all `tests` are false.
    """

    tests: "tuple[Compute, ...]"
    otherwise: "Compute"
    named: tuple[str, ...]
    placed: "Compute | None" = None
    of_order: bool = False

    @property
    def asked(self) -> "tuple[Compute, ...]":
        """The computations for these tests, before a statement with finite values."""
        return self.tests if self.placed is None else (self.placed,)


@dataclass(frozen=True, slots=True)
class Compute:
    """One statement: a computation and its store.

    `accumulate` is the type in which it is combined; `decided` lists the dropped conditions and the reasons. With
    `chunks` it is computed in these instead of as a whole. The targets of `before` are read by this statement only.
    With a `proviso` the plan is used only if some values are finite. With `apart` it is stored, so that its readers do
    not recompute it. With `in_turn` it waits for the previous such statement. `runner_up` is the cheapest of the other
    plans: its operation, and its extra cost in seconds.
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
        """The extents of the part that it writes, as far as it is a slice."""
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

    `frame` is the number of leading dimensions of the results over which it is mapped, together with the `varying`
    arguments.
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

    `seconds` is the price of these as they are, `stored` that of all with the statement's target in memory.
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
    """A run of `stages` that is computed some rows at a time on a CPU, by one of the `plans` after another.

    Each contains the statements of the run for its rows, with the `row` index in one of the `spans`. The results are
    joined along the row dimension, given in `dimensions` for each.
    """

    stages: int
    row: IndexVar
    spans: tuple[tuple[int, int], ...]
    plans: "tuple[Plan, ...]"
    dimensions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Plan:
    """The stages of a function in order; `parameters` and `returns` by name.

    `initial` gives the types of the outputs that may start from a caller's array, `assemblies` the runs of stages whose
    values are assembled into one array, by the number of the first stage, and `parts` the runs of stages that are
    computed some rows at a time. `scheduled` are the stages as arranged by a schedule, and `whole` says, by number, why
    one is not in the requested tiles; derivatives are those of `stages`.
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
        """The units that run in sequence, by the number of their first stage: stages, and runs of them in parts."""
        done = 0
        for number, stage in enumerate(self.stages if self.scheduled is None else self.scheduled):
            parts = self.parts.get(number) if self.scheduled is None else None
            if number < done:
                continue
            if parts is not None:
                done = number + parts.stages
            yield number, stage if parts is None else parts

    def pieces(self, number: int) -> "tuple[tuple[Plan, Compute], ...]":
        """The statement of a stage for the rows of each part, with the part's plan; none if it is not split."""
        for first, parts in self.parts.items():
            run = self.stages[first : first + parts.stages]
            if 0 <= number - first < parts.stages:
                at = sum(isinstance(stage, Compute) for stage in run[: number - first])
                own = ((plan, plan.stages[at]) for plan in parts.plans)
                return tuple((plan, stage) for plan, stage in own if isinstance(stage, Compute))
        return ()


@dataclass(frozen=True, slots=True)
class Begin:
    """The target of an accumulation shared by several iterations, before the first.

    It is initialised by `compute`, unless it has content that the statement continues from (`keeps`).
    """

    compute: Compute
    keeps: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """``for index in 0:extent``, in sequence. Targets first defined in `body` are new in each iteration."""

    index: IndexVar
    extent: int
    body: "tuple[TiledStep, ...]"


@dataclass(frozen=True, slots=True)
class Cast:
    """A reduction accumulated over tiles in a wider type, converted to the type of its tensor."""

    target: str
    dtype: str


TiledStep = Begin | Loop | Cast | Compute


@dataclass(frozen=True, slots=True)
class Tiled:
    """An outer statement, and those computed inside it; `number` is its position.

    `padded` is the target's shape while the loops run: the last tile of an axis may extend beyond its end. On a GPU the
    statement and everything computed inside it are one `kernel`, if there is one.
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
# A unit that runs in sequence: stages, some of them in parts of their rows.
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
    """The name scope of the stage with this number."""
    match stage:
        case Call(targets=targets) | CallForeign(targets=targets):
            return f"{'_'.join(targets)}.{number}"
        case _:
            return f"{stage.target}.{number}"
