"""Overheads of a kernel: one call, the front end, and the import."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

CALLS = 500
ROUNDS = 15
FRONT_END_ROUNDS = 50
IMPORT_ROUNDS = 5

CALL_LIMIT = 1.3  # Limit, as a multiple of the call of a jitted jnp function.
FRONT_END_LIMIT = 5e-3  # Seconds from text to plan.
IMPORT_LIMIT = 0.3  # Seconds that `import tcjax` adds to `import jax`.

FRONT_END = """
import gc, time, jax, tcjax
tcjax.kernel  # imports what kernels need
jax.devices()  # Starts JAX, as the first array does.
gc.collect()  # About 40 ms for the objects of JAX, which would otherwise happen at any point.
shapes = [jax.ShapeDtypeStruct((64, 32), "float32"), jax.ShapeDtypeStruct((32, 16), "float32")]
start = time.perf_counter()
tcjax.kernel("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }").plan(*shapes)
print(time.perf_counter() - start)
"""
IMPORTS = """
import time
start = time.perf_counter()
import jax
middle = time.perf_counter()
import tcjax
tcjax.kernel  # imports what kernels need
print(middle - start, time.perf_counter() - middle)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """One cost, its limit, and whether it holds."""

    name: str
    value: float
    limit: float
    unit: str
    detail: str

    @property
    def holds(self) -> bool:
        return self.value <= self.limit


def costs(tcjax: Any) -> list[Cost]:
    """All overheads of a kernel."""
    return [call_cost(tcjax), *front_end_costs(tcjax), import_cost()]


def call_cost(tcjax: Any) -> Cost:
    """The repeated call of a tiny kernel against a jitted jnp function's, each blocked until ready."""
    kernel = tcjax.kernel("def scale_add(float(N) A, float(N) B) -> (C) { C(i) = 2.0 * A(i) + B(i) }")
    jitted = jax.jit(lambda A, B: 2.0 * A + B)
    arrays = (jnp.arange(8.0), jnp.ones(8))
    samples: dict[str, list[float]] = {"kernel": [], "jitted": []}
    for round_number in range(ROUNDS + 1):
        for name, function in (("kernel", kernel), ("jitted", jitted)):
            seconds = _seconds_per_call(function, arrays)
            if round_number:  # The first round compiles.
                samples[name].append(seconds)
    ratio = statistics.median(k / j for k, j in zip(samples["kernel"], samples["jitted"], strict=True))
    microseconds = {name: statistics.median(values) * 1e6 for name, values in samples.items()}
    detail = ", ".join(f"{name} {value:.1f} us" for name, value in microseconds.items())
    return Cost("call of a tiny kernel / jitted jnp", ratio, CALL_LIMIT, "x", detail)


def _seconds_per_call(function: Callable[..., Any], arrays: tuple[jax.Array, ...]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        function(*arrays).block_until_ready()
    return (time.perf_counter() - start) / CALLS


def front_end_costs(tcjax: Any) -> list[Cost]:
    """From the text of a matrix product to its plan: a new text each time, and the first one in a fresh process."""
    shapes = [jax.ShapeDtypeStruct((64, 32), "float32"), jax.ShapeDtypeStruct((32, 16), "float32")]
    samples = []
    for round_number in range(FRONT_END_ROUNDS):
        text = f"def mm{round_number}(float(M,K) A, float(K,N) B) -> (C) {{ C(m,n) +=! A(m,k) * B(k,n) }}"
        start = time.perf_counter()
        tcjax.kernel(text).plan(*shapes)
        samples.append(time.perf_counter() - start)
    first = statistics.median(float(_run_python(FRONT_END)[0]) for _ in range(IMPORT_ROUNDS))
    return [
        Cost("text to plan", statistics.median(samples), FRONT_END_LIMIT, "s", f"minimum {min(samples) * 1e3:.2f} ms"),
        Cost("text to plan, first after import", first, FRONT_END_LIMIT, "s", "fresh process"),
    ]


def import_cost() -> Cost:
    """What ``import tcjax`` adds to ``import jax``."""
    pairs = [tuple(map(float, _run_python(IMPORTS))) for _ in range(IMPORT_ROUNDS)]
    added = statistics.median(tcjax for _, tcjax in pairs)
    alone = statistics.median(jax_alone for jax_alone, _ in pairs)
    return Cost("import tcjax over import jax", added, IMPORT_LIMIT, "s", f"import jax {alone:.2f} s")


def _run_python(program: str) -> list[str]:
    # With bytecode, as in an installed package, even if the environment disables it; and without tuned choices.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "TCJAX_CACHE_DIR": ""}
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    return finished.stdout.split()
