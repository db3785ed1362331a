"""Pictures of a plan: which points of each statement take part, in which tiles, and what one element reads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .. import planning
from ..markup import Element, Plane, beside, block, element, figure, plane_svg, plane_text, standalone
from .domains import domain_plane, tile_plane
from .points import Points, points_of
from .reads import read_planes


@dataclass(frozen=True, slots=True)
class StatementPicture:
    """The planes of one statement: its domain where that is not a box, its tiles, the element and its reads."""

    statement: str
    planes: tuple[Plane, ...]

    def figures(self) -> Element:
        """The planes next to each other, each under its title."""
        return element("div", *(figure(plane.title, plane_svg(plane)) for plane in self.planes), class_="pictures")


@dataclass(frozen=True, slots=True)
class Picture:
    """What `Kernel.picture` returns: `str` gives text, `svg` a file, a notebook shows a page."""

    statements: tuple[StatementPicture, ...]

    def svg(self) -> str:
        """All planes as one self-contained SVG document, without scripts."""
        planes = [plane for statement in self.statements for plane in statement.planes]
        return standalone(beside([plane_svg(plane) for plane in planes], "what each statement computes and reads"))

    def __str__(self) -> str:
        return "\n\n".join(
            "\n".join([statement.statement, *map(plane_text, statement.planes)]) for statement in self.statements
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts: list[Element] = []
        for statement in self.statements:
            parts.append(element("p", element("code", statement.statement)))
            parts.append(statement.figures())
        return str(block(*parts))


def draw(plan: planning.Plan, needed: Mapping[str, Plane] | None = None) -> Picture:
    """A picture of each statement that is a formula and has anything to show.

    `needed` are planes of what one tile needs of the tensors that are computed inside a loop, by name.
    """
    tiles = {} if plan.scheduled is None else dict(_tiled(plan))
    statements = []
    for text, points in points_of(plan):
        target = points.statement.target.name
        planes = tuple(_planes(points, tiles.get(text), (needed or {}).get(target)))
        if planes:
            statements.append(StatementPicture(text, planes))
    return Picture(tuple(statements))


def _tiled(plan: planning.Plan) -> Iterator[tuple[str, planning.Compute]]:
    """The statements that a schedule computes tile by tile, but for those inside of another's loops."""
    texts = {points.statement.target.name: text for text, points in points_of(plan)}
    for stage in plan.scheduled or ():
        if isinstance(stage, planning.Tiled) and stage.target in texts:
            own = [compute for compute, loops in stage.computes() if loops and compute.target == stage.target]
            if own:
                yield texts[stage.target], own[-1]


def _planes(points: Points, tile: planning.Compute | None, needed: Plane | None) -> Iterator[Plane]:
    if any(lo >= hi for lo, hi in points.box.values()):
        return
    domain = domain_plane(points)
    if domain is not None:
        yield domain
    tiles = None if tile is None else tile_plane(tile, points)
    if tiles is not None:
        yield tiles
    if needed is not None:
        yield needed
    yield from read_planes(points)
