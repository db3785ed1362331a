"""What Triton cannot lower, found before anything is traced."""

from collections.abc import Iterator
from math import prod
from typing import Final

from ... import ir
from ...ir import Reducer
from ...planning.data.nests import Nest


class Unsupported(Exception):
    """No kernel for this nest; the words say why. XLA operations compute it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# JAX's lowering has no rule for something inside of these, in 0.10.2 as in 0.12 (tests/lowering/pallas asks it).
_NOT_LOWERED = "cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx lgamma normcdf normcdfinv round sinpi tgamma"
NOT_LOWERED: Final = frozenset(_NOT_LOWERED.split())

# An offset is a 32-bit integer.
_LARGEST: Final = 2**31 - 1


def reducer_of(reduce: ir.Reduce) -> Reducer:
    """The reducer of what was not refused."""
    assert isinstance(reduce.reducer, Reducer)
    return reduce.reducer


def refuse(nest: Nest) -> None:
    """Raises `Unsupported` for what is known not to lower."""
    for reason in _reasons(nest):
        raise Unsupported(reason)


def _reasons(nest: Nest) -> Iterator[str]:
    for operand in nest.operands:
        if ir.types.is_complex(operand.dtype):
            yield f"{operand.name} is complex: Triton has no complex numbers"
        if not prod(operand.shape):
            yield f"{operand.name} has no elements"
        if prod(operand.shape) > _LARGEST:
            yield f"{operand.name} has more elements than 32-bit offsets count"
    if prod(nest.shape) > _LARGEST:
        yield "the result has more elements than 32-bit offsets count"
    for node in ir.walk(nest.reduce):
        match node:
            case ir.Reduce(reducer) if reducer.is_ranked:
                yield f"{reducer.value} keeps more than one value: XLA sorts instead"
            case ir.Reduce(reducer) if not isinstance(reducer, Reducer):
                yield "a combination of one's own: XLA operations run it"
            case ir.Reduce(ranges=ranges) if ranges:
                yield "a range that is no guard yet"
            case ir.Foreign(function):
                yield f"{function} is a Python function"
            case ir.Call(function) if function in NOT_LOWERED:
                yield f"Triton has no {function}"
            case _ if ir.types.is_complex(node.dtype):
                yield "Triton has no complex numbers"
            case _:
                continue
