"""`linear`: an expression as a weighted sum of some of its names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .deciding import composer
from .polynomials import Monomial, Poly, Quotient, Symbol
from .trees import Const, Expr

if TYPE_CHECKING:
    from .facts import End, Prover


def linear(facts: "Prover", expr: Expr, names: Sequence[str]) -> "tuple[End, ...] | None":
    """The weight of each of `names` in `expr`, then the rest when they are zero; None if it is not linear.

    Weights and rest do not contain `names`, and are integers if they are constant.
    """
    parts = weights(facts.normal(expr), names)
    if parts is None and _may_cancel(facts.normal(expr), names):
        parts = weights(facts.normal(facts.simplify(expr)), names)
    return None if parts is None else tuple(_end(facts, part) for part in parts)


def weights(poly: Poly, names: Sequence[str]) -> list[Poly] | None:
    """The weight of each of `names` in `poly`, then the rest; None if one occurs in an atom or in a product with
    another.
    """
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
    # A name that is given twice counts once.
    return [Poly(parts.pop(name, {})) for name in names] + [Poly(rest)]


def _may_cancel(poly: Poly, names: Sequence[str]) -> bool:
    """Whether `names` occur in two quotients of `poly` and otherwise not inside atoms."""
    inside = [
        atom for atom in poly.atoms if not isinstance(atom, Symbol) and not Poly.atom(atom).names.isdisjoint(names)
    ]
    return len(inside) > 1 and all(isinstance(atom, Quotient) for atom in inside)


def _end(facts: "Prover", poly: Poly) -> "End":
    expr = composer(facts).write(poly)
    return expr.value if isinstance(expr, Const) else expr
