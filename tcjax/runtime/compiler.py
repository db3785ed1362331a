"""From a definition to bound plans, each stage done once: per definition, per types, per shapes."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import jax

from .. import elaboration, ir, planning, ranges
from ..diagnostics import Code, CompileError, CompileWarning, warn
from ..syntax import ast
from .foreign import PythonFunction, wrap
from .options import Options

Shape = tuple[int, ...]
Signature = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """What a plan depends on: shapes and types of the parameters in order, and what else was passed."""

    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    initial: tuple[tuple[str, Shape], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(eq=False)
class Compiler:
    """One definition of a program under its options."""

    program: ast.Program
    definition: ast.Definition
    options: Options
    _functions: dict[Signature, ir.Function] = field(default_factory=dict)
    _bounds: dict[Call, ranges.Bound] = field(default_factory=dict)
    _plans: dict[Call, planning.Plan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.is_open:
            elaboration.check(self.definition, self.program, self.foreign)
        else:
            self.function(())

    @cached_property
    def is_open(self) -> bool:
        """Whether types are known only at a call."""
        return elaboration.needs_signature(self.definition, self.program, self.options.fns)

    @cached_property
    def foreign(self) -> Mapping[str, PythonFunction]:
        return wrap(self.options.fns)

    @cached_property
    def parameters(self) -> tuple[ast.Parameter, ...]:
        return self.definition.parameters or ()

    def function(self, signature: Signature) -> ir.Function:
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
        """The program with likely types for undeclared parameters, None where even their ranks are unknown.

        Names, such as those of sizes that only an annotation mentions, do not depend on types.
        """
        if not self.is_open:
            return self.function(())
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

    @contextmanager
    def within_depth(self) -> Iterator[None]:
        """Turns a stack that is too short for the program, deep inside other calls, into a `CompileError` (TC0103)."""
        try:
            yield
        except RecursionError:
            raise CompileError(
                Code.TOO_DEEP,
                f"`{self.definition.name}` nests too deeply for the stack that is left here",
                self.definition.span,
                help="compute parts of its expressions in statements of their own",
            ) from None

    def bound(self, call: Call) -> ranges.Bound:
        """All ranges and sizes as numbers."""
        if call not in self._bounds:
            signature = tuple((dtype, len(shape)) for dtype, shape in zip(call.dtypes, call.shapes, strict=True))
            function = self.function(signature)
            shapes = {p.name: shape for p, shape in zip(self.parameters, call.shapes, strict=True)}
            with self.within_depth():
                self._bounds[call] = ranges.bind(
                    function, shapes, sizes=dict(call.sizes), initial=dict(call.initial), foreign=self._foreign_shapes
                )
        return self._bounds[call]

    def plan(self, call: Call) -> planning.Plan:
        """How every statement is computed."""
        if call not in self._plans:
            with self.within_depth():
                self._plans[call] = planning.make_plan(self.bound(call))
        return self._plans[call]

    def _foreign_shapes(
        self, name: str, tensors: tuple[ir.Tensor, ...], shapes: tuple[Shape, ...]
    ) -> tuple[Shape, ...]:
        arguments = [(shape, tensor.dtype) for shape, tensor in zip(shapes, tensors, strict=True)]
        return self.foreign[name].shapes(arguments)


def _warn_about_64_bits(function: ir.Function) -> None:
    wide = sorted({t.dtype for t in (*function.parameters, *function.returns) if ir.types.narrow(t.dtype) != t.dtype})
    if wide and not jax.config.read("jax_enable_x64"):
        warn(
            f"`{function.name}` declares {', '.join(wide)}, but JAX's x64 mode is off: it is computed in 32 bits. "
            'Switch it on with jax.config.update("jax_enable_x64", True).',
            function.span,
        )
