"""The index-notation frontend of a kernel."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, assert_never

from .. import elaboration, ir
from ..diagnostics import Code, CompileError, CompileWarning, Span, warn
from ..keeping import Recent, cached_property
from ..syntax import ast, tc
from .depth import within_depth
from .frontends import Call, Elaborated, Parameter, Said
from .options import Options

Signature = tuple[tuple[str, elaboration.Extents], ...]


def _program(text: str, name: str, first_line: int, options: Options) -> ast.Program:
    program = tc.read(text, name, first_line)
    with within_depth("kernel", program.span):
        program = elaboration.with_constants(program, options.consts)
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
    """The functions that a definition calls on whole tensors; its own tensors hide functions of the same name."""
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
    """A definition of index notation: typed once for the types and ranks of its arguments.

    With ``...`` also for the dimensions whose extent is 1, which broadcast.
    """

    reserved: ClassVar[frozenset[str]] = elaboration.RESERVED | {"min", "max", *ir.types.SPELLINGS}

    program: ast.Program
    definition: ast.Definition
    options: Options
    _functions: Recent[Signature, ir.Function] = field(default_factory=Recent)
    _signatures: Recent[Call, Signature] = field(default_factory=Recent)

    @staticmethod
    def read(text: str, name: str, first_line: int, options: Options) -> "Definition":
        """The one definition of a text that no other calls."""
        program = _program(text, name, first_line, options)
        return Definition(program, _entry(program), options)

    @staticmethod
    def read_all(text: str, name: str, options: Options) -> "Iterator[Definition]":
        """Every definition of a text; if several have the same name, the first."""
        program = _program(text, name, 1, options)
        firsts = _by_name(program)
        for definition in program.definitions:
            if firsts[definition.name] is definition:
                yield Definition(program, definition, options)

    def __post_init__(self) -> None:
        self.definition = elaboration.completed(self.definition, self.options.fns)
        if self.is_open:
            with self.within_depth():
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
            Parameter(p.name, None, p.span)
            if p.type is None
            else Parameter(p.name, p.type.scalar, p.span, tc.write_type(p.type))
            for p in self.definition.parameters or ()
        )

    @property
    def results(self) -> tuple[str, ...]:
        """The names of the results of a call."""
        return tuple(result.name for result in self.definition.returns)

    @cached_property
    def is_open(self) -> bool:
        """Whether types are known only at a call."""
        return self.is_batched or elaboration.needs_signature(self.definition, self.program, self.options.fns)

    @cached_property
    def is_batched(self) -> bool:
        """Whether the definition contains ``...``, so that ranks are known only at a call."""
        return elaboration.has_batch(self.definition, self.program)

    @cached_property
    def keywords(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The outputs whose initial value, and the sizes whose value, a call may pass by keyword."""
        if self.likely is None:
            return (), ()
        initial, sizes = self.likely.initial, self.likely.free_sizes
        return tuple(tensor.name for tensor in initial), tuple(size.name for size in sizes)

    @cached_property
    def definitions(self) -> tuple[ast.Definition, ...]:
        """The definitions that this one calls, each after its own callees, and then this one."""
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
        """Does nothing: a definition names its parameters, so the argument count shows what is missing."""

    def signature(self, call: Call) -> Signature:
        """Type and rank of every parameter; empty if all are declared. Raises TC0601 if batches do not fit."""
        if not self.is_open:
            return ()
        if not self.is_batched:
            return tuple((dtype, (None,) * len(shape)) for dtype, shape in zip(call.dtypes, call.shapes, strict=True))
        return self._signatures.of(call, lambda: self._batched(call))

    def _batched(self, call: Call) -> Signature:
        extents = [tuple(extent if extent >= 0 else None for extent in shape) for shape in call.shapes]
        given = {p.name: elaboration.Given(own) for p, own in zip(self.parameters, extents, strict=True)}
        with self.within_depth():
            elaboration.expanded(self.definition, self.program, given, self.foreign)
        ones = [tuple(1 if extent == 1 else None for extent in own) for own in extents]
        return tuple(zip(call.dtypes, ones, strict=True))

    def elaborated(self, signature: Signature) -> ir.Function:
        given = {
            parameter.name: elaboration.Given(extents, dtype)
            for parameter, (dtype, extents) in zip(self.parameters, signature, strict=bool(signature))
        }
        known = {name: elaboration.Argument(each.dtype or "", len(each.extents)) for name, each in given.items()}
        definition, program = self.definition, self.program
        if self.is_batched:
            definition, program = elaboration.expanded(definition, program, given, self.foreign)
        return self._elaborated(definition, program, known, self.warn)

    @cached_property
    def likely(self) -> ir.Function | None:
        # Names, such as those of sizes that occur only in annotations, do not depend on types.
        if not self.is_open:
            return self.typed(())
        with self.within_depth():
            found = elaboration.likely(self.definition, self.program, self.foreign)
        try:
            # The call itself will warn.
            return None if found is None else self._elaborated(*found, lambda warning: None)
        except CompileError:
            return None

    def _elaborated(
        self,
        definition: ast.Definition,
        program: ast.Program,
        known: Mapping[str, elaboration.Argument],
        report: Callable[[CompileWarning], None],
    ) -> ir.Function:
        return elaboration.elaborate(definition, program, known, self.foreign, self.options.accumulate, report)

    def explained(self, error: Said) -> Said:
        """An error of range inference, which is already worded for index notation."""
        return error

    def behind(self, name: str, parameters: tuple[str, ...], others: Sequence[ast.Definition]) -> "Definition":
        """The same program for a Python function with this name and these parameters, which also calls `others`."""
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
