"""A text that has to be refused, or a call of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """`code` where the rule has one of its own; the text is called where there are `arguments`, as in `Case`."""

    name: str
    text: str
    arguments: Sequence[Any] | None = None
    code: str = ""
    fns: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name
