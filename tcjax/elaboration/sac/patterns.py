"""Type patterns: element types, ranks and the names of extents."""

from collections.abc import Sequence
from dataclasses import replace

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...ir import types
from ...symbolic import Size
from ...syntax.sac import tree
from .arrays import Array, Kind, conformed, is_float, is_int, literal_vector, scalar, show_kind
from .draft import Draft
from .reading import element
from .statics import evaluate
from .structure import shape_of


def typed(pattern: tree.TypePattern, array: Array, what: str, span: Span) -> Array:
    """The array as one of the pattern's element type, if that holds all of its own."""
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
    return _of_kind(array, wanted)


def _of_kind(array: Array, kind: Kind) -> Array:
    read, pieces, layers, cells = array.read, array.pieces, array.layers, array.cells
    return replace(
        array,
        kind=kind,
        read=lambda place: conformed(read(place), kind),
        cells=None if cells is None else tuple(_of_kind(cell, kind) for cell in cells),
        pieces=None
        if pieces is None
        else lambda: tuple(replace(p, read=lambda place, p=p: conformed(p.read(place), kind)) for p in pieces()),
        layers=None if layers is None else lambda: (),
        stored=None,
    )


def match_all(
    patterns: Sequence[tuple[tree.TypePattern, Array, str]], bound: dict[str, Array], span: Span, draft: Draft
) -> None:
    """Binds the names of type patterns. Raises `CompileError`: TC0502, TC0606, and TC0407 where nothing solves one."""
    pending = list(patterns)
    while pending:
        left = [entry for entry in pending if not _match(*entry, bound, span, draft)]
        if len(left) == len(pending):
            raise CompileError(
                Code.UNSOLVABLE_PATTERN,
                f"the type pattern of {left[0][2]} has more than one part of unknown rank",
                left[0][0].span,
                help="say how many axes one part has, `2:shp`, or bind it in an earlier argument",
            )
        pending = left


def _match(
    pattern: tree.TypePattern, array: Array, what: str, bound: dict[str, Array], span: Span, draft: Draft
) -> bool:
    """Binds the names of a type pattern; False where it is not solvable yet."""
    fixed, unknown = 0, []
    counts: list[int | None] = []
    for axes in pattern.axes:
        match axes:
            case tree.Axis():
                counts.append(1)
            case tree.Axes(int() as count):
                counts.append(count)
            case tree.Axes(str() as name) if name in bound:
                counts.append(_number(bound[name], draft))
            case _:
                counts.append(None)
                unknown.append(axes)
        fixed += counts[-1] or 0
    if len(unknown) > 1:
        return False
    rest = array.rank - fixed
    if rest < 0 or (rest > 0 and not unknown) or (unknown and rest < unknown[0].least):
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
        count = rest if known is None else known
        extents = array.shape[position : position + count]
        position += count
        match axes:
            case tree.Axis(None):
                continue
            case tree.Axis(int() as extent):
                _require(draft.number(extents[0]) == extent, what, array, f"{extent}", span, draft)
            case tree.Axis(str() as name):
                if name in bound:
                    wanted = _number(bound[name], draft)
                    _require(draft.number(extents[0]) == wanted, what, array, f"{name} = {wanted}", span, draft)
                else:
                    bound[name] = shape_of(replace(array, shape=extents)).cells[0]  # type: ignore[index]
            case tree.Axes(number, _, name):
                if isinstance(number, str) and number not in bound:
                    bound[number] = scalar(ir.Const(count, "int32"))
                if name is not None:
                    own = literal_vector(shape_of(replace(array, shape=extents)).cells or (), "int32")
                    if name in bound:
                        _require(_same(bound[name], extents, draft), what, array, name, span, draft)
                    else:
                        bound[name] = own
    return True


def _axes_wanted(pattern: tree.TypePattern, fixed: int, unknown: Sequence[tree.Axes]) -> str:
    if unknown:
        return f"at least {fixed + unknown[0].least} axes"
    return "no axes" if not fixed else "1 axis" if fixed == 1 else f"{fixed} axes"


def _number(array: Array, draft: Draft) -> int:
    found = evaluate(element(array, (), draft), draft)
    assert isinstance(found, Size)
    return draft.number(found)


def _same(vector: Array, extents: tuple[Size, ...], draft: Draft) -> bool:
    cells = vector.cells or ()
    return [_number(cell, draft) for cell in cells] == list(draft.numbers(extents))


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
