"""How a group of reductions runs: the decisions made when the primitive is lowered, batched or differentiated.

This is the only entry point through which `lowering` asks for plans: a plan has nests, and JAX's transformations create
others.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace
from math import prod

from .. import ir, ranges
from ..diagnostics import CompileError
from ..ir import Reducer
from ..transforms.derivatives import adjoint_program
from .blocked.batching import batched
from .blocked.extrema import batched_extrema
from .blocked.gpu_kernels import on_cuda, refusals
from .blocked.kernel_sum_blocks import choose_blocks, plan_kernel_sums
from .blocked.kernel_sums import apart, batched_kernel_sums, with_inner_sums
from .blocked.loop_schedules import choose, parts, within
from .blocked.online_softmax import plan_online_softmax
from .blocked.softmax import batched_softmax, statistic_of
from .blocked.softmax_blocks import choose as choose_widths
from .blocked.two_stage import form_of, plan_two_stage
from .blocked.vector_accumulators import plan_alone, plan_nest, turned
from .data.blocked_loop import BlockedLoop
from .data.groups import Blocks, Extrema, Group, KernelSums, Softmax
from .data.kernels import Alone, InTwoStages, Loops, Nothing, OneByOne, Pallas, Piece, Pieces
from .data.nests import LoopSchedule, Nest
from .data.preferences import Backend
from .data.stages import Plan
from .derivatives import plan_cotangents, plan_tangents
from .formulas import plan_unsized_formula
from .plan import make_plan
from .recurrences import plan_unsized_loop
from .unsized import open_question


def plan_loops(group: Group, form: LoopSchedule | Blocks, backend: Backend, platform: str) -> Loops:
    """How the results of a group are computed on a platform of JAX: "cuda", "rocm", or any other, as on a CPU."""
    if platform in ("cuda", "rocm"):
        if isinstance(group, Nest) and (other := with_inner_sums(group)) != group:
            return OneByOne((choose(other),), others=(other,))
        # XLA:GPU fuses an elementwise body into its reduction.
        plain = plan_plainly(group) if isinstance(group, Nest) else plan_apart(group)
        wins = platform == "cuda" and on_cuda(group, backend)[0]
        other = replace(group, sums=tuple(map(with_inner_sums, group.sums))) if isinstance(group, KernelSums) else None
        return Pallas(interpret=False, otherwise=plain, other=other) if wins else plain
    loops = plan_cpu(group, form, backend.memory)
    # A Pallas kernel that was requested explicitly is interpreted.
    return Pallas(interpret=True, otherwise=loops) if backend.name == "pallas" and group.operands else loops


@functools.lru_cache(maxsize=64)
def plan_adjoint(function: ir.Function, most: int) -> Plan | None:
    """The cotangents of all float parameters of a program with numbers for sizes.

    None if the program has no adjoint, or one that stores more than `most` bytes.
    """
    try:
        adjoint = adjoint_program(function)
        shapes = {p.name: tuple([size.constant or 0 for size in p.shape]) for p in adjoint.parameters}
        bound = ranges.bind(adjoint, shapes)
    except CompileError:
        return None
    written = {target for statement in adjoint.statements for target in ir.targets(statement)}
    stored = sum(prod(bound.shapes[tensor.name]) * ir.types.width(tensor.dtype) for tensor in written)
    return make_plan(bound) if stored <= most else None


@functools.lru_cache(maxsize=1024)
def plan_plainly(group: Group) -> OneByOne:
    """The results as operations that XLA can fuse, which may store intermediate arrays that a loop would not."""
    return OneByOne(tuple([Alone(plan_alone(nest.computed), nest.axes, nest.shape) for nest in group.results]))


def plan_apart(group: Group) -> OneByOne:
    """The results as separate nests, each planned for its device."""
    return OneByOne(tuple(map(choose, group.results)), behind=isinstance(group, KernelSums))


@functools.lru_cache(maxsize=1024)
def plan_cpu(group: Group, form: LoopSchedule | Blocks, memory: int | None) -> Alone | Pieces | BlockedLoop:
    """The loops of a group within `memory` bytes."""
    match group, form:
        case Nest(), LoopSchedule(whole=True):
            found, layouts = turned(group, form)
            return Alone(plan_alone(found), group.axes, group.shape, layouts)
        case Nest(), LoopSchedule():
            return _pieces(group, form, memory, 1)
        case Softmax(), Blocks():
            return plan_online_softmax(group, form)
        case KernelSums(), Blocks():
            return plan_kernel_sums(group, form)
        case Extrema(), _:
            return _pieces(group.place, group.form, memory, len(group.results))
        case _:
            raise AssertionError((group, form))


def batched_group(
    group: Group, form: LoopSchedule | Blocks, varying: Sequence[bool], size: int, memory: int | None
) -> tuple[Group, LoopSchedule | Blocks | None, tuple[bool, ...]]:
    """The group batched over a new axis of extent `size`, which the `varying` operands have first.

    Also how its loops run within `memory` bytes (None: each reduction on its own), and which results have the axis
    first.
    """
    match group, form:
        case Nest(), LoopSchedule():
            wide = batched(group, varying, size)
            return wide, replace(within(choose(wide), wide, memory), whole=form.whole), (True,)
        case Softmax(), _:
            softmax, moved = batched_softmax(group, varying, size)
            return softmax, choose_widths(softmax, memory), moved
        case KernelSums(), _:
            bundle, moved = batched_kernel_sums(group, varying, size)
            return bundle, choose_blocks(bundle, memory), moved
        case Extrema(), _:
            extrema, moved = batched_extrema(group, varying, size, memory)
            return extrema, extrema.blocks, moved
        case _:
            raise AssertionError((group, form))


def _pieces(nest: Nest, form: LoopSchedule, memory: int | None, results: int) -> Pieces:
    axis, found = parts(nest.computed, form, memory)
    return Pieces(axis, tuple([_piece(part, own, results) for part, own in found]))


def _piece(nest: Nest, form: LoopSchedule, results: int = 1) -> Piece:
    """The loop of a nest; for a position up to three `results`: itself, the value, and how many points have it."""
    reduce = nest.reduce
    dtypes = (reduce.dtype, reduce.body.dtype, "int32")[:results]
    lo, hi = nest.ranges[form.loop]
    loop: BlockedLoop | InTwoStages | Nothing
    if lo == hi:
        reducers = [reduce.reducer]
        if results > 1:
            assert isinstance(reduce.reducer, Reducer)
            reducers += [reduce.reducer.variant(gives_position=False), Reducer.SUM]
        loop = Nothing(tuple([reducer.empty(dtype) for reducer, dtype in zip(reducers, dtypes, strict=False)]))
    elif form.sieve:
        sieve = plan_two_stage(nest, form.sieve)
        blocks, rest = (_piece(own, replace(choose(own), sieve=0)) for own in (sieve.blocks, sieve.rest))
        loop = InTwoStages(sieve, _piece(sieve.firsts, form_of(sieve)), blocks, rest)
    else:
        loop = plan_nest(nest, form)
    return Piece(nest.axes, nest.shape, dtypes, loop)


__all__ = [
    "Group",
    "apart",
    "batched_group",
    "open_question",
    "plan_apart",
    "plan_cotangents",
    "plan_cpu",
    "plan_loops",
    "plan_plainly",
    "plan_tangents",
    "plan_unsized_formula",
    "plan_unsized_loop",
    "refusals",
    "statistic_of",
]
