"""How a tensor lies in memory while a loop runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """`name` is `tensor` with its dimensions in `order`, and so much `padding` behind each row."""

    name: str
    tensor: str
    order: tuple[int, ...]
    padding: int = 0

    @property
    def is_turned(self) -> bool:
        """Whether its dimensions lie in another order than the tensor's."""
        return self.order != tuple(range(len(self.order)))

    @property
    def is_copied(self) -> bool:
        """Whether it is another array than the tensor."""
        return self.is_turned or self.padding > 0
