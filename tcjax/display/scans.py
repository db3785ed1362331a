"""Scans: a loop as a chain of steps, a running reduction as chunks and what they carry."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..markup import Arrows, Axis, Label, Layer, Plane, Rectangle, Span, cell
from ..planning.data.nodes import Scan, below
from ..planning.data.steps import Lagged, State, Steps
from .points import Points
from .subjects import Drawn, Kind, Subject

# Most steps, elements and chunks that are drawn.
_STEPS: Final = 12
_ELEMENTS: Final = 64
_CHUNKS: Final = 16


def _planes(subject: Subject) -> Drawn:
    for heading, part in subject.parts:
        if not isinstance(part, Points):
            if part.steps is not None and part.steps.count:
                yield heading, _chain(part.steps)
                for plane in _chunks(part.steps):
                    yield heading, plane
        elif part.stage is not None:
            for node in below(part.stage.value):
                if isinstance(node, Scan) and part.extent(node.index) > 1:
                    yield heading, _running(node, *part.box[node.index])


# ---------------------------------------------------------------- loops


def _chain(steps: Steps) -> Plane:
    """The first steps in the order in which they run, and what each receives from earlier ones."""
    count = min(steps.count, _STEPS)
    labels = tuple(Label(cell(0, step), str(steps.value(step))) for step in range(count))
    given: dict[str, int] = {}
    for _, taken in steps.inputs:
        match taken:
            case Lagged(tensor, lag) if lag:
                given[f"{tensor} of {'the step' if lag == 1 else f'{lag} steps'} before"] = lag
            case State(tensor):
                given[f"{tensor} as the previous step leaves it"] = 1
            case _:
                continue
    arrows = (
        Arrows(name, tuple((cell(0, step - lag), cell(0, step)) for step in range(lag, count)), 1 + number)
        for number, (name, lag) in enumerate(given.items())
    )
    part = "" if count == steps.count else f", the first {count}"
    return Plane(
        f"{steps.count} steps along {steps.index}{part}",
        None,
        Axis("steps in order", 0, count),
        (Layer(f"a step, and its {steps.index}", (((0, 1), (0, count)),), 0, opacity=0.2),),
        labels,
        tuple(group for group in arrows if group.pairs),
    )


def _chunks(steps: Steps) -> Iterator[Plane]:
    """The chunks of steps for which a derivative stores only the inputs, and the blocks that run at once."""
    if steps.chunk is not None:
        yield _pieces(f"a derivative recomputes {steps.chunk} steps at a time", steps.count, steps.chunk)
    if steps.at_once is not None:
        where = ", ".join(steps.at_once.platforms)
        yield _pieces(f"on {where}: {steps.at_once.block} steps at once", steps.count, steps.at_once.block)


def _pieces(title: str, count: int, size: int) -> Plane:
    size = min(size, count)
    end = min(count, size * _CHUNKS)
    pieces = [((0, 1), (first, min(first + size, end))) for first in range(0, end, size)]
    carried = tuple(pairwise(pieces))
    return Plane(
        title if end == count else f"{title}, the first {_CHUNKS} times",
        None,
        Axis("steps in order", 0, end),
        (Layer(f"{size} steps", tuple(pieces), 0, outline=True),),
        (),
        (Arrows("the state left by earlier steps", carried, 1),) if carried else (),
    )


# ---------------------------------------------------------------- running reductions


def _running(node: Scan, lo: int, hi: int) -> Plane:
    """The elements in chunks; totals come from the previous chunk, or from a tree of chunks."""
    shown = min(hi - lo, _ELEMENTS)

    def placed(first: int, last: int) -> Span:
        """The positions of elements, counted in the order of the scan."""
        last = min(last, shown)
        return (lo + first, lo + last) if node.rising else (hi - last, hi - first)

    ends = (lo, lo + shown) if node.rising else (hi - shown, hi)
    axis = Axis(str(node.index), *ends)
    name = node.reducer if isinstance(node.reducer, str) else getattr(node.reducer, "value", node.reducer.name)
    part = "" if shown == hi - lo else f", {shown} of {hi - lo} elements"
    title = f"running {name} along {node.index} on a CPU{part}"
    if node.looped:
        chunks = [((0, 1), placed(first, first + node.block)) for first in range(0, shown, node.block)]
        arrows = (Arrows("total of earlier chunks", tuple(pairwise(chunks)), 1),) if len(chunks) > 1 else ()
        return Plane(title, None, axis, (_elements(chunks), _outlined(node, chunks)), (), arrows)
    # If not all chunks are drawn, the last one drawn has others after it.
    last = -1 if shown == hi - lo else None
    levels = list(_levels(shown, node.block, is_all=last is not None))
    up: list[tuple[Rectangle, Rectangle]] = []
    down: list[tuple[Rectangle, Rectangle]] = []
    chunks: list[Rectangle] = []
    wide = 1
    for level, size in enumerate(levels):
        several = wide * node.block
        own = [((level, level + 1), placed(n * several, (n + 1) * several)) for n in range(-(-size // node.block))]
        chunks += own
        if level + 1 < len(levels):
            # The level below has the total of each chunk but the last.
            totals = [((level + 1, level + 2), span) for _, span in own[:last]]
            up += zip(own[:last], totals, strict=True)
            down += zip(totals, own[1:], strict=False)
        wide = several
    rows = Axis("level", 0, len(levels)) if len(levels) > 1 else None
    groups = (Arrows("total of a chunk", tuple(up), 2), Arrows("total of earlier chunks", tuple(down), 1))
    layers = (_elements([chunk for chunk in chunks if chunk[0] == (0, 1)]), _outlined(node, chunks))
    return Plane(title, rows, axis, layers, (), tuple(group for group in groups if group.pairs))


def _levels(size: int, block: int, *, is_all: bool) -> Iterator[int]:
    """The size of each level of the tree: elements, chunks but the last, and so on."""
    while True:
        yield size
        if size <= block:
            return
        size = -(-size // block) - is_all


def _elements(chunks: list[Rectangle]) -> Layer:
    spans = [span for _, span in chunks]
    ends = min(first for first, _ in spans), max(last for _, last in spans)
    return Layer("elements", (((0, 1), ends),), 0, opacity=0.25)


def _outlined(node: Scan, chunks: list[Rectangle]) -> Layer:
    return Layer(f"chunks of {node.block}, sequential inside", tuple(chunks), 0, outline=True)


def _help(subject: Subject) -> str:
    return "a scan is a loop, `for t in 1:T { ... }`, or a reduction up to another index, `sum[j where j <= i](x(j))`"


SCAN: Final = Kind("scan", _planes, "chains of steps, and running reductions in chunks", _help)
