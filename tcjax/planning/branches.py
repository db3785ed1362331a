"""Masks values that are used only under a condition, so that no derivative multiplies zero by infinity."""

from collections.abc import Iterable
from dataclasses import replace

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, IndexVar
from ..transforms.factors import non_negative
from .data.nodes import Node
from .scope import Scope


def branch(expr: ir.Expr, condition: ir.Expr, test: Node, scope: Scope, *, otherwise: bool = False) -> Scope:
    """The scope of an expression that is used where the condition, whose value is `test`, holds (or does not).

    The condition is needed only for a branch whose derivative can be infinite.
    """
    if not is_risky(expr):
        return scope
    if otherwise:
        return scope.where(scope.apply("!", (test,), "bool"), ir.negated(condition))
    return scope.where(test, condition)


def counted(reduce: ir.Reduce, scope: Scope) -> ir.Reduce:
    """The reduction with its surrounding condition as a guard, as far as a derivative depends on it."""
    bound = frozenset(reduce.indices)
    # A condition that binds the same index cannot be moved inside.
    counts = frozenset(c for c in scope.counts if bound.isdisjoint(ir.bound_indices(c)))
    if not counts or not is_risky(reduce) or not _is_inexact(reduce.dtype):
        return reduce
    # Steps of terms around it too: what depends on none of them is the same in each term.
    guard = ir.conjunction(sorted(projected(counts, ir.free_indices(reduce), scope), key=ir.show_expr))
    return replace(reduce, guard=ir.both(guard, reduce.guard))


def projected(masks: frozenset[ir.Expr], kept: Iterable[IndexVar], scope: Scope) -> frozenset[ir.Expr]:
    """What the masks say about the indices that are kept: whether all hold at some value of the others."""
    gone = frozenset[IndexVar]().union(*map(ir.free_indices, masks)).difference(kept) - scope.loops
    for index in scope.sorted(gone):
        touched = frozenset(mask for mask in masks if index in ir.free_indices(mask))
        masks -= touched
        if not _holds_at_an_end(touched, index, scope):
            every = ir.conjunction(sorted(touched, key=ir.show_expr))
            assert every is not None
            masks |= {ir.Reduce(Reducer.ANY, (index,), (), None, every, None, "bool", "bool")}
    return masks


def _holds_at_an_end(masks: frozenset[ir.Expr], index: IndexVar, scope: Scope) -> bool:
    """Whether all masks hold at the first value of the index, or all at its last, for any other indices."""
    affines = [non_negative(mask) for mask in masks]
    lo, hi = scope.box[index]
    for end in (lo, hi - 1):
        least = [None if a is None else scope.bounds(a.substitute({index: Affine.of(end)})) for a in affines]
        if all(ends is not None and ends[0] >= 0 for ends in least):
            return True
    return False


def is_risky(expr: ir.Expr) -> bool:
    """Whether a derivative may multiply a zero cotangent by an infinity or NaN."""
    for node in ir.walk(expr):
        match node:
            case ir.Binary("*", left, right):
                if not isinstance(left, ir.Const) and not isinstance(right, ir.Const):
                    return True
            case _ if may_be_infinite(node):
                return True
            case _:
                continue
    return False


def may_be_infinite(node: ir.Expr) -> bool:
    """Whether the derivative may be infinite for finite arguments, or NaN for NaN arguments."""
    match node:
        case ir.Reduce(reducer):
            # A sum has the derivatives of its terms; a bool and a position have none.
            has_none = isinstance(reducer, Reducer) and (reducer.takes_bool or reducer.gives_position)
            return not (reducer.is_linear or has_none)
        case ir.Binary(operator):
            return operator in ("/", "**", "%", "//", "quot", "rem")
        case _:
            return isinstance(node, (ir.Call, ir.Foreign))


def _is_inexact(dtype: str) -> bool:
    return ir.types.is_float(dtype) or ir.types.is_complex(dtype)
