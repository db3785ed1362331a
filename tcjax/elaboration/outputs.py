"""The tensors a definition writes: their types, ranks and declared extents."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import ir
from ..diagnostics import Code, CompileError, Span
from ..ir import types
from ..symbolic import Size, SizeVar
from ..syntax import ast
from .literals import Literal, Open, Value, Weak, default_type, dtype_of, type_beside
from .scope import Environment, check_subscript_count, local_shape, refuse_reserved
from .typed_expressions import scalar_type


@dataclass(slots=True)
class _Joined:
    """The join over the right sides seen so far: of the typed ones, and of those of open type."""

    strong: str | None = None
    weak: list[Weak] = field(default_factory=list)

    def add(self, value: Value | str) -> None:
        if isinstance(value, (Literal, Open)):
            self.weak.append(value)
        else:
            dtype = value if isinstance(value, str) else value.dtype
            self.strong = dtype if self.strong is None else types.join(self.strong, dtype)

    @property
    def dtype(self) -> str:
        result = self.strong
        for value in self.weak:
            result = default_type(value) if result is None else type_beside(value, result)
        assert result is not None
        return result


class Outputs:
    """What is written, in order, and its type.

    The type of an output is the join over all its statements, which may read the output itself. So `assumed` are the
    types found in the previous round (none in the first), and `settled` says whether this round confirmed them.
    """

    def __init__(self, environment: Environment, inputs: frozenset[str], assumed: Mapping[str, str]) -> None:
        self.environment = environment
        self.inputs = inputs
        self.assumed = assumed
        self.annotated: dict[str, ir.Tensor] = {}
        self.initial: dict[str, None] = {}
        self.found: dict[str, _Joined] = {}
        # The types of tensors that a loop reads before a statement writes them.
        self.expected: dict[str, str] = {}
        self._used: dict[str, str] = {}
        self._confirmed = True

    @property
    def settled(self) -> bool:
        """Whether every type used in this round equals the one found at its end."""
        used = {**self._used, **self.expected}
        return self._confirmed and all(used[name] == joined.dtype for name, joined in self.found.items())

    @property
    def types(self) -> dict[str, str]:
        """The types found in this round."""
        return {name: joined.dtype for name, joined in self.found.items()}

    def annotate(self, name: str, type: ast.TensorType, span: Span) -> None:
        """Fixes the type and extents of an output or a temporary, and declares the sizes in its dimensions."""
        dtype, shape = declared_type(type, self.environment)
        tensor = ir.Tensor(name, dtype, shape, span=span)
        known = self.environment.tensors if name in self.inputs else self.annotated
        if known.setdefault(name, tensor) != tensor:
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{name}` has a type already",
                span,
                help="declare its type once, before the first statement that writes it",
            )

    def refuse(self, name: str, span: Span) -> None:
        """Raises TC0204, TC0203 or TC0202 for names that no statement may write."""
        if name in self.inputs:
            raise CompileError(
                Code.IMMUTABLE_INPUT,
                f"`{name}` is an input, and inputs are never written",
                span,
                help=f"write to a new tensor, `{name}_new`, and return that",
            )
        refuse_reserved(name, "a tensor", span)
        if name in self.environment.sizes:
            raise _already_a_size(name, span)

    def write(self, name: str, rank: int, value: Value | str, span: Span) -> ir.Tensor:
        """The target of a statement whose result is `value` (or has that type); it is defined from here on.

        Raises TC0501 if the rank differs from before, TC0304 for a value that the annotated type cannot hold.
        """
        before = self.annotated.get(name) or self.environment.tensors.get(name)
        if before is not None:
            check_subscript_count(before, rank, span)
        if name in self.annotated:
            tensor = self.annotated[name]
            _check_narrowing(tensor, value, span)
        else:
            tensor = ir.Tensor(name, self._join(name, value), local_shape(name, rank), span=span)
        self.environment.tensors[name] = tensor
        return tensor

    def _join(self, name: str, value: Value | str) -> str:
        joined = self.found.setdefault(name, _Joined())
        joined.add(value)
        dtype = self.assumed.get(name) or joined.dtype
        if self._used.setdefault(name, dtype) != dtype:
            self._confirmed = False
            self._used[name] = dtype
        return dtype


def declared_type(type: ast.TensorType, environment: Environment) -> tuple[str, tuple[Size, ...]]:
    """The scalar type and the sizes of a declared type; names in its dimensions become sizes.

    Raises TC0202 for a dimension that has a tensor's name.
    """
    shape: list[Size] = []
    for dimension in type.dimensions:
        if isinstance(dimension, int):
            shape.append(Size.of(dimension))
            continue
        if dimension in environment.tensors or dimension in environment.written:
            raise CompileError(
                Code.ALREADY_DEFINED,
                f"`{dimension}` is a tensor, so it cannot be a size",
                type.span,
                help=_as_size(environment.tensors.get(dimension), "rename the size"),
            )
        refuse_reserved(dimension, "a size", type.span)
        shape.append(environment.sizes.setdefault(dimension, Size.of(SizeVar(dimension))))
    return scalar_type(type.scalar, type.span), tuple(shape)


def declare_input(name: str, tensor: ir.Tensor, environment: Environment) -> None:
    """Adds a parameter. Raises TC0202 and TC0203 for names that are taken."""
    refuse_reserved(name, "a parameter", tensor.span)
    if name in environment.sizes:
        raise _already_a_size(name, tensor.span, _as_size(tensor, "rename the tensor"))
    if name in environment.tensors:
        raise CompileError(
            Code.ALREADY_DEFINED, f"there are two parameters `{name}`", tensor.span, help="rename one of them"
        )
    environment.tensors[name] = tensor


def _already_a_size(name: str, span: Span, help: str = "rename the tensor") -> CompileError:
    return CompileError(
        Code.ALREADY_DEFINED,
        f"`{name}` is a size, so it cannot be a tensor",
        span,
        help=help,
    )


def _as_size(tensor: ir.Tensor | None, otherwise: str) -> str:
    """What to do about a parameter that is one integer, as sizes are in C; `otherwise` for other tensors."""
    if tensor is None or tensor.rank or not types.is_integral(tensor.dtype):
        return otherwise
    name = tensor.name
    return f"leave out the parameter `{name}`: sizes follow from the arrays, or are named at the call, `{name}=4`"


def _check_narrowing(tensor: ir.Tensor, value: Value | str, span: Span) -> None:
    if isinstance(value, str):
        dtype, joined = value, types.join(value, tensor.dtype)
    elif isinstance(value, (Literal, Open)):
        dtype, joined = dtype_of(value), type_beside(value, tensor.dtype)
    else:
        dtype, joined = value.dtype, types.join(value.dtype, tensor.dtype)
    if joined != tensor.dtype:
        raise CompileError(
            Code.NARROWING,
            f"`{tensor.name}` is declared {tensor.dtype}, which cannot hold {dtype}",
            span,
            help=f"convert the value, `{tensor.dtype}(...)`, or declare `{tensor.name}` as {joined}",
        )
