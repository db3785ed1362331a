"""The plan of one device: every statement for its blocks, and what is combined after it."""

from collections.abc import Mapping
from dataclasses import replace

from ... import ir, ranges
from ...ir import Reducer
from ..data.preferences import DEFAULT, Preferences
from ..formulas import plan_formula
from .blocks import Axes, ShardedPlan, Step
from .formulas import CutFormula, cut_formula
from .layouts import Layouts
from .local import Local
from .mistakes import refused


def shard(
    bound: ranges.Bound,
    axes: Mapping[str, Axes],
    sizes: Mapping[str, int],
    preferences: Preferences = DEFAULT,
) -> ShardedPlan:
    """The plan of one device; `axes` are the mesh axes of each index by name, `sizes` the devices along an axis.

    Raises `CompileError`: TC0811 for what cannot be done without moving tensors between devices, TC0601 where an index
    does not divide into equal blocks.
    """
    function = bound.function
    if function.loops:
        loop = function.loops[0]
        raise refused(
            f"the steps of the loop over `{loop.index}` need one another: a mesh cannot take them apart",
            loop.span,
            "put the kernel in `jax.shard_map` yourself, each device with whole sequences of its own",
        )
    formulas = [cut_formula(number, statement, bound, axes) for number, statement in enumerate(function.statements)]
    known = {index.name for formula in formulas for index in formula.box}
    for name in axes:
        if name not in known:
            raise refused(
                f"`{function.name}` has no index `{name}` to shard",
                function.span,
                f"its indices are {', '.join(sorted(known))}",
            )
    layouts = Layouts(bound, sizes)
    layouts.settle(formulas)
    defined = {tensor.name for tensor in function.initial}
    steps: list[Step] = []
    for formula in formulas:
        steps.append(_step(formula, layouts, formula.statement.target.name in defined, preferences))
        defined.add(formula.statement.target.name)
    initial = {tensor.name: tensor.dtype for tensor in function.initial}
    return ShardedPlan(tuple(tensor.name for tensor in function.returns), initial, layouts.held, tuple(steps))


def _step(formula: CutFormula, layouts: Layouts, defined: bool, preferences: Preferences) -> Step:
    """One statement for one device."""
    statement, target = formula.statement, formula.statement.target
    kept = {axis for along in layouts.held[target.name] for axis in along}
    over = tuple(axis for along in formula.cut.values() for axis in along if axis not in kept)
    local = Local(layouts, formula)
    moved = local.statement(statement)
    shapes = {**layouts.bound.shapes, **local.shapes}
    origins = {**layouts.bound.origins, **local.origins}
    shapes[target.name] = layouts.local_shape(layouts.bound.shapes[target.name], layouts.held[target.name])
    box = {
        index: (lo, lo + (hi - lo) // layouts.parts(formula.cut.get(index, ())))
        for index, (lo, hi) in formula.box.items()
    }
    reducer = None
    joins = False
    if over:
        reducer = _combining(formula, layouts.bound, defined)
        assert isinstance(moved, ir.Accumulate)
        joins = defined and not moved.restart
        moved = replace(moved, restart=True)
    compute = plan_formula(moved, box, shapes, origins, defined=defined and not over, preferences=preferences)
    return Step(compute, tuple(local.blocks.values()), tuple(local.starts.values()), reducer, over, joins)


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
