"""A program that must be refused."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..program import Argument


@dataclass(frozen=True)
class Refusal:
    """`told` occurs in the message or in its help; the program is called if there are `arguments`."""

    name: str
    text: str
    code: str
    told: str
    arguments: Sequence[Argument] | None = None

    def __str__(self) -> str:
        return self.name


def body(name: str, statements: str, code: str, told: str) -> Refusal:
    """A refusal of statements over float(N) A, float(N,M) B, int32(N) I, float s, bool(N) p."""
    header = "def f(float(N) A, float(N,M) B, int32(N) I, float s, bool(N) p) -> (O)"
    return Refusal(name, f"{header} {{ {statements} }}", code, told)
