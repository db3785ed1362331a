"""Which binary operator binds tighter: SaC's order, in which ``++`` is weaker than ``+``."""

from typing import Final

_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("++", "++^"),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)

# `?:` is looser than all of them, a unary operator tighter, a selection tighter still.
CONDITIONAL: Final = 0
PRECEDENCE: Final = {operator: level for level, operators in enumerate(_LEVELS, 1) for operator in operators}
UNARY: Final = len(_LEVELS) + 1
POSTFIX: Final = UNARY + 1
