"""Array values as statements: one ``target[...] = ...`` per part, folds at the root as accumulations."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Final

from ... import ir
from ...diagnostics import NOWHERE, CompileError
from ...symbolic import Affine, IndexVar, Size
from ..literals import Value, settle, settled
from .arrays import Array, Piece, Place, Run, conformed, dtype_of_kind, is_float
from .draft import Draft
from .reading import element, is_inside, pieces_of, whole, zero

# The name of an axis' index if the text gives none.
_NAMES: Final = "ijklmnpqrs"

# An element written twice must be cheap, and must have finite values and derivatives where it is overwritten.
_HARMLESS: Final = frozenset(("+", "-", "*", "min", "max", "&&", "||", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^"))


def store(array: Array, name: str, draft: Draft) -> Array:
    """The array in a new tensor; adds the statements that compute it to the draft."""
    array = replace(array, keep=None)
    # Floats of open type keep all digits if a double may read them.
    open_float = not isinstance(array.kind, str) and is_float(array.kind)
    dtype = "float64" if draft.wide and open_float else dtype_of_kind(array.kind)
    kind = array.kind if open_float else dtype
    parts = _parts(array, draft)
    filled = _covers(parts[0], array, draft)
    name = draft.unused(name)
    target = draft.tensor(name, dtype, array.shape, declared=not filled, span=NOWHERE)
    draft.statements += [_statement(part, array.names, target, draft) for part in parts]
    draft.sources[name] = array
    return Array(kind, array.shape, lambda place: ir.Access(target, place), names=array.names, tensor=target)


def given_ranges(
    runs: Iterable[tuple[IndexVar, Size, Size]],
    values: Iterable[ir.Expr],
    draft: Draft,
    partial: Container[IndexVar] = (),
) -> tuple[ir.Range, ...]:
    """The ranges that must be stated: those that TC's inference would not derive from bare subscripts.

    Inference expects a statement to fill its target: a `partial` index does not run along a whole axis of it. A range
    that ends before an array does is stated too, unless it comes from selections alone: the text says which elements
    are not read.
    """
    bare: dict[IndexVar, list[Size]] = {}
    compound: set[IndexVar] = set()
    for value in values:
        for access in ir.accesses(value):
            for index, extent in zip(access.indices, access.tensor.shape, strict=True):
                if index.bare is not None:
                    bare.setdefault(index.bare, []).append(extent)
                elif not index.is_data:
                    compound |= index.variables
    given: list[ir.Range] = []
    for index, lo, hi in runs:
        longer = {extent for extent in bare.get(index, ()) if draft.number(extent) != draft.number(hi)}
        shown = longer <= draft.longer.get(hi, set())
        inferred = index in bare and index not in compound and _least(bare[index], draft) == draft.number(hi) and shown
        if index in partial or not (inferred and draft.number(lo) == 0):
            given.append(ir.Range(index, Affine.of(lo), Affine.of(hi)))
    return tuple(given)


def _least(extents: Iterable[Size], draft: Draft) -> int:
    return min(map(draft.number, extents))


def _parts(array: Array, draft: Draft) -> tuple[Piece, ...]:
    """The parts in the order in which they are written, at least one."""
    nothing = Piece(whole(array.shape), lambda _: zero(array.kind))
    if any(extent == 0 for extent in draft.numbers(array.shape)):
        # Nothing is computed, but the tensor exists.
        return (nothing,)
    if array.cells is not None and array.tensor is None:
        return tuple(_cells(array.cells, draft))
    if array.tensor is None and array.layers is not None:
        layers = array.layers()
        boxes = [piece.box for layer in layers for piece in layer]
        # Elements written at regular distances are interleaved with those between, so nothing is computed twice.
        plain = all(run.stride == 1 for box in boxes for run in box)
        if len(layers) > 1 and plain and all(_is_harmless(piece, draft) for layer in layers[:-1] for piece in layer):
            return tuple(piece for layer in layers for piece in layer)
    return pieces_of(array, draft) or (nothing,)


def _cells(cells: tuple[Array, ...], draft: Draft) -> Iterator[Piece]:
    for number, cell in enumerate(cells):

        def read(place: Place, cell: Array = cell) -> Value:
            return element(cell, place[1:], draft)

        yield Piece((Run(Size.of(number), Size.of(number + 1)), *whole(cell.shape)), read)


def _covers(piece: Piece, array: Array, draft: Draft) -> bool:
    """Whether a part is the whole array."""
    return all(
        draft.number(run.lo) == 0 and draft.number(run.hi) == draft.number(extent) and run.stride == 1
        for run, extent in zip(piece.box, array.shape, strict=True)
    )


def _statement(piece: Piece, names: tuple[str | None, ...], target: ir.Tensor, draft: Draft) -> ir.Statement:
    with draft.statement():
        runs, place = _point(piece.box, names, target, draft)
        value = settled(conformed(piece.read(place), target.dtype))
        partial = _partial(runs, place, target, draft)
        match value:
            case ir.Reduce(reducer, indices, ranges, guard, body, None, accumulate):
                inner = {given.index: given for given in ranges}
                said = given_ranges(runs, [body] if guard is None else [body, guard], draft, partial)
                domain = ir.Domain((*said, *(inner[index] for index in indices if index in inner)), guard)
                return ir.Accumulate(target, place, reducer, True, indices, body, accumulate, domain, span=value.span)
            case _:
                domain = ir.Domain(given_ranges(runs, [value], draft, partial))
                return ir.Define(target, place, settle(value, target.dtype), domain, span=value.span)


def _partial(
    runs: Iterable[tuple[IndexVar, Size, Size]], place: Place, target: ir.Tensor, draft: Draft
) -> frozenset[IndexVar]:
    """The indices that do not run along a whole axis of the target."""
    ends = {index: (draft.number(lo), draft.number(hi)) for index, lo, hi in runs}
    filled = {
        index.bare
        for index, extent in zip(place, target.shape, strict=True)
        if index.bare is not None and ends[index.bare] == (0, draft.number(extent))
    }
    return frozenset(ends) - filled


def _point(
    box: tuple[Run, ...], names: tuple[str | None, ...], target: ir.Tensor, draft: Draft
) -> tuple[list[tuple[IndexVar, Size, Size]], tuple[Affine, ...]]:
    """An index for each axis of a box, with its range, and the position given by the indices."""
    runs: list[tuple[IndexVar, Size, Size]] = []
    place: list[Affine] = []
    for axis, run in enumerate(box):
        if draft.number(run.hi) - draft.number(run.lo) == 1 and draft.number(target.shape[axis]) != 1:
            place.append(Affine.of(run.lo))
        else:
            given, position = along(run, axis_name(names, axis), draft)
            runs.append(given)
            place.append(position)
    return runs, tuple(place)


def along(run: Run, name: str, draft: Draft) -> tuple[tuple[IndexVar, Size, Size], Affine]:
    """A new index over a run, with its range, and the position that it gives."""
    lo, hi = draft.number(run.lo), draft.number(run.hi)
    if run.stride == 1:
        index = draft.fresh(name, lo, max(lo, hi))
        return (index, run.lo, run.hi), Affine.of(index)
    count = max(0, -((lo - hi) // run.stride))
    index = draft.fresh(name, 0, count)
    return (index, Size.of(0), Size.of(count)), Affine.of(index).scale(run.stride) + run.lo


def axis_name(names: tuple[str | None, ...], axis: int) -> str:
    """The name of an axis' index."""
    given = names[axis] if axis < len(names) else None
    return given or (_NAMES[axis] if axis < len(_NAMES) else f"i{axis}")


def _is_harmless(piece: Piece, draft: Draft) -> bool:
    """Whether the part may be computed at positions that another part overwrites."""
    with draft.statement():
        place = tuple(along(run, "_", draft)[1] for run in piece.box)
        try:
            value = settled(piece.read(place))
        except CompileError:
            return False
        return all(map(lambda node: _harmless(node, draft), ir.walk(value)))


def _harmless(node: ir.Expr, draft: Draft) -> bool:
    match node:
        case ir.Const() | ir.Extent() | ir.Index() | ir.Cast() | ir.Unary():
            return True
        case ir.Binary(operator):
            return operator in _HARMLESS
        case ir.Access(tensor, indices):
            return is_inside(tensor.shape, indices, draft)
        case _:
            return False
