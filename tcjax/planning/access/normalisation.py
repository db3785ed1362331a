"""Reads with floors, remainders and clamps as reads of views by sums of indices, where an equivalent view exists."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from math import prod
from typing import Final, TypeVar

from ... import ir
from ...symbolic import Affine, Box, IndexVar, Size
from ...transforms import Known
from ...transforms.factors import non_negative
from ..data.views import Padded, Pieces, View, Viewed, shaped, together
from .borders import FEW_ELEMENTS, Border, borders, reaches
from .slants import diagonals
from .viewing import Viewing

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")
Origins = Mapping[str, tuple[int | Affine, ...]]

# Up to this many pieces are added up faster than they are concatenated (bench: periodic).
FEW_PIECES: Final = 3
# Up to this many reads beyond one end each, as terms of a sum, are faster separately: neither they nor their
# derivatives store anything.
FEW_READS: Final = 4
# The maximum size of a view relative to the elements that are read, and a size that is always allowed.
MOST_GROWTH: Final = 4


@dataclass(frozen=True, slots=True)
class Straight:
    """Tensors by name: the views, and the shapes and origins of all."""

    views: Mapping[str, Viewed]
    shapes: Mapping[str, tuple[int, ...]]
    origins: Origins


def straighten(
    statement: Formula, box: Box, shapes: Mapping[str, tuple[int, ...]], origins: Origins, loops: frozenset[IndexVar]
) -> tuple[Formula, Straight]:
    """The statement with reads of views in place of reads that would need lookups."""
    # An array that is copied, or read by several points of a reduction, is better concatenated once.
    reduced = frozenset(statement.reduction) if isinstance(statement, ir.Accumulate) else frozenset[IndexVar]()
    copied = statement.value.operand if isinstance(statement.value, ir.Cast) else statement.value
    reduced |= frozenset(box) if isinstance(copied, ir.Access) else ir.bound_indices(statement.value)
    straightener = _Straightener(box, Known.over(box), shapes, origins, loops, reduced)
    if not loops:
        # An array that a loop would extend in every iteration is better read piece by piece.
        straightener.extend(statement.value, statement.domain.guard)
    summed = isinstance(statement, ir.Accumulate) and statement.reducer is ir.Reducer.SUM and bool(statement.reduction)
    value = straightener.expr(statement.value, summed)
    guard = statement.domain.guard
    guard = None if guard is None else straightener.expr(guard)
    if isinstance(statement, ir.Accumulate):
        value, guard = straightener.unguarded(statement.reducer, value, guard)
    domain = replace(statement.domain, guard=guard)
    straight = replace(statement, value=value, domain=domain)
    found = straightener.found
    return straight, Straight(
        {name: viewed for name, (viewed, _) in found.items()},
        {**shapes, **{name: shape for name, (_, shape) in found.items()}},
        {**origins, **{name: (0,) * len(shape) for name, (_, shape) in found.items()}},
    )


@dataclass(slots=True)
class _Straightener:
    """One statement's reads: the views that were `found`, and the tensors `extended` for several reads."""

    box: Box
    known: Known
    shapes: Mapping[str, tuple[int, ...]]
    origins: Origins
    loops: frozenset[IndexVar]
    reduced: frozenset[IndexVar]
    found: dict[str, tuple[Viewed, tuple[int, ...]]] = field(default_factory=dict)
    extended: dict[str, Border] = field(default_factory=dict)

    def extend(self, *roots: ir.Expr | None) -> None:
        """Finds the tensors that are read beyond their ends in several ways."""
        reads: dict[str, list[tuple[Affine, ...]]] = {}
        plain = True
        for root in roots:
            plain = plain and (root is None or _is_linear(root))
            for access in () if root is None else ir.accesses(root):
                if _is_curved(access):
                    plain = plain and not self.reduced & _variables(access)
                    reads.setdefault(access.tensor.name, []).append(self.inside(access))
        self.extended = borders(reads, self.shapes, self.known, FEW_READS if plain else 1)

    def inside(self, access: ir.Access) -> tuple[Affine, ...]:
        """The subscripts, counted from the first element."""
        origins = self.origins[access.tensor.name]
        return tuple(self.known.simplify(index - o) for index, o in zip(access.indices, origins, strict=True))

    def expr(self, node: ir.Expr, summed: bool = False) -> ir.Expr:
        """The expression; operations that sum (`summed`) pad their operands themselves."""
        inside = summed or (isinstance(node, ir.Reduce) and node.reducer is ir.Reducer.SUM)
        node = ir.rebuild(node, lambda part: self.expr(part, inside))
        if isinstance(node, ir.Select):
            return self.padded(node, summed) or node
        if isinstance(node, ir.Reduce):
            body, guard = self.unguarded(node.reducer, node.body, node.guard)
            return node if body is node.body else replace(node, body=body, guard=guard)
        if not isinstance(node, ir.Access) or all(index.is_linear for index in node.indices):
            return node
        return self.access(node)

    def unguarded(
        self, reducer: ir.Reducer | ir.Monoid, body: ir.Expr, guard: ir.Expr | None
    ) -> tuple[ir.Expr, ir.Expr | None]:
        """An extremum of a read without the guard that keeps it in bounds: the tensor is padded with its identity."""
        if guard is None or isinstance(reducer, ir.Monoid) or not reducer.is_extremum:
            return body, guard
        empty = ir.Const(reducer.empty(body.dtype), body.dtype)
        padded = self.padded(ir.Select(guard, body, empty, body.dtype), summed=False)
        return (body, guard) if padded is None else (padded, None)

    def padded(self, choice: ir.Select, summed: bool) -> ir.Access | None:
        """A choice between a read and a number as a read of a padded tensor, if it is one."""
        read, value = choice.then, choice.otherwise
        if self.loops or not isinstance(read, ir.Access) or not isinstance(value, ir.Const):
            return None
        if (summed and value.value == 0) or not all(index.is_linear for index in read.indices):
            return None
        name = read.tensor.name
        viewed, shape = self.found[name] if name in self.found else (Viewed(name, (), ""), self.shapes[name])
        origins = (0,) * len(shape) if name in self.found else self.origins[name]
        subscripts = [index - origin for index, origin in zip(read.indices, origins, strict=True)]
        ends = [self.known.bounds(subscript) for subscript in subscripts]
        inside = {test for s, extent in zip(subscripts, shape, strict=True) for test in (s, Affine.of(extent - 1) - s)}
        tests = [non_negative(test) for test in ir.conjuncts(choice.condition)]
        if 0 in shape or None in ends or not all(test in inside for test in tests):
            return None
        views: list[Padded] = []
        for d, (span, extent) in enumerate(zip(ends, shape, strict=True)):
            assert span is not None
            low, high = max(0, -span[0]), max(0, span[1] + 1 - extent)
            if low or high:
                views.append(Padded(d, low, high, value.value))
                subscripts[d] = subscripts[d] + low
        whole = tuple(reduce(shaped, views, tuple(shape)))
        if prod(whole) > MOST_GROWTH * max(prod(shape), FEW_ELEMENTS):
            return None
        why = "; ".join(
            part for part in (viewed.why, f"`{value.value}` lies around {ir.show_part(read.tensor)}") if part
        )
        return self.read(read, replace(viewed, views=(*viewed.views, *views), why=why), whole, subscripts)

    def access(self, access: ir.Access) -> ir.Access:
        name = access.tensor.name
        indices = tuple(map(self.known.simplify, access.indices))
        access = replace(access, indices=indices)
        if all(index.is_linear for index in indices):
            return access
        points = 1
        for variable in _variables(access) - self.loops:
            lo, hi = self.box[variable]
            points *= max(0, hi - lo)
        if not points:
            return access
        subscripts = list(self.inside(access))
        if name in self.extended and (shared := self.shared(access, tuple(subscripts))) is not None:
            return shared
        view = Viewing(self.known, list(self.shapes[name]), subscripts, MOST_GROWTH * max(points, FEW_ELEMENTS))
        if not view.straightened():
            return access
        views = view.views
        # Shifted rows are slices of the stored array.
        if not self.loops and not self.reduced & _variables(access) and not diagonals(view.subscripts):
            views = [_fused(each) for each in views]
        views = views if self.loops else together(views)
        viewed = Viewed(name, tuple(views), "; ".join(dict.fromkeys(view.reasons)))
        return self.read(access, viewed, tuple(view.shape), view.subscripts)

    def shared(self, access: ir.Access, subscripts: tuple[Affine, ...]) -> ir.Access | None:
        """The read of the array extended for several reads, if it is one of these."""
        name = access.tensor.name
        border, parts = self.extended[name], reaches(subscripts, self.shapes[name], self.known)
        if parts is None or not any(part.beyond for part in parts):
            return None
        reason = f"{ir.show_part(access.tensor)} is read beyond its ends several times: extended once"
        moved = [part.place - low for part, low in zip(parts, border.low, strict=True)]
        return self.read(access, Viewed(name, (border.halo,), reason), shaped(self.shapes[name], border.halo), moved)

    def read(self, access: ir.Access, viewed: Viewed, shape: tuple[int, ...], subscripts: list[Affine]) -> ir.Access:
        """The read of a view, as a tensor of its own."""
        own = next((name for name, (other, _) in self.found.items() if other == viewed), None)
        if own is None:
            own = f"{viewed.tensor}{ir.MARK}view{len(self.found)}"
            self.found[own] = viewed, shape
        tensor = ir.Tensor(own, access.tensor.dtype, tuple(map(Size.of, shape)))
        return replace(access, tensor=tensor, indices=tuple(subscripts))


def _variables(access: ir.Access) -> frozenset[IndexVar]:
    return frozenset[IndexVar]().union(*(index.variables for index in access.indices))


def _is_curved(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Access) and any(not index.is_linear for index in expr.indices)


def _is_linear(expr: ir.Expr) -> bool:
    """Whether reads beyond the ends are terms of sums: each is used once, and so is its derivative."""
    match expr:
        case ir.Access() | ir.Cast(ir.Access()):
            return True
        case ir.Binary("+" | "-", left, right):
            return _is_linear(left) and _is_linear(right)
        case ir.Binary("*", left, right):
            both = (left, right), (right, left)
            return any(not _reads_beyond(scale) and _is_linear(value) for scale, value in both)
        case _:
            return not _reads_beyond(expr)


def _reads_beyond(expr: ir.Expr) -> bool:
    return any(map(_is_curved, ir.walk(expr)))


def _fused(view: View) -> View:
    """The view; if it has few pieces, its readers add them up."""
    few = isinstance(view, Pieces) and 1 < len(view.runs) <= FEW_PIECES
    return replace(view, fused=True) if few else view
