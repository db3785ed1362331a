"""A program without loops as one device runs it: statements over its blocks, and between them what devices exchange."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from ... import ir, ranges
from ...ir import Reducer
from ...symbolic import Box, IndexVar, Size
from .blocks import Collective, Combine, Fetch, Whole
from .formulas import CutFormula
from .layouts import Layouts, Span
from .local import Local
from .mistakes import refused


@dataclass
class LocalProgram:
    """The program of one device, statement after statement; `collectives` are its Python functions by name."""

    layouts: Layouts
    collectives: dict[str, Collective]
    statements: list[ir.Statement] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(init=False)
    origins: dict[str, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self.shapes, self.origins = dict(self.layouts.blocks), dict(self.layouts.bound.origins)

    def of(self, formulas: list[CutFormula]) -> ranges.Bound:
        """The statements for a device's blocks, and calls of what brings it others."""
        function = self.layouts.bound.function
        defined = {tensor.name for tensor in function.initial}
        for formula in formulas:
            self._add(formula, formula.statement.target.name in defined)
            defined.add(formula.statement.target.name)
        local = ir.Function(
            function.name,
            tuple(map(self._sized, function.parameters)),
            tuple(map(self._sized, function.returns)),
            tuple(self.statements),
            tuple(map(self._sized, function.initial)),
            span=function.span,
        )
        nothing = tuple({} for _ in self.boxes)
        return ranges.Bound(local, {}, tuple(self.boxes), self.origins, self.shapes, reasons=nothing, is_part=True)

    def _sized(self, tensor: ir.Tensor) -> ir.Tensor:
        return replace(tensor, shape=tuple(map(Size.of, self.shapes[tensor.name])))

    def _add(self, formula: CutFormula, defined: bool) -> None:
        """One statement for one device."""
        layouts, spans = self.layouts, self.layouts.spans(formula)
        formula = _without_mean(formula, spans)
        statement, target = formula.statement, formula.statement.target
        kept = {axis for along in layouts.held[target.name] for axis in along}
        over = tuple(axis for along in formula.cut.values() for axis in along if axis not in kept)
        box = {**formula.box, **{index: (span.first, span.first + span.block) for index, span in spans.items()}}
        local = Local(layouts, formula, spans, box, self.collectives)
        moved = local.statement(statement)
        self.shapes |= local.shapes
        self.origins |= local.origins
        for start in local.starts.values():
            self._call(start, ir.Tensor(start.name, "int32", ()), ())
        dtypes = {access.tensor.name: access.dtype for access in ir.accesses_of(statement)}
        for fetch in local.fetches.values():
            dtypes[fetch.name] = dtypes[fetch.tensor]
            given = self._sized(ir.Tensor(fetch.tensor, dtypes[fetch.tensor], ()))
            self._fetch(fetch, given)
        if not over:
            self._state(replace(moved, target=self._sized(target)), box)
            return
        reducer = _combining(formula, layouts.bound, defined)
        assert isinstance(moved, ir.Accumulate)
        joins = defined and not moved.restart
        part = ir.Tensor(f"{target.name}.devices{len(self.collectives)}", target.dtype, self._sized(target).shape)
        self.shapes[part.name], self.origins[part.name] = self.shapes[target.name], self.origins[target.name]
        self._state(replace(moved, target=part, restart=True), box)
        combine = Combine(target.name, part.name, reducer, over, target.dtype, joins)
        given = (part, self._sized(target)) if joins else (part,)
        self._call(combine, self._sized(target), given)

    def _state(self, statement: ir.Statement, box: Box) -> None:
        self.statements.append(statement)
        self.boxes.append(box)

    def _fetch(self, fetch: Fetch, given: ir.Tensor) -> None:
        shape = list(self.shapes[given.name])
        shape[fetch.dimension] = fetch.count if not isinstance(fetch, Whole) else fetch.extent
        self.shapes[fetch.name] = tuple(shape)
        self.origins.setdefault(fetch.name, (0,) * len(shape))
        self._call(fetch, self._sized(replace(given, name=fetch.name)), (given,))

    def _call(self, collective: Collective, target: ir.Tensor, arguments: tuple[ir.Tensor, ...]) -> None:
        self.shapes.setdefault(target.name, ())
        self.origins.setdefault(target.name, ())
        name = f"{target.name}({len(self.collectives)})"
        self.collectives[name] = collective
        self._state(ir.ApplyForeign((target,), name, arguments), {})


def _without_mean(formula: CutFormula, spans: Mapping[IndexVar, Span]) -> CutFormula:
    """The statement with a mean, of which devices have parts that are not alike, as a sum."""
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
    """The reducer that combines the parts of devices. Raises `CompileError` (TC0811) where none does."""
    statement = formula.statement
    assert isinstance(statement, ir.Accumulate), "an index that is not on the left side is reduced"
    reducer, target = statement.reducer, statement.target.name
    whole = "leave the index whole that is reduced"
    if isinstance(reducer, ir.Monoid):
        if not reducer.continues:
            raise refused(f"the result of `{reducer.name}` is no state to go on from", statement.span, whole)
    elif not reducer.commutative:
        raise refused(
            f"`{reducer.value}` over blocks does not combine to `{reducer.value}` over all", statement.span, whole
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
        raise refused(f"data decides where `{target}` begins anew", statement.span, whole)
    if defined and not statement.restart and reducer is Reducer.MEAN:
        raise refused("a mean does not go on from another", statement.span, whole)
    return reducer
