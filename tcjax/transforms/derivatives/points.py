"""What the points of a reduction contribute to its result, to first order."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from ... import ir
from ...diagnostics import Code, CompileError
from ...ir import Reducer
from .arithmetic import call, cast, choose, compare, constant, minus, over, times
from .links import is_smooth
from .scope import Bound, Scope

# Values that a reduction's derivative needs besides its operands: a name for each, and the reduction that computes it.
Keep = Callable[[str, ir.Reduce], ir.Expr]


@dataclass(frozen=True, slots=True)
class Points:
    """``scale * sum[indices where condition](weight * tangent of the body)``; None is 1, or true."""

    scale: ir.Expr | None = None
    condition: ir.Expr | None = None
    weight: ir.Expr | None = None


def points(
    reduce: ir.Reduce, scope: Scope, bound: Bound, keep: Keep | None = None, *, scattered: bool = False
) -> Points | None:
    """How the result depends on the reduction's body; None if it does not.

    `bound` are the indices bound around the reduction. `keep` names a reduction that is read where the reduction's own
    indices are bound; without it, that reduction is repeated inline. With `scattered`, points of outer indices
    contribute to one result, too.
    """
    if not is_smooth(reduce.dtype):
        return None
    return _Points(reduce, scope, bound | frozenset(reduce.indices), keep, scattered).points()


@dataclass(frozen=True, slots=True)
class _Points:
    reduce: ir.Reduce
    scope: Scope
    inside: Bound
    keep: Keep | None
    scattered: bool

    def kept(self, name: str, reduce: ir.Reduce) -> ir.Expr:
        if self.keep is not None:
            return self.keep(name, reduce)
        return self.scope.apart(reduce, self.inside)

    def points(self) -> Points | None:
        reduce, body = self.reduce, self.scope.apart(self.reduce.body, self.inside)
        match reduce.reducer:
            case Reducer.SUM:
                return Points(condition=reduce.guard)
            case Reducer.MEAN:
                return self.mean()
            case Reducer.LOGSUMEXP:
                result = self.kept("", reduce)
                nothing = compare("==", result, constant(-float("inf"), result.dtype))
                weight = choose(nothing, constant(0, body.dtype), call("exp", minus(body, result)))
                return Points(condition=reduce.guard, weight=weight)
            case Reducer.PRODUCT:
                return self.product(body)
            case Reducer() as reducer if reducer.gives_position or reducer.takes_bool:
                return None
            case Reducer() as reducer:
                return self.ranked() if reducer.is_ranked else self.extremum(body)
            case monoid:
                raise CompileError(
                    Code.NO_DERIVATIVE,
                    f"the derivative of a reduction by `{monoid.value}` is no formula",
                    reduce.span,
                    help="use `jax.grad`, which differentiates its Python functions",
                )

    def mean(self) -> Points:
        """Nothing passes if no point is active."""
        reduce = self.reduce
        if reduce.guard is None and not self.scattered:
            count = self.scope.count(reduce.indices, reduce.accumulate)
        else:
            one = constant(1, reduce.accumulate)
            counted = self.counted("count", reduce.guard, reduce.accumulate)
            count = ir.Binary("max", counted, one, one.dtype)
        return Points(over(constant(1, reduce.dtype), cast(count, reduce.dtype)), reduce.guard)

    def counted(self, name: str, condition: ir.Expr | None, dtype: str) -> ir.Expr:
        """The number of points where a condition holds."""
        reduce = self.reduce
        one = constant(1, dtype)
        return self.kept(name, ir.Reduce(Reducer.SUM, reduce.indices, (), condition, one, None, dtype, dtype))

    def product(self, body: ir.Expr) -> Points:
        """The product of the other factors: the total divided by the point's own factor, or the nonzero rest if only
        that factor is 0.

        If two factors are 0, the product is 0, but it grows with the other one's tangent: that term is a sum of zeros.
        """
        reduce = self.reduce
        none, one = constant(0, body.dtype), constant(1, body.dtype)
        zero = compare("==", body, none)
        zeros = self.counted("zeros", _guarded(reduce, zero), "int32")
        rest = self.kept("rest", replace(reduce, body=choose(zero, one, body)))
        lost = self.kept("lost", replace(reduce, reducer=Reducer.SUM, guard=_guarded(reduce, zero)))
        pair = choose(compare("==", zeros, constant(2, "int32")), times(rest, minus(lost, body)), none)
        alone = choose(compare("==", zeros, constant(1, "int32")), rest, pair)
        weight = choose(zero, alone, over(self.kept("", reduce), body))
        return Points(condition=reduce.guard, weight=weight)

    def extremum(self, body: ir.Expr) -> Points:
        """The points that attain the result share it; the first one does even if its recomputed value is rounded
        differently.
        """
        reduce = self.reduce
        has_it = compare("==", body, self.kept("", reduce))
        if not self.scattered:
            # Positions count the points of the reduction only.
            first = self.kept("first", replace(_place(reduce), accumulate=body.dtype))
            is_first = compare("==", ir.integer(self.scope.place(reduce.indices)), first)
            has_it = ir.Binary("||", has_it, is_first, "bool")
        has_it = _guarded(reduce, has_it)
        one = constant(1, body.dtype)
        # Without points, none share.
        ties = ir.Binary("max", self.counted("ties", has_it, body.dtype), one, body.dtype)
        return Points(over(one, ties), has_it)

    def ranked(self) -> Points:
        """The point at the position selected by the rank, if there is one."""
        reduce, rank = self.reduce, self.reduce.rank
        assert rank is not None
        chosen = self.kept("chosen", _place(reduce))
        is_chosen = compare("==", ir.integer(self.scope.place(reduce.indices)), chosen)
        rank = cast(self.scope.apart(rank, self.inside), "int32")
        if reduce.guard is None:
            count = self.scope.count(reduce.indices, "int32")
        else:
            count = self.counted("count", reduce.guard, "int32")
        condition = _guarded(reduce, is_chosen)
        match rank, count:
            case ir.Const(int() as r), ir.Const(int() as n) if 0 <= r < n:
                pass
            case _:
                condition = ir.both(condition, compare(">=", rank, constant(0, "int32")))
                condition = ir.both(condition, compare("<", rank, count))
        return Points(condition=condition)


def first_point(reduce: ir.Reduce, scope: Scope, keep: Keep) -> tuple[ir.Expr, ir.Expr]:
    """The position of the first point that attains an extremum, and the number of such points."""
    inside = frozenset(reduce.indices)
    body = scope.apart(reduce.body, inside)
    kept: dict[str, ir.Expr] = {}

    def noted(name: str, needed: ir.Reduce) -> ir.Expr:
        kept[name] = keep(name, needed)
        return kept[name]

    _Points(reduce, scope, inside, noted, False).extremum(body)
    return kept["first"], kept["ties"]


def chosen_point(reduce: ir.Reduce, scope: Scope, keep: Keep) -> tuple[ir.Expr, ir.Expr | None]:
    """The position of the point selected by an order statistic, and whether there is one (None: always)."""
    assert reduce.rank is not None
    chosen = keep("chosen", _place(reduce))
    rank = cast(reduce.rank, "int32")
    if reduce.guard is None:
        count = scope.count(reduce.indices, "int32")
    else:
        one = constant(1, "int32")
        count = keep("count", ir.Reduce(Reducer.SUM, reduce.indices, (), reduce.guard, one, None, "int32", "int32"))
    return chosen, ir.both(compare(">=", rank, constant(0, "int32")), compare("<", rank, count))


def _place(reduce: ir.Reduce) -> ir.Reduce:
    """The position of the selected value."""
    assert isinstance(reduce.reducer, Reducer)
    return replace(reduce, reducer=reduce.reducer.variant(gives_position=True), dtype="int32")


def _guarded(reduce: ir.Reduce, condition: ir.Expr) -> ir.Expr:
    found = ir.both(reduce.guard, condition)
    assert found is not None
    return found
