"""Functions that move elements: take, rotate, ++, transpose and their like."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from .folds import wide
from .rules import Arrays, Operands, Rule, int_scalar, int_vector, numbers, vector
from .values import Operand, SacError, Shaped, promote, unify


def _leading(operands: Operands, what: str) -> tuple[tuple[int, ...], Shaped]:
    """The leading extents that the first operand names, and the array, the last operand; S of it is needed."""
    count = int_vector(operands[0], what)
    array = operands[-1].shaped()
    if count > array.rank:
        raise SacError("rank", f"{what} of {count} axes, the array has {array.rank}")
    return numbers(operands[0]), array


def _take(operands: Operands) -> Shaped:
    counts, array = _within(operands, "take")
    return array.over(tuple(abs(n) for n in counts) + array.shape[len(counts) :])


def _drop(operands: Operands) -> Shaped:
    counts, array = _within(operands, "drop")
    left = tuple(extent - abs(n) for n, extent in zip(counts, array.shape, strict=False))
    return array.over(left + array.shape[len(counts) :])


def _within(operands: Operands, what: str) -> tuple[tuple[int, ...], Shaped]:
    """The counts, not more than there is, and the array."""
    counts, array = _leading(operands, what)
    if any(abs(n) > extent for n, extent in zip(counts, array.shape, strict=False)):
        raise SacError("index", f"{what}({counts}) of {array.shape}")
    return counts, array


def _take_apl(operands: Operands) -> Shaped:
    counts, array = _leading(operands, "take_apl")
    return array.over(tuple(abs(n) for n in counts) + array.shape[len(counts) :])


def _drop_apl(operands: Operands) -> Shaped:
    counts, array = _leading(operands, "drop_apl")
    left = tuple(max(extent - abs(n), 0) for n, extent in zip(counts, array.shape, strict=False))
    return array.over(left + array.shape[len(counts) :])


def _run_take(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    ends = zip(vector(arrays[0]), arrays[1].shape, strict=False)
    return arrays[1][tuple(slice(0, n) if n >= 0 else slice(extent + n, extent) for n, extent in ends)]


def _run_drop(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    ends = zip(vector(arrays[0]), arrays[1].shape, strict=False)
    return arrays[1][tuple(slice(n, None) if n >= 0 else slice(0, max(extent + n, 0)) for n, extent in ends)]


def _tile(operands: Operands) -> Shaped:
    extents, array = _leading(operands, "tile")
    if int_vector(operands[1], "offset") != len(extents):
        raise SacError("rank", "tile: shape and offset of different lengths")
    if any(extent < 0 for extent in extents):
        raise SacError("shape", f"tile({extents})")
    return array.over(extents + array.shape[len(extents) :])


def _run_tile(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    extents, offsets, array = vector(arrays[0]), vector(arrays[1]), arrays[2]
    if any(o < 0 or o + n > e for n, o, e in zip(extents, offsets, array.shape, strict=False)):
        raise SacError("index", f"tile({extents}, {offsets}) of {array.shape}")
    return _padded(array, shaped.shape, offsets)


def _padded(array: np.ndarray, shape: tuple[int, ...], offsets: Sequence[int]) -> np.ndarray:
    """The box of `shape` at `offsets`, zero outside of the array."""
    result = np.zeros(shape, array.dtype)
    offsets = tuple(offsets) + (0,) * (array.ndim - len(offsets))
    for at in np.ndindex(shape):
        source = tuple(x + o for x, o in zip(at, offsets, strict=True))
        if all(0 <= x < extent for x, extent in zip(source, array.shape, strict=True)):
            result[at] = array[source]
    return result


def _run_take_apl(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    counts, array = vector(arrays[0]), arrays[1]
    return _padded(array, shaped.shape, [0 if n >= 0 else e + n for n, e in zip(counts, array.shape, strict=False)])


def _concatenate(first: bool) -> Callable[[Operands], Shaped]:
    def shape(operands: Operands) -> Shaped:
        left, right = (operand.shaped() for operand in operands)
        if not left.rank or not right.rank:
            raise SacError("rank", "++ of a scalar")
        # Of parts that differ in both, the types are told of first.
        whole = unify((left, right), "parts")
        axis = 0 if first else -1
        shapes = [list(left.shape), list(right.shape)]
        extent = shapes[0].pop(axis) + shapes[1].pop(axis)
        if shapes[0] != shapes[1]:
            raise SacError("shape", f"++ of {left.shape} and {right.shape}")
        extents = [extent, *shapes[0]] if first else [*shapes[0], extent]
        return whole.over(extents)

    return shape


def _reverse(operands: Operands) -> Shaped:
    if len(operands) == 2:
        int_scalar(operands[0], "axis")
    array = operands[-1].shaped()
    if not array.rank:
        raise SacError("rank", "reverse of a scalar")
    return array


def _axis(array: np.ndarray, rank: int) -> int:
    if not 0 <= int(array) < rank:
        raise SacError("rank", f"axis {array} of {rank}")
    return int(array)


def _run_reverse(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    return np.flip(arrays[-1], _axis(arrays[0], shaped.rank) if len(arrays) == 2 else 0)


def _rotate(operands: Operands) -> Shaped:
    array = operands[-1].shaped()
    if len(operands) == 3:
        int_scalar(operands[0], "axis")
        int_scalar(operands[1], "distance")
        if not array.rank:
            raise SacError("rank", "rotate of a scalar")
    elif int_vector(operands[0], "distances") > array.rank:
        raise SacError("rank", "more distances than axes")
    return array


def _run_rotate(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    if len(arrays) == 3:
        return np.roll(arrays[2], int(arrays[1]), _axis(arrays[0], shaped.rank))
    result = arrays[1]
    for axis, distance in enumerate(vector(arrays[0])):
        result = np.roll(result, distance, axis)
    return result


def _shift(operands: Operands) -> Shaped:
    int_scalar(operands[0], "axis")
    int_scalar(operands[1], "distance")
    fill, array = operands[2].shaped(), operands[3].shaped()
    if fill.rank:
        raise SacError("rank", "shift fills with a scalar")
    return promote((fill, array)).over(array.extents)


def _run_shift(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    axis, distance, fill, array = _axis(arrays[0], shaped.rank), int(arrays[1]), arrays[2], arrays[3]
    result = np.full(shaped.shape, fill, shaped.dtype)
    for at in np.ndindex(shaped.shape):
        source = at[axis] - distance
        if 0 <= source < shaped.shape[axis]:
            result[at] = array[(*at[:axis], source, *at[axis + 1 :])]
    return result


def _extents(operand: Operand, what: str) -> tuple[int, ...]:
    """An int vector that is a shape."""
    int_vector(operand, what)
    extents = numbers(operand)
    if any(extent < 0 for extent in extents):
        raise SacError("shape", f"{what} with shape {extents}")
    return extents


def _reshape(operands: Operands) -> Shaped:
    extents, array = _extents(operands[0], "reshape"), operands[1].shaped()
    if prod(extents) != prod(array.shape):
        raise SacError("shape", f"reshape({extents}) of {array.shape}")
    return array.over(extents)


def _genarray(operands: Operands) -> Shaped:
    cell = operands[1].shaped()
    return cell.over(_extents(operands[0], "genarray") + cell.shape)


def _iota(operands: Operands) -> Shaped:
    vector = operands[0].shaped().rank == 1
    extents = _extents(operands[0], "iota")
    return Shaped("int32", False, extents + ((len(extents),) if vector else ()))


def _run_iota(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    if shaped.rank == 1:
        return np.arange(shaped.shape[0])
    return np.moveaxis(np.indices(shaped.shape[:-1]), 0, -1)


def _modarray(operands: Operands) -> Shaped:
    array, cell = operands[0].shaped(), operands[2].shaped()
    length = int_vector(operands[1], "index")
    if length > array.rank:
        raise SacError("rank", "index longer than the rank")
    if cell.shape != array.shape[length:]:
        raise SacError("shape", f"modarray: {cell.shape} is not the shape of the cell")
    return unify((array, cell), "array and cell").over(array.shape)


def _run_modarray(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    result = arrays[0].astype(shaped.dtype)
    index = vector(arrays[1])
    if any(not 0 <= x < extent for x, extent in zip(index, shaped.shape, strict=False)):
        raise SacError("index", f"modarray at {index} of {shaped.shape}")
    result[index] = arrays[2]
    return result


def _where(operands: Operands) -> Shaped:
    condition, *branches = (operand.shaped() for operand in operands)
    if condition.kind != "bool":
        raise SacError("type", "where needs bools")
    for branch in branches:
        if branch.rank and branch.shape != condition.shape:
            raise SacError("shape", f"where: {branch.shape} under {condition.shape}")
    return promote(branches).over(condition.extents)


def _rsum(operands: Operands) -> Shaped:
    int_scalar(operands[0], "count of axes")
    (count,), array = numbers(operands[0]), operands[1].shaped()
    if not 0 <= count <= array.rank:
        raise SacError("rank", f"rsum over {count} axes of {array.rank}")
    if array.kind == "bool":
        raise SacError("type", "a sum of bools")
    return Shaped(array.scalar, False, array.shape[count:])


def _run_rsum(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    return np.sum(wide(arrays[1]), axis=tuple(range(int(arrays[0]))), dtype=wide(arrays[1]).dtype)


def _transpose(operands: Operands) -> Shaped:
    array = operands[0].shaped()
    return array.over(tuple(reversed(array.extents)))


STRUCTURE = {
    "take": Rule((2,), _take, _run_take),
    "drop": Rule((2,), _drop, _run_drop),
    "tile": Rule((3,), _tile, _run_tile),
    "take_apl": Rule((2,), _take_apl, _run_take_apl),
    "drop_apl": Rule((2,), _drop_apl, _run_drop),
    "tile_apl": Rule((3,), _tile, lambda a, t: _padded(a[2], t.shape, vector(a[1]))),
    "++": Rule((2,), _concatenate(first=True), lambda a, t: np.concatenate(a, 0)),
    "++^": Rule((2,), _concatenate(first=False), lambda a, t: np.concatenate(a, -1)),
    "reverse": Rule((1, 2), _reverse, _run_reverse),
    "rotate": Rule((2, 3), _rotate, _run_rotate),
    "shift": Rule((4,), _shift, _run_shift),
    "transpose": Rule((1,), _transpose, lambda a, t: np.transpose(a[0])),
    "reshape": Rule((2,), _reshape, lambda a, t: np.reshape(a[1], t.shape)),
    "genarray": Rule((2,), _genarray, lambda a, t: np.broadcast_to(a[1], t.shape)),
    "iota": Rule((1,), _iota, _run_iota),
    "modarray": Rule((3,), _modarray, _run_modarray),
    "where": Rule((3,), _where, lambda a, t: np.where(a[0], a[1].astype(t.dtype), a[2].astype(t.dtype))),
    "rsum": Rule((2,), _rsum, _run_rsum),
}
