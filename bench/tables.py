"""``python -m bench.tables results.json rbf nearest``: measured cases as a Markdown table, for the documentation."""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from .harness import CaseResult, Measurement
from .plot import ratios_against
from .records import Record, read
from .report import NEAR, is_gradient

HEADER = ("case", "tcjax, ms", "best by hand", "usual by hand", "KeOps", "tcjax, MB", "best", "usual")


def main(arguments: list[str] | None = None) -> int:
    """Prints the table; 2 if the file has no such case."""
    parser = argparse.ArgumentParser(prog="python -m bench.tables", description=__doc__)
    parser.add_argument("file", type=Path, help="what `python -m bench.run --json FILE` wrote")
    parser.add_argument("cases", nargs="*", help="families, or cases with their sizes")
    parser.add_argument("--slower", type=float, metavar="X", help="cases that take X times as long as by hand")
    parser.add_argument("--costs", action="store_true", help="the cost of a call, the front end and the import")
    parser.add_argument("--summary", action="store_true", help="all cases in a few rows")
    options = parser.parse_args(arguments)
    try:
        record = read(options.file)
        if options.costs:
            print(costs(record))
        elif options.summary:
            print(summary(record))
        else:
            print(table(record.slower(options.slower) if options.slower else record.chosen(options.cases)))
    except LookupError as problem:
        print(f"bench.tables: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"bench.tables: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    return 0


def table(results: Sequence[CaseResult]) -> str:
    """A row for each case: times in milliseconds, and the temporaries that XLA reports in MB, for each form.

    The column of KeOps is left out if no case has it.
    """
    with_peers = any(result.peer is not None for result in results)
    lines = [_row(result) for result in results]
    columns = [number for number in range(len(HEADER)) if number != HEADER.index("KeOps") or with_peers]
    rule = f"|---|{'---:|' * (len(columns) - 1)}"
    heading, *rows = ([line[number] for number in columns] for line in (HEADER, *lines))
    return "\n".join([_line(heading), rule, *(_line(row) for row in rows)])


def costs(record: Record) -> str:
    """A row for each overhead of a kernel, with the benchmark's limit."""
    rows = []
    for cost in record.costs:
        unit, scale = (" x", 1.0) if cost.unit == "x" else (" ms", 1e3)
        rows.append((cost.name, f"{cost.value * scale:.3g}{unit}", f"{cost.limit * scale:g}{unit}", cost.detail))
    heading = _line(("cost", "measured", "limit", ""))
    return "\n".join([heading, "|---|---:|---:|---|", *(_line(row) for row in rows)])


def summary(record: Record) -> str:
    """A row for results and one for gradients, compared with the best form and with the usual one.

    The mean is the geometric mean of the other form's time over tcjax's.
    """
    rows = []
    for direction in ("forward", "with gradient"):
        inside = [result for result in record.results if is_gradient(result.case) == (direction != "forward")]
        for against in ("best", "usual"):
            ratios = ratios_against(inside, against).values()
            faster, slower = (sum(test) for test in ([r > NEAR for r in ratios], [r < 1 / NEAR for r in ratios]))
            mean = f"{statistics.geometric_mean(ratios):.2f}x"
            counted = (len(ratios), mean, faster, len(ratios) - faster - slower, slower)
            rows.append((f"{direction}, {against} by hand", *map(str, counted)))
    near = f"{NEAR:g}x"
    heading = _line(("tcjax beside", "cases", "mean", f"over {near} faster", f"within {near}", f"over {near} slower"))
    return "\n".join([heading, f"|---|{'---:|' * 5}", *(_line(row) for row in rows if row[1] != "0")])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(result: CaseResult) -> tuple[str, ...]:
    missing = Measurement("-")
    tcjax, best, plain = result.tcjax or missing, result.best or missing, result.plain or missing
    peer = result.peer or missing
    return (
        f"`{result.case}`",
        _milliseconds(tcjax),
        f"{_milliseconds(best)} ({best.name})",
        _milliseconds(plain) if plain is not best else "the same",
        _milliseconds(peer),
        *(_megabytes(form) for form in (tcjax, best, plain)),
    )


def _milliseconds(form: Measurement) -> str:
    return _three_digits(form.median * 1e3) if math.isfinite(form.median) else "-"


def _megabytes(form: Measurement) -> str:
    return f"{form.temporary_bytes / 1e6:.0f}" if math.isfinite(form.median) else "-"


def _three_digits(number: float) -> str:
    """``0.123``, ``1.23``, ``12.3``, ``1230``."""
    rounded = float(f"{number:.3g}")
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(rounded)))}f}" if rounded > 0 else "0"


if __name__ == "__main__":
    sys.exit(main())
