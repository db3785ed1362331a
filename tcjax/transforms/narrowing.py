"""Statements for some of their rows: an index that a condition couples to the row runs over a shorter range there.

In the rows ``a <= q < b`` of ``m(q) max=! s(q,k) where k <= q``, every `k` from `b` on is masked. A term that the
condition does not mask, but that no longer depends on `k`, is counted once per `k`: in ``l(q) +=! p(q,k)``, with
``p(q,k) = k <= q ? exp(s(q,k)) : 0``, all terms after the first `b` are zero; with another constant in place of 0 they
are that constant times their number. So the result is exact.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, Facts, IndexVar
from .definitions import Formula, as_accumulation, as_define, covers, neutral
from .factors import non_negative
from .inlining import Named, Renaming, Shape, Shapes, Step, is_large
from .peaks import Span
from .rests import LOWEST, Contents, Rest, Values


def ends_of(
    index: IndexVar, span: tuple[int, int], conditions: Iterable[Affine], facts: Facts
) -> Iterator[tuple[int, int]]:
    """For each condition, ``affine >= 0``, the least and the greatest value of the index for which it may hold."""
    lo, hi = span
    for affine in conditions:
        weights = [weight.constant for atom, weight in affine.terms if atom == index]
        if len(weights) != 1 or not weights[0]:
            continue
        rest = affine - Affine.of(index).scale(weights[0])
        found = None if index in rest.variables else facts.values(rest)
        if found is None:
            continue
        # weight * index + rest >= 0 holds nowhere if it fails for the greatest rest.
        if weights[0] > 0:
            yield -(found[1] // weights[0]), hi - 1
        else:
            yield lo, found[1] // -weights[0]


def narrowed(
    step: Step, row: IndexVar, contents: Contents, place: tuple[Shape, Shape], is_new: bool
) -> tuple[Step, tuple[Rest, ...]]:
    """The step with each reduction over the part that matters in these rows, and the constant rest of its target.

    The box of the step gives the rows; `place` are the shape and the origin of the target for them, and `contents` is
    what is known about tensors that it reads. If a rest is not neutral, the step adds its contribution.
    """
    narrower = _Narrower(row, step, contents)
    try:
        statement = narrower.statement(step.statement, is_new)
    except _Unclear:
        return step, ()
    found = replace(step, statement=statement, box=narrower.box)
    rests_of = tuple(narrower.rests_of(found, *place, is_new))
    bound = ir.bound_indices(statement.value)
    box = {index: span for index, span in narrower.box.items() if index in step.box or index in bound}
    return replace(found, box=box), rests_of


class _Unclear(Exception):
    """Two different reductions over one index, or a sum that continues from a rounded value."""


class _Narrower:
    """One statement for some rows; `box` shrinks, and gains new indices for added parts."""

    def __init__(self, row: IndexVar, step: Step, contents: Contents) -> None:
        self.row = row
        self.fixed = step.fixed
        self.box = dict(step.box)
        self.rests = contents.rests
        self.values = Values(self.box, contents)
        self.seen: dict[IndexVar, ir.Reduce] = {}
        self.done: list[tuple[ir.Reduce, ir.Expr]] = []

    def statement(self, statement: Formula, is_new: bool) -> Formula:
        if not isinstance(statement, ir.Accumulate) or not isinstance(statement.reducer, Reducer):
            return replace(statement, value=self.expr(statement.value))
        if not statement.reduction:
            return replace(statement, value=self.expr(statement.value))
        whole = as_define(statement, is_new)
        own = next(node for node in ir.walk(whole.value) if isinstance(node, ir.Reduce))
        found = self.reduction(own)
        if isinstance(found, ir.Reduce):
            return replace(statement, value=found.body)
        if not (statement.restart or is_new) and statement.accumulate != statement.target.dtype:
            raise _Unclear
        value = _replaced(whole.value, own, found)
        narrow: Formula = replace(whole, value=value)
        return as_accumulation(narrow) or narrow

    def expr(self, expr: ir.Expr) -> ir.Expr:
        return self.reduction(expr) if isinstance(expr, ir.Reduce) else ir.rebuild(expr, self.expr)

    def reduction(self, given: ir.Reduce) -> ir.Expr:
        """The reduction over the part that matters, and the contribution of the rest."""
        for known, found in self.done:
            if known == given:
                return found
        if any(index in self.seen for index in given.indices):
            raise _Unclear
        self.seen |= dict.fromkeys(given.indices, given)
        node = ir.rebuild(given, self.expr)
        assert isinstance(node, ir.Reduce)
        added: list[tuple[str, ir.Expr]] = []
        near: ir.Expr = node
        if isinstance(node.reducer, Reducer) and not node.reducer.is_ranked:
            for index in node.indices:
                own = self.cut(node, node.reducer, index)
                if own is None:
                    # The derivative of an omitted value could multiply infinity.
                    near = neutral(node.reducer, node.dtype) or node
                    break
                added += own
        result = near
        if added and isinstance(node.reducer, Reducer):
            # Parts are combined in the type in which each of them runs.
            result = _in(near, node.accumulate)
            for joins, part in added:
                result = ir.Binary(joins, result, part, node.accumulate)
            result = result if result.dtype == node.dtype else ir.Cast(result, node.dtype)
        self.done.append((given, result))
        return result

    def cut(self, node: ir.Reduce, reducer: Reducer, index: IndexVar) -> list[tuple[str, ir.Expr]] | None:
        """Narrows the range of an index of the reduction; returns the other contributions, each with how it is
        combined.

        A mean counts the points of its guard; positions are counted from the start, which is kept. None if nothing
        contributes.
        """
        lo, hi = self.box[index]
        parts = [part for part in (node.guard, node.body) if part is not None]
        heavy: list[tuple[int, int]] = []
        light: list[tuple[tuple[int, int], ir.Reduce]] = []
        apart: list[tuple[tuple[int, int], ir.Reduce]] = []
        for segment in self.segments(index, parts):
            guard, body = self.values.within(node.guard, node.body, {index: segment})
            if guard == ir.Const(False, "bool") or body == neutral(reducer, body.dtype):
                continue
            if self.is_left_out(node, index, segment):
                apart.append((segment, self.doubt(replace(node, guard=guard), {index: segment})))
            elif self.is_coupled(body, index) or (guard is not None and self.is_coupled(guard, index)):
                heavy.append(segment)
            else:
                light.append((segment, replace(node, guard=guard, body=body)))
        if not heavy and not light and not apart:
            self.box[index] = (lo, min(lo + 1, hi))
            return None
        if not heavy or reducer.operator is None or node.rank is not None:
            # Nothing is worth a separate reduction, or nothing can be.
            heavy += [segment for segment, _ in light]
            light = []
        if not heavy:
            heavy, apart = [segment for segment, _ in apart], []
        first, last = min(heavy), max(heavy)
        self.box[index] = (lo if reducer.gives_position else first[0], last[1])
        outside = [*((reducer.operator or "+", *each) for each in light), *(("+", *each) for each in apart)]
        return [
            (joins, self.apart(index, segment, part))
            for joins, segment, part in outside
            if segment[1] <= first[0] or segment[0] >= last[1]
        ]

    def is_left_out(self, node: ir.Reduce, index: IndexVar, segment: Span) -> bool:
        """Whether a segment of an index matters for a maximum, or a sum of exponentials, only if it contains NaN.

        A maximum that passes a derivative also depends on minus infinities: the first one gets it if there is nothing
        else.
        """
        passes = node.reducer.is_upper_bound and (not node.reducer.is_extremum or node.fixed or self.fixed)
        return passes and node.dtype == node.accumulate and self.values.is_lowest(node.body, {index: segment})

    def doubt(self, node: ir.Reduce, segment: Mapping[IndexVar, Span]) -> ir.Reduce:
        """A sum that is zero if all values of a reduction are minus infinity, and NaN if one is NaN.

        Not their maximum: XLA's loses NaN. No derivative passes through it.
        """
        body = ir.Call("exp", (self.values.exactly(node.body, segment),), node.dtype)
        return replace(node, reducer=Reducer.SUM, body=body, fixed=True)

    def apart(self, index: IndexVar, segment: Span, node: ir.Reduce) -> ir.Expr:
        """A reduction over other values of one of its indices, with fresh indices."""
        renaming = Renaming(self.box, self.box | {index: segment})
        return _in(renaming.renamed(node), node.accumulate)

    def segments(self, index: IndexVar, parts: Iterable[ir.Expr]) -> Iterator[tuple[int, int]]:
        """The range of an index, cut at the values where a condition or known contents of a tensor may change."""
        lo, hi = self.box[index]
        facts = Facts.over({own: span for own, span in self.box.items() if span[0] < span[1]})
        cuts = {lo, hi}
        for node in itertools.chain.from_iterable(map(ir.walk, parts)):
            if isinstance(node, ir.Binary) and node.dtype == "bool" and index in ir.free_indices(node):
                conditions = [non_negative(node), non_negative(ir.negated(node))]
                affine = [found for found in conditions if found is not None and found.variables <= self.box.keys()]
                for least, most in ends_of(index, (lo, hi), affine, facts):
                    cuts |= {least, most + 1}
            elif isinstance(node, ir.Access):
                for rest in self.rests.get(node.tensor.name, ()):
                    base = node.indices[rest.dimension] - index
                    if base.constant is not None:
                        cuts |= {place - base.constant for place in rest.places}
        return itertools.pairwise(sorted(cut for cut in cuts if lo <= cut <= hi))

    def is_coupled(self, expr: ir.Expr, index: IndexVar) -> bool:
        """Whether anything but a product or a sum depends both on the row and on the index."""
        both = {self.row, index}
        if not both <= ir.free_indices(expr):
            return False
        match expr:
            case ir.Binary("*" | "+" | "-") | ir.Unary("-"):
                return any(self.is_coupled(part, index) for part in ir.children(expr))
            case ir.Binary("/", left, right):
                return index in ir.free_indices(right) or self.is_coupled(left, index)
            case _:
                return True

    def rests_of(self, step: Step, shape: Shape, origin: Shape, is_new: bool) -> Iterator[Rest]:
        """The constant contents of the step's target along a dimension."""
        statement = step.statement
        if not covers(statement, step.box, shape, origin):
            return
        if isinstance(statement, ir.Accumulate):
            if not isinstance(statement.reducer, Reducer) or not (statement.restart or is_new):
                return
            is_masked = not statement.reduction and statement.domain.guard is not None
            if is_masked and neutral(statement.reducer, statement.value.dtype) is None:
                return
        whole = as_define(statement, is_new)
        value = whole.value
        if whole.domain.guard is not None:
            before = ir.Access(statement.target, statement.indices)
            value = ir.Select(whole.domain.guard, value, before, value.dtype)
        if value.dtype != statement.target.dtype:
            return
        value = _choosing(value)
        places = tuple((first, first + extent) for first, extent in zip(origin, shape, strict=True))
        for dimension, subscript in enumerate(statement.indices):
            index = (subscript - subscript.base).bare
            if index is None or index == self.row:
                continue
            base = subscript.base.constant or 0
            for lo, hi in self.segments(index, [value]):
                known = Named(statement.indices, value, dict(self.box), places)
                for rest in self.rest(dimension, index, (lo, hi), base, known):
                    if not is_large(replace(whole, value=rest.known.value)):
                        yield rest

    def rest(self, dimension: int, index: IndexVar, segment: Span, base: int, whole: Named) -> Iterator[Rest]:
        """The contents of a tensor in a segment of a dimension along which they are constant: a part of `whole`."""
        places = segment[0] + base, segment[1] + base
        _, found = self.values.within(None, whole.value, {index: segment})
        if index not in ir.free_indices(found):
            yield Rest(dimension, places, replace(whole, value=found, box=dict(self.box)))
            return
        if self.values.is_lowest(whole.value, {index: segment}):
            lowest = replace(whole, value=ir.Const(LOWEST, found.dtype))
            yield Rest(dimension, places, lowest, exactly=replace(whole, value=found, box=dict(self.box)))


def _choosing(expr: ir.Expr) -> ir.Expr:
    """The value of an element with a choice for each bool factor in its product, as XLA computes it."""
    match expr:
        case ir.Binary("*", left, right) if ir.types.is_float(expr.dtype):
            for truth, other in ((left, right), (right, left)):
                if isinstance(truth, ir.Cast) and truth.operand.dtype == "bool":
                    return ir.Select(truth.operand, _choosing(other), ir.Const(0.0, expr.dtype), expr.dtype)
            return replace(expr, left=_choosing(left), right=_choosing(right))
        case _:
            return expr


def _in(expr: ir.Expr, dtype: str) -> ir.Expr:
    """A reduction, or its identity, in another type."""
    return replace(expr, dtype=dtype) if isinstance(expr, (ir.Reduce, ir.Const)) else expr


def _replaced(expr: ir.Expr, old: ir.Expr, new: ir.Expr) -> ir.Expr:
    return new if expr is old else ir.rebuild(expr, lambda part: _replaced(part, old, new))


__all__ = ["Shapes", "ends_of", "narrowed"]
