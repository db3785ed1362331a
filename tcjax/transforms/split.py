"""Splits an index with floors and remainders in two: with ``i = 4*i1 + i0``, ``A(i / 4, i % 4)`` is ``A(i1, i0)``."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from .. import ir
from ..symbolic import Affine, Box, IndexVar, Size
from ..symbolic.affine import Clamp, Quotient, Remainder
from .subscripts import Known
from .substitution import substitute

Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")

# More nested divisions of one index than this are left to a lookup.
MOST_SPLITS = 8


def split_floors(statement: Formula, box: Box, fixed: frozenset[IndexVar] = frozenset()) -> tuple[Formula, Box]:
    """The statement with indices split until no more floors can be removed, and the ranges of its indices.

    Sizes must be numbers. An index is split by ``c`` if every floor and remainder of it is by a multiple of `c`, and
    `c` divides its range. The `fixed` ones are kept.
    """
    for _ in range(MOST_SPLITS):
        found = _candidate(statement, box, fixed)
        if found is None:
            break
        statement, box = _split(statement, box, *found)
    return statement, box


def _candidate(
    statement: ir.Define | ir.Accumulate, box: Box, fixed: frozenset[IndexVar]
) -> tuple[IndexVar, int, int] | None:
    """An index, the shift before its division, and the divisor."""
    # Not where data decides: a row scatter over two indices takes longer than looking positions up.
    parts = (statement.value, *ir.conjuncts(statement.domain.guard))
    reads = (subscript for part in parts for access in ir.accesses(part) for subscript in access.indices)
    # Divisions on the left side have priority: a read with a different division becomes a view.
    divisions = {**_divisors(reads), **_divisors(statement.indices)}
    for index, found in divisions.items():
        if index in fixed:
            continue
        shift, by = min(found, key=lambda pair: pair[1])
        lo, hi = box.get(index, (0, 0))
        whole = hi > lo and (lo + shift) % by == 0 and (hi - lo) % by == 0
        if whole and all(other % by == 0 and (s - shift) % by == 0 for s, other in found):
            return index, shift, by
    return None


def _split(statement: Formula, box: Box, index: IndexVar, shift: int, by: int) -> tuple[Formula, Box]:
    lo, hi = box[index]
    outer, inner = IndexVar(f"{index.name}/", index.tag), IndexVar(f"{index.name}%", index.tag)
    while outer in box or inner in box:
        outer, inner = IndexVar(outer.name, outer.tag + 1), IndexVar(inner.name, inner.tag + 1)
    box = {k: v for k, v in box.items() if k != index}
    box |= {outer: ((lo + shift) // by, (hi + shift) // by), inner: (0, by)}
    value = Affine.of(outer).scale(by) + inner - shift

    def parted(indices: tuple[IndexVar, ...]) -> tuple[IndexVar, ...]:
        return tuple(new for i in indices for new in ((outer, inner) if i == index else (i,)))

    reduction = parted(statement.reduction) if isinstance(statement, ir.Accumulate) else ()
    return substitute(statement, {index: value}, reduction, Known.over(box).simplify, parted), box


def _divisors(subscripts: Iterable[Affine]) -> dict[IndexVar, set[tuple[int, int]]]:
    """For each index that is divided on its own: the shifts and the divisors."""
    found: dict[IndexVar, set[tuple[int, int]]] = {}
    for affine in subscripts:
        for argument, divisor in _divisions(affine):
            index = (argument - argument.base).bare
            shift, by = argument.base.constant, divisor.constant
            if index is not None and shift is not None and by is not None and by > 1:
                found.setdefault(index, set()).add((shift, by))
    return found


def _divisions(affine: Affine) -> Iterator[tuple[Affine, Size]]:
    for atom, _ in affine.terms:
        match atom:
            case Quotient(argument, divisor) | Remainder(argument, divisor):
                yield argument, divisor
                yield from _divisions(argument)
            case Clamp(_, arguments):
                for argument in arguments:
                    yield from _divisions(argument)
            case _:
                continue
