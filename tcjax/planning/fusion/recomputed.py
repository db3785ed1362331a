"""Values that are stored although XLA would recompute them wherever they are read, as in windows of windows."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final

from ... import ir
from ..blocked.loop_schedules import is_costly
from ..cost.bill import Bill, Kernel
from ..cost.costs import meter_of
from ..cost.meter import Meter
from ..cost.prices import is_one_loop, names_read
from ..data.machine import CPU, Machine
from ..data.nodes import Apply, Axes, CallBuiltin, Fold, LoopNest, Node, Pool, Read, Unroll, below, has, operands
from ..data.stages import Compute, Stage
from ..data.views import Pieces

# The maximum total share of recomputation by the readers of a result, if it costs four times as much as storing it.
UNKNOWN: Final = 1.25


def stored_apart(stages: Sequence[Stage], returns: Sequence[str]) -> tuple[Stage, ...]:
    """The stages; those that are cheaper to store than to recompute wherever they are read are `apart`.

    XLA fuses a loop into its reader, once for each place where it is read: a sum over a window of 15 values read by a
    window of 15 would be computed 15 times. Fused loops with values that XLA would rather store than recompute run in
    sequence: otherwise it would store shared values for every step.
    """
    found: list[Stage] = []
    for number, stage in enumerate(stages):
        if isinstance(stage, Compute):
            parts = (*stage.before, replace(stage, before=()))
            before = tuple(_apart(part, parts[n + 1 :]) for n, part in enumerate(stage.before))
            stage = replace(stage, before=before) if before else stage
            stage = _apart(stage, None if stage.target in returns else stages[number + 1 :])
            stage = replace(stage, in_turn=True) if _is_costly_loop(stage.value) else stage
        found.append(stage)
    return tuple(found)


def _is_costly_loop(node: Node) -> bool:
    return any(isinstance(part, LoopNest) and part.is_one_loop and is_costly(part.nest) for part in below(node))


def _apart(stage: Compute, later: Sequence[Stage] | None, machine: Machine = CPU) -> Compute:
    """The stage, stored if its next reader would take longer to recompute it repeatedly.

    Where `later` is None the readers are unknown: a stage is stored if it costs several times as much as memory.
    """
    if not is_one_loop(stage):
        return stage
    times = UNKNOWN
    if later is not None:
        reader = next((other for other in later if stage.target in names_read(other)), None)
        if not isinstance(reader, Compute):
            return stage
        parts = (*reader.before, reader)
        if any(_read_in_pieces(part.value, stage.target) for part in parts):
            return replace(stage, apart=True)
        times = max(_times_read(part.value, stage.target, meter_of(part), part.value.axes) for part in parts)
    if later is None and not has(stage.value, Unroll, LoopNest):
        return stage
    bill, kernel = Bill(machine, meter_of(stage)), Kernel(stage.value.axes)
    bill.fuse(stage.value, kernel)
    size = prod(stage.shape)
    stored = machine.traffic(2 * size * ir.types.width(stage.dtype)) + bill.begun(size)
    return replace(stage, apart=True) if (times - 1) * kernel.seconds > stored else stage


def _read_in_pieces(node: Node, tensor: str) -> bool:
    """Whether a tensor is read as a sum of padded pieces: XLA would compute it in each of them, and store those."""
    reads = (part for part in below(node) if isinstance(part, Read) and part.tensor == tensor)
    return any(isinstance(view, Pieces) and view.fused for read in reads for view in read.views)


def _times_read(node: Node, tensor: str, meter: Meter, axes: Axes) -> int:
    """How often a fused loop over these axes reads each value of a tensor, including repetition."""
    match node:
        case Read():
            return meter.count(tuple(axis for axis in axes if axis not in node.axes)) if node.tensor == tensor else 0
        case Unroll(box=box, body=body):
            return prod(hi - lo for _, lo, hi in box) * _times_read(body, tensor, meter, axes)
        case Pool(operand=operand, windows=windows):
            places = prod(extent for _, extent, native in windows if not native)
            return places * _times_read(operand, tensor, meter, operand.axes)
        case LoopNest(nest=nest, is_one_loop=True):
            ranges = nest.ranges
            times = prod(hi - lo for lo, hi in (ranges[index] for index in nest.reduce.indices))
            return times * sum(access.tensor.name == tensor for access in ir.accesses(nest.reduce))
        case Fold(operand=operand):
            return _times_read(operand, tensor, meter, operand.axes)
        case Apply() | CallBuiltin():
            return sum(_times_read(operand, tensor, meter, axes) for operand in operands(node))
        case _:
            return 0
