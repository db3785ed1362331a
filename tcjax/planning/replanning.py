"""How the loops of a group of reductions run when the group has changed: for every element of a batch."""

from collections.abc import Sequence
from dataclasses import replace

from .batching import batched
from .blocking import choose as choose_widths
from .bundle_blocks import choose_blocks
from .bundles import Bundle, batched_bundle
from .extrema import Extrema, batched_extrema
from .forms import Form, choose, within
from .nests import Nest
from .nodes import Group
from .softmax import Blocks, Softmax, batched_softmax


def batched_group(
    group: Nest | Group, form: Form | Blocks, varying: Sequence[bool], size: int, memory: int | None
) -> tuple[Nest | Group, Form | Blocks | None, tuple[bool, ...]]:
    """The group for every element of a new axis of extent `size`, which the operands that are `varying` have in front.

    And how its loops run within `memory` bytes (None: each reduction by itself), and which results have the axis in
    front.
    """
    match group, form:
        case Nest(), Form():
            wide = batched(group, varying, size)
            return wide, replace(within(choose(wide), wide, memory), whole=form.whole), (True,)
        case Softmax(), _:
            softmax, moved = batched_softmax(group, varying, size)
            return softmax, choose_widths(softmax, memory), moved
        case Bundle(), _:
            bundle, moved = batched_bundle(group, varying, size)
            return bundle, choose_blocks(bundle, memory), moved
        case Extrema(), _:
            extrema, moved = batched_extrema(group, varying, size, memory)
            return extrema, extrema.blocks, moved
        case _:
            raise AssertionError((group, form))
