"""Preconditions of a kernel in the syntax of ``jax.export.symbolic_shape``."""

from collections.abc import Iterator
from typing import Final

from .. import ir, ranges
from ..symbolic import Affine, AtLeastZero, Facts, Size
from ..symbolic.facts.affines import Names, size_expression
from ..symbolic.facts.trees import MIRRORED, OPPOSITE, And, Binary, Compare, Const, Expr, Not, Or, Var, spine
from .assumptions import assumptions_of
from .frontends import Frontend

# Longer products of sums are left out.
_MOST_TERMS: Final = 400

# A sum of products: the factors of each product as texts, and its weight.
_Terms = dict[tuple[str, ...], int]


def constraints_of(function: ir.Function, frontend: Frontend) -> tuple[str, ...]:
    """The assumptions, then the program's own requirements, as far as JAX can express them."""
    assumptions = assumptions_of(frontend, function)
    facts = ranges.assumed(assumptions)
    texts = [text for assumption in assumptions for text in _constraints(assumption.condition)]
    for size in _needs(function, facts):
        texts += _constraints(Compare(">=", size_expression(size, Names()), Const(0)))
    return tuple(dict.fromkeys(texts))


def _needs(function: ir.Function, facts: Facts) -> Iterator[Size]:
    """Sizes that must not be negative, without those implied by assumptions or earlier ones."""
    known = {variable for size in ranges.size_names(function).values() for variable in size.variables()}
    for size in ranges.infer_ranges(function, facts).needs:
        need = AtLeastZero(Affine.of(size))
        if size.variables() <= known and not facts.prove(need):
            facts = facts.assume(need, why="legality")
            yield size


def _constraints(condition: Expr) -> Iterator[str]:
    """The parts of a condition that are comparisons JAX can express; others are left out."""
    match condition:
        case And(parts=parts):
            for part in parts:
                yield from _constraints(part)
        case Or(parts=(part,)):
            yield from _constraints(part)
        case Not(operand=Compare(op=operator, left=left, right=right)):
            yield from _constraints(Compare(OPPOSITE[operator], left, right))
        case Not(operand=Not(operand=part)):
            yield from _constraints(part)
        case Not(operand=Or(parts=parts)):
            for part in parts:
                yield from _constraints(Not(part))
        case Compare(op=operator, left=left, right=right):
            sides = _terms(left), _terms(right)
            if sides[0] is not None and sides[1] is not None:
                text = _comparison(operator, sides[0], sides[1])
                if text is not None:
                    yield text
        case _:
            return


def _comparison(operator: str, left: _Terms, right: _Terms) -> str | None:
    if operator in ("<", ">"):
        # For integers, greater means greater by at least one.
        least = left if operator == "<" else right
        least[()] = least.get((), 0) + 1
        operator += "="
    if operator == "!=":
        return None
    # JAX wants sums with positive terms on each side, and a single term on the left of an equation.
    difference = _added(left, right, -1)
    if not any(factors for factors in difference):
        return None
    if operator == "==":
        if len(left) != 1 and len(right) == 1:
            left, right = right, left
        if len(left) != 1 or () in left:
            factors = min((f for f in difference if f), key=lambda f: (abs(difference[f]), f))
            sign = 1 if difference[factors] > 0 else -1
            left = {factors: abs(difference[factors])}
            right = {f: -sign * weight for f, weight in difference.items() if f != factors}
        return f"{_shown(left)} == {_shown(right)}"
    if () in left and len(left) == 1 and left[()] == 0:
        left, right, operator = right, left, MIRRORED[operator]
    if any(weight < 0 for side in (left, right) for weight in side.values()):
        left = {f: weight for f, weight in difference.items() if weight > 0}
        right = {f: -weight for f, weight in difference.items() if weight < 0}
    return f"{_shown(left)} {operator} {_shown(right)}"


def _terms(expr: Expr) -> _Terms | None:
    """The expression as a sum of products that JAX can express; None if it cannot."""
    match expr:
        case Const(value=value):
            return {(): value}
        case Var(name=name):
            return {(name.replace(".", "_"),): 1}
        case Binary(op="+" | "-"):
            # A sum leans to the left, and may be thousands of terms long.
            first, rest = spine(expr)
            total = _terms(first)
            for operator, term in rest:
                other = _terms(term)
                if total is None or other is None:
                    return None
                total = _added(total, other, 1 if operator == "+" else -1)
            return total
        case Binary(op=operator, left=left, right=right):
            first, second = _terms(left), _terms(right)
            if first is None or second is None:
                return None
            match operator:
                case "*":
                    return _multiplied(first, second) if len(first) * len(second) <= _MOST_TERMS else None
                case "//":
                    return {(f"floordiv({_shown(first)}, {_shown(second)})",): 1}
                case "%":
                    return {(f"mod({_shown(first)}, {_shown(second)})",): 1}
                case "min" | "max":
                    return {(f"{operator}({_shown(first)}, {_shown(second)})",): 1}
                case _:
                    return None
        case _:
            return None


def _added(left: _Terms, right: _Terms, sign: int) -> _Terms:
    total = dict(left)
    for factors, weight in right.items():
        total[factors] = total.get(factors, 0) + sign * weight
    return {factors: weight for factors, weight in total.items() if weight} or {(): 0}


def _multiplied(left: _Terms, right: _Terms) -> _Terms:
    total: _Terms = {}
    for first, weight in left.items():
        for second, factor in right.items():
            total = _added(total, {tuple(sorted((*first, *second))): weight * factor}, 1)
    return total


def _shown(terms: _Terms) -> str:
    """``2*N*M - K + 1``, positive terms first."""
    text = ""
    for factors, weight in sorted(terms.items(), key=lambda term: (term[1] < 0, not term[0])):
        factor = "*".join(factors)
        size = abs(weight)
        shown = factor if factor and size == 1 else f"{size}*{factor}" if factor else str(size)
        text = f"{text} {'-' if weight < 0 else '+'} {shown}" if text else f"-{shown}" if weight < 0 else shown
    return text or "0"
