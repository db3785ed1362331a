"""The cost of loops over spaces that are never stored: nests, and passes shared by several reductions.

Counted on the formula, not on the planned blocks: planning these takes longer than everything else in a price.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ..blocked.domains import points as points_of
from ..blocked.domains import visited
from ..blocked.loop_schedules import RANKED, is_contraction, is_short, terms
from ..blocked.ranks import ranks
from ..data.groups import Blocks, Extrema, Group, KernelSums, Softmax, parts
from ..data.machine import Machine
from ..data.nests import LoopSchedule, Nest
from ..data.price import Price
from .rates import call_time, operator_time, power_time, slower

# A loop over fewer points runs on one core.
SPREAD: Final = 1 << 17
# The number of tiles sampled to estimate how much of a loop a guard leaves.
TILES: Final = 8
# The cost of the values left by a sieve, and of sorting them, relative to that of the first values alone.
SIEVED: Final = 3
# The cost of slicing an element for a loop step, relative to an element across rows.
SLIDING: Final = 6
# Operations of a block of scores besides the scores and their exponentials: maxima, differences, masks, sums.
SCORE_OPERATIONS: Final = 6


def _nest_work(nest: Nest, form: LoopSchedule, machine: Machine) -> Price:
    """A nest in the blocks of its form."""
    nest = nest.computed
    reduce = nest.reduce
    extents = {index: max(0, hi - lo) for index, (lo, hi) in nest.ranges.items()}
    space = (*nest.axes, *reduce.indices)
    points = prod(extents[index] for index in dict.fromkeys(space))
    part = visited(nest, form, TILES) / points if points else 0.0
    counter = _Counter(extents, machine, frozenset(space), frozenset(nest.axes), _minor(nest, form))
    ranked = reduce.rank is not None and not form.sieve
    passes = 1 + ranks(nest) if ranked else 1
    products = form.inside and reduce.reducer is Reducer.SUM
    seconds = counter.seconds(reduce.body, points)
    if reduce.guard is not None:
        # Masked values are replaced.
        seconds += counter.seconds(reduce.guard, points) + points * machine.element
        if len(reduce.indices) > 1:
            # The other indices of the loop reduce a stored block.
            seconds += points * machine.fold_slow
    slow = slower(reduce.accumulate, machine)
    if products and not counter.multiplied:
        # The factors of a product are computed over their own axes.
        seconds = points * machine.multiply_add * slow + counter.factors
        seconds += 0 if reduce.guard is None else points * machine.element
    extremum = reduce.reducer.is_extremum and ir.types.is_float(reduce.accumulate)
    combined = 1 + (6 if reduce.reducer.gives_position else 2 if extremum else 0) + (RANKED if ranked else 0)
    if reduce.reducer.inject is not None:
        seconds += points * machine.call * slow
    if not products:
        seconds += points * slow * (combined * machine.element + machine.accumulate)
    seconds *= part * passes
    tiles = 1 if form.tile is None else -(-extents[form.tile[0]] // form.tile[1])
    trips = 0.0 if form.whole else passes * part * tiles * (extents[form.loop] / max(1, form.rows * form.unroll))
    if _is_one_kernel(nest, machine):
        trips = 0.0
    elif not form.whole and part * points < SPREAD * tiles:
        seconds *= 2
    if form.sieve:
        seconds *= SIEVED
    moved = sum(prod(o.shape) * ir.types.width(o.dtype) for o in nest.operands)
    moved += prod(nest.shape) * ir.types.width(reduce.dtype)
    begun, traffic = trips * machine.trip + machine.dispatch, moved * machine.cached_byte
    return Price(seconds + (begun + traffic), moved, traffic, begun)


def _is_one_kernel(group: Group, machine: Machine) -> bool:
    """Whether a group that loops on a CPU is a kernel without loops over blocks, as in `blocked.gpu_kernels`."""
    reducers = [nest.reduce.reducer for nest in group.results]
    return machine.kind == "gpu" and all(isinstance(each, Reducer) and not each.is_ranked for each in reducers)


def loop_work(group: Group, schedule: LoopSchedule | Blocks, machine: Machine) -> Price:
    """Reductions that share their loops, as these run."""
    match group, schedule:
        case Nest() as nest, LoopSchedule() as form:
            return _nest_work(nest, form, machine)
        case Extrema(place=place, form=form), _:
            return _nest_work(place, form, machine)
        case (Softmax() | KernelSums()) as group, Blocks() as blocks:
            return _blocks_work(group, blocks, machine)
        case other:
            raise AssertionError(other)


def _blocks_work(group: Softmax | KernelSums, blocks: Blocks, machine: Machine) -> Price:
    ranges = group.ranges
    extents = {index: max(0, hi - lo) for index, (lo, hi) in ranges.items()}
    first = group.results[0] if isinstance(group, KernelSums) else group.sums[0]
    inside = [index for index in first.reduce.indices]
    rows = group.rows if isinstance(group, Softmax) else first.axes
    space = dict.fromkeys((*rows, *inside))
    points = prod(extents[index] for index in space)
    counter = _Counter(extents, machine, frozenset(space), frozenset(rows), None)
    width = ir.types.width(first.reduce.accumulate)
    slow = slower(first.reduce.accumulate, machine)
    if isinstance(group, Softmax):
        seconds = counter.seconds(group.scores, points) + points * machine.call * slow
        seconds += points * SCORE_OPERATIONS * machine.element * slow
        for nest in group.sums:
            _, weight = parts(nest)
            own = prod(extents[axis] for axis in nest.axes if axis not in rows)
            seconds += points * (own * machine.multiply_add if weight is not None else machine.element) * slow
    else:
        seconds = counter.seconds(first.reduce.body, points)
        columns = sum(prod(extents[axis] for axis in nest.axes if axis not in space) for nest in group.sums)
        seconds += points * max(columns, len(group.sums)) * machine.multiply_add * slow
    tile = LoopSchedule(blocks.loop, blocks.width, 1, tile=blocks.tile[0] if blocks.tile else None)
    part = visited(first, tile, TILES) / max(1, points_of(first)) if first.reduce.guard is not None else 1.0
    tiles = prod(-(-extents[axis] // size) for axis, size in blocks.tile)
    trips = 0.0 if _is_one_kernel(group, machine) else tiles * -(-extents[blocks.loop] // max(1, blocks.width)) * part
    given = sum(prod(o.shape) * ir.types.width(o.dtype) for o in group.operands)
    results = sum(prod(nest.shape) * ir.types.width(nest.reduce.dtype) for nest in group.results)
    # A block is written and read a few times, in the cache.
    within, ends = 4 * points * width * machine.cached_byte, (given + results) * machine.cached_byte
    begun = 4 * trips * machine.trip
    return Price((seconds + within) * part + begun + ends, given + results, within * part + ends, begun)


def _minor(nest: Nest, form: LoopSchedule) -> IndexVar | None:
    """The vectorised axis."""
    if form.whole:
        return nest.axes[-1] if nest.axes else None
    extents = dict(zip(nest.axes, nest.shape, strict=True))
    return max(nest.axes, key=lambda axis: extents[axis], default=None)


@dataclass(slots=True)
class _Counter:
    """Adds up a formula over a space; `factors` is the share of its time spent on fewer axes than all.

    `multiplied` says that it contains a matrix product.
    """

    extents: Mapping[IndexVar, int]
    machine: Machine
    space: frozenset[IndexVar]
    axes: frozenset[IndexVar]
    minor: IndexVar | None
    factors: float = 0.0
    multiplied: bool = False

    def seconds(self, expr: ir.Expr, points: int) -> float:
        """The time of the expression at `points` points."""
        machine = self.machine
        own = 0.0
        match expr:
            case ir.Const() | ir.Extent() | ir.Index():
                return 0.0
            case ir.Access(indices=indices):
                rows = any(index.is_data for index in indices[:-1]) and not indices[-1].is_data
                if rows and self.minor in indices[-1].variables:
                    row = max(1, prod(self.extents.get(index, 1) for index in indices[-1].variables & self.space))
                    return points // row * machine.gather_row + points * machine.element
                if any(index.is_data for index in indices):
                    return points * machine.gather
                if any(len(index.variables & self.axes) > 1 for index in indices):
                    # An operand that slides along two axes of the result is assembled first, element by element.
                    return points * machine.strided / 3
                if any(index.variables & self.axes and index.variables & (self.space - self.axes) for index in indices):
                    # An operand that slides along the loop is sliced again in each step.
                    return points * machine.strided / SLIDING
                # A load from the cache.
                return points * machine.element / 4
            case ir.Reduce(body=body, indices=indices):
                return self._reduced(expr, body, indices, points)
            case ir.Binary("**", base, exponent) | ir.Call("pow", (base, exponent)):
                own = points * power_time(ir.number_of(exponent), machine) * slower(expr.dtype, machine)
                return own + self.seconds(base, points) + self.seconds(exponent, points)
            case ir.Call() | ir.Foreign():
                free = ir.free_indices(expr) & self.space
                here = min(points, prod(self.extents.get(index, 1) for index in free))
                name = expr.function if isinstance(expr, ir.Call) else ""
                own = here * call_time(name, machine) * slower(expr.dtype, machine)
                inner = sum(self.seconds(part, here) for part in ir.children(expr))
                if here < points:
                    self.factors += own + inner
                return own + inner
            case ir.Cast():
                own = 0.0 if expr.dtype == expr.operand.dtype else points * machine.element
            case ir.Binary(operator=operator):
                own = points * operator_time(operator, expr.dtype, machine)
                if expr.left == expr.right:
                    # ``x * x`` has a single `x`.
                    return own + self.seconds(expr.left, points)
            case _:
                own = points * machine.element
        return own + sum(self.seconds(part, points) for part in ir.children(expr))

    def _reduced(self, expr: ir.Reduce, body: ir.Expr, indices: tuple[IndexVar, ...], points: int) -> float:
        machine, spans = self.machine, {index: (0, extent) for index, extent in self.extents.items()}
        count = terms(expr, spans)
        free = ir.free_indices(expr) & self.space
        here = min(points, prod(self.extents.get(index, 1) for index in free))
        slow = slower(expr.accumulate, machine)
        if is_contraction(expr, spans):
            self.multiplied = True
            return here * count * machine.multiply_add * slow
        inner = self.seconds(body, here * count)
        if expr.guard is not None:
            # Masked values are replaced, and the block is stored before it is reduced.
            inner += self.seconds(expr.guard, here * count) + here * count * machine.fold_slow
        # Unrolled, a term is one more operation; otherwise the reduction stores its operand.
        rate = machine.element if is_short(expr, spans) else machine.fold_slow
        total = inner + here * count * rate * slow
        if here < points:
            self.factors += total
        return total
