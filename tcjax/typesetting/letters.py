"""What a name looks like in a formula: a letter, a Greek letter, or a word in italics."""

from collections.abc import Collection
from typing import Final

from ..symbolic import IndexVar
from .formula import Symbol

# The names of the letters, and the letters; capitals that look Latin have no name in mathematics.
_NAMES: Final = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"""
_LETTERS: Final = "αβγδϵζηθικλμνξπρστυϕχψωΓΔΘΛΞΠΣΥΦΨΩ"
GREEK: Final[dict[str, str]] = dict(zip(_NAMES.split(), _LETTERS, strict=True))


def index_symbol(index: IndexVar, taken: Collection[Symbol]) -> Symbol:
    """The index's own name, with primes where another index that is in use has it."""
    symbol = Symbol(index.name)
    while symbol in taken:
        symbol = Symbol(index.name, symbol.primes + 1)
    return symbol
