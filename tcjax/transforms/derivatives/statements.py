"""Derivatives of one reduction or expression with numeric sizes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ... import ir
from ...symbolic import Affine, Box, IndexVar, Interval, Size
from .backward import Backward
from .forward import Forward
from .hoisting import reduction
from .inversion import Inversion, formula, gathered
from .points import first_point
from .scope import Scope


@dataclass(frozen=True, slots=True)
class Formula:
    """A statement and the range of each of its indices, inline reductions' included; its domain has no ranges."""

    statement: ir.Define | ir.Accumulate
    box: Box


@dataclass(frozen=True, slots=True)
class Derivative:
    """The tangent of a reduction at every point of its axes; None if it is zero.

    It is linear in the tangent tensors. It reads the targets of `before`, which depend only on the primal tensors, and
    have one dimension for each axis, starting at the axis' first value, like the result. `single` is a much cheaper
    tangent, valid where the tensor that it names is 1 everywhere. `primal` is the reduction itself, if the targets of
    `before` give it.
    """

    before: tuple[Formula, ...]
    value: ir.Expr | None
    box: Box
    single: tuple[ir.Expr, str] | None = None
    primal: ir.Expr | None = None

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        """All expressions that it computes."""
        before = (formula.statement for formula in self.before)
        parts = (self.value, *(part for statement in before for part in (statement.value, statement.domain.guard)))
        return tuple(part for part in parts if part is not None)


def tangent(
    reduce: ir.Reduce,
    axes: tuple[IndexVar, ...],
    box: Box,
    result: ir.Tensor,
    active: Mapping[str, ir.Tensor],
) -> Derivative:
    """The tangent of ``result(axes) = reduce`` with respect to the tensors of `active`, which has the tangent tensor
    for each name.

    Raises `CompileError` (TC0309) for a function whose derivative has no name.
    """
    scope = _scope(box)
    before: dict[str, Formula] = {}
    subscripts = tuple(map(Affine.of, axes))

    def keep(name: str, needed: ir.Reduce) -> ir.Expr:
        if not name:
            return ir.Access(result, subscripts)
        target = ir.Tensor(f"{result.name}.{name}", needed.dtype, result.shape)
        before[name] = Formula(reduction(target, subscripts, needed), {})
        return ir.Access(target, subscripts)

    forward = Forward(scope, active)
    value = forward.tangent(reduce, frozenset(axes), keep)
    found = None if value is None else forward.single(reduce, frozenset(axes), keep)
    if value is None:
        return Derivative((), None, {})
    primal = forward.primal(reduce, keep)
    ends = {index: _ends(interval) for index, interval in scope.ranges.items()}
    formulas = tuple([Formula(kept.statement, _used(kept.statement, ends)) for kept in before.values()])
    single = None
    if found is not None:
        alone, ties = found
        assert isinstance(ties, ir.Access)
        single = alone, ties.tensor.name
    others = [expr for expr in (primal, *(single or ())[:1]) if isinstance(expr, ir.Expr)]
    return Derivative(formulas, value, _of_all([value, *others], axes, ends), single, primal)


def adjoint(
    value: ir.Expr,
    axes: tuple[IndexVar, ...],
    box: Box,
    cotangent: ir.Tensor,
    wrt: Mapping[str, ir.Tensor],
    origins: Mapping[str, tuple[int, ...]] = {},
) -> tuple[Formula, ...]:
    """The receipts of the tensors that `value` reads, given the cotangent of ``(axes) -> value``.

    `wrt` has the receiving tensor for each tensor by name; one that no statement writes receives nothing. The first
    statement of a target restarts it, the others add to it. `origins` are the subscripts of the tensors' first elements
    (default 0). Raises `CompileError` (TC0309) for a function whose derivative has no name.
    """
    scope = _scope(box)
    given = ir.Access(cotangent, tuple(map(Affine.of, axes)))
    places = {name: _places(tensor, origins.get(name)) for name, tensor in wrt.items()}
    inversion = Inversion(scope, places, frozenset(axes), classes=True)
    occurrences = Backward(scope, wrt).pull(value, given, axes)
    receipts = gathered([inversion.receipt(found, wrt[found.access.tensor.name]) for found in occurrences])
    order = list(wrt)
    names = {tensor.name: number for number, tensor in enumerate(wrt[name] for name in order)}
    receipts.sort(key=lambda receipt: names[receipt.target.name])
    found = {index: _ends(interval) for index, interval in scope.ranges.items()}
    formulas: list[Formula] = []
    started: set[str] = set()
    for receipt in receipts:
        statement = formula(receipt, restart=receipt.target.name not in started)
        started.add(receipt.target.name)
        formulas.append(Formula(statement, _used(statement, found)))
    return tuple(formulas)


def ties(
    reduce: ir.Reduce, axes: tuple[IndexVar, ...], box: Box, place: ir.Expr, value: ir.Expr
) -> tuple[ir.Reduce, Box]:
    """The number of points that attain an extremum, given its first `place` and `value` at every point of `axes`."""
    scope = _scope(box)
    found: dict[str, ir.Reduce] = {}

    def keep(name: str, needed: ir.Reduce) -> ir.Expr:
        found[name] = needed
        return value if not name else place

    first_point(reduce, scope, keep)
    ends = {index: _ends(interval) for index, interval in scope.ranges.items()}
    return found["ties"], _of(found["ties"], axes, ends)


def _scope(box: Box) -> Scope:
    return Scope({index: Interval.of(*ends) for index, ends in box.items()})


def _ends(interval: Interval) -> tuple[int, int]:
    lo, hi = interval.lo.constant, interval.hi.constant
    assert lo is not None and hi is not None, "sizes are numbers here"
    return lo, hi


def _places(tensor: ir.Tensor, origin: tuple[int, ...] | None) -> tuple[Interval, ...]:
    starts = origin or (0,) * tensor.rank
    return tuple([Interval(Size.of(start), extent + start) for start, extent in zip(starts, tensor.shape, strict=True)])


def _used(statement: ir.Define | ir.Accumulate, box: Box) -> Box:
    left = frozenset[IndexVar]().union(*(subscript.variables for subscript in statement.indices))
    reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
    return _of_all(ir.parts_of(statement), (*left, *reduction), box)


def _of(expr: ir.Expr, axes: Iterable[IndexVar], box: Box) -> Box:
    return _of_all([expr], axes, box)


def _of_all(exprs: Iterable[ir.Expr], indices: Iterable[IndexVar], box: Box) -> Box:
    used = set(indices)
    for expr in exprs:
        used |= ir.free_indices(expr)
        for node in ir.walk(expr):
            if isinstance(node, ir.Reduce):
                used |= set(node.indices)
    return {index: ends for index, ends in box.items() if index in used}
