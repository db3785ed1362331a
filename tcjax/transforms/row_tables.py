"""Rows delimited by pointers: ``ptr(i) <= p && p < ptr(i+1)`` says that `i` is the row of `p`.

If pointers do not decrease, each position is in at most one row. A table holds the row of every position, computed as a
running sum of the number of rows that begin there; a reduction over rows and positions then visits each position once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from .. import ir
from ..ir import Reducer
from ..ranges import Bound, effective_guard
from ..symbolic import Affine, Box, IndexVar, clamp
from .common import Place, form_of, free_of, local_tensor, reads_beside, unchanged, with_name, with_statement
from .definitions import Formula, as_accumulation
from .guards import guard_ranges
from .inlining import Shapes, Step
from .specialize import specialize, specialize_expr
from .substitution import substitute

# With fewer pairs of rows and positions, comparing all of them is fast.
FEW_PAIRS: Final = 1 << 12
# The maximum number of inline reductions over rows that are stored.
MOST_NAMES: Final = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """``pointer(row + shift) <= position + offset < pointer(row + shift + 1)``, and the conditions that express it."""

    pointer: str
    row: IndexVar
    shift: int
    position: IndexVar
    offset: int
    conditions: tuple[ir.Expr, ir.Expr]


@dataclass(frozen=True, slots=True)
class Rows:
    """The key of a table: the pointer tensor, the range of rows, and the range of positions."""

    pointer: str
    rows: tuple[int, int]
    positions: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Table:
    """The row of each position, one before the first or after the last if it is in none; and the row starts.

    It is valid unless `disordered` is true: some pointer is less than the one before.
    """

    starts: ir.Tensor
    rows: ir.Tensor
    disordered: ir.Tensor

    @property
    def names(self) -> tuple[str, str, str]:
        return self.starts.name, self.rows.name, self.disordered.name


Tables = Mapping[Rows, Table]


@dataclass(frozen=True, slots=True)
class ByRows:
    """A statement that visits each position once, valid if the pointers of the tables do not decrease."""

    statement: Formula
    disordered: tuple[ir.Tensor, ...]
    pointers: tuple[str, ...]


def with_row_tables(bound: Bound, most: int) -> tuple[Bound, Tables]:
    """The program with a table for each axis that pointers split into rows, before its first use.

    Inline reductions over such rows become separate statements, if their values have at most `most` bytes.
    """
    tables: dict[Rows, Table] = {}
    bound = _with_names(bound, most)
    # From the last one on, so that the positions of the others stay valid.
    for rows, number in sorted(_wanted(bound).items(), key=lambda item: -item[1]):
        bound, tables[rows] = _with_table(bound, rows, number, len(tables))
    return bound, tables


def by_rows(step: Step, shapes: Shapes, origins: Shapes, tables: Tables) -> ByRows | None:
    """The statement with a lookup of each position's row in place of the row index; None if there is none."""
    found = as_accumulation(step.statement)
    if found is None or not isinstance(found.reducer, Reducer) or not found.reducer.commutative or not tables:
        return None
    disordered: dict[ir.Tensor, None] = {}
    pointers: dict[str, None] = {}
    for segment in segments(found.domain.guard):
        rows = _rows(segment, step.box)
        if rows not in tables or not _decides(found, segment, step.box, shapes, origins):
            continue
        place = (Affine.of(segment.position) + segment.offset,)
        row = Affine.of(ir.Data(ir.Access(tables[rows].rows, place))) - segment.shift
        found = _at_row(found, segment, row, step.box[segment.row])
        disordered[tables[rows].disordered] = None
        pointers[segment.pointer] = None
    return ByRows(found, tuple(disordered), tuple(pointers)) if pointers else None


def segments(guard: ir.Expr | None) -> Iterator[Segment]:
    """The segments whose conditions the guard contains."""
    lows, highs = list[_End](), list[_End]()
    for part in ir.conjuncts(guard):
        end = _end(part)
        if end is not None:
            (lows if end.is_low else highs).append(end)
    for low in lows:
        for high in highs:
            same = (low.pointer, low.row, low.position) == (high.pointer, high.row, high.position)
            if same and high.shift == low.shift + 1 and high.offset == low.offset:
                places = low.row, low.shift, low.position, low.offset
                yield Segment(low.pointer, *places, (low.condition, high.condition))


@dataclass(frozen=True, slots=True)
class _End:
    """``pointer(row + shift) <= position + offset``, or ``position + offset < pointer(row + shift)``."""

    is_low: bool
    pointer: str
    row: IndexVar
    shift: int
    position: IndexVar
    offset: int
    condition: ir.Expr


def _end(condition: ir.Expr) -> _End | None:
    match condition:
        case ir.Binary("<" | "<=" as operator, left, right) if left.dtype == right.dtype == "int32":
            room = ir.affine_of(right) - ir.affine_of(left) - (operator == "<")
        case ir.Binary(">" | ">=" as operator, left, right) if left.dtype == right.dtype == "int32":
            room = ir.affine_of(left) - ir.affine_of(right) - (operator == ">")
        case _:
            return None
    # Now the condition is that `room` is not negative.
    base, terms = room.base.constant, {atom: weight.constant for atom, weight in room.terms}
    data = [atom for atom in terms if isinstance(atom, ir.Data)]
    indices = [atom for atom in terms if isinstance(atom, IndexVar)]
    if len(terms) != 2 or len(data) != 1 or len(indices) != 1 or base is None:
        return None
    match data[0].expr:
        case ir.Access(tensor, (subscript,)) if tensor.dtype == "int32":
            shift = subscript.base.constant
            row = (subscript - subscript.base).bare
        case _:
            return None
    position, sign = indices[0], terms[indices[0]]
    if shift is None or row is None or row == position or {sign, terms[data[0]]} != {1, -1}:
        return None
    offset = base if sign == 1 else -base - 1
    return _End(sign == 1, tensor.name, row, shift, position, offset, condition)


def _rows(segment: Segment, box: Box) -> Rows:
    first, end = box[segment.row]
    start, stop = box[segment.position]
    moved = start + segment.offset, stop + segment.offset
    return Rows(segment.pointer, (first + segment.shift, end + segment.shift), moved)


def _decides(
    statement: ir.Accumulate,
    segment: Segment,
    box: Box,
    shapes: Shapes,
    origins: Shapes,
) -> bool:
    """Whether the row may become data: it is reduced, or the left side has all rows, each once."""
    row, position = segment.row, segment.position
    left = [number for number, subscript in enumerate(statement.indices) if row in subscript.variables]
    if row in statement.reduction:
        return not left
    if len(left) != 1 or position not in statement.reduction or statement.indices[left[0]].bare != row:
        return False
    name, number = statement.target.name, left[0]
    first = origins[name][number]
    return box[row] == (first, first + shapes[name][number])


def _at_row(statement: ir.Accumulate, segment: Segment, row: Affine, ends: tuple[int, int]) -> ir.Accumulate:
    """The statement at the row of each position, if there is one."""
    low, high = (ir.Const(end, "int32") for end in ends)
    inside = ir.within(ir.integer(row), low, high)
    others = (part for part in ir.conjuncts(statement.domain.guard) if part not in segment.conditions)
    domain = replace(statement.domain, guard=ir.conjunction((*inside, *others)))
    moved = (segment.row,) if segment.row in statement.reduction else (segment.row, segment.position)
    reduction = tuple(index for index in statement.reduction if index not in moved)
    return substitute(replace(statement, domain=domain), {segment.row: row}, reduction)


# ---------------------------------------------------------------- what goes before


def _formulas(bound: Bound) -> Iterator[tuple[int, Formula, Box]]:
    """The statements with numbers for sizes and guards for ranges."""
    for number, statement in enumerate(bound.function.statements):
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            yield number, guard_ranges(specialize(statement, bound.sizes)), bound.boxes[number]


def _wanted(bound: Bound) -> dict[Rows, int]:
    """The tables that statements can use, and the statement before which each must go."""
    found: dict[Rows, int] = {}
    written = [ir.targets(statement) for statement in bound.function.statements]
    for number, statement, box in _formulas(bound):
        known = as_accumulation(statement)
        if known is None:
            continue
        for segment in segments(known.domain.guard):
            if _pairs(segment, box) < FEW_PAIRS or not _decides(known, segment, box, bound.shapes, bound.origins):
                continue
            rows = _rows(segment, box)
            first = found.get(rows, number)
            changes = (tensor.name for tensors in written[first:number] for tensor in tensors)
            if segment.pointer not in changes:
                found[rows] = first
    return found


def _with_names(bound: Bound, most: int) -> Bound:
    """The program with a temporary for each inline reduction over the positions of a row."""
    count = 0
    while (places := _inline(bound, most)) and count < MOST_NAMES:
        bound = with_name(bound, places, f"{_word(places[0].reduce)}{ir.MARK}{count}")
        count += 1
    return bound


def _inline(bound: Bound, most: int) -> list[Place]:
    """All occurrences of one inline reduction over the positions of a row, inner ones first."""
    places = [place for number in range(len(bound.function.statements)) for place in _places(bound, number, most)]
    return [place for place in places if place.form == places[0].form and unchanged(bound, places[0], place)]


def _places(bound: Bound, number: int, most: int) -> Iterator[Place]:
    statement, box = bound.function.statements[number], bound.boxes[number]
    if not isinstance(statement, (ir.Define, ir.Accumulate)):
        return
    found: list[Place] = []
    pending: list[tuple[ir.Expr, bool]] = [(statement.value, statement.domain.guard is not None)]
    while pending:
        expr, decided = pending.pop()
        if isinstance(expr, ir.Reduce) and not (isinstance(statement.value, ir.Reduce) and expr is statement.value):
            free = tuple(dict.fromkeys(free_of(expr)))
            place = Place(number, expr, form_of(bound, expr, free, box), free)
            if (
                place.size <= most
                and _runs_over_rows(expr, bound, box)
                and not (decided and reads_beside(bound, expr, box))
            ):
                found.append(place)
        decided = decided or isinstance(expr, ir.Select) or (isinstance(expr, ir.Reduce) and _is_cut(expr))
        pending.extend((part, decided) for part in ir.children(expr))
    yield from reversed(found)


def _is_cut(reduce: ir.Reduce) -> bool:
    return effective_guard(reduce) is not None


def _runs_over_rows(reduce: ir.Reduce, bound: Bound, box: Box) -> bool:
    """Whether a reduction is over the positions of a row given outside it, or over all rows."""
    if not isinstance(reduce.reducer, Reducer) or not reduce.reducer.commutative or reduce.reducer.is_ranked:
        return False
    if any(isinstance(node, ir.Foreign) for node in ir.walk(reduce)):
        return False
    guard = effective_guard(reduce)
    plain = None if guard is None else specialize_expr(guard, bound.sizes)
    return any(s.position in reduce.indices and _pairs(s, box) >= FEW_PAIRS for s in segments(plain))


def _pairs(segment: Segment, box: Box) -> int:
    return prod(max(0, box[index][1] - box[index][0]) for index in (segment.row, segment.position))


def _word(reduce: ir.Reduce) -> str:
    assert isinstance(reduce.reducer, Reducer)
    return reduce.reducer.value


def _with_table(bound: Bound, rows: Rows, number: int, count: int) -> tuple[Bound, Table]:
    """The program with the statements that compute a table.

    ``starts(q)`` is the number of rows that begin at `q`, ``rows(p)`` the number that begin at `p` or before, minus
    one.
    """
    pointer = next(t for t in _tensors(bound) if t.name == rows.pointer)
    (first, end), (start, stop) = rows.rows, rows.positions
    names = (f"{rows.pointer}{ir.MARK}{word}{count or ''}" for word in ("starts", "rows", "disordered"))
    ranks = zip(names, ("int32", "int32", "bool"), (1, 1, 0), strict=True)
    starts, table, disordered = (local_tensor(*each) for each in ranks)
    r, p, q = IndexVar("r"), IndexVar("p"), IndexVar("q")
    here, behind = (ir.Access(pointer, (Affine.of(r) + step,)) for step in (0, 1))

    # A row that begins before the first position counts as beginning there; one after the last position is dropped.
    place = clamp("max", (Affine.of(ir.Data(here)), Affine.of(start)))
    one = ir.Const(1, "int32")
    begun = ir.Accumulate(starts, (place,), Reducer.SUM, True, (), one, "int32")
    before = ir.Binary("<=", ir.Index(q), ir.Index(p), "bool")
    counted = ir.Access(starts, (Affine.of(q),))
    total = ir.Reduce(Reducer.SUM, (q,), (), before, counted, None, "int32", "int32")
    row = ir.Binary("+", total, ir.Const(first - 1, "int32"), "int32")
    falls = ir.Binary("<", behind, here, "bool")
    told = ir.Accumulate(disordered, (), Reducer.ANY, True, (r,), falls, "bool")

    positions, whole = (start, stop), (stop - start,)
    # The program reads nothing at these positions, so their ranges must be explicit.
    where = ir.Domain(tuple(ir.Range(index, Affine.of(start), Affine.of(stop)) for index in (p, q)))
    statements = (
        # The end of the last row counts as the beginning of one more, which does not exist.
        (begun, {r: (first, end + 1)}, (start,), whole),
        (ir.Define(table, (Affine.of(p),), row, where), {p: positions, q: positions}, (start,), whole),
        (told, {r: (first, end)}, (), ()),
    )
    for statement, box, lows, shape in reversed(statements):
        bound = with_statement(bound, number, statement, box, lows, shape, {})
    return bound, Table(starts, table, disordered)


def _tensors(bound: Bound) -> Iterator[ir.Tensor]:
    yield from bound.function.parameters
    yield from bound.function.initial
    for statement in bound.function.statements:
        yield from ir.targets(statement)
