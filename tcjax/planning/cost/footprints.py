"""The bytes that a pass reads from memory: each element once, however often and in whatever form it is read.

Shifted reads of one tensor overlap, and what they share is in the cache after the first of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd, prod

from ... import ir
from ...symbolic import IndexVar
from ...symbolic.hull import numbers
from ..data.nodes import Axes, Read, Strip

# In each dimension of a tensor the first element, the one behind the last, and the step between them.
Box = tuple[tuple[int, int, int], ...]


@dataclass(slots=True)
class Footprint:
    """What a pass reads.

    `arrays` are stored values, with their bytes. `tensors` are read along some axes, in parts: each a box, or None
    where a view or a lookup says what it is, with its number of elements. `steps` are the unrolled indices that move
    slices.
    """

    arrays: dict[object, int] = field(default_factory=dict)
    tensors: dict[tuple[str, Axes, int], dict[Box | None, int]] = field(default_factory=dict)
    steps: dict[IndexVar, tuple[int, int]] = field(default_factory=dict)

    def unrolled(self, box: Iterable[tuple[IndexVar, int, int]]) -> None:
        """What follows is read at each point of this box."""
        self.steps |= {index: (lo, hi) for index, lo, hi in box}

    def read(self, node: Read, extents: Mapping[IndexVar, int]) -> None:
        """A tensor, along axes with these extents."""
        strips = [d for d in node.dimensions if isinstance(d, Strip)]
        own = {index: extent for strip in strips for index, extent, _ in strip.factors}
        points = prod(own.get(axis, extents.get(axis, 1)) for axis in node.axes)
        box = None if node.views or len(strips) < len(node.dimensions) else self._box(strips)
        if box is not None:
            moving = {index for strip in strips for index in strip.start.variables if index in self.steps}
            points = min(points * prod(hi - lo for lo, hi in map(self.steps.__getitem__, moving)), _size(box))
        parts = self.tensors.setdefault((node.tensor, node.axes, ir.types.width(node.dtype)), {})
        parts[box] = max(points, parts.get(box, 0))

    def _box(self, strips: Iterable[Strip]) -> Box | None:
        """The elements between the ends of slices, without padding; None if they start at unknown places."""
        found: list[tuple[int, int, int]] = []
        for strip in strips:
            start = numbers(strip.start, self.steps)
            if start is None:
                return None
            reach = strip.stride * (strip.count - 1)
            first, last = start[0] + min(0, reach), start[1] + max(0, reach)
            weights = (weight.constant or 1 if isinstance(atom, IndexVar) else 1 for atom, weight in strip.start.terms)
            step = gcd(strip.stride if strip.count > 1 else 0, *weights)
            found.append((max(0, first - strip.low), last + 1 - strip.low - strip.high, step))
        return tuple(found)

    @property
    def bytes(self) -> int:
        return sum(self.arrays.values()) + sum(width * _union(parts) for (_, _, width), parts in self.tensors.items())

    def is_only(self, array: object) -> bool:
        """Whether this is all that the pass reads."""
        return not self.tensors and self.arrays.keys() == {array}


def _union(parts: Mapping[Box | None, int]) -> int:
    """The elements of all parts: those of boxes that lie apart add up; others are no more than what surrounds them."""
    boxes = [box for box in parts if box is not None]
    around = tuple(map(_around, zip(*boxes, strict=True)))
    return max(parts.get(None, 0), min(sum(parts[box] for box in boxes), _size(around)))


def _around(sides: tuple[tuple[int, int, int], ...]) -> tuple[int, int, int]:
    first = min(lo for lo, _, _ in sides)
    return (
        first,
        max(hi for _, hi, _ in sides),
        gcd(*(step for _, _, step in sides), *(lo - first for lo, _, _ in sides)),
    )


def _size(box: Box) -> int:
    return prod(-(-max(0, hi - lo) // max(1, step)) for lo, hi, step in box)
