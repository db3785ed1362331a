"""Scheduled statements: loops over tiles, with the required parts of other statements computed inside."""

from collections.abc import Callable, Iterator, Mapping
from typing import assert_never

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..planning.data.stages import Begin, Cast, Compute, Loop, Tiled, TiledStep
from ..symbolic import IndexVar
from .blocked_loop import over_blocks
from .context import Context, Lower, numeric
from .elementwise import convert
from .padding import padded
from .primitive import fused
from .reads import pad
from .stores import lower_store

Foreign = Mapping[str, Callable[..., object]]
Arrays = dict[str, jax.Array]
Steps = Mapping[IndexVar, int | jax.Array]


def lower_tiled(stage: Tiled, arrays: Mapping[str, jax.Array], foreign: Foreign, lower: Lower) -> jax.Array:
    """The target after all tiles."""
    kernel = stage.kernel
    if kernel is None:
        return _in_loops(stage, arrays, foreign, lower)

    def at_once(known: Arrays) -> jax.Array:
        return convert(fused(kernel, Context(known, foreign), lower)[0], stage.dtype)

    def in_loops(known: Arrays) -> jax.Array:
        return _in_loops(stage, known, foreign, lower)

    return lax.platform_dependent(dict(arrays), cuda=at_once, default=in_loops)


def _in_loops(stage: Tiled, arrays: Mapping[str, jax.Array], foreign: Foreign, lower: Lower) -> jax.Array:
    known = dict(arrays)
    old = known.pop(stage.target, None) if stage.keeps else None
    room = [wide - extent for wide, extent in zip(stage.padded, stage.shape, strict=True)]
    if old is not None:
        known[stage.target] = pad(old, [0] * len(room), room)
    elif not isinstance(stage.steps[0], Begin):
        known[stage.target] = jnp.zeros(stage.padded, numeric(stage.dtype))
    run = _Run(foreign, lower, _padded(stage, arrays))
    result = run.steps(stage.steps, known, {})[stage.target]
    return lax.slice(result, [0] * result.ndim, stage.shape) if any(room) else result


class _Run:
    """The loops of one stage; `padded` are the tensors that tiles read beyond their ends, padded once for all."""

    def __init__(self, foreign: Foreign, lower: Lower, padded: Mapping[str, tuple[jax.Array, tuple[int, ...]]]) -> None:
        self.foreign = foreign
        self.lower = lower
        self.padded = padded

    def steps(self, steps: tuple[TiledStep, ...], arrays: Arrays, at: Steps) -> Arrays:
        """The arrays after the steps."""
        arrays = dict(arrays)
        for step in steps:
            match step:
                case Begin(compute, keeps):
                    if keeps and compute.target in arrays:
                        arrays[compute.target] = convert(arrays[compute.target], compute.dtype)
                    else:
                        arrays[compute.target] = self.computed(compute, arrays, at)
                case Cast(target, dtype):
                    arrays[target] = convert(arrays[target], dtype)
                case Compute():
                    arrays[step.target] = self.computed(step, arrays, at)
                case Loop():
                    arrays.update(self.loop(step, arrays, at))
                case _:
                    assert_never(step)
        return arrays

    def computed(self, stage: Compute, arrays: Arrays, at: Steps) -> jax.Array:
        context = Context(arrays, self.foreign, at, self.padded)
        value = self.lower(stage.value, context)
        return lower_store(stage, value, arrays.get(stage.target), context, self.lower)

    def loop(self, loop: Loop, arrays: Arrays, at: Steps) -> Arrays:
        """The arrays that existed before, after the iterations."""
        carried = {name: arrays[name] for name in sorted(_written(loop.body)) if name in arrays}

        def body(number: jax.Array, carry: Arrays) -> Arrays:
            after = self.steps(loop.body, {**arrays, **carry}, {**at, loop.index: number})
            return {name: after[name] for name in carry}

        if loop.extent == 1:
            return body(jnp.int32(0), carried)
        return over_blocks(body, carried, (np.int32(0), np.int32(loop.extent)), arrays)


def _written(steps: tuple[TiledStep, ...]) -> Iterator[str]:
    for step in steps:
        match step:
            case Begin(compute):
                yield compute.target
            case Loop(body=body):
                yield from _written(body)
            case _:
                yield step.target


def _padded(stage: Tiled, arrays: Mapping[str, jax.Array]) -> dict[str, tuple[jax.Array, tuple[int, ...]]]:
    """The outer tensors that a tile reads beyond their ends, with enough zeros for all such reads."""
    computed = {compute.target for compute, _ in stage.computes()}
    roots = (
        node
        for compute, _ in stage.computes()
        for node in (compute.value, compute.store.mask, compute.store.weight)
        if node is not None
    )
    return padded({name: array for name, array in arrays.items() if name not in computed}, roots)
