"""Numbers of every type as written in SaC."""

from collections.abc import Mapping
from math import copysign, isfinite, isnan
from typing import Final

from ... import ir
from ...ir import Reducer, types
from ...syntax.sac import tree
from ..refusal import refuse

CASTS: Final[Mapping[str, str]] = {"int32": "toi", "float32": "tof", "float64": "tod", "bool": "tob"}
_SUFFIXED: Final = ("int64", "float64")
_DEFAULTS: Final = ("int32", "float32", "bool")

Value = bool | int | float | complex


def cast(dtype: str, operand: tree.Expr) -> tree.Expr:
    """``tof(e)``; a type without a SaC name is called by its own."""
    return tree.Call(CASTS.get(dtype, dtype), (operand,))


def typed(value: Value, dtype: str) -> tree.Expr:
    """A literal of this type, whatever its neighbours: without a suffix it is int32, float32 or bool."""
    if isinstance(value, complex):
        if value.imag or copysign(1.0, value.imag) < 0:
            raise refuse("SaC", "a complex number", help="pass it as an argument")
        return tree.Call(dtype, (typed(value.real, "float32"),))
    if isinstance(value, float) and not isfinite(value):
        return _not_finite(value, dtype)
    if dtype in _DEFAULTS:
        return bare(value)
    if dtype not in _SUFFIXED:
        return tree.Call(dtype, (bare(value),))
    magnitude = tree.Number(abs(value), dtype)
    return tree.Unary("-", magnitude) if _is_negative(value) else magnitude


def bare(value: bool | int | float) -> tree.Expr:
    """A literal that takes the type of the other operand."""
    if isinstance(value, bool):
        return tree.Number(value)
    return tree.Unary("-", tree.Number(abs(value))) if _is_negative(value) else tree.Number(value)


def adapts(value: Value, dtype: str) -> bool:
    """Whether a bare literal takes this type next to an operand of this type."""
    if dtype == "bool" or isinstance(value, complex):
        return False
    if isinstance(value, float):
        return isfinite(value)
    bits = types.BITS[dtype] - (dtype in types.SIGNED)
    return (0 if dtype in types.UNSIGNED else -(2**bits)) <= value < 2**bits


def zero(dtype: str) -> tree.Expr:
    """The value of elements that were never written."""
    if types.is_complex(dtype):
        return typed(0j, dtype)
    return bare(False if dtype == "bool" else 0 if types.is_integral(dtype) else 0.0)


def neutral(reducer: Reducer | ir.Monoid, dtype: str) -> ir.Const | None:
    """The value of a reduction over no points; None if it depends on their number."""
    if isinstance(reducer, ir.Monoid) or not reducer.continues:
        return None
    return _constant(reducer.empty(dtype), dtype)


def _constant(value: int | float, dtype: str) -> ir.Const:
    if dtype == "bool":
        return ir.Const(bool(value), dtype)
    kind = int if types.is_integral(dtype) else complex if types.is_complex(dtype) else float
    return ir.Const(kind(value), dtype)


def _is_negative(value: int | float) -> bool:
    return copysign(1.0, value) < 0 if isinstance(value, float) else value < 0


def _not_finite(value: float, dtype: str) -> tree.Expr:
    """Infinity and not-a-number as quotients."""
    dividend = typed(0.0 if isnan(value) else 1.0, dtype)
    quotient = tree.Binary("/", dividend, typed(0.0, dtype))
    return tree.Unary("-", quotient) if value < 0 else quotient
