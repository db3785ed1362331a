"""Which values are stored although XLA would compute them again wherever they are read, as in windows of windows."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ... import ir
from ..blocked.loop_schedules import is_costly
from ..cost.bill import Bill, Kernel
from ..cost.meter import Meter
from ..cost.prices import is_one_loop, names_read
from ..data.machine import CPU, Machine
from ..data.nodes import Apply, CallBuiltin, Fold, LoopNest, Node, Pool, Read, Unroll, has, operands
from ..data.stages import Compute, Stage
from ..data.views import Pieces


def stored_apart(stages: Sequence[Stage], returns: Sequence[str]) -> tuple[Stage, ...]:
    """The stages; those that cost less in memory than computed wherever they are read are `apart`.

    XLA puts a fused loop into the one that reads it, once for each place where it is read there: a sum over a window
    of 15 values that a window of 15 reads would be computed 15 times. Fused loops that compute what XLA would rather
    store than compute twice run one after the other: what several of them share, it would store for every step.
    """
    found: list[Stage] = []
    for number, stage in enumerate(stages):
        if isinstance(stage, Compute):
            parts = (*stage.before, replace(stage, before=()))
            before = tuple(_apart(part, parts[n + 1 :]) for n, part in enumerate(stage.before))
            stage = replace(stage, before=before) if before else stage
            stage = stage if stage.target in returns else _apart(stage, stages[number + 1 :])
            stage = replace(stage, in_turn=True) if _is_costly_loop(stage.value) else stage
        found.append(stage)
    return tuple(found)


def _is_costly_loop(node: Node) -> bool:
    if isinstance(node, LoopNest) and node.is_one_loop and is_costly(node.nest):
        return True
    return any(map(_is_costly_loop, operands(node)))


def _apart(stage: Compute, later: Sequence[Stage], machine: Machine = CPU) -> Compute:
    """The stage, apart where the one that reads it next would take longer to compute it again and again."""
    reader = next((other for other in later if stage.target in names_read(other)), None)
    if not is_one_loop(stage) or not isinstance(reader, Compute):
        return stage
    if any(_read_in_pieces(part.value, stage.target) for part in (*reader.before, reader)):
        return replace(stage, apart=True)
    if not has(stage.value, Unroll, LoopNest):
        return stage
    times = max(_times_read(part.value, stage.target) for part in (*reader.before, reader))
    extents = {index: max(0, hi - lo) for index, (lo, hi) in stage.box.items()}
    bill, kernel = Bill(machine, Meter(extents)), Kernel(stage.value.axes)
    bill.fuse(stage.value, kernel)
    size = prod(stage.shape)
    stored = machine.traffic(2 * size * ir.types.width(stage.dtype)) + bill.begun(size)
    return replace(stage, apart=True) if (times - 1) * kernel.seconds > stored else stage


def _read_in_pieces(node: Node, tensor: str) -> bool:
    """Whether a tensor is read as a sum of padded pieces: XLA would compute it in each of them, and store those."""
    if isinstance(node, Read):
        return node.tensor == tensor and any(isinstance(view, Pieces) and view.fused for view in node.views)
    return any(_read_in_pieces(operand, tensor) for operand in operands(node))


def _times_read(node: Node, tensor: str) -> int:
    """At how many places of a tensor one value of a fused loop looks."""
    match node:
        case Read():
            return int(node.tensor == tensor)
        case Unroll(box=box, body=body):
            return prod(hi - lo for _, lo, hi in box) * _times_read(body, tensor)
        case Pool(operand=operand, windows=windows):
            return prod(extent for _, extent, native in windows if not native) * _times_read(operand, tensor)
        case LoopNest(nest=nest, is_one_loop=True):
            ranges = nest.ranges
            times = prod(hi - lo for lo, hi in (ranges[index] for index in nest.reduce.indices))
            return times * sum(access.tensor.name == tensor for access in ir.accesses(nest.reduce))
        case Apply() | CallBuiltin() | Fold():
            return sum(_times_read(operand, tensor) for operand in operands(node))
        case _:
            return 0
