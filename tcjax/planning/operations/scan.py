"""Reductions of every prefix, or of every suffix, of a row: one running reduction along it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from ... import ir
from ...ir import Reducer
from ...symbolic import IndexVar
from ...transforms.factors import non_negative
from ..access.reads import as_stored
from ..data.nodes import Node, Scan
from ..folds import plan_elements
from ..rules import plan_value
from ..scope import Scope, fill
from .reduction import Reduction, is_read

# Elements of a row that are combined in sequence: of more, XLA recomputes the earlier ones for each.
BLOCK: Final = 4
# The maximum number of blocks of a row whose sums are added in sequence.
MOST_ROUNDED: Final = 256


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """``S(i) +=! x(j) where j <= i``, and the like with ``<``, ``>=``, ``>`` and a constant: each element is visited
    once.
    """
    reducer = reduction.reducer
    conditions = ir.conjuncts(reduction.mask)
    for number, condition in enumerate(conditions):
        rest = (*conditions[:number], *conditions[number + 1 :])
        row = _row(condition, reduction, scope)
        if row is None or any(row.output in ir.free_indices(part) for part in (*rest, *reduction.factors)):
            continue
        alone = len(reduction.factors) == 1 and is_read(reduction.factors[0])
        if not alone and reduction.around is not None:
            # An element that no result uses has a zero cotangent, which must not multiply another factor's infinity.
            continue
        rest = rest if alone else (*rest, *row.counted(scope))
        found = _elements(replace(reduction, mask=ir.conjunction(rest), around=None), row.index, scope)
        if found is None:
            continue
        operand, mask = found
        if row.index not in operand.axes:
            # A constant for each element: the number of elements.
            low = fill(scope.box[row.index][0], "int32")
            always = scope.apply(">=", (plan_value(ir.Index(row.index), scope), low), "bool")
            nothing = fill(reducer.empty(operand.dtype), operand.dtype)
            operand = scope.apply("where", (always, operand, nothing), operand.dtype)
        own = dict.fromkeys((*operand.axes, *(() if mask is None else mask.axes)))
        if row.index in own:
            axes = scope.sorted((row.output, *(axis for axis in own if axis != row.index)))
            extent = scope.extent(row.output)
            way = "up" if row.rising else "down"
            why = f"`{row.index}` runs {way} to `{row.output}`: one pass visits each element once"
            places = row.index, row.output, extent, row.first, row.rising
            dtype = _dtype(reducer, operand.dtype)
            for looped in _ways(reducer, operand.dtype, scope.extent(row.index)):
                yield Scan(reducer, operand, *places, BLOCK, looped, mask, dtype=dtype, axes=axes, why=why)


def running(reduce: ir.Reduce, scope: Scope) -> Iterator[Node]:
    """The same for reductions without products: of logarithms, positions, registered ones."""
    if scope.live is None and scope.sizes is None and scope.points(reduce.indices):
        yield from propose(
            Reduction(reduce.reducer, reduce.indices, (reduce.body,), reduce.guard, reduce.accumulate), scope
        )


def _dtype(reducer: Reducer | ir.Monoid, running: str) -> str:
    return reducer.components(running)[0] if isinstance(reducer, ir.Monoid) else reducer.result(running, running)


def _ways(reducer: Reducer | ir.Monoid, dtype: str, extent: int) -> tuple[bool, ...]:
    """Whether blocks of a row may be combined in sequence: for floats only a few sums, or each would lose digits."""
    rounds = reducer.is_rounded and not ir.types.is_integral(dtype)
    return (False,) if rounds and extent > BLOCK * MOST_ROUNDED else (False, True)


@dataclass(frozen=True, slots=True)
class _Row:
    """The values of `index` up to `output`, or from there on if it is not `rising`.

    The first result ends (or begins) at position `first` of the row.
    """

    index: IndexVar
    output: IndexVar
    first: int
    rising: bool

    def counted(self, scope: Scope) -> tuple[ir.Expr, ...]:
        """Which elements are part of some result, if not all are."""
        low, high = scope.box[self.index]
        last = low + self.first + scope.extent(self.output)
        if self.rising:
            return () if last >= high else (ir.Binary("<", ir.Index(self.index), ir.Const(last, "int32"), "bool"),)
        begin = ir.Const(low + self.first, "int32")
        return () if self.first <= 0 else (ir.Binary(">=", ir.Index(self.index), begin, "bool"),)


def _row(condition: ir.Expr, reduction: Reduction, scope: Scope) -> _Row | None:
    """``j <= i`` as a row, for a reduced index `j`."""
    difference = non_negative(condition)
    if difference is None or not difference.is_linear or len(difference.variables) != 2:
        return None
    reduced = difference.variables & set(reduction.indices)
    if len(reduced) != 1 or difference.variables & scope.unrolled:
        return None
    [index], [output] = reduced, difference.variables - reduced
    slope = difference.weight(index).constant
    if slope not in (1, -1) or difference.weight(output).constant != -slope:
        return None
    ends = difference if slope == -1 else -difference
    first = ends.evaluate(lambda variable: scope.box[variable][0] if isinstance(variable, IndexVar) else 0, {})
    return _Row(index, output, first, slope == -1)


def _elements(reduction: Reduction, index: IndexVar, scope: Scope) -> tuple[Node, Node | None] | None:
    """The values reduced along an index, with the rest of the reduction applied at each; and which elements exist.

    None if the results of the rest are not elements.
    """
    reducer = reduction.reducer
    rest = tuple(other for other in reduction.indices if other != index)
    if rest:
        if isinstance(reducer, Reducer) and reducer.operator is not None:
            return replace(reduction, indices=rest, is_term=False).cheapest(scope), None
        in_order = reducer.commutative or reduction.indices[0] == index
        if not reducer.continues or not in_order or (isinstance(reducer, ir.Monoid) and reducer.inject is not None):
            return None
        return plan_value(replace(reduction.expr, indices=rest), scope), None
    if isinstance(reducer, ir.Monoid) or reducer.gives_position:
        return plan_elements(reduction.expr, scope)
    return as_stored(reduction.values(scope)), None
