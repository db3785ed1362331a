"""Chunked scatter: only one chunk of values is live."""

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Final

from .. import ir, transforms
from ..symbolic import Affine, Box, IndexVar
from .cost.costs import cost_of
from .cost.memory import allowance
from .data.nodes import Lookup, LoopNest, Read, below
from .data.stages import ChunkedScatter, Compute
from .scope import Scope

# Values of fewer bytes are stored, unless they are much larger than their operands.
SMALL_VALUES: Final = 8 << 20
MOST_GROWTH: Final = 2
# This many values, with a position each, are about 6 MiB.
CHUNK: Final = 1 << 18
VALUE: Final = 24
# The memory that a chunk may need relative to its values.
MOST_SPACE: Final = 2
# The number of a chunk; no program uses such an index name.
NUMBER: Final = IndexVar("n.")

Plan = Callable[[ir.Accumulate, Box, frozenset[IndexVar]], Compute]


def in_chunks(
    stage: Compute, statement: ir.Accumulate, box: Box, scope: Scope, memory: int | None, plan: Plan
) -> ChunkedScatter | None:
    """The statement of a stage chunk by chunk, each planned by `plan`; None if its values may be stored.

    They may not exceed `memory` bytes.
    """
    combine = stage.store.combine
    joins = combine is not None and combine.operator is not None
    if not joins or stage.store.weight is not None or not _is_large(stage, scope, memory):
        return None
    left = frozenset[IndexVar]().union(*(subscript.variables for subscript in statement.indices))
    extents = {index: box[index][1] - box[index][0] for index in left if index in box}
    # Ties are broken by name, so that plans are reproducible.
    index = max(sorted(extents, key=str), key=lambda index: extents[index], default=None)
    if index is None or extents[index] < 2:
        return None
    most = CHUNK if memory is None else min(CHUNK, memory // VALUE)
    chunks = _in_steps(max(1, most * extents[index] // prod(extents.values())), index, statement, box, plan)
    needed = cost_of(chunks.step).temporary
    if needed > MOST_SPACE * VALUE * most and chunks.count > 0:
        # The operands of a sum are stored as well.
        size = max(1, extents[index] // chunks.count * VALUE * most // needed)
        chunks = _in_steps(size, index, statement, box, plan)
    return chunks


def _in_steps(size: int, index: IndexVar, statement: ir.Accumulate, box: Box, plan: Plan) -> ChunkedScatter:
    """The statement for `size` values of an index at a time."""
    lo, hi = box[index]
    count, rest = divmod(hi - lo, size)
    moved = Affine.of(NUMBER).scale(size) + Affine.of(index) + lo
    placed = transforms.substitute(statement, {index: moved}, statement.reduction)
    step = plan(_going_on(placed), {**box, NUMBER: (0, count), index: (0, size)}, frozenset((NUMBER,)))
    last = plan(_going_on(statement), {**box, index: (hi - rest, hi)}, frozenset()) if rest else None
    return ChunkedScatter(NUMBER, count, _wide(step), None if last is None else _wide(last))


def _is_large(stage: Compute, scope: Scope, memory: int | None) -> bool:
    """Whether the values need more than `memory`, or much more memory than their operands."""
    if not any(isinstance(dimension, Lookup) for dimension in stage.store.dimensions):
        return False
    nodes = list(below(stage.value))
    read = {node.tensor for node in nodes if isinstance(node, Read)}
    for node in nodes:
        if isinstance(node, LoopNest):
            read |= {*node.whole.tensors}
    stored = prod(stage.shape) + sum(prod(scope.shapes[name]) for name in read if name in scope.shapes)
    size = scope.points(stage.value.axes)
    width = ir.types.width(stage.value.dtype)
    if any(isinstance(node, LoopNest) for node in nodes):
        # Its own blocks are small: only its result, and the tensors that it looks up, may be too large.
        return cost_of(stage).temporary > (allowance(width * stored) if memory is None else memory)
    plain = isinstance(stage.value, Read) and not any(isinstance(d, Lookup) for d in stage.value.dimensions)
    is_refused = memory is not None and size * width > memory
    return not plain and (is_refused or (size * width >= SMALL_VALUES and size > MOST_GROWTH * stored))


def _going_on(statement: ir.Accumulate) -> ir.Accumulate:
    return replace(statement, restart=False)


def _wide(stage: Compute) -> Compute:
    """The stage with its target in the accumulating type."""
    return replace(stage, dtype=stage.accumulate)
