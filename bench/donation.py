"""``python -m bench.donation``: compares large outputs in new memory and in donated memory.

The allocator returns blocks of 32 MB and more to the system, so that every call touches new pages; a result in a
donated argument does not. It must run in a process with default allocator settings (see `harness.keep_pages`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from .overhead import Cost

EXTENT = 4096  # A float32 array of 64 MiB.
ROUNDS = 9
LIMIT = 0.5  # Limit of the ratio of donated to plain; `main` prints typical values.

TEXTS = {
    "accumulate": "def f(float(N,M) A) -> (C) {"
    " C(i,j) += 0.25*(A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) where i in 1:N-1, j in 1:M-1 }",
    "in place": "def f(float(N,M) A, float(N,M) B) -> (C) { C(i,j) = 2*A(i,j) + B(i,j) }",
    "into an old array": "def f(float(N,M) A) -> (C) {"
    " C(i,j) = A(i,j)  C(i,j) = 0.25*(A(i-1,j) + A(i+1,j) + A(i,j-1) + A(i,j+1)) where i in 1:N-1, j in 1:M-1 }",
}


@dataclass(frozen=True, slots=True)
class Reuse:
    """One program: seconds without and with donation, and how many bytes of the result are in the donated array."""

    name: str
    plain: float
    donated: float
    reused_bytes: int


def reuses(extent: int = EXTENT, rounds: int = ROUNDS) -> Iterator[Reuse]:
    """Each program without and with donation, interleaved, the best of `rounds`."""
    import tcjax

    with warnings.catch_warnings():
        # ``C += ...`` without an exclamation mark is intended here.
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        kernels = {name: tcjax.kernel(text) for name, text in TEXTS.items()}
    A = jnp.ones((extent, extent), "float32")
    accumulate, in_place, step = kernels["accumulate"], kernels["in place"], kernels["into an old array"]
    yield _compare("accumulate", lambda old: accumulate(A, C=old), A, rounds)
    yield _compare("in place", lambda old: in_place(old, A), A, rounds)
    # The kernel does not read the old array: it is an argument only for its memory.
    yield _compare("into an old array", lambda old: step(A), A, rounds)


def _compare(name: str, function: Callable[[jax.Array], Any], A: jax.Array, rounds: int) -> Reuse:
    plain = jax.jit(function, keep_unused=True).lower(A).compile()
    donated = jax.jit(function, keep_unused=True, donate_argnums=0).lower(A).compile()
    analysis = donated.memory_analysis()
    seconds: dict[Any, list[float]] = {plain: [], donated: []}
    for _ in range(rounds):
        for compiled in (plain, donated):
            old = jax.block_until_ready(jnp.copy(A))
            start = time.perf_counter()
            jax.block_until_ready(compiled(old))
            seconds[compiled].append(time.perf_counter() - start)
    reused = 0 if analysis is None else int(analysis.alias_size_in_bytes)
    return Reuse(name, min(seconds[plain]), min(seconds[donated]), reused)


def costs() -> list[Cost]:
    """The ratio of donated to plain, measured in a separate process."""
    command = [sys.executable, "-m", "bench.donation", "--json"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    found = [Reuse(**each) for each in json.loads(finished.stdout)]
    return [Cost(f"donated / plain, {r.name}", r.donated / r.plain, LIMIT, "x", _milliseconds(r)) for r in found]


def _milliseconds(reuse: Reuse) -> str:
    return f"donated {reuse.donated * 1e3:.1f} ms, plain {reuse.plain * 1e3:.1f} ms"


def main(arguments: list[str] | None = None) -> int:
    """Prints one line for each program; 0 if every result is in the donated array."""
    parser = argparse.ArgumentParser(prog="python -m bench.donation", description="what donation saves")
    parser.add_argument("--json", action="store_true", help="print data instead of lines")
    found = list(reuses())
    if parser.parse_args(arguments).json:
        fields = ("name", "plain", "donated", "reused_bytes")
        print(json.dumps([{field: getattr(reuse, field) for field in fields} for reuse in found]))
    else:
        for reuse in found:
            ratio = reuse.plain / reuse.donated
            print(f"{reuse.name:18} {_milliseconds(reuse)}, {ratio:.1f} x, {reuse.reused_bytes >> 20} MiB reused")
    return 0 if all(reuse.reused_bytes for reuse in found) else 1


if __name__ == "__main__":
    sys.exit(main())
