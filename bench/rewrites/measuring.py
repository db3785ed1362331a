"""Times every spelling of a computation and every hand-written form, in one direction."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from ..cases import Skipped
from ..cases.case import Form
from ..harness import Candidate, Measurement, as_exact, disagreement, measurement, prepare, time_interleaved
from .computation import Computation
from .operations import operations

DIRECTIONS = ("forward", "gradient")
MOST_OPERATIONS = 2 * 10**11  # More operations would run for minutes.
LONG_CALL = 2.0  # Seconds; a longer call is timed once.


@dataclass(frozen=True, slots=True)
class Outcome:
    """All candidates for one computation, in one direction."""

    computation: str
    direction: str
    forms: tuple[Measurement, ...]
    spellings: tuple[Measurement, ...]

    @property
    def best(self) -> Measurement | None:
        """The fastest of the forms that are right."""
        return self.rival(None)

    def rival(self, spelling: Measurement | None) -> Measurement | None:
        """The fastest of the forms that are as accurate as a spelling; less accurate forms are no rivals."""
        return min(as_exact(self.forms, spelling), key=lambda form: form.median, default=None)

    def ratio(self, spelling: Measurement) -> float:
        """The time of a spelling over that of its rival; NaN if one of them is missing."""
        rival = None if spelling.problem else self.rival(spelling)
        return math.nan if rival is None else spelling.median / rival.median

    def less_exact(self, spelling: Measurement) -> bool:
        """Whether a form that is not a rival of a spelling is faster than all rivals."""
        return not spelling.problem and self.rival(spelling) is not self.best

    @property
    def rivals(self) -> list[Measurement]:
        """The best form, and the others that are rivals of a spelling."""
        found = [self.best, *(self.rival(spelling) for spelling in self.spellings if not spelling.problem)]
        return list({form.name: form for form in found if form is not None}.values())


def measure(
    computation: Computation, spellings: Collection[str], *, seconds: float = 0.3, gradient: bool = True
) -> dict[str, Outcome]:
    """The outcome of each direction; there is no gradient without a derivative.

    A spelling that fails, is wrong or hopeless has that as its problem, and no gradient is tried.
    """
    makers: dict[str, Callable[[], Form]] = {
        **{f"form {name}": lambda form=form: form for name, form in computation.forms.items()},
        **{f"spelling {name}": lambda name=name: computation.kernel(name) for name in spellings},
    }
    functions: dict[str, Form] = {}
    problems: dict[str, str] = {}
    for name, make in makers.items():
        try:
            functions[name] = make()
        except Exception as problem:  # A failing spelling becomes a line of the table and does not end the run.
            problems[name] = _said(problem)
    found = _timed(computation, functions, computation.arrays(), computation.expected(), computation.tolerance, seconds)
    outcomes = {"forward": _outcome(computation, "forward", list(makers), found, problems)}
    if not gradient or not (expected := computation.expected_gradient()):
        return outcomes
    problems |= {name: one.problem for name, one in found.items() if one.problem}
    derived: dict[str, Form] = {}
    arguments: Sequence[np.ndarray] = ()
    for name, function in functions.items():
        if name in problems:
            continue
        try:
            directed = computation.gradient(function)
            if directed is None:
                raise Skipped("it has no derivative")
            derived[name], arguments = directed
        except Exception as problem:
            problems[name] = _said(problem)
    found = _timed(computation, derived, arguments, expected, 10 * computation.tolerance, seconds)
    outcomes["gradient"] = _outcome(computation, "gradient", list(makers), found, problems)
    return outcomes


def _outcome(
    computation: Computation,
    direction: str,
    names: Sequence[str],
    found: dict[str, Measurement],
    problems: dict[str, str],
) -> Outcome:
    """The results in the order of `names`, which is the same for both directions."""
    every = found | {name: Measurement(_short(name), problem=said) for name, said in problems.items()}
    forms, spellings = (
        tuple(every[name] for name in names if name.startswith(kind)) for kind in ("form ", "spelling ")
    )
    return Outcome(computation.name, direction, forms, spellings)


def _timed(
    computation: Computation,
    functions: dict[str, Form],
    arguments: Sequence[np.ndarray],
    expected: list[np.ndarray],
    tolerance: float,
    seconds: float,
) -> dict[str, Measurement]:
    """Every function, checked and timed, by its name."""
    arrays = [jax.device_put(array) for array in arguments]
    candidates: list[Candidate] = []
    errors: dict[str, float] = {}
    problems: dict[str, str] = {}
    for name, function in functions.items():
        try:
            count = operations(function, *arrays)
            if count > MOST_OPERATIONS:
                raise Skipped(f"hopeless: {count:.1e} operations")
            candidate = prepare(name, function, arrays)
            first, result = _once(candidate)
            errors[name] = disagreement(computation.case(), result, expected)
            if errors[name] > tolerance:
                raise Skipped(f"wrong: relative error {errors[name]:.1e}")
        except Exception as problem:
            problems[name] = _said(problem)
            continue
        if first > LONG_CALL:
            candidate.samples.append(first)
        candidates.append(candidate)
    time_interleaved([candidate for candidate in candidates if not candidate.samples], seconds)
    measured = {one.name: replace(measurement(one, errors[one.name]), name=_short(one.name)) for one in candidates}
    measured |= {name: Measurement(_short(name), problem=said) for name, said in problems.items()}
    return {name: measured[name] for name in functions}


def _once(candidate: Candidate) -> tuple[float, Any]:
    start = time.perf_counter()
    result = jax.block_until_ready(candidate.call())
    return time.perf_counter() - start, result


def _said(problem: Exception) -> str:
    """The problem on one line."""
    first = (str(problem).splitlines() or [""])[0]
    return first[:200] if isinstance(problem, Skipped) else f"{type(problem).__name__}: {first}"[:200]


def _short(name: str) -> str:
    """The name of a spelling or a form, without the description."""
    return name.partition(" ")[2]
