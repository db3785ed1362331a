"""Cotangents: what each read of an expression receives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ... import ir
from ...symbolic import IndexVar
from .arithmetic import plus, times
from .forward import Known, depends
from .links import links
from .points import points
from .scope import Scope


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A read receives `value` at every point of the indices `bound` around it where the `guard` holds."""

    access: ir.Access
    value: ir.Expr
    bound: tuple[IndexVar, ...]
    guard: ir.Expr | None


@dataclass(frozen=True, slots=True)
class Backward:
    """Cotangents of the reads of tensors that `wrt` names."""

    scope: Scope
    wrt: Mapping[str, object]
    known: Known = field(default_factory=dict)

    def pull(
        self, expr: ir.Expr, cotangent: ir.Expr, bound: tuple[IndexVar, ...], guard: ir.Expr | None = None
    ) -> Iterator[Occurrence]:
        """What the expression's reads receive, given its own cotangent where `bound` indices are bound around it."""
        received = {id(expr): cotangent}
        for node in reversed(self.above(expr)):
            value = received.get(id(node))
            if value is None:
                continue
            match node:
                case ir.Access():
                    yield Occurrence(node, value, bound, guard)
                case ir.Reduce():
                    yield from self.reduce(node, value, bound, guard)
                case ir.Select(condition, then, otherwise):
                    for branch, test in ((then, condition), (otherwise, ir.negated(condition))):
                        if self.depends(branch):
                            yield from self.pull(branch, value, bound, ir.both(guard, test))
                case _:
                    for link in links(node):
                        if self.depends(link.operand):
                            part, before = link.backward(value), received.get(id(link.operand))
                            received[id(link.operand)] = part if before is None else plus(before, part)

    def depends(self, expr: ir.Expr) -> bool:
        return depends(expr, self.wrt, self.known)

    def above(self, expr: ir.Expr) -> list[ir.Expr]:
        """The nodes that depend on `wrt`, operands first, down to reads, reductions and choices: each node once."""
        found: dict[int, ir.Expr] = {}
        pending = [(expr, False)]
        while pending:
            node, is_ready = pending.pop()
            if id(node) in found or not self.depends(node):
                continue
            if is_ready:
                found[id(node)] = node
                continue
            pending.append((node, True))
            if not isinstance(node, (ir.Access, ir.Reduce, ir.Select)):
                pending.extend((child, False) for child in ir.children(node))
        return list(found.values())

    def reduce(
        self, expr: ir.Reduce, cotangent: ir.Expr, bound: tuple[IndexVar, ...], guard: ir.Expr | None
    ) -> Iterator[Occurrence]:
        found = points(expr, self.scope, frozenset(bound))
        if found is None:
            return
        inner = (*bound, *expr.indices)
        value = cotangent if found.scale is None else times(cotangent, found.scale)
        value = self.scope.apart(value, frozenset(inner))
        value = value if found.weight is None else times(value, found.weight)
        outer = None if guard is None else self.scope.apart(guard, frozenset(inner))
        yield from self.pull(expr.body, value, inner, ir.both(outer, found.condition))
