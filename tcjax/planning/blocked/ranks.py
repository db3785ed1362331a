"""Order statistics of large nests: the number of values needed, and the blocks by which they are sieved."""

from math import isqrt, prod
from typing import Final

from ... import ir
from ...symbolic import Facts, IndexVar
from ..data.nests import Nest

# A sieve pays off only if the second pass visits less than this share of the points.
LEAST_GAIN: Final = 4
# The maximum memory of the first values, and of the remaining values and everything gathered for them.
ROOM: Final = 11 << 20
# With more reads per point, every rank visits all points.
MOST_READS: Final = 256
# The minimum number of values in a tile: loops over fewer do not use all cores.
LEAST_TILE: Final = 256


def ranks(nest: Nest) -> int:
    """The maximum number of values needed for an order statistic."""
    assert nest.reduce.rank is not None
    ends = Facts.over(nest.ranges).values(ir.affine_of(nest.reduce.rank))
    assert ends is not None
    return ends[1] + 1


def sieve_size(nest: Nest) -> int:
    """The points of a block, or 0 if a sieve does not help."""
    reduce = nest.reduce
    if not reduce.reducer.is_ranked or len(reduce.indices) != 1:
        return 0
    if reduce.guard is not None or reduce.body.dtype == "bool":
        return 0
    [loop] = reduce.indices
    extent, wanted = _extent(nest, loop), ranks(nest)
    if wanted < 2 or not 0 < reads(reduce.body, loop, nest) <= MOST_READS:
        return 0
    # About as many blocks as remaining values.
    size = 1 << max(0, isqrt(extent // wanted).bit_length() - 1)
    if size < 2 or wanted * size * LEAST_GAIN > extent:
        return 0
    return size if sieve_tile(nest, size) is not None else 0


def sieve_tile(nest: Nest, size: int) -> int | None:
    """The tile of the longest axis that is sieved at a time (0: all of it); None if too much would be stored."""
    free = sieve_axes(nest)
    [loop] = nest.reduce.indices
    blocks = -(-_extent(nest, loop) // size)
    left = ranks(nest) * size * (1 + reads(nest.reduce.body, loop, nest))
    outputs = prod(_extent(nest, axis) for axis in free)
    parts = -(-outputs * max(blocks, left) * ir.types.width(nest.reduce.accumulate) // ROOM)
    if parts <= 1:
        return 0
    tile = -(-_extent(nest, free[-1]) // parts)
    return tile if tile >= LEAST_TILE and _can_cut(nest, free[-1]) else None


def sieve_axes(nest: Nest) -> tuple[IndexVar, ...]:
    """The axes that the values depend on, the longest last."""
    found = ir.free_indices(nest.reduce.body)
    return tuple(sorted((axis for axis in nest.axes if axis in found), key=lambda axis: _extent(nest, axis)))


def reads(expr: ir.Expr, loop: IndexVar, nest: Nest) -> int:
    """The number of reads per point that move with the loop."""
    times = prod(_extent(nest, index) for index in expr.indices) if isinstance(expr, ir.Reduce) else 1
    own = isinstance(expr, ir.Access) and loop in ir.free_indices(expr)
    return times * (own + sum(reads(part, loop, nest) for part in ir.children(expr)))


def _can_cut(nest: Nest, axis: IndexVar) -> bool:
    """Whether tensors can be sliced along an axis: it is a bare subscript, always at the same positions."""
    places: dict[str, tuple[bool, ...]] = {}
    for node in ir.walk(nest.reduce):
        if isinstance(node, ir.Index) and node.variable == axis:
            return False
        if not isinstance(node, ir.Access) or axis not in ir.free_indices(node):
            continue
        own = tuple(index.bare == axis for index in node.indices)
        if any(axis in index.variables and not bare for index, bare in zip(node.indices, own, strict=True)):
            return False
        if places.setdefault(node.tensor.name, own) != own:
            return False
    return True


def _extent(nest: Nest, index: IndexVar) -> int:
    lo, hi = nest.ranges[index]
    return max(0, hi - lo)
