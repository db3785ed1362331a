"""Splits a program with loops into runs of statements, and a loop into the program of one step.

In a step the loop's index has a single value. A read at fixed distances from it becomes a parameter with that part of
the tensor; a row written by an earlier step becomes that row; elsewhere the value of the index is data.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise, product
from typing import Final, TypeGuard

from .. import ir, ranges
from ..ir import Reducer
from ..symbolic import Affine, Box, Facts, IndexVar, Size
from ..symbolic.affine import Atom
from .decisions import decide_alone
from .definitions import as_define
from .guards import guard_ranges
from .specialize import specialize
from .substitution import reading, substitute_expr

Comprehension = ir.Define | ir.Accumulate

# The maximum number of earlier rows passed on for one reduction index; with more, the whole tensor is read.
MOST_LAGS: Final = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of a program's statements, as a program, with its loop if there is one.

    `arguments` are the tensors that it needs, in the order of the parameters if there is no loop; `results` are those
    needed afterwards.
    """

    bound: ranges.Bound
    loop: ir.Loop | None
    arguments: tuple[ir.Tensor, ...]
    results: tuple[ir.Tensor, ...]


def segments(bound: ranges.Bound) -> tuple[Segment, ...]:
    """The outermost loops of a program, and the runs between them."""
    function = bound.function
    outer = [loop for loop in function.loops if len(function.around(loop.first)) == 1 or _is_outermost(loop, function)]
    ends = sorted({0, len(function.statements), *(end for loop in outer for end in (loop.first, loop.last))})
    begun = {loop.first: loop for loop in outer}
    defined = {tensor.name for tensor in function.parameters}
    found: list[Segment] = []
    for first, last in pairwise(ends):
        run = function.statements[first:last]
        loop = begun.get(first)
        if loop is None:
            found.append(_plain(bound, first, last, _results(function, first, last), defined))
        else:
            found.append(loop_segment(bound, loop, defined))
        defined |= {t.name for statement in run for t in ir.targets(statement)}
    return tuple(found)


def loop_segment(bound: ranges.Bound, loop: ir.Loop, defined: Collection[str]) -> Segment:
    """An outermost loop, with the tensors of these names `defined` before it."""
    run = bound.function.statements[loop.first : loop.last]
    needed = {t.name: t for tensors in (ir.tensors_read, ir.targets) for statement in run for t in tensors(statement)}
    arguments = tuple(tensor for name, tensor in needed.items() if name in defined)
    return Segment(bound, loop, arguments, _results(bound.function, loop.first, loop.last))


def _results(function: ir.Function, first: int, last: int) -> tuple[ir.Tensor, ...]:
    """The tensors written by a run of statements and needed afterwards."""
    written = {t.name: t for statement in function.statements[first:last] for t in ir.targets(statement)}
    behind = {name for statement in function.statements[last:] for name in _needed(statement)}
    behind |= {tensor.name for tensor in function.returns}
    return tuple(tensor for name, tensor in written.items() if name in behind)


def as_program(segment: Segment) -> ir.Function | None:
    """A loop as a program with numbers for sizes, whose parameters are its arguments in order; None if it is not one.

    A tensor that it updates is a parameter with another name.
    """
    bound, loop = segment.bound, segment.loop
    assert loop is not None
    function, numbers = bound.function, range(loop.first, loop.last)
    run = [
        _told(specialize(statement, bound.sizes), bound.boxes[n])
        for n in numbers
        if _is_formula(statement := function.statements[n])
    ]
    tensors = {t.name: t for statement in run for t in (*ir.tensors_read(statement), *ir.targets(statement))}
    if len(run) < len(numbers) or any(any(bound.origins[name]) for name in tensors):
        return None
    sized = {name: replace(t, shape=tuple(map(Size.of, bound.shapes[name]))) for name, t in tensors.items()}
    written = {target.name for statement in run for target in ir.targets(statement)}
    old = {t.name: _before(sized[t.name]) for t in segment.arguments if t.name in written}
    before = []
    for name, tensor in old.items():
        copy, box = copied(sized[name], tensor, bound.shapes[name], bound.origins[name])
        given = tuple([ir.Range(index, Affine.of(lo), Affine.of(hi)) for index, (lo, hi) in box.items()])
        before.append(replace(copy, domain=ir.Domain(given)))
    shift = len(before) - loop.first
    return ir.Function(
        f"{function.name}_{loop.index}",
        tuple([old.get(tensor.name, sized[tensor.name]) for tensor in segment.arguments]),
        tuple([sized[tensor.name] for tensor in segment.results]),
        (*before, *(_with_tensors(statement, sized) for statement in run)),
        declared=tuple([sized[name] for name in sized if name in written]),
        loops=tuple(
            replace(inner, first=inner.first + shift, last=inner.last + shift)
            for inner in function.loops
            if loop.holds(inner.first)
        ),
        span=loop.span,
    )


def _told(statement: Comprehension, box: Box) -> Comprehension:
    """The statement with explicit ranges for its indices; ranges that depend on other indices are kept."""

    def expr(node: ir.Expr) -> ir.Expr:
        node = ir.rebuild(node, expr)
        return replace(node, ranges=ranged(node.ranges, node.indices)) if isinstance(node, ir.Reduce) else node

    def ranged(given: Sequence[ir.Range], indices: Iterable[IndexVar]) -> tuple[ir.Range, ...]:
        known = {range_.index for range_ in given}
        return (*given, *(ir.Range(i, *map(Affine.of, box[i])) for i in indices if i in box and i not in known))

    found = ir.rebuild_statement(statement, expr)
    reduced = found.reduction if isinstance(found, ir.Accumulate) else ()
    ranges = ranged(found.domain.ranges, (*ir.left_indices(found), *reduced))
    return replace(found, domain=replace(found.domain, ranges=ranges))


def _is_formula(statement: ir.Statement) -> TypeGuard[Comprehension]:
    return isinstance(statement, (ir.Define, ir.Accumulate))


def _with_tensors(statement: Comprehension, tensors: Mapping[str, ir.Tensor]) -> Comprehension:
    found = reading(statement, tensors)
    return replace(found, target=tensors[statement.target.name], domain=replace(found.domain, exists=()))


def _is_outermost(loop: ir.Loop, function: ir.Function) -> bool:
    return function.around(loop.first)[0] is loop


def _needed(statement: ir.Statement) -> list[str]:
    """The tensors whose elements a statement reads or keeps."""
    return [tensor.name for tensor in (*ir.tensors_read(statement), *ir.targets(statement))]


def _plain(
    bound: ranges.Bound, first: int, last: int, results: tuple[ir.Tensor, ...], defined: Iterable[str]
) -> Segment:
    """A run without loops: a tensor that it updates is copied first."""
    function = bound.function
    run, boxes = list(function.statements[first:last]), list(bound.boxes[first:last])
    written = {t.name: t for statement in run for t in ir.targets(statement)}
    read = {t.name: t for statement in run for t in ir.tensors_read(statement)}
    goes_on = [tensor for name, tensor in written.items() if name in defined]
    arguments = [tensor for name, tensor in read.items() if name in defined and name not in written]
    shapes, origins = dict(bound.shapes), dict(bound.origins)
    before: list[tuple[ir.Define, Box]] = []
    parameters = list(arguments)
    for tensor in goes_on:
        old = _before(tensor)
        before.append(copied(tensor, old, bound.shapes[tensor.name], bound.origins[tensor.name]))
        shapes[old.name], origins[old.name] = bound.shapes[tensor.name], bound.origins[tensor.name]
        parameters.append(old)
    statements = (*(statement for statement, _ in before), *run)
    inner = ir.Function(
        f"{function.name}_{first}", tuple(parameters), results, statements, declared=(), span=function.span
    )
    shift = len(before) - first
    calls = {number + shift: callee for number, callee in bound.calls.items() if first <= number < last}
    reasons = (*({} for _ in before), *bound.reasons[first:last])
    boxes = [*(box for _, box in before), *boxes]
    program = ranges.Bound(
        inner, bound.sizes, tuple(boxes), origins, shapes, calls, reasons, bound.assumptions, is_part=True
    )
    return Segment(program, None, (*arguments, *goes_on), results)


def written_rows(bound: ranges.Bound, name: str, dimension: int) -> tuple[int, int] | None:
    """The rows of a tensor along a dimension that the statements of a run write; None if they depend on data."""
    found: list[tuple[int, int]] = []
    for statement, box in zip(bound.function.statements, bound.boxes, strict=True):
        if isinstance(statement, (ir.Define, ir.Accumulate)) and statement.target.name == name:
            subscript = statement.indices[dimension].substitute_sizes(bound.sizes)
            ends = None if subscript.is_data else Facts.over(box).values(subscript, quickly=True)
            if ends is None or ends[1] < ends[0]:
                return None
            found.append((ends[0], ends[1] + 1))
        elif name in [tensor.name for tensor in ir.targets(statement)]:
            return None
    return (min(lo for lo, _ in found), max(hi for _, hi in found)) if found else None


def with_rows(segment: Segment, name: str, dimension: int, rows: tuple[int, int]) -> Segment:
    """The segment with only these rows of a tensor that it writes."""

    def put(given: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (*given[:dimension], value, *given[dimension + 1 :])

    bound = segment.bound
    shapes = {**bound.shapes, name: put(bound.shapes[name], rows[1] - rows[0])}
    origins = {**bound.origins, name: put(bound.origins[name], rows[0])}
    return replace(segment, bound=replace(bound, shapes=shapes, origins=origins))


def _before(tensor: ir.Tensor) -> ir.Tensor:
    """A tensor's content before it is updated, as a tensor."""
    return replace(tensor, name=f"{tensor.name}{ir.MARK}", source=ir.whole(tensor))


def copied(
    new: ir.Tensor, old: ir.Tensor, shape: Sequence[int], origin: Sequence[int]
) -> tuple[ir.Define, dict[IndexVar, tuple[int, int]]]:
    """``new(i, j) = old(i, j)`` for every element, and the ranges of the indices."""
    indices = ir.counters(len(shape))
    subscripts = tuple(map(Affine.of, indices))
    box = {index: (low, low + extent) for index, low, extent in zip(indices, origin, shape, strict=True)}
    return ir.Define(new, subscripts, ir.Access(old, subscripts)), box


def written_out(reducer: Reducer, terms: Sequence[ir.Expr], dtype: str) -> ir.Expr:
    """The reduction of these terms, as a balanced tree."""

    def joined(a: ir.Expr, b: ir.Expr) -> ir.Expr:
        if reducer.operator is not None:
            return ir.Binary(reducer.operator, a, b, dtype)
        assert reducer.joins is not None, reducer
        return ir.Call(reducer.joins, (a, b), dtype)

    return reduce(joined, terms) if terms else ir.Const(reducer.empty(dtype), dtype)


# ---------------------------------------------------------------- one step


@dataclass(frozen=True, slots=True)
class Taken:
    """A parameter of a step: a part of `tensor`, or (`kind`) a row of an earlier step, a state, the index's value.

    For a part, `begins` and `counts` give its range along each dimension; for a row, `lag` is the number of steps since
    it was written, 0 for values from before the step.
    """

    kind: str
    tensor: str = ""
    begins: tuple[tuple[int, int], ...] = ()
    counts: tuple[int | None, ...] = ()
    lag: int = 0

    @property
    def is_old(self) -> bool:
        """Whether it comes from an earlier step."""
        return self.kind == "state" or (self.kind == "row" and self.lag > 0)


@dataclass(frozen=True, slots=True)
class Row:
    """How a loop writes a tensor: `many` rows a step along a `dimension`, from ``t + offset`` on; or as a whole."""

    tensor: ir.Tensor
    dimension: int | None
    offset: int = 0
    order: int = 0
    many: int = 1


@dataclass(frozen=True, slots=True)
class OneStep:
    """A step of a loop as a program: its parameters are given by `taken`, its results are the `rows` in order.

    `ends` are those of the range of the loop's index. It may be `count` steps of the program as one.
    """

    bound: ranges.Bound
    taken: Mapping[str, Taken]
    rows: tuple[Row, ...]
    loop: ir.Loop
    ends: tuple[int, int]
    count: int = 1

    @property
    def values(self) -> range:
        """The values of the index in order."""
        return self.loop.values(*self.ends)


def one_step(segment: Segment) -> OneStep:
    """The program of one step of a segment's loop."""
    assert segment.loop is not None
    return _Stepper(segment.bound, segment.loop, {tensor.name for tensor in segment.results}).found()


class _Stepper:
    def __init__(self, bound: ranges.Bound, loop: ir.Loop, results: set[str]) -> None:
        self.bound, self.loop, self.results = bound, loop, results
        self.index = loop.index
        self.numbers = range(loop.first, loop.last)
        self.written = {t.name for n in self.numbers for t in ir.targets(bound.function.statements[n])}
        self.run = [self.plain(number) for number in self.numbers]
        self.boxes = [{i: ends for i, ends in bound.boxes[n].items() if i != loop.index} for n in self.numbers]
        self.box: Box = {}
        self.taken: dict[str, Taken] = {}
        self.tensors = {t.name: t for statement in self.run for t in ir.tensors_read(statement)}
        self.names: dict[Taken, ir.Tensor] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.origins: dict[str, tuple[int, ...]] = {}
        written = dict.fromkeys(statement.target for statement in self.run)
        self.rows = {tensor.name: self.row(tensor) for tensor in written}

    def plain(self, number: int) -> Comprehension:
        """A statement with numbers for sizes, and guards for ranges with varying ends."""
        statement = self.bound.function.statements[number]
        assert isinstance(statement, (ir.Define, ir.Accumulate)), "elaboration lets no calls into loops"
        plain = guard_ranges(specialize(statement, self.bound.sizes))
        return replace(plain, value=self.spread(plain.value, self.bound.boxes[number]))

    def spread(self, expr: ir.Expr, box: Box) -> ir.Expr:
        """The expression with reductions over lags (indices that select the earlier step to read) written out term by
        term.
        """
        expr = ir.rebuild(expr, lambda part: self.spread(part, box))
        if not isinstance(expr, ir.Reduce) or not isinstance(expr.reducer, Reducer) or expr.accumulate != expr.dtype:
            return expr
        reducer, dtype = expr.reducer, expr.dtype
        few = (i for i in expr.indices if self.is_lag(i, expr.body) and all(isinstance(end, int) for end in box[i]))
        lags = [i for i in few if 0 < box[i][1] - box[i][0] <= MOST_LAGS]
        if not lags or (reducer.operator is None and reducer.joins is None):
            return expr
        rest = tuple(index for index in expr.indices if index not in lags)
        terms: list[ir.Expr] = []
        for point in product(*(range(*box[index]) for index in lags)):
            values = {index: Affine.of(value) for index, value in zip(lags, point, strict=True)}
            guard = None if expr.guard is None else substitute_expr(expr.guard, values)
            guard, body = decide_alone(guard, substitute_expr(expr.body, values), box)
            if guard == ir.Const(False, "bool"):
                continue
            if rest:
                body = replace(expr, indices=rest, guard=guard, body=body)
            elif guard is not None:
                body = ir.Select(guard, body, ir.Const(reducer.empty(dtype), dtype), dtype)
            terms.append(body)
        return written_out(reducer, terms, dtype)

    def is_lag(self, index: IndexVar, body: ir.Expr) -> bool:
        """Whether an index is part of the distance between a loop's index and a read of a tensor that the loop writes.

        This loop or an inner one: an inner loop's steps get the facts about this one.
        """
        accesses = (node for node in ir.walk(body) if isinstance(node, ir.Access) and node.tensor.name in self.written)
        own = {o.index for o in self.bound.function.loops if self.loop.first <= o.first and o.last <= self.loop.last}
        return any(index in s.variables and own & s.variables for access in accesses for s in access.indices)

    # ---------------------------------------------------------------- what the loop writes

    def row(self, tensor: ir.Tensor) -> Row:
        """How the steps write a tensor."""
        lefts = [statement.indices for statement in self.run if statement.target.name == tensor.name]
        places = {
            (d, self.offset(subscript)) for left in lefts for d, subscript in enumerate(left) if self.moves(subscript)
        }
        if len(places) != 1 or not all(any(map(self.moves, left)) for left in lefts):
            return Row(tensor, None)
        [(dimension, offset)] = places
        if offset is None:
            return Row(tensor, None)
        order = 0
        for statement in self.run:
            for access in ir.accesses_of(statement):
                if access.tensor.name != tensor.name:
                    continue
                lag = self.lag(access, dimension, offset)
                if lag is None:
                    return Row(tensor, None)
                order = max(order, lag)
        return Row(tensor, dimension, offset, order)

    def moves(self, subscript: Affine) -> bool:
        return self.index in subscript.variables

    def offset(self, subscript: Affine) -> int | None:
        """The constant in ``t + constant``."""
        return (subscript - self.index).constant

    def lag(self, access: ir.Access, dimension: int, offset: int) -> int | None:
        """The number of steps since the row being read was written; None if it is not fixed."""
        if any(self.moves(index) for d, index in enumerate(access.indices) if d != dimension):
            return None
        own = self.offset(access.indices[dimension])
        if own is None or (offset - own) % self.loop.step:
            return None
        lag = (offset - own) // self.loop.step
        return lag if lag >= 0 else None

    # ---------------------------------------------------------------- the program of a step

    def found(self) -> OneStep:
        statements: list[ir.Statement] = []
        boxes: list[Box] = []
        inner: dict[str, ir.Tensor] = {}
        for row in self.rows.values():
            inner[row.tensor.name] = self.place(row)
        kept = [row for row in self.rows.values() if self.is_kept(row)]
        for row in self.rows.values():
            if not self.is_filled(row):
                kind = "row" if row.dimension is not None else "state"
                tensor = inner[row.tensor.name]
                old = self.parameter(
                    Taken(kind, row.tensor.name), tensor.dtype, self.shapes[tensor.name], self.origins[tensor.name]
                )
                copy, box = copied(tensor, old, self.shapes[tensor.name], self.origins[tensor.name])
                statements.append(copy)
                boxes.append(box)
        before = len(statements)
        for number, statement in enumerate(self.run):
            self.box = self.boxes[number]
            statements.append(self.statement(statement, inner, self.bound.function.statements[self.numbers[number]]))
            boxes.append(self.box)
        shift = before - self.loop.first
        function = self.bound.function
        loops = tuple(
            replace(loop, first=loop.first + shift, last=loop.last + shift)
            for loop in function.loops
            if loop is not self.loop
            and self.loop.first <= loop.first
            and loop.last <= self.loop.last
            and function.around(loop.first).index(loop) > function.around(loop.first).index(self.loop)
        )
        step = ir.Function(
            f"{function.name}_{self.index}",
            tuple(self.names.values()),
            tuple(inner[row.tensor.name] for row in kept),
            tuple(statements),
            loops=loops,
            span=self.loop.span,
        )
        reasons = (*({} for _ in range(before)), *(self.bound.reasons[n] for n in self.numbers))
        bound = ranges.Bound(
            step, {}, tuple(boxes), self.origins, self.shapes, {}, reasons, self.bound.assumptions, is_part=True
        )
        return OneStep(bound, self.taken, tuple(kept), self.loop, self.bound.boxes[self.loop.first][self.index])

    def place(self, row: Row) -> ir.Tensor:
        """The tensor of a step: a row of the loop's tensor, or all of it."""
        name, dimension = row.tensor.name, row.dimension
        shape, origin = self.bound.shapes[name], self.bound.origins[name]
        if dimension is not None:
            shape = (*shape[:dimension], *shape[dimension + 1 :])
            origin = (*origin[:dimension], *origin[dimension + 1 :])
        self.shapes[name], self.origins[name] = shape, origin
        sizes, source = tuple(map(Size.of, shape)), self.row_of(row, 0)
        return ir.Tensor(name, row.tensor.dtype, sizes, source, span=row.tensor.span)

    def row_of(self, row: Row, lag: int) -> ir.Source | None:
        """Where the row written `lag` steps before is in the loop's tensor."""
        if row.dimension is None:
            return None
        whole = ir.whole(row.tensor)
        place = Affine.of(self.index) + (row.offset - lag * self.loop.step)
        at = whole.indices[row.dimension]
        own = tuple(index for index in whole.indices if index != at)
        return ir.Source(row.tensor, own, tuple(place if each.bare == at else each for each in whole.subscripts))

    def is_kept(self, row: Row) -> bool:
        """Whether a later step, or the code after the loop, needs the result of a step."""
        if row.tensor.name in self.results or row.order:
            return True
        return not self.is_filled(row)

    def is_filled(self, row: Row) -> bool:
        """Whether a step first writes every element of a tensor that it may write, ignoring old values."""
        name = row.tensor.name
        for number, statement in zip(self.numbers, self.run, strict=True):
            reads = (access for access in ir.accesses_of(statement) if access.tensor.name == name)
            if any(row.dimension is None or not self.lag(access, row.dimension, row.offset) for access in reads):
                return False
            if statement.target.name == name:
                return self.fills(statement, row, self.bound.boxes[number]) and self.is_alone(number)
        return False

    def is_alone(self, number: int) -> bool:
        """Whether a statement is in none of the inner loops."""
        return self.bound.function.around(number)[-1] is self.loop

    def fills(self, statement: Comprehension, row: Row, box: Box) -> bool:
        """Whether a statement writes a whole row, or a whole tensor if it has no rows."""
        if isinstance(statement, ir.Define) and statement.domain.guard is not None:
            return False
        if isinstance(statement, ir.Accumulate) and not statement.restart:
            return False
        name, seen = row.tensor.name, set[IndexVar]()
        places = zip(statement.indices, self.bound.shapes[name], self.bound.origins[name], strict=True)
        for dimension, (subscript, extent, origin) in enumerate(places):
            if dimension == row.dimension:
                continue
            index = subscript.bare
            # The loop's own index has a single value in a step.
            if index in (None, self.index) or index in seen or box[index] != (origin, origin + extent):
                return False
            seen.add(index)
        return True

    def statement(self, statement: Comprehension, inner: Mapping[str, ir.Tensor], given: ir.Statement) -> Comprehension:
        assert isinstance(given, (ir.Define, ir.Accumulate))
        row = self.rows[statement.target.name]
        moves = any(self.moves(subscript) and not subscript.is_data for subscript in statement.indices)
        if isinstance(statement, ir.Accumulate) and statement.restart and row.dimension is None and moves:
            # In a step the loop's index is data: a subscript with it would reset a whole dimension to the identity.
            statement = as_define(self.gathered(statement), False)
        left = [self.affine(s) for d, s in enumerate(statement.indices) if d != row.dimension or not self.moves(s)]
        guard = statement.domain.guard
        around = given.domain.loops
        loops = tuple(index for index in around[around.index(self.index) + 1 :])
        domain = ir.Domain((), None if guard is None else self.expr(guard), (), loops)
        return replace(
            statement,
            target=inner[statement.target.name],
            indices=tuple(left),
            value=self.expr(statement.value),
            domain=domain,
        )

    def gathered(self, statement: ir.Accumulate) -> ir.Accumulate:
        """The statement with what each element receives, along dimensions where data names the elements."""
        name, guard = statement.target.name, statement.domain.guard
        subscripts = list(statement.indices)
        places = zip(self.bound.origins[name], self.bound.shapes[name], ir.counters(len(subscripts)), strict=True)
        for dimension, (origin, extent, counter) in enumerate(places):
            subscript = subscripts[dimension]
            if subscript.is_data:
                here = ir.Binary("==", ir.Index(counter), ir.integer(subscript), "bool")
                subscripts[dimension], guard = Affine.of(counter), ir.both(guard, here)
                self.box = {**self.box, counter: (origin, origin + extent)}
        left = frozenset[IndexVar]().union(*(subscript.variables for subscript in subscripts))
        gone = tuple(index for index in ir.left_indices(statement) if index not in left and index != self.index)
        reduction, domain = (*gone, *statement.reduction), replace(statement.domain, guard=guard)
        return replace(statement, indices=tuple(subscripts), reduction=reduction, domain=domain)

    # ---------------------------------------------------------------- what a step reads

    def expr(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Index(variable) if variable == self.index:
                return ir.Access(self.value(), (), span=expr.span)
            case ir.Access():
                return self.access(expr)
            case _:
                return ir.rebuild(expr, self.expr)

    def affine(self, affine: Affine) -> Affine:
        """The subscript with data in place of the loop's index, including in inner data."""
        return affine.rewrite(self.atom)

    def atom(self, atom: Atom) -> "Affine | Atom | ir.Data":
        if atom == self.index:
            return ir.Data(ir.Access(self.value(), ()))
        return ir.Data(self.expr(atom.expr)) if isinstance(atom, ir.Data) else atom

    def value(self) -> ir.Tensor:
        return self.parameter(Taken("value"), "int32", (), ())

    def access(self, access: ir.Access) -> ir.Expr:
        row = self.rows.get(access.tensor.name)
        if row is None:
            return self.window(access)
        sizes = tuple(map(Size.of, self.shapes[access.tensor.name]))
        tensor = ir.Tensor(access.tensor.name, access.tensor.dtype, sizes, self.row_of(row, 0))
        if row.dimension is None:
            return replace(access, tensor=tensor, indices=tuple(map(self.affine, access.indices)))
        lag = self.lag(access, row.dimension, row.offset)
        assert lag is not None, access
        rest = tuple(self.affine(s) for d, s in enumerate(access.indices) if d != row.dimension)
        if lag:
            shape, origin = self.shapes[tensor.name], self.origins[tensor.name]
            tensor = self.parameter(Taken("row", tensor.name, lag=lag), tensor.dtype, shape, origin)
        return replace(access, tensor=tensor, indices=rest)

    def window(self, access: ir.Access) -> ir.Expr:
        """A read of a tensor that no step writes: of the part that moves with the index, or of all of it."""
        name = access.tensor.name
        begins: list[tuple[int, int]] = []
        counts: list[int | None] = []
        shape: list[int] = []
        origins: list[int] = []
        subscripts: list[Affine] = []
        for subscript, extent, origin in zip(
            access.indices, self.bound.shapes[name], self.bound.origins[name], strict=True
        ):
            weight = subscript.weight(self.index).constant or 0
            rest = subscript - Affine.of(self.index).scale(weight)
            ends = None if rest.is_data or self.moves(rest) else Facts.over(self.box).values(rest, quickly=True)
            if not weight or ends is None:
                begins.append((0, 0))
                counts.append(extent)
                shape.append(extent)
                origins.append(origin)
                subscripts.append(self.affine(subscript))
                continue
            lo, hi = ends
            begins.append((weight, lo - origin))
            if rest.constant is not None:
                counts.append(None)
                continue
            counts.append(max(0, hi - lo + 1))
            shape.append(max(0, hi - lo + 1))
            origins.append(0)
            subscripts.append(rest - lo)
        moving = any(weight for weight, _ in begins)
        taken = Taken("part", name, tuple(begins), tuple(counts)) if moving else Taken("whole", name)
        tensor = self.parameter(taken, access.tensor.dtype, tuple(shape), tuple(origins))
        return replace(access, tensor=tensor, indices=tuple(subscripts))

    def parameter(self, taken: Taken, dtype: str, shape: tuple[int, ...], origin: tuple[int, ...]) -> ir.Tensor:
        """The parameter of a step for this tensor or part."""
        if taken not in self.names:
            match taken.kind:
                case "value":
                    name = f"{self.index}{ir.MARK}"
                case "whole":
                    name = taken.tensor
                case _:
                    name = f"{taken.tensor}{ir.MARK}{self.index}{len(self.names)}"
            self.names[taken] = ir.Tensor(name, dtype, tuple(map(Size.of, shape)), self.source(taken))
            self.taken[name] = taken
            self.shapes[name], self.origins[name] = shape, origin
        return self.names[taken]

    def source(self, taken: Taken) -> ir.Source | IndexVar | None:
        """What a parameter is in the names of the loop."""
        match taken.kind:
            case "value":
                return self.index
            case "row":
                return self.row_of(self.rows[taken.tensor], taken.lag)
            case "state":
                return ir.whole(self.rows[taken.tensor].tensor)
            case "part":
                tensor, origins = self.tensors[taken.tensor], self.bound.origins[taken.tensor]
                own, subscripts = list[IndexVar](), list[Affine]()
                for index, (weight, lo), count, origin in zip(
                    ir.counters(tensor.rank), taken.begins, taken.counts, origins, strict=True
                ):
                    start = Affine.of(self.index).scale(weight) + (lo + origin if weight else 0)
                    own += [] if count is None else [index]
                    subscripts.append(start if count is None else start + index)
                return ir.Source(tensor, tuple(own), tuple(subscripts))
            case _:
                return self.tensors[taken.tensor].source
