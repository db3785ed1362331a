"""Comprehensions whose bounds depend on outer indices or on data: the operands of folds."""

from ... import ir
from ...diagnostics import Code, CompileError
from ...symbolic import Affine, Clamp
from ...syntax.sac import tree
from .. import operators
from ..literals import Value, settled
from ..subscripts import affine
from .arrays import Kind, Points, Ragged, agreed_kind, conformed
from .bounds import grids, steps_of
from .draft import Draft
from .elementwise import part
from .evidence import Evaluate, observed
from .reading import element, zero
from .scope import Scope, free_indices
from .statics import require_int
from .walks import generator_parts


def ragged(node: tree.Comprehension, scope: Scope, evaluate: Evaluate) -> Ragged:
    """A comprehension whose bounds depend on outer indices, for a fold.

    Raises `CompileError` if its cells are not scalars, or if nothing bounds it from outside.
    """
    draft = scope.draft
    last = node.partitions[-1]
    names = _component_names(last, scope, evaluate)
    example = evaluate(last.body, scope.at(last.index, [Affine.of(draft.abstract(name)) for name in names]))
    kind = example.kind
    for partition in node.partitions[:-1]:
        own = _component_names(partition, scope, evaluate)
        other = evaluate(partition.body, scope.at(partition.index, [Affine.of(draft.abstract(n)) for n in own]))
        agreed = agreed_kind(kind, other.kind)
        if agreed is None or len(own) != len(names) or other.rank:
            raise CompileError(
                Code.UNEQUAL_CELLS,
                "the partitions of a ragged comprehension have scalars of one type as cells",
                partition.span,
                help="write one partition, and choose between its values with `? :`",
            )
        kind = agreed
    if example.rank:
        raise CompileError(
            Code.SHAPE_NEEDS_INDEX,
            "an index decides how far this comprehension runs, so its cells must be scalars",
            last.span,
            help="name the axes of the cells too: `sum({ [j,k] -> a[j,k] | [j,k] <= [i,n] })`",
        )
    return Ragged(
        kind, free_indices(node, scope), lambda all_of_them: _points(node, names, kind, all_of_them, scope, evaluate)
    )


def _points(
    node: tree.Comprehension, names: tuple[str, ...], kind: Kind, all_of_them: bool, scope: Scope, evaluate: Evaluate
) -> Points:
    draft = scope.draft
    last = node.partitions[-1]
    lows, highs = _moving(last, names, scope, evaluate, None)
    several = len(node.partitions) > 1
    steps = steps_of(last, len(names), scope, evaluate)
    stepped = any(step != 1 for step, _ in steps)
    below_counts = all_of_them or several
    starts = [Affine.of(0)] * len(names) if below_counts else lows
    limits = _static_limits(last, names, scope, evaluate)
    indices, ranges, guards, empty = [], [], [], False
    for number, name in enumerate(names):
        lo, hi = starts[number], highs[number]
        limit = _smaller(limits[number], _end(hi, draft))
        if hi.is_data or lo.is_data:
            if limit is None and hi.is_data:
                raise CompileError(
                    Code.NO_UPPER_BOUND,
                    f"data decides how far `{name}` runs, and no selection bounds it",
                    last.span,
                    help=f"select by it, `a[{name}]`, or bound it by a size: `| [{name}] < [min(n, len[i])]`",
                )
            index = draft.fresh(name, 0, limit or 0)
            if hi.is_data:
                guards.append(ir.Binary("<", ir.Index(index), ir.integer(hi), "bool"))
                hi = Affine.of(limit or 0)
            if lo.is_data:
                guards.append(ir.Binary("<=", ir.integer(lo), ir.Index(index), "bool"))
                lo = Affine.of(0)
            draft.ranges[index] = (0, _highest(hi, draft))
        else:
            index = draft.fresh(name, _lowest(lo, draft), max(_lowest(lo, draft), _highest(hi, draft)))
        if _highest(hi, draft) <= _lowest(lo, draft):
            empty = True
            lo = hi = Affine.of(0)
            draft.ranges[index] = (0, 0)
        indices.append(index)
        ranges.append(ir.Range(index, lo, hi))
    if empty:
        return Points(tuple(indices), tuple(ranges), None, zero(kind))
    place = tuple(map(Affine.of, indices))
    value: Value = zero(kind)
    for partition in reversed(node.partitions):
        found = conformed(element(evaluate(partition.body, scope.at(partition.index, place)), (), draft), kind)
        if partition is last and not below_counts and not stepped:
            value = found
            continue
        own_lows, own_highs = (lows, highs) if partition is last else _moving(partition, names, scope, evaluate, highs)
        tests = [
            test
            for where, lo, hi, (step, width) in zip(
                place, own_lows, own_highs, steps_of(partition, len(names), scope, evaluate), strict=True
            )
            for test in _moving_tests(where, lo, hi, step, width, partition is last)
        ]
        condition = ir.conjunction(tests)
        value = found if condition is None else operators.conditional(condition, found, value, partition.span)
    return Points(tuple(indices), tuple(ranges), ir.conjunction(guards), value)


def _moving_tests(where: Affine, lo: Affine, hi: Affine, step: int, width: int, is_last: bool) -> list[ir.Expr]:
    tests: list[ir.Expr] = []
    if lo.constant != 0:
        tests.append(ir.Binary("<=", ir.integer(lo), ir.integer(where), "bool"))
    if not is_last:
        tests.append(ir.Binary("<", ir.integer(where), ir.integer(hi), "bool"))
    if step != 1:
        phase = ir.integer((where - lo).remainder(step))
        tests.append(ir.Binary("<", phase, ir.Const(width, "int32"), "bool"))
    return tests


def _moving(
    partition: tree.Partition, names: tuple[str, ...], scope: Scope, evaluate: Evaluate, result: list[Affine] | None
) -> tuple[list[Affine], list[Affine]]:
    """The bounds of a partition, which may depend on outer indices."""
    generator = partition.generator or tree.Generator(None, None)
    lower, upper = generator.lower, generator.upper
    lows = [Affine.of(0)] * len(names)
    if lower is not None:
        if not isinstance(lower.value, tree.Dot):
            lows = _affine_vector(lower.value, len(names), scope, evaluate)
        lows = [lo + (1 if lower.strict else 0) for lo in lows]
    if upper is not None and not isinstance(upper.value, tree.Dot):
        highs = _affine_vector(upper.value, len(names), scope, evaluate)
        return lows, [hi + (0 if upper.strict else 1) for hi in highs]
    if upper is not None and result is not None:
        return lows, [hi - (1 if upper.strict else 0) for hi in result]
    limits = _static_limits(partition, names, scope, evaluate)
    if all(limit is not None for limit in limits):
        return lows, [Affine.of(limit) for limit in limits if limit is not None]
    if result is not None:
        return lows, list(result)
    grids(partition, scope, evaluate, None)
    raise AssertionError("without an upper bound `grids` raises")


def _affine_vector(node: tree.Expr, count: int, scope: Scope, evaluate: Evaluate) -> list[Affine]:
    draft = scope.draft
    array = evaluate(node, scope)
    require_int(array, "a bound", node.span)
    if array.rank != 1 or draft.number(array.shape[0]) != count:
        raise CompileError(
            Code.BOUND_LENGTH,
            f"this bound must be a vector of {count}",
            node.span,
            help="write one component for each index",
        )
    return [affine(settled(element(part(array, number, draft), (), draft))) for number in range(count)]


def _static_limits(
    partition: tree.Partition, names: tuple[str, ...], scope: Scope, evaluate: Evaluate
) -> list[int | None]:
    """The bounds shown by selections, for each component."""
    found = observed(partition, scope, evaluate)
    draft = scope.draft
    if isinstance(partition.index, tree.IndexPattern):
        return [draft.number(found.scalars[name]) if name in found.scalars else None for name in names]
    if found.vector is None or len(found.vector) < len(names):
        return [None] * len(names)
    return [draft.number(size) for size in found.vector[: len(names)]]


def _component_names(partition: tree.Partition, scope: Scope, evaluate: Evaluate) -> tuple[str, ...]:
    index = partition.index
    if isinstance(index, tree.IndexPattern):
        if any(isinstance(part, tree.Dot) for part in index.elements):
            raise CompileError(
                Code.SHAPE_NEEDS_INDEX,
                "an index decides how far this comprehension runs, so its pattern cannot have dots",
                partition.span,
                help="name the axes of the cells too",
            )
        return index.names
    for node in generator_parts(partition):
        array = evaluate(node, scope)
        if array.rank == 1:
            return tuple(f"{index.name}{number}" for number in range(scope.draft.number(array.shape[0])))
    found = observed(partition, scope, evaluate)
    return tuple(f"{index.name}{number}" for number in range(len(found.vector or ())))


def _end(bound: Affine, draft: Draft) -> int | None:
    """An upper limit of a bound that depends on data: of ``min(n, a[i])`` one argument is enough."""
    match bound.terms:
        case ((Clamp("min", arguments), weight),) if weight.constant == 1:
            known = [found[1] for argument in arguments if (found := _values(argument, draft)) is not None]
            return min(known) + draft.number(bound.base) if known else None
        case _:
            return None


def _values(argument: Affine, draft: Draft) -> tuple[int, int] | None:
    here = draft.number(argument.base) if not argument.terms else 0
    return draft.interval(argument) if argument.terms else (here, here)


def _smaller(first: int | None, second: int | None) -> int | None:
    known = [number for number in (first, second) if number is not None]
    return max(0, min(known)) if known else None


def _lowest(value: Affine, draft: Draft) -> int:
    return _hull(value, draft)[0]


def _highest(value: Affine, draft: Draft) -> int:
    return _hull(value, draft)[1]


def _hull(value: Affine, draft: Draft) -> tuple[int, int]:
    """The smallest and largest value of a bound; 0 if the outer indices have no values."""
    found = draft.interval(value)
    if found is None:
        here = 0 if value.terms else draft.number(value.base)
        return here, here
    return found
