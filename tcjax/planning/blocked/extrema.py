"""A search for an extremum: its first position, its value, and the number of points that attain it.

The loop that finds the position carries the value anyway, so all of them cost as much as the position.
"""

from collections.abc import Sequence
from dataclasses import replace

from ..data.groups import Extrema, statistic_name
from ..data.nests import Nest
from .batching import batched_together
from .loop_schedules import choose, within


def search(place: Nest, value: Nest, memory: int | None) -> Extrema:
    """The search within `memory` bytes, as far as its schedule decides it."""
    return Extrema(place, value, within(choose(place), place, memory))


def describe_search(extrema: Extrema, *, first: bool) -> str:
    """Why it is one loop, in words."""
    if not first:
        return "a result of the loop that visits the points"
    what = "the value and its place" if extrema.ties is None else "the value, its place, and how many points have it"
    return f"one loop over points that are never stored finds {what}"


def batched_extrema(
    extrema: Extrema, varying: Sequence[bool], size: int, memory: int | None
) -> tuple[Extrema, tuple[bool, ...]]:
    """The search batched over a new axis, which all results have first."""
    results = extrema.results
    names = [statistic_name(number) for number in range(len(results))]
    _, found, moved = batched_together(extrema.operands, results, names, varying, size)
    place, value, *ties = found
    return replace(search(place, value, memory), ties=ties[0] if ties else None), moved
