"""``python -m bench.gallery``: checks, draws and times programs of the gallery and their gradients."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np

from tcjax import gallery

from . import report
from .cases import Case
from .cases.gradients import gradient
from .harness import CaseResult, keep_pages, measure

# The derivative of a sum over millions of positions, in float32, in a different order.
FULL_TOLERANCE = 10


def main(arguments: list[str] | None = None) -> int:
    """Prints the checks that fail and one table of times; 0 when all checks hold."""
    parser = argparse.ArgumentParser(prog="python -m bench.gallery", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs, as `tcjax gallery` lists them (all)")
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each form (0.5)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="draw NAME.png for each program into FOLDER")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--checks-only", action="store_true", help="do not measure")
    options = parser.parse_args(arguments)
    keep_pages()
    wrong: list[str] = []
    results: list[CaseResult] = []
    for entry in [gallery.entry(name) for name in options.names] or gallery.entries():
        program = gallery.load(entry.name)
        checked = program.check()
        if not checked.holds:
            wrong.append(f"{entry.name}\n{checked}")
        print(f"{entry.name}: {'all is well' if checked.holds else 'WRONG'}", file=sys.stderr, flush=True)
        if options.pictures is not None:
            options.pictures.mkdir(parents=True, exist_ok=True)
            # Without the version of matplotlib, so that files are reproducible on one machine.
            program.figure().savefig(options.pictures / f"{entry.name}.png", metadata={"Software": None})
        for case in () if options.checks_only else cases(entry.name, program):
            results.append(measure(case, program_of(case), seconds=options.seconds))
            print("  ".join(report.row(results[-1])), file=sys.stderr, flush=True)
            print(report.forms_listing(results[-1]), file=sys.stderr, flush=True)
            # A full run takes long: an interruption keeps the results so far.
            if options.json is not None:
                kept = report.as_json(results, [], "full")
                options.json.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if results:
        print(report.table([report.row(result) for result in results], report.HEADER))
        print(f"\n{report.summary(results)}")
    print("\n\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


def cases(name: str, program: gallery.Program) -> Iterator[Case]:
    """A program at its full size, and its gradient if it has one."""
    oracle = next(iter(program.by_hand))

    def reference(*arrays):
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, jax.jit(program.by_hand[oracle])(*arrays))

    case = Case(
        name=f"{name}/full",
        text="",
        make_arrays=lambda rng: program.arrays("full"),
        reference=reference,
        forms=program.by_hand,
        tolerance=FULL_TOLERANCE * program.tolerance,
        compose=lambda library: program.function,
        peers={peer: _peer(function) for peer, function in program.peers.items()},
        groups=("gallery",),
    )
    yield case
    if program.gradient:
        results = jax.tree.leaves(jax.eval_shape(program.function, *program.arrays("full")))
        weights = sum(jax.numpy.issubdtype(result.dtype, jax.numpy.floating) for result in results)
        yield gradient(replace(case, peers={}), oracle, weights=weights, places=program.gradient)


def program_of(case: Case):
    """The program of a case, or its gradient."""
    assert case.compose is not None
    return case.compose({"": None})


def _peer(function):
    return lambda *arrays: lambda: function(*arrays)


if __name__ == "__main__":
    sys.exit(main())
