"""`linear`: an expression as a weighted sum of some of its names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .deciding import composer
from .polynomials import Monomial, Poly, Quotient, Symbol
from .trees import Const, Expr

if TYPE_CHECKING:
    from .facts import End, Prover


def linear(facts: "Prover", expr: Expr, names: Sequence[str]) -> "tuple[End, ...] | None":
    """The weight of each of `names` in `expr`, then what is left when they are zero; None when that is not all.

    Weights and rest are free of `names`, and integers when they are constant.
    """
    parts = weights(facts.normal(expr), names)
    if parts is None and _may_cancel(facts.normal(expr), names):
        parts = weights(facts.normal(facts.simplify(expr)), names)
    return None if parts is None else tuple(_end(facts, part) for part in parts)


def weights(poly: Poly, names: Sequence[str]) -> list[Poly] | None:
    """The weight of each of `names` in `poly`, then the rest; None when one stands in an atom or next to another."""
    wanted = frozenset(names)
    parts: dict[str, dict[Monomial, int]] = {name: {} for name in names}
    rest: dict[Monomial, int] = {}
    for monomial, weight in poly.terms.items():
        found = [atom for atom in monomial if not wanted.isdisjoint(Poly.atom(atom).names)]
        if not found:
            rest[monomial] = weight
        elif len(found) == 1 and isinstance(found[0], Symbol):
            index = monomial.index(found[0])
            parts[found[0].name][monomial[:index] + monomial[index + 1 :]] = weight
        else:
            return None
    # A name that is asked for twice counts once.
    return [Poly(parts.pop(name, {})) for name in names] + [Poly(rest)]


def _may_cancel(poly: Poly, names: Sequence[str]) -> bool:
    """Whether `names` stand in two quotients of `poly` and nowhere else inside of atoms."""
    inside = [
        atom for atom in poly.atoms if not isinstance(atom, Symbol) and not Poly.atom(atom).names.isdisjoint(names)
    ]
    return len(inside) > 1 and all(isinstance(atom, Quotient) for atom in inside)


def _end(facts: "Prover", poly: Poly) -> "End":
    expr = composer(facts).write(poly)
    return expr.value if isinstance(expr, Const) else expr
