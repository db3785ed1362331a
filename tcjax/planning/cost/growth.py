"""How the cost of a statement grows with the sizes of the program."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce

from ... import ir, ranges
from ...symbolic import IndexVar, Interval, Size, SizeVar
from ...symbolic.size import Extremum, Floor, Monomial, SizeAtom
from ..data.nodes import (
    Apply,
    Band,
    CallBuiltin,
    Contract,
    Convolve,
    Deviations,
    Fill,
    Fold,
    Iota,
    LoopNest,
    MonoidFold,
    Node,
    OrderStatistic,
    Pool,
    Position,
    Read,
    Scan,
    Step,
    Unroll,
    Window,
    below,
    operands,
)
from ..data.stages import Compute, Plan

# The exponent of each size; a missing size has exponent 0.
Degrees = Mapping[SizeVar, int]
Space = frozenset[IndexVar]


@dataclass(frozen=True, slots=True)
class Growth:
    """The power of each size with which the operations of a statement grow, and likewise for the bytes that it stores.

    With all other sizes fixed.
    """

    operations: Degrees
    stored: Degrees


def growth_of(plan: Plan) -> dict[int, Growth]:
    """The growth of each statement of a plan, by stage number; called definitions have their own plans."""
    bound = plan.bound
    if bound.is_part:
        return {number: Growth({}, {}) for number in range(len(plan.stages))}
    inferred = ranges.infer_ranges(bound.function)
    found: dict[int, Growth] = {}
    for number, stage in enumerate(plan.stages):
        if isinstance(stage, Compute):
            statement = _Statement(bound.sizes, inferred.statements[number].intervals)
            operations = _largest(statement.product(space) for space in spaces(stage))
            stored = statement.stored(bound.function.statements[number], inferred)
            found[number] = Growth(_powers(operations), _powers(stored))
    return found


def in_words(degrees: Mapping[SizeVar, int] | Mapping[str, int]) -> str:
    """``quadratic in N, linear in D and K``."""
    names: dict[int, list[str]] = {}
    for size, degree in degrees.items():
        names.setdefault(degree, []).append(str(size))
    parts: list[str] = []
    for degree in sorted(names, reverse=True):
        *most, last = sorted(names[degree])
        listed = f"{', '.join(most)} and {last}" if most else last
        parts.append(f"{_WORDS.get(degree, f'of degree {degree}')} in {listed}")
    return ", ".join(parts)


_WORDS = {1: "linear", 2: "quadratic", 3: "cubic"}


def spaces(stage: Compute) -> Iterator[Space]:
    """For each part of the computation, the indices over whose combined values it runs."""
    yield from _spaces(stage.value, frozenset())
    if any(isinstance(node, LoopNest) and not node.is_alone for node in below(stage.value)):
        yield from _reductions(stage.statement.value)
        if isinstance(stage.statement, ir.Accumulate):
            yield ir.free_indices(stage.statement.value) | frozenset(stage.statement.reduction)


def _spaces(node: Node, around: Space) -> Iterator[Space]:
    own = around.union(node.axes)
    match node:
        case Fill() | Iota() | Step() | Read() | Apply("cast" | "stop") | LoopNest(is_alone=False):
            pass
        case Apply() | CallBuiltin():
            yield own
        case Contract(operands=(a, b)):
            yield own.union(a.axes, b.axes)
        case Convolve(image=image, kernel=kernel, channels=channels, windows=windows):
            yield own.union(channels, (window.kernel for window in windows))
            yield from _placed(_spaces(image, around), windows)
            yield from _spaces(kernel, around)
            return
        case Band(still=still, sliding=sliding, window=window):
            yield own.union(still.axes, (axis for axis in sliding.axes if axis != window.position), {window.kernel})
            yield from _spaces(still, around)
            yield from _placed(_spaces(sliding, around), (window,))
            return
        case Pool(operand=operand, windows=windows):
            yield from (own | {window.kernel} for window, _, _ in windows)
            yield from _placed(_spaces(operand, around), [window for window, _, _ in windows])
            return
        case Fold(operand=operand, shifts=shifts):
            around = around.union(index for index, _, _ in shifts)
            yield own | around.union(operand.axes)
        case Position(operand=operand) | OrderStatistic(operand=operand) | Deviations(operand=operand):
            yield own.union(operand.axes)
        case Scan(operand=operand):
            yield own
            yield around.union(operand.axes)
        case Unroll(box=box):
            around = around.union(index for index, _, _ in box)
            yield own | around
        case MonoidFold(indices=indices, blocks=blocks):
            around = around.union(indices, (block.index for block in blocks))
            yield own | around
        case LoopNest(nest=nest):
            yield from (around | space for space in _reductions(nest.reduce))
    for operand in operands(node):
        yield from _spaces(operand, around)


def _placed(found: Iterable[Space], windows: Iterable[Window]) -> Iterator[Space]:
    """A sliding dimension has about as many positions as windows."""
    outputs = {window.position: window.output for window in windows}
    return (frozenset(outputs.get(index, index) for index in space) for space in found)


def _reductions(expr: ir.Expr) -> Iterator[Space]:
    for node in ir.walk(expr):
        if isinstance(node, ir.Reduce):
            yield ir.free_indices(node) | frozenset(node.indices)


@dataclass(frozen=True, slots=True)
class _Statement:
    """The ranges of a statement's indices, as formulas in the sizes with these values."""

    sizes: Mapping[SizeVar, int]
    intervals: Mapping[IndexVar, Interval | None]
    known: dict[IndexVar, Degrees] = field(default_factory=dict)

    def product(self, space: Space) -> dict[SizeVar, int]:
        """The degrees of the number of points of these indices."""
        return reduce(_multiplied, (self.index(index) for index in self.written(space)), {})

    def stored(self, statement: ir.Statement, inferred: ranges.SymbolicRanges) -> dict[SizeVar, int]:
        """The degrees of the number of elements that the statement writes; all elements if it depends on data."""
        assert isinstance(statement, (ir.Define, ir.Accumulate)), "only comprehensions are computed"
        affine = [index for index in statement.indices if not index.is_data]
        extents = zip(statement.indices, inferred.extents(statement.target.name), strict=True)
        found = [_degrees(size, self.sizes) for index, size in extents if index.is_data and size is not None]
        points = self.product(frozenset[IndexVar]().union(*(index.variables for index in affine)))
        return reduce(_multiplied, found, points)

    def written(self, space: Space) -> Space:
        """The indices as in the statement: a quotient stands for an index that was split, a sum for its first."""
        return frozenset(found for index in space if (found := self.whole(index)) is not None)

    def whole(self, index: IndexVar) -> IndexVar | None:
        if index in self.intervals:
            return index
        name = index.name.rstrip("/").split("+")[0]
        return next((known for known in self.intervals if known.name == name), None) if name != index.name else None

    def index(self, index: IndexVar) -> Degrees:
        known = self.known.get(index)
        if known is None:
            interval = self.intervals[index]
            known = {} if interval is None else _degrees(interval.extent, self.sizes)
            self.known[index] = known
        return known


def _degrees(size: Size, sizes: Mapping[SizeVar, int]) -> dict[SizeVar, int]:
    """The degree of each variable in a size, which is that of its highest term.

    Subtracted terms cause no growth: ``H - K + 1`` windows are linear in H only.
    """
    return _largest(_of_term(monomial, weight, sizes) for monomial, weight in size.terms)


def _of_term(monomial: Monomial, weight: int, sizes: Mapping[SizeVar, int]) -> dict[SizeVar, int]:
    match monomial:
        case (Floor(numerator, divisor),) if weight < 0:
            # A quotient rounded up: -(-N // 2).
            monomial = (Floor(-numerator, divisor),)
        case (Extremum(kind, arguments),) if weight < 0:
            opposite = "max" if kind == "min" else "min"
            monomial = (Extremum(opposite, tuple(-argument for argument in arguments)),)
        case _ if weight < 0:
            return {}
        case _:
            pass
    return reduce(_multiplied, (_of_atom(atom, sizes) for atom in monomial), {})


def _of_atom(atom: SizeAtom, sizes: Mapping[SizeVar, int]) -> dict[SizeVar, int]:
    match atom:
        case SizeVar():
            return {atom: 1}
        case Floor(numerator, divisor):
            inverse = {size: -degree for size, degree in _degrees(divisor, sizes).items()}
            return _multiplied(_degrees(numerator, sizes), inverse)
        case Extremum("min", arguments):
            # For a minimum, the larger argument does not matter; with equal degrees either may limit the growth.
            values = [argument.evaluate(sizes) for argument in arguments]
            least = [argument for argument, value in zip(arguments, values, strict=True) if value == min(values)]
            return _largest(_degrees(argument, sizes) for argument in least)
        case Extremum(_, arguments):
            return _largest(_degrees(argument, sizes) for argument in arguments)


def _multiplied(a: Degrees, b: Degrees) -> dict[SizeVar, int]:
    return {size: a.get(size, 0) + b.get(size, 0) for size in dict.fromkeys((*a, *b))}


def _largest(found: Iterable[Degrees]) -> dict[SizeVar, int]:
    """The degrees of a sum: for each size, the maximum over its parts."""
    parts = list(found)
    return {size: max(part.get(size, 0) for part in parts) for part in parts for size in part}


def _powers(degrees: Degrees) -> dict[SizeVar, int]:
    return {size: degrees[size] for size in sorted(degrees, key=str) if degrees[size] > 0}


__all__ = ["Degrees", "Growth", "growth_of", "in_words", "spaces"]
