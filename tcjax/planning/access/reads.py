"""Tensor reads as slices, reshapes and diagonals where the subscripts allow, as lookups where they do not."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ... import ir
from ...symbolic import Affine, IndexVar
from ...symbolic.affine import Atom, Bounded, Clamp, Quotient, Remainder
from ..data.nodes import Apply, Axes, CallBuiltin, Iota, Lookup, Node, Read, Step, Strip
from ..data.views import View, Viewed
from ..rules import plan_value
from ..scope import Scope, fill
from .divisions import divide
from .overlaps import as_overlap
from .slants import as_slant


def plan_read(access: ir.Access, scope: Scope) -> Read:
    """The tensor at every point of the access's indices."""
    name = access.tensor.name
    shape = scope.shapes[name]
    origins = scope.origins[name]
    subscripts = [index - origin for index, origin in zip(access.indices, origins, strict=True)]
    strips = [as_strip(subscript, extent, scope) for subscript, extent in zip(subscripts, shape, strict=True)]
    if scope.sizes is not None:
        strips = _whole(strips, shape, scope)
    # An axis that is looked up in one dimension cannot be sliced in another; an axis shared by two slices is a
    # diagonal.
    while True:
        looked_up = {
            axis for strip, s in zip(strips, subscripts, strict=True) if strip is None for axis in _axes(s, scope)
        }
        counts = Counter(index for strip in strips if strip is not None for index, _, _ in strip.factors)
        again = [None if strip is not None and _must_look_up(strip, looked_up, counts) else strip for strip in strips]
        if again == strips:
            break
        strips = again
    axes = scope.sorted(axis for subscript in subscripts for axis in _axes(subscript, scope))
    viewed = scope.views.get(name, Viewed(name, (), ""))
    numbers = scope.sizes is None
    views, dimensions, why = _overlapping(subscripts, strips, shape, scope) if numbers else ((), None, "")
    if numbers and dimensions is None:
        views, dimensions, why = as_slant(subscripts, shape, scope, as_strip) or ((), None, "")
    if dimensions is None:
        views = ()
        dimensions = [
            strip if strip is not None else _lookup(subscript, extent, scope)
            for strip, subscript, extent in zip(strips, subscripts, shape, strict=True)
        ]
    reason = "; ".join(part for part in (viewed.why, why) if part)
    views = (*viewed.views, *views)
    return Read(viewed.tensor, tuple(dimensions), views, dtype=access.dtype, axes=axes, why=reason)


def _whole(strips: list[Strip | None], shape: tuple[int, ...], scope: Scope) -> list[Strip | None]:
    """The slices that cover their whole dimensions, whatever the sizes, each along its own axis."""
    counts = Counter(index for strip in strips if strip is not None for index, _, _ in strip.factors)

    def is_whole(strip: Strip | None, extent: int) -> bool:
        if strip is None or any(counts[index] > 1 for index, _, _ in strip.factors):
            return False
        return scope.number(strip.start.base) == 0 and strip.count == extent

    return [strip if is_whole(strip, extent) else None for strip, extent in zip(strips, shape, strict=True)]


def _overlapping(
    subscripts: list[Affine], strips: list[Strip | None], shape: tuple[int, ...], scope: Scope
) -> tuple[tuple[View, ...], list[Strip | Lookup] | None, str]:
    """The read with overlapping rows in place of lookups; no dimensions if a lookup would remain."""
    views: list[View] = []
    dimensions: list[Strip | Lookup] = []
    reasons: list[str] = []
    for number, (strip, subscript, extent) in enumerate(zip(strips, subscripts, shape, strict=True)):
        if strip is not None:
            dimensions.append(strip)
            continue
        others = (s for n, s in enumerate(subscripts) if n != number)
        overlap = as_overlap(subscript, extent, len(dimensions), scope)
        if overlap is None or any(_axes(other, scope) & _axes(subscript, scope) for other in others):
            return (), None, ""
        views.extend(overlap.views)
        dimensions.extend(overlap.strips)
        reasons.append(f"`{subscript}` runs over {len(overlap.strips)} indices whose elements overlap")
    return tuple(views), dimensions, "; ".join(reasons)


def as_stored(node: Node) -> Node:
    """The values with their axes in memory order, for operations that accept any order.

    Elementwise results have the layout of the first array with all of their axes.
    """
    whole = frozenset(node.axes)
    order = next((axes for axes in _orders(node) if frozenset(axes) == whole), None)
    return node if order is None or order == node.axes else _laid_out(node, order)


def _orders(node: Node) -> Iterator[Axes]:
    """The axes of the operand arrays, in memory order."""
    match node:
        case Read(dimensions=dimensions) if all(isinstance(d, Strip) for d in dimensions):
            axes = (index for d in dimensions if isinstance(d, Strip) for index, _, _ in d.factors)
            yield tuple(dict.fromkeys(axes))
        case Apply(arguments=arguments) | CallBuiltin(arguments=arguments):
            for argument in arguments:
                yield from _orders(argument)
        case _:
            return


def _laid_out(node: Node, order: Axes) -> Node:
    """The same values with their axes in this order."""
    axes = tuple(axis for axis in order if axis in node.axes)
    match node:
        case Read():
            return replace(node, axes=axes)
        case Apply(arguments=arguments) | CallBuiltin(arguments=arguments):
            return replace(node, axes=axes, arguments=tuple(_laid_out(argument, order) for argument in arguments))
        case _:
            return node


def is_window(subscript: Affine, scope: Scope) -> bool:
    """Whether several indices run over overlapping elements of a dimension, as in ``h + kh``."""
    free = [a for a, _ in subscript.terms if isinstance(a, IndexVar) and a not in scope.unrolled]
    return len(free) > 1 and subscript.is_linear and as_strip(subscript, 1, scope) is None


def as_strip(subscript: Affine, extent: int, scope: Scope) -> Strip | None:
    """The subscript as a (split) slice of a dimension of this extent, or None."""
    if scope.sizes is not None:
        return _along(subscript, scope)
    fixed, free = Affine((), subscript.base), []
    for atom, weight in subscript.terms:
        step = weight.constant
        assert step is not None, "sizes are numbers by now"
        if not isinstance(atom, IndexVar):
            if atom.index_variables() <= scope.unrolled and not Affine.of(atom).is_data:
                fixed = fixed + Affine.of(atom).scale(step)
                continue
            return None
        if atom in scope.unrolled:
            fixed = fixed + Affine.of(atom).scale(step)
        elif scope.extent(atom) == 1:
            fixed = fixed + step * scope.box[atom][0]
            free.append((atom, step))
        else:
            free.append((atom, step))
    single = [(atom, step) for atom, step in free if scope.extent(atom) == 1]
    free = sorted(((a, s) for a, s in free if scope.extent(a) != 1), key=lambda term: -abs(term[1]))
    if any(scope.extent(atom) == 0 for atom, _ in free):
        return _empty_strip(free, single, scope)
    if len({step > 0 for _, step in free}) > 1:
        return None
    stride = free[-1][1] if free else 1
    if any(step % stride for _, step in free):
        return None
    factors: list[tuple[IndexVar, int, int]] = []
    for position, (atom, step) in enumerate(free):
        block = step // stride
        if position + 1 < len(free):
            inner, inner_step = free[position + 1]
            if block < scope.extent(inner) * (inner_step // stride):
                return None
        factors.append((atom, scope.extent(atom), block))
    count = factors[0][1] * factors[0][2] if factors else 1
    start = fixed
    for atom, step in free:
        start = start + step * scope.box[atom][0]
    span = scope.bounds(start)
    assert span is not None
    reach = stride * (count - 1)
    first, last = span[0] + min(0, reach), span[1] + max(0, reach)
    low, high = max(0, -first), max(0, last - (extent - 1))
    return Strip(start + low, stride, count, low, high, (*((atom, 1, count) for atom, _ in single), *factors))


def _along(subscript: Affine, scope: Scope) -> Strip | None:
    """The subscript as a slice if it is one index plus an offset; more needs numbers."""
    match subscript.terms:
        case ((IndexVar() as index, weight),) if weight.constant == 1 and index not in scope.unrolled:
            start, extent = subscript.base + scope.box[index][0], scope.extent(index)
            return Strip(Affine((), start), 1, extent, 0, 0, ((index, extent, 1),))
        case _:
            return None


def _empty_strip(free: list[tuple[IndexVar, int]], single: list[tuple[IndexVar, int]], scope: Scope) -> Strip | None:
    if len(free) > 1:
        return None
    return Strip(Affine.of(0), 1, 0, 0, 0, (*((atom, 1, 1) for atom, _ in single), (free[0][0], 0, 1)))


def _must_look_up(strip: Strip, looked_up: set[IndexVar], counts: Counter[IndexVar]) -> bool:
    shared = {index for index, _, _ in strip.factors if counts[index] > 1}
    indices = {index for index, _, _ in strip.factors}
    return bool(indices & looked_up) or (bool(shared) and len(strip.factors) > 1)


def _axes(subscript: Affine, scope: Scope) -> frozenset[IndexVar]:
    return subscript.variables - scope.unrolled


def _lookup(subscript: Affine, extent: int, scope: Scope) -> Lookup:
    positions = plan_integer(subscript, scope)
    if subscript.is_data or scope.sizes is not None:
        return Lookup(positions, clamp=True)
    span = scope.bounds(subscript)
    return Lookup(positions, clamp=span is None or span[0] < 0 or span[1] >= extent)


def plan_integer(affine: Affine, scope: Scope) -> Node:
    """A subscript's values as an int32 array."""
    total: Node | None = None
    for atom, weight in affine.terms:
        step = scope.number(weight)
        node = _plan_atom(atom, scope)
        if step != 1:
            node = scope.apply("*", (node, fill(step, "int32")), "int32")
        total = node if total is None else scope.apply("+", (total, node), "int32")
    base = scope.number(affine.base)
    if total is None:
        return fill(base, "int32")
    return total if base == 0 else scope.apply("+", (total, fill(base, "int32")), "int32")


def _plan_atom(atom: Atom, scope: Scope) -> Node:
    match atom:
        case IndexVar():
            return plan_index(atom, scope)
        case Quotient(argument, divisor):
            return divide("//", argument, plan_integer(argument, scope), scope.number(divisor), scope)
        case Remainder(argument, divisor):
            return divide("%", argument, plan_integer(argument, scope), scope.number(divisor), scope)
        case Clamp(kind, arguments):
            node = plan_integer(arguments[0], scope)
            for argument in arguments[1:]:
                node = scope.apply(kind, (node, plan_integer(argument, scope)), "int32")
            return node
        case Bounded():
            return plan_integer(atom.written_out(), scope)
        case ir.Data(expr):
            return scope.cast(plan_value(expr, replace(scope, live=None, counts=frozenset())), "int32")
        case _:
            raise AssertionError(atom)


def plan_index(index: IndexVar, scope: Scope) -> Node:
    """The values of an index, int32."""
    if index in scope.unrolled:
        return Step(index, dtype="int32")
    return Iota(index, scope.number(scope.box[index][0]), scope.extent(index), dtype="int32", axes=(index,))
