"""One search for a smallest or largest value: where it is first, the value there, and how many points have it.

The loop that finds the place carries the value: together they cost what the place costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..symbolic import IndexVar
from .batching import batched_together
from .forms import choose, within
from .nests import Form, Nest, Operand
from .softmax import Blocks, statistic_name


@dataclass(frozen=True, slots=True)
class Extrema:
    """The `place` and the `value` of an extremum, and the number of `ties` where it is wanted, all of them nests.

    Indices mean the same in all nests. The number of ties reads the others as the tensors of `statistic_name`. The
    loop has the `form` that it has for the place alone.
    """

    place: Nest
    value: Nest
    form: Form
    ties: Nest | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.place.operands

    @property
    def statistics(self) -> tuple[Nest, ...]:
        """All results."""
        return (self.place, self.value) if self.ties is None else (self.place, self.value, self.ties)

    @property
    def sums(self) -> tuple[Nest, ...]:
        """None: a softmax has some."""
        return ()

    @property
    def results(self) -> tuple[Nest, ...]:
        return self.statistics

    @property
    def ranges(self) -> dict[IndexVar, tuple[int, int]]:
        return self.place.ranges

    @property
    def blocks(self) -> Blocks:
        """How much of the loop one trip has."""
        form = self.form
        return Blocks(form.loop, form.rows * form.unroll, () if form.tile is None else (form.tile,))


def search(place: Nest, value: Nest, memory: int | None) -> Extrema:
    """The search within `memory` bytes, as far as its form decides it."""
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
    """The search for every element of a new axis, which all results have in front."""
    results = extrema.results
    names = [statistic_name(number) for number in range(len(results))]
    _, found, moved = batched_together(extrema.operands, results, names, varying, size)
    place, value, *ties = found
    return replace(search(place, value, memory), ties=ties[0] if ties else None), moved
