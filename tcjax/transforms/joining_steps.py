"""Steps that join what the one before left with something, place by place: a loop of such is a scan."""

from collections.abc import Mapping
from typing import Final

from .. import ir
from ..ir import Reducer
from .recurrences import OneStep

# How a value depends on what a tensor was before the step: not named (not at all), that value of the same place, joined
# with something by a reducer, where by a sum it may have a factor; anything else. Each with what other tensors were
# taken as given.
Kind = Reducer | str
Kinds = Mapping[str, Kind]
ITSELF: Final = "itself"
OTHER: Final = "other"
JOINING: Final = {reducer.joins: reducer for reducer in Reducer if reducer.joins is not None}


def joining_steps(step: OneStep) -> tuple[tuple[str, Reducer], ...] | None:
    """The tensors that steps hand on, each before those that need it, with what joins them to what a step adds.

    None where a step does anything else. By a sum the new value is ``a * old + b`` at every place, by another reducer
    both of them: neither `a` nor `b` has anything of the old value, or of tensors behind it.
    """
    found = _Kinds(step).found()
    if found is None:
        return None
    order: dict[str, Reducer] = {}
    while len(order) < len(found):
        ready = {
            name: kind
            for name, kinds in found.items()
            if name not in order
            and isinstance(kind := _way(kinds.get(name, ITSELF)), Reducer)
            and all(other in order or other == name for other in kinds)
        }
        if not ready:
            return None
        order |= ready
    return tuple(order.items())


def _way(kind: Kind) -> Kind:
    return Reducer.SUM if kind == ITSELF else kind


class _Kinds:
    """How every tensor of a step depends on those before it."""

    def __init__(self, step: OneStep) -> None:
        self.step, self.bound = step, step.bound
        self.known: dict[str, Kinds] = {}

    def found(self) -> dict[str, Kinds] | None:
        """Those of the tensors that steps hand on; None where a step has loops, or needs more than the step before."""
        if self.bound.function.loops:
            return None
        for name, taken in self.step.taken.items():
            if taken.kind == "row" and taken.lag > 1:
                return None
            if taken.kind == "state" or (taken.kind == "row" and taken.lag):
                self.known[name] = {taken.tensor: ITSELF}
        for statement in self.bound.function.statements:
            if not isinstance(statement, (ir.Define, ir.Accumulate)):
                return None
            self.known[statement.target.name] = self.written(statement)
        handed_on = {taken.tensor for taken in self.step.taken.values() if taken.kind == "state" or taken.lag}
        rows = {row.tensor.name: row.tensor for row in self.step.rows if row.tensor.name in handed_on}
        found = {name: self.known[name] for name in rows}
        # Sums of integers wrap around, and 16-bit floats are rounded after each step.
        exact = {name for name, kinds in found.items() if kinds.get(name, ITSELF) not in (ITSELF, *_ROUNDED)}
        wide = all(rows[name].dtype in ("float32", "float64") for name in rows if name not in exact)
        return found if wide else None

    def written(self, statement: ir.Define | ir.Accumulate) -> Kinds:
        """Those of a statement's target, behind it."""
        left = [subscript.bare for subscript in statement.indices]
        aligned = None not in left and len(set(left)) == len(left)
        guard = {} if statement.domain.guard is None else _other(self.kinds(statement.domain.guard, statement))
        value = self.kinds(statement.value, statement)
        before = self.known.get(statement.target.name, {})
        subscripts = [self.kinds(atom.expr, statement) for s in statement.indices for atom in ir.data_atoms(s)]
        value = value if aligned else _other(value)
        if isinstance(statement, ir.Accumulate):
            reducer = statement.reducer
            joins = isinstance(reducer, Reducer) and (reducer.operator is not None or reducer.joins is not None)
            before = _joined(reducer, before) if joins and isinstance(reducer, Reducer) else _other(before)
            value = _joined(None, before, _other(value))
        elif statement.target.name in self.known:
            value = _either(before, value)
        return _joined(None, value, guard, *map(_other, subscripts))

    def kinds(self, expr: ir.Expr, statement: ir.Define | ir.Accumulate) -> Kinds:
        def of(expr: ir.Expr) -> Kinds:
            match expr:
                case ir.Const() | ir.Extent() | ir.Index():
                    return {}
                case ir.Access():
                    return self.read(expr, statement)
                case ir.Unary("-", operand):
                    return _joined(Reducer.SUM, of(operand))
                case ir.Binary("-", left, right):
                    return _joined(Reducer.SUM, of(left), of(right))
                case ir.Binary("*", left, right):
                    one, two = of(left), of(right)
                    both = _joined(Reducer.SUM, one, two)
                    return {name: OTHER if name in one and name in two else kind for name, kind in both.items()}
                case ir.Binary("/", left, right):
                    return _joined(None, _joined(Reducer.SUM, of(left)), _other(of(right)))
                case ir.Binary(operator, left, right) if operator in ir.BY_OPERATOR:
                    return _joined(ir.BY_OPERATOR[operator], of(left), of(right))
                case ir.Call(function, arguments) if function in JOINING:
                    return _joined(JOINING[function], *map(of, arguments))
                case ir.Cast(operand, dtype) if dtype == operand.dtype:
                    return of(operand)
                case ir.Select(condition, then, otherwise):
                    return _joined(None, _other(of(condition)), _either(of(then), of(otherwise)))
                case _:
                    return _other(_joined(None, *map(of, ir.children(expr))))

        return of(expr)

    def read(self, access: ir.Access, statement: ir.Define | ir.Accumulate) -> Kinds:
        """Those of a read: the value itself where it is of the place that is written."""
        name, target = access.tensor.name, statement.target.name
        inside = [self.kinds(atom.expr, statement) for s in access.indices for atom in ir.data_atoms(s)]
        own = self.known.get(name, {})
        shapes, origins = self.bound.shapes, self.bound.origins
        same = access.indices == statement.indices and (shapes[name], origins[name]) == (
            shapes[target],
            origins[target],
        )
        return _joined(None, own if same else _other(own), *map(_other, inside))


_ROUNDED: Final = (Reducer.SUM, Reducer.LOGSUMEXP, OTHER)


def _joined(way: Reducer | None, *found: Kinds) -> Kinds:
    """Those of values that a reducer joins; without one, each in its own way."""
    names = dict.fromkeys(name for each in found for name in each)
    kinds = {name: {each[name] for each in found if name in each} for name in names}
    if way is not None:
        return {name: way if each <= {ITSELF, way} else OTHER for name, each in kinds.items()}
    return {name: next(iter(each)) if len(each) == 1 else OTHER for name, each in kinds.items()}


def _either(one: Kinds, two: Kinds) -> Kinds:
    """Those of one value or the other: what one of them has not at all has a factor of zero there."""
    found: dict[str, Kind] = {}
    for name in dict.fromkeys((*one, *two)):
        kinds = {one.get(name, Reducer.SUM), two.get(name, Reducer.SUM)}
        rest = kinds - {ITSELF}
        found[name] = ITSELF if not rest else next(iter(rest)) if len(rest) == 1 else OTHER
    return found


def _other(found: Kinds) -> Kinds:
    return dict.fromkeys(found, OTHER)
