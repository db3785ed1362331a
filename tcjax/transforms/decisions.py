"""Drops conditions that the facts decide, and simplifies subscripts under the guards around them."""

from dataclasses import dataclass, field, replace
from typing import TypeVar

from .. import ir
from ..symbolic import TRUE, Box, Condition, Facts, negation
from .subscripts import Known

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
# int64, too, has 32 bits while JAX's x64 mode is off.
_WRAPS = 2**31


def decide(statement: Formula, box: Box) -> tuple[Formula, tuple[str, ...]]:
    """The statement without conditions that always hold and branches that are never taken, and the reasons.

    Decided parts of a conjunction are dropped. Sizes must be numbers.
    """
    decider = _Decider(box)
    known = Known.over(box)
    guard, inside = decider.guard(statement.domain.guard, known)
    domain = replace(statement.domain, guard=guard)
    decided = replace(statement, value=decider.expr(statement.value, inside), domain=domain)
    return decided, tuple(dict.fromkeys(decider.reasons))


def decide_alone(guard: ir.Expr | None, value: ir.Expr, box: Box) -> tuple[ir.Expr | None, ir.Expr]:
    """The rest of a guard (None: nothing), and a value simplified under it, outside any statement."""
    nameless = ir.Define(ir.Tensor("", value.dtype, ()), (), value, ir.Domain(guard=guard))
    found, _ = decide(nameless, box)
    return found.domain.guard, found.value


@dataclass(slots=True)
class _Decider:
    box: Box
    reasons: list[str] = field(default_factory=list)
    words: dict[Condition, str] = field(default_factory=dict)

    def guard(self, guard: ir.Expr | None, known: Known) -> tuple[ir.Expr | None, Known]:
        """The rest of a guard (None: nothing), and the facts inside it."""
        if guard is None:
            return None, known
        left = self.expr(guard, known)
        return (None if _is(left, True) else left), self.narrowed(known, guard, outcome=True)

    def expr(self, node: ir.Expr, known: Known) -> ir.Expr:
        match node:
            case ir.Select(condition, then, otherwise):
                test = self.expr(condition, known)
                if _is(test, True) or _is(test, False):
                    return self.expr(then if _is(test, True) else otherwise, known)
                kept = self.expr(then, self.narrowed(known, condition, outcome=True))
                other = self.expr(otherwise, self.narrowed(known, condition, outcome=False))
                return replace(node, condition=test, then=kept, otherwise=other)
            case ir.Binary("&&" | "||" as operator, left, right):
                return self.joined(node, operator == "&&", left, right, known)
            case ir.Unary("!", operand):
                inner = self.expr(operand, known)
                if isinstance(inner, ir.Const):
                    return replace(inner, value=not inner.value)
                return replace(node, operand=inner)
            case ir.Binary(operator) if operator in _COMPARISONS:
                return self.comparison(node, known)
            case ir.Reduce(guard=guard, body=body, rank=rank):
                left, inside = self.guard(guard, known)
                return replace(
                    node,
                    guard=left,
                    body=self.expr(body, inside),
                    rank=None if rank is None else self.expr(rank, known),
                )
            case ir.Access():
                rebuilt = ir.rebuild(node, lambda child: self.expr(child, known))
                assert isinstance(rebuilt, ir.Access)
                if all(index.is_linear for index in rebuilt.indices):
                    return rebuilt
                return replace(rebuilt, indices=tuple(map(known.simplify, rebuilt.indices)))
            case _:
                return ir.rebuild(node, lambda child: self.expr(child, known))

    def joined(self, node: ir.Binary, both: bool, left: ir.Expr, right: ir.Expr, known: Known) -> ir.Expr:
        """A conjunction (`both`) or disjunction; its second part is decided where the first one leaves it open."""
        first = self.expr(left, known)
        if _is(first, not both):
            return first
        second = self.expr(right, self.narrowed(known, left, outcome=both))
        if _is(first, both) or _is(second, not both):
            return second
        return first if _is(second, both) else replace(node, left=first, right=second)

    def comparison(self, node: ir.Binary, known: Known) -> ir.Expr:
        if not _is_exact(node, known):
            return ir.rebuild(node, lambda child: self.expr(child, known))
        for outcome in (True, False):
            # The condition for the other outcome never holds.
            needed = ir.condition_of(node, not outcome)
            if needed != TRUE and known.facts.prove(negation(needed)):
                self.reasons.append(self.reason(node, outcome, known.facts))
                return ir.Const(outcome, "bool", span=node.span)
        return ir.rebuild(node, lambda child: self.expr(child, known))

    def reason(self, node: ir.Binary, outcome: bool, facts: Facts) -> str:
        """Why a comparison always or never holds: the ranges of its indices, and the guards around it."""
        indices = sorted(ir.free_indices(node), key=str)
        told = [f"{index} in {self.box[index][0]}:{self.box[index][1]}" for index in indices if index in self.box]
        for given in facts.given:
            if isinstance(given.condition, Condition) and not given.dropped and given.condition in self.words:
                told.append(self.words[given.condition])
        because = f": {', '.join(dict.fromkeys(told))}" if told else ""
        return f"the guard {_shown(node)} {'always' if outcome else 'never'} holds{because}"

    def narrowed(self, known: Known, guard: ir.Expr, *, outcome: bool) -> Known:
        """The facts where a condition has this outcome."""
        condition = ir.condition_of(guard, outcome)
        if condition == TRUE or not _is_exact(guard, known):
            return known
        self.words.setdefault(condition, f"inside {'' if outcome else 'the other branch of '}{_shown(guard)}")
        return Known(known.facts.assume(condition))


def _is_exact(condition: ir.Expr, known: Known) -> bool:
    """Whether none of its integers overflows its type: otherwise a different number is compared."""
    for node in ir.walk(condition):
        if isinstance(node, (ir.Binary, ir.Unary)) and ir.types.is_integral(node.dtype):
            ends = known.facts.values(ir.affine_of(node), quickly=True)
            if ends is None or not (ends[0] >= -_WRAPS and ends[1] < _WRAPS):
                return False
    return True


def _shown(condition: ir.Expr) -> str:
    text = ir.show_expr(condition)
    return f"`{text[1:-1] if text.startswith('(') and text.endswith(')') else text}`"


def _is(expr: ir.Expr, value: bool) -> bool:
    return isinstance(expr, ir.Const) and expr.dtype == "bool" and expr.value == value
