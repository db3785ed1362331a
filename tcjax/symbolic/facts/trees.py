"""Integer expressions and conditions as hash-consed trees: equal expressions are one object.

A sum of many terms leans to the left and may be thousands of terms long: go down the left operands of ``+`` and ``-``
in a loop (`spine`), never by recursion. Everything else is at most `MAX_DEPTH` levels deep, which `Expr.of` checks.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self, dataclass_transform

from ...diagnostics import Code, CompileError
from ...keeping import lock

MAX_DEPTH = 100

_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def tdiv(a: int, b: int) -> int:
    """``a / b`` rounded towards zero."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def tmod(a: int, b: int) -> int:
    """The remainder of `tdiv`: it has the sign of `a`."""
    return a - b * tdiv(a, b)


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "tdiv": tdiv,
    "tmod": tmod,
    "min": lambda a, b: min(a, b),
    "max": lambda a, b: max(a, b),
}
OPERATORS = frozenset(_ARITHMETIC)


_NODES: "weakref.WeakValueDictionary[tuple[Any, ...], Expr]" = weakref.WeakValueDictionary()


@dataclass_transform(frozen_default=True)
class _Interned(type):
    """Builds each node once: a second call with equal children returns the first node."""

    _lock = lock()

    def __call__(cls, *children: Any) -> Any:
        key = (cls, *children)
        node = _NODES.get(key)
        if node is None:
            with _Interned._lock:
                node = _NODES.get(key)
                if node is None:
                    node = super().__call__(*children)
                    object.__setattr__(node, "_levels", node._depth())
                    _NODES[key] = node
        return node


class Expr(metaclass=_Interned):
    """An integer expression or a condition. ``==`` is identity, which hash-consing makes structural."""

    __slots__ = ("__weakref__", "_levels", "_variables")

    @staticmethod
    def of(value: "ExprLike") -> "Expr":
        """The expression of a text, an integer, a bool or an expression; `CompileError` for anything else."""
        if isinstance(value, Expr):
            if value.depth > MAX_DEPTH:
                raise CompileError(
                    Code.TOO_DEEP, f"an expression nests {value.depth} levels", help=f"{MAX_DEPTH} levels are the most"
                )
            return value
        if isinstance(value, str):
            from .reader import read_expression

            return read_expression(value)
        if isinstance(value, bool):
            return TRUE if value else FALSE
        if isinstance(value, int):
            return Const(value)
        index = getattr(type(value), "__index__", None)
        if index is not None:
            return Const(index(value))
        raise CompileError(
            Code.WRONG_TYPE,
            f"a {type(value).__name__} is not an expression",
            help="write a text, an integer or an Expr",
        )

    @property
    def depth(self) -> int:
        """The nesting depth; the left operands of a sum are on one level."""
        return self._levels  # type: ignore[attr-defined]

    @property
    def children(self) -> "tuple[Expr, ...]":
        """The expressions directly inside."""
        return ()

    @property
    def variables(self) -> frozenset[str]:
        """The names inside."""
        try:
            return self._variables
        except AttributeError:
            pass
        names: set[str] = set()
        for node in walk(self):
            if isinstance(node, Var):
                names.add(node.name)
        object.__setattr__(self, "_variables", frozenset(names))
        return self._variables

    def evaluate(self, point: Mapping[str, int]) -> int:
        """The value at `point`; `ZeroDivisionError` if an evaluated part divides by zero."""
        raise NotImplementedError

    def substitute(self, values: "Mapping[str, ExprLike]") -> "Expr":
        """The expression with names replaced, all at once."""
        exprs = {name: Expr.of(value) for name, value in values.items() if name in self.variables}
        return _substituted(self, exprs, {}) if exprs else self

    def _depth(self) -> int:
        return 1 + max((child.depth for child in self.children), default=0)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __add__(self, other: "ExprLike") -> "Expr":
        return binary("+", self, Expr.of(other))

    def __radd__(self, other: "ExprLike") -> "Expr":
        return binary("+", Expr.of(other), self)

    def __sub__(self, other: "ExprLike") -> "Expr":
        return binary("-", self, Expr.of(other))

    def __rsub__(self, other: "ExprLike") -> "Expr":
        return binary("-", Expr.of(other), self)

    def __mul__(self, other: "ExprLike") -> "Expr":
        return binary("*", self, Expr.of(other))

    def __rmul__(self, other: "ExprLike") -> "Expr":
        return binary("*", Expr.of(other), self)

    def __floordiv__(self, other: "ExprLike") -> "Expr":
        return binary("//", self, Expr.of(other))

    def __rfloordiv__(self, other: "ExprLike") -> "Expr":
        return binary("//", Expr.of(other), self)

    def __mod__(self, other: "ExprLike") -> "Expr":
        return binary("%", self, Expr.of(other))

    def __rmod__(self, other: "ExprLike") -> "Expr":
        return binary("%", Expr.of(other), self)

    def __neg__(self) -> "Expr":
        return binary("-", Const(0), self)

    def __str__(self) -> str:
        from .printing import show

        return show(self)

    def __repr__(self) -> str:
        return f"Expr({str(self)!r})"


ExprLike = Expr | int | str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Const(Expr):
    """An integer."""

    value: int

    def evaluate(self, point: Mapping[str, int]) -> int:
        return self.value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(Expr):
    """A name; what is known about it is in the facts, never here."""

    name: str

    def evaluate(self, point: Mapping[str, int]) -> int:
        return point[self.name]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Binary(Expr):
    """``left op right``: ``+ - * // %`` (floor), ``tdiv tmod`` (towards zero), ``min max``."""

    op: str
    left: Expr
    right: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def evaluate(self, point: Mapping[str, int]) -> int:
        if self.op in ("+", "-"):
            first, rest = spine(self)
            total = first.evaluate(point)
            for op, term in rest:
                total = total + term.evaluate(point) if op == "+" else total - term.evaluate(point)
            return total
        return _ARITHMETIC[self.op](self.left.evaluate(point), self.right.evaluate(point))

    def _depth(self) -> int:
        # The left operands of a sum are visited in a loop, so they add no depth.
        free = self.op in ("+", "-") and isinstance(self.left, Binary) and self.left.op in ("+", "-")
        return max(self.left.depth + (not free), self.right.depth + 1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Select(Expr):
    """``select(condition, then, otherwise)``; only the chosen branch is evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.condition, self.then, self.otherwise)

    def evaluate(self, point: Mapping[str, int]) -> int:
        return (self.then if self.condition.evaluate(point) else self.otherwise).evaluate(point)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compare(Expr):
    """``left op right`` with op one of ``< <= > >= == !=``: a condition."""

    op: str
    left: Expr
    right: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.left, self.right)

    def evaluate(self, point: Mapping[str, int]) -> bool:
        return _COMPARISONS[self.op](self.left.evaluate(point), self.right.evaluate(point))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class And(Expr):
    """``a and b and ...``, evaluated from the left until one is false; without parts it is true."""

    parts: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.parts

    def evaluate(self, point: Mapping[str, int]) -> bool:
        return all(part.evaluate(point) for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Or(Expr):
    """``a or b or ...``, evaluated from the left until one is true; without parts it is false."""

    parts: tuple[Expr, ...]

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.parts

    def evaluate(self, point: Mapping[str, int]) -> bool:
        return any(part.evaluate(point) for part in self.parts)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Expr):
    """``not operand``."""

    operand: Expr

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.operand,)

    def evaluate(self, point: Mapping[str, int]) -> bool:
        return not self.operand.evaluate(point)


TRUE = And(())
FALSE = Or(())
Condition = Compare | And | Or | Not


def is_condition(expr: Expr) -> bool:
    """Whether `expr` is a condition rather than a number."""
    return isinstance(expr, Compare | And | Or | Not)


def digits(value: int) -> str:
    """The number in decimal. Python's own `str` refuses more than 4300 digits."""
    if abs(value) < _LONG:
        return str(value)
    high, low = divmod(abs(value), _LONG)
    return f"{'-' if value < 0 else ''}{digits(high)}{low:0{_AT_ONCE}}"


_AT_ONCE = 4000
_LONG = 10**_AT_ONCE


def binary(op: str, left: Expr, right: Expr) -> Expr:
    """``left op right``; two constants are folded, unless that divides by zero."""
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(_ARITHMETIC[op](left.value, right.value))
        except ZeroDivisionError:
            pass
    if is_condition(left) or is_condition(right):
        condition = left if is_condition(left) else right
        raise CompileError(
            Code.WRONG_TYPE, f"`{condition}` is a condition, not a number", help="write `select(condition, 1, 0)`"
        )
    return Binary(op, left, right)


def spine(expr: Expr) -> tuple[Expr, list[tuple[str, Expr]]]:
    """A sum as its first term and the ``(op, term)`` pairs that follow; any other expression has no pairs."""
    rest: list[tuple[str, Expr]] = []
    while isinstance(expr, Binary) and expr.op in ("+", "-"):
        rest.append((expr.op, expr.right))
        expr = expr.left
    rest.reverse()
    return expr, rest


def walk(expr: Expr) -> Iterator[Expr]:
    """Each distinct node once, parents first."""
    seen = {expr}
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        for child in reversed(node.children):
            if child not in seen:
                seen.add(child)
                stack.append(child)


def _substituted(expr: Expr, values: Mapping[str, Expr], done: dict[Expr, Expr]) -> Expr:
    known = done.get(expr)
    if known is not None:
        return known
    if isinstance(expr, Binary) and expr.op in ("+", "-"):
        first, rest = spine(expr)
        result = _substituted(first, values, done)
        for op, term in rest:
            result = binary(op, result, _substituted(term, values, done))
    elif isinstance(expr, Var):
        result = values.get(expr.name, expr)
    elif isinstance(expr, Binary):
        result = binary(expr.op, _substituted(expr.left, values, done), _substituted(expr.right, values, done))
    elif isinstance(expr, And | Or):
        result = type(expr)(tuple(_substituted(part, values, done) for part in expr.parts))
    elif isinstance(expr, Compare):
        result = Compare(expr.op, _substituted(expr.left, values, done), _substituted(expr.right, values, done))
    elif isinstance(expr, Const):
        result = expr
    else:
        result = type(expr)(*(_substituted(child, values, done) for child in expr.children))
    done[expr] = result
    return result
