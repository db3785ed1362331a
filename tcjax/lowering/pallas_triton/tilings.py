"""Which two indices a tile spans, and how many programs share a reduction."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

from ... import ir
from ...planning.nests import Nest
from ...symbolic import IndexVar
from .blocks import SMALLEST_DOT, Blocks, block
from .loops import product_among
from .products import Product
from .reducers import has_lanes
from .refusals import reducer_of

Ranges = dict[IndexVar, tuple[int, int]]
Dims = tuple[IndexVar | None, IndexVar | None]

# What a step costs per lane, beside one addition: a load goes through the first cache, a builtin is some ten
# operations, a step of a loop has some twenty for the whole tile. Only the order of the candidates depends on them.
_LOAD: Final = 4.0
_CALL: Final = 10.0
_STEP: Final = 20.0
# A matrix unit does so many multiplications at the cost of one.
_MATRIX_UNIT: Final = 8.0

# Of a tile that has hardly a second dimension; columns may be lanes of one sum, rows are elements of the result.
_LONGEST_ROWS: Final = 256
_LONGEST_COLUMNS: Final = 1024

# A tile with fewer lanes than threads leaves some without work.
_THREADS: Final = 128

# A device has some hundred multiprocessors: with fewer programs some would wait. (H100: 132, A100: 108.)
_PROGRAMS: Final = 256
# A share of a reduction is at least so many steps.
_STEPS: Final = 32


@dataclass(frozen=True, slots=True)
class Tiling:
    """``(rows, columns)`` of extents `tile`; every other axis is on the grid, one element a program.

    The columns are an axis, or with `lanes` a reduction index. With a `product` each chunk is a matrix product.
    `split` programs share the values of the index `shared`, `share` for each.
    """

    rows: IndexVar | None
    columns: IndexVar | None
    tile: tuple[int, int]
    lanes: bool
    product: Product | None
    shared: IndexVar
    split: int
    share: int

    def warps(self, reduce: ir.Reduce, ranges: Ranges, blocks: Blocks) -> int:
        """How many warps run a program. Exact products of floats are unrolled: half as long for twice the threads."""
        dims = (self.rows, self.columns)
        inside = (node for node in ir.walk(reduce.body) if isinstance(node, ir.Reduce))
        products = self.product is not None or any(product_among(node, dims, ranges) for node in inside)
        return blocks.warps or (8 if products else 4)

    def chunk(self, ranges: Ranges, blocks: Blocks) -> int:
        """How many values of the shared index one step takes."""
        lo, hi = ranges[self.shared]
        if self.product is not None and self.product.index == self.shared:
            return self.product.chunk(hi - lo, blocks.chunk)
        return self.tile[1] if self.lanes and self.shared == self.columns else 1


def choose(nest: Nest, reduce: ir.Reduce, blocks: Blocks) -> Tiling:
    """The tiling with the least estimated work; `reduce` is the reduction of the nest as it will run."""
    ranges = nest.ranges
    found = min(_candidates(nest, reduce, blocks), key=lambda candidate: candidate[0])
    _, (rows, columns), product = found
    lanes = columns in reduce.indices
    tile = _tile((rows, columns), product, ranges, blocks)
    shared = product.index if product is not None else columns if lanes else None
    shared = shared or max(reduce.indices, key=lambda index: ranges[index][1] - ranges[index][0])
    tiling = Tiling(rows, columns, tile, lanes, product, shared, 1, ranges[shared][1] - ranges[shared][0])
    programs = prod(grid_of(tiling, nest))
    chunk = tiling.chunk(ranges, blocks)
    steps = -(-tiling.share // chunk)
    split = blocks.split or 1
    if blocks.split is None:
        while programs * split < _PROGRAMS and steps >= 2 * split * _STEPS:
            split *= 2
    split = min(split, steps)
    return Tiling(rows, columns, tile, lanes, product, shared, split, -(-steps // split) * chunk)


def grid_of(tiling: Tiling, nest: Nest) -> tuple[int, ...]:
    """The extents of the grid: tiles along the rows and the columns, then the other axes, then the shares."""
    ranges = nest.ranges

    def tiles(index: IndexVar | None, extent: int) -> int:
        return 1 if index is None else -(-(ranges[index][1] - ranges[index][0]) // extent)

    rows = tiles(tiling.rows, tiling.tile[0])
    columns = 1 if tiling.lanes else tiles(tiling.columns, tiling.tile[1])
    rest = (ranges[axis][1] - ranges[axis][0] for axis in others(tiling, nest))
    return (rows, columns, *rest, tiling.split)


def others(tiling: Tiling, nest: Nest) -> tuple[IndexVar, ...]:
    """The axes that no tile spans."""
    return tuple(axis for axis in nest.axes if axis not in (tiling.rows, tiling.columns))


def _tile(dims: Dims, product: Product | None, ranges: Ranges, blocks: Blocks) -> tuple[int, int]:
    """The extents of the tile; where one dimension is short the other is the longer, so that every thread has work."""
    extents = [1 if index is None else ranges[index][1] - ranges[index][0] for index in dims]
    if product is not None:
        rows, columns = block(extents[0], blocks.rows, SMALLEST_DOT), block(extents[1], blocks.columns, SMALLEST_DOT)
        return rows, columns
    columns = block(extents[1], blocks.columns)
    rows = block(extents[0], min(_LONGEST_ROWS, blocks.rows * blocks.columns // columns))
    return rows, block(extents[1], min(_LONGEST_COLUMNS, blocks.rows * blocks.columns // rows))


def _candidates(nest: Nest, reduce: ir.Reduce, blocks: Blocks) -> Iterator[tuple[float, Dims, Product | None]]:
    ranges = nest.ranges
    pairs: list[Dims] = [(None, None)]
    pairs += [(axis, None) for axis in nest.axes]
    pairs += [(one, other) for n, one in enumerate(nest.axes) for other in nest.axes[n + 1 :]]
    if has_lanes(reducer_of(reduce)):
        pairs += [(axis, index) for axis in (None, *nest.axes) for index in reduce.indices]
    for dims in pairs:
        product = None
        if dims[1] not in reduce.indices:
            product = product_among(reduce, dims, ranges)
        yield _cost(reduce, dims, product, ranges, blocks), dims, product
        if product is not None:
            yield _cost(reduce, dims, None, ranges, blocks), dims, None


def _cost(reduce: ir.Reduce, dims: Dims, product: Product | None, ranges: Ranges, blocks: Blocks) -> float:
    """The work of one point of the nest, on average."""
    tile = _tile(dims, product, ranges, blocks)
    waste = 1.0
    for index, extent in zip(dims, tile, strict=True):
        if index is not None:
            length = ranges[index][1] - ranges[index][0]
            waste *= -(-length // extent) * extent / max(1, length)
    waste *= max(1.0, _THREADS / (tile[0] * tile[1]))
    exprs = (reduce.body,) if reduce.guard is None else (reduce.body, reduce.guard)
    if product is None:
        work = sum(_work(expr, dims, tile, ranges, blocks) for expr in exprs) + 1
        return waste * (work + _STEP / (tile[0] * tile[1]))
    return waste * _product_work(product, dims, tile, ranges, blocks)


def _product_work(product: Product, dims: Dims, tile: tuple[int, int], ranges: Ranges, blocks: Blocks) -> float:
    lo, hi = ranges[product.index]
    chunk = product.chunk(hi - lo, blocks.chunk)
    work = 1 / _MATRIX_UNIT + _STEP / (tile[0] * tile[1] * chunk)
    if product.outer is not None:
        work += _work(product.outer.body, dims, tile, ranges, blocks) / chunk
    for side, own, extents, shared in (
        (product.left, (dims[0], product.index), (tile[0], chunk), tile[1]),
        (product.right, (product.index, dims[1]), (chunk, tile[1]), tile[0]),
    ):
        for expr in (side.body, *side.guards):
            work += _work(expr, own, extents, ranges, blocks) / shared
    return work


def _work(expr: ir.Expr, dims: Dims, tile: tuple[int, int], ranges: Ranges, blocks: Blocks) -> float:
    """The work of an expression by the lanes of a tile that share it."""
    free = ir.free_indices(expr)
    lanes = 1.0
    for index, extent in zip(dims, tile, strict=True):
        if index is None or index not in free:
            lanes /= extent
    if isinstance(expr, (ir.Const, ir.Extent, ir.Index)):
        return 0.0
    if isinstance(expr, ir.Reduce):
        points = prod(max(0, ranges[index][1] - ranges[index][0]) for index in expr.indices)
        product = product_among(expr, dims, ranges)
        if product is not None:
            return points * _product_work(product, dims, tile, ranges, blocks)
        inside = sum(_work(child, dims, tile, ranges, blocks) for child in ir.children(expr))
        return points * (inside + lanes * (1 + _STEP / (tile[0] * tile[1] * lanes)))
    own = _LOAD if isinstance(expr, ir.Access) else _CALL if isinstance(expr, ir.Call) else 1.0
    return own * lanes + sum(_work(child, dims, tile, ranges, blocks) for child in ir.children(expr))
