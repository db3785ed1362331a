"""Steps as statements: only those that are needed, with explicit ranges only where inference would not find them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from ... import ir, ranges
from ...diagnostics import CompileError
from ...ir import Reducer
from ...symbolic import Affine, Facts, IndexVar, Interval, Size, SizeVar, compare
from ..inlining import reads
from .calls import targets
from .overwriting import around
from .steps import Loop, Place, Step, zeroed

Sizes = Mapping[SizeVar, Size]


def needed(steps: Sequence[Step], results: Iterable[ir.Tensor]) -> tuple[Step, ...]:
    """The steps without those that no result needs."""
    wanted = {tensor.name for tensor in results}
    kept: list[Step] = []
    runs = [tuple(run) for _, run in groupby(steps, key=lambda step: step.loops[0] if step.loops else id(step))]
    for run in reversed(runs):
        own: list[Step] = []
        number = -1
        # A step of a loop may read what a step further down writes.
        while number < len(wanted):
            number, own = len(wanted), []
            for step in reversed(run):
                if wanted & set(targets(step.statement)):
                    own.append(step)
                    wanted.update(reads(step.statement))
        kept += own
    return tuple(reversed(kept))


def clauses(function: ir.Function, steps: Sequence[Step], places: Mapping[str, Place], sizes: Sizes) -> ir.Function:
    """The function with the steps as statements, without ranges that inference finds.

    `places` are the logical ranges of the tensors' dimensions, `sizes` names for formulas: an inferred range under that
    name is correct.
    """
    statements: list[ir.Statement] = []
    tensors = {parameter.name: parameter for parameter in function.parameters}
    for step in steps:
        statement = step.statement
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            statement = _in_sums(_in_brackets(statement))
            statement = _Clauses(function, tensors, step, places, sizes).shortest(statement)
            tensors[statement.target.name] = statement.target
        elif isinstance(statement, ir.ApplyForeign):
            tensors |= {target.name: target for target in statement.targets}
        statements.append(statement)
    return replace(function, statements=tuple(statements), loops=tuple(_loops(steps)))


def _loops(steps: Sequence[Step], depth: int = 0, first: int = 0) -> Iterator[ir.Loop]:
    """The loops around steps, outer ones first."""
    for _, run in groupby(steps, key=lambda step: step.loops[depth] if depth < len(step.loops) else None):
        inside = tuple(run)
        if depth < len(inside[0].loops):
            loop = inside[0].loops[depth]
            yield ir.Loop(loop.index, loop.step, first, first + len(inside))
            yield from _loops(inside, depth + 1, first)
        first += len(inside)


def _in_brackets(statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
    """``O(i) = sum[j](e - c)`` for ``O(i) +=! e - c``, which might be misread as a sum of `e` alone."""
    if not isinstance(statement, ir.Accumulate) or statement.reducer is not Reducer.SUM or not statement.reduction:
        return statement
    reduction = frozenset(statement.reduction)
    if len({ir.free_indices(term) & reduction for _, term in ir.terms(statement.value)}) == 1:
        return statement
    value, guard = statement.value, statement.domain.guard
    reduce = ir.Reduce(
        Reducer.SUM, statement.reduction, (), guard, value, None, statement.accumulate, value.dtype, span=statement.span
    )
    bare = [index.bare for index in statement.indices]
    is_whole = statement.restart and None not in bare and len(set(bare)) == len(bare)
    if is_whole and value.dtype == statement.target.dtype:
        return ir.Define(statement.target, statement.indices, reduce)
    return replace(statement, reduction=(), value=reduce, domain=ir.Domain())


def _in_sums(statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
    """``O(i) +=! d(i,j) * sum[u](f(u))`` for ``O(i) +=! d(i,j) * f(u)``, which would cause a warning (TC1209)."""
    if not isinstance(statement, ir.Accumulate) or statement.reducer is not Reducer.SUM:
        return statement
    reduction = frozenset(statement.reduction)
    groups: list[tuple[list[ir.Expr], frozenset[IndexVar]]] = []
    for factor in ir.factors(statement.value):
        own, indices = [factor], ir.free_indices(factor) & reduction
        for group in [group for group in groups if indices & group[1]]:
            groups.remove(group)
            own, indices = [*group[0], *own], indices | group[1]
        groups.append((own, indices))
    guard = statement.domain.guard
    tied = frozenset[IndexVar]() if guard is None else ir.free_indices(guard)
    summed = [indices for _, indices in groups if indices]
    if len(summed) < 2 or any(indices & tied for indices in summed):
        return statement
    kind, found, left = statement.accumulate, list[ir.Expr](), frozenset[IndexVar]()
    for own, indices in groups:
        if not indices or not left:
            found += own
            left |= indices
            continue
        order = tuple(index for index in statement.reduction if index in indices)
        body = ir.multiply(own)
        found.append(ir.Reduce(Reducer.SUM, order, (), None, body, None, kind, body.dtype, span=statement.span))
    return replace(statement, value=ir.multiply(found), reduction=tuple(i for i in statement.reduction if i in left))


class _Clauses:
    """One statement after earlier ones, of which only the positions of their tensors matter."""

    def __init__(
        self,
        function: ir.Function,
        tensors: Mapping[str, ir.Tensor],
        step: Step,
        places: Mapping[str, Place],
        sizes: Sizes,
    ) -> None:
        self.step = step
        self.sizes = sizes
        target = targets(step.statement)[0]
        inputs = {parameter.name for parameter in function.parameters}
        known = [name for name in sorted({*reads(step.statement), target}) if name in tensors and name not in inputs]
        fills = [zeroed(tensors[name], places[name]) for name in known]
        declared = tuple([t for t in function.declared if t.name == target and target not in tensors])
        self.loops = step.loops
        # The ranges of its subscripts determine its size.
        self.is_new = target not in tensors
        self.function = replace(function, returns=(), declared=declared)
        self.before = tuple([_with(fill.formula, fill.intervals, ()) for fill in fills])

    def shortest(self, statement: ir.Define | ir.Accumulate) -> ir.Define | ir.Accumulate:
        every = _indices(statement)
        whole = self.found(self.within(statement, every))
        if whole is None:
            return self.within(statement, every)
        kept = list(every)
        # Inferred ranges must fill the declared extents.
        fixed = [index for index in (subscript.bare for subscript in statement.indices) if index is not None]
        fixed = fixed if self.function.declared else []
        if self.found(self.within(statement, fixed)) == whole:
            return self.within(statement, fixed)
        for index in every:
            if index in fixed:
                continue
            fewer = [other for other in kept if other != index]
            if self.found(self.within(statement, fewer)) == whole:
                kept = fewer
        return self.moving(statement, kept) or self.within(statement, kept)

    def moving(
        self, statement: ir.Define | ir.Accumulate, kept: Iterable[IndexVar]
    ) -> ir.Define | ir.Accumulate | None:
        """The statement with ``k in 0:j`` for ``k < j``, if another range only bounds how far this one goes."""
        tests, found = list(ir.conjuncts(statement.domain.guard)), list[ir.Range]()
        inside = {*_outer(statement)}
        if self.is_new:
            inside -= frozenset[IndexVar]().union(*(subscript.variables for subscript in statement.indices))
        facts = Facts.over(self.step.intervals, *around(self.step)).assume(*map(ir.condition_of, tests))
        for index in kept:
            lo, hi = self.step.intervals[index].lo, self.step.intervals[index].hi
            for test in tests:
                end = _end(test, index)
                if end is not None and index in inside and facts.prove(compare("<", index, hi)):
                    found.append(ir.Range(index, Affine.of(lo), end))
                    tests.remove(test)
                    break
        if not found:
            return None
        gone = {range_.index for range_ in found}
        domain = replace(statement.domain, guard=ir.conjunction(tests))
        plain = self.within(replace(statement, domain=domain), [index for index in kept if index not in gone])
        moving = replace(plain, domain=replace(plain.domain, ranges=(*plain.domain.ranges, *found)))
        return None if self.found(moving) is None else moving

    def within(self, statement: ir.Define | ir.Accumulate, indices: Iterable[IndexVar]) -> ir.Define | ir.Accumulate:
        given = {index: self.step.intervals[index] for index in indices if index not in self.step.fixed}
        return _with(statement, given, self.loops)

    def found(self, statement: ir.Define | ir.Accumulate) -> object:
        """The ranges of the statement's indices and the position of its target; None if inference fails."""
        try:
            known = ranges.infer_ranges(replace(self.function, statements=(*self.before, statement)))
        except CompileError:
            return None
        intervals = known.statements[-1].intervals
        place = known.locals[statement.target.name]
        return {index: self.said(interval) for index, interval in intervals.items()}, [*map(self.said, place)]

    def said(self, interval: Interval | None) -> Interval | None:
        return None if interval is None else interval.substitute(self.sizes)


def _indices(statement: ir.Define | ir.Accumulate) -> tuple[IndexVar, ...]:
    """The indices of a statement, those of inline reductions last."""
    inline = (index for node in ir.nodes_of(statement) if isinstance(node, ir.Reduce) for index in node.indices)
    return tuple(dict.fromkeys([*_outer(statement), *inline]))


def _with(
    statement: ir.Define | ir.Accumulate, given: Mapping[IndexVar, Interval], loops: tuple[Loop, ...]
) -> ir.Define | ir.Accumulate:
    """The statement with these ranges, each where its index is bound, inside loops."""

    def expr(node: ir.Expr) -> ir.Expr:
        node = ir.rebuild(node, expr)
        if isinstance(node, ir.Reduce):
            return replace(node, ranges=_ranges(node.indices, given))
        return node

    outside = tuple([ir.Range(loop.index, loop.lo, loop.hi) for loop in loops])
    given_ranges = (*outside, *_ranges(_outer(statement), given))
    told = ir.rebuild_statement(statement, expr)
    return replace(told, domain=ir.Domain(given_ranges, told.domain.guard, (), tuple(r.index for r in outside)))


def _outer(statement: ir.Define | ir.Accumulate) -> tuple[IndexVar, ...]:
    """The indices of a statement, except those of inline reductions."""
    reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
    return tuple(dict.fromkeys((*ir.left_indices(statement), *reduction)))


def _end(test: ir.Expr, index: IndexVar) -> Affine | None:
    """The `end` in ``index < end``, if it depends on other indices."""
    match test:
        case ir.Binary("<", ir.Index(variable), right) if variable == index and not any(ir.accesses(right)):
            end = ir.affine_of(right)
            return end if end.variables and index not in end.variables else None
        case _:
            return None


def _ranges(indices: tuple[IndexVar, ...], given: Mapping[IndexVar, Interval]) -> tuple[ir.Range, ...]:
    return tuple([ir.Range(i, Affine.of(given[i].lo), Affine.of(given[i].hi)) for i in indices if i in given])
