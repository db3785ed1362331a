"""``python -m bench.run``: measures the cases and prints one table of ratios."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from . import donation, overhead, report
from .cases import SIZES, Case, all_cases
from .harness import CaseResult, keep_pages, measure


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark; 0 if every verdict is ``ok``."""
    options = parse(arguments)
    if not options.plain_allocator:
        keep_pages()
    tcjax = None if options.forms_only else _import_tcjax()
    chosen = [case for case in all_cases(options.sizes) if is_chosen(case, options.cases)]
    print(f"{report.device_name()}, jax {jax.__version__}, {options.sizes} sizes, {len(chosen)} cases", file=sys.stderr)
    results: list[CaseResult] = []
    for case in chosen:
        result = measure(case, build(case, tcjax), seconds=options.seconds)
        results.append(result)
        print("  ".join(report.row(result)), file=sys.stderr, flush=True)
        if options.forms or options.forms_only:
            print(report.forms_listing(result), file=sys.stderr, flush=True)
        # A full run takes long: an interruption keeps the results so far.
        _keep(options, results, [])
    costs = [*overhead.costs(tcjax), *donation.costs()] if tcjax is not None and not options.no_costs else []
    print(report.table([report.row(result) for result in results], report.HEADER))
    if lines := report.summary(results):
        print(f"\n{lines}")
    if costs:
        print("\n" + report.cost_lines(costs))
    _keep(options, results, costs)
    good = all(report.verdict(result) in ("ok", "-") for result in results) and all(cost.holds for cost in costs)
    return 0 if good else 1


def _keep(options: argparse.Namespace, results: list[CaseResult], costs: list[overhead.Cost]) -> None:
    """Writes the measurements so far to the requested file."""
    if options.json is not None:
        measured = report.as_json(results, costs, options.sizes)
        options.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument(
        "--cases",
        default="",
        help="families, groups (kernels) or parts of case names, separated by commas (all)",
    )
    parser.add_argument("--sizes", choices=SIZES, default="small")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each form (1.0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--forms", action="store_true", help="list every hand-written form")
    parser.add_argument("--forms-only", action="store_true", help="measure the hand-written forms without tcjax")
    parser.add_argument("--no-costs", action="store_true", help="leave out call, front-end and import times")
    parser.add_argument("--plain-allocator", action="store_true", help="do not ask glibc to reuse large blocks")
    return parser.parse_args(arguments)


def is_chosen(case: Case, names: str) -> bool:
    """Whether one of the comma-separated `names` is the case's family or group, or a part of a name with a size."""
    wanted = [name for name in names.split(",") if name]
    return not wanted or any(
        name in (case.family, *case.groups) or ("/" in name and name in case.name) for name in wanted
    )


def build(case: Case, tcjax: Any) -> Callable[..., Any] | Exception | None:
    """The kernel of `case`, made as by a user; the exception if that fails, None without tcjax."""
    if tcjax is None:
        return None
    try:
        if case.compose is not None:
            return jax.jit(case.compose(tcjax.load(case.text)))  # The hand-written forms are one jitted function too.
        return tcjax.kernel(case.text)
    except Exception as problem:  # Reported as the case's verdict.
        return problem


def _import_tcjax() -> Any:
    import tcjax

    return tcjax


if __name__ == "__main__":
    sys.exit(main())
