"""The single primitive, `tcjax`: reductions over the same points, closed under JAX's transformations.

A group of reductions comes with its loop schedule: a single nest with its `LoopSchedule`, several with their `Blocks`.
The rules follow: how it runs on each platform, its type, tangents, cotangents and batches. `planning.replanning`
decides what each of them runs.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad, batching, mlir

from ..planning.data import nodes
from ..planning.data.blocked_loop import BlockedLoop
from ..planning.data.derivatives import RESULT, ByFormula, Run, Tangent, cotangent_name, tangent_name
from ..planning.data.groups import Blocks, Group, KernelSums, Softmax, statistic_name
from ..planning.data.kernel_sums import MatrixProducts
from ..planning.data.kernels import Alone, Loops, OneByOne, Pallas, Pieces
from ..planning.data.nests import LoopSchedule
from ..planning.data.nodes import FusedReduction, LoopNest
from ..planning.data.online_softmax import OnlineSoftmax
from ..planning.data.preferences import Backend
from ..planning.data.stages import Compute
from ..planning.data.views import Viewed
from ..planning.replanning import (
    batched_group,
    plan_apart,
    plan_cotangents,
    plan_loops,
    plan_plainly,
    plan_tangents,
)
from . import nests
from .apart import BARRIERS_HOLD, keep_apart
from .chunked_scatter import lower_stage
from .context import MOST_COMPILED, Context, Lower, align
from .derived import with_derivatives
from .elementwise import convert
from .kernel_sums import lower_kernel_sums
from .online_softmax import lower_softmax
from .placing import placed
from .varying import equally_varying

Foreign = tuple[tuple[str, Callable[..., object]], ...]

tcjax_p = jax.extend.core.Primitive("tcjax")
tcjax_p.multiple_results = True


def lower_loop(node: LoopNest, context: Context, lower: Lower) -> jax.Array:
    """A result of a reduction; the first request for one of those that share loops computes all of them."""
    if node.is_alone:
        return fused(node.whole, context, lower)[0]
    key = id(node.whole)
    if key not in context.shared:
        context.shared[key] = fused(node.whole, context, lower)
    return context.shared[key][node.result]


def fused(whole: FusedReduction, context: Context, lower: Lower) -> Sequence[jax.Array]:
    """The results of a reduction over the arrays at hand."""
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
    """The results of a group; `arrays` are its operands in order, and `form` is its loop schedule."""
    one = functools.partial(tcjax_p.bind, group=group, form=form, foreign=foreign, backend=backend)
    names = [operand.name for operand in group.operands]
    return placed(lambda *own: tuple(one(*own)), equally_varying(arrays), group.results, names)


def _named(arrays: Sequence[Any], group: Group) -> dict[str, Any]:
    return {operand.name: array for operand, array in zip(group.operands, arrays, strict=True)}


def _context(arrays: Mapping[str, Any], foreign: Foreign) -> Context:
    return Context(arrays, with_derivatives(dict(foreign)))


def _node(node: nodes.Node, context: Context) -> jax.Array:
    from .lower import lower_node

    return lower_node(node, context)


# ---------------------------------------------------------------- how it runs


def run(
    *arrays: jax.Array, group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend, platform: str
) -> Sequence[jax.Array]:
    """The results, computed as is best for a platform."""
    return _loops(plan_loops(group, form, backend, platform), arrays, group, foreign, backend)


def _loops(
    plan: Loops, arrays: Sequence[jax.Array], group: Group, foreign: Foreign, backend: Backend
) -> Sequence[jax.Array]:
    context = _context(_named(arrays, group), foreign)
    match plan, group:
        case Pallas(interpret, otherwise, other), _:
            kernel = nests.kernel_of(other or group, backend.tile, interpret=interpret)
            return _loops(otherwise, arrays, group, foreign, backend) if kernel is None else kernel(context.arrays)
        case OneByOne(), _:
            return _one_by_one(plan, arrays, group, foreign, backend)
        case Alone(), _:
            return [nests.lower_alone(plan, context, _node)]
        case Pieces(), _:
            found = nests.lower_pieces(plan, context, _node)
            dtypes = [nest.reduce.dtype for nest in group.results]
            return [convert(one, dtype) for one, dtype in zip(found, dtypes, strict=True)]
        case BlockedLoop(states=OnlineSoftmax() as states), Softmax():
            return lower_softmax(plan, states, group, context.arrays, context.foreign, _node)
        case BlockedLoop(states=MatrixProducts() as states), KernelSums():
            return lower_kernel_sums(plan, states, group, context.arrays, context.foreign, _node)
        case other:
            raise AssertionError(other)


def _one_by_one(
    plan: OneByOne, arrays: Sequence[jax.Array], group: Group, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    """Each result on its own, given the operands and the results before it."""
    known = _named(arrays, group)
    results: list[jax.Array] = []
    for number, (nest, part) in enumerate(zip(plan.others or group.results, plan.parts, strict=True)):
        own = [known[operand.name] for operand in nest.operands]
        if isinstance(part, Alone):
            results.append(nests.lower_alone(part, _context(_named(own, nest), foreign), _node))
        else:
            own = list(lax.optimization_barrier((*own, results[-1]))[:-1]) if results and plan.behind else own
            results.append(bind(own, nest, part, foreign, backend)[0])
        known[statistic_name(number)] = results[-1]
    return results


def run_plainly(
    *arrays: jax.Array, group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    """The results as JAX operations, which may store intermediate arrays that a loop would not."""
    return _one_by_one(plan_plainly(group), arrays, group, foreign, backend)


for _platform in (None, "cuda", "rocm"):
    _run = functools.partial(run, platform=_platform or "cpu")
    mlir.register_lowering(tcjax_p, mlir.lower_fun(_run, multiple_results=True), platform=_platform)


@functools.lru_cache(maxsize=MOST_COMPILED)
def _compiled(
    group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> Callable[..., list[jax.Array]]:
    return jax.jit(functools.partial(tcjax_p.bind, group=group, form=form, foreign=foreign, backend=backend))


@tcjax_p.def_impl
def _(
    *arrays: jax.Array, group: Group, form: LoopSchedule | Blocks, foreign: Foreign, backend: Backend
) -> list[jax.Array]:
    # The compiled function binds the primitive: traced, it is lowered; executed eagerly, it would recurse to this
    # point.
    with jax.disable_jit(False):
        return _compiled(group, form, foreign, backend)(*arrays)


@tcjax_p.def_abstract_eval
def _(*avals: Any, **parameters: Any) -> Any:
    # Tracing gives the types, the shardings and the varying manual axes.
    return jax.make_jaxpr(functools.partial(run_plainly, **parameters))(*avals).out_avals


# ---------------------------------------------------------------- tangents


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **parameters: Any) -> Any:
    group: Group = parameters["group"]
    foreign, backend = parameters["foreign"], parameters["backend"]
    moving = {
        number: tangent
        for number, tangent in enumerate(tangents)
        if not isinstance(tangent, ad.Zero) and tangent.dtype != jax.dtypes.float0
    }
    plan = plan_tangents(group, parameters["form"], frozenset(moving), backend)
    if plan is None:
        # JAX differentiates functions that index notation cannot name.
        plain = functools.partial(run_plainly, **parameters)
        return jax.jvp(plain, primals, [ad.instantiate_zeros(t) if isinstance(t, ad.Zero) else t for t in tangents])
    known = dict(zip(plan.operands, primals, strict=True))
    moved = {plan.operands[number]: tangent for number, tangent in moving.items()}
    results, beside = _primal(plan.run, primals, known, foreign, backend)
    known |= {statistic_name(number): result for number, result in enumerate(results[: len(group.statistics)])}
    context = _context(known | {tangent_name(name): tangent for name, tangent in moved.items()}, foreign)
    together = {number: lower_stage(stage, None, context, _node) for number, stage in plan.together}
    changes: list[Any] = []
    for number, (change, shift, result) in enumerate(zip(plan.changes, plan.shifts, results, strict=True)):
        found: Any = together.get(number)
        if change is not None:
            read = [name for name in change.operands if name in known]
            arrays = {name: known[name] for name in read} | {RESULT: result}
            arrays |= {tangent_name(name): moved[name] for name in read if name in moved} | beside
            found = _tangent(change, arrays, foreign)
        found = ad.Zero(jax.typeof(result).to_tangent_aval()) if found is None else found
        if shift is not None:
            by = align(moved[statistic_name(shift.statistic)], shift.own, shift.axes)
            found = ad.add_tangents(found, -(by * result).astype(result.dtype))
        if not isinstance(found, ad.Zero):
            moved[statistic_name(number)] = found
        changes.append(found)
    return results, changes


ad.primitive_jvps[tcjax_p] = _jvp


def _primal(
    plan: Run | ByFormula, primals: Sequence[Any], known: Mapping[str, Any], foreign: Foreign, backend: Backend
) -> tuple[list[Any], dict[str, Any]]:
    """The results, and by name the values that their tangents read in addition."""
    if isinstance(plan, ByFormula):
        beside = _with(plan.before, known, foreign)
        return [_statement(plan.value, beside, foreign)], beside
    primals = lax.optimization_barrier(list(primals)) if plan.behind else primals
    found = bind(primals, plan.group, plan.form, foreign, backend)
    return [found[number] for number in plan.results], {name: found[number] for name, number in plan.beside}


def _tangent(plan: Tangent, arrays: Mapping[str, Any], foreign: Foreign) -> jax.Array:
    known = _with(plan.before, arrays, foreign)
    whole = functools.partial(_statement, plan.value, known, foreign)
    if plan.alone is None:
        return whole()
    return lax.cond(jnp.all(known[plan.single] == 1), functools.partial(_statement, plan.alone, known, foreign), whole)


def _with(stages: Sequence[Compute], arrays: Mapping[str, Any], foreign: Foreign) -> dict[str, Any]:
    """The arrays, with the targets of statements computed in sequence."""
    known = dict(arrays)
    for stage in stages:
        found = _statement(stage, known, foreign)
        # In JAX 0.10 the update that serves as a barrier is fused with the search for a position, and with its reader.
        known[stage.target] = keep_apart(found, found) if stage.apart and BARRIERS_HOLD else found
    return known


def _statement(stage: Compute, arrays: Mapping[str, Any], foreign: Foreign) -> jax.Array:
    return lower_stage(stage, None, _context(arrays, foreign), _node)


# ---------------------------------------------------------------- cotangents


def _transpose(cotangents: Sequence[Any], *arrays: Any, **parameters: Any) -> list[Any]:
    """The cotangents of the operands in which the sums are linear: weights; scores are known."""
    group: Group = parameters["group"]
    foreign, backend = parameters["foreign"], parameters["backend"]
    linear = frozenset(number for number, array in enumerate(arrays) if ad.is_undefined_primal(array))
    given = list(cotangents[len(group.statistics) :])
    plan = plan_cotangents(group, linear, tuple(not isinstance(one, ad.Zero) for one in given), backend)
    known = {name: array for n, (name, array) in enumerate(zip(plan.operands, arrays, strict=True)) if n not in linear}
    for number, (nest, form) in enumerate(zip(group.statistics, plan.statistics, strict=True)):
        own = [known[operand.name] for operand in nest.operands]
        known[statistic_name(number)] = bind(own, nest, form, foreign, backend)[0]
    found: dict[str, Any] = {}
    for receipt in plan.receipts:
        own = {name: known[name] for name in receipt.operands if name in known}
        for number in receipt.sums:
            if found:
                given[number], *_ = lax.optimization_barrier((given[number], *found.values()))
            own[cotangent_name(number)] = given[number]
        context = _context(own, foreign)
        parts: dict[tuple[int, str], jax.Array] = {}
        for number, name, stage in receipt.statements:
            parts[number, name] = lower_stage(stage, parts.get((number, name)), context, _node)
        for (_, name), part in parts.items():
            found[name] = ad.add_tangents(found[name], part) if name in found else part
    return [
        None if n not in linear else found[name] if name in found else ad.Zero(array.aval)
        for n, (name, array) in enumerate(zip(plan.operands, arrays, strict=True))
    ]


ad.primitive_transposes[tcjax_p] = _transpose


# ---------------------------------------------------------------- batches


def _batch(arrays: Sequence[Any], dimensions: Sequence[int | None], **parameters: Any) -> Any:
    varying = [dimension is not None for dimension in dimensions]
    size = next(a.shape[d] for a, d in zip(arrays, dimensions, strict=True) if d is not None)
    arrays = [a if d is None else jnp.moveaxis(a, d, 0) for a, d in zip(arrays, dimensions, strict=True)]
    foreign, backend = parameters["foreign"], parameters["backend"]
    wide, form, moved = batched_group(parameters["group"], parameters["form"], varying, size, backend.memory)
    if form is None:
        results: Sequence[Any] = _one_by_one(plan_apart(wide), arrays, wide, foreign, backend)
    else:
        results = bind(arrays, wide, form, foreign, backend)
    return results, [0 if own else None for own in moved]


batching.primitive_batchers[tcjax_p] = _batch
