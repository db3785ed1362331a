"""Random kernels under random legal schedules: ``python -m tests.fuzz.fuzz_schedules --seconds 30``.

`Schedule.infer_bounds` must agree with visiting every point. Each failure is printed with its shortest schedule.
"""

import argparse
import random
import signal
import sys
import time
from types import FrameType

from tests.planning.schedule.random_schedules import Trial, disagreements, random_trial, smallest

# Stop after this many failures.
_MOST = 5
# Bound inference takes milliseconds: after this many seconds of work it counts as hanging.
_PATIENCE = 20.0


def _complaint(trial: Trial) -> str:
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    try:
        found = disagreements(trial)
    except Exception as error:
        return f"CRASH {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return "\n".join(found)


def _give_up(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"{_PATIENCE:.0f} s and no answer")


def main() -> int:
    """Runs for ``--seconds``; 1 if anything disagreed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    signal.signal(signal.SIGVTALRM, _give_up)
    count = failures = 0
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end and failures < _MOST:
        trial = random_trial(random.Random(f"{seed} {count}"))
        count += 1
        found = _complaint(trial)
        if found:
            failures += 1
            # A hanging case would hang in every attempt to shrink it.
            least = trial if "TimeoutError" in found else smallest(trial)
            print(f"seed {seed}, schedule {count}", least.text, least.arguments, least.line, sep="\n")
            print(found if least is trial else _complaint(least), end="\n\n")
    print(f"seed {seed}: {count} schedules, {failures} disagree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
