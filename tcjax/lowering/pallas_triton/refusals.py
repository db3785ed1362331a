"""Reductions without a Triton kernel."""

from ... import ir
from ...ir import Reducer
from ...planning.data.nests import Nest
from ...planning.replanning import refusals


class Unsupported(Exception):
    """There is no kernel for this nest; the message says why. XLA operations compute it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def reducer_of(reduce: ir.Reduce) -> Reducer:
    """The reducer of a nest that was not refused."""
    assert isinstance(reduce.reducer, Reducer)
    return reduce.reducer


def refuse(nest: Nest) -> None:
    """Raises `Unsupported` for nests known not to lower."""
    for reason in refusals(nest):
        raise Unsupported(reason)
