"""Expressions as written in TC, so that elaboration gives the same types again."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import copysign, isinf, isnan
from typing import Final, assert_never

from ... import ir
from ...ir import types
from ...symbolic import Affine, Bounded, IndexVar, Size, SizeVar
from ...syntax import ast
from ..arithmetic import write_affine, write_size
from ..names import IndexNames, inside
from ..refusal import refuse

_RANGES: Final = {types_: types.BITS[types_] for types_ in (*types.SIGNED, *types.UNSIGNED)}


@dataclass(frozen=True)
class Names:
    """The names of everything in the text: tensors and sizes, and `taken`, which no index may have."""

    tensors: Mapping[str, str]
    sizes: Mapping[str, str]
    taken: Collection[str]


@dataclass(frozen=True)
class Expressions:
    """Expressions over named indices. It is also the `Arithmetic` of TC."""

    names: Names
    indices: IndexNames

    def root(self, expr: ir.Expr) -> ast.Expr:
        """An expression without another operand: a literal has its default type there."""
        return self.bare(expr) if _is_default(expr) else self.typed(expr)

    def typed(self, expr: ir.Expr) -> ast.Expr:
        """An expression whose type does not depend on its neighbours."""
        match expr:
            case ir.Const(value, dtype):
                return ast.Cast(dtype, number(value))
            case ir.Extent(size):
                return write_size(size, self)
            case ir.Index(variable):
                return self.index(variable)
            case ir.Access(tensor, indices):
                name = self.names.tensors[tensor.name]
                return ast.Apply(name, tuple(map(self.subscript, indices))) if indices else ast.Name(name)
            case ir.Unary(operator, operand):
                return ast.Unary(operator, self.typed(operand))
            case ir.Binary():
                return self.operation(expr)
            case ir.Call(function, arguments):
                return ast.Apply(function, self.partners(arguments))
            case ir.Foreign(function, arguments):
                # Next to a float of another type, a bare literal would take that type.
                floats = {argument.dtype for argument in arguments if not types.is_integral(argument.dtype)} - {"bool"}
                write = self.argument if len(floats) <= 1 else self.typed_argument
                return ast.Apply(function, tuple(map(write, arguments)))
            case ir.Cast(operand, dtype):
                return ast.Cast(dtype, self.typed(operand))
            case ir.Select(condition, then, otherwise) if ir.is_padded(expr):
                value = self.bare(otherwise) if isinstance(otherwise, ir.Const) else self.typed(otherwise)
                return ast.Apply("pad", (self.element(then, self.typed(then)), value))
            case ir.Select(condition, then, otherwise):
                return ast.Conditional(self.typed(condition), *self.partners((then, otherwise)))
            case ir.Reduce():
                return self.reduction(expr)
            case _:
                assert_never(expr)

    def partners(self, exprs: Sequence[ir.Expr]) -> tuple[ast.Expr, ...]:
        """Operands of one type: literals are bare if another operand determines their type."""
        open_ = [_adapts(expr) for expr in exprs]
        if all(open_):
            open_[0] = False
        return tuple([self.bare(e) if is_open else self.typed(e) for e, is_open in zip(exprs, open_, strict=True)])

    def bare(self, expr: ir.Expr) -> ast.Expr:
        """A literal, or a choice between literals, without its type."""
        match expr:
            case ir.Const(value):
                return number(value)
            case ir.Select(condition, then, otherwise):
                return ast.Conditional(self.typed(condition), self.bare(then), self.bare(otherwise))
            case _:
                raise AssertionError(f"{expr} is not a literal")

    def argument(self, expr: ir.Expr) -> ast.Expr:
        """An argument of a Python function; a lone name would be passed as a whole tensor."""
        return self.element(expr, self.root(expr))

    def typed_argument(self, expr: ir.Expr) -> ast.Expr:
        """An argument whose type does not depend on the others."""
        return self.element(expr, self.typed(expr))

    def element(self, expr: ir.Expr, written: ast.Expr) -> ast.Expr:
        if isinstance(expr, ir.Access) and isinstance(written, ast.Name):
            return ast.Apply(written.id, ())
        return written

    def operation(self, expr: ir.Binary) -> ast.Expr:
        operator, left, right = expr.operator, expr.left, expr.right
        match operator:
            case "min" | "max":
                return ast.Apply(operator, self.partners((left, right)))
            case "quot" | "rem":
                return self.truncated(expr)
            case "//" if types.is_integral(left.dtype):
                return ast.Binary("/", *self.partners((left, right)))
            case "/" if types.is_integral(left.dtype) or left.dtype == "bool":
                return ast.Binary("truediv", *self.partners((left, right)))
            case "**" if types.is_integral(left.dtype):
                if not (isinstance(right, ir.Const) and _adapts(right)):
                    help = "multiply in a loop of `*=!`, or compute the power of floats"
                    raise refuse("TC", "an integer power whose exponent is not a number", expr.span, help=help)
                return ast.Binary("**", self.typed(left), self.bare(right))
            case _:
                return ast.Binary(operator, *self.partners((left, right)))

    def truncated(self, expr: ir.Binary) -> ast.Expr:
        """Truncating division, as in C, written with TC's flooring division."""
        sign = "/" if expr.operator == "quot" else "%"
        left, right = expr.left, expr.right
        match left:
            case ir.Binary("-", value, ir.Binary("%", same, by)) if sign == "/" and (same, by) == (value, right):
                # A multiple of the divisor has an exact quotient: this is how SaC writes a floor.
                return self.floored(replace(expr, left=value), sign)
            case _:
                pass
        if _is_nonnegative(left) and _is_nonnegative(right):
            return ast.Binary(sign, *self.partners((left, right)))
        zero = ir.Const(0, left.dtype)
        positive = replace(expr, left=ir.Unary("-", left, left.dtype))
        is_negative: ir.Expr = ir.Binary("<", left, zero, "bool")
        if not _is_nonnegative(right):
            # The quotient of the magnitudes; it has the sign of the product, the remainder that of the dividend.
            magnitude = ir.Call("abs", (right,), right.dtype)
            expr, positive = replace(expr, right=magnitude), replace(positive, right=magnitude)
        floored, mirrored = self.floored(expr, sign), ast.Unary("-", self.floored(positive, sign))
        result = ast.Conditional(self.typed(is_negative), mirrored, floored)
        if sign == "%" or _is_nonnegative(right):
            return result
        return ast.Conditional(self.typed(ir.Binary("<", right, zero, "bool")), ast.Unary("-", result), result)

    def floored(self, expr: ir.Binary, sign: str) -> ast.Expr:
        return ast.Binary(sign, *self.partners((expr.left, expr.right)))

    def reduction(self, expr: ir.Reduce) -> ast.Expr:
        within = replace(self, indices=inside(expr, self.indices, self.names.taken))
        given = {range_.index: range_ for range_ in expr.ranges}
        bounds: list[ast.Bound] = []
        for index in expr.indices:
            if index in given:
                ends = within.subscript(given[index].lo), within.subscript(given[index].hi)
                bounds.append(ast.Bound(within.indices[index], *ends))
            else:
                bounds.append(ast.Bound(within.indices[index]))
        guards = () if expr.guard is None else (within.typed(expr.guard),)
        body = within.root(expr.body)
        arguments = (body,) if expr.rank is None else (body, within.root(expr.rank))
        return ast.Reduction(expr.reducer.value, tuple(bounds), guards, arguments)

    def subscript(self, affine: Affine) -> ast.Expr:
        return write_affine(affine, self)

    # ---------------------------------------------------------------- the arithmetic of subscripts and sizes

    def number(self, value: int) -> ast.Expr:
        return number(value)

    def negative(self, operand: ast.Expr) -> ast.Expr:
        return ast.Unary("-", operand)

    def binary(self, operator: str, left: ast.Expr, right: ast.Expr) -> ast.Expr:
        return ast.Binary(operator, left, right)

    def extremum(self, kind: str, arguments: Sequence[ast.Expr]) -> ast.Expr:
        result, *others = arguments
        for other in others:
            result = ast.Apply(kind, (result, other))
        return result

    def floor(self, argument: ast.Expr, divisor: ast.Expr, nonnegative: bool) -> ast.Expr:
        return ast.Binary("/", argument, divisor)

    def remainder(self, argument: ast.Expr, divisor: ast.Expr) -> ast.Expr:
        return ast.Binary("%", argument, divisor)

    def bounded(self, bounded: Bounded) -> ast.Expr:
        return ast.Apply(bounded.kind, (self.subscript(bounded.argument),))

    def index(self, index: IndexVar) -> ast.Expr:
        return ast.Name(self.indices[index])

    def size(self, size: SizeVar) -> ast.Expr:
        if size.name in self.names.sizes:
            return ast.Name(self.names.sizes[size.name])
        tensor, _, dimension = size.name.rpartition(".")
        if dimension == "first":
            help = f"write `{tensor.rpartition('.')[0]}` from 0 on"
            raise refuse("TC", "the first subscript of a tensor, which sizes decide", help=help)
        assert tensor in self.names.tensors, f"no tensor has the size {size}"
        return ast.SizeOf(self.names.tensors[tensor], int(dimension))

    def data(self, expr: ir.Expr) -> ast.Expr:
        return self.typed(expr)

    def is_nonnegative(self, affine: Affine) -> bool:
        return False


def number(value: bool | int | float | complex) -> ast.Expr:
    """A literal as the parsers read it: a sign is an operator, and a complex number a sum."""
    match value:
        case bool():
            return ast.Number(int(value))
        case int():
            return ast.Unary("-", ast.Number(-value)) if value < 0 else ast.Number(value)
        case float():
            if isnan(value):
                return ast.Name("nan")
            magnitude = ast.Name("inf") if isinf(value) else ast.Number(abs(value))
            return ast.Unary("-", magnitude) if copysign(1.0, value) < 0 else magnitude
        case complex(real=real, imag=imaginary):
            part: ast.Expr = ast.Number(complex(0.0, abs(imaginary)))
            if real == 0.0:
                return ast.Unary("-", part) if imaginary < 0 else part
            return ast.Binary("-" if imaginary < 0 else "+", number(real), part)
        case _:
            assert_never(value)


def write_extent(size: Size) -> str | int | None:
    """A dimension of a declared type: a number or a name; None if a declaration cannot express it."""
    if size.constant is not None:
        return size.constant
    match size.terms:
        case (((SizeVar(name),), 1),) if "." not in name:
            return name
        case _:
            return None


def is_sayable(size: Size) -> bool:
    """Whether a declaration can express this dimension; an unnamed size of a parameter can."""
    match size.terms:
        case (((SizeVar(),), 1),):
            return True
        case _:
            return write_extent(size) is not None


def _adapts(expr: ir.Expr) -> bool:
    """Whether a bare literal takes this type next to an operand of this type."""
    match expr:
        case ir.Const(value, dtype):
            if dtype == "bool":
                return False
            if not types.is_integral(dtype):
                return True
            assert isinstance(value, int)
            bits = _RANGES[dtype] - (dtype in types.SIGNED)
            return (0 if dtype in types.UNSIGNED else -(2**bits)) <= value < 2**bits
        case ir.Select(_, then, otherwise):
            return _adapts(then) and _adapts(otherwise)
        case _:
            return False


def _is_default(expr: ir.Expr) -> bool:
    """Whether a bare literal has this type on its own."""
    return _adapts(expr) and expr.dtype in ("int32", "float32", "complex64")


def _is_nonnegative(expr: ir.Expr) -> bool:
    match expr:
        case ir.Const(value):
            return not isinstance(value, complex) and value >= 0
        case ir.Extent():
            return True
        case _:
            return expr.dtype in types.UNSIGNED
