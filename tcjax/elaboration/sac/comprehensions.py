"""Comprehensions: partitions with their bounds, cells and layouts, assembled so that the first one wins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ... import ir
from ...diagnostics import Code, CompileError, Span
from ...symbolic import Affine, Clamp, IndexVar, Size
from ...syntax.sac import tree
from .. import operators
from ..literals import Value, settled
from ..subscripts import affine
from .arrays import Array, Kind, Piece, Place, Points, Ragged, agreed_kind, conformed, show_kind
from .bounds import Evaluate, Result, generator_parts, grids, mentions, observed
from .boxes import Grid, boxes_of, effective, is_empty
from .draft import Draft
from .reading import element, whole, zero
from .scope import Scope


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A partition with everything inferred.

    `axes` says of each axis of the result which component of the index it is, or (negative, from -1) which axis of the
    cell. `cell` is the body at an index.
    """

    node: tree.Partition
    grids: tuple[Grid, ...]
    axes: tuple[int, ...]
    kind: Kind
    shape: tuple[Size, ...]
    cell: Callable[[Place], Array]

    def read(self, place: Place, draft: Draft) -> Value:
        """The element of the result at a place."""
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
        """Where it applies, in axes of the result."""
        return tuple(
            self.grids[axis] if axis >= 0 else Grid(Size.of(0), extent)
            for axis, extent in zip(self.axes, extents, strict=True)
        )


def comprehension(node: tree.Comprehension, scope: Scope, evaluate: Evaluate) -> Array:
    """The array of a comprehension: bounds, cells and layouts of its partitions, then the assembly.

    Raises `CompileError` of every kind that the notation has.
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
    return _assembled(parts, sets, shape, kind, _free(node, scope), draft)


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
    """What the indices of the axes are called, by the last partition."""
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
    """Whether a place is in an index set."""
    tests: list[ir.Expr] = []
    for grid, index in zip(where, place, strict=True):
        value = ir.integer(index)
        tests.append(ir.Binary(">=", value, ir.integer(Affine.of(grid.lo)), "bool"))
        tests.append(ir.Binary("<", value, ir.integer(Affine.of(grid.hi)), "bool"))
        if grid.step != 1:
            phase = ir.integer((index - draft.number(grid.lo)).remainder(grid.step))
            tests.append(ir.Binary("<", phase, ir.Const(grid.width, "int32"), "bool"))
    return _all_of(tests) or True


def _all_of(tests: Sequence[ir.Expr]) -> ir.Expr | None:
    joined: ir.Expr | None = None
    for test in tests:
        joined = test if joined is None else ir.Binary("&&", joined, test, "bool")
    return joined


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
    """A partition; the last one where nothing is `decided`, else the last one and the shape of the result."""
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
    else:
        found = grids(node, scope, evaluate, Result(frame, result))
        if len(found) != frame and draft.strict:
            raise _unlike(node, len(found), frame)
        example = _example(node, len(found), cell, draft)
        axes = _layout(index, len(found), example.rank, node.span)
        _check_layout(node, axes, example, result, draft)
    if draft.strict and len(found) != frame:
        raise _unlike(node, len(found), frame)
    return Part(node, found, axes, example.kind, example.shape, cell)


def _example(node: tree.Partition, count: int, cell: Callable[[Place], Array], draft: Draft) -> Array:
    """The body at an index of which nothing is known: its shape is that of every cell."""
    index = node.index
    names = index.names if isinstance(index, tree.IndexPattern) else (index.name,) * count
    return cell(tuple(Affine.of(draft.abstract(name)) for name in names))


def _layout(index: tree.IndexVector | tree.IndexPattern, count: int, rank: int, span: Span) -> tuple[int, ...]:
    """For each axis of the result the component of the index, or (negative) the axis of the cell."""
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


def _unlike(node: tree.Partition, own: int, frame: int) -> CompileError:
    return CompileError(
        Code.BOUND_LENGTH,
        f"the index of this partition has length {own}, that of the last partition {frame}",
        node.span,
        help="with strict=True all partitions have indices of one length; leave the option out to mix them",
    )


def _free(node: tree.Comprehension, scope: Scope) -> frozenset[IndexVar]:
    """The indices around a comprehension on which its elements depend."""
    return frozenset().union(
        *(
            value.free
            for name, value in scope.names.items()
            if value is not None and value.free and mentions(node, frozenset((name,)))
        )
    )


# ---------------------------------------------------------------- ragged comprehensions


def ragged(node: tree.Comprehension, scope: Scope, evaluate: Evaluate) -> Ragged:
    """A comprehension whose bounds depend on indices around it, for a fold.

    Raises `CompileError` where its cells are not scalars, or where nothing bounds it from outside.
    """
    draft = scope.draft
    last = node.partitions[-1]
    names = _component_names(last, scope, evaluate)
    example = evaluate(last.body, scope.at(last.index, [Affine.of(draft.abstract(name)) for name in names]))
    kind = example.kind
    for partition in node.partitions[:-1]:
        own = _component_names(partition, scope, evaluate)
        other = evaluate(partition.body, scope.at(partition.index, [Affine.of(draft.abstract(n)) for n in own]))
        agreed = agreed_kind(kind, other.kind)
        if agreed is None or len(own) != len(names) or other.rank:
            raise CompileError(
                Code.UNEQUAL_CELLS,
                "the partitions of a ragged comprehension have scalars of one type as cells",
                partition.span,
                help="write one partition, and choose between its values with `? :`",
            )
        kind = agreed
    if example.rank:
        raise CompileError(
            Code.SHAPE_NEEDS_INDEX,
            "an index decides how far this comprehension runs, so its cells must be scalars",
            last.span,
            help="name the axes of the cells too: `sum({ [j,k] -> a[j,k] | [j,k] <= [i,n] })`",
        )
    return Ragged(
        kind, _free(node, scope), lambda all_of_them: _points(node, names, kind, all_of_them, scope, evaluate)
    )


def _points(
    node: tree.Comprehension, names: tuple[str, ...], kind: Kind, all_of_them: bool, scope: Scope, evaluate: Evaluate
) -> Points:
    draft = scope.draft
    last = node.partitions[-1]
    lows, highs = _moving(last, names, scope, evaluate, None)
    several = len(node.partitions) > 1
    steps = _moving_steps(last, names, scope, evaluate)
    stepped = any(step != 1 for step, _ in steps)
    below_counts = all_of_them or several
    starts = [Affine.of(0)] * len(names) if below_counts else lows
    limits = _static_limits(last, names, scope, evaluate)
    indices, ranges, guards, empty = [], [], [], False
    for number, name in enumerate(names):
        lo, hi = starts[number], highs[number]
        limit = _smaller(limits[number], _end(hi, draft))
        if hi.is_data or lo.is_data:
            if limit is None and hi.is_data:
                raise CompileError(
                    Code.NO_UPPER_BOUND,
                    f"data decides how far `{name}` runs, and no selection bounds it",
                    last.span,
                    help=f"select by it, `a[{name}]`, or bound it by a size: `| [{name}] < [min(n, len[i])]`",
                )
            index = draft.fresh(name, 0, limit or 0)
            if hi.is_data:
                guards.append(ir.Binary("<", ir.Index(index), ir.integer(hi), "bool"))
                hi = Affine.of(limit or 0)
            if lo.is_data:
                guards.append(ir.Binary("<=", ir.integer(lo), ir.Index(index), "bool"))
                lo = Affine.of(0)
            draft.ranges[index] = (0, _highest(hi, draft))
        else:
            index = draft.fresh(name, _lowest(lo, draft), max(_lowest(lo, draft), _highest(hi, draft)))
        if _highest(hi, draft) <= _lowest(lo, draft):
            empty = True
            lo = hi = Affine.of(0)
            draft.ranges[index] = (0, 0)
        indices.append(index)
        ranges.append(ir.Range(index, lo, hi))
    if empty:
        return Points(tuple(indices), tuple(ranges), None, zero(kind))
    place = tuple(map(Affine.of, indices))
    value: Value = zero(kind)
    for partition in reversed(node.partitions):
        found = conformed(element(evaluate(partition.body, scope.at(partition.index, place)), (), draft), kind)
        if partition is last and not below_counts and not stepped:
            value = found
            continue
        own_lows, own_highs = (lows, highs) if partition is last else _moving(partition, names, scope, evaluate, highs)
        tests = [
            test
            for where, lo, hi, (step, width) in zip(
                place, own_lows, own_highs, _moving_steps(partition, names, scope, evaluate), strict=True
            )
            for test in _moving_tests(where, lo, hi, step, width, partition is last)
        ]
        condition = _all_of(tests)
        value = found if condition is None else operators.conditional(condition, found, value, partition.span)
    return Points(tuple(indices), tuple(ranges), _all_of(guards), value)


def _moving_tests(where: Affine, lo: Affine, hi: Affine, step: int, width: int, is_last: bool) -> list[ir.Expr]:
    tests: list[ir.Expr] = []
    if lo.constant != 0:
        tests.append(ir.Binary("<=", ir.integer(lo), ir.integer(where), "bool"))
    if not is_last:
        tests.append(ir.Binary("<", ir.integer(where), ir.integer(hi), "bool"))
    if step != 1:
        phase = ir.integer((where - lo).remainder(step))
        tests.append(ir.Binary("<", phase, ir.Const(width, "int32"), "bool"))
    return tests


def _moving(
    partition: tree.Partition, names: tuple[str, ...], scope: Scope, evaluate: Evaluate, result: list[Affine] | None
) -> tuple[list[Affine], list[Affine]]:
    """The bounds of a partition, which may depend on indices around it."""
    generator = partition.generator or tree.Generator(None, None)
    lower, upper = generator.lower, generator.upper
    lows = [Affine.of(0)] * len(names)
    if lower is not None:
        if not isinstance(lower.value, tree.Dot):
            lows = _affine_vector(lower.value, len(names), scope, evaluate)
        lows = [lo + (1 if lower.strict else 0) for lo in lows]
    if upper is not None and not isinstance(upper.value, tree.Dot):
        highs = _affine_vector(upper.value, len(names), scope, evaluate)
        return lows, [hi + (0 if upper.strict else 1) for hi in highs]
    if upper is not None and result is not None:
        return lows, [hi - (1 if upper.strict else 0) for hi in result]
    limits = _static_limits(partition, names, scope, evaluate)
    if all(limit is not None for limit in limits):
        return lows, [Affine.of(limit) for limit in limits if limit is not None]
    if result is not None:
        return lows, list(result)
    grids(partition, scope, evaluate, None)
    raise AssertionError("without an upper bound `grids` raises")


def _affine_vector(node: tree.Expr, count: int, scope: Scope, evaluate: Evaluate) -> list[Affine]:
    from .elementwise import part
    from .statics import require_int

    draft = scope.draft
    array = evaluate(node, scope)
    require_int(array, "a bound", node.span)
    if array.rank != 1 or draft.number(array.shape[0]) != count:
        raise CompileError(
            Code.BOUND_LENGTH,
            f"this bound must be a vector of {count}",
            node.span,
            help="write one component for each index",
        )
    return [affine(settled(element(part(array, number, draft), (), draft))) for number in range(count)]


def _moving_steps(
    partition: tree.Partition, names: tuple[str, ...], scope: Scope, evaluate: Evaluate
) -> list[tuple[int, int]]:
    from .statics import static_vector

    generator = partition.generator
    if generator is None or generator.step is None:
        return [(1, 1)] * len(names)
    draft = scope.draft
    steps = static_vector(evaluate(generator.step, scope), "the step", generator.step.span, draft)
    widths = (
        (Size.of(1),) * len(names)
        if generator.width is None
        else static_vector(evaluate(generator.width, scope), "the width", generator.width.span, draft)
    )
    found = list(zip(draft.numbers(steps), draft.numbers(widths), strict=False))
    if len(steps) != len(names) or len(widths) != len(names) or any(not 1 <= w <= s for s, w in found):
        raise CompileError(
            Code.BAD_STEP,
            f"the steps {list(draft.numbers(steps))} name no regular set of indices",
            generator.step.span,
            help="steps are at least 1, and widths from 1 to the step, one for each index",
        )
    return found


def _static_limits(
    partition: tree.Partition, names: tuple[str, ...], scope: Scope, evaluate: Evaluate
) -> list[int | None]:
    """What selections show of the bounds, for each component."""
    found = observed(partition, scope, evaluate)
    draft = scope.draft
    if isinstance(partition.index, tree.IndexPattern):
        return [draft.number(found.scalars[name]) if name in found.scalars else None for name in names]
    if found.vector is None or len(found.vector) < len(names):
        return [None] * len(names)
    return [draft.number(size) for size in found.vector[: len(names)]]


def _component_names(partition: tree.Partition, scope: Scope, evaluate: Evaluate) -> tuple[str, ...]:
    index = partition.index
    if isinstance(index, tree.IndexPattern):
        if any(isinstance(part, tree.Dot) for part in index.elements):
            raise CompileError(
                Code.SHAPE_NEEDS_INDEX,
                "an index decides how far this comprehension runs, so its pattern cannot have dots",
                partition.span,
                help="name the axes of the cells too",
            )
        return index.names
    for node in generator_parts(partition):
        array = evaluate(node, scope)
        if array.rank == 1:
            return tuple(f"{index.name}{number}" for number in range(scope.draft.number(array.shape[0])))
    found = observed(partition, scope, evaluate)
    return tuple(f"{index.name}{number}" for number in range(len(found.vector or ())))


def _end(bound: Affine, draft: Draft) -> int | None:
    """What a bound that data decides does not exceed: one of ``min(n, a[i])`` is enough."""
    match bound.terms:
        case ((Clamp("min", arguments), weight),) if weight.constant == 1:
            known = [found[1] for argument in arguments if (found := _values(argument, draft)) is not None]
            return min(known) + draft.number(bound.base) if known else None
        case _:
            return None


def _values(argument: Affine, draft: Draft) -> tuple[int, int] | None:
    here = draft.number(argument.base) if not argument.terms else 0
    return draft.interval(argument) if argument.terms else (here, here)


def _smaller(first: int | None, second: int | None) -> int | None:
    known = [number for number in (first, second) if number is not None]
    return max(0, min(known)) if known else None


def _lowest(value: Affine, draft: Draft) -> int:
    return _hull(value, draft)[0]


def _highest(value: Affine, draft: Draft) -> int:
    return _hull(value, draft)[1]


def _hull(value: Affine, draft: Draft) -> tuple[int, int]:
    """The smallest and largest value of a bound; 0 where the indices around it have no values."""
    found = draft.interval(value)
    if found is None:
        here = 0 if value.terms else draft.number(value.base)
        return here, here
    return found
