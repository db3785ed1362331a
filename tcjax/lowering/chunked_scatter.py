"""Statements whose values are computed and stored chunk by chunk."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax

from ..ir import Reducer
from ..planning.data.stages import Compute
from .blocked_loop import Blocks, Recomputed, reduced
from .context import Context, Lower
from .elementwise import convert
from .stores import begun, lower_store, lower_value


def lower_stage(stage: Compute, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    """The target after a statement; `old` is its content before, None if nothing has been written yet."""
    if stage.chunks is None:
        return lower_store(stage, lower_value(stage, old, context, lower), old, context, lower)
    if stage.store.combine is Reducer.SUM:
        return _in_chunks(stage, old, context, lower)

    @jax.custom_jvp
    def run(arrays: dict[str, jax.Array], old: jax.Array | None) -> jax.Array:
        return _in_chunks(stage, old, Context(arrays, context.foreign), lower)

    # Equal values share a derivative, whichever chunks they are in.
    @run.defjvp
    def _(primals: tuple[dict[str, jax.Array], jax.Array | None], tangents: object) -> tuple[jax.Array, jax.Array]:
        def whole(arrays: Mapping[str, jax.Array], old: jax.Array | None) -> jax.Array:
            here = Context(arrays, context.foreign)
            return lower_store(stage, lower(stage.value, here), old, here, lower)

        return run(*primals), jax.jvp(whole, primals, tangents)[1]

    return run(dict(context.arrays), old)


def _in_chunks(stage: Compute, old: jax.Array | None, context: Context, lower: Lower) -> jax.Array:
    chunks = stage.chunks
    assert chunks is not None
    last = chunks.rest
    blocks = Blocks(
        chunks.count,
        lambda first, u: (chunks.step, context.at({chunks.index: first + u})),
        None if last is None else lambda: (last, context),
        arrays=context.arrays,
    )
    target = convert(begun(stage, old, context, lower), stage.accumulate)
    return convert(reduced(blocks, _Scattered(lower), target), stage.dtype)


@dataclass(frozen=True)
class _Scattered(Recomputed[jax.Array, tuple[Compute, Context]]):
    """The target after the values of some chunks."""

    lower: Lower

    def after(self, state: jax.Array | None, block: tuple[Compute, Context]) -> jax.Array:
        step, at = block
        return lower_store(step, self.lower(step.value, at), state, at, self.lower)
