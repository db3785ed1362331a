"""Models made of comprehensions or of plain Flax layers, and a training step of each, timed side by side.

Both are made by the same code from the same random numbers. Their steps alternate, and what counts is the median ratio
of the processor times of neighbouring steps, so other work on the machine affects both alike.
"""

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import tcjax.nn
from examples.layers.characters import SIZES, Writer

from .layers import Row

Make = Callable[[ModuleType], tuple[nnx.Module, tuple[jax.Array, ...]]]


def normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def perceptron(room: ModuleType) -> tuple[nnx.Module, tuple[jax.Array, ...]]:
    """Two dense layers with a layer norm between them."""
    rngs = nnx.Rngs(0)
    first, last = room.Linear(256, 1024, rngs=rngs), room.Linear(1024, 256, rngs=rngs)
    return nnx.Sequential(first, room.LayerNorm(1024, rngs=rngs), nnx.relu, last), (normal(256, 256),)


def pictures(room: ModuleType) -> tuple[nnx.Module, tuple[jax.Array, ...]]:
    """Convolutions with batch norm, group norm and max pooling."""
    rngs = nnx.Rngs(0)

    def pool(x: jax.Array) -> jax.Array:
        return room.max_pool(x, (2, 2), (2, 2))

    layers = [
        room.Conv(3, 32, (3, 3), rngs=rngs),
        room.BatchNorm(32, rngs=rngs),
        nnx.relu,
        pool,
        room.Conv(32, 64, (3, 3), rngs=rngs),
        room.GroupNorm(64, 8, rngs=rngs),
        nnx.relu,
        pool,
    ]
    return nnx.Sequential(*layers), (normal(16, 32, 32, 3),)


class Block(nnx.Module):
    """One transformer block, with embeddings shared by its input and its output."""

    def __init__(self, room: ModuleType, width: int, heads: int) -> None:
        rngs = nnx.Rngs(0)
        self.embed = room.Embed(100, width, rngs=rngs)
        self.norms = nnx.List([room.RMSNorm(width, rngs=rngs) for _ in range(2)])
        self.attention = room.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.up, self.down = room.Linear(width, 4 * width, rngs=rngs), room.Linear(4 * width, width, rngs=rngs)

    def __call__(self, letters: jax.Array) -> jax.Array:
        x = self.embed(letters)
        x = x + self.attention(self.norms[0](x), is_causal=True)
        x = x + self.down(nnx.gelu(self.up(self.norms[1](x))))
        return self.embed.attend(x)


def transformer(room: ModuleType) -> tuple[nnx.Module, tuple[jax.Array, ...]]:
    """Embeddings, causal attention and a feed-forward network."""
    letters = jnp.asarray(np.random.default_rng(0).integers(0, 100, (16, 128)))
    return Block(room, 128, 4), (letters,)


def characters(size: str, dtype: str) -> Make:
    """The character-level transformer of ``examples/layers``, trained with gradient checkpointing."""

    def make(room: ModuleType) -> tuple[nnx.Module, tuple[jax.Array, ...]]:
        shape = SIZES[size].batch, SIZES[size].context
        letters = jnp.asarray(np.random.default_rng(0).integers(0, 96, shape))
        return Writer(SIZES[size], jnp.dtype(dtype), plain=room is nnx), (letters,)

    make.__name__ = f"characters/{size}/{dtype}"
    return make


MODELS: tuple[Make, ...] = (
    perceptron,
    pictures,
    transformer,
    *(characters(size, dtype) for size in ("small", "medium") for dtype in ("float32", "bfloat16")),
)


def step_of(make: Make, room: ModuleType) -> tuple[Callable[[], None], int]:
    """A compiled training step, as a function without arguments, and the bytes of its temporary arrays."""
    model, inputs = make(room)
    adam = optax.adam(1e-3)
    graph, params, others = nnx.split(model, nnx.Param, ...)

    @jax.jit
    def step(params: Any, others: Any, state: Any, *inputs: jax.Array) -> Any:
        def loss(params: Any) -> Any:
            called = nnx.merge(graph, params, jax.tree.map(lambda array: array, others))
            return (called(*inputs) ** 2).mean(), nnx.state(called, nnx.Not(nnx.Param))

        slope, others = jax.grad(loss, has_aux=True)(params)
        updates, state = adam.update(slope, state)
        return optax.apply_updates(params, updates), others, state

    held = [params, others, adam.init(params)]
    compiled = step.lower(*held, *inputs).compile()

    def run() -> None:
        held[:] = jax.block_until_ready(compiled(*held, *inputs))

    run()
    memory: Any = compiled.memory_analysis()
    return run, memory.temp_size_in_bytes


def measured(make: Make, seconds: float) -> Row:
    """Steps of both models, in turn, for this many seconds."""
    (ours, own_bytes), (flax, flax_bytes) = step_of(make, tcjax.nn), step_of(make, nnx)
    times: list[tuple[float, float]] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        pair = []
        # Each goes first every other time.
        for run in (ours, flax) if len(times) % 2 else (flax, ours):
            start = time.process_time()
            run()
            pair.append(time.process_time() - start)
        times.append((pair[0], pair[1]) if len(times) % 2 else (pair[1], pair[0]))
    return Row(
        model=make.__name__,
        ratio=round(float(np.median([mine / theirs for mine, theirs in times])), 4),
        flax_seconds=round(float(np.median([theirs for _, theirs in times])), 7),
        steps=len(times),
        temporary=own_bytes,
        flax_temporary=flax_bytes,
    )
