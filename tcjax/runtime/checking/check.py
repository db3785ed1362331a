"""The entry point: examples, comparisons, and the smallest disagreement."""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ...diagnostics import Code, CompileError, phrases, silenced
from .comparisons import COMPARISONS
from .drawing import Drawer
from .report import Check, CheckError, NotFound
from .reproducing import explained
from .samples import Sample, filled
from .shrinking import shrink
from .tolerances import Difference
from .trials import Raised, Skipped, Trial

if TYPE_CHECKING:
    from ..questions import Questions


def check(kernel: "Questions", examples: int, seed: int) -> Check:
    """Compares a kernel with its interpreter on `examples` random calls.

    Raises `CheckError` for the first disagreement, with the smallest call found that shows it, and if no arguments are
    found that the kernel accepts.
    """
    for name, number in (("examples", examples), ("seed", seed)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
            raise CompileError(
                Code.BAD_OPTION,
                f"{name}={phrases.value(number)} is not a number of {name}",
                help=f"write {name}=20, a whole number",
            )
    compared: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    worst, worst_in = 0.0, ""
    drawn = 0
    # Warnings were issued when the kernel was made.
    with silenced():
        drawer = Drawer(kernel)
        for example in range(examples):
            rng = np.random.default_rng((seed, example))
            try:
                sample = drawer.draw(rng, example)
            except NotFound:
                if not drawn:
                    raise
                skipped["an example: no other arguments were found that the kernel takes"] += 1
                continue
            drawn += 1
            for comparison in COMPARISONS:
                # Gradients are compared where no two elements are equal and none is 0: away from kinks.
                own = _generic(rng, sample) if comparison == "gradients" else sample
                try:
                    outcome = COMPARISONS[comparison](Trial.of(kernel, own))
                except Skipped as reason:
                    skipped[f"{comparison}: {reason}"] += 1
                    continue
                except Raised as raised:
                    raise _smallest(kernel, own, comparison, str(raised), example, seed) from raised.__cause__
                if outcome.difference is not None:
                    raise _smallest(kernel, own, comparison, outcome.difference, example, seed)
                compared[comparison] += 1
                if outcome.worst > worst:
                    worst, worst_in = outcome.worst, comparison
    return Check(kernel._frontend.name, drawn, compared, skipped, worst, worst_in)


def _generic(rng: np.random.Generator, sample: Sample) -> Sample:
    positive = all((array >= 0).all() for array in sample.everything.values() if array.dtype.kind in "fV")
    style = "positive" if positive else "generic"
    return sample.having(
        {
            name: filled(rng, array.shape, str(array.dtype), style, None, nonzero=False)
            for name, array in sample.everything.items()
            if array.dtype.kind in "fV"
        }
    )


def _smallest(
    kernel: "Questions", sample: Sample, comparison: str, found: Difference | str, example: int, seed: int
) -> CheckError:
    """The error for the smallest call with a disagreement in the same comparison."""

    def failure(candidate: Sample) -> Difference | str | None:
        try:
            return COMPARISONS[comparison](Trial.of(kernel, candidate)).difference
        except (Skipped, CompileError):
            return None
        except Raised as raised:
            return str(raised)

    smallest, tried = shrink(kernel, sample, lambda candidate: failure(candidate) is not None)
    last = failure(smallest)
    trial = Trial.of(kernel, smallest)
    return CheckError(explained(trial, comparison, found if last is None else last, example, seed, tried))
