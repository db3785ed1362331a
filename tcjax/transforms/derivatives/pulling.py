"""Gathers the cotangent of elements in the step that wrote them.

A step that reads ``h(t-1)`` and ``h(t-2)`` would add to two elements of ``d_h``; instead the step that wrote ``h(t)``
gathers ``d_h(t) += d_h(t+1) * … + d_h(t+2) * …``, so that each step writes only its own element.
"""

from collections.abc import Iterable
from dataclasses import replace

from ... import ir
from ...symbolic import Affine, Facts, IndexVar
from ..substitution import substitute, substitute_expr
from .arithmetic import compare
from .inversion import Receipt, formula
from .overwriting import around, written
from .scope import Scope
from .steps import Step


def are_told(indices: Iterable[Affine]) -> bool:
    """Whether each subscript is an index or a constant, so that an element determines its points."""
    return all(index.bare is not None or not index.terms for index in indices)


def pulled(receipt: Receipt, scope: Scope, step: Step, others: Iterable[Step]) -> Step | None:
    """The receipts of the elements that the step writes and none of the `others`; None if there are none."""
    left, own = written(step).indices, Scope(dict(step.intervals))
    statement = formula(receipt, restart=False)
    places = [index.bare for index in receipt.indices]
    bound = [*receipt.reduction, *(i for e in ir.parts_of(statement) for n in ir.walk(e) for i in _indices(n))]
    names = {index: own.new(index, scope.ranges[index]) for index in dict.fromkeys(bound) if index not in places}
    values, tests = _named(receipt.indices, left, scope)
    values |= {index: Affine.of(name) for index, name in names.items()}
    reduction = tuple([names[index] for index in receipt.reduction])
    moved = substitute(statement, values, reduction, inline=lambda found: tuple([names[index] for index in found]))
    facts = Facts.over(own.ranges, *around(step))
    given = ir.conjuncts(moved.domain.guard)
    known = facts.assume(*map(ir.condition_of, given))
    guard = [
        *(test for test in tests if not _always(test, known)),
        *(test for test in given if not _always(test, facts)),
    ]
    guard += [_elsewhere(left, facts, other) for other in others]
    if facts.assume(*map(ir.condition_of, guard)).contradiction is not None:
        return None
    if isinstance(step.statement, ir.Define):
        guard = [*ir.conjuncts(step.statement.domain.guard), *guard]
    found = replace(moved, indices=left, domain=ir.Domain(guard=ir.conjunction(guard)))
    return Step(found, own.ranges, True, step.loops)


def _named(
    indices: tuple[Affine, ...], elements: tuple[Affine, ...], scope: Scope
) -> tuple[dict[IndexVar, Affine], list[ir.Expr]]:
    """The values of the indices at which subscripts name an element, and the conditions for that."""
    values: dict[IndexVar, Affine] = {}
    tests: list[ir.Expr] = []
    for subscript, element in zip(indices, elements, strict=True):
        index = subscript.bare
        if index is None or index in values:
            tests.append(compare("==", ir.integer(element), ir.integer(subscript.substitute(values))))
            continue
        values[index], ends = element, scope.ranges[index]
        tests.append(compare("<=", ir.integer(Affine.of(ends.lo)), ir.integer(element)))
        tests.append(compare("<", ir.integer(element), ir.integer(Affine.of(ends.hi))))
    return values, tests


def _elsewhere(elements: tuple[Affine, ...], facts: Facts, other: Step) -> ir.Expr:
    """The condition that an element differs from those that another step writes."""
    values, tests = _named(written(other).indices, elements, Scope(dict(other.intervals)))
    moving = [test for loop in other.loops for test in loop.conditions()]
    if isinstance(other.statement, ir.Define):
        moving += ir.conjuncts(other.statement.domain.guard)
    tests += [substitute_expr(test, values) for test in moving]
    found = ir.conjunction([test for test in tests if not _always(test, facts)])
    return ir.negated(ir.Const(True, "bool") if found is None else found)


def _indices(node: ir.Expr) -> tuple[IndexVar, ...]:
    return node.indices if isinstance(node, ir.Reduce) else ()


def _always(test: ir.Expr, facts: Facts) -> bool:
    """Whether the facts alone make a data-independent comparison hold."""
    match test:
        case ir.Binary("==" | "<=" | "<", left, _) if ir.types.is_integral(left.dtype):
            return not any(True for _ in ir.accesses(test)) and facts.prove(ir.condition_of(test))
        case _:
            return False
