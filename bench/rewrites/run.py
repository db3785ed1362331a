"""``python -m bench.rewrites``: many spellings of each computation, and the best JAX by hand, in one table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from ..harness import keep_pages
from ..report import device_name, table
from . import SIZES, Computation, all_computations
from .measuring import measure
from .report import HEADER, Outcomes, as_json, rows, summary


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints the table; 0 whatever the speed of the spellings, 2 if there is no such name or file."""
    options = parse(arguments)
    measured: list[Outcomes] = []
    try:
        chosen = choose(options.names, options.spelling, options.sizes)
        _keep(options, measured)
    except LookupError as problem:
        print(f"bench.rewrites: {problem.args[0]}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"bench.rewrites: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    keep_pages()
    total = sum(len(spellings) for _, spellings in chosen)
    print(f"{device_name()}, jax {jax.__version__}, {len(chosen)} computations, {total} spellings", file=sys.stderr)
    for computation, spellings in chosen:
        measured.append(measure(computation, spellings, seconds=options.seconds, gradient=not options.forward_only))
        print("\n".join("  ".join(row) for row in rows(measured[-1])), file=sys.stderr, flush=True)
        # A full run takes long: an interruption keeps the results so far.
        _keep(options, measured)
    print(table([row for outcomes in measured for row in rows(outcomes)], HEADER))
    print(f"\n{summary(measured)}")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.rewrites", description=__doc__)
    parser.add_argument("names", nargs="*", help="computations (all)")
    parser.add_argument("--spelling", default="", metavar="PART", help="only spellings whose names have this part")
    parser.add_argument("--sizes", choices=SIZES, default="full")
    parser.add_argument("--seconds", type=float, default=0.3, help="time for each candidate and direction (0.3)")
    parser.add_argument("--forward-only", action="store_true", help="leave out the gradients")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to FILE")
    return parser.parse_args(arguments)


def choose(names: Sequence[str], part: str, sizes: str) -> list[tuple[Computation, list[str]]]:
    """The computations of these names, each with its spellings whose names have `part`.

    Raises `LookupError` for an unknown name, and if no spelling is left.
    """
    known = {computation.name: computation for computation in all_computations(sizes)}
    for name in names:
        if name not in known:
            raise LookupError(f"no computation is called `{name}`; there are {', '.join(known)}")
    found = []
    for name in dict.fromkeys(names or known):
        spellings = [spelling for spelling in known[name].spellings if part in spelling]
        if spellings:
            found.append((known[name], spellings))
    if not found:
        raise LookupError(f"no spelling of {', '.join(names or ['any computation'])} has `{part}` in its name")
    return found


def _keep(options: argparse.Namespace, measured: Sequence[Outcomes]) -> None:
    """Writes the measurements so far to the requested file."""
    if options.json is not None:
        environment = {"device": device_name(), "jax": jax.__version__, "sizes": options.sizes}
        kept = {"environment": environment, "outcomes": as_json(measured)}
        options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
