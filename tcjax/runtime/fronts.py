"""What stands behind a kernel: a definition of index notation, or a SaC program."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import jax

from .. import elaboration, ir
from ..diagnostics import CompileError, CompileWarning, Span, warn
from ..syntax import ast, tc
from .foreign import PythonFunction, wrap
from .options import Options

if TYPE_CHECKING:
    from .comprehensions import Comprehensions

Shape = tuple[int, ...]
Signature = tuple[tuple[str, int], ...]
Value = tuple[str, str, Shape, bytes]


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
    """The names of the functions that a definition calls on whole tensors."""
    for statement in definition.body:
        match statement:
            case ast.CallAssign(function=function):
                yield function
            case ast.Assign(value=ast.Apply(function=function)):
                yield function
            case _:
                continue


class Caller:
    """A program that may call Python functions."""

    options: Options

    @cached_property
    def foreign(self) -> Mapping[str, PythonFunction]:
        """The functions from ``fns``, as elaboration sees them."""
        return wrap(self.options.fns)

    def __reduce__(self) -> Any:
        # What is written is kept; what was inferred from it is inferred again.
        written = [f.name for f in fields(cast("Front", self)) if not f.name.startswith("_")]
        return type(self), tuple(getattr(self, name) for name in written)


@dataclass(eq=False)
class Definition(Caller):
    """A definition of index notation: typed once for the types and ranks of its arguments."""

    program: ast.Program
    definition: ast.Definition
    options: Options
    _functions: dict[Signature, ir.Function] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.definition = elaboration.completed(self.definition, self.options.fns)
        if self.is_open:
            elaboration.check(self.definition, self.program, self.foreign)
        else:
            self.typed(())

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
        found: dict[str, ast.Definition] = {}

        def visit(definition: ast.Definition) -> None:
            for name in calls_in(definition):
                if name in known and name not in found:
                    visit(known[name])
            found[definition.name] = definition

        visit(self.definition)
        return tuple(found.values())

    def text(self) -> str:
        return "\n\n".join(map(tc.write, self.definitions))

    def function(self, call: Call) -> ir.Function:
        return self.typed(tuple((dtype, len(shape)) for dtype, shape in zip(call.dtypes, call.shapes, strict=True)))

    def explained(self, error: CompileError) -> CompileError:
        """A mistake that range inference found: it speaks of index notation."""
        return error

    def typed(self, signature: Signature) -> ir.Function:
        """The typed program; `signature` has type and rank of every parameter, or is empty when all are declared."""
        key = signature if self.is_open else ()
        if key not in self._functions:
            known = {
                parameter.name: elaboration.Argument(dtype, rank)
                for parameter, (dtype, rank) in zip(self.parameters, key, strict=bool(key))
            }
            function = elaboration.elaborate(
                self.definition, self.program, known, self.foreign, self.options.accumulate
            )
            warn_about_64_bits(function)
            self._functions[key] = function
        return self._functions[key]

    @cached_property
    def likely(self) -> ir.Function | None:
        # Names, such as those of sizes that only an annotation mentions, do not depend on types.
        if not self.is_open:
            return self.typed(())
        guessed = elaboration.guess(self.definition, self.foreign)
        if guessed is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CompileWarning)
                return elaboration.elaborate(
                    self.definition, self.program, guessed, self.foreign, self.options.accumulate
                )
        except CompileError:
            return None


Front: TypeAlias = "Definition | Comprehensions"


def warn_about_64_bits(function: ir.Function) -> None:
    wide = sorted({t.dtype for t in (*function.parameters, *function.returns) if ir.types.narrow(t.dtype) != t.dtype})
    if wide and not jax.config.read("jax_enable_x64"):
        warn(
            f"`{function.name}` declares {', '.join(wide)}, but JAX's x64 mode is off: it is computed in 32 bits. "
            'Switch it on with jax.config.update("jax_enable_x64", True).',
            function.span,
        )
