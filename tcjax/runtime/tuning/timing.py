"""Times contenders interleaved, so that noise affects all of them alike, and takes the best of several rounds."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from .choices import Choice

ROUNDS = 7
# A contender this many times slower than the fastest after this many rounds is dropped.
HOPELESS = 1.5
PATIENCE = 2
# A short call is repeated until a sample takes this long, in seconds.
SAMPLE_SECONDS = 2e-3
MOST_CALLS = 200


@dataclass(slots=True, eq=False)
class Contender:
    """One way to run the kernel, compiled; `samples` are seconds per call."""

    name: str
    choice: Choice
    run: Callable[[], Any]
    calls: int = 1
    samples: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds per call; infinite before the first sample."""
        return min(self.samples, default=math.inf)


# Seconds per call of a contender, over `contender.calls` calls.
Timer = Callable[[Contender], float]
Clock = Callable[[], float]


def wall_timer(contender: Contender) -> float:
    """Seconds until a call's results are ready."""
    start = time.perf_counter()
    for _ in range(contender.calls):
        jax.block_until_ready(contender.run())
    return (time.perf_counter() - start) / contender.calls


@dataclass(slots=True)
class Watch:
    """The time left; `clock` returns seconds."""

    seconds: float
    clock: Clock = time.perf_counter
    start: float = math.nan

    def __post_init__(self) -> None:
        self.start = self.clock()

    @property
    def left(self) -> float:
        return self.seconds - (self.clock() - self.start)


def race(contenders: Sequence[Contender], timer: Timer, watch: Watch, until: float = 0.0) -> None:
    """Fills in the samples: each round times each contender once, until `until` seconds are left on the watch.

    The first round is always completed: without it there is nothing to compare. The first contender is the baseline and
    takes part in every round.
    """
    for contender in contenders:
        contender.calls = 1
        once = timer(contender)
        contender.calls = max(1, min(MOST_CALLS, math.ceil(SAMPLE_SECONDS / max(once, 1e-7))))
        # The first call also warms caches, so it counts only if it is as good as any.
        contender.samples.append(once)
    for number in range(1, ROUNDS):
        fastest = min(contender.best for contender in contenders)
        running = [c for c in contenders if c is contenders[0] or number < PATIENCE or c.best <= HOPELESS * fastest]
        # Every other round runs backwards, so that no contender always follows the same one.
        for contender in running if number % 2 else reversed(running):
            if watch.left <= until:
                return
            contender.samples.append(timer(contender))
