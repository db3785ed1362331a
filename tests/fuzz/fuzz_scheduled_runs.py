"""Random kernels under random legal schedules, run in tiles and compared with the interpreter.

``python -m tests.fuzz.fuzz_scheduled_runs --seconds 60``
"""

import argparse
import time
from random import Random

import numpy as np

import tcjax
from tests.planning.schedule.commands import schedule_of
from tests.planning.schedule.kernels import specs
from tests.planning.schedule.random_schedules import Trial, random_trial


def mistake(trial: Trial, seed: int) -> str:
    """Errors in the results of a scheduled kernel; empty if there are none."""
    kernel = tcjax.kernel(trial.text)
    generator = np.random.default_rng(seed)
    # Small integers: every order of summation gives the same float.
    arrays = [generator.integers(-3, 4, spec.shape).astype(spec.dtype) for spec in specs(trial.arguments)]
    scheduled = kernel.with_schedule(schedule_of(kernel, trial.line))
    results = zip(_several(scheduled(*arrays)), _several(kernel.interpret(*arrays)), strict=True)
    for number, (found, expected) in enumerate(results):
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return f"output {number}: {found.dtype}{found.shape} instead of {expected.dtype}{expected.shape}"
        wrong = np.argwhere(found != expected)
        if len(wrong):
            return f"output {number}: {len(wrong)} elements differ, first at {wrong[0].tolist()}"
    return ""


def _several(results: object) -> list[np.ndarray]:
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    end, count = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        seed = options.seed + count
        trial = random_trial(Random(seed))
        found = mistake(trial, seed)
        if found:
            print(f"seed {seed}: {found}\n{trial.text}\n{trial.arguments}\n{trial.line}")
            return 1
        count += 1
    print(f"{count} scheduled kernels agree with the interpreter")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
