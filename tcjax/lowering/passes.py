"""The primitive of a pass: several reductions over the same points at once, whose derivatives are those of each."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from ..diagnostics import Code, CompileError
from ..planning import nests as data
from ..planning.blocking import choose
from ..planning.bundle_blocks import choose_blocks, plan_bundle
from ..planning.bundles import Bundle, batched_bundle
from ..planning.extrema import Extrema, batched_extrema
from ..planning.forms import choose as choose_form
from ..planning.nodes import Group, Node, Online, Pass
from ..planning.onepass import plan_pass
from ..planning.preferences import Backend
from ..planning.softmax import Blocks, Softmax, batched_softmax, statistic_name
from ..planning.ties import with_ties
from ..planning.views import Viewed
from .bundles import lower_bundle
from .context import Context, Lower
from .derived import with_derivatives
from .elementwise import convert
from .formulas import COTANGENT, RESULT, Runner, found_beside, tangent_name, tangent_of
from .nests import Foreign, bind, run_plain, streamed
from .onepass import lower_pass
from .placing import placed
from .varying import equally_varying

pass_p = jax.extend.core.Primitive("tcjax_pass")
pass_p.multiple_results = True

_planned = functools.lru_cache(maxsize=1024)(plan_pass)
_bundle = functools.lru_cache(maxsize=1024)(plan_bundle)


def lower_online(node: Online, context: Context, lower: Lower) -> jax.Array:
    """One result; the first that is asked for computes all."""
    key = id(node.whole)
    if key not in context.shared:
        context.shared[key] = _results(node.whole, context, lower)
    return context.shared[key][node.result]


def _results(whole: Pass, context: Context, lower: Lower) -> Sequence[jax.Array]:
    arrays: list[jax.Array] = []
    for operand, source in zip(whole.group.operands, whole.sources, strict=True):
        match source:
            case Viewed(tensor, views):
                arrays.append(context.viewed(tensor, views))
            case _:
                arrays.append(jnp.broadcast_to(lower(source, context), operand.shape))
    foreign = tuple(sorted(context.foreign.items()))
    return _bind(arrays, whole.group, whole.blocks, foreign, whole.backend)


def search(arrays: Sequence[Any], extrema: Extrema, foreign: Foreign, backend: Backend) -> Sequence[Any]:
    """The results of a search; `arrays` are the operands in order."""
    return _bind(arrays, extrema, extrema.blocks, foreign, backend)


def _bind(arrays: Sequence[Any], group: Group, blocks: Blocks, foreign: Foreign, backend: Backend) -> Sequence[Any]:
    """The primitive applied; `arrays` are the operands in order."""
    run = functools.partial(pass_p.bind, group=group, blocks=blocks, foreign=foreign, backend=backend)
    names = [operand.name for operand in group.operands]
    return placed(lambda *own: tuple(run(*own)), equally_varying(arrays), group.results, names)


def _named(arrays: Sequence[Any], group: Group) -> dict[str, Any]:
    return {operand.name: array for operand, array in zip(group.operands, arrays, strict=True)}


def _node(node: Node, context: Context) -> jax.Array:
    from .lower import lower_node

    return lower_node(node, context)


def _apart(
    arrays: Sequence[jax.Array],
    group: Group,
    compute: Callable[[list[jax.Array], data.Nest], jax.Array],
) -> list[jax.Array]:
    """Each result by a nest of its own."""
    known = _named(arrays, group)
    results: list[jax.Array] = []
    for number, nest in enumerate(group.results):
        results.append(compute([known[operand.name] for operand in nest.operands], nest))
        known[statistic_name(number)] = results[-1]
    return results


def run_apart(*arrays: jax.Array, group: Group, blocks: Blocks, foreign: Foreign, backend: Backend) -> list[jax.Array]:
    """The results as nests, of which each knows what is best on its device."""
    found: list[jax.Array] = []

    def compute(own: list[jax.Array], nest: data.Nest) -> jax.Array:
        if found and isinstance(group, Bundle):
            # XLA must not compute what two sums share once, and store it.
            own = list(lax.optimization_barrier((*own, found[-1]))[:-1])
        found.append(bind(own, nest, choose_form(nest), dict(foreign), backend))
        return found[-1]

    return _apart(arrays, group, compute)


def run_plainly(
    *arrays: jax.Array, group: Group, blocks: Blocks, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    """The results as operations of JAX, which may store all scores."""

    def compute(own: list[jax.Array], nest: data.Nest) -> jax.Array:
        return run_plain(*own, nest=nest, form=choose_form(nest), foreign=foreign, backend=backend)

    return _apart(arrays, group, compute)


def run_blocks(*arrays: jax.Array, group: Group, blocks: Blocks, foreign: Foreign, backend: Backend) -> list[jax.Array]:
    """The results block after block, in one pass."""
    named, functions = _named(arrays, group), with_derivatives(dict(foreign))
    match group:
        case Softmax():
            return lower_pass(_planned(group, blocks), group, named, functions, _node)
        case Bundle():
            return lower_bundle(_bundle(group, blocks), group, named, functions, _node)
        case Extrema():
            count = len(group.results)
            found = streamed(arrays, group.place.computed, group.form, foreign, backend.memory, count)
            dtypes = [nest.reduce.dtype for nest in group.results]
            return [convert(one, dtype) for one, dtype in zip(found, dtypes, strict=True)]


@functools.lru_cache(maxsize=1024)
def _compiled(group: Group, blocks: Blocks, foreign: Foreign, backend: Backend) -> Callable[..., list[jax.Array]]:
    return jax.jit(functools.partial(pass_p.bind, group=group, blocks=blocks, foreign=foreign, backend=backend))


@pass_p.def_impl
def _(*arrays: jax.Array, group: Group, blocks: Blocks, foreign: Foreign, backend: Backend) -> list[jax.Array]:
    # The compiled function binds the primitive: traced, it is lowered; run as it stands, it would come back here.
    with jax.disable_jit(False):
        return _compiled(group, blocks, foreign, backend)(*arrays)


@pass_p.def_abstract_eval
def _(*avals: Any, **parameters: Any) -> Any:
    # Tracing gives the types, the shardings and the varying manual axes.
    return jax.make_jaxpr(functools.partial(run_plainly, **parameters))(*avals).out_avals


mlir.register_lowering(pass_p, mlir.lower_fun(run_blocks, multiple_results=True))
# On a GPU a nest is a kernel, or fused by XLA.
for _platform in ("cuda", "rocm"):
    mlir.register_lowering(pass_p, mlir.lower_fun(run_apart, multiple_results=True), platform=_platform)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **parameters: Any) -> Any:
    group: Group = parameters["group"]
    moved = {
        o.name: tangent
        for o, tangent in zip(group.operands, tangents, strict=True)
        if not isinstance(tangent, ad.Zero) and tangent.dtype != jax.dtypes.float0
    }
    if isinstance(group, Extrema) and tangent_of(group.value, frozenset(moved)) is not None:
        parameters["group"] = with_ties(group) or group
    results = pass_p.bind(*primals, **parameters)
    known = _named(primals, group)
    known |= {statistic_name(number): result for number, result in enumerate(results[: len(group.statistics)])}
    runner = Runner(parameters["foreign"], parameters["backend"])
    changes: list[Any] = []
    try:
        for number, (nest, result) in enumerate(zip(group.results, results, strict=False)):
            own = {o.name for o in nest.operands} & moved.keys()
            derivative = tangent_of(nest, frozenset(own))
            if derivative is None:
                changes.append(ad.Zero(jax.typeof(result).to_tangent_aval()))
                continue
            arrays = {o.name: known[o.name] for o in nest.operands}
            arrays |= {RESULT: result, **{tangent_name(name): moved[name] for name in own}}
            arrays |= found_beside(results) if isinstance(group, Extrema) else {}
            changes.append(runner.derivative(derivative, arrays, nest))
            if number < len(group.statistics):
                moved[statistic_name(number)] = changes[-1]
    except CompileError as error:
        if error.code != Code.NO_DERIVATIVE.value:
            raise
        # JAX differentiates what index notation has no name for.
        plain = functools.partial(run_plainly, **parameters)
        return jax.jvp(plain, primals, [ad.instantiate_zeros(t) if isinstance(t, ad.Zero) else t for t in tangents])
    return results[: len(changes)], changes


ad.primitive_jvps[pass_p] = _jvp


def _transpose(cotangents: Sequence[Any], *arrays: Any, **parameters: Any) -> list[Any]:
    """What the operands receive in which the sums are linear: weights; the scores are known."""
    group: Group = parameters["group"]
    linear = {o.name: a.aval for o, a in zip(group.operands, arrays, strict=True) if ad.is_undefined_primal(a)}
    known = {o.name: a for o, a in zip(group.operands, arrays, strict=True) if o.name not in linear}
    for number, nest in enumerate(group.statistics):
        own = [known[operand.name] for operand in nest.operands]
        known[statistic_name(number)] = bind(
            own, nest, choose_form(nest), dict(parameters["foreign"]), parameters["backend"]
        )
    runner = Runner(parameters["foreign"], parameters["backend"])
    found: dict[str, Any] = {}
    for nest, cotangent in zip(group.sums, cotangents[len(group.statistics) :], strict=True):
        for name in (operand.name for operand in nest.operands if operand.name in linear):
            if isinstance(cotangent, ad.Zero):
                continue
            if found:
                # XLA must not compute what two cotangents share once, and store it.
                cotangent, *_ = lax.optimization_barrier((cotangent, *found.values()))
            own = {o.name: known[o.name] for o in nest.operands if o.name in known}
            part = runner.cotangent(nest, name, {**own, COTANGENT: cotangent})
            found[name] = ad.add_tangents(found[name], part) if name in found else part
    return [
        None if o.name not in linear else found[o.name] if o.name in found else ad.Zero(linear[o.name])
        for o in group.operands
    ]


ad.primitive_transposes[pass_p] = _transpose


def _batch(arrays: Sequence[Any], dimensions: Sequence[int | None], **parameters: Any) -> Any:
    varying = [dimension is not None for dimension in dimensions]
    size = next(a.shape[d] for a, d in zip(arrays, dimensions, strict=True) if d is not None)
    arrays = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(arrays, dimensions, strict=True)]
    group: Group = parameters["group"]
    memory = parameters["backend"].memory
    match group:
        case Softmax():
            wide, moved = batched_softmax(group, varying, size)
            blocks = choose(wide, memory)
        case Bundle():
            wide, moved = batched_bundle(group, varying, size)
            blocks = choose_blocks(wide, memory)
        case Extrema():
            wide, moved = batched_extrema(group, varying, size, memory)
            blocks = wide.blocks
    if blocks is None:
        results = run_apart(*arrays, **{**parameters, "group": wide})
    else:
        results = _bind(arrays, wide, blocks, parameters["foreign"], parameters["backend"])
    return results, [0 if own else None for own in moved]


batching.primitive_batchers[pass_p] = _batch
