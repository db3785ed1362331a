"""One comprehension, step by step as section 2.2 of the specification says, and nothing cleverer than that."""

import itertools
from dataclasses import dataclass

import numpy as np

from tcjax.syntax.sac import tree

from .find_shapes import bound_length, find_shapes
from .scope import Scope, abstract_index
from .values import NeedsIndex, Operand, SacError, Shaped, Value, integers, known, unify, value

Extents = tuple[int | None, ...]
_numbers = itertools.count()


@dataclass(frozen=True)
class Box:
    """The generator of a partition; a bound is None where it hangs on an outer index whose value is not known."""

    lower: tuple[int, ...] | None
    upper: Extents
    step: tuple[int, ...] | None
    width: tuple[int, ...] | None
    taint: frozenset[str]

    @property
    def known(self) -> bool:
        return None not in (self.lower, self.step, self.width) and None not in self.upper

    @property
    def empty(self) -> bool:
        return any(lo >= hi for lo, hi in zip(self.lower or (), self.upper, strict=True) if hi is not None)

    def __contains__(self, point: tuple[int, ...]) -> bool:
        assert self.lower is not None and self.step is not None and self.width is not None
        return all(
            hi is not None and lo <= x < hi and (x - lo) % s < w
            for x, lo, hi, s, w in zip(point, self.lower, self.upper, self.step, self.width, strict=True)
        )


@dataclass(frozen=True)
class Part:
    """A partition whose layout is known: `frame` are the axes of the result along which its index runs, in order."""

    partition: tree.Partition
    box: Box
    cell: Shaped
    layout: tuple[str, ...]

    @property
    def frame(self) -> list[int]:
        return [axis for axis, what in enumerate(self.layout) if what == "frame"]


@dataclass(frozen=True)
class Assembly:
    """All partitions and the type and shape of the result."""

    parts: tuple[Part, ...]
    result: Shaped


def comprehension(node: tree.Comprehension, scope: Scope) -> Operand:
    """The array that a comprehension builds."""
    assembled: list[Assembly] = []

    def assembly() -> Assembly:
        if not assembled:
            assembled.append(elaborate(node, scope))
        return assembled[0]

    return Operand(lambda: assembly().result, lambda: run(assembly(), scope))


# ---------------------------------------------------------------- E1 to E5: shapes


def elaborate(node: tree.Comprehension, scope: Scope) -> Assembly:
    """The shape of the result, from the last partition, and the box and layout of every partition."""
    *others, last = node.partitions
    # E1 to E3
    length, box = bounds(last, scope, None, ())
    cell = cell_of(last, scope, length)
    layout = layout_of(last.index, length, cell.rank)
    frame, cells = iter(box.upper), iter(cell.shape)
    extents = tuple(next(frame) if what == "frame" else next(cells) for what in layout)
    if any(extent is not None and extent < 0 for extent in extents):
        raise SacError("shape", f"negative extents {extents}")
    # E4
    parts = [*(other_part(each, scope, extents, length) for each in others), Part(last, box, cell, layout)]
    types = unify([part.cell for part in parts], "bodies")
    # E5
    for part in parts:
        check_range(part, extents)
    return Assembly(tuple(parts), Shaped(types.scalar, False, extents))


def other_part(partition: tree.Partition, scope: Scope, extents: Extents, frame_length: int) -> Part:
    """Any partition but the last: it must fit into the result."""
    pattern = isinstance(partition.index, tree.IndexPattern)
    if pattern:
        # Where the names sit among the dots is known from the cell alone, and tells what a dot in a bound means.
        length = len(partition.index.names)
        cell = cell_of(partition, scope, length)
        layout = layout_of(partition.index, length, cell.rank)
        axes = [axis for axis, what in enumerate(layout) if what == "frame"]
        whole = tuple(extents[axis] if axis < len(extents) else None for axis in axes)
        _, box = bounds(partition, scope, whole, extents)
    else:
        length, box = bounds(partition, scope, extents[:frame_length], extents)
        cell = cell_of(partition, scope, length)
        layout = layout_of(partition.index, length, cell.rank)
    if scope.strict and length != frame_length:
        raise SacError("rank", "indices of different lengths")
    if len(layout) != len(extents):
        raise SacError("homogeneity", f"cells of {cell.shape} do not fit into {extents}")
    cells = iter(cell.shape)
    for axis, what in enumerate(layout):
        if what == "cell" and extents[axis] is not None and next(cells) != extents[axis]:
            raise SacError("homogeneity", f"cells of {cell.shape} do not fit into {extents}")
    return Part(partition, box, cell, layout)


def cell_of(partition: tree.Partition, scope: Scope, length: int) -> Shaped:
    """Type and shape of the body while the index is abstract; `NeedsIndex` where they hang on it."""
    cell = scope.binding(**abstract_index(partition.index, length)).operand(partition.body).shaped()
    return cell.over(cell.shape)


def layout_of(index: tree.IndexVector | tree.IndexPattern, length: int, cell_rank: int) -> tuple[str, ...]:
    """For each axis of the result whether the index runs along it ("frame") or the cell lies there ("cell")."""
    if isinstance(index, tree.IndexVector):
        return ("frame",) * length + ("cell",) * cell_rank
    singles = sum(element == tree.Dot() for element in index.elements)
    if singles > cell_rank:
        raise SacError("rank", f"{singles} dots, but the body has {cell_rank} axes")
    layout: list[str] = []
    for element in index.elements:
        if isinstance(element, str):
            layout.append("frame")
        else:
            layout += ["cell"] * (cell_rank - singles if element.many else 1)
    return (*layout, *["cell"] * (cell_rank - layout.count("cell")))


def check_range(part: Part, extents: Extents) -> None:
    """A generator that is not empty lies inside the result."""
    box = part.box
    if not box.known or box.empty:
        return
    assert box.lower is not None
    for axis, lo, hi in zip(part.frame, box.lower, box.upper, strict=True):
        extent = extents[axis]
        if extent is not None and hi is not None and (lo < 0 or hi > extent):
            raise SacError("generator", f"{lo} to {hi} is outside of {extents}")


# ---------------------------------------------------------------- bounds (2.4)


def bounds(partition: tree.Partition, scope: Scope, whole: Extents | None, extents: Extents) -> tuple[int, Box]:
    """The number of index components, and the box. `whole` is the whole frame; None for the last partition."""
    index, generator = partition.index, partition.generator or tree.Generator(None, None)
    own = dict.fromkeys((index.name,) if isinstance(index, tree.IndexVector) else index.names)
    outside = scope.binding(**own)
    lower, upper = generator.lower, generator.upper

    explicit = [bound.value for bound in (lower, upper) if bound and not isinstance(bound.value, tree.Dot)]
    strides = [e for e in (generator.step, generator.width) if e]
    lengths = [bound_length(e, outside) for e in explicit]
    stride_lengths = [bound_length(e, outside) for e in strides]
    known = isinstance(index, tree.IndexPattern) or lengths or stride_lengths
    # Bounds that are written ask no selection: one that never runs may then have any mistake.
    found = None if known and upper is not None else find_shapes(partition, scope)
    if isinstance(index, tree.IndexPattern):
        length = len(index.names)
    elif lengths:
        length = lengths[0]
    elif found is not None and upper is None:
        length = len(found)
    elif stride_lengths:
        length = stride_lengths[0]
    elif found is not None:
        length = len(found)
    elif whole is not None:
        length = len(whole)
    else:
        raise SacError("bound", "no upper bound")
    if any(each != length for each in lengths + stride_lengths):
        raise SacError("rank", f"bounds of lengths {lengths + stride_lengths} for an index of {length} components")

    taints: list[frozenset[str]] = []

    def numbers(expression: tree.Expr) -> tuple[int, ...] | None:
        try:
            demanded = outside.operand(expression).demand()
        except NeedsIndex:
            return None
        taints.append(demanded.taint)
        return tuple(int(n) for n in demanded.data)

    los: tuple[int, ...] | None
    his: Extents
    match lower:
        case None:
            los = (0,) * length
        case tree.Bound(tree.Dot(), strict):
            los = (1 if strict else 0,) * length
        case tree.Bound(expression, strict):
            los = numbers(expression)
            los = los and tuple(lo + strict for lo in los)
    match upper:
        case None if found is not None:
            if len(found) < length:
                raise SacError("rank", f"bounds of {length} components for an index of {len(found)}")
            his = found[:length]
        case None | tree.Bound(tree.Dot()) if whole is None:
            raise SacError("bound", "the last partition has no upper bound")
        case None | tree.Bound(tree.Dot()):
            assert whole is not None
            if len(whole) < length:
                whole = extents[:length] + (None,) * (length - len(extents))
            off = 1 if upper is not None and upper.strict else 0
            his = tuple(None if extent is None else extent - off for extent in whole[:length])
        case tree.Bound(expression, strict):
            numbered = numbers(expression)
            his = (None,) * length if numbered is None else tuple(hi + (not strict) for hi in numbered)
    step = numbers(generator.step) if generator.step else (1,) * length
    width = numbers(generator.width) if generator.width else (1,) * length
    if step and width and any(not 1 <= w <= s for s, w in zip(step, width, strict=True)):
        raise SacError("generator", f"step {step} width {width}")
    return length, Box(los, his, step, width, frozenset().union(*taints))


# ---------------------------------------------------------------- E6: elements


def run(assembly: Assembly, scope: Scope) -> Value:
    """Every element from the first partition that has it, zero where none has; bodies run only where they are used."""
    result = assembly.result
    token = f"#{next(_numbers)}"
    data = np.zeros(result.shape, result.dtype)
    covered = np.zeros(result.shape, bool)
    taint: frozenset[str] = frozenset()
    for part in assembly.parts:
        assert part.box.lower is not None
        ranges = [range(lo, hi or 0) for lo, hi in zip(part.box.lower, part.box.upper, strict=True)]
        doubt = any(not name.startswith("#") for name in part.box.taint)
        inner = scope.doubting(doubt)
        taint |= part.box.taint
        for point in itertools.product(*ranges):
            if point not in part.box:
                continue
            region: list[slice | int] = [slice(None)] * result.rank
            for axis, x in zip(part.frame, point, strict=True):
                region[axis] = x
            if covered[tuple(region)].all():
                continue
            cell = inner.binding(**index_at(part.partition, point, part.box.taint | {token})).operand(
                part.partition.body
            )
            if cell.shaped().shape != part.cell.shape:
                raise AssertionError("the shape of a cell hangs on its index")
            found = cell.value()
            fresh = ~covered[tuple(region)]
            typed = value(found.data, result).data
            if result.rank == len(part.frame):
                data[tuple(region)] = typed
            else:
                data[tuple(region)][fresh] = typed[fresh]
            covered[tuple(region)] = True
            taint |= found.taint
    return Value(data, result.over(()), taint - {token})


def index_at(partition: tree.Partition, point: tuple[int, ...], taint: frozenset[str]) -> dict[str, Operand | None]:
    """The variables of the index at one point."""
    match partition.index:
        case tree.IndexVector(name):
            return {name: known(integers(np.array(point, dtype="int32"), taint))}
        case tree.IndexPattern(names=names):
            return {name: known(integers(x, taint)) for name, x in zip(names, point, strict=True)}
