"""Common subexpression elimination for reductions: each repeated one is stored in a new temporary."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from string import ascii_lowercase
from typing import Final

from .. import ir
from ..ranges import Bound
from ..symbolic import Affine, Box, Facts, IndexVar, Size, SizeVar
from .canonical import Scope
from .definitions import Formula

# A reduction of fewer points is cheap to recompute.
FEW_POINTS: Final = 1 << 16
# The maximum number of new temporaries; each costs the planning of its readers.
MOST_NAMES: Final = 8


# A reduction in a form independent of names, and the extents of its free indices.
CommonForm = tuple[ir.Expr, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Place:
    """An occurrence of a reduction in a statement, and its free indices in order of occurrence."""

    statement: int
    reduce: ir.Reduce
    form: CommonForm
    free: tuple[IndexVar, ...]

    @property
    def size(self) -> int:
        """The size of its values in bytes."""
        return prod(self.form[1]) * ir.types.width(self.reduce.dtype)


def named_in_common(
    bound: Bound, most: int, without: Collection[CommonForm] = ()
) -> tuple[Bound, Mapping[str, CommonForm]]:
    """The program with a statement for each repeated reduction, and the new names with their reductions.

    Reductions of more than `most` bytes or with a form in `without` are left alone. So are conditional ones whose reads
    may be out of bounds outside their condition.
    """
    names: dict[str, CommonForm] = {}
    for number in range(MOST_NAMES):
        repeated = _repeated(bound, most, without)
        if not repeated:
            break
        name = f"{_word(repeated[0].reduce)}{ir.MARK}{ascii_lowercase[number]}"
        bound = with_name(bound, repeated, name)
        names[name] = repeated[0].form
    return bound, names


def _repeated(bound: Bound, most: int, without: Collection[CommonForm]) -> list[Place]:
    """All occurrences of the largest repeated reduction; none if there is none."""
    places = [place for number in range(len(bound.function.statements)) for place in _places(bound, number)]
    counts = Counter(place.form for place in places)
    several = [place for place in places if counts[place.form] > 1 and place.form not in without and place.size <= most]
    if not several:
        return []
    largest = max(several, key=lambda place: sum(1 for _ in ir.walk(place.reduce)))
    found = [place for place in several if place.form == largest.form and unchanged(bound, largest, place)]
    return found if len(found) > 1 else []


def _places(bound: Bound, number: int) -> Iterator[Place]:
    """The heavy reductions of a statement that can be computed at all points of their free indices, outer ones first.

    A conditional one can be if its reads are in bounds everywhere.
    """
    statement, box = bound.function.statements[number], bound.boxes[number]
    if not isinstance(statement, (ir.Define, ir.Accumulate)):
        return
    # Each with whether it is conditional.
    pending: list[tuple[ir.Expr, bool]] = [(statement.value, statement.domain.guard is not None)]
    while pending:
        expr, decided = pending.pop()
        match expr:
            case ir.Select(condition, then, otherwise):
                pending += [(condition, decided), (then, True), (otherwise, True)]
                continue
            case ir.Reduce(ir.Reducer() as reducer, indices, guard=guard) if not reducer.is_ranked:
                free = tuple(dict.fromkeys(free_of(expr)))
                ends = [box[index] for index in (*free, *indices)]
                heavy = prod(hi - lo for lo, hi in ends) >= FEW_POINTS
                foreign = any(isinstance(node, ir.Foreign) for node in ir.walk(expr))
                if free and heavy and not foreign and not (decided and reads_beside(bound, expr, box)):
                    yield Place(number, expr, form_of(bound, expr, free, box), free)
                decided = decided or guard is not None
            case ir.Reduce():
                continue
            case _:
                pass
        pending.extend((part, decided) for part in ir.children(expr))


def reads_beside(bound: Bound, reduce: ir.Reduce, box: Box) -> bool:
    """Whether a reduction may read out of bounds if its condition is ignored."""
    facts = Facts.over({index: span for index, span in box.items() if span[0] < span[1]})
    for access in ir.accesses(reduce):
        name = access.tensor.name
        for subscript, first, extent in zip(access.indices, bound.origins[name], bound.shapes[name], strict=True):
            ends = None if subscript.is_data else facts.values(subscript)
            if ends is None or ends[0] < first or ends[1] >= first + extent:
                return True
    return False


def free_of(reduce: ir.Reduce) -> Iterator[IndexVar]:
    """The free indices in the order in which they first occur."""
    own = ir.free_indices(reduce)
    for access in ir.accesses(reduce):
        for subscript in access.indices:
            yield from sorted(subscript.variables & own, key=str)
    yield from sorted(own, key=str)


def form_of(bound: Bound, reduce: ir.Reduce, free: tuple[IndexVar, ...], box: Box) -> CommonForm:
    """The reduction in a form shared by all that differ only in index names."""
    tensors = {access.tensor.name: access.tensor for access in ir.accesses(reduce)}
    extents = tuple(hi - lo for lo, hi in (box[index] for index in free))
    return Scope(tensors, bound.origins, box).bind(free).expr(reduce), extents


def unchanged(bound: Bound, first: Place, later: Place) -> bool:
    """Whether nothing that the reduction reads is written between the two occurrences."""
    read = {access.tensor.name for access in ir.accesses(first.reduce)}
    ends = sorted((first.statement, later.statement))
    written = (ir.targets(statement) for statement in bound.function.statements[ends[0] : ends[1]])
    return not read & {tensor.name for tensors in written for tensor in tensors}


def with_name(bound: Bound, places: Sequence[Place], name: str) -> Bound:
    """The program with the reduction stored under this name, before the first statement that contains it."""
    first = min(places, key=lambda place: place.statement)
    number, box = first.statement, bound.boxes[first.statement]
    lows = tuple(box[index][0] for index in first.free)
    shape = tuple(box[index][1] - box[index][0] for index in first.free)
    tensor = local_tensor(name, first.reduce.dtype, len(shape))
    given = bound.function.statements[number]
    assert isinstance(given, (ir.Define, ir.Accumulate))
    domain = ir.Domain(tuple(one for one in given.domain.ranges if one.index in first.free))
    statement = ir.Define(tensor, tuple(map(Affine.of, first.free)), first.reduce, domain, span=first.reduce.span)
    used = {*first.free} | ir.bound_indices(first.reduce)
    statements, boxes = list(bound.function.statements), list(bound.boxes)
    for at in dict.fromkeys(place.statement for place in places):
        reads: dict[int, ir.Expr] = {}
        for place in places:
            if place.statement == at:
                moved = [Affine.of(i) + (low - boxes[at][i][0]) for i, low in zip(place.free, lows, strict=True)]
                reads[id(place.reduce)] = ir.Access(tensor, tuple(moved), span=place.reduce.span)
        old = statements[at]
        assert isinstance(old, (ir.Define, ir.Accumulate))
        new = replace(old, value=_with(old.value, reads))
        statements[at], boxes[at] = new, _used(new, boxes[at], given=old)
    reasons = {index: bound.reasons[number].get(index, "") for index in used} if bound.reasons else {}
    bound = replace(bound, function=replace(bound.function, statements=tuple(statements)), boxes=tuple(boxes))
    return with_statement(bound, number, statement, {i: box[i] for i in box if i in used}, lows, shape, reasons)


def local_tensor(name: str, dtype: str, rank: int) -> ir.Tensor:
    """A temporary tensor with its own extents."""
    return ir.Tensor(name, dtype, tuple(Size.of(SizeVar(f"{name}.{dimension}")) for dimension in range(rank)))


def with_statement(
    bound: Bound,
    number: int,
    statement: Formula,
    box: Box,
    lows: tuple[int, ...],
    shape: tuple[int, ...],
    reasons: Mapping[IndexVar, str],
) -> Bound:
    """The program with one more statement, which defines a `local_tensor` with these first elements and extents."""
    target, statements = statement.target, bound.function.statements
    sizes = (SizeVar(f"{target.name}.{dimension}") for dimension in range(len(shape)))
    told = bound.reasons
    return replace(
        bound,
        function=replace(bound.function, statements=(*statements[:number], statement, *statements[number:])),
        sizes={**bound.sizes, **dict(zip(sizes, shape, strict=True))},
        boxes=(*bound.boxes[:number], box, *bound.boxes[number:]),
        origins={**bound.origins, target.name: lows},
        shapes={**bound.shapes, target.name: shape},
        calls={at + (at >= number): inner for at, inner in bound.calls.items()},
        reasons=(*told[:number], reasons, *told[number:]) if told else (),
    )


def _used(new: Formula, box: Box, given: Formula) -> Box:
    """The ranges of the indices that a statement still has; those named only in its domain are kept."""
    inside, before = ir.bound_indices(new.value), ir.bound_indices(given.value)
    return {index: ends for index, ends in box.items() if index in inside or index not in before}


def _word(reduce: ir.Reduce) -> str:
    assert isinstance(reduce.reducer, ir.Reducer)
    return reduce.reducer.value


def _with(expr: ir.Expr, values: Mapping[int, ir.Expr]) -> ir.Expr:
    """The expression with some of its parts, given by identity, replaced."""
    return values.get(id(expr)) or ir.rebuild(expr, lambda part: _with(part, values))
