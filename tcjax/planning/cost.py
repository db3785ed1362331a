"""What a plan costs: operations, bytes moved, and the largest temporary memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from .. import ir
from ..symbolic import IndexVar
from .meter import Meter, nest_bytes
from .nodes import (
    LoopNest,
    Node,
    operands,
)
from .stages import Call, CallForeign, Compute, Plan, Unstored
from .tiled import Begin, Loop, Round, Tiled, TiledStep


@dataclass(frozen=True, slots=True)
class Cost:
    """`flops`: scalar operations; `bytes`: read and written at least once; `temporary`: predicted peak beside
    arguments and results, in bytes."""

    flops: int
    bytes: int
    temporary: int


def cost_of(stage: Compute) -> Cost:
    """The cost of one statement."""
    extents = {index: max(0, hi - lo) for index, (lo, hi) in stage.box.items() if index not in stage.loops}
    meter = Meter(extents)
    flops = meter.flops(stage.value)
    read = sum(meter.reads(stage.value).values())
    left = frozenset[IndexVar]().union(*(index.variables for index in stage.statement.indices))
    points = prod(extents[index] for index in left if index in extents)
    written = min(prod(stage.shape), points) * ir.types.width(stage.dtype)
    return Cost(flops, read + written, meter.temporaries(stage.value, root=True))


def plan_cost(plan: Plan) -> Cost:
    """The cost of a whole plan; tensors that are neither passed nor returned are temporaries."""
    flops = moved = peak = 0
    held = loops = 0
    seen: set[str] = set()
    for stage in plan.stages if plan.scheduled is None else plan.scheduled:
        match stage:
            case Compute() | Tiled():
                cost = cost_of(stage) if isinstance(stage, Compute) else tiled_cost(stage)
                flops += cost.flops
                moved += cost.bytes
                # XLA begins loops as early as it can: their accumulators are there at the same time.
                own = _loops(stage.value) if isinstance(stage, Compute) else 0
                loops += own
                peak = max(peak, held + loops + cost.temporary - own)
                if stage.target not in plan.returns and stage.target not in seen:
                    seen.add(stage.target)
                    held += prod(stage.shape) * ir.types.width(stage.dtype)
            case Call(plan=inner):
                cost = plan_cost(inner)
                flops, moved, peak = flops + cost.flops, moved + cost.bytes, max(peak, held + cost.temporary)
            case CallForeign() | Unstored():
                continue
    return Cost(flops, moved, max(peak, held))


def _loops(node: Node) -> int:
    """The bytes of all nests that a computation consists of."""
    own = nest_bytes(node.nest, node.form, node.backend.memory) if isinstance(node, LoopNest) else 0
    return own + sum(map(_loops, operands(node)))


def tiled_cost(stage: Tiled) -> Cost:
    """The cost of all iterations; of the temporaries only those of one iteration exist at a time."""
    flops, moved, temporary = _steps_cost(stage.steps, {stage.target})
    if stage.padded != stage.shape:
        temporary += prod(stage.padded) * ir.types.width(stage.dtype)
    return Cost(flops, moved, temporary)


def _steps_cost(steps: Iterable[TiledStep], known: set[str]) -> tuple[int, int, int]:
    flops = moved = peak = held = 0
    known = set(known)
    for step in steps:
        match step:
            case Loop(extent=extent, body=body):
                inner = _steps_cost(body, known)
                flops, moved, peak = flops + extent * inner[0], moved + extent * inner[1], max(peak, held + inner[2])
            case Begin(compute=compute) | (Compute() as compute):
                cost = cost_of(compute)
                flops, moved, peak = flops + cost.flops, moved + cost.bytes, max(peak, held + cost.temporary)
                if compute.target not in known:
                    known.add(compute.target)
                    held += prod(compute.shape) * ir.types.width(compute.dtype)
            case Round():
                continue
    return flops, moved, max(peak, held)
