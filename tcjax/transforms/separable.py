"""Splits a windowed sum over several axes into successive sums, if the weights are a product over the axes.

``O(y,x) +=! I(y+i,x+j) * g(i) * h(j)`` is ``T(p,x) +=! I(p,x+j) * h(j)``, then ``O(y,x) +=! T(y+i,x) * g(i)``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from .. import ir
from ..ir import Reducer
from ..symbolic import Affine, Box, IndexVar, Size
from ..symbolic.hull import numbers
from .definitions import cast
from .factors import depends, non_negative, summands
from .inlining import Shapes


@dataclass(frozen=True, slots=True)
class Separated:
    """A sum in two: `first` fills a new tensor over the `box`, `rest` is the remaining sum, which reads it."""

    first: ir.Accumulate
    box: Box
    rest: ir.Reduce

    @property
    def negated(self) -> "Separated":
        body = self.rest.body
        return replace(self, rest=replace(self.rest, body=ir.Unary("-", body, body.dtype)))


# Axes that are read at the same subscripts as they are written.
NO_PLACES: Final[Mapping[IndexVar, tuple[IndexVar, Affine]]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Window:
    """A dimension of a read along which a reduction index slides."""

    dimension: int
    output: IndexVar
    kernel: IndexVar


def separated(
    total: ir.Reduce, box: Box, name: str, order: Sequence[IndexVar], shapes: Shapes, origins: Shapes
) -> Iterator[Separated]:
    """The ways to sum along one axis first, into a tensor `name` whose axes follow `order`.

    None if the sum has a single window, or factors that depend on several.
    """
    if total.reducer is not Reducer.SUM or total.fixed or not ir.types.is_float(total.accumulate):
        return
    products = summands(total.body)
    if len(products) > 1 or products[0].mask is not None or len(products[0].factors) < 2:
        return
    (product,) = products
    reduced = frozenset(total.indices)
    for place, image in enumerate(product.factors):
        read = image.operand if isinstance(image, ir.Cast) else image
        windows = _windows(read, reduced) if isinstance(read, ir.Access) else []
        if not isinstance(read, ir.Access) or len(windows) < 2:
            continue
        others = product.factors[:place] + product.factors[place + 1 :]
        for window in windows:
            around = [other for other in windows if other is not window]
            found = _along(window, around, read, others, total, box, name, order, shapes, origins)
            if found is not None:
                yield found.negated if product.negative else found


def _along(
    window: _Window,
    around: Sequence[_Window],
    read: ir.Access,
    others: Sequence[ir.Expr],
    total: ir.Reduce,
    box: Box,
    name: str,
    order: Sequence[IndexVar],
    shapes: Shapes,
    origins: Shapes,
) -> Separated | None:
    """The sum along one window first; None if its weights also depend on another window."""
    own = frozenset((window.kernel,))
    apart = frozenset(index for other in around for index in (other.output, other.kernel))
    inside = [factor for factor in others if depends(factor, own)]
    outside = [factor for factor in others if not depends(factor, own)]
    guards = ir.conjuncts(total.guard)
    inner = [guard for guard in guards if depends(guard, own)]
    if any(depends(part, apart) for part in (*inside, *inner)) or not _leaves_some(inner, window, box):
        return None
    box = dict(box)
    subscripts = list(read.indices)
    along: dict[IndexVar, IndexVar] = {}
    for other in around:
        position = IndexVar(f"{name}.{other.dimension}")
        span = numbers(read.indices[other.dimension], box)
        first = origins[read.tensor.name][other.dimension]
        if span is None:
            return None
        # A guard keeps every active point inside the tensor.
        lo, hi = max(span[0], first), min(span[1] + 1, first + shapes[read.tensor.name][other.dimension])
        if hi <= lo:
            return None
        box[position] = (lo, hi)
        along[other.output] = position
        subscripts[other.dimension] = Affine.of(position)
    inside = [replace(read, indices=tuple(subscripts)), *inside]
    axes = frozenset[IndexVar]().union(*map(ir.free_indices, (*inside, *inner))) - own
    if not frozenset(total.indices) - own or axes & frozenset(total.indices) - ir.free_indices(read):
        return None
    places = {along[other.output]: (other.output, read.indices[other.dimension]) for other in around}
    return summed_first(total, window.kernel, inside, outside, box, name, order, places)


def summed_first(
    total: ir.Reduce,
    index: IndexVar,
    inside: Sequence[ir.Expr],
    outside: Sequence[ir.Expr],
    box: Box,
    name: str,
    order: Sequence[IndexVar],
    places: Mapping[IndexVar, tuple[IndexVar, Affine]] = NO_PLACES,
) -> Separated:
    """The sum of the factors `inside` over one index first, into a tensor `name` whose axes follow `order`.

    Guards that depend on the index belong to the first sum. An axis in `places` follows another index, and is read at
    an expression.
    """
    own, kind = frozenset((index,)), total.accumulate
    guards = ir.conjuncts(total.guard)
    inner = [guard for guard in guards if depends(guard, own)]
    body = ir.multiply([cast(factor, kind) for factor in inside])

    def rank(axis: IndexVar) -> tuple[int, str]:
        follows = places[axis][0] if axis in places else axis
        return order.index(follows) if follows in order else len(order), str(axis)

    axes = tuple(sorted(frozenset[IndexVar]().union(*map(ir.free_indices, (body, *inner))) - own, key=rank))
    tensor = ir.Tensor(name, kind, tuple(Size.of(box[axis][1] - box[axis][0]) for axis in axes))
    domain = ir.Domain(guard=ir.conjunction(inner))
    first = ir.Accumulate(
        *(tensor, tuple(map(Affine.of, axes)), Reducer.SUM, True, (index,), body, kind, domain), span=total.span
    )
    result = ir.Access(tensor, tuple(places[axis][1] if axis in places else Affine.of(axis) for axis in axes))
    rest = replace(
        total,
        indices=tuple(other for other in total.indices if other != index),
        guard=ir.conjunction(guard for guard in guards if guard not in inner),
        body=ir.multiply([result, *(cast(factor, kind) for factor in outside)]),
    )
    return Separated(first, box, rest)


def _leaves_some(guards: Sequence[ir.Expr], window: _Window, box: Box) -> bool:
    """Whether the guards always leave a point of the window: an infinite weight must not multiply an empty sum's zero.

    The room between the least and the greatest point that they leave is concave, so checking the ends suffices.
    """
    first, last = box[window.output][0], box[window.output][1] - 1
    for place in (first, last):
        lo, hi = box[window.kernel]
        for guard in guards:
            affine = non_negative(guard)
            if affine is None or not affine.variables <= {window.output, window.kernel}:
                return False
            weight = affine.weight(window.kernel).constant
            rest = affine.substitute({window.output: place, window.kernel: 0}).constant
            if weight not in (1, -1) or rest is None:
                return False
            lo, hi = (max(lo, -rest), hi) if weight == 1 else (lo, min(hi, rest + 1))
        if hi <= lo:
            return False
    return True


def _windows(read: ir.Access, reduced: frozenset[IndexVar]) -> list[_Window]:
    """The dimensions in which one reduction index slides along one other index; none if an index occurs in two."""
    found: list[_Window] = []
    seen: set[IndexVar] = set()
    for dimension, subscript in enumerate(read.indices):
        if subscript.variables & seen or subscript.is_data:
            return []
        seen |= subscript.variables
        kernels, outputs = subscript.variables & reduced, subscript.variables - reduced
        if subscript.is_linear and len(kernels) == len(outputs) == 1:
            (kernel,), (output,) = kernels, outputs
            found.append(_Window(dimension, output, kernel))
    return found
