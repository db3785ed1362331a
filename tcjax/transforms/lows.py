"""An exponential with minus infinity added to a finite exponent is zero."""

from dataclasses import replace

from .. import ir
from .definitions import Formula, of_nothing
from .rests import LOWEST
from .truths import Guarded


def without_lows(statement: Formula) -> Guarded | None:
    """The statement with zero in place of such exponentials, and the values that must be finite; None if there are
    none.

    Infinity or NaN in the others could make it NaN.
    """
    finite: list[ir.Expr] = []

    def visit(expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, visit)
        match expr:
            case ir.Call("exp", (argument,)) if ir.types.is_float(argument.dtype):
                found = ir.terms(argument)
                others = [term for term in found if not _is_lowest(*term)]
                if not others or len(others) == len(found):
                    return expr
                finite.append(ir.summed(others, argument.dtype))
                return ir.Const(0.0, expr.dtype)
            case ir.Reduce():
                return of_nothing(expr) or expr
            case ir.Binary("+", ir.Const(0.0), other) | ir.Binary("+", other, ir.Const(0.0)):
                return other
            case _:
                return expr

    value = visit(statement.value)
    return Guarded(replace(statement, value=value), tuple(dict.fromkeys(finite))) if finite else None


def _is_lowest(negative: bool, term: ir.Expr) -> bool:
    return ir.number_of(term) == (-LOWEST if negative else LOWEST)
