"""The table of spellings, and its summary."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..harness import Measurement
from .measuring import DIRECTIONS, Outcome

NEAR = 1.3  # A spelling within this factor of the best form counts as equally fast.
FAR = 2.0
HEADER = (
    *("computation", "spelling", "ms", "ratio", "gradient ms", "ratio"),
    *("MB", "limit MB", "gradient MB", "limit MB", "problem"),
)
Outcomes = Mapping[str, Outcome]


def rows(outcomes: Outcomes) -> list[tuple[str, ...]]:
    """A line for the best forms of one computation, and one for each spelling."""
    found = [outcomes.get(direction) for direction in DIRECTIONS]
    lines = [_by_hand("by hand", found, [None if outcome is None else outcome.best for outcome in found])]
    for form in dict.fromkeys(form.name for outcome in outcomes.values() for form in outcome.rivals[1:]):
        only = [outcome if outcome is not None and form in _names(outcome.rivals[1:]) else None for outcome in found]
        both = [None if outcome is None else _names(outcome.forms)[form] for outcome in only]
        lines.append(_by_hand("more exact", only, both))
    for number, spelling in enumerate(outcomes["forward"].spellings):
        both = [None if outcome is None else outcome.spellings[number] for outcome in found]
        lines.append((outcomes["forward"].computation, spelling.name, *_numbers(found, both)))
    return lines


def _by_hand(kind: str, outcomes: Sequence[Outcome | None], forms: Sequence[Measurement | None]) -> tuple[str, ...]:
    """The line of the forms with which spellings are compared."""
    computation = next(outcome.computation for outcome in outcomes if outcome is not None)
    names = " / ".join(dict.fromkeys("-" if form is None else form.name for form in forms))
    return computation, f"({kind}: {names})", *_numbers(outcomes, forms)


def _names(found: Iterable[Measurement]) -> dict[str, Measurement]:
    return {one.name: one for one in found}


def _numbers(outcomes: Sequence[Outcome | None], found: Sequence[Measurement | None]) -> tuple[str, ...]:
    times: list[str] = []
    memory: list[str] = []
    problems: list[str] = []
    for direction, outcome, one in zip(DIRECTIONS, outcomes, found, strict=True):
        if outcome is None or one is None or one.problem:
            times += ["-", "-"]
            memory += ["-", "-"]
            problems += [one.problem] if one is not None and one.problem not in problems else []
            continue
        times += [f"{one.median * 1e3:.3f}", _ratio(outcome.ratio(one))]
        memory += [f"{one.temporary_bytes / 1e6:.1f}", f"{one.limit_bytes / 1e6:.1f}"]
        problems += [f"{direction} beyond the contract"] if _is_beyond(one) else []
        if outcome.less_exact(one) and outcome.best is not None:
            problems.append(
                f"{direction}: {outcome.best.name} is less exact, {outcome.best.error:.0e} for {one.error:.0e}"
            )
    return (*times, *memory, "; ".join(problems))


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if math.isfinite(ratio) else "-"


def _is_beyond(found: Measurement) -> bool:
    return not found.problem and found.temporary_bytes > found.limit_bytes


def summary(measured: Iterable[Outcomes]) -> str:
    """How many spellings are as fast as the best form, forward and with the gradient, and their spread.

    The best form is chosen among those that are as accurate as the spelling.
    """
    every = list(measured)
    lines = []
    for direction in DIRECTIONS:
        outcomes = [one[direction] for one in every if direction in one]
        spellings = [(outcome, spelling) for outcome in outcomes for spelling in outcome.spellings]
        ratios = [outcome.ratio(spelling) for outcome, spelling in spellings]
        known = [ratio for ratio in ratios if math.isfinite(ratio)]
        if not spellings:
            continue
        counts = [
            f"{sum(ratio <= NEAR for ratio in known)} of {len(spellings)} within {NEAR}x of the best form",
            f"{sum(ratio > FAR for ratio in known)} above {FAR:g}x",
            f"{sum(bool(spelling.problem) for _, spelling in spellings)} not measured",
            f"{sum(_is_beyond(spelling) for _, spelling in spellings)} beyond the contract",
        ]
        if exact := sum(outcome.less_exact(spelling) for outcome, spelling in spellings):
            counts.append(f"{exact} beside a slower form that is as exact as they are")
        if known:
            counts.append(f"geometric mean {statistics.geometric_mean(known):.2f}x")
        if spreads := [spread for spread in map(_spread, outcomes) if math.isfinite(spread)]:
            counts.append(
                f"slowest over fastest spelling {statistics.median(spreads):.2f}x, the median of computations"
            )
        lines.append(f"{direction}: {', '.join(counts)}")
    return "\n".join(lines)


def _spread(outcome: Outcome) -> float:
    times = [spelling.median for spelling in outcome.spellings if not spelling.problem]
    return max(times) / min(times) if times else math.nan


def as_json(measured: Iterable[Outcomes]) -> list[dict[str, Any]]:
    """Every measurement, with the ratios of the spellings."""
    found = []
    for outcomes in measured:
        for outcome in outcomes.values():
            spellings = [{**asdict(one), "ratio": outcome.ratio(one)} for one in outcome.spellings]
            found.append({**asdict(outcome), "spellings": spellings})
    return found
