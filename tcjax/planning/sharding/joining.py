"""How many steps of a loop devices run between two exchanges."""

from collections.abc import Mapping
from math import prod
from typing import Final

from ... import transforms
from ..cost.collectives import collective_seconds, usual_link
from ..cost.prices import plan_price
from ..data.machine import CPU
from ..data.stages import Call, CallForeign, Plan
from .blocks import Collective, Exchange
from .telling import sent

# Most steps, and most statements in them: each statement is planned and compiled separately.
MOST_STEPS: Final = 12
MOST_STATEMENTS: Final = 48


def seconds_of(plan: Plan, collectives: Mapping[str, Collective], sizes: Mapping[str, int]) -> float:
    """The seconds that a plan takes on one device, with its exchanges."""
    return plan_price(plan).seconds + sum(_seconds(plan, collectives, sizes))


def steps_between(
    step: transforms.OneStep, stage: Call, collectives: Mapping[str, Collective], sizes: Mapping[str, int]
) -> int:
    """The number of steps between exchanges for which the loop of a stage is fastest.

    Devices exchange what all these steps need before the first one. The number is 1 if nothing is exchanged. A wider
    halo still takes one message, but neighbours compute more points twice. After Demmel et al., "Avoiding communication
    in sparse matrix computations", IPDPS 2008.
    """
    assert stage.steps is not None
    count, inner = stage.steps.count, stage.plan
    growths = _growths(inner, collectives)
    if not growths:
        return 1
    messages = sum(_seconds(inner, collectives, sizes))
    computing = plan_price(inner).seconds
    most = min(count, MOST_STEPS, MOST_STATEMENTS // max(1, len(step.bound.function.statements)))
    most = min([most, *(block // width for width, block in growths if width)])
    # If only the last rows are needed, they are carried from step to step, but not into another loop.
    whole = any(kept.dimension is not None and not kept.stays for kept in stage.steps.kept)

    def seconds(size: int) -> float:
        wider = sum(2 * width / block for width, block in growths) * (size - 1) / 2
        blocks, rest = divmod(count, size)
        return blocks * (size * computing * (1 + wider) + messages) + rest * (computing + messages)

    return min((n for n in range(1, most + 1) if not whole or count % n == 0), key=seconds, default=1)


def _seconds(plan: Plan, collectives: Mapping[str, Collective], sizes: Mapping[str, int]) -> list[float]:
    return [
        collective_seconds(
            each.operation,
            each.bytes,
            prod(sizes[axis] for axis in each.axes),
            usual_link(each.axes, sizes, CPU),
            CPU,
        )
        * each.times
        for each in sent(plan, collectives)
    ]


def _growths(plan: Plan, collectives: Mapping[str, Collective]) -> list[tuple[int, int]]:
    """For each dimension with a halo, its width on the wider side, and the block."""
    found: dict[tuple[str, ...], tuple[int, int]] = {}
    for stage in plan.stages:
        if isinstance(stage, CallForeign) and isinstance(fetch := collectives.get(stage.function), Exchange):
            widths = [move.count for move in fetch.moves if not move.is_local]
            own = max([move.count for move in fetch.moves if move.is_local], default=0)
            if widths and own:
                width, _ = found.get(fetch.axes, (0, 0))
                found[fetch.axes] = max(width, *widths), own
    return list(found.values())
