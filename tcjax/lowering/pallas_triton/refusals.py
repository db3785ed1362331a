"""What has no kernel in Triton."""

from ... import ir
from ...ir import Reducer
from ...planning.data.nests import Nest
from ...planning.replanning import refusals


class Unsupported(Exception):
    """No kernel for this nest; the words say why. XLA operations compute it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def reducer_of(reduce: ir.Reduce) -> Reducer:
    """The reducer of what was not refused."""
    assert isinstance(reduce.reducer, Reducer)
    return reduce.reducer


def refuse(nest: Nest) -> None:
    """Raises `Unsupported` for what is known not to lower."""
    for reason in refusals(nest):
        raise Unsupported(reason)
