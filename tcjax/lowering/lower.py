"""Lowers a plan to a JAX function."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, assert_never

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.nodes import (
    Apply,
    Band,
    CallBuiltin,
    Contract,
    Convolve,
    Deviations,
    Fill,
    Fold,
    Iota,
    LoopNest,
    MonoidFold,
    Node,
    OrderStatistic,
    Pool,
    Position,
    Read,
    Scan,
    Step,
    Unroll,
)
from ..planning.data.stages import (
    Call,
    CallForeign,
    Compute,
    Parts,
    Plan,
    ScheduledStage,
    Tiled,
    Unit,
    Unstored,
    scope_of,
    targets_of,
)
from ..planning.data.steps import Steps
from .apart import keep_apart
from .assembly import assemble
from .bands import lower_band
from .batch_axes import batch_first
from .chunked_scatter import lower_stage
from .context import Context, align, numeric
from .convolutions import lower_convolve
from .deviations import lower_deviations
from .elementwise import convert, lower_apply, lower_call, lower_fill, lower_iota, lower_step
from .folding import lower_monoid_fold
from .placing import is_placed
from .primitive import lower_loop
from .provisos import lower_proviso
from .reads import lower_read
from .reductions import (
    lower_contract,
    lower_fold,
    lower_order_statistic,
    lower_pool,
    lower_position,
    lower_scan,
    lower_unroll,
    rounds,
)
from .steps import ByProgram, lower_steps
from .steps_again import Again
from .stores import boxed
from .tiles import lower_tiled
from .varying import equally_varying

Foreign = Mapping[str, Callable[..., object]]


def lower(
    plan: Plan,
    arrays: Mapping[str, jax.Array],
    initial: Mapping[str, jax.Array],
    foreign: Foreign,
    found: Sequence[jax.Array] = (),
) -> tuple[jax.Array, ...]:
    """The plan's results for these arguments; traceable by every JAX transformation.

    Loops whose results were `found` before, for example by a derivative, are not run again.
    """
    # An initial value that is not passed is missing here: the first statement then starts from the identity.
    known = {**arrays, **{name: convert(jnp.asarray(array), plan.initial[name]) for name, array in initial.items()}}
    if plan.scheduled is None:
        return _run(plan, plan.units(), known, foreign, dict(zip(plan.returns, found, strict=False)))
    scheduled = plan.scheduled

    @jax.custom_jvp
    def run(arguments: dict[str, jax.Array]) -> tuple[jax.Array, ...]:
        return batch_first(_run(plan, enumerate(scheduled), arguments, foreign))

    # The derivative of such loops would store the carry of every iteration.
    @run.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        found, moved = jax.jvp(lambda known: _run(plan, enumerate(plan.stages), known, foreign), primals, tangents)
        return batch_first(found), moved

    return run(known)


def _run(
    plan: Plan,
    units: Iterable[tuple[int, Unit]],
    arrays: Mapping[str, jax.Array],
    foreign: Foreign,
    found: Mapping[str, jax.Array] | None = None,
) -> tuple[jax.Array, ...]:
    known = _computed(plan, list(units), arrays, foreign, found)
    return tuple(known[name] for name in plan.returns)


def _computed(
    plan: Plan,
    units: Sequence[tuple[int, Unit]],
    arrays: Mapping[str, jax.Array],
    foreign: Foreign,
    settled: Mapping[str, jax.Array] | None = None,
) -> dict[str, jax.Array]:
    """The arrays after these stages; `settled` are results of the last stages that are already known."""
    last = {name: number for number, unit in units for name in targets_of(unit)}
    known = dict(arrays)
    assemblies = {} if any(isinstance(stage, Tiled) for _, stage in units) else plan.assemblies
    shared: dict[int, Sequence[jax.Array]] = {}
    before: jax.Array | None = None
    done = 0
    for number, stage in units:
        if number < done:
            continue
        if number in assemblies:
            assembly = assemblies[number]
            done = number + assembly.stages
            group = [s for s in plan.stages[number:done] if isinstance(s, Compute)]
            with jax.named_scope(scope_of(group[0], number)):
                values = [
                    boxed(s, lower_node(s.value, Context(_and_before(s, known, foreign), foreign, shared=shared)))
                    for s in group
                ]
                known[group[0].target] = assemble(assembly.whole, values)
            continue
        if isinstance(stage, Parts):
            known.update(_in_parts(plan, number, stage, known, foreign))
            continue
        with _named(stage, number):
            match stage:
                case Unstored():
                    continue
                case Compute(target=target):
                    old = known.get(target) if stage.store.keeps else None
                    here = _behind(known, before) if stage.in_turn and before is not None else known
                    known[target] = lower_compute(stage, old, Context(here, foreign, shared=shared))
                    before = known[target] if stage.in_turn else before
                case Tiled(target=target):
                    known[target] = lower_tiled(stage, known, foreign, lower_node)
                case Call(steps=Steps()):
                    ends = {name: array for name, array in (settled or {}).items() if last[name] == number}
                    known.update(_loop(stage, known, foreign, ends))
                case Call(targets, inner, arguments):
                    passed = {name: known[argument] for name, argument in zip(inner.parameters, arguments, strict=True)}
                    known.update(zip(targets, lower(inner, passed, {}, foreign), strict=True))
                case CallForeign(targets, function, arguments, results, frame, varying):
                    called = foreign[function]
                    for _ in range(frame):
                        called = jax.vmap(called, tuple(0 if varies else None for varies in varying))
                    found = called(*(known[argument] for argument in arguments))
                    parts = tuple(found) if isinstance(found, (tuple, list)) else (found,)
                    for target, part, (dtype, _) in zip(targets, parts, results, strict=True):
                        known[target] = jnp.asarray(part, numeric(dtype))
                case _:
                    assert_never(stage)
    return known


def _loop(
    stage: Call, known: Mapping[str, jax.Array], foreign: Foreign, found: Mapping[str, jax.Array]
) -> dict[str, jax.Array]:
    """The results of all steps of a loop, unless they were `found` before; on some platforms by another plan."""
    steps, elsewhere = stage.steps, stage.elsewhere
    assert steps is not None

    def in_steps(known: Mapping[str, jax.Array], found: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
        step = functools.partial(lower, stage.plan, initial={}, foreign=foreign)
        run = functools.partial(lower, initial={}, foreign=foreign)
        way_back = None if stage.program is None else ByProgram(*stage.program, stage.arguments, run)
        way_back = Again(steps.whole, step) if steps.again else way_back
        shifts = {} if steps.at_once is None else steps.at_once.shifts
        shifting = {name: functools.partial(lower, plan, initial={}, foreign=foreign) for name, plan in shifts.items()}
        return lower_steps(steps, known, step, way_back, shifting, found)

    def called(known: Mapping[str, jax.Array], _: Mapping[str, jax.Array]) -> dict[str, jax.Array]:
        assert elsewhere is not None
        pairs = zip(elsewhere.plan.parameters, stage.arguments, strict=True)
        results = lower(elsewhere.plan, {name: known[argument] for name, argument in pairs}, {}, foreign)
        return dict(zip(stage.targets, results, strict=True))

    used = {name: array for name, array in known.items() if name in stage.arguments}
    if elsewhere is None or any(map(is_placed, used.values())):
        return in_steps(known, found)
    ways = dict.fromkeys(elsewhere.platforms, called)
    return lax.platform_dependent(used, dict(found), **ways, default=in_steps)


def _in_parts(
    plan: Plan, number: int, parts: Parts, arrays: Mapping[str, jax.Array], foreign: Foreign
) -> dict[str, jax.Array]:
    """The results of a run of stages: on a CPU computed in parts that are joined, elsewhere as a whole."""
    names, results = sorted(arrays), tuple(parts.dimensions)

    def joined(*given: jax.Array) -> list[jax.Array]:
        known = dict(zip(names, given, strict=True))
        found = [lower(part, known, {}, foreign) for part in parts.plans]
        columns = zip(results, zip(*found, strict=True), strict=True)
        return [lax.concatenate(equally_varying(column), parts.dimensions[name]) for name, column in columns]

    def whole(*given: jax.Array) -> list[jax.Array]:
        run = list(enumerate(plan.stages))[number : number + parts.stages]
        known = _computed(plan, run, dict(zip(names, given, strict=True)), foreign)
        return [known[name] for name in results]

    given = [arrays[name] for name in names]
    # Along explicit mesh axes rows are on several devices.
    found = whole(*given) if any(map(is_placed, given)) else lax.platform_dependent(*given, cpu=joined, default=whole)
    return dict(zip(results, found, strict=True))


def lower_compute(stage: Compute, old: jax.Array | None, context: Context) -> jax.Array:
    """The target after a statement, including what it computes first; `old` is its content before."""
    if stage.proviso is not None:
        return lower_proviso(stage, old, context, lower_compute)
    known = _and_before(stage, dict(context.arrays), context.foreign)
    here = Context(known, context.foreign, sizes=context.sizes, shared=context.shared)
    found = lower_stage(stage, old, here, lower_node)
    return keep_apart(found, found) if stage.apart and found.size else found


def _and_before(stage: Compute, arrays: dict[str, jax.Array], foreign: Foreign) -> dict[str, jax.Array]:
    """The arrays, with those that a statement needs computed before it."""
    if not stage.before:
        return arrays
    known = dict(arrays)
    for part in stage.before:
        known[part.target] = lower_compute(part, None, Context(known, foreign))
    return known


def _named(stage: ScheduledStage, number: int) -> AbstractContextManager[object]:
    """Gives operations inside the name of the stage, for profilers and derivatives."""
    return jax.named_scope(scope_of(stage, number))


def _behind(arrays: Mapping[str, jax.Array], before: jax.Array) -> dict[str, jax.Array]:
    """The arrays, ordered after `before`: otherwise XLA would store values shared by several loops for every step."""
    names = sorted(arrays)
    *tied, _ = lax.optimization_barrier((*(arrays[name] for name in names), before))
    return dict(zip(names, tied, strict=True))


def lower_node(node: Node, context: Context) -> jax.Array:
    """The node's array; its dimensions are the node's axes."""
    number = context.repeats.look(node)[0] if context.repeats.is_elementwise(node) else -id(node)
    if number not in context.done:
        context.done[number] = _lower(node, context)
    return context.done[number]


def _lower(node: Node, context: Context) -> jax.Array:
    match node:
        case Fill():
            return lower_fill(node, context)
        case Iota():
            return lower_iota(node, context)
        case Step():
            return lower_step(node, context)
        case Read():
            return lower_read(node, context, lower_node)
        case Apply("cast", (product,)) if rounds(product, node.dtype):
            found = lower_contract(product, context, lower_node, node.dtype)
            return align(found, product.axes, node.axes)
        case Apply():
            return lower_apply(node, context, lower_node)
        case CallBuiltin():
            return lower_call(node, context, lower_node)
        case Contract():
            return lower_contract(node, context, lower_node)
        case Convolve():
            return lower_convolve(node, context, lower_node)
        case Band():
            return lower_band(node, context, lower_node)
        case Fold():
            return lower_fold(node, context, lower_node)
        case Pool():
            return lower_pool(node, context, lower_node)
        case Scan():
            return lower_scan(node, context, lower_node)
        case Deviations():
            return lower_deviations(node, context, lower_node)
        case Unroll():
            return lower_unroll(node, context, lower_node)
        case Position():
            return lower_position(node, context, lower_node)
        case OrderStatistic():
            return lower_order_statistic(node, context, lower_node)
        case LoopNest():
            return lower_loop(node, context, lower_node)
        case MonoidFold():
            return lower_monoid_fold(node, context, lower_node)
        case _:
            assert_never(node)
