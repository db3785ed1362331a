"""Selections over the points of all devices: the position of an extremum, and values at ranks."""

from dataclasses import dataclass, replace
from math import prod

from ... import ir
from ...ir import Reducer
from ...symbolic import Affine, Box, IndexVar
from ...transforms import Known
from .blocks import Axes, Combine, Whole
from .emitting import Emitted
from .local import Local

# No program can contain this name.
RANK, CANDIDATE = IndexVar("rank."), IndexVar("candidate.")
ZERO = ir.Const(0, "int32")
# Marks that there is no position.
BEYOND = ir.Const(int(Reducer.MIN.empty("int32")), "int32")


def select_position(made: Emitted, local: Local, statement: ir.Accumulate, axes: Axes) -> None:
    """The position of the extremum over all devices: the lowest one, among devices that have points."""
    target, reducer = statement.target, statement.reducer
    assert isinstance(reducer, Reducer), "user-defined monoids do not give positions"
    position = _Positions(local, statement.reduction)
    left = local.masks(ir.left_indices(local.formula.statement))
    for index in statement.reduction:
        if index in local.spans:
            local.start(index)
    made.fetched(local, local.formula.statement)
    shape, origin, span = made.shapes[target.name], made.origins[target.name], statement.span
    parts = local.layouts.parts(axes)
    at, guard = statement.indices, statement.domain.guard

    def part(word: str, dtype: str) -> ir.Tensor:
        return made.tensor(f"{target.name}.{word}", dtype, shape, origin)

    def accumulate(target: ir.Tensor, reducer: Reducer, value: ir.Expr) -> None:
        own = replace(statement, target=target, reducer=reducer, restart=True, value=value, accumulate=value.dtype)
        made.state(own, local.box)

    def combine(part: ir.Tensor, reducer: Reducer) -> ir.Tensor:
        whole = made.tensor(f"{target.name}.all", part.dtype, shape, origin)
        made.call(Combine(whole.name, part.name, reducer, axes, parts, part.dtype), whole, (part,))
        return whole

    value = statement.value if statement.value.dtype != "bool" else ir.Cast(statement.value, "int32")
    extremum = reducer.variant(gives_position=False)
    first, place, least = part("extremum", value.dtype), part("place", "int32"), part("least", "int32")
    accumulate(first, extremum, value)
    accumulate(place, reducer, statement.value)
    best = combine(first, extremum)
    own, all_ = ir.Access(first, at), ir.Access(best, at)
    # NaN, if there is one, is the extremum, but does not equal itself.
    has = ir.Binary("==", own, all_, "bool")
    if ir.types.is_float(value.dtype):
        has = ir.Binary("||", has, ir.Binary("!=", own, own, "bool"), "bool")
    if guard is not None:
        some = part("some", "bool")
        accumulate(some, Reducer.ANY, ir.Const(True, "bool"))
        has = ir.Binary("&&", ir.Access(some, at), has, "bool")
    box = {index: ends for index, ends in local.box.items() if index in ir.left_indices(statement)}
    found = ir.Select(has, position.of(ir.Access(place, at)), BEYOND, "int32")
    made.state(ir.Define(least, at, found, span=span), box)
    result: ir.Expr = ir.Access(combine(least, Reducer.MIN), at)
    if guard is not None:
        result = ir.Select(ir.Binary("==", result, BEYOND, "bool"), ZERO, result, "int32")
    if target.dtype != "int32":
        result = ir.Cast(result, target.dtype)
    domain = ir.Domain((), ir.conjunction(left))
    made.state(ir.Define(made.sized(target), at, result, domain, span=span), box)


def select_ranks(made: Emitted, local: Local, statement: ir.Define, axes: Axes) -> None:
    """Values at ranks over all devices, or their positions: each device gathers the first ranks, and selects."""
    reduce, target = statement.value, statement.target
    assert isinstance(reduce, ir.Reduce) and isinstance(reduce.reducer, Reducer) and reduce.rank is not None
    reducer, rank, span = reduce.reducer, reduce.rank, statement.span
    position = _Positions(local, reduce.indices)
    if reducer.gives_position:
        for index in reduce.indices:
            if index in local.spans:
                local.start(index)
    made.fetched(local, local.formula.statement)
    inner = replace(reduce, rank=None)
    outer = tuple(index for index in local.box if index in ir.free_indices(inner))
    points = prod(local.box[index][1] - local.box[index][0] for index in reduce.indices)
    given = local.formula.statement.value
    assert isinstance(given, ir.Reduce) and given.rank is not None
    ends = Known.over(local.formula.box).bounds(ir.affine_of(given.rank))
    count = max(1, points if ends is None else min(points, ends[1] + 1))
    parts = local.layouts.parts(axes)
    at = tuple(map(Affine.of, outer))
    shape = tuple(local.box[index][1] - local.box[index][0] for index in outer)
    origin = tuple(local.box[index][0] for index in outer)
    box: Box = {**local.box, RANK: (0, count)}

    def firsts(word: str, value: ir.Expr) -> ir.Tensor:
        """The values at the first ranks of each device, concatenated."""
        key = value, at, tuple((index, local.box[index]) for index in outer), count, axes
        if key in made.once:
            return made.once[key][0]
        own = made.tensor(f"{target.name}.{word}", value.dtype, (*shape, count), (*origin, 0))
        used = {*outer, RANK, *ir.bound_indices(value)}
        own_box = {index: ends for index, ends in box.items() if index in used}
        made.state(ir.Define(own, (*at, Affine.of(RANK)), value, span=span), own_box)
        name = f"{own.name}.all"
        made.origins[name] = (*origin, 0)
        found = made.fetch(Whole(name, own.name, len(outer), axes, count * parts, count * parts, is_shared=True), own)

        made.once[key] = found, frozenset(access.tensor.name for access in ir.accesses(value))
        return found

    candidates = IndexVar(CANDIDATE.name)
    here = (*at, Affine.of(candidates))
    values = reducer.variant(gives_position=False)
    local_rank = ir.Index(RANK)
    dtype = reduce.body.dtype
    best = replace(reduce, reducer=values, rank=local_rank, dtype=dtype)
    every = firsts("firsts", best)
    select = replace(
        reduce, indices=(candidates,), guard=None, body=ir.Access(every, here), rank=rank, accumulate=dtype
    )
    final_box = {index: ends for index, ends in local.box.items() if index not in reduce.indices}
    final_box[candidates] = (0, count * parts)
    result: ir.Expr = select
    if reducer.gives_position:
        place = position.of(replace(reduce, rank=local_rank))
        one = ir.Const(1, "int32")
        if reduce.guard is not None:
            # Masked points have no position.
            total = ir.Reduce(Reducer.SUM, reduce.indices, (), reduce.guard, one, None, "int32", "int32")
            there = ir.Binary("<", local_rank, total, "bool")
            place = ir.Select(there, place, ir.Const(-1, "int32"), "int32")
        places = firsts("places", place)
        if any(index in local.spans for index in reduce.indices[1:]):
            # Equal values are ordered by position, and the devices' order is a different one.
            every, places = _by_position(made, every, places, outer, final_box)
            select = replace(select, body=ir.Access(every, here))
        valid = ir.Binary(">=", ir.Access(places, here), ZERO, "bool")
        chosen = replace(select, guard=valid if reduce.guard is not None else None)
        result = ir.Access(places, (*at, Affine.of(ir.Data(chosen))))
        if reduce.guard is not None or ends is None or ends[0] < 0 or ends[1] >= count * parts:
            number = ir.Reduce(Reducer.SUM, (candidates,), (), chosen.guard, one, None, "int32", "int32")
            inside = ir.conjunction(ir.within(rank, ZERO, number))
            assert inside is not None
            result = ir.Select(inside, result, ZERO, "int32")
    made.state(replace(statement, target=made.sized(target), value=result), final_box)


def _by_position(
    made: Emitted, values: ir.Tensor, places: ir.Tensor, outer: tuple[IndexVar, ...], box: Box
) -> tuple[ir.Tensor, ir.Tensor]:
    """The values and positions of the candidates, sorted by position."""
    at = tuple(map(Affine.of, outer))
    own_box = {index: box[index] for index in (*outer, CANDIDATE)}
    ends = box[CANDIDATE]

    def stated(word: str, dtype: str, value: ir.Expr, box: Box) -> ir.Tensor:
        shape, origin = made.shapes[values.name], made.origins[values.name]
        tensor = made.tensor(f"{values.name}.{word}", dtype, shape, origin)
        made.state(ir.Define(tensor, (*at, Affine.of(RANK)), value), box)
        return tensor

    body = ir.Access(places, (*at, Affine.of(CANDIDATE)))
    nth = ir.Reduce(Reducer.ARGMINK, (CANDIDATE,), (), None, body, ir.Index(RANK), "int32", "int32")
    order = stated("order", "int32", nth, {**own_box, RANK: ends})
    read = (*at, Affine.of(ir.Data(ir.Access(order, (*at, Affine.of(RANK))))))
    flat = {**{index: box[index] for index in outer}, RANK: ends}
    return (
        stated("sorted", values.dtype, ir.Access(values, read), flat),
        stated("places", "int32", ir.Access(places, read), flat),
    )


@dataclass(frozen=True, slots=True)
class _Positions:
    """Positions among all points from positions among a device's points: both are row-major over the indices."""

    local: Local
    indices: tuple[IndexVar, ...]

    def of(self, position: ir.Expr) -> ir.Expr:
        """The position among all points, from one among the device's points."""
        found: ir.Expr | None = None
        own = [self._extent(self.local.box, index) for index in self.indices]
        for number, index in enumerate(self.indices):
            value = position
            behind = prod(own[number + 1 :])
            if behind > 1:
                value = ir.Binary("//", value, ir.Const(behind, "int32"), "int32")
            if number > 0:
                value = ir.Binary("%", value, ir.Const(own[number], "int32"), "int32")
            if index in self.local.spans:
                shift = self.local.spans[index].first - self.local.formula.box[index][0]
                value = ir.Binary("+", value, self.local.start(index), "int32")
                if shift:
                    value = ir.Binary("+", value, ir.Const(shift, "int32"), "int32")
            scale = prod(self._extent(self.local.formula.box, other) for other in self.indices[number + 1 :])
            if scale > 1:
                value = ir.Binary("*", value, ir.Const(scale, "int32"), "int32")
            found = value if found is None else ir.Binary("+", found, value, "int32")
        assert found is not None, "a reduction has an index"
        return found

    @staticmethod
    def _extent(box: Box, index: IndexVar) -> int:
        lo, hi = box[index]
        return hi - lo
