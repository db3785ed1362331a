"""How a name looks in a formula: a letter, a Greek letter, or a word in italics."""

from collections.abc import Collection
from typing import Final

from ..symbolic import IndexVar
from .formula import Symbol

# The names of Greek letters; capitals that look Latin have no command in LaTeX.
_NAMES: Final = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"""
_LETTERS: Final = "αβγδϵζηθικλμνξπρστυϕχψωΓΔΘΛΞΠΣΥΦΨΩ"
GREEK: Final[dict[str, str]] = dict(zip(_NAMES.split(), _LETTERS, strict=True))
# Words of the text between formulas, set as such.
TEXTS: Final = frozenset(("for all", "where"))


def index_symbol(index: IndexVar, taken: Collection[Symbol]) -> Symbol:
    """The index's own name, with primes if another index in use has it."""
    symbol = Symbol(index.name)
    while symbol in taken:
        symbol = Symbol(index.name, symbol.primes + 1)
    return symbol
