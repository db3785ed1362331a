"""From the leaf loops of a stage back to the loops it was written with: values and guards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from ...symbolic.facts.trees import Compare, Const, Expr, Var
from .stages import Fuse, Split, Stage

# Facts and the reader of expressions take such a name.
_BETWEEN: Final = ".__."


@dataclass(frozen=True, slots=True)
class Roots:
    """The loops of a stage with their extents known.

    `extents` has every loop, former ones too. `values` gives each root loop, counted from 0, over the leaves (their
    names are qualified); `guards` hold at the points of the leaves that belong to the stage.
    """

    extents: Mapping[str, int]
    values: Mapping[str, Expr]
    guards: tuple[Expr, ...]


def qualified(stage: str, loop: str) -> str:
    """The name of a loop that no loop of another stage has; both may have dots of their own."""
    return f"{stage}{_BETWEEN}{loop}"


def plain(name: str) -> str:
    """The name of a loop in its stage."""
    return name.partition(_BETWEEN)[2]


def shown(name: str) -> str:
    """The name of a loop with its stage, as one writes it."""
    return name.replace(_BETWEEN, ".")


def unfold(stage: Stage, extents: Mapping[str, int], limits: Mapping[str, Expr]) -> Roots:
    """The roots of a stage whose root loops have these `extents`; in some iterations they end before, at `limits`.

    A split cuts its loop into ``ceil(extent / factor)`` parts of ``min(factor, extent)``, and what is beyond the
    extent is left out by a guard of its own. After Halide's and TVM's rules, composed at once.
    """
    known = dict(extents)
    for relation in stage.relations:
        match relation:
            case Split(parent, outer, inner, factor, nparts):
                known[outer], known[inner] = _parts(known[parent], factor, nparts)
            case Fuse(outer, inner, fused):
                known[fused] = known[outer] * known[inner]
            case _:
                assert_never(relation)
    values: dict[str, Expr] = {
        loop: Var(qualified(stage.name, loop)) if known[loop] != 1 else Const(0) for loop in stage.leaves
    }
    guards: list[Expr] = []
    for relation in reversed(stage.relations):
        match relation:
            case Split(parent, outer, inner):
                values[parent] = plus(_times(values[outer], known[inner]), values[inner])
                if known[outer] * known[inner] != known[parent] and parent not in limits:
                    guards.append(Compare("<", values[parent], Const(known[parent])))
            case Fuse(outer, inner, fused):
                width = Const(known[inner])
                if known[inner] <= 1:
                    values[outer], values[inner] = values[fused], Const(0)
                elif known[outer] <= 1:
                    values[outer], values[inner] = Const(0), values[fused]
                else:
                    values[outer], values[inner] = values[fused] // width, values[fused] % width
    for loop, limit in limits.items():
        guards.append(Compare("<", values[loop], limit))
    return Roots(known, {loop: values[loop] for loop in stage.roots}, tuple(guards))


def _parts(extent: int, factor: int | None, nparts: int | None) -> tuple[int, int]:
    """The extents of the outer and the inner loop of a split."""
    if extent == 0:
        return 0, 0
    if factor is not None:
        inner = min(factor, extent)
        return -(-extent // inner), inner
    assert nparts is not None
    outer = min(nparts, extent)
    return outer, -(-extent // outer)


def _times(value: Expr, factor: int) -> Expr:
    if factor == 1 or isinstance(value, Const):
        return value if factor == 1 else Const(value.value * factor)  # type: ignore[attr-defined]
    return value * factor


def plus(left: Expr, right: Expr) -> Expr:
    """The sum, without a zero."""
    if left == Const(0):
        return right
    return left if right == Const(0) else left + right
