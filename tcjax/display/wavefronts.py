"""Two nested loops that run by diagonals: which step computes each point, and what a point needs."""

from typing import Final

from ..markup import Arrows, Axis, Label, Layer, Plane, cell
from ..transforms import Diagonals
from .cells import rectangles
from .subjects import Drawn, Kind, Subject

# Most points drawn along each axis, from the first on.
_MOST: Final = 12


def _planes(subject: Subject) -> Drawn:
    for heading, call in subject.loops:
        if call.diagonals is not None:
            platforms = () if call.elsewhere is None else call.elsewhere.platforms
            yield heading, _plane(call.diagonals, platforms)


def _plane(diagonals: Diagonals, platforms: tuple[str, ...]) -> Plane:
    rows, columns = (
        Axis(str(index), lo, min(hi, lo + _MOST))
        for index, (lo, hi) in zip(diagonals.indices, diagonals.box, strict=True)
    )
    cells = [(i, j) for i in range(rows.lo, rows.hi) for j in range(columns.lo, columns.hi)]
    numbers = {at: diagonals.number(*at) for at in cells}
    least = min(diagonals.number(i, j) for i in _ends(diagonals.box[0]) for j in _ends(diagonals.box[1]))
    point = (rows.lo + rows.hi) // 2, (columns.lo + columns.hi) // 2
    step = rectangles(at for at, number in numbers.items() if number == numbers[point])
    needed = [(point[0] + one, point[1] + two) for one, two in diagonals.needs]
    pairs = tuple((cell(*at), cell(*point)) for at in needed if at in numbers)
    one, two = (hi - lo for lo, hi in diagonals.box)
    where = f" on {', '.join(platforms)}" if platforms else ""
    part = "" if (rows.extent, columns.extent) == (one, two) else f", the first of {one} x {two} points"
    return Plane(
        f"steps by diagonals{where}{part}",
        rows,
        columns,
        (
            Layer("the number of its step", rectangles(cells), 0, opacity=0.15),
            Layer("the points of one step, at once", step, 0),
        ),
        tuple(Label(cell(*at), str(number - least)) for at, number in numbers.items()),
        (Arrows("what a point needs of earlier steps", pairs, 1),) if pairs else (),
    )


def _ends(span: tuple[int, int]) -> tuple[int, int]:
    return span[0], span[1] - 1


def _help(subject: Subject) -> str:
    if not any(True for _ in subject.loops):
        return "a wavefront needs two loops, one inside the other, `for i in 1:N { for j in 1:M { ... } }`"
    return "its loops run step by step: two nested loops run by diagonals only where that is cheaper"


WAVEFRONT: Final = Kind("wavefront", _planes, "the steps of two nested loops, by diagonals", _help)
