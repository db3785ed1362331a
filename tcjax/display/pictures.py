"""Pictures of a plan: what runs when and where, which points of each statement take part, what one element reads."""

from dataclasses import dataclass
from typing import Final

from ..markup import Element, Plane, beside, block, element, figure, plane_svg, plane_text, standalone
from .domains import DOMAIN, TILES
from .halos import HALO
from .ragged import RAGGED
from .reads import READS
from .scans import SCAN
from .subjects import Heading, Kind, Subject
from .wavefronts import WAVEFRONT

# In the order in which they are shown under a heading.
KINDS: Final = (HALO, WAVEFRONT, SCAN, DOMAIN, RAGGED, TILES, READS)


@dataclass(frozen=True, slots=True)
class StatementPicture:
    """The planes of one statement, of a loop, or of a mesh."""

    statement: str
    planes: tuple[Plane, ...]

    def figures(self) -> Element:
        """The planes next to each other, each with its title."""
        return element("div", *(figure(plane.title, plane_svg(plane)) for plane in self.planes), class_="pictures")


@dataclass(frozen=True, slots=True)
class Picture:
    """What `Kernel.picture` returns: `str` gives text, `svg` a file, a notebook shows a page."""

    statements: tuple[StatementPicture, ...]

    def svg(self, across: int = 3) -> str:
        """All planes as one self-contained SVG document without scripts, `across` of them in a row."""
        planes = [plane for statement in self.statements for plane in statement.planes]
        label = "; ".join(plane.title for plane in planes) or "nothing to draw"
        return standalone(beside([plane_svg(plane) for plane in planes], label, across))

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


def draw(subject: Subject, kinds: tuple[Kind, ...] = KINDS) -> Picture:
    """A picture of each statement, loop and mesh that has something to show."""
    # Statements in the order of the program, after everything else.
    found: dict[Heading, list[Plane]] = {heading: [] for heading, _ in subject.parts}
    others: dict[Heading, list[Plane]] = {}
    for kind in kinds:
        for heading, plane in kind.planes(subject):
            (found[heading] if heading in found else others.setdefault(heading, [])).append(plane)
    drawn = {**others, **found}
    return Picture(tuple(StatementPicture(heading.text, tuple(planes)) for heading, planes in drawn.items() if planes))
