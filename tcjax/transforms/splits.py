"""Splits a statement in two: a scatter to data-dependent positions, and the operations on its result."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, Box, IndexVar, Size
from .definitions import Formula, as_define, cast, constant
from .equations import solve
from .factors import summands
from .inlining import Shape, Shapes, Step
from .pairs import paired
from .separable import Separated, separated


def apart(step: Step, name: str, shapes: Shapes, origins: Shapes, *, is_new: bool) -> Iterator[tuple[Step, Step]]:
    """The ways to compute a step in two: one that fills a new tensor `name`, and the rest, which reads it.

    If the target `is_new`, it has no old value.
    """
    target = step.statement.target.name
    unscaled = _unscaled(step, name, shapes[target], origins[target], is_new)
    for found in (unscaled, _placed(step, name), _for_all(step, name, shapes, is_new)):
        if found is not None:
            yield found
    yield from _one_after_another(step, name, shapes, origins)


def _unscaled(step: Step, name: str, shape: Shape, origin: Shape, is_new: bool) -> tuple[Step, Step] | None:
    """``O(I(n),d) +=! X(n,d) / c(d)`` as ``T(I(n),d) +=! X(n,d)``, ``O(b,d) = T(b,d) / c(d)``."""
    statement = step.statement
    if not isinstance(statement, ir.Accumulate) or statement.reducer is not Reducer.SUM:
        return None
    if not any(subscript.is_data for subscript in statement.indices) or not ir.types.is_float(statement.accumulate):
        return None
    places: list[IndexVar] = []
    own: set[IndexVar] = set()
    box = dict(step.box)
    for number, (subscript, extent, first) in enumerate(zip(statement.indices, shape, origin, strict=True)):
        place = IndexVar(f"{name}.{number}")
        if not subscript.is_data:
            if subscript.bare is None or box[subscript.bare] != (first, first + extent):
                return None
            place = subscript.bare
            own.add(place)
        box[place] = (first, first + extent)
        places.append(place)
    if len(set(places)) < len(places) or any(own & s.variables for s in statement.indices if s.is_data):
        return None
    products = summands(statement.value)
    if len(products) > 1 or products[0].mask is not None:
        return None
    (product,) = products
    scales = [factor for factor in product.factors if ir.free_indices(factor) <= own and not ir.has_reduction(factor)]
    rest = [factor for factor in product.factors if factor not in scales]
    if not rest or not (scales or product.negative) or all(ir.divisor_of(factor) is not None for factor in rest):
        return None
    tensor = ir.Tensor(name, statement.accumulate, tuple(map(Size.of, shape)))
    first = replace(statement, target=tensor, restart=True, value=cast(ir.multiply(rest), statement.accumulate))
    left = tuple(map(Affine.of, places))
    scaled = ir.multiply([ir.Access(tensor, left), *(cast(scale, statement.accumulate) for scale in scales)])
    scaled = ir.Unary("-", scaled, scaled.dtype) if product.negative else scaled
    # The guard selects the points that are scattered.
    second = _with(replace(statement, indices=left, domain=ir.Domain()), scaled, is_new)
    return replace(step, statement=first), replace(step, statement=second, box={i: box[i] for i in places})


def _placed(step: Step, name: str) -> tuple[Step, Step] | None:
    """``O(b) = sum[n where I(n) == b](X(n)) / N`` with the sum as a separate statement, a scatter."""
    statement = step.statement
    for reduce in dict.fromkeys(_outermost(statement.value)):
        axes = _in_order(ir.free_indices(reduce), statement)
        if reduce.fixed or reduce.rank is not None or isinstance(reduce.reducer, ir.Monoid):
            continue
        origin = tuple(step.box[axis][0] for axis in axes)
        shape = tuple(step.box[axis][1] - step.box[axis][0] for axis in axes)
        tensor = ir.Tensor(name, reduce.dtype, tuple(map(Size.of, shape)))
        left = tuple(map(Affine.of, axes))
        found, notes = solve(ir.Define(tensor, left, reduce, span=reduce.span), step.box, shape, origin)
        if notes:
            read = ir.Access(tensor, left)
            rest = replace(statement, value=ir.replaced(statement.value, reduce, read))
            return replace(step, statement=found), replace(step, statement=rest)
    return None


def _for_all(step: Step, name: str, shapes: Shapes, is_new: bool) -> tuple[Step, Step] | None:
    """``O(t,d) +=! h(t,n) * w(I(t),n,d)`` for every matrix of ``w``, followed by a selection for each ``t``.

    Unselected values have no derivative, which infinities there must not reach.
    """
    statement = step.statement
    if not isinstance(statement, ir.Accumulate) or statement.reducer is not Reducer.SUM or not statement.reduction:
        return None
    guard = statement.domain.guard
    if guard is not None and ir.free_indices(guard) & {*statement.reduction}:
        return None
    if any(subscript.bare is None for subscript in statement.indices):
        return None
    reads = [access for access in ir.accesses(statement.value) if any(s.is_data for s in access.indices)]
    if len(reads) != 1 or sum(s.is_data for s in reads[0].indices) != 1:
        return None
    (read,) = reads
    place = next(n for n, subscript in enumerate(read.indices) if subscript.is_data)
    picked, extent = read.indices[place], shapes[read.tensor.name][place]
    if picked.variables & {*statement.reduction} or not picked.variables:
        return None
    every = IndexVar(f"{name}.e")
    whole = replace(read, indices=(*read.indices[:place], Affine.of(every), *read.indices[place + 1 :]))
    body = ir.replaced(statement.value, read, whole)
    own = _in_order(ir.free_indices(body) - {*statement.reduction, every}, statement)
    if not picked.variables <= {*own}:
        # ``h(t,n) * w(I(t,r),n,d)``: the selection for one `r` differs from that for another.
        return None
    behind = 1 + max(own.index(index) for index in picked.variables)
    axes = (*own[:behind], every, *own[behind:])
    box = {**step.box, every: (0, extent)}
    low, high = ir.Const(0, "int32"), ir.Const(extent - 1, "int32")
    clamped = ir.Binary("max", low, ir.Binary("min", ir.integer(picked), high, "int32"), "int32")
    total = ir.Reduce(
        Reducer.SUM, statement.reduction, (), None, body, None, statement.accumulate, statement.accumulate
    )
    here = ir.Binary("==", clamped, ir.Index(every), "bool")
    value = ir.Select(here, total, constant(0, statement.accumulate), statement.accumulate)
    tensor = ir.Tensor(name, statement.accumulate, tuple(Size.of(box[axis][1] - box[axis][0]) for axis in axes))
    first = ir.Define(tensor, tuple(map(Affine.of, axes)), value, span=statement.span)
    pick = ir.Access(tensor, tuple(picked if axis == every else Affine.of(axis) for axis in axes))
    return replace(step, statement=first, box=box), replace(step, statement=_with(statement, pick, is_new))


def _one_after_another(step: Step, name: str, shapes: Shapes, origins: Shapes) -> Iterator[tuple[Step, Step]]:
    """``O(y,x) +=! I(y+i,x+j) * g(i) * h(j)`` as ``T(p,x) +=! I(p,x+j) * h(j)``, ``O(y,x) +=! T(y+i,x) * g(i)``.

    A product with data-selected factors is split into pairs of factors in the same way.
    """
    statement = step.statement
    order = ir.left_indices(statement)
    if isinstance(statement, ir.Accumulate):
        if statement.reducer is not Reducer.SUM or statement.value.dtype != statement.accumulate:
            return
        kind = statement.accumulate
        total = ir.Reduce(
            *(Reducer.SUM, statement.reduction, (), statement.domain.guard, statement.value, None, kind, kind),
            span=statement.span,
        )
        for found in _sums(total, step.box, name, order, shapes, origins):
            domain = replace(statement.domain, guard=found.rest.guard)
            rest = replace(statement, reduction=found.rest.indices, value=found.rest.body, domain=domain)
            yield Step(found.first, found.box, step.fixed), replace(step, statement=rest)
        return
    for total in dict.fromkeys(_outermost(statement.value)):
        for found in _sums(total, step.box, name, order, shapes, origins):
            rest = replace(statement, value=ir.replaced(statement.value, total, found.rest))
            yield Step(found.first, found.box, step.fixed), replace(step, statement=rest)


def _sums(
    total: ir.Reduce, box: Box, name: str, order: Sequence[IndexVar], shapes: Shapes, origins: Shapes
) -> Iterator[Separated]:
    """The ways to sum one index first."""
    yield from separated(total, box, name, order, shapes, origins)
    pair = paired(total, box, name, order)
    if pair is not None:
        yield pair


def _with(statement: ir.Accumulate, value: ir.Expr, is_new: bool) -> Formula:
    """A sum whose points are already summed: `value` for each element."""
    alone = replace(statement, reduction=(), value=value)
    return as_define(alone, is_new) if statement.restart or is_new else alone


def _in_order(indices: frozenset[IndexVar], statement: Formula) -> tuple[IndexVar, ...]:
    """The indices in the order of the target's dimensions."""
    left = ir.left_indices(statement)
    return tuple(sorted(indices, key=lambda index: (left.index(index) if index in left else len(left), str(index))))


def _outermost(expr: ir.Expr) -> Iterator[ir.Reduce]:
    """The reductions that are not inside another one."""
    if isinstance(expr, ir.Reduce):
        yield expr
        return
    for part in ir.children(expr):
        yield from _outermost(part)
