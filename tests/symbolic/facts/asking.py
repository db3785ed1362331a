"""Asks the engine about a case and compares its answer with the enumeration."""

import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tcjax.diagnostics import CompileError
from tcjax.symbolic.facts import Expr, Prover

from .cases import (
    Case,
    changed_value,
    extremes,
    is_bijective,
    misjudged,
    narrower,
    refuted,
    residue_class,
    sign,
    wrong_coefficients,
)
from .enumeration import Domain, Given, cost, domain, variables


@dataclass(frozen=True)
class Flaw:
    """A flaw of an answer: UNSOUND and CRASH are bugs, LOOSE is an answer that could be tighter."""

    kind: str
    answer: Any
    words: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.answer}: {self.words}"


def facts_of(given: str) -> Prover:
    """The engine's facts for a line of text."""
    facts = Prover()
    notation = Given(given)
    for name, (lo, hi) in notation.ranges.items():
        facts = facts.define(name, lo, hi)
    for name, text in notation.equalities.items():
        facts = facts.define(name, equals=text)
    return facts.assume(*notation.conditions)


def answer(facts: Prover, case: Case) -> Any:
    """The engine's answer, with expressions as text."""
    match case.question:
        case "simplify":
            return str(facts.simplify(case.words[0]))
        case "bounds":
            lo, hi = facts.bounds(case.words[0])
            return lo, hi
        case "modulus":
            coefficient, base = facts.modulus(case.words[0])
            return coefficient, base
        case "prove":
            return facts.prove(case.words[0])
        case "solve":
            found = facts.solve(case.words[0], case.variables[0])
            return found if isinstance(found, str) else tuple(_end(end) for end in found)
        case "linear":
            found = facts.linear(case.words[0], list(case.variables))
            return None if found is None else (*found[:-1], str(found[-1]))
        case "bijective":
            return facts.bijective(list(case.words))
        case "compare":
            return facts.compare(*case.words)
        case "contradiction":
            return facts.contradiction is not None
    raise AssertionError(case.question)


def _end(end: Any) -> int | str | None:
    return end if end is None or isinstance(end, int) else str(end)


@cache
def flaw(case: Case) -> Flaw | None:
    """Flaws of the engine's answer to a case of the tables."""
    area = domain(case.given, *case.words, *case.variables)
    return judged(area, case, tables=True)


def judged(area: Domain, case: Case, tables: bool = False) -> Flaw | None:
    """Flaws of the engine's answer; only for cases of the tables is it checked to be tight."""
    try:
        try:
            facts = facts_of(case.given)
        except CompileError as error:
            if not area.points:
                return None
            return Flaw("UNSOUND", "refused", error.message)
        found = answer(facts, case)
        return unsound(area, case, found) or (loose(area, case, found) if tables else dear(case, found))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return Flaw("CRASH", f"{type(error).__name__} in {Path(place.filename).name}:{place.lineno}", str(error)[:200])


def unsound(area: Domain, case: Case, found: Any) -> Flaw | None:
    """Contradictions between the enumeration and an answer; this needs only points, so random questions have it too."""
    words = _contradicted(area, case, found)
    return None if words is None else Flaw("UNSOUND", found, words)


def _contradicted(area: Domain, case: Case, found: Any) -> str | None:
    match case.question:
        case "simplify":
            if str(Expr.of(found)) != found:
                return f"reads back as {Expr.of(found)}"
            return changed_value(area, case.words[0], found)
        case "bounds":
            return _missed(extremes(area, case.words[0]), found)
        case "modulus":
            coefficient, base = found
            values = {int(value) for _, value in area.values(case.words[0])}
            if not (coefficient == 0 or 0 <= base < coefficient):
                return "the base is no residue"
            outside = [value for value in values if (value - base) % coefficient] if coefficient else values - {base}
            return f"misses {min(outside)}" if outside else None
        case "prove":
            return refuted(area, case.words[0]) if found else None
        case "solve":
            if found == "empty":
                return _wrongly_empty(area, case)
            if any(case.variables[0] in variables(end) for end in found if isinstance(end, str)):
                return "an end holds the variable itself"
            return misjudged(area, case.words[0], case.variables[0], found)
        case "linear":
            return None if found is None else wrong_coefficients(area, case, found)
        case "bijective":
            if found is None or not area.points:
                return None
            right = is_bijective(case.given, case.words)
            return None if right is found else f"it is {right}"
        case "compare":
            a, b = case.words
            return None if found is None else refuted(area, f"({a}) {found} ({b})")
        case "contradiction":
            return f"holds at {area.shown(area.points[0])}" if found and area.points else None
    raise AssertionError(case.question)


def _missed(reached: tuple[int, int] | None, found: tuple[int | None, int | None]) -> str | None:
    if reached is None:
        return None
    lo, hi = found
    if (lo is not None and reached[0] < lo) or (hi is not None and reached[1] > hi):
        return f"reaches {reached}"
    return None


def _wrongly_empty(area: Domain, case: Case) -> str | None:
    """A value of the variable for which the condition holds at every point, although the answer was that there is none.

    With a window this proves nothing: the condition may fail outside it.
    """
    if not area.whole:
        return None
    where = area.names.index(case.variables[0])
    good: dict[int, bool] = {}
    for point, value in area.values(case.words[0]):
        good[point[where]] = good.get(point[where], True) and bool(value)
    return next((f"{case.variables[0]} = {value} will do" for value, all_good in good.items() if all_good), None)


def dear(case: Case, found: Any) -> Flaw | None:
    """A simplification that costs more than the original."""
    if case.question != "simplify":
        return None
    before, after = cost(case.words[0]), cost(found)
    return None if after <= before else Flaw("DEAR", found, f"costs {after}, more than {before}")


def loose(area: Domain, case: Case, found: Any) -> Flaw | None:
    """A sound answer from the engine that is looser than the table's."""
    wanted = case.expected
    match case.question:
        case "simplify":
            spent, enough = cost(found), cost(wanted)
            return None if spent <= enough else Flaw("LOOSE", found, f"costs {spent}, not {enough}")
        case "solve":
            missing = narrower(area, case.variables[0], found, wanted)
            return None if missing is None else Flaw("LOOSE", found, missing)
        case "prove" | "contradiction":
            tight = bool(found) is bool(wanted)
        case "linear":
            tight = (found is None) == (wanted is None)
        case "bijective":
            # The reason does not matter.
            tight = found is wanted or (not wanted and not found)
        case _:
            tight = found == wanted
    return None if tight else Flaw("LOOSE", found, f"it is {wanted}")


def tightest(case: Case, area: Domain) -> Any:
    """The exact answer to a random question over finite ranges; None where there is no point."""
    match case.question:
        case "bounds":
            return extremes(area, case.words[0])
        case "modulus":
            values = [int(value) for _, value in area.values(case.words[0])]
            return residue_class(values) if values else None
        case "prove":
            return refuted(area, case.words[0]) is None
        case "compare":
            return sign(area, *case.words)
        case "contradiction":
            return not area.points
    raise AssertionError(case.question)
