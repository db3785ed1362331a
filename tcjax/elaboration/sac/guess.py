"""Likely arguments of a program, guessed from its text."""

from collections.abc import Iterator
from typing import Final

from ...syntax.sac import tree
from .array_expressions import STRUCTURE
from .elaborate import Argument, Entry
from .folds import FOLDS
from .walks import children

# Functions of arrays, which are not used on numbers.
_OF_CELLS: Final = frozenset((*FOLDS, *STRUCTURE)) - {"min", "max", "mod", "where"}


def guess(program: tree.Program, entry: Entry, extent: int) -> dict[str, Argument] | None:
    """Arguments of likely types and ranks, with extents from `extent` on; None if the text leaves a rank open.

    The rank comes from a type pattern, else from the longest list of scalars in brackets after a name, if the name
    occurs only in selections. Arrays used as indices are ints, all others floats.
    """
    sizes: dict[str, int] = {}
    found: dict[str, Argument] = {}
    for parameter in entry.parameters:
        if isinstance(parameter, tree.Parameter):
            shape = _declared(parameter.type, sizes, extent)
            if shape is None:
                return None
            found[parameter.name] = Argument(parameter.type.scalar, shape)
    rest = [parameter for parameter in entry.parameters if isinstance(parameter, str)]
    if rest:
        uses = _Uses()
        nodes = [let.value for let in program.lets]
        for node in (*nodes, *([program.result] if program.result is not None else [])):
            uses.visit(node, selecting=False)
        for name in rest:
            if name in uses.whole or name not in uses.ranks:
                return None
            dtype = "int32" if name in uses.selecting else "float32"
            found[name] = Argument(dtype, (extent,) * uses.ranks[name])
    return found


def _declared(pattern: tree.TypePattern, sizes: dict[str, int], extent: int) -> tuple[int, ...] | None:
    shape: list[int] = []
    for axis in pattern.axes:
        match axis:
            case tree.Axis(int() as number):
                shape.append(number)
            case tree.Axis(str() as name):
                shape.append(sizes.setdefault(name, extent + 2 * len(sizes)))
            case tree.Axis():
                shape.append(extent)
            case tree.Axes(int() as count):
                shape += [extent] * count
            case _:
                return None
    return tuple(shape)


class _Uses:
    """Ranks by selections; names that occur as whole arrays, or in subscripts."""

    def __init__(self) -> None:
        self.ranks: dict[str, int] = {}
        self.whole: set[str] = set()
        self.selecting: set[str] = set()

    def visit(self, node: tree.Expr, *, selecting: bool) -> None:
        match node:
            case tree.Name(name):
                self.whole.add(name)
            case tree.Select(tree.Name(name), index):
                scalars = index[0].elements if len(index) == 1 and isinstance(index[0], tree.Vector) else index
                if any(isinstance(part, tree.Dot) for part in scalars):
                    self.whole.add(name)
                self.ranks[name] = max(self.ranks.get(name, 0), len(scalars))
                if selecting:
                    self.selecting.add(name)
                for part in scalars:
                    if not isinstance(part, tree.Dot):
                        self._subscript(part)
            case tree.Comprehension(partitions):
                for partition in partitions:
                    self._inside(partition)
            case tree.Call(name, arguments) if name in _OF_CELLS:
                # In `sum(a[i])`, `a[i]` is more likely a row than a number.
                for argument in arguments:
                    if isinstance(argument, tree.Select) and isinstance(argument.array, tree.Name):
                        self.whole.add(argument.array.id)
                    self.visit(argument, selecting=selecting)
            case _:
                for child in children(node):
                    self.visit(child, selecting=selecting)

    def _subscript(self, node: tree.Expr) -> None:
        if not isinstance(node, tree.Name):
            self.visit(node, selecting=True)

    def _inside(self, partition: tree.Partition) -> None:
        index = partition.index
        own = {index.name} if isinstance(index, tree.IndexVector) else set(index.names)
        before = self.whole - own
        for node in children(tree.Comprehension((partition,))):
            self.visit(node, selecting=False)
        # An index vector in a selection does not show a rank.
        if isinstance(index, tree.IndexVector):
            for name in _selected_by(partition.body, index.name):
                self.whole.add(name)
        self.whole = before | (self.whole - own)


def _selected_by(node: tree.Expr, vector: str) -> Iterator[str]:
    pending = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, tree.Select) and isinstance(current.array, tree.Name):
            name = current.array.id
            yield from (name for part in current.index if isinstance(part, tree.Name) and part.id == vector)
        pending.extend(children(current))
