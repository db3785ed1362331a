"""The order in which the operands of a sum of products are multiplied."""

from collections.abc import Iterator
from dataclasses import dataclass

import opt_einsum

from ..symbolic import IndexVar
from .data.nodes import Axes
from .scope import Scope

# All orders of this many operands are tried; for more, opt_einsum's greedy order is used.
MOST_OPERANDS = 5
# This many orders are compared by price, if they have at most this many times the multiplications of the best.
MOST_ORDERS = 4
MORE_WORK = 1.25


@dataclass(frozen=True, slots=True)
class Pairing:
    """Operands `first` and `second` of the current list are replaced by their product, appended with axes `kept`.

    They are multiplied in this order, which may differ from that in the list.
    """

    first: int
    second: int
    kept: Axes


def pairings(operands: list[Axes], result: Axes, scope: Scope) -> list[list[Pairing]]:
    """The cheapest orders: those with the fewest multiplications, or few more, sorted by intermediate sizes and
    transposes.
    """
    if len(operands) > MOST_OPERANDS:
        return [_greedy(operands, result, scope)]
    found = sorted(_orders(operands, frozenset(result), scope), key=lambda order: order[1])
    least = found[0][1][0]
    return [order for order, (work, _, _) in found if work <= MORE_WORK * least][:MOST_ORDERS]


def _orders(
    operands: list[Axes], result: frozenset[IndexVar], scope: Scope
) -> Iterator[tuple[list[Pairing], tuple[int, int, int]]]:
    if len(operands) == 1:
        yield [], (0, 0, 0)
        return
    for second in range(1, len(operands)):
        for first in range(second):
            rest, pairing = _paired(operands, first, second, result, scope)
            work = scope.points({*operands[first], *operands[second]})
            room = scope.points(pairing.kept) if len(rest) > 1 else 0
            moved = _moved(operands[first], pairing, scope) + _moved(operands[second], pairing, scope)
            if rest[:-1] and not {*operands[first], *operands[second]} - {*pairing.kept}:
                # An outer product would be stored only to be read by a contraction that could read its factors.
                moved += room
            for order, (w, r, m) in _orders(rest, result, scope):
                yield [pairing, *order], (work + w, room + r, moved + m)


def _paired(
    operands: list[Axes], first: int, second: int, result: frozenset[IndexVar], scope: Scope
) -> tuple[list[Axes], Pairing]:
    others = [axes for number, axes in enumerate(operands) if number not in (first, second)]
    needed = result.union(*others)
    ways = [
        Pairing(*pair, _yielded(operands[pair[0]], operands[pair[1]], needed))
        for pair in ((first, second), (second, first))
    ]
    # The left operand is read along its minor axis, or copied; otherwise the program's order is as good.
    pairing = min(ways, key=lambda way: (_moved(operands[way.first], way, scope), way.kept != scope.sorted(way.kept)))
    return [*others, pairing.kept], pairing


def _yielded(a: Axes, b: Axes, needed: frozenset[IndexVar]) -> Axes:
    """The axes of a product as `dot_general` returns them: the shared, then the first operand's, then the second's."""
    return (
        *(axis for axis in a if axis in b and axis in needed),
        *(axis for axis in a if axis not in b and axis in needed),
        *(axis for axis in b if axis not in a and axis in needed),
    )


def _moved(axes: Axes, pairing: Pairing, scope: Scope) -> int:
    """The number of elements transposed because the summed axes are not the last in memory."""
    summed = [axis not in pairing.kept for axis in axes]
    return 0 if summed == sorted(summed) else scope.points(axes)


def _greedy(operands: list[Axes], result: Axes, scope: Scope) -> list[Pairing]:
    symbols = {axis: opt_einsum.get_symbol(n) for n, axis in enumerate(dict.fromkeys(a for o in operands for a in o))}
    equation = ",".join("".join(symbols[a] for a in axes) for axes in operands)
    equation += "->" + "".join(symbols[a] for a in result)
    shapes = [tuple(map(scope.extent, axes)) for axes in operands]
    path, _ = opt_einsum.contract_path(equation, *shapes, shapes=True, optimize="greedy")
    order: list[Pairing] = []
    for step in path:
        if len(step) == 2:
            first, second = sorted(step)
            operands, pairing = _paired(operands, first, second, frozenset(result), scope)
            order.append(pairing)
    return order
