"""Inverts reads: their receipts, as one statement over the elements of each tensor.

``O(h) +=! x(h + kh) * w(kh)`` gives ``d_x(p) +=! d_O(p - kh) * w(kh)`` where ``p - kh`` is a valid `h`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, AffineLike, AtLeastZero, IndexVar, Interval, Size, clamp
from ...symbolic.affine import Atom
from ..substitution import substitute_affine, substitute_expr
from .arithmetic import choose, compare, constant, plus, times
from .backward import Occurrence
from .scope import Scope


@dataclass(frozen=True, slots=True)
class Receipt:
    """``target[indices] += value``, summed over all other indices, where the `guard` holds."""

    target: ir.Tensor
    indices: tuple[Affine, ...]
    reduction: tuple[IndexVar, ...]
    value: ir.Expr
    guard: ir.Expr | None


@dataclass(slots=True)
class Inversion:
    """Statements that gather the receipts of reads.

    `places` are the logical ranges of the tensors' dimensions. If a subscript can be solved for several indices, one of
    `axes` is preferred, which leaves the smaller reduction. With `classes`, strided windows that overlap are solved for
    each residue class of positions, without a division: ``O(h) +=! x(2*h + k)`` gives ``d_x(2*p + r) +=! d_O(p - q)``
    where ``2*q + r`` is a valid `k`. The `fixed` indices of loops have a single value.
    """

    scope: Scope
    places: Mapping[str, tuple[Interval, ...]]
    axes: frozenset[IndexVar]
    classes: bool = False
    fixed: frozenset[IndexVar] = frozenset()
    new: dict[tuple[str, int], list[IndexVar]] = field(default_factory=dict)

    def receipt(self, occurrence: Occurrence, target: ir.Tensor) -> Receipt:
        """The receipt for the read's tensor, in `target`."""
        if self.classes:
            for dimension in range(len(occurrence.access.indices)):
                occurrence = self.in_classes(occurrence, dimension)
        access = occurrence.access
        place = self.places[access.tensor.name]
        left = list(access.indices)
        solutions: list[Solution] = []
        guard: ir.Expr | None = None
        taken = {subscript.bare for subscript in left if subscript.bare is not None}
        for dimension in range(len(left)):
            subscript = left[dimension]
            if subscript.bare is not None and subscript.bare in taken:
                continue
            steps = self.in_steps(subscript, taken) if self.classes else None
            if steps is not None:
                index, whole, step, rest = steps
                ends = self.ends(whole)
                assert ends is not None, "sums of indices have ends"
                position = self.position(access.tensor.name, dimension, index, ends)
                solution = Solution(index, 1, whole, position)
                guard = moved(guard, [solution]) if guard is not None else None
                for test in self.within(solution):
                    guard = ir.both(guard, test)
                solutions.append(solution)
                left = [solution.apply(other) for other in left]
                left[dimension] = Affine.of(position).scale(step) + rest
                for test in self.beyond(left[dimension], place[dimension]):
                    guard = ir.both(guard, test)
                taken |= {position, *rest.variables}
                continue
            solved = None if subscript.is_data else self.solved(subscript, taken)
            if solved is None:
                left[dimension] = _inside(subscript, place[dimension]) if subscript.is_data else subscript
                taken |= subscript.variables
                continue
            index, weight = solved
            position = self.position(access.tensor.name, dimension, index, self.image(subscript, place[dimension]))
            solution = Solution(index, weight, subscript, position)
            guard = moved(guard, [solution]) if guard is not None else None
            for test in self.within(solution):
                guard = ir.both(guard, test)
            solutions.append(solution)
            left = [solution.apply(other) for other in left]
            taken.add(position)
        return self.finished(occurrence, target, tuple(left), solutions, guard)

    def finished(
        self,
        occurrence: Occurrence,
        target: ir.Tensor,
        left: tuple[Affine, ...],
        solutions: Sequence["Solution"],
        guard: ir.Expr | None,
    ) -> Receipt:
        value = moved(occurrence.value, solutions)
        given = None if occurrence.guard is None else moved(occurrence.guard, solutions)
        guard = ir.conjunction([test for test in ir.conjuncts(ir.both(guard, given)) if not self.always(test)])
        on_the_left = frozenset[IndexVar]().union(*(subscript.variables for subscript in left))
        gone = {solution.index for solution in solutions}
        rest = [index for index in occurrence.bound if index not in gone and index not in on_the_left]
        used = ir.free_indices(value) | (frozenset() if guard is None else ir.free_indices(guard))
        repeated = [index for index in rest if index not in used]
        if repeated:
            value = times(value, self.scope.count(repeated, value.dtype))
        return Receipt(target, left, tuple(index for index in rest if index in used), value, guard)

    def in_classes(self, occurrence: Occurrence, dimension: int) -> Occurrence:
        """The same with ``k = s*q + r`` in place of the index that slides over more than its window's stride `s`."""
        subscript, others = occurrence.access.indices[dimension], list(occurrence.access.indices)
        del others[dimension]
        weights = {atom: weight.constant for atom, weight in subscript.terms if isinstance(atom, IndexVar)}
        steps = [
            weight for index, weight in weights.items() if index in self.axes and weight is not None and weight > 1
        ]
        kernels = [index for index, weight in weights.items() if weight == 1 and index not in self.axes]
        if len(steps) != 1 or len(kernels) != 1 or len(subscript.terms) != 2:
            return occurrence
        (step,), (kernel,) = steps, kernels
        interval = self.scope.ranges[kernel]
        extent = interval.extent.constant
        if extent is None or extent <= step or any(kernel in other.variables for other in others):
            return occurrence
        whole = self.scope.new(kernel, Interval.of(0, -(-extent // step)))
        rest = self.scope.new(kernel, Interval.of(0, step))
        number = Affine.of(whole).scale(step) + rest
        values = {kernel: number + interval.lo}
        guard = None if occurrence.guard is None else substitute_expr(occurrence.guard, values)
        if extent % step:
            guard = ir.both(guard, _below(number, Size.of(extent)))
        indices = tuple([substitute_affine(index, values) for index in occurrence.access.indices])
        bound = tuple(new for old in occurrence.bound for new in ((whole, rest) if old == kernel else (old,)))
        access = replace(occurrence.access, indices=indices)
        return Occurrence(access, substitute_expr(occurrence.value, values), bound, guard)

    def in_steps(self, subscript: Affine, taken: Collection[IndexVar]) -> tuple[IndexVar, Affine, int, Affine] | None:
        """The index solved for in ``s*whole + rest``, with `whole`, `s` and `rest`, which gives the residue class."""
        weights = {atom: weight.constant for atom, weight in subscript.terms if isinstance(atom, IndexVar)}
        if len(weights) < len(subscript.terms):
            return None
        for index, step in weights.items():
            if index not in self.axes or index in taken or step is None or step <= 1:
                continue
            rest = [(other, weight) for other, weight in weights.items() if weight is None or weight % step]
            whole = [(other, weight // step) for other, weight in weights.items() if weight and weight % step == 0]
            if len(whole) < 2 or len(rest) != 1 or rest[0][1] != 1 or rest[0][0] in taken:
                continue
            extent = self.scope.ranges[rest[0][0]].extent.constant
            if extent is not None and extent <= step:
                total = Affine.of(0)
                for other, weight in whole:
                    total += Affine.of(other).scale(weight)
                return index, total, step, Affine.of(rest[0][0]) + subscript.base
        return None

    def solved(self, subscript: Affine, taken: Collection[IndexVar]) -> tuple[IndexVar, int] | None:
        """The index for which the subscript is solved, and its weight."""
        hidden = frozenset[IndexVar]().union(
            *(Affine.of(atom).variables for atom, _ in subscript.terms if not isinstance(atom, IndexVar))
        )
        found: list[tuple[IndexVar, int]] = []
        for atom, weight in subscript.terms:
            factor = weight.constant
            if isinstance(atom, IndexVar) and atom not in {*hidden, *taken, *self.fixed} and factor is not None:
                found.append((atom, factor))
        moving = [atom for atom, _ in subscript.terms if atom not in self.fixed]
        if len(found) == len(moving) < len(subscript.terms) and len(found) <= 1:
            return None
        if len(found) == len(subscript.terms) and names_once(subscript, self.scope.ranges):
            return None
        found = [(index, factor) for index, factor in found if abs(factor) == 1 or index in self.axes]
        return max(found, key=lambda pair: self.rank(*pair)) if found else None

    def rank(self, index: IndexVar, weight: int) -> tuple[bool, bool, int]:
        """The preference among indices to solve for: long axes of the result, without a division."""
        extent = self.scope.ranges[index].extent.constant
        return index in self.axes, abs(weight) == 1, extent or 0

    def position(self, tensor: str, dimension: int, like: IndexVar, interval: Interval) -> IndexVar:
        """The index over the elements of a dimension."""
        known = self.new.setdefault((tensor, dimension), [])
        for index in known:
            if self.scope.ranges[index] == interval:
                return index
        known.append(self.scope.new(like, interval))
        return known[-1]

    def image(self, subscript: Affine, place: Interval) -> Interval:
        """The elements that a subscript can name, if that is simple; else all elements."""
        ends = self.ends(subscript)
        if ends is None:
            return place
        if ends.is_constant and place.is_constant:
            found = place.intersect(ends)
            return found if (found.extent.constant or 0) > 0 else Interval(place.lo, place.lo)
        inside = (ends.lo - place.lo).is_nonnegative and (place.hi - ends.hi).is_nonnegative
        return ends if inside else place

    def ends(self, affine: Affine) -> Interval | None:
        """The range of a linear subscript's values."""
        lo = hi = affine.base
        for atom, weight in affine.terms:
            factor = weight.constant
            if not isinstance(atom, IndexVar) or factor is None or atom not in self.scope.ranges:
                return None
            first, last = self.scope.ranges[atom].lo, self.scope.ranges[atom].hi - 1
            lo += (first if factor > 0 else last) * factor
            hi += (last if factor > 0 else first) * factor
        return Interval(lo, hi + 1)

    def within(self, solution: "Solution") -> Iterable[ir.Expr]:
        """The conditions under which some value of the index reads an element, except those that always hold."""
        interval, step = self.scope.ranges[solution.index], abs(solution.weight)
        # The index times the step.
        multiple = solution.multiple
        lo, hi = interval.lo * step, (interval.hi - 1) * step + 1
        ends = self.ends(multiple)
        if ends is None or not (ends.lo - lo).is_nonnegative:
            yield _at_least(multiple, lo)
        if ends is None or not (hi - ends.hi).is_nonnegative:
            yield _below(multiple, hi)
        if step > 1:
            yield compare("==", ir.integer((multiple - lo).remainder(step)), constant(0, "int32"))

    def beyond(self, subscript: Affine, place: Interval) -> Iterable[ir.Expr]:
        """The conditions for positions of a residue class to be inside the tensor: the first and the last may be
        outside.
        """
        ends = self.ends(subscript)
        if ends is None or not (ends.lo - place.lo).is_nonnegative:
            yield _at_least(subscript, place.lo)
        if ends is None or not (place.hi - ends.hi).is_nonnegative:
            yield _below(subscript, place.hi)

    def always(self, test: ir.Expr) -> bool:
        """Whether the ranges alone make a comparison hold."""
        match ir.condition_of(test):
            case AtLeastZero(affine) if not affine.is_data:
                ends = self.ends(affine)
                return ends is not None and ends.lo.is_nonnegative
            case _:
                return False


@dataclass(frozen=True, slots=True)
class Solution:
    """``subscript == position`` with this weight of the index, solved for the index."""

    index: IndexVar
    weight: int
    subscript: Affine
    position: IndexVar

    @property
    def multiple(self) -> Affine:
        """The index times the absolute value of its weight."""
        rest = self.subscript - Affine.of(self.index).scale(self.weight)
        return (Affine.of(self.position) - rest).scale(1 if self.weight > 0 else -1)

    @property
    def value(self) -> Affine:
        """The index, where it is an integer."""
        return self.multiple.quotient(abs(self.weight))

    def apply(self, affine: Affine) -> Affine:
        """The expression in terms of the position."""
        if self.index not in affine.variables:
            return affine
        if affine.weight(self.index) == self.subscript.weight(self.index):
            # So that ``2*((p - k) / 2) + k`` becomes p.
            affine = affine - self.subscript + self.position

        def atom(inner: Atom) -> AffineLike:
            if isinstance(inner, IndexVar):
                return self.value if inner == self.index else inner
            return ir.Data(moved(inner.expr, [self])) if isinstance(inner, ir.Data) else inner

        return affine.rewrite(atom) if self.index in affine.variables else affine


def names_once(subscript: Affine, ranges: Mapping[IndexVar, Interval]) -> bool:
    """Whether the index values are digits of a position, as in ``2*y + k where k in 0:2``, so that each names a
    different one.

    False for an index plus an offset, where the subscript itself serves as the index.
    """
    weights = {atom: weight.constant for atom, weight in subscript.terms if isinstance(atom, IndexVar)}
    if len(weights) < len(subscript.terms) or (len(weights) == 1 and set(weights.values()) <= {1, -1}):
        return False
    reach: int | None = 0
    for index, weight in sorted(weights.items(), key=lambda pair: abs(pair[1] or 0)):
        if weight is None or reach is None or abs(weight) <= reach:
            return False
        extent = ranges[index].extent.constant
        reach = None if extent is None else reach + abs(weight) * max(0, extent - 1)
    return True


def gathered(receipts: Iterable[Receipt]) -> list[Receipt]:
    """Merges receipts that differ only in values and guards."""
    found: dict[object, Receipt] = {}
    for receipt in receipts:
        key = receipt.target.name, receipt.indices, frozenset(receipt.reduction)
        known = found.get(key)
        found[key] = receipt if known is None else _joined(known, receipt)
    return list(found.values())


def formula(receipt: Receipt, *, restart: bool) -> ir.Accumulate:
    accumulate = ir.types.accumulator(receipt.target.dtype)
    return ir.Accumulate(
        receipt.target,
        receipt.indices,
        Reducer.SUM,
        restart,
        receipt.reduction,
        receipt.value,
        accumulate,
        ir.Domain(guard=receipt.guard),
    )


def moved(expr: ir.Expr, solutions: Sequence[Solution]) -> ir.Expr:
    """The expression in terms of the positions for which indices were solved, one after another."""
    for solution in solutions:
        expr = _moved(expr, solution)
    return expr


def _moved(expr: ir.Expr, solution: Solution) -> ir.Expr:
    match expr:
        case ir.Index(variable) if variable == solution.index:
            return ir.integer(solution.value)
        case ir.Access(_, indices):
            return replace(expr, indices=tuple([solution.apply(index) for index in indices]))
        case ir.Reduce(ranges=ranges):
            assert not ranges, "given ranges are guards by now"
            return ir.rebuild(expr, lambda child: _moved(child, solution))
        case _:
            return ir.rebuild(expr, lambda child: _moved(child, solution))


def _inside(subscript: Affine, place: Interval) -> Affine:
    """The element that a data-dependent read accesses: without a boundary such a subscript is clamped."""
    if subscript.bounded is not None:
        return subscript
    return clamp("max", (clamp("min", (subscript, place.hi - 1)), place.lo))


def _joined(left: Receipt, right: Receipt) -> Receipt:
    """Both receipts in one sum: the common condition is the guard, the rest of each a choice."""
    mine, others = ir.conjuncts(left.guard), ir.conjuncts(right.guard)
    common = [part for part in mine if part in others]
    value = plus(_chosen(left.value, mine, common), _chosen(right.value, others, common))
    return replace(left, value=value, guard=ir.conjunction(common))


def _chosen(value: ir.Expr, parts: Sequence[ir.Expr], common: Sequence[ir.Expr]) -> ir.Expr:
    own = ir.conjunction([part for part in parts if part not in common])
    return value if own is None else choose(own, value, constant(0, value.dtype))


def _at_least(value: Affine, end: Size) -> ir.Expr:
    """``end <= value``, with each side free of negative terms."""
    low, high = _sides(value - end)
    return compare("<=", ir.integer(low), ir.integer(high))


def _below(value: Affine, end: Size) -> ir.Expr:
    low, high = _sides(Affine.of(end) - value)
    return compare("<", ir.integer(low), ir.integer(high))


def _sides(difference: Affine) -> tuple[Affine, Affine]:
    """``(a, b)`` with ``b - a`` equal to the difference, neither with negative weights."""
    low, high = Affine.of(0), Affine.of(0)
    for atom, weight in difference.terms:
        factor = weight.constant
        if factor is not None and factor < 0:
            low += Affine.of(atom).scale(-factor)
        else:
            high += Affine.of(atom).scale(weight)
    for monomial, factor in difference.base.terms:
        if factor < 0:
            low += Size(((monomial, -factor),))
        else:
            high += Size(((monomial, factor),))
    return low, high
