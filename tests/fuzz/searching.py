"""Random programs of several strategies, each with a check: the part that the fuzzers of programs share.

``--seconds 60`` stops at the first program that fails; ``--all`` continues and lists them.
"""

import argparse
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from random import Random

import jax
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.strategies.programs import Case

# Hypothesis begins with the smallest program: each seed then gives a few others.
BATCH = 10
SOME = 20


@dataclass(frozen=True)
class Check:
    """A check of programs of a strategy, with 64-bit types or without."""

    name: str
    run: Callable[[Case], object]
    cases: SearchStrategy[Case]
    wide: bool = False


@dataclass(frozen=True)
class Setting:
    """The compiler's limits while a program runs, and their description."""

    text: str = ""
    limits: Callable[[], AbstractContextManager[object]] = nullcontext


def search(number: int, checks: Sequence[Check], setting: Callable[[Random], Setting]) -> tuple[int, list[str]]:
    """The number of programs tried for a seed, and the failures, each with its program."""
    check, around = checks[number % len(checks)], setting(Random(number))
    found: list[str] = []
    tried = 0

    @seed(number)
    @settings(
        max_examples=BATCH,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(check.cases)
    def run(case: Case) -> None:
        nonlocal tried
        tried += 1
        try:
            with around.limits(), jax.enable_x64(check.wide):
                check.run(case)
        except Exception as error:
            trace = "" if isinstance(error, AssertionError) and str(error) else traceback.format_exc(limit=-4)
            wrong = f"{type(error).__name__}: {error}"[:1500]
            found.append(f"seed {number}, {check.name} {around.text}\n{case}\n{wrong}\n{trace}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    return tried, found


def main(
    description: str | None, checks: Sequence[Check], setting: Callable[[Random], Setting] = lambda _: Setting()
) -> int:
    """Runs for ``--seconds``; 0, or 1 if a program fails."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    end, number, wrong = time.monotonic() + options.seconds, options.seed, 0
    outcomes: Counter[str] = Counter()
    while time.monotonic() < end:
        tried, found = search(number, checks, setting)
        outcomes[checks[number % len(checks)].name] += tried
        for report in found:
            print(f"{report}\n", flush=True)
        wrong += len(found)
        if wrong and not options.all:
            return 1
        number += 1
        if number % SOME == 0:
            # Most compiled programs are never used again.
            jax.clear_caches()
    print(f"{sum(outcomes.values())} programs, {wrong} wrong: {dict(outcomes)}")
    return 1 if wrong else 0
