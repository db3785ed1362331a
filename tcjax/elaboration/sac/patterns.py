"""Type patterns: element types, ranks and the names of extents."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...ir import types
from ...syntax.sac import tree
from ..literals import Value, number_of_points
from ..signature import ValueNeeded
from .arrays import INDEX, Array, Kind, Place, conformed, is_float, is_int, literal_vector, scalar, show_kind
from .draft import Draft, IndexNeeded
from .statics import static_int, static_vector
from .structure import shape_of


def typed(pattern: tree.TypePattern, array: Array, what: str, span: Span) -> Array:
    """The array with the pattern's element type, if that holds all of its own values."""
    wanted = pattern.scalar
    if array.kind == wanted:
        return array
    if isinstance(array.kind, str):
        fits = (array.kind == "bool") == (wanted == "bool") and types.join(array.kind, wanted) == wanted
    else:
        fits = (is_int(array.kind) and wanted != "bool") or (is_float(array.kind) and is_float(wanted))
    if not fits:
        raise CompileError(
            Code.ARGUMENT_TYPE,
            f"{what} is declared {show_kind(wanted)}, this is {show_kind(array.kind)}",
            span,
            help="convert it first, with `toi`, `tof`, `tod` or `tob`",
        )
    return of_kind(array, wanted)


def of_kind(array: Array, kind: Kind) -> Array:
    """The array with elements of another type."""
    held = array.stored or array
    if held.tensor is not None and held.tensor.dtype == kind:
        return replace(held, kind=kind)
    read, pieces, layers, cells, tensor = array.read, array.pieces, array.layers, array.cells, array.tensor

    def converted(place: Place) -> Value:
        return conformed(read(place) if tensor is None else ir.Access(tensor, place), kind)

    return replace(
        array,
        kind=kind,
        read=converted,
        cells=None if cells is None else tuple(of_kind(cell, kind) for cell in cells),
        pieces=None
        if pieces is None
        else lambda: tuple(replace(p, read=lambda place, p=p: conformed(p.read(place), kind)) for p in pieces()),
        layers=None if layers is None else lambda: (),
        tensor=None,
        stored=None,
    )


def match_all(
    patterns: Sequence[tuple[tree.TypePattern, Array, str]],
    bound: dict[str, Array],
    given: Mapping[str, Array],
    span: Span,
    draft: Draft,
) -> None:
    """Binds the names of type patterns; if that is not enough, uses the values of the parameters `given` as numbers of
    axes.

    Raises `CompileError`: TC0502, TC0606, and TC0407 for a pattern without a solution.
    """
    pending = list(patterns)
    while pending:
        left = [entry for entry in pending if not _match(*entry, bound, span, draft)]
        if len(left) == len(pending):
            pattern, _, what = left[0]
            unknown = _unknown(pattern, bound)
            values = {name: given[name] for name in unknown if name is not None and name in given}
            if not values:
                raise _unsolvable(pattern, what, unknown)
            bound.update(values)
        pending = left
    for name in sorted(given.keys() & bound.keys()):
        _check_value(name, given[name], bound[name], span, draft)


def _unknown(pattern: tree.TypePattern, bound: Mapping[str, Array]) -> list[str | None]:
    """The numbers of axes that are not yet known, by name."""
    numbers = [axes.count for axes in pattern.axes if isinstance(axes, tree.Axes)]
    return [number for number in numbers if not isinstance(number, int) and number not in bound]


def _unsolvable(pattern: tree.TypePattern, what: str, unknown: Sequence[str | None]) -> CompileError:
    names = [name for name in dict.fromkeys(unknown) if name is not None]
    parts = f": the values of {' and '.join(f'`{name}`' for name in names)} are not known" if len(names) > 1 else ""
    first = names[0] if names else "2"
    return CompileError(
        Code.UNSOLVABLE_PATTERN,
        f"the type pattern of {what} has more than one part of unknown rank{parts}",
        pattern.span,
        help=f"say how many axes one part has: give `{first}` as a parameter of its own, `int {first}`, write a number "
        "in its place, `2:shp`, or bind it in another argument"
        if names
        else "say how many axes one part has, `2:shp`, or bind it in an earlier argument",
    )


def _check_value(name: str, value: Array, meant: Array, span: Span, draft: Draft) -> None:
    """Raises TC0606 if a parameter's known value differs from the one that the type patterns give its name."""
    if value is meant:
        return
    try:
        found, wanted = (_number(name, array, span, draft) for array in (value, meant))
    except (ValueNeeded, IndexNeeded):
        return
    if found != wanted:
        raise CompileError(
            Code.VIOLATED_PATTERN,
            f"`{name}` is {found}, and {wanted} in the type patterns of the other arguments",
            span,
            help="pass values and arrays that agree, or give the axes different names in the pattern",
        )


def _match(
    pattern: tree.TypePattern, array: Array, what: str, bound: dict[str, Array], span: Span, draft: Draft
) -> bool:
    """Binds the names of a type pattern; False if it cannot be solved yet."""
    fixed, unknown = 0, []
    counts: list[int | None] = []
    for axes in pattern.axes:
        match axes:
            case tree.Axis():
                counts.append(1)
            case tree.Axes(int() as count):
                counts.append(count)
            case tree.Axes(str() as name, least) if name in bound:
                count = _number(name, bound[name], pattern.span, draft)
                _require(count >= least, what, array, f"{name} >= {least}, and {name} = {count}", span, draft)
                counts.append(count)
            case _:
                counts.append(None)
                unknown.append(axes)
        fixed += counts[-1] or 0
    # Parts with the same name have the same number of axes.
    if len({axes.count if axes.count is not None else number for number, axes in enumerate(unknown)}) > 1:
        return False
    share, rest = divmod(array.rank - fixed, max(1, len(unknown)))
    if share < 0 or rest or (share and not unknown) or (unknown and share < unknown[0].least):
        raise CompileError(
            Code.ARGUMENT_RANK,
            f"{what} has {_axes_wanted(pattern, fixed, unknown)}, this has {array.rank}",
            span,
            help="declare it with as many axes as it has, `float[n, m]`, or let it have any, `float[*]`"
            if what.startswith("the result")
            else "pass an array of the rank that the type pattern says",
        )
    position = 0
    for axes, known in zip(pattern.axes, counts, strict=True):
        count = share if known is None else known
        extents = array.shape[position : position + count]
        position += count
        match axes:
            case tree.Axis(None):
                continue
            case tree.Axis(int() as extent):
                _require(draft.number(extents[0]) == extent, what, array, f"{extent}", span, draft)
            case tree.Axis(str() as name):
                if name in bound:
                    wanted = _number(name, bound[name], pattern.span, draft)
                    _require(draft.number(extents[0]) == wanted, what, array, f"{name} = {wanted}", span, draft)
                else:
                    bound[name] = shape_of(replace(array, shape=extents)).cells[0]  # type: ignore[index]
            case tree.Axes(number, _, name):
                if isinstance(number, str) and number not in bound:
                    bound[number] = scalar(number_of_points(count))
                if name is not None:
                    own = literal_vector(shape_of(replace(array, shape=extents)).cells or (), INDEX)
                    if name in bound:
                        known_shape = static_vector(bound[name], _in_pattern(name), pattern.span, draft)
                        same = draft.numbers(known_shape) == draft.numbers(extents)
                        _require(same, what, array, name, span, draft)
                    else:
                        bound[name] = own
    return True


def _axes_wanted(pattern: tree.TypePattern, fixed: int, unknown: Sequence[tree.Axes]) -> str:
    if unknown:
        least = fixed + sum(axes.least for axes in unknown)
        return f"{least} axes, or more by multiples of {len(unknown)}" if unknown[1:] else f"at least {least} axes"
    return "no axes" if not fixed else "1 axis" if fixed == 1 else f"{fixed} axes"


def _number(name: str, array: Array, span: Span, draft: Draft) -> int:
    return draft.number(static_int(array, _in_pattern(name), span, draft))


def _in_pattern(name: str) -> str:
    return f"`{name}` in a type pattern"


def _require(holds: bool, what: str, array: Array, wanted: str, span: Span, draft: Draft) -> None:
    if not holds:
        raise CompileError(
            Code.VIOLATED_PATTERN,
            f"{what} has the shape {list(draft.numbers(array.shape))}, its type pattern wants {wanted} there",
            span,
            help="return an array of the declared shape, or declare it as `[*]`"
            if what.startswith("the result")
            else "pass arrays that agree, or give the axes different names in the pattern",
        )
