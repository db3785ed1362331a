"""Elements of the inputs that no read covers, although the program does not say so."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from .. import ir
from ..symbolic import Affine, Box, IndexVar, Interval, Size
from .assumptions import Assumption
from .rounds import Constraint, Ends, Place, Solution, conditioned
from .survey import Comprehension
from .unread import Cause, Unread, is_declared

Dimension = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Axis:
    """The origin of the extent of one dimension.

    `width` is the extent before constant offsets, such as those of a stencil, shorten it; `size` is its name (a
    parameter's dimension if possible); `is_given` tells whether a range in the program gives it.
    """

    width: int
    size: Size
    is_given: bool = False

    @property
    def is_declared(self) -> bool:
        """Whether the program states the size: as a number, or by name."""
        return is_declared(self.size)


@dataclass(frozen=True, slots=True)
class _Walk:
    """The interval ``[lo, hi)`` that a statement reads along one dimension; `offsets` are the statement's, see
    `_offsets`.
    """

    number: int
    solution: Solution
    offsets: frozenset[IndexVar]
    constraint: Constraint
    lo: int
    hi: int

    @property
    def dimension(self) -> Dimension:
        return _dimension(self.constraint)


class Coverage:
    """What the statements so far read of the parameters, dimension by dimension.

    A dimension is considered if all its subscripts are sums and differences of indices and constants. It is not if one
    of these indices has a given range, or occurs in a guard or an ``exists``, or twice in one access; nor if the
    parameter is written, or passed whole to a function.
    """

    def __init__(
        self, function: ir.Function, shapes: Mapping[str, tuple[int, ...]], assumptions: Iterable[Assumption]
    ) -> None:
        self.shapes = {tensor.name: shapes[tensor.name] for tensor in function.parameters}
        self.assumed = frozenset[str]().union(*(each.names for each in assumptions))
        self.sizes = {variable for tensor in function.parameters for s in tensor.shape for variable in s.variables()}
        self.axes: dict[Dimension, Axis] = {}
        self.walks: dict[Dimension, list[_Walk]] = {}
        self.whole: set[str] = set()
        self.excused: set[Dimension] = set()
        self.is_empty = any(0 in shape for shape in self.shapes.values())
        for tensor in function.parameters:
            for d, (size, extent) in enumerate(zip(tensor.shape, self.shapes[tensor.name], strict=True)):
                self.axes[tensor.name, d] = Axis(extent, size)

    def start(self, tensor: ir.Tensor, shape: tuple[int, ...]) -> None:
        """Records an initial value that the call passes."""
        for d, (size, extent) in enumerate(zip(tensor.shape, shape, strict=True)):
            self.axes[tensor.name, d] = Axis(extent, size, is_given=True)

    def read_whole(self, tensors: Iterable[ir.Tensor]) -> None:
        """Records the arguments of a called function."""
        self.whole.update(tensor.name for tensor in tensors)

    def read(self, number: int, statement: Comprehension, solution: Solution, box: Box) -> None:
        """Records what a statement reads, with each index in its range of `box`."""
        self.whole.add(statement.target.name)
        self.is_empty = self.is_empty or any(hi <= lo for lo, hi in box.values())
        said = _said(statement, solution)
        offsets = _offsets(statement, solution)
        known: dict[int, tuple[frozenset[IndexVar], frozenset[IndexVar]]] = {}
        for constraint in solution.reads:
            access, d = constraint.read.access, constraint.dimension
            if access.tensor.name not in self.shapes:
                continue
            subscript = access.indices[d]
            compared, probed = conditioned(constraint.read.path, known)
            elsewhere = (index.variables for other, index in enumerate(access.indices) if other != d)
            excuses = said.union(compared, probed, *elsewhere)
            if not _is_unit_stride(subscript) or subscript.variables & excuses:
                self.excused.add((access.tensor.name, d))
            else:
                lo, hi = _values(constraint.subscript, box)
                walk = _Walk(number, solution, offsets, constraint, lo, hi)
                self.walks.setdefault(walk.dimension, []).append(walk)

    def write(self, statement: Comprehension, solution: Solution, place: Place, *, declared: bool) -> None:
        """Records the origin of a target's extents, if the statement is the first to write it."""
        for d, (subscript, interval) in enumerate(zip(statement.indices, place.intervals, strict=True)):
            extent = None if interval is None else interval.extent.constant
            assert extent is not None, "every size is known here"
            key, index, size = (statement.target.name, d), subscript.bare, statement.target.shape[d]
            if key in self.axes:
                continue
            if declared:
                self.axes[key] = Axis(extent, size, is_given=not (size.variables() and size.variables() <= self.sizes))
            elif index is None:
                self.axes[key] = Axis(extent, size)
            elif index in solution.survey.ranges:
                self.axes[key] = Axis(extent, size, is_given=True)
            else:
                ends = solution.decisive.get(index, ((), ()))
                self.axes[key] = self.inferred(Axis(extent, size), ends, _offsets(statement, solution))

    def inferred(self, own: Axis, ends: Ends, offsets: frozenset[IndexVar]) -> Axis:
        """The axis of a bare index on the left side, refined by the constraints that end the index."""
        low, high = ends
        deciding = [c for c in low if any(c is other for other in high)] or [*low, *high]
        found = [self.axes.get(_dimension(constraint)) for constraint in deciding]
        axes = [axis for axis in found if axis is not None]
        if not axes or len(axes) < len(deciding) or not all(_is_shift(c, offsets) for c in deciding):
            return replace(own, is_given=any(axis.is_given for axis in axes))
        sizes = {axis.size for axis in axes}
        size = sizes.pop() if len(sizes) == 1 else own.size
        return Axis(min(axis.width for axis in axes), size, any(axis.is_given for axis in axes))

    def unread(self) -> tuple[Unread, ...]:
        """The dimensions with elements that no read covers, in the order in which they are first read."""
        if self.is_empty:
            return ()
        found: list[Unread] = []
        for (name, d), walks in self.walks.items():
            extent = self.shapes[name][d]
            covered = _covered((walk.lo, walk.hi) for walk in walks)
            walking = [walk for walk in walks if walk.constraint.subscript.variables]
            excused = name in self.whole or (name, d) in self.excused or not walking
            if excused or covered >= extent or any(self.is_meant(walk) for walk in walking):
                continue
            widest = max(walking, key=lambda walk: walk.hi - walk.lo)
            indices = {(walk.number, cause.index) for walk in walking for cause in self.causes(walk)}
            found.append(
                Unread(widest.constraint, self.shapes[name], extent - covered, self.causes(widest), frozenset(indices))
            )
        return tuple(found)

    def enders(self, walk: _Walk) -> Iterator[tuple[IndexVar, bool, Constraint]]:
        """The other constraints that limit a read at the beginning (False) or the end (True) of its dimension."""
        subscript = walk.constraint.subscript
        name, d = walk.dimension
        lost = (walk.lo > 0, walk.hi < self.shapes[name][d])
        for index in walk.solution.ranges:
            if index not in subscript.variables:
                continue
            low, high = walk.solution.decisive.get(index, ((), ()))
            sides = (low, high) if subscript.weight(index).constant == 1 else (high, low)
            for side in (False, True):
                if lost[side]:
                    yield from ((index, side, c) for c in sides[side] if _dimension(c) != walk.dimension)

    def causes(self, walk: _Walk) -> tuple[Cause, ...]:
        """The indices that other reads limit; all indices of the read if there are none."""
        solution = walk.solution
        deciding: dict[IndexVar, list[Constraint]] = {}
        for index, _, constraint in self.enders(walk):
            others = deciding.setdefault(index, [])
            if all(constraint is not other for other in others):
                others.append(constraint)
        causes: list[Cause] = []
        for index in deciding or sorted(walk.constraint.subscript.variables, key=str):
            interval = solution.ranges[index]
            assert interval is not None
            given = tuple(deciding.get(index, ()))
            partner = self.partner(walk) if walk.constraint.subscript.bare == index else None
            causes.append(
                Cause(
                    index,
                    interval,
                    self.end(interval, given),
                    solution.reasons[index],
                    given,
                    inline=index in solution.survey.inline,
                    whole=self.axes[walk.dimension].size,
                    partner=partner,
                    exchanged=None if partner is None else self.exchanged(walk.constraint, partner),
                )
            )
        return tuple(causes)

    def partner(self, walk: _Walk) -> Constraint | None:
        """The shortest of the other parameters that are read at the same bare index."""

        def width(constraint: Constraint) -> int:
            return self.axes[_dimension(constraint)].width

        shorter = (
            constraint
            for constraint in walk.solution.reads
            if constraint.read.access.tensor.name in self.shapes
            and constraint.subscript == walk.constraint.subscript
            and width(constraint) < width(walk.constraint)
        )
        return min(shorter, key=width, default=None)

    def exchanged(self, read: Constraint, partner: Constraint) -> ir.Access | None:
        """One of two reads with two indices exchanged, such that the dimensions of both have equal extents."""
        for own, other in ((partner, read), (read, partner)):
            access, wanted = own.read.access, self.axes[_dimension(other)]
            for d, subscript in enumerate(access.indices):
                axis = self.axes[access.tensor.name, d]
                fits = axis.size == wanted.size or not (axis.is_declared and wanted.is_declared)
                if d != own.dimension and subscript.bare is not None and axis.width == wanted.width and fits:
                    indices = list(access.indices)
                    indices[d], indices[own.dimension] = indices[own.dimension], subscript
                    return replace(access, indices=tuple(indices))
        return None

    def end(self, interval: Interval, deciding: Iterable[Constraint]) -> Size:
        """The upper end of an index as a size of the program, if a single one decides it."""
        for constraint in deciding:
            tensor = constraint.read.access.tensor
            if tensor.name in self.shapes and constraint.subscript.bare is not None and constraint.region == interval:
                return tensor.shape[constraint.dimension]
        return interval.hi

    def is_meant(self, walk: _Walk) -> bool:
        """Whether the limit of a read's indices is explicit: a given or an assumed size, an offset, two names."""
        own = self.axes[walk.dimension]
        if self.is_assumed(own):
            return True
        name, d = walk.dimension
        lost, shifted = {False: walk.lo > 0, True: walk.hi < self.shapes[name][d]}, set[bool]()
        for index, side, constraint in self.enders(walk):
            axis = self.axes.get(_dimension(constraint))
            # The size of an image says nothing about the kernel that it cuts short.
            if axis is None or not _is_shift(constraint, walk.offsets):
                continue
            if axis.is_given or self.is_assumed(axis) or self.is_declared_apart(index, walk, constraint):
                return True
            if axis.width >= own.width:
                shifted.add(side)
        return all(side in shifted for side, is_lost in lost.items() if is_lost)

    def is_assumed(self, axis: Axis) -> bool:
        """Whether an assumption relates the extent to others."""
        return any(variable.name in self.assumed for variable in axis.size.variables())

    def is_declared_apart(self, index: IndexVar, walk: _Walk, other: Constraint) -> bool:
        """Whether both sizes have names, different ones, and no other index of the statement contradicts them.

        ``A(i) * B(i)`` of ``float(N) A, float(M) B`` is intended. ``A(k,m) * B(k,n)`` of ``float(M,K) A, float(K,N) B``
        does not: `m` runs over the `K` of `A`.
        """
        own, theirs = self.axes[walk.dimension], self.axes[_dimension(other)]
        if not (own.is_declared and theirs.is_declared) or own.size == theirs.size:
            return False
        return not any(
            constraint.subscript.bare not in (None, index)
            and _dimension(constraint) not in (walk.dimension, _dimension(other))
            and (axis := self.axes.get(_dimension(constraint))) is not None
            and axis.size in (own.size, theirs.size)
            for constraint in walk.solution.reads
        )


def _said(statement: Comprehension, solution: Solution) -> frozenset[IndexVar]:
    """The indices whose extent a statement states itself: by a range, a guard or an ``exists``."""
    reductions = (node for node in ir.walk(statement.value) if isinstance(node, ir.Reduce))
    guards = [statement.domain.guard, *(node.guard for node in reductions)]
    guarded = (ir.free_indices(guard) for guard in guards if guard is not None)
    imagined = (index.variables for read in solution.survey.hypothetical for index in read.access.indices)
    return frozenset(solution.survey.ranges).union(*guarded, *imagined)


def _dimension(constraint: Constraint) -> Dimension:
    return constraint.read.access.tensor.name, constraint.dimension


def _is_unit_stride(subscript: Affine) -> bool:
    """Whether it takes all values between its ends: indices, added and subtracted, and a base."""
    return subscript.is_linear and all(weight.constant in (1, -1) for _, weight in subscript.terms)


def _offsets(statement: Comprehension, solution: Solution) -> frozenset[IndexVar]:
    """The indices that move within a window of given size: their ranges are numbers, and they are not on the left."""
    left = frozenset().union(*(index.variables for index in statement.indices))
    ranges = solution.survey.ranges.items()
    return frozenset(i for i, r in ranges if r.lo.constant is not None and r.hi.constant is not None) - left


def _is_shift(constraint: Constraint, offsets: frozenset[IndexVar]) -> bool:
    """Whether the subscript is an index plus a constant, or an index plus the offsets of a window."""
    return len(constraint.subscript.variables - offsets) == 1 and _is_unit_stride(constraint.subscript)


def _values(subscript: Affine, box: Box) -> tuple[int, int]:
    """The values of a subscript of stride 1 with numeric sizes: ``[lo, hi)``."""
    base = subscript.base.constant
    assert base is not None
    lo = hi = base
    for atom, weight in subscript.terms:
        assert isinstance(atom, IndexVar)
        first, last = box[atom][0], box[atom][1] - 1
        lo, hi = (lo + first, hi + last) if weight.constant == 1 else (lo - last, hi - first)
    return lo, hi + 1


def _covered(intervals: Iterable[tuple[int, int]]) -> int:
    """The number of integers in at least one of the intervals."""
    total, end = 0, None
    for lo, hi in sorted(intervals):
        begin = lo if end is None else max(lo, end)
        if hi > begin:
            total, end = total + hi - begin, hi
    return total
