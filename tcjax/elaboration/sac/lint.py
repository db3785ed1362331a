"""Unused parts of a SaC program, as `elaboration.lint` reports for index notation."""

from collections.abc import Iterator, Sequence

from ...diagnostics import Code, CompileWarning
from ...syntax.sac import tree
from ..lint import unused_parameter
from .walks import calls, free_names, parts, pattern_names


def lint(program: tree.Program) -> Iterator[CompileWarning]:
    """A warning for each unused parameter, let and function of the program."""
    for function in program.functions:
        ends = (*function.returns, *function.guards)
        yield from _unused_lets(function.lets, ends)
        used = {name for node in (*(let.value for let in function.lets), *ends) for name in free_names(node)}
        patterns = [(parameter.name, set(pattern_names(parameter.type))) for parameter in function.parameters]
        results = {name for result in function.results for name in pattern_names(result)}
        for parameter, (name, own) in zip(function.parameters, patterns, strict=True):
            others = used.union(results, *(names for other, names in patterns if other != name))
            if name not in used and own.isdisjoint(others):
                yield unused_parameter(name, parameter.span)
    if program.result is not None:
        yield from _unused_lets(program.lets, (program.result,))
        yield from _unused_functions(program)


def _unused_lets(lets: Sequence[tree.Let], ends: Sequence[tree.Expr]) -> Iterator[CompileWarning]:
    """The lets none of whose names a later expression reads."""
    for number, let in enumerate(lets):
        later = {name for node in (*(each.value for each in lets[number + 1 :]), *ends) for name in free_names(node)}
        if later.isdisjoint(let.names):
            yield CompileWarning(
                Code.UNUSED_LET,
                f"nothing mentions `{', '.join(let.names)}`",
                let.span,
                help="leave the line out, or use the value",
            )


def _unused_functions(program: tree.Program) -> Iterator[CompileWarning]:
    """The functions that the program's expression does not reach."""
    assert program.result is not None
    functions = {function.name: function for function in program.functions}
    pending = [name for node in (*(let.value for let in program.lets), program.result) for name in calls(node)]
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        if name in functions and name not in reached:
            reached.add(name)
            pending.extend(called for node in parts(functions[name]) for called in calls(node))
    for function in program.functions:
        if function.name not in reached:
            yield CompileWarning(
                Code.UNUSED_DEFINITION,
                f"the expression of this text does not call `{function.name}`",
                function.span,
                help=f"call `{function.name}`, or remove it",
            )
