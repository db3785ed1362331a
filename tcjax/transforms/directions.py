"""Reverses indices so that they run upwards: ``sum[k](A(N-1-k) * B(N-1-k))`` becomes ``sum[k](A(k) * B(k))``."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace

from .. import ir
from ..symbolic import Affine, IndexVar
from .inlining import Step
from .substitution import substitute


def upwards(step: Step) -> Step:
    """The step with each index reversed that decreases in more subscripts than it increases in; the left side has
    priority.

    Indices whose order matters, as for the position of an extremum, are kept.
    """
    statement, box = step.statement, step.box
    left = _slopes(statement.indices)
    slopes = Counter[IndexVar]()
    for access in ir.accesses_of(statement):
        slopes.update(_slopes(access.indices))
    down = {index for index in box if left.get(index, 0) < 0 or (not left.get(index, 0) and slopes[index] < 0)}
    down -= set(ordered(statement))
    if not down:
        return step
    values = {index: Affine.of(box[index][0] + box[index][1] - 1) - index for index in down}
    reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
    return replace(step, statement=substitute(statement, values, reduction))


def _slopes(subscripts: Collection[Affine]) -> Counter[IndexVar]:
    """For each index, the number of subscripts in which it increases minus those in which it decreases."""
    found = Counter[IndexVar]()
    for subscript in subscripts:
        for atom, weight in subscript.terms:
            if isinstance(atom, IndexVar) and weight.constant:
                found[atom] += 1 if weight.constant > 0 else -1
    return found


def ordered(statement: ir.Define | ir.Accumulate) -> Iterator[IndexVar]:
    """The indices of reductions whose result depends on the order of the points."""
    if isinstance(statement, ir.Accumulate) and not statement.reducer.commutative:
        yield from statement.reduction
    for node in ir.nodes_of(statement):
        if isinstance(node, ir.Reduce) and not node.reducer.commutative:
            yield from node.indices
