"""A program in the form needed for sharding."""

from collections.abc import Mapping
from dataclasses import replace

from ... import ir, ranges, transforms
from ...ir import Reducer
from ...symbolic import Affine, Box, IndexVar
from .blocks import Axes
from .hoisting import hoisted

Formula = ir.Define | ir.Accumulate


def prepared(bound: ranges.Bound, axes: Mapping[str, Axes]) -> tuple[ranges.Bound, Mapping[str, Axes]]:
    """The program with numbers for sizes and sharded reductions as statements of their own; its indices' axes.

    Sharded indices increase by one along the left sides.
    """
    statements: list[ir.Statement] = []
    boxes: list[Box] = []
    axes = dict(axes)
    defined = {tensor.name for tensor in bound.function.initial}
    for statement, box in zip(bound.function.statements, bound.boxes, strict=True):
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
            # XLA would drop what no point reads, but its exchanges would be listed.
            statement, _ = transforms.decide(statement, box)
            name = statement.target.name
            ends = bound.shapes[name], bound.origins[name]
            statement, box = _received(statement, box, *ends, name in defined, axes)
        defined |= {target.name for target in ir.targets(statement)}
        statements.append(statement)
        boxes.append(box)
    function = replace(bound.function, statements=tuple(statements))
    return hoisted(replace(bound, function=function, boxes=tuple(boxes)), axes), axes


def _received(
    statement: Formula,
    box: Box,
    shape: tuple[int, ...],
    origin: tuple[int, ...],
    defined: bool,
    axes: dict[str, Axes],
) -> tuple[Formula, Box]:
    """The statement as what each element receives, if a cut index is not alone and ascending on the left."""
    for dimension in range(len(statement.indices)):
        subscript = statement.indices[dimension]
        cut = sorted((index for index in subscript.variables if index.name in axes), key=str)
        others = (index.variables for n, index in enumerate(statement.indices) if n != dimension)
        if not cut or subscript.is_data or subscript.variables & frozenset[IndexVar]().union(*others):
            continue
        # The longest index addresses the elements; the others are reduced.
        index = max(cut, key=lambda each: box[each][1] - box[each][0])
        if subscript.is_linear:
            found, around = _counted(statement, box, dimension, index)
        elif isinstance(statement, ir.Accumulate):
            found, around = transforms.receive(statement, box, shape, origin, filled=not defined)
        else:
            found, around = transforms.turn(statement, box)
        new = [place for place in found.indices[dimension].variables if place not in box]
        if index not in found.indices[dimension].variables and new:
            axes[max(new, key=lambda place: around[place][1] - around[place][0]).name] = axes[index.name]
        statement, box = found, around
    return statement, box


def _counted(statement: Formula, box: Box, dimension: int, index: IndexVar) -> tuple[Formula, Box]:
    """The statement with an index that counts the elements it writes along a dimension."""
    given = statement.indices[dimension]
    turned = {i: Affine.of(sum(box[i]) - 1) - i for i in given.variables if (given.weight(i).constant or 0) < 0}
    if turned:
        reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
        statement = transforms.substitute(statement, turned, reduction)
    subscript = statement.indices[dimension]
    step = subscript.weight(index).constant or 0
    rest = [other for other in subscript.variables if other != index]
    if len(rest) != 1 or not isinstance(statement, ir.Accumulate) or not isinstance(statement.reducer, Reducer):
        return statement, box
    (inner,), (lo, hi) = rest, box[rest[0]]
    scale = subscript.weight(inner).constant or 0
    if (hi - lo - 1) * abs(scale) < step or statement.reducer.operator is None or not scale or step % scale:
        return statement, box
    # A window whose width is a multiple of the stride.
    stride = abs(step // scale)
    wide = {**box, inner: (lo // stride * stride, -(-hi // stride) * stride)}
    guards = ir.conjuncts(statement.domain.guard)
    if wide[inner] != (lo, hi):
        guards = (*ir.within(ir.Index(inner), ir.Const(lo, "int32"), ir.Const(hi, "int32")), *guards)
    widened = replace(statement, domain=replace(statement.domain, guard=ir.conjunction(guards)))
    meeting = transforms.meeting(widened, dimension, wide)
    if meeting is None or meeting.outer != index:
        return statement, box
    return transforms.received(widened, meeting, wide)
