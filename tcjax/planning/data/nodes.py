"""Computations over named axes: the nodes of a plan. Data only; `lowering` turns each node into JAX.

Every node yields an array whose dimensions are its `axes`, in that order; a node without axes yields a scalar.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import isqrt
from typing import Any

from ...ir import Monoid, Reducer
from ...symbolic import Affine, IndexVar
from .groups import Blocks, Group
from .nests import LoopSchedule, Nest
from .preferences import Backend
from .views import View, Viewed

Axes = tuple[IndexVar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """`dtype` of the array and its `axes`; `why` is the planner's reason, for `explain`."""

    dtype: str
    axes: Axes = ()
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Fill(Computation):
    """A constant."""

    value: bool | int | float | complex


@dataclass(frozen=True, slots=True)
class Iota(Computation):
    """The values ``start, start + 1, ...`` of an index, along its own axis."""

    index: IndexVar
    start: int
    extent: int


@dataclass(frozen=True, slots=True)
class Step(Computation):
    """The current value of an index that an enclosing `Unroll` steps through."""

    index: IndexVar


@dataclass(frozen=True, slots=True)
class Strip:
    """One dimension of a read, as a slice: `count` elements ``start, start + stride, ...``.

    The dimension is first padded with `low` and `high` zeros; `start` counts from the first of them, and may use
    unrolled indices. `factors` split the strip row-major into ``(index, extent, block)``: a block of `block` elements
    for each value of the index, of which the next factor uses the front. No factor: one element, no axis.
    """

    start: Affine
    stride: int
    count: int
    low: int
    high: int
    factors: tuple[tuple[IndexVar, int, int], ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """One dimension of a read by an array of positions; `clamp` brings them into the dimension first."""

    positions: "Node"
    clamp: bool


@dataclass(frozen=True, slots=True)
class Read(Computation):
    """A tensor, after its `views`, read by slices and lookups; an axis shared by several slices is taken along its
    diagonal.
    """

    tensor: str
    dimensions: tuple[Strip | Lookup, ...]
    views: tuple[View, ...] = ()


@dataclass(frozen=True, slots=True)
class Apply(Computation):
    """An operator, ``cast``, ``where`` or ``stop`` (no derivative passes), element by element.

    A ``share`` divides an exponential by the sum of exponentials along the axes missing from the sum.
    """

    operator: str
    arguments: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class CallBuiltin(Computation):
    """A builtin or (`foreign`) a Python function, element by element.

    Where `live` is false the result is masked, and harmless arguments replace the given ones.
    """

    function: str
    arguments: "tuple[Node, ...]"
    foreign: bool = False
    live: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Contract(Computation):
    """The product of two operands, summed over all axes that are not in `axes`.

    The first operand is first repeated along the `spread` axes of the second. Where a node of `live` is false, its
    operand is zero, and the term is 0 even if the other operand is infinite or NaN. Where a node of `counts` is false
    nothing uses the result: no derivative may multiply an infinity there. The first node has axes of the first operand
    only, the second those of the second, the third any axes of the result. With `copied` the first operand is copied to
    a layout whose columns are the summed axes. The cotangent of a `turned` operand is a product with rows and columns
    exchanged. `derivative` is that of an `Unroll`.
    """

    operands: "tuple[Node, Node]"
    spread: Axes = ()
    copied: bool = False
    turned: tuple[bool, bool] = (False, False)
    live: "tuple[Node | None, Node | None]" = (None, None)
    counts: "tuple[Node | None, Node | None, Node | None]" = (None, None, None)
    derivative: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Window:
    """One spatial dimension of a convolution: ``position = stride*output + dilation*kernel`` (+ a flip)."""

    position: IndexVar
    output: IndexVar
    kernel: IndexVar
    stride: int
    dilation: int
    flip_kernel: bool
    flip_output: bool


@dataclass(frozen=True, slots=True)
class Convolve(Computation):
    """A convolution.

    `image` has `batch`, `groups`, `channels` and the windows' position axes; `kernel` has `groups`, `channels`,
    `features` and the windows' kernel axes. `split`: one convolution for each group, not one grouped convolution.
    `exact` is the sum used if the kernel is not finite: products with the padding of the image must be 0. Unless the
    result is used `everywhere` the image must be finite too: no derivative may multiply an infinity at unused elements.
    `derivative` is that of an `Unroll`.
    """

    image: "Node"
    kernel: "Node"
    batch: Axes
    groups: Axes
    channels: Axes
    features: Axes
    windows: tuple[Window, ...]
    split: bool = False
    exact: "Unroll | None" = None
    everywhere: bool = True
    derivative: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Band(Computation):
    """A sum of products in which one operand slides along another: a matrix product for each block of `rows`.

    `still` has the axis ``window.output``, `sliding` has ``window.position``. The shift, ``window.kernel``, is either
    an axis of the result: then only a band of each product is kept; or an axis of `still` that is summed: then `still`
    is the band of a matrix that is zero elsewhere. Where `live` is false `still` is zero, and terms are 0 even against
    infinities; where `counts` is false nothing uses the result.
    """

    still: "Node"
    sliding: "Node"
    window: Window
    rows: int
    live: "Node | None" = None
    counts: "Node | None" = None

    @property
    def is_summed(self) -> bool:
        """Whether the shift is summed."""
        return self.window.kernel not in self.axes


@dataclass(frozen=True, slots=True)
class Fold(Computation):
    """A reduction of the operand over `indices`. With `anew`, its derivative recomputes the operand.

    With `shifts`, a small box of indices of the result, the operand is reduced at each of its points, all in one pass.
    `derivative` is that of an `Unroll`.
    """

    reducer: Reducer
    operand: "Node"
    indices: Axes
    anew: bool = False
    shifts: tuple[tuple[IndexVar, int, int], ...] = ()
    derivative: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Deviations(Computation):
    """The sum over `indices` of the squared deviations of the operand from its mean over them.

    If the sum of squares exceeds the result `most` times, the mean is subtracted first.
    """

    operand: "Node"
    indices: Axes
    most: float


@dataclass(frozen=True, slots=True)
class Pool(Computation):
    """A reduction over windows, one dimension after the other: `operand` has the position axes.

    Each window comes with its extent, and whether it is a `lax.reduce_window` rather than shifted slices. `derivative`
    is that of an `Unroll`.
    """

    reducer: Reducer
    operand: "Node"
    windows: tuple[tuple[Window, int, bool], ...]
    derivative: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Scan(Computation):
    """A running reduction: the operand along `index` up to `output`, or from there on if it is not `rising`.

    The first of the `extent` results ends (or begins) at position `first` of the operand, the next one a position
    later. Positions outside the operand, and where `mask` is false, are empty. On a CPU, `block` elements are combined
    in sequence, and blocks in a loop if it is `looped`; otherwise the prefix of all earlier blocks is a running
    reduction again.
    """

    reducer: Reducer | Monoid
    operand: "Node"
    index: IndexVar
    output: IndexVar
    extent: int
    first: int
    rising: bool
    block: int
    looped: bool
    mask: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Unroll(Computation):
    """The elementwise combination of `body` at every point of a small box of indices; for argmin and argmax the
    position.

    For an order statistic it is the value with a `rank`, counted from 0, or its position. `derivative` is the same
    value as one reduction, whose derivative is cheaper: for many gathers or slices, JAX would store an array each. With
    `rolled` it is a run-time loop, which compiles as fast as one term; it skips points where `mask` is false, may be a
    registered reduction, and may have a box with symbolic sizes.
    """

    reducer: Reducer | Monoid
    box: tuple[tuple[IndexVar, int, int], ...]
    body: "Node"
    derivative: "Node | None" = None
    rolled: bool = False
    rank: int = 0
    mask: "Node | None" = None


@dataclass(frozen=True, slots=True)
class Position(Computation):
    """argmin or argmax over `indices`, row-major in their order, among the points where `mask` holds; int32."""

    reducer: Reducer
    operand: "Node"
    indices: Axes
    extents: tuple[int, ...]
    mask: "Node | None" = None


@dataclass(frozen=True, slots=True)
class OrderStatistic(Computation):
    """The `rank`-th smallest or largest over `indices` (mink maxk), or its position (argmink argmaxk).

    Only the points where `mask` holds are active. If no rank exceeds them, the `first` values suffice.
    """

    reducer: Reducer
    operand: "Node"
    rank: "Node"
    indices: Axes
    extents: tuple[int, ...]
    mask: "Node | None" = None
    first: int | None = None

    @property
    def is_quick(self) -> bool:
        """Whether the first few are selected among numbers that XLA can order itself."""
        return self.first is not None and self.operand.dtype == "float32"


@dataclass(frozen=True, slots=True)
class FusedReduction:
    """Reductions over spaces that are never stored, in common loops; `schedule` says how these run.

    `sources` has the view or the computation for each operand of the group. `backend` computes it on a GPU.
    """

    group: Group
    sources: "tuple[Viewed | Node, ...]"
    schedule: LoopSchedule | Blocks
    backend: Backend = field(default_factory=Backend)

    @property
    def named(self) -> "dict[str, Viewed | Node]":
        """The source of each operand by its name."""
        return {operand.name: source for operand, source in zip(self.group.operands, self.sources, strict=True)}

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensors that operands are, or are views of."""
        return tuple(source.tensor for source in self.sources if isinstance(source, Viewed))


@dataclass(frozen=True, slots=True)
class LoopNest(Computation):
    """A result of a fused reduction, its only one or one of several: the one that is `first` counts the cost of all.

    `shown` is the reduction as written, if the group uses other names for its indices.
    """

    whole: FusedReduction
    result: int = 0
    shown: str = field(default="", compare=False)
    first: bool = True

    @property
    def nest(self) -> Nest:
        """The reduction of this result."""
        return self.whole.group.results[self.result]

    @property
    def is_alone(self) -> bool:
        """Whether no other reduction shares its loops."""
        return isinstance(self.whole.group, Nest)

    @property
    def form(self) -> LoopSchedule:
        """The loop schedule of a nest that is alone."""
        assert isinstance(self.whole.schedule, LoopSchedule)
        return self.whole.schedule

    @property
    def is_one_loop(self) -> bool:
        """Whether it runs as one operation, of which XLA stores nothing."""
        return self.is_alone and self.form.whole

    def changed(self, **parts: Any) -> "LoopNest":
        """The result with these fields of the reduction replaced."""
        return replace(self, whole=replace(self.whole, **parts))


@dataclass(frozen=True, slots=True)
class Block:
    """A loop over blocks of an index: `start` is the first value of a block, `row` counts within it.

    Blocks have `rows` values; the last one ends with the range ``lo:hi``, and values already covered are skipped.
    Without a row a block has one value.
    """

    index: IndexVar
    start: IndexVar
    row: IndexVar | None
    lo: int
    hi: int
    rows: int

    @property
    def steps(self) -> int:
        """The number of blocks."""
        return -(-(self.hi - self.lo) // self.rows)


@dataclass(frozen=True, slots=True)
class MonoidFold(Computation):
    """A registered reduction over `indices`, row-major in their order, block by block (`blocks`, outermost first).

    With `lanes` the indices are reduced last, after all blocks. Only the points where `mask` holds are active; `before`
    is one more element before the others, if it has a value. Where `live` is false the result is unused. Elements have
    type `element`.
    """

    monoid: Monoid
    operand: "Node"
    indices: Axes
    extents: tuple[int, ...]
    mask: "Node | None"
    blocks: tuple[Block, ...]
    before: "Node | None"
    live: "Node | None"
    element: str
    lanes: bool = False


Node = (
    Fill
    | Iota
    | Step
    | Read
    | Apply
    | CallBuiltin
    | Contract
    | Convolve
    | Band
    | Fold
    | Pool
    | Scan
    | Deviations
    | Unroll
    | Position
    | OrderStatistic
    | LoopNest
    | MonoidFold
)


def operands(node: Node) -> tuple[Node, ...]:
    """The computations that a node uses directly."""
    match node:
        case Fill() | Iota() | Step():
            return ()
        case LoopNest(whole=whole, first=first):
            return tuple(source for source in whole.sources if not isinstance(source, Viewed)) if first else ()
        case Read(dimensions=dimensions):
            return tuple(d.positions for d in dimensions if isinstance(d, Lookup))
        case Apply(arguments=arguments):
            return arguments
        case CallBuiltin(arguments=arguments, live=live):
            return arguments if live is None else (*arguments, live)
        case Contract(operands=inner):
            return inner
        case Convolve(image=image, kernel=kernel):
            return (image, kernel)
        case Band(still=still, sliding=sliding):
            return (still, sliding)
        case Fold(operand=operand) | Pool(operand=operand) | Deviations(operand=operand):
            return (operand,)
        case Position(operand=operand, mask=mask) | Scan(operand=operand, mask=mask):
            return (operand,) if mask is None else (operand, mask)
        case OrderStatistic(operand=operand, rank=rank, mask=mask):
            return (operand, rank) if mask is None else (operand, rank, mask)
        case MonoidFold(operand=operand, mask=mask, before=before, live=live):
            return tuple(part for part in (operand, mask, before, live) if part is not None)
        case Unroll(body=body, mask=mask):
            return (body,) if mask is None else (body, mask)


def has(node: Node, *kinds: type[Computation]) -> bool:
    """Whether the node or one below it is of one of these kinds."""
    return any(isinstance(inner, kinds) for inner in below(node))


def below(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, each once: shared computations are one object."""
    pending, seen = [node], {id(node)}
    while pending:
        current = pending.pop()
        yield current
        for inner in operands(current):
            if id(inner) not in seen:
                seen.add(id(inner))
                pending.append(inner)


def is_fused(node: Node) -> bool:
    """Whether XLA computes the node elementwise in the loop that reads it, without storing it."""
    if isinstance(node, Read):
        return any(isinstance(dimension, Lookup) for dimension in node.dimensions)
    return isinstance(node, (Apply, CallBuiltin, Unroll, Fill, Iota, Step))


def is_elementwise(node: Node, inner: "Callable[[Node], bool] | None" = None) -> bool:
    """Whether the node and everything below it are one fused loop over slices of tensors.

    `inner` gives the answer for the node's operands, if it is known.
    """
    own = node.is_one_loop if isinstance(node, LoopNest) else isinstance(node, Read) or is_fused(node)
    return own and all(map(inner or is_elementwise, operands(node)))


def holds_data(node: Node) -> bool:
    """Whether a tensor is read at or below the node."""
    return has(node, Read, LoopNest)


def looks_up(node: Node) -> bool:
    """Whether a read at or below the node depends on data."""
    return any(isinstance(part, Read) and any(isinstance(d, Lookup) for d in part.dimensions) for part in below(node))


def tensors_read(node: Node) -> set[str]:
    """The names of the tensors and operands read at or below the node."""
    found: set[str] = set()
    for inner in below(node):
        match inner:
            case Read(tensor=tensor):
                found.add(tensor)
            case LoopNest(whole=whole):
                found.update((*whole.named, *whole.tensors))
            case _:
                pass
    return found


def groups(node: Contract) -> tuple[Axes, Axes, Axes, Axes]:
    """The axes of a product's batch, the summed ones, and those of the first and the second operand only."""
    a, b = node.operands
    first = (*node.spread, *a.axes)
    batch = tuple(axis for axis in first if axis in b.axes and axis in node.axes)
    summed = tuple(axis for axis in first if axis in b.axes and axis not in node.axes)
    left = tuple(axis for axis in first if axis not in b.axes and axis in node.axes)
    right = tuple(axis for axis in b.axes if axis not in first and axis in node.axes)
    return batch, summed, left, right


def sums_products(node: Fold) -> bool:
    """Whether it adds up matrix products, one for each value of a summed index: XLA stores none of them."""
    match node:
        case Fold(reducer=Reducer.SUM, operand=Contract() as product, shifts=()):
            return set(node.indices) <= set(groups(product)[0])
        case _:
            return False


def multiplies_columns(node: Fold) -> bool:
    """Whether it is a sum of products of two arrays for each value of the minor axis, which both have.

    XLA:CPU treats such a sum as a batch of matrix products with strided columns, which is ten times slower.
    """
    match node:
        case Fold(reducer=Reducer.SUM, operand=Apply(operator="*", arguments=(a, b), axes=(*_, minor))):
            return minor not in node.indices and minor in a.axes and minor in b.axes
        case _:
            return False


def smallest_divisor(number: int) -> int:
    """The smallest prime factor of a number; 1 for numbers below 2."""
    return next((n for n in range(2, isqrt(number) + 1) if number % n == 0), max(1, number))
