"""A program without loops for one device: statements over its blocks, and exchanges between them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from ... import ir, ranges, transforms
from ...ir import Reducer
from ...symbolic import IndexVar
from .blocks import Collective, Combine
from .emitting import Emitted
from .formulas import CutFormula
from .layouts import Layouts, Span
from .local import Local
from .mistakes import check_order, refused
from .selecting import select_position, select_ranks


@dataclass
class LocalProgram:
    """The program of one device, built statement by statement; `collectives` are its Python functions by name."""

    layouts: Layouts
    collectives: dict[str, Collective]
    made: Emitted = field(init=False)

    def __post_init__(self) -> None:
        layouts = self.layouts
        shapes, origins = ({name: of(name) for name in layouts.blocks} for of in (layouts.extents, layouts.origin))
        self.made = Emitted(self.collectives, shapes, {**layouts.bound.origins, **origins})

    def of(self, formulas: list[CutFormula]) -> ranges.Bound:
        """The statements over a device's blocks, with calls of collectives between them."""
        function = self.layouts.bound.function
        defined = {tensor.name for tensor in function.initial}
        for formula in formulas:
            self._add(formula, formula.statement.target.name in defined)
            defined.add(formula.statement.target.name)
        local = ir.Function(
            function.name,
            tuple(map(self.made.sized, function.parameters)),
            tuple(map(self.made.sized, function.returns)),
            tuple(self.made.statements),
            tuple(map(self.made.sized, function.initial)),
            span=function.span,
        )
        nothing = tuple({} for _ in self.made.boxes)
        made = ranges.Bound(
            local, {}, tuple(self.made.boxes), self.made.origins, self.made.shapes, reasons=nothing, is_part=True
        )
        return transforms.needed(made)

    def _add(self, formula: CutFormula, defined: bool) -> None:
        """One statement for one device."""
        layouts, spans = self.layouts, self.layouts.spans(formula)
        formula = _without_mean(formula, spans)
        statement, target = formula.statement, formula.statement.target
        held = layouts.held[target.name]
        addressed = {axis for d, along in enumerate(held) if d not in formula.scattered for axis in along}
        over = tuple(axis for along in formula.cut.values() for axis in along if axis not in addressed)
        box = {**formula.box, **{index: span.values for index, span in spans.items()}}
        local = Local(layouts, formula, spans, box, self.made.known, len(self.collectives))
        moved = local.statement(statement)
        made = self.made
        if not over and not formula.scattered:
            made.fetched(local, statement)
            made.state(replace(moved, target=made.sized(target)), box)
            return
        if isinstance(moved, ir.Define):
            select_ranks(made, local, moved, over)
            return
        reducer = _combining(formula, layouts.bound, defined)
        if isinstance(reducer, Reducer) and reducer.gives_position:
            select_position(made, local, moved, over)
            return
        made.fetched(local, statement)
        joins = defined and not moved.restart
        origin = made.origins[target.name]
        blocks = layouts.blocks[target.name]
        shape = tuple(n * layouts.parts(formula.scattered.get(d, ())) for d, n in enumerate(blocks))
        finished = reducer if isinstance(reducer, ir.Monoid) and not reducer.continues else None
        states = () if finished is None else finished.components(moved.accumulate)
        parts: list[ir.Tensor] = []
        for number, dtype in enumerate(states or (target.dtype,)):
            part = made.tensor(f"{target.name}.devices", dtype, shape, origin)
            own = reducer if finished is None else finished.component(number)
            made.state(replace(moved, target=part, reducer=own, restart=True), box)
            parts.append(part)
        kept = tuple((d, along, layouts.parts(along)) for d, along in formula.scattered.items())
        count = layouts.parts(over)
        combine = Combine(target.name, parts[0].name, reducer, over, count, target.dtype, joins, kept, states)
        given = (*parts, made.sized(target)) if joins else tuple(parts)
        made.call(combine, made.sized(target), given)


def _without_mean(formula: CutFormula, spans: Mapping[IndexVar, Span]) -> CutFormula:
    """The statement with its mean as a sum, if devices have different numbers of its points."""
    statement = formula.statement
    if not isinstance(statement, ir.Accumulate) or statement.reducer is not Reducer.MEAN or not statement.restart:
        return formula
    parts = [index for index in statement.reduction if index in spans and spans[index].is_masked]
    if not parts or statement.domain.guard is not None:
        return formula
    count = prod(hi - lo for lo, hi in (formula.box[index] for index in statement.reduction))
    value = ir.Cast(statement.value, statement.accumulate)
    share = ir.Binary("/", value, ir.Const(float(count), statement.accumulate), statement.accumulate)
    return replace(formula, statement=replace(statement, reducer=Reducer.SUM, value=share))


def _combining(formula: CutFormula, bound: ranges.Bound, defined: bool) -> Reducer | ir.Monoid:
    """The reducer that combines the devices' partial results. Raises `CompileError` (TC0811) if there is none."""
    statement = formula.statement
    assert isinstance(statement, ir.Accumulate), "a cut index that is not on the left side is reduced"
    reducer, target = statement.reducer, statement.target.name
    left = {index for subscript in statement.indices for index in subscript.variables if not subscript.is_data}
    reduced = ", ".join(sorted(f"`{index}`" for index in formula.cut if index not in left))
    whole = f"leave {reduced} out of `sharded(mesh, {{...}})`: each device then reduces all its values"
    if isinstance(reducer, ir.Monoid) and not reducer.continues and defined and not statement.restart:
        raise refused(f"the result of `{reducer.name}` is no state to go on from", statement.span, whole)
    if isinstance(reducer, ir.Monoid) and not reducer.commutative:
        check_order(statement.reduction, formula.cut, f"`{reducer.name}` combines", statement.span)
    looked = [subscript for subscript in statement.indices if subscript.is_data]
    if isinstance(reducer, Reducer) and reducer.gives_position and looked:
        raise refused(
            f"`{looked[0]}` says which elements of `{target}` get positions, and devices cannot tell which comes first",
            statement.span,
            whole,
        )
    if reducer is Reducer.MEAN and statement.domain.guard is not None:
        raise refused(
            "a guard decides how many points of the mean each device has",
            statement.span,
            "divide a sum by a count, each in a statement of its own",
        )
    shape, origin = bound.shapes[target], bound.origins[target]
    for index, extent, first in zip(statement.indices, shape, origin, strict=True):
        covered = index.is_data or (index.bare is not None and formula.box[index.bare] == (first, first + extent))
        if defined and not covered:
            raise refused(
                f"the statement goes on from a part of `{target}`, and devices combine whole tensors",
                statement.span,
                whole,
            )
    if defined and statement.restart and any(index.is_data for index in statement.indices):
        raise refused(f"data decides which elements of `{target}` are reset", statement.span, whole)
    if defined and not statement.restart and reducer is Reducer.MEAN:
        raise refused("a mean cannot continue from an earlier mean", statement.span, whole)
    return reducer
