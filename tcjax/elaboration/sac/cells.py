"""Python functions, applied to whole arrays or to the cells of a comprehension."""

from collections.abc import Sequence
from dataclasses import replace

from ... import ir
from ...diagnostics import Span
from ...symbolic import Affine, IndexVar, Size
from ..literals import Value, settled
from .arrays import Array, Place, dtype_of_kind, is_int, joined_kind
from .draft import Draft, IndexNeeded
from .patterns import of_kind
from .reading import element, stored


def apply_python(name: str, arguments: Sequence[Array], span: Span, draft: Draft) -> tuple[Array, ...]:
    """The results of a function from ``fns``; their shapes are found without running it."""
    arguments = _typed_together(arguments, draft)
    given = tuple((draft.numbers(a.shape), dtype_of_kind(a.kind)) for a in arguments)
    found = draft.functions[name].results(given)
    free = frozenset().union(*(argument.free for argument in arguments))
    memory: dict[tuple[int, tuple[IndexVar, ...]], tuple[ir.Tensor, ...]] = {}

    def targets() -> tuple[tuple[ir.Tensor, ...], tuple[IndexVar, ...]]:
        # Only reading shows which indices of the statement the cells depend on.
        frame = _frame(arguments, draft) if free else ()
        unknown = [index for index in frame if index not in draft.ranges]
        if unknown:
            raise IndexNeeded(unknown[0])
        key = (draft.number_of_statement if frame else 0, frame)
        if key not in memory:
            memory[key] = _apply(name, arguments, found, frame, span, draft)
        return memory[key], frame

    def result(number: int, shape: tuple[int, ...], dtype: str) -> Array:
        def read(place: Place) -> Value:
            tensors, frame = targets()
            lead = tuple(Affine.of(index) - draft.ranges[index][0] for index in frame)
            return ir.Access(tensors[number], (*lead, *place), span=span)

        return Array(dtype, tuple(map(Size.of, shape)), read, free)

    results = [result(number, *entry) for number, entry in enumerate(found)]
    return tuple(results) if free else tuple(array.called(name) for array in results)


def _typed_together(arguments: Sequence[Array], draft: Draft) -> list[Array]:
    """The arguments; floats of open type take the type of the typed floats among them."""
    typed = [a.kind for a in arguments if isinstance(a.kind, str) and not (is_int(a.kind) or a.kind == "bool")]

    def one(array: Array) -> Array:
        if isinstance(array.kind, str) or is_int(array.kind):
            return array
        dtype = dtype_of_kind(joined_kind((array.kind, *typed)))
        return of_kind(array, dtype) if draft.wide or dtype != dtype_of_kind(array.kind) else array

    return list(map(one, arguments))


def _frame(arguments: Sequence[Array], draft: Draft) -> tuple[IndexVar, ...]:
    """The indices of the statement that the arguments depend on."""
    used: dict[IndexVar, None] = {}
    for argument in arguments:
        if argument.free:
            with draft.statement(inside=True):
                inner = tuple(Affine.of(draft.fresh("_", 0, extent)) for extent in draft.numbers(argument.shape))
                if any(extent == 0 for extent in draft.numbers(argument.shape)):
                    continue
                value = settled(element(argument, inner, draft))
            own = {index for place in inner for index in place.variables}
            used.update(dict.fromkeys(sorted(ir.free_indices(value) - own, key=str)))
    return tuple(used)


def _apply(
    name: str,
    arguments: Sequence[Array],
    found: Sequence[tuple[tuple[int, ...], str]],
    frame: tuple[IndexVar, ...],
    span: Span,
    draft: Draft,
) -> tuple[ir.Tensor, ...]:
    lead = tuple(Size.of(draft.ranges[index][1] - draft.ranges[index][0]) for index in frame)
    tensors: list[ir.Tensor] = []
    varying: list[bool] = []
    for argument in arguments:
        varies = bool(frame) and bool(argument.free)
        whole = _spread(argument, frame, lead, draft) if varies else argument
        tensor = stored(whole, draft).tensor
        assert tensor is not None
        tensors.append(tensor)
        varying.append(varies)
    targets = tuple(
        draft.tensor(draft.unused(name), dtype, (*lead, *map(Size.of, shape)), declared=False, span=span)
        for shape, dtype in found
    )
    # It is unknown here which cells were read, so all cells of a frame are computed.
    draft.statements.append(
        ir.ApplyForeign(targets, name, tuple(tensors), len(frame), tuple(varying) if frame else (), span=span)
    )
    return targets


def _spread(argument: Array, frame: tuple[IndexVar, ...], lead: tuple[Size, ...], draft: Draft) -> Array:
    """The cells of an argument for all indices of the statement that they depend on."""
    outside = [draft.ranges[index] for index in frame]
    count = len(frame)

    def read(place: Place) -> Value:
        moved = {index: p + lo for index, p, (lo, _) in zip(frame, place, outside, strict=False)}
        for index, (lo, hi) in zip(frame, outside, strict=True):
            draft.adopt(index, lo, hi)
        return _substituted(settled(element(argument, place[count:], draft)), moved)

    return Array(argument.kind, (*lead, *argument.shape), read, names=tuple(index.name for index in frame))


def _substituted(value: ir.Expr, moved: dict[IndexVar, Affine]) -> ir.Expr:
    """The expression with some indices replaced."""

    def visit(node: ir.Expr) -> ir.Expr:
        match node:
            case ir.Index(index) if index in moved:
                return ir.integer(moved[index])
            case ir.Access(_, indices):
                return replace(node, indices=tuple(map(affine, indices)))
            case ir.Reduce(ranges=ranges):
                rebuilt = ir.rebuild(node, visit)
                assert isinstance(rebuilt, ir.Reduce)
                return replace(rebuilt, ranges=tuple(replace(r, lo=affine(r.lo), hi=affine(r.hi)) for r in ranges))
            case _:
                return ir.rebuild(node, visit)

    def affine(index: Affine) -> Affine:
        return index.rewrite(
            lambda atom: (
                moved[atom]
                if isinstance(atom, IndexVar) and atom in moved
                else ir.Data(visit(atom.expr))
                if isinstance(atom, ir.Data)
                else atom
            )
        )

    return visit(value)
