"""The one primitive, `tcjax`: reductions over the same points, closed under JAX's transformations.

A group of reductions comes with how its loops run: a single nest with its `LoopSchedule`, several with their `Blocks`.
Its rules stand below, side by side: how it runs on each platform, its type, its tangents, cotangents and batches.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from ..diagnostics import Code, CompileError
from ..planning.blocked.loop_schedules import are_costly, choose
from ..planning.data import nodes
from ..planning.data.groups import Blocks, Extrema, Group, KernelSums, Softmax, statistic_name
from ..planning.data.kernel_sums import KernelSumBlocks
from ..planning.data.kernels import Alone, Pieces
from ..planning.data.nests import LoopSchedule, Nest
from ..planning.data.nodes import FusedReduction, LoopNest
from ..planning.data.online_softmax import OnlineSoftmax
from ..planning.data.preferences import Backend
from ..planning.data.views import Viewed
from ..planning.fusion.ties import with_ties
from ..planning.replanning import anonymous, batched_group, is_kernel, plan_cpu, plan_plain, search
from . import nests
from .context import Context, Lower
from .derived import with_derivatives
from .elementwise import convert
from .formulas import COTANGENT, RESULT, Foreign, Runner, found_beside, tangent_name, tangent_of
from .kernel_sums import lower_kernel_sums
from .online_softmax import lower_online_softmax
from .placing import placed
from .varying import equally_varying

tcjax_p = jax.extend.core.Primitive("tcjax")
tcjax_p.multiple_results = True


def lower_loop(node: LoopNest, context: Context, lower: Lower) -> jax.Array:
    """A result of a reduction; the first that is asked for of those that share their loops computes all."""
    if node.is_alone:
        return _results(node.whole, context, lower)[0]
    key = id(node.whole)
    if key not in context.shared:
        context.shared[key] = _results(node.whole, context, lower)
    return context.shared[key][node.result]


def _results(whole: FusedReduction, context: Context, lower: Lower) -> Sequence[jax.Array]:
    arrays: list[jax.Array] = []
    for operand, source in zip(whole.group.operands, whole.sources, strict=True):
        match source:
            case Viewed(tensor, views):
                arrays.append(context.viewed(tensor, views))
            case _:
                arrays.append(jnp.broadcast_to(lower(source, context), operand.shape))
    return bind(arrays, whole.group, whole.schedule, _called(context), whole.backend)


def _called(context: Context) -> Foreign:
    return tuple(sorted(context.foreign.items()))


def bind(
    arrays: Sequence[Any], group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> Sequence[jax.Array]:
    """The results of a group; `arrays` are its operands in order, and `form` says how its loops run."""
    run = functools.partial(tcjax_p.bind, group=group, form=form, foreign=foreign, backend=backend)
    names = [operand.name for operand in group.operands]
    return placed(lambda *own: tuple(run(*own)), equally_varying(arrays), group.results, names)


def _named(arrays: Sequence[Any], group: Group) -> dict[str, Any]:
    return {operand.name: array for operand, array in zip(group.operands, arrays, strict=True)}


def _context(arrays: Sequence[Any], group: Group, foreign: Foreign) -> Context:
    return Context(_named(arrays, group), with_derivatives(dict(foreign)))


def _node(node: nodes.Node, context: Context) -> jax.Array:
    from .lower import lower_node

    return lower_node(node, context)


# ---------------------------------------------------------------- how it runs


def _one_by_one(
    arrays: Sequence[jax.Array], group: Group, compute: Callable[[list[jax.Array], Nest], jax.Array]
) -> list[jax.Array]:
    """Each result by itself, given the operands and the results before it."""
    known = _named(arrays, group)
    results: list[jax.Array] = []
    for number, nest in enumerate(group.results):
        results.append(compute([known[operand.name] for operand in nest.operands], nest))
        known[statistic_name(number)] = results[-1]
    return results


def run_plainly(
    *arrays: jax.Array, group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    """The results as operations of JAX, which may store what a loop would not."""

    def compute(own: list[jax.Array], nest: Nest) -> jax.Array:
        return nests.lower_alone(plan_plain(nest), _context(own, nest, foreign), _node)

    return _one_by_one(arrays, group, compute)


def run_blocks(
    *arrays: jax.Array, group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    """The results block after block, in one loop."""
    context = _context(arrays, group, foreign)
    # A Pallas kernel that someone forces is interpreted.
    if isinstance(group, Nest) and backend.name == "pallas" and (kernel := nests.kernel_of(group, interpret=True)):
        return [kernel(context.arrays)]
    match plan_cpu(group, form, backend.memory), group:
        case Alone() as plan, _:
            return [nests.lower_alone(plan, context, _node)]
        case Pieces() as plan, _:
            found = nests.lower_pieces(plan, context, _node)
            dtypes = [nest.reduce.dtype for nest in group.results]
            return [convert(one, dtype) for one, dtype in zip(found, dtypes, strict=True)]
        case OnlineSoftmax() as plan, Softmax():
            return lower_online_softmax(plan, group, context.arrays, context.foreign, _node)
        case KernelSumBlocks() as plan, KernelSums():
            return lower_kernel_sums(plan, group, context.arrays, context.foreign, _node)
        case other:
            raise AssertionError(other)


def run_apart(
    *arrays: jax.Array, group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    """The results as nests, of which each knows what is best on its device."""
    found: list[jax.Array] = []

    def compute(own: list[jax.Array], nest: Nest) -> jax.Array:
        if found and isinstance(group, KernelSums):
            # XLA must not compute what two sums share once, and store it.
            own = list(lax.optimization_barrier((*own, found[-1]))[:-1])
        found.append(bind(own, nest, choose(nest), foreign, backend)[0])
        return found[-1]

    return _one_by_one(arrays, group, compute)


def _run_on_cuda(*arrays: jax.Array, **parameters: Any) -> list[jax.Array]:
    group: Group = parameters["group"]
    if not isinstance(group, Nest):
        return run_apart(*arrays, **parameters)
    kernel = nests.kernel_of(group, interpret=False) if is_kernel(group, parameters["backend"]) else None
    return run_plainly(*arrays, **parameters) if kernel is None else [kernel(_named(arrays, group))]


def _run_on_rocm(*arrays: jax.Array, **parameters: Any) -> list[jax.Array]:
    # XLA:GPU fuses an elementwise body into its reduction.
    run = run_plainly if isinstance(parameters["group"], Nest) else run_apart
    return run(*arrays, **parameters)


mlir.register_lowering(tcjax_p, mlir.lower_fun(run_blocks, multiple_results=True))
mlir.register_lowering(tcjax_p, mlir.lower_fun(_run_on_cuda, multiple_results=True), platform="cuda")
mlir.register_lowering(tcjax_p, mlir.lower_fun(_run_on_rocm, multiple_results=True), platform="rocm")


@functools.lru_cache(maxsize=1024)
def _compiled(
    group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> Callable[..., list[jax.Array]]:
    return jax.jit(functools.partial(tcjax_p.bind, group=group, form=form, foreign=foreign, backend=backend))


@tcjax_p.def_impl
def _(
    *arrays: jax.Array, group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    # The compiled function binds the primitive: traced, it is lowered; run as it stands, it would come back here.
    with jax.disable_jit(False):
        return _compiled(group, form, foreign, backend)(*arrays)


@tcjax_p.def_abstract_eval
def _(*avals: Any, **parameters: Any) -> Any:
    # Tracing gives the types, the shardings and the varying manual axes.
    return jax.make_jaxpr(functools.partial(run_plainly, **parameters))(*avals).out_avals


# ---------------------------------------------------------------- tangents


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **parameters: Any) -> Any:
    group: Group = parameters["group"]
    # Derivatives give names to what they add.
    own = anonymous(group) if isinstance(group, Nest) else group
    moved = {
        o.name: tangent
        for o, tangent in zip(own.operands, tangents, strict=True)
        if not isinstance(tangent, ad.Zero) and tangent.dtype != jax.dtypes.float0
    }
    try:
        return _differentiated(primals, own, moved, parameters)
    except CompileError as error:
        if error.code != Code.NO_DERIVATIVE.value:
            raise
        # JAX differentiates what index notation has no name for.
        plain = functools.partial(run_plainly, **parameters)
        return jax.jvp(plain, primals, [ad.instantiate_zeros(t) if isinstance(t, ad.Zero) else t for t in tangents])


ad.primitive_jvps[tcjax_p] = _jvp


def _differentiated(
    primals: Sequence[Any], group: Group, moved: dict[str, Any], parameters: Mapping[str, Any]
) -> tuple[list[Any], list[Any]]:
    """The results and their tangents; `moved` are the tangents of operands by name."""
    runner = Runner(parameters["foreign"], parameters["backend"])
    results, beside = _with_what_derivatives_need(primals, group, moved, runner, parameters)
    known = _named(primals, group)
    known |= {statistic_name(number): result for number, result in enumerate(results[: len(group.statistics)])}
    changes: list[Any] = []
    for number, (nest, result) in enumerate(zip(group.results, results, strict=True)):
        own = {o.name for o in nest.operands} & moved.keys()
        derivative = tangent_of(nest, frozenset(own))
        if derivative is None:
            changes.append(ad.Zero(jax.typeof(result).to_tangent_aval()))
            continue
        arrays = {o.name: known[o.name] for o in nest.operands}
        arrays |= {RESULT: result, **{tangent_name(name): moved[name] for name in own}, **beside}
        changes.append(runner.derivative(derivative, arrays, nest))
        if number < len(group.statistics):
            moved[statistic_name(number)] = changes[-1]
    return results, changes


def _with_what_derivatives_need(
    primals: Sequence[Any], group: Group, moved: Mapping[str, Any], runner: Runner, parameters: Mapping[str, Any]
) -> tuple[list[Any], Mapping[str, Any]]:
    """The results, and by name what their tangents read beside them."""
    run = functools.partial(bind, foreign=parameters["foreign"], backend=parameters["backend"])
    derivative = None
    match group:
        case Nest():
            derivative = tangent_of(group, frozenset(moved))
        case Extrema() if tangent_of(group.value, frozenset(moved)) is not None:
            found = run(primals, with_ties(group) or group, group.blocks)
            return list(found[: len(group.results)]), found_beside(found)
        case _:
            pass
    form, whole = parameters["form"], parameters["group"]
    if derivative is not None:
        assert isinstance(group, Nest)
        changes = {tangent_name(name): tangent for name, tangent in moved.items()}
        if form.whole and are_costly(derivative.exprs, apart=changes):
            # XLA would compute once what the derivative needs as well, and store that for every step.
            primals = lax.optimization_barrier(list(primals))
        extrema = None if derivative.single is None or form.whole else search(group, runner.backend.memory)
        if extrema is not None:
            found = run(primals, extrema, extrema.blocks)
            return [found[1]], found_beside(found)
        # An order statistic is where its derivative is: one search finds both.
        result, beside = runner.looked_up(derivative, _named(primals, group), group)
        if result is not None:
            return [result], beside
    return list(run(primals, whole, form)), {}


# ---------------------------------------------------------------- cotangents


def _transpose(cotangents: Sequence[Any], *arrays: Any, **parameters: Any) -> list[Any]:
    """What the operands receive in which the sums are linear: weights; scores are known."""
    group: Group = parameters["group"]
    group = anonymous(group) if isinstance(group, Nest) else group
    foreign, backend = parameters["foreign"], parameters["backend"]
    linear = {o.name: a.aval for o, a in zip(group.operands, arrays, strict=True) if ad.is_undefined_primal(a)}
    known = {o.name: a for o, a in zip(group.operands, arrays, strict=True) if o.name not in linear}
    for number, nest in enumerate(group.statistics):
        own = [known[operand.name] for operand in nest.operands]
        known[statistic_name(number)] = bind(own, nest, choose(nest), foreign, backend)[0]
    runner = Runner(foreign, backend)
    found: dict[str, Any] = {}
    for nest, cotangent in zip(group.sums, cotangents[len(group.statistics) :], strict=True):
        if isinstance(cotangent, ad.Zero):
            continue
        names = [operand.name for operand in nest.operands if operand.name in linear]
        given = {o.name: known[o.name] for o in nest.operands if o.name in known} | {COTANGENT: cotangent}
        if nest is group and len(names) > 1 and (together := runner.cotangents(nest, names, given)) is not None:
            found |= together
            continue
        for name in names:
            if found:
                # XLA must not compute what two cotangents share once, and store it.
                given[COTANGENT], *_ = lax.optimization_barrier((given[COTANGENT], *found.values()))
            part = runner.cotangent(nest, name, given)
            found[name] = ad.add_tangents(found[name], part) if name in found else part
    return [
        None if o.name not in linear else found[o.name] if o.name in found else ad.Zero(linear[o.name])
        for o in group.operands
    ]


ad.primitive_transposes[tcjax_p] = _transpose


# ---------------------------------------------------------------- batches


def _batch(arrays: Sequence[Any], dimensions: Sequence[int | None], **parameters: Any) -> Any:
    varying = [dimension is not None for dimension in dimensions]
    size = next(a.shape[d] for a, d in zip(arrays, dimensions, strict=True) if d is not None)
    arrays = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(arrays, dimensions, strict=True)]
    wide, form, moved = batched_group(
        parameters["group"], parameters["form"], varying, size, parameters["backend"].memory
    )
    if form is None:
        results: Sequence[Any] = run_apart(*arrays, **{**parameters, "group": wide})
    else:
        results = bind(arrays, wide, form, parameters["foreign"], parameters["backend"])
    return results, [0 if own else None for own in moved]


batching.primitive_batchers[tcjax_p] = _batch
