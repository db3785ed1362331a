"""Windows that extend beyond the ends of a tensor: the cotangent goes to an extended tensor first.

``O(i) +=! x(wrap(i + k)) * w(k)`` gives ``e(p) +=! d_O(p - k) * w(k)`` and ``d_x(wrap(p)) +=! e(p)``.
"""

from dataclasses import dataclass, field, replace

from ... import ir
from ...symbolic import Affine, Bounded, Interval
from .backward import Occurrence
from .calls import Namer
from .inversion import Inversion, Receipt
from .scope import Scope
from .steps import Place, whole

# The boundary of each dimension and the ends of its argument; without a boundary, the tensor's own ends.
_Key = tuple[str, tuple[tuple[str | None, Interval], ...]]


@dataclass(slots=True)
class Extending:
    """The occurrences of one statement; a tensor is extended once for all windows with the same ends."""

    inversion: Inversion
    namer: Namer
    places: dict[str, Place]
    known: dict[_Key, tuple[ir.Tensor, tuple[Bounded | None, ...]]] = field(default_factory=dict)

    def occurrence(self, found: Occurrence) -> Occurrence:
        """The same read of an extended tensor, if it is a window that extends beyond an end."""
        access = found.access
        boundaries = tuple([index.bounded for index in access.indices])
        windows = [b for b in boundaries if b is not None and len(b.argument.variables) > 1]
        ends = [b and self.inversion.ends(b.argument) for b in boundaries]
        if not windows or any(b is not None and end is None for b, end in zip(boundaries, ends, strict=True)):
            return found
        own = self.places[access.tensor.name]
        place = tuple([end or interval for end, interval in zip(ends, own, strict=True)])
        key = access.tensor.name, tuple([(b and b.kind, at) for b, at in zip(boundaries, place, strict=True)])
        if key not in self.known:
            name = self.namer.new(f"{access.tensor.name}_extended")
            tensor = replace(access.tensor, name=name, shape=tuple([interval.extent for interval in place]))
            self.known[key] = tensor, boundaries
            self.places[name] = place
        tensor, _ = self.known[key]
        indices = tuple([b.argument if b else index for b, index in zip(boundaries, access.indices, strict=True)])
        return replace(found, access=replace(access, tensor=tensor, indices=indices))

    def folded(self, tensor: ir.Tensor, cotangent: ir.Tensor, into: ir.Tensor) -> tuple[Receipt, Scope]:
        """The tensor's share of the extension's cotangent."""
        boundaries = next(found for other, found in self.known.values() if other == tensor)
        indices, intervals = whole(tensor, self.places[tensor.name])
        left = [_bounded(b, index) for b, index in zip(boundaries, indices, strict=True)]
        return Receipt(into, tuple(left), (), ir.Access(cotangent, indices), None), Scope(intervals)


def _bounded(boundary: Bounded | None, index: Affine) -> Affine:
    return index if boundary is None else Affine.of(replace(boundary, argument=index))
