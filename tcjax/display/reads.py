"""What one element of a result reads, drawn on every tensor that its statement reads."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Final

from .. import ir, ranges
from ..markup import Axis, Layer, Plane, Rectangle
from ..symbolic import Affine, IndexVar
from .cells import rectangles
from .points import Points
from .subjects import Drawn, Kind, Subject

# Most points of the loops that are visited; with more, a read is drawn as the box of its subscripts' bounds.
_MOST_POINTS: Final = 1 << 12


def _planes(subject: Subject) -> Drawn:
    for heading, points in subject.statements:
        if not points.is_empty:
            for plane in _read_planes(points):
                yield heading, plane


def _read_planes(points: Points) -> Iterator[Plane]:
    """The computed element, then every tensor with the elements that are read."""
    statement = points.statement
    point = {index: value for index, value in points.middle().items() if index in points.left}
    if not points.loops:
        point = points.middle()
    own = _write_plane(points, point)
    if own is not None:
        yield own
    reads: dict[str, list[ir.Access]] = {}
    for expr in _expressions(statement):
        for access in ir.accesses(expr):
            if access.indices:
                reads.setdefault(access.tensor.name, []).append(access)
    for number, (name, accesses) in enumerate(reads.items(), start=1):
        plane = _read_plane(points, point, name, accesses, number)
        if plane is not None:
            yield plane


def _expressions(statement: ir.Define | ir.Accumulate) -> Iterator[ir.Expr]:
    yield statement.value
    guard = ranges.effective_guard(statement)
    if guard is not None:
        yield guard


def _write_plane(points: Points, point: Mapping[IndexVar, int]) -> Plane | None:
    statement = points.statement
    place = [points.value(index, point) for index in statement.indices]
    name = statement.target.name
    if not place or None in place or 0 in points.bound.shapes[name]:
        return None
    at = [value for value in place if value is not None]
    drawn = _drawn(points.bound.shapes[name], ())
    axes = _axes(points, name, statement.indices, drawn)
    element = ", ".join(map(str, at))
    own = ir.tensor_name(statement.target)
    layer = Layer(f"the element {own}({element})", _box([(at[n], at[n] + 1) for n in drawn]), 0, opacity=0.9)
    return _plane(f"{own}({element})", axes, (layer,))


def _read_plane(
    points: Points, point: Mapping[IndexVar, int], name: str, accesses: list[ir.Access], colour: int
) -> Plane | None:
    shape = points.bound.shapes[name]
    if 0 in shape:
        return None
    varying = {
        n for access in accesses for n, index in enumerate(access.indices) if not index.variables <= point.keys()
    }
    drawn = _drawn(shape, varying)
    boxes: list[Rectangle] = []
    cells: set[tuple[int, int]] = set()
    by_data = False
    for access in accesses:
        indices = [access.indices[n] for n in drawn]
        by_data = by_data or any(index.is_data for index in indices)
        free = sorted(frozenset[IndexVar]().union(*(i.variables for i in access.indices)) - point.keys(), key=str)
        free += [index for index in points.loops if index not in free]
        free = [index for index in free if index in points.box]
        if by_data or prod(points.extent(index) for index in free) > _MOST_POINTS:
            spans = [_span(points, index, point, shape[n]) for index, n in zip(indices, drawn, strict=True)]
            boxes += _box(spans)
        else:
            cells.update(_visited(points, point, free, indices))
    found = (*boxes, *rectangles(cells))
    if not found:
        return None
    axes = _axes(points, name, accesses[0].indices, drawn)
    own = ir.tensor_name(accesses[0].tensor)
    said = f"{own}, where data says" if by_data else f"what it reads of {own}"
    return _plane(own, axes, (Layer(said, found, colour),))


def _visited(
    points: Points, point: Mapping[IndexVar, int], free: list[IndexVar], indices: list[Affine]
) -> Iterator[tuple[int, int]]:
    for values in product(*(range(*points.box[index]) for index in free)):
        at = {**point, **dict(zip(free, values, strict=True))}
        if points.holds(at):
            place = [points.value(index, at) for index in indices]
            if None not in place:
                yield (place[0] or 0, place[1] or 0) if len(place) == 2 else (0, place[0] or 0)


def _span(points: Points, index: Affine, point: Mapping[IndexVar, int], extent: int) -> tuple[int, int]:
    """The hull of a subscript over the loops, inside the tensor."""
    if index.is_data:
        return 0, extent
    ends = [
        points.value(index, {**point, **dict(zip(free, corner, strict=True))})
        for free in [[v for v in index.variables if v not in point and v in points.box]]
        for corner in product(*((points.box[v][0], points.box[v][1] - 1) for v in free))
    ]
    known = [end for end in ends if end is not None]
    return (max(0, min(known)), min(extent, max(known) + 1)) if known else (0, extent)


# ---------------------------------------------------------------- the plane of a tensor


def _drawn(shape: tuple[int, ...], varying: Iterable[int]) -> list[int]:
    """The one or two dimensions that are drawn: first those along which reads run, then long ones, then the last."""
    wanted = set(varying)
    order = sorted(range(len(shape)), key=lambda n: (n not in wanted, shape[n] <= 1, -n))
    return sorted(order[:2])


def _axes(points: Points, name: str, indices: tuple[Affine, ...], drawn: list[int]) -> list[Axis]:
    origins, shape = points.bound.origins[name], points.bound.shapes[name]
    return [Axis(_short(str(ir.as_subscript(indices[n]))), origins[n], origins[n] + shape[n]) for n in drawn]


def _short(text: str) -> str:
    return text if len(text) <= 14 else f"{text[:12]}.."


def _box(spans: list[tuple[int, int]]) -> tuple[Rectangle, ...]:
    return ((spans[0], spans[1]),) if len(spans) == 2 else (((0, 1), spans[0]),)


def _plane(title: str, axes: list[Axis], layers: tuple[Layer, ...]) -> Plane:
    return Plane(title, axes[0] if len(axes) == 2 else None, axes[-1], layers)


READS: Final = Kind(
    "reads", _planes, "one element, and what it reads", lambda _: "none of its statements is a formula with indices"
)
