"""XLA's scatter: row by row if every point writes whole rows of the target, else element by element."""

from collections import Counter
from collections.abc import Iterator

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ..data.nodes import Lookup, Strip
from ..data.stages import Compute, Scatter
from .placement import Placement


def propose(placement: Placement) -> Iterator[Compute]:
    """All points at once, or slice by slice if many points share values."""
    combine, accumulate = placement.stage.store.combine, placement.stage.accumulate
    curved = ir.types.is_float(accumulate) or ir.types.is_complex(accumulate)
    if placement.has_order or (combine is Reducer.PRODUCT and curved):
        # Its derivative would divide by the values.
        return
    # A product and a position are computed from the elements at a position, one by one.
    is_by_element = combine is not None and (combine is Reducer.PRODUCT or combine.gives_position)
    ways = [()] if is_by_element else [rows_of(placement), ()]
    for rows in dict.fromkeys(ways):
        yield placement.by(Scatter(rows))
        if placement.is_by_operator and placement.shared:
            inside = {axis for number in rows for axis in _axes(placement.stage.store.dimensions[number])}
            most = max(
                (axis for axis in placement.shared if axis not in inside), key=placement.scope.extent, default=None
            )
            if most is not None and placement.scope.extent(most) > 1:
                yield placement.by(Scatter(rows, along=most))


def rows_of(placement: Placement) -> tuple[int, ...]:
    """The dimensions of the target that every point writes completely."""
    stage = placement.stage
    used = Counter(axis for dimension in stage.store.dimensions for axis in _axes(dimension))
    masked = () if stage.store.mask is None else stage.store.mask.axes
    found: list[int] = []
    for number, (dimension, extent) in enumerate(zip(stage.store.dimensions, stage.shape, strict=True)):
        match dimension:
            case Strip(start, 1, count, 0, 0, ((axis, size, 1),)) if start.constant == 0:
                if count == extent == size and used[axis] == 1 and axis in stage.value.axes and axis not in masked:
                    found.append(number)
            case _:
                continue
    return tuple(found)


def _axes(dimension: Strip | Lookup) -> set[IndexVar]:
    if isinstance(dimension, Lookup):
        return set(dimension.positions.axes)
    return {axis for axis, _, _ in dimension.factors}
