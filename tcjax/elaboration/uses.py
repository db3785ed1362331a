"""Parameters of a definition and ranks of its tensors, found before any type is known."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from ..diagnostics import Code, CompileError, Span, phrases
from ..ir.builtins import BUILTINS
from ..symbolic import BOUNDARIES
from ..syntax import ast
from .elsewhere import constant, elsewhere
from .reducers import named
from .spelling import closest, counted

Kind = Literal["read", "bare", "size", "whole"]
Role = Literal["value", "subscript", "condition"]


@dataclass(frozen=True, slots=True)
class Use:
    """A name in an expression.

    `kind` says how it is written: ``A(i, j)`` (`rank` 2), ``a`` alone, ``A.1``, or as an argument of a whole-tensor
    call. `role` says what its value is used for, and so which type to expect; `statement` counts from 0. It is `inside`
    if it occurs in a subscript or an end of a range, at any depth.
    """

    name: str
    kind: Kind
    rank: int
    role: Role
    statement: int
    inside: bool
    span: Span


def needs_signature(
    definition: ast.Definition, program: ast.Program | None = None, functions: Collection[str] = ()
) -> bool:
    """Whether only a call determines the types of the definition.

    True if a parameter is not declared, or if the definition, or one of `program` that it calls, calls one of the
    Python `functions`. (`batches` finds those whose ranks only a call determines.)
    """
    if definition.parameters is None or any(parameter.type is None for parameter in definition.parameters):
        return True
    return calls_python(definition, program, functions)


def calls_python(definition: ast.Definition, program: ast.Program | None, functions: Collection[str]) -> bool:
    """Whether the definition, or one it calls, calls one of the Python `functions`."""
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
    """The declared parameters; for a text without ``def``, the names that are read like tensors and never written."""
    found = completed(definition, functions).parameters
    assert found is not None
    return found


def completed(definition: ast.Definition, functions: Collection[str] = ()) -> ast.Definition:
    """A text without ``def``, with the parameters and returns implied by its statements; others are returned unchanged.

    Parameters are the names that are read with subscripts, asked for a size or passed whole, and never written, in
    order of first appearance. Returns are the targets that no later statement reads, and those of the last statement.
    """
    if definition.parameters is not None:
        return definition
    last_writes: dict[str, int] = {}
    for number, statement in enumerate(definition.leaves):
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
        last = len(definition.leaves) - 1
        results = tuple(
            [
                ast.Parameter(name, span=definition.span.part(name))
                for name, number in last_writes.items()
                if number == last or last_reads.get(name, -1) <= number
            ]
        )
    implied = replace(definition, parameters=found, returns=results)
    _refuse_unknown_values(implied, definition, functions, {*read, *last_writes})
    return implied


def _refuse_unknown_values(
    implied: ast.Definition, definition: ast.Definition, functions: Collection[str], tensors: Collection[str]
) -> None:
    """Raises TC0201 for a name in a text without ``def`` that is neither a tensor nor used as an index."""
    indices = [_indices(statement) for statement in definition.leaves]
    everything = list(uses(definition, functions))
    for use in everything:
        if use.inside:
            indices[use.statement].add(use.name)
    known = {*tensors, "inf", "nan"}
    unknown = [
        use
        for use in everything
        if use.kind == "bare" and use.name not in indices[use.statement] and use.name not in known
    ]
    if unknown:
        scalars = {use.name: "bool" if use.role == "condition" else "float" for use in reversed(unknown)}
        inputs = {use.name: f"{scalars[use.name]} {use.name}" for use in unknown}
        inputs |= {parameter.name: parameter.name for parameter in implied.parameters or ()}
        order = dict.fromkeys(use.name for use in everything if use.name in inputs)
        head = f"({', '.join(inputs[name] for name in order)}) -> ({', '.join(p.name for p in implied.returns)})"
        raise _unknown_value(unknown[0], definition, head, [name for name in order if name not in scalars])


def _unknown_value(use: Use, definition: ast.Definition, head: str, tensors: Sequence[str]) -> CompileError:
    name, span = use.name, use.span
    text = definition.span.text.strip()
    shown = text if 0 < len(text) <= 80 and "\n" not in span.source.text.strip() else "..."
    statement = definition.leaves[use.statement]
    left = [index.id for index in getattr(statement, "indices", None) or () if isinstance(index, ast.Name)]
    array = f", `{phrases.element(name, left, span)}` for an array of them" if left else ""
    is_size = bool(tensors) and name[0].isupper()
    size = f"; a size of `{tensors[0]}` is {phrases.size(tensors[0], 0, span)}" if is_size else ""
    return CompileError(
        Code.UNDEFINED_NAME,
        f"`{name}` is not declared: no subscript makes it an index, and no brackets make it an input",
        span,
        help=constant(name)
        or f"write `{name}()` for a number that the call passes{array}, or declare it: "
        f"`def f{head} {{ {shown} }}`{size}",
    )


def function_as_input(definition: ast.Definition, otherwise: str, *, guess: bool = True) -> CompileError | None:
    """TC0201 for an input of a text without ``def`` that was meant as a function: ``y(i) = sqt(x(i))``.

    None if none looks like one; a misspelt one is a `guess`. Such a text may validly read a table at a tensor's values,
    so this is reported only if something else is wrong too.
    """
    inputs = {p.span: p.name for p in definition.parameters or () if p.type is None}
    subscripts = {argument.span for node in _applied(definition) for argument in node.arguments}
    for node in _applied(definition):
        name = node.function
        if inputs.get(node.span) != name:
            continue
        reads = any(isinstance(inner, ast.Apply) for argument in node.arguments for inner in ast.walk(argument))
        help = elsewhere(name, node.span, node.arguments)
        if not guess and not reads:
            continue
        is_subscript = node.span in subscripts and len(node.arguments) == 1
        if guess and not help and (reads or is_subscript):
            candidate = closest(name, (*BUILTINS, "min", "max") if reads else BOUNDARIES)
            help = f"did you mean `{candidate}`?" if candidate else ""
        if not help and reads and named(name) is not None:
            help = f"a reduction names its indices in square brackets: `{name}[k](...)`"
        if help:
            separator = " " if help.endswith("?") else ". "
            return CompileError(
                Code.UNDEFINED_NAME,
                f"there is no function `{name}`, so the text treats it as an input",
                node.span.part(name),
                help=f"{help}{separator}Otherwise {otherwise}",
            )
    return None


def _applied(definition: ast.Definition) -> Iterator[ast.Apply]:
    for statement in definition.leaves:
        for part, _, _, _ in _expressions(statement, (), None):
            yield from (node for node in ast.walk(part) if isinstance(node, ast.Apply))


def _indices(statement: ast.Leaf) -> set[str]:
    """The names that a statement makes indices: those on the left, of ranges, and in the brackets of reductions.

    (A bracket index has no meaning outside its brackets, which elaboration reports.)
    """
    match statement:
        case ast.Assign(value=value, indices=indices, where=where):
            left = {index.id for index in indices or () if isinstance(index, ast.Name)}
            ranged = {clause.index for clause in where if isinstance(clause, ast.RangeClause)}
            inner = [
                bound.index for node in ast.walk(value) if isinstance(node, ast.Reduction) for bound in node.bounds
            ]
            return left | ranged | set(inner)
        case _:
            return set()


def ranks_from_uses(definition: ast.Definition, functions: Collection[str] = ()) -> dict[str, int]:
    """The rank of each undeclared parameter, from the number of its subscripts; 0 if it has none.

    Omits those whose rank only a call determines: whole-tensor arguments, and those only asked for a size. Raises
    TC0501 for conflicting uses, TC0505 for a parameter that is never used.
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
                + (f"; its sizes are {phrases.size(use.name, 0, use.span)} and so on" if not use.rank else ""),
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


def targets(statement: ast.Leaf) -> tuple[str, ...]:
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
    """The names that the statements read, left to right, sizes on the left last; without builtins and `functions`."""
    tensors = frozenset(p.name for p in definition.parameters or ()).union(*map(targets, definition.leaves))
    # Without a parameter list, every applied name is a tensor, unless it is a function.
    others = None if definition.parameters is None else tensors
    for number, statement in enumerate(definition.leaves):
        for node, role, whole, hidden in _expressions(statement, functions, others):
            yield from _uses_in(node, role, number, whole, hidden, tensors, functions)


Part = tuple[ast.Expr, Role, bool, frozenset[str]]


def _expressions(statement: ast.Leaf, functions: Collection[str], tensors: Collection[str] | None) -> Iterator[Part]:
    """The expressions of a statement, each with its role, whether its names are whole tensors, and which names are
    lets.
    """
    match statement:
        case ast.Declare():
            return
        case ast.CallAssign(_, _, arguments):
            for argument in arguments:
                yield argument, "value", True, frozenset()
        case ast.Assign(_, indices, value=value, where=where):
            lets = frozenset(clause.name for clause in where if isinstance(clause, ast.LetClause))
            left = [index for index in indices or () if not isinstance(index, ast.Name)]
            for index in left:
                if _reads(index):
                    yield index, "subscript", False, lets
            if isinstance(value, ast.Apply) and _is_call(statement, value, functions, tensors):
                for argument in value.arguments:
                    yield argument, "value", True, lets
            else:
                yield value, "value", False, lets
            # Only a size is asked for: `B.0` in ``K(i*B.0 + p) = A(i) * B(p)`` does not make B the first parameter.
            for index in left:
                if not _reads(index):
                    yield index, "subscript", False, lets
            for clause in where:
                match clause:
                    case ast.RangeClause(_, lo, hi):
                        yield lo, "subscript", False, lets
                        yield hi, "subscript", False, lets
                    case ast.LetClause(_, inner) | ast.ExistsClause(inner):
                        yield inner, "value", False, lets
                    case ast.UniqueClause(inner):
                        yield inner, "subscript", False, lets
                    case ast.GuardClause(condition):
                        yield condition, "condition", False, lets
                    case _:
                        assert_never(clause)
        case _:
            assert_never(statement)


def _reads(index: ast.Expr) -> bool:
    return any(isinstance(node, ast.Apply) for node in ast.walk(index))


def _is_call(node: ast.Assign, value: ast.Apply, functions: Collection[str], tensors: Collection[str] | None) -> bool:
    """Whether ``O = f(A)`` is a whole-tensor call, judging by names."""
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
    pending: list[tuple[ast.Expr, Role, frozenset[str], bool]] = [(node, role, hidden, role == "subscript")]
    while pending:
        node, role, hidden, inside = pending.pop()
        inner: Role = role
        match node:
            case ast.Name(name):
                if name not in hidden:
                    kind: Kind = "whole" if whole else "bare"
                    yield Use(name, kind, 0, role, statement, inside, node.span)
            case ast.SizeOf(name):
                yield Use(name, "size", 0, role, statement, inside, node.span)
            case ast.Apply(name) if name not in tensors and _goes_beyond(node, inside):
                pass
            case ast.Apply(name, arguments) if name in tensors or not (_is_builtin(name) or name in functions):
                yield Use(name, "read", len(arguments), role, statement, inside, node.span)
                inner = "subscript"
                inside = True
            case ast.Binary("&&" | "||") | ast.Unary("!"):
                inner = "condition"
            case ast.Binary("<" | "<=" | ">" | ">=" | "==" | "!=") | ast.Cast():
                inner = "value"
            case ast.Conditional(condition, then, otherwise):
                pending.append((otherwise, role, hidden, inside))
                pending.append((then, role, hidden, inside))
                pending.append((condition, "condition", hidden, inside))
                continue
            case ast.Reduction(reducer, bounds):
                inner = "condition" if reducer in ("any", "all") else "value"
                hidden = hidden | {bound.index for bound in bounds}
            case _:
                pass
        ends = frozenset(map(id, ast.ends(node)))
        pending.extend((child, inner, hidden, inside or id(child) in ends) for child in reversed(ast.children(node)))


def _goes_beyond(node: ast.Apply, inside: bool) -> bool:
    """Whether this is ``wrap(e)`` or another boundary inside a subscript, or ``pad`` around a read."""
    match node:
        case ast.Apply(subscript=True):
            return False
        case ast.Apply("pad", arguments):
            return any(isinstance(part, ast.Apply) for argument in arguments for part in ast.walk(argument))
        case ast.Apply(name):
            return inside and name in BOUNDARIES


def _is_builtin(name: str) -> bool:
    return name in BUILTINS or name in ("min", "max")


def _called(definition: ast.Definition) -> Iterator[str]:
    """Every name that the definition applies and that is not one of its own tensors."""
    tensors = frozenset(p.name for p in definition.parameters or ()).union(*map(targets, definition.leaves))
    for statement in definition.leaves:
        match statement:
            case ast.CallAssign(_, function):
                yield function
            case ast.Assign(value=ast.Apply(function)) if function not in tensors:
                yield function
    for use in uses(definition):
        if use.kind == "read" and use.name not in tensors:
            yield use.name
