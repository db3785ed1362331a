"""What stands behind a kernel: a definition of index notation, or a SaC program."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, assert_never, cast

import jax

from .. import elaboration, ir
from ..diagnostics import Code, CompileError, CompileWarning, Span, warn
from ..syntax import ast, tc
from .foreign import PythonFunction, wrap
from .options import Options
from .recent import Recent

if TYPE_CHECKING:
    from .comprehensions import Comprehensions

Shape = tuple[int, ...]
Signature = tuple[tuple[str, int], ...]
Value = tuple[str, str, Shape, bytes]
Said = TypeVar("Said", CompileError, CompileWarning)


@dataclass(frozen=True, slots=True)
class Call:
    """What a plan depends on: shapes and types of the parameters in order, and what else was passed.

    `values` are those of arguments that decide shapes: name, type, shape and bytes.
    """

    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    initial: tuple[tuple[str, Shape], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, its scalar type where the program says it (a canonical name), and where it stands."""

    name: str
    declared: str | None
    span: Span


def calls_in(definition: ast.Definition) -> Iterator[str]:
    """The names of the functions that a definition calls on whole tensors; a tensor of its own hides a function."""
    tensors = {parameter.name for parameter in definition.parameters or ()}
    for statement in definition.body:
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


class Caller:
    """A program that may call Python functions."""

    options: Options
    # Names that a program of the notation can call, but never as a function from ``fns``.
    reserved: ClassVar[frozenset[str]] = elaboration.RESERVED

    def warn(self, warning: CompileWarning) -> None:
        """Issues a warning, the same one once. Raises it as a `CompileError` under ``strict=True``."""
        if self._warned.get(str(warning)) is None:
            warn(warning, strict=self.options.strict)
            self._warned.keep(str(warning), True)

    @cached_property
    def _warned(self) -> Recent[str, bool]:
        return Recent()

    @cached_property
    def foreign(self) -> Mapping[str, PythonFunction]:
        """The functions from ``fns``, as elaboration sees them."""
        return wrap(self.options.fns, self.reserved)

    def warn_about_64_bits(self, function: ir.Function) -> None:
        """Warns of declared types that JAX computes in 32 bits."""
        tensors = (*function.parameters, *function.returns)
        wide = sorted({tensor.dtype for tensor in tensors if ir.types.narrow(tensor.dtype) != tensor.dtype})
        if wide and not jax.config.read("jax_enable_x64"):
            self.warn(
                CompileWarning(
                    Code.NARROWED_TYPE,
                    f"`{function.name}` declares {', '.join(wide)}, but JAX computes in 32 bits: its x64 mode is off",
                    function.span,
                    help='switch it on with `jax.config.update("jax_enable_x64", True)`, or declare 32-bit types',
                )
            )

    def __reduce__(self) -> Any:
        # What is written is kept; what was inferred from it is inferred again.
        written = [f.name for f in fields(cast("Front", self)) if not f.name.startswith("_")]
        return type(self), tuple(getattr(self, name) for name in written)


@dataclass(eq=False)
class Definition(Caller):
    """A definition of index notation: typed once for the types and ranks of its arguments."""

    reserved: ClassVar[frozenset[str]] = elaboration.RESERVED | {"min", "max", *ir.types.SPELLINGS}

    program: ast.Program
    definition: ast.Definition
    options: Options
    _functions: Recent[Signature, ir.Function] = field(default_factory=Recent)

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
        known = {definition.name: definition for definition in reversed(self.program.definitions)}
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

    def function(self, call: Call) -> ir.Function:
        return self.typed(tuple((dtype, len(shape)) for dtype, shape in zip(call.dtypes, call.shapes, strict=True)))

    def explained(self, error: Said) -> Said:
        """What range inference found: it speaks of index notation."""
        return error

    def typed(self, signature: Signature) -> ir.Function:
        """The typed program; `signature` has type and rank of every parameter, or is empty when all are declared."""
        key = signature if self.is_open else ()
        function = self._functions.get(key)
        if function is None:
            known = {
                parameter.name: elaboration.Argument(dtype, rank)
                for parameter, (dtype, rank) in zip(self.parameters, key, strict=bool(key))
            }
            function = elaboration.elaborate(
                self.definition, self.program, known, self.foreign, self.options.accumulate, self.warn
            )
            self.warn_about_64_bits(function)
            function = self._functions.keep(key, function)
        return function

    @cached_property
    def likely(self) -> ir.Function | None:
        # Names, such as those of sizes that only an annotation mentions, do not depend on types.
        if not self.is_open:
            return self.typed(())
        guessed = elaboration.guess(self.definition, self.foreign)
        if guessed is None:
            return None
        try:
            return elaboration.elaborate(
                self.definition, self.program, guessed, self.foreign, self.options.accumulate, _unheard
            )
        except CompileError:
            return None


Front: TypeAlias = "Definition | Comprehensions"


def _unheard(warning: CompileWarning) -> None:
    """Takes the warnings of a guess: the call itself will warn."""
