"""Linear forms: integer multiples of atoms plus a constant."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from ...symbolic.facts.trees import Binary, Compare, Const, Expr, Var, spine
from .grids import Span


@dataclass(frozen=True, slots=True)
class Linear:
    """``weight*atom + ... + base``; an atom is a variable, or anything else that is not a sum or a multiple."""

    terms: tuple[tuple[Expr, int], ...]
    base: int

    @staticmethod
    def of(expr: Expr) -> "Linear":
        match expr:
            case Const(value=value):
                return Linear((), value)
            case Binary(op="+" | "-"):
                first, rest = spine(expr)
                total = Linear.of(first)
                for op, term in rest:
                    total = total + Linear.of(term) if op == "+" else total - Linear.of(term)
                return total
            case Binary(op="*", left=left, right=Const(value=value)):
                return Linear.of(left) * value
            case Binary(op="*", left=Const(value=value), right=right):
                return Linear.of(right) * value
            case _:
                return Linear(((expr, 1),), 0)

    def __add__(self, other: "Linear | int") -> "Linear":
        if isinstance(other, int):
            return Linear(self.terms, self.base + other)
        weights = dict(self.terms)
        for atom, weight in other.terms:
            weights[atom] = weights.get(atom, 0) + weight
        return Linear(tuple((atom, weight) for atom, weight in weights.items() if weight), self.base + other.base)

    def __sub__(self, other: "Linear") -> "Linear":
        return self + other * -1

    def __mul__(self, factor: int) -> "Linear":
        if factor == 0:
            return Linear((), 0)
        return Linear(tuple((atom, weight * factor) for atom, weight in self.terms), self.base * factor)

    @property
    def constant(self) -> int | None:
        return None if self.terms else self.base

    def weight(self, atom: Expr) -> int:
        return next((weight for other, weight in self.terms if other is atom), 0)

    def expr(self) -> Expr:
        """In natural order: positive terms first, then subtracted ones."""
        added = [atom if weight == 1 else atom * weight for atom, weight in self.terms if weight > 0]
        taken = [atom if weight == -1 else atom * -weight for atom, weight in self.terms if weight < 0]
        base = self.base if added else 0
        total: Expr = reduce(lambda left, right: left + right, added) if added else Const(self.base)
        for term in taken:
            total = total - term
        return total if base == 0 else total + base if base > 0 else total - -base

    def map(self, change: Callable[[Expr], Expr]) -> "Linear":
        """With every atom changed."""
        total = Linear((), self.base)
        for atom, weight in self.terms:
            total = total + Linear.of(change(atom)) * weight
        return total


def at_least_zero(condition: Expr) -> list[Linear]:
    """The linear forms that a condition says are not negative; none if it is expressed otherwise."""
    match condition:
        case Compare(op=op, left=left, right=right):
            difference = Linear.of(left) - Linear.of(right)
            match op:
                case "<":
                    return [difference * -1 + -1]
                case "<=":
                    return [difference * -1]
                case ">":
                    return [difference + -1]
                case ">=":
                    return [difference]
                case "==":
                    return [difference, difference * -1]
                case _:
                    return []
        case _:
            return []


def interval(expr: Expr, spans: Mapping[str, Span]) -> tuple[int, int] | None:
    """Inclusive bounds of an expression, each variable taken separately; None if it is not simple."""
    match expr:
        case Const(value=value):
            return value, value
        case Var(name=name):
            lo, hi = spans[name]
            return (lo, hi - 1) if hi > lo else None
        case Binary(op="+" | "-" | "*"):
            form = Linear.of(expr)
            if form.terms == ((expr, 1),):
                return None
            lo = hi = form.base
            for atom, weight in form.terms:
                ends = interval(atom, spans)
                if ends is None:
                    return None
                lo += weight * ends[0 if weight > 0 else 1]
                hi += weight * ends[1 if weight > 0 else 0]
            return lo, hi
        case Binary(op="//", left=left, right=Const(value=value)) if value > 0:
            ends = interval(left, spans)
            return None if ends is None else (ends[0] // value, ends[1] // value)
        case Binary(op="%", left=left, right=Const(value=value)) if value > 0:
            ends = interval(left, spans)
            if ends is not None and ends[0] // value == ends[1] // value:
                return ends[0] % value, ends[1] % value
            return 0, value - 1
        case Binary(op="min" | "max" as op, left=left, right=right):
            one, other = interval(left, spans), interval(right, spans)
            if one is None or other is None:
                return None
            pick = min if op == "min" else max
            return pick(one[0], other[0]), pick(one[1], other[1])
        case _:
            return None
