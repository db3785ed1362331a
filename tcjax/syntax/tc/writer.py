"""A tree as TC text: one statement per line, without redundant parentheses; it reads back as the same tree."""

from collections.abc import Iterator
from typing import Final, assert_never

from ...diagnostics import Code, CompileError
from .. import ast
from .precedence import CONDITIONAL, OPERAND, PRECEDENCE, UNARY
from .spelling import KEYWORDS, PRINTED_TYPES

# TC text has no sign for these operators of the Python notation.
_CALLED: Final = {"truediv": "fdivide", "**": "pow"}


def write(tree: ast.Program | ast.Definition | ast.Statement | ast.Expr) -> str:
    """The text of a tree.

    Every tree that TC text can express reads back equal: ``read(write(tree)) == tree``. Constructs that only the Python
    notation has are written as equivalents: ``a ** b`` as ``pow(a, b)``, Python's ``a / b`` as ``fdivide(a, b)``,
    ``True`` as ``bool(1)``. Raises TC0203 for a name that is a keyword of TC.
    """
    match tree:
        case ast.Program(definitions):
            return "\n\n".join(write(definition) for definition in definitions)
        case ast.Definition():
            return _definition(tree)
        case ast.Assign() | ast.CallAssign() | ast.Declare() | ast.For():
            return _statement(tree)
        case _:
            return _expression(tree)


def _definition(definition: ast.Definition) -> str:
    if definition.parameters is None:
        return "\n".join(_statement(statement) for statement in definition.body)
    head = f"def {_name(definition.name, definition)}({_parameters(definition.parameters)})"
    return f"{head} -> ({_parameters(definition.returns)}) {{\n{_block(definition.body)}}}"


def _parameters(parameters: tuple[ast.Parameter, ...]) -> str:
    return ", ".join(
        f"{'' if parameter.type is None else f'{write_type(parameter.type)} '}{_name(parameter.name, parameter)}"
        for parameter in parameters
    )


def write_type(type: ast.TensorType) -> str:
    dimensions = ["..."] * type.batch + [_name(d, type) if isinstance(d, str) else str(d) for d in type.dimensions]
    return _scalar(type.scalar) + (f"({','.join(dimensions)})" if dimensions else "")


def _scalar(scalar: str) -> str:
    return PRINTED_TYPES.get(scalar, scalar)


# ---------------------------------------------------------------- statements


def _block(body: tuple[ast.Statement, ...]) -> str:
    return "".join(f"  {line}\n" for statement in body for line in _statement(statement).split("\n"))


def loop_head(loop: ast.For) -> str:
    """``for t in lo:hi:step {``: a loop up to its body."""
    step = "" if loop.step is None else f":{_expression(loop.step)}"
    return f"for {_name(loop.index, loop)} in {_expression(loop.lo)}:{_expression(loop.hi)}{step} {{"


def _statement(statement: ast.Statement) -> str:
    match statement:
        case ast.Assign(target, indices, reducer, restart, value, equivalent, where):
            left = _name(target, statement) if indices is None else _call(target, indices, statement)
            operator = f"{'' if reducer is None else reducer}={'!' if restart else ''}"
            text = f"{left} {operator} {_expression(value)}"
            if equivalent is not None:
                text += f" <=> {_call(equivalent.function, equivalent.arguments, equivalent)}"
            return f"{text} where {', '.join(_clause(clause) for clause in where)}" if where else text
        case ast.CallAssign(targets, function, arguments):
            names = ", ".join(_name(target, statement) for target in targets)
            return f"{names} = {_call(function, arguments, statement)}"
        case ast.Declare(name, type):
            return f"{write_type(type)} {_name(name, statement)}"
        case ast.For(body=body):
            return f"{loop_head(statement)}\n{_block(body)}}}"
        case _:
            assert_never(statement)


def _clause(clause: ast.Clause) -> str:
    match clause:
        case ast.RangeClause(index, lo, hi):
            return f"{_name(index, clause)} in {_expression(lo)}:{_expression(hi)}"
        case ast.LetClause(name, value):
            return f"{_name(name, clause)} = {_expression(value)}"
        case ast.ExistsClause(value):
            return f"exists {_expression(value)}"
        case ast.UniqueClause(value):
            return f"unique {_expression(value)}"
        case ast.GuardClause(condition):
            return _expression(condition)
        case _:
            assert_never(clause)


# ---------------------------------------------------------------- expressions

# A text, and how tightly its outermost operator binds.
Levelled = tuple[str, int]


def _expression(expr: ast.Expr) -> str:
    """The text of an expression, parts first: iterative, so that depth is not limited."""
    order: list[ast.Expr] = []
    pending = [expr]
    while pending:
        order.append(pending.pop())
        pending.extend(_parts(order[-1]))
    written: list[Levelled] = []
    for node in reversed(order):
        first = len(written) - len(_parts(node))
        written[first:] = [_operation(node, written[first:])]
    return written[0][0]


def _parts(expr: ast.Expr) -> tuple[ast.Expr, ...]:
    match expr:
        case ast.Number() | ast.Name() | ast.SizeOf() | ast.Batch():
            return ()
        case ast.Apply():
            return expr.arguments
        case ast.Cast() | ast.Unary():
            return (expr.operand,)
        case ast.Binary():
            return (expr.left, expr.right)
        case ast.Conditional():
            return (expr.condition, expr.then, expr.otherwise)
        case ast.Reduction(_, bounds, guards, arguments):
            ends = [end for bound in bounds for end in (bound.lo, bound.hi) if end is not None]
            return (*ends, *guards, *arguments)
        case _:
            assert_never(expr)


def _operation(expr: ast.Expr, parts: list[Levelled]) -> Levelled:
    """The text of an expression, given the texts of its parts."""
    match expr:
        case ast.Number(value):
            return _number(value)
        case ast.Name(id):
            return _name(id, expr), OPERAND
        case ast.SizeOf(tensor, dimension):
            return f"{tensor}.{dimension}", OPERAND
        case ast.Batch():
            return "...", OPERAND
        case ast.Apply(function):
            return f"{_function(function, expr)}({_listed(parts)})", OPERAND
        case ast.Cast(scalar):
            return f"{_scalar(scalar)}({_listed(parts)})", OPERAND
        case ast.Unary(operator):
            return f"{operator}{_within(parts[0], UNARY)}", UNARY
        case ast.Binary("truediv" | "**" as operator):
            return f"{_CALLED[operator]}({_listed(parts)})", OPERAND
        case ast.Binary(operator):
            level = PRECEDENCE[operator]
            # Without parentheses `a < b < c` would look like a chained comparison.
            first = level + 1 if level == PRECEDENCE["<"] else level
            return f"{_within(parts[0], first)} {operator} {_within(parts[1], level + 1)}", level
        case ast.Conditional():
            return f"{_within(parts[0], CONDITIONAL + 1)} ? {parts[1][0]} : {parts[2][0]}", CONDITIONAL
        case ast.Reduction(reducer, bounds, guards, arguments):
            texts = iter(parts)
            brackets = ", ".join(_bound(bound, texts) for bound in bounds)
            if guards:
                brackets += f" where {_listed([next(texts) for _ in guards])}"
            return f"{_function(reducer, expr)}[{brackets}]({_listed([next(texts) for _ in arguments])})", OPERAND
        case _:
            assert_never(expr)


def _within(part: Levelled, level: int) -> str:
    """A part where operators of `level` or tighter can stand; a looser one goes in parentheses."""
    text, own = part
    return text if own >= level else f"({text})"


def _listed(parts: list[Levelled]) -> str:
    return ", ".join(text for text, _ in parts)


def _bound(bound: ast.Bound, texts: Iterator[Levelled]) -> str:
    index = _name(bound.index, bound)
    return index if bound.lo is None else f"{index} in {next(texts)[0]}:{next(texts)[0]}"


def _call(function: str, arguments: tuple[ast.Expr, ...], node: ast.Node) -> str:
    return f"{_name(function, node)}({', '.join(_expression(argument) for argument in arguments)})"


def _function(name: str, node: ast.Node) -> str:
    return name if name in ("min", "max") else _name(name, node)


def _name(name: str, node: ast.Node) -> str:
    if name in KEYWORDS:
        raise CompileError(
            Code.RESERVED_NAME,
            f"`{name}` cannot be written in TC text: it is a keyword there",
            node.span,
            help=f"rename it, for example to `{name}_`",
        )
    return name


def _number(value: bool | int | float | complex) -> tuple[str, int]:
    """Negative and complex numbers are operations in TC text, with their precedence."""
    match value:
        case bool():
            return f"bool({int(value)})", OPERAND
        case int():
            return str(value), OPERAND if value >= 0 else UNARY
        case float():
            text = repr(value)
            return text, UNARY if text.startswith("-") else OPERAND
        case complex():
            imaginary, level = _number(value.imag)
            if value.real == 0.0:
                return f"{imaginary}i", level
            real, _ = _number(value.real)
            return f"({real} + {imaginary}i)", OPERAND
        case _:
            assert_never(value)
