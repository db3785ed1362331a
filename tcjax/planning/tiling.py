"""Turns a schedule's loop nests into stages: which loops are sequential, and what each tile computes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from .. import ir, ranges, transforms
from ..symbolic import Affine, Box, IndexVar
from ..symbolic.facts.affines import as_affine
from ..symbolic.facts.trees import And, Binary, Compare, Expr, Not, Or, Select
from .blocked.loop_schedules import choose
from .data.nodes import FusedReduction
from .data.preferences import DEFAULT, Backend
from .data.stages import Begin, Cast, Compute, Loop, Plan, ScheduledStage, Tiled, TiledStep
from .data.views import Viewed
from .formulas import constant, plan_formula
from .fused_statements import Unfused, fused_nest
from .schedule import Nest, Nested
from .scope import Origins

Shapes = Mapping[str, tuple[int, ...]]


def tile(plan: Plan, nest: Nest, backend: Backend = DEFAULT.backend) -> Plan:
    """The plan with its stages arranged as in the loop nests; on a GPU as Pallas kernels if the `backend` asks for it.

    A statement whose reduction cannot continue from a part (a mean, a position) stays whole even if the schedule would
    split it; statements inside it are then computed before it.
    """
    builder = _Builder(plan.bound, nest, backend)
    outermost = {stage.number: stage for stage in nest if not stage.prefix}
    whole = {number: why for number, stage in outermost.items() if (why := builder.hindrance(stage))}
    parted = {n: stage for n, stage in outermost.items() if n not in whole and builder.sequential(stage)}
    inside = {inner.number for stage in parted.values() for inner in builder.all_inside(stage)}
    defined = {tensor.name for tensor in plan.bound.function.initial}
    stages: list[ScheduledStage] = []
    for number, stage in enumerate(plan.stages):
        if isinstance(stage, Compute) and number in parted:
            stages.append(builder.outermost(stage, parted[number], stage.target in defined))
        elif number not in inside:
            stages.append(stage)
        if isinstance(stage, Compute):
            defined.add(stage.target)
    return replace(plan, scheduled=tuple(stages), whole=whole)


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """The context inside the open loops: their ranges, and the shapes and origins of all tensors."""

    loops: Box
    shapes: Shapes
    origins: Origins

    def within(self, loop: IndexVar, extent: int) -> "_Surroundings":
        return replace(self, loops={**self.loops, loop: (0, extent)})

    def holding(self, name: str, shape: tuple[int, ...], origin: tuple[int | Affine, ...]) -> "_Surroundings":
        """The context with another tensor of this name."""
        return replace(self, shapes={**self.shapes, name: shape}, origins={**self.origins, name: origin})


@dataclass(frozen=True)
class _Builder:
    bound: ranges.Bound
    nest: Nest
    backend: Backend
    attached: dict[tuple[str, str], list[Nested]] = field(default_factory=dict)
    variables: dict[str, IndexVar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for stage in self.nest:
            if stage.prefix:
                self.attached.setdefault(stage.prefix[-1], []).append(stage)
        # A loop keeps its name: besides loops, the program has only the indices of inline reductions.
        taken = {i for stage in self.nest for i in self.bound.boxes[stage.number] if i not in stage.roots}
        for stage in self.nest:
            for loop, (name, _) in zip(stage.loops, stage.leaves, strict=True):
                variable = IndexVar(loop)
                while variable in taken:
                    variable = IndexVar(loop, variable.tag + 1)
                taken.add(variable)
                self.variables[name] = variable

    def inside(self, nested: Nested, loop: str) -> Sequence[Nested]:
        """The statements computed in a loop of this one."""
        return self.attached.get((nested.name, loop), ())

    def all_inside(self, nested: Nested) -> Iterator[Nested]:
        for loop in nested.loops:
            for inner in self.inside(nested, loop):
                yield inner
                yield from self.all_inside(inner)

    def formula(self, nested: Nested) -> ir.Define | ir.Accumulate:
        statement = self.bound.function.statements[nested.number]
        assert isinstance(statement, (ir.Define, ir.Accumulate))
        return statement

    # ------------------------------------------------------------ which loops are sequential

    def hindrance(self, nested: Nested) -> str:
        """Why a statement that should be tiled, or contain statements, stays whole; empty if it does not."""
        family = (nested, *self.all_inside(nested))
        if any(extent == 0 for stage in family for _, extent in stage.leaves):
            return "there are no elements"
        for stage in family:
            statement = self.formula(stage)
            if self.wanted(stage) > self.sequential(stage) and (not self.bears(stage) or not self.sequential(nested)):
                if any(index.is_data for index in statement.indices):
                    return f"data decides which elements of `{statement.target.name}` a tile writes"
                assert isinstance(statement, ir.Accumulate)
                return f"`{statement.reducer.value}` over part of the points cannot be continued to all of them"
        return ""

    def bears(self, nested: Nested) -> bool:
        """Whether all loops with statements inside can be sequential."""
        places = [place for place, loop in enumerate(nested.loops, 1) if self.inside(nested, loop)]
        return self.sequential(nested) >= max(places, default=0)

    def wanted(self, nested: Nested) -> int:
        """The number of outermost loops that step over tiles, contain statements, or are around such loops."""
        wanted = [loop in nested.tiles or bool(self.inside(nested, loop)) for loop in nested.loops]
        return max((place for place, is_wanted in enumerate(wanted, 1) if is_wanted), default=0)

    def sequential(self, nested: Nested) -> int:
        """The number of outermost loops that are sequential: those wanted, as far as the statement allows."""
        statement, count = self.formula(nested), self.wanted(nested)
        if any(index.is_data for index in statement.indices):
            return 0
        if isinstance(statement, ir.Define) or statement.reducer.operator is not None:
            return count
        if any(index.bare is None for index in statement.indices) or self.repeats(nested):
            return 0
        if isinstance(statement.reducer, ir.Monoid):
            return 0
        reduced = {name for index in statement.reduction for name in nested.roots[index].variables}
        whole = next((place for place, (name, _) in enumerate(nested.leaves) if name in reduced), count)
        return min(count, whole)

    def repeats(self, nested: Nested) -> bool:
        """Whether loops revisit an element of the target at points that a guard excludes."""
        left = {
            name
            for index in self.formula(nested).indices
            for i in index.variables
            for name in nested.roots[i].variables
        }
        return any(guard.variables & left and not self.lands_outside(nested, guard) for guard in nested.guards)

    # ------------------------------------------------------------ loops

    def outermost(self, stage: Compute, nested: Nested, defined: bool) -> Tiled:
        """A statement that is not inside another."""
        around = _Surroundings({}, self.bound.shapes, self.bound.origins)
        padded = self.padded(nested, stage.shape, around.origins[stage.target])
        around = around.holding(stage.target, padded, around.origins[stage.target])
        steps, kernel = tuple(self.steps(nested, around)), None if defined else self.kernel(stage, nested)
        return Tiled(nested.number, stage.target, stage.dtype, stage.shape, padded, defined, steps, kernel)

    def kernel(self, stage: Compute, nested: Nested) -> FusedReduction | None:
        """The statement with everything computed inside it as one Pallas kernel, if that is requested and possible.

        A GPU program has only registers, and cannot look up values in them by position. So inner statements are
        computed where the tile reads them: the chunk of hidden values of a perceptron between two matrix products, the
        points of a halo by each point that needs them. A tile has the last two axes of this statement.
        """
        if self.backend.name != "pallas":
            return None
        inside = dict.fromkeys(self.formula(inner).target.name for inner in self.all_inside(nested))
        try:
            found = fused_nest(stage.target, tuple(inside), self.bound)
        except Unfused:
            return None
        if found.shape != stage.shape:
            return None
        left = dict(nested.leaves[self.sequential(nested) :])
        roots = [nested.roots[axis].variables for axis in found.axes]
        rows, columns = (1, 1, *(prod(left.get(name, 1) for name in names) for names in roots))[-2:]
        sources = tuple(Viewed(operand.name, (), "") for operand in found.operands)
        return FusedReduction(found, sources, choose(found), replace(self.backend, tile=(rows, columns)))

    def within(self, nested: Nested, around: _Surroundings) -> tuple[_Surroundings, list[TiledStep]]:
        """A statement computed inside another: its piece of the tensor, and the steps that fill it."""
        name = self.formula(nested).target.name
        origin = tuple(self.affine(end) for end in nested.origin)
        shape = self.padded(nested, nested.region.extent, origin)
        around = around.holding(name, shape, origin)
        return around, [*self.steps(nested, around)]

    def steps(self, nested: Nested, around: _Surroundings) -> Iterator[TiledStep]:
        count = self.sequential(nested)
        statement = self.formula(nested)
        shared = False
        if isinstance(statement, ir.Accumulate) and count:
            reduced = {name for index in statement.reduction for name in nested.roots[index].variables}
            shared = not statement.restart or any(name in reduced for name, _ in nested.leaves[:count])
            shared = shared or any(index.bare is None for index in statement.indices) or self.repeats(nested)
        # A reduction that continues from tile to tile keeps its accumulating type.
        wide = statement.accumulate if isinstance(statement, ir.Accumulate) and shared else statement.target.dtype
        if shared or (nested.prefix and count):
            keeps = isinstance(statement, ir.Accumulate) and not statement.restart
            yield Begin(self.blank(nested, around, wide), keeps)
        yield from self.level(nested, 0, count, around, wide if shared else None)
        if wide != statement.target.dtype:
            yield Cast(statement.target.name, statement.target.dtype)

    def level(
        self, nested: Nested, depth: int, count: int, around: _Surroundings, joined: str | None
    ) -> list[TiledStep]:
        """The loops from `depth` on: `count` sequential ones, then the tile."""
        if depth == count:
            return [self.tile(nested, count, around, joined)]
        name, extent = nested.leaves[depth]
        around = around.within(self.variables[name], extent)
        body: list[TiledStep] = []
        for inner in self.inside(nested, nested.loops[depth]):
            around, steps = self.within(inner, around)
            body += steps
        body += self.level(nested, depth + 1, count, around, joined)
        return [Loop(self.variables[name], extent, tuple(body))]

    # ------------------------------------------------------------ tiles

    def tile(self, nested: Nested, count: int, around: _Surroundings, joined: str | None) -> Compute:
        """The statement over the remaining loops; its values are passed to the next tile in the type `joined`."""
        statement = transforms.guard_ranges(self.formula(nested))
        statement = transforms.specialize(statement, self.bound.sizes)
        box = self.box(nested, count, around)
        known = transforms.Known.over(box)
        roots = {index: known.simplify(self.affine(root)) for index, root in nested.roots.items()}
        reduction: tuple[IndexVar, ...] = ()
        if isinstance(statement, ir.Accumulate):
            left = frozenset[IndexVar]().union(*(roots[i].variables for s in statement.indices for i in s.variables))
            reduced = frozenset[IndexVar]().union(*(roots[index].variables for index in statement.reduction))
            tiles = [self.variables[name] for name, _ in nested.leaves[count:]]
            reduction = tuple(variable for variable in tiles if variable in reduced - left)
            statement = replace(statement, restart=statement.restart and joined is None)
        guards = [self.condition(guard) for guard in nested.guards if not self.lands_outside(nested, guard)]
        placed = transforms.substitute(statement, roots, reduction, known.simplify)
        for guard in guards:
            whole = ir.both(guard, placed.domain.guard)
            placed = replace(placed, domain=replace(placed.domain, guard=whole))
        loops = frozenset(around.loops)
        compute = plan_formula(placed, box, around.shapes, around.origins, defined=bool(count), loops=loops)
        return compute if joined is None else replace(compute, dtype=joined)

    def blank(self, nested: Nested, around: _Surroundings, dtype: str) -> Compute:
        """The elements named by the statement before its first point: zero, or the identity."""
        statement = self.formula(nested)
        value: bool | int | float = 0
        if isinstance(statement, ir.Accumulate):
            value = statement.reducer.empty(statement.accumulate)
        if nested.prefix:
            name = statement.target.name
            axes = [IndexVar(f"{name}.{number}") for number in range(statement.target.rank)]
            indices = tuple(Affine.of(axis) + start for axis, start in zip(axes, around.origins[name], strict=True))
            box = {axis: (0, extent) for axis, extent in zip(axes, around.shapes[name], strict=True)}
        else:
            indices, box = transforms.specialize(statement, self.bound.sizes).indices, self.bound.boxes[nested.number]
        filled = ir.Define(statement.target, indices, constant(value, dtype, statement.span), span=statement.span)
        box, loops = {**box, **around.loops}, frozenset(around.loops)
        compute = plan_formula(filled, box, around.shapes, around.origins, defined=False, loops=loops)
        return replace(compute, dtype=dtype)

    def box(self, nested: Nested, count: int, around: _Surroundings) -> Box:
        """The ranges of a tile's loops, of those around it, and of inline reductions."""
        inline = {i: ends for i, ends in self.bound.boxes[nested.number].items() if i not in nested.roots}
        tile = {self.variables[name]: (0, extent) for name, extent in nested.leaves[count:]}
        return {**tile, **inline, **around.loops}

    def padded(self, nested: Nested, shape: tuple[int, ...], origin: tuple[int | Affine, ...]) -> tuple[int, ...]:
        """The shape with room for what the last tiles compute beyond its ends."""
        every = _Surroundings({self.variables[name]: (0, extent) for name, extent in self.loops_of(nested)}, {}, {})
        box = self.box(nested, 0, every)
        known = transforms.Known.over(box)
        roots = {index: self.affine(root) for index, root in nested.roots.items()}
        room = list(shape)
        for number, (index, start) in enumerate(zip(self.formula(nested).indices, origin, strict=True)):
            if index.is_data:
                continue
            place = transforms.substitute_affine(index.substitute_sizes(self.bound.sizes), roots)
            span = known.bounds(known.simplify(place - start))
            if span is not None:
                room[number] = max(room[number], span[1] + 1)
        return tuple(room)

    def loops_of(self, nested: Nested) -> Iterator[tuple[str, int]]:
        """The loops around a statement."""
        extents = {(s.name, loop): leaf for s in self.nest for loop, leaf in zip(s.loops, s.leaves, strict=True)}
        return (extents[step] for step in nested.prefix)

    def lands_outside(self, nested: Nested, guard: Expr) -> bool:
        """Whether the points excluded by the guard are in the padding beyond the target's ends."""
        statement = self.formula(nested)
        for number, index in enumerate(statement.indices):
            if index.bare is None:
                return False
            if not nested.prefix:
                name = statement.target.name
                end = self.bound.origins[name][number] + self.bound.shapes[name][number]
                if self.bound.boxes[nested.number][index.bare][1] != end:
                    return False
        if isinstance(statement, ir.Define):
            return True
        # A point that is reached twice must be added once: only reductions over guard-bounded loops may continue.
        match guard:
            case Compare(op="<", left=left, right=right):
                bounded, end = self.affine(left), self.affine(right)
            case _:
                return False
        box = self.bound.boxes[nested.number]
        for number, index in enumerate(statement.indices):
            assert index.bare is not None
            root = self.affine(nested.roots[index.bare])
            if nested.prefix and bounded == root - self.affine(nested.origin[number]):
                return True
            if not nested.prefix and end - bounded == Affine.of(box[index.bare][1]) - root:
                return True
        return False

    # ------------------------------------------------------------ expressions

    def affine(self, expr: Expr) -> Affine:
        affine = as_affine(expr, self.variables.__getitem__)
        return Affine.of(ir.Data(self.value(expr))) if affine is None else affine

    def value(self, expr: Expr) -> ir.Expr:
        """An expression of loops that is not a subscript, such as a table, as a value."""
        affine = as_affine(expr, self.variables.__getitem__)
        match expr:
            case _ if affine is not None:
                return ir.integer(affine)
            case Select(condition=condition, then=then, otherwise=otherwise):
                return ir.Select(self.condition(condition), self.value(then), self.value(otherwise), "int32")
            case Binary(op="tdiv" | "tmod" as operator, left=left, right=right):
                sign = "quot" if operator == "tdiv" else "rem"
                return ir.Binary(sign, self.value(left), self.value(right), "int32")
            case Binary(op=operator, left=left, right=right):
                return ir.Binary(operator, self.value(left), self.value(right), "int32")
            case _:
                raise AssertionError(expr)

    def condition(self, expr: Expr) -> ir.Expr:
        """A condition on loops as a value."""
        match expr:
            case Compare(op=operator, left=left, right=right):
                return ir.Binary(operator, self.value(left), self.value(right), "bool")
            case And(parts=parts):
                return self.joined("&&", parts)
            case Or(parts=parts):
                return self.joined("||", parts)
            case Not(operand=operand):
                return ir.Unary("!", self.condition(operand), "bool")
            case _:
                raise AssertionError(expr)

    def joined(self, operator: str, parts: Sequence[Expr]) -> ir.Expr:
        first, *rest = map(self.condition, parts)
        for part in rest:
            first = ir.Binary(operator, first, part, "bool")
        return first
