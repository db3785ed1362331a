"""The conformance cases of the tables, and what the enumeration says about the tables' own answers."""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .enumeration import Domain, Given, Point, compiled, domain, variables
from .tables import bijective, bounds, compare, linear, modulus, prove, simplify, solve

# Ends of intervals in the tables and from the engine: a number, an expression, or none.
End = int | str | None


@dataclass(frozen=True)
class Case:
    """One line of a table; `words` are the texts in question, `variables` the arguments of `solve` and `linear`."""

    question: str
    tier: int
    given: str
    words: tuple[str, ...]
    expected: Any
    variables: tuple[str, ...] = ()

    def __str__(self) -> str:
        asked = "; ".join(self.words) + (f" for {', '.join(self.variables)}" if self.variables else "")
        return f"{self.question} [{asked}] given [{self.given}] -> {self.expected}"


def cases() -> Iterator[Case]:
    """Every line of every table."""
    for tier in (1, 2):
        name = f"TIER_{tier}"
        for question, table in (("simplify", simplify), ("bounds", bounds), ("modulus", modulus), ("prove", prove)):
            for given, text, expected in getattr(table, name):
                yield Case(question, tier, given, (text,), expected)
        for given, text, variable, expected in getattr(solve, name):
            yield Case("solve", tier, given, (text,), expected, (variable,))
        for given, text, names, expected in getattr(linear, name):
            yield Case("linear", tier, given, (text,), expected, names)
        for given, texts, expected in getattr(bijective, name):
            yield Case("bijective", tier, given, texts, expected)
        for given, a, b, expected in getattr(compare, name):
            yield Case("compare", tier, given, (a, b), expected)
        for given, expected in getattr(compare, f"CONTRADICTIONS_{tier}"):
            yield Case("contradiction", tier, given, (), bool(expected))


CASES = tuple(cases())


def mistake(case: Case) -> str | None:
    """Contradictions between the enumeration and the table's answer."""
    area = domain(case.given, *case.words, *case.variables)
    if not area.points and case.question != "contradiction" and case.expected not in ("empty", 1):
        return "no point to try"
    match case.question:
        case "simplify":
            return changed_value(area, case.words[0], case.expected)
        case "bounds":
            return _wrong_bounds(case)
        case "modulus":
            found = residue_class([int(value) for _, value in area.values(case.words[0])])
            return None if found == case.expected else f"it is {found}"
        case "prove":
            counterexample = refuted(area, case.words[0])
            return counterexample if case.expected else (None if counterexample else "true everywhere")
        case "solve":
            return _wrong_interval(area, case)
        case "linear":
            return None if case.expected is None else wrong_coefficients(area, case, case.expected)
        case "bijective":
            found = is_bijective(case.given, case.words)
            return None if found is case.expected else f"it is {found}"
        case "compare":
            found = sign(area, *case.words)
            return None if found == case.expected else f"it is {found}"
        case "contradiction":
            return None if case.expected is (not area.points) else f"{len(area.points)} points"
    raise AssertionError(case.question)


def changed_value(area: Domain, text: str, other: str) -> str | None:
    """A point at which `other` and `text` differ."""
    before, after = compiled(text, area.names), compiled(other, area.names)
    for point in area.points:
        try:
            value = before(*point)
        except ZeroDivisionError:
            continue
        try:
            if after(*point) == value:
                continue
            return f"{after(*point)} instead of {value} at {area.shown(point)}"
        except ZeroDivisionError:
            return f"divides by zero at {area.shown(point)}"
    return None


def refuted(area: Domain, condition: str) -> str | None:
    """A point at which a condition is false."""
    return next((f"false at {area.shown(point)}" for point, value in area.values(condition) if not value), None)


def extremes(area: Domain, text: str) -> tuple[int, int] | None:
    """The least and the greatest value; None if there is none."""
    values = [int(value) for _, value in area.values(text)]
    return (min(values), max(values)) if values else None


def _wrong_bounds(case: Case) -> str | None:
    """A finite end is attained; an infinite one moves out in a wider window."""
    near, far = (
        extremes(domain(case.given, *case.words, window=window, limit=60_000), case.words[0]) for window in (8, 16)
    )
    if near is None or far is None:
        return "no value"
    seen = tuple(None if near[side] != far[side] and case.expected[side] is None else far[side] for side in (0, 1))
    return None if seen == tuple(case.expected) else f"it is {seen}"


def residue_class(values: list[int]) -> tuple[int, int]:
    """The coefficient and the base of the smallest residue class that holds all of them."""
    coefficient = math.gcd(*(value - values[0] for value in values))
    return coefficient, values[0] % coefficient if coefficient else values[0]


def wrong_coefficients(area: Domain, case: Case, answer: tuple[Any, ...]) -> str | None:
    """Why ``coefficients * variables + base`` differs from the expression, or why the base depends on the variables."""
    *coefficients, base = answer
    if set(variables(base)) & set(case.variables):
        return f"the base {base} holds the variables"
    total = " + ".join(f"({weight})*({name})" for weight, name in zip(coefficients, case.variables, strict=True))
    return changed_value(area, case.words[0], f"{total} + ({base})" if total else base)


def iterated(given: str) -> frozenset[str]:
    """The variables that a map runs over: those with both ends."""
    facts = Given(given)
    found = {name for name, (lo, hi) in facts.ranges.items() if lo is not None and hi is not None}
    for condition in facts.conditions:
        # `x in 0..; x < n*n` ends x as well as `x in 0..n*n-1` does.
        name = condition.split(" < ")[0]
        if facts.ranges.get(name, (None, None))[0] is not None and variables(condition) != (name,):
            found.add(name)
    return frozenset(found)


def is_bijective(given: str, texts: tuple[str, ...]) -> bool:
    """Is the map one to one and onto its box, for every value of the variables that are not iterated?

    An iterated variable that the map leaves out makes it many to one.
    """
    area = domain(given, *texts)
    runs = iterated(given)
    images: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
    functions = [compiled(text, area.names) for text in texts]
    seen = set()
    for point in area.points:
        fixed = tuple(value for name, value in zip(area.names, point, strict=True) if name not in runs)
        moving = tuple(value for name, value in zip(area.names, point, strict=True) if name in runs)
        if (fixed, moving) not in seen:
            seen.add((fixed, moving))
            images[fixed].append(tuple(int(function(*point)) for function in functions))
    return all(_fills_its_box(found) for found in images.values())


def _fills_its_box(images: list[tuple[int, ...]]) -> bool:
    box = math.prod(max(axis) - min(axis) + 1 for axis in zip(*images, strict=True))
    return len(images) == len(set(images)) == box


def sign(area: Domain, a: str, b: str) -> str | None:
    """The strongest comparison that holds at every point."""
    holds = {op: refuted(area, f"({a}) {op} ({b})") is None for op in ("==", "<", ">", "<=", ">=", "!=")}
    return next((op for op, everywhere in holds.items() if everywhere), None)


def inside(answer: tuple[End, End] | str, variable: str, point: Point) -> bool:
    """Does an interval hold the point's value of the variable?"""
    if answer == "empty":
        return False
    lo, hi = (_end_value(end, point) for end in answer)
    value = point[variable]
    return (lo is None or lo <= value) and (hi is None or value <= hi)


def _end_value(end: End, point: Point) -> int | None:
    if end is None or isinstance(end, int):
        return end
    names = variables(end)
    return int(compiled(end, names)(*(point[name] for name in names)))


def misjudged(area: Domain, condition: str, variable: str, answer: tuple[End, End] | str) -> str | None:
    """A point inside the interval at which the condition is false."""
    for point, value in area.values(condition):
        if not value and inside(answer, variable, dict(zip(area.names, point, strict=True))):
            return f"false at {area.shown(point)}"
    return None


def narrower(area: Domain, variable: str, answer: tuple[End, End] | str, wanted: tuple[End, End] | str) -> str | None:
    """A point of the domain that is in the wanted interval but not in the other."""
    for values in area.points:
        point = dict(zip(area.names, values, strict=True))
        if inside(wanted, variable, point) and not inside(answer, variable, point):
            return f"leaves out {area.shown(values)}"
    return None


def _wrong_interval(area: Domain, case: Case) -> str | None:
    """The interval holds no bad value; one step further there is a bad value, or no point of the domain."""
    variable, condition = case.variables[0], case.words[0]
    if case.expected == "empty":
        groups = _judged(area, condition, variable, ())
        return "some value will do" if any(all(marks) for marks in groups.values()) else None
    if (bad := misjudged(area, condition, variable, case.expected)) is not None:
        return bad
    symbols = tuple(sorted({name for end in case.expected if isinstance(end, str) for name in variables(end)}))
    groups = _judged(area, condition, variable, symbols)
    for side, step in ((0, -1), (1, 1)):
        if case.expected[side] is None:
            continue
        for key in {key[1:] for key in groups}:
            values = dict(zip(symbols, key, strict=True))
            end = _end_value(case.expected[side], values)
            other = _end_value(case.expected[1 - side], values)
            if end is None or (other is not None and (end - other) * step < 0):
                continue
            further = (end + step, *key)
            if all(groups.get(further, [False])):
                return f"{variable} = {further[0]} will do too with {values}"
    return None


def _judged(area: Domain, condition: str, variable: str, symbols: tuple[str, ...]) -> dict[tuple[int, ...], list[bool]]:
    """For each value of the variable and the symbols, the truth of the condition at all the others."""
    groups: dict[tuple[int, ...], list[bool]] = defaultdict(list)
    where = [area.names.index(name) for name in (variable, *symbols) if name in area.names]
    for point, value in area.values(condition):
        groups[tuple(point[index] for index in where)].append(bool(value))
    return groups
