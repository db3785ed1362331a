"""The memory layout of a tensor during a loop."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """`name` is `tensor` with its dimensions in `order`, and `padding` elements after each row."""

    name: str
    tensor: str
    order: tuple[int, ...]
    padding: int = 0

    @property
    def is_turned(self) -> bool:
        """Whether its dimensions are permuted."""
        return self.order != tuple(range(len(self.order)))

    @property
    def is_copied(self) -> bool:
        """Whether it is a copy of the tensor."""
        return self.is_turned or self.padding > 0
