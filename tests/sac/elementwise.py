"""Operators and functions of one element at a time: equal shapes, or scalars beside them."""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.special

from .rules import Operands, Rule
from .values import SacError, Shaped, promote, unify


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


_FLOAT_FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil"),
)
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
        for name in [
            "exp",
            "log",
            "sqrt",
            "tanh",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "exp2",
            "log2",
            "log10",
            "log1p",
            "expm1",
            "floor",
            "ceil",
        ]
    },
}
