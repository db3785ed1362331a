"""Steps that combine the previous state elementwise with something: such a loop is a scan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from .. import ir, ranges
from ..ir import Reducer
from .recurrences import OneStep, written_out


@dataclass(frozen=True, slots=True)
class Shifted:
    """Kinds of dependence: the old value plus something; with a reducer, that combined with something else."""

    reducer: Reducer | None = None


# How a value depends on a tensor before the step: missing (not at all); the same element; combined with something by a
# reducer (for a sum, possibly with a factor); that after a shift; or anything else. Each with the other tensors it
# assumes to be given.
Kind: TypeAlias = Reducer | Shifted | str
Kinds = Mapping[str, Kind]
ITSELF: Final = "itself"
OTHER: Final = "other"
JOINING: Final = {reducer.joins: reducer for reducer in Reducer if reducer.joins is not None}


@dataclass(frozen=True, slots=True)
class Joining:
    """A tensor that steps pass on, and the reducer that combines its old value with a step's contribution.

    For a sum, the new value is ``a * old + b`` for every element; for another reducer, ``old`` and ``b`` are combined,
    or ``old + a`` and ``b`` if there are `shifts`: the program of a step that computes ``a`` in the tensor's place.
    """

    name: str
    reducer: Reducer
    shifts: ranges.Bound | None = None


def joining_steps(step: OneStep) -> tuple[Joining, ...] | None:
    """The tensors that steps pass on, each before those that need it; None if a step does anything else.

    Neither `a` nor `b` depends on the old value, or on later tensors.
    """
    found = _Kinds(step).found()
    if found is None:
        return None
    order: dict[str, Joining] = {}
    while len(order) < len(found):
        ready = [
            name
            for name, kinds in found.items()
            if name not in order
            and kinds.get(name) != OTHER
            and all(other in order or other == name for other in kinds)
        ]
        if not ready:
            return None
        for name in ready:
            match found[name].get(name, ITSELF):
                case Shifted(Reducer() as reducer):
                    shifts = _Shifts(step, name, reducer).program()
                    if shifts is None:
                        return None
                    order[name] = Joining(name, reducer, shifts)
                case Reducer() as reducer:
                    order[name] = Joining(name, reducer)
                case _:
                    order[name] = Joining(name, Reducer.SUM)
    return tuple(order.values())


class _Kinds:
    """How every tensor of a step depends on those before it."""

    def __init__(self, step: OneStep) -> None:
        self.step, self.bound = step, step.bound
        self.known: dict[str, Kinds] = {own: {t.tensor: ITSELF} for own, t in step.taken.items() if t.is_old}

    def found(self) -> dict[str, Kinds] | None:
        """The dependences of the tensors passed on; None if a step contains loops, or needs more than the previous
        step.
        """
        if self.bound.function.loops or any(t.kind == "row" and t.lag > 1 for t in self.step.taken.values()):
            return None
        for statement in self.bound.function.statements:
            if not isinstance(statement, (ir.Define, ir.Accumulate)):
                return None
            self.known[statement.target.name] = self.written(statement)
        handed_on = {taken.tensor for taken in self.step.taken.values() if taken.kind == "state" or taken.lag}
        rows = {row.tensor.name: row.tensor for row in self.step.rows if row.tensor.name in handed_on}
        found = {name: self.known[name] for name in rows}
        # Sums of integers wrap, and 16-bit floats are rounded after each step.
        exact = {
            name for name, kinds in found.items() if kinds.get(name, ITSELF) != ITSELF and not _rounds(kinds[name])
        }
        wide = all(rows[name].dtype in ("float32", "float64") for name in rows if name not in exact)
        return found if wide else None

    def written(self, statement: ir.Define | ir.Accumulate) -> Kinds:
        """The dependences of a statement's target after it."""
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
            if reducer is Reducer.SUM:
                before = _added(before, {})
            else:
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
                case ir.Binary("+", left, right):
                    return _added(of(left), of(right))
                case ir.Binary("-", left, right):
                    return _added(of(left), _joined(Reducer.SUM, of(right)))
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
        """The dependences of a read: the value itself if the element is the one being written."""
        name, target = access.tensor.name, statement.target.name
        inside = [self.kinds(atom.expr, statement) for s in access.indices for atom in ir.data_atoms(s)]
        own = self.known.get(name, {})
        shapes, origins = self.bound.shapes, self.bound.origins
        same = access.indices == statement.indices and (shapes[name], origins[name]) == (
            shapes[target],
            origins[target],
        )
        return _joined(None, own if same else _other(own), *map(_other, inside))


def _rounds(kind: Kind) -> bool:
    """Whether a scan's rounding differs from a loop's."""
    return isinstance(kind, Shifted) or kind in (Reducer.SUM, Reducer.LOGSUMEXP, OTHER)


def _joined(way: Reducer | None, *found: Kinds) -> Kinds:
    """The dependences of values combined by a reducer; without one, each in its own way."""
    names = dict.fromkeys(name for each in found for name in each)
    kinds = {name: {each[name] for each in found if name in each} for name in names}
    if way is not None:
        return {name: _way(way, each) for name, each in kinds.items()}
    return {name: next(iter(each)) if len(each) == 1 else OTHER for name, each in kinds.items()}


def _way(way: Reducer, kinds: set[Kind]) -> Kind:
    """How a combination depends on an old value, given how its operands do."""
    if kinds <= {ITSELF, way} or (way is Reducer.SUM and kinds <= {ITSELF, way, Shifted()}):
        return way
    shifted = {ITSELF, way, Shifted(), Shifted(way)}
    return Shifted(way) if way.distributes_over == "+" and kinds <= shifted else OTHER


def _added(one: Kinds, two: Kinds) -> Kinds:
    """The dependences of a sum: if only one operand has the old value, the other one shifts it."""
    found: dict[str, Kind] = dict(_joined(Reducer.SUM, one, two))
    for name in {*one} ^ {*two}:
        match one.get(name) or two.get(name):
            case "itself" | Shifted(None):
                found[name] = Shifted()
            case Reducer(distributes_over="+") | Shifted(Reducer()) as kind:
                found[name] = kind if isinstance(kind, Shifted) else Shifted(kind)
            case _:
                continue
    return found


def _either(one: Kinds, two: Kinds) -> Kinds:
    """The dependences of a choice between two values: if one of them lacks the old value, its factor or shift is
    neutral.
    """
    found: dict[str, Kind] = {}
    for name in dict.fromkeys((*one, *two)):
        kinds = {each[name] for each in (one, two) if name in each}
        rest = kinds - {ITSELF}
        if name in one and name in two and len(rest) < 2:
            found[name] = next(iter(rest), ITSELF)
        elif rest <= {Reducer.SUM, Shifted()}:
            found[name] = Reducer.SUM
        else:
            [*joins] = {each.reducer if isinstance(each, Shifted) else each for each in rest} - {None}
            [way] = joins if len(joins) == 1 else [None]
            found[name] = _way(way, {*kinds, Shifted()}) if isinstance(way, Reducer) else OTHER
    return found


def _other(found: Kinds) -> Kinds:
    return dict.fromkeys(found, OTHER)


# ---------------------------------------------------------------- shifts


class _Shifts:
    """A step that computes, in a tensor's place, the shift of its old value."""

    def __init__(self, step: OneStep, name: str, reducer: Reducer) -> None:
        self.kinds, self.name, self.reducer = _Kinds(step), name, reducer
        self.old = {own for own, taken in step.taken.items() if taken.is_old and taken.tensor == name}

    def program(self) -> ranges.Bound | None:
        """The step; None if a reduction restarts."""
        bound, known = self.kinds.bound, self.kinds.known
        statements: list[ir.Statement] = []
        for statement in bound.function.statements:
            assert isinstance(statement, (ir.Define, ir.Accumulate)), "a step that joins has no others"
            target = statement.target.name
            before, kinds = self.name in known.get(target, {}), self.kinds.written(statement)
            if self.name in kinds and isinstance(statement, ir.Accumulate):
                if statement.restart or not before:
                    return None
                # Addition shifts, joining does not.
                value = statement.value if statement.reducer is Reducer.SUM else self.nothing(statement.value)
                statement = replace(statement, value=value)
            elif self.name in kinds or before:
                statement = replace(statement, value=self.shift(statement.value, statement))
            statements.append(statement)
            known[target] = kinds
        return replace(bound, function=replace(bound.function, statements=tuple(statements)))

    def nothing(self, value: ir.Expr) -> ir.Expr:
        return ir.Const(self.reducer.empty(value.dtype), value.dtype)

    def shift(self, expr: ir.Expr, statement: ir.Define | ir.Accumulate) -> ir.Expr:
        """The shift of the old value in an expression; neutral if the old value does not occur."""

        def of(expr: ir.Expr) -> ir.Expr:
            if self.name not in self.kinds.kinds(expr, statement):
                return self.nothing(expr)
            match expr:
                case ir.Access(tensor):
                    return ir.Const(0.0, expr.dtype) if tensor.name in self.old else expr
                case ir.Binary("+" | "-" as sign, left, right):
                    own, other = (self.name in self.kinds.kinds(part, statement) for part in (left, right))
                    pair = of(left) if own else left, of(right) if other else right
                    return ir.Binary(sign, *pair, expr.dtype)
                case ir.Cast(operand):
                    return of(operand)
                case ir.Select(condition, then, otherwise):
                    return ir.Select(condition, of(then), of(otherwise), expr.dtype)
                case _:
                    return written_out(self.reducer, [of(part) for part in ir.children(expr)], expr.dtype)

        return of(expr)
