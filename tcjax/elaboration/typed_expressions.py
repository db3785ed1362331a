"""Elaborates expressions: names resolved, types joined, subscripts affine."""

from collections.abc import Callable
from typing import assert_never

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..ir import Monoid, Reducer, types
from ..ir.builtins import Builtin, argument_type
from ..symbolic import Affine, IndexVar, Size
from ..syntax import ast
from . import operators, reducers
from .boundaries import boundary_of, bounded, inner, padded
from .cutting import Cut
from .elsewhere import elsewhere
from .independence import bracketed, independent_sums
from .literals import (
    Literal,
    Value,
    combined,
    dtype_of,
    extent,
    index,
    joined,
    literal,
    settled,
    settled_beside,
    settled_together,
)
from .quotients import warn_of_quotients
from .scope import Environment, Let, Scope, check_subscript_count
from .spelling import counted, did_you_mean
from .subscripts import subscript, with_caches
from .summands import mentions


def value(node: ast.Expr, scope: Scope) -> Value:
    """The typed expression, or a literal whose type is still open. Recurses once per level of `node`."""
    match node:
        case ast.Number(number):
            return literal(number, node.span)
        case ast.Name():
            return _named(node, scope)
        case ast.SizeOf():
            return _size_of(node, scope)
        case ast.Binary(operator, left, right):
            first = value(left, scope)
            second = value(right, scope)
            result = operators.binary(operator, first, second, node.span)
            if operator != "truediv":
                warn_of_quotients(((left, first), (right, second)), joined((first, second)), scope)
            return result
        case ast.Apply():
            callee = scope.callee(node)
            if isinstance(callee, ir.Tensor):
                check_subscript_count(callee, len(node.arguments), node.span)
            arguments: list[Value] = []
            if isinstance(callee, ir.Tensor):
                with scope.reading(callee):
                    for argument in node.arguments:
                        kind = boundary_of(argument, scope.environment)
                        arguments.append(value(inner(argument, kind), scope))
            else:
                for argument in node.arguments:
                    arguments.append(value(argument, scope))
            return _applied(callee, node, arguments, scope)
        case ast.Unary(operator, operand):
            return operators.unary(operator, value(operand, scope), node.span)
        case ast.Cast(scalar, operand):
            return operators.convert_to(scalar_type(scalar, node.span), value(operand, scope), node.span)
        case ast.Conditional(test, then, otherwise):
            tested = value(test, scope)
            taken = value(then, scope)
            other = value(otherwise, scope)
            result = operators.conditional(tested, taken, other, node.span)
            warn_of_quotients(((then, taken), (otherwise, other)), dtype_of(result), scope)
            return result
        case ast.Reduction():
            return _reduction(node, scope)
        case ast.Batch():
            raise AssertionError("`batches` writes the dimensions out before")
        case _:
            assert_never(node)


def interval(cut: Cut, scope: Scope) -> tuple[Affine, Affine]:
    """The ends of a range; a ragged one may read tensors. Raises TC0403 for other ends that are not affine."""
    return _end(cut.lo, cut, scope), _end(cut.hi, cut, scope)


def _end(node: ast.Expr, cut: Cut, scope: Scope) -> Affine:
    with scope.quiet():
        end = value(node, scope)
    reads = False
    for part in () if isinstance(end, Literal) else ir.walk(settled(end)):
        if isinstance(part, ir.Foreign):
            raise CompileError(
                Code.READ_IN_BOUND,
                f"the end of a range cannot call Python, but this calls `{part.function}`",
                node.span,
                help=f"write {cut.guarded(scope.environment.tensors, node.span)}",
            )
        reads = reads or isinstance(part, ir.Access)
    result = with_caches(subscript(end, "the end of a range"))
    if result.is_data and not reads:
        raise CompileError(
            Code.UNSOLVABLE_INDEX,
            "the end of a range must be affine in sizes and indices",
            node.span,
            help=f"write {cut.guarded(scope.environment.tensors, node.span)}",
        )
    return result


def guard(node: ast.Expr, scope: Scope) -> Value:
    """A boolean clause."""
    with scope.quiet():
        return operators.condition(value(node, scope), "a guard")


def warn_of_parity(operator: str, body: Span, span: Span, environment: Environment) -> None:
    """Warns of a sum of bool values, which NumPy would count."""
    shown = body.text.strip()
    environment.warn(
        Code.SUM_OF_BOOL,
        f"`{operator}` of bool values adds modulo 2, as an exclusive or does",
        span,
        f"to count what is true, write `int32({shown if 0 < len(shown) <= 60 else '...'})`",
    )


def reduced_value(reducer: Reducer | Monoid, body: Value) -> Value:
    """The body of a reduction: checked, and floating-point if the result always is."""
    dtype = dtype_of(body)
    if reducer.takes_bool:
        return operators.condition(body, f"`{reducer.value}`")
    if not reducer.takes_complex:
        operators.ordered(dtype, f"`{reducer.value}`", body.span)
    wide = reducer.element(dtype)
    return body if wide == dtype else converted(body, wide)


def converted(value: Value, dtype: str) -> Value:
    """A value converted to a type to which it joins; integers become floats of open type."""
    return combined((value,), dtype, lambda parts, _: parts[0])


def accumulation_type(reducer: Reducer | Monoid, dtype: str, option: str | None) -> str:
    """The type in which values are accumulated; `option` is the kernel's ``accumulate=``."""
    if not reducer.is_rounded:
        return dtype
    if option is not None and _class_of(option) == _class_of(dtype):
        return option
    return types.accumulator(dtype)


def reduction(
    reducer: Reducer | Monoid, body: Value, option: str | None, build: Callable[[str, ir.Expr, str], ir.Expr]
) -> Value:
    """What `build` makes of the accumulation type, the body, and the type of the result."""
    own = dtype_of(body)
    accumulate = accumulation_type(reducer, own, option)
    result = reducer.result(own, accumulate)
    if result != own:
        # A position, or the result of a monoid's state, has its own type.
        body = settled(body)
    is_given = option == own and reducer.is_rounded

    def made(parts: list[ir.Expr], dtype: str) -> ir.Expr:
        running = parts[0].dtype if accumulate == own and not is_given else accumulate
        return build(running, parts[0], dtype)

    return combined((body,), own, made, result)


def scalar_type(name: str, span: Span) -> str:
    """The canonical name of a scalar type."""
    found = types.SPELLINGS.get(name)
    if found is None:
        raise CompileError(
            Code.WRONG_TYPE,
            f"there is no type `{name}`",
            span,
            help=did_you_mean(name, types.SPELLINGS, "use one such as `float`, `double`, `half`, `int32` or `bool`"),
        )
    return found


def check_ends(ranges: dict[IndexVar, ir.Range]) -> None:
    """Raises TC0403 for ranges whose ends depend on each other cyclically."""
    pending = {index: given.lo.variables | given.hi.variables for index, given in ranges.items()}
    while pending:
        free = [index for index, used in pending.items() if not used & pending.keys()]
        if not free:
            index = next(iter(pending))
            raise CompileError(
                Code.UNSOLVABLE_INDEX,
                f"the range of `{index}` depends on itself",
                ranges[index].span,
                help="use sizes, numbers and other indices as ends",
            )
        for index in free:
            del pending[index]


def _named(node: ast.Name, scope: Scope) -> Value:
    match scope.name(node):
        case IndexVar() as variable:
            return index(variable, node.span)
        case Let(let, mentions=mentions):
            scope.mentioned.update(dict.fromkeys(mentions))
            return let
        case Size() as size:
            return extent(size, node.span)
        case ir.Tensor() as tensor:
            return ir.Access(tensor, (), span=node.span)
        case number:
            return Literal(number, node.span)


def _size_of(node: ast.SizeOf, scope: Scope) -> Value:
    tensor = scope.tensor(node.tensor, node.span)
    if not 0 <= node.dimension < tensor.rank:
        raise CompileError(
            Code.WRONG_SUBSCRIPT_COUNT,
            f"`{tensor.name}` has {counted(tensor.rank, 'dimension')}, so there is no "
            f"{phrases.size(tensor.name, node.dimension, node.span)}",
            node.span,
            help="ask for a dimension that it has, counted from 0: the last is "
            + phrases.size(tensor.name, tensor.rank - 1, node.span)
            if tensor.rank
            else "a scalar has no sizes",
        )
    return extent(tensor.shape[node.dimension], node.span)


def _ends(node: ast.Reduction) -> list[ast.Expr]:
    """The ends of the ranges in the brackets."""
    return [end for each in node.bounds for end in (each.lo, each.hi) if end is not None]


def _applied(callee: ir.Tensor | Builtin | str, node: ast.Apply, arguments: list[Value], scope: Scope) -> Value:
    match callee:
        case ir.Tensor():
            what, environment = f"a subscript of `{callee.name}`", scope.environment
            indices = [with_caches(subscript(argument, what)) for argument in arguments]
            for dimension, written in enumerate(node.arguments):
                kind = boundary_of(written, environment)
                indices[dimension] = bounded(kind, indices[dimension], callee, dimension, environment)
            return ir.Access(callee, tuple(indices), span=node.span)
        case "pad":
            return padded(node, arguments, scope.environment)
        case Builtin():
            result = operators.call(node.function, callee, arguments, node.span)
            taken = argument_type(callee, joined(arguments))
            warn_of_quotients(tuple(zip(node.arguments, arguments, strict=True)), taken, scope)
            return result
        case "extremum":
            result = arguments[0]
            for argument in arguments[1:]:
                result = operators.binary(node.function, result, argument, node.span)
            warn_of_quotients(tuple(zip(node.arguments, arguments, strict=True)), dtype_of(result), scope)
            return result
        case _:
            expressions = tuple(settled_together(arguments))
            dtype = scope.environment.functions[node.function].scalar(tuple([e.dtype for e in expressions]))
            return ir.Foreign(node.function, expressions, dtype, span=node.span)


def _reduction(node: ast.Reduction, scope: Scope) -> Value:
    reducer = _reducer(node)
    bracket: dict[str, IndexVar] = {}
    for bound_index in node.bounds:
        if bound_index.index in bracket:
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{bound_index.index}` appears twice in these brackets",
                bound_index.span,
                help="name each index once",
            )
        scope.refuse_taken(bound_index.index, bound_index.span)
        bracket[bound_index.index] = scope.fresh(bound_index.index, bound_index.span)
    scope.brackets.append(bracket)
    ranges: dict[IndexVar, ir.Range] = {}
    for bound_index in node.bounds:
        if bound_index.lo is not None and bound_index.hi is not None:
            runs = bracket[bound_index.index]
            cut = Cut(runs.name, bound_index.lo, bound_index.hi, node.arguments[0], inline=True)
            ranges[runs] = ir.Range(runs, *interval(cut, scope), span=bound_index.span)
    check_ends(ranges)
    guards = [guard(part, scope) for part in node.guards]
    operand = value(node.arguments[0], scope)
    body = reduced_value(reducer, operand)
    warn_of_quotients(((node.arguments[0], operand),), dtype_of(body), scope)
    if reducer is Reducer.SUM and dtype_of(body) == "bool":
        warn_of_parity("sum", node.arguments[0].span, node.span, scope.environment)
    brackets = {name: text for each in node.bounds for name, text in bracketed(each).items()}
    own = tuple(bracket.values())
    excused = {index for part in (*node.guards, *_ends(node)) for index in mentions(part, own, scope.lets)}
    independent = independent_sums(reducer, node.arguments[0], own, brackets, excused, scope.lets)
    if independent is not None:
        scope.environment.warn(Code.INDEPENDENT_SUMS, *independent)
    rank: ir.Expr | None = None
    if reducer.is_ranked:
        rank = settled(operators.integer(value(node.arguments[1], scope), f"the second argument of `{node.reducer}`"))
    scope.brackets.pop()
    indices, given = tuple(bracket.values()), tuple(ranges.values())

    def build(running: str, operand: ir.Expr, dtype: str) -> ir.Expr:
        condition = ir.conjunction([settled_beside(part, operand.dtype) for part in guards])
        return ir.Reduce(reducer, indices, given, condition, operand, rank, running, dtype, span=node.span)

    return reduction(reducer, body, scope.environment.accumulate, build)


def _reducer(node: ast.Reduction) -> Reducer | Monoid:
    names = reducers.names()
    reducer = reducers.named(node.reducer)
    if reducer is None:
        raise CompileError(
            Code.UNKNOWN_FUNCTION,
            f"there is no reduction `{node.reducer}`",
            node.span.part(node.reducer),
            help=elsewhere(node.reducer, node.span)
            or did_you_mean(node.reducer, names, f"use one of {', '.join(names)}"),
        )
    count, form = (2, f"{node.reducer}[k](e, r)") if reducer.is_ranked else (1, f"{node.reducer}[k](e)")
    if len(node.arguments) != count:
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"`{node.reducer}[...]` takes {counted(count, 'value')}, but got {len(node.arguments)}",
            node.span,
            help=f"write `{form}`",
        )
    if not node.bounds:
        raise CompileError(
            Code.NOT_IN_THE_NOTATION,
            f"`{node.reducer}[]` names no index",
            node.span,
            help=f"name what it runs over: `{node.reducer}[k](e)`",
        )
    return reducer


def _class_of(dtype: str) -> str:
    if types.is_float(dtype):
        return "float"
    return "complex" if types.is_complex(dtype) else "bool" if dtype == "bool" else "integer"
