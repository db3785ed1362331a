"""Random reductions run as loop nests in random blocks: values, maps and derivatives against the interpreter.

``python -m tests.fuzz.fuzz_nests --seconds 60`` stops at the first program that disagrees; ``--all`` goes on and
lists them, each once for every way in which it fails.
"""

import argparse
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from random import Random

import jax
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.agreement import comparing, lines
from tests.agreement.nesting import nesting
from tests.strategies.expressions import Flavour
from tests.strategies.nests import nests
from tests.strategies.programs import Case

SMOOTH = Flavour(smooth=True)
DOUBLE = Flavour(floats=("double",), integers=("int64", "uint64", "int32"))
# What is checked, of which programs, with 64-bit types or without.
CHECKS: tuple[tuple[Callable[[Case], object], Flavour | None, bool], ...] = (
    (comparing.values, None, False),
    (comparing.jitted, None, False),
    (comparing.vmapped, None, False),
    (comparing.values, DOUBLE, True),
    (lines.first, SMOOTH, False),
    (lines.second, SMOOTH, False),
)
# Hypothesis begins with the smallest program: each seed is good for a few others.
BATCH = 10


def search(number: int) -> tuple[int, list[str]]:
    """How many programs of a seed were tried, and what is wrong, each with its program."""
    rng = Random(number)
    check, flavour, wide = CHECKS[number % len(CHECKS)]
    rows, unroll = rng.choice((1, 2, 3, 4, 8)), rng.choice((1, 1, 2, 3))
    tile, written = rng.choice((None, None, 1, 2, 3)), rng.choice((None, None, 0, 3))
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
    @given(nests(flavour))
    def run(case: Case) -> None:
        nonlocal tried
        tried += 1
        try:
            with nesting(rows, unroll, tile=tile, written=written), jax.enable_x64(wide):
                check(case)
        except Exception as error:
            trace = "" if isinstance(error, AssertionError) and str(error) else traceback.format_exc(limit=-4)
            wrong = f"{type(error).__name__}: {error}"[:1500]
            form = f"nesting({rows}, {unroll}, tile={tile}, written={written})"
            found.append(f"seed {number}, {check.__name__}, {form}\n{case}\n{wrong}\n{trace}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    return tried, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    end, number, wrong = time.monotonic() + options.seconds, options.seed, 0
    outcomes: Counter[str] = Counter()
    while time.monotonic() < end:
        tried, found = search(number)
        outcomes[CHECKS[number % len(CHECKS)][0].__name__] += tried
        for report in found:
            print(f"{report}\n", flush=True)
        wrong += len(found)
        if wrong and not options.all:
            return 1
        number += 1
    print(f"{sum(outcomes.values())} programs, {wrong} wrong: {dict(outcomes)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
