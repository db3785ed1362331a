"""``python -m bench.layers``: training steps of models whose layers are comprehensions, against plain Flax.

Times are processor times; temporary arrays are those that XLA reports for the compiled step. ``--json FILE`` keeps the
measurements, and ``python -m bench.layers FILE`` prints them as a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from .report import environment, kept_by

TARGET: Final = 1.05


@dataclass(frozen=True, slots=True)
class Row:
    """One model: the seconds of a step in Flax, the median `ratio` of ours to it, and the bytes of temporary arrays."""

    model: str
    ratio: float
    flax_seconds: float
    steps: int
    temporary: int
    flax_temporary: int


def main(arguments: list[str] | None = None) -> int:
    """Measures, or prints the table of a file; 2 for a file of another kind."""
    parser = argparse.ArgumentParser(prog="python -m bench.layers", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?", help="print what `python -m bench.layers --json FILE` wrote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the measurements")
    parser.add_argument("--seconds", type=float, default=20.0, help="time per model (default: 20)")
    options = parser.parse_args(arguments)
    try:
        if options.file is not None:
            print(table(read(options.file)))
            return 0
        rows = _measured(options.seconds)
        if options.json is not None:
            said = environment("training") | {"flax": version("flax")}
            kept = {"environment": said, "rows": [asdict(row) for row in rows]}
            options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    except LookupError as problem:
        print(f"bench.layers: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"bench.layers: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    return 0


def _measured(seconds: float) -> list[Row]:
    """Every model, each printed as soon as it is measured."""
    # Flax, Optax and Orbax: reading a file needs none of them.
    from .training import MODELS, measured

    rows: list[Row] = []
    for make in MODELS:
        rows.append(measured(make, seconds))
        print(line(rows[-1]), flush=True)
    return rows


def line(row: Row) -> str:
    """``perceptron   15.81 ms in Flax, 1.01x here (200 steps)   2.0 MiB here, 2.0 MiB in Flax``."""
    mark = "" if row.ratio <= TARGET else f", target {TARGET}x"
    return (
        f"{row.model:26} {1e3 * row.flax_seconds:8.2f} ms in Flax, {row.ratio:.2f}x here ({row.steps} steps{mark})   "
        f"{_mebibytes(row.temporary)} MiB here, {_mebibytes(row.flax_temporary)} MiB in Flax"
    )


def read(file: Path) -> list[Row]:
    """The rows of a file. Raises `LookupError` for any other file."""
    return kept_by("bench.layers", file, "rows", Row)[1]


def table(rows: Sequence[Row]) -> str:
    """A row for each model, in Markdown."""
    lines = ["| model | Flax, ms | tcjax / Flax | tcjax, MiB | Flax, MiB |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        sizes = f"{_mebibytes(row.temporary)} | {_mebibytes(row.flax_temporary)}"
        lines.append(f"| {row.model.replace('/', ', ')} | {1e3 * row.flax_seconds:.1f} | {row.ratio:.2f} | {sizes} |")
    return "\n".join(lines)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f}"


if __name__ == "__main__":
    sys.exit(main())
