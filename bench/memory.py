"""``python -m bench.memory``: what every case allocates, forward and in both derivatives, and the memory contract."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from .allocations import DIRECTIONS, Allocation, allocated
from .cases import SIZES, Case, all_cases, gradients, kernels
from .report import environment, kept_by, table
from .run import build, is_chosen

HEADER = ("case", "direction", "temporary MB", "moved MB", "named MB", "limit MB", "usual MB", "verdict")

# Known exceptions by case and direction, and why. An exception that is not listed is an error; so is a listed one that
# is gone.
KNOWN: dict[tuple[str, str], str] = {
    ("bilinear/256x128x128x128", "reverse"): "JAX keeps a product of two factors for each of three derivatives",
    (
        "five_nearest_gradient/4096x4096x64",
        "reverse",
    ): "terms of a second derivative, concatenated, with five rows each",
}


def main(arguments: list[str] | None = None) -> int:
    """Prints a line for each case and direction; 0 if all keep the contract, 2 if a file has no such case."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument(
        "families", nargs="*", help="families, groups (kernels) or parts of case names with a size (all)"
    )
    parser.add_argument("--sizes", choices=SIZES, default="small")
    parser.add_argument("--usual", action="store_true", help="compile the usual hand-written form, too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to FILE")
    parser.add_argument("--table", type=Path, metavar="FILE", help="only print families of FILE as a Markdown table")
    options = parser.parse_args(arguments)
    if options.table is not None:
        return _print_kept(options.table, options.families)
    found: list[Allocation] = []
    for allocation in measured(options.families, options.sizes, usual=options.usual):
        print("  ".join(row(allocation)), file=sys.stderr, flush=True)
        found.append(allocation)
        # A full run takes long: an interruption keeps the results so far.
        if options.json is not None:
            allocations = [asdict(allocation) for allocation in found]
            kept = {"environment": environment(options.sizes), "allocations": allocations}
            options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(table([row(allocation) for allocation in found], HEADER))
    return 0 if all(verdict(allocation) in ("ok", "known") for allocation in found) else 1


def measured(names: Sequence[str], sizes: str, *, usual: bool = False) -> Iterable[Allocation]:
    """The chosen cases in all directions, as they are compiled."""
    import tcjax

    for case in cases(sizes):
        if not is_chosen(case, ",".join(names)):
            continue
        kernel = build(case, tcjax)
        if isinstance(kernel, Exception):
            raise kernel
        assert kernel is not None
        for direction in DIRECTIONS:
            allocation = allocated(case, kernel, direction, usual=usual)
            if allocation is not None:
                yield allocation


def cases(sizes: str) -> Iterator[Case]:
    """All cases, except gradients that are the reverse direction of other cases, as in the kernel table."""
    for case in all_cases(sizes):
        if case.groups not in ((kernels.GROUP,), (gradients.GROUP,)) or not case.family.endswith("_gradient"):
            yield case


def verdict(allocation: Allocation) -> str:
    """``ok``, ``contract`` if it is broken, or ``known`` if that exception is listed."""
    if allocation.holds:
        return "ok"
    return "known" if (allocation.case, allocation.direction) in KNOWN else "contract"


def row(allocation: Allocation) -> tuple[str, ...]:
    """The line of the table for one case in one direction."""
    sizes = (allocation.temporary, allocation.moved, allocation.named, allocation.limit, allocation.usual)
    return (allocation.case, allocation.direction, *map(_megabytes, sizes), verdict(allocation))


def _print_kept(file: Path, names: Sequence[str]) -> int:
    try:
        print(markdown(kept(file), names))
    except (LookupError, OSError) as problem:
        print(f"bench.memory: {problem}", file=sys.stderr)
        return 2
    return 0


def kept(file: Path) -> list[Allocation]:
    """What ``--json`` wrote. Raises `LookupError` for any other file."""
    return kept_by("bench.memory", file, "allocations", Allocation)[1]


def markdown(allocations: Sequence[Allocation], names: Sequence[str]) -> str:
    """One row for each case of these families: the temporaries by direction, and those of the usual hand-written form.

    Raises `LookupError` for an unknown family.
    """
    rows = ["| case | arguments, results | forward | usual | ahead | usual | reverse | usual |", f"|---|{'---:|' * 7}"]
    for name in names:
        cases = dict.fromkeys(a.case for a in allocations if name in (a.case, a.case.partition("/")[0]))
        if not cases:
            raise LookupError(f"no case is called `{name}`")
        rows += [_kept_row([a for a in allocations if a.case == case]) for case in cases]
    return "\n".join(rows)


def _kept_row(allocations: Sequence[Allocation]) -> str:
    by_direction = {allocation.direction: allocation for allocation in allocations}
    cells = [f"`{allocations[0].case}`", _megabytes(allocations[0].moved)]
    for direction in DIRECTIONS:
        allocation = by_direction.get(direction)
        cells += ["-", "-"] if allocation is None else map(_megabytes, (allocation.temporary, allocation.usual))
    return f"| {' | '.join(cells)} |"


def _megabytes(size: int) -> str:
    return "-" if size < 0 else f"{size / 1e6:.1f}"


if __name__ == "__main__":
    sys.exit(main())
