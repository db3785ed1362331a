"""Which binary operator binds tighter: as in C, but with all comparisons on one level."""

from typing import Final

_LEVELS: Final = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("<", ">", "<=", ">=", "==", "!="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%", "//"),
)

# `?:` is looser than all of them, a unary operator tighter.
CONDITIONAL: Final = 0
PRECEDENCE: Final = {operator: level for level, operators in enumerate(_LEVELS, 1) for operator in operators}
UNARY: Final = len(_LEVELS) + 1
OPERAND: Final = UNARY + 1
