"""What the devices of a mesh exchange: the block of each along a dimension, and the elements it receives around it."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final

from .. import planning
from ..markup import Arrows, Axis, Layer, Plane, Rectangle, cell
from ..planning.sharding import Exchange, Whole, tensor_of
from .cells import rectangles
from .subjects import Drawn, Heading, Kind, Mesh, Subject

# Most devices drawn, from the first on, and most arrows.
_DEVICES: Final = 16
_ARROWS: Final = 24


def _planes(subject: Subject) -> Drawn:
    if subject.mesh is None:
        return
    seen = set[Plane]()
    heading = Heading(-1, _sizes(subject.mesh.sizes))
    for plane in _drawn(subject.mesh.plan.plan, subject.mesh):
        if plane not in seen:
            seen.add(plane)
            yield heading, plane


def _sizes(sizes: Mapping[str, int]) -> str:
    return f"on a mesh of {', '.join(f'{axis}={size}' for axis, size in sizes.items())}"


def _drawn(plan: planning.Plan, mesh: Mesh) -> Iterator[Plane]:
    """The exchanges of a plan in the order in which they run."""
    for stage in plan.stages:
        match stage:
            case planning.Call(plan=inner):
                yield from _drawn(inner, mesh)
            case planning.CallForeign(function=name) if name in mesh.plan.collectives:
                collective = mesh.plan.collectives[name]
                if isinstance(collective, (Exchange, Whole)) and collective.tensor in plan.bound.shapes:
                    block = plan.bound.shapes[collective.tensor][collective.dimension]
                    devices = prod(mesh.sizes[axis] for axis in collective.axes)
                    if devices > 1:
                        yield _plane(collective, block, devices)
            case _:
                continue


def _plane(collective: Exchange | Whole, block: int, devices: int) -> Plane:
    """A row for each device, a column for each element of the dimension."""
    shown = min(devices, _DEVICES)
    name = tensor_of(collective.tensor)
    own = tuple(((n, n + 1), (n * block, (n + 1) * block)) for n in range(shown))
    got: dict[tuple[int, int], int] = {}
    if isinstance(collective, Whole):
        every = range(min(collective.extent, devices * block))
        got = {(n, at): at // block for n in range(shown) for at in every if at // block != n}
    else:
        for move in collective.moves:
            for giver, taker in move.pairs:
                if giver != taker:
                    elements = (giver * block + move.start + move.stride * k for k in range(move.count))
                    got |= {(taker, at): giver for at in elements if taker < shown}
    columns = Axis(f"dimension {collective.dimension} of {name}", 0, devices * block)
    along = ", ".join(map(repr, collective.axes))
    widths = [sum(1 for taker, _ in got if taker == n) for n in range(shown)]
    width = f"{min(widths)} to {max(widths)}" if min(widths) < max(widths) else f"{max(widths)}"
    what = "all others" if isinstance(collective, Whole) else "halo"
    layers = [Layer(f"the block of each device: {block}", own, 0)]
    if got:
        layers.append(Layer(f"{what}: {width} for each device", rectangles(got), 1, hatch=True))
    arrows = tuple(_arrows(got)) if not isinstance(collective, Whole) else ()
    part = "" if shown == devices else f", the first {shown} of {devices} devices"
    return Plane(
        f"{name} along {along}{part}",
        Axis("device", 0, shown),
        columns,
        tuple(layers),
        (),
        (Arrows("who gives it", arrows, 1),) if 0 < len(arrows) <= _ARROWS else (),
    )


def _arrows(got: Mapping[tuple[int, int], int]) -> Iterator[tuple[Rectangle, Rectangle]]:
    """From the middle of adjacent elements that one device sends, to the same elements on the receiver."""
    by_pair: dict[tuple[int, int], list[int]] = {}
    for (taker, at), giver in got.items():
        by_pair.setdefault((giver, taker), []).append(at)
    for (giver, taker), elements in by_pair.items():
        middle = sorted(elements)[len(elements) // 2]
        yield cell(giver, middle), cell(taker, middle)


def _help(subject: Subject) -> str:
    if subject.mesh is None:
        return 'say on which mesh: picture(..., mesh={"data": 4}, shard={"i": "data"}), or draw a sharded kernel'
    return "no device of this mesh needs elements of another one"


HALO: Final = Kind("halo", _planes, "the blocks of devices, and what each receives from others", _help)
