"""A text that must be refused, or a call of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """`code` if the rule has its own; the text is called if there are `arguments`, as in `Case`."""

    name: str
    text: str
    arguments: Sequence[Any] | None = None
    code: str = ""
    fns: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name
