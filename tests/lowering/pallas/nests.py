"""Programs of one statement as nests, with the arguments that they are run on."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import tcjax
from tcjax import ir, ranges, transforms
from tcjax.planning.data.nests import Nest, Operand
from tcjax.symbolic import Box

POSITIONS = (ir.Reducer.ARGMIN, ir.Reducer.ARGMAX)


def nest_of(kernel: tcjax.Kernel, *arrays: Any) -> Nest:
    """The only statement of a kernel, for arguments of these shapes, as a nest."""
    call, _ = kernel._call(arrays, {})
    bound = kernel._compiler.bound(call)
    (statement,), (box,) = bound.function.statements, bound.boxes
    assert isinstance(statement, (ir.Define, ir.Accumulate))
    statement = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
    axes = tuple(index.bare for index in statement.indices)
    assert None not in axes
    if isinstance(statement, ir.Define):
        assert isinstance(statement.value, ir.Reduce) and statement.domain.guard is None
        reduce = statement.value
    else:
        dtype = "int32" if statement.reducer in POSITIONS else statement.accumulate
        guard, value = statement.domain.guard, statement.value
        reduce = ir.Reduce(statement.reducer, statement.reduction, (), guard, value, None, statement.accumulate, dtype)
    return nest_from(reduce, tuple(axis for axis in axes if axis is not None), box, bound)


def nest_from(reduce: ir.Reduce, axes: Any, box: Box, bound: ranges.Bound) -> Nest:
    names = dict.fromkeys(access.tensor.name for access in ir.accesses(reduce))
    dtypes = {access.tensor.name: access.dtype for access in ir.accesses(reduce)}
    operands = (Operand(name, dtypes[name], bound.shapes[name], bound.origins[name]) for name in names)
    return Nest(reduce, axes, tuple((index, lo, hi) for index, (lo, hi) in box.items()), tuple(operands))


def arrays_of(kernel: tcjax.Kernel, *arrays: Any) -> dict[str, np.ndarray]:
    """The arguments by the names of the parameters."""
    return {p.name: np.asarray(array) for p, array in zip(kernel.ir(*arrays).parameters, arrays, strict=True)}


@dataclass(frozen=True)
class Random:
    """Arrays of one seed."""

    seed: int = 0

    def floats(self, *shape: int, dtype: str = "float32") -> np.ndarray:
        return np.random.default_rng(self.seed + sum(shape)).standard_normal(shape).astype(dtype)
