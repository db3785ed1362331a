"""Tensors that several reads access beyond the ends, padded once for all of them."""

from collections.abc import Iterable, Iterator, Mapping

import jax

from ..planning.data.nodes import Node, Read, Strip, below
from .reads import pad


def padded(arrays: Mapping[str, jax.Array], roots: Iterable[Node]) -> dict[str, tuple[jax.Array, tuple[int, ...]]]:
    """The arrays that are read beyond their ends, with enough zeros for every read, and the number of zeros at the
    front.
    """
    widths: dict[str, tuple[list[int], list[int]]] = {}
    for read in _reads(roots):
        if read.tensor not in arrays or read.views:
            continue
        rank = len(read.dimensions)
        lows, highs = widths.setdefault(read.tensor, ([0] * rank, [0] * rank))
        for number, strip in enumerate(read.dimensions):
            if isinstance(strip, Strip):
                lows[number] = max(lows[number], strip.low)
                highs[number] = max(highs[number], strip.high)
    return {
        name: (pad(arrays[name], lows, highs), tuple(lows))
        for name, (lows, highs) in widths.items()
        if any(lows) or any(highs)
    }


def _reads(roots: Iterable[Node]) -> Iterator[Read]:
    for root in roots:
        yield from (node for node in below(root) if isinstance(node, Read))
