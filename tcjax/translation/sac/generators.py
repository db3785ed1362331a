"""Ranges of indices as generators."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ... import ir
from ...elaboration.subscripts import affine
from ...ir import types
from ...symbolic import Affine, Extremum, Floor, IndexVar, Interval, Size, clamp
from ...syntax.sac import tree
from ..refusal import refuse
from .sac_expressions import Scope
from .shapes import finds_bounds


@dataclass(frozen=True, slots=True)
class Limits:
    """``lo <= index < hi`` for every `lo` and every `hi`."""

    lows: tuple[Affine, ...]
    highs: tuple[Affine, ...]

    @staticmethod
    def of(interval: Interval) -> "Limits":
        return Limits((Affine((), interval.lo),), (Affine((), interval.hi),))

    def low(self, scope: Scope) -> Affine:
        """The largest of the lower ends, without those known to be smaller."""
        kept = _decisive(self.lows, lambda one, other: scope.is_nonnegative(other - one))
        return clamp("max", kept)

    def high(self, scope: Scope) -> Affine:
        """The smallest of the upper ends, without those known to be larger."""
        kept = _decisive(self.highs, lambda one, other: scope.is_nonnegative(one - other))
        return clamp("min", kept)


def interval_of(index: IndexVar, scope: Scope, statement: ir.Define | ir.Accumulate | ir.Reduce) -> Interval:
    """The range of an index. Raises TC0109 where it has no formula."""
    interval = scope.intervals.get(index)
    if interval is None:
        help = f"give the range a formula: `where {index.name} in 0:N`"
        raise refuse("SaC", f"how far `{index.name}` runs: its range has no formula", statement.span, help=help)
    return interval


def as_limit(test: ir.Expr, indices: tuple[IndexVar, ...]) -> tuple[IndexVar, Limits] | None:
    """A comparison of one of the indices with an expression of outer ones, as an end of its range; None for others."""
    if not isinstance(test, ir.Binary) or test.operator not in ("<", "<=", ">", ">="):
        return None
    if not types.is_integral(test.left.dtype):
        return None
    difference = affine(test.left) - affine(test.right)
    if difference.is_data:
        return None
    inner = [index for index in indices if index in difference.variables]
    weight = difference.weight(inner[0]).constant if len(inner) == 1 else None
    if weight not in (1, -1):
        return None
    index, rest = inner[0], difference - Affine.of(inner[0]).scale(weight)
    if index in rest.variables:
        return None
    # index < end, index <= end, ...; mirrored if the index is subtracted.
    end, operator = (-rest, test.operator) if weight == 1 else (rest, _MIRRORED[test.operator])
    match operator:
        case "<":
            return index, Limits((), (end,))
        case "<=":
            return index, Limits((), (end + 1,))
        case ">":
            return index, Limits((end + 1,), ())
        case _:
            return index, Limits((end,), ())


_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def comprehension(
    names: tuple[str, ...], lows: tuple[Affine, ...], highs: tuple[Affine, ...], body: tree.Expr, scope: Scope
) -> tree.Partition:
    """``[i, j] -> body | lows <= [i, j] < highs``, without the generator where SaC infers the same.

    `scope` is the scope around the partition: a generator does not see the indices that it bounds.
    """
    pattern = tree.IndexPattern(names)
    zero = Affine.of(0)
    starts = all(low == zero for low in lows)
    bounds = {name: high.base for name, high in zip(names, highs, strict=True) if not high.terms}
    if starts and len(bounds) == len(names) and finds_bounds(body, bounds, scope.shapes):
        return tree.Partition(pattern, body)
    lower = None if starts else tree.Bound(tree.Vector(tuple(map(scope.subscript, lows))), strict=False)
    # A range whose end is before its start is empty; an extent must not be negative.
    ends = [
        high if not high.terms or scope.is_nonnegative(high) else clamp("max", (high, Affine.of(0))) for high in highs
    ]
    upper = tree.Bound(tree.Vector(tuple([_end(end, scope) if starts else scope.subscript(end) for end in ends])), True)
    return tree.Partition(pattern, body, tree.Generator(lower, upper))


def _end(end: Affine, scope: Scope) -> tree.Expr:
    """An upper end of a range that starts at 0, and so is not negative: ``(N + 1) / 2`` for ``(N - 1) // 2 + 1``."""
    if end.terms:
        return scope.subscript(end)
    factors = [factor for factor, _ in end.base.terms if factor]
    match factors:
        case [(Floor(numerator, divisor) as floor,)] if (rest := (end.base - Size.of(floor)).constant) is not None:
            return tree.Binary("/", _size(numerator + divisor * rest, scope), _size(divisor, scope))
        case [(Extremum(kind, arguments) as extremum,)] if end.base == Size.of(extremum):
            return scope.extremum(kind, [_end(Affine((), argument), scope) for argument in arguments])
        case _:
            return scope.subscript(end)


def _size(size: Size, scope: Scope) -> tree.Expr:
    return scope.subscript(Affine((), size))


def _decisive(ends: tuple[Affine, ...], is_implied: Callable[[Affine, Affine], bool]) -> list[Affine]:
    kept: list[Affine] = []
    for end in dict.fromkeys(ends):
        if any(is_implied(end, other) for other in kept):
            continue
        kept = [other for other in kept if not is_implied(other, end)]
        kept.append(end)
    return kept
