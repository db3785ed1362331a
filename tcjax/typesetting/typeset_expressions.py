"""Expressions as formulas, with parentheses wherever they would be misread."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isinf, isnan
from typing import Final, assert_never

from .. import ir
from ..ir import Reducer, types
from ..symbolic import IndexVar
from .affines import affine_formula, floored, size_formula
from .formula import (
    Cases,
    Fenced,
    Formula,
    Fraction,
    Number,
    Over,
    Row,
    Scripts,
    Sign,
    Space,
    Symbol,
    Word,
    applied,
    listed,
)
from .functions import builtin_formula
from .letters import index_symbol

# How tightly a formula binds.
CHOICE: Final = 0
OR: Final = 1
AND: Final = 2
COMPARISON: Final = 3
SUM: Final = 4
REDUCTION: Final = 5
PRODUCT: Final = 6
POWER: Final = 7
ATOM: Final = 8

_LEVELS: Final = {"||": OR, "&&": AND, "+": SUM, "-": SUM, "*": PRODUCT, "%": PRODUCT, "**": POWER}
_COMPARISONS: Final = {"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "=", "!=": "≠"}
_LOGIC: Final = {"&&": "∧", "||": "∨"}
_BITS: Final = {"&": "&", "|": "|", "^": "⊕", "<<": "≪", ">>": "≫"}
_LARGE: Final = {
    "+": Sign("∑"),
    "*": Sign("∏"),
    "||": Sign("⋁"),
    "&&": Sign("⋀"),
}


@dataclass(frozen=True)
class Expressions:
    """Expressions over indices with these names."""

    indices: Mapping[IndexVar, Symbol]

    def at(self, expr: ir.Expr, level: int) -> Formula:
        """The expression, in parentheses unless it binds at least as tightly as `level`."""
        formula, own = self.write(expr)
        return formula if own >= level else Fenced("(", formula, ")")

    def plain(self, expr: ir.Expr) -> Formula:
        """The expression on its own, without neighbours."""
        return self.write(expr)[0]

    def write(self, expr: ir.Expr) -> tuple[Formula, int]:
        """The formula and how tightly it binds."""
        match expr:
            case ir.Const(value):
                return constant(value)
            case ir.Extent(size):
                formula = size_formula(size)
                return formula, SUM if isinstance(formula, Row) else ATOM
            case ir.Index(variable):
                return self.indices.get(variable) or Symbol(variable.name), ATOM
            case ir.Access(tensor, indices):
                return self.subscripted(tensor, indices), ATOM
            case ir.Unary(operator, operand):
                sign = {"-": "-", "!": "¬", "~": "∼"}[operator]
                return Row((Sign(sign, alone=True), self.at(operand, PRODUCT))), SUM if operator == "-" else POWER
            case ir.Binary():
                return self.operation(expr)
            case ir.Call(function, arguments):
                return builtin_formula(function, [self.plain(argument) for argument in arguments]), POWER
            case ir.Foreign(function, arguments):
                return applied(Word(function), *map(self.plain, arguments)), ATOM
            case ir.Cast(operand, dtype):
                return self.cast(operand, dtype)
            case ir.Select(_, then, otherwise) if ir.is_padded(expr):
                return applied(Word("pad"), self.plain(then), self.plain(otherwise)), ATOM
            case ir.Select(condition, then, otherwise):
                return self.choice(condition, then, otherwise)
            case ir.Reduce():
                return self.reduction(expr), REDUCTION
            case _:
                assert_never(expr)

    def subscripted(self, tensor: ir.Tensor, indices: tuple[ir.expressions.Affine, ...]) -> Formula:
        if not indices:
            return Symbol(tensor.name)
        return Scripts(Symbol(tensor.name), listed([affine_formula(i, self.indices, self.plain) for i in indices]))

    def proposition(self, expr: ir.Expr) -> Formula:
        """A condition where one is expected; ``a <= k && k < b`` is one chain."""
        return self.plain(expr)

    def propositions(self, exprs: tuple[ir.Expr, ...]) -> list[Formula]:
        """Conditions that hold together; ``a <= k`` and ``k < b`` next to each other are one chain."""
        found: list[Formula] = []
        pending = list(exprs)
        while pending:
            first = pending.pop(0)
            chained = self.chain(first, pending[0]) if pending else None
            if chained is not None:
                pending.pop(0)
            found.append(chained or self.proposition(first))
        return found

    def chain(self, first: ir.Expr, second: ir.Expr) -> Formula | None:
        match first, second:
            case (
                ir.Binary("<" | "<=" as below, low, middle),
                ir.Binary("<" | "<=" as above, same, high),
            ) if middle == same:
                relations = Sign(_COMPARISONS[below]), Sign(_COMPARISONS[above])
                operands = [self.at(operand, SUM) for operand in (low, middle, high)]
                return Row((operands[0], relations[0], operands[1], relations[1], operands[2]))
            case _:
                return None

    # ---------------------------------------------------------------- operators

    def operation(self, expr: ir.Binary) -> tuple[Formula, int]:
        operator, left, right = expr.operator, expr.left, expr.right
        match operator:
            case "*" if left == right:
                return self.power(left, Number("2")), POWER
            case "*":
                return self.product(left, right)
            case "/":
                return Fraction(self.plain(left), self.plain(right)), PRODUCT
            case "//":
                return floored(self.at(left, PRODUCT), self.at(right, POWER)), ATOM
            case "**":
                return self.power(left, self.plain(right)), POWER
            case "min" | "max" | "quot" | "rem":
                return applied(Word(operator), self.plain(left), self.plain(right)), ATOM
            case "&&":
                chained = self.chain(left, right)
                if chained is not None:
                    return chained, COMPARISON
                return Row((self.at(left, AND), Sign("∧"), self.at(right, AND + 1))), AND
            case _ if operator in _COMPARISONS:
                return Row((self.at(left, SUM), Sign(_COMPARISONS[operator]), self.at(right, SUM))), COMPARISON
            case _ if operator in _BITS:
                return Row((self.at(left, PRODUCT), Sign(_BITS[operator]), self.at(right, PRODUCT))), SUM
            case _:
                level = _LEVELS[operator]
                sign = Sign({"%": "mod", **_LOGIC}.get(operator, operator))
                return Row((self.at(left, level), sign, self.at(right, level + 1))), level

    def product(self, left: ir.Expr, right: ir.Expr) -> tuple[Formula, int]:
        """Factors next to each other, with a dot where the second begins with a digit; a sum may come last."""
        first = self.at(left, PRODUCT)
        second, own = self.write(right)
        if own < REDUCTION:
            second, own = Fenced("(", second, ")"), ATOM
        between = Sign("⋅") if _begins_with_a_digit(second) else Space()
        return Row((first, between, second)), min(own, PRODUCT)

    def power(self, base: ir.Expr, exponent: Formula) -> Formula:
        inner = self.at(base, ATOM)
        match inner:
            case Scripts(below, sub, None):
                return Scripts(below, sub, exponent)
            case _:
                return Scripts(inner, None, exponent)

    def cast(self, operand: ir.Expr, dtype: str) -> tuple[Formula, int]:
        """Only what a conversion changes is shown: booleans become 0 and 1, fractions are cut off."""
        if operand.dtype == "bool":
            return Fenced("[", self.proposition(operand), "]"), ATOM
        if dtype == "bool":
            return Row((self.at(operand, SUM), Sign("≠"), Number("0"))), COMPARISON
        if types.is_integral(dtype) and not types.is_integral(operand.dtype):
            return applied(Word("trunc"), self.plain(operand)), ATOM
        if _loses(operand.dtype, dtype):
            return applied(Word(dtype), self.plain(operand)), ATOM
        return self.write(operand)

    def choice(self, condition: ir.Expr, then: ir.Expr, otherwise: ir.Expr) -> tuple[Formula, int]:
        """``[condition] then`` where the other value is zero, else cases."""
        if isinstance(otherwise, ir.Const) and otherwise.value == 0:
            bracket = Fenced("[", self.proposition(condition), "]")
            if isinstance(then, ir.Const) and then.value == 1:
                return bracket, ATOM
            return Row((bracket, Space(), self.at(then, PRODUCT))), PRODUCT
        return self.cases(ir.Select(condition, then, otherwise, then.dtype)), CHOICE

    def cases(self, expr: ir.Select) -> Formula:
        """A brace with a line for each branch; choices in the last branch are lines of it too."""
        rows: list[tuple[Formula, Formula | None]] = []
        last: ir.Expr = expr
        while isinstance(last, ir.Select):
            rows.append((self.plain(last.then), self.proposition(last.condition)))
            last = last.otherwise
        return Cases((*rows, (self.plain(last), None)))

    # ---------------------------------------------------------------- reductions

    def reduction(self, expr: ir.Reduce) -> Formula:
        inner = self.inside(expr)
        conditions = tuple(ir.conjuncts(expr.guard))
        return inner.over(expr.reducer, expr.indices, expr.ranges, conditions, expr.body, expr.rank)

    def inside(self, expr: ir.Reduce) -> "Expressions":
        """The names inside an inline reduction: its own indices may hide outer ones that it does not use."""
        used = {self.indices[index] for index in ir.free_indices(expr) if index in self.indices}
        names = dict(self.indices)
        for index in expr.indices:
            names[index] = index_symbol(index, used)
            used.add(names[index])
        return replace(self, indices=names)

    def over(
        self,
        reducer: Reducer | ir.Monoid,
        indices: tuple[IndexVar, ...],
        ranges: tuple[ir.Range, ...],
        conditions: tuple[ir.Expr, ...],
        body: ir.Expr,
        rank: ir.Expr | None,
    ) -> Formula:
        """The reduction over indices, with ranges and conditions below its symbol."""
        under = self.under(indices, ranges, conditions)
        if isinstance(reducer, Reducer) and reducer.inject is not None and reducer.finish is not None:
            inner = applied(Word(reducer.inject), self.plain(body))
            return Row((Word(reducer.finish), Over(_LARGE["+"], under, inner)))
        if reducer.operator in _LARGE:
            return Over(_LARGE[reducer.operator], under, self.at(body, REDUCTION))
        sign = Word(reducer.value)
        if rank is not None:
            return Over(sign, under, Fenced("(", listed((self.plain(body), self.plain(rank))), ")"))
        return Over(sign, under, self.at(body, REDUCTION))

    def under(
        self, indices: tuple[IndexVar, ...], ranges: tuple[ir.Range, ...], conditions: tuple[ir.Expr, ...]
    ) -> tuple[Formula, ...]:
        given = {range_.index for range_ in ranges}
        free = [self.indices[index] for index in indices if index not in given]
        lines = [listed(free)] if free else []
        lines += [self.range(range_) for range_ in ranges if range_.index in indices]
        return (*lines, *self.propositions(conditions))

    def range(self, given: ir.Range) -> Formula:
        """``0 ≤ k < 3``."""
        ends = [affine_formula(end, self.indices, self.plain) for end in (given.lo, given.hi)]
        index = self.indices.get(given.index) or Symbol(given.index.name)
        return Row((ends[0], Sign("≤"), index, Sign("<"), ends[1]))


def constant(value: bool | int | float | complex) -> tuple[Formula, int]:
    """A number, as a power of ten if it has many zeros."""
    match value:
        case bool():
            return Word("true" if value else "false"), ATOM
        case complex(real=real, imag=imag):
            unit = Row((constant(abs(imag))[0], Space(), Word("i")))
            if not real:
                return (Row((Sign("-", alone=True), unit)), SUM) if imag < 0 else (unit, PRODUCT)
            return Row((constant(real)[0], Sign("-" if imag < 0 else "+"), unit)), SUM
        case _ if value < 0:
            return Row((Sign("-", alone=True), constant(-value)[0])), SUM
        case float() if isnan(value):
            return Word("NaN"), ATOM
        case float() if isinf(value):
            return Number("∞"), ATOM
        case _:
            digits, _, exponent = (f"{value}" if isinstance(value, int) else repr(float(value))).partition("e")
            mantissa = Number(digits.removesuffix(".0"))
            if not exponent:
                return mantissa, ATOM
            power = Scripts(Number("10"), None, constant(int(exponent))[0])
            return (power, POWER) if mantissa.text == "1" else (Row((mantissa, Sign("⋅"), power)), PRODUCT)


def _loses(source: str, target: str) -> bool:
    """Whether a conversion changes more than rounding does: integers wrap, imaginary parts are lost."""
    if types.is_integral(source) and types.is_integral(target):
        loses_sign = source in types.SIGNED and target in types.UNSIGNED
        return loses_sign or types.BITS[target] < types.BITS[source]
    return types.is_complex(source) and not types.is_complex(target)


def _begins_with_a_digit(formula: Formula) -> bool:
    match formula:
        case Number():
            return True
        case Row(items):
            return _begins_with_a_digit(items[0])
        case Scripts(base):
            return _begins_with_a_digit(base)
        case _:
            return False
