"""The planner with other limits: nests at small sizes, in blocks that do not divide extents."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from tcjax import ir
from tcjax.planning import choice, replanning
from tcjax.planning.blocked import extrema
from tcjax.planning.blocked import kernel_sum_blocks as bundle_blocks
from tcjax.planning.blocked import loop_schedules as forms
from tcjax.planning.data.nests import LoopSchedule, Nest
from tcjax.planning.operations import loop


@contextmanager
def nesting(rows: int = 3, unroll: int = 1, *, tile: int | None = None, written: int | None = None) -> Iterator[None]:
    """Every reduction that can become a nest does, in blocks of `rows` values, unrolled `unroll` times.

    With `tile`, this many values of an axis (one that no rank mentions) are computed at a time; inner reductions of at
    most `written` terms are unrolled.
    """
    usual = forms.choose

    def choose(nest: Nest) -> LoopSchedule:
        form = usual(nest)
        lo, hi = nest.ranges[form.loop]
        few = max(1, min(rows, hi - lo))
        some = max(1, min(unroll, (hi - lo) // few))
        ranks = frozenset() if nest.reduce.rank is None else ir.free_indices(nest.reduce.rank)
        axes = [axis for axis in nest.axes if axis not in ranks]
        return replace(form, rows=few, unroll=some, tile=(axes[0], tile) if tile is not None and axes else None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice, "SMALL_SPACE", 0)
        patch.setattr(choice, "MOST_GROWTH", 0)
        patch.setattr(loop, "choose", choose)
        patch.setattr(replanning, "choose", choose)
        patch.setattr(forms, "choose", choose)
        patch.setattr(extrema, "choose", choose)
        patch.setattr(bundle_blocks, "ELEMENTS", 8 * rows)
        patch.setattr(bundle_blocks, "FEWEST", 1)
        patch.setattr(bundle_blocks, "ROWS", 3)
        patch.setattr(bundle_blocks, "GUARDED", (2, 4))
        patch.setattr(bundle_blocks, "BEGIN", 0)
        if written is not None:
            patch.setattr(forms, "MOST_TERMS", written)
        yield
