"""The program behind a kernel: a definition of index notation or a SaC program; and what both have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar, cast

import jax

from .. import elaboration, ir
from ..diagnostics import Code, CompileError, CompileWarning, Span, warn
from ..keeping import Recent, cached_property
from .depth import within_depth
from .foreign import PythonFunction, wrap
from .options import Options

if TYPE_CHECKING:
    from .comprehensions import Comprehensions
    from .definitions import Definition

Frontend: TypeAlias = "Definition | Comprehensions"

Shape = tuple[int, ...]
Value = tuple[str, str, Shape, bytes]
Said = TypeVar("Said", CompileError, CompileWarning)
Signature = TypeVar("Signature")


@dataclass(frozen=True, slots=True)
class Call:
    """What a plan depends on: shapes and types of the parameters in order, and what else was passed.

    `values` are those of arguments that determine shapes: name, type, shape and bytes.
    """

    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    initial: tuple[tuple[str, Shape], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its name, its scalar type if the program declares one (a canonical name), and its place.

    `type` is its declaration as written, with sizes.
    """

    name: str
    declared: str | None
    span: Span
    type: str | None = None


class Elaborated(ABC, Generic[Signature]):
    """A program that is typed once per signature, which contains everything its types depend on."""

    options: Options
    _functions: Recent[Signature, ir.Function]
    # Names that a program in this notation can call, but never as a function from ``fns``.
    reserved: ClassVar[frozenset[str]] = elaboration.RESERVED

    @abstractmethod
    def signature(self, call: Call) -> Signature:
        """The part of a call that the types depend on."""

    @abstractmethod
    def elaborated(self, signature: Signature) -> ir.Function:
        """The typed program, without caching."""

    def function(self, call: Call) -> ir.Function:
        """The typed program for a call."""
        return self.typed(self.signature(call))

    def typed(self, signature: Signature) -> ir.Function:
        """The typed program for a signature. Warns of declared types that JAX computes in 32 bits."""
        return self._functions.of(signature, lambda: self._typed(signature))

    def _typed(self, signature: Signature) -> ir.Function:
        with self.within_depth():
            function = self.elaborated(signature)
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
        return function

    def within_depth(self) -> AbstractContextManager[None]:
        """Turns a stack overflow into a `CompileError` (TC0103)."""
        frontend = cast("Frontend", self)
        return within_depth(frontend.name, frontend.span)

    def warn(self, warning: CompileWarning) -> None:
        """Issues a warning, without duplicates. Raises it as a `CompileError` under ``strict=True``."""
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

    def foreign_shapes(self, name: str, tensors: tuple[ir.Tensor, ...], shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        """The shapes of the results of a function from ``fns``, for tensors of these shapes."""
        return self.foreign[name].shapes([(shape, t.dtype) for shape, t in zip(shapes, tensors, strict=True)])

    def __reduce__(self) -> Any:
        # The fields are kept; cached properties are computed again.
        written = [f.name for f in fields(cast("Frontend", self)) if not f.name.startswith("_")]
        return type(self), tuple(getattr(self, name) for name in written)


def notation(text: str, options: Options) -> "type[Frontend]":
    """The notation of a text: given by the option, else recognised."""
    is_sac = options.dialect == "sac"
    # The SaC frontend is imported only if needed, so that `import tcjax` stays light.
    if options.dialect is None and not text.lstrip().startswith("def "):
        from ..syntax import sac

        is_sac = sac.is_sac(text)
    if is_sac:
        from .comprehensions import Comprehensions

        return Comprehensions
    from .definitions import Definition

    return Definition
