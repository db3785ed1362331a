"""The functions and operators of SaC: for each how the shape follows (the S column of section 1.5), and its values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import scipy.special

from .values import Operand, SacError, Shaped, Value, promote, unify, value

Operands = Sequence[Operand]
Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Rule:
    """`shape` gives type and shape from the operands, `compute` the elements from theirs and the result's type.

    `meet` is the type to which the operands are cast before. `fold`: the shape of the argument is not needed, so it
    may hang on an index.
    """

    arities: tuple[int, ...]
    shape: Callable[[Operands], Shaped]
    compute: Callable[[Arrays, Shaped], np.ndarray]
    meet: Callable[[Sequence[Shaped]], Shaped] | None = None
    fold: bool = False


def call(name: str, rule: Rule, operands: Operands) -> Operand:
    """The call of a function or operator of the library."""
    if len(operands) not in rule.arities:
        raise SacError("rank", f"{name} takes {rule.arities} arguments")

    def shaped() -> Shaped:
        # Types are looked at even where the shape needs nothing of the operand.
        for operand in operands:
            operand.shaped()
        return rule.shape(operands)

    def run() -> Value:
        values = [operand.value() for operand in operands]
        result = shaped()
        arrays = [v.data for v in values]
        with np.errstate(all="ignore"):
            if rule.meet:
                dtype = rule.meet([v.shaped for v in values]).dtype
                arrays = [array.astype(dtype) for array in arrays]
            data = np.asarray(rule.compute(arrays, result))
        assert data.shape == result.shape, f"{name}: {data.shape} is not {result.shape}"
        return value(data, result, frozenset().union(*(v.taint for v in values)))

    return Operand(shaped, run)


# ---------------------------------------------------------------- one element at a time


def elementwise_extents(shapes: Sequence[Shaped]) -> tuple[int | None, ...]:
    """Equal shapes, or scalars beside them."""
    arrays = [shaped for shaped in shapes if shaped.rank]
    if len(arrays) < 2:
        return arrays[0].extents if arrays else ()
    if len({shaped.shape for shaped in arrays}) > 1:
        raise SacError("shape", f"element-wise on {[shaped.shape for shaped in arrays]}")
    return arrays[0].shape


def elementwise(
    function: Callable[..., np.ndarray], kinds: str, result: str = "same", arity: int = 1, one_kind: bool = False
) -> Rule:
    """A scalar function on equal shapes and scalars; `kinds` are allowed, `result` is same, bool or float."""

    def meet(shapes: Sequence[Shaped]) -> Shaped:
        if any(shaped.kind not in kinds.split() for shaped in shapes):
            raise SacError("type", f"{[shaped.scalar for shaped in shapes]} where {kinds} is needed")
        met = unify(shapes, "operands") if one_kind else promote(shapes)
        return promote([met, Shaped("float32", False, ())]) if result == "float" and met.kind == "int" else met

    def shape(operands: Operands) -> Shaped:
        shapes = [operand.shaped() for operand in operands]
        met = meet(shapes)
        return (Shaped("bool", False, ()) if result == "bool" else met).over(elementwise_extents(shapes))

    return Rule((arity,), shape, lambda arrays, shaped: function(*arrays), meet)


def _quotient(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if left.dtype.kind not in "iu":
        return left / right
    # C: towards zero. What a division by zero gives is nobody's business.
    safe = np.where(right == 0, np.ones_like(right), right)
    return (left - np.fmod(left, safe)) // safe


def _remainder(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.fmod(left, np.where(right == 0, np.ones_like(right), right) if left.dtype.kind in "iu" else right)


NUMBERS, REALS = "int float complex", "int float"

BINARY = {
    "+": elementwise(np.add, NUMBERS, arity=2),
    "-": elementwise(np.subtract, NUMBERS, arity=2),
    "*": elementwise(np.multiply, NUMBERS, arity=2),
    "/": elementwise(_quotient, NUMBERS, arity=2),
    "%": elementwise(_remainder, REALS, arity=2),
    "==": elementwise(np.equal, "bool int float complex", "bool", 2),
    "!=": elementwise(np.not_equal, "bool int float complex", "bool", 2),
    "<": elementwise(np.less, REALS, "bool", 2),
    "<=": elementwise(np.less_equal, REALS, "bool", 2),
    ">": elementwise(np.greater, REALS, "bool", 2),
    ">=": elementwise(np.greater_equal, REALS, "bool", 2),
    "&": elementwise(np.bitwise_and, "bool int", arity=2, one_kind=True),
    "|": elementwise(np.bitwise_or, "bool int", arity=2, one_kind=True),
    "^": elementwise(np.bitwise_xor, "bool int", arity=2, one_kind=True),
    "<<": elementwise(np.left_shift, "int", arity=2),
    ">>": elementwise(np.right_shift, "int", arity=2),
}
UNARY = {
    "-": elementwise(np.negative, NUMBERS),
    "+": elementwise(lambda a: a, NUMBERS),
    "!": elementwise(np.logical_not, "bool"),
    "~": elementwise(np.invert, "bool int"),
}
SCALAR_FUNCTIONS = {
    "abs": elementwise(np.abs, REALS),
    "min": elementwise(np.minimum, REALS, arity=2),
    "max": elementwise(np.maximum, REALS, arity=2),
    "mod": elementwise(lambda a, b: np.mod(a, np.where(b == 0, np.ones_like(b), b)), REALS, arity=2),
    "sign": elementwise(np.sign, REALS),
    "relu": elementwise(lambda a: np.maximum(a, np.zeros_like(a)), REALS),
    "pow": elementwise(np.power, REALS, "float", 2),
    "sigmoid": elementwise(scipy.special.expit, REALS, "float"),
    "erf": elementwise(scipy.special.erf, REALS, "float"),
    **{
        name: elementwise(getattr(np, name), REALS, "float")
        for name in "exp log sqrt tanh sin cos tan sinh cosh exp2 log2 log10 log1p expm1 floor ceil".split()
    },
}


# ---------------------------------------------------------------- what arguments must be


def int_vector(operand: Operand, what: str) -> int:
    """The length of an int vector; a scalar int counts as a vector of one."""
    shaped = operand.shaped()
    if shaped.kind != "int" or shaped.rank > 1:
        raise SacError("type", f"{what} must be an int vector")
    return shaped.shape[0] if shaped.rank else 1


def numbers(operand: Operand) -> tuple[int, ...]:
    """The elements of an int vector or scalar that decides a shape."""
    return tuple(int(n) for n in operand.demand().data.reshape(-1))


def int_scalar(operand: Operand, what: str) -> None:
    shaped = operand.shaped()
    if shaped.kind != "int":
        raise SacError("type", f"{what} must be an int")
    if shaped.rank:
        raise SacError("rank", f"{what} must be a scalar")


def _vector(array: np.ndarray) -> tuple[int, ...]:
    return tuple(int(n) for n in array.reshape(-1))


# ---------------------------------------------------------------- folds


def _fold(compute: Callable[[np.ndarray, Shaped], np.ndarray | float], kinds: str, result: str = "same") -> Rule:
    def shape(operands: Operands) -> Shaped:
        shaped = operands[0].shaped()
        if shaped.kind not in kinds.split():
            raise SacError("type", f"a fold of {shaped.scalar}")
        scalar = {"bool": "bool", "int": "int32"}.get(result, shaped.scalar)
        return Shaped("float32" if result == "float" and shaped.kind == "int" else scalar, False, ())

    return Rule((1,), shape, lambda arrays, shaped: np.asarray(compute(arrays[0], shaped)), fold=True)


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype({"f": "float64", "c": "complex128"}.get(array.dtype.kind, array.dtype))


def _extreme(array: np.ndarray, shaped: Shaped, largest: bool) -> np.ndarray | float:
    dtype = shaped.dtype
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        empty = limits.min if largest else limits.max
    else:
        empty = -np.inf if largest else np.inf
    if not array.size:
        return empty
    return np.max(array) if largest else np.min(array)


def _log_sum_exp(array: np.ndarray) -> float:
    return float(scipy.special.logsumexp(array.astype("float64"))) if array.size else -np.inf


FOLDS = {
    "sum": _fold(lambda a, t: np.sum(_wide(a), dtype=_wide(a).dtype), NUMBERS),
    "prod": _fold(lambda a, t: np.prod(_wide(a), dtype=_wide(a).dtype), NUMBERS),
    "minval": _fold(lambda a, t: _extreme(a, t, largest=False), REALS),
    "maxval": _fold(lambda a, t: _extreme(a, t, largest=True), REALS),
    "any": _fold(lambda a, t: np.any(a), "bool", "bool"),
    "all": _fold(lambda a, t: np.all(a), "bool", "bool"),
    "mean": _fold(lambda a, t: np.mean(a.astype("float64")) if a.size else np.nan, REALS, "float"),
    "logsumexp": _fold(lambda a, t: _log_sum_exp(a), REALS, "float"),
    "argmin": _fold(lambda a, t: np.argmin(a) if a.size else 0, REALS, "int"),
    "argmax": _fold(lambda a, t: np.argmax(a) if a.size else 0, REALS, "int"),
}


# ---------------------------------------------------------------- structure


def _leading(operands: Operands, what: str) -> tuple[tuple[int, ...], Shaped]:
    """The leading extents that the first operand names, and the array, the last operand; S of it is needed."""
    count = int_vector(operands[0], what)
    array = operands[-1].shaped()
    if count > array.rank:
        raise SacError("rank", f"{what} of {count} axes, the array has {array.rank}")
    return numbers(operands[0]), array


def _take(operands: Operands) -> Shaped:
    counts, array = _leading(operands, "take")
    return array.over(tuple(abs(n) for n in counts) + array.shape[len(counts) :])


def _run_take(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    counts, array = _vector(arrays[0]), arrays[1]
    if any(abs(n) > extent for n, extent in zip(counts, array.shape, strict=False)):
        raise SacError("index", f"take({counts}) of {array.shape}")
    return array[tuple(slice(0, n) if n >= 0 else slice(e + n, e) for n, e in zip(counts, array.shape, strict=False))]


def _drop(operands: Operands) -> Shaped:
    counts, array = _leading(operands, "drop")
    # More than there is: the mistake is found where it runs; until then nothing is left.
    left = tuple(max(extent - abs(n), 0) for n, extent in zip(counts, array.shape, strict=False))
    return array.over(left + array.shape[len(counts) :])


def _run_drop(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    counts, array = _vector(arrays[0]), arrays[1]
    if any(abs(n) > extent for n, extent in zip(counts, array.shape, strict=False)):
        raise SacError("index", f"drop({counts}) of {array.shape}")
    return _run_drop_apl(arrays, shaped)


def _run_drop_apl(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    counts, array = _vector(arrays[0]), arrays[1]
    return array[
        tuple(slice(n, None) if n >= 0 else slice(0, max(e + n, 0)) for n, e in zip(counts, array.shape, strict=False))
    ]


def _tile(operands: Operands) -> Shaped:
    extents, array = _leading(operands, "tile")
    if int_vector(operands[1], "offset") != len(extents):
        raise SacError("rank", "tile: shape and offset of different lengths")
    if any(extent < 0 for extent in extents):
        raise SacError("shape", f"tile({extents})")
    return array.over(extents + array.shape[len(extents) :])


def _run_tile(arrays: Arrays, shaped: Shaped) -> np.ndarray:
    extents, offsets, array = _vector(arrays[0]), _vector(arrays[1]), arrays[2]
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
    counts, array = _vector(arrays[0]), arrays[1]
    return _padded(array, shaped.shape, [0 if n >= 0 else e + n for n, e in zip(counts, array.shape, strict=False)])


def _concatenate(first: bool) -> Callable[[Operands], Shaped]:
    def shape(operands: Operands) -> Shaped:
        left, right = (operand.shaped() for operand in operands)
        if not left.rank or not right.rank:
            raise SacError("rank", "++ of a scalar")
        axis = 0 if first else -1
        shapes = [list(left.shape), list(right.shape)]
        extent = shapes[0].pop(axis) + shapes[1].pop(axis)
        if shapes[0] != shapes[1]:
            raise SacError("shape", f"++ of {left.shape} and {right.shape}")
        extents = [extent, *shapes[0]] if first else [*shapes[0], extent]
        return unify((left, right), "parts").over(extents)

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
    for axis, distance in enumerate(_vector(arrays[0])):
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
            result[at] = array[at[:axis] + (source,) + at[axis + 1 :]]
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
    index = _vector(arrays[1])
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
    return np.sum(_wide(arrays[1]), axis=tuple(range(int(arrays[0]))), dtype=_wide(arrays[1]).dtype)


def _transpose(operands: Operands) -> Shaped:
    array = operands[0].shaped()
    return array.over(tuple(reversed(array.extents)))


STRUCTURE = {
    "take": Rule((2,), _take, _run_take),
    "drop": Rule((2,), _drop, _run_drop),
    "tile": Rule((3,), _tile, _run_tile),
    "take_apl": Rule((2,), _take, _run_take_apl),
    "drop_apl": Rule((2,), _drop, _run_drop_apl),
    "tile_apl": Rule((3,), _tile, lambda a, t: _padded(a[2], t.shape, _vector(a[1]))),
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
RULES = SCALAR_FUNCTIONS | FOLDS | STRUCTURE
CASTS = {"toi": "int32", "tof": "float32", "tod": "float64", "tob": "bool", "int": "int32", "float": "float32"} | {
    "double": "float64",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{name: name for name in ("bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")},
}
