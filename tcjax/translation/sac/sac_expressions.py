"""Scalar expressions as written in SaC."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from ... import ir
from ...ir import types
from ...keeping import cached_property
from ...symbolic import Affine, Bounded, Facts, IndexVar, Interval, Size, SizeVar
from ...symbolic.affine import Atom
from ...syntax.sac import tree
from ..arithmetic import write_affine, write_size
from ..names import inside
from ..refusal import refuse
from . import literals
from .shapes import Shapes

# What operators on numbers mean for booleans, which SaC does not compute with.
_OF_BOOL: Final[Mapping[str, str]] = {
    "+": "!=",
    "-": "!=",
    "^": "!=",
    "*": "&&",
    "&": "&&",
    "min": "&&",
    "|": "||",
    "max": "||",
}
_ORDER_OF_BOOL: Final[Mapping[str, tuple[str, bool]]] = {
    "<": ("&&", True),
    "<=": ("||", True),
    ">": ("&&", False),
    ">=": ("||", False),
}
_PRODUCT_LIMIT: Final = 16


@dataclass(frozen=True)
class Scope:
    """What an expression can refer to. It is also the `Arithmetic` of SaC.

    `tensors` maps each tensor to the let or parameter that holds it now, `shapes` gives their shapes, and `starts` the
    smallest indices of those that do not start at 0, as SaC's arrays do. `sizes` are the names bound by type patterns,
    `taken` all names that no index may have. `indices` are the names of the indices, `origins` their offsets,
    `intervals` their ranges.
    """

    tensors: Mapping[str, str]
    shapes: Shapes
    starts: Mapping[str, tuple[Size, ...]]
    sizes: Mapping[str, str]
    taken: Collection[str]
    intervals: Mapping[IndexVar, Interval | None] = field(default_factory=dict)
    indices: Mapping[IndexVar, str] = field(default_factory=dict)
    origins: Mapping[IndexVar, Affine] = field(default_factory=dict)

    @cached_property
    def facts(self) -> Facts:
        """What is known about the indices."""
        return Facts.over({index: interval for index, interval in self.intervals.items() if interval is not None})

    def within(self, reduce: ir.Reduce) -> "Scope":
        """The scope of the body of an inline reduction."""
        return replace(self, indices=inside(reduce, self.indices, self.taken))

    def moved(self, origins: Mapping[IndexVar, Affine]) -> "Scope":
        """The same with these indices counted from other origins; an origin may depend on an index moved before."""
        origins = {index: self.shifted(origin) for index, origin in origins.items()}
        intervals = dict(self.intervals)
        for index, origin in origins.items():
            interval = intervals.get(index)
            if interval is not None:
                least = self.least(origin)
                lo = interval.lo - origin.base if not origin.terms else Size.of(0)
                intervals[index] = None if least is None else Interval(lo, interval.hi - least)
        return replace(self, origins={**self.origins, **origins}, intervals=intervals)

    # ---------------------------------------------------------------- expressions

    def write(self, expr: ir.Expr) -> tree.Expr:
        """The expression; literals keep their type."""
        match expr:
            case ir.Const(value, dtype):
                return literals.typed(value, dtype)
            case ir.Extent(size):
                return write_size(size, self)
            case ir.Index(variable):
                return self.subscript(Affine.of(variable))
            case ir.Access(tensor, indices):
                array = tree.Name(self.tensors[tensor.name])
                if tensor.name in self.starts:
                    indices = [index - start for index, start in zip(indices, self.starts[tensor.name], strict=True)]
                return tree.Select(array, tuple(map(self.subscript, indices))) if indices else array
            case ir.Unary("~", operand, "bool"):
                return tree.Unary("!", self.write(operand))
            case ir.Unary(operator, operand):
                return tree.Unary(operator, self.write(operand))
            case ir.Binary():
                return self.operation(expr)
            case ir.Call(function, arguments):
                return tree.Call(function, self.partners(arguments))
            case ir.Foreign(function, arguments):
                # Next to a float of another type, a bare literal would take that type.
                floats = {argument.dtype for argument in arguments if not types.is_integral(argument.dtype)} - {"bool"}
                write = self.write if len(floats) <= 1 else self.typed_argument
                return tree.Call(function, tuple(map(write, arguments)))
            case ir.Cast(operand, dtype):
                return literals.cast(dtype, self.write(operand))
            case ir.Select(condition, then, otherwise):
                return tree.Conditional(self.write(condition), *self.partners((then, otherwise)))
            case ir.Reduce():
                from .folds import fold

                return fold(expr, self)
            case _:
                assert_never(expr)

    def typed_argument(self, expr: ir.Expr) -> tree.Expr:
        """An argument of a function, whose type does not depend on the others."""
        written = self.write(expr)
        is_open = isinstance(expr, (ir.Const, ir.Select)) and expr.dtype == "float32"
        return literals.cast(expr.dtype, written) if is_open else written

    def partners(self, exprs: Sequence[ir.Expr]) -> tuple[tree.Expr, ...]:
        """Operands of one type: literals are bare if another operand determines their type."""
        open_ = [isinstance(expr, ir.Const) and literals.adapts(expr.value, expr.dtype) for expr in exprs]
        if all(open_):
            open_[0] = False
        written: list[tree.Expr] = []
        for expr, is_open in zip(exprs, open_, strict=True):
            if is_open and isinstance(expr, ir.Const) and not isinstance(expr.value, complex):
                written.append(literals.bare(expr.value))
            else:
                written.append(self.write(expr))
        return tuple(written)

    def operation(self, expr: ir.Binary) -> tree.Expr:
        operator, left, right = expr.operator, expr.left, expr.right
        if left.dtype == "bool":
            return self.logical(operator, left, right)
        first, second = self.partners((left, right))
        match operator:
            case "quot" | "rem":
                return tree.Binary("/" if operator == "quot" else "%", first, second)
            case "//" if types.is_integral(left.dtype):
                return self.floor(first, second, self.is_natural(left) and self.is_natural(right))
            case "//":
                return tree.Call("floor", (tree.Binary("/", first, second),))
            case "%" if types.is_integral(left.dtype):
                return self.remainder(first, second)
            case "%":
                return self.float_remainder(expr)
            case "min" | "max":
                return tree.Call(operator, (first, second))
            case "**" if types.is_integral(left.dtype):
                return self.power(expr)
            case "**":
                return tree.Call("pow", (first, second))
            case _:
                return tree.Binary(operator, first, second)

    def logical(self, operator: str, left: ir.Expr, right: ir.Expr) -> tree.Expr:
        first, second = self.write(left), self.write(right)
        if operator in _ORDER_OF_BOOL:
            joined, flips_left = _ORDER_OF_BOOL[operator]
            if flips_left:
                return tree.Binary(joined, tree.Unary("!", first), second)
            return tree.Binary(joined, first, tree.Unary("!", second))
        return tree.Binary(_OF_BOOL.get(operator, operator), first, second)

    def float_remainder(self, expr: ir.Binary) -> tree.Expr:
        """The remainder with the sign of the divisor, from the one with the sign of the dividend."""
        zero = ir.Const(0.0, expr.dtype)
        rest = ir.Call("fmod", (expr.left, expr.right), expr.dtype)
        signs = ir.Binary("<", rest, zero, "bool"), ir.Binary("<", expr.right, zero, "bool")
        inexact = ir.Binary("!=", rest, zero, "bool")
        differs = ir.Binary("&&", inexact, ir.Binary("!=", *signs, "bool"), "bool")
        return self.write(ir.Select(differs, ir.Binary("+", rest, expr.right, expr.dtype), rest, expr.dtype))

    def power(self, expr: ir.Binary) -> tree.Expr:
        """An integer power as a product."""
        if not isinstance(expr.right, ir.Const) or not 0 <= int(expr.right.value.real) <= _PRODUCT_LIMIT:
            help = "compute the power of floats, `pow(x, y)`, or a product over an index"
            raise refuse("SaC", "an integer power whose exponent is no small number", expr.span, help=help)
        factor = product = self.write(expr.left)
        if expr.right.value == 0:
            return literals.typed(1, expr.dtype)
        for _ in range(int(expr.right.value.real) - 1):
            product = tree.Binary("*", product, factor)
        return product

    def is_natural(self, expr: ir.Expr) -> bool:
        """Whether the integer is known not to be negative."""
        match expr:
            case ir.Const(value):
                return not isinstance(value, complex) and value >= 0
            case ir.Extent(size):
                return self.facts.at_least_zero(size)
            case ir.Index(variable):
                return self.is_nonnegative(self.shifted(Affine.of(variable)))
            case ir.Binary("+" | "*" | "//" | "%", left, right):
                return self.is_natural(left) and self.is_natural(right)
            case ir.Binary("min", left, right):
                return self.is_natural(left) and self.is_natural(right)
            case ir.Binary("max", left, right):
                return self.is_natural(left) or self.is_natural(right)
            case ir.Cast(operand):
                return types.is_integral(operand.dtype) and self.is_natural(operand)
            case _:
                return expr.dtype in types.UNSIGNED

    def subscript(self, affine: Affine) -> tree.Expr:
        return write_affine(self.shifted(affine), self)

    def shifted(self, affine: Affine) -> Affine:
        """The affine expression in terms of the shifted indices."""
        if not affine.variables & self.origins.keys():
            return affine

        def shift(atom: Atom) -> Affine:
            if isinstance(atom, IndexVar) and atom in self.origins:
                return Affine.of(atom) + self.origins[atom]
            return Affine.of(atom)

        return affine.rewrite(shift)

    # ---------------------------------------------------------------- the arithmetic of subscripts and sizes

    def number(self, value: int) -> tree.Expr:
        return literals.bare(value)

    def negative(self, operand: tree.Expr) -> tree.Expr:
        return tree.Unary("-", operand)

    def binary(self, operator: str, left: tree.Expr, right: tree.Expr) -> tree.Expr:
        return tree.Binary(operator, left, right)

    def extremum(self, kind: str, arguments: Sequence[tree.Expr]) -> tree.Expr:
        result, *others = arguments
        for other in others:
            result = tree.Call(kind, (result, other))
        return result

    def floor(self, argument: tree.Expr, divisor: tree.Expr, nonnegative: bool) -> tree.Expr:
        """SaC's ``/`` truncates: a dividend that may be negative is made a multiple of the divisor first."""
        if not nonnegative:
            argument = tree.Binary("-", argument, self.remainder(argument, divisor))
        return tree.Binary("/", argument, divisor)

    def remainder(self, argument: tree.Expr, divisor: tree.Expr) -> tree.Expr:
        return tree.Call("mod", (argument, divisor))

    def bounded(self, bounded: Bounded) -> tree.Expr:
        return write_affine(bounded.written_out(), self)

    def index(self, index: IndexVar) -> tree.Expr:
        return tree.Name(self.indices[index])

    def size(self, size: SizeVar) -> tree.Expr:
        if size.name in self.sizes:
            return tree.Name(self.sizes[size.name])
        tensor, _, dimension = size.name.rpartition(".")
        if tensor not in self.tensors:
            help = "declare a parameter that has it as an extent"
            raise refuse("SaC", f"the size `{size.name}`, which no parameter has", help=help)
        return tree.Select(tree.Call("shape", (tree.Name(self.tensors[tensor]),)), (tree.Number(int(dimension)),))

    def data(self, expr: ir.Expr) -> tree.Expr:
        return self.write(expr)

    def is_nonnegative(self, affine: Affine) -> bool:
        least = self.least(affine)
        return least is not None and self.facts.at_least_zero(least)

    def least(self, affine: Affine) -> Size | None:
        """The smallest value over the ranges of the indices, if it has a formula."""
        values = self.facts.interval(affine)
        return None if values is None else values.lo
