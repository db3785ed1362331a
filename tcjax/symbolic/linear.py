"""Linear inequalities over bounded integers: interval propagation and Fourier-Motzkin elimination."""

from collections.abc import Iterable, Iterator, Sequence
from math import gcd
from typing import Final

# `sum of weight * variable + base >= 0`; variables are numbers, in increasing order, weights are not 0.
Linear = tuple[tuple[tuple[int, int], ...], int]

# Elimination may square the number of inequalities; beyond this number it gives up.
INEQUALITY_LIMIT: Final = 400

# Each pass narrows at least one range; slow convergence is left to elimination and bisection.
PASS_LIMIT: Final = 20


def linear(weights: dict[int, int], base: int) -> Linear:
    """The inequality in lowest terms, its base rounded down: exact over the integers."""
    terms = tuple(sorted((variable, weight) for variable, weight in weights.items() if weight))
    divisor = gcd(*(weight for _, weight in terms))
    if divisor > 1:
        terms = tuple((variable, weight // divisor) for variable, weight in terms)
        base //= divisor
    return terms, base


def extremes(inequality: Linear, lows: Sequence[int], highs: Sequence[int]) -> tuple[int, int]:
    """The smallest and the largest value of the left side over the box (ends inclusive)."""
    terms, low = inequality
    high = low
    for variable, weight in terms:
        if weight > 0:
            low += weight * lows[variable]
            high += weight * highs[variable]
        else:
            low += weight * highs[variable]
            high += weight * lows[variable]
    return low, high


def propagate(inequalities: Iterable[Linear], lows: list[int], highs: list[int]) -> bool:
    """Narrows the box in place to the values that each inequality allows; False if nothing remains."""
    inequalities = list(inequalities)
    for _ in range(PASS_LIMIT):
        changed = False
        for inequality in inequalities:
            _, most = extremes(inequality, lows, highs)
            if most < 0:
                return False
            for variable, weight in inequality[0]:
                if weight > 0:
                    least = highs[variable] - most // weight
                    if least > lows[variable]:
                        lows[variable], changed = least, True
                else:
                    greatest = lows[variable] + most // -weight
                    if greatest < highs[variable]:
                        highs[variable], changed = greatest, True
        if not changed:
            return True
    return True


def surely_empty(inequalities: Iterable[Linear], lows: Sequence[int], highs: Sequence[int]) -> bool:
    """Whether elimination derives a contradiction from the inequalities and the box.

    False is inconclusive: there may be a rational point without an integer one.
    """
    system = _reduced([*inequalities, *_box_sides(inequalities, lows, highs)])
    while system is not None:
        variables = {variable for terms in system for variable, _ in terms}
        if not variables:
            return False
        costs = {variable: _cost(system, variable) for variable in variables}
        eliminated = min(costs, key=costs.__getitem__)
        if len(system) + costs[eliminated][1] > INEQUALITY_LIMIT:
            return False
        system = _reduced(_eliminate(system, eliminated))
    return True


def _box_sides(inequalities: Iterable[Linear], lows: Sequence[int], highs: Sequence[int]) -> Iterator[Linear]:
    for variable in sorted({variable for terms, _ in inequalities for variable, _ in terms}):
        yield ((variable, 1),), -lows[variable]
        yield ((variable, -1),), highs[variable]


def _reduced(inequalities: Iterable[Linear]) -> dict[tuple[tuple[int, int], ...], int] | None:
    """The strongest inequality for each left side; None if one can never hold."""
    strongest: dict[tuple[tuple[int, int], ...], int] = {}
    for terms, base in inequalities:
        if not terms:
            if base < 0:
                return None
        elif base < strongest.get(terms, base + 1):
            strongest[terms] = base
    return strongest


def _cost(system: dict[tuple[tuple[int, int], ...], int], variable: int) -> tuple[bool, int]:
    """Whether eliminating the variable may lose its integrality, and the number of inequalities added."""
    weights = [weight for terms in system for other, weight in terms if other == variable]
    above = [weight for weight in weights if weight > 0]
    below = [weight for weight in weights if weight < 0]
    exact = all(weight == 1 for weight in above) or all(weight == -1 for weight in below)
    return not exact, len(above) * len(below) - len(weights)


def _eliminate(system: dict[tuple[tuple[int, int], ...], int], variable: int) -> Iterator[Linear]:
    above: list[tuple[dict[int, int], int]] = []
    below: list[tuple[dict[int, int], int]] = []
    for terms, base in system.items():
        weights = dict(terms)
        if variable not in weights:
            yield terms, base
        else:
            (above if weights[variable] > 0 else below).append((weights, base))
    for left, left_base in above:
        for right, right_base in below:
            a, b = -right[variable], left[variable]
            weights = {v: left.get(v, 0) * a + right.get(v, 0) * b for v in left.keys() | right.keys()}
            yield linear(weights, left_base * a + right_base * b)
