"""The choice between computations of the same value."""

from collections.abc import Iterable

from .nodes import Node
from .scope import Scope


def cheapest(candidates: Iterable[Node], scope: Scope) -> Node:
    """The computation with the least price; of equal ones the first."""
    # Prices look into loops, whose blocks are planned as computations of their own.
    from .prices import price_of

    extents = {index: scope.extent(index) for index in scope.box}
    return min(candidates, key=lambda node: price_of(node, extents).seconds)
