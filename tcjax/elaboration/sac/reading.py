"""Elements of array values: computed in place, by cases, or read from a tensor that holds the array."""

from ... import ir
from ...diagnostics import NOWHERE, Span
from ...symbolic import Affine, Size, all_of, clamp, compare
from .. import operators
from ..literals import Literal, Open, Value, read_again, settled
from .arrays import COUNTED, Array, Kind, Piece, Place, Run, conformed
from .draft import Draft
from .statics import outside, values_of


def element(array: Array, place: Place, draft: Draft, span: Span = NOWHERE) -> Value:
    """The element at a position, for the current point of the statement."""
    draft.step(span)
    if array.tensor is not None:
        return _access(array.tensor, array, place, draft, span)
    if array.keep is not None and array.closed and is_computed(array, draft):
        return element(stored(array, draft), place, draft, span)
    if not is_inside(array.shape, place, draft):
        if draft.uncertain and 0 in draft.numbers(array.shape):
            return zero(array.kind)
        _refuse_outside(array, place, draft, span)
        if array.closed and array.rank:
            return element(stored(array, draft), place, draft, span)
        place = clamped(array.shape, place, draft, data_too=True)
    if array.cells is not None:
        return _cell(array, array.cells, place, draft)
    if array.pieces is not None:
        return _by_cases(array, array.pieces(), place, draft)
    return array.read(place)


def stored(array: Array, draft: Draft) -> Array:
    """The array stored in its own tensor, computed once."""
    from .storing import store

    if array.tensor is not None:
        return array
    if array.stored is None:
        array.stored = store(array, array.keep or "t", draft)
    return array.stored


def is_computed(array: Array, draft: Draft) -> bool:
    """Whether the elements are more than reads, numbers and indices."""
    if array.computed is None:
        array.computed = _is_computed(array, draft)
    return array.computed


def _is_computed(array: Array, draft: Draft) -> bool:
    if array.cells is not None:
        return any(is_computed(cell, draft) for cell in array.cells)
    if array.pieces is not None:
        return True
    if any(extent == 0 for extent in draft.numbers(array.shape)):
        return False
    with draft.statement(inside=True):
        place = tuple(Affine.of(draft.fresh("_", 0, extent)) for extent in draft.numbers(array.shape))
        value = array.read(place)
    if isinstance(value, Literal):
        return False
    value = value.expr if isinstance(value, Open) else value
    if isinstance(value, ir.Access):
        return any(index.is_data for index in value.indices)
    return any(isinstance(node, (ir.Access, ir.Reduce, ir.Foreign)) for node in ir.walk(value))


def whole(shape: tuple[Size, ...]) -> tuple[Run, ...]:
    """The box of all positions of an array."""
    return tuple(Run(Size.of(0), extent) for extent in shape)


def pieces_of(array: Array, draft: Draft) -> tuple[Piece, ...]:
    """Disjoint parts that cover everything but zeros."""
    if array.tensor is None and array.keep is None and array.pieces is not None:
        return array.pieces()
    return (Piece(whole(array.shape), lambda place: element(array, place, draft)),)


def zero(kind: Kind) -> Value:
    """The element where no partition applies."""
    if not isinstance(kind, str):
        return kind
    return settled(Literal(False, NOWHERE)) if kind == "bool" else conformed(Literal(0, NOWHERE), kind)


def _access(tensor: ir.Tensor, array: Array, place: Place, draft: Draft, span: Span) -> Value:
    """The element of a tensor. If data decides whether it is read at all, the subscript is clamped into the tensor."""
    if draft.uncertain and not is_inside(array.shape, place, draft):
        if 0 in draft.numbers(array.shape):
            return zero(array.kind)
        # If a subscript depends on data, the access itself is clamped.
        place = clamped(array.shape, place, draft, data_too=False)
    elif not draft.conditions:
        _refuse_computed(tensor.name, array, place, draft, span)
    access = ir.Access(tensor, place, span=span)
    return access if isinstance(array.kind, str) else read_again(access, "float32" if array.kind == COUNTED else None)


def _refuse_computed(name: str, array: Array, place: Place, draft: Draft, span: Span) -> None:
    """Raises `CompileError` (TC0706) if a non-affine subscript computed from indices alone is outside the array."""
    for index, extent in zip(place, array.shape, strict=True):
        if not index.is_data or any(isinstance(n, ir.Access) for d in ir.data_atoms(index) for n in ir.walk(d.expr)):
            continue
        for value in values_of(index, draft):
            if not 0 <= value < draft.number(extent):
                raise outside(name, value, draft.number(extent), span)


def is_inside(shape: tuple[Size, ...], place: Place, draft: Draft) -> bool:
    """Whether a position is inside an array of this shape wherever the statement reads it."""
    for index, extent in zip(place, shape, strict=True):
        found = draft.interval(index)
        if found is None:
            return False
        if found[0] < 0 or found[1] >= draft.number(extent):
            # Interval arithmetic does not see relations between indices.
            inside = all_of((compare(">=", index, 0), compare("<", index, extent)))
            if (len(index.variables) == 1 and index.is_linear) or not draft.proves(inside):
                return False
    return True


def _refuse_outside(array: Array, place: Place, draft: Draft, span: Span) -> None:
    """Raises `CompileError` (TC0706) for a fixed position outside the array."""
    if draft.uncertain:
        return
    for index, extent in zip(place, array.shape, strict=True):
        size = index.base if not index.terms else None
        if size is not None and not 0 <= draft.number(size) < draft.number(extent):
            raise outside(array.keep or "the array", draft.number(size), draft.number(extent), span)


def clamped(shape: tuple[Size, ...], place: Place, draft: Draft, *, data_too: bool) -> Place:
    """The position, clamped into an array of this shape if data decides it, or decides whether it is read."""

    def one(index: Affine, extent: Size) -> Affine:
        wanted = (data_too or not index.is_data) if draft.uncertain else index.is_data
        if not wanted:
            return index
        if not index.is_data and is_inside((extent,), (index,), draft):
            return index
        return clamp("max", (Affine.of(0), clamp("min", (index, Affine.of(extent - 1)))))

    return tuple(map(one, place, shape))


def _cell(array: Array, cells: tuple[Array, ...], place: Place, draft: Draft) -> Value:
    first, rest = place[0], place[1:]
    if not first.terms:
        return element(cells[draft.number(first.base)], rest, draft)
    if array.closed:
        return element(stored(array, draft), place, draft)
    result = conformed(element(cells[-1], rest, draft), array.kind)
    for number in reversed(range(len(cells) - 1)):
        test = ir.Binary("==", ir.integer(first), ir.Const(number, "int32"), "bool")
        cell = conformed(element(cells[number], rest, draft), array.kind)
        result = operators.conditional(test, cell, result, NOWHERE)
    return result


def _by_cases(array: Array, pieces: tuple[Piece, ...], place: Place, draft: Draft) -> Value:
    """The element of the piece that contains the position; a choice between those that may contain it."""
    possible: list[tuple[ir.Expr | None, Piece]] = []
    for piece in pieces:
        test = _membership(piece.box, place, draft)
        if test is not False:
            possible.append((None if test is True else test, piece))
        if test is True:
            break
    if possible and possible[-1][0] is None and len(possible) == 1:
        return conformed(possible[0][1].read(place), array.kind)
    if possible and array.closed:
        return element(stored(array, draft), place, draft)
    result: Value = zero(array.kind)
    for test, piece in reversed(possible):
        value = conformed(piece.read(place), array.kind)
        result = value if test is None else operators.conditional(test, value, result, NOWHERE)
    return result


def _membership(box: tuple[Run, ...], place: Place, draft: Draft) -> "ir.Expr | bool":
    """Whether a position lies in a box; a condition if it depends on the point."""
    tests: list[ir.Expr] = []
    for run, index in zip(box, place, strict=True):
        lo, hi = draft.number(run.lo), draft.number(run.hi)
        found = draft.interval(index)
        if found is not None and (found[1] < lo or found[0] >= hi):
            return False
        value = ir.integer(index)
        if found is None or found[0] < lo:
            tests.append(ir.Binary(">=", value, _integer(run.lo), "bool"))
        if found is None or found[1] >= hi:
            tests.append(ir.Binary("<", value, _integer(run.hi), "bool"))
        if run.stride != 1:
            phase = (index - lo).remainder(run.stride)
            if phase.constant is None:
                tests.append(ir.Binary("==", ir.integer(phase), ir.Const(0, "int32"), "bool"))
            elif phase.constant:
                return False
    return ir.conjunction(tests) or True


def _integer(size: Size) -> ir.Expr:
    return ir.integer(Affine.of(size))
