"""Constant contents of tensors where a condition leaves nothing else, and the resulting values."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from .. import ir
from ..symbolic import Facts, IndexVar
from .decisions import decide_alone
from .definitions import of_nothing
from .inlining import Named, Step
from .peaks import Relative, Span, relative

LOWEST: Final = -float("inf")


@dataclass(frozen=True, slots=True)
class Rest:
    """The contents of a tensor where the subscript of a `dimension` is in ``places``: a value that does not depend on
    it.

    It may be NaN too, if it is `exactly` the tensor's value.
    """

    dimension: int
    places: Span
    known: Named
    exactly: Named | None = None


Rests = Mapping[str, tuple[Rest, ...]]
# Selects the part of a rest that replaces the tensor, if any.
Chosen = Callable[[Rest], Named | None]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is known about tensors: their `rests`, and the `peaks`, which hold the maximum of some values."""

    rests: Rests = field(default_factory=dict[str, tuple[Rest, ...]])
    peaks: Mapping[str, Named] = field(default_factory=dict[str, Named])

    def after(self, step: Step, rests: Iterable[Rest], peak: Named | None) -> "Contents":
        """The knowledge after a statement that leaves these rests, and perhaps a peak, in its target."""
        name = step.statement.target.name

        def stays(value: Named | None) -> bool:
            return value is None or all(access.tensor.name != name for access in ir.accesses(value.value))

        known = {**self.rests, name: tuple(rests)}
        left = {
            other: tuple(rest for rest in found if stays(rest.known) and stays(rest.exactly))
            for other, found in known.items()
        }
        peaks = {other: value for other, value in self.peaks.items() if other != name and stays(value)}
        if peak is not None and stays(peak):
            peaks[name] = peak
        return Contents(left, peaks)


class Values:
    """The values of expressions where indices have certain values; `box` has the ranges of all."""

    def __init__(self, box: dict[IndexVar, Span], contents: Contents) -> None:
        self.box = box
        self.contents = contents

    def within(
        self, guard: ir.Expr | None, value: ir.Expr, segment: Mapping[IndexVar, Span]
    ) -> tuple[ir.Expr | None, ir.Expr]:
        """A guard and a value, simplified for indices in these ranges with what is known about tensors there."""
        inner = self.replaced(value, segment, _certain)
        outer = None if guard is None else self.replaced(guard, segment, _certain)
        left, found = decide_alone(outer, inner, {**self.box, **segment})
        return left, _folded(found)

    def is_lowest(self, value: ir.Expr, segment: Mapping[IndexVar, Span]) -> bool:
        """Whether a value is NaN or minus infinity for indices in these ranges."""
        if not ir.types.is_float(value.dtype):
            return False
        inner = self.replaced(value, segment, _or_nan)
        _, found = decide_alone(None, inner, {**self.box, **segment})
        return any(ir.number_of(term) == (-LOWEST if negative else LOWEST) for negative, term in ir.terms(found))

    def exactly(self, value: ir.Expr, segment: Mapping[IndexVar, Span]) -> ir.Expr:
        """A value that is NaN or minus infinity, without reads of tensors that contain only these."""
        _, found = decide_alone(None, self.replaced(value, segment, _exactly), {**self.box, **segment})
        return found

    def replaced(self, expr: ir.Expr, segment: Mapping[IndexVar, Span], chosen: Chosen) -> ir.Expr:
        """The expression with the `chosen` parts of known contents in place of reads."""
        peak = self._relative(expr, segment)
        if peak is not None and self.is_lowest(ir.summed(peak.terms, expr.dtype), segment):
            # If it is NaN after all, so is the peak.
            lowest = ir.Const(LOWEST, expr.dtype)
            assert isinstance(expr, ir.Call)
            return replace(expr, arguments=(ir.Binary("-", lowest, peak.peak, expr.dtype),))
        expr = ir.rebuild(expr, lambda part: self.replaced(part, segment, chosen))
        if isinstance(expr, ir.Access):
            for rest in self._rests(expr, segment):
                known = chosen(rest)
                if known is not None:
                    return known.at(expr.indices, self.box)
        return expr

    def _relative(self, expr: ir.Expr, segment: Mapping[IndexVar, Span]) -> Relative | None:
        # Indices that a peak binds are dropped again.
        return relative(expr, self.contents.peaks, {**self.box, **segment})

    def _rests(self, read: ir.Access, segment: Mapping[IndexVar, Span]) -> Iterable[Rest]:
        """The known contents of the element being read."""
        rests = self.contents.rests.get(read.tensor.name, ())
        if not rests:
            return
        box = {**self.box, **segment}
        facts = Facts.over({own: span for own, span in box.items() if span[0] < span[1]})
        for rest in rests:
            found = facts.values(read.indices[rest.dimension])
            if found is not None and rest.places[0] <= found[0] and found[1] < rest.places[1]:
                yield rest


def _certain(rest: Rest) -> Named | None:
    return rest.known if rest.exactly is None else None


def _or_nan(rest: Rest) -> Named:
    return rest.known


def _exactly(rest: Rest) -> Named:
    return rest.exactly or rest.known


def _folded(expr: ir.Expr) -> ir.Expr:
    """The expression with reductions over nothing, or over their identity only, replaced by numbers."""
    expr = ir.rebuild(expr, _folded)
    match expr:
        case ir.Reduce():
            return of_nothing(expr) or expr
        case ir.Cast(ir.Const(bool() | int() | float() as value), dtype) if ir.types.is_float(dtype):
            return ir.Const(float(value), dtype, span=expr.span)
        case _:
            return expr


__all__ = ["LOWEST", "Contents", "Rest", "Rests", "Values"]
