"""Typed index notation as mathematics: a tree of formulas, written as LaTeX, as MathML and as plain text."""

from .affines import affine_formula, interval_formula, size_formula
from .formula import Formula, Line, Lines, Symbol
from .latex import latex
from .mathml import inline, mathml
from .plain import plain
from .statements import typeset, typeset_statement

__all__ = [
    "Formula",
    "Line",
    "Lines",
    "Symbol",
    "affine_formula",
    "inline",
    "interval_formula",
    "latex",
    "mathml",
    "plain",
    "size_formula",
    "typeset",
    "typeset_statement",
]
