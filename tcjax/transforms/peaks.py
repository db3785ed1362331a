"""Exponentials of values relative to their maximum, or to the logarithm of the sum of all exponentials.

In ``exp(x(q,k) - m(q))`` with ``m(q) = max[j] x(q,j)``, ``m(q)`` is NaN wherever ``x(q,k)`` is: so `x` may be replaced
by anything there.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from .. import ir
from ..symbolic import Affine, Box, IndexVar
from .inlining import Named, Shape, Step, named
from .shifts import unmarked
from .substitution import numbered, substitute_expr

_TYPES = ("float32", "float64")
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Relative:
    """The exponential of the sum of `terms`, one of the values over which `peak` is the maximum, minus `peak`."""

    terms: tuple[ir.Term, ...]
    peak: ir.Expr


def peak_of(step: Step, shape: Shape, origin: Shape, is_new: bool) -> Named | None:
    """The step's definition of its target, if each element is the maximum of some values."""
    found = named(step, shape, origin, is_new)
    return found if found is not None and _is_peak(found.value) else None


def relative(expr: ir.Expr, peaks: Mapping[str, Named], box: dict[IndexVar, Span]) -> Relative | None:
    """The expression as an exponential relative to a peak; `peaks` are the tensors that hold maxima.

    The ranges of the indices that these bind are added to the box.
    """
    if not isinstance(expr, ir.Call) or expr.function != "exp" or expr.dtype not in _TYPES:
        return None
    found = ir.terms(expr.arguments[0])
    for number, (negative, term) in enumerate(found):
        others = tuple(found[:number] + found[number + 1 :])
        reduce = _reduction(term, peaks, box) if negative and others else None
        if reduce is None or not _is_peak(reduce) or reduce.dtype != expr.dtype:
            continue

        def inside(old: IndexVar, new: IndexVar) -> bool:
            return box[old][0] <= box[new][0] and box[new][1] <= box[old][1]

        if any(True for _ in points(reduce.indices, reduce.body, others, box, inside)):
            return Relative(others, term)
    return None


def points(
    indices: tuple[IndexVar, ...],
    body: ir.Expr,
    value: Iterable[ir.Term],
    box: Box,
    fits: Callable[[IndexVar, IndexVar], bool],
) -> Iterator[dict[IndexVar, IndexVar]]:
    """Substitutions for these indices, each where it `fits`, that make the body the sum of these terms."""
    given = tuple(value)
    free = sorted(frozenset[IndexVar]().union(*(ir.free_indices(term) for _, term in given)), key=str)
    wanted = _counted(given, box)
    for image in permutations(free, len(indices)):
        point = dict(zip(indices, image, strict=True))
        if all(fits(old, new) for old, new in point.items()):
            values = {old: Affine.of(new) for old, new in point.items()}
            if _counted(ir.terms(substitute_expr(body, values)), box) == wanted:
                yield point


def _counted(found: Iterable[ir.Term], box: Box) -> Mapping[ir.Term, int]:
    return Counter((negative, numbered(unmarked(term), box)) for negative, term in found)


def _is_peak(expr: ir.Expr) -> bool:
    """Whether the value is the maximum of others in their own type, without excluded points."""
    if not isinstance(expr, ir.Reduce) or not expr.reducer.is_upper_bound or expr.guard is not None:
        return False
    return expr.dtype == expr.accumulate == expr.body.dtype


def _reduction(term: ir.Expr, peaks: Mapping[str, Named], box: dict[IndexVar, Span]) -> ir.Reduce | None:
    """The reduction of a term, if it is a peak."""
    if isinstance(term, ir.Access) and term.tensor.name in peaks:
        if any(subscript.is_data for subscript in term.indices):
            return None
        found = peaks[term.tensor.name].at(term.indices, box)
        return found if isinstance(found, ir.Reduce) else None
    return term if isinstance(term, ir.Reduce) else None
