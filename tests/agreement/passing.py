"""The planner with other limits: softmaxes in one pass at small sizes, in blocks that do not divide extents."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tcjax.planning import replanning
from tcjax.planning.data.groups import Blocks, Softmax
from tcjax.planning.fusion import softmax as online

from .nesting import nesting


@contextmanager
def passing(width: int = 3, tile: int = 2) -> Iterator[None]:
    """Every softmax is one pass, over blocks of `width` values of the loop, for `tile` values of each axis."""

    def choose(softmax: Softmax, memory: int | None) -> Blocks:
        ranges = softmax.ranges
        loop = max(softmax.sums[0].reduce.indices, key=lambda index: ranges[index][1] - ranges[index][0])
        extents = {axis: ranges[axis][1] - ranges[axis][0] for axis in softmax.rows}
        return Blocks(loop, width, tuple((axis, tile) for axis, extent in extents.items() if tile < extent))

    with nesting(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(online, "choose", choose)
        patch.setattr(replanning, "choose_widths", choose)
        yield
