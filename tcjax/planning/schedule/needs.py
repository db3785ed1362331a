"""The elements of a tensor that the points of a stage read: subscripts and guards over loops."""

from collections.abc import Mapping
from dataclasses import dataclass

from ... import ir, ranges
from ...ranges.conditions import test_condition
from ...ranges.survey import Read, survey
from ...symbolic import Affine, AllOf, AnyOf, AtLeastZero, Box, Condition, IndexVar
from ...symbolic.affine import Atom, Clamp, Quotient, Remainder
from ...symbolic.facts.trees import FALSE, TRUE, And, Binary, Compare, Const, Expr, Or, Select, Var
from .grids import Mask, Span
from .stages import Stage


@dataclass(frozen=True, slots=True)
class Need:
    """The elements that one read takes, over all its points: a subscript per axis, None if it depends on data.

    `guards` and `masks` hold where the read happens. `inner` are the variables of inline reductions with their
    half-open ranges.
    """

    indices: tuple[Expr | None, ...]
    guards: tuple[Expr, ...]
    inner: Mapping[str, Span]
    masks: tuple[Mask, ...] = ()


def needs_of(
    stage: Stage, tensor: str, values: Mapping[IndexVar, Expr], guards: tuple[Expr, ...], bound: ranges.Bound
) -> list[Need]:
    """Every read of a tensor by a stage whose indices have these `values` and whose points have these `guards`."""
    assert not stage.is_call
    box = bound.boxes[stage.number]
    found: dict[tuple[tuple[Expr | None, ...], tuple[Expr, ...]], Need] = {}
    for read in survey(stage.statement).reads:  # type: ignore[arg-type]
        if read.access.tensor.name == tensor:
            need = _need(stage, read, values, guards, bound, box)
            if FALSE not in need.guards:
                found.setdefault((need.indices, need.guards), need)
    return list(found.values())


def _need(
    stage: Stage,
    read: Read,
    values: Mapping[IndexVar, Expr],
    guards: tuple[Expr, ...],
    bound: ranges.Bound,
    box: Box,
) -> Need:
    scope = _Scope(stage.name, values, bound, box)
    name = read.access.tensor.name
    indices: list[Expr | None] = []
    for axis, subscript in enumerate(read.access.indices):
        expr = scope.affine(subscript)
        if expr is not None and subscript.is_data:
            # Index notation as expressions over loops; records the variables of inline reductions that occur.
            origin, extent = bound.origins[name][axis], bound.shapes[name][axis]
            expr = Binary("max", Const(origin), Binary("min", expr, Const(origin + extent - 1)))
        indices.append(expr)
    conditions: list[Expr] = []
    test = read.path
    while test is not None:
        conditions += _parts(scope.condition(test_condition(test, bound.sizes)))
        test = test.before
    kept = tuple(dict.fromkeys([*guards, *reversed(conditions)]))
    return Need(tuple(indices), kept, scope.inner)


def _parts(condition: Expr) -> list[Expr]:
    return list(condition.parts) if isinstance(condition, And) else [condition]


class _Scope:
    """Index notation as expressions over loops; notes the variables of inline reductions that occur."""

    def __init__(self, stage: str, values: Mapping[IndexVar, Expr], bound: ranges.Bound, box: Box) -> None:
        self.stage = stage
        self.values = values
        self.bound = bound
        self.box = box
        self.inner: dict[str, Span] = {}

    def index(self, variable: IndexVar) -> Expr:
        if variable in self.values:
            return self.values[variable]
        name = f"{self.stage}.{variable}'"
        self.inner[name] = self.box[variable]
        return Var(name)

    def affine(self, affine: Affine) -> Expr | None:
        """None if the value depends on data."""
        base = affine.base.evaluate(self.bound.sizes)
        total: Expr | None = None
        for atom, size in affine.terms:
            weight = size.evaluate(self.bound.sizes)
            value = self.atom(atom)
            if value is None:
                return None
            if weight == 0:
                continue
            if total is None:
                total = value if weight == 1 else value * weight
            elif weight < 0:
                total = total - (value if weight == -1 else value * -weight)
            else:
                total = total + (value if weight == 1 else value * weight)
        if total is None:
            return Const(base)
        return total if base == 0 else total + base if base > 0 else total - -base

    def atom(self, atom: Atom) -> Expr | None:
        match atom:
            case IndexVar():
                return self.index(atom)
            case Quotient(argument, divisor) | Remainder(argument, divisor):
                by = divisor.evaluate(self.bound.sizes)
                if by == 0:
                    return Const(0)
                inner = self.affine(argument)
                if inner is None:
                    return None
                return inner // by if isinstance(atom, Quotient) else inner % by
            case Clamp(kind, arguments):
                inners = [self.affine(argument) for argument in arguments]
                total = inners[0]
                for inner in inners[1:]:
                    if total is None or inner is None:
                        return None
                    total = Binary(kind, total, inner)
                return total
            case ir.Data(expr):
                return self.integer(expr)
            case _:
                return None

    def integer(self, expr: ir.Expr) -> Expr | None:
        """An integer expression of indices only; None if it reads a tensor or may divide by zero."""
        if expr.dtype not in ("int32", "int64"):
            return None
        match expr:
            case ir.Const(int() as value):
                return Const(int(value))
            case ir.Extent(size):
                return Const(size.evaluate(self.bound.sizes))
            case ir.Index(variable):
                return self.index(variable)
            case ir.Cast(operand):
                return self.integer(operand)
            case ir.Unary("-", operand):
                inner = self.integer(operand)
                return None if inner is None else -inner
            case ir.Select(condition, then, otherwise):
                test, first, second = self.test(condition), self.integer(then), self.integer(otherwise)
                if test is None or first is None or second is None:
                    return None
                return Select(test, first, second)
            case ir.Binary(operator, left, right):
                return self.binary(operator, self.integer(left), self.integer(right))
            case _:
                return None

    def binary(self, operator: str, left: Expr | None, right: Expr | None) -> Expr | None:
        if left is None or right is None:
            return None
        match operator:
            case "+" | "-" | "*" | "min" | "max":
                made: Expr = Binary(operator, left, right)
            case "//" | "%" | "quot" | "rem" if isinstance(right, Const) and right.value != 0:
                made = Binary({"quot": "tdiv", "rem": "tmod"}.get(operator, operator), left, right)
            case _:
                return None
        return Const(made.evaluate({})) if isinstance(left, Const) and isinstance(right, Const) else made

    def test(self, condition: ir.Expr) -> Expr | None:
        match condition:
            case ir.Binary("<" | "<=" | ">" | ">=" | "==" | "!=" as operator, left, right):
                first, second = self.integer(left), self.integer(right)
                return None if first is None or second is None else Compare(operator, first, second)
            case _:
                return None

    def condition(self, condition: Condition) -> Expr:
        """Data-dependent conditions count as true."""
        match condition:
            case AtLeastZero(affine):
                value = self.affine(affine)
                if value is None:
                    return TRUE
                if isinstance(value, Const):
                    return TRUE if value.value >= 0 else FALSE
                return Compare(">=", value, Const(0))
            case AllOf(parts):
                inner = [self.condition(part) for part in parts]
                if FALSE in inner:
                    return FALSE
                return And(tuple(part for one in inner for part in _parts(one)))
            case AnyOf(parts):
                inner = [self.condition(part) for part in parts]
                if TRUE in inner:
                    return TRUE
                kept = tuple(part for part in inner if part is not FALSE)
                return kept[0] if len(kept) == 1 else Or(kept)
