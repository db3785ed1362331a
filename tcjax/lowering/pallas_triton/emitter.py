"""A group of reductions as kernels: a grid of tiles, the loops in each, and the combination of shares."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas
from jax.experimental.pallas import triton

from ...planning.data.groups import Group
from ...planning.data.nests import Nest
from ...symbolic import Facts
from ..context import numeric
from ..elementwise import convert
from .blocks import USUAL, Blocks
from .calls import probe, quiet
from .frames import Frame, Integer, Machine, minimum
from .loops import Part
from .reducers import joined, scalar
from .refusals import reducer_of, refuse
from .tilings import Tiling, grid_of, others
from .works import Work, works

Run = Callable[[Mapping[str, jax.Array]], jax.Array]
Runs = Callable[[Mapping[str, jax.Array]], Sequence[jax.Array]]
Precision = lax.Precision | str | None


class Emitter(Protocol):
    """Makes kernels of groups of reductions; raises `Unsupported` for those that its target cannot do."""

    def __call__(
        self, group: Group, tiles: Blocks = USUAL, interpret: bool = False, precision: Precision = None
    ) -> Runs: ...


@functools.lru_cache(maxsize=1024)
def emit_group(group: Group, tiles: Blocks = USUAL, interpret: bool = False, precision: Precision = None) -> Runs:
    """A function of the operands by name that computes the results of a group in Triton kernels.

    A nest, a search or a softmax is one kernel, a bundle one for each of its sides. Matrix products have JAX's default
    precision unless `precision` says otherwise, like those of XLA. With `interpret` the kernels run on any device,
    slowly. Raises `Unsupported`.
    """
    for nest in group.results:
        refuse(nest)
    if not all(prod(nest.shape) for nest in group.results) or _is_empty(group):
        return functools.partial(_nothing, group.results)
    wanted = None if precision is None else lax.Precision(precision)
    kernels = tuple(_Kernel(work, work.orders(), tiles, wanted, interpret) for work in works(group, tiles))
    if not interpret:
        for kernel in kernels:
            probe(kernel.run, {o.name: jax.ShapeDtypeStruct(o.shape, numeric(o.dtype)) for o in kernel.work.operands})
    return _Kernels(kernels, len(group.results))


@functools.lru_cache(maxsize=1024)
def emit(nest: Nest, tiles: Blocks = USUAL, interpret: bool = False, precision: Precision = None) -> Run:
    """A function of the operands by name that computes the nest in a Triton kernel, like `emit_group` for a group."""
    run = emit_group(nest, tiles, interpret, precision)
    return lambda arrays: run(arrays)[0]


TRITON: Emitter = emit_group


def _is_empty(group: Group) -> bool:
    """Whether the reductions are over no points."""
    ranges = group.ranges
    return any(ranges[index][1] <= ranges[index][0] for nest in group.results for index in nest.reduce.indices)


def _nothing(results: Sequence[Nest], arrays: Mapping[str, jax.Array]) -> list[jax.Array]:
    """The results of reductions over no points."""
    kinds = [(nest, numeric(nest.reduce.dtype)) for nest in results]
    return [
        jnp.full(nest.shape, scalar(reducer_of(nest.reduce).empty(nest.reduce.dtype), kind), kind)
        for nest, kind in kinds
    ]


@dataclass(frozen=True, eq=False)
class _Kernels:
    """The kernels of a group with `results` results."""

    kernels: tuple["_Kernel", ...]
    results: int

    def __call__(self, arrays: Mapping[str, jax.Array]) -> list[jax.Array]:
        found: dict[int, jax.Array] = {}
        for kernel in self.kernels:
            found |= zip(kernel.work.numbers, kernel.run(arrays), strict=True)
        return [found[number] for number in range(self.results)]


@dataclass(frozen=True, eq=False)
class _Kernel:
    work: Work
    orders: Mapping[str, tuple[int, ...]]
    blocks: Blocks
    precision: lax.Precision | None
    interpret: bool

    @property
    def tiling(self) -> Tiling:
        return self.work.tiling

    @property
    def grid(self) -> tuple[int, ...]:
        return grid_of(self.tiling, self.work.axes, self.work.ranges)

    def run(self, arrays: Mapping[str, jax.Array]) -> list[jax.Array]:
        """The results, in the types of their reductions."""
        operands = []
        for operand in self.work.operands:
            array = arrays[operand.name]
            assert array.shape == operand.shape, f"{operand.name}: {array.shape} for {operand.shape}"
            ordered = jnp.transpose(array.astype(numeric(operand.dtype)), self.orders[operand.name])
            operands.append(jnp.reshape(ordered, (-1,)))
        call = self._call if self.interpret else quiet(self._call)
        found = call(*operands)
        results = self.work.results
        if self.tiling.split > 1:
            # Parts of one state, with the shape of the result.
            split = (self.tiling.split, *results[0].shape)
            state = joined(reducer_of(results[0].reduce), tuple(jnp.reshape(part, split) for part in found))
            found = self.work.finished(state)
        return [
            convert(jnp.reshape(value, nest.shape), nest.reduce.dtype)
            for value, nest in zip(found, results, strict=True)
        ]

    def _call(self, *operands: jax.Array) -> tuple[jax.Array, ...]:
        dtypes = self.work.dtypes()
        # Under `jax.shard_map` the result varies over the same mesh axes as the operands.
        varying = jax.typeof(operands[0]).manual_axis_type if operands else None
        sizes = [prod(self._stored(number).shape) * self.tiling.split for number in range(len(dtypes))]
        out = [
            jax.ShapeDtypeStruct((size,), dtype, manual_axis_type=varying)
            for size, dtype in zip(sizes, dtypes, strict=True)
        ]
        work = self.work
        warps = self.tiling.warps(work.exprs, work.ranges, self.blocks)
        return tuple(
            pallas.pallas_call(
                self._run,
                out_shape=out,
                grid=self.grid,
                compiler_params=triton.CompilerParams(num_warps=warps, num_stages=self.blocks.stages),
                interpret=self.interpret,
                name=f"tcjax_{'_'.join(dict.fromkeys(nest.reduce.reducer.value for nest in work.results))}",
            )(*operands)
        )

    def _stored(self, number: int) -> Nest:
        """The result whose axes an array stored by the programs has."""
        return self.work.results[0 if self.tiling.split > 1 else number]

    def _run(self, *references: Any) -> None:
        """The program of one tile."""
        work, tiling = self.work, self.tiling
        operands = work.operands
        names = (operand.name for operand in operands)
        number, share = self._identity()
        machine = Machine(
            dict(zip(names, references[: len(operands)], strict=True)),
            {operand.name: operand for operand in operands},
            self.orders,
            work.ranges,
            Facts.over(work.ranges),
            self.blocks,
            self.precision,
            share * 0,
            not self.interpret,
        )
        frame = self._frame(Frame(machine), number)
        part = None
        if tiling.split > 1:
            lo, hi = work.ranges[tiling.shared]
            first: Integer = lo + share * tiling.share
            part = Part(tiling.shared, first, minimum(first + tiling.share, hi))
        for place, at, value in work.found(frame, work.sweep(part).run(frame)):
            self._store(self._stored(place), at, share, value, references[len(operands) + place])

    def _identity(self) -> tuple[list[jax.Array], jax.Array]:
        """The program's number along each dimension of the grid, and the number of its share."""
        ids = [pallas.program_id(axis) for axis in range(len(self.grid))]
        return ids[:-1], ids[-1]

    def _frame(self, frame: Frame, number: list[jax.Array]) -> Frame:
        tiling, ranges = self.tiling, self.work.ranges
        dims = (tiling.rows, None if tiling.lanes else tiling.columns)
        for dimension, index in enumerate(dims):
            if index is not None:
                lo, hi = ranges[index]
                extent = tiling.tile[dimension]
                start = lo + number[dimension] * extent
                frame = frame.along(index, dimension, start, extent, whole=(hi - lo) % extent == 0)
        for axis, place in zip(others(tiling, self.work.axes), number[2:], strict=True):
            frame = frame.at(axis, ranges[axis][0] + place)
        return frame

    def _store(self, nest: Nest, frame: Frame, share: jax.Array, value: jax.Array, reference: Any) -> None:
        """Writes only the lanes inside: a lane beyond an axis would write an element of the next row."""
        offset: Integer = share
        for axis, extent in zip(nest.axes, nest.shape, strict=True):
            offset = offset * extent + (frame.values[axis] - frame.ranges[axis][0])
        mask = frame.mask(nest.axes)
        shape = np.shape(offset)
        value = jnp.broadcast_to(value.reshape(shape) if value.size == prod(shape) else value, shape)
        here = None if mask is None else jnp.broadcast_to(mask, shape)
        triton.store(reference.at[offset], value.astype(reference.dtype), mask=here)
