"""Indices that the user did not shard, cut like the dimensions that they address on left sides."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ... import ir, transforms
from ...ir import Reducer
from ...symbolic import Affine, IndexVar
from .blocks import Axes, Layout
from .formulas import CutFormula

Cuts = dict[tuple[str, int], Axes]


def spread(formulas: Iterable[CutFormula], given: Mapping[str, Layout]) -> list[CutFormula]:
    """The statements, with a dimension cut in all left sides if it is cut in one; `given` are known layouts.

    ``v(0) = e`` then becomes ``v(x) = e where x == 0``: the device that holds the element writes it.
    """
    found = list(formulas)
    cuts: Cuts = {(name, d): axes for name, layout in given.items() for d, axes in enumerate(layout) if axes}
    for formula in found:
        for dimension, subscript in enumerate(formula.statement.indices):
            for index in formula.cut_in(subscript):
                cuts.setdefault((formula.statement.target.name, dimension), formula.cut[index])
        statement = formula.statement
        match statement:
            case ir.Define(target, indices, ir.Access(tensor, places)) if places == indices:
                for dimension in range(len(indices)):
                    if (tensor.name, dimension) in cuts:
                        cuts.setdefault((target.name, dimension), cuts[tensor.name, dimension])
            case _:
                pass
    _asked(found, cuts, given)
    written = {*given}
    for number, formula in enumerate(found):
        name = formula.statement.target.name
        for dimension in range(len(formula.statement.indices)):
            axes = cuts.get((name, dimension))
            if axes is not None:
                formula = _cut(formula, dimension, axes, name not in written)
        written.add(name)
        found[number] = formula
    return found


def _asked(formulas: list[CutFormula], cuts: Cuts, given: Mapping[str, Layout]) -> None:
    """Adds the dimensions of scatter targets for which every later read follows a cut index."""
    for number, formula in enumerate(formulas):
        statement, name = formula.statement, formula.statement.target.name
        if not isinstance(statement, ir.Accumulate) or name in given:
            continue
        reads = [
            (later, access)
            for later in formulas[number + 1 :]
            for access in ir.accesses_of(later.statement)
            if access.tensor.name == name
        ]
        over = {axis for along in formula.cut.values() for axis in along}
        for dimension, subscript in enumerate(statement.indices):
            if not subscript.is_data or (name, dimension) in cuts or not reads:
                continue
            lines = (later.line(name, dimension, access.indices[dimension]) for later, access in reads)
            wanted = {() if line is None else line[0] for line in lines}
            (axes, *others) = wanted
            if not others and axes and {*axes} <= over:
                cuts[name, dimension] = axes


def _cut(formula: CutFormula, dimension: int, axes: Axes, is_new: bool) -> CutFormula:
    """The statement, with the index of a dimension of its target cut along the axes if possible."""
    statement = formula.statement
    subscript = statement.indices[dimension]
    taken = {axis for along in formula.cut.values() for axis in along}
    if dimension in formula.scattered:
        return formula
    if subscript.is_data and isinstance(statement, ir.Accumulate):
        used = {index for other in statement.indices if not other.is_data for index in other.variables}
        kept = {axis for index in used for axis in formula.cut.get(index, ())}
        return formula if kept & {*axes} else replace(formula, scattered={**formula.scattered, dimension: axes})
    if formula.cut_in(subscript) or subscript.is_data or taken & {*axes}:
        return formula
    outer = {*ir.left_indices(statement), *(statement.reduction if isinstance(statement, ir.Accumulate) else ())}
    alone = [index for index in subscript.variables & outer if (subscript.weight(index).constant or 0) > 0]
    if subscript.is_linear and len(subscript.terms) == 1 and alone:
        return replace(formula, cut={**formula.cut, alone[0]: axes}, _lines={})
    if subscript.constant is None:
        return formula
    if isinstance(statement, ir.Accumulate):
        if not isinstance(statement.reducer, Reducer) or formula.cut.keys() & {*statement.reduction}:
            return formula
        statement = transforms.as_define(statement, is_new)
    name = statement.target.name
    index = IndexVar(f"{name}.{dimension}")  # No program can contain this name.
    first, extent = formula.bound.origins[name][dimension], formula.bound.shapes[name][dimension]
    here = ir.Binary("==", ir.Index(index), ir.Const(subscript.constant, "int32"), "bool")
    left = list(statement.indices)
    left[dimension] = Affine.of(index)
    domain = replace(statement.domain, guard=ir.both(here, statement.domain.guard))
    return replace(
        formula,
        statement=replace(statement, indices=tuple(left), domain=domain),
        box={**formula.box, index: (first, first + extent)},
        cut={**formula.cut, index: axes},
        _lines={},
    )
