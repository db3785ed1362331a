"""Recognises windows written term by term: ``I(2*y) + I(2*y+1)`` becomes ``sum[i in 0:2](I(2*y+i))``."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, Box, IndexVar
from .definitions import Formula, as_accumulation
from .flattening import flattened
from .inlining import Step
from .substitution import substitute_expr

# Fewer terms stay terms; more are not written as a window by hand.
LEAST_TERMS: Final = 4
MOST_TERMS: Final = 64
_OPERATORS: Final = ("+", "max", "min")
# In half precision such a sum is rounded after every term, unlike a reduction.
_TYPES: Final = ("float32", "float64")


def windowed(step: Step) -> Step:
    """The step with sums and extrema of the same expression over a grid of shifts as reductions.

    Terms may be grouped by parentheses in any way, also in nested pairs; an incomplete grid is left alone.
    """
    value = _windows(step.statement.value)
    if value == step.statement.value:
        return step
    box: dict[IndexVar, tuple[int, int]] = {}
    statement = replace(step.statement, value=_named(value, box))
    statement = flattened(statement) or statement
    statement = as_accumulation(statement) or statement
    if any(_is_window(reducer, indices, box) for reducer, indices in _reductions(statement)):
        return replace(step, statement=statement, box={**step.box, **box})
    return step


def _is_window(reducer: Reducer | ir.Monoid, indices: Sequence[IndexVar], box: Box) -> bool:
    """Whether a reduction has enough terms for a window: two sums of pairs do not."""
    terms = prod(box[index][1] for index in indices if index in box)
    return terms >= (LEAST_TERMS if reducer is Reducer.SUM else 2)


def _reductions(statement: Formula) -> Iterator[tuple[Reducer | ir.Monoid, Sequence[IndexVar]]]:
    if isinstance(statement, ir.Accumulate):
        yield statement.reducer, statement.reduction
    for node in ir.walk(statement.value):
        if isinstance(node, ir.Reduce):
            yield node.reducer, node.indices


def _named(expr: ir.Expr, box: dict[IndexVar, tuple[int, int]]) -> ir.Expr:
    """The expression with fresh names for the indices of its windows, whose ranges are added to the box."""
    expr = ir.rebuild(expr, lambda part: _named(part, box))
    if not isinstance(expr, ir.Reduce) or not isinstance(expr.indices[0], _Tap):
        return expr
    names: dict[IndexVar, IndexVar] = {}
    for tap in expr.indices:
        assert isinstance(tap, _Tap)
        names[tap] = IndexVar("tap", len(box))
        box[names[tap]] = (0, tap.extent)
    body = substitute_expr(expr.body, {old: Affine.of(new) for old, new in names.items()})
    return replace(expr, indices=tuple(names.values()), body=body)


@dataclass(frozen=True, slots=True)
class _Tap(IndexVar):
    """An index of a window, equal for similar windows: `name` and `tag` are its axis and its depth."""

    extent: int = 0


def _windows(expr: ir.Expr) -> ir.Expr:
    """The expression with reductions in place of terms, including nested pairs."""
    if not isinstance(expr, ir.Binary) or expr.operator not in _OPERATORS or expr.dtype not in _TYPES:
        return ir.rebuild(expr, _windows)
    terms = ir.operands(expr, expr.operator)
    if len(terms) <= MOST_TERMS:
        found = _window(expr, list(map(_windows, terms)))
        if found is not None:
            return found
    return ir.rebuild(expr, _windows)


def _window(expr: ir.Binary, terms: Sequence[ir.Expr]) -> ir.Reduce | None:
    """The terms as one reduction; None if they are not one expression over a grid."""
    plain = _moved(terms[0], lambda _: Affine.of(0))
    if any(_moved(term, lambda _: Affine.of(0)) != plain for term in terms[1:]):
        return None
    depth = 1 + max(
        (i.tag for node in ir.walk(terms[0]) if isinstance(node, ir.Reduce) for i in node.indices), default=0
    )
    axes: dict[tuple[int, ...], IndexVar] = {}
    subscripts: list[Affine] = []
    for values in zip(*map(_bases, terms), strict=True):
        places = sorted(set(values))
        if len(places) == 1:
            subscripts.append(Affine.of(places[0]))
            continue
        stride = places[1] - places[0]
        if places != list(range(places[0], places[-1] + 1, stride)):
            return None
        ranks = tuple((value - places[0]) // stride for value in values)
        back = tuple(len(places) - 1 - rank for rank in ranks)
        if back in axes:
            subscripts.append(Affine.of(axes[back]).scale(-stride) + places[-1])
            continue
        axis = axes.setdefault(ranks, _Tap(f"tap{len(axes)}", depth, len(places)))
        subscripts.append(Affine.of(axis).scale(stride) + places[0])
    extents = [1 + max(ranks) for ranks in axes]
    if not axes or prod(extents) != len(terms) or len(set(zip(*axes, strict=True))) != len(terms):
        return None
    following = iter(subscripts)
    body = _moved(terms[0], lambda _: next(following))
    reducer, kind = ir.BY_OPERATOR[expr.operator], expr.dtype
    return ir.Reduce(reducer, tuple(axes.values()), (), None, body, None, kind, kind, span=expr.span)


def _bases(expr: ir.Expr) -> list[int]:
    """The constants of the subscripts, in order."""
    found: list[int] = []

    def visit(base: int) -> Affine:
        found.append(base)
        return Affine.of(base)

    _moved(expr, visit)
    return found


def _moved(expr: ir.Expr, base: Callable[[int], Affine]) -> ir.Expr:
    """The expression with other constants in its data-independent subscripts."""
    if not isinstance(expr, ir.Access):
        return ir.rebuild(expr, lambda part: _moved(part, base))
    if any(subscript.is_data or subscript.base.constant is None for subscript in expr.indices):
        return expr
    indices = tuple(s - s.base + base(s.base.constant or 0) for s in expr.indices)
    return replace(expr, indices=indices)
