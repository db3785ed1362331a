"""Inlines named temporaries: replaces reads by the temporary's definition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from .definitions import Formula, as_accumulation, as_define, covers, neutral
from .diagonals import everywhere
from .substitution import substitute_expr

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]

# Limits on the size and depth of a statement after inlining.
MOST_NODES = 400
MOST_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Step:
    """A statement with numbers for sizes and guards for given ranges, and the range of each of its indices.

    A `fixed` step passes no derivative: no result depends on it.
    """

    statement: Formula
    box: Box
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """The definition of a tensor: `value` at the element with subscripts `axes`, whose ranges are its full extents."""

    axes: tuple[Affine, ...]
    value: ir.Expr
    box: Box
    places: tuple[tuple[int, int], ...]

    def at(self, subscripts: tuple[Affine, ...], box: dict[IndexVar, tuple[int, int]]) -> ir.Expr:
        """The value of the element with these subscripts; adds the ranges of the indices that it binds to the `box`."""
        pairs = zip(self.axes, subscripts, strict=True)
        found = {(axis - axis.base).bare: subscript - axis.base for axis, subscript in pairs}
        values = {index: affine for index, affine in found.items() if index is not None}
        return substitute_expr(Renaming(box, self.box).renamed(self.value), values)


def named(step: Step, shape: Shape, origin: Shape, is_new: bool) -> Named | None:
    """The step's result as a definition; None if it is not an expression, or does not cover every element."""
    whole = _whole(step, shape, origin, is_new)
    if whole is None or is_large(whole.statement):
        return None
    value = whole.statement.value
    if step.fixed:
        if not isinstance(value, ir.Reduce):
            return None
        value = replace(value, fixed=True)
    places = tuple((first, first + extent) for first, extent in zip(origin, shape, strict=True))
    return Named(whole.statement.indices, value, whole.box, places)


def _whole(step: Step, shape: Shape, origin: Shape, is_new: bool) -> Step | None:
    """The step as the value of every element of its target, with the old value included."""
    statement = step.statement
    if isinstance(statement, ir.Accumulate):
        reducer, guard = statement.reducer, statement.domain.guard
        if not isinstance(reducer, ir.Reducer) or reducer.is_ranked:
            return None
        if not (statement.restart or is_new) and not (
            reducer.operator is not None and statement.accumulate == statement.target.dtype
        ):
            return None
        if not statement.reduction and (
            reducer.gives_position or (guard is not None and neutral(reducer, statement.value.dtype) is None)
        ):
            return None
    whole, box = as_define(statement, is_new), step.box
    if not covers(statement, box, shape, origin):
        # Nothing is known about elements that a new accumulation does not reach.
        spread = None if is_new and isinstance(statement, ir.Accumulate) else everywhere(whole, box, shape, origin)
        if spread is None:
            return None
        whole, box = as_define(spread[0], is_new), spread[1]
    if whole.domain.guard is not None:
        before = ir.Access(whole.target, whole.indices)
        value = ir.Select(whole.domain.guard, whole.value, before, whole.value.dtype)
        whole = replace(whole, value=value, domain=ir.Domain())
    return replace(step, statement=whole, box=box) if whole.value.dtype == whole.target.dtype else None


def inlined(step: Step, name: str, known: Named, shapes: Shapes, origins: Shapes) -> Step | None:
    """The step without reads of the tensor; None if one must stay, such as a data-dependent one that the tensor would
    clamp.
    """
    target = step.statement.target.name
    statement = step.statement
    if target == name and needs_before(step, shapes[name], origins[name]):
        if _begins(statement, known, step, shapes[name], origins[name]):
            assert isinstance(statement, ir.Accumulate)
            statement = replace(statement, restart=True)
        else:
            whole = _whole(_begun(step, known), shapes[name], origins[name], is_new=False)
            if whole is None:
                return None
            step, statement = whole, whole.statement
    inliner = _Inliner(name, known, step.box, shapes, origins)
    try:
        statement = inliner.statement(statement)
    except _Clamps:
        return None
    if is_large(statement):
        return None
    return replace(step, statement=as_accumulation(statement) or statement, box=inliner.box)


def is_large(statement: Formula) -> bool:
    """Whether the expressions of a statement are too large or too deep."""
    nodes = 0
    pending = [(part, 1) for part in ir.parts_of(statement)]
    while pending:
        expr, depth = pending.pop()
        nodes += 1
        if nodes > MOST_NODES or depth > MOST_DEPTH:
            return True
        pending.extend((child, depth + 1) for child in ir.children(expr))
    return False


def needs_before(step: Step, shape: Shape, origin: Shape) -> bool:
    """Whether the step keeps any of its target's old value, if there is one."""
    statement = step.statement
    replaces = statement.restart if isinstance(statement, ir.Accumulate) else statement.domain.guard is None
    return not replaces or not covers(statement, step.box, shape, origin)


def _begins(statement: Formula, known: Named, step: Step, shape: Shape, origin: Shape) -> bool:
    """Whether an accumulation continues from its own identity, everywhere."""
    if not isinstance(statement, ir.Accumulate) or statement.restart:
        return False
    if not isinstance(statement.reducer, ir.Reducer) or known.value != neutral(statement.reducer, known.value.dtype):
        return False
    kept = [n for n, subscript in enumerate(statement.indices) if not subscript.is_data]
    plain = replace(statement, indices=tuple(statement.indices[n] for n in kept))
    return covers(plain, step.box, tuple(shape[n] for n in kept), tuple(origin[n] for n in kept))


def _begun(step: Step, known: Named) -> Step:
    """The step without its old value, if that is its identity."""
    statement = step.statement
    if not isinstance(statement, ir.Accumulate) or not isinstance(statement.reducer, ir.Reducer):
        return step
    begins = known.value == neutral(statement.reducer, known.value.dtype)
    return replace(step, statement=replace(statement, restart=True)) if begins else step


class _Clamps(Exception):
    """A subscript that its tensor would clamp."""


class _Inliner:
    """One statement in which reads are being replaced; `box` gains the indices that this binds."""

    def __init__(self, name: str, known: Named, box: Box, shapes: Shapes, origins: Shapes) -> None:
        self.name = name
        self.known = known
        self.box = dict(box)
        self.shapes = shapes
        self.origins = origins

    def statement(self, statement: Formula) -> Formula:
        guard = statement.domain.guard
        domain = replace(statement.domain, guard=None if guard is None else self.expr(guard))
        indices = tuple(self.affine(subscript) for subscript in statement.indices)
        return replace(statement, indices=indices, value=self.expr(statement.value), domain=domain)

    def affine(self, affine: Affine) -> Affine:
        return affine.rewrite(lambda atom: ir.Data(self.expr(atom.expr)) if isinstance(atom, ir.Data) else atom)

    def expr(self, expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, self.expr)
        if not isinstance(expr, ir.Access) or expr.tensor.name != self.name:
            return expr
        for axis, subscript, (lo, hi) in zip(self.known.axes, expr.indices, self.known.places, strict=True):
            index = (axis - axis.base).bare
            assert index is not None
            if subscript.is_data and not self.clamps_alike(index, (lo, hi)):
                raise _Clamps
        return self.known.at(expr.indices, self.box)

    def clamps_alike(self, index: IndexVar, ends: tuple[int, int]) -> bool:
        """Whether the index is only used to read tensors that clamp data the same way."""
        for node in ir.walk(self.known.value):
            if isinstance(node, ir.Index) and node.variable == index:
                return False
            if isinstance(node, ir.Access):
                name = node.tensor.name
                for subscript, extent, first in zip(node.indices, self.shapes[name], self.origins[name], strict=True):
                    whole = subscript.bare == index and ends == (first, first + extent)
                    if index in subscript.variables and not whole:
                        return False
        return True


@dataclass(frozen=True, slots=True)
class Renaming:
    """Fresh names for the indices that an expression binds; those with ranges in `known` are added to the box."""

    box: dict[IndexVar, tuple[int, int]]
    known: Box

    def renamed(self, expr: ir.Expr) -> ir.Expr:
        """The expression with fresh names for the indices that it binds."""
        match expr:
            case ir.Reduce(indices=indices):
                names = {index: self.fresh(index) for index in indices}
                values = {old: Affine.of(new) for old, new in names.items()}
                parts = ir.rebuild(expr, lambda part: substitute_expr(self.renamed(part), values))
                assert isinstance(parts, ir.Reduce)
                return replace(parts, indices=tuple(names.values()))
            case _:
                return ir.rebuild(expr, self.renamed)

    def fresh(self, index: IndexVar) -> IndexVar:
        tag = index.tag
        while (found := IndexVar(index.name, tag)) in self.box or found in self.known:
            tag += 1
        self.box[found] = self.known[index]
        return found


def reads(statement: ir.Statement) -> Iterable[str]:
    """The names of the tensors that a statement reads, except the target it continues from."""
    return (tensor.name for tensor in ir.tensors_read(statement))
