"""What elaboration must be told: the types of arguments, and of the results of Python functions."""

from dataclasses import dataclass
from typing import Protocol

from ..diagnostics import Span


@dataclass(frozen=True, slots=True)
class Argument:
    """The scalar type (a canonical name) and the rank of a tensor that is passed or returned."""

    dtype: str
    rank: int


class ForeignFunction(Protocol):
    """The types of a Python function from ``fns``."""

    def scalar(self, dtypes: tuple[str, ...]) -> str:
        """The type of the result for scalars of these types."""
        ...

    def whole(self, arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
        """The types and ranks of the results for whole tensors."""
        ...


class CellFunction(Protocol):
    """The types and shapes of a Python function from ``fns``."""

    def results(self, arguments: tuple[tuple[tuple[int, ...], str], ...]) -> tuple[tuple[tuple[int, ...], str], ...]:
        """The shape and type of every result for cells of these shapes and types."""
        ...


class ValueNeeded(Exception):
    """The value of a parameter determines a shape: it must be known during elaboration."""

    def __init__(self, name: str, span: Span) -> None:
        super().__init__(name)
        self.name = name
        self.span = span
