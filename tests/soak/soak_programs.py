"""Random programs in one process, without an end: values now and then, and now and then what the process holds.

``python -m tests.soak.soak_programs --seconds 600`` ends at the first program that is wrong, and where anything has
grown beyond its bound (`tests/soak/census.py`). At its end it prints every cache that grew, and its bound. With
``--keep`` JAX never forgets what it traced, as in a process that nobody asks: then its memory grows until its caches
are full, and only what the caches of this package have is judged.
"""

import argparse
import time
import warnings
import weakref
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.agreement.compiling import quickly
from tests.strategies.nests import nests
from tests.strategies.products import products
from tests.strategies.programs import Case, chains, programs
from tests.strategies.recurrences import recurrences

from . import caches
from .census import Census, census
from .visits import visit

KINDS = (programs(), nests(), programs(), products(), chains(), recurrences())
# Programs of one seed of hypothesis, which begins with the smallest one.
BATCH = 10
# So many programs make a process warm.
WARM = 60
# What the process holds is counted after so many programs, and so often is shown at the end.
EVERY = 250
SHOWN = 6


def batch(number: int, first: int) -> "list[weakref.ref[Any]]":
    """The kernels of a seed's programs, after running them."""
    found: list[weakref.ref[Any]] = []

    @seed(number)
    @settings(
        max_examples=BATCH,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
            HealthCheck.large_base_example,
        ],
    )
    @given(KINDS[number % len(KINDS)])
    def run(case: Case) -> None:
        found.append(visit(case, first + len(found)))

    with warnings.catch_warnings(), quickly():
        warnings.simplefilter("ignore")
        run()
    return found


def soak(
    seconds: float,
    start: int,
    warm: int = WARM,
    every: int = EVERY,
    say: Callable[[str], object] = print,
    keep: bool = False,
) -> list[str]:
    """What has grown beyond its bound while random programs ran for so many seconds, and at least twice as warm."""
    end, history = time.monotonic() + seconds, dict[int, Census]()
    gone: list[weakref.ref[Any]] = []
    tried, due, found = 0, warm, list[str]()
    for number in range(start, start + (1 << 30)):
        gone += batch(number, tried)
        tried = tried + BATCH
        over = time.monotonic() >= end and tried >= 2 * warm
        if tried < due and not over:
            continue
        now = history[tried] = census(gone, forget=not keep)
        say(f"{tried} programs: {now}")
        gone.clear()
        found = caches.beyond(now.caches, history[warm].caches) if keep else now.beyond(history[warm])
        if found or over:
            break
        due = tried + every - tried % every
    for line in caches.table({tried: history[tried].caches for tried in _spread(list(history))}):
        say(line)
    return found


def _spread(counts: list[int]) -> list[int]:
    """The first and the last, and a few evenly between."""
    last = len(counts) - 1
    return [counts[place] for place in sorted({last * part // (SHOWN - 1) for part in range(SHOWN)})]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=Random().randrange(1 << 30))
    parser.add_argument("--keep", action="store_true", help="JAX keeps its caches")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    found = soak(options.seconds, options.seed, say=lambda text: print(text, flush=True), keep=options.keep)
    for what in found:
        print(f"grown: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
