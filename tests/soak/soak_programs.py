"""Random programs in one process, without an end: values now and then, and what the process holds each minute.

``python -m tests.soak.soak_programs --seconds 600`` ends at the first program that is wrong, and where anything has
grown beyond its bound (`tests/soak/census.py`).
"""

import argparse
import time
import warnings
import weakref
from collections.abc import Callable
from random import Random
from typing import Any

import jax
from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.agreement import comparing
from tests.agreement.compiling import quickly
from tests.strategies.nests import nests
from tests.strategies.products import products
from tests.strategies.programs import Case, programs

from .census import Census, census

KINDS = (programs(), programs(), nests(), products())
# Programs of one seed of hypothesis, which begins with the smallest one.
BATCH = 10
# One of so many is compared with the interpreter, and one is jitted by somebody who goes away.
COMPARED, JITTED = 5, 7
# So many programs make a process warm.
WARM = 60
MINUTE = 60.0


def visit(case: Case, number: int) -> "weakref.ref[Any]":
    """Runs a program, in one of the ways in which it may be run; the kernel, which nobody holds afterwards."""
    kernel = case.kernel
    if number % COMPARED == 0:
        comparing.values(case)
    elif number % JITTED == 0:
        jax.block_until_ready(jax.jit(lambda **arrays: kernel(**arrays))(**case.arguments, **case.initial))
    else:
        jax.block_until_ready(kernel(*case.arguments.values(), **case.initial))
    # A case keeps its kernel, and hypothesis may keep the case.
    vars(case).pop("kernel")
    return weakref.ref(kernel)


def batch(number: int, first: int) -> "list[weakref.ref[Any]]":
    """The kernels of the programs of a seed, all of which ran."""
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
    seconds: float, start: int, warm: int = WARM, minute: float = MINUTE, say: Callable[[str], object] = print
) -> list[str]:
    """What has grown beyond its bound while random programs ran for so many seconds, and at least twice as warm."""
    end, due = time.monotonic() + seconds, 0.0
    before: Census | None = None
    gone: list[weakref.ref[Any]] = []
    tried = 0
    for number in range(start, start + (1 << 30)):
        gone += batch(number, tried)
        tried = tried + BATCH
        over = time.monotonic() >= end and tried >= 2 * warm
        if tried < warm or (time.monotonic() < due and not over):
            continue
        now = census(gone)
        say(f"{tried} programs: {now}")
        gone.clear()
        found = now.beyond(before or now)
        if found or over:
            return found
        before, due = before or now, time.monotonic() + minute
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=Random().randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    found = soak(options.seconds, options.seed, say=lambda text: print(text, flush=True))
    for what in found:
        print(f"grown: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
