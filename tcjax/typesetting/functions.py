"""Builtin functions in mathematical notation."""

from collections.abc import Callable
from typing import Final

from .formula import Fenced, Formula, Fraction, Number, Root, Row, Scripts, Sign, Space, Symbol, Word, applied

# Functions with another name in mathematics; what is in neither table keeps its name.
_NAMES: Final[dict[str, Formula]] = {
    "acos": Word("arccos"),
    "asin": Word("arcsin"),
    "atan": Word("arctan"),
    "acosh": Word("arcosh"),
    "asinh": Word("arsinh"),
    "atanh": Word("artanh"),
    "fmax": Word("max"),
    "fmin": Word("min"),
    "log2": Scripts(Word("log"), Number("2")),
    "log10": Scripts(Word("log"), Number("10")),
    "logb": Word("logb"),
    "sigmoid": Symbol("sigma"),
    "tgamma": Symbol("Gamma"),
    "normcdf": Symbol("Phi"),
    "normcdfinv": Scripts(Symbol("Phi"), None, Row((Sign("-", alone=True), Number("1")))),
    "erfinv": Scripts(Word("erf"), None, Row((Sign("-", alone=True), Number("1")))),
    "erfcinv": Scripts(Word("erfc"), None, Row((Sign("-", alone=True), Number("1")))),
    "j0": Scripts(Symbol("J"), Number("0")),
    "j1": Scripts(Symbol("J"), Number("1")),
    "y0": Scripts(Symbol("Y"), Number("0")),
    "y1": Scripts(Symbol("Y"), Number("1")),
    "cyl_bessel_i0": Scripts(Symbol("I"), Number("0")),
    "cyl_bessel_i1": Scripts(Symbol("I"), Number("1")),
    "real": Word("Re"),
    "imag": Word("Im"),
    "sign": Word("sgn"),
}

_ONE: Final = Number("1")
_FORMS: Final[dict[str, Callable[..., Formula]]] = {
    "sqrt": Root,
    "rsqrt": lambda x: Fraction(_ONE, Root(x)),
    "cbrt": lambda x: Root(x, Number("3")),
    "rcbrt": lambda x: Fraction(_ONE, Root(x, Number("3"))),
    "abs": lambda x: Fenced("|", x, "|"),
    "fabs": lambda x: Fenced("|", x, "|"),
    "floor": lambda x: Fenced("⌊", x, "⌋"),
    "ceil": lambda x: Fenced("⌈", x, "⌉"),
    "pow": lambda x, y: Scripts(_base(x), None, y),
    "exp2": lambda x: Scripts(Number("2"), None, x),
    "exp10": lambda x: Scripts(Number("10"), None, x),
    "log1p": lambda x: applied(Word("log"), Row((_ONE, Sign("+"), _term(x)))),
    "expm1": lambda x: Fenced("(", Row((applied(Word("exp"), x), Sign("-"), _ONE)), ")"),
    "lgamma": lambda x: Row((Word("log"), Space(), applied(Symbol("Gamma"), x))),
    "fdivide": Fraction,
}


def builtin_formula(function: str, arguments: list[Formula]) -> Formula:
    """The function of these arguments."""
    if function in _FORMS:
        return _FORMS[function](*arguments)
    return applied(_NAMES.get(function) or Word(function), *arguments)


def _base(formula: Formula) -> Formula:
    return formula if isinstance(formula, (Symbol, Number, Fenced)) else Fenced("(", formula, ")")


def _term(formula: Formula) -> Formula:
    """After a plus: in parentheses if it begins with a sign."""
    begins = isinstance(formula, Row) and isinstance(formula.items[0], Sign)
    return Fenced("(", formula, ")") if begins else formula
