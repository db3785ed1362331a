"""The meaning of names: the sizes and tensors of a definition, the indices and lets of a statement."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

from .. import ir
from ..diagnostics import Code, CompileError, Span, phrases
from ..ir.builtins import BUILTINS, Builtin
from ..symbolic import BOUNDARIES, IndexVar, Size, SizeVar
from ..syntax import ast
from .elsewhere import elsewhere
from .literals import Value
from .reducers import is_builtin, registered
from .signature import ForeignFunction
from .spelling import counted, did_you_mean

# tcjax's additions to TC's builtins, and the Bessel functions, whose names are popular for coordinates: a program may
# use these names for its own tensors.
_ADDED: Final = (
    "abs sign relu sigmoid softplus gelu silu isnan isinf isfinite logaddexp popcount real imag conj j0 j1 y0 y1"
)
RESERVED: Final = frozenset(BUILTINS) - frozenset(_ADDED.split())


@dataclass(frozen=True, slots=True)
class Environment:
    """What all statements of a definition see.

    `tensors` are the parameters and the targets of earlier statements, `written` the rank of every target (None if a
    call determines it), `accumulate` the kernel's option; `warn` takes the code, the message, the place and the help of
    a warning.
    """

    written: Mapping[str, int | None]
    definitions: Mapping[str, ast.Definition]
    functions: Mapping[str, ForeignFunction]
    accumulate: str | None = None
    warn: Callable[[Code, str, Span, str], None] = lambda code, message, span, help: None
    sizes: dict[str, Size] = field(default_factory=dict)
    tensors: dict[str, ir.Tensor] = field(default_factory=dict)
    # The integer divisions whose results are stored in a temporary without a declared type.
    quotients: dict[str, tuple[ast.Binary, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Let:
    """A let: its value, its text, and the indices that it mentions."""

    value: Value
    node: ast.Expr
    mentions: tuple[IndexVar, ...]


class Scope:
    """What the statement that writes `target` sees.

    `mentioned` collects its indices in order of appearance, except those of brackets.
    """

    def __init__(self, environment: Environment, target: str) -> None:
        self.environment = environment
        self.target = target
        self.lets: dict[str, Let] = {}
        self.indices: dict[str, IndexVar] = {}
        self.brackets: list[dict[str, IndexVar]] = []
        self.mentioned: dict[IndexVar, None] = {}
        self.places: dict[IndexVar, Span] = {}
        # Whether this is inside a subscript, a range or a guard.
        self.is_quiet = False
        # The tensor whose subscripts these are.
        self.reads: ir.Tensor | None = None
        self._tags: dict[str, int] = {}

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Suppresses warnings of integer division inside."""
        before, self.is_quiet = self.is_quiet, True
        try:
            yield
        finally:
            self.is_quiet = before

    @contextmanager
    def reading(self, tensor: ir.Tensor) -> Iterator[None]:
        """The code inside is a subscript of the tensor."""
        before, self.reads = self.reads, tensor
        try:
            with self.quiet():
                yield
        finally:
            self.reads = before

    def fresh(self, name: str, span: Span) -> IndexVar:
        """A new index of this name, distinct from others of the same name in the statement."""
        refuse_reserved(name, "an index", span)
        tag = self._tags.get(name, 0)
        self._tags[name] = tag + 1
        return IndexVar(name, tag)

    def index(self, name: str, span: Span, otherwise: str = "") -> IndexVar:
        """The statement's index of this name, new if it is the first mention.

        Raises TC0307 for other names; `otherwise` is what its help says besides renaming.
        """
        found = self.indices.get(name)
        if found is None:
            self.refuse_taken(name, span, otherwise)
            found = self.indices[name] = self.fresh(name, span)
            self.places[found] = span
        return found

    def refuse_taken(self, name: str, span: Span, otherwise: str = "") -> None:
        """Raises TC0307 if a let, a size or a tensor already has the index's name."""
        kind = self._kind_of_value(name)
        if kind is not None:
            raise CompileError(
                Code.WRONG_KIND_OF_NAME,
                f"`{name}` is {kind}, so it cannot be an index",
                span,
                help=f"rename the index{otherwise}"
                + (f"; its value is written {phrases.scalar_value(name, span)}" if self._is_scalar(name) else ""),
            )

    def name(self, node: ast.Name) -> "IndexVar | Let | Size | ir.Tensor | float":
        """The meaning of a bare name: bracket indices before lets before indices before sizes and tensors."""
        name = node.id
        for bracket in reversed(self.brackets):
            if name in bracket:
                return bracket[name]
        if name in self.lets:
            return self.lets[name]
        index = self.indices.get(name)
        if index is None:
            environment = self.environment
            if name in environment.sizes:
                return environment.sizes[name]
            if name in environment.tensors:
                return self._scalar(node)
            if name in ("inf", "nan"):
                return float(name)
            if environment.written.get(name, None) == 0:
                raise self._read_before_definition(name, node.span)
            index = self.index(name, node.span)
        self.mentioned[index] = None
        return index

    def tensor(self, name: str, span: Span) -> ir.Tensor:
        """A tensor that is already defined. Raises TC0201, TC0208 or TC0307."""
        environment = self.environment
        if name in environment.tensors:
            return environment.tensors[name]
        if name in environment.written:
            raise self._read_before_definition(name, span)
        kind = self._kind_of_value(name)
        if kind is not None or name in self.indices:
            raise CompileError(
                Code.WRONG_KIND_OF_NAME,
                f"`{name}` is {kind or 'an index'}, not a tensor",
                span,
                help=did_you_mean(name, environment.tensors, f"name a tensor, or write `{name}` alone for its value"),
            )
        raise CompileError(
            Code.UNDEFINED_NAME,
            f"there is no tensor `{name}` here",
            span,
            help=did_you_mean(name, environment.tensors, "declare it as a parameter, or define it further up"),
        )

    def callee(self, node: ast.Apply) -> "ir.Tensor | Builtin | Literal['extremum', 'python', 'pad']":
        """What ``name(...)`` applies: for a function, checks the number of arguments."""
        name, environment = node.function, self.environment
        if name in ("min", "max"):
            if len(node.arguments) < 2:
                raise _wrong_count(node, "at least 2 values")
            return "extremum"
        if not self._is_local(name):
            if name in environment.tensors:
                return environment.tensors[name]
            if name in BUILTINS and name not in environment.functions:
                builtin = BUILTINS[name]
                if len(node.arguments) != builtin.arity:
                    raise _wrong_count(node, counted(builtin.arity, "value"))
                return builtin
            if name in environment.written:
                raise self._read_before_definition(name, node.span)
            if name in environment.functions:
                if not node.arguments:
                    raise _wrong_count(node, "at least 1 value")
                return "python"
            if name in environment.definitions:
                raise CompileError(
                    Code.WHOLE_TENSOR_AS_SCALAR,
                    f"`{name}` is a definition: it takes and gives whole tensors",
                    node.span,
                    help=f"call it in a separate statement, `T = {name}(...)`, and read "
                    f"`{phrases.element('T', ['...'], node.span)}` here",
                )
            if name == "pad":
                if len(node.arguments) != 2:
                    raise _wrong_count(node, "a read and a value")
                return "pad"
            if name in BOUNDARIES and len(node.arguments) == 1:
                raise _no_whole_subscript(node, self.reads)
        raise self._not_applicable(node)

    def names(self) -> Iterator[str]:
        """Every name that the writer could have meant by a bare name."""
        yield from self.environment.sizes
        yield from self.environment.tensors
        yield from self.lets
        yield from self.indices

    def _is_local(self, name: str) -> bool:
        return name in self.lets or name in self.indices or any(name in bracket for bracket in self.brackets)

    def _is_scalar(self, name: str) -> bool:
        return name in self.environment.tensors and not self.environment.tensors[name].rank

    def _kind_of_value(self, name: str) -> str | None:
        if name in self.lets:
            return "a let"
        if name in self.environment.sizes:
            return "a size"
        return "a tensor" if name in self.environment.tensors else None

    def _scalar(self, node: ast.Name) -> ir.Tensor:
        tensor = self.environment.tensors[node.id]
        if tensor.rank:
            # The last indices of the left side, as NumPy would align them.
            known = [*self.indices][-tensor.rank :]
            subscripts = ", ".join(filled(known, tensor.rank))
            raise CompileError(
                Code.WHOLE_TENSOR_AS_SCALAR,
                f"`{tensor.name}` has {counted(tensor.rank, 'dimension')}, but one element of it is needed here",
                node.span,
                help=f"write its subscripts: `{phrases.element(tensor.name, [subscripts], node.span)}`",
            )
        return tensor

    def _read_before_definition(self, name: str, span: Span) -> CompileError:
        return CompileError(
            Code.READ_BEFORE_DEFINITION,
            f"`{name}` is read before a statement defines it",
            span,
            help=phrases.recurrence(span)
            if name == self.target
            else f"move the statement that writes `{name}` up, or make `{name}` a parameter",
        )

    def _not_applicable(self, node: ast.Apply) -> CompileError:
        name, span = node.function, node.span
        kind = "an index" if name in self.indices else self._kind_of_value(name)
        if any(name in bracket for bracket in self.brackets):
            kind = "an index"
        if kind is not None:
            return CompileError(
                Code.WRONG_KIND_OF_NAME,
                f"`{name}` is {kind}: it takes no subscripts",
                span,
                help=f"write `{name}` alone, or `{name} * (...)` for a product",
            )
        environment = self.environment
        if is_builtin(name) or registered(name):
            return CompileError(
                Code.UNDEFINED_NAME,
                f"`{name}` is a reduction: name its indices in square brackets",
                span.part(name),
                help=f"write `{name}[{self._over(node)}]{_reduced(span.text.removeprefix(name))}`",
            )
        candidates = (*environment.tensors, *BUILTINS, *environment.functions, *environment.definitions, "min", "max")
        candidates += ("pad",) if self.reads is None else BOUNDARIES
        return CompileError(
            Code.UNDEFINED_NAME,
            f"there is no tensor and no function `{name}`",
            span.part(name),
            help=elsewhere(name, span, node.arguments)
            or did_you_mean(name, candidates, f'declare it as a parameter, or give `fns={{"{name}": ...}}`'),
        )

    def _over(self, node: ast.Apply) -> str:
        """The likely index of a reduction without brackets: the first one used only in it."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in self.indices and self._kind_of_value(part.id) is None:
                return part.id
        return "k"


def _reduced(text: str) -> str:
    """The argument of a reduction, as written if that is short and complete."""
    return text.strip() if 0 < len(text) <= 60 and text.count("(") == text.count(")") else "(...)"


def local_shape(name: str, rank: int) -> tuple[Size, ...]:
    """The sizes of a tensor without named sizes."""
    return tuple([Size.of(SizeVar(f"{name}.{dimension}")) for dimension in range(rank)])


def refuse_reserved(name: str, what: str, span: Span) -> None:
    """Raises TC0203 for the name of a builtin."""
    if name in RESERVED:
        raise CompileError(
            Code.RESERVED_NAME,
            f"`{name}` is a builtin function and cannot be {what}",
            span,
            help=f"call it `{name}_`, or choose another name",
        )


def check_subscript_count(tensor: ir.Tensor, count: int, span: Span) -> None:
    """Raises TC0501 unless there is one subscript for each dimension."""
    if tensor.rank == count:
        return
    if tensor.rank:
        instead = f"write {counted(tensor.rank, 'subscript')}, one for each dimension: {_example(tensor, span)}"
    else:
        sizes = phrases.typed(tensor.dtype, ["N", "M", "K", "L"][:count] or ["N"], tensor.name, span)
        instead = f"`{tensor.name}` is one number: write it without subscripts, or declare its sizes, {sizes}"
    raise CompileError(
        Code.WRONG_SUBSCRIPT_COUNT,
        f"`{tensor.name}` has {counted(tensor.rank, 'dimension')}, given: {counted(count, 'subscript')}",
        span,
        help=instead,
    )


def _example(tensor: ir.Tensor, span: Span) -> str:
    """``A(i, j)``, with the subscripts written there, as far as they go."""
    given = re.fullmatch(r"\w+[(\[]([^()\[\]]*)[)\]]", span.text.strip())
    known = [part.strip() for part in given[1].split(",") if part.strip()] if given else []
    return f"`{phrases.element(tensor.name, filled(known[: tensor.rank], tensor.rank), span)}`"


def filled(known: Sequence[str], rank: int) -> list[str]:
    """As many subscripts as the tensor has dimensions: the known ones, then customary letters."""
    taken = set(re.findall(r"\w+", " ".join(known)))
    letters = [letter for letter in "ijklmnpq" if letter not in taken]
    return [*known, *letters[: rank - len(known)]] if rank - len(known) <= len(letters) else ["..."]


def _no_whole_subscript(node: ast.Apply, tensor: ir.Tensor | None) -> CompileError:
    name, span = node.function, node.span
    inner = node.arguments[0].span.text.strip() or "i + 1"
    read = "A" if tensor is None or tensor.rank != 1 else tensor.name
    return CompileError(
        Code.WRONG_KIND_OF_NAME,
        f"`{name}` applies to a whole subscript, and this is only part of one",
        span.part(name),
        help=f"write it around all of a subscript: `{phrases.element(read, [f'{name}({inner})'], span)}`",
    )


def _as_called(name: str) -> str:
    if name == "pad":
        return ": `pad(A(i - 1), 0)`"
    builtin = BUILTINS.get(name)
    return "" if builtin is None else f": `{name}({', '.join('abcd'[: builtin.arity])})`"


def _wrong_count(node: ast.Apply, accepted: str) -> CompileError:
    return CompileError(
        Code.WRONG_ARGUMENT_COUNT,
        f"`{node.function}` takes {accepted}, given: {len(node.arguments)}",
        node.span,
        help=f"give it {accepted}{_as_called(node.function)}",
    )
