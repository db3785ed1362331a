"""The parts of a fused, tiled kernel: its grid, the blocks of its operands, its scratch and its masks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Literal

import numpy as np

from ... import ir, ranges
from ...markup import Cell, Element, block, element, table, title
from ...symbolic import Facts
from ...symbolic.facts.trees import Binary, Compare, Const, Expr, Var
from .boxes import NeededBox, infer_box
from .formulas import constant, fitted
from .grids import Span
from .needs import Need
from .regions import Placed, needs_among, place_stages, plain_names
from .roots import plain, qualified
from .stages import Stages, path_of

# The bytes of a register file and of the memory of one multiprocessor: larger scratch is in global memory.
_REGISTERS: Final = 16 * 1024
_ON_CHIP: Final = 160 * 1024

Mode = Literal["blocked", "element", "whole", "gather"]
Storage = Literal["value", "smem", "gmem", "output"]


@dataclass(frozen=True)
class Block:
    """The part of an array that one program handles.

    It has `shape`, begins at `start`, and has the exact `extent` elements. If every start is a multiple of the shape,
    `index_map` is the number of the block per axis, else None. `pad` is the padding before and after the array that
    completes the outermost blocks. `mask` holds at the valid elements (variables ``axis0``, ``axis1``, ..); None if all
    are.
    """

    shape: tuple[int, ...]
    start: tuple[Expr, ...]
    extent: tuple[Expr, ...]
    index_map: tuple[Expr, ...] | None
    pad: tuple[tuple[int, int], ...]
    mask: tuple[Expr, ...] | None


@dataclass(frozen=True)
class InputPlan:
    """An array that the kernel reads.

    `mode`: ``blocked``, ``element`` (blocks that overlap or begin anywhere), ``whole`` (not expressible by blocks of
    the grid), or ``gather`` (data decides). `fill` replaces elements outside, which no active point reads.
    """

    tensor: str
    dtype: str
    mode: Mode
    block: Block
    fill: bool | int | float
    bytes: int


@dataclass(frozen=True)
class StagePlan:
    """A statement inside the kernel.

    `loops` are those inside a program, with `guards` where the loops alone do not prove that a point belongs to the
    stage. A reduction whose loop is on the grid starts with the identity (`init`) at the first step and ends (`finish`)
    at the last.
    """

    name: str
    storage: Storage
    alloc_shape: tuple[int, ...]
    loops: tuple[tuple[str, int], ...]
    guards: tuple[Expr, ...]
    init: str | None
    finish: bool
    dtype: str
    accumulate: str
    bytes: int
    flops: int
    recompute: float


@dataclass(frozen=True)
class OutputPlan:
    """The array that the kernel writes; `disjoint` if no two parallel programs write the same element."""

    tensor: str
    dtype: str
    block: Block
    disjoint: bool
    tail: Literal["none", "guard"]


@dataclass(frozen=True)
class KernelPlan:
    """A root stage and everything computed inside it, as one kernel.

    `grid` has the extents of the loops over programs, `axes` tells which of them may run in parallel. `stages` are in
    the order of the body, the root stage last.
    """

    name: str
    grid: tuple[tuple[str, int], ...]
    axes: Mapping[str, Literal["parallel", "sequential"]]
    stages: tuple[StagePlan, ...]
    inputs: tuple[InputPlan, ...]
    outputs: tuple[OutputPlan, ...]

    @property
    def scratch_bytes(self) -> int:
        """The memory of the inner stages besides the output."""
        return sum(stage.bytes for stage in self.stages if stage.storage != "output")

    def _repr_html_(self) -> str:
        return kernel_plan_page([self])


class KernelPlans(dict[str, KernelPlan]):
    """A `KernelPlan` for each root stage; a notebook shows their tables."""

    def _repr_html_(self) -> str:
        return kernel_plan_page(self.values())


def kernel_plans(stages: Stages, bound: ranges.Bound) -> dict[str, KernelPlan]:
    """A kernel for each root stage that is a formula, in order. The stages have been checked."""
    placed = place_stages(stages, bound)
    return {
        stage.name: _Kernel(stage.name, stages, placed, bound).plan()
        for stage in stages.values()
        if stage.attach is None and not stage.is_call
    }


class _Kernel:
    def __init__(self, name: str, stages: Stages, placed: Mapping[str, Placed], bound: ranges.Bound) -> None:
        self.root = placed[name]
        self.stages = stages
        self.placed = placed
        self.bound = bound
        inside = [stage for stage in stages.values() if stage.attach and path_of(stage, stages)[0][0] == name]
        self.family = [placed[stage.name] for stage in (*inside, stages[name])]
        self.grid = self._grid()
        self.names = plain_names([qualified(name, loop) for loop in self.grid])
        reduced = self._reduced(self.root)
        self.sequential = [loop for loop in self.grid if qualified(name, loop) in reduced]

    def _grid(self) -> tuple[str, ...]:
        """The outermost loops of the root stage up to the last one in which another is computed, or that steps over
        tiles.
        """
        stage = self.root.stage
        outer = {relation.outer for relation in stage.relations if hasattr(relation, "factor")}
        homes = {s.attach.loop for s in self.stages.values() if s.attach and s.attach.consumer == stage.name}
        last = max((n for n, loop in enumerate(stage.leaves, 1) if loop in outer | homes), default=0)
        if not last:
            last = min(stage.spatial, len(stage.leaves))
        return stage.leaves[:last]

    def _reduced(self, placed: Placed) -> frozenset[str]:
        """The reduction loops: those on which no index of the left side depends, but some of the reduction does."""
        statement = placed.stage.statement
        if not isinstance(statement, ir.Accumulate):
            return frozenset()
        return frozenset().union(*(placed.values[index].variables for index in statement.reduction))

    def plan(self) -> KernelPlan:
        extents = self.root.roots.extents
        return KernelPlan(
            self.root.stage.name,
            tuple((loop, extents[loop]) for loop in self.grid),
            {loop: "sequential" if loop in self.sequential else "parallel" for loop in self.grid},
            tuple(self._stage(placed) for placed in self.family),
            tuple(self._inputs()),
            (self._output(),),
        )

    # ------------------------------------------------------------ operands

    def _inputs(self) -> Iterable[InputPlan]:
        made = {placed.stage.target.name for placed in self.family if placed is not self.root}
        tensors: dict[str, ir.Tensor] = {}
        for placed in self.family:
            for access in _accesses(placed.stage.statement):
                if access.tensor.name not in made:
                    tensors.setdefault(access.tensor.name, access.tensor)
        prefix = tuple(self.names)
        for name, tensor in tensors.items():
            domain = _domain_of(name, self.bound)
            readers = [placed for placed in self.family if name in placed.stage.reads]
            needs, spans = needs_among(readers, name, domain, self.bound)
            spans |= self.root.spans
            box = infer_box(needs, prefix, spans, domain)
            block = self._block(box, domain)
            width = np.dtype(_storage_type(tensor.dtype)).itemsize
            opened = any(
                index.is_data
                for placed in readers
                for access in _accesses(placed.stage.statement)
                if access.tensor.name == name
                for index in access.indices
            )
            mode: Mode = "element" if block.index_map is None else "blocked"
            if opened:
                mode = "gather"
            elif not box.tables and box.counts.instances:
                mode = "whole"
            yield InputPlan(name, tensor.dtype, mode, block, 0, prod(block.shape) * width)

    def _output(self) -> OutputPlan:
        stage, prefix = self.root.stage, tuple(self.names)
        statement = stage.statement
        assert isinstance(statement, (ir.Define, ir.Accumulate))
        domain = _domain_of(stage.target.name, self.bound)
        written = [index.bare for index in statement.indices]
        open_axes = [Var(f"{stage.name}.{axis}''") for axis in range(len(written))]
        spans = dict(self.root.spans) | {var.name: domain[axis] for axis, var in enumerate(open_axes)}
        indices = tuple(
            open_axes[axis] if index is None else self.root.values[index] for axis, index in enumerate(written)
        )
        need = Need(indices, self.root.guards, {})
        box = infer_box([need], prefix, spans, domain)
        block = self._block(box, domain)
        together = tuple(name for name in prefix if plain(name) not in self.sequential)
        apart = infer_box([need], together, spans, domain)
        disjoint = None not in written and apart.counts.total_exact == apart.counts.distinct == apart.counts.total_box
        tail: Literal["none", "guard"] = "none" if block.mask is None else "guard"
        return OutputPlan(stage.target.name, stage.target.dtype, block, disjoint, tail)

    def _block(self, box: NeededBox, domain: Sequence[Span]) -> Block:
        shown = {name: Var(own) for name, own in self.names.items()}
        starts = tuple(low.substitute(shown) for low in box.lows)
        extents = tuple(size.substitute(shown) for size in box.sizes)
        origins = [lo for lo, _ in domain]
        places = self._index_map(box, origins)
        pads: list[tuple[int, int]] = []
        for axis, (lo, hi) in enumerate(domain):
            before = behind = 0
            if box.tables:
                table = box.tables[axis]
                lows = table.low[table.live]
                if lows.size:
                    before = max(0, lo - int(lows.min()))
                    behind = max(0, int(lows.max()) + box.extents[axis] - hi)
            pads.append((before, behind))
        masks = tuple(
            Compare("<", Var(f"axis{axis}"), size)
            for axis, (size, extent) in enumerate(zip(extents, box.extents, strict=True))
            if size != Const(extent)
        )
        index_map = None if places is None else tuple(place.substitute(shown) for place in places)
        return Block(box.extents, starts, extents, index_map, tuple(pads), masks or None)

    def _index_map(self, box: NeededBox, origins: Sequence[int]) -> tuple[Expr, ...] | None:
        """The number of the block per axis; None unless every start is a multiple of the extent."""
        places: list[Expr] = []
        for axis, (origin, extent) in enumerate(zip(origins, box.extents, strict=True)):
            start = constant_of(box.lows[axis])
            if start is not None and extent and (start - origin) % extent == 0:
                places.append(Const((start - origin) // extent))
                continue
            if not box.tables or not extent:
                return None
            table = box.tables[axis]
            moved = table.low - origin
            if (moved[table.live] % extent).any():
                return None
            numbers = moved // extent
            same = constant(numbers, table.live)
            candidate = Binary("//", box.lows[axis] - origin if origin else box.lows[axis], Const(extent))
            found = same or fitted(table.grid, numbers, table.live, [self._facts().simplify(candidate), candidate])
            places.append(candidate if found is None else found)
        return tuple(places)

    def _facts(self) -> Facts:
        facts = Facts()
        for name in self.names:
            lo, hi = self.root.spans[name]
            facts = facts.define(name, lo, hi - 1)
        return facts

    # ------------------------------------------------------------ stages

    def _stage(self, placed: Placed) -> StagePlan:
        stage = placed.stage
        statement = stage.statement
        assert isinstance(statement, (ir.Define, ir.Accumulate))
        is_root = placed is self.root
        loops = stage.leaves[len(self.grid) :] if is_root else stage.leaves
        names = plain_names([*placed.prefix, *(qualified(stage.name, loop) for loop in stage.leaves)])
        shown = {name: Var(own) for name, own in names.items()}
        accumulates = isinstance(statement, ir.Accumulate)
        dtype = stage.target.dtype
        accumulate = statement.accumulate if isinstance(statement, ir.Accumulate) else dtype
        shape = self._output_shape() if is_root else placed.box.extents
        held = prod(shape) * np.dtype(_storage_type(accumulate if accumulates else dtype)).itemsize
        storage: Storage = "value" if held <= _REGISTERS else "smem" if held <= _ON_CHIP else "gmem"
        parted = is_root and bool(self.sequential)
        return StagePlan(
            stage.name,
            "output" if is_root else storage,
            shape,
            tuple((loop, placed.roots.extents[loop]) for loop in loops),
            tuple(guard.substitute(shown) for guard in placed.guards),
            statement.reducer.value if parted and isinstance(statement, ir.Accumulate) else None,
            parted,
            dtype,
            accumulate,
            held,
            _operations(statement) * self._points(placed),
            1.0 if not placed.box.counts.distinct else placed.box.counts.total_box / placed.box.counts.distinct,
        )

    def _output_shape(self) -> tuple[int, ...]:
        return self._output().block.shape

    def _points(self, placed: Placed) -> int:
        """The total number of points computed by a stage."""
        stage = placed.stage
        reduction = list(stage.roots)[stage.spatial :]
        return placed.box.counts.total_box * prod(placed.roots.extents[loop] for loop in reduction)


def constant_of(expr: Expr) -> int | None:
    """The value of a constant."""
    return expr.value if isinstance(expr, Const) else None


def _accesses(statement: ir.Statement) -> Iterable[ir.Access]:
    assert isinstance(statement, (ir.Define, ir.Accumulate))
    return ir.accesses_of(statement)


def _domain_of(tensor: str, bound: ranges.Bound) -> tuple[Span, ...]:
    places = zip(bound.origins[tensor], bound.shapes[tensor], strict=True)
    return tuple((origin, origin + extent) for origin, extent in places)


def _storage_type(dtype: str) -> str:
    """The NumPy type with the width of a scalar type."""
    return {"bfloat16": "float16"}.get(dtype, dtype)


def _operations(statement: ir.Define | ir.Accumulate) -> int:
    """The operations of one point: those of inline reductions count once, for their operand."""
    counted = (ir.Binary, ir.Unary, ir.Call, ir.Foreign)
    count = sum(isinstance(node, counted) for node in ir.walk(statement.value))
    return count + isinstance(statement, ir.Accumulate)


def kernel_plan_page(plans: Iterable[KernelPlan]) -> str:
    """The grid, the operands and the stages of each kernel."""
    return str(block(*(part for plan in plans for part in _tables(plan))))


def _tables(plan: KernelPlan) -> Iterable[Element]:
    grid = ", ".join(f"{loop} in 0:{extent} ({plan.axes[loop]})" for loop, extent in plan.grid)
    yield title(f"kernel {plan.name}", f"grid {grid or 'of one program'}; {plan.scratch_bytes} bytes of scratch")
    operands: list[tuple[Cell, ...]] = []
    for given in plan.inputs:
        operands.append((f"reads {given.tensor}", given.dtype, given.mode, *_block_cells(given.block), given.bytes))
    for made in plan.outputs:
        mode = "programs apart" if made.disjoint else "programs meet"
        operands.append((f"writes {made.tensor}", made.dtype, mode, *_block_cells(made.block), ""))
    yield table(("operand", "type", "mode", "block", "starts at", "mask", "bytes"), operands)
    stages: list[tuple[Cell, ...]] = []
    for stage in plan.stages:
        loops = ", ".join(f"{loop} in 0:{extent}" for loop, extent in stage.loops)
        guards = " and ".join(map(str, stage.guards))
        stages.append(
            (
                element("b", stage.name),
                stage.storage,
                " x ".join(map(str, stage.alloc_shape)),
                element("code", loops or "-"),
                element("code", guards or "-"),
                stage.flops,
                float(stage.recompute),
            )
        )
    yield table(("stage", "storage", "shape", "loops", "guards", "operations", "recompute"), stages)


def _block_cells(given: Block) -> tuple[Cell, Cell, Cell]:
    starts = ", ".join(map(str, given.start))
    mask = " and ".join(map(str, given.mask or ()))
    return " x ".join(map(str, given.shape)), element("code", starts), element("code", mask or "-")
