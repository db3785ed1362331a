"""From the normal form back to the cheapest expression, with remainders, greatest values and factors."""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Final

from . import rewriting
from .costs import cost
from .factoring import write_sum
from .polynomials import Atom, Choice, Floor, Formula, Least, Poly, Quotient, Sealed, Symbol, Trunc
from .trees import Binary, Const, Expr, Select, Var

if TYPE_CHECKING:
    from .facts import Prover

# The search keeps this many sums after each step and takes at most this many steps.
_BEAM: Final = 3
_STEPS: Final = 6

# A step may make a sum more expensive by this much before it pays off: one more quotient.
_DETOUR: Final = 7

# Steps write parts of sums, with nested steps; below this level parts are written as they are.
_LEVELS: Final = 2

# The number of sums that one question may write before it takes the best one so far.
_BUDGET: Final = 120

# This many of them cost one step of the shared budget.
_SUMS_A_STEP: Final = 4

# For every this many terms a sum counts once more.
_LONG: Final = 4

# Longer sums are written as they are.
_TERM_LIMIT: Final = 24


class Written(Atom):
    """A part of a sum that is already an expression."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        super().__init__(str(expr))


class Composer:
    """Writes polynomials under `facts`, equal ones once. `condition` writes the condition of a choice."""

    def __init__(self, facts: "Prover", condition: Callable[[Formula], Expr]) -> None:
        self.facts = facts
        self.condition = condition
        self._level = 0
        self._spent = 0
        self._polys: dict[tuple[Poly, int], Expr] = {}
        self._atoms: dict[tuple[Atom, int], Expr] = {}

    def compose(self, poly: Poly) -> Expr:
        """`write` with its own budget."""
        self._spent = 0
        return self.write(poly)

    def write(self, poly: Poly) -> Expr:
        """The cheapest expression found for `poly`."""
        key = poly, self._level
        known = self._polys.get(key)
        if known is None:
            known = self._search(poly, self._sum)
            if not self._is_spent:
                # A truncated result is not cached: it would depend on earlier questions.
                self._polys[key] = known
        return known

    def best(self, poly: Poly, finish: Callable[[Poly], Expr]) -> Expr:
        """The cheapest result of `finish` for `poly` and for the equal sums that steps reach."""
        self._spent = 0
        return self._search(poly, finish)

    @property
    def _is_spent(self) -> bool:
        return self._spent > _BUDGET or self.facts.knowledge.ledger.is_spent

    def _spend(self, poly: Poly) -> None:
        """Counts a written sum: a long one can be factored in many ways."""
        before = self._spent
        self._spent += 1 + len(poly.terms) // _LONG
        self.facts.knowledge.ledger.spend(self._spent // _SUMS_A_STEP - before // _SUMS_A_STEP)

    def _sum(self, poly: Poly) -> Expr:
        return write_sum(poly, self.show)

    def _search(self, poly: Poly, finish: Callable[[Poly], Expr]) -> Expr:
        best = finish(poly)
        if self._is_spent or self._level >= _LEVELS or len(poly.terms) > _TERM_LIMIT:
            return best
        if all(isinstance(atom, Symbol) for atom in poly.atoms):
            return best
        seen = {poly}
        beam = [poly]
        for _ in range(_STEPS):
            found: list[tuple[int, str, Poly, Expr]] = []
            for sum_ in beam:
                for other in self._steps(sum_):
                    if other not in seen and not self._is_spent:
                        seen.add(other)
                        self._spend(other)
                        expr = finish(other)
                        found.append((cost(expr), other.key, other, expr))
            if not found:
                break
            found.sort(key=lambda entry: entry[:2])
            if found[0][0] < cost(best):
                best = found[0][3]
            elif found[0][0] > cost(best) + _DETOUR:
                break
            if cost(best) <= 1:
                break
            beam = [entry[2] for entry in found[: max(_BEAM - self._level, 1)]]
        return best

    def _steps(self, poly: Poly) -> list[Poly]:
        found: list[Poly] = []
        self._level += 1
        try:
            for other in rewriting.steps(self, poly):
                if self._is_spent:
                    break
                found.append(other)
        finally:
            self._level -= 1
        return found

    def show(self, atom: Atom) -> Expr:
        """`atom` as an expression."""
        key = atom, self._level
        known = self._atoms.get(key)
        if known is None:
            known = self._show(atom)
            if not self._is_spent:
                self._atoms[key] = known
        return known

    def _show(self, atom: Atom) -> Expr:
        match atom:
            case Written():
                return atom.expr
            case Symbol():
                return Var(atom.name)
            case Quotient():
                op = "//" if isinstance(atom, Floor) else "tdiv"
                quotient = Binary(op, self.write(atom.numerator), self.write(atom.denominator))
                if atom.denominator.value is None:
                    return quotient
                # n // d = -n // -d may save a sign.
                mirrored = Binary(op, self.write(-atom.numerator), Const(-atom.denominator.value))
                return mirrored if cost(mirrored) < cost(quotient) else quotient
            case Least():
                return self.extreme("min", list(atom.args))
            case Sealed():
                return Binary(atom.op, *map(self.write, atom.args))
            case Choice():
                return Select(self.condition(atom.condition), self.write(atom.then), self.write(atom.otherwise))
            case _:
                raise AssertionError(atom)

    def extreme(self, op: str, args: list[Poly]) -> Expr:
        """``min`` or ``max`` of sums."""
        ordered = sorted(args, key=lambda arg: (arg.value is not None, arg.key))
        candidates = [reduce(lambda a, b: Binary(op, a, b), map(self.write, ordered))]
        if len(args) > 1:
            shared = self._shared(op, ordered)
            if shared is not None:
                candidates.append(shared)
            candidates += self._quotient_of_extreme(op, ordered)
        return min(candidates, key=cost)

    def _quotient_of_extreme(self, op: str, args: list[Poly]) -> list[Expr]:
        """``min(a // d, b // d) = min(a, b) // d``, and with the signs changed."""
        opposite = "max" if op == "min" else "min"
        negative = [atom for arg in args if isinstance(atom := (-arg).as_atom, Trunc)]
        if len(negative) == len(args) and len({atom.denominator for atom in negative}) == 1:
            numerator = self.extreme(opposite, [atom.numerator for atom in negative])
            return [Binary("tdiv", numerator, self.write(-negative[0].denominator))]
        quotients = [quotient for arg in args if (quotient := _as_quotient(arg))]
        first = quotients[0] if len(quotients) == len(args) else None
        if first is None or first.denominator.value is None:
            return []
        if any(type(q) is not type(first) or q.denominator != first.denominator for q in quotients):
            return []
        least = Poly.atom(Written(self.extreme(op, [q.numerator for q in quotients])))
        greatest = Poly.atom(Written(self.extreme(opposite, [-q.numerator for q in quotients])))
        return [self._show(type(first)(numerator, first.denominator)) for numerator in (least, -greatest)]

    def _shared(self, op: str, args: list[Poly]) -> Expr | None:
        """``max(min(a, b), min(a, c)) = min(a, max(b, c))``."""
        inner = "max" if op == "min" else "min"
        split = [arguments for arg in args if (arguments := _extreme_arguments(arg, inner))]
        if len(split) < len(args):
            return None
        shared = [arg for arg in split[0] if all(arg in other for other in split[1:])]
        rests = [[arg for arg in other if arg not in shared] for other in split]
        if not shared or not all(rests):
            return None
        outer = [Poly.atom(Written(self.extreme(inner, rest))) if len(rest) > 1 else rest[0] for rest in rests]
        return reduce(lambda a, b: Binary(inner, a, b), [*map(self.write, shared), self.extreme(op, outer)])


def _extreme_arguments(poly: Poly, op: str) -> list[Poly] | None:
    """The arguments of `poly` as a ``min`` or ``max``: ``min(a, b) + r`` is ``min(a + r, b + r)``."""
    sign = 1 if op == "min" else -1
    atoms = [atom for atom in poly.atoms if isinstance(atom, Least)]
    if len(atoms) != 1 or poly.terms.get((atoms[0],)) != sign:
        return None
    rest = poly - Poly.atom(atoms[0], sign)
    return None if atoms[0] in rest.atoms else [arg * sign + rest for arg in atoms[0].args]


def _as_quotient(poly: Poly) -> Quotient | None:
    """`poly` as one quotient: ``n // d + r`` is ``(n + r*d) // d``."""
    atom = poly.as_atom
    if isinstance(atom, Quotient):
        return atom
    atoms = [atom for atom in poly.atoms if isinstance(atom, Floor)]
    if len(atoms) != 1 or poly.terms.get((atoms[0],)) != 1:
        return None
    rest = poly - Poly.atom(atoms[0])
    return (
        None
        if atoms[0] in rest.atoms
        else Floor(atoms[0].numerator + rest * atoms[0].denominator, atoms[0].denominator)
    )
