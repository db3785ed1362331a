"""Literals, indices and sizes are values of open type: they take the type of their neighbours."""

import cmath
import math
import operator as op
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final

from .. import ir
from ..diagnostics import NOWHERE, Code, CompileError, Span
from ..ir import types
from ..symbolic import Affine, IndexVar, Size

Number = bool | int | float | complex
# Builds a node from converted operands and the type of the result.
Build = Callable[[list[ir.Expr], str], ir.Expr]

# Open types: they occur in the trees of `Open` values and nowhere else.
_INT: Final = "open int"
_FLOAT: Final = "open float"
_COMPLEX: Final = "open complex"
_DEFAULTS: Final = {_INT: "int32", _FLOAT: "float32", _COMPLEX: "complex64"}
_OPENED: Final = {default: open_ for open_, default in _DEFAULTS.items()}
_WIDE: Final = ("int64", "uint64", "float64", "complex128")


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, or an expression of numbers only, computed exactly (integers) or in double."""

    value: Number
    span: Span


@dataclass(frozen=True, slots=True)
class Open:
    """An expression of literals, indices and sizes, which takes the type of its neighbours.

    Some nodes of its tree have an open type; conditions, casts and typed integers have a fixed one. A bool is open if
    it compares open floats. `least` is float32 for a float computed from typed integers: it keeps that precision next
    to a half.
    """

    expr: ir.Expr
    least: str | None = None

    @property
    def span(self) -> Span:
        return self.expr.span


Weak = Literal | Open
Value = ir.Expr | Literal | Open

_MASK: Final = 2**64


def literal(value: Number, span: Span) -> Literal:
    """The literal. Raises TC0107 for an integer that fits no type."""
    if isinstance(value, int) and not -(2**63) <= value < _MASK:
        raise CompileError(
            Code.BAD_NUMBER,
            "this integer does not fit into 64 bits",
            span,
            help="write it as a floating-point number, with a `.` or an exponent",
        )
    return Literal(value, span)


def index(variable: IndexVar, span: Span) -> Open:
    """An index as a value."""
    return Open(ir.Index(variable, _INT, span=span))


def extent(size: Size, span: Span) -> Open:
    """A size as a value."""
    return Open(ir.Extent(size, _INT, span=span))


def number_of_points(count: int) -> Open:
    """A size that is a number: unlike a literal it counts as int32 next to narrower integers."""
    return Open(ir.Const(count, _INT))


def open_float(least: str | None) -> Open:
    """A zero that takes the type of its float neighbour."""
    return Open(ir.Const(0.0, _FLOAT), least)


def read_again(access: ir.Access, least: str | None) -> Open:
    """An element of a tensor that holds values of open type."""
    return Open(ir.Cast(access, _FLOAT, span=access.span), least)


def affine_value(affine: Affine, span: Span = NOWHERE) -> Value:
    """An affine expression of indices and sizes as a value; its type is open unless it depends on data."""
    expr = ir.integer(affine)
    if affine.is_data:
        return expr

    def visit(node: ir.Expr) -> ir.Expr:
        return replace(ir.rebuild(node, visit), dtype=_INT)

    return Open(replace(visit(expr), span=span))


def default_type(value: Weak) -> str:
    """The type of a value that has no typed neighbour."""
    if isinstance(value, Open):
        numbers = _numbers(value.expr)
        if numbers is not None:
            return reduce(types.join, map(default_type, numbers))
        return _DEFAULTS.get(value.expr.dtype, value.expr.dtype)
    match value.value:
        case bool():
            return "bool"
        case int() as number:
            return next(dtype for dtype in ("int32", "int64", "uint64") if holds(dtype, number))
        case float():
            return "float32"
        case _:
            return "complex64"


def type_beside(value: Weak, partner: str) -> str:
    """The joined type of a value of open type and its neighbour: the neighbour's, if that can hold the value.

    Next to integers, an index or a size counts as int32.
    """
    if isinstance(value, Open):
        return _type_beside(value, partner)
    inexact = types.is_float(partner) or types.is_complex(partner)
    match value.value:
        case bool():
            return partner
        case int() as number:
            return partner if inexact or holds(partner, number) else types.join(default_type(value), partner)
        case float():
            return partner if inexact else "float32"
        case _:
            return types.join("complex64", partner)


def _type_beside(value: Open, partner: str) -> str:
    numbers = _numbers(value.expr)
    if numbers is not None:
        return reduce(types.join, [type_beside(number, partner) for number in numbers])
    if value.expr.dtype == _FLOAT:
        if not (types.is_float(partner) or types.is_complex(partner)):
            return "float32"
        return partner if value.least is None else types.join(value.least, partner)
    return types.join(default_type(value), partner)


def dtype_of(value: Value) -> str:
    """The type of a value; the default type if it is open."""
    return default_type(value) if isinstance(value, (Literal, Open)) else value.dtype


def joined(values: Iterable[Value]) -> str:
    """The joined type of at least one value; values of open type adapt to the others."""
    strong: str | None = None
    weak: list[Weak] = []
    for value in values:
        if isinstance(value, (Literal, Open)):
            weak.append(value)
        else:
            strong = value.dtype if strong is None else types.join(strong, value.dtype)
    if strong is None:
        return reduce(types.join, map(default_type, weak))
    for value in weak:
        strong = type_beside(value, strong)
    return strong


def combined(operands: Sequence[Value], dtype: str, build: Build, result: str | None = None) -> Value:
    """What `build` makes of operands that join to `dtype`; `result` is its type if it differs.

    The type stays open as long as no operand is floating-point: the neighbours then decide it.
    """
    result = dtype if result is None else result
    if dtype in ("float32", "complex64") and not any(map(_is_inexact, operands)):
        node = build([_converted(operand, _OPENED[dtype]) for operand in operands], _OPENED.get(result, result))
        least = "float32" if any(not is_weak(o) or (isinstance(o, Open) and o.least) for o in operands) else None
        return Open(node, least)
    if dtype == result == "int32" and all(map(is_weak, operands)):
        return Open(build([_converted(operand, _INT) for operand in operands], _INT))
    if dtype == "bool" and any(isinstance(operand, Open) for operand in operands):
        return Open(build([_converted(operand, dtype) for operand in operands], result))
    return build([settle(operand, dtype) for operand in operands], result)


def chosen(test: Value, then: Value, otherwise: Value, span: Span) -> Value:
    """``test ? then : otherwise``, of the branches' joined type."""
    dtype = joined((then, otherwise))
    if all(isinstance(branch, Literal) or is_choice(branch) for branch in (then, otherwise)) and dtype != "bool":
        # A choice between numbers takes any type that holds all of them.
        open_ = _OPENED.get(dtype, _INT)
        first, second = _converted(then, open_), _converted(otherwise, open_)
        return Open(ir.Select(_converted(test, "bool"), first, second, open_, span=span))

    def build(parts: list[ir.Expr], result: str) -> ir.Expr:
        return ir.Select(settled_beside(test, result), parts[0], parts[1], result, span=span)

    return combined((then, otherwise), dtype, build)


def is_weak(value: Value) -> bool:
    """Whether the type of the value is open."""
    return isinstance(value, (Literal, Open))


def is_choice(value: Value) -> bool:
    """Whether the value is one of several integers: it takes any type that holds all of them."""
    return isinstance(value, Open) and _numbers(value.expr) is not None


def settle(value: Value, dtype: str) -> ir.Expr:
    """The value as an expression of `dtype`, to which it joins."""
    match value:
        case Literal(number, span):
            return ir.Const(convert(number, dtype), dtype, span=span)
        case Open(expr):
            return _closed(expr, dtype)
        case _:
            return value if value.dtype == dtype else ir.Cast(value, dtype, span=value.span)


def settled(value: Value) -> ir.Expr:
    """The value as an expression, of its default type if its type is open."""
    return settle(value, default_type(value)) if isinstance(value, (Literal, Open)) else value


def settled_beside(condition: Value, dtype: str) -> ir.Expr:
    """A condition on values of this type: open floats are compared in it."""
    if dtype in _DEFAULTS:
        return _converted(condition, "bool")
    if isinstance(condition, Open):
        return _typed(condition.expr, _precision(dtype), dtype in _WIDE)
    return settled(condition)


def settled_together(values: Iterable[Value]) -> list[ir.Expr]:
    """The arguments of an unknown function: a float of open type takes the type of the typed floats."""
    values = list(values)
    typed = [value.dtype for value in values if not isinstance(value, (Literal, Open)) and _is_inexact(value)]

    def type_of(value: Value) -> str:
        default = dtype_of(value)
        if typed and isinstance(value, (Literal, Open)) and default in ("float32", "complex64"):
            return type_beside(value, reduce(types.join, typed))
        return default

    return [settle(value, type_of(value)) for value in values]


def _is_inexact(value: Value) -> bool:
    return not isinstance(value, (Literal, Open)) and (types.is_float(value.dtype) or types.is_complex(value.dtype))


def _converted(value: Value, open_: str) -> ir.Expr:
    """The value as part of an open tree."""
    match value:
        case Literal(number, span):
            return ir.Const(convert(number, _DEFAULTS.get(open_, open_)), open_, span=span)
        case Open(expr) if expr.dtype == open_:
            return expr
        case Open(expr) if _constants(expr) is not None:
            default = _DEFAULTS[open_]
            return _branches(expr, open_, lambda c: replace(c, value=convert(c.value, default), dtype=open_), _same)
        case Open(expr):
            return ir.Cast(expr, open_, span=expr.span)
        case _:
            return value if value.dtype == open_ else ir.Cast(value, open_, span=value.span)


def _numbers(expr: ir.Expr) -> list[Literal] | None:
    """The integers that an open expression chooses between; None for any other expression."""
    constants = _constants(expr) if expr.dtype == _INT and isinstance(expr, ir.Select) else None
    return None if constants is None else [Literal(constant.value, constant.span) for constant in constants]


def _constants(expr: ir.Expr) -> list[ir.Const] | None:
    """The leaves of a choice between constants; None for any other expression."""
    found: dict[int, ir.Const] = {}
    seen: set[int] = set()
    pending = [expr]
    while pending:
        node = pending.pop()
        match node:
            case ir.Const():
                found[id(node)] = node
            case ir.Select(_, then, otherwise):
                if id(node) not in seen:
                    seen.add(id(node))
                    pending += (otherwise, then)
            case _:
                return None
    return list(found.values())


def _branches(
    expr: ir.Expr, dtype: str, leaf: Callable[[Any], ir.Expr], condition: Callable[[ir.Expr], ir.Expr]
) -> ir.Expr:
    """The same choice between other values, in this type; shared values are made once."""
    known: dict[int, ir.Expr] = {}

    def visit(node: ir.Expr) -> ir.Expr:
        if id(node) not in known:
            known[id(node)] = (
                replace(
                    node,
                    condition=condition(node.condition),
                    then=visit(node.then),
                    otherwise=visit(node.otherwise),
                    dtype=dtype,
                )
                if isinstance(node, ir.Select)
                else leaf(node)
            )
        return known[id(node)]

    return visit(expr)


def _same(expr: ir.Expr) -> ir.Expr:
    return expr


def _closed(expr: ir.Expr, dtype: str) -> ir.Expr:
    """An open tree, in a type to which it joins.

    Expressions with operators are computed at least in float32 and rounded once: in 16 bits indices would lose digits.
    """
    precision = _precision(dtype)
    wide = dtype in _WIDE

    def leaf(node: ir.Expr) -> ir.Expr:
        match node:
            case ir.Const(value):
                return replace(node, value=convert(value, dtype), dtype=dtype)
            case ir.Cast(operand) if operand.dtype == _INT:
                node = operand
            case _:
                pass
        result = _typed(node, precision, wide)
        return result if result.dtype == dtype else ir.Cast(result, dtype, span=result.span)

    return _branches(expr, dtype, leaf, lambda condition: _typed(condition, precision, wide))


def _precision(dtype: str) -> str:
    """The type in which open floats are computed if they end up as `dtype`."""
    return "float64" if dtype in ("float64", "complex128") else "float32"


def _typed(expr: ir.Expr, precision: str, wide: bool) -> ir.Expr:
    """The tree with open floats in this precision; open integers that may grow have 64 bits if `wide`."""
    known: dict[tuple[int, str], ir.Expr] = {}
    named = {_FLOAT: precision, _COMPLEX: "complex128" if precision == "float64" else "complex64"}

    def visit(node: ir.Expr, integer: str | None = None) -> ir.Expr:
        if node.dtype != _INT:
            integer = None
        elif integer is None:
            integer = "int64" if wide and _grows(node) else "int32"
        key = id(node), integer or ""
        if key not in known:
            known[key] = typed(node, integer)
        return known[key]

    def typed(node: ir.Expr, integer: str | None) -> ir.Expr:
        dtype = integer or named.get(node.dtype, node.dtype)
        match node:
            case ir.Access():
                return node
            case ir.Index() | ir.Extent():
                plain = replace(node, dtype="int32")
                return plain if dtype == "int32" else ir.Cast(plain, dtype, span=node.span)
            case ir.Cast(operand) if operand.dtype == dtype:
                return operand
            case ir.Reduce(accumulate=accumulate):
                result = ir.rebuild(node, lambda child: visit(child, integer))
                running = dtype if accumulate == node.dtype else accumulate
                return replace(result, accumulate=running, dtype=dtype)  # type: ignore[call-arg]
            case _:
                before = ir.children(node)
                if dtype == node.dtype and all(visit(child, integer) is child for child in before):
                    return node
                return replace(ir.rebuild(node, lambda child: visit(child, integer)), dtype=dtype)

    return visit(expr)


def _grows(expr: ir.Expr) -> bool:
    """Whether the result of an operation on open integers may need more digits than an index."""
    return any(
        isinstance(node, ir.Reduce) or (isinstance(node, ir.Binary) and node.operator in ("*", "**", "<<"))
        for node in _shared_walk(expr)
    )


def _shared_walk(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The open integers of a tree, shared ones once."""
    seen: set[int] = set()
    pending = [expr]
    while pending:
        node = pending.pop()
        if id(node) in seen or node.dtype != _INT:
            continue
        seen.add(id(node))
        yield node
        pending += ir.children(node)


def convert(value: Number, dtype: str) -> Number:
    """A number as the Python number for a type to which it joins."""
    if dtype == "bool":
        return bool(value)
    if types.is_complex(dtype):
        return complex(value)
    assert not isinstance(value, complex)
    return int(value) if types.is_integral(dtype) else float(value)


def cast(value: Number, dtype: str, span: Span) -> Number:
    """A number converted as in C: floats truncate, integers wrap. Raises TC0107 where C leaves it undefined."""
    if isinstance(value, complex) or not types.is_integral(dtype):
        return convert(value, dtype)
    if isinstance(value, float) and not (math.isfinite(value) and holds(dtype, int(value))):
        raise CompileError(Code.BAD_NUMBER, f"{value} has no value in {dtype}", span, help="cast it to a wider type")
    bits = types.BITS[dtype]
    wrapped = int(value) % 2**bits
    return wrapped - 2**bits if dtype in types.SIGNED and wrapped >= 2 ** (bits - 1) else wrapped


def fold(operator: str, left: Number, right: Number, span: Span) -> Literal:
    """``left operator right`` for two numbers of one type that supports the operator."""
    try:
        return literal(_FOLDS[operator](left, right), span)
    except ZeroDivisionError:
        return literal(_divided_by_zero(operator, left), span)
    except (OverflowError, ValueError):
        raise CompileError(
            Code.BAD_NUMBER, f"`{operator}` of these numbers has no value", span, help="write smaller numbers"
        ) from None


def fold_call(function: str, arguments: list[float], span: Span) -> Literal | None:
    """A builtin applied to numbers, in double; None for functions that only run on a device."""
    evaluate = _FUNCTIONS.get(function)
    if evaluate is None:
        return None
    try:
        return Literal(evaluate(*arguments), span)
    except (ValueError, OverflowError):
        return None


def holds(dtype: str, value: int) -> bool:
    """Whether an integer type can hold a number; bool holds none."""
    if dtype in types.UNSIGNED:
        return 0 <= value < 2 ** types.BITS[dtype]
    return dtype in types.SIGNED and abs(2 * value + 1) < 2 ** types.BITS[dtype]


def _divided_by_zero(operator: str, left: Any) -> Number:
    assert not isinstance(left, int), "operators.py refuses integer division by zero"
    if isinstance(left, complex) or operator != "/" or left == 0 or math.isnan(left):
        return complex(cmath.nan, cmath.nan) if isinstance(left, complex) else math.nan
    return math.copysign(math.inf, left)


def _plus(left: Any, right: Any) -> Number:
    return left != right if isinstance(left, bool) else left + right


def _minus(left: Any, right: Any) -> Number:
    return left != right if isinstance(left, bool) else left - right


def _times(left: Any, right: Any) -> Number:
    return left and right if isinstance(left, bool) else left * right


def _power(left: Any, right: Any) -> Number:
    if isinstance(left, complex):
        return left**right
    if isinstance(left, int):
        # Checked before the computation: 9 ** 9 ** 9 would never end.
        if abs(left) > 1 and right > 64:
            raise OverflowError
        return left**right
    try:
        return math.pow(left, right)
    except ValueError:
        return math.inf if left == 0 else math.nan
    except OverflowError:
        return math.inf


def _nan_of(left: Any, right: Any) -> float | None:
    """The operand that is NaN, if any: minima and maxima propagate it."""
    return left if left != left else right if right != right else None


def _shift(left: Any, right: Any) -> Number:
    if right > 64:
        raise OverflowError
    return left << right


_FOLDS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": op.truediv,
    "//": op.floordiv,
    "%": op.mod,
    "**": _power,
    "min": lambda left, right: _nan_of(left, right) or min(left, right),
    "max": lambda left, right: _nan_of(left, right) or max(left, right),
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
    "==": op.eq,
    "!=": op.ne,
    "&&": op.and_,
    "||": op.or_,
    "&": op.and_,
    "|": op.or_,
    "^": op.xor,
    "<<": _shift,
    ">>": op.rshift,
}

_IN_MATH: Final = """acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh erf erfc exp exp2 expm1 fabs hypot
log log10 log1p log2 pow sin sinh sqrt tan tanh"""

_FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    **{name: getattr(math, name) for name in _IN_MATH.split()},
    "abs": math.fabs,
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "rsqrt": lambda x: 1 / math.sqrt(x) if x else math.inf,
}
