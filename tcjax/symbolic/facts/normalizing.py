"""Turns expressions into polynomials and conditions into formulas, under the facts of one `Knowledge`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import extrema, formulas, quotients
from .polynomials import (
    LARGEST,
    NO,
    YES,
    ZERO,
    All,
    Any,
    Atom,
    Choice,
    Floor,
    Formula,
    Least,
    Poly,
    Sealed,
    Sign,
    Symbol,
    Trunc,
    negated,
)
from .trees import And, Binary, Compare, Const, Expr, Not, Or, Select, Var, spine

if TYPE_CHECKING:
    from .knowledge import Knowledge


def normalized(known: Knowledge, expr: Expr) -> Poly:
    """The normal form of a number."""
    match expr:
        case Const(value):
            return Poly.of(value)
        case Var(name):
            return known.symbol(name)
        case Binary("+" | "-"):
            first, rest = spine(expr)
            terms = dict(known.normal(first).terms)
            for op, term in rest:
                sign = 1 if op == "+" else -1
                for monomial, weight in known.normal(term).terms.items():
                    terms[monomial] = terms.get(monomial, 0) + sign * weight
            return extrema.tidied(known, Poly({m: c for m, c in terms.items() if c}))
        case Binary(op, left, right):
            return _binary(known, op, known.normal(left), known.normal(right))
        case Select(condition, then, otherwise):
            return _select(known, known.formula(condition), then, otherwise)
        case _:
            raise AssertionError(expr)


def _binary(known: Knowledge, op: str, a: Poly, b: Poly) -> Poly:
    large = a.weight + b.weight > LARGEST
    match op:
        case "*":
            if len(a.terms) > 1 < len(b.terms) and (large or len(a.terms) * len(b.terms) > LARGEST // 4):
                return Poly.atom(Sealed(op, (a, b)))
            return a * b
        case "//":
            return quotients.floor(known, a, b)
        case "%" | "tmod" if large:
            return Poly.atom(Sealed(op, (a, b)))
        case "%":
            return extrema.tidied(known, a - b * quotients.floor(known, a, b))
        case "tdiv":
            return quotients.trunc(known, a, b)
        case "tmod":
            return extrema.tidied(known, a - b * quotients.trunc(known, a, b))
        case "min":
            return extrema.least(known, [a, b])
        case "max":
            return -extrema.least(known, [-a, -b])
        case _:
            raise AssertionError(op)


def _select(known: Knowledge, condition: Formula, then: Expr, otherwise: Expr) -> Poly:
    if condition == YES:
        return known.normal(then)
    if condition == NO or then is otherwise:
        return known.normal(otherwise)
    inside, outside = known.given(condition), known.given(negated(condition))
    if outside.impossible:
        return known.again(inside.shown(inside.normal(then)))
    if inside.impossible:
        return known.again(outside.shown(outside.normal(otherwise)))
    # A fact learned in a branch (an equality, say) may have renamed symbols: go back to names, then to the outer normal
    # form.
    a = known.again(inside.shown(inside.normal(then)))
    b = known.again(outside.shown(outside.normal(otherwise)))
    if (
        isinstance(condition, Sign)
        and condition.relation == "=="
        and extrema.is_total(b)
        and inside.again(b) == inside.again(a)
    ):
        return b  # select(x == 1, 1, x) is x
    return extrema.choice(known, condition, a, b)


def formula(known: Knowledge, expr: Expr) -> Formula:
    """The normal form of a condition."""
    match expr:
        case Compare(op, left, right):
            return formulas.compared(known, op, extrema.tidied(known, known.normal(left) - known.normal(right)))
        case And(parts):
            return _sequence(known, parts, conjunction=True)
        case Or(parts):
            return _sequence(known, parts, conjunction=False)
        case Not(operand):
            return negated(known.formula(operand))
        case _:
            raise AssertionError(expr)


def _sequence(known: Knowledge, parts: tuple[Expr, ...], *, conjunction: bool) -> Formula:
    found: list[Formula] = []
    for part in parts:
        one = known.formula(part)
        found.append(one)
        if one == (NO if conjunction else YES):
            break
    return formulas.both(found) if conjunction else formulas.either(found)


def divisors(expr: Expr) -> list[Expr]:
    """The divisors, other than numbers, that are evaluated wherever `expr` is."""
    found: dict[Expr, None] = {}
    seen = {expr}
    stack = [expr]
    while stack:
        node = stack.pop()
        children = node.children
        if isinstance(node, Binary) and node.op in ("//", "%", "tdiv", "tmod") and not isinstance(node.right, Const):
            found.setdefault(node.right)
        elif isinstance(node, Select | And | Or):
            children = children[:1]  # the rest is evaluated at some points only
        for child in children:
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return list(found)


def rebuilt(known: Knowledge, poly: Poly) -> Poly:
    """`poly` rebuilt under the facts of `known`."""
    fresh: dict[Atom, Poly] = {}
    changed = False
    for atom in poly.atoms:
        fresh[atom] = now = known.atom(atom)
        changed = changed or now.as_atom is not atom
    if not changed:
        return poly
    total = ZERO
    for monomial, weight in poly.terms.items():
        product = Poly.of(weight)
        for atom in monomial:
            product = _binary(known, "*", product, fresh[atom])
        total = total + product
    return extrema.tidied(known, total)


def rebuilt_atom(known: Knowledge, atom: Atom) -> Poly:
    """`atom` rebuilt under the facts of `known`."""
    match atom:
        case Symbol():
            return known.symbol(atom.name)
        case Floor():
            result = quotients.floor(known, known.again(atom.numerator), known.again(atom.denominator))
        case Trunc():
            result = quotients.trunc(known, known.again(atom.numerator), known.again(atom.denominator))
        case Least():
            result = extrema.least(known, [known.again(arg) for arg in atom.args])
        case Sealed():
            result = _binary(known, atom.op, *map(known.again, atom.args))
        case Choice():
            condition = rebuilt_formula(known, atom.condition)
            if condition == YES:
                return known.again(atom.then)
            if condition == NO:
                return known.again(atom.otherwise)
            result = extrema.choice(known, condition, known.again(atom.then), known.again(atom.otherwise))
        case _:
            raise AssertionError(atom)
    return Poly.atom(atom) if result.as_atom == atom else result


def rebuilt_formula(known: Knowledge, condition: Formula) -> Formula:
    """`condition` rebuilt under the facts of `known`."""
    match condition:
        case Sign(">=", poly):
            return formulas.at_least_zero(known, known.again(poly))
        case Sign("==", poly):
            return formulas.is_zero(known, known.again(poly))
        case Sign(_, poly):
            return negated(formulas.is_zero(known, known.again(poly)))
        case All(parts):
            return formulas.both([rebuilt_formula(known, part) for part in parts])
        case Any(parts):
            return formulas.either([rebuilt_formula(known, part) for part in parts])
