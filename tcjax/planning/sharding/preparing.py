"""A program in the form needed for sharding."""

from collections.abc import Mapping
from dataclasses import replace

from ... import ir, ranges, transforms
from ...ir import Reducer
from ...symbolic import Affine, Box, IndexVar
from .blocks import Axes
from .formulas import left_of
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
    """The statement as what each element receives, if a cut index is not alone and ascending on the left.

    Where blocks of the index still do not write blocks of a dimension, its subscript becomes data: each device computes
    a partial result of ``O(i+k) max=! e`` where only k is cut.
    """
    followed = set[IndexVar]()
    for dimension, first in enumerate(origin):
        subscript = statement.indices[dimension]
        cut = sorted((index for index in subscript.variables if index.name in axes), key=str)
        if not cut or subscript.is_data:
            continue
        others = (index.variables for n, index in enumerate(statement.indices) if n != dimension)
        # The longest index addresses the elements; the others are reduced.
        index = max(cut, key=lambda each: box[each][1] - box[each][0])
        if subscript.variables & frozenset[IndexVar]().union(*others):
            found, around = statement, box
        elif subscript.is_linear:
            found, around = _counted(statement, box, dimension, index)
        elif isinstance(statement, ir.Accumulate):
            found, around = transforms.receive(statement, box, shape, origin, filled=not defined)
        else:
            found, around = transforms.turn(statement, box)
        place = found.indices[dimension]
        new = [each for each in place.variables if each not in box and index not in place.variables]
        # A new index that addresses the elements takes the place of the one that did.
        heir = max(new, key=lambda each: around[each][1] - around[each][0], default=None)
        along = {each for each in place.variables if each.name in axes or each == heir}
        left = left_of(place, along, around, first) if along else None
        is_apart = bool(along) and (left is None or left.index in followed)
        if is_apart and isinstance(statement, ir.Accumulate) and _may_scatter(statement, box, shape, origin):
            scattered = Affine.of(ir.Data(ir.integer(subscript)))
            subscripts = (*statement.indices[:dimension], scattered, *statement.indices[dimension + 1 :])
            statement = replace(statement, indices=subscripts)
            continue
        followed |= set() if left is None else {left.index}
        if heir is not None:
            axes[heir.name] = axes[index.name]
        statement, box = found, around
    return statement, box


def _may_scatter(statement: ir.Accumulate, box: Box, shape: tuple[int, ...], origin: tuple[int, ...]) -> bool:
    """Whether a scatter gives every element the same: those that no point names are zero, but neutral in a scatter."""
    if statement.reducer is Reducer.SUM or not statement.restart:
        return True
    variables = [index for subscript in statement.indices for index in subscript.variables]
    if len({*variables}) < len(variables):
        return False
    return all(
        subscript.is_data or _names_all(subscript, box, first, extent)
        for subscript, first, extent in zip(statement.indices, origin, shape, strict=True)
    )


def _names_all(subscript: Affine, box: Box, first: int, extent: int) -> bool:
    """Whether a sum of indices, whose ranges are numbers, takes all these values."""
    ends = transforms.Known.over(box).bounds(subscript)
    if not subscript.is_linear or ends != (first, first + extent - 1):
        return False
    weights = sorted((abs(subscript.weight(i).constant or 0), str(i), i) for i in subscript.variables)
    count = 1
    for weight, _, index in weights:
        lo, hi = box[index]
        if weight > count:
            return False
        count += weight * (hi - lo - 1)
    return True


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
