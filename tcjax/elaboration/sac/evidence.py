"""What the selections of a body show about the bounds of its index."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ...diagnostics import Code, CompileError
from ...symbolic import Affine, Size
from ...syntax.sac import tree
from ..signature import ValueNeeded
from .arrays import Array
from .draft import Draft, IndexNeeded
from .scope import LengthUnknown, Scope
from .walks import children, generator_parts, mentions

Evaluate = Callable[[tree.Expr, Scope], Array]

# The lengths of index vectors are inferred inside each other, to this depth.
_DEEPEST: Final = 5


@dataclass(slots=True)
class Observed:
    """Upper bounds inferred from selections: for an index vector, or for each component by name; `seen` in words.

    `extents` are all extents that were compared: the smallest one counts.
    """

    vector: tuple[Size, ...] | None
    scalars: dict[str, Size]
    names: tuple[str, ...]
    seen: list[str]
    failed: CompileError | None = None
    extents: set[Size] = field(default_factory=set)

    def complete(self, count: int, prefix: bool) -> bool:
        """Whether every component has a bound; with `prefix`, the first `count` of a longer vector are enough."""
        if self.names:
            return all(name in self.scalars for name in self.names)
        if self.vector is None:
            return count == 0
        return len(self.vector) >= count if prefix else len(self.vector) == count

    def sizes(self, count: int) -> tuple[Size, ...]:
        if self.names:
            return tuple(self.scalars[name] for name in self.names)
        return (self.vector or ())[:count]


def observed(partition: tree.Partition, scope: Scope, evaluate: Evaluate) -> Observed:
    """What the selections of a body show about the bounds of its index."""
    index = partition.index
    names = index.names if isinstance(index, tree.IndexPattern) else ()
    found = Observed(None, {}, names, [])
    own = frozenset(names or ([index.name] if isinstance(index, tree.IndexVector) else []))
    if not own:
        return found
    inside = _bound_abstractly(partition, scope, evaluate)
    # A body without points does not run.
    with scope.draft.instance():
        _Walk(found, own, evaluate, scope.draft).walk(partition.body, inside, own)
    return found


class _Walk:
    def __init__(self, found: Observed, own: frozenset[str], evaluate: Evaluate, draft: Draft) -> None:
        self.found = found
        self.own = own
        self.evaluate = evaluate
        self.draft = draft

    def walk(self, node: tree.Expr, scope: Scope, visible: frozenset[str]) -> None:
        """Adds what the node shows; `visible` are the partition's variables that are not hidden here."""
        if not visible:
            return
        match node:
            case tree.Select(array, index):
                self.walk(array, scope, visible)
                for part in index:
                    if not isinstance(part, tree.Dot):
                        self.walk(part, scope, visible)
                self.select(array, index, scope, visible)
            case tree.Call("sel", (index, array)):
                self.walk(array, scope, visible)
                self.walk(index, scope, visible)
                self.select(array, (index,), scope, visible)
            case tree.Comprehension(partitions):
                for partition in partitions:
                    self.inside(partition, scope, visible)
            case _:
                for child in children(node):
                    self.walk(child, scope, visible)

    def inside(self, partition: tree.Partition, scope: Scope, visible: frozenset[str]) -> None:
        generator = partition.generator
        if generator is not None:
            for bound in (generator.lower, generator.upper):
                if bound is not None and not isinstance(bound.value, tree.Dot):
                    self.walk(bound.value, scope, visible)
            for part in (generator.step, generator.width):
                if part is not None:
                    self.walk(part, scope, visible)
        index = partition.index
        hidden = {index.name} if isinstance(index, tree.IndexVector) else set(index.names)
        self.walk(partition.body, _bound_abstractly(partition, scope, self.evaluate), visible - hidden)

    def select(
        self, array: tree.Expr, index: tuple[tree.Expr | tree.Dot, ...], scope: Scope, visible: frozenset[str]
    ) -> None:
        spelt = len(index) == 1 and isinstance(index[0], tree.Vector)
        if len(index) == 1 and isinstance(index[0], tree.Vector):
            index = index[0].elements
        vector = len(index) == 1 and not spelt and not self.found.names
        if not vector and not self.found.names:
            self.refuse_vectors(index, visible)
        places = self.vector_place(index, visible) if vector else self.scalar_places(index, visible)
        if not places or (self.draft.strict and mentions(array, self.own)):
            return
        try:
            shape = self.evaluate(array, scope).shape
        except LengthUnknown:
            return
        except CompileError as error:
            self.found.failed = self.found.failed or error
            return
        for name, position, count, behind in places:
            if not name:
                self.take_vector(shape)
            else:
                axis = len(shape) - (count - position) if behind else position
                if 0 <= axis < len(shape):
                    self.take(name, shape[axis])

    def refuse_vectors(self, index: tuple[tree.Expr | tree.Dot, ...], visible: frozenset[str]) -> None:
        """Raises `CompileError` (TC0301) for an index vector as one of several components."""
        for part in index:
            if isinstance(part, tree.Name) and part.id in visible:
                raise CompileError(
                    Code.WRONG_TYPE,
                    f"an index vector in a scalar context: `{part.id}` is one component of this index",
                    part.span,
                    help=f"select with the vector alone, `a[{part.id}]`, or join vectors first: `a[[0] ++ {part.id}]`",
                )

    def vector_place(
        self, index: tuple[tree.Expr | tree.Dot, ...], visible: frozenset[str]
    ) -> list[tuple[str, int, int, bool]]:
        match index:
            case (tree.Name(name),) if name in visible:
                return [("", 0, 1, False)]
            case _:
                return []

    def scalar_places(
        self, index: tuple[tree.Expr | tree.Dot, ...], visible: frozenset[str]
    ) -> list[tuple[str, int, int, bool]]:
        places, behind = [], False
        for position, part in enumerate(index):
            if isinstance(part, tree.Dot):
                behind = behind or part.many
            elif isinstance(part, tree.Name) and part.id in visible and part.id in self.found.names:
                places.append((part.id, position, len(index), behind))
        return places

    def take(self, name: str, extent: Size) -> None:
        self.found.extents.add(extent)
        before = self.found.scalars.get(name)
        self.found.scalars[name] = extent if before is None else self.smaller(before, extent)

    def take_vector(self, shape: tuple[Size, ...]) -> None:
        self.found.extents.update(shape)
        before = self.found.vector
        if before is None:
            self.found.vector = shape
        else:
            # A vector that selects from arrays of several ranks runs over the axes that all of them have.
            self.found.vector = tuple(map(self.smaller, before, shape))

    def smaller(self, first: Size, second: Size) -> Size:
        return first if self.draft.number(first) <= self.draft.number(second) else second


def _bound_abstractly(partition: tree.Partition, scope: Scope, evaluate: Evaluate) -> Scope:
    """The scope of a body with an index of which only the number of components is known."""
    index, draft = partition.index, scope.draft
    if isinstance(index, tree.IndexPattern):
        return scope.at(index, [Affine.of(draft.abstract(name)) for name in index.names])
    for part in generator_parts(partition):
        try:
            shape = evaluate(part, scope).shape
        except (CompileError, LengthUnknown, IndexNeeded, ValueNeeded):
            continue
        if len(shape) == 1:
            return scope.at(index, [Affine.of(draft.abstract(index.name)) for _ in range(draft.number(shape[0]))])
    hidden = scope.child({index.name: None})
    if draft.searches >= _DEEPEST:
        return hidden
    found = Observed(None, {}, (), [])
    own = frozenset((index.name,))
    draft.searches += 1
    try:
        _Walk(found, own, evaluate, draft).walk(partition.body, hidden, own)
    finally:
        draft.searches -= 1
    if found.vector is None:
        return hidden
    return scope.at(index, [Affine.of(draft.abstract(index.name)) for _ in found.vector])
