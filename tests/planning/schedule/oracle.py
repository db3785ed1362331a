"""The region of each stage of a schedule, found by visiting every point of every loop nest.

No formula is involved: a stage's points are its loops' values that pass the guards, what they read is evaluated, and a
producer's box at a point of its attach path is the smallest and largest element read there.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod

import numpy as np

from . import commands
from .program import Program, Stage, Table, length

# Loops by stage and name; a prefix names its loops outermost first.
Loop = tuple[str, str]
Point = tuple[int, ...]
# Half a gigabyte of numbers.
MOST_POINTS = 4_000_000


class TooManyPoints(ValueError):
    """The oracle would take too long, or too much memory."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The region of a stage; `boxes` are ``(minima, extents)`` at each prefix point that needs something.

    `stride` is the common step of what is needed along each axis of a box. A stage whose left side is more than
    indices, ``D(i,i)``, is `scattered`: it has loops and no box of its own.
    """

    prefix: tuple[Loop, ...]
    boxes: Mapping[Point, tuple[Point, Point]]
    extent: Point
    loops: Mapping[str, int]
    total_exact: int
    distinct: int
    stride: Point
    domain: tuple[tuple[int, int], ...]
    scattered: bool = False

    @property
    def instances(self) -> int:
        return len(self.boxes)

    @property
    def total_box(self) -> int:
        return sum(prod(extents) for _, extents in self.boxes.values())

    @property
    def full_tile(self) -> tuple[bool, ...]:
        """Whether the boxes span the whole extent, per axis."""
        return tuple(all(e[axis] == whole for _, e in self.boxes.values()) for axis, whole in enumerate(self.extent))

    @property
    def in_bounds(self) -> tuple[tuple[bool, bool], ...]:
        """Whether a buffer of the whole extent stays within the domain at either end, per axis."""
        corners = [lo for lo, _ in self.boxes.values()]
        return tuple(
            (all(lo[axis] >= first for lo in corners), all(lo[axis] + whole <= end for lo in corners))
            for axis, (whole, (first, end)) in enumerate(zip(self.extent, self.domain, strict=True))
        )

    @property
    def overlap(self) -> tuple[Point | None, ...]:
        """For each loop of the prefix, the overlap of adjacent boxes, per axis; None if there are none."""
        found: list[Point | None] = []
        for position in range(len(self.prefix)):
            shared = []
            for point, (lo, e) in self.boxes.items():
                after = self.boxes.get((*point[:position], point[position] + 1, *point[position + 1 :]))
                if after is not None:
                    ends = zip(lo, e, *after, strict=True)
                    shared.append([max(0, min(a + b, c + d) - max(a, c)) for a, b, c, d in ends])
            found.append(tuple(map(max, zip(*shared, strict=True))) if shared else None)
        return tuple(found)


@dataclass(slots=True)
class _Nest:
    """The loops of a stage while commands change them; `steps` are the splits and fusions, in order."""

    leaves: list[str]
    steps: list[commands.Split | commands.Fuse] = field(default_factory=list)
    attach: commands.ComputeAt | None = None


def expected_regions(program: Program, text: str) -> dict[str, Expected]:
    """The region of every stage after the commands of a line; they must be legal."""
    return _Visit(program, _nests(program, text)).regions()


def _nests(program: Program, text: str) -> dict[str, _Nest]:
    nests = {stage.name: _Nest([stage.loop(index) for index in stage.indices]) for stage in program.stages}
    for command in commands.read(text):
        nest = nests[command.stage]
        match command:
            case commands.Split():
                _split(nest, command)
            case commands.Fuse(_, outer, inner, into):
                position = nest.leaves.index(outer)
                assert nest.leaves[position + 1] == inner, command
                nest.leaves[position : position + 2] = [into]
                nest.steps.append(command)
            case commands.Reorder(_, loops):
                _reorder(nest, loops)
            case commands.Tile(stage, x, y, width, height, names):
                _split(nest, commands.Split(stage, x, width, names[0], names[2]))
                _split(nest, commands.Split(stage, y, height, names[1], names[3]))
                _reorder(nest, names)
            case commands.ComputeAt():
                nest.attach = command
    return nests


def _split(nest: _Nest, command: commands.Split) -> None:
    position = nest.leaves.index(command.loop)
    nest.leaves[position : position + 1] = [command.outer, command.inner]
    nest.steps.append(command)


def _reorder(nest: _Nest, loops: Iterable[str]) -> None:
    loops = list(loops)
    for position, loop in zip(sorted(map(nest.leaves.index, loops)), loops, strict=True):
        nest.leaves[position] = loop


class _Visit:
    def __init__(self, program: Program, nests: Mapping[str, _Nest]) -> None:
        self.program = program
        self.nests = nests
        self.tables: dict[str, Table] = {}
        self.found: dict[str, Expected] = {}

    def regions(self) -> dict[str, Expected]:
        for stage in reversed(self.program.stages):
            if stage.is_output or stage.axes is None or stage.is_update or not self.program.readers(stage):
                self.found[stage.name] = self.whole(stage)
            else:
                self.found[stage.name] = self.needed(stage)
            self.tables[stage.name] = self.points(stage)
        return {stage.name: self.found[stage.name] for stage in self.program.stages}

    def path(self, name: str) -> tuple[Loop, ...]:
        """The loops around a stage, outermost first, without those over which one copy is shared."""
        attach = self.nests[name].attach
        if attach is None:
            return ()
        around = self.nests[attach.consumer].leaves
        own = around[: around.index(attach.loop) + 1]
        whole = (*self.path(attach.consumer), *((attach.consumer, loop) for loop in own))
        assert set(attach.relax) <= {loop for _, loop in self.around(name)}, f"{name} is not inside {attach.relax}"
        return tuple(loop for loop in whole if loop[1] not in attach.relax)

    def around(self, name: str) -> tuple[Loop, ...]:
        """The loops around a stage, including those over which one copy is shared."""
        attach = self.nests[name].attach
        if attach is None:
            return ()
        leaves = self.nests[attach.consumer].leaves
        own = leaves[: leaves.index(attach.loop) + 1]
        return (*self.around(attach.consumer), *((attach.consumer, loop) for loop in own))

    def whole(self, stage: Stage) -> Expected:
        """An output, or a stage that cannot be split: its whole domain, once."""
        assert self.nests[stage.name].attach is None
        ranges = [stage.ranges[index] for index in stage.indices if index not in stage.reductions]
        minima, extents = tuple(lo for lo, _ in ranges), tuple(max(0, hi - lo) for lo, hi in ranges)
        boxes = {(): (minima, extents)} if all(extents) else {}
        points, loops = prod(extents), self.loops(stage, extents)
        steps = (1,) * len(extents)
        return Expected((), boxes, extents, loops, points, points, steps, tuple(ranges), stage.axes is None)

    def needed(self, stage: Stage) -> Expected:
        """The hull of what every consumer reads at each point of the attach path."""
        prefix = self.path(stage.name)
        assert stage.axes is not None, stage.name
        rows = [self.rows(stage, prefix, consumer) for consumer in self.program.stages[stage.position + 1 :]]
        columns = len(prefix) + len(stage.axes)
        needed = np.unique(np.concatenate([np.zeros((0, columns), int), *rows]), axis=0)
        boxes: dict[Point, tuple[Point, Point]] = {}
        computed: set[Point] = set()
        stride = np.zeros(len(stage.axes), int)
        if len(needed):
            points, starts = np.unique(needed[:, : len(prefix)], axis=0, return_index=True)
            # Rows are sorted by prefix first, so that rows of one point are adjacent.
            for point, of_point in zip(points, np.split(needed[:, len(prefix) :], starts[1:]), strict=True):
                lo, hi = of_point.min(0), of_point.max(0)
                stride = np.gcd(stride, np.gcd.reduce(of_point - lo, axis=0))
                boxes[tuple(map(int, point))] = tuple(map(int, lo)), tuple(map(int, hi - lo + 1))
                computed.update(product(*(range(a, b + 1) for a, b in zip(lo, hi, strict=True))))
        extent = tuple(max((e[axis] for _, e in boxes.values()), default=0) for axis in range(len(stage.axes)))
        domain = tuple(stage.ranges[index] for index in stage.axes)
        steps = tuple(int(max(1, step)) for step in stride)
        return Expected(prefix, boxes, extent, self.loops(stage, extent), len(needed), len(computed), steps, domain)

    def rows(self, stage: Stage, prefix: tuple[Loop, ...], consumer: Stage) -> np.ndarray:
        """``(prefix point, element)`` for every element of the stage that the consumer reads."""
        assert stage.axes is not None
        parts = [np.zeros((0, len(prefix) + len(stage.axes)), int)]
        for read in self.program.reads(consumer, self.tables[consumer.name]):
            if read.tensor != stage.tensor:
                continue
            nest = (*self.around(consumer.name), *((consumer.name, leaf) for leaf in self.nests[consumer.name].leaves))
            path = self.around(stage.name)
            assert nest[: len(path)] == path, f"{consumer.name} reads {stage.name} outside of {path}"
            missing = [loop for loop in prefix if loop not in read.table]
            assert not missing, f"{consumer.name} reads {stage.name} outside of {missing}"
            at = np.stack([read.table[loop] for loop in prefix], 1) if prefix else np.zeros((len(read.first), 0), int)
            both = np.unique(np.concatenate([at, read.first, read.last], 1), axis=0)
            parts.extend(self.elements(stage, both, len(prefix)))
        return np.concatenate(parts)

    def elements(self, stage: Stage, both: np.ndarray, depth: int) -> Iterable[np.ndarray]:
        """The elements of each box of the rows that the stage defines."""
        assert stage.axes is not None
        rank = len(stage.axes)
        width = (both[:, depth + rank :] - both[:, depth : depth + rank]).max(0, initial=0) + 1
        for offset in product(*map(range, width)):
            element = both[:, depth : depth + rank] + np.array(offset, int)
            inside = (element <= both[:, depth + rank :]).all(1)
            for axis, index in enumerate(stage.axes):
                lo, hi = stage.ranges[index]
                inside &= (lo <= element[:, axis]) & (element[:, axis] < hi)
            yield np.concatenate([both[inside, :depth], element[inside]], 1)

    def extents(self, stage: Stage, extent: Point) -> dict[str, int]:
        """The static extent of every loop, including replaced ones."""
        found: dict[str, int] = {}
        axes = [index for index in stage.indices if index not in stage.reductions]
        found.update({stage.loop(index): size for index, size in zip(axes, extent, strict=True)})
        for index in stage.reductions:
            lo, hi = stage.ranges[index]
            found[stage.loop(index)] = max(0, hi - lo)
        for step in self.nests[stage.name].steps:
            match step:
                case commands.Split(_, loop, number, outer, inner, by_parts):
                    whole = found[loop]
                    short, rest = min(number, whole), -(-whole // number)
                    found[outer], found[inner] = (short, rest) if by_parts else (rest, short)
                case commands.Fuse(_, outer, inner, into):
                    found[into] = found[outer] * found[inner]
        return found

    def loops(self, stage: Stage, extent: Point) -> dict[str, int]:
        extents = self.extents(stage, extent)
        return {loop: extents[loop] for loop in self.nests[stage.name].leaves}

    def points(self, stage: Stage) -> Table:
        """Every point that the stage visits in all its instances: loops and index variables."""
        region, nest = self.found[stage.name], self.nests[stage.name]
        extents = self.extents(stage, region.extent)
        table = self.grid(stage, region, [extents[leaf] for leaf in nest.leaves])
        values: dict[str, np.ndarray] = {leaf: table[stage.name, leaf] for leaf in nest.leaves}
        live = np.ones(length(table), bool)
        for step in reversed(nest.steps):
            match step:
                case commands.Split(_, loop, _, outer, inner, _):
                    values[loop] = values[outer] * extents[inner] + values[inner]
                    live &= values[loop] < extents[loop]
                case commands.Fuse(_, outer, inner, into):
                    width = max(1, extents[inner])
                    values[outer], values[inner] = values[into] // width, values[into] % width
        axes = [index for index in stage.indices if index not in stage.reductions]
        for number, index in enumerate(axes):
            live &= values[stage.loop(index)] < table["extent", number]
            table[index] = table.pop(("minimum", number)) + values[stage.loop(index)]
            del table["extent", number]
        for index in stage.reductions:
            table[index] = stage.ranges[index][0] + values[stage.loop(index)]
        table = {key: column[live] for key, column in table.items()}
        volume = prod(extents[stage.loop(index)] for index in stage.reductions)
        assert length(table) == region.total_box * volume, f"{stage.name}: loops visit a point twice or never"
        return table

    def grid(self, stage: Stage, region: Expected, leaves: list[int]) -> Table:
        """Every instance with every combination of its loops, before guards."""
        names = self.nests[stage.name].leaves
        count, rank = len(region.boxes), len(region.extent)
        size = prod(leaves)
        if count * size > MOST_POINTS:
            raise TooManyPoints(f"{stage.name}: {count * size} points to visit")
        corners = [(point, *box) for point, box in region.boxes.items()]
        table: dict[Hashable, np.ndarray] = {"row": np.zeros(count * size, int)}
        for number, loop in enumerate(region.prefix):
            table[loop] = np.repeat([point[number] for point, _, _ in corners], size).astype(int)
        for number in range(rank):
            table["minimum", number] = np.repeat([lo[number] for _, lo, _ in corners], size).astype(int)
            table["extent", number] = np.repeat([e[number] for _, _, e in corners], size).astype(int)
        inside = np.indices(leaves).reshape(len(leaves), size)
        for leaf, values in zip(names, inside, strict=True):
            table[stage.name, leaf] = np.tile(values, count)
        return table
