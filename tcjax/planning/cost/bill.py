"""The kernels that XLA makes of a computation, in sequence, and the cost of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, frexp, log, prod

from ... import ir
from ...ir import Reducer
from ..data.bands import band_of
from ..data.machine import MOST_PRODUCTS, Machine
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
    groups,
    holds_data,
    multiplies_columns,
    operands,
    sums_products,
)
from ..data.price import Price
from ..data.views import Halo, Pieces, Slant, View, extends, is_reshape
from .footprints import Footprint
from .loop_prices import loop_work
from .meter import Meter, fuses, lies
from .rates import call_time, operator_time, power_time, slower

# Kernels per level of the tree of a running reduction: blocks, prefixes of blocks, and both combined.
KERNELS = 3
# The maximum row length that such a tree combines in place; shorter rows are read as if across.
FULL_ROW = 64
# Rows of fewer elements are gathered one by one.
LEAST_ROW = 4
# The bytes of a cache line.
LINE = 64
# Operations of a read that may be out of bounds: two comparisons and a select.
PADDED = 3
# The cost of a diagonal element relative to one of a nearby table: its position needs a division.
SLANTED = 3
# Operations of a float extremum by selects, which also propagates NaN.
EXTREMUM = 3
# Operations of an extremum's position: two comparisons, two NaN tests, and two selects.
PLACE = 5
# The number of ranks that a selection finds in the time of one pass over all values.
RANKS = 8
# The cost of reading every second element of a row, relative to an element across rows.
SKIPPING = 12
# The cost of an element of a matrix column if other columns are read as well; if a row has only `FEW_LINES`, these are
# still in the cache when the next column is read.
COLUMN = 2
NARROW_COLUMN = 10
FEW_LINES = 2
# The cost of an element of a matrix whose rows are placed on diagonals, relative to one across rows.
SKEWED = 2
# If a loop traverses an array across this few rows, they stay in the cache while it traverses them along.
FEW_ROWS = 16
# XLA recomputes a value in at most this many places of the loop that reads it; one read more often is stored.
COPIES = 15
# A loop is short if its minor axis is too long for XLA to unroll, and too short to vectorise.
SHORT = range(9, 48)
# For windows with more elements in a row than the first number, the time per element falls to this share of it.
SHORT_WINDOW = 5
LONG_WINDOW = 0.06
# Multiplications and additions of a matrix that counts as small in a batch.
SMALL_MATRIX = 1 << 17
# Operations of a step of a registered reduction, per component of its state.
MONOID = 4


@dataclass(slots=True)
class Kernel:
    """A fused loop under construction: its `axes`, its arithmetic so far, and the bytes of each array that it reads.

    `steps` is the number of unrolled terms per point. `across` collects the points of whole arrays that it would
    traverse across rows, and the cost of each; `along` says that it reads a whole array along its minor axis: then XLA
    transposes the others by blocks. `uneven` says that it reads a part of some array, or reads it repeatedly.
    """

    axes: Axes
    seconds: float = 0.0
    steps: int = 1
    across: list[tuple[int, float]] = field(default_factory=list)
    along: bool = False
    uneven: bool = False
    read: Footprint = field(default_factory=Footprint)
    called: list[CallBuiltin] = field(default_factory=list)


@dataclass(slots=True)
class Bill:
    """The costs so far, and the nodes already computed: a node used several times counts once.

    Of the `seconds`, `memory` and `overhead` are those of a price. `shapes` are those of tensors that are looked up;
    `halos` are stored for all that read them. Tensors that are `fused` are computed where they are read, and `turned`
    says that what reads the result walks through it in another order.
    """

    machine: Machine
    meter: Meter
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    fused: frozenset[str] = frozenset()
    turned: bool = False
    seconds: float = 0.0
    bytes: int = 0
    memory: float = 0.0
    overhead: float = 0.0
    done: list[Node] = field(default_factory=list)
    halos: list[tuple[str, tuple[View, ...]]] = field(default_factory=list)

    def stored(self, node: Node, times: int = 1) -> None:
        """Everything up to the array of a node; slices and constants need none."""
        if isinstance(node, (Fill, Iota, Step)) or is_view(node) or node in self.done:
            return
        self.done.append(node)
        before = self.seconds, self.bytes, self.memory, self.overhead
        match node:
            case Contract():
                self.contract(node)
            case Convolve():
                self.convolve(node)
            case Band():
                self.band(node)
            case Fold():
                self.fold(node)
            case Pool():
                self.pool(node)
            case Scan():
                self.scan(node)
            case Deviations():
                self.deviations(node)
            case Position():
                self.position(node)
            case OrderStatistic():
                self.order_statistic(node)
            case MonoidFold():
                self.monoid_fold(node)
            case LoopNest(whole=whole, first=first):
                if first:
                    self.looping(node, loop_work(whole.group, whole.schedule, self.machine))
            case _:
                kernel = Kernel(node.axes)
                self.fuse(node, kernel)
                self.close(kernel, self.meter.size(node), self.meter.points(node))
        if times > 1:
            self.seconds += (times - 1) * (self.seconds - before[0])
            self.bytes += (times - 1) * (self.bytes - before[1])
            self.memory += (times - 1) * (self.memory - before[2])
            self.overhead += (times - 1) * (self.overhead - before[3])

    def fuse(self, node: Node, kernel: Kernel, times: int = 1) -> None:
        """The node as a part of a fused loop, executed `times` times."""
        points = self.meter.points(node) * times
        match node:
            case Fill() | Iota() | Step():
                return
            case Read():
                self.read(node, kernel, times)
            case Apply(operator=operator, arguments=arguments):
                each = operator_time(operator, node.dtype, self.machine)
                if operator == "**":
                    each = power_time(constant(arguments[1]), self.machine)
                elif operator == "power":
                    each = power_time(constant(arguments[1]) or MOST_PRODUCTS, self.machine)
                elif operator == "/" and is_power_of_two(constant(arguments[1])):
                    each = operator_time("*", node.dtype, self.machine)
                kernel.seconds += points * each
                # ``x * x`` has a single `x`.
                for argument in arguments[1:] if arguments[:1] == arguments[1:] else arguments:
                    self.fuse(argument, kernel, times)
            case CallBuiltin(function=function, arguments=arguments):
                if node in kernel.called:
                    return
                kernel.called.append(node)
                each = call_time(function, self.machine)
                if function == "pow" and len(arguments) == 2:
                    each = power_time(constant(arguments[1]), self.machine)
                kernel.seconds += points * each * slower(node.dtype, self.machine)
                for argument in operands(node):
                    self.fuse(argument, kernel, times)
            case Unroll(box=box, body=body, reducer=reducer):
                steps = prod(hi - lo for _, lo, hi in box)
                kernel.read.unrolled(box)
                self.fuse(body, kernel, times * steps)
                kernel.steps += times * steps
                kernel.seconds += points * max(0, steps - 1) * self.combined(reducer, node.dtype) * (1 + node.rank)
            case Pool(windows=(*_, (_, _, False))) if times == 1 and self.meter.long(node.axes) == self.meter.long(
                kernel.axes
            ):
                # The slices of the last dimension are read in the loop that reads the result.
                self.pool(node, kernel)
            case _:
                self.stored(node, times)
                self.array(node, node.axes, kernel, times)

    def read(self, node: Read, kernel: Kernel, times: int) -> None:
        """A tensor, read by slices or lookups."""
        machine, meter = self.machine, self.meter
        points = meter.points(node) * times
        looked_up = [d for d in node.dimensions if isinstance(d, Lookup)]
        if looked_up:
            for dimension in looked_up:
                self.fuse(dimension.positions, kernel, times)
            row = prod(d.count for d in behind_lookups(node))
            table = prod(self.shapes.get(node.tensor, ())) * ir.types.width(node.dtype)
            # Computed positions are near each other; data-dependent ones are anywhere.
            is_far = table > machine.near and any(holds_data(dimension.positions) for dimension in looked_up)
            each = machine.gather_far if is_far else machine.gather
            if row >= LEAST_ROW:
                rows, lines = max(1, points // row), -(-row * ir.types.width(node.dtype) // LINE)
                kernel.seconds += rows * (machine.gather_row + lines * (each - machine.gather))
                kernel.seconds += points * machine.element
            else:
                kernel.seconds += points * each
            kernel.read.read(node, meter.extents)
            return
        if any(isinstance(view, Halo) for view in node.views):
            if (node.tensor, node.views) not in self.halos:
                # All its readers share it.
                self.halos.append((node.tensor, node.views))
                whole = prod(self.shapes.get(node.tensor, ())) * ir.types.width(node.dtype)
                self.moved(2 * max(whole, meter.size(node)), 0.0, meter.points(node))
        elif times > 1 and any(map(extends, node.views)):
            # An array assembled from pieces and read several times is stored.
            self.moved(2 * meter.size(node), 0.0, meter.points(node))
        elif any(d.low or d.high for d in strips(node)) or any(map(extends, node.views)):
            kernel.seconds += points * PADDED * machine.element
        if any(isinstance(view, Slant) for view in node.views):
            kernel.seconds += points * SLANTED * machine.gather
        ends = sum(len(view.runs) - 1 for view in node.views if isinstance(view, Pieces) and view.fused)
        kernel.seconds += points * ends * PADDED * machine.element
        kernel.uneven = kernel.uneven or any(d.start.constant != 0 for d in strips(node))
        order = lies(node)
        minor = next((d for d in strips(node) if d.factors and d.factors[-1][0] == order[-1]), None) if order else None
        if minor is not None and abs(minor.stride) > 1:
            kernel.across.append((points, machine.strided / SKIPPING))
        walked = self.meter.long(kernel.axes)[-1:]
        if walked and walked[0] in node.axes and self.is_column(node):
            # Every point of the loop loads its own element, cached or not.
            row = self.shapes.get(node.tensor, (1,))[-1] * ir.types.width(node.dtype)
            part = NARROW_COLUMN if row <= FEW_LINES * LINE else COLUMN
            kernel.seconds += self.count(kernel.axes) * times * machine.strided / part
        self.array(node, order, kernel, times)

    def is_column(self, node: Read) -> bool:
        """Whether a slice has one element per row."""
        if node.views or not node.axes:
            return False
        last = node.dimensions[-1]
        return isinstance(last, Strip) and not last.factors and self.shapes.get(node.tensor, (1,))[-1] > 1

    def array(self, node: Node, order: Axes, kernel: Kernel, times: int) -> None:
        """An array with its axes in this memory order, read in a fused loop."""
        machine, meter = self.machine, self.meter
        points = meter.points(node) * times
        whole = len(self.meter.long(node.axes)) >= len(self.meter.long(kernel.axes))
        kernel.uneven = kernel.uneven or (not whole and bool(node.axes))
        each = self.across(order, kernel.axes, ir.types.width(node.dtype))
        if self.turned and whole and len(node.axes) > 1:
            each = 0.0 if each else machine.strided
        if isinstance(node, Read) and node.tensor in self.fused:
            each = 0.0
        if each:
            kernel.across.append((points, each))
        else:
            kernel.along = kernel.along or whole
            kernel.seconds += points * machine.element
        if not isinstance(node, Read):
            kernel.read.arrays[id(node)] = meter.size(node)
        elif node.tensor not in self.fused:
            kernel.read.read(node, meter.extents)

    def across(self, order: Axes, axes: Axes, width: int) -> float:
        """The cost per element of an array in this memory order, if a loop over `axes` traverses it across rows.

        0 if the loop runs along its minor axis.
        """
        order = self.meter.long(order)
        walked = [axis for axis in axes if axis in order]
        if not walked or walked[-1] == order[-1] or order[-1] not in walked:
            return 0.0
        if self.count(tuple(walked[walked.index(order[-1]) + 1 :])) <= FEW_ROWS:
            return self.machine.strided / SKIPPING
        step = self.count(order[order.index(walked[-1]) + 1 :]) * width
        return self.machine.strided * (self.machine.aligned if step % self.machine.alignment == 0 else 1.0)

    def close(self, kernel: Kernel, written: int, points: int) -> None:
        """Finishes the kernel with the array that it writes."""
        axes = self.meter.long(kernel.axes)
        seconds = kernel.seconds
        if kernel.uneven and axes and self.meter.extents.get(axes[-1], 1) in SHORT:
            seconds = max(seconds, self.count(axes) * kernel.steps * self.machine.short)
        for count, each in kernel.across:
            seconds += count * (min(each, self.machine.transposed) if kernel.along else each)
        self.moved(kernel.read.bytes + written, seconds, points)

    def moved(self, count: int, seconds: float, points: int) -> None:
        """A kernel that moves these bytes and computes for this time, whichever takes longer."""
        traffic, begun = self.machine.traffic(count), self.begun(points)
        self.bytes += count
        self.seconds += max(traffic, seconds) + begun
        self.memory += traffic if traffic >= seconds else 0.0
        self.overhead += begun

    def wait(self, seconds: float) -> None:
        """What is neither arithmetic nor memory."""
        self.seconds += seconds
        self.overhead += seconds

    def begun(self, points: int) -> float:
        return self.machine.dispatch + (self.machine.fork if points >= self.machine.divided else 0.0)

    def combined(self, reducer: Reducer | ir.Monoid, dtype: str) -> float:
        """The time for one more value in an unrolled reduction."""
        machine = self.machine
        if isinstance(reducer, ir.Monoid):
            return len(reducer.identity) * MONOID * machine.element * slower(dtype, machine)
        if reducer.inject is not None:
            return machine.slow_call * slower(dtype, machine)
        if reducer.gives_position or reducer.is_ranked:
            return PLACE * machine.element
        several = EXTREMUM if reducer.is_extremum and ir.types.is_float(dtype) else 1
        return several * machine.element * slower(dtype, machine)

    def looping(self, node: Node, work: Price) -> None:
        for source in operands(node):
            self.stored(source)
        self.seconds += work.seconds
        self.bytes += work.bytes
        self.memory += work.memory
        self.overhead += work.overhead

    def contract(self, node: Contract, written: int | None = None) -> None:
        """A matrix product for each value of the batch, with the necessary transposes; it may write fewer elements."""
        machine, meter = self.machine, self.meter
        a, b = node.operands
        for operand in (a, b, *(part for part in (*node.live, *node.counts) if part is not None)):
            self.stored(operand)
        first = (*node.spread, *a.axes)
        batch, summed, left, right = groups(node)
        # The sum runs along the minor axis of the operand whose axes come first in the result.
        both = bool(self.meter.long(left) and self.meter.long(right))
        leading = meter.leading(node)
        for operand, own, free in ((a, first, left), (b, b.axes, right)):
            order = lies(operand) if own == operand.axes else own
            if any(axis not in (*batch, *summed, *free) for axis in own):
                # Summation indices of only one operand are summed first.
                self.moved(meter.size(operand), meter.points(operand) * machine.fold_major, meter.points(operand))
                order = tuple(axis for axis in order if axis in (*batch, *summed, *free))
            if node.copied and operand is a:
                self.turned_over(operand)
            elif order and not meter.is_matrix(order, batch, free, summed):
                inner = (*free, *summed) if order[-1] in summed else (*summed, *free)
                self.transposed(operand, order, (*batch, *inner))
            elif both and meter.is_turned_round(order, free, summed, leads=free == leading):
                self.transposed(operand, order, (*batch, *((*free, *summed) if free == leading else (*summed, *free))))
            elif free == leading and both and self.meter.long(order)[-1] not in summed:
                each = self.across(order, (*batch, *free, *summed), ir.types.width(operand.dtype))
                self.moved(2 * meter.size(operand), meter.points(operand) * each, meter.points(operand))
            elif isinstance(operand, Read) and any(d.start.constant != 0 for d in strips(operand)):
                # A slice of a tensor is copied first.
                self.moved(2 * meter.size(operand), 0.0, meter.points(operand))
            if any(part is not None for part in node.live):
                self.moved(meter.size(operand), 0.0, meter.points(operand))
        count, m, n, k = (self.count(axes) for axes in (batch, left, right, summed))
        size = meter.size(node) if written is None else written
        self.multiplied((count, m, n, k), meter.size(a) + meter.size(b) + size, node.dtype)
        orders = (*batch, *left, *right), (*batch, *right, *left)
        if meter.long(node.axes) not in map(meter.long, orders):
            self.transposed(node, orders[0], node.axes, machine.aligned)

    def multiplied(self, extents: tuple[int, int, int, int], moved: int, dtype: str) -> None:
        """Products of matrices with m rows, n columns and k terms per element, which move `moved` bytes."""
        machine, (count, m, n, k) = self.machine, extents
        work = count * m * n * k
        rate = machine.multiply_add * slower(dtype, machine)
        if ir.types.is_integral(dtype):
            rate = machine.multiply_add * machine.integer_product
        elif ir.types.BITS[dtype] == 16:
            rate = machine.multiply_add * machine.half_product
        if 1 < min(n, k) < machine.narrow:
            rate = max(rate, machine.thin)
        elif count > 1 and min(m, n) == 1:
            rate = max(rate, machine.vector)
        elif count > 1 and m * n * k < SMALL_MATRIX:
            rate *= machine.small_product / machine.multiply_add
        seconds = work * rate + (count * machine.matrix if count > 1 else 0.0)
        self.moved(moved, seconds, work)

    def count(self, axes: Axes) -> int:
        return self.meter.count(axes)

    def transposed(self, node: Node, order: Axes, axes: Axes, slow: float = 1.0) -> None:
        """A transposed copy of an array in this memory order, at least `slow` times as slow as a loop."""
        points = self.meter.points(node)
        each = self.across(order, axes, ir.types.width(node.dtype))
        each = max(each, slow * self.machine.strided) if each else self.machine.transposed
        self.moved(2 * self.meter.size(node), points * each, points)

    def turned_over(self, node: Node) -> None:
        """A standalone copy of an array, by blocks that fit the cache."""
        points, size = self.meter.points(node), 2 * self.meter.size(node)
        each = self.machine.transposed if size <= self.machine.cache else self.machine.strided
        self.moved(size, points * each, points)

    def sliding(self, windows: Iterable[Window]) -> None:
        """Records the extents of the positions of windows."""
        extents = dict(self.meter.extents)
        for window in windows:
            reach = window.stride * (extents[window.output] - 1) + window.dilation * (extents[window.kernel] - 1)
            extents[window.position] = reach + 1
        self.meter = Meter(extents)

    def convolve(self, node: Convolve) -> None:
        self.sliding(node.windows)
        machine, meter = self.machine, self.meter
        self.stored(node.image)
        self.stored(node.kernel)
        groups, channels, features = (self.count(axes) for axes in (node.groups, node.channels, node.features))
        taps = channels * self.count(tuple(window.kernel for window in node.windows))
        work = meter.points(node) * taps
        # In a convolution with many groups each is slower than it would be alone.
        whole = channels * features if groups == 1 or node.split else max(channels, features)
        patches = machine.channel * (self.copied(node.windows[-1]) if groups == 1 or node.split else 1)
        rate = (machine.convolve + patches / max(1, whole)) * slower(node.dtype, machine)
        size = meter.size(node.image) + meter.size(node.kernel) + meter.size(node)
        self.moved(size, work * rate, work)
        self.wait((groups if node.split else 1) * machine.dispatch)

    def copied(self, window: Window) -> float:
        """The cost per point relative to a short window: for a long one whole rows are copied to patches."""
        run = self.count((window.kernel,)) if window.dilation == 1 else 1
        return max(LONG_WINDOW, min(1.0, SHORT_WINDOW / max(1, run)))

    def band(self, node: Band) -> None:
        """Copies of both operands by blocks, their products, and the band of each."""
        self.sliding((node.window,))
        band, width = band_of(node, self.meter.extents), ir.types.width(node.dtype)
        for operand in (node.still, node.sliding, *(part for part in (node.live, node.counts) if part is not None)):
            self.stored(operand)
        matrices, windows, products = (points * width for points in band.arrays)
        slides = node.window.output, node.window.position
        for operand, copied in ((node.still, matrices), (node.sliding, windows)):
            first = next(axis for axis in operand.axes if axis in slides or axis not in node.axes)
            each = self.machine.transposed if first in slides else self.machine.strided
            if node.is_summed and operand is node.still:
                each = SKEWED * self.machine.strided
            self.moved(self.meter.size(operand) + copied, copied // width * each, copied // width)
        if node.is_summed:
            # Zeros of the matrix must not multiply infinities.
            self.moved(windows, 0.0, windows // width)
        self.multiplied(band.matrices, matrices + windows + self.meter.size(node) + products, node.dtype)
        points = self.meter.points(node)
        self.moved(self.meter.size(node) + products, points * self.machine.transposed, points)

    def fold(self, node: Fold) -> None:
        machine, meter, operand = self.machine, self.meter, node.operand
        if sums_products(node) and isinstance(operand, Contract):
            self.contract(operand, meter.size(node))
            return
        times = prod(hi - lo for _, lo, hi in node.shifts)
        points, results = times * meter.points(operand), meter.points(node)
        axes = self.meter.long(operand.axes)
        minor = bool(axes) and axes[-1] in node.indices
        kernel = Kernel(operand.axes)
        kernel.read.unrolled(node.shifts)
        if node.shifts or fuses(node):
            self.fuse(operand, kernel, times)
            rate = machine.fold_minor if minor else machine.fold_major
        else:
            self.stored(operand)
            self.array(operand, lies(operand), kernel, 1)
            plain = node.reducer is Reducer.SUM or node.dtype in ("float32", "float64", "bool")
            rate = (machine.fold_minor if minor else machine.fold_major) if plain else machine.fold_slow
        if multiplies_columns(node):
            rate = machine.fold_columns
        kernel.seconds += points * rate * slower(node.dtype, machine) + (results * machine.fold_row if minor else 0.0)
        self.close(kernel, meter.size(node), points)

    def pool(self, node: Pool, reader: Kernel | None = None) -> None:
        """One dimension after the other; the last one is part of its `reader`, if it has one."""
        machine, width = self.machine, ir.types.width(node.dtype)
        self.sliding(window for window, _, _ in node.windows)
        extents = self.meter.extents
        self.stored(node.operand)
        axes, sizes = list(node.operand.axes), [self.meter.points(node.operand)]
        for window, _, _ in node.windows:
            axes[axes.index(window.position)] = window.output
            sizes.append(prod(extents.get(axis, 1) for axis in axes))
        # Backwards: a dimension recomputes the values of the one before it wherever it reads them.
        written, computed, places, seconds = sizes[-1], sizes[-1], 1, 0.0
        for number, (_, extent, native) in reversed(list(enumerate(node.windows))):
            each = machine.window if native else machine.element + self.combined(node.reducer, node.dtype)
            seconds += computed * extent * each * slower(node.dtype, machine)
            computed, places = computed * extent, places * extent
            if number == 0 or native or node.windows[number - 1][2] or places > COPIES:
                if reader is None:
                    self.moved((sizes[number] + written) * width, seconds, written)
                else:
                    reader.seconds += seconds
                    reader.read.arrays[id(node)] = sizes[number] * width
                    reader = None
                written, computed, places, seconds = sizes[number], sizes[number], 1, 0.0

    def scan(self, node: Scan) -> None:
        for operand in operands(node):
            self.stored(operand)
        points, width = self.meter.points(node.operand), ir.types.width(node.dtype)
        machine, extent = self.machine, self.meter.extents.get(node.index, 1)
        if node.looped:
            # The axis becomes the outermost.
            across = self.meter.long(node.operand.axes)[:1] != (node.index,)
            each = machine.running_looped + (machine.strided if across else 0.0)
            more = -(-extent // node.block) * machine.running_trip
        else:
            inner = node.operand.axes[node.operand.axes.index(node.index) + 1 :]
            across = self.count(inner) < FULL_ROW
            each = machine.running + (machine.strided if across else 0.0)
            levels = ceil(log(max(2, extent), node.block))
            more = KERNELS * levels * (machine.dispatch + (machine.fork if points >= machine.divided else 0.0))
        # The machine's rate is for sums; other reductions are slower by their combining cost.
        each *= slower(node.dtype, machine)
        each += max(
            0.0, self.combined(node.reducer, node.operand.dtype) - self.combined(Reducer.SUM, node.operand.dtype)
        )
        seconds = points * each + more
        self.moved(self.meter.size(node.operand) + self.meter.points(node) * width, seconds, points)

    def deviations(self, node: Deviations) -> None:
        """Two sums in one loop, and a run-time test that chooses between two ways to compute the result."""
        machine, points, results = self.machine, self.meter.points(node.operand), self.meter.points(node)
        kernel = Kernel(node.operand.axes)
        self.fuse(node.operand, kernel)
        axes = self.meter.long(node.operand.axes)
        minor = bool(axes) and axes[-1] in node.indices
        rate = (machine.fold_minor if minor else machine.fold_major) + machine.element
        kernel.seconds += points * rate * slower(node.dtype, machine) + (results * machine.fold_row if minor else 0.0)
        self.close(kernel, self.meter.size(node), points)
        self.wait(machine.branch)

    def position(self, node: Position) -> None:
        self.stored(node.operand)
        points = self.meter.points(node.operand)
        size = self.meter.size(node.operand)
        if node.mask is not None:
            self.stored(node.mask)
            self.moved(3 * size, points * 4 * self.machine.element, points)
        self.moved(size + self.meter.size(node), points * self.machine.position, points)

    def order_statistic(self, node: OrderStatistic) -> None:
        self.stored(node.operand)
        if node.mask is not None:
            self.stored(node.mask)
        points, levels = self.meter.points(node.operand), max(1, prod(node.extents).bit_length() - 1)
        each = levels * self.machine.sort
        if node.first is not None:
            each = min(each, self.machine.position * (1 + node.first / RANKS)) if node.is_quick else each / 2
        self.moved(6 * self.meter.size(node.operand), points * each, points)

    def monoid_fold(self, node: MonoidFold) -> None:
        machine = self.machine
        steps = prod(block.steps for block in node.blocks)
        inner = Bill(machine, self.meter)
        for operand in operands(node):
            inner.stored(operand)
        count = self.meter.points(node) * prod(node.extents) * steps
        components = len(node.monoid.identity)
        seconds = count * self.combined(node.monoid, node.element)
        # A tree of combinations: every level writes half as much as the one before.
        size = 3 * count * components * ir.types.width(node.element)
        self.bytes += inner.bytes * steps
        self.seconds += inner.seconds * steps
        self.memory += inner.memory * steps
        self.overhead += inner.overhead * steps
        self.wait(steps * machine.trip if steps > 1 else 0.0)
        self.moved(size, seconds, count)


def strips(node: Read) -> list[Strip]:
    return [dimension for dimension in node.dimensions if isinstance(dimension, Strip)]


def behind_lookups(node: Read) -> list[Strip]:
    """The dimensions after the last one that is looked up."""
    found: list[Strip] = []
    for dimension in reversed(node.dimensions):
        if isinstance(dimension, Lookup):
            break
        found.append(dimension)
    return found


def is_view(node: Node) -> bool:
    """Whether a node is a tensor in memory, up to the order of axes and slicing."""
    return (
        isinstance(node, Read)
        and all(isinstance(d, Strip) and not d.low and not d.high for d in node.dimensions)
        and all(map(is_reshape, node.views))
    )


def constant(node: Node) -> float | None:
    """The value of a constant node."""
    while isinstance(node, Apply) and node.operator == "cast":
        [node] = node.arguments
    return float(node.value) if isinstance(node, Fill) and not isinstance(node.value, complex) else None


def is_power_of_two(value: float | None) -> bool:
    """Whether XLA multiplies by the reciprocal of a divisor, which is exact."""
    return value is not None and abs(frexp(value)[0]) == 0.5
