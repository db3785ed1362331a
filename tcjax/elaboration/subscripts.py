"""Integer expressions as subscripts: affine as far as possible, data where not."""

from .. import ir
from ..diagnostics import Code, CompileError, Span
from ..ir import types
from ..symbolic import Affine, Clamp, Size, clamp, maximum, minimum
from .literals import Value, settled
from .operators import integer

# A product of sums of sizes can grow exponentially, (N+M)*(N+M)*..., so it must be limited.
_MAX_TERMS = 200


def subscript(value: Value, what: str) -> Affine:
    """The value as a subscript, computed in exact integers. Raises TC0303 unless it is an integer."""
    return affine(settled(integer(value, what)))


def affine(expr: ir.Expr) -> Affine:
    """An integer expression as an affine one; non-affine parts become `ir.Data` atoms."""
    match expr:
        case ir.Index(variable):
            return Affine.of(variable)
        case ir.Const(int(value)):
            return Affine.of(value)
        case ir.Extent(size):
            return Affine((), size)
        case ir.Unary("-", operand):
            return -affine(operand)
        case ir.Cast(operand, dtype) if _keeps_value(operand.dtype, dtype):
            return affine(operand)
        case ir.Binary("+", left, right):
            return affine(left) + affine(right)
        case ir.Binary("-", left, right):
            return affine(left) - affine(right)
        case ir.Binary("*", left, right):
            return _product(affine(left), affine(right), expr)
        case ir.Binary("//", left, right):
            divisor = affine(right)
            if divisor.terms:
                return Affine.of(ir.Data(expr))
            return with_caches(affine(left).quotient(_nonzero(divisor, expr.span)))
        case ir.Binary("%", left, right):
            divisor = affine(right)
            if divisor.terms:
                return Affine.of(ir.Data(expr))
            return with_caches(affine(left).remainder(_nonzero(divisor, expr.span)))
        case ir.Binary("min" | "max" as kind, left, right):
            return with_caches(_extremum(kind, affine(left), affine(right)))
        case _:
            return Affine.of(ir.Data(expr))


def with_caches(index: Affine) -> Affine:
    """The same subscript, with all its cached properties computed.

    Innermost first: hashing a tower of nested reads or floors at once would recurse deeply.
    """
    if not index.is_linear:
        _ = hash(index), index.variables, str(index)
    return index


def _keeps_value(source: str, target: str) -> bool:
    """Whether a conversion between these types can be left out of a subscript."""
    if not (types.is_integral(source) and types.is_integral(target)):
        return False
    return types.BITS[target] >= types.BITS[source] and (target in types.SIGNED or source in types.UNSIGNED)


def _product(left: Affine, right: Affine, expr: ir.Expr) -> Affine:
    if left.terms and right.terms:
        return Affine.of(ir.Data(expr))
    factor, other = (right.base, left) if left.terms else (left.base, right)
    if len(factor.terms) * max(len(weight.terms) for weight in (other.base, *(w for _, w in other.terms))) > _MAX_TERMS:
        raise CompileError(
            Code.TOO_DEEP,
            "this product of sizes has too many terms",
            expr.span,
            help="compute it in a separate statement, and read that",
        )
    return other.scale(factor)


def _nonzero(divisor: Affine, span: Span) -> Size:
    if divisor.constant == 0:
        raise CompileError(Code.DIVISION_BY_ZERO, "this divides by zero", span, help="divide by another number")
    return divisor.base


def _extremum(kind: str, left: Affine, right: Affine) -> Affine:
    if not left.terms and not right.terms:
        return Affine((), (minimum if kind == "min" else maximum)(left.base, right.base))
    return clamp(kind, (*_arguments(kind, left), *_arguments(kind, right)))


def _arguments(kind: str, argument: Affine) -> tuple[Affine, ...]:
    """The arguments of a clamp inside a clamp of the same kind."""
    match argument.terms:
        case ((Clamp(inner, arguments), weight),) if inner == kind and weight.constant == 1 and not argument.base.terms:
            return arguments
        case _:
            return (argument,)
