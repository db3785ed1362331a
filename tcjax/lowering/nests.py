"""The primitive: one reduction of index notation, closed under JAX's transformations."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from .. import ir
from ..diagnostics import Code, CompileError
from ..planning.batching import anonymous, batched
from ..planning.domains import parts
from ..planning.forms import Form, are_costly, choose, within
from ..planning.nests import Nest, Operand
from ..planning.nodes import LoopNest, Node
from ..planning.pallas_rule import prefers_pallas
from ..planning.preferences import Backend
from ..planning.sieves import plan_sieve
from ..planning.streams import plan_alone, plan_stream, turned
from ..planning.ties import search_of
from .apart import as_stored
from .blocks import lower_stream
from .context import Context, Lower, transpose
from .derived import with_derivatives
from .elementwise import convert
from .formulas import COTANGENT, RESULT, Runner, found_beside, tangent_name, tangent_of
from .placing import placed
from .sieves import run_sieve
from .stores import lower_fill_value
from .varying import equally_varying

Foreign = tuple[tuple[str, Callable[..., object]], ...]

nest_p = jax.extend.core.Primitive("tcjax")


def lower_nest(node: LoopNest, context: Context, lower: Lower) -> jax.Array:
    """The nest of the arrays at hand, as one operation."""
    views, computed = dict(node.views), dict(node.computed)

    def array(operand: Operand) -> jax.Array:
        name = operand.name
        if name in computed:
            return jnp.broadcast_to(lower(computed[name], context), operand.shape)
        return context.viewed(views[name].tensor, views[name].views) if name in views else context.arrays[name]

    arrays = list(map(array, node.nest.operands))
    return bind(arrays, node.nest, node.form, context.foreign, node.backend)


def bind(
    arrays: Sequence[jax.Array], nest: Nest, form: Form, foreign: Mapping[str, Callable[..., object]], backend: Backend
) -> Any:
    """The primitive applied; `arrays` are the operands in order."""
    called = tuple(sorted(foreign.items()))
    run = functools.partial(nest_p.bind, nest=nest, form=form, foreign=called, backend=backend)
    return placed(run, equally_varying(arrays), [nest], [operand.name for operand in nest.operands])


def _node(node: Node, context: Context) -> jax.Array:
    from .lower import lower_node

    return lower_node(node, context)


def _named(arrays: Sequence[Any], nest: Nest) -> dict[str, Any]:
    return {operand.name: array for operand, array in zip(nest.operands, arrays, strict=True)}


_anonymous = functools.lru_cache(maxsize=1024)(anonymous)
_parts = functools.lru_cache(maxsize=1024)(parts)
_alone = functools.lru_cache(maxsize=1024)(plan_alone)
_turned = functools.lru_cache(maxsize=1024)(turned)
_stream = functools.lru_cache(maxsize=1024)(plan_stream)
_search = functools.lru_cache(maxsize=1024)(search_of)
_sieve = functools.lru_cache(maxsize=1024)(plan_sieve)


def run_plain(*arrays: jax.Array, nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> jax.Array:
    """The nest as the operations that XLA fuses where it can."""
    node = _alone(nest.computed)
    array = _node(node, Context(_named(arrays, nest), with_derivatives(dict(foreign))))
    array = jnp.broadcast_to(transpose(array, node.axes, nest.axes), nest.shape)
    return array


def run_stream(*arrays: jax.Array, nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> jax.Array:
    """The nest block after block."""
    if form.whole:
        found, layouts = _turned(nest, form)
        if layouts:
            known = _named(arrays, nest)
            arrays = tuple(as_stored(known[one.tensor], one.order) for one in layouts)
        return run_plain(*arrays, nest=found, form=form, foreign=foreign, backend=backend)
    return streamed(arrays, nest, form, foreign, backend.memory)[0]


def streamed(
    arrays: Sequence[jax.Array], nest: Nest, form: Form, foreign: Foreign, memory: int | None, results: int = 1
) -> tuple[jax.Array, ...]:
    """The nest block after block; of a place up to three `results`: itself, the value, and how many points have it."""
    axis, found_parts = _parts(nest.computed, form, memory)
    found = [_streamed(arrays, part, own, foreign, results) for part, own in found_parts]
    if axis is None:
        return found[0]
    return tuple(lax.concatenate(pieces, nest.axes.index(axis)) for pieces in zip(*found, strict=True))


def _streamed(
    arrays: Sequence[jax.Array], nest: Nest, form: Form, foreign: Foreign, results: int
) -> tuple[jax.Array, ...]:
    reduce = nest.reduce
    dtypes = (reduce.dtype, reduce.body.dtype, "int32")[:results]
    lo, hi = nest.ranges[form.loop]
    if lo == hi:
        reducers = [reduce.reducer]
        if results > 1:
            assert isinstance(reduce.reducer, ir.Reducer)
            reducers += [reduce.reducer.variant(gives_position=False), ir.Reducer.SUM]
        fills = [(reducer.empty(dtype), dtype) for reducer, dtype in zip(reducers, dtypes, strict=False)]
        return tuple(jnp.full(nest.shape, lower_fill_value(*fill)) for fill in fills)
    known, functions = _named(arrays, nest), with_derivatives(dict(foreign))
    if form.sieve:
        sieve = _sieve(nest, form.sieve)

        def run(own: Nest, given: Mapping[str, jax.Array]) -> jax.Array:
            chosen = sieve.form if own is sieve.firsts else replace(choose(own), sieve=0)
            return _streamed([given[o.name] for o in own.operands], own, chosen, foreign, 1)[0]

        found = (run_sieve(sieve, nest.axes, known, functions, run, _node),)
    else:
        found = lower_stream(_stream(nest, form), nest.axes, known, functions, _node, results)
    return tuple(convert(jnp.broadcast_to(one, nest.shape), dtype) for one, dtype in zip(found, dtypes, strict=True))


def run_cpu(*arrays: jax.Array, nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> jax.Array:
    """The nest block after block; a Pallas kernel that someone forces is interpreted."""
    if backend.name == "pallas" and (kernel := _pallas(nest, interpret=True)) is not None:
        return kernel(_named(arrays, nest))
    return run_stream(*arrays, nest=nest, form=form, foreign=foreign, backend=backend)


def _pallas(nest: Nest, *, interpret: bool) -> Callable[[Mapping[str, jax.Array]], jax.Array] | None:
    """A kernel of its own; None where none can be made."""
    # Only who wants one imports Pallas.
    from .pallas_triton import Unsupported, emit

    try:
        return emit(nest.computed, interpret=interpret)
    except Unsupported:
        return None


def run_cuda(*arrays: jax.Array, nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> jax.Array:
    """The nest as a kernel of its own, where that was asked for or is expected to win, and where one can be made."""
    wanted = backend.name == "pallas" or (backend.name == "auto" and prefers_pallas(nest)[0])
    if wanted and (kernel := _pallas(nest, interpret=False)) is not None:
        return kernel(_named(arrays, nest))
    return run_plain(*arrays, nest=nest, form=form, foreign=foreign, backend=backend)


@functools.lru_cache(maxsize=1024)
def _compiled(nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> Callable[..., jax.Array]:
    return jax.jit(functools.partial(nest_p.bind, nest=nest, form=form, foreign=foreign, backend=backend))


@nest_p.def_impl
def _(*arrays: jax.Array, nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> jax.Array:
    # The compiled function binds the primitive: traced, it is lowered; run as it stands, it would come back here.
    with jax.disable_jit(False):
        return _compiled(nest, form, foreign, backend)(*arrays)


@nest_p.def_abstract_eval
def _(*avals: Any, nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> Any:
    # Tracing gives the type, the sharding and the varying manual axes.
    traced = jax.make_jaxpr(functools.partial(run_plain, nest=nest, form=form, foreign=foreign, backend=backend))(
        *avals
    )
    return traced.out_avals[0]


mlir.register_lowering(nest_p, mlir.lower_fun(run_cpu, multiple_results=False))
# XLA:GPU fuses an elementwise body into its reduction.
mlir.register_lowering(nest_p, mlir.lower_fun(run_plain, multiple_results=False), platform="rocm")
mlir.register_lowering(nest_p, mlir.lower_fun(run_cuda, multiple_results=False), platform="cuda")


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, nest: Nest, form: Form, foreign: Foreign, backend: Backend
) -> Any:
    own = _anonymous(nest)
    moved = {
        o.name: tangent
        for o, tangent in zip(own.operands, tangents, strict=True)
        if not isinstance(tangent, ad.Zero) and tangent.dtype != jax.dtypes.float0
    }
    try:
        derivative = tangent_of(own, frozenset(moved))
    except CompileError as error:
        if error.code != Code.NO_DERIVATIVE.value:
            raise
        # JAX differentiates what index notation has no name for.
        plain = functools.partial(run_plain, nest=nest, form=form, foreign=foreign, backend=backend)
        return jax.jvp(plain, primals, [ad.instantiate_zeros(t) if isinstance(t, ad.Zero) else t for t in tangents])
    from .passes import search

    runner = Runner(foreign, backend)
    arrays: Mapping[str, Any] = _named(primals, own)
    changes = {tangent_name(name): tangent for name, tangent in moved.items()}
    result = None
    if form.whole and derivative is not None and are_costly(derivative.exprs, apart=changes):
        # XLA would compute once what the derivative needs as well, and store that for every step.
        primals = lax.optimization_barrier(list(primals))
    extrema = _search(own, backend.memory) if derivative is not None and derivative.single is not None else None
    if extrema is not None and not form.whole:
        found = search(primals, extrema, foreign, backend)
        result, arrays = found[1], {**arrays, **found_beside(found)}
    elif derivative is not None:
        # An order statistic is where its derivative is: one search finds both.
        result, arrays = runner.looked_up(derivative, arrays, own)
    if result is None:
        result = nest_p.bind(*primals, nest=nest, form=form, foreign=foreign, backend=backend)
    if derivative is None:
        return result, ad.Zero(jax.typeof(result).to_tangent_aval())
    return result, runner.derivative(derivative, {**arrays, RESULT: result, **changes}, own)


ad.primitive_jvps[nest_p] = _jvp


def _transpose(cotangent: Any, *arrays: Any, nest: Nest, form: Form, foreign: Foreign, backend: Backend) -> list[Any]:
    nest = _anonymous(nest)
    linear = {o.name: a.aval for o, a in zip(nest.operands, arrays, strict=True) if ad.is_undefined_primal(a)}
    if isinstance(cotangent, ad.Zero):
        return [ad.Zero(linear[o.name]) if o.name in linear else None for o in nest.operands]
    known = {o.name: a for o, a in zip(nest.operands, arrays, strict=True) if o.name not in linear}
    runner = Runner(foreign, backend)
    together = runner.cotangents(nest, list(linear), {**known, COTANGENT: cotangent}) if len(linear) > 1 else None
    if together is not None:
        return [together.get(o.name) for o in nest.operands]
    found: dict[str, jax.Array] = {}
    for name in linear:
        if found:
            # XLA must not compute two cotangents' shared space once, and store it.
            cotangent, *_ = lax.optimization_barrier((cotangent, *found.values()))
        found[name] = runner.cotangent(nest, name, {**known, COTANGENT: cotangent})
    return [found.get(o.name) for o in nest.operands]


ad.primitive_transposes[nest_p] = _transpose


def _batch(
    arrays: Sequence[Any],
    dimensions: Sequence[int | None],
    *,
    nest: Nest,
    form: Form,
    foreign: Foreign,
    backend: Backend,
) -> Any:
    varying = [dimension is not None for dimension in dimensions]
    size = next(a.shape[d] for a, d in zip(arrays, dimensions, strict=True) if d is not None)
    arrays = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(arrays, dimensions, strict=True)]
    wide = batched(nest, varying, size)
    form = replace(within(choose(wide), wide, backend.memory), whole=form.whole)
    return bind(arrays, wide, form, dict(foreign), backend), 0


batching.primitive_batchers[nest_p] = _batch
