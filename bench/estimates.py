"""``python -m bench.estimates``: compares the temporary bytes that `explain` predicts with those that XLA reports.

Of every kernel of `bench.cases`, of every spelling of `bench.rewrites`, and of the programs of the gallery, forward.
Nothing is run. `explain` makes no predictions for gradients.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import tcjax

from .allocations import Specs, specs, temporaries
from .cases import SIZES, all_cases
from .report import table
from .rewrites import all_computations
from .rewrites.computation import specs as specs_of

NEAR = 0.1  # An estimate is near if it is within this share of XLA's count,
SMALLEST = 1 << 16  # or within this many bytes: XLA's own rounding and constants.
HEADER = ("group", "program", "estimate, MB", "XLA, MB", "ratio", "verdict")

# Programs of docs/gallery by name, each with the types and shapes of its arguments, from `examples/kernel_methods`.
SQUARES = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
GALLERY: dict[str, tuple[str, tuple[str, ...]]] = {
    "smoothed": (
        "def smoothed(float(N,D) x, float(M,D) y, float(M) a, float width) -> (out) "
        f"{{ out(i) = sum[j](exp(-{SQUARES} / (2 * width() * width())) * a(j)) }}",
        ("float32[4000,8]", "float32[6000,8]", "float32[6000]", "float32[]"),
    ),
    "classify": (
        "def classify(float(N,D) x, float(M,D) y, int32(M) label) -> (guess) {"
        f"  near(i,r) = argmink[j]({SQUARES}, r) where r in 0:5"
        "  votes(i,c) +=! label(near(i,r)) == c ? 1 : 0 where c in 0:10"
        "  guess(i) argmax=! votes(i,c) }",
        ("float32[900,64]", "float32[898,64]", "int32[898]"),
    ),
    "objective": (
        "E() +=! min[c](sum[d]((x(i,d) - centre(c,d)) * (x(i,d) - centre(c,d))))",
        ("float32[20000,13]", "float32[64,13]"),
    ),
    "nearest": (
        "which(i) argmin=! sum[d]((x(i,d) - centre(c,d)) * (x(i,d) - centre(c,d)))",
        ("float32[20000,13]", "float32[64,13]"),
    ),
    "chamfer": (
        "def chamfer(float(N,D) x, float(M,D) y) -> (distance) {"
        f"  distance() = sum[i](min[j]({SQUARES})) / N + sum[j](min[i]({SQUARES})) / M }}",
        ("float32[1500,2]", "float32[1500,2]"),
    ),
    "softmin": (
        "def softmin(float(N,D) x, float(M,D) y, float(M) g, float width) -> (f) {"
        f"  f(i) = -width() * logsumexp[j]((g(j) - {SQUARES}) / width()) + width() * log(M) }}",
        ("float32[4000,3]", "float32[4000,3]", "float32[4000]", "float32[]"),
    ),
    "distances": (
        "C(i,j) = sqrt(sum[d]((x(i,d) - x(j,d)) * (x(i,d) - x(j,d))))",
        ("float32[1000,4]",),
    ),
    "mismatch": (
        "cost(i,j) +=! (C(i,k) - E(j,l)) * (C(i,k) - E(j,l)) * T(k,l)",
        ("float32[60,60]", "float32[60,60]", "float32[60,60]"),
    ),
    "balance": ("f(i) = -logsumexp[j](K(i,j) + g(j))", ("float32[1000,1000]", "float32[1000]")),
    "energy": (
        "def energy(float(N) m, float(N,D) q, float(N,D) p) -> (H) {"
        "  H() = sum[i,d](p(i,d) * p(i,d) / (2 * m(i))) - 0.01 * sum[i, j where j < i]"
        "(m(i) * m(j) / sqrt(sum[d]((q(i,d) - q(j,d)) * (q(i,d) - q(j,d))))) }",
        ("float32[2000]", "float32[2000,3]", "float32[2000,3]"),
    ),
    "alibi": (
        "def alibi(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V, float(H) slope) -> (out) {"
        "  score(h,q,k) = sum[d](Q(h,q,d) * K(h,k,d)) / sqrt(float(D)) - slope(h) * (q - k)"
        "  total(h,q) = logsumexp[k where k <= q](score(h,q,k))"
        "  out(h,q,e) = sum[k where k <= q](exp(score(h,q,k) - total(h,q)) * V(h,k,e)) }",
        ("float32[4,1024,16]", "float32[4,1024,16]", "float32[4,1024,16]", "float32[4]"),
    ),
    "sliding": (
        "def sliding(float(H,T,D) Q, float(H,T,D) K, float(H,T,E) V, int32 window) -> (out) {"
        "  score(h,q,k) = sum[d](Q(h,q,d) * K(h,k,d)) / sqrt(float(D))"
        "  total(h,q) = logsumexp[k where k <= q && q < k + window()](score(h,q,k))"
        "  out(h,q,e) = sum[k where k <= q && q < k + window()](exp(score(h,q,k) - total(h,q)) * V(h,k,e)) }",
        ("float32[4,1024,16]", "float32[4,1024,16]", "float32[4,1024,16]", "int32[]"),
    ),
}


@dataclass(frozen=True, slots=True)
class Foretold:
    """The temporary bytes of one program: as `explain` predicts, and as XLA reports."""

    group: str
    program: str
    estimate: int = 0
    counted: int = 0
    problem: str = ""

    @property
    def is_near(self) -> bool:
        """Whether the estimate is near enough."""
        return not self.problem and abs(self.estimate - self.counted) <= max(NEAR * self.counted, SMALLEST)


def main(arguments: list[str] | None = None) -> int:
    """Prints a line for each program whose estimate is not near, and how many are."""
    parser = argparse.ArgumentParser(prog="python -m bench.estimates", description=__doc__)
    parser.add_argument("names", nargs="*", help="families, computations or `gallery` (all)")
    parser.add_argument("--sizes", choices=SIZES, default="full", help="the sizes of cases and computations (full)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every program to FILE")
    options = parser.parse_args(arguments)
    found: list[Foretold] = []
    for group, program, text, given in programs(options.sizes):
        if options.names and group not in options.names and program.partition("/")[0] not in options.names:
            continue
        found.append(foretold(group, program, text, given))
        print("  ".join(row(found[-1])), file=sys.stderr, flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    print(table([row(one) for one in found if not one.is_near], HEADER))
    print(summary(found))
    return 0


def programs(sizes: str) -> Iterator[tuple[str, str, Any, Specs]]:
    """The group and the name of every program, the program, and the shapes of its arguments."""
    for name, (text, arguments) in GALLERY.items():
        yield "gallery", name, text, tuple(map(_spec, arguments))
    for computation in all_computations("small" if sizes == "tiny" else sizes):
        given = specs_of(computation.arrays())
        for spelling, text in computation.spellings.items():
            yield computation.name, spelling, text, given
    for case in all_cases(sizes):
        if case.compose is None:
            yield "cases", case.name, case.text, specs(case)


def foretold(group: str, program: str, text: Any, given: Specs) -> Foretold:
    """The bytes of a program for arguments of these shapes."""
    try:
        kernel: Any = tcjax.kernel(text)
        estimate = kernel.explain(*given).to_dict()["temporary_bytes"]
        counted = temporaries(kernel, given, "forward")
    except Exception as problem:  # A failing program becomes a line of the table and does not end the run.
        return Foretold(group, program, problem=f"{type(problem).__name__}: {problem}"[:200])
    assert counted is not None
    return Foretold(group, program, estimate, counted[0])


def row(one: Foretold) -> tuple[str, ...]:
    """The line of the table."""
    ratio = f"{one.estimate / one.counted:.2f}" if one.counted else "-"
    sizes = (f"{count / 1e6:.3f}" for count in (one.estimate, one.counted))
    return (one.group, one.program, *sizes, ratio, one.problem or ("near" if one.is_near else "far"))


def summary(found: Sequence[Foretold]) -> str:
    """How many estimates are near, for each kind of program."""
    kinds = {"gallery": "gallery", "cases": "cases"}
    parts: dict[str, list[Foretold]] = {}
    for one in found:
        parts.setdefault(kinds.get(one.group, "rewrites"), []).append(one)
    return "\n".join(_share(kind, own) for kind, own in {**parts, "all": found}.items() if own)


def _share(kind: str, found: Iterable[Foretold]) -> str:
    every = list(found)
    near = sum(one.is_near for one in every)
    return f"{kind}: {near} of {len(every)} estimates are near ({100 * near / len(every):.0f} %)"


def _spec(text: str) -> jax.ShapeDtypeStruct:
    dtype, _, shape = text.rstrip("]").partition("[")
    return jax.ShapeDtypeStruct(tuple(int(part) for part in shape.split(",") if part), jnp.dtype(dtype))


if __name__ == "__main__":
    sys.exit(main())
