"""One nest as one kernel: a grid of tiles, the loops of the reduction in each, and what joins the shares of a tile."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas
from jax.experimental.pallas import triton

from ... import ir
from ...planning.data.nests import Nest
from ...symbolic import Facts
from ..context import numeric
from ..elementwise import convert
from .blocks import USUAL, Blocks
from .calls import probe, quiet
from .frames import Frame, Integer, Machine, minimum
from .loops import Part, Sweep
from .reducers import State, across, begin, finish, joined, scalar
from .refusals import reducer_of, refuse
from .tilings import Tiling, choose, grid_of, orders, others
from .unrolling import written_out

Run = Callable[[Mapping[str, jax.Array]], jax.Array]
Precision = lax.Precision | str | None


class Emitter(Protocol):
    """Makes kernels of nests; raises `Unsupported` for what its target cannot do."""

    def __call__(
        self, nest: Nest, tiles: Blocks = USUAL, interpret: bool = False, precision: Precision = None
    ) -> Run: ...


@functools.lru_cache(maxsize=1024)
def emit(nest: Nest, tiles: Blocks = USUAL, interpret: bool = False, precision: Precision = None) -> Run:
    """A function of the operands by name that computes the nest in a Triton kernel, in `reduce.dtype`.

    Matrix products have JAX's default precision unless `precision` says otherwise, as those of XLA have. With
    `interpret` the kernel runs on any device, slowly. Raises `Unsupported`.
    """
    refuse(nest)
    reduce = written_out(nest)
    if not prod(nest.shape) or any(nest.ranges[index][1] <= nest.ranges[index][0] for index in reduce.indices):
        return functools.partial(_nothing, nest)
    wanted = None if precision is None else lax.Precision(precision)
    tiling = choose(nest, reduce, tiles)
    kernel = _Kernel(nest, reduce, tiling, orders(nest, reduce, tiling), tiles, wanted, interpret)
    if not interpret:
        avals = {o.name: jax.ShapeDtypeStruct(o.shape, numeric(o.dtype)) for o in nest.operands}
        probe(kernel, avals)
    return kernel


TRITON: Emitter = emit


def _nothing(nest: Nest, arrays: Mapping[str, jax.Array]) -> jax.Array:
    """The reduction over no points."""
    return jnp.full(nest.shape, scalar(reducer_of(nest.reduce).empty(nest.reduce.dtype), numeric(nest.reduce.dtype)))


@dataclass(frozen=True, eq=False)
class _Kernel:
    nest: Nest
    reduce: ir.Reduce
    tiling: Tiling
    orders: Mapping[str, tuple[int, ...]]
    blocks: Blocks
    precision: lax.Precision | None
    interpret: bool

    def __call__(self, arrays: Mapping[str, jax.Array]) -> jax.Array:
        operands = []
        for operand in self.nest.operands:
            array = arrays[operand.name]
            assert array.shape == operand.shape, f"{operand.name}: {array.shape} for {operand.shape}"
            ordered = jnp.transpose(array.astype(numeric(operand.dtype)), self.orders[operand.name])
            operands.append(jnp.reshape(ordered, (-1,)))
        call = self._call if self.interpret else quiet(self._call)
        parts = tuple(jnp.reshape(part, (self.tiling.split, *self.nest.shape)) for part in call(*operands))
        if self.tiling.split == 1:
            (value,) = (part[0] for part in parts)
        else:
            value = self._finished(joined(reducer_of(self.reduce), parts))
        return convert(value, self.reduce.dtype)

    def _call(self, *operands: jax.Array) -> tuple[jax.Array, ...]:
        size = prod(self.nest.shape) * self.tiling.split
        # Under `jax.shard_map` the result varies over the axes of the mesh that the operands vary over.
        varying = jax.typeof(operands[0]).manual_axis_type if operands else None
        out = [jax.ShapeDtypeStruct((size,), dtype, manual_axis_type=varying) for dtype in self._dtypes()]
        warps = self.tiling.warps(self.reduce, self.nest.ranges, self.blocks)
        return tuple(
            pallas.pallas_call(
                self._run,
                out_shape=out,
                grid=grid_of(self.tiling, self.nest),
                compiler_params=triton.CompilerParams(num_warps=warps, num_stages=self.blocks.stages),
                interpret=self.interpret,
                name=f"tcjax_{reducer_of(self.reduce).value}",
            )(*operands)
        )

    def _dtypes(self) -> list[Any]:
        """The types of what a program stores: the result, or the parts of a state that another program continues."""
        counted = Sweep.over(self.reduce, ()).counted
        shapes = jax.eval_shape(lambda: begin(reducer_of(self.reduce), self.reduce.accumulate, (), counted=counted))
        if self.tiling.split > 1:
            return [part.dtype for part in shapes]
        return [jax.eval_shape(self._finished, shapes).dtype]

    def _finished(self, state: State) -> jax.Array:
        ranges = self.nest.ranges
        points = prod(ranges[index][1] - ranges[index][0] for index in self.reduce.indices)
        return finish(reducer_of(self.reduce), self.reduce.accumulate, state, points)

    def _run(self, *references: Any) -> None:
        """The program of one tile."""
        nest, tiling = self.nest, self.tiling
        given = len(nest.operands)
        names = (operand.name for operand in nest.operands)
        number, share = self._identity()
        machine = Machine(
            dict(zip(names, references[:given], strict=True)),
            {operand.name: operand for operand in nest.operands},
            self.orders,
            nest.ranges,
            Facts.over(nest.ranges),
            self.blocks,
            self.precision,
            share * 0,
            not self.interpret,
        )
        frame = self._frame(Frame(machine), number)
        state = self._sweep(frame, share).run(frame)
        if tiling.lanes:
            state = across(reducer_of(self.reduce), state, 1)
            frame = frame.without(1)
        results = state if tiling.split > 1 else (self._finished(state),)
        self._store(frame, share, results, references[given:])

    def _identity(self) -> tuple[list[jax.Array], jax.Array]:
        """The number of the program along each part of the grid, and that of its share."""
        ids = [pallas.program_id(axis) for axis in range(len(grid_of(self.tiling, self.nest)))]
        return ids[:-1], ids[-1]

    def _frame(self, frame: Frame, number: list[jax.Array]) -> Frame:
        tiling, ranges = self.tiling, self.nest.ranges
        dims = (tiling.rows, None if tiling.lanes else tiling.columns)
        for dimension, index in enumerate(dims):
            if index is not None:
                lo, hi = ranges[index]
                extent = tiling.tile[dimension]
                start = lo + number[dimension] * extent
                frame = frame.along(index, dimension, start, extent, whole=(hi - lo) % extent == 0)
        for axis, place in zip(others(tiling, self.nest), number[2:], strict=True):
            frame = frame.at(axis, ranges[axis][0] + place)
        return frame

    def _sweep(self, frame: Frame, share: jax.Array) -> Sweep:
        tiling = self.tiling
        lanes = (tiling.columns, tiling.tile[1]) if tiling.lanes and tiling.columns is not None else None
        rows = 1 if tiling.rows is None else tiling.tile[0]
        shape = () if tiling.rows is None and tiling.columns is None else (rows, tiling.tile[1])
        part = None
        if tiling.split > 1:
            lo, hi = self.nest.ranges[tiling.shared]
            first: Integer = lo + share * tiling.share
            part = Part(tiling.shared, first, minimum(first + tiling.share, hi))
        return Sweep.over(self.reduce, shape, tiling.product, lanes, part)

    def _store(self, frame: Frame, share: jax.Array, results: State, references: tuple[Any, ...]) -> None:
        """Writes what is inside: a lane beyond an axis would write an element of the next row."""
        offset: Integer = share
        for axis, extent in zip(self.nest.axes, self.nest.shape, strict=True):
            offset = offset * extent + (frame.values[axis] - frame.ranges[axis][0])
        mask = frame.mask(self.nest.axes)
        shape = np.shape(offset)
        for reference, value in zip(references, results, strict=True):
            value = jnp.broadcast_to(value.reshape(shape) if value.size == prod(shape) else value, shape)
            here = None if mask is None else jnp.broadcast_to(mask, shape)
            triton.store(reference.at[offset], value.astype(reference.dtype), mask=here)
