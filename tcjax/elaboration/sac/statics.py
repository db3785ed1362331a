"""Values that must be known during elaboration: bounds, shapes, numbers of axes."""

import itertools
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...ir import types
from ...symbolic import Affine, IndexVar, Size
from ..literals import Literal, Open, Value, fold_call, settled
from ..signature import ValueNeeded
from .arrays import Array, is_int, show_kind
from .draft import Draft, IndexNeeded

Static = Size | bool | float
Point = Mapping[IndexVar, int]

_NOWHERE: Final[Point] = MappingProxyType({})

# A fold whose value determines a shape is computed point by point, up to this many points.
_MOST_POINTS: Final = 1_000_000
# About the maximum number of axes of a JAX array.
_MOST_AXES: Final = 64
# Subscripts that are not affine are checked value by value, up to this many.
_MOST_VALUES: Final = 10_000
# A size with a longer formula is replaced by its number.
_LONGEST_FORMULA: Final = 60


def static_int(array: Array, what: str, span: Span, draft: Draft) -> Size:
    """The value of an int scalar. Raises `CompileError` (TC0303, TC1002) and `ValueNeeded`."""
    require_scalar(array, what, span)
    require_int(array, what, span)
    return _size(array, (), what, span, draft)


def static_vector(array: Array, what: str, span: Span, draft: Draft) -> tuple[Size, ...]:
    """The values of an int vector; a scalar counts as a vector of one."""
    if array.rank > 1:
        raise CompileError(
            Code.NOT_INTEGRAL,
            f"{what} must be a vector of ints, but this has {array.rank} axes",
            span,
            help="write a vector, `[3, 4]`, or an expression such as `shape(a)`",
        )
    if array.rank == 0:
        return (static_int(array, what, span, draft),)
    require_int(array, what, span)
    count = draft.number(array.shape[0])
    if count > _MOST_AXES:
        raise CompileError(
            Code.BOUND_LENGTH,
            f"{what} has {count} components: arrays have at most {_MOST_AXES} axes",
            span,
            help="give one component for each axis",
        )
    return tuple(_size(array, (Affine.of(position),), what, span, draft) for position in range(count))


def static_bool(array: Array, draft: Draft) -> bool | None:
    """The value of a condition if it is known; None if it depends on an index or data."""
    from .reading import element

    try:
        found = evaluate(element(array, (), draft), draft)
    except (CompileError, IndexNeeded, ValueNeeded):
        # An error in a condition that never runs is ignored.
        return None
    return bool(found) if isinstance(found, bool) else None


def require_int(array: Array, what: str, span: Span) -> None:
    """Raises `CompileError` (TC0303) unless the elements are ints."""
    if not is_int(array.kind):
        raise CompileError(
            Code.NOT_INTEGRAL,
            f"{what} must be of ints, but this is {show_kind(array.kind)}",
            span,
            help="convert it with `toi(...)`, or write ints",
        )


def require_scalar(array: Array, what: str, span: Span) -> None:
    """Raises `CompileError` (TC0509) if there are axes."""
    if array.rank:
        raise CompileError(
            Code.NOT_A_SCALAR,
            f"{what} must be a scalar, but this has {array.rank} {'axis' if array.rank == 1 else 'axes'}",
            span,
            help="select one element, or fold it: `all(...)`, `any(...)`, `sum(...)`",
        )


def _size(array: Array, place: tuple[Affine, ...], what: str, span: Span, draft: Draft) -> Size:
    from .reading import element

    try:
        found = evaluate(element(array, place, draft), draft)
    except IndexNeeded as needed:
        raise index_decides(what, needed.index, span) from None
    except ValueNeeded as needed:
        raise ValueNeeded(needed.name, span) from None
    assert isinstance(found, Size), found
    return found


def index_decides(what: str, index: IndexVar, span: Span) -> CompileError:
    """The error for a shape that would depend on an index."""
    return CompileError(
        Code.SHAPE_NEEDS_INDEX,
        f"{what} depends on the index `{index.name}`, so the cells would differ in shape",
        span,
        help="every cell of a comprehension has one shape: use values that do not change with the index, "
        "or fold the ragged part at once, as in `sum({ [j] -> a[j] | [j] <= [i] })`",
    )


def evaluate(value: Value, draft: Draft, point: Point = _NOWHERE) -> Static:
    """The value of an expression: ints as sizes, so that formulas are kept.

    Raises `IndexNeeded` and `ValueNeeded`.
    """
    match value:
        case Literal(number):
            return number if isinstance(number, (bool, float)) else Size.of(int(number.real))
        case Open():
            return evaluate(settled(value), draft, point)
        case ir.Const(number, dtype):
            return Size.of(int(number.real)) if types.is_integral(dtype) else _plain(number)
        case ir.Extent(size):
            return size
        case ir.Index(index):
            if index not in point:
                raise IndexNeeded(index)
            return Size.of(point[index])
        case ir.Access():
            return _known(value, draft, point)
        case ir.Unary(operator, operand):
            inner = evaluate(operand, draft, point)
            if operator == "!":
                return not inner
            if operator == "~":
                assert isinstance(inner, Size)
                return -inner - 1
            return -inner
        case ir.Binary("&&", left, right):
            return bool(evaluate(left, draft, point)) and bool(evaluate(right, draft, point))
        case ir.Binary("||", left, right):
            return bool(evaluate(left, draft, point)) or bool(evaluate(right, draft, point))
        case ir.Binary(operator, left, right):
            return _binary(operator, evaluate(left, draft, point), evaluate(right, draft, point), value.span, draft)
        case ir.Select(condition, then, otherwise):
            return evaluate(then if evaluate(condition, draft, point) else otherwise, draft, point)
        case ir.Cast(operand, dtype):
            return _cast(evaluate(operand, draft, point), dtype, draft)
        case ir.Call(function, arguments):
            numbers = [_float(evaluate(argument, draft, point), draft) for argument in arguments]
            if function == "abs" and types.is_integral(value.dtype):
                return Size.of(int(abs(numbers[0])))
            folded = fold_call(function, numbers, value.span)
            if folded is None or isinstance(folded.value, complex):
                raise _undecidable(f"`{function}`", value.span)
            return float(folded.value)
        case ir.Foreign(function):
            raise _undecidable(f"the Python function `{function}`", value.span)
        case ir.Reduce():
            return _reduce(value, draft, point)


def _known(access: ir.Access, draft: Draft, point: Point) -> Static:
    place = tuple([draft.number(_int(evaluate(ir.integer(index), draft, point))) for index in access.indices])
    name = access.tensor.name
    for position, extent in zip(place, draft.numbers(access.tensor.shape), strict=True):
        if not 0 <= position < extent:
            raise outside(name, position, extent, access.span)
    source = draft.sources.get(name)
    if source is not None:
        return evaluate(settled(source.read(tuple(map(Affine.of, place)))), draft, point)
    if name not in draft.parameters:
        raise _undecidable(f"the Python function behind `{name}`", access.span)
    if name not in draft.known:
        raise ValueNeeded(name, access.span)
    number = draft.known[name](place)
    assert not isinstance(number, complex), "a complex number cannot determine a shape"
    return Size.of(int(number)) if types.is_integral(access.dtype) else _plain(number)


def values_of(index: Affine, draft: Draft) -> Iterator[int]:
    """The values of a subscript computed from indices alone, over their ranges; none if there are many."""
    variables = sorted(index.variables, key=str)
    if any(variable not in draft.ranges for variable in variables):
        return
    spans = [range(*draft.ranges[variable]) for variable in variables]
    if math.prod(map(len, spans)) > _MOST_VALUES:
        return
    expr = ir.integer(index)
    for places in itertools.product(*spans):
        yield draft.number(_int(evaluate(expr, draft, dict(zip(variables, places, strict=True)))))


def outside(name: str, position: int, extent: int, span: Span) -> CompileError:
    """The error for a selection outside the array."""
    around = "; to wrap around, write `mod(i, n)`: `i % n` has the sign of `i`" if position < 0 else ""
    has = f"{extent} element{'' if extent == 1 else 's'}"
    array = name if name == "the array" else f"`{name}`"
    return CompileError(
        Code.OUT_OF_RANGE_SELECTION,
        f"this selects element {position} of {array}, which has {has} along that axis",
        span,
        help=f"select from 0 to {extent - 1}{around}" if extent else "an empty array has no element to select",
    )


def _binary(operator: str, left: Static, right: Static, span: Span, draft: Draft) -> Static:
    if isinstance(left, Size) and isinstance(right, Size):
        return _sizes(operator, left, right, span, draft)
    a, b = _float(left, draft), _float(right, draft)
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a / b if b else math.nan
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return _compared(operator, a, b)
        case "&" | "&&":
            return bool(a and b)
        case "|" | "||":
            return bool(a or b)
        case "^":
            return bool(a) != bool(b)
        case _:
            raise _undecidable(f"`{operator}` of floats", span)


def _sizes(operator: str, left: Size, right: Size, span: Span, draft: Draft) -> Static:
    a, b = draft.number(left), draft.number(right)
    match operator:
        case "+" | "-" | "*":
            formula = left + right if operator == "+" else left - right if operator == "-" else left * right
            return formula if len(str(formula)) <= _LONGEST_FORMULA else Size.of(draft.number(formula))
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return _compared(operator, a, b)
        case "min":
            return left if a <= b else right
        case "max":
            return left if a >= b else right
        case "//" | "%" | "quot" | "rem":
            if not b:
                raise CompileError(Code.DIVISION_BY_ZERO, "this divides by zero", span, help="divide by another number")
            if a >= 0 and b > 0 and right.constant is not None:
                return left // right if operator in ("//", "quot") else left % right
            quotient = a // b if operator in ("//", "%") else int(math.copysign(abs(a) // abs(b), a * b)) if a else 0
            return Size.of(quotient if operator in ("//", "quot") else a - quotient * b)
        case "&" | "&&":
            return Size.of(a & b)
        case "|" | "||":
            return Size.of(a | b)
        case "^":
            return Size.of(a ^ b)
        case "<<" if b <= 64:
            return Size.of(a << b)
        case ">>":
            return Size.of(a >> b)
        case "**" if 0 <= b <= 64:
            return Size.of(a**b)
        case _:
            raise _undecidable(f"`{operator}`", span)


def _compared(operator: str, a: float, b: float) -> bool:
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]


def _reduce(expr: ir.Reduce, draft: Draft, point: Point) -> Static:
    ranges = {given.index: given for given in expr.ranges}
    spans = [range(*draft.ranges[index]) if index in draft.ranges else None for index in expr.indices]
    if any(span is None for span in spans) or math.prod(len(span) for span in spans if span) > _MOST_POINTS:
        raise _undecidable(f"`{expr.reducer.value}` over so many points", expr.span)
    total: Static | None = None
    for places in itertools.product(*[span for span in spans if span is not None]):
        here = {**point, **dict(zip(expr.indices, places, strict=True))}
        inside = all(
            draft.number(_int(evaluate(ir.integer(given.lo), draft, here)))
            <= here[index]
            < draft.number(_int(evaluate(ir.integer(given.hi), draft, here)))
            for index, given in ranges.items()
        )
        if not inside or (expr.guard is not None and not evaluate(expr.guard, draft, here)):
            continue
        found = evaluate(expr.body, draft, here)
        total = found if total is None else _combined(expr, total, found, draft)
    if total is not None:
        return total
    if expr.reducer.operator is None or expr.reducer.is_extremum:
        raise _undecidable(f"`{expr.reducer.value}` of nothing", expr.span)
    nothing = expr.reducer.empty(expr.dtype)
    if types.is_integral(expr.dtype):
        return Size.of(int(nothing))
    return bool(nothing) if expr.dtype == "bool" else float(nothing)


def _combined(expr: ir.Reduce, total: Static, found: Static, draft: Draft) -> Static:
    operator = expr.reducer.operator
    if operator is None:
        raise _undecidable(f"`{expr.reducer.value}`", expr.span)
    return _binary(operator, total, found, expr.span, draft)


def _cast(value: Static, dtype: str, draft: Draft) -> Static:
    number = draft.number(value) if isinstance(value, Size) else value
    if types.is_integral(dtype):
        if isinstance(number, float) and not math.isfinite(number):
            raise CompileError(
                Code.NOT_INTEGRAL,
                f"{number} is not an integer, but its value decides a shape here",
                help="pass a number",
            )
        return value if isinstance(value, Size) else Size.of(int(number))
    return bool(number) if dtype == "bool" else float(number)


def _plain(number: bool | int | float | complex) -> bool | float:
    assert not isinstance(number, complex)
    return number if isinstance(number, bool) else float(number)


def _float(value: Static, draft: Draft) -> float:
    return float(draft.number(value) if isinstance(value, Size) else value)


def _int(value: Static) -> Size:
    assert isinstance(value, Size), value
    return value


def _undecidable(what: str, span: Span) -> CompileError:
    return CompileError(
        Code.VALUE_DECIDES_SHAPE,
        f"{what} is not computed while a program is elaborated, but its value decides a shape here",
        span,
        help="compute it before the call and pass it as an argument, or derive it from `shape(...)`",
    )
