"""Steps that are linear in what the one before left, place by place: a loop of such is a scan of linear maps."""

from collections.abc import Mapping
from typing import Final

from .. import ir
from .recurrences import OneStep

# How a value depends on what a tensor was before the step: not named (not at all), a number times the value of the same
# place, plus a number; anything else. Each with what other tensors were taken as given.
Degrees = Mapping[str, int]
LINEAR: Final = 1
OTHER: Final = 2


def linear_steps(step: OneStep) -> tuple[str, ...] | None:
    """The tensors that steps hand on, each before those that need it, where all of them are linear; None where not.

    The new value of such a tensor is ``a * old + b`` at every place, and neither `a` nor `b` has anything of it, or of
    tensors behind it.
    """
    found = _Degrees(step).found()
    if found is None:
        return None
    order: list[str] = []
    while len(order) < len(found):
        ready = [
            name
            for name, degrees in found.items()
            if name not in order
            and degrees.get(name, LINEAR) == LINEAR
            and all(other in order or other == name for other in degrees)
        ]
        if not ready:
            return None
        order += ready
    return tuple(order)


class _Degrees:
    """The degrees of every tensor of a step."""

    def __init__(self, step: OneStep) -> None:
        self.step, self.bound = step, step.bound
        self.known: dict[str, Degrees] = {}

    def found(self) -> dict[str, Degrees] | None:
        """Those of the tensors that steps hand on; None where a step has loops, or needs more than the step before."""
        if self.bound.function.loops:
            return None
        for name, taken in self.step.taken.items():
            if taken.kind == "row" and taken.lag > 1:
                return None
            if taken.kind == "state" or (taken.kind == "row" and taken.lag):
                self.known[name] = {taken.tensor: LINEAR}
        for statement in self.bound.function.statements:
            if not isinstance(statement, (ir.Define, ir.Accumulate)):
                return None
            self.known[statement.target.name] = self.written(statement)
        handed_on = {taken.tensor for taken in self.step.taken.values() if taken.kind == "state" or taken.lag}
        rows = {row.tensor.name: row.tensor for row in self.step.rows if row.tensor.name in handed_on}
        if any(tensor.dtype not in ("float32", "float64") for tensor in rows.values()):
            return None
        return {name: self.known[name] for name in rows}

    def written(self, statement: ir.Define | ir.Accumulate) -> Degrees:
        """Those of a statement's target, behind it."""
        left = [subscript.bare for subscript in statement.indices]
        aligned = None not in left and len(set(left)) == len(left)
        guard = {} if statement.domain.guard is None else _other(self.degrees(statement.domain.guard, statement))
        value = self.degrees(statement.value, statement)
        before = self.known.get(statement.target.name, {})
        if isinstance(statement, ir.Accumulate):
            is_sum = statement.reducer is ir.Reducer.SUM
            value, before = _other(value), before if is_sum else _other(before)
        subscripts = [self.degrees(atom.expr, statement) for s in statement.indices for atom in ir.data_atoms(s)]
        return _joined(before, guard, value if aligned else _other(value), *map(_other, subscripts))

    def degrees(self, expr: ir.Expr, statement: ir.Define | ir.Accumulate) -> Degrees:
        def of(expr: ir.Expr) -> Degrees:
            match expr:
                case ir.Const() | ir.Extent() | ir.Index():
                    return {}
                case ir.Access():
                    return self.read(expr, statement)
                case ir.Unary("-", operand):
                    return of(operand)
                case ir.Binary("+" | "-", left, right):
                    return _joined(of(left), of(right))
                case ir.Binary("*", left, right):
                    one, two = of(left), of(right)
                    both = _joined(one, two)
                    return {name: OTHER if name in one and name in two else degree for name, degree in both.items()}
                case ir.Binary("/", left, right):
                    return _joined(of(left), _other(of(right)))
                case ir.Cast(operand, dtype) if dtype == operand.dtype:
                    return of(operand)
                case ir.Select(condition, then, otherwise):
                    return _joined(_other(of(condition)), of(then), of(otherwise))
                case _:
                    return _other(_joined(*map(of, ir.children(expr))))

        return of(expr)

    def read(self, access: ir.Access, statement: ir.Define | ir.Accumulate) -> Degrees:
        """Those of a read: linear ones where it is of the place that is written."""
        name, target = access.tensor.name, statement.target.name
        inside = [self.degrees(atom.expr, statement) for s in access.indices for atom in ir.data_atoms(s)]
        own = self.known.get(name, {})
        shapes, origins = self.bound.shapes, self.bound.origins
        same = access.indices == statement.indices and (shapes[name], origins[name]) == (
            shapes[target],
            origins[target],
        )
        return _joined(own if same else _other(own), *map(_other, inside))


def _joined(*found: Degrees) -> Degrees:
    """The higher degree of each tensor."""
    names = dict.fromkeys(name for each in found for name in each)
    return {name: max(each.get(name, 0) for each in found) for name in names}


def _other(found: Degrees) -> Degrees:
    return dict.fromkeys(found, OTHER)
