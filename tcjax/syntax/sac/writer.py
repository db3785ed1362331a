"""A tree as SaC text without redundant parentheses, which reads back as the same tree."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

from ...diagnostics import Code, CompileError
from ..ast import Node
from . import tree
from .patterns import is_index
from .precedence import CONDITIONAL, POSTFIX, PRECEDENCE, UNARY
from .spelling import KEYWORDS, PRINTED_SUFFIXES, PRINTED_TYPES, TYPES


def write(program: tree.Program) -> str:
    """The text of a program; every tree that was read reads back equal: ``read(write(tree)) == tree``.

    Raises TC0203 for a name that is a keyword of SaC.
    """
    functions = [_function(function) for function in program.functions]
    statements = [_let(let) for let in program.lets]
    if program.result is not None:
        statements.append(write_expr(program.result))
    return "\n\n".join([*functions, "\n".join(statements)] if statements else functions)


def write_expr(expr: tree.Expr) -> str:
    """The text of an expression."""
    return _text(expr).text


# ---------------------------------------------------------------- functions


def _function(function: tree.Function) -> str:
    results = ", ".join(write_type(result) for result in function.results)
    parameters = ", ".join(f"{write_type(p.type)} {_name(p.name, p)}" for p in function.parameters)
    guards = "".join(f" | {_guard(guard)}" for guard in function.guards)
    lets = "".join(f"  {_let(let)}\n" for let in function.lets)
    values = ", ".join(write_expr(value) for value in function.returns)
    returned = values if len(function.returns) == 1 else f"({values})"
    head = f"{results} {_name(function.name, function)}({parameters}){guards}"
    return f"{head} {{\n{lets}  return {returned};\n}}"


def write_type(type: tree.TypePattern) -> str:
    axes = ", ".join(_axis(axis) for axis in type.axes)
    return PRINTED_TYPES.get(type.scalar, type.scalar) + (f"[{axes}]" if axes else "")


def _axis(axis: tree.Axis | tree.Axes) -> str:
    match axis:
        case tree.Axis(None):
            return "."
        case tree.Axis(str() as extent):
            return _name(extent, axis)
        case tree.Axis(extent):
            return str(extent)
        case tree.Axes(count, least, str() as name):
            counted = _name(count, axis) if isinstance(count, str) else str(count)
            return f"{counted}{f' > {least - 1}' if least else ''}:{_name(name, axis)}"
        case tree.Axes(_, least):
            return "+" if least else "*"
        case _:
            assert_never(axis)


def _guard(guard: tree.Expr) -> str:
    return _outside(_text(guard), "|")


def _let(let: tree.Let) -> str:
    return f"{', '.join(_name(name, let) for name in let.names)} = {write_expr(let.value)};"


# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of an expression, how tightly its outermost operator binds, and its operators outside all brackets."""

    text: str
    level: int
    bare: frozenset[str] = frozenset()


def _text(expr: tree.Expr) -> _Text:
    """The text of an expression, parts first: iterative, so that depth is not limited."""
    order: list[tree.Expr] = []
    pending = [expr]
    while pending:
        order.append(pending.pop())
        pending.extend(_parts(order[-1]))
    written: list[_Text] = []
    for node in reversed(order):
        first = len(written) - len(_parts(node))
        written[first:] = [_operation(node, written[first:])]
    return written[0]


def _parts(expr: tree.Expr) -> tuple[tree.Expr, ...]:
    match expr:
        case tree.Number() | tree.Name():
            return ()
        case tree.Unary():
            return (expr.operand,)
        case tree.Binary():
            return (expr.left, expr.right)
        case tree.Conditional():
            return (expr.condition, expr.then, expr.otherwise)
        case tree.Call():
            return expr.arguments
        case tree.Vector():
            return expr.elements
        case tree.Select(array, index):
            return (array, *_expressions(index))
        case tree.Comprehension(partitions):
            return tuple([part for partition in partitions for part in _partition_parts(partition)])
        case _:
            assert_never(expr)


def _partition_parts(partition: tree.Partition) -> Iterable[tree.Expr]:
    bounds = partition.generator
    if bounds is None:
        return (partition.body,)
    limits = [None if bound is None else bound.value for bound in (bounds.lower, bounds.upper)]
    return (partition.body, *_expressions([*limits, bounds.step, bounds.width]))


def _expressions(values: "Iterable[tree.Expr | tree.Dot | None]") -> list[tree.Expr]:
    return [value for value in values if value is not None and not isinstance(value, tree.Dot)]


def _operation(expr: tree.Expr, parts: list[_Text]) -> _Text:
    """The text of an expression, given the texts of its parts."""
    match expr:
        case tree.Number():
            return _number(expr)
        case tree.Name(id):
            return _Text(_name(id, expr), POSTFIX)
        case tree.Unary(operator):
            operand = _within(parts[0], UNARY)
            # `++` is one token.
            space = " " if operator == "+" and operand.startswith("+") else ""
            return _Text(f"{operator}{space}{operand}", UNARY)
        case tree.Binary(operator):
            level = PRECEDENCE[operator]
            left, right = parts
            bare = _bare(left, level) | _bare(right, level + 1) | {operator}
            return _Text(f"{_within(left, level)} {operator} {_within(right, level + 1)}", level, bare)
        case tree.Conditional():
            condition, then, otherwise = parts
            bare = _bare(condition, CONDITIONAL + 1) | then.bare | otherwise.bare
            text = f"{_within(condition, CONDITIONAL + 1)} ? {then.text} : {otherwise.text}"
            return _Text(text, CONDITIONAL, bare)
        case tree.Call(function):
            name = PRINTED_TYPES.get(function, function)
            called = name if function in TYPES else _name(function, expr)
            return _Text(f"{called}({_listed(parts)})", POSTFIX)
        case tree.Vector():
            return _Text(f"[{_listed(parts)}]", POSTFIX)
        case tree.Select(_, index):
            array, *elements = parts
            texts = iter(elements)
            listed = ", ".join(_dot(e) if isinstance(e, tree.Dot) else next(texts).text for e in index)
            return _Text(f"{_within(array, POSTFIX)}[{listed}]", POSTFIX)
        case tree.Comprehension(partitions):
            texts = iter(parts)
            return _Text(f"{{ {'; '.join(_partition(partition, texts) for partition in partitions)} }}", POSTFIX)
        case _:
            assert_never(expr)


def _partition(partition: tree.Partition, texts: Iterator[_Text]) -> str:
    index = partition.index
    match index:
        case tree.IndexVector(name):
            shown = repeated = _name(name, index)
        case tree.IndexPattern(elements):
            shown = f"[{', '.join(_dot(e) if isinstance(e, tree.Dot) else _name(e, index) for e in elements)}]"
            repeated = f"[{', '.join(index.names)}]"
    body = _outside(next(texts), "|")
    bounds = partition.generator
    return f"{shown} -> {body}" + ("" if bounds is None else f" | {_generator(bounds, index, repeated, texts)}")


def _generator(
    bounds: tree.Generator, index: tree.IndexVector | tree.IndexPattern, repeated: str, texts: Iterator[_Text]
) -> str:
    text = repeated
    if bounds.lower is not None:
        limit = _limit(bounds.lower, texts)
        # Left of a relation, what looks like the index is taken for it, except a pattern without names between two
        # relations.
        is_meant = bounds.upper is not None and repeated == "[]"
        limit = f"({limit})" if is_index(index, bounds.lower.value) and not is_meant else limit
        text = f"{limit} {_relation(bounds.lower)} {text}"
    if bounds.upper is not None:
        text = f"{text} {_relation(bounds.upper)} {_limit(bounds.upper, texts)}"
    if bounds.step is not None:
        text = f"{text} step {next(texts).text}"
    if bounds.width is not None:
        text = f"{text} width {next(texts).text}"
    return text


def _limit(bound: tree.Bound, texts: Iterator[_Text]) -> str:
    return _dot(bound.value) if isinstance(bound.value, tree.Dot) else _outside(next(texts), "<", "<=")


def _relation(bound: tree.Bound) -> str:
    return "<" if bound.strict else "<="


def _dot(dot: tree.Dot) -> str:
    return "..." if dot.many else "."


def _within(part: _Text, level: int) -> str:
    """A part where operators of `level` or tighter can stand; a looser one goes in parentheses."""
    return part.text if part.level >= level else f"({part.text})"


def _bare(part: _Text, level: int) -> frozenset[str]:
    """The operators outside brackets after the part was written `_within` a level."""
    return part.bare if part.level >= level else frozenset()


def _outside(part: _Text, *operators: str) -> str:
    """A part where `operators` would have another meaning; brackets protect them."""
    return f"({part.text})" if part.bare.intersection(operators) else part.text


def _listed(parts: list[_Text]) -> str:
    return ", ".join(part.text for part in parts)


def _name(name: str, node: Node) -> str:
    if name in KEYWORDS:
        raise CompileError(
            Code.RESERVED_NAME,
            f"`{name}` cannot be written in SaC text: it is a keyword there",
            node.span,
            help=f"rename it, for example to `{name}_`",
        )
    return name


def _number(number: tree.Number) -> _Text:
    """Negative numbers are operations in SaC text, and so are those that cannot be written as digits."""
    value, scalar = number.value, number.scalar
    if isinstance(value, bool):
        return _Text("true" if value else "false", POSTFIX)
    if isinstance(value, float) and not math.isfinite(value):
        text = "0.0 / 0.0" if math.isnan(value) else "1.0 / 0.0" if value > 0 else "-1.0 / 0.0"
        return _Text(text, PRECEDENCE["/"])
    if scalar is not None and scalar not in PRINTED_SUFFIXES:
        return _Text(f"{scalar}({value!r})", POSTFIX)
    text = f"{value!r}{PRINTED_SUFFIXES[scalar] if scalar else ''}"
    return _Text(text, UNARY if text.startswith("-") else POSTFIX)
