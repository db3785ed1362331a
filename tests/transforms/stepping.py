"""The statements of a program as steps of `transforms`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import numpy as np

import tcjax
from tcjax import ir, transforms
from tcjax.ranges import Bound
from tcjax.transforms import Named, Step


@dataclass(frozen=True)
class Steps:
    """The bound program ``def f(head) -> (returns) { body }``, for arrays of float32 unless types are given."""

    bound: Bound
    steps: dict[int, Step]

    def fixed(self) -> list[str]:
        """The targets of the steps with extrema that cancel."""
        function = self.bound.function
        others = {n: s for n, s in enumerate(function.statements) if n not in self.steps}
        returned = [tensor.name for tensor in function.returns]
        found = transforms.fix_extrema(self.steps, others, returned, self.bound.shapes, self.bound.origins)
        return [step.statement.target.name for step in found.values() if step.fixed or _has_fixed(step.statement.value)]

    def named(self, number: int, *, is_new: bool = True) -> Named | None:
        name = self.steps[number].statement.target.name
        return transforms.named(self.steps[number], self.bound.shapes[name], self.bound.origins[name], is_new)

    def inlined(self) -> Step | None:
        """The second step with the first one inlined."""
        known = self.named(0)
        assert known is not None
        name = self.steps[0].statement.target.name
        shapes, origins = self.bound.shapes, self.bound.origins
        return transforms.inlined(self.steps[1], name, known, shapes, origins)

    def text(self) -> str:
        """The value of the second step, after that."""
        step = self.inlined()
        assert step is not None
        return ir.show_expr(step.statement.value)


def _has_fixed(expr: ir.Expr) -> bool:
    return any(isinstance(node, ir.Reduce) and node.fixed for node in ir.walk(expr))


def steps(
    head: str, body: str, *shapes: Sequence[int], returns: str = "O", types: Sequence[str] = (), before: str = ""
) -> Steps:
    kernel = tcjax.load(f"{before}\ndef f({head}) -> ({returns}) {{ {body} }}")["f"]
    kinds = types or ["float32"] * len(shapes)
    given = [jax.ShapeDtypeStruct(tuple(s), np.dtype(d)) for s, d in zip(shapes, kinds, strict=True)]
    bound = kernel.plan(*given).bound
    found: dict[int, Step] = {}
    for number, statement in enumerate(bound.function.statements):
        if isinstance(statement, (ir.Define, ir.Accumulate)):
            plain = transforms.specialize(transforms.guard_ranges(statement), bound.sizes)
            found[number] = Step(replace(plain, domain=replace(plain.domain, exists=())), bound.boxes[number])
    return Steps(bound, found)
