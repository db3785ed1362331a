"""Writes a definition as a Python function that reads back to the same tree."""

import keyword
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from ...diagnostics import NOWHERE, Code, CompileError, Span
from .. import ast
from .division import Floating, is_floating, kinds, with_lets
from .python_expressions import REDUCERS
from .recurrences import compounds, recurs
from .script import too_deep
from .types import SCALARS

# Python's precedence, from loosest to tightest.
_CONDITIONAL, _OR, _AND, _NOT, _COMPARISON, _UNARY, _POWER, _ATOM = 1, 2, 3, 4, 5, 12, 13, 14
_LEVELS: Final = {
    "||": _OR,
    "&&": _AND,
    **dict.fromkeys(("<", ">", "<=", ">=", "==", "!="), _COMPARISON),
    "|": 6,
    "^": 7,
    "&": 8,
    **dict.fromkeys(("<<", ">>"), 9),
    **dict.fromkeys(("+", "-"), 10),
    **dict.fromkeys(("*", "truediv", "//", "%"), 11),
    "**": _POWER,
}
_SPELLINGS: Final = {"||": "or", "&&": "and", "truediv": "/"}
_SYMBOLS: Final = {"any": "|", "all": "&"}

# As TC's own texts spell them; every other type has its canonical name.
_PRINTED_TYPES: Final = {"float32": "float", "float64": "double"}

# Functions that the reader treats specially when called; ``f[a, b]`` is the same node as ``f(a, b)``.
_READERS_OWN: Final = REDUCERS | {"div", *SCALARS}

# Python refuses to parse a decimal integer of more than 4,300 digits.
_LONG: Final = 10**4000

_INDENT: Final = "    "


def write(definition: ast.Definition) -> str:
    """`definition` as a function under ``@tcjax.kernel``; `read_text` gives the same tree back.

    Its parameters must be known: complete a text without ``def`` first. TC's ``/`` is written as ``/`` or ``//`` if the
    declared types determine which one it is, and as ``div(a, b)`` otherwise. Raises `CompileError` (TC0203) for a name
    that is a keyword of Python.
    """
    parameters = definition.parameters
    assert parameters is not None, "parameters must be completed before a definition is written"
    try:
        return "\n".join([*_signature(definition, parameters), *_body(definition, parameters), ""])
    except RecursionError:
        raise too_deep(definition.span) from None


def _signature(definition: ast.Definition, parameters: tuple[ast.Parameter, ...]) -> list[str]:
    listed = ", ".join(
        _name(parameter.name, parameter.span) + (f": {_type(parameter.type)}" if parameter.type else "")
        for parameter in parameters
    )
    results = [_type(result.type) if result.type else "None" for result in definition.returns]
    declared = any(result.type for result in definition.returns)
    arrow = f" -> {results[0] if len(results) == 1 else f'({_sequence(results)})'}" if declared else ""
    return ["@tcjax.kernel", f"def {_name(definition.name, definition.span)}({listed}){arrow}:"]


def _type(type: ast.TensorType) -> str:
    scalar = _PRINTED_TYPES.get(type.scalar, type.scalar)
    dimensions = ["..."] * type.batch + list(map(str, type.dimensions))
    return f'"{scalar}({",".join(dimensions)})"' if dimensions else f'"{scalar}"'


def _name(name: str, span: Span = NOWHERE) -> str:
    if keyword.iskeyword(name):
        raise CompileError(
            Code.RESERVED_NAME, f"`{name}` is a keyword of Python", span, help=f"rename it, to `{name}_` for example"
        )
    return name


def _sequence(parts: list[str]) -> str:
    """The parts as written inside a Python tuple."""
    return f"{parts[0]}," if len(parts) == 1 else ", ".join(parts)


def _body(definition: ast.Definition, parameters: tuple[ast.Parameter, ...]) -> Iterable[str]:
    known = kinds(definition)
    tensors = frozenset({*known, *(result.name for result in definition.returns)})
    started = {parameter.name for parameter in parameters}
    yield from _block(definition.body, started, tensors, known, _sizes(definition), ())
    results = [_name(result.name, result.span) for result in definition.returns]
    yield f"{_INDENT}return {results[0] if len(results) == 1 else _sequence(results) or '()'}"


def _sizes(definition: ast.Definition) -> frozenset[str]:
    """The sizes named in types, as `recurs` needs them."""
    leaves = ast.flattened(definition.body)[0]
    types = [each.type for each in (*(definition.parameters or ()), *definition.returns)]
    types += [leaf.type for leaf in leaves if isinstance(leaf, ast.Declare)]
    return frozenset(size for type in types if type for size in type.dimensions if isinstance(size, str))


def _block(
    body: tuple[ast.Statement, ...],
    started: set[str],
    tensors: frozenset[str],
    known: Mapping[str, Floating],
    sizes: frozenset[str],
    around: tuple[str, ...],
) -> Iterator[str]:
    """The lines of statements in the loops `around`; adds the tensors that they write to `started`."""
    depth = len(around) + 1
    for statement in body:
        match statement:
            case ast.Assign(target, where=where):
                for clause in where:
                    if isinstance(clause, ast.RangeClause) and target in started and compounds(statement, clause.index):
                        raise _only_points(statement, clause.index)
                lines = _assign(statement, target not in started, Expressions(tensors, with_lets(where, known)))
                yield from (_INDENT * (depth - 1) + line for line in lines)
                started.add(target)
            case ast.CallAssign(targets, function, arguments):
                names = [_name(target, statement.span) for target in targets]
                call = Expressions(tensors, known).call(function, arguments, statement.span)
                yield f"{_INDENT * depth}{_sequence(names)} = {call}"
                started.update(targets)
            case ast.Declare(name, type):
                yield f"{_INDENT * depth}{_name(name, statement.span)}: {_type(type)}"
            case ast.For(index, lo, hi, inner, step):
                # A step makes it a loop, whatever is inside.
                ordered = recurs(statement, started, around, sizes)
                third = step if step is not None or ordered else ast.Number(1)
                if ast.stride(statement) not in (1, -1) and not ordered:
                    raise _only_steps(statement)
                ends = (lo, hi) if third is None else (lo, hi, third)
                listed = Expressions(tensors, known).listed(ends)
                yield f"{_INDENT * depth}for {_name(index, statement.span)} in range({listed}):"
                yield from _block(inner, started, tensors, known, sizes, (*around, index))
            case _:
                assert_never(statement)


def _only_steps(loop: ast.For) -> CompileError:
    return CompileError(
        Code.NOT_TRANSLATABLE,
        f"Python cannot say the steps of `{loop.index}` where none needs another",
        loop.span,
        help="let the index run over all values, and multiply it in the subscripts",
    )


def _only_points(statement: ast.Assign, index: str) -> CompileError:
    return CompileError(
        Code.NOT_TRANSLATABLE,
        f"Python would take the points of `{index}` for steps: each would see what the one before has written",
        statement.span,
        help=f"reduce inside of the value: `sum[{index} in lo:hi](...)`",
    )


def _assign(statement: ast.Assign, first: bool, expressions: "Expressions") -> Iterable[str]:
    """The statement inside its clauses; `first` if nothing has written its target before."""
    lines = [_head(clause, expressions) for clause in statement.where]
    if statement.equivalent:
        call = expressions.call(statement.equivalent.function, statement.equivalent.arguments, statement.span)
        lines.insert(0, f"with equivalent({call}):")
    target = _name(statement.target, statement.span)
    if statement.indices is not None:
        target += f"[{expressions.listed(statement.indices) or '()'}]"
    match statement.reducer:
        case None:
            operator = " ="
        case "+" | "*" | "any" | "all" as reducer if statement.restart == first:
            operator = f" {_SYMBOLS.get(reducer, reducer)}="
        case reducer:
            operator = f': "{reducer}={"!" * statement.restart}" ='
    lines.append(f"{target}{operator} {expressions.write(statement.value)}")
    return [_INDENT * depth + line for depth, line in enumerate(lines, start=1)]


def _head(clause: ast.Clause, expressions: "Expressions") -> str:
    match clause:
        case ast.RangeClause(index, lo, hi):
            return f"for {_name(index, clause.span)} in range({expressions.listed((lo, hi))}):"
        case ast.LetClause(name, value):
            return f"with let({_name(name, clause.span)}={expressions.write(value)}):"
        case ast.ExistsClause(value):
            return f"with exists({expressions.write(value)}):"
        case ast.UniqueClause(value):
            return f"with unique({expressions.write(value)}):"
        case ast.GuardClause(condition):
            return f"if {expressions.write(condition)}:"
        case _:
            assert_never(clause)


@dataclass(frozen=True, slots=True)
class Expressions:
    """Writes the expressions of one statement: `tensors` are read with brackets, `kinds` give the meaning of ``/``."""

    tensors: frozenset[str]
    kinds: Mapping[str, Floating]

    def write(self, expr: ast.Expr, level: int = _CONDITIONAL) -> str:
        """The expression, in parentheses if it binds looser than `level`."""
        match expr:
            case ast.Batch():
                return "..."
            case ast.Number(value):
                return self._number(expr, value, level)
            case ast.Name(id):
                return _name(id, expr.span)
            case ast.SizeOf(tensor, dimension):
                return f"{_name(tensor, expr.span)}.shape[{dimension}]"
            case ast.Apply(function, arguments):
                is_batch = bool(arguments) and isinstance(arguments[0], ast.Batch)
                if is_batch or function in self.tensors or expr.subscript or function in _READERS_OWN:
                    return f"{_name(function, expr.span)}[{self.listed(arguments) or '()'}]"
                return self.call(function, arguments, expr.span)
            case ast.Cast(scalar, operand):
                return f"{scalar}({self.write(operand)})"
            case ast.Unary(operator, operand):
                own = _NOT if operator == "!" else _UNARY
                return _enclosed(f"{'not ' if operator == '!' else operator}{self.write(operand, own)}", own, level)
            case ast.Binary(operator, left, right):
                return self._binary(operator, left, right, level)
            case ast.Conditional(condition, then, otherwise):
                branches = f"{self.write(then, _OR)} if {self.write(condition, _OR)} else {self.write(otherwise)}"
                return _enclosed(branches, _CONDITIONAL, level)
            case ast.Reduction(reducer, bounds, guards, arguments):
                brackets = [*map(self._bound, bounds), *map(self._guard, guards)]
                return f"{_name(reducer, expr.span)}[{', '.join(brackets)}]({self.listed(arguments)})"
            case _:
                assert_never(expr)

    def listed(self, expressions: tuple[ast.Expr, ...]) -> str:
        return ", ".join(map(self.write, expressions))

    def call(self, function: str, arguments: tuple[ast.Expr, ...], span: Span) -> str:
        return f"{_name(function, span)}({self.listed(arguments)})"

    def _number(self, expr: ast.Number, value: bool | int | float | complex, level: int) -> str:
        spelled = ast.literal(value, expr.span)
        if not isinstance(spelled, ast.Number):
            return self.write(spelled, level)
        if isinstance(value, complex):
            return f"{value.imag!r}j" if math.isfinite(value.imag) else "1e999j"
        if isinstance(value, float) and not math.isfinite(value):
            return 'float("inf")' if value > 0 else 'float("nan")'
        return hex(value) if isinstance(value, int) and value >= _LONG else repr(value)

    def _binary(self, operator: str, left: ast.Expr, right: ast.Expr, level: int) -> str:
        if operator == "/":
            floating = is_floating(ast.Binary("/", left, right), self.kinds)
            if floating is None:
                return f"div({self.write(left)}, {self.write(right)})"
            operator = "truediv" if floating else "//"
        own = _LEVELS[operator]
        # Comparisons would chain; `**` groups to the right, and takes a sign there.
        before = own + 1 if own in (_COMPARISON, _POWER) else own
        after = _UNARY if own == _POWER else own + 1
        text = f"{self.write(left, before)} {_SPELLINGS.get(operator, operator)} {self.write(right, after)}"
        return _enclosed(text, own, level)

    def _bound(self, bound: ast.Bound) -> str:
        index = _name(bound.index, bound.span)
        if bound.lo is None or bound.hi is None:
            return index
        return f"{index} in range({self.listed((bound.lo, bound.hi))})"

    def _guard(self, guard: ast.Expr) -> str:
        # A bare name in brackets would be an index.
        return f"+{self.write(guard)}" if isinstance(guard, ast.Name) else self.write(guard)


def _enclosed(text: str, own: int, level: int) -> str:
    return f"({text})" if own < level else text
