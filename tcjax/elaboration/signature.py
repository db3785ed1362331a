"""What elaboration is told from outside: the types of arguments, and of Python functions' results."""

from dataclasses import dataclass
from typing import Protocol

from ..diagnostics import Span


@dataclass(frozen=True, slots=True)
class Argument:
    """The scalar type (a canonical name) and the rank of a tensor that is passed or returned."""

    dtype: str
    rank: int


class ForeignFunction(Protocol):
    """A Python function from ``fns``, as far as types go."""

    def scalar(self, dtypes: tuple[str, ...]) -> str:
        """The type of the result, applied to scalars of these types."""
        ...

    def whole(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        """The types and ranks of the results, applied to whole tensors."""
        ...


class CellFunction(Protocol):
    """A Python function from ``fns``, as far as types and shapes go."""

    def results(self, arguments: tuple[tuple[tuple[int, ...], str], ...]) -> tuple[tuple[tuple[int, ...], str], ...]:
        """The shape and type of every result, applied to cells of these shapes and types."""
        ...


class ValueNeeded(Exception):
    """The value of a parameter decides a shape: it has to be known while the program is elaborated."""

    def __init__(self, name: str, span: Span) -> None:
        super().__init__(name)
        self.name = name
        self.span = span
