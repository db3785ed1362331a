"""A mixture of experts computed sparsely and densely: ``python -m bench.experts``.

The best of a few runs in CPU time, which other work on the machine affects little; and XLA's temporary bytes.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tcjax.linen as tnn

# Inputs, features, hidden features, experts.
SIZES = [(16, 64, 256, 8), (128, 64, 256, 8), (1024, 64, 256, 8), (1024, 64, 256, 32)]

NAMES = ("gate", "up", "up_bias", "down", "down_bias")

Parameters = tuple[jax.Array, ...]


def parameters(inputs: int, features: int, hidden: int, experts: int) -> Parameters:
    """Inputs, the gate, and the two matrices and offsets of each expert."""
    shapes = [(inputs, features), (features, experts)]
    shapes += [(experts, features, hidden), (experts, hidden), (experts, hidden, features), (experts, features)]
    rng = np.random.default_rng(0)
    return tuple(jnp.asarray(rng.normal(size=shape) / shape[-2] ** 0.5, jnp.float32) for shape in shapes)


def forms(*, sparse: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The outputs, and the gradient of their sum with respect to all arguments."""

    def forward(x: jax.Array, *given: jax.Array) -> jax.Array:
        learned: dict[str, jax.Array] = dict(zip(NAMES, given, strict=True))
        layer = tnn.MixtureOfExperts(*learned["up_bias"].shape, top_k=2, sparse=sparse)
        outputs: Any = layer.apply({"params": learned}, x)
        return outputs

    return forward, jax.grad(lambda *given: jnp.sin(forward(*given)).sum(), argnums=range(6))


def measure(function: Callable[..., Any], given: Parameters, runs: int) -> tuple[float, float]:
    """CPU milliseconds of a call, and MiB of temporaries."""
    compiled = jax.jit(function).lower(*given).compile()
    jax.block_until_ready(compiled(*given))
    times = []
    for _ in range(runs):
        start = time.process_time()
        jax.block_until_ready(compiled(*given))
        times.append(time.process_time() - start)
    memory: Any = compiled.memory_analysis()
    return 1e3 * min(times), memory.temp_size_in_bytes / 2**20


def rows(runs: int) -> Iterator[str]:
    """Two lines for each size: the outputs, and the gradient."""
    for size in SIZES:
        given = parameters(*size)
        for what, sparse, dense in zip(("forward", "gradient"), forms(sparse=True), forms(sparse=False), strict=True):
            (fast, small), (slow, large) = measure(sparse, given, runs), measure(dense, given, runs)
            yield (
                f"{size!s:22} {what:8}  sparse {fast:7.2f} ms {small:6.1f} MiB"
                f"   dense {slow:7.2f} ms {large:6.1f} MiB   {fast / slow:.2f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="for each size and way (default: 10)")
    for row in rows(parser.parse_args().runs):
        print(row, flush=True)


if __name__ == "__main__":
    main()
