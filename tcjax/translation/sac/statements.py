"""Statements as lets: each makes a new version of its tensor."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from ... import ir
from ...ranges import StatementRanges, SymbolicRanges
from ...ranges.guards import explicit_guard, moving_ends
from ...symbolic import Affine, IndexVar, Interval, Size
from ...syntax.sac import tree
from ..names import index_names, statement_indices, unique
from ..refusal import refuse
from . import literals
from .folds import fold, registered
from .generators import comprehension, interval_of
from .sac_expressions import Scope

_ONE = Size.of(1)


class Body:
    """The lets of a function, and the current name of each tensor."""

    def __init__(
        self,
        function: ir.Function,
        ranges: SymbolicRanges,
        parameters: Mapping[str, str],
        sizes: Mapping[str, str],
        reserved: frozenset[str],
    ) -> None:
        self.function = function
        self.ranges = ranges
        self.declared = {tensor.name: tensor for tensor in function.declared}
        self.tensors = dict(parameters)
        self.sizes = sizes
        self.taken = {*reserved, *parameters.values(), *sizes.values()}
        self.shapes: dict[str, tuple[Size | None, ...]] = {
            parameters[tensor.name]: tensor.shape for tensor in function.parameters
        }
        self.starts = {name: _starts(intervals) for name, intervals in ranges.locals.items() if _starts(intervals)}
        self.lets: list[tree.Let] = []

    def step(self, number: int, statement: ir.Statement, callee: str) -> None:
        """Adds the let of a statement; `callee` is the name of the function it calls."""
        match statement:
            case ir.Define() | ir.Accumulate():
                value = self.formula(statement, self.ranges.statements[number])
                self.let((statement.target,), value)
            case ir.Invoke(targets, _, arguments):
                self.let(targets, self.call(callee, arguments))
            case ir.ApplyForeign(targets, name, arguments, frame, varying):
                self.let(targets, self.cells(name, arguments, frame, varying) if frame else self.call(name, arguments))
            case _:
                assert_never(statement)

    def let(self, targets: tuple[ir.Tensor, ...], value: tree.Expr) -> None:
        names: list[str] = []
        for target in targets:
            name = unique(target.name, self.taken)
            self.taken.add(name)
            self.tensors[target.name] = name
            self.shapes[name] = self.ranges.extents(target.name)
            names.append(name)
        self.lets.append(tree.Let(tuple(names), value))

    def call(self, name: str, arguments: tuple[ir.Tensor, ...]) -> tree.Expr:
        return tree.Call(name, tuple([tree.Name(self.tensors[argument.name]) for argument in arguments]))

    def cells(self, name: str, arguments: tuple[ir.Tensor, ...], frame: int, varying: tuple[bool, ...]) -> tree.Expr:
        """A function applied to every cell of the varying arguments."""
        taken = set(self.taken)
        names: list[str] = []
        for axis in range(frame):
            names.append(unique(f"i{axis}", taken | set(names)))
        operands: list[tree.Expr] = []
        for argument, varies in zip(arguments, varying, strict=True):
            array = tree.Name(self.tensors[argument.name])
            operands.append(tree.Select(array, tuple(map(tree.Name, names))) if varies else array)
        pattern = tree.IndexPattern(tuple(names))
        return tree.Comprehension((tree.Partition(pattern, tree.Call(name, tuple(operands))),))

    def formula(self, statement: ir.Define | ir.Accumulate, ranges: StatementRanges) -> tree.Expr:
        """The target array after the statement."""
        inner = (node for node in ir.nodes_of(statement) if isinstance(node, ir.Reduce))
        if any(given.is_ragged for given in (*statement.domain.ranges, *(r for node in inner for r in node.ranges))):
            help = "write the ends as conditions: `where ptr(i) <= p && p < ptr(i+1)`"
            raise refuse("SaC", "a range whose ends read tensors", statement.span, help=help)
        outer = Scope(
            self.tensors.copy(), self.shapes, self.starts, self.sizes, frozenset(self.taken), ranges.intervals
        )
        names = index_names(statement_indices(statement), self.taken)
        scope = replace(outer, indices=names)
        axes = [self.axis(statement, dimension, index, scope) for dimension, index in enumerate(statement.indices)]
        axes = _distinct(axes, self.taken | set(names.values()))
        scope = scope.moved({axis.variable: axis.origin for axis in axes if axis.variable and not axis.same_as})
        repeated = [
            tree.Binary("==", tree.Name(axis.name), scope.subscript(Affine.of(axis.same_as) - axis.origin))
            for axis in axes
            if axis.same_as is not None
        ]
        before = self.before(statement, axes)
        cell = self.cell(statement, scope, before)
        for test in repeated:
            cell = tree.Conditional(test, cell, before or literals.zero(statement.target.dtype))
        if not axes:
            return cell
        lows, highs = tuple([axis.low for axis in axes]), tuple([axis.high for axis in axes])
        partition = comprehension(tuple([axis.name for axis in axes]), lows, highs, cell, outer)
        if all(axis.is_whole for axis in axes):
            return tree.Comprehension((partition,))
        return tree.Comprehension((partition, self.rest(statement, outer)))

    def axis(self, statement: ir.Define | ir.Accumulate, dimension: int, index: Affine, scope: Scope) -> "_Axis":
        """One dimension of the left side. Raises TC0109 for scatters and for extents without a formula."""
        target = statement.target
        variable = _moved(index)
        written = self.ranges.locals[target.name][dimension]
        if variable is None and index.terms:
            help = "turn the statement around: let the index run over the elements that it writes"
            raise refuse("SaC", "where on the left to write: a comprehension has no scatter", statement.span, help=help)
        if written is None:
            help = "give its indices ranges: `where i in 0:N`"
            raise refuse("SaC", f"how large `{target.name}` is: that has no formula", statement.span, help=help)
        # Element `p` of the array is where the subscript is ``start + p``.
        start = Affine((), written.lo)
        if variable is None:
            return _Axis("at", None, index - start, index + 1 - start, start, index == start and written.extent == _ONE)
        interval = interval_of(variable, scope, statement)
        is_declared = target.name in self.declared and target.name not in self.tensors
        if is_declared and index.bare and all(given.index != variable for given in statement.domain.ranges):
            interval = written
        origin = start - index.base
        low, high = Affine((), interval.lo) - origin, Affine((), interval.hi) - origin
        is_whole = low == Affine.of(0) and high == Affine((), written.extent)
        return _Axis(scope.indices[variable], variable, low, high, origin, is_whole)

    def before(self, statement: ir.Define | ir.Accumulate, axes: "list[_Axis]") -> tree.Expr | None:
        """The previous value of the element, None if there is none."""
        name = self.tensors.get(statement.target.name)
        if name is None:
            return None
        elements = tuple([tree.Name(axis.name) for axis in axes])
        return tree.Select(tree.Name(name), elements) if axes else tree.Name(name)

    def cell(self, statement: ir.Define | ir.Accumulate, scope: Scope, before: tree.Expr | None) -> tree.Expr:
        """The value of one element."""
        dtype = statement.target.dtype
        match statement:
            case ir.Define(_, _, value, domain):
                moving = [test for given in domain.ranges for test in moving_ends(given)]
                guard = ir.conjunction([*moving, *([] if domain.guard is None else [domain.guard])])
                if guard is None:
                    return scope.write(value)
                otherwise = before or literals.zero(dtype)
                return tree.Conditional(scope.write(guard), scope.write(value), otherwise)
            case ir.Accumulate():
                value = _reduced(statement, scope)
                return value if statement.restart or before is None else _continued(statement, before, value)
            case _:
                assert_never(statement)

    def rest(self, statement: ir.Define | ir.Accumulate, scope: Scope) -> tree.Partition:
        """The elements that the statement does not write: unchanged, or zero."""
        target = statement.target
        vector = unique("iv", self.taken)
        name = self.tensors.get(target.name)
        if name is not None:
            body = tree.Select(tree.Name(name), (tree.Name(vector),))
            return tree.Partition(tree.IndexVector(vector), body)
        shape = self.ranges.extents(target.name)
        extents = tuple([scope.subscript(Affine((), size)) for size in shape if size is not None])
        upper = tree.Bound(tree.Vector(extents), strict=True)
        return tree.Partition(tree.IndexVector(vector), literals.zero(target.dtype), tree.Generator(None, upper))


@dataclass(frozen=True, slots=True)
class _Axis:
    """A dimension of the left side: the name and range of its index in the pattern.

    `variable` is the statement's index, which equals `origin` at the first element; if two dimensions use one index,
    the second is `same_as` the first.
    """

    name: str
    variable: IndexVar | None
    low: Affine
    high: Affine
    origin: Affine
    is_whole: bool
    same_as: IndexVar | None = None


def _starts(intervals: tuple[Interval | None, ...]) -> tuple[Size, ...]:
    """The smallest indices; nothing if all of them are 0."""
    starts = tuple([Size.of(0) if interval is None else interval.lo for interval in intervals])
    return starts if any(start != Size.of(0) for start in starts) else ()


def _moved(index: Affine) -> IndexVar | None:
    """The variable of ``i + offset``."""
    return (index - index.base).bare


def _distinct(axes: list[_Axis], taken: set[str]) -> list[_Axis]:
    """The axes, each with its own name."""
    seen: set[IndexVar] = set()
    result: list[_Axis] = []
    for axis in axes:
        if axis.variable is None or axis.variable in seen:
            name = unique(axis.name, taken)
            taken = taken | {name}
            axis = replace(axis, name=name, same_as=axis.variable)
        else:
            seen.add(axis.variable)
        result.append(axis)
    return result


def _reduced(statement: ir.Accumulate, scope: Scope) -> tree.Expr:
    """The reduction over the points of one element."""
    target, value, reducer = statement.target, statement.value, statement.reducer
    if isinstance(reducer, ir.Monoid):
        raise registered(reducer, statement.span)
    reduction, left = (
        statement.reduction,
        [given for given in statement.domain.ranges if given.index not in statement.reduction],
    )
    moving = [test for given in left for test in moving_ends(given)]
    guard = explicit_guard(statement)
    guard = ir.conjunction([*moving, *([] if guard is None else [guard])])
    if reducer.is_rounded and value.dtype != target.dtype:
        value = ir.Cast(value, target.dtype)
    dtype = reducer.result(value.dtype, statement.accumulate)
    if not reduction:
        return _single(statement, value, dtype, guard, scope)
    ranges = tuple([given for given in statement.domain.ranges if given.index in reduction])
    reduce = ir.Reduce(reducer, reduction, ranges, guard, value, None, statement.accumulate, dtype, span=statement.span)
    inner = {index: name for index, name in scope.indices.items() if index not in reduction}
    result = fold(reduce, replace(scope, indices=inner))
    return result if dtype == target.dtype else literals.cast(target.dtype, result)


def _single(statement: ir.Accumulate, value: ir.Expr, dtype: str, guard: ir.Expr | None, scope: Scope) -> tree.Expr:
    """A reduction over one point."""
    if statement.reducer.gives_position:
        value = ir.Const(0, "int32")
    if guard is not None:
        neutral = literals.neutral(statement.reducer, dtype)
        if neutral is None:
            help = "write `=` with a condition `c ? a : b`"
            raise refuse("SaC", f"`{statement.reducer.value}` of at most one point", statement.span, help=help)
        value = ir.Select(guard, value, neutral, dtype)
    result = scope.write(value)
    return result if dtype == statement.target.dtype else literals.cast(statement.target.dtype, result)


def _continued(statement: ir.Accumulate, before: tree.Expr, value: tree.Expr) -> tree.Expr:
    """The previous value of the element, combined with the reduction."""
    reducer = statement.reducer
    if isinstance(reducer, ir.Monoid):
        raise registered(reducer, statement.span)
    operator = reducer.operator
    if operator is None:
        help = f"compute the whole in one statement, with `{reducer.value}=!`"
        raise refuse("SaC", f"a `{reducer.value}` that goes on from what is there", statement.span, help=help)
    if statement.target.dtype == "bool":
        operator = {"+": "!=", "*": "&&", "min": "&&", "max": "||"}.get(operator, operator)
    if operator in ("min", "max"):
        return tree.Call(operator, (before, value))
    return tree.Binary(operator, before, value)
