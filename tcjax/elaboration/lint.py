"""Unused parts of a program. ``tcjax check`` and ``strict=True`` report them; a call does not."""

from collections.abc import Collection, Iterator

from ..diagnostics import Code, CompileWarning, Span
from ..syntax import ast
from .uses import completed, function_as_input, targets, uses


def lint(definition: ast.Definition, functions: Collection[str] = ()) -> Iterator[CompileWarning]:
    """A warning for each unused part of a definition; `functions` are the Python functions it may call."""
    definition = completed(definition, functions)
    yield from _functions_as_inputs(definition)
    if not definition.returns:
        yield CompileWarning(
            Code.NO_OUTPUTS,
            f"`{definition.name}` has no outputs: what it computes is thrown away",
            definition.span,
            help=f"name what it computes: {_with_outputs(definition)}",
        )
    yield from _unused_tensors(definition, functions)
    for statement in definition.leaves:
        if isinstance(statement, ast.Assign):
            yield from _unused_lets(statement)
            yield from _unused_ranges(statement)


def _functions_as_inputs(definition: ast.Definition) -> Iterator[CompileWarning]:
    """For a text without ``def``: inputs named like a function, or nearly so."""
    found = function_as_input(definition, "declare it as a table, in a `def`")
    if found is not None:
        yield CompileWarning(Code.FUNCTION_AS_INPUT, found.message, found.span, help=found.help)


def repeated_definitions(program: ast.Program) -> Iterator[CompileWarning]:
    """A warning for each definition whose name was defined before."""
    for definition in program.repeated:
        yield CompileWarning(
            Code.DEFINED_TWICE,
            f"`{definition.name}` is defined twice; the first one is used",
            definition.span,
            help="remove one of the two, or give it another name",
        )


def unused_parameter(name: str, span: Span) -> CompileWarning:
    """The warning for a parameter that nothing reads."""
    return CompileWarning(
        Code.UNUSED_PARAMETER,
        f"nothing reads the parameter `{name}`, and no size comes from it",
        span,
        help="leave it out, or read it",
    )


# ---------------------------------------------------------------- tensors


def _unused_tensors(definition: ast.Definition, functions: Collection[str]) -> Iterator[CompileWarning]:
    """Parameters that no statement reads, and temporaries that no output depends on."""
    parameters = definition.parameters or ()
    reads: list[set[str]] = [set() for _ in definition.leaves]
    for use in uses(definition, functions):
        reads[use.statement].add(use.name)
    for statement, names in zip(definition.leaves, reads, strict=True):
        if isinstance(statement, ast.Assign) and statement.equivalent is not None:
            names.update(_names(statement.equivalent.arguments))
    used = set().union(*reads)
    for parameter in parameters:
        others = [p.type for p in (*parameters, *definition.returns) if p is not parameter and p.type is not None]
        others += [statement.type for statement in definition.leaves if isinstance(statement, ast.Declare)]
        sizes = set() if parameter.type is None else set(map(str, parameter.type.dimensions))
        if parameter.name not in used and sizes.isdisjoint(used.union(*(map(str, type.dimensions) for type in others))):
            yield unused_parameter(parameter.name, parameter.span)
    live = _live({each.name for each in definition.returns}, definition, reads)
    known: set[str] = {parameter.name for parameter in parameters}
    for statement in definition.leaves:
        names = (statement.name,) if isinstance(statement, ast.Declare) else targets(statement)
        for name in names:
            if definition.returns and name not in live and name not in known:
                yield CompileWarning(
                    Code.UNUSED_TEMPORARY,
                    f"nothing that is returned depends on `{name}`",
                    statement.span,
                    help=f"return `{name}`, or remove the statements that compute it",
                )
            known.add(name)


def _live(results: set[str], definition: ast.Definition, reads: list[set[str]]) -> set[str]:
    """The tensors on which the results depend."""
    live, before = results, -1
    while len(live) != before:
        before = len(live)
        for statement, names in zip(definition.leaves, reads, strict=True):
            if not live.isdisjoint(targets(statement)):
                live = live | names
    return live


def _with_outputs(definition: ast.Definition) -> str:
    written = dict.fromkeys(name for statement in definition.leaves for name in targets(statement))
    names = ", ".join(written) or "C"
    return f"`return {names}`" if definition.span.source.is_python else f"`-> ({names})`"


# ---------------------------------------------------------------- clauses


def _unused_lets(statement: ast.Assign) -> Iterator[CompileWarning]:
    lets = [clause for clause in statement.where if isinstance(clause, ast.LetClause)]
    for let in lets:
        others = [part for part in _parts(statement) if part is not let.value]
        if let.name not in _names(others):
            yield CompileWarning(
                Code.UNUSED_LET,
                f"nothing mentions `{let.name}`",
                let.span,
                help=f"leave `{let.name} = ...` out; for a condition write `==`",
            )


def _unused_ranges(statement: ast.Assign) -> Iterator[CompileWarning]:
    """Ranges that a later one replaces, and bracket indices that the body does not mention."""
    last = {clause.index: clause for clause in statement.where if isinstance(clause, ast.RangeClause)}
    for clause in statement.where:
        if isinstance(clause, ast.RangeClause) and last[clause.index] is not clause:
            yield CompileWarning(
                Code.UNUSED_RANGE,
                f"`{clause.index}` has two ranges; the last one is used",
                clause.span,
                help="leave one of the two out",
            )
    pending = _parts(statement)
    while pending:
        node = pending.pop()
        pending.extend(ast.children(node))
        if isinstance(node, ast.Reduction):
            mentioned = _names(ast.children(node))
            for bound in node.bounds:
                if bound.index not in mentioned:
                    yield CompileWarning(
                        Code.UNUSED_RANGE,
                        f"what `{node.reducer}` combines does not mention `{bound.index}`: "
                        "the same value is taken once for each",
                        bound.span,
                        help=f"leave `{bound.index}` out of the brackets, or use it in what is combined",
                    )


def _parts(statement: ast.Assign) -> list[ast.Expr]:
    """The expressions of a statement, including those of its clauses."""
    parts = [statement.value, *(statement.indices or ())]
    for clause in statement.where:
        match clause:
            case ast.RangeClause(_, lo, hi):
                parts += [lo, hi]
            case ast.LetClause(_, inner) | ast.ExistsClause(inner) | ast.UniqueClause(inner) | ast.GuardClause(inner):
                parts.append(inner)
    return parts


def _names(nodes: Collection[ast.Expr]) -> set[str]:
    """Every name in some expressions."""
    found: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        match node:
            case ast.Name(name) | ast.SizeOf(name) | ast.Apply(name):
                found.add(name)
            case _:
                pass
        pending.extend(ast.children(node))
    return found
