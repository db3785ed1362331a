"""Operators and scalar functions, element by element: shapes are equal, or one side is a scalar."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...ir import types
from ...ir.builtins import BUILTINS
from ...symbolic import Affine
from .. import operators
from ..literals import Literal, Value, combined, joined, settled
from ..subscripts import affine
from .arrays import (
    Array,
    Kind,
    Piece,
    Place,
    Points,
    Ragged,
    is_float,
    is_int,
    joined_kind,
    kind_of,
    show_kind,
)
from .boxes import uncovered
from .draft import Draft
from .reading import element, whole, zero
from .statics import require_scalar

Combine = Callable[..., Value]

_COMPARISONS: Final = frozenset(("==", "!=", "<", "<=", ">", ">="))


def binary(operator: str, left: Array | Ragged, right: Array | Ragged, span: Span, draft: Draft) -> Array | Ragged:
    """``left operator right``. Raises `CompileError`: TC0301 for types, TC0605 for shapes."""
    if operator in ("&&", "||"):
        return _logical(operator, _whole(left, operator, span), _whole(right, operator, span), span, draft)
    kind = _binary_kind(operator, left.kind, right.kind, span)
    return elementwise(kind, (left, right), lambda a, b: compute(operator, a, b, span, draft), span, draft)


def unary(operator: str, operand: Array | Ragged, span: Span, draft: Draft) -> Array | Ragged:
    """``-x +x !x ~x``."""
    kind = operand.kind
    fits = {"!": kind == "bool", "~": is_int(kind) or kind == "bool"}.get(operator, kind != "bool")
    if not fits:
        wanted = {"!": "bools", "~": "ints or bools"}.get(operator, "numbers")
        raise _wrong_type(f"`{operator}`", wanted, kind, span)
    if operator == "+":
        return operand
    return elementwise(kind, (operand,), lambda a: operators.unary(operator, a, span), span, draft)


def builtin(name: str, arguments: Sequence[Array | Ragged], span: Span, draft: Draft) -> Array | Ragged:
    """A scalar function of the library."""
    kind = joined_kind(argument.kind for argument in arguments)
    if any(argument.kind == "bool" for argument in arguments) and name not in ("isnan", "isinf", "isfinite"):
        raise _wrong_type(f"`{name}`", "numbers", "bool", span)
    result = kind_of(_called(name, [zero(kind)] * len(arguments), span))
    return elementwise(result, arguments, lambda *values: _called(name, values, span), span, draft)


def extremum(name: str, arguments: Sequence[Array | Ragged], span: Span, draft: Draft) -> Array | Ragged:
    """``min(a, b)``, ``max(a, b)``."""
    kind = joined_kind(argument.kind for argument in arguments)
    if any(argument.kind == "bool" for argument in arguments):
        raise _wrong_type(f"`{name}`", "numbers", "bool", span)
    return elementwise(kind, arguments, lambda a, b: operators.binary(name, a, b, span), span, draft)


def modulo(arguments: Sequence[Array | Ragged], span: Span, draft: Draft) -> Array | Ragged:
    """``mod(a, b)``, which has the sign of `b`."""
    kind = _binary_kind("%", arguments[0].kind, arguments[1].kind, span)
    return elementwise(kind, arguments, lambda a, b: operators.binary("%", a, b, span), span, draft)


def cast(dtype: str, operand: Array | Ragged, span: Span, draft: Draft) -> Array | Ragged:
    """``toi(x)``, ``float(x)``: a conversion as in C."""
    return elementwise(dtype, (operand,), lambda a: operators.convert_to(dtype, a, span), span, draft)


def choose(condition: Array, then: Array, otherwise: Array, kind: Kind, span: Span, draft: Draft) -> Array:
    """``condition ? then : otherwise`` for cells of one shape, decided by an index or by data."""

    def read(place: Place) -> Value:
        test = element(condition, (), draft)
        with draft.under(settled(test), True):
            first = element(then, place, draft)
        with draft.under(settled(test), False):
            second = element(otherwise, place, draft)
        return operators.conditional(test, first, second, span)

    return Array(kind, then.shape, read, then.free | otherwise.free | condition.free, names=then.names)


def where(arguments: Sequence[Array | Ragged], span: Span, draft: Draft) -> Array | Ragged:
    """``where(p, a, b)``, element by element."""
    condition, then, otherwise = arguments
    if condition.kind != "bool":
        raise _wrong_type("the condition of `where`", "bools", condition.kind, span)
    kind = joined_kind((then.kind, otherwise.kind))
    if "bool" in (then.kind, otherwise.kind) and then.kind != otherwise.kind:
        raise _wrong_type("`where`", "two bools or two numbers", then.kind, span)
    for branch in (then, otherwise):
        if isinstance(condition, Array) and isinstance(branch, Array) and branch.rank and not condition.rank:
            raise unequal_shapes((), draft.numbers(branch.shape), span)
    return elementwise(kind, arguments, lambda p, a, b: operators.conditional(p, a, b, span), span, draft)


def elementwise(
    kind: Kind, arguments: Sequence[Array | Ragged], combine: Combine, span: Span, draft: Draft
) -> Array | Ragged:
    """The array of `combine` at every position. Raises `CompileError` (TC0605) if shapes differ."""
    ragged = [argument for argument in arguments if isinstance(argument, Ragged)]
    if ragged:
        return _ragged(kind, arguments, combine, span, draft)
    arrays = [argument for argument in arguments if isinstance(argument, Array)]
    shaped = [array for array in arrays if array.rank]
    free = frozenset().union(*(array.free for array in arrays))
    if not shaped:
        return Array(kind, (), lambda _: combine(*[element(array, (), draft) for array in arrays]), free)
    first = shaped[0]
    for other in shaped[1:]:
        if draft.numbers(other.shape) != draft.numbers(first.shape):
            raise unequal_shapes(draft.numbers(first.shape), draft.numbers(other.shape), span)

    def read(place: Place) -> Value:
        return combine(*[_at(array, place, draft) for array in arrays])

    names = next((array.names for array in shaped if array.names), ())
    result = Array(kind, first.shape, read, free, names=names)
    if first.rank and any(array.cells is not None for array in shaped):
        count = draft.number(first.shape[0])
        cells = [
            elementwise(kind, [part(array, number, draft) for array in arrays], combine, span, draft)
            for number in range(count)
        ]
        return replace(result, cells=tuple(cell for cell in cells if isinstance(cell, Array)))
    cased = [array for array in shaped if array.pieces is not None and array.keep is None]
    if len(cased) == 1:
        return replace(
            result,
            pieces=lambda: _over_pieces(cased[0], arrays, combine, draft),
            layers=lambda: _over_layers(cased[0], arrays, combine, draft),
        )
    return result


def _at(array: Array, place: Place, draft: Draft) -> Value:
    """The element at a position, or a scalar."""
    return element(array, place if array.rank else (), draft)


def part(array: Array, number: int, draft: Draft) -> Array:
    """The part of an array at a position of its first axis; a scalar is returned unchanged."""
    if not array.rank:
        return array
    if array.cells is not None:
        return array.cells[number]
    at = Affine.of(number)
    return Array(array.kind, array.shape[1:], lambda place: element(array, (at, *place), draft), array.free)


def compute(operator: str, left: Value, right: Value, span: Span, draft: Draft) -> Value:
    """One operator of SaC on two elements."""
    if operator not in ("/", "%"):
        return operators.binary(operator, left, right, span)
    dtype = joined((left, right))
    if not types.is_integral(dtype):
        return (
            _called("fmod", (left, right), span) if operator == "%" else operators.binary("truediv", left, right, span)
        )
    floored = "//" if operator == "/" else "%"
    if isinstance(left, Literal) and isinstance(right, Literal):
        if not right.value:
            return operators.binary(floored, left, right, span)
        a, b = int(left.value.real), int(right.value.real)
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return Literal(quotient if operator == "/" else a - quotient * b, span)
    a, b = settled(left), settled(right)
    if _is_at_least(a, 0, draft) and _is_at_least(b, 1, draft):
        return operators.binary(floored, left, right, span)
    if isinstance(right, Literal) and not right.value:
        return operators.binary(floored, left, right, span)
    name = "quot" if operator == "/" else "rem"
    return combined((left, right), dtype, lambda ab, result: ir.Binary(name, ab[0], ab[1], result, span=span))


def unequal_shapes(first: tuple[int, ...], second: tuple[int, ...], span: Span) -> CompileError:
    """The error for two arrays that are combined element by element."""
    return CompileError(
        Code.UNEQUAL_SHAPES,
        f"these arrays have the shapes {list(first)} and {list(second)}",
        span,
        help="element-wise operations take equal shapes or a scalar; write a comprehension to combine other shapes: "
        "`{ [i,j] -> a[i,j] + b[j] }`",
    )


def _is_at_least(value: ir.Expr, least: int, draft: Draft) -> bool:
    found = affine(value)
    if not found.terms:
        return draft.number(found.base) >= least
    interval = draft.interval(found)
    return interval is not None and interval[0] >= least


def _called(name: str, values: Sequence[Value], span: Span) -> Value:
    return operators.call(name, BUILTINS[name], list(values), span)


def _binary_kind(operator: str, left: Kind, right: Kind, span: Span) -> Kind:
    joined_to = joined_kind((left, right))
    if operator in _COMPARISONS:
        if (left == "bool") != (right == "bool"):
            raise _wrong_type(f"`{operator}`", "two bools or two numbers", left if left == "bool" else right, span)
        return "bool"
    if operator in ("&", "|", "^"):
        if not (left == right == "bool" or (is_int(left) and is_int(right))):
            raise _wrong_type(f"`{operator}`", "ints or bools", left if is_float(left) else right, span)
        return joined_to
    if operator in ("<<", ">>"):
        if not (is_int(left) and is_int(right)):
            raise _wrong_type(f"`{operator}`", "ints", right if is_int(left) else left, span)
        return joined_to
    if "bool" in (left, right):
        raise _wrong_type(f"`{operator}`", "numbers", "bool", span)
    return joined_to


# What an operator probably means, where it does not accept floats or bools.
_BETWEEN: Final = "two comparisons are joined by `&&`, `0 < x && x < n`; else "
_INSTEAD: Final = {("`^`", False): "a power is `pow(a, b)`; else "} | {
    (f"`{order}`", True): _BETWEEN for order in ("<", "<=", ">", ">=")
}


def _wrong_type(what: str, wanted: str, kind: Kind, span: Span) -> CompileError:
    return CompileError(
        Code.WRONG_TYPE,
        f"{what} takes {wanted}, but got {show_kind(kind)}",
        span,
        help=_INSTEAD.get((what, kind == "bool"), "")
        + "convert with `toi`, `tof`, `tod` or `tob`; a bool becomes a number by `b ? 1 : 0`",
    )


def _logical(operator: str, left: Array, right: Array, span: Span, draft: Draft) -> Array:
    for operand in (left, right):
        if operand.kind != "bool":
            raise _wrong_type(f"`{operator}`", "bools", operand.kind, span)
        require_scalar(operand, f"an operand of `{operator}`", span)
    free = left.free | right.free

    def read(_: Place) -> Value:
        first = element(left, (), draft)
        if isinstance(first, Literal):
            decided = bool(first.value) == (operator == "||")
            return first if decided else element(right, (), draft)
        with draft.under(settled(first), operator == "&&"):
            second = element(right, (), draft)
        return operators.binary(operator, first, second, span)

    return Array("bool", (), read, free)


def _whole(operand: Array | Ragged, operator: str, span: Span) -> Array:
    if isinstance(operand, Ragged):
        raise no_fold(f"`{operator}`", span)
    return operand


def no_fold(what: str, span: Span) -> CompileError:
    """The error for a ragged comprehension outside a fold."""
    return CompileError(
        Code.SHAPE_NEEDS_INDEX,
        f"{what} takes an array of one shape, but an index decides how far this comprehension runs",
        span,
        help="fold it at once: `sum({ [j] -> a[j] | [j] <= [i] })`",
    )


def _ragged(kind: Kind, arguments: Sequence[Array | Ragged], combine: Combine, span: Span, draft: Draft) -> Ragged:
    ragged = [argument for argument in arguments if isinstance(argument, Ragged)]
    others = [argument for argument in arguments if isinstance(argument, Array)]
    if len(ragged) > 1 or any(array.rank for array in others):
        raise CompileError(
            Code.SHAPE_NEEDS_INDEX,
            "an index decides how far this comprehension runs, so only scalars can be combined with it",
            span,
            help="write one comprehension: `sum({ [j] -> a[j] * b[j] | [j] <= [i] })`",
        )
    only = ragged[0]

    def points(all_of_them: bool) -> Points:
        found = only.points(all_of_them)
        values = [element(a, (), draft) if isinstance(a, Array) else found.body for a in arguments]
        return replace(found, body=combine(*values))

    return Ragged(kind, only.free.union(*(array.free for array in others)), points)


def _over_pieces(cased: Array, arrays: Sequence[Array], combine: Combine, draft: Draft) -> tuple[Piece, ...]:
    """The pieces of a result one of whose arguments is read by cases, including the zeros between its pieces."""
    assert cased.pieces is not None
    pieces = cased.pieces()
    rest = uncovered(whole(cased.shape), [piece.box for piece in pieces], draft)
    if rest is None:
        return (Piece(whole(cased.shape), lambda place: combine(*[_at(array, place, draft) for array in arrays])),)
    blank = [Piece(box, lambda _: zero(cased.kind)) for box in rest]
    return tuple(_combined(piece, cased, arrays, combine, draft) for piece in (*pieces, *blank))


def _over_layers(
    cased: Array, arrays: Sequence[Array], combine: Combine, draft: Draft
) -> tuple[tuple[Piece, ...], ...]:
    """The same as layers: first the background everywhere, then the pieces over it."""
    assert cased.pieces is not None
    blank = Piece(whole(cased.shape), lambda _: zero(cased.kind))
    layers = ((blank,), cased.pieces()) if cased.layers is None else cased.layers()
    return tuple(tuple(_combined(piece, cased, arrays, combine, draft) for piece in layer) for layer in layers)


def _combined(piece: Piece, cased: Array, arrays: Sequence[Array], combine: Combine, draft: Draft) -> Piece:
    def read(place: Place) -> Value:
        return combine(*[piece.read(place) if array is cased else _at(array, place, draft) for array in arrays])

    return Piece(piece.box, read)
