"""What can be read off a definition before any type is known: its parameters, and the ranks of its tensors."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from ..diagnostics import Code, CompileError, Span, phrases
from ..ir.builtins import BUILTINS
from ..syntax import ast
from .spelling import counted

Kind = Literal["read", "bare", "size", "whole"]
Role = Literal["value", "subscript", "condition"]


@dataclass(frozen=True, slots=True)
class Use:
    """A name in an expression.

    `kind` says how it is written: ``A(i, j)`` (`rank` 2), ``a`` alone, ``A.1``, or as an argument of a call on tensors.
    `role` says what its value is for, and with it the type to expect; `statement` counts from 0.
    """

    name: str
    kind: Kind
    rank: int
    role: Role
    statement: int
    span: Span


def needs_signature(
    definition: ast.Definition, program: ast.Program | None = None, functions: Collection[str] = ()
) -> bool:
    """Whether only a call can say which types the definition has.

    So it is if a parameter is not declared, or if the definition, or one of `program` that it calls, calls one of the
    Python `functions`.
    """
    if definition.parameters is None or any(parameter.type is None for parameter in definition.parameters):
        return True
    return calls_python(definition, program, functions)


def calls_python(definition: ast.Definition, program: ast.Program | None, functions: Collection[str]) -> bool:
    """Whether the definition, or one that it calls, calls one of the Python `functions`."""
    if not functions:
        return False
    definitions = {d.name: d for d in reversed(program.definitions)} if program is not None else {}
    pending, seen = [definition], {definition.name}
    while pending:
        for name in _called(pending.pop()):
            if name in functions:
                return True
            if name in definitions and name not in seen:
                seen.add(name)
                pending.append(definitions[name])
    return False


def parameters(definition: ast.Definition, functions: Collection[str] = ()) -> tuple[ast.Parameter, ...]:
    """The parameters as declared; of a text without ``def``, what it reads like a tensor and never writes."""
    found = completed(definition, functions).parameters
    assert found is not None
    return found


def completed(definition: ast.Definition, functions: Collection[str] = ()) -> ast.Definition:
    """A text without ``def`` with the parameters and returns that its statements imply; others as they are.

    Parameters: the names that are read with subscripts, asked for a size or passed whole, and never written, in order
    of first appearance. Returns: what is written and not read by a later statement, and what the last one writes.
    """
    if definition.parameters is not None:
        return definition
    last_writes: dict[str, int] = {}
    for number, statement in enumerate(definition.body):
        for name in targets(statement):
            last_writes[name] = number
    read: dict[str, Span] = {}
    last_reads: dict[str, int] = {}
    for use in uses(definition, functions):
        if use.kind != "bare":
            read.setdefault(use.name, use.span)
        if use.kind != "size":
            last_reads[use.name] = use.statement
    found = tuple([ast.Parameter(name, span=span) for name, span in read.items() if name not in last_writes])
    results = definition.returns
    if not results:
        last = len(definition.body) - 1
        results = tuple(
            [
                ast.Parameter(name, span=definition.span)
                for name, number in last_writes.items()
                if number == last or last_reads.get(name, -1) <= number
            ]
        )
    return replace(definition, parameters=found, returns=results)


def ranks_from_uses(definition: ast.Definition, functions: Collection[str] = ()) -> dict[str, int]:
    """The rank of each undeclared parameter, from the number of its subscripts; 0 where it stands alone.

    Left out are those whose rank only a call can tell: whole-tensor arguments, and what is only asked for a size.
    Raises TC0501 for conflicting uses, TC0505 for a parameter without any.
    """
    definition = completed(definition, functions)
    undeclared = {p.name: p.span for p in definition.parameters or () if p.type is None}
    ranks: dict[str, int] = {}
    seen: set[str] = set()
    for use in uses(definition, functions):
        if use.name not in undeclared:
            continue
        seen.add(use.name)
        if use.kind in ("size", "whole"):
            continue
        if ranks.setdefault(use.name, use.rank) != use.rank:
            raise CompileError(
                Code.WRONG_SUBSCRIPT_COUNT,
                f"`{use.name}` is used with {counted(ranks[use.name], 'subscript')} and with {use.rank}",
                use.span,
                help="use it with one number of subscripts, one for each dimension"
                + (f"; its sizes are {phrases.extent(use.name, use.span)} and so on" if not use.rank else ""),
            )
    for name, span in undeclared.items():
        if name not in seen:
            raise CompileError(
                Code.UNKNOWN_RANK,
                f"nothing says how many dimensions `{name}` has: no statement reads it",
                span,
                help=f"declare it, {phrases.typed('float', 'N', name, span)}, or leave it out",
            )
    return ranks


def targets(statement: ast.Statement) -> tuple[str, ...]:
    """The tensors that a statement writes."""
    match statement:
        case ast.Assign(target):
            return (target,)
        case ast.CallAssign(names):
            return names
        case ast.Declare():
            return ()
        case _:
            assert_never(statement)


def uses(definition: ast.Definition, functions: Collection[str] = ()) -> Iterator[Use]:
    """The names that the statements read, as they are written, left to right; builtins and `functions` apart."""
    tensors = frozenset(p.name for p in definition.parameters or ()).union(*map(targets, definition.body))
    # Without a parameter list everything that is applied is a tensor, unless it is a function.
    others = None if definition.parameters is None else tensors
    for number, statement in enumerate(definition.body):
        for node, role, whole, hidden in _expressions(statement, functions, others):
            yield from _uses_in(node, role, number, whole, hidden, tensors, functions)


Part = tuple[ast.Expr, Role, bool, frozenset[str]]


def _expressions(
    statement: ast.Statement, functions: Collection[str], tensors: Collection[str] | None
) -> Iterator[Part]:
    """The expressions of a statement: what each is for, whether its names are whole tensors, which names are lets."""
    match statement:
        case ast.Declare():
            return
        case ast.CallAssign(_, _, arguments):
            for argument in arguments:
                yield argument, "value", True, frozenset()
        case ast.Assign(_, indices, value=value, where=where):
            lets = frozenset(clause.name for clause in where if isinstance(clause, ast.LetClause))
            for index in indices or ():
                if not isinstance(index, ast.Name):
                    yield index, "subscript", False, lets
            if isinstance(value, ast.Apply) and _is_call(statement, value, functions, tensors):
                for argument in value.arguments:
                    yield argument, "value", True, lets
            else:
                yield value, "value", False, lets
            for clause in where:
                match clause:
                    case ast.RangeClause(_, lo, hi):
                        yield lo, "subscript", False, lets
                        yield hi, "subscript", False, lets
                    case ast.LetClause(_, inner) | ast.ExistsClause(inner):
                        yield inner, "value", False, lets
                    case ast.GuardClause(condition):
                        yield condition, "condition", False, lets
                    case _:
                        assert_never(clause)
        case _:
            assert_never(statement)


def _is_call(node: ast.Assign, value: ast.Apply, functions: Collection[str], tensors: Collection[str] | None) -> bool:
    """Whether ``O = f(A)`` is a whole-tensor call, as far as names can tell."""
    if node.reducer is not None or node.indices:
        return False
    if value.function in functions:
        return all(isinstance(argument, ast.Name) for argument in value.arguments)
    return tensors is not None and value.function not in tensors and not _is_builtin(value.function)


def _uses_in(
    node: ast.Expr,
    role: Role,
    statement: int,
    whole: bool,
    hidden: frozenset[str],
    tensors: Collection[str],
    functions: Collection[str],
) -> Iterator[Use]:
    pending: list[tuple[ast.Expr, Role, frozenset[str]]] = [(node, role, hidden)]
    while pending:
        node, role, hidden = pending.pop()
        inner: Role = role
        match node:
            case ast.Name(name):
                if name not in hidden:
                    kind: Kind = "whole" if whole else "bare"
                    yield Use(name, kind, 0, role, statement, node.span)
            case ast.SizeOf(name):
                yield Use(name, "size", 0, role, statement, node.span)
            case ast.Apply(name, arguments) if name in tensors or not (_is_builtin(name) or name in functions):
                yield Use(name, "read", len(arguments), role, statement, node.span)
                inner = "subscript"
            case ast.Binary("&&" | "||") | ast.Unary("!"):
                inner = "condition"
            case ast.Binary("<" | "<=" | ">" | ">=" | "==" | "!=") | ast.Cast():
                inner = "value"
            case ast.Conditional(condition, then, otherwise):
                pending.append((otherwise, role, hidden))
                pending.append((then, role, hidden))
                pending.append((condition, "condition", hidden))
                continue
            case ast.Reduction(reducer, bounds):
                inner = "condition" if reducer in ("any", "all") else "value"
                hidden = hidden | {bound.index for bound in bounds}
            case _:
                pass
        pending.extend((child, inner, hidden) for child in reversed(ast.children(node)))


def _is_builtin(name: str) -> bool:
    return name in BUILTINS or name in ("min", "max")


def _called(definition: ast.Definition) -> Iterator[str]:
    """Every name that the definition applies and that is no tensor of its own."""
    tensors = frozenset(p.name for p in definition.parameters or ()).union(*map(targets, definition.body))
    for statement in definition.body:
        match statement:
            case ast.CallAssign(_, function):
                yield function
            case ast.Assign(value=ast.Apply(function)) if function not in tensors:
                yield function
    for use in uses(definition):
        if use.kind == "read" and use.name not in tensors:
            yield use.name
