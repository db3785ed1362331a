"""Parts of arrays: ``take``, ``drop`` and ``tile``, and their relatives that fill with zeros."""

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


def take(amount: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``take(v, a)``: so many of each leading axis, from the end where negative. Raises TC0706 beyond the array."""
    counts = static_vector(amount, "the first argument of `take`", span, draft)
    _check_length(counts, array, "take", span)
    lows, shape = [], []
    for count, extent in zip(counts, array.shape, strict=False):
        number, available = draft.number(count), draft.number(extent)
        if abs(number) > available:
            raise beyond("takes", abs(number), available, span)
        lows.append(extent + count if number < 0 else Size.of(0))
        shape.append(-count if number < 0 else count)
    return _window(array, lows, (*shape, *array.shape[len(counts) :]), draft)


def drop(amount: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``drop(v, a)``: without so many of each leading axis. Raises TC0706 beyond the array."""
    counts = static_vector(amount, "the first argument of `drop`", span, draft)
    _check_length(counts, array, "drop", span)
    lows, shape = [], []
    for count, extent in zip(counts, array.shape, strict=False):
        number, available = draft.number(count), draft.number(extent)
        if abs(number) > available:
            raise beyond("drops", abs(number), available, span)
        lows.append(Size.of(0) if number < 0 else count)
        shape.append(extent + count if number < 0 else extent - count)
    return _window(array, lows, (*shape, *array.shape[len(counts) :]), draft)


def tile(shape: Array, offset: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``tile(shp, off, a)``: the block of shape `shp` at `off`. Raises TC0706 beyond the array."""
    counts = static_vector(shape, "the first argument of `tile`", span, draft)
    _check_length(counts, array, "tile", span)
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


def take_apl(amount: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``take_apl(v, a)``: as `take`, zeros beyond the array."""
    counts = static_vector(amount, "the first argument of `take_apl`", span, draft)
    _check_length(counts, array, "take_apl", span)
    lows, shape = [], []
    for count, extent in zip(counts, array.shape, strict=False):
        negative = draft.number(count) < 0
        lows.append(extent + count if negative else Size.of(0))
        shape.append(-count if negative else count)
    return _padded_window(array, lows, (*shape, *array.shape[len(counts) :]), draft)


def drop_apl(amount: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``drop_apl(v, a)``: as `drop`, nothing where more is dropped than there is."""
    counts = static_vector(amount, "the first argument of `drop_apl`", span, draft)
    _check_length(counts, array, "drop_apl", span)
    lows, shape = [], []
    for count, extent in zip(counts, array.shape, strict=False):
        number, available = draft.number(count), draft.number(extent)
        if abs(number) >= available:
            lows.append(Size.of(0))
            shape.append(Size.of(0))
        else:
            lows.append(Size.of(0) if number < 0 else count)
            shape.append(extent + count if number < 0 else extent - count)
    return _window(array, lows, (*shape, *array.shape[len(counts) :]), draft)


def tile_apl(shape: Array, offset: Array, array: Array, span: Span, draft: Draft) -> Array:
    """``tile_apl(shp, off, a)``: as `tile`, zeros beyond the array."""
    counts = static_vector(shape, "the first argument of `tile_apl`", span, draft)
    _check_length(counts, array, "tile_apl", span)
    check_nonnegative(counts, span, draft)
    offsets = static_vector(offset, "the second argument of `tile_apl`", span, draft)
    if len(offsets) != len(counts):
        raise wrong_length("the second argument of `tile_apl`", len(offsets), len(counts), span)
    return _padded_window(array, list(offsets), (*counts, *array.shape[len(counts) :]), draft)


def _window(array: Array, lows: Sequence[Size], shape: tuple[Size, ...], draft: Draft) -> Array:
    """The block of an array that begins at `lows` and has a shape."""
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
    """The same of an array in a sea of zeros."""
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


def _check_length(counts: Sequence[Size], array: Array, name: str, span: Span) -> None:
    if len(counts) > array.rank:
        raise CompileError(
            Code.INDEX_TOO_LONG,
            f"`{name}` names {len(counts)} axes, the array has {array.rank}",
            span,
            help="give at most one number for each axis",
        )
