"""Mathematics as a tree, from which LaTeX, MathML and plain text are written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name of the program, with enough primes to distinguish it from others of that name."""

    name: str
    primes: int = 0


@dataclass(frozen=True, slots=True)
class Number:
    """Digits as displayed: ``0.5``, ``∞``."""

    text: str


@dataclass(frozen=True, slots=True)
class Sign:
    """An operator, a relation or a comma, as its character: ``+``, ``≤``; `alone` where it has one operand."""

    text: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """Upright: the name of a function, or a word between formulas."""

    text: str


@dataclass(frozen=True, slots=True)
class Space:
    """A thin space, which stands for a product, or a wide one."""

    width: Literal["thin", "wide"] = "thin"


@dataclass(frozen=True, slots=True)
class Row:
    """One formula after the other."""

    items: "tuple[Formula, ...]"


@dataclass(frozen=True, slots=True)
class Fraction:
    """A quotient, with a line."""

    top: "Formula"
    bottom: "Formula"


@dataclass(frozen=True, slots=True)
class Root:
    """A root; without a degree the square root."""

    body: "Formula"
    degree: "Formula | None" = None


@dataclass(frozen=True, slots=True)
class Scripts:
    """A base with a subscript and a superscript."""

    base: "Formula"
    sub: "Formula | None" = None
    sup: "Formula | None" = None


@dataclass(frozen=True, slots=True)
class Over:
    """A large operator (a character, or a word) over lines that say what it runs over, and what it is applied to."""

    operator: Sign | Word
    under: "tuple[Formula, ...]"
    body: "Formula"


@dataclass(frozen=True, slots=True)
class Fenced:
    """A body between brackets that grow with it."""

    left: str
    body: "Formula"
    right: str


@dataclass(frozen=True, slots=True)
class Cases:
    """A brace before lines of a value and when it is taken; the last may be for all other cases (None)."""

    rows: "tuple[tuple[Formula, Formula | None], ...]"


@dataclass(frozen=True, slots=True)
class Line:
    """``left relation right``; lines are aligned at their relations."""

    left: "Formula"
    relation: Sign | Word
    right: "Formula"


@dataclass(frozen=True, slots=True)
class Lines:
    """The statements of a program."""

    lines: tuple[Line, ...]


Formula = Symbol | Number | Sign | Word | Space | Row | Fraction | Root | Scripts | Over | Fenced | Cases


def listed(formulas: "Sequence[Formula]") -> Formula:
    """The formulas with commas between them."""
    items: list[Formula] = []
    for formula in formulas:
        items += [Sign(","), formula] if items else [formula]
    return items[0] if len(items) == 1 else Row(tuple(items))


def applied(function: Formula, *arguments: Formula) -> Formula:
    """``function(arguments)``."""
    return Row((function, Fenced("(", listed(arguments), ")")))


def parts(formula: Formula) -> "tuple[Formula, ...]":
    """The formulas directly inside."""
    match formula:
        case Symbol() | Number() | Sign() | Word() | Space():
            return ()
        case Row(items):
            return items
        case Fraction(top, bottom):
            return (top, bottom)
        case Root(body, degree):
            return (body,) if degree is None else (body, degree)
        case Scripts(base, sub, sup):
            return tuple(part for part in (base, sub, sup) if part is not None)
        case Over(operator, under, body):
            return (operator, *under, body)
        case Fenced(_, body, _):
            return (body,)
        case Cases(rows):
            return tuple(part for row in rows for part in row if part is not None)


def is_tall(formula: Formula) -> bool:
    """Whether brackets around it must grow."""
    match formula:
        case Fraction() | Over() | Cases() | Root():
            return True
        case Scripts(base, _, sup):
            return sup is not None or is_tall(base)
        case _:
            return any(map(is_tall, parts(formula)))
