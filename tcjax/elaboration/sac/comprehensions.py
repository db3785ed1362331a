"""Comprehensions: partitions with their bounds, cells and layouts, combined so that the first one wins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...symbolic import Affine, IndexVar, Size
from ...syntax.sac import tree
from .. import operators
from ..literals import Value
from .arrays import Array, Kind, Piece, Place, agreed_kind, conformed, show_kind
from .bounds import Result, grids
from .boxes import Grid, boxes_of, effective, is_empty
from .draft import Draft
from .evidence import Evaluate
from .reading import element, whole, zero
from .scope import Scope, free_indices


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A partition after inference.

    `axes` gives for each axis of the result the component of the index, or (negative, from -1) the axis of the cell.
    `cell` is the body at an index.
    """

    node: tree.Partition
    grids: tuple[Grid, ...]
    axes: tuple[int, ...]
    kind: Kind
    shape: tuple[Size, ...]
    cell: Callable[[Place], Array]

    def read(self, place: Place, draft: Draft) -> Value:
        """The element of the result at a position."""
        frame: dict[int, Affine] = {}
        inner: dict[int, Affine] = {}
        for axis, where in zip(self.axes, place, strict=True):
            if axis >= 0:
                frame[axis] = where
            else:
                inner[-1 - axis] = where
        cell = self.cell(tuple(frame[number] for number in range(len(frame))))
        return element(cell, tuple(inner[number] for number in range(len(inner))), draft, self.node.body.span)

    def spread(self, extents: tuple[Size, ...]) -> tuple[Grid, ...]:
        """Its index set, in axes of the result."""
        return tuple(
            self.grids[axis] if axis >= 0 else Grid(Size.of(0), extent)
            for axis, extent in zip(self.axes, extents, strict=True)
        )


def comprehension(node: tree.Comprehension, scope: Scope, evaluate: Evaluate) -> Array:
    """The array of a comprehension: infers bounds, cells and layouts of its partitions, then combines them.

    Raises `CompileError`, with any code of the notation.
    """
    draft = scope.draft
    last = node.partitions[-1]
    decided = _part(last, scope, evaluate, None)
    shape = decided.shape
    for extent in draft.numbers(shape):
        if extent < 0:
            raise CompileError(
                Code.NEGATIVE_EXTENT,
                f"the last partition gives the result the shape {list(draft.numbers(shape))}",
                last.span,
                help="an upper bound must not be negative: is the array smaller than the comprehension expects?",
            )
    kind = decided.kind
    parts: list[Part] = []
    for partition in node.partitions[:-1]:
        part = _part(partition, scope, evaluate, (decided, shape))
        agreed = agreed_kind(kind, part.kind)
        if agreed is None:
            raise CompileError(
                Code.WRONG_TYPE,
                f"this partition gives {show_kind(part.kind)}, the last one {show_kind(kind)}",
                partition.body.span,
                help="all partitions of a comprehension have one element type: write `0.0` where a float is meant, or "
                "convert with `toi`, `tof`, `tod`",
            )
        kind = agreed
        parts.append(part)
    parts.append(decided)
    sets = [part.spread(shape) for part in parts]
    for part, where in zip(parts, sets, strict=True):
        _check_inside(part, where, shape, draft)
    return _assembled(parts, sets, shape, kind, free_indices(node, scope), draft)


def _assembled(
    parts: Sequence[Part],
    sets: Sequence[tuple[Grid, ...]],
    shape: tuple[Size, ...],
    kind: Kind,
    free: frozenset[IndexVar],
    draft: Draft,
) -> Array:
    reads = [_reader(part, kind, draft) for part in parts]
    names = _names(parts[-1])
    only = parts[0]
    if len(parts) == 1 and _is_whole(sets[0], shape, draft):
        return Array(kind, shape, reads[0], free, names=names)

    def pieces() -> tuple[Piece, ...]:
        found: list[Piece] = []
        for number, read in enumerate(reads):
            boxes = effective(sets[number], sets[:number], draft)
            if boxes is None:
                return (Piece(whole(shape), by_cases),)
            found += [Piece(box, read) for box in boxes]
        return tuple(found)

    def layers() -> tuple[tuple[Piece, ...], ...]:
        found: list[tuple[Piece, ...]] = []
        for number, (where, read) in enumerate(zip(sets, reads, strict=True)):
            if effective(where, sets[:number], draft) == []:
                continue
            boxes = boxes_of(where, draft)
            if boxes is None:
                return ()
            found.append(tuple(Piece(box, read) for box in boxes))
        return tuple(reversed(found))

    def by_cases(place: Place) -> Value:
        result = zero(kind)
        for where, read in zip(reversed(sets), reversed(reads), strict=True):
            test = _contains(where, place, draft)
            if test is True:
                result = read(place)
            elif test is not False:
                result = operators.conditional(test, read(place), result, only.node.span)
        return result

    covered = len(parts) == 1 or _is_whole(sets[-1], shape, draft)
    return Array(kind, shape, by_cases, free, pieces=pieces, layers=layers if covered else None, names=names)


def _reader(part: Part, kind: Kind, draft: Draft) -> Callable[[Place], Value]:
    return lambda place: conformed(part.read(place, draft), kind)


def _names(part: Part) -> tuple[str | None, ...]:
    """The names of the axes' indices, from the last partition."""
    index = part.node.index
    if isinstance(index, tree.IndexPattern):
        return tuple(index.names[axis] if axis >= 0 else None for axis in part.axes)
    return tuple(f"{index.name}{axis}" if axis >= 0 else None for axis in part.axes)


def _is_whole(where: tuple[Grid, ...], shape: tuple[Size, ...], draft: Draft) -> bool:
    return all(
        grid.step == 1 and draft.number(grid.lo) <= 0 and draft.number(grid.hi) >= draft.number(extent)
        for grid, extent in zip(where, shape, strict=True)
    )


def _contains(where: tuple[Grid, ...], place: Place, draft: Draft) -> "ir.Expr | bool":
    """Whether a position is in an index set."""
    tests: list[ir.Expr] = []
    for grid, index in zip(where, place, strict=True):
        value = ir.integer(index)
        tests.append(ir.Binary(">=", value, ir.integer(Affine.of(grid.lo)), "bool"))
        tests.append(ir.Binary("<", value, ir.integer(Affine.of(grid.hi)), "bool"))
        if grid.step != 1:
            phase = ir.integer((index - draft.number(grid.lo)).remainder(grid.step))
            tests.append(ir.Binary("<", phase, ir.Const(grid.width, "int32"), "bool"))
    return ir.conjunction(tests) or True


def _check_inside(part: Part, where: tuple[Grid, ...], shape: tuple[Size, ...], draft: Draft) -> None:
    if is_empty(part.grids, draft):
        return
    for grid, extent in zip(where, shape, strict=True):
        lo, hi, end = draft.number(grid.lo), draft.number(grid.hi), draft.number(extent)
        if lo < 0 or hi > end:
            raise CompileError(
                Code.OUTSIDE_RESULT,
                f"this partition runs over {lo} <= index < {hi}, but the last partition gives the result "
                f"the shape {list(draft.numbers(shape))}",
                part.node.span,
                help="put the partition with the largest upper bound last, or cut this one with a generator",
            )


# ---------------------------------------------------------------- one partition


def _part(
    node: tree.Partition, scope: Scope, evaluate: Evaluate, decided: tuple[Part, tuple[Size, ...]] | None
) -> Part:
    """A partition: the last one if `decided` is None, else an earlier one, given the last one and the shape of the
    result.
    """
    draft = scope.draft
    memory: dict[tuple[int, Place], Array] = {}

    def cell(place: Place) -> Array:
        key = (draft.number_of_statement, place)
        if key not in memory:
            with draft.instance():
                memory[key] = evaluate(node.body, scope.at(node.index, place))
        return memory[key]

    index = node.index
    if decided is None:
        found = grids(node, scope, evaluate, None)
        example = _example(node, len(found), cell, draft)
        axes = _layout(index, len(found), example.rank, node.span)
        shape = tuple(found[axis].hi if axis >= 0 else example.shape[-1 - axis] for axis in axes)
        return Part(node, found, axes, example.kind, shape, cell)
    last, result = decided
    frame = sum(axis >= 0 for axis in last.axes)
    if isinstance(index, tree.IndexPattern):
        count = len(index.names)
        example = _example(node, count, cell, draft)
        axes = _layout(index, count, example.rank, node.span)
        _check_layout(node, axes, example, result, draft)
        extents = tuple(result[axes.index(number)] for number in range(count))
        found = grids(node, scope, evaluate, Result(frame, extents))
        _check_length(node, count, frame, draft)
    else:
        found = grids(node, scope, evaluate, Result(frame, result))
        example = _example(node, len(found), cell, draft)
        # What is wrong in the body comes first, whatever its index.
        _check_length(node, len(found), frame, draft)
        axes = _layout(index, len(found), example.rank, node.span)
        _check_layout(node, axes, example, result, draft)
    return Part(node, found, axes, example.kind, example.shape, cell)


def _example(node: tree.Partition, count: int, cell: Callable[[Place], Array], draft: Draft) -> Array:
    """The body at an unknown index: its shape is that of every cell."""
    index = node.index
    names = index.names if isinstance(index, tree.IndexPattern) else (index.name,) * count
    return cell(tuple(Affine.of(draft.abstract(name)) for name in names))


def _layout(index: tree.IndexVector | tree.IndexPattern, count: int, rank: int, span: Span) -> tuple[int, ...]:
    """For each axis of the result, the component of the index or (negative) the axis of the cell."""
    if isinstance(index, tree.IndexVector):
        return (*range(count), *(-1 - axis for axis in range(rank)))
    dots = [element for element in index.elements if isinstance(element, tree.Dot)]
    single, many = sum(not dot.many for dot in dots), any(dot.many for dot in dots)
    if rank < single:
        raise CompileError(
            Code.TOO_MANY_DOTS,
            f"the pattern has {single} dots, but the cells have {rank} {'axis' if rank == 1 else 'axes'}",
            span,
            help="a dot stands for an axis of the cell: write one for each, or `...` for all of them",
        )
    axes: list[int] = []
    component = axis = 0
    for element_ in index.elements:
        if isinstance(element_, str):
            axes.append(component)
            component += 1
        elif element_.many:
            for _ in range(rank - single):
                axes.append(-1 - axis)
                axis += 1
        else:
            axes.append(-1 - axis)
            axis += 1
    if not many:
        axes += [-1 - number for number in range(axis, rank)]
    return tuple(axes)


def _check_layout(
    node: tree.Partition, axes: tuple[int, ...], example: Array, result: tuple[Size, ...], draft: Draft
) -> None:
    fits = len(axes) == len(result) and all(
        axis >= 0 or draft.number(example.shape[-1 - axis]) == draft.number(extent)
        for axis, extent in zip(axes, result, strict=True)
    )
    if not fits:
        raise CompileError(
            Code.UNEQUAL_CELLS,
            f"the cells of this partition have the shape {list(draft.numbers(example.shape))}, which does not fit the "
            f"result of shape {list(draft.numbers(result))} that the last partition gives",
            node.body.span,
            help="all partitions of a comprehension build one array: give their bodies cells of one shape",
        )


def _check_length(node: tree.Partition, own: int, frame: int, draft: Draft) -> None:
    if draft.strict and own != frame:
        raise CompileError(
            Code.BOUND_LENGTH,
            f"the index of this partition has length {own}, that of the last partition {frame}",
            node.span,
            help="with strict=True all partitions have indices of one length; leave the option out to mix them",
        )
