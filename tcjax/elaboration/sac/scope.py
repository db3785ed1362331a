"""The meaning of names: arguments, lets, indices and index vectors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ...diagnostics import Code, CompileError, Span
from ...symbolic import Affine, IndexVar
from ...syntax.sac import tree
from ..literals import affine_value
from ..spelling import did_you_mean
from .arrays import Array, scalar, vector
from .draft import Draft
from .walks import mentions


class LengthUnknown(Exception):
    """An index vector whose length is still being inferred."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Names and their values; None for an index vector of unknown length. Some are `indices` of comprehensions."""

    names: Mapping[str, Array | None]
    draft: Draft
    indices: frozenset[str] = frozenset()

    def value(self, name: str, span: Span) -> Array:
        """Raises `CompileError` (TC0201) for a name that nothing defines, and `LengthUnknown`."""
        if name not in self.names:
            raise CompileError(
                Code.UNDEFINED_NAME,
                f"there is no `{name}` here",
                span,
                help=did_you_mean(name, self.names, "name an argument, a let above, or an index around it"),
            )
        found = self.names[name]
        if found is None:
            raise LengthUnknown
        return found

    def child(self, names: Mapping[str, Array | None]) -> "Scope":
        """The scope with more names, which hide outer ones of the same spelling."""
        return Scope({**self.names, **names}, self.draft, self.indices.difference(names))

    def at(self, index: tree.IndexVector | tree.IndexPattern, place: Iterable[Affine]) -> "Scope":
        """The scope of a body with a value for the index."""
        values = [(affine_value(component), component.variables) for component in place]
        free = frozenset().union(*(used for _, used in values))
        own: dict[str, Array]
        if isinstance(index, tree.IndexVector):
            own = {index.name: vector([value for value, _ in values], free)}
        else:
            own = {name: scalar(value, used) for name, (value, used) in zip(index.names, values, strict=True)}
        inside = self.child(own)
        return replace(inside, indices=inside.indices.union(own))


def free_indices(node: tree.Expr, scope: Scope) -> frozenset[IndexVar]:
    """The outer indices on which a comprehension's elements depend."""
    return frozenset().union(
        *(
            value.free
            for name, value in scope.names.items()
            if value is not None and value.free and mentions(node, frozenset((name,)))
        )
    )
