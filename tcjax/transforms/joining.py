"""Merges reductions over parts of a range: ``sum[k in 0:4](e) + sum[k in 4:8](e)`` becomes ``sum[k in 0:8](e)``.

A part may be a single value: ``x(t) + sum[s where s < t](x(s))`` becomes ``sum[s where s <= t](x(s))``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from .definitions import as_accumulation
from .factors import summands
from .growing import grown
from .inlining import Step
from .substitution import numbered, substitute_expr

_Box = dict[IndexVar, tuple[int, int]]


def joined(step: Step) -> Step:
    """The step with one reduction for those that combine the same values over adjacent ranges."""
    if not any(isinstance(node, ir.Reduce) for node in ir.walk(step.statement.value)):
        return step
    box = dict(step.box)
    value = _joined(step.statement.value, box, step.statement.domain.guard is None)
    if value == step.statement.value:
        return step
    value = _with_old_names(value, ir.bound_indices(step.statement.value), box)
    statement = replace(step.statement, value=value)
    return replace(step, statement=as_accumulation(statement) or statement, box=box)


def _with_old_names(value: ir.Expr, before: frozenset[IndexVar], box: _Box) -> ir.Expr:
    """The value with the original index names for indices whose range is whole again.

    The box then contains their ranges.
    """
    bound = ir.bound_indices(value)
    free = [index for index in box if index in before - bound]
    for new in [index for index in box if index in bound - before]:
        old = next((index for index in free if index.name == new.name), None)
        if old is not None:
            free.remove(old)
            box[old] = box.pop(new)
            value = _rebound(value, new, old)
    return value


def _rebound(expr: ir.Expr, old: IndexVar, new: IndexVar) -> ir.Expr:
    expr = ir.rebuild(expr, lambda part: _rebound(part, old, new))
    if not isinstance(expr, ir.Reduce) or old not in expr.indices:
        return expr
    guard = None if expr.guard is None else _renamed(expr.guard, old, new)
    indices = tuple(new if index == old else index for index in expr.indices)
    return replace(expr, indices=indices, guard=guard, body=_renamed(expr.body, old, new))


@dataclass(frozen=True, slots=True)
class _Term:
    """``sign * (factors * reduce)``, a term of a sum; `reduce` is None if it has no reduction, or several."""

    expr: ir.Expr
    negative: bool
    factors: tuple[ir.Expr, ...] = ()
    reduce: ir.Reduce | None = None

    def beside(self, other: "_Term", box: _Box) -> "_Term | None":
        """Both terms as one, if they differ only in the range of one index."""
        same = self.negative == other.negative and self.factors == other.factors
        if not same or self.reduce is None or other.reduce is None:
            return None
        whole = _whole(self.reduce, other.reduce, box)
        return None if whole is None else self.over(whole)

    def over(self, whole: ir.Reduce) -> "_Term":
        """The term with another reduction."""
        return replace(self, expr=ir.multiply((*self.factors, whole)), reduce=whole)


def _joined(expr: ir.Expr, box: _Box, everywhere: bool) -> ir.Expr:
    """The expression with merged reductions; `everywhere` says that it is computed at all points of the box."""
    match expr:
        case ir.Select() | ir.Binary("&&" | "||"):
            inside = False
        case ir.Reduce(guard=guard):
            inside = everywhere and guard is None
        case _:
            inside = everywhere
    expr = ir.rebuild(expr, lambda part: _joined(part, box, inside))
    match expr:
        case ir.Binary("+" | "-") if expr.dtype != "bool":
            terms = [_term(part, negative) for negative, part in ir.terms(expr)]
        case ir.Binary(operator) if operator in ir.BY_OPERATOR:
            terms = [
                _Term(part, False, (), _own(part, ir.BY_OPERATOR[operator])) for part in ir.operands(expr, operator)
            ]
        case _:
            return expr
    found = _grown(_merged(terms, box), expr.operator, box, everywhere)
    if len(found) == len(terms):
        return expr
    # The first term keeps its sign: a minus before all of them would be an extra operation.
    first, *rest = sorted(found, key=lambda term: term.negative) if expr.operator in ("+", "-") else found
    total = ir.Unary("-", first.expr, expr.dtype) if first.negative else first.expr
    operator = "+" if expr.operator == "-" else expr.operator
    for term in rest:
        total = ir.Binary("-" if term.negative else operator, total, term.expr, expr.dtype, span=expr.span)
    return total


def _merged(terms: Sequence[_Term], box: _Box) -> list[_Term]:
    found: list[_Term] = []
    for term in terms:
        for place, earlier in enumerate(found):
            both = earlier.beside(term, box)
            if both is not None:
                # A merged range may be adjacent to another part.
                return _merged([*found[:place], both, *found[place + 1 :], *terms[terms.index(term) + 1 :]], box)
        found.append(term)
    return found


def _grown(terms: list[_Term], operator: str, box: _Box, everywhere: bool) -> list[_Term]:
    """The terms without those that equal another term's body at one more value of its index."""
    for place, term in enumerate(terms):
        others = terms[:place] + terms[place + 1 :]
        reduce = term.reduce
        if reduce is None or reduce.fixed or len(terms) < 2 or not _is_as_wide(reduce):
            continue
        for more in grown(reduce, box):
            (index,) = reduce.indices
            if more.ends != box[index] and not everywhere:
                # Its reads may be out of bounds where this is not computed.
                continue
            left = _without(others, term, more.added, operator, box)
            if left is not None:
                new = index if more.ends == box[index] else placed(index, more.ends, box)
                guard = None if more.reduce.guard is None else _renamed(more.reduce.guard, index, new)
                body = _renamed(reduce.body, index, new)
                whole = replace(reduce, indices=(new,), guard=guard, body=body)
                # A merged range may be adjacent to another part.
                return _grown(_merged([term.over(whole), *left], box), operator, box, everywhere)
    return terms


def _is_as_wide(reduce: ir.Reduce) -> bool:
    """Whether a value loses no precision when it is reduced with the others."""
    same = reduce.dtype == reduce.body.dtype
    return same and ir.types.width(reduce.accumulate) >= ir.types.width(reduce.dtype)


def _without(terms: Iterable[_Term], term: _Term, value: ir.Expr, operator: str, box: _Box) -> list[_Term] | None:
    """The terms without those that make up a value, with the sign and factors of `term`; None if they are not all
    there.
    """
    wanted = Counter(_keys(ir.multiply((*term.factors, value)), term.negative, operator, box))
    left: list[_Term] = []
    for other in terms:
        key = Counter(_keys(other.expr, other.negative, operator, box))
        if key <= wanted and other.expr.dtype == value.dtype:
            wanted -= key
        else:
            left.append(other)
    return None if wanted else left


def _keys(expr: ir.Expr, negative: bool, operator: str, box: _Box) -> Iterator[object]:
    """Keys of the parts of an expression that do not depend on the order of their factors."""
    if operator not in ("+", "-"):
        yield from (numbered(part, box) for part in ir.operands(expr, operator))
        return
    for product in summands(expr):
        factors = Counter(numbered(factor, box) for factor in product.factors)
        mask = None if product.mask is None else numbered(product.mask, box)
        yield negative != product.negative, frozenset(factors.items()), mask


def _term(expr: ir.Expr, negative: bool) -> _Term:
    (product,) = summands(expr)
    sums = [found for factor in product.factors if (found := _own(factor, Reducer.SUM)) is not None]
    if product.mask is not None or len(sums) != 1:
        return _Term(expr, negative)
    factors = sorted((factor for factor in product.factors if factor is not sums[0]), key=ir.show_expr)
    return _Term(ir.multiply((*factors, sums[0])), negative != product.negative, tuple(factors), sums[0])


def _own(expr: ir.Expr, reducer: Reducer | ir.Monoid) -> ir.Reduce | None:
    """The expression, if it is a reduction of this kind."""
    return expr if isinstance(expr, ir.Reduce) and expr.reducer == reducer else None


def _whole(first: ir.Reduce, second: ir.Reduce, box: _Box) -> ir.Reduce | None:
    """Both as one reduction over a fresh index; None if they are not two parts of one."""
    kinds = ((one.reducer, one.accumulate, one.dtype, one.fixed, len(one.indices), one.rank) for one in (first, second))
    if len(set(kinds)) > 1 or first.rank is not None:
        return None
    for cut in range(len(first.indices)):
        pairs = list(zip(first.indices, second.indices, strict=True))
        rest = [box[one] == box[other] for place, (one, other) in enumerate(pairs) if place != cut]
        (lo, hi), (start, end) = (box[index] for index in pairs[cut])
        if not all(rest) or lo >= hi or start >= end:
            continue
        # The second begins where the first ends, or vice versa; its index may have another offset.
        for shift, ends in ((hi - start, (lo, hi + end - start)), (lo - end, (lo - (end - start), hi))):
            values = {one: Affine.of(other) for one, other in pairs}
            values[pairs[cut][0]] = Affine.of(pairs[cut][1]) + shift
            alike = (
                numbered(substitute_expr(own, values), box) == numbered(other, box)
                for own, other in _bodies(first, second)
            )
            if all(alike):
                index = placed(pairs[cut][0], ends, box)
                whole = replace(first, body=_renamed(first.body, pairs[cut][0], index))
                guard = None if first.guard is None else _renamed(first.guard, pairs[cut][0], index)
                indices = tuple(index if place == cut else one for place, (one, _) in enumerate(pairs))
                return replace(whole, guard=guard, indices=indices)
    return None


def _bodies(first: ir.Reduce, second: ir.Reduce) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    yield first.body, second.body
    if first.guard is not None or second.guard is not None:
        nothing = ir.Const(True, "bool")
        yield first.guard or nothing, second.guard or nothing


def _renamed(expr: ir.Expr, old: IndexVar, new: IndexVar) -> ir.Expr:
    return substitute_expr(expr, {old: Affine.of(new)})


def placed(index: IndexVar, ends: tuple[int, int], box: _Box) -> IndexVar:
    """An index with these ends, at the given index's position in the order of the box."""
    new = index
    while new in box:
        new = IndexVar(new.name, new.tag + 1)
    before = dict(box)
    box.clear()
    for each, own in before.items():
        box[each] = own
        if each == index:
            box[new] = ends
    return new
