"""A definition of index notation behind a kernel."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, assert_never

from .. import elaboration, ir
from ..diagnostics import Code, CompileError, CompileWarning, Span, warn
from ..syntax import ast, tc
from .frontends import Call, Elaborated, Parameter, Said
from .options import Options
from .recent import Recent

Signature = tuple[tuple[str, int], ...]


def _program(text: str, name: str, first_line: int, options: Options) -> ast.Program:
    program = tc.read(text, name, first_line)
    for warning in elaboration.repeated_definitions(program):
        warn(warning, strict=options.strict)
    return program


def _by_name(program: ast.Program) -> dict[str, ast.Definition]:
    return {definition.name: definition for definition in reversed(program.definitions)}


def _entry(program: ast.Program) -> ast.Definition:
    definitions = _by_name(program)
    called = {name for definition in definitions.values() for name in calls_in(definition)}
    entries = [definition for name, definition in definitions.items() if name not in called]
    if len(entries) == 1:
        return entries[0]
    if len(definitions) == 1:
        return next(iter(definitions.values()))
    raise CompileError(
        Code.UNKNOWN_DEFINITION,
        f"the text has {len(definitions)} definitions, and a kernel is one of them",
        program.definitions[-1].span,
        help=f'write tcjax.load(text)["{next(iter(definitions))}"]',
    )


def calls_in(definition: ast.Definition) -> Iterator[str]:
    """The names of the functions that a definition calls on whole tensors; a tensor of its own hides a function."""
    tensors = {parameter.name for parameter in definition.parameters or ()}
    for statement in definition.leaves:
        match statement:
            case ast.CallAssign(targets, function):
                yield function
                tensors |= set(targets)
            case ast.Assign(target=target, indices=None | (), reducer=None, value=ast.Apply(function=function)):
                if function not in tensors:
                    yield function
                tensors.add(target)
            case ast.Assign(target=target):
                tensors.add(target)
            case ast.Declare():
                continue
            case _:
                assert_never(statement)


@dataclass(eq=False)
class Definition(Elaborated[Signature]):
    """A definition of index notation: typed once for the types and ranks of its arguments."""

    reserved: ClassVar[frozenset[str]] = elaboration.RESERVED | {"min", "max", *ir.types.SPELLINGS}

    program: ast.Program
    definition: ast.Definition
    options: Options
    _functions: Recent[Signature, ir.Function] = field(default_factory=Recent)

    @staticmethod
    def read(text: str, name: str, first_line: int, options: Options) -> "Definition":
        """The one definition of a text that no other calls."""
        program = _program(text, name, first_line, options)
        return Definition(program, _entry(program), options)

    @staticmethod
    def read_all(text: str, name: str, options: Options) -> "Iterator[Definition]":
        """Every definition of a text, of several with one name the first."""
        program = _program(text, name, 1, options)
        firsts = _by_name(program)
        for definition in program.definitions:
            if firsts[definition.name] is definition:
                yield Definition(program, definition, options)

    def __post_init__(self) -> None:
        self.definition = elaboration.completed(self.definition, self.options.fns)
        if self.is_open:
            elaboration.check(self.definition, self.program, self.foreign)
        else:
            self.typed(())
        if self.options.strict:
            for warning in elaboration.lint(self.definition, self.options.fns):
                self.warn(warning)

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def span(self) -> Span:
        return self.definition.span

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(p.name, None if p.type is None else p.type.scalar, p.span)
            for p in self.definition.parameters or ()
        )

    @cached_property
    def is_open(self) -> bool:
        """Whether types are known only at a call."""
        return elaboration.needs_signature(self.definition, self.program, self.options.fns)

    @cached_property
    def keywords(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The outputs whose initial value, and the sizes whose value, a call may pass by keyword."""
        if self.likely is None:
            return (), ()
        initial, sizes = self.likely.initial, self.likely.free_sizes
        return tuple(tensor.name for tensor in initial), tuple(size.name for size in sizes)

    @cached_property
    def definitions(self) -> tuple[ast.Definition, ...]:
        """Those that this definition calls, each behind what it calls itself, and then this one."""
        known = _by_name(self.program)
        found: list[ast.Definition] = []
        seen = {self.definition.name}

        def visit(definition: ast.Definition) -> None:
            for name in calls_in(definition):
                if name in known and name not in seen:
                    seen.add(name)
                    visit(known[name])
            found.append(definition)

        visit(self.definition)
        return tuple(found)

    def text(self) -> str:
        return "\n\n".join(map(tc.write, self.definitions))

    def check_given(self, names: Collection[str]) -> None:
        """Whoever writes a definition, or index notation, names its parameters: a count says what is missing."""

    def signature(self, call: Call) -> Signature:
        """Type and rank of every parameter; nothing where all are declared."""
        if not self.is_open:
            return ()
        return tuple((dtype, len(shape)) for dtype, shape in zip(call.dtypes, call.shapes, strict=True))

    def elaborated(self, signature: Signature) -> ir.Function:
        known = {
            parameter.name: elaboration.Argument(dtype, rank)
            for parameter, (dtype, rank) in zip(self.parameters, signature, strict=bool(signature))
        }
        return self._elaborated(known, self.warn)

    @cached_property
    def likely(self) -> ir.Function | None:
        # Names, such as those of sizes that only an annotation mentions, do not depend on types.
        if not self.is_open:
            return self.typed(())
        guessed = elaboration.guess(self.definition, self.foreign)
        try:
            # The call itself will warn.
            return None if guessed is None else self._elaborated(guessed, lambda warning: None)
        except CompileError:
            return None

    def _elaborated(
        self, known: Mapping[str, elaboration.Argument], report: Callable[[CompileWarning], None]
    ) -> ir.Function:
        return elaboration.elaborate(
            self.definition, self.program, known, self.foreign, self.options.accumulate, report
        )

    def explained(self, error: Said) -> Said:
        """What range inference found: it speaks of index notation."""
        return error

    def behind(self, name: str, parameters: tuple[str, ...], others: Sequence[ast.Definition]) -> "Definition":
        """The same program for a Python function of that name and parameters, which calls `others` too."""
        definition = _with_parameters(_entry(self.program), parameters, name)
        return Definition(ast.Program((definition, *self.program.definitions, *others)), definition, self.options)


def _with_parameters(definition: ast.Definition, names: tuple[str, ...], name: str) -> ast.Definition:
    resolved = elaboration.completed(definition)
    own = [parameter.name for parameter in resolved.parameters or ()]
    if definition.parameters is not None:
        if tuple(own) != names:
            raise CompileError(
                Code.WRONG_ARGUMENT_COUNT,
                f"the function takes ({', '.join(names)}) but its text takes ({', '.join(own)})",
                definition.span,
                help="give both the same names in the same order",
            )
        return definition
    if set(own) != set(names):
        raise elaboration.function_as_input(resolved, f"write def {name}({', '.join(own)})") or CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"the function takes ({', '.join(names)}) but its text reads ({', '.join(own)})",
            definition.span,
            help=f"write def {name}({', '.join(own)})",
        )
    by_name = {parameter.name: parameter for parameter in resolved.parameters or ()}
    return replace(resolved, name=name, parameters=tuple(by_name[n] for n in names))
