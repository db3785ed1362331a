"""The layers and programs of tests/conformance, in both notations, under random schedules."""

import warnings
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import tcjax
from tests.conformance import layers
from tests.conformance.program import Program, kernel
from tests.conformance.sac import practice
from tests.conformance.sac.case import Case, arrays

from .commands import schedule_of
from .comparison import differences
from .oracle import expected_regions
from .program import has_calls, program_of
from .random_schedules import random_line

PROGRAMS = [program for name in layers.__all__ for program in getattr(layers, name) if not program.initial]
CASES = [case for name in practice.__all__ for case in getattr(practice, name)]


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_regions_of_a_program_are_what_a_visit_of_every_point_finds(program: Program) -> None:
    check(kernel(program.text), program.arrays(), str(program))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_regions_of_a_sac_program_are_what_a_visit_of_every_point_finds(case: Case) -> None:
    check(tcjax.kernel(case.text, dialect="sac", fns=case.fns), arrays(case.arguments), str(case))


def check(compiled: tcjax.Kernel, arguments: Sequence[Any], name: str) -> None:
    """Asserts that the program as it is written and a random schedule of it have the regions of the oracle."""
    arguments = [np.asarray(argument) for argument in arguments]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        if has_calls(compiled, arguments):
            # Calls are not scheduled.
            assert compiled.schedule(*arguments).infer_bounds(*arguments)
            return
        program = program_of(compiled, arguments)
        for line in ("", random_line(Random(name), program)):
            regions = schedule_of(compiled, line, *arguments).infer_bounds(*arguments)

            assert differences(regions, expected_regions(program, line)) == [], line
