"""Adds facts to a `Knowledge` under construction: ends of names, solved equations, congruences, other signs."""

from __future__ import annotations

from math import gcd, isqrt, prod
from typing import TYPE_CHECKING

from . import normalizing
from .polynomials import NO, YES, All, Any, Floor, Formula, Monomial, Poly, Sign, Symbol
from .spans import ALL, Span, is_empty, join, meet
from .trees import Compare, Expr, Var

if TYPE_CHECKING:
    from .knowledge import Knowledge

_MOST_ROUNDS = 4
_MOST_PARTS = 12
_MOST_FACTS = 200
_MOST_CLAUSES = 8
_MOST_NESTED = 5


def learn(known: Knowledge, formula: Formula, source: Expr | None = None) -> None:
    """Adds `formula`, whose normal form was built under `known`, and draws quick conclusions."""
    if known.impossible:
        return
    preferred = None
    if isinstance(source, Compare) and source.op == "==":
        preferred = next((side.name for side in (source.left, source.right) if isinstance(side, Var)), None)
    changed = _add(known, formula, preferred)
    rounds = 0
    while changed and not known.impossible and rounds < _MOST_ROUNDS and not known.ledger.is_spent:
        known.forget()
        changed = _revise(known)
        rounds += 1
    known.forget()


def _revise(known: Knowledge) -> bool:
    """Rebuilds every sign and clause under the current knowledge; whether something changed."""
    changed = False
    for store, relation in ((known.positive, ">="), (known.zero, "=="), (known.nonzero, "!=")):
        for poly in list(store):
            if known.impossible:
                return False
            if poly not in store:
                # It and its negation, just found, have become an equation.
                continue
            known.forget()
            del store[poly]
            fresh = normalizing.rebuilt_formula(known, Sign(relation, poly))
            if fresh == Sign(relation, poly):
                store[poly] = None
                changed = (relation == ">=" and _narrow(known, poly)) or changed
                changed = (relation == "==" and (_narrow(known, poly) or _narrow(known, -poly))) or changed
            else:
                changed = _add(known, fresh, None) or changed
    for clause in list(known.clauses):
        if known.impossible:
            return False
        known.forget()
        del known.clauses[clause]
        fresh = normalizing.rebuilt_formula(known, clause)
        if fresh == clause:
            known.clauses[clause] = None
        else:
            changed = _add(known, fresh, None) or changed
    return changed


def _add(known: Knowledge, formula: Formula, preferred: str | None) -> bool:
    """Stores `formula`; whether the ends or the value of a name changed."""
    if formula == YES or known.impossible:
        return False
    if formula == NO:
        known.impossible = True
        return False
    match formula:
        case All(parts):
            changed = False
            for part in parts:
                # The earlier parts may have given a name its value.
                fresh = normalizing.rebuilt_formula(known, part) if changed else part
                changed = _add(known, fresh, preferred) or changed
            return changed
        case Any():
            return _add_clause(known, formula)
        case Sign(">=", poly):
            return _add_positive(known, poly)
        case Sign("==", poly):
            return _add_zero(known, poly, preferred)
        case Sign(_, poly):
            return _add_nonzero(known, poly)


def _add_positive(known: Knowledge, poly: Poly) -> bool:
    name = _single_name(poly)
    if name is not None:
        weight = poly.terms[(Symbol(name),)]
        bound = -poly.constant
        # weight * x >= bound
        return narrow(known, name, (-(-bound // weight), None) if weight > 0 else (None, bound // weight))
    if poly in known.positive or len(known.positive) >= _MOST_FACTS:
        return False
    if -poly in known.positive:
        del known.positive[-poly]
        return _add(known, Sign("==", poly), None)
    known.positive[poly] = None
    return _narrow(known, poly)


def _single_name(poly: Poly) -> str | None:
    names = [m for m in poly.terms if m]
    if len(names) == 1 and len(names[0]) == 1 and isinstance(names[0][0], Symbol):
        return names[0][0].name
    return None


def narrow(known: Knowledge, name: str, span: Span) -> bool:
    """Narrows a symbol to `span`; whether that changed anything."""
    if name in known.solved:
        return False
    old = known.intervals.get(name, ALL)
    new = meet(old, span)
    if new == old:
        return False
    known.intervals[name] = new
    if is_empty(new):
        known.impossible = True
    elif new[0] is not None and new[0] == new[1]:
        _solve(known, name, Poly.of(new[0]))
    return True


def _narrow(known: Knowledge, poly: Poly) -> bool:
    """Ends of single names that ``poly >= 0`` implies by intervals."""
    changed = False
    for monomial, weight in list(poly.terms.items()):
        if len(monomial) > 1 and weight < 0:
            changed = _narrow_product(known, poly, monomial, -weight) or changed
        if len(monomial) != 1 or not isinstance(monomial[0], Symbol):
            continue
        # weight * x >= -rest
        rest = known.interval(Poly({m: c for m, c in poly.terms.items() if m != monomial}))[1]
        if rest is None:
            continue
        span = (-(rest // weight), None) if weight > 0 else (None, rest // -weight)
        old = known.span_of(monomial[0].name)
        # Ends that approach each other in small steps would take forever: the number of rounds is limited.
        if meet(old, span) != old:
            changed = narrow(known, monomial[0].name, span) or changed
            known.forget()
    return changed


def _narrow_product(known: Knowledge, poly: Poly, monomial: Monomial, weight: int) -> bool:
    """Ends from ``weight * product <= rest``: of the root of a square, of one of several positive factors."""
    rest = known.interval(Poly({m: c for m, c in poly.terms.items() if m != monomial}))[1]
    names = [atom.name for atom in monomial if isinstance(atom, Symbol)]
    if rest is None or len(names) != len(monomial):
        return False
    most = rest // weight
    if len(names) == 2 and names[0] == names[1]:
        if most < 0:
            known.impossible = True
            return False
        return narrow(known, names[0], (-isqrt(most), isqrt(most)))
    lows = {name: known.span_of(name)[0] for name in names}
    if any(low is None or low < 0 for low in lows.values()) or len(lows) < len(names) or most < 0:
        return False
    changed = False
    for name in names:
        others = prod(low for other, low in lows.items() if other != name and low is not None)
        if others:
            changed = narrow(known, name, (None, most // others)) or changed
    return changed


def _add_zero(known: Knowledge, poly: Poly, preferred: str | None) -> bool:
    name = _solvable(poly, preferred)
    if name is not None:
        weight = poly.terms[(Symbol(name),)]
        rest = Poly({m: c for m, c in poly.terms.items() if m != (Symbol(name),)})
        _solve(known, name, -rest if weight == 1 else rest)
        return True
    congruence = _congruence(poly)
    if congruence is not None:
        name, modulus, base = congruence
        if base is None:
            known.impossible = True
            return False
        _part(known, name, modulus, base)
        # The equation may say more than the congruence.
        return _add(known, normalizing.rebuilt_formula(known, Sign("==", poly)), preferred) or True
    if poly in known.zero:
        return False
    known.zero[poly] = None
    return _narrow(known, poly) or _narrow(known, -poly)


def _solvable(poly: Poly, preferred: str | None) -> str | None:
    """A name that occurs once, with weight 1 or -1, and nowhere else."""
    found = []
    for monomial, weight in poly.terms.items():
        if len(monomial) == 1 and isinstance(monomial[0], Symbol) and weight in (1, -1):
            rest = Poly({m: c for m, c in poly.terms.items() if m != monomial})
            if monomial[0].name not in rest.names:
                found.append(monomial[0].name)
    if preferred in found:
        return preferred
    return max(found, default=None)


def _congruence(poly: Poly) -> tuple[str, int, int | None] | None:
    """``(x, m, r)`` where ``poly == 0`` says ``x = r (mod m)``, r None if it says something impossible."""
    for atom in sorted(poly.atoms):
        k = atom.denominator.value if isinstance(atom, Floor) else None
        if k is None or not isinstance(atom, Floor):
            continue
        weight = poly.terms.get((atom,), 0)
        others = [c for m, c in poly.terms.items() if m and m != (atom,)]
        if not weight or not others:
            continue
        found = _single(Poly({m: c for m, c in poly.terms.items() if m != (atom,)}), abs(weight))
        if found is not None:
            return found
    # For powers every residue leads to a finer one, without end.
    symbols = [m for m in poly.terms if m] if poly.degree <= 1 else []
    for monomial in symbols:
        if len(monomial) == 1 and isinstance(monomial[0], Symbol):
            modulus = 0
            for m in symbols:
                modulus = gcd(modulus, poly.terms[m]) if m != monomial else modulus
            if modulus > 1:
                found = _single(Poly({m: poly.terms[m] for m in (monomial, ()) if m in poly.terms}), modulus)
                if found is not None:
                    return found
    return None


def _single(poly: Poly, modulus: int) -> tuple[str, int, int | None] | None:
    """``c*x + b = 0 (mod modulus)`` solved for x, if `poly` contains nothing else."""
    if modulus < 2:
        return None
    name = _single_name(Poly({m: c for m, c in poly.terms.items() if not m or c % modulus}))
    if name is None or name.count("//") >= _MOST_NESTED:
        return None
    weight, base = poly.terms[(Symbol(name),)], poly.constant
    g = gcd(weight, modulus)
    if base % g:
        return name, modulus, None
    m = modulus // g
    return (name, m, -base // g * pow(weight // g, -1, m) % m) if m > 1 else None


def _part(known: Knowledge, name: str, modulus: int, base: int) -> None:
    """Replaces the symbol by ``modulus * q + base``."""
    q = f"{name}//{modulus}"
    lo, hi = known.span_of(name)
    known.parts[q] = (name, modulus, base)
    _solve(known, name, Poly.atom(Symbol(q), modulus) + base)
    narrow(
        known, q, (None if lo is None else -((base - lo) // modulus), None if hi is None else (hi - base) // modulus)
    )


def _solve(known: Knowledge, name: str, value: Poly) -> None:
    """Replaces a symbol by `value` everywhere; its ends become a fact about `value`."""
    lo, hi = known.intervals.pop(name, ALL)
    known.solved[name] = value
    known.forget()
    for other, poly in list(known.solved.items()):
        if other != name and name in poly.names:
            known.solved[other] = normalizing.rebuilt(known, poly)
            known.forget()
    number = value.value
    if number is not None:
        if (lo is not None and number < lo) or (hi is not None and number > hi):
            known.impossible = True
        return
    for bound, sign in ((lo, 1), (hi, -1)):
        if bound is not None:
            fact = normalizing.rebuilt_formula(known, Sign(">=", (value - bound) * sign))
            _add(known, fact, None)


def _add_nonzero(known: Knowledge, poly: Poly) -> bool:
    name = _single_name(poly)
    if name is not None:
        weight = poly.terms[(Symbol(name),)]
        if poly.constant % weight:
            return False
        value = -poly.constant // weight
        lo, hi = known.span_of(name)
        if value == lo:
            return narrow(known, name, (value + 1, None))
        if value == hi:
            return narrow(known, name, (None, value - 1))
    # `p != 0` where p >= 0 is known is p >= 1.
    for sign in (1, -1):
        if known.nonneg(poly * sign):
            return _add(known, normalizing.rebuilt_formula(known, Sign(">=", poly * sign - 1)), None)
    known.nonzero[poly] = None
    return False


def _add_clause(known: Knowledge, clause: Any) -> bool:
    """Stores a disjunction without its impossible parts, and learns what all parts have in common."""
    if len(clause.parts) > _MOST_PARTS or known.depth > 3 or len(known.clauses) >= _MOST_CLAUSES:
        known.clauses[clause] = None
        return False
    cases = []
    for part in clause.parts:
        case = known.copy()
        case.depth += 2
        learn(case, normalizing.rebuilt_formula(case, part))
        if not case.impossible:
            cases.append((part, case))
    if not cases:
        known.impossible = True
        return False
    if len(cases) == 1:
        return _add(known, normalizing.rebuilt_formula(known, cases[0][0]), None)
    known.clauses[Any(tuple(part for part, _ in cases))] = None
    changed = False
    names = [name for name in cases[0][1].intervals | cases[0][1].solved if name not in known.solved]
    for name in names:
        changed = narrow(known, name, join([case.interval(case.symbol(name)) for _, case in cases])) or changed
    for name in names:
        values = [case.symbol(name).value for _, case in cases]
        if name not in known.solved and None not in values:
            first = values[0]
            assert first is not None
            modulus = gcd(*(value - first for value in values if value is not None))
            if modulus > 1:
                _part(known, name, modulus, first % modulus)
                changed = True
    return changed
