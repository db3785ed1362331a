"""Random kernels under random legal schedules give the interpreter's numbers."""

from random import Random

import pytest

from tests.fuzz.fuzz_scheduled_runs import mistake
from tests.planning.schedule.random_schedules import random_trial

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("seed", range(16))
def test_tiles_of_random_schedules_give_the_interpreters_numbers(seed: int) -> None:
    trial = random_trial(Random(seed))

    assert mistake(trial, seed) == "", trial
