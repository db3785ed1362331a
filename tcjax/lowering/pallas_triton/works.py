"""The work of one kernel: a nest or a search, or several sums over the same points."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product as combinations
from typing import Any, Final, Protocol

import jax
import jax.numpy as jnp

from ... import ir, transforms
from ...ir import Reducer
from ...planning.data.groups import Extrema, Group, KernelSums, Softmax, parts
from ...planning.data.nests import Nest, Operand
from ...planning.replanning import apart, statistic_of
from ...symbolic import Affine, AtLeastZero, IndexVar, Size
from ...transforms.widening import widened
from ..context import numeric
from ..elementwise import convert
from .blocks import SMALLEST_DOT, Blocks, block
from .domains import inequalities
from .exponentials import Exponentials, of_rows, relative, statistic
from .frames import Frame
from .loops import Dots, Part, Points, Running, Sweep, points
from .products import Product, as_product
from .reducers import State, across, finish, scalar
from .refusals import Unsupported, reducer_of
from .tile_values import evaluate
from .tilings import Ranges, Tiling, choose, of_group, orders
from .unrolling import written_out

Axes = tuple[IndexVar, ...]
# A result, the position of the tile in it, and its values there.
Found = tuple[int, Frame, jax.Array]

# Fewer columns than this are separate sums rather than a matrix product, most of which would be padding.
_FEWEST: Final = 8
# The maximum number of separate sums, and of columns of one product.
_BESIDE: Final = 16
_WIDEST: Final = 256
# The name of the exponentials in sums; no program uses such a name.
_WEIGHTS: Final = "p."


class Work(Protocol):
    """What one kernel computes.

    `numbers` are the results of its group that it computes, and `axes` those that all of them have.
    """

    @property
    def operands(self) -> tuple[Operand, ...]: ...
    @property
    def ranges(self) -> Ranges: ...
    @property
    def axes(self) -> Axes: ...
    @property
    def numbers(self) -> tuple[int, ...]: ...
    @property
    def results(self) -> tuple[Nest, ...]: ...
    @property
    def tiling(self) -> Tiling: ...
    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        """The expressions computed at a point."""
        ...

    def orders(self) -> dict[str, tuple[int, ...]]:
        """The order of the operands' axes in memory."""
        ...

    def dtypes(self) -> list[Any]:
        """The types of the stored values."""
        ...

    def sweep(self, part: Part | None) -> Sweep: ...
    def found(self, frame: Frame, states: tuple[State, ...]) -> Iterator[Found]:
        """The values that a program stores."""
        ...

    def finished(self, state: State) -> State:
        """The results, if programs store only parts of them."""
        ...


@dataclass(frozen=True, eq=False)
class Single:
    """One reduction: a nest, or a search whose value and number of `ties` are results too."""

    results: tuple[Nest, ...]
    reduce: ir.Reduce
    tiling: Tiling
    blocks: Blocks

    @staticmethod
    def of(results: tuple[Nest, ...], blocks: Blocks) -> "Single":
        nest = results[0]
        reduce = written_out(nest.reduce, nest.ranges)
        return Single(results, reduce, choose(nest, reduce, blocks), blocks)

    @property
    def nest(self) -> Nest:
        return self.results[0]

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.nest.operands

    @property
    def ranges(self) -> Ranges:
        return self.nest.ranges

    @property
    def axes(self) -> Axes:
        return self.nest.axes

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(range(len(self.results)))

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        return (self.reduce,)

    @property
    def running(self) -> Points | Dots:
        tiling = self.tiling
        rows = 1 if tiling.rows is None else tiling.tile[0]
        shape = () if tiling.rows is None and tiling.columns is None else (rows, tiling.tile[1])
        if tiling.product is not None:
            return Dots(self.reduce, tiling.product, shape)
        return Points.of(self.reduce, shape, counted=len(self.results) > 2)

    def orders(self) -> dict[str, tuple[int, ...]]:
        return orders(self.operands, (self.reduce,), None if self.tiling.product is not None else self.tiling.columns)

    def dtypes(self) -> list[Any]:
        shapes = jax.eval_shape(replace(self.running, shape=()).begin)
        return [one.dtype for one in (shapes if self.tiling.split > 1 else jax.eval_shape(self.finished, shapes))]

    def sweep(self, part: Part | None) -> Sweep:
        return Sweep.over(self.reduce, (self.running,), self.tiling.in_chunks(self.ranges, self.blocks), part)

    def found(self, frame: Frame, states: tuple[State, ...]) -> Iterator[Found]:
        (state,) = states
        if self.tiling.lanes:
            state = across(reducer_of(self.reduce), state, 1)
            frame = frame.without(1)
        stored = state if self.tiling.split > 1 else self.finished(state)
        return ((number, frame, value) for number, value in enumerate(stored))

    def finished(self, state: State) -> State:
        count = points(self.reduce.indices, self.ranges)
        value = finish(reducer_of(self.reduce), self.reduce.accumulate, state, count)
        # The position comes after its value, and before the number of ties.
        return (value, state[0], *state[2:])[: len(self.results)]


@dataclass(frozen=True, slots=True)
class Term:
    """``mask ? factor * sum : 0``, possibly negated; `product` is the sum as a matrix product."""

    reduce: ir.Reduce
    product: Product | None
    factor: ir.Expr | None = None
    negative: bool = False
    mask: ir.Expr | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """A sum of terms: a numbered result at `fixed` values of some axes and along at most one other."""

    result: int
    fixed: tuple[tuple[IndexVar, int], ...]
    along: IndexVar | None
    terms: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the same points: those of a bundle over one of its sides, or those of a softmax, with its statistics.

    Without a `softmax` each distinct sum has its own state.
    """

    group: KernelSums | Softmax
    numbers: tuple[int, ...]
    axes: Axes
    indices: Axes
    conditions: tuple[AtLeastZero, ...]
    columns: tuple[Columns, ...]
    scores: tuple[ir.Expr, ...]
    tiling: Tiling
    blocks: Blocks
    read: tuple[ir.Expr, ...]

    @property
    def operands(self) -> tuple[Operand, ...]:
        names = {access.tensor.name for expr in self.read for access in ir.accesses(expr)}
        return tuple(operand for operand in self.group.operands if operand.name in names)

    @property
    def ranges(self) -> Ranges:
        return self.group.ranges

    @property
    def results(self) -> tuple[Nest, ...]:
        return tuple(self.group.results[number] for number in self.numbers)

    @property
    def exprs(self) -> tuple[ir.Expr, ...]:
        return (*self.scores, *(term.reduce for one in self.columns for term in one.terms))

    def orders(self) -> dict[str, tuple[int, ...]]:
        dots = any(isinstance(one, Dots) for one in self.running.values())
        return orders(self.operands, self.exprs, None if dots else self.tiling.columns)

    @property
    def running(self) -> dict[ir.Reduce, Points | Dots]:
        rows, chunk = self.tiling.tile
        found: dict[ir.Reduce, Points | Dots] = {}
        for one in self.columns:
            for term in one.terms:
                if term.product is None:
                    found[term.reduce] = Points.of(term.reduce, (rows, chunk))
                else:
                    assert one.along is not None
                    width = _width(one.along, self.ranges)
                    found[term.reduce] = Dots(term.reduce, term.product, (rows, width), (one.along, width))
        return found

    def sweep(self, part: Part | None) -> Sweep:
        every: tuple[Running, ...] = tuple(self.running.values())
        if isinstance(self.group, Softmax):
            rows, chunk = self.tiling.tile
            shape = (rows, 1 if any(isinstance(one, Dots) for one in every) else chunk)
            scores, *guards = self.scores
            every = (Exponentials(self.indices, scores, tuple(guards), _weights(self.group), every, shape),)
        return Sweep(self.indices, self.conditions, every, self.tiling.in_chunks(self.ranges, self.blocks), part)

    def dtypes(self) -> list[Any]:
        return [
            numeric("float32" if d in ir.types.HALVES else d) for d in (one.reduce.accumulate for one in self.results)
        ]

    def found(self, frame: Frame, states: tuple[State, ...]) -> Iterator[Found]:
        frame = frame.without(1)
        softmax = self.group if isinstance(self.group, Softmax) else None
        state: State = ()
        exact: list[jax.Array] = []
        if softmax is not None:
            state = of_rows(states[0])
            for number, nest in enumerate(softmax.statistics):
                exact.append(convert(statistic(reducer_of(nest.reduce), state), nest.reduce.dtype))
                yield number, frame, exact[-1]
            states = tuple((one,) for one in state[3:])
        totals = {
            reduce: jnp.sum(total, 1, dtype=total.dtype, keepdims=True) if isinstance(one, Points) else total
            for (reduce, one), (total,) in zip(self.running.items(), states, strict=True)
        }
        for one in self.columns:
            value, at = self._value(one, totals, frame)
            if softmax is not None:
                number, dtype = statistic_of(softmax.results[one.result])
                value = relative(value, convert(exact[number], dtype), state)
            yield self.numbers.index(one.result), at, value

    def _value(self, one: Columns, totals: Mapping[ir.Reduce, jax.Array], frame: Frame) -> tuple[jax.Array, Frame]:
        for axis, value in one.fixed:
            frame = frame.at(axis, value)
        if one.along is not None:
            lo, hi = frame.ranges[one.along]
            width = _width(one.along, self.ranges)
            frame = frame.along(one.along, 1, lo, width, whole=hi - lo == width)
        found: jax.Array | None = None
        for term in one.terms:
            part = totals[term.reduce]
            if term.factor is not None:
                part = part * convert(evaluate(term.factor, frame), term.reduce.accumulate)
            if term.mask is not None:
                part = jnp.where(evaluate(term.mask, frame), part, scalar(0, part.dtype))
            if found is None:
                found = -part if term.negative else part
            else:
                found = found - part if term.negative else found + part
        assert found is not None
        return found, frame

    def finished(self, state: State) -> State:
        return state


def works(group: Group, blocks: Blocks) -> tuple[Work, ...]:
    """The kernels of a group. Raises `Unsupported`."""
    match group:
        case Nest():
            return (Single.of((group,), blocks),)
        case Extrema():
            return (Single.of(group.results, blocks),)
        case Softmax():
            return (_softmax(group, blocks),)
        case KernelSums():
            return _bundle(group, blocks)


def _width(index: IndexVar, ranges: Ranges) -> int:
    lo, hi = ranges[index]
    return block(hi - lo, _WIDEST, SMALLEST_DOT)


def _weights(softmax: Softmax) -> ir.Access:
    """The exponentials as the sums read them."""
    dtype = _scores(softmax).dtype
    axes = (*softmax.rows, *softmax.sums[0].reduce.indices)
    ranges = softmax.ranges
    shape = tuple(Size.of(ranges[axis][1] - ranges[axis][0]) for axis in axes)
    return ir.Access(
        ir.Tensor(_WEIGHTS, "float32" if dtype in ir.types.HALVES else dtype, shape), tuple(map(Affine.of, axes))
    )


def _scores(softmax: Softmax) -> ir.Expr:
    """The scores, in the type of the first sum."""
    return replace(softmax, sums=(_wide(softmax.sums[0]),)).scores


def _wide(nest: Nest) -> Nest:
    """The sum with its summand in the accumulating type."""
    reduce = nest.reduce
    return replace(nest, reduce=replace(reduce, body=widened(reduce.body, reduce.accumulate)))


def _softmax(softmax: Softmax, blocks: Blocks) -> Sums:
    ranges, read = softmax.ranges, _weights(softmax)
    scores, guards = _scores(softmax), ir.conjuncts(softmax.guard)
    wanted: list[tuple[int, list[Term]]] = []
    for number, nest in enumerate(softmax.sums, len(softmax.statistics)):
        call, weight = parts(_wide(nest))
        exponential = read if read.dtype == call.dtype else ir.Cast(read, call.dtype)
        body = exponential if weight is None else ir.Binary("*", exponential, weight, call.dtype)
        wanted.append((number, [Term(written_out(replace(nest.reduce, body=body), ranges), None)]))
    exprs = (written_out(replace(softmax.sums[0].reduce, body=scores), ranges).body, *guards)
    return _arranged(softmax, wanted, softmax.rows, inequalities(softmax.guard), exprs, blocks)


def _bundle(bundle: KernelSums, blocks: Blocks) -> tuple[Sums, ...]:
    found = apart(bundle)
    if found is None:
        raise Unsupported("the sums share no matrix")
    conditions = tuple(map(AtLeastZero, found.conditions))
    works: list[Sums] = []
    for side, other in (found.sides, found.sides[::-1]):
        wanted: list[tuple[int, list[Term]]] = []
        for number, nest in enumerate(bundle.sums):
            if not frozenset(side) <= frozenset(nest.reduce.indices):
                continue
            terms: list[Term] = []
            for term in found.terms[number]:
                guard, matrix = _guarded(found.matrices[term.matrix])
                body = matrix if term.column is None else ir.multiply([matrix, term.column])
                dtype = nest.reduce.accumulate
                reduce = ir.Reduce(Reducer.SUM, side, (), guard, body, None, dtype, dtype)
                terms.append(Term(written_out(reduce, bundle.ranges), None, term.factor, term.negative, term.mask))
            wanted.append((number, terms))
        if wanted:
            works.append(_arranged(bundle, wanted, (*found.batch, *other), conditions, (), blocks))
    return tuple(works)


def _guarded(matrix: ir.Expr) -> tuple[ir.Expr | None, ir.Expr]:
    """``guard ? matrix : 0`` split in two."""
    match matrix:
        case ir.Select(condition, then, ir.Const(0)):
            return condition, then
        case _:
            return None, matrix


def _arranged(
    group: KernelSums | Softmax,
    wanted: Sequence[tuple[int, list[Term]]],
    axes: Axes,
    conditions: tuple[AtLeastZero, ...],
    scores: tuple[ir.Expr, ...],
    blocks: Blocks,
) -> Sums:
    """The sums in a tile of the longest axis and the longest loop for which all of them can be computed in a tile."""
    ranges = group.ranges
    if not all(lo < hi for lo, hi in ranges.values()):
        raise Unsupported("there are no points")
    indices = wanted[0][1][0].reduce.indices
    refused: Unsupported | None = None
    for rows, loop in combinations(_longest(axes, ranges) or (None,), _longest(indices, ranges)):
        try:
            columns = tuple(
                one
                for number, terms in wanted
                for one in _columns(number, terms, group.results[number].axes, axes, (rows, loop), ranges)
            )
        except Unsupported as error:
            refused = refused or error
            continue
        products: list[int | None] = []
        for one in columns:
            width = None if one.along is None else _width(one.along, ranges)
            products += [width if term.product is not None else None for term in one.terms]
        tiling = of_group(rows, loop, products, ranges, blocks)
        order = (*(index for index in indices if index != loop), loop)
        numbers = tuple(number for number, _ in wanted)
        if isinstance(group, Softmax):
            numbers = tuple(range(len(group.results)))
        read = [expr for _, terms in wanted for term in terms for expr in (term.reduce, term.factor, term.mask)]
        every = (*scores, *(expr for expr in read if expr is not None))
        return Sums(group, numbers, axes, order, conditions, columns, scores, tiling, blocks, every)
    assert refused is not None
    raise refused


def _longest(indices: Axes, ranges: Ranges) -> Axes:
    return tuple(sorted(indices, key=lambda index: ranges[index][0] - ranges[index][1]))


def _columns(
    number: int,
    terms: list[Term],
    every: Axes,
    axes: Axes,
    dims: tuple[IndexVar | None, IndexVar],
    ranges: Ranges,
) -> list[Columns]:
    """A result as sums with at most one axis of their own each, which is that of a matrix product."""
    own = _longest(tuple(axis for axis in every if axis not in axes), ranges)
    wide = [axis for axis in own if _FEWEST <= ranges[axis][1] - ranges[axis][0] <= _WIDEST]
    for along in (*wide, None):
        beside = [axis for axis in own if axis != along]
        if points(beside, ranges) > _BESIDE:
            continue
        found: list[Columns] = []
        for values in combinations(*(range(*ranges[axis]) for axis in beside)):
            fixed = tuple(zip(beside, values, strict=True))
            parts = [_in_tile(term, dict(fixed), along, dims, ranges) for term in terms]
            found.append(Columns(number, fixed, along, tuple(part for part in parts if part is not None)))
        if all(len(one.terms) == len(terms) for one in found):
            return found
    raise Unsupported("a sum has axes of its own that no matrix product spans")


def _in_tile(
    term: Term,
    fixed: Mapping[IndexVar, int],
    along: IndexVar | None,
    dims: tuple[IndexVar | None, IndexVar],
    ranges: Ranges,
) -> Term | None:
    """The term at fixed values of axes; None if it must be a matrix product and is not one."""
    values = {axis: Affine.of(value) for axis, value in fixed.items()}

    def at(expr: ir.Expr | None) -> ir.Expr | None:
        return None if expr is None else transforms.substitute_expr(expr, values)

    reduce = at(term.reduce)
    assert isinstance(reduce, ir.Reduce)
    product = None
    if along is not None and along in ir.free_indices(reduce):
        rows, loop = dims
        lo, hi = ranges[loop]
        product = as_product(reduce, loop, rows, along, hi - lo)
        if product is None:
            return None
    return replace(term, reduce=reduce, product=product, factor=at(term.factor), mask=at(term.mask))


__all__ = ["Single", "Sums", "Work", "works"]
