"""Random kernels and random legal schedules, against a visit of every point."""

from random import Random

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.effort import examples

from .random_schedules import disagreements, random_trial, smallest


@given(st.randoms(use_true_random=False))
@settings(max_examples=examples(100), phases=(Phase.explicit, Phase.generate))
def test_regions_of_random_schedules_are_what_a_visit_of_every_point_finds(rng: Random) -> None:
    trial = random_trial(rng)

    found = disagreements(trial)

    assert not found, f"{smallest(trial)}: {found}"
