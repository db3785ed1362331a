"""Boxes of index variables cut by conditions: whether such a set has a point, and one of its points."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, assert_never

from .affine import Affine, Atom, Bounded, Box, Clamp, IndexVar, Quotient, Remainder
from .conditions import AllOf, AnyOf, AtLeastZero, Condition
from .linear import Linear, extremes, linear, propagate, surely_empty

# Number of parts of a box that a search examines before it gives up (a second or two).
PART_LIMIT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search for a point: a point (`point`), certainly none (`empty`), or neither if it gave up."""

    empty: bool
    point: Mapping[IndexVar, int] | None = None


def find_point(box: Box, condition: Condition, part_limit: int = PART_LIMIT) -> Search:
    """A point of the box (half-open ranges) where the condition holds, if there is one.

    Every size must be a number. Data-dependent parts count as true. Floors, remainders and clamps are defined by
    inequalities over auxiliary variables; alternatives are tried in turn; elimination proves a set empty, bisection
    finds a point or proves that there is none.
    """
    if any(lo >= hi for lo, hi in box.values()):
        return Search(empty=True)
    system = _System(box)
    root = system.compile(condition)
    rules = (root, *system.definitions)
    return _search(system, rules, part_limit)


# ---------------------------------------------------------------- conditions as linear inequalities


@dataclass(frozen=True, slots=True)
class _All:
    parts: "tuple[_Rule, ...]"


@dataclass(frozen=True, slots=True)
class _Any:
    parts: "tuple[_Rule, ...]"


_Rule = Linear | _All | _Any


@dataclass(slots=True)
class _Sum:
    """A linear expression under construction."""

    weights: dict[int, int] = field(default_factory=dict)
    base: int = 0

    def add(self, other: "_Sum", factor: int) -> None:
        for variable, weight in other.weights.items():
            self.weights[variable] = self.weights.get(variable, 0) + factor * weight
        self.base += factor * other.base

    def at_least(self, other: "_Sum") -> Linear:
        """``self - other >= 0``."""
        difference = _Sum(dict(self.weights), self.base)
        difference.add(other, -1)
        return linear(difference.weights, difference.base)


class _System:
    """The variables of a search, numbered: those of the box that occur, then one for each floor and clamp."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.numbers: dict[Atom, int] = {}
        self.sums: dict[Atom, _Sum | None] = {}
        self.lows: list[int] = []
        self.highs: list[int] = []
        self.definitions: list[_Rule] = []

    def compile(self, condition: Condition) -> _Rule:
        match condition:
            case AtLeastZero(affine):
                total = self.sum(affine)
                return _All(()) if total is None else linear(total.weights, total.base)
            case AllOf(parts):
                return _All(tuple(map(self.compile, parts)))
            case AnyOf(parts):
                return _Any(tuple(map(self.compile, parts)))
            case _:
                assert_never(condition)

    def sum(self, affine: Affine) -> _Sum | None:
        """The expression over numbered variables; None if it depends on data or on an unknown size."""
        base = affine.base.constant
        if base is None:
            return None
        total = _Sum({}, base)
        for atom, weight in affine.terms:
            if atom not in self.sums:
                self.sums[atom] = self.atom(atom)
            factor, inner = weight.constant, self.sums[atom]
            if factor is None or inner is None:
                return None
            total.add(inner, factor)
        return total

    def atom(self, atom: Atom) -> _Sum | None:
        match atom:
            case IndexVar():
                if atom not in self.numbers and atom in self.box:
                    lo, hi = self.box[atom]
                    self.number(atom, lo, hi - 1)
                return self.numbered(atom)
            case Quotient(argument, divisor):
                return self.quotient(argument, atom, divisor.constant)
            case Remainder(argument, divisor):
                quotient = self.quotient(argument, Quotient(argument, divisor), divisor.constant)
                total = self.sum(argument)
                if quotient is None or total is None or divisor.constant is None:
                    return None
                total.add(quotient, -divisor.constant)
                return total
            case Clamp():
                return self.clamp(atom)
            case Bounded():
                return self.sum(atom.written_out())
            case _:
                return None

    def quotient(self, argument: Affine, atom: Quotient, divisor: int | None) -> _Sum | None:
        total = self.sum(argument)
        if total is None or divisor is None or divisor <= 0:
            return None
        if atom not in self.numbers:
            low, high = self.extremes(total)
            self.number(atom, low // divisor, high // divisor)
            floor = _Sum({self.numbers[atom]: divisor})
            above = _Sum({self.numbers[atom]: divisor}, divisor - 1)
            self.definitions += [total.at_least(floor), above.at_least(total)]
        return self.numbered(atom)

    def clamp(self, atom: Clamp) -> _Sum | None:
        totals = [total for total in map(self.sum, atom.arguments) if total is not None]
        if len(totals) < len(atom.arguments):
            return None
        if atom not in self.numbers:
            pick = min if atom.kind == "min" else max
            ends = [self.extremes(total) for total in totals]
            self.number(atom, pick(low for low, _ in ends), pick(high for _, high in ends))
            value = _Sum({self.numbers[atom]: 1})
            below = [total.at_least(value) for total in totals]
            above = [value.at_least(total) for total in totals]
            every, one = (below, above) if atom.kind == "min" else (above, below)
            self.definitions += [*every, _Any(tuple(one))]
        return self.numbered(atom)

    def number(self, atom: Atom, low: int, high: int) -> None:
        self.numbers[atom] = len(self.lows)
        self.lows.append(low)
        self.highs.append(high)

    def numbered(self, atom: Atom) -> _Sum | None:
        number = self.numbers.get(atom)
        return None if number is None else _Sum({number: 1})

    def extremes(self, total: _Sum) -> tuple[int, int]:
        return extremes((tuple(total.weights.items()), total.base), self.lows, self.highs)

    def point(self, values: list[int]) -> Mapping[IndexVar, int]:
        """The point in the box; variables that no condition mentions are at the start of their range."""
        return {
            variable: values[self.numbers[variable]] if variable in self.numbers else lo
            for variable, (lo, _) in self.box.items()
        }


# ---------------------------------------------------------------- the search


@dataclass(slots=True)
class _Part:
    """A part of the box, the inequalities that hold in it, and the alternatives that are still open."""

    lows: list[int]
    highs: list[int]
    inequalities: list[Linear]
    choices: list[_Any]
    eliminated: bool = False

    def take(self, rule: _Rule) -> None:
        pending = [rule]
        while pending:
            match pending.pop():
                case _All(parts):
                    pending.extend(parts)
                case _Any(parts) as choice:
                    if len(parts) == 1:
                        pending.append(parts[0])
                    else:
                        self.choices.append(choice)
                case inequality:
                    self.inequalities.append(inequality)

    def narrow(self) -> bool:
        """Narrows the box and drops settled alternatives; False when nothing is left."""
        while propagate(self.inequalities, self.lows, self.highs):
            choices, self.choices = self.choices, []
            taken = False
            for choice in choices:
                verdicts = [(part, _verdict(part, self.lows, self.highs)) for part in choice.parts]
                if any(verdict is True for _, verdict in verdicts):
                    continue
                open_parts = tuple(part for part, verdict in verdicts if verdict is None)
                if not open_parts:
                    return False
                taken = taken or len(open_parts) == 1
                self.take(_Any(open_parts))
            if not taken:
                return True
        return False

    def split(self) -> "Iterator[_Part]":
        """One part for each alternative of an open choice, else the two halves of a range."""
        if self.choices:
            first, rest = self.choices[0], self.choices[1:]
            for branch in first.parts:
                part = _Part(self.lows[:], self.highs[:], self.inequalities[:], rest[:])
                part.take(branch)
                yield part
            return
        open_variables = [v for v, (lo, hi) in enumerate(zip(self.lows, self.highs, strict=True)) if lo < hi]
        variable = min(open_variables, key=lambda v: self.highs[v] - self.lows[v])
        middle = (self.lows[variable] + self.highs[variable]) // 2
        for lo, hi in ((self.lows[variable], middle), (middle + 1, self.highs[variable])):
            part = _Part(self.lows[:], self.highs[:], self.inequalities, [], eliminated=True)
            part.lows[variable], part.highs[variable] = lo, hi
            yield part

    @property
    def settled(self) -> bool:
        return not self.choices and all(extremes(i, self.lows, self.highs)[0] >= 0 for i in self.inequalities)


def _search(system: _System, rules: tuple[_Rule, ...], part_limit: int) -> Search:
    whole = _Part(system.lows[:], system.highs[:], [], [])
    whole.take(_All(rules))
    pending = [whole]
    for _ in range(part_limit):
        if not pending:
            return Search(empty=True)
        part = pending.pop()
        if not part.narrow():
            continue
        if part.settled:
            return Search(empty=False, point=system.point(part.lows))
        if not part.choices and not part.eliminated:
            if surely_empty(part.inequalities, part.lows, part.highs):
                continue
            part.eliminated = True
        pending.extend(reversed(list(part.split())))
    return Search(empty=False)


def _verdict(rule: _Rule, lows: list[int], highs: list[int]) -> bool | None:
    """Whether the rule holds on the whole box (True) or nowhere (False); None if it must be split."""
    match rule:
        case _All(parts):
            verdicts = [_verdict(part, lows, highs) for part in parts]
            return False if False in verdicts else None if None in verdicts else True
        case _Any(parts):
            verdicts = [_verdict(part, lows, highs) for part in parts]
            return True if True in verdicts else None if None in verdicts else False
        case inequality:
            low, high = extremes(inequality, lows, highs)
            return True if low >= 0 else False if high < 0 else None
