"""Which of two things moves between devices, by bytes: indices or tables, partial results or operands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from ... import ir, ranges
from ...diagnostics import CompileError
from ...ir import Reducer
from ...symbolic import Affine, IndexVar
from ..cost.collectives import sending
from .blocks import Axes, Collective, Layout
from .formulas import CutFormula, cut_formula
from .hoisting import hoisted
from .layouts import Layouts
from .programs import LocalProgram
from .spreading import spread
from .telling import messages_of

Given = Mapping[str, tuple[Layout, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Way:
    """The statements of a program without calls, which of their indices are cut, and the layouts of tensors."""

    layouts: Layouts
    formulas: list[CutFormula]
    axes: Mapping[str, Axes]

    def bytes(self) -> float:
        """What a device sends, in bytes. Infinite if the program cannot be sharded in this way."""
        collectives: dict[str, Collective] = {}
        layouts = self.layouts
        try:
            program = LocalProgram(layouts, collectives).of(self.formulas)
        except CompileError:
            return float("inf")
        return sum(
            sending(message.operation, message.bytes, layouts.parts(message.axes)).bytes
            for message in messages_of(program, collectives)
        )


def way(bound: ranges.Bound, axes: Mapping[str, Axes], sizes: Mapping[str, int], given: Given) -> Way:
    """The first way, in which no device looks elements up for others. Layouts of some tensors may be `given`.

    Raises `CompileError` (TC0811) for a program that cannot be sharded.
    """
    known = {name: layout for name, (layout, _) in given.items()}
    statements = enumerate(bound.function.statements)
    formulas = spread([cut_formula(n, statement, bound, axes) for n, statement in statements], known)
    return _settled(bound, axes, formulas, sizes, given)


def cheapest(first: Way) -> Way:
    """The way that moves the fewest bytes, found by trying one change after another until none helps."""
    best, least, is_new = first, None, True
    while is_new:
        is_new = False
        tables = [name for name, layout in best.layouts.held.items() if any(layout)]
        choices = [
            *(partial(_answered, name) for name in tables),
            *(partial(_gathered, n) for n in range(len(best.formulas))),
        ]
        for choice in choices:
            other = choice(best)
            if other is None:
                continue
            least = best.bytes() if least is None else least
            moved = other.bytes()
            if moved < least:
                best, least, is_new = other, moved, True
    return best


def _answered(table: str, old: Way) -> Way | None:
    """The way in which each device looks up its rows of a table for all devices: ``T(I(i))`` becomes a sum over rows.

    None if no subscript of a cut dimension is data, or if the program cannot be sharded in this way.
    """
    bound, held = old.layouts.bound, old.layouts.held[table]
    axes = dict(old.axes)
    rows: dict[IndexVar, tuple[int, int]] = {}
    sums: dict[ir.Access, ir.Reduce] = {}

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        if not isinstance(expr, ir.Access) or expr.tensor.name != table:
            return expr
        looked = {d for d, subscript in enumerate(expr.indices) if held[d] and subscript.is_data}
        if looked and expr not in sums:
            # No program can contain this name.
            own = {dimension: IndexVar(f"{table}.{dimension}.row{len(sums)}") for dimension in sorted(looked)}
            rows.update({row: _ends(bound, table, dimension) for dimension, row in own.items()})
            axes.update({row.name: held[dimension] for dimension, row in own.items()})
            sums[expr] = _summed(expr, own, bound)
        return sums.get(expr, expr)

    statements, boxes = list(bound.function.statements), list(bound.boxes)
    for number, statement in enumerate(statements):
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            statement = statements[number] = ir.rebuild_statement(statement, visit)
            used = {index for node in ir.nodes_of(statement) for index in ir.bound_indices(node)}
            boxes[number] = {**boxes[number], **{row: ends for row, ends in rows.items() if row in used}}
    if not sums:
        return None
    function = replace(bound.function, statements=tuple(statements))
    other = hoisted(replace(bound, function=function, boxes=tuple(boxes)), axes)
    try:
        return way(other, axes, old.layouts.sizes, old.layouts.given)
    except CompileError:
        return None


def _summed(read: ir.Access, rows: Mapping[int, IndexVar], bound: ranges.Bound) -> ir.Reduce:
    """A read at subscripts that are data, as a sum over the `rows`, one index for each of these dimensions."""
    subscripts, conditions = list(read.indices), list[ir.Expr]()
    for dimension, row in rows.items():
        place = _clamped(_value(subscripts[dimension]), *_ends(bound, read.tensor.name, dimension))
        conditions.append(ir.Binary("==", place, ir.Index(row), "bool"))
        subscripts[dimension] = Affine.of(row)
    reducer = Reducer.ANY if read.dtype == "bool" else Reducer.SUM
    body, guard = replace(read, indices=tuple(subscripts)), ir.conjunction(conditions)
    return ir.Reduce(reducer, (*rows.values(),), (), guard, body, None, read.dtype, read.dtype, span=read.span)


def _ends(bound: ranges.Bound, name: str, dimension: int) -> tuple[int, int]:
    """The first subscript of a dimension, and one past the last."""
    first = bound.origins[name][dimension]
    return first, first + bound.shapes[name][dimension]


def _gathered(number: int, old: Way) -> Way | None:
    """The way in which devices fetch the operands of a statement, and each computes its own block of the result.

    None if no other device has partial results of a block, or if it would compute more points than the result has
    elements.
    """
    formula, layouts = old.formulas[number], old.layouts
    if not formula.scattered:
        return None
    scattered = {axis for axes in formula.scattered.values() for axis in axes}
    statement, box = formula.statement, dict(formula.box)
    cut = {
        index: kept
        for index, axes in formula.cut.items()
        if (kept := tuple(axis for axis in axes if axis not in scattered))
    }
    left, guards = list(statement.indices), list(ir.conjuncts(statement.domain.guard))
    name = statement.target.name
    for dimension, axes in formula.scattered.items():
        index = left[dimension].bare
        if index is None:
            index = IndexVar(f"{name}.{dimension}.row")  # No program can contain this name.
            lo, hi = box[index] = _ends(layouts.bound, name, dimension)
            place = _value(left[dimension])
            if place.dtype != "int32":
                # Values out of bounds are dropped, and must stay out of bounds.
                place = _clamped(place, lo - 1, hi + 1)
            guards.append(ir.Binary("==", place, ir.Index(index), "bool"))
            left[dimension] = Affine.of(index)
        cut[index] = axes
    assert isinstance(statement, ir.Accumulate), "only reductions have partial results"
    gone = (index for index in ir.left_indices(statement) if not any(index in each.variables for each in left))
    other = replace(
        statement,
        indices=tuple(left),
        reduction=(*statement.reduction, *gone),
        domain=replace(statement.domain, guard=ir.conjunction(guards)),
    )
    # Every device then visits all points.
    points = prod(hi - lo for lo, hi in formula.box.values())
    if other != statement and points > prod(layouts.padded(name)):
        return None
    formulas = list(old.formulas)
    formulas[number] = replace(formula, statement=other, box=box, cut=cut, scattered={}, _lines={})
    return _settled(layouts.bound, old.axes, formulas, layouts.sizes, layouts.given)


def _value(subscript: Affine) -> ir.Expr:
    """A subscript that is data, as an integer expression without rounding."""
    match subscript.terms:
        case ((ir.Data(value), weight),) if weight.constant == 1 and subscript.base.constant == 0:
            return value if value.dtype in ("int32", "int64", "uint32", "uint64") else ir.Cast(value, "int32")
        case _:
            return ir.integer(subscript)


def _clamped(value: ir.Expr, lo: int, hi: int) -> ir.Expr:
    """The value clamped to ``lo:hi``, as int32."""
    if lo > 0 or not value.dtype.startswith("u"):
        value = ir.Binary("max", value, ir.Const(lo, value.dtype), value.dtype)
    value = ir.Binary("min", value, ir.Const(hi - 1, value.dtype), value.dtype)
    return value if value.dtype == "int32" else ir.Cast(value, "int32")


def _settled(
    bound: ranges.Bound,
    axes: Mapping[str, Axes],
    formulas: list[CutFormula],
    sizes: Mapping[str, int],
    given: Given,
) -> Way:
    layouts = Layouts(bound, sizes, given=dict(given))
    layouts.settle(formulas)
    return Way(layouts, formulas, axes)
