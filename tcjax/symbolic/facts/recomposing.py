"""`simplify`: the cheapest expression that equals a given one wherever the facts hold."""

from collections.abc import Iterator
from functools import reduce
from typing import TYPE_CHECKING, Final

from . import deciding
from .costs import cost
from .polynomials import Least, Symbol, express
from .trees import And, Binary, Compare, Const, Expr, Not, Select, binary, is_condition, spine

if TYPE_CHECKING:
    from .facts import Prover

# Deeper or longer expressions are returned unchanged: the searches below recurse level by level.
_DEPTH_LIMIT: Final = 40
_SUM_LIMIT: Final = 200

# The bounds are asked whether an expression is constant only if the interval is no wider than this.
_NARROW: Final = 16


def simplify(facts: "Prover", expr: Expr) -> Expr:
    """An expression that equals `expr` at every point of the domain where `expr` is defined, and costs no more.

    It may be defined at more points than `expr`, never at fewer.
    """
    if isinstance(expr, Const) or expr.depth > _DEPTH_LIMIT or not facts.knowledge.ledger.spend(1):
        return expr
    if is_condition(expr):
        return deciding.simplify_condition(facts, expr)
    return deciding.cheapest([expr, *_candidates(facts, expr)])


def _candidates(facts: "Prover", expr: Expr) -> Iterator[Expr]:
    """Expressions equal to `expr`."""
    if isinstance(expr, Binary) and expr.op in ("+", "-") and len(spine(expr)[1]) > _SUM_LIMIT:
        yield express(facts.normal(expr))
        return
    poly = facts.normal(expr)
    constant = _constant(facts, expr) if any(not isinstance(atom, Symbol) for atom in poly.atoms) else None
    if constant is not None:
        yield Const(constant)
        return
    written = deciding.composer(facts).compose(poly)
    yield written
    if cost(written) == 0:
        return
    inside = _inside(facts, expr)
    yield inside
    if inside != expr:
        again = facts.normal(inside)
        if again != poly:
            yield deciding.composer(facts).compose(again)
    if isinstance(inside, Binary):
        yield from _lifted(facts, inside)
        if inside.op in ("//", "%", "tdiv", "tmod") and not isinstance(inside.right, Const):
            yield from _small_quotient(facts, inside)
        if inside.op in ("min", "max") and any(isinstance(atom, Least) for atom in poly.atoms):
            yield from _dominated(facts, inside)
    if isinstance(inside, Select):
        yield from _choices(facts, inside)


def _constant(facts: "Prover", expr: Expr) -> int | None:
    """The only value of `expr`, if a first look says that there are few."""
    internal = facts.knowledge.normal(expr)
    if internal.value is not None:
        return internal.value
    low, high = facts.knowledge.interval(internal)
    if low is None or high is None or high - low > _NARROW:
        return None
    low, high = facts.bounds(expr)
    return low if low == high else None


def _inside(facts: "Prover", expr: Expr) -> Expr:
    """`expr` with each of its parts simplified separately."""
    match expr:
        case Binary("+" | "-"):
            first, rest = spine(expr)
            return reduce(
                lambda total, term: binary(term[0], total, facts.simplify(term[1])), rest, facts.simplify(first)
            )
        case Binary(op, left, right):
            return binary(op, facts.simplify(left), facts.simplify(right))
        case Select(condition, then, otherwise):
            return Select(facts.simplify(condition), *_branches(facts, condition, then, otherwise))
        case _:
            return expr


def _small_quotient(facts: "Prover", expr: Binary) -> Iterator[Expr]:
    """A quotient or remainder of an operand known to be below the divisor, or below twice the divisor."""
    left, right = expr.left, expr.right
    for quotient in (0, 1):
        rest = left if quotient == 0 else left - right
        if facts.prove(And((Compare(">=", rest, Const(0)), Compare("<", rest, right)))):
            yield Const(quotient) if expr.op in ("//", "tdiv") else facts.simplify(rest)
            return


def _dominated(facts: "Prover", expr: Binary) -> Iterator[Expr]:
    """The argument of a ``min`` or ``max`` that is never beaten."""
    for relation in ("<=", ">="):
        if facts.prove(Compare(relation, expr.left, expr.right)):
            yield expr.left if (relation == "<=") == (expr.op == "min") else expr.right


def _lifted(facts: "Prover", expr: Binary) -> Iterator[Expr]:
    """``select(c, a, b) op select(c, x, y) = select(c, a op x, b op y)``."""
    left, right = expr.left, expr.right
    if isinstance(left, Select) and isinstance(right, Select) and left.condition == right.condition:
        then, otherwise = binary(expr.op, left.then, right.then), binary(expr.op, left.otherwise, right.otherwise)
        yield Select(left.condition, *_branches(facts, left.condition, then, otherwise))


def _branches(facts: "Prover", condition: Expr, then: Expr, otherwise: Expr) -> tuple[Expr, Expr]:
    return facts.assume(condition).simplify(then), facts.assume(Not(condition)).simplify(otherwise)


def _choices(facts: "Prover", expr: Select) -> Iterator[Expr]:
    """``select(c, a, b)`` if `c` is known, if one branch is correct on both sides, and as a ``min`` or ``max``."""
    condition, then, otherwise = expr.condition, expr.then, expr.otherwise
    if facts.prove(condition):
        yield then
        return
    if facts.prove(Not(condition)):
        yield otherwise
        return
    if isinstance(then, Select) and then.otherwise == otherwise:
        yield Select(deciding.conjunction([condition, then.condition]), then.then, otherwise)
    if isinstance(then, Select) and then.then == otherwise:
        apart = deciding.conjunction([condition, deciding.negation(then.condition)])
        yield Select(apart, then.otherwise, otherwise)
    if isinstance(otherwise, Select) and otherwise.then == then:
        yield Select(deciding.disjunction([condition, otherwise.condition]), then, otherwise.otherwise)
    if isinstance(otherwise, Select) and otherwise.otherwise == then:
        apart = deciding.disjunction([condition, deciding.negation(otherwise.condition)])
        yield Select(apart, then, otherwise.then)
    holds, fails = facts.assume(condition), facts.assume(Not(condition))
    for always, facts_, other in ((then, fails, otherwise), (otherwise, holds, then)):
        if deciding.total(always) and facts_.prove(Compare("==", always, other)):
            yield always
    if deciding.total(then) and deciding.total(otherwise):
        for op, relation in (("min", "<="), ("max", ">=")):
            if holds.prove(Compare(relation, then, otherwise)) and fails.prove(Compare(relation, otherwise, then)):
                yield binary(op, then, otherwise)
