"""Repeated computations in a plan's text: each is printed once, with a name."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from .nodes import LoopNest, Node, Read, is_elementwise, operands

# A shorter computation is not named, except a loop nest, whose one line is long.
LEAST_LINES = 3


@dataclass(slots=True)
class Repeats:
    """The names of computations, ``%1`` and so on, in text order.

    `written` counts the writes of each tensor so far: a read after another write is another value.
    """

    counts: Counter[int] = field(default_factory=Counter)
    names: dict[int, str] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    _kinds: dict[object, list[tuple[Node, int]]] = field(default_factory=dict)
    _known: dict[int, tuple[Node, int, int]] = field(default_factory=dict)
    _elementwise: dict[int, tuple[Node, bool]] = field(default_factory=dict)
    _numbers: int = 0

    @staticmethod
    def of(text: Iterable[Node | str]) -> "Repeats":
        """The repeats in a list of computations in text order, with the names of written tensors between them."""
        repeats = Repeats()
        for part in text:
            if isinstance(part, str):
                repeats.write(part)
            else:
                repeats._count(part)
        repeats.written.clear()
        repeats._known.clear()
        return repeats

    def write(self, *targets: str) -> None:
        """Records that tensors have new contents from now on."""
        self.written.update(targets)
        self._known.clear()

    def name(self, node: Node) -> tuple[str, bool]:
        """The name of a computation, and whether it was already printed; no name if it occurs once."""
        number, lines = self.look(node)
        if self.counts[number] < 2 or lines < LEAST_LINES:
            return "", False
        known = number in self.names
        return self.names.setdefault(number, f"%{len(self.names) + 1}"), known

    def _count(self, node: Node) -> None:
        number, _ = self.look(node)
        self.counts[number] += 1
        if self.counts[number] == 1:
            for operand in operands(node):
                self._count(operand)

    def look(self, node: Node) -> tuple[int, int]:
        """A number shared by equal computations, and their number of lines."""
        known = self._known.get(id(node))
        if known is not None:
            return known[1:]
        inner = [self.look(operand) for operand in operands(node)]
        read = tuple((name, self.written[name]) for name in _read(node))
        # An unrolled sum has hundreds of reads that differ in one place only.
        place = hash(node) if isinstance(node, Read) else 0
        kind = type(node), node.dtype, node.axes, tuple(number for number, _ in inner), read, place
        same = self._kinds.setdefault(kind, [])
        number = next((number for other, number in same if other == node), 0)
        if not number:
            number = self._numbers = self._numbers + 1
            same.append((node, number))
        # The node is kept, so that its `id` is not reused.
        own = LEAST_LINES if isinstance(node, LoopNest) and node.is_alone else 1
        found = self._known[id(node)] = node, number, own + sum(lines for _, lines in inner)
        return found[1:]

    def is_elementwise(self, node: Node) -> bool:
        """`nodes.is_elementwise`, cached per node, because tree walks ask at every level."""
        known = self._elementwise.get(id(node))
        if known is None:
            known = self._elementwise[id(node)] = node, is_elementwise(node, self.is_elementwise)
        return known[1]


def _read(node: Node) -> tuple[str, ...]:
    """The tensors that the node itself reads."""
    match node:
        case Read(tensor=tensor):
            return (tensor,)
        case LoopNest(whole=whole):
            return whole.tensors
        case _:
            return ()


__all__ = ["Repeats"]
