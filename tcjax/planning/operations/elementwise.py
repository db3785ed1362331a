"""One fused loop over all points, which are reduced as they come."""

from collections.abc import Iterator

from ..folds import fold
from ..nodes import Node
from ..scope import Scope
from .reduction import Reduction


def propose(reduction: Reduction, scope: Scope) -> Iterator[Node]:
    """The reduction of its values at every point."""
    yield fold(reduction.reducer, reduction.indices, reduction.values(scope), scope)
