"""The definitions of a text, each with its lines and, on demand, its types and ranges."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from ... import elaboration, ranges
from ...diagnostics import CompileError, silenced
from ...keeping import cached_property
from ...syntax import ast, tc
from ..checking import Numbers, inferred
from ..failures import Failure
from ..texts import Text


@dataclass(frozen=True)
class Program:
    """A definition of a text, on the lines `first` to `last`; it may call those in `program` and `functions`."""

    definition: ast.Definition
    program: ast.Program
    functions: tuple[str, ...]
    first: int
    last: int

    @cached_property
    def ranges(self) -> ranges.SymbolicRanges | None:
        """Its types and ranges; None if they depend on the call, or the definition is invalid."""
        with silenced():
            try:
                return inferred(self.definition, self.program, self.functions, Numbers())
            except (CompileError, RecursionError):
                return None


def programs_of(text: Text) -> list[Program]:
    """The definitions that can be read, of TC texts and of Python files; SaC functions have no types before a call."""
    # Python may emit warnings while parsing.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(_programs_of(text))
        except (CompileError, Failure, RecursionError):
            return []


def program_at(text: Text, line: int) -> Program | None:
    """The definition that a line is part of."""
    return next((each for each in programs_of(text) if each.first <= line <= each.last), None)


def _programs_of(text: Text) -> Iterator[Program]:
    if text.notation == "tc":
        yield from _of_tc(text.content, text.name, 1, {}, ())
    elif text.notation == "python":
        yield from _of_python(text)


def _of_tc(
    content: str, name: str, first_line: int, constants: dict[str, elaboration.Constant], functions: tuple[str, ...]
) -> Iterator[Program]:
    found: list[tuple[ast.Definition, int]] = []
    for part in tc.parts(content, name, first_line):
        try:
            definitions = tc.read(part.text, name, part.first_line).definitions
            read = elaboration.with_constants(ast.Program(definitions), constants).definitions
        except CompileError:
            continue
        found += [(definition, part.first_line) for definition in read]
    firsts = {definition.name: definition for definition, _ in reversed(found)}
    program = ast.Program(tuple(firsts.values()))
    begins = [*(line for _, line in found[1:]), first_line + content.count("\n") + 1]
    for (definition, first), following in zip(found, begins, strict=True):
        yield Program(definition, program, functions, first, max(first, following - 1))


def _of_python(text: Text) -> Iterator[Program]:
    from ..python_files import (
        constants_for,
        constants_of,
        definitions_of,
        docstring,
        find,
        functions_of,
        read_function,
    )

    kernels = find(text)
    around = constants_of(text)
    for found in kernels:
        kernel = docstring(found, text) or found
        consts = constants_for(kernel, {})
        if consts is None:
            continue
        if kernel.text is not None:
            if kernel.notation == "tc":
                yield from _of_tc(kernel.content, text.name, kernel.line, consts, kernel.functions)
            continue
        try:
            scope = {name: value for name, value in around.items() if name not in consts}
            reading = read_function(kernel, text.name, scope, kernels)
            assert reading.definition is not None
            definition = elaboration.with_constants(reading.definition, consts)
            others = definitions_of(reading, text.name, around, kernels)
        except CompileError:
            continue
        functions = tuple(functions_of(kernel, reading))
        yield Program(definition, ast.Program((definition, *others)), functions, kernel.line, kernel.last_line)
