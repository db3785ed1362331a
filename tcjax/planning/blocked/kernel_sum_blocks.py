"""A bundle in blocks of its matrices: the computation of a block, and the columns that it is multiplied with."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isqrt, prod
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import Box, IndexVar
from ..data.blocked_loop import BEGIN as BEGINNING
from ..data.blocked_loop import BLOCK, ROW, Block, BlockedLoop, End, Points, Tile, between
from ..data.groups import Blocks, KernelSums
from ..data.kernel_sums import Columns, MatrixProducts, Piece
from ..data.layouts import Layout
from ..data.nests import Nest, Operand
from ..data.nodes import Node
from ..rules import plan_value
from ..scope import Scope, scope_of
from .domains import ends
from .kernel_sums import Apart, Axes, apart, common_conditions
from .layouts import laid_out
from .loop_schedules import SAVED, dividing, is_contraction
from .spaces import Part, Space
from .terms import written_out

# Elements of a block of the matrices, measured on two cores: 64 rows of 8192 took 1.2 times as long as 128.
ELEMENTS: Final = 1 << 20
# With fewer rows or columns, a matrix product is memory-bound; then columns are tiled for this many rows.
FEWEST: Final = 16
ROWS: Final = 256
# Rows and columns of a block if a guard leaves some blocks empty: small ones follow its edge, and each has a start-up
# cost worth this many points.
GUARDED: Final = (64, 128, 256, 512, 1024)
BEGIN: Final = 1 << 14
# Square blocks, if the mask depends on data.
SQUARE: Final = 128
# Arrays of a block that exist at the same time: a matrix, and an intermediate one.
ARRAYS: Final = 2
# Names for the matrices' expression during layout, and for the start of a tile of rows; no program uses them.
ALL: Final = "matrices."
FIRST: Final = IndexVar("c.")


def choose_blocks(bundle: KernelSums, memory: int | None) -> Blocks | None:
    """The blocks of a bundle; None if they would be too thin, or the sums are not a bundle."""
    found = apart(bundle)
    if found is None:
        return None
    extents = {index: hi - lo for index, (lo, hi) in bundle.ranges.items()}
    rows, columns = _sides(found, extents)
    loop, tiled = rows[-1], columns[-1]
    others = prod(extents[axis] for axis in (*found.batch, *rows[:-1], *columns[:-1])) * len(found.matrices)
    elements = ELEMENTS
    if memory is not None:
        elements = min(elements, memory // (ARRAYS * ir.types.width(found.matrices[0].dtype)))
    room, width = elements // max(1, others), extents[tiled]
    if found.conditions and (guarded := _guarded(bundle, found, others, room)) is not None:
        return guarded
    if room // max(1, width) < min(FEWEST, extents[loop]):
        width = room // ROWS
    width = dividing(min(width, extents[tiled]), extents[tiled])
    height = min(room // max(1, width), extents[loop])
    if width < min(FEWEST, extents[tiled]) or height < min(FEWEST, extents[loop]):
        return None
    tile = () if width == extents[tiled] else ((tiled, width),)
    return Blocks(loop, dividing(height, extents[loop]), tile)


def _guarded(bundle: KernelSums, found: Apart, others: int, room: int) -> Blocks | None:
    """The blocks that visit the fewest points under a guard; None if the guard leaves out little.

    If the guard depends on data, small ones, which follow any edge.
    """
    extents = {index: hi - lo for index, (lo, hi) in bundle.ranges.items()}
    rows, columns = _sides(found, extents)
    loop, tiled = rows[-1], columns[-1]
    if any(each.is_data for each in found.conditions):
        size = min(SQUARE, isqrt(room))
        height, width = dividing(size, extents[loop]), dividing(size, extents[tiled])
        return Blocks(loop, height, ((tiled, width),)) if min(height, width) >= FEWEST else None
    best: Blocks | None = None
    least = SAVED * extents[loop] * extents[tiled] * others
    for size in GUARDED:
        height, width = dividing(size, extents[loop]), dividing(size, extents[tiled])
        blocks = Blocks(loop, height, ((tiled, width),))
        planner = _Planner(bundle, blocks, found)
        follows = Blocks(loop, height, ((tiled, planner.widest()),), follows=True)
        for each, count in ((blocks, planner.visited()), (follows, -(-extents[loop] // height))):
            [(_, width)] = each.tile
            cost = count * (height * width * others + BEGIN)
            if cost < least and height * width <= room and width < extents[tiled]:
                best, least = each, cost
    return best


def describe_kernel_sums(bundle: KernelSums, blocks: Blocks, *, first: bool) -> str:
    """Why it is one pass, in words."""
    if not first:
        return "a result of the pass that computes the matrix"
    found = apart(bundle)
    assert found is not None, "the sums are a bundle"
    ranges = bundle.ranges
    axes = (*found.batch, *found.sides[0], *found.sides[1])
    count = prod(ranges[axis][1] - ranges[axis][0] for axis in axes)
    width = "".join(f" and {size} of `{axis}`" for axis, size in blocks.tile)
    skipped = ", skipping those that the guard leaves empty" if found.conditions else ""
    return (
        f"{count} points, never stored, computed once for {len(bundle.sums)} sums and multiplied with their columns: "
        f"blocks of {blocks.width} values of `{blocks.loop}`{width}{skipped}"
    )


def _sides(found: Apart, extents: Mapping[IndexVar, int]) -> tuple[Axes, Axes]:
    """The side with the rows - the larger one, or that of data that decides the mask - and the other side."""
    first, second = found.sides
    known = frozenset[IndexVar]().union(
        *(atom.index_variables() for c in found.conditions for atom, _ in c.terms if isinstance(atom, ir.Data))
    )
    if known & {*first, *second}:
        return (first, second) if known & {*first} else (second, first)
    larger = prod(extents[axis] for axis in first) > prod(extents[axis] for axis in second)
    return (first, second) if larger else (second, first)


def plan_kernel_sums(bundle: KernelSums, blocks: Blocks) -> BlockedLoop:
    """The blocks of a bundle."""
    found = apart(bundle)
    assert found is not None, "the sums are a bundle"
    return _Planner(bundle, blocks, found).plan()


@dataclass(frozen=True, slots=True)
class _Planner:
    bundle: KernelSums
    blocks: Blocks
    apart: Apart

    @property
    def extents(self) -> dict[IndexVar, int]:
        return {index: hi - lo for index, (lo, hi) in self.bundle.ranges.items()}

    @property
    def sides(self) -> tuple[Axes, Axes]:
        return _sides(self.apart, self.extents)

    def plan(self) -> BlockedLoop:
        (*_, axis), _ = self.sides
        lo, hi = self.bundle.ranges[axis]
        height = max(1, min(self.blocks.width, hi - lo))
        count, last = divmod(hi - lo, height)
        products = self.products()
        if count == 1 and not last:
            return self.loop(products, self.space())
        tile = Tile(axis, FIRST, lo, height, count * height)
        rest = self.loop(products, self.space(behind={axis: hi - last})) if last else None
        return replace(self.loop(products, self.space((tile,))), rest=rest)

    def space(self, tiles: tuple[Tile, ...] = (), behind: Mapping[IndexVar, int] | None = None) -> Space:
        """The columns in blocks, for a tile of rows or for the rest."""
        ranges, extents = self.bundle.ranges, self.extents
        _, (*_, loop) = self.sides
        width = dict(self.blocks.tile).get(loop, extents[loop])
        follows = self.blocks.follows and bool(tiles)
        return Space(ranges, loop, max(1, min(width, extents[loop])), tiles, behind or {}, follows)

    def loop(self, products: MatrixProducts, space: Space) -> BlockedLoop:
        """The loop over columns for some rows."""
        rows, columns = self.sides
        return BlockedLoop(
            (*self.apart.batch, *rows, *columns[:-1], ROW),
            space.extents,
            space.tiles,
            space.lo,
            space.count,
            None if space.body is None else self.block(space.body),
            None if space.tail is None else self.block(space.tail),
            products,
            self.laid_out()[1],
            self.ends(space) if space.tiles and (space.follows or space.count > 1) else (),
            follows=space.latest,
        )

    def products(self) -> MatrixProducts:
        ranges, extents = self.bundle.ranges, self.extents
        rows, columns = self.sides
        summed = tuple(frozenset(rows) <= frozenset(nest.reduce.indices) for nest in self.bundle.sums)
        across, along = self.columns(summed, over_rows=False), self.columns(summed, over_rows=True)
        scope = self.scope(ranges, self.bundle.operands)

        def planned(expr: ir.Expr | None) -> Node | None:
            return None if expr is None else plan_value(written_out(expr, ranges), scope)

        def pieces(number: int) -> Iterator[Piece]:
            for term in self.apart.terms[number]:
                part = (along if summed[number] else across)[term.matrix].index(term.column)
                yield Piece(term.matrix, part, planned(term.factor), term.negative, planned(term.mask))

        def side_by_side(found: list[ir.Expr | None], side: Axes) -> Columns:
            fixed = frozenset((*self.apart.batch, *side))
            free = [frozenset[IndexVar]() if column is None else ir.free_indices(column) for column in found]
            extra = tuple(scope.sorted(space - fixed) for space in free)
            return Columns(tuple(map(planned, found)), extra, tuple(prod(extents[a] for a in axes) for axes in extra))

        return MatrixProducts(
            self.apart.batch,
            rows,
            columns,
            extents,
            self.apart.matrices[0].dtype,
            tuple(side_by_side(one, columns) for one in across),
            tuple(side_by_side(one, rows) for one in along),
            summed,
            tuple(tuple(pieces(number)) for number in range(len(summed))),
        )

    def columns(self, summed: tuple[bool, ...], *, over_rows: bool) -> list[list[ir.Expr | None]]:
        """The distinct columns that each matrix is multiplied with."""
        found: list[list[ir.Expr | None]] = [[] for _ in self.apart.matrices]
        for terms, own in zip(self.apart.terms, summed, strict=True):
            for term in terms if own == over_rows else ():
                if term.column not in found[term.matrix]:
                    found[term.matrix].append(term.column)
        return found

    def block(self, part: Part) -> Block:
        """The matrices of a block."""
        laid, _ = self.laid_out()
        scope = self.scope(part.box, laid.operands)
        body = laid.reduce.body
        assert isinstance(body, ir.Call)

        def planned(expr: ir.Expr) -> Points:
            match expr := part.of(expr):
                case ir.Select(condition, _, ir.Const(0)) if self.apart.careful:
                    return Points(plan_value(expr, scope), plan_value(condition, scope))
                case _:
                    return Points(plan_value(expr, scope), None)

        return Block(part.width, tuple(map(planned, body.arguments)))

    def laid_out(self) -> tuple[Nest, tuple[Layout, ...]]:
        """The matrices as operands of a sum, with tensors laid out along the vectors."""
        rows, columns = self.sides
        matrices = self.apart.matrices
        body = ir.Call(ALL, matrices, matrices[0].dtype)
        ranges = self.bundle.ranges
        read = {access.tensor.name for access in ir.accesses(body)}
        box = tuple((index, *ranges[index]) for index in sorted(ranges, key=str))
        reduce = ir.Reduce(Reducer.SUM, rows, (), None, body, None, body.dtype, body.dtype)
        nest = Nest(reduce, columns, box, tuple(o for o in self.bundle.operands if o.name in read))
        product = any(isinstance(node, ir.Reduce) and is_contraction(node, ranges) for node in ir.walk(body))
        return laid_out(nest, self.blocks.loop, None if product else columns[-1])

    def scope(self, box: Box, operands: Iterable[Operand]) -> Scope:
        rows, columns = self.sides
        order = (*self.apart.batch, *rows, *columns[:-1], ROW, *columns[-1:])
        return scope_of(operands, order, box, (FIRST, BLOCK, BEGINNING))

    def visited(self) -> int:
        """The number of blocks left by the conditions."""
        [(_, width)] = self.blocks.tile
        left = self.bundle.ranges[self.sides[1][-1]][0]
        return sum(max(0, -(-(behind - left) // width) - (first - left) // width) for first, behind in self.spans())

    def widest(self) -> int:
        """The maximum number of columns left by the conditions for a tile of rows."""
        return max(1, *(behind - first for first, behind in self.spans()))

    def spans(self) -> list[tuple[int, int]]:
        """The columns left by the conditions for each tile of rows."""
        loop, tiled = (side[-1] for side in self.sides)
        lo, hi = self.bundle.ranges[loop]
        found = ends(self.apart.conditions, tiled, [loop], self.bundle.ranges | {loop: (0, self.blocks.width)})
        starts = range(lo, hi, self.blocks.width)
        limits = ([(end, end.limit((start,))) for end in found] for start in starts)
        return [between(each, self.bundle.ranges[tiled]) for each in limits]

    def ends(self, space: Space) -> tuple[End, ...]:
        """The bounds given by the conditions for the columns of a block whose rows begin at `FIRST`."""
        rows, columns = self.sides
        laid, _ = self.laid_out()
        scope = self.scope(space.box, laid.operands)
        assert isinstance(laid.reduce.body, ir.Call)

        def planned(data: ir.Expr) -> Node:
            return plan_value(written_out(space.in_tile(data), space.box), scope)

        conditions = common_conditions(laid.reduce.body.arguments, self.sides)
        return ends(conditions, columns[-1], rows[-1:], space.box, planned)
