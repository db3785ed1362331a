"""The atoms of polynomials: names, quotients, least values, choices, and operations too large to expand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .polynomials import Formula, Poly


class Atom:
    """An atom of a polynomial; ordered by its text, so that the order is the same in every run."""

    __slots__ = ("_hash", "key")
    key: str

    def __init__(self, key: str) -> None:
        self.key = key
        self._hash = hash(key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Atom) and self.key == other.key)

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Atom) -> bool:
        return self.key < other.key

    def __repr__(self) -> str:
        return self.key


class Symbol(Atom):
    """A name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


class Quotient(Atom):
    """``numerator / denominator``, rounded down (`Floor`) or towards zero (`Trunc`)."""

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: Poly, denominator: Poly) -> None:
        self.numerator = numerator
        self.denominator = denominator
        super().__init__(f"({numerator.key}){self.sign}({denominator.key})")

    sign = "?"


class Floor(Quotient):
    """``numerator // denominator``; a constant denominator is at least 2."""

    __slots__ = ()
    sign = "//"


class Trunc(Quotient):
    """``tdiv(numerator, denominator)``; a constant denominator is at least 2."""

    __slots__ = ()
    sign = "/"


class Least(Atom):
    """The least of two or more polynomials."""

    __slots__ = ("args",)

    def __init__(self, args: Iterable[Poly]) -> None:
        self.args = tuple(sorted(set(args), key=lambda arg: arg.key))
        super().__init__(f"min({', '.join(arg.key for arg in self.args)})")


class Sealed(Atom):
    """``a * b``, ``a % b`` or ``tmod(a, b)`` of polynomials that are too large to expand."""

    __slots__ = ("args", "op")

    def __init__(self, op: str, args: tuple[Poly, Poly]) -> None:
        self.op = op
        self.args = args
        super().__init__(f"{op}({args[0].key}, {args[1].key})")


class Choice(Atom):
    """``then`` where the condition holds, ``otherwise`` elsewhere."""

    __slots__ = ("condition", "otherwise", "then")

    def __init__(self, condition: Formula, then: Poly, otherwise: Poly) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise
        super().__init__(f"select({condition.key}, {then.key}, {otherwise.key})")
