"""Points sorted by position: those of one element form a segment, which a running reduction reduces."""

from collections.abc import Iterator

from ... import ir
from ...ir import Reducer
from ..data.stages import Compute, Scatter
from .placement import Placement


def propose(placement: Placement) -> Iterator[Compute]:
    """Sums, products and registered reductions; for the last two, no other operation has a derivative."""
    store, accumulate = placement.stage.store, placement.stage.accumulate
    is_float = ir.types.is_float(accumulate)
    is_sum = store.combine is Reducer.SUM and placement.is_by_operator and is_float
    is_product = store.combine is Reducer.PRODUCT and (is_float or ir.types.is_complex(accumulate))
    if placement.has_order or is_sum or is_product:
        yield placement.by(Scatter(is_sorted=True))
