"""Reads by floors, remainders and clamps as reads of views by sums of indices, where a view says the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from ... import ir
from ...symbolic import Affine, Box, IndexVar, Size
from ...transforms import Known
from ..data.views import Pieces, Viewed
from .borders import Borders, beyond, borders, extension
from .viewing import Viewing

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")
Origins = Mapping[str, tuple[int | Affine, ...]]

# A view may have so many times the elements that are read, or so many in any case.
MOST_GROWTH: Final = 4
FEW_ELEMENTS: Final = 256


@dataclass(frozen=True, slots=True)
class Straight:
    """Tensors by name: the views, and the shapes and origins of all."""

    views: Mapping[str, Viewed]
    shapes: Mapping[str, tuple[int, ...]]
    origins: Origins


def straighten(
    statement: Formula, box: Box, shapes: Mapping[str, tuple[int, ...]], origins: Origins, loops: frozenset[IndexVar]
) -> tuple[Formula, Straight]:
    """The statement with reads of views in the place of reads that would look their elements up."""
    straightener = _Straightener(box, Known.over(box), shapes, origins, loops)
    if not loops:
        # What a loop would extend in every iteration is better read piece by piece.
        straightener.extend(statement.value, statement.domain.guard)
    value = straightener.expr(statement.value)
    guard = statement.domain.guard
    domain = replace(statement.domain, guard=None if guard is None else straightener.expr(guard))
    straight = replace(statement, value=value, domain=domain)
    found = straightener.found
    return straight, Straight(
        {name: viewed for name, (viewed, _) in found.items()},
        {**shapes, **{name: shape for name, (_, shape) in found.items()}},
        {**origins, **{name: (0,) * len(shape) for name, (_, shape) in found.items()}},
    )


@dataclass(slots=True)
class _Straightener:
    """One statement's reads: views that were `found`, and those tensors that are `extended` for several reads."""

    box: Box
    known: Known
    shapes: Mapping[str, tuple[int, ...]]
    origins: Origins
    loops: frozenset[IndexVar]
    found: dict[str, tuple[Viewed, tuple[int, ...]]] = field(default_factory=dict)
    extended: dict[str, tuple[Borders, tuple[Pieces, ...]]] = field(default_factory=dict)

    def extend(self, *roots: ir.Expr | None) -> None:
        """Finds the tensors that are read beyond their ends in several ways."""
        reads: dict[str, list[tuple[Affine, ...]]] = {}
        for root in roots:
            for access in () if root is None else ir.accesses(root):
                if any(not index.is_linear for index in access.indices):
                    reads.setdefault(access.tensor.name, []).append(self.inside(access))
        for name, found in borders(reads, self.shapes, self.known).items():
            views = extension(found, self.shapes[name])
            if views is not None:
                self.extended[name] = found, views

    def inside(self, access: ir.Access) -> tuple[Affine, ...]:
        """The subscripts, counted from the first element."""
        origins = self.origins[access.tensor.name]
        return tuple(self.known.simplify(index - o) for index, o in zip(access.indices, origins, strict=True))

    def expr(self, node: ir.Expr) -> ir.Expr:
        node = ir.rebuild(node, self.expr)
        if not isinstance(node, ir.Access) or all(index.is_linear for index in node.indices):
            return node
        return self.access(node)

    def access(self, access: ir.Access) -> ir.Access:
        name = access.tensor.name
        indices = tuple(map(self.known.simplify, access.indices))
        access = replace(access, indices=indices)
        if all(index.is_linear for index in indices):
            return access
        points = 1
        for variable in frozenset[IndexVar]().union(*(index.variables for index in indices)) - self.loops:
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
        viewed = Viewed(name, tuple(view.views), "; ".join(dict.fromkeys(view.reasons)))
        return self.read(access, viewed, tuple(view.shape), view.subscripts)

    def shared(self, access: ir.Access, subscripts: tuple[Affine, ...]) -> ir.Access | None:
        """The read of the array that is extended for several reads, if it is one of them."""
        name = access.tensor.name
        found, views = self.extended[name]
        parts = beyond(subscripts, self.shapes[name], self.known)
        if parts is None or not any(part.way for part in parts):
            return None
        shape = tuple(border.last - border.first + 1 for border in found)
        reason = f"{name} is read beyond its ends several times: extended once"
        moved = [part.subscript - border.first for part, border in zip(parts, found, strict=True)]
        return self.read(access, Viewed(name, views, reason), shape, moved)

    def read(self, access: ir.Access, viewed: Viewed, shape: tuple[int, ...], subscripts: list[Affine]) -> ir.Access:
        """The read of a view, which is a tensor of its own."""
        own = next((name for name, (other, _) in self.found.items() if other == viewed), None)
        if own is None:
            own = f"{viewed.tensor}~{len(self.found)}"
            self.found[own] = viewed, shape
        tensor = ir.Tensor(own, access.tensor.dtype, tuple(map(Size.of, shape)))
        return replace(access, tensor=tensor, indices=tuple(subscripts))
