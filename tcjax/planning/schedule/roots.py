"""From the leaf loops of a stage back to its original loops: values and guards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, assert_never

from ...symbolic.facts.trees import Compare, Const, Expr, Var
from .stages import Fuse, Split, Stage

# Valid names in facts and in expressions.
_BETWEEN: Final = ".__."


@dataclass(frozen=True, slots=True)
class Roots:
    """The loops of a stage with known extents.

    `extents` has every loop, including former ones. `values` gives each root loop, counted from 0, over the leaves
    (with qualified names); `guards` hold at the points of the leaves that belong to the stage.
    """

    extents: Mapping[str, int]
    values: Mapping[str, Expr]
    guards: tuple[Expr, ...]


def qualified(stage: str, loop: str) -> str:
    """A unique name for a loop of a stage; both names may contain dots."""
    return f"{stage}{_BETWEEN}{loop}"


def plain(name: str) -> str:
    """The name of a loop in its stage."""
    return name.partition(_BETWEEN)[2]


def shown(name: str) -> str:
    """The name of a loop with its stage, as written."""
    return name.replace(_BETWEEN, ".")


def unfold(stage: Stage, extents: Mapping[str, int], limits: Mapping[str, Expr]) -> Roots:
    """The roots of a stage whose root loops have these `extents`; in some iterations they end earlier, at `limits`.

    A split divides its loop into ``ceil(extent / factor)`` parts of ``min(factor, extent)``, and a guard excludes the
    points beyond the extent. After Halide's and TVM's rules, composed at once.
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
    """The sum, omitting zeros."""
    if left == Const(0):
        return right
    return left if right == Const(0) else left + right
