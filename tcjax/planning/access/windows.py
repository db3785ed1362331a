"""Windows: subscripts such as ``2*h + kh``, where a reduction index slides along an output index."""

from dataclasses import dataclass, replace

from ... import ir
from ...symbolic import Affine, IndexVar
from ..data.nodes import Node, Window
from ..scope import Scope
from .reads import plan_read


@dataclass(frozen=True, slots=True)
class Sliding:
    """``position = output_step*output + kernel_step*kernel + base``, one dimension of a read."""

    output: IndexVar
    output_step: int
    kernel: IndexVar
    kernel_step: int


def as_sliding(subscript: Affine, reduced: frozenset[IndexVar], scope: Scope) -> Sliding | None:
    """The subscript as one reduction index that slides along one other index, or None."""
    if not subscript.is_linear or subscript.variables & scope.unrolled or len(subscript.terms) != 2:
        return None
    steps = {atom: weight.constant for atom, weight in subscript.terms if isinstance(atom, IndexVar)}
    outputs = [index for index in steps if index not in reduced]
    kernels = [index for index in steps if index in reduced]
    if len(outputs) != 1 or len(kernels) != 1:
        return None
    output_step, kernel_step = steps[outputs[0]], steps[kernels[0]]
    assert output_step is not None and kernel_step is not None
    return Sliding(outputs[0], output_step, kernels[0], kernel_step)


def slide(access: ir.Access, slidings: dict[int, Sliding], scope: Scope) -> tuple[Node, tuple[Window, ...], Scope]:
    """The read with a new index for the position in each sliding dimension, and how the positions arise."""
    subscripts, windows = list(access.indices), []
    for dimension, sliding in slidings.items():
        position = IndexVar(f"{sliding.output}+{sliding.kernel}")
        span = scope.bounds(subscripts[dimension])
        assert span is not None
        scope = scope.with_index(position, span[0], span[1] + 1, sliding.output)
        subscripts[dimension] = Affine.of(position)
        windows.append(
            Window(
                position,
                sliding.output,
                sliding.kernel,
                abs(sliding.output_step),
                abs(sliding.kernel_step),
                sliding.kernel_step < 0,
                sliding.output_step < 0,
            )
        )
    return plan_read(replace(access, indices=tuple(subscripts)), scope), tuple(windows), scope
