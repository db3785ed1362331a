"""Chooses the two indices that a tile spans, and how many programs share a reduction."""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import Final

from ... import ir
from ...planning.data.nests import Nest, Operand
from ...symbolic import Affine, IndexVar
from .blocks import SMALLEST_DOT, Blocks, block
from .loops import product_among
from .products import Product
from .reducers import begin, has_lanes
from .refusals import reducer_of

Axes = tuple[IndexVar, ...]
Ranges = dict[IndexVar, tuple[int, int]]
Dims = tuple[IndexVar | None, IndexVar | None]

# The cost per thread, relative to an addition: a load takes six times as long, for up to four columns at once, and is
# repeated once per tile through the second-level cache; a builtin is about ten operations, a loop step about four. Only
# the order of the candidates depends on these numbers: it matches that of nine tiles of a min-plus product on an H200
# (docs/gpu.md).
_LOAD: Final = 6.0
_VECTOR: Final = 4
_FAR: Final = 6.0
_CALL: Final = 10.0
_STEP: Final = 4.0
# A matrix unit does this many multiplications at the cost of one.
_MATRIX_UNIT: Final = 8.0

# The maximum number of values of a tile, 64 per thread, and its longest sides. Columns may be lanes of a sum, rows are
# parts of the result.
_VALUES: Final = 8192
_LONGEST_ROWS: Final = 256
_LONGEST_COLUMNS: Final = 1024
# The side lengths of a tile of a matrix product.
_SIDE: Final = 64

# Registers of a thread, out of 255, for running values and the operands read for them. Further values are spilled.
_REGISTERS: Final = 128

# The threads of a program; a tile with fewer values leaves some idle.
_THREADS: Final = 128

# A device has about a hundred multiprocessors: with fewer programs some would be idle. (H100: 132, A100: 108.)
_PROGRAMS: Final = 256
# The minimum number of steps in a share of a reduction.
_STEPS: Final = 32


@dataclass(frozen=True, slots=True)
class Tiling:
    """``(rows, columns)`` of extents `tile`; every other axis is on the grid, one element per program.

    The columns are an axis, or with `lanes` a reduction index. With a `product` each chunk is a matrix product. `split`
    programs share the values of the index `shared`, `share` each.
    """

    rows: IndexVar | None
    columns: IndexVar | None
    tile: tuple[int, int]
    lanes: bool
    product: Product | None
    shared: IndexVar
    split: int
    share: int

    def warps(self, exprs: Iterable[ir.Expr], ranges: Ranges, blocks: Blocks) -> int:
        """The number of warps per program. Exact float products are unrolled: with twice the threads each is half as
        long.
        """
        dims = (self.rows, self.columns)
        inside = (node for expr in exprs for node in ir.walk(expr) if isinstance(node, ir.Reduce))
        products = self.product is not None or any(product_among(node, dims, ranges) for node in inside)
        return blocks.warps or (8 if products else 4)

    def chunk(self, ranges: Ranges, blocks: Blocks) -> int:
        """The number of values of the shared index in one step."""
        lo, hi = ranges[self.shared]
        if self.product is not None and self.product.index == self.shared:
            return self.product.chunk(hi - lo, blocks.chunk)
        return self.tile[1] if self.lanes and self.shared == self.columns else 1

    def in_chunks(self, ranges: Ranges, blocks: Blocks) -> tuple[IndexVar, int] | None:
        """The index whose values lie along the columns, a chunk at a time, and the chunk size."""
        return (self.shared, self.chunk(ranges, blocks)) if self.lanes or self.product is not None else None


@dataclass(frozen=True, slots=True)
class Sides:
    """The extents of a tile, and those of one thread's part of it."""

    held: tuple[int, int]
    tile: tuple[int, int]


def choose(nest: Nest, reduce: ir.Reduce, blocks: Blocks) -> Tiling:
    """The tiling with the least estimated work; `reduce` is the reduction of the nest as it will run."""
    ranges = nest.ranges
    costs = _Costs.of(reduce, ranges, blocks)
    _, (rows, columns), tile, product = min(_candidates(nest, costs), key=lambda candidate: candidate[0])
    lanes = columns in reduce.indices
    shared = product.index if product is not None else columns if lanes else None
    shared = shared or max(reduce.indices, key=lambda index: ranges[index][1] - ranges[index][0])
    tiling = Tiling(rows, columns, tile, lanes, product, shared, 1, ranges[shared][1] - ranges[shared][0])
    programs = prod(grid_of(tiling, nest.axes, ranges))
    chunk = tiling.chunk(ranges, blocks)
    steps = -(-tiling.share // chunk)
    split = blocks.split or 1
    if blocks.split is None:
        while programs * split < _PROGRAMS and steps >= 2 * split * _STEPS:
            split *= 2
    split = min(split, steps)
    return Tiling(rows, columns, tile, lanes, product, shared, split, -(-steps // split) * chunk)


def of_group(
    rows: IndexVar | None,
    loop: IndexVar,
    products: Sequence[int | None],
    ranges: Ranges,
    blocks: Blocks,
) -> Tiling:
    """The tiling of several sums over a loop: for each the number of columns of a matrix product, or None for element
    by element.

    A program keeps, per row, the columns of its products, and one value in each lane for every other sum; the lanes
    hold the summed values too.
    """
    lo, hi = ranges[loop]
    first, end = (0, 1) if rows is None else ranges[rows]
    dots = [width for width in products if width is not None]
    least = SMALLEST_DOT if dots else 1
    chunk = block(hi - lo, blocks.columns or _SIDE, least)
    kept = sum(dots) + chunk * (2 + len(products) - len(dots))
    most = _REGISTERS * _THREADS * (2 if dots else 1) // 2
    height = block(end - first, blocks.rows or _SIDE, least)
    while height > least and height * kept > most and not blocks.rows:
        height //= 2
    return Tiling(rows, loop, (height, chunk), True, None, loop, 1, hi - lo)


def orders(
    operands: Iterable[Operand], exprs: Iterable[ir.Expr], columns: IndexVar | None
) -> dict[str, tuple[int, ...]]:
    """The order of each operand's axes in memory, such that neighbouring columns of a tile are adjacent.

    Lanes that read from different cache lines all wait for each other; an operand is copied once, and read for every
    tile. Matrix products without `columns` choose their own orders.
    """
    found: dict[str, tuple[int, ...]] = {}
    apart: set[str] = set()
    for access in (access for expr in exprs for access in ir.accesses(expr)):
        name, last = access.tensor.name, len(access.indices) - 1
        axes = [axis for axis, affine in enumerate(access.indices) if _walks(affine, columns)]
        order = (*(axis for axis in range(last + 1) if not axes or axis != axes[-1]), *axes[-1:])
        if axes and found.setdefault(name, order) != order:
            apart.add(name)
    return {o.name: found[o.name] if o.name in found.keys() - apart else tuple(range(len(o.shape))) for o in operands}


def _walks(affine: Affine, index: IndexVar | None) -> bool:
    """Whether a subscript changes by plus or minus one with an index."""
    return index is not None and not affine.is_data and affine.weight(index).constant in (1, -1)


def grid_of(tiling: Tiling, axes: Axes, ranges: Ranges) -> tuple[int, ...]:
    """The extents of the grid: tiles along the rows and the columns, then the other axes, then the shares."""

    def tiles(index: IndexVar | None, extent: int) -> int:
        return 1 if index is None else -(-(ranges[index][1] - ranges[index][0]) // extent)

    rows = tiles(tiling.rows, tiling.tile[0])
    columns = 1 if tiling.lanes else tiles(tiling.columns, tiling.tile[1])
    rest = (ranges[axis][1] - ranges[axis][0] for axis in others(tiling, axes))
    return (rows, columns, *rest, tiling.split)


def others(tiling: Tiling, axes: Axes) -> Axes:
    """The axes that no tile spans."""
    return tuple(axis for axis in axes if axis not in (tiling.rows, tiling.columns))


def _tiles(dims: Dims, product: Product | None, ranges: Ranges, blocks: Blocks) -> Iterator[tuple[int, int]]:
    """The candidate tiles; if one dimension is short the other is longer, so that every thread has work."""
    extents = [1 if index is None else ranges[index][1] - ranges[index][0] for index in dims]
    asked = blocks.rows or _SIDE, blocks.columns or _SIDE
    if product is not None:
        yield block(extents[0], asked[0], SMALLEST_DOT), block(extents[1], asked[1], SMALLEST_DOT)
    elif blocks.rows or blocks.columns:
        columns = block(extents[1], asked[1])
        rows = block(extents[0], min(_LONGEST_ROWS, asked[0] * asked[1] // columns))
        yield rows, block(extents[1], min(_LONGEST_COLUMNS, asked[0] * asked[1] // rows))
    else:
        columns = block(extents[1], _LONGEST_COLUMNS if dims[0] is None else _LONGEST_COLUMNS // 2)
        while columns >= 1:
            for values in (_VALUES, _VALUES // 2, _VALUES // 4):
                yield block(extents[0], min(_LONGEST_ROWS, values // columns)), columns
            columns //= 2


def _candidates(nest: Nest, costs: "_Costs") -> Iterator[tuple[float, Dims, tuple[int, int], Product | None]]:
    reduce, ranges = costs.reduce, costs.ranges
    pairs: list[Dims] = [(None, None)]
    pairs += [(axis, None) for axis in nest.axes]
    pairs += [(one, other) for n, one in enumerate(nest.axes) for other in nest.axes[n + 1 :]]
    if has_lanes(reducer_of(reduce)):
        pairs += [(axis, index) for axis in (None, *nest.axes) for index in reduce.indices]
    for dims in pairs:
        product = None
        if dims[1] not in reduce.indices:
            product = product_among(reduce, dims, ranges)
        for one in (product, None) if product is not None else (None,):
            for tile in dict.fromkeys(_tiles(dims, one, ranges, costs.blocks)):
                yield costs.cost(dims, tile, one), dims, tile, one


@functools.lru_cache(maxsize=256)
def _state(reducer: ir.Reducer, accumulate: str, *, counted: bool) -> int:
    """The registers of one running value."""
    return sum(-(-part.dtype.itemsize // 4) for part in begin(reducer, accumulate, (), counted=counted))


def _held(tile: tuple[int, int]) -> tuple[int, int]:
    """The rows and columns of a tile held by one thread: threads are laid out along the columns first.

    A thread loads and computes its shared values itself: only its own rows and columns benefit.
    """
    along = min(tile[1], _THREADS)
    return max(1, tile[0] * along // _THREADS), tile[1] // along


@dataclass(frozen=True, eq=False)
class _Costs:
    """The costs of tiles of a reduction. `exprs` are its body and its guard, `moving` all indices of loops in a tile.

    `reads` are those not repeated by an inner reduction, and `state` the registers of a running value.
    """

    reduce: ir.Reduce
    ranges: Ranges
    blocks: Blocks
    exprs: tuple[ir.Expr, ...]
    moving: frozenset[IndexVar]
    reads: frozenset[ir.Access]
    state: int

    @staticmethod
    def of(reduce: ir.Reduce, ranges: Ranges, blocks: Blocks) -> "_Costs":
        exprs = (reduce.body,) if reduce.guard is None else (reduce.body, reduce.guard)
        nodes = [node for expr in exprs for node in ir.walk(expr)]
        inner = frozenset(index for node in nodes if isinstance(node, ir.Reduce) for index in node.indices)
        reads = frozenset(n for n in nodes if isinstance(n, ir.Access) and not ir.free_indices(n) & inner)
        state = _state(reducer_of(reduce), reduce.accumulate, counted=reduce.guard is not None)
        return _Costs(reduce, ranges, blocks, exprs, inner.union(reduce.indices), reads, state)

    def cost(self, dims: Dims, tile: tuple[int, int], product: Product | None) -> float:
        """The work of one point of the nest, on average."""
        waste = 1.0
        for index, extent in zip(dims, tile, strict=True):
            if index is not None:
                length = self.ranges[index][1] - self.ranges[index][0]
                waste *= -(-length // extent) * extent / max(1, length)
        waste *= max(1.0, _THREADS / (tile[0] * tile[1]))
        if product is not None:
            return waste * self.product(product, dims, tile)
        sides = Sides(_held(tile), tile)
        is_free = not (self.blocks.rows or self.blocks.columns) and tile != (1, 1)
        if is_free and self.registers(dims, sides.held) > _REGISTERS:
            return inf
        work = sum(self.work(expr, dims, sides, self.moving) for expr in self.exprs) + 1
        return waste * (work + _STEP / prod(sides.held))

    def registers(self, dims: Dims, held: tuple[int, int]) -> int:
        """The registers of a thread: the state of its values, and their operands, with shared ones counted once."""
        found = self.state * prod(held)
        for access in self.reads:
            free = ir.free_indices(access)
            found += prod(extent for index, extent in zip(dims, held, strict=True) if index in free)
        return found

    def product(self, product: Product, dims: Dims, tile: tuple[int, int]) -> float:
        """The work of a matrix product, per point."""
        lo, hi = self.ranges[product.index]
        chunk = product.chunk(hi - lo, self.blocks.chunk)
        work = 1 / _MATRIX_UNIT + _STEP / (tile[0] * tile[1] * chunk)
        if product.outer is not None:
            work += self.work(product.outer.body, dims, Sides(tile, tile)) / chunk
        for side, own, extents, shared in (
            (product.left, (dims[0], product.index), (tile[0], chunk), tile[1]),
            (product.right, (product.index, dims[1]), (chunk, tile[1]), tile[0]),
        ):
            for expr in (side.body, *side.guards):
                work += self.work(expr, own, Sides(extents, extents)) / shared
        return work

    def work(self, expr: ir.Expr, dims: Dims, sides: Sides, moving: frozenset[IndexVar] | None = None) -> float:
        """The work of an expression, divided by the number of values that share it; 0 if it does not depend on the
        `moving` indices.
        """
        free = ir.free_indices(expr)
        if isinstance(expr, (ir.Const, ir.Extent, ir.Index)) or (moving is not None and not free & moving):
            return 0.0
        lanes, far = (
            1 / prod(extent for index, extent in zip(dims, extents, strict=True) if index is None or index not in free)
            for extents in (sides.held, sides.tile)
        )
        if isinstance(expr, ir.Reduce):
            points = prod(max(0, self.ranges[index][1] - self.ranges[index][0]) for index in expr.indices)
            product = product_among(expr, dims, self.ranges)
            if product is not None:
                return points * self.product(product, dims, sides.tile)
            inside = sum(self.work(child, dims, sides, moving) for child in ir.children(expr))
            return points * (inside + lanes + _STEP / prod(sides.held))
        own = _CALL * lanes if isinstance(expr, ir.Call) else lanes
        if isinstance(expr, ir.Access):
            vector = min(_VECTOR, sides.held[1]) if dims[1] in free else 1
            own = _LOAD * lanes / vector + _FAR * far
        return own + sum(self.work(child, dims, sides, moving) for child in ir.children(expr))
