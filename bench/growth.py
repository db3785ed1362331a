"""``python -m bench.growth growth.json -o memory.svg``: temporaries of a kernel sum as the number of points grows.

The sum of ``exp(-|x_i - y_j|^2) b_j`` over N x N pairs, forward and with the gradient, compared with the usual
hand-written form. ``--json FILE`` compiles every size, runs none, and writes the memory that XLA reports.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from . import svg
from .allocations import Allocation, allocated
from .cases import pairwise
from .records import made
from .report import environment, kept_by

POINTS: Final = (512, 1024, 2048, 4096, 8192, 16384, 32768)
DIRECTIONS: Final = {"forward": "", "reverse": " gradient"}
LEFT, RIGHT, TOP, BOTTOM = 62, 298, 62, 300


def main(arguments: list[str] | None = None) -> int:
    """Compiles and writes, or draws; 2 for a file of another kind."""
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="what `python -m bench.growth --json FILE` wrote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="compile all sizes and write what they allocate")
    parser.add_argument("-o", "--output", type=Path, metavar="SVG")
    options = parser.parse_args(arguments)
    try:
        if options.json is not None:
            rows = [asdict(measured(points, direction)) for points in POINTS for direction in DIRECTIONS]
            kept = {"environment": environment("growing"), "allocations": rows}
            options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        if options.output is not None and options.file is not None:
            options.output.write_text(picture(*read(options.file)), encoding="utf-8")
    except LookupError as problem:
        print(f"bench.growth: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"bench.growth: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    return 0


def measured(points: int, direction: str) -> Allocation:
    """What the kernel sum over all pairs of N points allocates."""
    import tcjax

    case = next(iter(pairwise.kernel_sum(points, points, 3)))
    found = allocated(case, tcjax.kernel(case.text), direction, usual=True)
    assert found is not None
    return found


def read(file: Path) -> tuple[dict[str, str], list[Allocation]]:
    """The machine, and a row for each size and direction. Raises `LookupError` for any other file."""
    return kept_by("bench.growth", file, "allocations", Allocation)


def points_of(allocation: Allocation) -> int:
    """N of ``rbf/NxNx3``."""
    return int(allocation.case.partition("/")[2].partition("x")[0])


def picture(said: dict[str, str], allocations: Sequence[Allocation]) -> str:
    """SVG: megabytes against points, both logarithmic."""
    points = sorted({points_of(each) for each in allocations})
    sizes = [size for each in allocations for size in (each.temporary, each.usual)]
    low, high = math.floor(math.log10(min(sizes))), math.ceil(math.log10(max(sizes)))

    def across(count: int) -> float:
        return LEFT + (RIGHT - LEFT) * math.log(count / points[0]) / math.log(points[-1] / points[0])

    def up(size: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (math.log10(size) - low) / (high - low)

    parts = [
        svg.text(12, 20, "memory for N x N pairs of points", "head"),
        svg.text(12, 42, "temporaries, without arguments and results", "faint"),
    ]
    for power in range(low, high + 1):
        parts.append(svg.line((LEFT, up(10.0**power)), (RIGHT, up(10.0**power))))
        parts.append(svg.text(LEFT - 8, up(10.0**power) + 4, _size(10**power), "faint", anchor="end"))
    for count in points[::2]:
        parts.append(svg.text(across(count), BOTTOM + 18, str(count), "faint", anchor="middle"))
    parts.append(svg.text(RIGHT + 24, BOTTOM + 18, "points N", "faint"))
    # Labels at the ends of the lines, from the top, at least a line of text apart.
    ends: list[tuple[float, str]] = []
    for direction, name in DIRECTIONS.items():
        rows = sorted((each for each in allocations if each.direction == direction), key=points_of)
        for kind, pick in (("usual", lambda each: each.usual), ("tcjax", lambda each: each.temporary)):
            drawn = [(across(points_of(each)), up(max(pick(each), 10**low))) for each in rows]
            parts.append(svg.curve(drawn, kind + name))
            ends.append((drawn[-1][1], f"{kind}{name}"))
    bottom = -math.inf
    for y, name in sorted(ends):
        bottom = max(y + 4, bottom + 15)
        parts.append(svg.text(RIGHT + 8, bottom, name))
    parts.append(svg.text(12, BOTTOM + 44, made(said), "faint"))
    return svg.document(f"Temporaries of a sum over pairs of points: {made(said)}", BOTTOM + 54, parts)


def _size(count: int) -> str:
    """``1 MB``."""
    for unit, least in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= least:
            return f"{count // least} {unit}"
    return f"{count} B"


if __name__ == "__main__":
    sys.exit(main())
