"""Chooses the memory order of the axes of temporaries: the one that costs least where they are computed and read.

A name says what is stored, not its layout, which is the planner's choice. Temporaries that statements compute
elementwise from each other have the same layout: scores and their exponentials are transposed together, or not at all.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, permutations
from math import prod
from typing import Final

from ... import ir
from ...symbolic import IndexVar
from ...transforms import Orders, in_order
from ..cost.prices import plan_price, price
from ..data.stages import Call, CallForeign, Compute, Plan

# Another order is tried for statements that take this many seconds, and used if it saves this share of the plan.
LEAST_SECONDS: Final = 1e-4
# Statements with fewer points take less.
FEW_POINTS: Final = 1 << 13
SAVED: Final = 0.03
# The number of orders tried for temporaries with a common layout.
MOST_ORDERS: Final = 3
# For tensors of higher rank only some orders are examined.
MOST_RANK: Final = 3

# The indices of a tensor in a statement, dimension by dimension; None for a subscript that is more than an index.
Subscripts = tuple[IndexVar | None, ...]


# The seconds of the statements of a plan with these tensors, each on its own, with permuted axes.
Priced = Callable[[Orders, Collection[str]], float]


def cheapest_orders(plan: Plan, priced: Priced, ordered: Callable[[Orders], Plan]) -> Orders:
    """The cheapest orders of the temporaries of a plan; `ordered` plans its program again.

    Other effects, such as which temporaries are inlined, are considered only if the statements themselves cost less.
    """
    orders: Orders = {}
    groups = list(_groups(plan))
    least = plan_price(plan).seconds if groups else 0.0
    for group in groups:
        before = priced({}, group.shapes)
        for own in group.orders():
            if priced(own, group.shapes) > before - SAVED * least:
                continue
            seconds = plan_price(ordered({**orders, **own})).seconds
            if seconds < (1 - SAVED) * least:
                least, orders = seconds, {**orders, **own}
    return orders


@dataclass(slots=True)
class _Group:
    """Temporaries with a common layout, their extents, and how the statements that use them read and write them."""

    shapes: Mapping[str, tuple[int, ...]]
    uses: list[dict[str, Subscripts]] = field(default_factory=list)
    walks: list[tuple[IndexVar, ...]] = field(default_factory=list)

    def orders(self) -> Iterator[Orders]:
        """Other orders of the dimensions, starting with those in which statements traverse the largest tensor."""
        first = max(self.shapes, key=lambda name: prod(self.shapes[name]))
        rank = len(self.shapes[first])
        walked = (self.walked(first, use, walk) for use, walk in zip(self.uses, self.walks, strict=True))
        every = permutations(range(rank)) if rank <= MOST_RANK else iter(())
        tried = dict.fromkeys((*(order for order in walked if order is not None), *every))
        turned = (self.alike(first, order) for order in tried if self.moves(first, order))
        yield from islice((own for own in turned if own), MOST_ORDERS)

    def walked(self, name: str, use: Mapping[str, Subscripts], walk: Sequence[IndexVar]) -> tuple[int, ...] | None:
        """The dimensions in the order in which a statement traverses them."""
        if name not in use:
            return None
        places = {index: place for place, index in enumerate(walk)}
        last = len(walk)
        return tuple(sorted(range(len(use[name])), key=lambda d: places.get(_known(use[name][d]), last)))

    def moves(self, name: str, order: tuple[int, ...]) -> bool:
        """Whether an order moves any element."""
        long = [dimension for dimension in order if self.shapes[name][dimension] > 1]
        return long != sorted(long)

    def alike(self, first: str, order: tuple[int, ...]) -> Orders:
        """The orders of all tensors if that of the first is `order`."""
        found = {first: order}
        pending = [first]
        while pending:
            name = pending.pop()
            for use in self.uses:
                for other in use.keys() - found.keys() if name in use else ():
                    own = _following(use[other], in_order(use[name], found[name]))
                    if own is not None:
                        found[other] = own
                        pending.append(other)
        return {name: own for name, own in found.items() if own != tuple(sorted(own))}


def _known(index: IndexVar | None) -> IndexVar:
    return IndexVar("") if index is None else index


def _following(subscripts: Subscripts, walk: Subscripts) -> tuple[int, ...] | None:
    """The dimensions sorted by a traversal's order, with the others left in place; None if it contains few of them."""
    shared = [index for index in walk if index is not None and index in subscripts]
    if len(shared) < 2:
        return None
    following = iter([subscripts.index(index) for index in shared])
    return tuple(next(following) if index in shared else number for number, index in enumerate(subscripts))


def _groups(plan: Plan) -> Iterator[_Group]:
    """The temporaries of a plan with free memory order, grouped by common layout, largest first."""
    shapes = {name: plan.bound.shapes[name] for name in _temporaries(plan)}
    if not shapes:
        return
    uses = [(stage, _uses(stage)) for stage in plan.stages if isinstance(stage, Compute)]
    alike = {name: {name} for name in shapes}
    for _, use in uses:
        for one, other in combinations([name for name in use if name in shapes], 2):
            if _following(use[one], use[other]) is not None:
                joined = alike[one] | alike[other]
                alike |= dict.fromkeys(joined, joined)
    groups = {id(names): names for names in alike.values()}
    for names in sorted(groups.values(), key=lambda names: -max(prod(shapes[name]) for name in names)):
        own = [(stage, {n: use[n] for n in use if n in names}) for stage, use in uses if names & use.keys()]
        if all(_points(stage) < FEW_POINTS for stage, _ in own):
            continue
        if sum(price(stage, shapes=plan.bound.shapes).seconds for stage, _ in own) >= LEAST_SECONDS:
            walks = [_walk(stage.statement) for stage, _ in own]
            yield _Group({name: shapes[name] for name in sorted(names)}, [use for _, use in own], walks)


def _points(stage: Compute) -> int:
    return prod(max(0, hi - lo) for lo, hi in stage.box.values())


def _temporaries(plan: Plan) -> set[str]:
    """The tensors that only statements of the program write and read."""
    passed = {*plan.parameters, *plan.returns, *plan.initial}
    for stage in plan.stages:
        if isinstance(stage, (Call, CallForeign)):
            passed |= {*stage.targets, *stage.arguments}
    written = {stage.target: stage.shape for stage in plan.stages if isinstance(stage, Compute)}
    return {name for name, shape in written.items() if name not in passed and sum(n > 1 for n in shape) > 1}


def _uses(stage: Compute) -> dict[str, Subscripts]:
    """How a statement writes its target and reads tensors; the first read if there are several."""
    statement = stage.statement
    found = {statement.target.name: tuple(index.bare for index in statement.indices)}
    for access in ir.accesses_of(statement):
        found.setdefault(access.tensor.name, tuple(index.bare for index in access.indices))
    return found


def _walk(statement: ir.Define | ir.Accumulate) -> tuple[IndexVar, ...]:
    """The indices in the order of the loops around a statement: first its target's, then those that it reduces."""
    left = [index.bare for index in statement.indices if index.bare is not None]
    inner = [i for node in ir.walk(statement.value) if isinstance(node, ir.Reduce) for i in node.indices]
    own = statement.reduction if isinstance(statement, ir.Accumulate) else ()
    return tuple(dict.fromkeys((*left, *own, *inner)))
