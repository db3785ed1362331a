"""Functions that rearrange elements: each gives an array that reads another one at other positions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ... import ir
from ...diagnostics import NOWHERE, Code, CompileError, Span
from ...symbolic import Affine, IndexVar, Size
from .. import operators
from ..literals import Literal, Value, affine_value, number_of_points, settled
from ..literals import extent as size_value
from ..signature import ValueNeeded
from ..subscripts import affine
from .arrays import (
    INDEX,
    Array,
    Piece,
    Place,
    Run,
    agreed_kind,
    conformed,
    is_int,
    joined_kind,
    literal_vector,
    scalar,
    show_kind,
    vector,
)
from .draft import Draft, IndexNeeded
from .elementwise import part
from .reading import element, pieces_of, whole, zero
from .statics import evaluate, require_int, require_scalar, static_int, static_vector

# A vector of ints joined to an index vector is an index vector too, up to this length.
_MOST_COMPONENTS: Final = 8


def shape_of(array: Array) -> Array:
    """``shape(a)``."""
    return literal_vector(tuple(_extent(size) for size in array.shape), INDEX)


def concatenate(left: Array, right: Array, axis: int, span: Span, draft: Draft) -> Array:
    """``a ++ b`` along the first axis (0), ``a ++^ b`` along the last (-1). Raises TC0510, TC0605, TC0301."""
    if not left.rank or not right.rank:
        raise CompileError(
            Code.NEEDS_AXES,
            "`++` joins arrays with at least one axis, this is a scalar",
            span,
            help="put the scalar into a vector: `a ++ [x]`",
        )
    axis = axis % left.rank
    kind = agreed_kind(left.kind, right.kind)
    if kind is None and not (left.cells == () or right.cells == ()):
        raise unequal_kinds("the two sides of `++`", left, right, span)
    if kind is None:
        kind = right.kind if left.cells == () else left.kind
    tails = [(*draft.numbers(a.shape)[:axis], *draft.numbers(a.shape)[axis + 1 :]) for a in (left, right)]
    if left.rank != right.rank or tails[0] != tails[1]:
        shapes = list(draft.numbers(left.shape)), list(draft.numbers(right.shape))
        raise CompileError(
            Code.UNEQUAL_SHAPES,
            f"`++` joins arrays that agree in all other axes, these have the shapes {shapes[0]} and {shapes[1]}",
            span,
            help="`++` joins along the first axis and `++^` along the last",
        )
    first, second = left.shape[axis], right.shape[axis]
    shape = (*left.shape[:axis], first + second, *left.shape[axis + 1 :])
    free = left.free | right.free
    if axis == 0 and (left.cells is not None or right.cells is not None) and _is_short(left, right, draft):
        parts = [part(a, n, draft) for a in (left, right) for n in range(draft.number(a.shape[0]))]
        return replace(literal_vector(tuple(parts), kind), shape=shape, free=free)

    def joined() -> tuple[Piece, ...]:
        before = [Piece(p.box, p.read) for p in pieces_of(left, draft)]
        return (*before, *(_moved(p, axis, first) for p in pieces_of(right, draft)))

    blank = Array(kind, shape, lambda _: zero(kind), free, names=left.names)
    return cased(blank, joined, draft)


def _moved(piece: Piece, axis: int, by: Size) -> Piece:
    """The piece, further along an axis."""
    run = piece.box[axis]
    box = (*piece.box[:axis], Run(run.lo + by, run.hi + by, run.stride), *piece.box[axis + 1 :])
    return Piece(box, lambda place: piece.read((*place[:axis], place[axis] - by, *place[axis + 1 :])))


def reverse(axis: int, array: Array, span: Span, draft: Draft) -> Array:
    """``reverse(axis, a)``."""
    if axis == 0 and array.cells is not None:
        return replace(literal_vector(array.cells[::-1], array.kind), shape=array.shape)
    last = Affine.of(array.shape[axis] - 1)

    def read(place: Place) -> Value:
        return element(array, (*place[:axis], last - place[axis], *place[axis + 1 :]), draft, span)

    return view(array, array.shape, read, names=array.names)


def rotate(axis: int, amount: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``rotate(axis, n, a)``: towards higher indices."""
    extent = array.shape[axis]
    number = draft.number(extent)
    if number == 0:
        return array
    count = _static_or_none(amount, draft)
    if count is None:

        def wrapped(place: Place) -> Value:
            moved = (place[axis] - _affine(amount, draft)).remainder(extent)
            return element(array, (*place[:axis], moved, *place[axis + 1 :]), draft, span)

        return view(array, array.shape, wrapped, free=amount.free, names=array.names)
    by = draft.number(count) % number
    if by == 0:
        return array
    if axis == 0 and array.cells is not None:
        return replace(literal_vector((*array.cells[-by:], *array.cells[:-by]), array.kind), shape=array.shape)
    split = Size.of(by) if draft.number(count) != by else count

    def front(place: Place) -> Value:
        return element(array, (*place[:axis], place[axis] + (extent - split), *place[axis + 1 :]), draft, span)

    def back(place: Place) -> Value:
        return element(array, (*place[:axis], place[axis] - split, *place[axis + 1 :]), draft, span)

    return cased(
        view(array, array.shape, lambda place: zero(array.kind), names=array.names),
        lambda: (
            Piece(_box(array.shape, axis, Size.of(0), split), front),
            Piece(_box(array.shape, axis, split, extent), back),
        ),
        draft,
    )


def shift(axis: int, amount: Array, fill: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``shift(axis, n, fill, a)``: towards higher indices, `fill` where there is no source element."""
    require_scalar(fill, "the fill of `shift`", span)
    kind = array.kind if not isinstance(fill.kind, str) and array.kind != "bool" else agreed_kind(fill.kind, array.kind)
    if kind is None or joined_kind((kind, fill.kind)) != kind:
        raise unequal_kinds("the fill and the array of `shift`", fill, array, span)
    extent = array.shape[axis]
    number = draft.number(extent)
    count = _static_or_none(amount, draft)
    base = replace(view(array, array.shape, lambda place: zero(kind), free=fill.free | amount.free), kind=kind)

    def filled(_: Place) -> Value:
        return element(fill, (), draft)

    def moved(place: Place) -> Value:
        source = place[axis] - (_affine(amount, draft) if count is None else Affine.of(count))
        return element(array, (*place[:axis], source, *place[axis + 1 :]), draft, span)

    if count is None:

        def either(place: Place) -> Value:
            source = ir.integer(place[axis] - _affine(amount, draft))
            low = ir.Binary(">=", source, ir.Const(0, "int32"), "bool")
            high = ir.Binary("<", source, ir.integer(Affine.of(extent)), "bool")
            inside = ir.Binary("&&", low, high, "bool")
            return operators.conditional(inside, conformed(moved(place), kind), conformed(filled(place), kind), span)

        return replace(base, read=either)
    by = max(-number, min(number, draft.number(count)))
    ends = (count if by == draft.number(count) else Size.of(by)) if by >= 0 else Size.of(0)
    if by >= 0:
        boxes = (_box(array.shape, axis, Size.of(0), ends), _box(array.shape, axis, ends, extent))
        reads: tuple[Callable[[Place], Value], ...] = (filled, moved)
    else:
        keep = extent + (count if by == draft.number(count) else Size.of(by))
        boxes = (_box(array.shape, axis, Size.of(0), keep), _box(array.shape, axis, keep, extent))
        reads = (moved, filled)
    return cased(base, lambda: tuple(map(Piece, boxes, reads)), draft)


def transpose(array: Array, span: Span, draft: Draft) -> Array:
    """``transpose(a)``: all axes reversed."""
    return view(
        array,
        array.shape[::-1],
        lambda place: element(array, place[::-1], draft, span),
        names=array.names[::-1] if len(array.names) == array.rank else (),
    )


def reshape(shape: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``reshape(shp, a)``: the elements in row-major order. Raises TC0605 if their number differs."""
    extents = static_vector(shape, "the first argument of `reshape`", span, draft)
    check_nonnegative(extents, span, draft)
    wanted, given = _product(draft.numbers(extents)), _product(draft.numbers(array.shape))
    if wanted != given:
        raise CompileError(
            Code.UNEQUAL_SHAPES,
            f"the shape {list(draft.numbers(extents))} has {wanted} elements, the array has {given}",
            span,
            help="a reshape keeps all elements: give a shape with as many",
        )

    def read(place: Place) -> Value:
        return element(array, _unravelled(_ravelled(place, extents), array.shape, draft), draft, span)

    return view(array, extents, read)


def genarray(shape: Array, cell: Array, span: Span, draft: Draft) -> Array:
    """``genarray(shp, x)``: `x` at every index."""
    extents = static_vector(shape, "the first argument of `genarray`", span, draft)
    check_nonnegative(extents, span, draft)
    count = len(extents)
    return view(cell, (*extents, *cell.shape), lambda place: element(cell, place[count:], draft))


def iota(shape: Array, span: Span, draft: Draft) -> Array:
    """``iota(n)`` counts from 0; ``iota(shp)`` has at each index that index, as a vector."""
    if shape.rank == 0:
        extent = static_int(shape, "the argument of `iota`", span, draft)
        check_nonnegative((extent,), span, draft)
        return Array(INDEX, (extent,), lambda place: affine_value(place[0]))
    extents = static_vector(shape, "the argument of `iota`", span, draft)
    check_nonnegative(extents, span, draft)

    def read(place: Place) -> Value:
        index = vector([affine_value(p) for p in place[:-1]], frozenset().union(*(p.variables for p in place[:-1])))
        return element(index, place[-1:], draft)

    return Array(INDEX, (*extents, Size.of(len(extents))), read)


def modarray(array: Array, index: Array, cell: Array, span: Span, draft: Draft) -> Array:
    """``modarray(a, idx, x)``: `a` with `x` at an index."""
    require_int(index, "the index of `modarray`", span)
    count = 1 if not index.rank else draft.number(index.shape[0])
    if count > array.rank:
        raise CompileError(
            Code.INDEX_TOO_LONG,
            f"this index has {count} components, the array {array.rank} axes",
            span,
            help="give at most one component for each axis",
        )
    if draft.numbers(cell.shape) != draft.numbers(array.shape[count:]):
        raise CompileError(
            Code.UNEQUAL_SHAPES,
            f"the new cell has the shape {list(draft.numbers(cell.shape))}, the place for it has "
            f"{list(draft.numbers(array.shape[count:]))}",
            span,
            help="give a cell of the shape that the index selects",
        )
    kind = agreed_kind(array.kind, cell.kind)
    if kind is None:
        raise unequal_kinds("the array and the new cell of `modarray`", array, cell, span)
    offsets = components(index, count, "the index of `modarray`", span, draft)
    fixed = [known_number(offset, draft) for offset in offsets]
    outside = [
        beyond("names element", place, draft.number(extent), span)
        for place, extent in zip(fixed, array.shape, strict=False)
        if place is not None and not 0 <= place < draft.number(extent)
    ]
    if outside:
        if not draft.instances:
            raise outside[0]

        def refused(_: Place) -> Value:
            raise outside[0]

        return replace(view(array, array.shape, refused, free=cell.free | index.free), kind=kind)
    if array.cells is not None and count == 1 and fixed[0] is not None:
        cells = list(array.cells)
        cells[fixed[0]] = cell
        return replace(literal_vector(tuple(cells), kind), shape=array.shape, free=array.free | cell.free)

    def read(place: Place) -> Value:
        test: Value = settled(Literal(True, NOWHERE))
        for position, offset in zip(place, offsets, strict=False):
            same = ir.Binary("==", ir.integer(position), ir.integer(offset()), "bool")
            test = same if isinstance(test, ir.Const) else operators.binary("&&", test, same, span)
        new = conformed(element(cell, place[count:], draft), kind)
        old = conformed(element(array, place, draft, span), kind)
        return new if not count else operators.conditional(test, new, old, span)

    base = replace(view(array, array.shape, read, free=cell.free | index.free, names=array.names), kind=kind)
    if not all(place is not None for place in fixed):
        return base
    box = (*(Run(Size.of(p or 0), Size.of((p or 0) + 1)) for p in fixed), *whole(array.shape[count:]))
    new = Piece(box, lambda place: element(cell, place[count:], draft))
    old = Piece(whole(array.shape), lambda place: element(array, place, draft, span))

    def pieces() -> tuple[Piece, ...]:
        from .boxes import uncovered

        rest = uncovered(whole(array.shape), [box], draft) or []
        return (new, *(Piece(other, old.read) for other in rest))

    return replace(base, pieces=pieces, layers=lambda: ((old,), (new,)))


def cased(array: Array, pieces: Callable[[], tuple[Piece, ...]], draft: Draft) -> Array:
    """An array read by cases, without its empty pieces."""

    def real() -> tuple[Piece, ...]:
        return tuple(p for p in pieces() if all(draft.number(r.lo) < draft.number(r.hi) for r in p.box))

    return replace(array, pieces=real, layers=None)


def unequal_kinds(what: str, first: Array, second: Array, span: Span) -> CompileError:
    """The error for cells of different element types."""
    return CompileError(
        Code.WRONG_TYPE,
        f"{what} must be of one type, but got {show_kind(first.kind)} and {show_kind(second.kind)}",
        span,
        help="convert one of them with `toi`, `tof`, `tod` or `tob`; write `0.0` where floats are meant",
    )


def view(
    array: Array,
    shape: Sequence[Size],
    read: Callable[[Place], Value],
    *,
    free: frozenset[IndexVar] = frozenset(),
    names: tuple[str | None, ...] = (),
) -> Array:
    return Array(array.kind, tuple(shape), read, array.free | free, names=names)


def _ravelled(place: Place, shape: Sequence[Size]) -> Affine:
    total = Affine.of(0)
    for index, extent in zip(place, shape, strict=True):
        total = total.scale(extent) + index
    return total


def _unravelled(flat: Affine, shape: tuple[Size, ...], draft: Draft) -> Place:
    """The position of the `flat`-th element, row-major."""
    place: list[Affine] = []
    for axis in range(len(shape)):
        inner = Size.of(1)
        for extent in shape[axis + 1 :]:
            inner = inner * extent
        part = flat if inner.constant == 1 else flat.quotient(inner)
        # The first axis has no row above it.
        place.append(part if axis == 0 or draft.number(shape[axis]) == 0 else part.remainder(shape[axis]))
    return tuple(place)


def _product(extents: Sequence[int]) -> int:
    total = 1
    for extent in extents:
        total *= extent
    return total


def _box(shape: Sequence[Size], axis: int, lo: Size, hi: Size) -> tuple[Run, ...]:
    box = list(whole(tuple(shape)))
    box[axis] = Run(lo, hi)
    return tuple(box)


def _is_short(left: Array, right: Array, draft: Draft) -> bool:
    """Whether both sides are written out, as index vectors are, or one is and the other is a short vector of ints."""
    return all(
        a.cells is not None or (a.rank == 1 and is_int(a.kind) and draft.number(a.shape[0]) <= _MOST_COMPONENTS)
        for a in (left, right)
    )


def _extent(size: Size) -> Array:
    return scalar(size_value(size, NOWHERE) if size.constant is None else number_of_points(size.constant))


def _affine(amount: Array, draft: Draft) -> Affine:
    return affine(settled(element(amount, (), draft)))


def _static_or_none(amount: Array, draft: Draft) -> Size | None:
    """The value, if it is known without asking for an argument's value."""

    try:
        found = evaluate(element(amount, (), draft), draft)
    except (CompileError, IndexNeeded, ValueNeeded):
        return None
    return found if isinstance(found, Size) else None


def components(array: Array, count: int, what: str, span: Span, draft: Draft) -> list[Callable[[], Affine]]:
    require_int(array, what, span)
    if array.rank > 1 or (array.rank == 1 and draft.number(array.shape[0]) != count):
        found = draft.number(array.shape[0]) if array.rank == 1 else array.rank
        raise wrong_length(what, found, count, span)
    parts = [array] if not array.rank else [part(array, number, draft) for number in range(count)]
    return [lambda one=one: _affine(one, draft) for one in parts]


def known_number(offset: Callable[[], Affine], draft: Draft) -> int | None:
    found = offset()
    return None if found.terms else draft.number(found.base)


def check_nonnegative(extents: Sequence[Size], span: Span, draft: Draft) -> None:
    for extent in draft.numbers(tuple(extents)):
        if extent < 0:
            raise CompileError(
                Code.NEGATIVE_EXTENT,
                f"an extent of this shape is {extent}",
                span,
                help="give a shape without negative numbers",
            )


def wrong_length(what: str, found: int, wanted: int, span: Span) -> CompileError:
    return CompileError(
        Code.BOUND_LENGTH,
        f"{what} has {found} components, here it needs {wanted}",
        span,
        help=f"write a vector of {wanted}",
    )


def beyond(what: str, number: int, available: int, span: Span) -> CompileError:
    return CompileError(
        Code.OUT_OF_RANGE_SELECTION,
        f"this {what} {number} where the array has {available} elements",
        span,
        help="stay inside the array; `take_apl`, `drop_apl` and `tile_apl` fill with zeros",
    )
