"""The regions of many schedules, checked by visiting every point."""

import pytest

from .cases import SETS
from .commands import schedule_of
from .comparison import differences
from .kernels import arguments_of, kernel_of, program
from .oracle import expected_regions

RANKS_UNKNOWN = ("sac_columns", "sac_steps")

CASES = [
    pytest.param(kernel, line, id=f"{kernel}: {line or 'all at root'}")
    for kernels in SETS.values()
    for kernel, lines in kernels.items()
    for line in lines
]


@pytest.mark.parametrize(("kernel", "line"), CASES)
def test_regions_are_what_a_visit_of_every_point_finds(kernel: str, line: str) -> None:
    expected = expected_regions(program(kernel), line)

    arguments = arguments_of(kernel)
    shown = () if kernel not in RANKS_UNKNOWN else arguments
    regions = schedule_of(kernel_of(kernel), line, *shown).infer_bounds(*arguments)

    assert differences(regions, expected) == []
