"""What stands behind a kernel: a definition of index notation, or a SaC program."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np

from .. import elaboration, ir
from ..diagnostics import CompileError, CompileWarning, Span, warn
from ..elaboration import sac as comprehensions
from ..syntax import ast, tc
from ..syntax.sac import tree
from .foreign import PythonFunction, wrap
from .options import Options

Shape = tuple[int, ...]
Signature = tuple[tuple[str, int], ...]
Value = tuple[str, str, Shape, bytes]


# Extents begin here when nothing but the text is known: what holds for both is a formula of the sizes.
_PROBES = (11, 23)


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


@dataclass(eq=False)
class Definition:
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
    def foreign(self) -> Mapping[str, PythonFunction]:
        return wrap(self.options.fns)

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

    def text(self) -> str:
        return tc.write(self.definition)

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
            _warn_about_64_bits(function)
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


@dataclass(eq=False)
class Comprehensions:
    """A SaC program: elaborated for the types, the shapes, and the values that decide shapes."""

    program: tree.Program
    entry: comprehensions.Entry
    options: Options
    _functions: dict[Call, ir.Function] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def span(self) -> Span:
        return self.entry.span

    @cached_property
    def foreign(self) -> Mapping[str, PythonFunction]:
        return wrap(self.options.fns)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(p, None, self.entry.span) if isinstance(p, str) else Parameter(p.name, p.type.scalar, p.span)
            for p in self.entry.parameters
        )

    def text(self) -> str:
        from ..syntax import sac

        return sac.write(self.program).rstrip("\n")

    def function(self, call: Call) -> ir.Function:
        if call not in self._functions:
            arguments = {
                parameter.name: comprehensions.Argument(dtype, shape)
                for parameter, dtype, shape in zip(self.parameters, call.dtypes, call.shapes, strict=True)
            }
            known = {name: _elements(dtype, shape, data) for name, dtype, shape, data in call.values}
            function = comprehensions.elaborate(
                self.program,
                self.entry,
                arguments,
                known,
                self.foreign,
                self.options.accumulate,
                strict=self.options.strict,
            )
            _warn_about_64_bits(function)
            self._functions[call] = function
        return self._functions[call]

    @cached_property
    def likely(self) -> ir.Function | None:
        """The program for likely shapes, where it means one formula of sizes whatever the shapes; else None."""
        found: list[ir.Function | None] = []
        for extent in _PROBES:
            arguments = comprehensions.guess(self.program, self.entry, extent)
            if arguments is None:
                return None
            found.append(self._for(arguments))
            for parameter in self.entry.parameters:
                if isinstance(parameter, str):
                    # What has a meaning for another rank too has no one meaning.
                    dtype, shape = arguments[parameter].dtype, arguments[parameter].shape
                    higher = comprehensions.Argument(dtype, (*shape, extent))
                    if self._for({**arguments, parameter: higher}) is not None:
                        return None
        return found[0] if all(function == found[0] for function in found) else None

    def _for(self, arguments: Mapping[str, comprehensions.Argument]) -> ir.Function | None:
        try:
            return comprehensions.elaborate(self.program, self.entry, arguments, {}, self.foreign)
        except (CompileError, comprehensions.ValueNeeded):
            return None

    def explained(self, error: CompileError) -> CompileError:
        """A mistake that range inference found, in SaC's words."""
        help = re.sub(r"`where (\w+) in (.+?):(.+?)`", r"a generator: `| [\2] <= [\1] < [\3]`", error.help)
        help = help.replace(", or give it larger extents in the return annotation", "")
        return CompileError(error.diagnosis, error.message, error.span, help=help)

    def with_parameters(self, names: tuple[str, ...], name: str) -> "Comprehensions":
        """The same program under another name, its parameters in another order."""
        by_name = dict(zip(self.entry.names, self.entry.parameters, strict=True))
        entry = replace(self.entry, name=name, parameters=tuple(by_name[n] for n in names))
        return Comprehensions(self.program, entry, self.options)


Front = Definition | Comprehensions


def _elements(dtype: str, shape: Shape, data: bytes) -> Callable[[tuple[int, ...]], Any]:
    array = np.frombuffer(data, np.dtype(dtype)).reshape(shape)
    return lambda place: array[place].item()


def _warn_about_64_bits(function: ir.Function) -> None:
    wide = sorted({t.dtype for t in (*function.parameters, *function.returns) if ir.types.narrow(t.dtype) != t.dtype})
    if wide and not jax.config.read("jax_enable_x64"):
        warn(
            f"`{function.name}` declares {', '.join(wide)}, but JAX's x64 mode is off: it is computed in 32 bits. "
            'Switch it on with jax.config.update("jax_enable_x64", True).',
            function.span,
        )
