"""Parts of arrays: ``take``, ``drop`` and ``tile``, and their variants that fill with zeros."""

from collections.abc import Sequence
from dataclasses import replace

from ...diagnostics import Code, CompileError, Span
from ...symbolic import Size
from ..literals import Value
from .arrays import Array, Piece, Place, Run, literal_vector
from .draft import Draft
from .reading import element, whole, zero
from .statics import static_vector
from .structure import beyond, cased, check_nonnegative, components, known_number, view, wrong_length


def take(amount: Array, array: Array, span: Span, draft: Draft, *, fills: bool = False) -> Array:
    """``take(v, a)``: the first elements of each leading axis, or the last ones for a negative number.

    Raises TC0706 beyond the array; with `fills`, ``take_apl``, it fills with zeros instead.
    """
    counts = _counts(amount, "take_apl" if fills else "take", array, span, draft)
    lows, shape = [], []
    for count, extent in zip(counts, array.shape, strict=False):
        number, available = draft.number(count), draft.number(extent)
        if abs(number) > available and not fills:
            raise beyond("takes", abs(number), available, span)
        lows.append(extent + count if number < 0 else Size.of(0))
        shape.append(-count if number < 0 else count)
    window = _padded_window if fills else _window
    return window(array, lows, (*shape, *array.shape[len(counts) :]), draft)


def drop(amount: Array, array: Array, span: Span, draft: Draft, *, fills: bool = False) -> Array:
    """``drop(v, a)``: without the first elements of each leading axis, or the last ones for a negative number.

    Raises TC0706 beyond the array; with `fills`, ``drop_apl``, the result is empty instead.
    """
    counts = _counts(amount, "drop_apl" if fills else "drop", array, span, draft)
    lows, shape = [], []
    for count, extent in zip(counts, array.shape, strict=False):
        number, available = draft.number(count), draft.number(extent)
        if abs(number) > available:
            if not fills:
                raise beyond("drops", abs(number), available, span)
            count, extent, number = Size.of(0), Size.of(0), 0
        lows.append(Size.of(0) if number < 0 else count)
        shape.append(extent + count if number < 0 else extent - count)
    return _window(array, lows, (*shape, *array.shape[len(counts) :]), draft)


def tile(shape: Array, offset: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``tile(shp, off, a)``: the block of shape `shp` at `off`. Raises TC0706 beyond the array."""
    counts = _counts(shape, "tile", array, span, draft)
    check_nonnegative(counts, span, draft)
    offsets = components(offset, len(counts), "the second argument of `tile`", span, draft)

    def check() -> None:
        for index, count, extent in zip(offsets, counts, array.shape, strict=False):
            start = known_number(index, draft)
            if start is not None and not 0 <= start <= start + draft.number(count) <= draft.number(extent):
                raise beyond("covers", start + draft.number(count), draft.number(extent), span)

    if not draft.instances:
        check()

    def read(place: Place) -> Value:
        check()
        moved = tuple(p + o() for p, o in zip(place, offsets, strict=False))
        return element(array, (*moved, *place[len(counts) :]), draft, span)

    return Array(array.kind, (*counts, *array.shape[len(counts) :]), read, array.free | offset.free, names=array.names)


def tile_apl(shape: Array, offset: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``tile_apl(shp, off, a)``: like `tile`, with zeros beyond the array."""
    counts = _counts(shape, "tile_apl", array, span, draft)
    check_nonnegative(counts, span, draft)
    offsets = static_vector(offset, "the second argument of `tile_apl`", span, draft)
    if len(offsets) != len(counts):
        raise wrong_length("the second argument of `tile_apl`", len(offsets), len(counts), span)
    return _padded_window(array, list(offsets), (*counts, *array.shape[len(counts) :]), draft)


def _window(array: Array, lows: Sequence[Size], shape: tuple[Size, ...], draft: Draft) -> Array:
    """The block of an array of this shape that begins at `lows`."""
    if array.cells is not None and len(lows) >= 1:
        first, count = draft.number(lows[0]), draft.number(shape[0])
        cells = array.cells[first : first + count]
        if len(lows) > 1:
            cells = tuple(_window(cell, lows[1:], shape[1:], draft) for cell in cells)
        return replace(literal_vector(cells, array.kind), shape=shape, free=array.free)

    def read(place: Place) -> Value:
        moved = tuple(p + lo for p, lo in zip(place, lows, strict=False))
        return element(array, (*moved, *place[len(lows) :]), draft)

    return view(array, shape, read, names=array.names)


def _padded_window(array: Array, lows: Sequence[Size], shape: tuple[Size, ...], draft: Draft) -> Array:
    """The same, with zeros outside the array."""
    count = len(lows)
    box: list[Run] = []
    for low, extent, own in zip(lows, shape, array.shape, strict=False):
        first = max(0, -draft.number(low))
        last = min(draft.number(extent), draft.number(own) - draft.number(low))
        box.append(Run(Size.of(first), Size.of(max(first, last))))

    def read(place: Place) -> Value:
        moved = tuple(p + lo for p, lo in zip(place, lows, strict=False))
        return element(array, (*moved, *place[count:]), draft)

    blank = view(array, shape, lambda _: zero(array.kind), names=array.names)
    return cased(blank, lambda: (Piece((*box, *whole(shape[count:])), read),), draft)


def _counts(amount: Array, name: str, array: Array, span: Span, draft: Draft) -> tuple[Size, ...]:
    """The first argument of a window, at most one number for each axis."""
    counts = static_vector(amount, f"the first argument of `{name}`", span, draft)
    if len(counts) > array.rank:
        raise CompileError(
            Code.INDEX_TOO_LONG,
            f"`{name}` names {len(counts)} axes, the array has {array.rank}",
            span,
            help="give at most one number for each axis",
        )
    return counts
