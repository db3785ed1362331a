"""Elaborates one statement: its left side, its clauses, its right side, and the implied reduction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, assert_never

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..ir import Monoid, Reducer, types
from ..symbolic import Affine, IndexVar
from ..syntax import ast
from .boundaries import boundary_of, bounded, idle_pads, inner
from .chains import chained_comparisons
from .cutting import Cut
from .elsewhere import constant
from .independence import bracketed, independent_sums
from .inlining import Measure
from .literals import Literal, Open, Value, dtype_of, settle, settled, settled_beside
from .loops import refuse_data
from .outputs import Outputs
from .quotients import quotients, warn_of_quotients
from .reducers import registered
from .scope import Let, Scope, refuse_reserved
from .spelling import closest, did_you_mean
from .subscripts import subscript
from .summands import is_subscript, uneven_sum
from .typed_expressions import (
    accumulation_type,
    check_ends,
    guard,
    interval,
    reduced_value,
    value,
    warn_of_parity,
)

# What may come before `=`; the r-th smallest needs an index for r, so it exists only as an inline reduction.
_REDUCERS: Final = {
    "+": Reducer.SUM,
    "*": Reducer.PRODUCT,
    **{reducer.value: reducer for reducer in Reducer if not reducer.is_ranked},
}

_ASSIGNED: Final = tuple([f"{name}=" for name in _REDUCERS])


def assign(node: ast.Assign, outputs: Outputs) -> ir.Define | ir.Accumulate:
    """The typed statement; its target is defined from here on."""
    outputs.refuse(node.target, node.span.part(node.target))
    warn = outputs.environment.warn
    for message, span, help in chained_comparisons(node):
        warn(Code.CHAINED_COMPARISON, message, span, help)
    reducer = _reducer(node)
    scope = Scope(outputs.environment, node.target)
    for index in node.indices or ():
        if isinstance(index, ast.Name):
            _name_on_the_left(index, node.target, scope)
    clauses = _Clauses(scope, node.value)
    for clause in node.where:
        clauses.read(clause)
    check_ends(clauses.ranges)
    clauses.guard_by_ragged_ranges()
    scope.mentioned = {}
    indices = tuple([_left_index(node, d, scope, outputs) for d in range(len(node.indices or ()))])
    written, scope.mentioned = scope.mentioned, {}
    result = value(node.value, scope)
    clauses.check_size(settled(result), node.value.span)
    for message, span, help in idle_pads(settled(result), clauses.ranges):
        warn(Code.IDLE_PAD, message, span, help)
    for index in indices:
        for data in ir.data_atoms(index):
            clauses.check_size(data.expr, node.span)
    left = frozenset().union(*[index.variables for index in indices])
    mentioned = scope.mentioned | clauses.guarding
    loops = tuple(clauses.loops)
    for index in loops:
        refuse_data(clauses.ranges[index])
    reduction = tuple([index for index in mentioned if index not in left and index not in clauses.loops])
    for index in scope.indices.values():
        if index not in left and index not in mentioned and index not in clauses.loops:
            raise _cancelled(index, scope) if index in written else _only_in_clauses(node, index, scope)
    for promised, span in clauses.unique.items():
        if promised not in indices:
            raise _promises_nothing(node, promised, span, indices)
    if node.equivalent is not None:
        _check_equivalent(node.equivalent, scope)
    guards = [settled_beside(condition, dtype_of(result)) for condition in clauses.guards]
    domain = ir.Domain(tuple(clauses.ranges.values()), ir.conjunction(guards), tuple(clauses.exists), loops)
    if reducer is None and reduction and _are_rows(reduction, indices, clauses.ranges):
        return _by_rows(node, indices, reduction, result, domain, outputs)
    if reducer is None:
        if reduction:
            raise _missing_reduction(node, reduction, scope)
        statement = _define(node, indices, result, domain, clauses.unique, outputs)
        _heed_quotients(node, result, statement.target, scope, outputs)
        return statement
    if reducer is Reducer.SUM:
        # A Python `for` makes it clear that everything is added for each of its values.
        said = {
            clause.index for clause in node.where if isinstance(clause, ast.RangeClause) and node.span.source.is_python
        }
        uneven = uneven_sum(node, [index for index in reduction if index.name not in said], scope.lets)
        if uneven is not None:
            warn(Code.UNEVEN_SUM, *uneven)
    independent = independent_sums(
        reducer, node.value, reduction, clauses.brackets, {*clauses.guarding, *clauses.bounding}, scope.lets
    )
    if independent is not None:
        message, span, help = independent
        moved = f", without {phrases.clauses(span)}" if clauses.brackets else ""
        warn(Code.INDEPENDENT_SUMS, message, span, help + moved)
    if not reducer.commutative:
        given = [index for index in clauses.ranges if index in reduction]
        reduction = tuple(dict.fromkeys((*given, *reduction)))
    statement = _accumulate(node, indices, reducer, reduction, result, domain, outputs)
    _heed_quotients(node, result, statement.target, scope, outputs)
    return statement


def _are_rows(reduction: Sequence[IndexVar], indices: Sequence[Affine], ranges: Mapping[IndexVar, ir.Range]) -> bool:
    """Whether each of these indices numbers the rows of a ragged range over an index on the left."""
    left = {index.bare for index in indices}
    cut = (given for index, given in ranges.items() if given.is_ragged and index in left)
    return frozenset(reduction) <= frozenset().union(*(given.lo.variables & given.hi.variables for given in cut))


def _by_rows(
    node: ast.Assign,
    indices: tuple[Affine, ...],
    reduction: tuple[IndexVar, ...],
    result: Value,
    domain: ir.Domain,
    outputs: Outputs,
) -> ir.Accumulate:
    """``w(p) = e where p in ptr(i):ptr(i+1)``: the value for the row that contains `p`, summed if several do.

    Raises TC0703 for a tensor that already has elements, since those in no row would have to stay.
    """
    if node.target in outputs.environment.tensors:
        raise CompileError(
            Code.MISSING_REDUCTION,
            f"`{node.target}` is defined already, and `{reduction[0]}` is not on the left",
            node.span.part(node.target),
            help="write a tensor of another name, or say how to combine values: "
            + phrases.reductions(node.target, _plain(node), node.span),
        )
    reducer, sign = (Reducer.ANY, "any") if dtype_of(result) == "bool" else (Reducer.SUM, "+")
    summed = replace(node, reducer=sign, restart=True)
    return _accumulate(summed, indices, reducer, reduction, result, domain, outputs)


def _heed_quotients(node: ast.Assign, result: Value, target: ir.Tensor, scope: Scope, outputs: Outputs) -> None:
    """Warns of integer divisions that the target converts to floats; records those stored in a temporary."""
    warn_of_quotients(((node.value, result),), target.dtype, scope)
    if types.is_integral(target.dtype) and node.target not in outputs.annotated:
        found = tuple(quotients(node.value, scope))
        if found:
            scope.environment.quotients[node.target] = found


class _Clauses:
    """The clauses of ``where``, read in order, before the right side."""

    def __init__(self, scope: Scope, body: ast.Expr) -> None:
        self.scope = scope
        self.body = body
        self.ranges: dict[IndexVar, ir.Range] = {}
        self.guards: list[Value] = []
        self.guarding: dict[IndexVar, None] = {}
        self.exists: list[ir.Expr] = []
        self.bounding: dict[IndexVar, None] = {}
        self.loops: dict[IndexVar, None] = {}
        self.brackets: dict[str, str] = {}
        self.unique: dict[Affine, Span] = {}
        self.measure: Measure | None = None

    def read(self, clause: ast.Clause) -> None:
        """Adds a clause. Indices first mentioned in it exist from here on."""
        scope = self.scope
        scope.mentioned = {}
        match clause:
            case ast.RangeClause(name, lo, hi):
                index = scope.index(name, clause.span)
                if clause.is_loop:
                    self.loops[index] = None
                elif index in self.loops:
                    raise _taken_by_loop(name, clause.span)
                # If an index has two ranges, the last one counts.
                self.ranges.pop(index, None)
                self.ranges[index] = ir.Range(index, *interval(Cut(name, lo, hi, self.body), scope), span=clause.span)
                self.bounding.update(scope.mentioned)
                self.brackets |= bracketed(clause)
            case ast.LetClause(name, expr):
                self._let(clause, name, expr)
            case ast.ExistsClause(expr):
                with scope.quiet():
                    expression = settled(value(expr, scope))
                self.check_size(expression, clause.span)
                self.exists.append(expression)
            case ast.UniqueClause(expr):
                with scope.quiet():
                    self.unique[subscript(value(expr, scope), "what is unique")] = clause.span
            case ast.GuardClause(test):
                condition = guard(test, scope)
                self.check_size(settled(condition), clause.span)
                self.guards.append(condition)
                self.guarding.update(scope.mentioned)
            case _:
                assert_never(clause)

    def guard_by_ragged_ranges(self) -> None:
        """A ragged range limits the points, as a guard does: its indices run."""
        for index, given in self.ranges.items():
            if given.is_ragged:
                ends = given.lo.variables | given.hi.variables
                self.guarding.update(dict.fromkeys((index, *sorted(ends, key=str))))
                for data in ir.ragged_ends((given,)):
                    self.check_size(data, given.span)

    def _let(self, clause: ast.LetClause, name: str, expr: ast.Expr) -> None:
        scope = self.scope
        if name in scope.lets or name in scope.indices:
            kind = "a let" if name in scope.lets else "an index"
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{name}` is already {kind} of this statement",
                clause.span,
                help="rename the let; to compute a subscript on the left, write it there: "
                f"`{phrases.element('O', ['2*i'], clause.span)} = ...`",
            )
        result = value(expr, scope)
        if name in scope.indices:
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{name}` is defined in terms of itself",
                clause.span,
                help="a let may use indices, sizes, tensors and the lets before it",
            )
        refuse_reserved(name, "a let", clause.span)
        self.measure = self.measure or Measure()
        self.check_size(settled(result), clause.span)
        scope.lets[name] = Let(result, expr, tuple(scope.mentioned))

    def check_size(self, expr: ir.Expr, span: Span) -> None:
        """Raises TC0103 if lets have made the expression too large."""
        if self.measure is not None:
            self.measure.check(expr, span)


def _reducer(node: ast.Assign) -> Reducer | Monoid | None:
    if node.reducer is None:
        return None
    found = _REDUCERS.get(node.reducer) or registered(node.reducer)
    if found is None:
        raise CompileError(
            Code.UNKNOWN_FUNCTION,
            f"there is no reduction `{node.reducer}=`",
            node.span.part(f"{node.reducer}="),
            help=did_you_mean(
                f"{node.reducer}=", _ASSIGNED, f"use one of {', '.join(_ASSIGNED)}, or what `tcjax.monoid` registers"
            ),
        )
    return found


def _name_on_the_left(index: ast.Name, target: str, scope: Scope) -> None:
    if index.id == target:
        raise CompileError(
            Code.WRONG_KIND_OF_NAME,
            f"`{target}` is the tensor that is written, so it cannot be an index",
            index.span,
            help="rename the index",
        )
    is_size = index.id in scope.environment.sizes
    scope.index(index.id, index.span, f"; {phrases.only_at(index.id)}" if is_size else "")


def _left_index(statement: ast.Assign, dimension: int, scope: Scope, outputs: Outputs) -> Affine:
    assert statement.indices is not None
    node = statement.indices[dimension]
    if isinstance(node, ast.Name):
        return Affine.of(scope.index(node.id, node.span))
    kind = boundary_of(node, scope.environment)
    with scope.quiet():
        index = subscript(value(inner(node, kind), scope), "a subscript on the left")
    if kind is None:
        return index
    target = outputs.annotated.get(scope.target) or scope.environment.tensors.get(scope.target)
    if target is None:
        raise CompileError(
            Code.UNBOUND_INDEX,
            f"nothing says how large dimension {dimension} of `{scope.target}` is: `{kind}` needs its ends",
            node.span,
            help="annotate the return with its sizes, such as "
            + phrases.returned("float", phrases.letters(len(statement.indices)), scope.target, node.span),
        )
    return bounded(kind, index, target, dimension, scope.environment)


def _define(
    node: ast.Assign,
    indices: tuple[Affine, ...],
    result: Value,
    domain: ir.Domain,
    unique: Mapping[Affine, Span],
    outputs: Outputs,
) -> ir.Define:
    """The definition. Raises TC0704 if data decides the target elements and nothing promises that they are distinct."""
    for number, index in enumerate(indices):
        if index.is_data and index.variables and index not in unique:
            assert node.indices is not None
            text = node.indices[number].span.text.strip()
            written = text if 0 < len(text) <= 60 else index
            reductions = phrases.reductions(node.target, ["..."], node.span)
            raise CompileError(
                Code.AMBIGUOUS_TARGET,
                "nothing says that these targets are distinct: two values may go to one element",
                node.span.applied(node.target),
                help=f"say how to combine them: {reductions}, or another reduction; "
                f"or promise that they are: {phrases.promised(written, node.span)}",
            )
    target = outputs.write(node.target, len(indices), result, node.span.applied(node.target))
    return ir.Define(target, indices, settle(result, target.dtype), domain, span=node.span)


def _accumulate(
    node: ast.Assign,
    indices: tuple[Affine, ...],
    reducer: Reducer | Monoid,
    reduction: tuple[IndexVar, ...],
    result: Value,
    domain: ir.Domain,
    outputs: Outputs,
) -> ir.Accumulate:
    result = reduced_value(reducer, result)
    if reducer is Reducer.SUM and dtype_of(result) == "bool" and reduction and not _is_parity(node.value):
        warn_of_parity("+=", node.value.span, node.span, outputs.environment)
    is_new = node.target not in outputs.environment.tensors
    option = outputs.environment.accumulate
    own = dtype_of(result)
    kind = reducer.result(own, accumulation_type(reducer, own, option))
    written = kind if kind != own or reducer.gives_position else result
    target = outputs.write(node.target, len(indices), written, node.span.applied(node.target))
    if is_new and not node.restart:
        outputs.initial[node.target] = None
        fresh = phrases.update(node.reducer or "", node.span)
        if isinstance(reducer, Reducer) and not reducer.continues:
            # The old value takes no part in a position or a mean.
            told = f"an element that no point writes keeps its value in the `{node.target}` of the call"
        else:
            told = f"unless `{node.target}` is passed to the call, it starts from the identity"
        message = f"reduction without initialisation: {told}"
        outputs.environment.warn(
            Code.UNINITIALISED_REDUCTION, message, node.span, f"to start from the identity at every call, write {fresh}"
        )
    if reducer.gives_position or (isinstance(reducer, Reducer) and reducer.takes_bool):
        body = settled(result)
        accumulate = body.dtype
    else:
        wanted = target.dtype if kind == own else own
        body = settle(result, wanted) if isinstance(result, (Literal, Open)) else result
        # The target must hold the elements it continues from, too.
        running = types.join(body.dtype, target.dtype) if kind == own else body.dtype
        accumulate = accumulation_type(reducer, running, option)
    return ir.Accumulate(target, indices, reducer, node.restart, reduction, body, accumulate, domain, span=node.span)


def _is_parity(node: ast.Expr) -> bool:
    """Whether this came from Python's ``^=``: two negations, which exclude integers."""
    return isinstance(node, ast.Unary) and node.operator == "!" and isinstance(node.operand, ast.Unary)


def _check_equivalent(node: ast.Equivalent, scope: Scope) -> None:
    """Checks that the arguments after ``<=>`` name existing tensors and indices; otherwise they are ignored."""
    known = dict(scope.indices)
    for argument in node.arguments:
        if isinstance(argument, ast.Name) and argument.id in scope.environment.tensors:
            continue
        value(argument, scope)
    for name, index in scope.indices.items():
        if name not in known:
            raise CompileError(
                Code.UNDEFINED_NAME,
                f"there is no `{name}` in this statement",
                scope.places[index],
                help=did_you_mean(name, scope.names(), "name what the statement uses"),
            )


def _taken_by_loop(name: str, span: Span) -> CompileError:
    return CompileError(
        Code.ALREADY_DEFINED,
        f"`{name}` is the index of a `for` around this: it has one value here",
        span,
        help="rename the index of the range, or leave the range out",
    )


def _only_in_clauses(node: ast.Assign, index: IndexVar, scope: Scope) -> CompileError:
    otherwise = f"use `{index.name}` in the right side, on the left or in a guard, or leave the clause out"
    ends = [end for clause in node.where if isinstance(clause, ast.RangeClause) for end in (clause.lo, clause.hi)]
    if any(isinstance(end, ast.Name) and end.id == index.name for end in ends):
        # Most often a misspelt size.
        sizes = ", ".join(f"`{name}`" for name in scope.environment.sizes)
        array = next((name for name, tensor in scope.environment.tensors.items() if tensor.rank), "A")
        example = phrases.size(array, 0, scope.places[index])
        unnamed = f"write the size of a dimension, such as {example}: no parameter is declared with named sizes"
        otherwise = f"write a size of a parameter: {sizes}" if sizes else unnamed
    return CompileError(
        Code.ONLY_IN_CLAUSES,
        f"the index `{index.name}` occurs only in {phrases.clauses(scope.places[index])}, so nothing runs over it",
        scope.places[index],
        help=did_you_mean(
            index.name,
            scope.names(),
            otherwise,
        ),
    )


def _cancelled(index: IndexVar, scope: Scope) -> CompileError:
    return CompileError(
        Code.ONLY_IN_CLAUSES,
        f"the index `{index.name}` cancels out on the left: each `{index.name}` writes the same elements",
        scope.places[index],
        help=f"leave `{index.name}` out of the statement",
    )


def _promises_nothing(node: ast.Assign, promised: Affine, span: Span, indices: tuple[Affine, ...]) -> CompileError:
    data = [index for index in indices if index.is_data] or list(indices)
    meant = f"promise it of a subscript of `{node.target}`, " + phrases.promised(data[0], span) if data else ""
    return CompileError(
        Code.ONLY_IN_CLAUSES,
        f"no subscript on the left is `{promised}`, so the promise has no effect",
        span,
        help=meant or "leave the clause out",
    )


def _missing_reduction(node: ast.Assign, reduction: Sequence[IndexVar], scope: Scope) -> CompileError:
    index = reduction[0]
    if constant(index.name):
        return CompileError(
            Code.MISSING_REDUCTION,
            f"`{index.name}` is an index here, and not on the left",
            scope.places[index],
            help=constant(index.name),
        )
    place = scope.places[index]
    let = _let_outside(node, index.name)
    if let is not None:
        return CompileError(
            Code.MISSING_REDUCTION,
            f"the `{index.name}` of the let `{let.name}` is not the one in the brackets: a let is outside them",
            place,
            help=f"write its value where it is used, `{let.value.span.text.strip() or '...'}` for `{let.name}`, "
            "and leave the let out",
        )
    candidate = closest(index.name, scope.names())
    guess = "" if candidate is None else f"did you mean `{candidate}`? Otherwise "
    if candidate is None and not is_subscript(index.name, node.value):
        declared = phrases.typed("float", (), index.name, place)
        guess = f"if `{index.name}` is a number, not an index, make it a parameter: {declared}, or a constant: "
        guess += f"consts={{{index.name!r}: 2}}. Otherwise "
    elif not node.indices and len(reduction) == 1 and node.where == ():
        left = phrases.element(node.target, reduction, place)
        guess += f"write `{left} = ...` for one value at each `{index.name}`, or "
    return CompileError(
        Code.MISSING_REDUCTION,
        f"`{index.name}` is not on the left, so `=` would have to reduce over it",
        scope.places[index],
        help=f"{guess}say how: {phrases.reductions(node.target, _plain(node), place)}, "
        f"or `sum[{index.name}](...)` inside the right side",
    )


def _let_outside(node: ast.Assign, index: str) -> ast.LetClause | None:
    """A let with an index that brackets on the right side bind."""
    reductions = (part for part in ast.walk(node.value) if isinstance(part, ast.Reduction))
    if not any(bound.index == index for reduction in reductions for bound in reduction.bounds):
        return None
    lets = (clause for clause in node.where if isinstance(clause, ast.LetClause))
    return next((let for let in lets if any(part == ast.Name(index) for part in ast.walk(let.value))), None)


def _plain(node: ast.Assign) -> list[str]:
    """The indices of the left side, for a message."""
    return [index.id if isinstance(index, ast.Name) else "..." for index in node.indices or ()]
