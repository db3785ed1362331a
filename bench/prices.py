"""``python -m bench.prices``: compares the planner's prices with the measured times of the plans.

Every kernel of `bench.cases`, and every spelling of `bench.rewrites`, is planned, priced and timed, forward. Accurate
prices matter less than their order: of two plans of one computation, the cheaper should be the faster.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path

import jax

import tcjax
from tcjax.planning import plan_price
from tcjax.planning.cost.costs import plan_cost

from .cases import SIZES, all_cases
from .cases.case import Arrays
from .harness import keep_pages, prepare, time_interleaved
from .report import device_name, table
from .rewrites import all_computations
from .rewrites.measuring import MOST_OPERATIONS
from .rewrites.operations import operations

NEAR = 2.0  # A price within this factor of the time is near.
APART = 1.5  # Two spellings are ordered if their times differ by more than this factor.
HEADER = ("computation", "case", "price, ms", "time, ms", "price / time", "price, MB", "XLA, MB", "problem")


@dataclass(frozen=True, slots=True)
class Priced:
    """One plan: its price and its median time in seconds, and the temporary bytes of both."""

    computation: str
    case: str
    price: float = math.nan
    time: float = math.nan
    temporary: int = 0
    measured_temporary: int = 0
    problem: str = ""

    @property
    def ratio(self) -> float:
        """The ratio of price to time."""
        return self.price / self.time


def main(arguments: list[str] | None = None) -> int:
    """Measures, and prints the table and the summary."""
    options = parse(arguments)
    keep_pages()
    times = read_times(options.times)
    print(f"{device_name()}, jax {jax.__version__}", file=sys.stderr)
    found: list[Priced] = []
    for computation, case, kernel, arrays in _kernels(options.names, options.sizes):
        known = times.get((computation, case))
        found.append(measured(computation, case, kernel, arrays, options.seconds, known))
        print("  ".join(_row(found[-1])), file=sys.stderr, flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    print(table(map(_row, sorted(found, key=lambda one: one.ratio)), HEADER))
    print(f"\n{summary(found)}")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.prices", description=__doc__)
    parser.add_argument("names", nargs="*", help="computations, or families of cases (all)")
    parser.add_argument("--sizes", choices=SIZES, default="full", help="the sizes of the cases (full)")
    parser.add_argument("--seconds", type=float, default=0.3, help="time for each plan (0.3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every price and time to FILE")
    parser.add_argument(
        "--times",
        type=Path,
        metavar="FILE",
        nargs="+",
        default=[],
        help="take times from such files (the median of several); only prices are computed",
    )
    return parser.parse_args(arguments)


def read_times(paths: Iterable[Path]) -> dict[tuple[str, str], Priced]:
    """Times from earlier runs: the median of several."""
    found: dict[tuple[str, str], list[Priced]] = {}
    for path in paths:
        for kept in json.loads(path.read_text(encoding="utf-8")):
            one = Priced(**kept)
            found.setdefault((one.computation, one.case), []).append(one)
    return {key: replace(runs[0], time=statistics.median(run.time for run in runs)) for key, runs in found.items()}


def _kernels(names: Sequence[str], sizes: str) -> Iterator[tuple[str, str, str | object, Arrays]]:
    """The computation, the case, its program and its arguments."""
    for computation in all_computations("small" if sizes == "tiny" else sizes):
        if not names or computation.name in names:
            arrays = computation.arrays()
            for spelling, text in computation.spellings.items():
                yield computation.name, spelling, text, arrays
    for case in all_cases(sizes):
        if case.compose is None and (not names or case.family in names):
            yield case.family, case.name, case.text, case.arrays()


def measured(
    computation: str, case: str, text: object, arrays: Arrays, seconds: float, known: Priced | None = None
) -> Priced:
    """The price of a program for these arguments, and its time, `known` or measured."""
    try:
        kernel = tcjax.kernel(text)  # type: ignore[arg-type]
        plan = kernel.plan(*arrays)
        predicted, needed = plan_price(plan), plan_cost(plan).temporary
        if known is None:
            count = operations(kernel, *arrays)
            if count > MOST_OPERATIONS:
                return Priced(computation, case, predicted.seconds, problem=f"hopeless: {count:.1e} operations")
            candidate = prepare(case, kernel, [jax.device_put(array) for array in arrays])
            time_interleaved([candidate], seconds)
            known = Priced(computation, case, math.nan, candidate.median, 0, candidate.temporary_bytes)
    except Exception as problem:  # A failing program becomes a line of the table and does not end the run.
        said = (str(problem).splitlines() or [""])[0]
        return Priced(computation, case, problem=f"{type(problem).__name__}: {said}"[:200])
    temporary = known.measured_temporary
    return Priced(computation, case, predicted.seconds, known.time, needed, temporary, known.problem)


def _row(one: Priced) -> tuple[str, ...]:
    numbers = (one.price * 1e3, one.time * 1e3, one.ratio, one.temporary / 1e6, one.measured_temporary / 1e6)
    texts = (f"{number:.{places}f}" for number, places in zip(numbers, (3, 3, 2, 1, 1), strict=True))
    return (one.computation, one.case, *texts, one.problem)


def summary(found: Iterable[Priced]) -> str:
    """How many prices are near the times, and how many pairs of spellings are ordered correctly."""
    known = [one for one in found if math.isfinite(one.ratio)]
    if not known:
        return "nothing was measured"
    near = sum(1 / NEAR <= one.ratio <= NEAR for one in known)
    right = total = 0
    for one, other in combinations(known, 2):
        if one.computation == other.computation and max(one.time, other.time) > APART * min(one.time, other.time):
            # Sizes of a family are not spellings of one computation; equal prices mean the same plan.
            if "/" in one.case or "/" in other.case or math.isclose(one.price, other.price, rel_tol=1e-6):
                continue
            total += 1
            right += (one.price < other.price) == (one.time < other.time)
    mean = math.exp(sum(math.log(one.ratio) for one in known) / len(known))
    # Other work on the machine makes all times longer.
    level = sum(1 / NEAR <= one.ratio / mean <= NEAR for one in known)
    lines = [
        f"{near} of {len(known)} prices within {NEAR:g}x of the time ({near / len(known):.0%}); the geometric mean of "
        f"price / time is {mean:.2f}, and {level / len(known):.0%} are within {NEAR:g}x of it"
    ]
    if total:
        lines.append(
            f"{right} of {total} pairs of spellings with different plans whose times differ by more than {APART}x in "
            f"the right order ({right / total:.0%})"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
