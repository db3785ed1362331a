"""Inline reductions over a cut index become statements of their own: devices combine the results of whole statements.

``O(i) = X(i) / sum[j](X(j))`` is ``S() +=! X(j)  O(i) = X(i) / S()`` where j is cut.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ... import ir, transforms
from ...ir import Reducer
from ...ranges import Bound
from ...symbolic import Affine, IndexVar

Formula = ir.Define | ir.Accumulate


def hoisted(bound: Bound, cut: Collection[str]) -> Bound:
    """The program with inline reductions over indices of these names as statements of their own.

    Sizes must be numbers, and given ranges guards. A reduction with a rank is the whole value of its statement.
    """
    found = _Hoisting(bound, cut)
    number = 0
    while number < len(found.bound.function.statements):
        number = found.visit(number)
    return found.bound


@dataclass(frozen=True, slots=True)
class _Inner:
    """A reduction in an expression, and the conditions on which it is computed."""

    reduce: ir.Reduce
    conditions: tuple[ir.Expr, ...]


@dataclass
class _Hoisting:
    bound: Bound
    cut: Collection[str]
    # Reductions computed so far, by their form, and what they read.
    known: dict[transforms.CommonForm, tuple[ir.Tensor, tuple[int, ...], frozenset[str]]] = field(default_factory=dict)

    def visit(self, number: int) -> int:
        """Takes one reduction out of a statement. Gives the number of the next statement to visit."""
        statement = self.bound.function.statements[number]
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            plain = self._plain(statement)
            if plain is not statement:
                self._put(number, plain)
            inner = next((found for part in _parts(plain) for found in self._inside(*part)), None)
            if inner is not None:
                return number + self._take(number, plain, inner)
        written = {tensor.name for tensor in ir.targets(statement)}
        self.known = {form: own for form, own in self.known.items() if not own[2] & written}
        return number + 1

    def _plain(self, statement: Formula) -> Formula:
        """The statement as an accumulation if its value is a reduction; a mean over guarded points becomes sums."""
        if not transforms.is_one_to_one(statement.indices):
            return statement
        match statement:
            case ir.Accumulate(reducer=Reducer.MEAN, restart=True, reduction=indices, domain=domain):
                if domain.guard is not None and self._is_cut(indices):
                    statement = transforms.as_define(statement, False)
            case _:
                pass
        value = self._without_means(statement.value)
        if value is not statement.value:
            statement = replace(statement, value=value)
        match statement:
            case ir.Define(value=ir.Reduce(reducer, indices)) if not reducer.is_ranked:
                if self._is_cut(indices):
                    return transforms.as_accumulation(statement) or statement
            case _:
                pass
        return statement

    def _without_means(self, expr: ir.Expr) -> ir.Expr:
        expr = ir.rebuild(expr, self._without_means)
        match expr:
            case ir.Reduce(Reducer.MEAN, indices, _, guard, body, _, accumulate, dtype) if guard is not None:
                if not self._is_cut(indices):
                    return expr
                one = ir.Const(1, "int32")
                total = replace(expr, reducer=Reducer.SUM, body=_cast(body, accumulate), dtype=accumulate)
                count = replace(expr, reducer=Reducer.SUM, body=one, accumulate="int32", dtype="int32")
                return _cast(ir.Binary("/", total, _cast(count, accumulate), accumulate, span=expr.span), dtype)
            case _:
                return expr

    def _is_cut(self, indices: Collection[IndexVar]) -> bool:
        return any(index.name in self.cut for index in indices)

    def _inside(self, expr: ir.Expr, conditions: tuple[ir.Expr, ...]) -> Iterator[_Inner]:
        """The reductions over cut indices, innermost first."""
        match expr:
            case ir.Select(condition, then, otherwise):
                yield from self._inside(condition, conditions)
                yield from self._inside(then, (*conditions, condition))
                yield from self._inside(otherwise, (*conditions, ir.negated(condition)))
            case ir.Reduce(indices=indices, guard=guard, body=body, rank=rank):
                for part in (rank, guard):
                    if part is not None:
                        yield from self._inside(part, conditions)
                yield from self._inside(body, (*conditions, *ir.conjuncts(guard)))
                if self._is_cut(indices):
                    yield _Inner(expr, conditions)
            case _:
                for part in ir.children(expr):
                    yield from self._inside(part, conditions)

    def _take(self, number: int, statement: Formula, inner: _Inner) -> int:
        """Inserts a reduction before the statement, unless it is already there. Gives how many statements to skip."""
        bound, box, reduce = self.bound, self.bound.boxes[number], inner.reduce
        if inner.conditions and transforms.reads_beside(bound, reduce, box):
            reduce = replace(reduce, guard=ir.conjunction((*inner.conditions, *ir.conjuncts(reduce.guard))))
        free = tuple(dict.fromkeys(transforms.free_of(reduce)))
        if statement.value == reduce and statement.indices == tuple(map(Affine.of, free)):
            # It already has a statement of its own.
            return 1
        lows = tuple(box[index][0] for index in free)
        form = transforms.form_of(bound, reduce, free, box)
        there = self.known.get(form)
        count = 0
        if there is None or there[1] != lows:
            name = f"{statement.target.name}.{_word(reduce)}{number}"  # No program can contain this name.
            tensor = transforms.local_tensor(name, reduce.dtype, len(free))
            own: Formula = ir.Define(tensor, tuple(map(Affine.of, free)), reduce, span=reduce.span)
            if not reduce.reducer.is_ranked:
                own = transforms.as_accumulation(own) or own
            used = {*free} | {*reduce.indices} | ir.bound_indices(reduce)
            reasons = {i: why for i, why in bound.reasons[number].items() if i in used} if bound.reasons else {}
            shape = tuple(box[index][1] - box[index][0] for index in free)
            own_box = {index: ends for index, ends in box.items() if index in used}
            self.bound = transforms.with_statement(bound, number, own, own_box, lows, shape, reasons)
            reads = frozenset(access.tensor.name for access in ir.accesses(reduce))
            there = self.known[form] = tensor, lows, reads
            count = 1
        read = ir.Access(there[0], tuple(map(Affine.of, free)), span=reduce.span)

        def put(expr: ir.Expr) -> ir.Expr:
            found = expr is inner.reduce or (reduce is inner.reduce and expr == reduce)
            return read if found else ir.rebuild(expr, put)

        new = ir.rebuild_statement(statement, put)
        left = {*ir.left_indices(new), *(index for node in ir.nodes_of(new) for index in ir.bound_indices(node))}
        left |= {*(new.reduction if isinstance(new, ir.Accumulate) else ())}
        self._put(number + count, new, {index: ends for index, ends in box.items() if index in left})
        return count

    def _put(self, number: int, statement: Formula, box: Mapping[IndexVar, tuple[int, int]] | None = None) -> None:
        statements, boxes = list(self.bound.function.statements), list(self.bound.boxes)
        statements[number] = statement
        if box is not None:
            boxes[number] = dict(box)
        function = replace(self.bound.function, statements=tuple(statements))
        self.bound = replace(self.bound, function=function, boxes=tuple(boxes))


def _parts(statement: Formula) -> Iterator[tuple[ir.Expr, tuple[ir.Expr, ...]]]:
    """The values that a statement computes, each with the conditions under which it does."""
    value, *others = ir.parts_of(statement)
    for part in others:
        yield part, ()
    yield value, ir.conjuncts(statement.domain.guard)


def _cast(expr: ir.Expr, dtype: str) -> ir.Expr:
    return expr if expr.dtype == dtype else ir.Cast(expr, dtype)


def _word(reduce: ir.Reduce) -> str:
    return reduce.reducer.value if isinstance(reduce.reducer, Reducer) else reduce.reducer.name
