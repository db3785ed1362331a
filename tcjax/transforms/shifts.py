"""Extrema that cancel: no result depends on them, so no derivative passes through them.

In ``m(i) max=! x(i,j)``, ``l(i) +=! exp(x(i,j) - m(i))`` and ``m(i) + log(l(i))``, adding a constant to ``m`` does not
change the result. Two kinds of dependence on ``m`` are tracked: additive, by a multiple of the constant, and
multiplicative, by a power of its exponential.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, Box, IndexVar
from .definitions import as_define, covers
from .inlining import Shapes, Step, reads
from .substitution import numbered, substitute_affine, substitute_expr

_EXPONENTIALS: Final = {"exp": 1.0, "exp2": math.log(2), "exp10": math.log(10)}
_LOGARITHMS: Final = {"log": 1.0, "log2": math.log(2), "log10": math.log(10)}


@dataclass(frozen=True, slots=True)
class _Shift:
    """How a value changes if `c` is added to the extremum at `at`: by ``weight * c``, or `times` ``exp`` of that."""

    times: bool
    weight: float
    at: tuple[Affine, ...]


class _Unknown(Exception):
    """A value changes in another way."""


def fix_extrema(
    steps: Mapping[int, Step],
    others: Mapping[int, ir.Statement],
    returned: Iterable[str],
    shapes: Shapes,
    origins: Shapes,
) -> dict[int, Step]:
    """The steps with cancelling extrema marked; `others` are the statements that are not steps."""
    found = dict(steps)
    for number, step in steps.items():
        if _is_extremum(step.statement) and _cancels(
            _Tracker(number, None, (), shapes, origins), found, others, returned
        ):
            found[number] = replace(found[number], fixed=True)
        for reduce in dict.fromkeys(_inline(step.statement)):
            axes = _axes(reduce)
            tracker = _Tracker(number, _named(reduce, axes, step.box), axes, shapes, origins)
            if _cancels(tracker, found, others, returned):
                found[number] = _marked(found[number], tracker)
    return found


def _is_extremum(statement: ir.Statement) -> bool:
    match statement:
        case ir.Accumulate(reducer=reducer, restart=True, target=target):
            return reducer.is_extremum and ir.types.is_float(target.dtype)
        case ir.Define(value=ir.Reduce(reducer=reducer, dtype=dtype), domain=ir.Domain(guard=None)):
            return reducer.is_extremum and ir.types.is_float(dtype)
        case _:
            return False


def _goes_on(statement: ir.Accumulate) -> bool:
    """Whether a statement combines its target's old value with one value for every element."""
    alone = not statement.restart and not statement.reduction and statement.domain.guard is None
    return alone and statement.reducer.operator is not None


def _inline(statement: ir.Define | ir.Accumulate) -> Iterable[ir.Reduce]:
    for node in ir.walk(statement.value):
        if isinstance(node, ir.Reduce) and node.reducer.is_extremum and not node.fixed and node is not statement.value:
            yield node


def _named(reduce: ir.Reduce, axes: tuple[IndexVar, ...], box: Box) -> ir.Expr:
    """The reduction with common names, so that equal ones compare equal anywhere."""
    names = {index: Affine.of(IndexVar(f"a.{place}")) for place, index in enumerate(axes)}
    return substitute_expr(numbered(unmarked(reduce), box), names)


def unmarked(expr: ir.Expr) -> ir.Expr:
    """The expression without marks on cancelling extrema."""
    expr = ir.rebuild(expr, unmarked)
    return replace(expr, fixed=False) if isinstance(expr, ir.Reduce) and expr.fixed else expr


def _axes(reduce: ir.Reduce) -> tuple[IndexVar, ...]:
    return tuple(sorted(ir.free_indices(reduce), key=str))


def _marked(step: Step, tracker: "_Tracker") -> Step:
    def visit(expr: ir.Expr) -> ir.Expr:
        if isinstance(expr, ir.Reduce) and tracker.at(expr, step) is not None:
            return replace(expr, fixed=True)
        return ir.rebuild(expr, visit)

    return replace(step, statement=replace(step.statement, value=visit(step.statement.value)))


def _cancels(
    tracker: "_Tracker", steps: Mapping[int, Step], others: Mapping[int, ir.Statement], returned: Iterable[str]
) -> bool:
    """Whether no returned value depends on the extremum."""
    written: set[str] = set()
    try:
        for number in sorted([*steps, *others]):
            statement = steps[number].statement if number in steps else others[number]
            if number in steps and number >= tracker.number:
                tracker.step(number, steps[number], steps[number].statement.target.name not in written)
            elif any(tracker.changing.get(name) for name in reads(statement)):
                return False
            written.update(target.name for target in ir.targets(statement))
    except _Unknown:
        return False
    return tracker.used and not any(tracker.changing.get(name) for name in returned)


class _Tracker:
    """How tensors depend, after some statements, on the extremum: the result of statement `number`, or its inline
    reductions that are `key` over the indices `axes`.

    A change is over common axes: ``a.0``, ``a.1``, ... are those of the tensor.
    """

    def __init__(
        self, number: int, key: ir.Expr | None, axes: tuple[IndexVar, ...], shapes: Shapes, origins: Shapes
    ) -> None:
        self.number = number
        self.key = key
        self.axes = axes
        self.shapes = shapes
        self.origins = origins
        self.changing: dict[str, _Shift | None] = {}
        self.ends: dict[int, tuple[int, int]] = {}
        self.inside = False
        self.used = False

    def step(self, number: int, step: Step, is_new: bool) -> None:
        """Processes a statement, whose target may be new."""
        statement = step.statement
        name = statement.target.name
        whole = covers(statement, step.box, self.shapes[name], self.origins[name])
        self.inside = number == self.number and self.key is not None
        if number == self.number and self.key is None:
            if not whole:
                raise _Unknown
            axes = tuple(Affine.of(IndexVar(f"a.{place}")) for place in range(len(statement.indices)))
            self.changing[name] = _Shift(False, 1.0, axes)
            return
        if isinstance(statement, ir.Define) or _goes_on(statement):
            # The old value may change, too.
            statement = as_define(statement, is_new)
        guard = statement.domain.guard
        parts = [*([] if guard is None else [guard])]
        parts += [atom.expr for subscript in statement.indices for atom in ir.data_atoms(subscript)]
        self.same(parts, step)
        if isinstance(statement, ir.Accumulate):
            reduced = (statement.reducer, statement.reduction, (), None, statement.value, None)
            found = self.shift(ir.Reduce(*reduced, statement.accumulate, statement.value.dtype), step)
            replaces = statement.restart
        else:
            found = self.shift(statement.value, step)
            replaces = guard is None
        if found is None and (self.changing.get(name) is None or (whole and replaces)):
            self.changing[name] = None
            return
        if found is None or not whole or not replaces:
            raise _Unknown
        names = {
            (subscript - subscript.base).bare: (place, subscript.base)
            for place, subscript in enumerate(statement.indices)
        }
        if any(variable not in names for subscript in found.at for variable in subscript.variables):
            raise _Unknown
        values = {i: Affine.of(IndexVar(f"a.{place}")) - base for i, (place, base) in names.items() if i is not None}
        self.changing[name] = replace(found, at=tuple(substitute_affine(at, values) for at in found.at))

    def at(self, reduce: ir.Reduce, step: Step) -> tuple[Affine, ...] | None:
        """The indices of the extremum that an inline reduction equals; None if it is another one."""
        axes = _axes(reduce)
        if self.key is None or len(axes) != len(self.axes) or not reduce.reducer.is_extremum:
            return None
        return tuple(map(Affine.of, axes)) if _named(reduce, axes, step.box) == self.key else None

    def same(self, parts: Iterable[ir.Expr], step: Step) -> None:
        """Raises `_Unknown` unless the parts do not change."""
        if any(self.shift(part, step) is not None for part in parts):
            raise _Unknown

    def shift(self, expr: ir.Expr, step: Step) -> _Shift | None:
        """How the expression changes; None if it does not."""
        match expr:
            case ir.Access(tensor, indices):
                self.same(ir.children(expr), step)
                known = self.changing.get(tensor.name)
                if known is None:
                    return None
                self.used = True
                self.clamps_alike(tensor.name, indices, known)
                values = {IndexVar(f"a.{place}"): index for place, index in enumerate(indices)}
                return replace(known, at=tuple(substitute_affine(at, values) for at in known.at))
            case ir.Cast(operand) | ir.Unary("-", operand):
                found = self.shift(operand, step)
                if found is not None and not ir.types.is_float(expr.dtype):
                    raise _Unknown
                negative = isinstance(expr, ir.Unary) and found is not None and not found.times
                return replace(found, weight=-found.weight) if negative and found is not None else found
            case ir.Binary("+" | "-" as operator, left, right):
                return self.sum(operator, self.shift(left, step), self.shift(right, step))
            case ir.Binary("*" | "/" as operator, left, right) if ir.types.is_float(expr.dtype):
                return self.product(operator, (left, self.shift(left, step)), (right, self.shift(right, step)))
            case ir.Call(function, (argument,)) if function in _EXPONENTIALS or function in _LOGARITHMS:
                found = self.shift(argument, step)
                logarithm = function in _LOGARITHMS
                if found is None or found.times != logarithm:
                    return self.unchanged(found)
                weight = found.weight / _LOGARITHMS[function] if logarithm else found.weight * _EXPONENTIALS[function]
                return replace(found, times=not logarithm, weight=weight)
            case ir.Select(condition, then, otherwise):
                self.same([condition], step)
                return self.choice([(part, self.shift(part, step)) for part in (then, otherwise)])
            case ir.Reduce():
                return self.reduce(expr, step)
            case _:
                self.same(ir.children(expr), step)
                return None

    def clamps_alike(self, name: str, indices: tuple[Affine, ...], known: _Shift) -> None:
        """Raises `_Unknown` if data reads the tensor at an element that another tensor would clamp differently."""
        for place, index in enumerate(indices):
            axis = IndexVar(f"a.{place}")
            first = self.origins[name][place]
            ends = first, first + self.shapes[name][place]
            for number, at in enumerate(known.at):
                if not index.is_data or axis not in at.variables:
                    continue
                if at.bare != axis or self.ends.setdefault(number, ends) != ends:
                    raise _Unknown

    def unchanged(self, found: _Shift | None) -> None:
        if found is not None:
            raise _Unknown

    def sum(self, operator: str, left: _Shift | None, right: _Shift | None) -> _Shift | None:
        if left is None and right is None:
            return None
        if any(one is not None and one.times for one in (left, right)):
            if left is None or left != right:
                raise _Unknown
            return left
        at = left.at if left is not None else right.at if right is not None else ()
        if left is not None and right is not None and left.at != right.at:
            raise _Unknown
        weights = [0.0 if one is None else one.weight for one in (left, right)]
        total = _total(weights[0], weights[1] if operator == "+" else -weights[1])
        return _Shift(False, total, at) if total else None

    def product(
        self, operator: str, left: tuple[ir.Expr, _Shift | None], right: tuple[ir.Expr, _Shift | None]
    ) -> _Shift | None:
        changes = [found for _, found in (left, right) if found is not None]
        if not changes:
            return None
        if all(found.times for found in changes):
            if len({found.at for found in changes}) > 1:
                raise _Unknown
            weights = [0.0 if found is None else found.weight for _, found in (left, right)]
            total = _total(weights[0], weights[1] if operator == "*" else -weights[1])
            return _Shift(True, total, changes[0].at) if total else None
        for (_, found), (other, fixed) in ((left, right), (right, left)):
            number = ir.number_of(other)
            if found is not None and fixed is None and number and (operator == "*" or found is left[1]):
                return replace(found, weight=found.weight * number if operator == "*" else found.weight / number)
        raise _Unknown

    def choice(self, parts: list[tuple[ir.Expr, _Shift | None]]) -> _Shift | None:
        """Zero may be multiplied by anything, and anything may be added to an infinity."""
        changes = [found for _, found in parts if found is not None]
        if not changes:
            return None
        for part, found in parts:
            if found is None and ir.number_of(part) in ((0.0,) if changes[0].times else (math.inf, -math.inf)):
                continue
            if found != changes[0]:
                raise _Unknown
        return changes[0]

    def reduce(self, expr: ir.Reduce, step: Step) -> _Shift | None:
        at = self.at(expr, step) if self.inside else None
        if at is not None:
            self.used = True
            return _Shift(False, 1.0, at)
        self.same([part for part in (expr.guard, expr.rank) if part is not None], step)
        found = self.shift(expr.body, step)
        if found is None:
            return None
        if any(index in subscript.variables for subscript in found.at for index in expr.indices):
            raise _Unknown
        reducer = expr.reducer
        if reducer.gives_position and not reducer.is_ranked:
            return None
        passes = reducer.is_extremum or reducer is Reducer.MEAN
        if passes or reducer.distributes_over == ("*" if found.times else "+"):
            return found
        raise _Unknown


def _total(left: float, right: float) -> float:
    """The sum; zero if only rounding is left."""
    return 0.0 if math.isclose(left, -right, rel_tol=1e-9) else left + right
