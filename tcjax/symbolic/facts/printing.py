"""Prints an expression as text that the reader turns into an equal expression."""

from .trees import FALSE, TRUE, And, Binary, Compare, Const, Expr, Not, Or, Select, Var, digits, spine

# The precedence of a form; an operand that binds less tightly than its place requires gets parentheses.
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)


def show(expr: Expr) -> str:
    """`expr` as text."""
    return _show(expr, _OR)


def _show(expr: Expr, place: int) -> str:
    text, binds = _form(expr)
    return text if binds >= place else f"({text})"


def _form(expr: Expr) -> tuple[str, int]:
    match expr:
        case Const(value):
            return digits(value), _ATOM if value >= 0 else _UNARY
        case Var(name):
            return name, _ATOM
        case Binary("-", Const(0), right) if not isinstance(right, Const):
            return f"-{_show(right, _UNARY)}", _UNARY
        case Binary("+" | "-"):
            return _sum(expr), _SUM
        case Binary("*", left, right):
            return f"{_show(left, _PRODUCT)}*{_show(right, _UNARY)}", _PRODUCT
        case Binary("//" | "%" as op, left, right):
            return f"{_show(left, _PRODUCT)} {op} {_show(right, _UNARY)}", _PRODUCT
        case Binary(op, left, right):
            return f"{op}({show(left)}, {show(right)})", _ATOM
        case Select(condition, then, otherwise):
            return f"select({show(condition)}, {show(then)}, {show(otherwise)})", _ATOM
        case Compare(op, left, right):
            return f"{_show(left, _SUM)} {op} {_show(right, _SUM)}", _COMPARE
        case Not(operand):
            return f"not {_show(operand, _NOT)}", _NOT
        case And(parts) | Or(parts) if len(parts) == 1:
            # A single part has no notation of its own: a neutral second part keeps its meaning.
            return f"{_show(parts[0], _NOT)} {'and true' if isinstance(expr, And) else 'or false'}", _OR
        case And(parts):
            return (" and ".join(_show(part, _NOT) for part in parts), _AND) if expr is not TRUE else ("true", _ATOM)
        case Or(parts):
            return (" or ".join(_show(part, _AND) for part in parts), _OR) if expr is not FALSE else ("false", _ATOM)
        case _:
            raise AssertionError(expr)


def _sum(expr: Expr) -> str:
    first, rest = spine(expr)
    if first == Const(0) and rest and rest[0][0] == "-" and not isinstance(rest[0][1], Const):
        pieces, rest = [f"-{_show(rest[0][1], _UNARY)}"], rest[1:]
    else:
        pieces = [_show(first, _SUM)]
    for op, term in rest:
        pieces += [op, _show(term, _PRODUCT)]
    return " ".join(pieces)
