"""Which device holds what: how each tensor and each index is cut."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import lcm, prod

from ... import ir, ranges
from ...symbolic import Affine, IndexVar
from ...transforms import Known
from .blocks import Axes, Layout
from .formulas import CutFormula, Left, left_of
from .mistakes import refused, show_axes, show_layout
from .moves import moves

# Dimensions that one index addresses get blocks of equal size, if no block grows by more than this factor.
MOST_PADDING = 2

# Number of elements before a block, and after it.
Margin = tuple[int, int]
# Margins of each dimension, by the name of the tensor.
Margins = Mapping[str, tuple[Margin, ...]]


@dataclass(frozen=True, slots=True)
class Span:
    """A device's values of an index: `block` values from ``first + block * number`` on, where `number` is its position.

    It also computes the values of a `margin`. If the span `is_uneven`, the blocks together do not cover exactly the
    range of the index. Then, or in a margin unless the index `goes_round`, some values are outside the range.
    """

    axes: Axes
    first: int
    block: int
    is_uneven: bool
    margin: Margin = (0, 0)
    goes_round: bool = False

    @property
    def is_masked(self) -> bool:
        return self.is_uneven or (any(self.margin) and not self.goes_round)

    @property
    def values(self) -> tuple[int, int]:
        """The first value on the first device, and one past its last."""
        return self.first - self.margin[0], self.first + self.block + self.margin[1]


@dataclass
class Layouts:
    """How devices hold tensors: the axes that cut each dimension, and its extent on one device.

    `sizes` is the number of devices along each axis. Layouts of some tensors may be `given`. Of some tensors a device
    also computes `margins`. Along the axes in `round`, an index that runs past its end continues at its beginning.
    """

    bound: ranges.Bound
    sizes: Mapping[str, int]
    held: dict[str, Layout] = field(default_factory=dict)
    blocks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    given: dict[str, tuple[Layout, tuple[int, ...]]] = field(default_factory=dict)
    margins: Margins = field(default_factory=dict)
    round: frozenset[Axes] = frozenset()

    def settle(self, formulas: Iterable[CutFormula]) -> None:
        """The layout of every tensor. Raises `CompileError` (TC0811) where statements need different layouts."""
        formulas = list(formulas)
        self.held |= {name: layout for name, (layout, _) in self.given.items()}
        for formula in formulas:
            self._write(formula)
        for tensor in self.bound.function.parameters:
            if tensor.name not in self.held:
                self.held[tensor.name] = self._wanted(tensor, formulas)
        self._measure(formulas)

    def parts(self, along: Axes) -> int:
        """The number of blocks of an index along these axes."""
        return prod(self.sizes[axis] for axis in along)

    def margin(self, name: str, dimension: int) -> Margin:
        return self.margins[name][dimension] if name in self.margins else (0, 0)

    def extents(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor on one device, with margins."""
        return tuple(block + sum(self.margin(name, d)) for d, block in enumerate(self.blocks[name]))

    def origin(self, name: str) -> tuple[int, ...]:
        """The subscripts of the first element of a tensor on one device."""
        return tuple(first - self.margin(name, d)[0] for d, first in enumerate(self.bound.origins[name]))

    def padded(self, name: str) -> tuple[int, ...]:
        """The extents of all blocks together."""
        return tuple(b * self.parts(a) for b, a in zip(self.blocks[name], self.held[name], strict=True))

    def spans(self, formula: CutFormula) -> dict[IndexVar, Span]:
        """One device's values of each cut index of a statement."""
        return {index: self._span(formula, index) for index in formula.cut}

    def takers(self, ends: tuple[int, int], span: Span) -> frozenset[int]:
        """The devices, by number, that compute points of an index with the values ``lo:hi``."""
        parts, (lo, hi) = range(self.parts(span.axes)), ends
        if any(span.margin) or not span.block:
            return frozenset(parts)
        firsts = {number: span.first + span.block * number for number in parts}
        return frozenset(number for number, first in firsts.items() if first < hi and lo < first + span.block)

    def _write(self, formula: CutFormula) -> None:
        """The layout of a statement's target, which must be the same for all statements that write it."""
        statement, target = formula.statement, formula.statement.target
        layout = tuple(
            formula.scattered.get(dimension, ()) if left is None else formula.cut[left.index]
            for dimension, left in enumerate(self._lefts(formula))
        )
        along = [axis for each in layout for axis in each]
        if len(set(along)) < len(along):
            raise refused(
                f"`{target.name}` would be cut along {show_axes(tuple(along))}, and no device has more than one block",
                statement.span,
                "shard an index that addresses one dimension",
            )
        if any(index.is_data and index.variables & formula.cut.keys() for index in statement.indices):
            self._check_scatter(formula)
        before = self.held.setdefault(target.name, layout)
        if before != layout:
            raise refused(
                f"one statement leaves `{target.name}` {show_layout(before)}, this one {show_layout(layout)}",
                statement.span,
                "use the same indices for the same dimensions, or give each statement a tensor of its own",
            )

    def _lefts(self, formula: CutFormula) -> Iterator[Left | None]:
        """The cut index of each subscript of the left side, None where there is none."""
        for subscript in formula.statement.indices:
            yield self._left(formula, subscript) if formula.cut_in(subscript) else None

    def _left(self, formula: CutFormula, subscript: Affine) -> Left:
        """Raises `CompileError` (TC0811) if devices would write the same elements, or elements of other devices."""
        name = formula.statement.target.name
        first = self.bound.origins[name][formula.statement.indices.index(subscript)]
        left = left_of(subscript, formula.cut, formula.box, first)
        if left is None:
            index = min(formula.cut_in(subscript), key=str)
            raise refused(
                f"`{name}` is addressed by `{subscript}`, which leaves the block of `{index}`",
                formula.statement.span,
                f"leave `{index}` whole, or write what each element receives: its subscript is a bare index",
            )
        return left

    def _check_scatter(self, formula: CutFormula) -> None:
        """Data decides which elements the points of a cut index write: treated like a reduced index."""
        statement = formula.statement
        if isinstance(statement, ir.Define):
            raise refused(
                f"data decides which elements of `{statement.target.name}` each device writes, and the last one wins",
                statement.span,
                "accumulate with `+=!`, or leave the index whole",
            )

    def _wanted(self, tensor: ir.Tensor, formulas: Iterable[CutFormula]) -> Layout:
        """A parameter's layout: a dimension is cut if every read follows an index along the same axes.

        Where a statement does not cut such an index, or reads elements that data chooses, devices fetch what they need.
        """
        found: list[Layout] = []
        meant: list[Layout] = []
        looked: list[tuple[bool, ...]] = []
        for formula in formulas:
            as_named = formula.as_named
            for access in ir.accesses_of(formula.statement):
                if access.tensor.name == tensor.name:
                    found.append(seen(formula, access))
                    meant.append(seen(as_named, access))
                    looked.append(tuple(subscript.is_data for subscript in access.indices))
        layout: list[Axes] = [()] * tensor.rank
        for reads, all_ in ((found, True), (meant, False)):
            for dimension in range(tensor.rank):
                along = {
                    each[dimension] for each, data in zip(reads, looked, strict=True) if all_ or not data[dimension]
                }
                if layout[dimension] or len(along) != 1:
                    continue
                common = along.pop()
                if not set(common) & {axis for each in layout for axis in each}:
                    layout[dimension] = common
        return tuple(layout)

    def _measure(self, formulas: list[CutFormula]) -> None:
        """The extents of blocks; equal along an index where possible, so that halos come from neighbours."""
        extents: dict[tuple[str, int], int] = {}
        steps: dict[tuple[str, int], int] = {}
        links: list[list[tuple[tuple[str, int], int]]] = []
        for formula in formulas:
            for index, along in formula.cut.items():
                links.append([])
                for dimension, left in enumerate(self._lefts(formula)):
                    if left is not None and left.index == index:
                        key = formula.statement.target.name, dimension
                        steps[key] = lcm(steps.get(key, 1), left.step)
                        links[-1].append((key, left.step))
                for access in ir.accesses_of(formula.statement):
                    for dimension, subscript in enumerate(access.indices):
                        name = access.tensor.name
                        line = formula.line(name, dimension, subscript) if index in formula.cut_in(subscript) else None
                        if line is not None and line[1].step and self.held[name][dimension] == along:
                            links[-1].append(((name, dimension), line[1].step))
        for name, layout in self.held.items():
            for dimension, along in enumerate(layout):
                key = name, dimension
                step = steps.get(key, 1)
                extents[key] = -(-self.bound.shapes[name][dimension] // (self.parts(along) * step)) * step
                if name in self.given:
                    extents[key] = self.given[name][1][dimension]
        most = {key: extent * (1 if key[0] in self.given else MOST_PADDING) for key, extent in extents.items()}
        for _ in range(len(links)):
            before = dict(extents)
            for linked in links:
                unit = max((-(-extents[key] // step) for key, step in linked), default=0)
                for key, step in linked:
                    wanted = -(-unit * step // steps.get(key, 1)) * steps.get(key, 1)
                    if extents[key] < wanted <= most[key]:
                        extents[key] = wanted
            if extents == before:
                break
        for name, layout in self.held.items():
            self.blocks[name] = tuple(extents[name, dimension] for dimension in range(len(layout)))

    def _span(self, formula: CutFormula, index: IndexVar) -> Span:
        along, (lo, hi) = formula.cut[index], formula.box[index]
        parts, name = self.parts(along), formula.statement.target.name
        for dimension, left in enumerate(self._lefts(formula)):
            if left is not None and left.index == index:
                block = self.blocks[name][dimension] // left.step
                first = (self.bound.origins[name][dimension] - left.shift) // left.step
                is_uneven = (first, parts * block) != (lo, hi - lo)
                return Span(along, first, block, is_uneven, self.margin(name, dimension), along in self.round)
        even = -(-(hi - lo) // parts)
        found = [(self._moved(formula, index, lo, even), lo, even)]
        for name, dimension, subscript in self._reads(formula, index):
            line = formula.line(name, dimension, subscript)
            if line is None or not line[1].step or self.blocks[name][dimension] % line[1].step:
                continue
            block = self.blocks[name][dimension] // line[1].step
            # The first value of the first device's block.
            bounds = Known.over(formula.box).bounds(line[1].place - Affine.of(index).scale(line[1].weight))
            for first in {lo, *(() if bounds is None else (-(bounds[0] // line[1].weight),))}:
                if first <= lo and hi <= first + parts * block:
                    found.append((self._moved(formula, index, first, block), first, block))
        _, first, block = min(found)
        return Span(along, first, block, (first, parts * block) != (lo, hi - lo))

    def _reads(self, formula: CutFormula, index: IndexVar) -> Iterator[tuple[str, int, Affine]]:
        """The reads along an index, of dimensions that are cut along it."""
        for access in ir.accesses_of(formula.statement):
            for dimension, subscript in enumerate(access.indices):
                name = access.tensor.name
                if formula.cut_in(subscript) == {index} and self.held[name][dimension] == formula.cut[index]:
                    yield name, dimension, subscript

    def _moved(self, formula: CutFormula, index: IndexVar, first: int, block: int) -> int:
        """How many elements along the index move between devices with these blocks."""
        total = 0
        box = {**formula.box, index: (first, first + block)}
        for name, dimension, subscript in self._reads(formula, index):
            line = formula.line(name, dimension, subscript)
            ends = None if line is None else Known.over(box).bounds(line[1].place)
            if line is not None and ends is not None:
                lo, step = ends[0], line[1].weight * block
                parts, held = self.parts(formula.cut[index]), self.blocks[name][dimension]
                found = moves(line[1].stretches, lo, step, ends[1] - lo + 1, held, parts)
                total += sum(move.count * len(move.pairs) for move in found if not move.is_local)
        return total


def seen(formula: CutFormula, access: ir.Access) -> Layout:
    """How a read sees a tensor: cut along the axes of the index that each of its subscripts follows."""
    lines = (formula.line(access.tensor.name, n, subscript) for n, subscript in enumerate(access.indices))
    return tuple(() if line is None else line[0] for line in lines)
