"""Counts the operations of a computation, the bytes that it reads, and its peak memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from ... import ir
from ...symbolic import IndexVar
from ..blocked.kernel_sum_blocks import ARRAYS, plan_kernel_sums
from ..blocked.loop_schedules import choose, is_costly, parts
from ..blocked.online_softmax import plan_online_softmax
from ..blocked.two_stage import plan_two_stage
from ..blocked.vector_accumulators import plan_alone, plan_nest
from ..data.bands import Blocks as Rows
from ..data.bands import band_of
from ..data.blocked_loop import ROW, Block, BlockedLoop
from ..data.groups import Blocks, Extrema, KernelSums, Softmax
from ..data.kernel_sums import MatrixProducts
from ..data.nests import LoopSchedule, Nest, Operand
from ..data.nodes import (
    Apply,
    Axes,
    Band,
    CallBuiltin,
    Contract,
    Convolve,
    Deviations,
    Fill,
    Fold,
    FusedReduction,
    Iota,
    Lookup,
    LoopNest,
    MonoidFold,
    Node,
    OrderStatistic,
    Pool,
    Position,
    Read,
    Scan,
    Step,
    Strip,
    Unroll,
    Window,
    below,
    groups,
    is_fused,
    operands,
    sums_products,
)
from ..data.online_softmax import OnlineSoftmax
from ..data.repeats import Repeats
from ..data.vector_accumulators import VectorAccumulators
from ..data.views import extends, growth, is_reshape
from .footprints import Footprint

# A transcendental function costs about this many multiply-adds.
BUILTIN_FLOPS = 10
# How often XLA halves the rows of accumulators in one loop.
HALVINGS = 4


@dataclass(slots=True)
class Counted:
    """The computations already counted: equal ones count once. `shared` ones are stored."""

    repeats: Repeats = field(default_factory=Repeats)
    numbers: set[int] = field(default_factory=set)
    shared: frozenset[int] = frozenset()

    @staticmethod
    def of(node: Node) -> "Counted":
        """An empty count, with the shared values below a node: those that several reductions compute from arrays.

        XLA does not recompute them in each. A value that is only part of a shared one is not shared itself.
        """
        counted = Counted()
        folds = {counted.number(part): part for part in below(node) if isinstance(part, Fold)}
        for _ in range(2 if len(folds) > 1 else 0):
            parts = [{*counted.computed(fold.operand)} for fold in folds.values()]
            readers = Counter(number for own in parts for number in own)
            counted.shared = frozenset(number for number, count in readers.items() if count > 1)
        return counted

    def computed(self, node: Node) -> Iterator[int]:
        """The values that XLA computes from arrays in a reduction's loop at each of its points, down to shared ones."""
        every = {*node.axes}
        pending = [node]
        while pending:
            part = pending.pop()
            if not isinstance(part, (Apply, CallBuiltin)):
                continue
            if {*part.axes} == every and not (isinstance(part, Apply) and part.operator in ("cast", "stop")):
                yield self.number(part)
            if not self.is_shared(part):
                pending.extend(operands(part))

    def number(self, node: Node) -> int:
        """A number that equal computations share."""
        return self.repeats.look(node)[0]

    def is_shared(self, node: Node) -> bool:
        """Whether several reductions read a value that is not stored for another reason."""
        return bool(self.shared) and self.number(node) in self.shared

    def is_new(self, node: Node) -> bool:
        """Whether no equal computation was counted."""
        return self.number(node) not in self.numbers

    def first(self, node: Node) -> bool:
        """Whether no equal computation was counted before; counts it."""
        new = self.is_new(node)
        self.numbers.add(self.number(node))
        return new


@dataclass(frozen=True, slots=True)
class Meter:
    extents: Mapping[IndexVar, int]

    def points(self, node: Node) -> int:
        return self.count(node.axes)

    def count(self, axes: Axes) -> int:
        """The number of points of a space with these axes."""
        return prod(self.extents.get(axis, 1) for axis in axes)

    def size(self, node: Node) -> int:
        return self.points(node) * ir.types.width(node.dtype)

    def flops(self, node: Node, counted: "Counted | None" = None) -> int:
        """The operations below a node that are not yet `counted`: XLA computes equal parts once."""
        counted = counted or Counted()
        if not counted.first(node):
            return 0
        inner = sum(self.flops(operand, counted) for operand in operands(node))
        match node:
            case Fill() | Iota() | Step() | Read():
                return inner
            case Apply(operator=operator):
                return inner + (self.points(node) if operator not in ("cast", "stop") else 0)
            case CallBuiltin():
                return inner + BUILTIN_FLOPS * self.points(node)
            case Contract(operands=(a, b)):
                points = self.points(a) * self.points(b)
                shared = self.count(tuple(set(a.axes) & set(b.axes)))
                return inner + 2 * (points // shared if shared else 0)
            case Convolve(channels=channels, windows=windows):
                taps = prod(self.extents[axis] for axis in (*channels, *(w.kernel for w in windows)))
                return inner + 2 * self.points(node) * taps
            case Band(still=still, sliding=sliding):
                inner = self.flops(still) + self._slid(node).flops(sliding)
                return inner + 2 * band_of(node, self.extents).products
            case Fold(operand=operand, shifts=shifts):
                return prod(hi - lo for _, lo, hi in shifts) * (inner + self.points(operand))
            case Position(operand=operand) | Scan(operand=operand):
                return inner + self.points(operand)
            case Deviations(operand=operand):
                return inner + 3 * self.points(operand)
            case OrderStatistic(operand=operand):
                points = self.points(operand)
                return inner + points * max(1, points.bit_length())
            case Pool(windows=windows):
                return inner + self.points(node) * sum(extent - 1 for _, extent, _ in windows)
            case LoopNest(whole=whole, first=first):
                return inner + (self._looped(whole) if first else 0)
            case MonoidFold(monoid=monoid, extents=extents, blocks=blocks):
                # The meter does not know the indices of a block: it counted one of each.
                repeats = prod(block.steps * block.rows for block in blocks)
                steps = prod(block.steps for block in blocks)
                return inner * repeats + len(monoid.identity) * self.points(node) * prod(extents) * steps
            case Unroll(box=box):
                steps = prod(hi - lo for _, lo, hi in box)
                return steps * inner + (steps - 1) * self.points(node)

    def read(self, node: Node) -> int:
        """The bytes of the tensors that are read below a node."""
        found = Footprint()
        every = [*below(node)]
        for part in every:
            if isinstance(part, (Unroll, Fold)):
                found.unrolled(part.box if isinstance(part, Unroll) else part.shifts)
        for part in every:
            if isinstance(part, Read):
                found.read(part, self.extents)
            if isinstance(part, LoopNest) and part.first:
                found.arrays |= {(o.name, o.shape): _size(o) for o in part.whole.group.operands}
        return found.bytes

    def temporaries(self, node: Node, *, root: bool, counted: "Counted | None" = None) -> int:
        """The bytes that the node and its operands need besides its result (including the result unless it is the
        root).

        Arrays are made in sequence; the working memory of one is free for the next. Values already `counted` exist
        once.
        """
        counted = counted or Counted.of(node)
        if not counted.first(node) or isinstance(node, (Fill, Iota, Step)):
            return 0
        if isinstance(node, Read):
            return self._extended(node, root)
        own = 0 if root or is_fused(node) else self.size(node)
        over = self._overwritten(node, counted) if root and is_fused(node) else 0
        # Until the result is written, its memory serves as working memory.
        place = self.size(node) - over if root else 0
        held = peak = 0
        meter = self._slid(node) if isinstance(node, Band) else self
        for array in self.arrays(node, counted):
            if counted.is_new(array):
                size, needed = meter.stored(array, counted)
                if isinstance(array, Band) and not isinstance(node, (Contract, Convolve)):
                    # The reader of a band extracts it from the products.
                    size = 0
                # A loop reads a product in the product's own layout.
                needed -= size if self.is_turned(array) and not isinstance(node, (Contract, Convolve)) else 0
                peak = max(peak, held + size + max(0, needed - (0 if isinstance(array, Band) else place)))
                held += size
        return own + max(peak, held + self._beside(node, place)) - over

    def arrays(self, node: Node, counted: Counted) -> Iterator[Node]:
        """The operands of a node that XLA stores: for a fused loop, those that it does not recompute in it."""
        match node:
            case Contract() | Convolve() | Band() | Pool() | Position() | Scan() | OrderStatistic() | Deviations():
                yield from operands(node)
            case Fold(operand=operand) if sums_products(node):
                yield from operands(operand)
            case Fold(operand=operand) if not fuses(node):
                yield operand
            case _:
                for operand in operands(node):
                    if is_fused(operand) and not counted.is_shared(operand):
                        yield from self.arrays(operand, counted)
                    else:
                        yield operand

    def stored(self, node: Node, counted: "Counted | None" = None) -> tuple[int, int]:
        """The bytes of an array (0 if it is a tensor), and of its working memory."""
        is_array = isinstance(node, Read) and not any(isinstance(d, Lookup) for d in node.dimensions)
        if isinstance(node, (Fill, Iota, Step)):
            return 0, 0
        own = self._extended(node, root=False) if isinstance(node, Read) and is_array else self.size(node)
        return own, 0 if is_array else self.temporaries(node, root=True, counted=counted)

    def transposed(self, node: Contract) -> Iterator[Node]:
        """The operands of a product that XLA copies to obtain matrices; the product itself if its axes are permuted."""
        a, b = node.operands
        batch, summed, left, right = groups(node)
        leading, both = self.leading(node), bool(self.long(left) and self.long(right))
        for operand, own, free in ((a, (*node.spread, *a.axes), left), (b, b.axes, right)):
            order = lies(operand) if own == operand.axes else own
            order = tuple(axis for axis in order if axis in (*batch, *summed, *free))
            turned = both and self.is_turned_round(order, free, summed, leads=free == leading)
            copied = node.copied and operand is a
            if order and (copied or turned or not self.is_matrix(order, batch, free, summed)):
                yield operand
        orders = (*batch, *left, *right), (*batch, *right, *left)
        if self.long(node.axes) not in map(self.long, orders):
            yield node

    def long(self, axes: Axes) -> Axes:
        """The axes with more than one value."""
        return tuple(axis for axis in axes if self.extents.get(axis, 1) > 1)

    def is_matrix(self, order: Axes, batch: Axes, free: Axes, summed: Axes) -> bool:
        """Whether an array in this memory order is a matrix for each value of the batch: rows and columns, or the
        reverse.
        """
        order, batch, free, summed = map(self.long, (order, batch, free, summed))
        kinds = [*("b" if axis in batch else "f" if axis in free else "s" for axis in order)]
        changes = "".join(kind for n, kind in enumerate(kinds) if n == 0 or kinds[n - 1] != kind)
        inner = tuple(axis for axis in order if axis in summed)
        return changes.lstrip("b") in ("fs", "sf", "f", "s", "") and inner == summed

    def leading(self, node: Contract) -> Axes:
        """The axes of the left operand of XLA's product: those that come first in the result."""
        batch, _, left, right = groups(node)
        turned = self.long(node.axes) == self.long((*batch, *right, *left)) and self.long(left) and self.long(right)
        return right if turned else left

    def is_turned_round(self, order: Axes, free: Axes, summed: Axes, *, leads: bool) -> bool:
        """Whether XLA copies a matrix whose rows or columns are several axes, because the sum is not along the required
        side.

        The required side is the minor one for the left operand, the major one for the right. Either will do if both are
        single axes.
        """
        order = self.long(order)
        return len(self.long(free)) > 1 and bool(order) and (order[-1] in summed) != leads

    def _overwritten(self, node: Node, counted: Counted) -> int:
        """The bytes of an array that a fused loop reads and overwrites with its result."""
        size = self.size(node)
        arrays = self.arrays(node, counted)
        same = (array for array in arrays if array.axes == node.axes and not self.is_turned(array))
        return size if any(not isinstance(array, (Read, Band)) and self.size(array) == size for array in same) else 0

    def is_turned(self, node: Node) -> bool:
        """Whether a product's axes come out permuted."""
        return isinstance(node, Contract) and any(part is node for part in self.transposed(node))

    def _beside(self, node: Node, place: int) -> int:
        """The working memory of an operation; the `place` of its result may hold part of it."""
        match node:
            case Contract(operands=(first, _), spread=spread):
                repeated = self.size(first) * self.count(spread) if spread else 0
                return repeated + sum(self.size(array) for array in self.transposed(node))
            case Convolve(image=image, kernel=kernel, windows=windows, split=split):
                # XLA transposes image and result to the layout of its convolution, and operands if groups are split.
                other = self.size(kernel) if split else self.size(node)
                copied = self._image(image, windows)
                return (0 if copied <= place else copied) + other
            case Band():
                return self._banded(node, place)
            case Pool(operand=operand, windows=windows):
                # Every reduce_window but the last stores an array.
                first, *rest = (window for window, _, _ in windows)
                native = any(native for _, _, native in windows[1:])
                return self._image(operand, rest, [first]) if native else 0
            case Scan(operand=operand):
                # XLA sums in steps of two; the last one makes the result.
                return self.size(operand)
            case OrderStatistic(operand=operand):
                # For floats the first few are selected from ordered keys; otherwise there are values, sort keys, and
                # positions.
                return self.size(operand) * (1 if node.is_quick else 3)
            case MonoidFold(monoid=monoid, extents=extents):
                # Half of the states of a block, and the prefix states of all blocks.
                state = self.points(node) * len(monoid.identity) * ir.types.width(node.dtype)
                return state * (2 + prod(extents) // 2)
            case LoopNest(whole=whole, first=first):
                return loop_bytes(whole) if first else 0
            case _:
                return 0

    def _banded(self, node: Band, place: int) -> int:
        """The memory of the copies and products of a band; one of them may be in the `place` of the result."""
        matrices, windows, products = (
            count * ir.types.width(node.dtype) for count in band_of(node, self.extents).arrays
        )
        if node.is_summed:
            return matrices + windows + products
        still = 0 if matrices <= place else matrices
        # Windows are assembled from slices as long as the step between blocks.
        window = node.window
        blocks = Rows.of(node.rows, self.extents[window.output], self.extents[window.kernel], window)
        pieces = windows // blocks.width * blocks.overlapping * blocks.step
        return still + max(windows + products, 2 * pieces)

    def _extended(self, node: Read, root: bool) -> int:
        """The arrays of an extended tensor: one for each step, except the last one where it is read.

        Two of them exist at a time.
        """
        arrays: list[int] = []
        strips = [d for d in node.dimensions if isinstance(d, Strip)]
        size = self.size(node)
        if len(strips) == len(node.dimensions):
            # The axes of windows have no extents here.
            size = prod(strip.count for strip in strips) * ir.types.width(node.dtype)
        views = list(node.views)
        if any(not isinstance(d, Lookup) and (d.low or d.high) for d in node.dimensions) and not any(
            map(extends, views)
        ):
            arrays.append(size)
        while views:
            view = views.pop()
            if extends(view):
                arrays.append(size)
            size //= growth(view)
        arrays = arrays[1:] if root else arrays
        return max((sum(arrays[number : number + 2]) for number in range(len(arrays))), default=0)

    def _looped(self, whole: FusedReduction) -> int:
        """The operations of all blocks, as if none were skipped."""
        match whole.group, whole.schedule:
            case KernelSums() as group, Blocks() as blocks:
                return _multiplied(plan_kernel_sums(group, blocks))
            case Softmax() as group, Blocks() as blocks:
                plan = plan_online_softmax(group, blocks)
                return plan.visits * sum(count * _in_block(plan, block).scored(block) for block, count in plan.parts)
            case group, _:
                return _alone(group.results[0]).flops(plan_alone(group.results[0]))

    def scored(self, block: Block) -> int:
        """The operations of a block of scores."""
        [scores] = block.points
        return sum(map(self.flops, (*block.nodes, *block.sums))) + (BUILTIN_FLOPS + 2) * self.points(scores.value)

    def _slid(self, node: Band) -> "Meter":
        """The meter with the extent of the positions."""
        return Meter({**self.extents, node.window.position: band_of(node, self.extents).positions})

    def _image(self, node: Node, windows: Iterable[Window], reduced: Iterable[Window] = ()) -> int:
        """The bytes of a sliding read, some of whose windows are already `reduced`."""
        positions = {
            w.position: w.stride * (self.extents[w.output] - 1) + w.dilation * (self.extents[w.kernel] - 1) + 1
            for w in windows
        } | {w.position: self.extents[w.output] for w in reduced}
        points = prod(positions.get(axis, self.extents.get(axis, 1)) for axis in node.axes)
        return points * ir.types.width(node.dtype)


def _multiplied(plan: BlockedLoop) -> int:
    """The operations of all blocks of a bundle: the matrices, and their products with the columns."""
    products = _products(plan)
    widths = sum(columns.width for columns in (*products.across, *products.along))
    found = 2 * widths * products.size((*products.batch, *products.rows, *products.columns))
    loop: BlockedLoop | None = plan
    while loop is not None:
        matrices = ((block, points.value, count) for block, count in loop.parts for points in block.points)
        found += loop.visits * sum(count * _in_block(loop, block).flops(value) for block, value, count in matrices)
        loop = loop.rest
    return found


def _products(plan: BlockedLoop) -> MatrixProducts:
    assert isinstance(plan.states, MatrixProducts)
    return plan.states


def loop_bytes(whole: FusedReduction) -> int:
    """The memory of the loops besides operands and results."""
    match whole.group, whole.schedule:
        case Softmax() as group, Blocks() as blocks:
            return _softmax_bytes(group, blocks)
        case KernelSums() as group, Blocks() as blocks:
            return _bundle_bytes(group, plan_kernel_sums(group, blocks))
        case Extrema() as group, _:
            # The results of parts are joined with those before and after the loop.
            results = sum(prod(nest.shape) * ir.types.width(nest.reduce.dtype) for nest in group.results)
            return nest_bytes(group.place, group.form) + results
        case Nest() as nest, LoopSchedule() as form:
            return nest_bytes(nest, form, whole.backend.memory)
        case other:
            raise AssertionError(other)


def _bundle_bytes(bundle: KernelSums, plan: BlockedLoop) -> int:
    """A block of each matrix and an intermediate one, the columns, and their products, before and after."""
    own = _products(plan)
    width = ir.types.width(own.dtype)
    # The tail has fewer points.
    block = max(_block_size(plan, block) for block, _ in plan.parts) * width * max(ARRAYS, len(own.across))
    above, below = (sum(columns.width for columns in side) for side in (own.across, own.along))
    sides = (*own.batch, *own.rows), (*own.batch, *own.columns)
    products = above * own.size(sides[0]) + below * own.size(sides[1])
    columns = above * own.size(sides[1]) + below * own.size(sides[0])
    results = sum(prod(nest.shape) * ir.types.width(nest.reduce.dtype) for nest in bundle.sums)
    return block + (2 * products + columns) * width + results


def _block_size(plan: BlockedLoop, block: Block) -> int:
    """The points of a block."""
    extents = plan.within(block)
    return prod(extents[axis] for axis in plan.axes)


def _softmax_bytes(softmax: Softmax, blocks: Blocks) -> int:
    """A block of scores, its exponentials or other operands of the sums, and the sums before and after it."""
    plan = plan_online_softmax(softmax, blocks)
    assert isinstance(plan.states, OnlineSoftmax)
    most = 0
    for block, _ in plan.parts:
        points = _block_size(plan, block)
        scores = points * ir.types.width(softmax.scores.dtype)
        meter = _in_block(plan, block)
        inner = max(
            meter.temporaries(one, root=True) + (meter.size(one) if ROW in one.axes else 0) for one in block.sums
        )
        # For a product with a data-dependent mask, the condition is evaluated inside it.
        asked = any(isinstance(part, Contract) and any(part.live) for one in block.sums for part in below(one))
        most = max(most, scores + max(scores, inner) + asked * points)
    if plan.is_one_block:
        # The result of a single block is part of the results.
        return most
    pairs = zip(softmax.sums, plan.states.columns, strict=True)
    return most + 2 * sum(prod(plan.shape(columns)) * ir.types.width(nest.reduce.accumulate) for nest, columns in pairs)


def nest_bytes(nest: Nest, form: LoopSchedule, memory: int | None = None) -> int:
    """The bytes that a nest needs besides operands and result."""
    return sum(nest_room(nest, form, memory))


def nest_room(nest: Nest, form: LoopSchedule, memory: int | None = None) -> tuple[int, int]:
    """The bytes of a nest's accumulators, which are live with those of other loops, and of the arrays stored by a
    block.

    XLA starts the loops of all parts at once.
    """
    if form.whole:
        return 0, 0
    if form.sieve:
        return _sieve_bytes(nest, form, memory), 0
    _, found = parts(nest, form, memory)
    rooms = [_loop_room(part, own) for part, own in found if part.ranges[own.loop][0] < part.ranges[own.loop][1]]
    return sum(kept for kept, _ in rooms), max((passing for _, passing in rooms), default=0)


def _sieve_bytes(nest: Nest, form: LoopSchedule, memory: int | None) -> int:
    """The nests of a sieve in sequence, their results, and the values of the remaining blocks."""
    sieve = plan_two_stage(nest, form.sieve)
    nests = (sieve.firsts, sieve.blocks, sieve.rest)
    loops = max(nest_bytes(one, replace(choose(one), sieve=0), memory) for one in nests)
    left = sum(prod(one.shape) * ir.types.width(one.reduce.dtype) for one in nests)
    ranges = {index: hi - lo for one in nests for index, (lo, hi) in one.ranges.items()}
    return loops + left + 2 * Meter(ranges).size(sieve.values)


def _loop_room(nest: Nest, form: LoopSchedule) -> tuple[int, int]:
    """The accumulators, twice while they are combined, and the arrays stored by a block."""
    loop = plan_nest(nest, form)
    own = _accumulators(loop)
    width = ir.types.width(own.dtype)
    result = prod(loop.shape(own.axes)) * width * own.count
    rows = 1 if own.inside else max(1, loop.width)
    inside = max((_block_bytes(loop, block) for block, _ in loop.parts), default=0)
    whole = prod(loop.whole(own.axes))
    moved = whole * width if loop.tiles or own.axes != nest.axes else 0
    if own.ranks is not None:
        moved += whole * 2 * width * own.ranks
    # A single accumulator with the result's type and layout is the result.
    is_result = rows == own.count == 1 and not moved and own.dtype == nest.reduce.dtype
    turned, passing = _turned(nest, loop)
    if is_result:
        return moved + turned + passing, inside
    if own.reducer.inject is not None and loop.unroll > 1 and _is_stored(nest):
        # The scores of a trip, which are used by its maximum and its sum.
        inside += result // own.count * rows * loop.unroll
    # The rows of a tail are combined early, and wait for those of the loop.
    waiting = result * _stored_halves(0 if own.inside or loop.tail is None else loop.tail.width)
    meeting = _meeting(loop, result, rows)
    # Operands are copied to the loop's layout before its accumulators are there, unless these begin with the points
    # that are left over; they are freed before the rows are combined.
    copying = turned + passing + (result * rows if loop.count % loop.unroll else 0)
    return max(result * rows + moved + max(meeting, turned) + waiting, copying), inside


def _is_stored(nest: Nest) -> bool:
    """Whether XLA stores the values of a nest rather than compute them twice."""
    divides = any(isinstance(node, ir.Binary) and node.operator == "/" for node in ir.walk(nest.reduce.body))
    return divides or is_costly(nest)


def _turned(nest: Nest, loop: BlockedLoop) -> tuple[int, int]:
    """The bytes of operands with another layout while a loop runs, with the parts that a trip reads at once; and of
    what XLA needs beside them only while it copies them.
    """
    operands = {o.name: o for o in nest.operands}
    turned = {one.tensor for one in loop.layouts if one.is_copied}
    if _accumulators(loop).written_out:
        # XLA transposes operands that do not change along the vectors where they are read; of the rest each trip's
        # part, the first part being that of two trips. Operands not along the loop have no parts.
        last = _accumulators(loop).axes[-1:]
        reads = {a.tensor.name for a in ir.accesses(nest.reduce) if any({*last} & i.variables for i in a.indices)}
        cut = {cut.tensor for cut in loop.cuts}
        in_parts = {one.tensor for one in loop.layouts if one.name in cut}
        whole, parts = (sum(_size(operands[name]) for name in turned & each) for each in (reads, reads & in_parts))
        return whole + parts * loop.unroll // loop.count, 0
    outside = {*nest.axes, *nest.reduce.indices}
    walked: set[str] = set()
    for access in ir.accesses(nest.reduce):
        # XLA moves the axes of inner reductions first, in two steps, if the rest is a vector.
        last = access.indices[-1] if access.indices else None
        if last is not None and not last.is_data and not last.variables <= outside:
            is_vector = any(index.variables & {*nest.axes} for index in access.indices)
            walked |= {access.tensor.name} if is_vector else set()
    cuts = 0
    for cut in loop.cuts:
        operand = next((operands[one.tensor] for one in loop.layouts if one.name == cut.tensor), None)
        if operand is not None and operand.name not in turned | walked:
            rows = loop.width * loop.unroll
            cuts += _size(operand) * rows // max(1, loop.count * loop.width)
    twice = sum(_size(operands[name]) for name in walked)
    once = sum(_size(operands[name]) for name in turned - walked)
    return once + twice + cuts, max(0, once - cuts) + twice


def _size(operand: Operand) -> int:
    return prod(operand.shape) * ir.types.width(operand.dtype)


def _meeting(loop: BlockedLoop, result: int, rows: int) -> int:
    """The memory of the accumulators of all rows while they are combined, half by half."""
    own = _accumulators(loop)
    if own.count == 1:
        return result * _stored_halves(rows)
    if own.reducer.inject is not None:
        return result * rows // 2
    # A value and its position are one array in the loop and two after it, with a mask of the valid half.
    return result * rows + prod(loop.shape(own.axes)) * (rows // 2) if rows > HALVINGS else 0


def _stored_halves(rows: int) -> int:
    """The rows stored during halving: XLA fuses `HALVINGS` in sequence, of which the last group has one row left."""
    return sum(rows >> done for done in range(rows.bit_length() - 1 - HALVINGS, 0, -HALVINGS))


def _block_bytes(loop: BlockedLoop, block: Block) -> int:
    meter = _in_block(loop, block)
    return sum(meter.temporaries(node, root=False) for node in block.nodes)


def _accumulators(loop: BlockedLoop) -> VectorAccumulators:
    assert isinstance(loop.states, VectorAccumulators)
    return loop.states


def _in_block(loop: BlockedLoop, block: Block) -> Meter:
    return Meter(loop.within(block))


def _alone(nest: Nest) -> Meter:
    return Meter({index: hi - lo for index, (lo, hi) in nest.ranges.items()})


def lies(node: Node) -> Axes:
    """The axes of an array in memory order; for one that is assembled from pieces, the requested order."""
    if not isinstance(node, Read) or any(isinstance(d, Lookup) for d in node.dimensions):
        return node.axes
    if not all(map(is_reshape, node.views)):
        return node.axes
    strips = (d for d in node.dimensions if isinstance(d, Strip))
    return tuple(dict.fromkeys(index for d in strips for index, _, _ in d.factors))


def fuses(node: Fold) -> bool:
    """Whether XLA reduces without storing the operand: float sums, minima and maxima, without selects or gathers."""
    if isinstance(node.operand, Read):
        return True
    if not (node.reducer is ir.Reducer.SUM or node.reducer.is_extremum) or node.dtype not in ("float32", "float64"):
        return False
    for current in below(node.operand):
        if isinstance(current, Apply) and current.operator == "where" and len(current.axes) == len(node.operand.axes):
            return False
        if isinstance(current, Read) and any(isinstance(d, Lookup) for d in current.dimensions):
            return False
    return True
