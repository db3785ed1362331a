"""What a library function is: how shape and values follow from its arguments (the S column of section 1.5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .values import Operand, SacError, Shaped, Value, value

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


def vector(array: np.ndarray) -> tuple[int, ...]:
    """The elements of an int vector or scalar that is computed."""
    return tuple(int(n) for n in array.reshape(-1))
