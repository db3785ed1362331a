"""A single reduction, block by block: as operations that XLA fuses, or as a kernel of its own."""

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.groups import Group
from ..planning.data.kernels import Alone, InTwoStages, Nothing, Piece, Pieces
from ..planning.data.nests import Nest
from ..planning.data.vector_accumulators import VectorAccumulators
from .apart import as_stored
from .context import Context, Lower, transpose
from .elementwise import convert
from .stores import lower_fill_value
from .two_stage import lower_two_stage
from .vector_accumulators import lower_nest


def lower_alone(plan: Alone, context: Context, lower: Lower) -> jax.Array:
    """The nest as operations that XLA can fuse; its operands are the arrays of `context`."""
    if plan.layouts:
        arrays = {one.name: as_stored(context.arrays[one.tensor], one.order) for one in plan.layouts}
        context = Context(arrays, context.foreign)
    array = lower(plan.node, context)
    return jnp.broadcast_to(transpose(array, plan.node.axes, plan.axes), plan.shape)


def lower_pieces(plan: Pieces, context: Context, lower: Lower) -> tuple[jax.Array, ...]:
    """The results of a nest, block by block."""
    found = [_lower_piece(piece, context, lower) for piece in plan.pieces]
    if plan.axis is None:
        return found[0]
    axis = plan.pieces[0].axes.index(plan.axis)
    return tuple(lax.concatenate(results, axis) for results in zip(*found, strict=True))


def _lower_piece(piece: Piece, context: Context, lower: Lower) -> tuple[jax.Array, ...]:
    arrays, foreign = context.arrays, context.foreign
    match piece.loop:
        case Nothing(values):
            fills = zip(values, piece.dtypes, strict=True)
            return tuple(jnp.full(piece.shape, lower_fill_value(*fill)) for fill in fills)
        case InTwoStages() as sieved:

            def run(own: Piece, given: Mapping[str, jax.Array]) -> jax.Array:
                return _lower_piece(own, Context(given, foreign), lower)[0]

            found = (lower_two_stage(sieved, piece.axes, arrays, foreign, run, lower),)
        case loop:
            assert isinstance(loop.states, VectorAccumulators)
            found = lower_nest(loop, loop.states, piece.axes, arrays, foreign, lower, len(piece.dtypes))
    results = zip(found, piece.dtypes, strict=True)
    return tuple(convert(jnp.broadcast_to(one, piece.shape), dtype) for one, dtype in results)


def kernel_of(
    group: Group, tile: tuple[int, int] | None, *, interpret: bool
) -> Callable[[Mapping[str, jax.Array]], Sequence[jax.Array]] | None:
    """Pallas kernels for the results of a group, in tiles of these rows and columns; None if that is impossible."""
    # Pallas is imported only if it is used.
    from .pallas_triton import Unsupported, blocks_of, emit_group

    try:
        found = group.computed if isinstance(group, Nest) else group
        return emit_group(found, blocks_of(tile), interpret=interpret)
    except Unsupported:
        return None
