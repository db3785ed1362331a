"""Python code that computes polynomials and formulas: it is compiled once for many points."""

from collections.abc import Callable
from math import gcd
from typing import Any as Anything

from .polynomials import All, Any, Atom, Choice, Floor, Formula, Least, Poly, Sealed, Sign, Symbol, Trunc
from .trees import tdiv, tmod


class Code:
    """Python text of polynomials; names become ``x0, x1, ...``."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def name(self, name: str) -> str:
        return self.names.setdefault(name, f"x{len(self.names)}")

    def poly(self, p: Poly) -> str:
        terms = [
            "*".join([hex(c), *map(self.atom, m)]) if c != 1 or not m else "*".join(map(self.atom, m))
            for m, c in p.terms.items()
        ]
        return f"({' + '.join(terms)})" if terms else "0"

    def atom(self, atom: Atom) -> str:
        match atom:
            case Symbol():
                return self.name(atom.name)
            case Floor():
                return f"({self.poly(atom.numerator)} // {self.poly(atom.denominator)})"
            case Trunc():
                return f"tdiv({self.poly(atom.numerator)}, {self.poly(atom.denominator)})"
            case Least():
                return f"min({', '.join(map(self.poly, atom.args))})"
            case Sealed():
                a, b = map(self.poly, atom.args)
                return f"tmod({a}, {b})" if atom.op == "tmod" else f"({a} {atom.op} {b})"
            case Choice():
                condition = self.formula(atom.condition)
                return f"({self.poly(atom.then)} if {condition} else {self.poly(atom.otherwise)})"
            case _:
                raise AssertionError(atom)

    def formula(self, formula: Formula) -> str:
        match formula:
            case Sign(relation, poly):
                return f"({self.poly(poly)} {relation} 0)"
            case All(parts):
                return f"({' and '.join(map(self.formula, parts))})" if parts else "True"
            case Any(parts):
                return f"({' or '.join(map(self.formula, parts))})" if parts else "False"


def compiled(text: str) -> Callable[..., Anything]:
    """The function `run` that `text` defines."""
    space: dict[str, Anything] = {
        "tdiv": tdiv,
        "tmod": tmod,
        "gcd": gcd,
        "min": min,
        "range": range,
        "ZeroDivisionError": ZeroDivisionError,
    }
    exec(compile(text, "<points>", "exec"), space)  # the text is made from the normal form alone
    return space["run"]
