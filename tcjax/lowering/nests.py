"""One reduction of index notation: block after block, as operations that XLA fuses, or as a kernel of its own."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax

from .. import ir
from ..planning.domains import parts
from ..planning.forms import Form, choose
from ..planning.nests import Nest
from ..planning.pallas_rule import prefers_pallas
from ..planning.preferences import Backend
from ..planning.scope import identity
from ..planning.sieves import plan_sieve
from ..planning.streams import plan_alone, plan_stream, turned
from .apart import as_stored
from .blocks import lower_stream
from .context import Context, Lower, transpose
from .elementwise import convert
from .sieves import run_sieve
from .stores import lower_fill_value

_parts = functools.lru_cache(maxsize=1024)(parts)
_alone = functools.lru_cache(maxsize=1024)(plan_alone)
_turned = functools.lru_cache(maxsize=1024)(turned)
_stream = functools.lru_cache(maxsize=1024)(plan_stream)
_sieve = functools.lru_cache(maxsize=1024)(plan_sieve)


def run_plain(nest: Nest, context: Context, lower: Lower) -> jax.Array:
    """The nest as the operations that XLA fuses where it can; the arrays of `context` are its operands."""
    node = _alone(nest.computed)
    array = lower(node, context)
    return jnp.broadcast_to(transpose(array, node.axes, nest.axes), nest.shape)


def run_on_cpu(nest: Nest, form: Form, context: Context, lower: Lower, backend: Backend) -> jax.Array:
    """The nest block after block; a Pallas kernel that someone forces is interpreted."""
    if backend.name == "pallas" and (kernel := _pallas(nest, interpret=True)) is not None:
        return kernel(context.arrays)
    if not form.whole:
        return streamed(nest, form, context, lower, backend.memory)[0]
    found, layouts = _turned(nest, form)
    if layouts:
        arrays = (as_stored(context.arrays[one.tensor], one.order) for one in layouts)
        context = Context(dict(zip((o.name for o in found.operands), arrays, strict=True)), context.foreign)
    return run_plain(found, context, lower)


def run_on_cuda(nest: Nest, context: Context, lower: Lower, backend: Backend) -> jax.Array:
    """The nest as a kernel of its own, where that was asked for or is expected to win, and where one can be made."""
    wanted = backend.name == "pallas" or (backend.name == "auto" and prefers_pallas(nest)[0])
    if wanted and (kernel := _pallas(nest, interpret=False)) is not None:
        return kernel(context.arrays)
    return run_plain(nest, context, lower)


def streamed(
    nest: Nest, form: Form, context: Context, lower: Lower, memory: int | None, results: int = 1
) -> tuple[jax.Array, ...]:
    """The nest block after block; of a place up to three `results`: itself, the value, and how many points have it."""
    axis, found_parts = _parts(nest.computed, form, memory)
    found = [_streamed(part, own, context, lower, results) for part, own in found_parts]
    if axis is None:
        return found[0]
    return tuple(lax.concatenate(pieces, nest.axes.index(axis)) for pieces in zip(*found, strict=True))


def _streamed(nest: Nest, form: Form, context: Context, lower: Lower, results: int) -> tuple[jax.Array, ...]:
    reduce = nest.reduce
    dtypes = (reduce.dtype, reduce.body.dtype, "int32")[:results]
    lo, hi = nest.ranges[form.loop]
    if lo == hi:
        extremum = ir.Reducer.MIN if reduce.reducer is ir.Reducer.ARGMIN else ir.Reducer.MAX
        reducers = reduce.reducer, extremum, ir.Reducer.SUM
        fills = [(identity(reducer, dtype), dtype) for reducer, dtype in zip(reducers, dtypes, strict=False)]
        return tuple(jnp.full(nest.shape, lower_fill_value(*fill)) for fill in fills)
    if form.sieve:
        sieve = _sieve(nest, form.sieve)

        def run(own: Nest, given: Mapping[str, jax.Array]) -> jax.Array:
            chosen = sieve.form if own is sieve.firsts else replace(choose(own), sieve=0)
            return _streamed(own, chosen, Context(given, context.foreign), lower, 1)[0]

        found = (run_sieve(sieve, nest.axes, context.arrays, context.foreign, run, lower),)
    else:
        found = lower_stream(_stream(nest, form), nest.axes, context.arrays, context.foreign, lower, results)
    return tuple(convert(jnp.broadcast_to(one, nest.shape), dtype) for one, dtype in zip(found, dtypes, strict=True))


def _pallas(nest: Nest, *, interpret: bool) -> Callable[[Mapping[str, jax.Array]], jax.Array] | None:
    """A kernel of its own; None where none can be made."""
    # Only who wants one imports Pallas.
    from .pallas_triton import Unsupported, emit

    try:
        return emit(nest.computed, interpret=interpret)
    except Unsupported:
        return None
