"""Conditions in their cheapest form: decided if facts decide them, solved if that is cheaper, without repetition."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from .composing import Composer
from .costs import cost
from .factoring import Show, write_sum
from .polynomials import (
    All,
    Any,
    Choice,
    Floor,
    Formula,
    Least,
    Poly,
    Quotient,
    Sign,
    Trunc,
    express,
    express_formula,
    negated,
)
from .rewriting import split
from .thresholds import threshold
from .trees import FALSE, OPPOSITE, TRUE, And, Binary, Compare, Const, Expr, Not, Or, Var, walk

if TYPE_CHECKING:
    from .facts import Prover

# With more parts than this, each is simplified on its own.
_PART_LIMIT: Final = 8
_COST_LIMIT: Final = 60

# A more expensive condition is returned unchanged.
_DEAREST: Final = 800

# Comparisons of longer sums are not solved.
_TERM_LIMIT: Final = 8

# No undecided comparison costs less.
_PLAINEST: Final = Compare("<", Var("x"), Const(0))


def simplify_condition(facts: "Prover", condition: Expr) -> Expr:
    """A condition equivalent to `condition` at every point of the domain where that is defined."""
    if cost(condition) > _DEAREST:
        return condition
    match condition:
        case And(()) | Or(()):
            return condition
        case Compare():
            return _comparison(facts, condition)
        case Not(operand):
            return cheapest([condition, negation(facts.simplify(operand))])
        case And(parts):
            return cheapest([condition, _conjunction(facts, list(parts))])
        case Or(parts):
            return cheapest([condition, negation(_conjunction(facts, [negation(part) for part in parts]))])
        case _:
            raise AssertionError(condition)


def negation(condition: Expr) -> Expr:
    """The negation of `condition` without `not`, evaluated in the same order."""
    match condition:
        case Compare(op, left, right):
            return Compare(OPPOSITE[op], left, right)
        case Not(operand):
            return operand
        case And(parts):
            return Or(tuple(map(negation, parts)))
        case Or(parts):
            return And(tuple(map(negation, parts)))
        case _:
            raise AssertionError(condition)


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """All of the conditions, evaluated in this order; true ones are dropped, a false one is the result."""
    parts = [
        part for condition in conditions for part in (condition.parts if isinstance(condition, And) else (condition,))
    ]
    if FALSE in parts:
        return FALSE
    unique = tuple(dict.fromkeys(parts))
    return unique[0] if len(unique) == 1 else And(unique)


def disjunction(conditions: Iterable[Expr]) -> Expr:
    """Any of the conditions, evaluated in this order."""
    return negation(conjunction(map(negation, conditions)))


def total(expr: Expr) -> bool:
    """Whether `expr` is defined everywhere: it divides by constants only."""
    return all(
        not isinstance(node, Binary)
        or node.op not in ("//", "%", "tdiv", "tmod")
        or (isinstance(node.right, Const) and node.right.value != 0)
        for node in walk(expr)
    )


def composer(facts: "Prover") -> Composer:
    """Writes normal forms, with inner conditions simplified under `facts`."""
    return facts._remember("composer", lambda: Composer(facts, lambda formula: write_formula(facts, formula)))


def write_formula(facts: "Prover", formula: Formula) -> Expr:
    """The cheapest condition found for `formula`."""
    match formula:
        case Sign():
            return _write_sign(facts, formula)
        case All(parts):
            return conjunction(write_formula(facts, part) for part in parts)
        case Any(parts):
            return disjunction(write_formula(facts, part) for part in parts)


def cheapest(candidates: Iterable[Expr]) -> Expr:
    """The first of the cheapest; on ties a number, else the one with the shorter text."""
    listed = list(candidates)
    least = min(map(cost, listed))
    return min(
        (expr for expr in listed if cost(expr) == least), key=lambda expr: (not isinstance(expr, Const), len(str(expr)))
    )


# ---------------------------------------------------------------- comparisons


def _comparison(facts: "Prover", condition: Compare, *, parts: bool = True) -> Expr:
    """The cheapest form of one comparison; with `parts`, it may consist of several comparisons."""
    decided = _decided(facts, condition)
    if decided is not None:
        return decided
    formula = facts.formula(condition)
    candidates = [write_formula(facts, formula)]
    if isinstance(formula, Sign):
        for solved in _solved(facts, formula):
            if isinstance(solved, Sign):
                expr = express_formula(solved)
                candidates.append(_decided(facts, expr) or write_formula(facts, facts.formula(expr)))
            elif parts:
                candidates.append(_several(facts, solved))
    plain = Compare(condition.op, facts.simplify(condition.left), facts.simplify(condition.right))
    best = cheapest([condition, plain, *candidates])
    if not isinstance(best, Compare) or cost(best) <= cost(_PLAINEST) or not facts.knowledge.ledger.spend(4):
        return best
    if best.left == best.right:
        return TRUE if best.op in ("<=", ">=", "==") else FALSE
    return threshold(facts, best) or best


def _several(facts: "Prover", formula: Formula) -> Expr:
    """A formula of several comparisons, each in its cheapest form."""
    match formula:
        case All(parts):
            return conjunction(_merged(facts, _flat(_several(facts, part) for part in parts)))
        case Any(parts):
            return disjunction(_several(facts, part) for part in parts)
        case Sign():
            written = write_formula(facts, formula)
            return _comparison(facts, written, parts=False) if isinstance(written, Compare) else written


def _decided(facts: "Prover", condition: Expr) -> Expr | None:
    if facts.prove(condition):
        return TRUE
    return FALSE if facts.prove(negation(condition)) else None


def _write_sign(facts: "Prover", sign: Sign) -> Expr:
    writer = composer(facts)
    return writer.best(sign.poly, lambda poly: _compared(sign.relation, poly, writer.show))


def _compared(relation: str, poly: Poly, show: Show) -> Expr:
    """``poly relation 0`` with its terms distributed to the cheapest sides."""
    constant = poly.constant
    left = Poly({m: w for m, w in poly.terms.items() if m and w > 0})
    right = Poly({m: -w for m, w in poly.terms.items() if m and w < 0})
    candidates: list[Expr] = []
    mirrored = {">=": "<=", "==": "==", "!=": "!="}[relation]
    if not left and not right:
        return Compare(relation, Const(constant), Const(0))
    if not left:
        candidates.append(Compare(mirrored, write_sum(right, show), Const(constant)))
    elif not right:
        candidates.append(Compare(relation, write_sum(left, show), Const(-constant)))
    else:
        if relation == ">=" and constant < 0:
            # a >= b + 1 is b < a.
            candidates.append(Compare("<", write_sum(right - (constant + 1), show), write_sum(left, show)))
            candidates.append(Compare("<", write_sum(right, show), write_sum(left + (constant + 1), show)))
        candidates.append(Compare(mirrored, write_sum(right, show), write_sum(left + constant, show)))
        candidates.append(Compare(mirrored, write_sum(right - constant, show), write_sum(left, show)))
        whole = poly - constant
        candidates.append(Compare(relation, write_sum(whole, show), Const(-constant)))
        candidates.append(Compare(mirrored, write_sum(-whole, show), Const(constant)))
    return cheapest(candidates)


def _solved(facts: "Prover", sign: Sign) -> Iterator[Formula]:
    """Formulas equivalent to `sign`, without one of its factors, quotients, least values or choices."""
    if len(sign.poly.terms) <= _TERM_LIMIT:
        yield from _without_factor(facts, sign)
    for atom in sorted(sign.poly.atoms):
        weight = sign.poly.terms.get((atom,))
        rest = sign.poly - Poly.atom(atom, weight or 0)
        if weight is None or atom in rest.atoms:
            continue
        match atom:
            case Floor() if abs(weight) == 1:
                if atom.denominator.value is None and not _positive(facts, atom.denominator):
                    continue
                # q + r >= 0 is n + r*d >= 0;  r - q >= 0 is n < (r + 1)*d
                low = atom.numerator + rest * atom.denominator
                high = (rest + 1) * atom.denominator - atom.numerator - 1
                if sign.relation == ">=":
                    yield Sign(">=", low if weight > 0 else high)
                else:
                    value = -rest * weight
                    both = All(
                        (
                            Sign(">=", atom.numerator - value * atom.denominator),
                            Sign(">=", (value + 1) * atom.denominator - atom.numerator - 1),
                        )
                    )
                    if sign.relation == "==" and value.value is not None:
                        yield both
            case Trunc() if abs(weight) == 1 and rest.value is not None and atom.denominator.value is not None:
                if sign.relation == ">=":
                    yield _solved_trunc(atom, weight, rest.value, atom.denominator.value)
            case Least() if sign.relation == ">=":
                parts = tuple(Sign(">=", arg * weight + rest) for arg in atom.args)
                yield All(parts) if weight > 0 else Any(parts)
            case Least() if abs(weight) == 1:
                # min(a, b) == a is a <= b.
                reached = next((arg for arg in atom.args if not arg * weight + rest), None)
                if reached is not None:
                    all_above = All(tuple(Sign(">=", arg - reached) for arg in atom.args if arg != reached))
                    yield all_above if sign.relation == "==" else negated(all_above)
            case Choice():
                yes = All((atom.condition, Sign(sign.relation, atom.then * weight + rest)))
                no = All((negated(atom.condition), Sign(sign.relation, atom.otherwise * weight + rest)))
                yield Any((yes, no))
            case _:
                pass


def _without_factor(facts: "Prover", sign: Sign) -> Iterator[Formula]:
    """``d*p + r >= 0`` as ``p + r//d >= 0`` for positive d, where that needs no division."""
    poly = sign.poly
    integers = sorted({abs(weight) for monomial, weight in poly.terms.items() if monomial} - {1})
    atoms = sorted({atom for monomial in poly.terms if len(monomial) > 1 for atom in monomial})
    for divisor in [*map(Poly.of, integers), *map(Poly.atom, atoms)]:
        if divisor.value is not None:
            inside = {m: w // divisor.value for m, w in poly.terms.items() if m and w % divisor.value == 0}
            rest = Poly({m: w for m, w in poly.terms.items() if m not in inside})
        else:
            factor, rest = split(poly, atoms[atoms.index(divisor.as_atom)])  # type: ignore[arg-type]
            inside = factor.terms if factor is not None else {}
        if not inside or (not rest and divisor.value is not None):
            continue
        if not rest and sign.relation != ">=":
            if facts.prove(Compare("!=", express(divisor), Const(0))):
                yield Sign(sign.relation, Poly(inside))
        elif sign.relation == ">=" and _positive(facts, divisor):
            quotient = facts.normal(Binary("//", express(rest), express(divisor)))
            if not any(isinstance(atom, Quotient) and atom not in rest.atoms for atom in quotient.atoms):
                yield Sign(">=", Poly(inside) + quotient)


def _solved_trunc(atom: Trunc, weight: int, rest: int, step: int) -> Formula:
    if weight > 0:
        # tdiv(n, d) >= k
        k = -rest
        return Sign(">=", atom.numerator - (k * step if k > 0 else (k - 1) * step + 1))
    k = rest
    return Sign(">=", -atom.numerator + ((k + 1) * step - 1 if k >= 0 else k * step))


def _positive(facts: "Prover", poly: Poly) -> bool:
    value = poly.value
    return value > 0 if value is not None else facts.prove(express_formula(Sign(">=", poly - 1)))


# ---------------------------------------------------------------- conjunctions


def _conjunction(facts: "Prover", conditions: list[Expr]) -> Expr:
    """All of the conditions, each simplified where the others hold."""
    whole = conjunction(conditions)
    if not isinstance(whole, And) or not whole.parts:
        return facts.simplify(whole)
    if len(whole.parts) > _PART_LIMIT or cost(whole) > _COST_LIMIT:
        return conjunction(facts.simplify(part) for part in whole.parts)
    if facts.prove(negation(whole)):
        return FALSE
    parts = _guards_first(whole.parts)
    for _ in range(3):
        before = tuple(parts)
        # Expanding a part into several allows the others to drop some of these.
        parts = _guards_first(_merged(facts, _guards_first(_flat(facts.simplify(part) for part in parts))))
        index = 0
        while index < len(parts) and facts.knowledge.ledger.spend(8):
            part = parts[index]
            others = parts[:index] + [other for other in parts[index + 1 :] if total(other)]
            simpler = facts.assume(*others).simplify(part) if others else facts.simplify(part)
            # A condition without divisions may come before the one that made it simpler.
            replacement = _flat([simpler if total(simpler) or not total(part) else part])
            parts[index : index + 1] = replacement
            index += len(replacement)
            if FALSE in parts:
                return FALSE
        if tuple(parts) == before or len(parts) > _PART_LIMIT:
            break
    return conjunction(parts)


def _guards_first(parts: Iterable[Expr]) -> list[Expr]:
    """The parts in an order that is defined wherever the given one is: those that may divide by zero come last."""
    return sorted(parts, key=lambda part: not total(part))


def _flat(conditions: Iterable[Expr]) -> list[Expr]:
    whole = conjunction(conditions)
    return list(whole.parts) if isinstance(whole, And) else [whole]


def _merged(facts: "Prover", parts: list[Expr]) -> list[Expr]:
    """The parts with pairs joined: ``p >= 0 and -p >= 0`` is ``p == 0``, ``0 <= n - d*v < d`` is ``v == n // d``."""
    signs = [facts.formula(part) if isinstance(part, Compare) else None for part in parts]
    for i, first in enumerate(signs):
        for j, second in enumerate(signs):
            if i == j or not isinstance(first, Sign) or not isinstance(second, Sign):
                continue
            joined: Expr | None = None
            if first.relation == second.relation == ">=" and i < j:
                width = (first.poly + second.poly).value
                if width is not None and width >= 0:
                    joined = _cell(facts, first.poly, width)
            elif first.relation == ">=" and second.relation == "!=" and second.poly in (first.poly, -first.poly):
                joined = write_formula(facts, Sign(">=", first.poly - 1))
            if joined is None and second.relation == "==" and total(parts[j]):
                # The value that an equation gives one of its atoms is substituted in the other part.
                for poly in _eliminated(first.poly, second.poly):
                    shorter = write_formula(facts, Sign(first.relation, poly))
                    if cost(shorter) < cost(parts[i]):
                        return _merged(facts, [*parts[:i], shorter, *parts[i + 1 :]])
            if (
                joined is not None
                and cost(joined) <= cost(parts[i]) + cost(parts[j])
                and total(parts[i])
                and total(parts[j])
            ):
                # At the place of the first of the two: the parts between them may divide by what they exclude.
                low, high = sorted((i, j))
                return _merged(facts, [*parts[:low], joined, *parts[low + 1 : high], *parts[high + 1 :]])
    return parts


def _eliminated(poly: Poly, equation: Poly) -> Iterator[Poly]:
    """`poly` minus multiples of `equation`, each without an atom that both have."""
    for monomial, weight in equation.terms.items():
        share = poly.terms.get(monomial, 0)
        if monomial and share and share % weight == 0:
            yield poly - equation * (share // weight)


def _cell(facts: "Prover", poly: Poly, width: int) -> Expr | None:
    """``0 <= poly <= width`` as one comparison, or None."""
    if width == 0:
        return write_formula(facts, Sign("==", poly))
    for monomial, weight in sorted(poly.terms.items(), key=lambda term: [atom.key for atom in term[0]]):
        if len(monomial) == 1 and abs(weight) == width + 1:
            # poly = n - d*v, or width - poly = n - d*v
            numerator = poly if weight < 0 else -poly + width
            numerator = numerator + Poly({monomial: width + 1})
            quotient = Binary("//", composer(facts).write(numerator), Const(width + 1))
            return Compare("==", composer(facts).write(Poly({monomial: 1})), quotient)
    return None
