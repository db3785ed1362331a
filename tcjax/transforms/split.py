"""Floors and remainders of an index as two indices: with ``i = 4*i1 + i0``, ``A(i / 4, i % 4)`` is ``A(i1, i0)``."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from .. import ir
from ..symbolic import Affine, AffineLike, IndexVar, Interval, Size
from ..symbolic.affine import Atom, Clamp, Quotient, Remainder

Box = Mapping[IndexVar, tuple[int, int]]
Formula = TypeVar("Formula", bound="ir.Define | ir.Accumulate")

# More nested divisions of one index than this are left to a lookup.
MOST_SPLITS = 8


def split_floors(statement: Formula, box: Box) -> tuple[Formula, Box]:
    """The statement with indices split until no floor is left that a split removes, and the ranges of its indices.

    Sizes must be numbers. An index is split by ``c`` where every floor and remainder of it is by a multiple of `c`
    and `c` divides its range.
    """
    for _ in range(MOST_SPLITS):
        found = _candidate(statement, box)
        if found is None:
            break
        statement, box = _split(statement, box, *found)
    return statement, box


def _candidate(statement: ir.Define | ir.Accumulate, box: Box) -> tuple[IndexVar, int, int] | None:
    """An index, the shift before its division, and the divisor."""
    divisions: dict[IndexVar, set[tuple[int, int]]] = {}
    for affine in _subscripts(statement):
        for argument, divisor in _divisions(affine):
            index = (argument - argument.base).bare
            shift, by = argument.base.constant, divisor.constant
            if index is not None and shift is not None and by is not None and by > 1:
                divisions.setdefault(index, set()).add((shift, by))
    for index, found in divisions.items():
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

    def affine(subscript: Affine) -> Affine:
        return simplify(subscript.rewrite(atom), box)

    def atom(inside: Atom) -> AffineLike:
        if inside == index:
            return value
        return ir.Data(expr(inside.expr)) if isinstance(inside, ir.Data) else inside

    def indices(old: tuple[IndexVar, ...]) -> tuple[IndexVar, ...]:
        return tuple(new for i in old for new in ((outer, inner) if i == index else (i,)))

    def expr(node: ir.Expr) -> ir.Expr:
        match node:
            case ir.Index(variable) if variable == index:
                scaled = ir.Binary("*", ir.Index(outer), ir.Const(by, "int32"), "int32")
                total = ir.Binary("+", scaled, ir.Index(inner), "int32")
                return ir.Binary("-", total, ir.Const(shift, "int32"), "int32") if shift else total
            case ir.Access(_, subscripts):
                return replace(node, indices=tuple(map(affine, subscripts)))
            case ir.Reduce(indices=own):
                rebuilt = ir.rebuild(node, expr)
                assert isinstance(rebuilt, ir.Reduce)
                return replace(rebuilt, indices=indices(own))
            case _:
                return ir.rebuild(node, expr)

    guard = statement.domain.guard
    rest = {
        "indices": tuple(map(affine, statement.indices)),
        "value": expr(statement.value),
        "domain": replace(statement.domain, guard=None if guard is None else expr(guard)),
    }
    if isinstance(statement, ir.Accumulate):
        rest["reduction"] = indices(statement.reduction)
    return replace(statement, **rest), box


def _subscripts(statement: ir.Define | ir.Accumulate) -> Iterator[Affine]:
    yield from statement.indices
    for root in (statement.value, statement.domain.guard):
        if root is not None:
            for access in ir.accesses(root):
                yield from access.indices


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


def simplify(affine: Affine, box: Box) -> Affine:
    """The subscript with floors and remainders resolved that the ranges of their indices decide."""
    total = Affine((), affine.base)
    for atom, weight in affine.terms:
        match atom:
            case Quotient(argument, divisor):
                new = _quotient(simplify(argument, box), divisor, box)
            case Remainder(argument, divisor):
                inner = simplify(argument, box)
                quotient = _quotient(inner, divisor, box)
                resolved = not any(isinstance(a, Quotient) for a, _ in quotient.terms)
                new = inner - quotient.scale(divisor) if resolved else inner.remainder(divisor)
            case _:
                new = Affine.of(atom)
        total = total + new.scale(weight)
    return total


def _quotient(argument: Affine, divisor: Size, box: Box) -> Affine:
    by = divisor.constant
    if by is None or by <= 0 or not argument.is_linear:
        return argument.quotient(divisor)
    outside, inside = Affine.of(0), Affine((), argument.base % by)
    outside = outside + argument.base // by
    for atom, weight in argument.terms:
        step = weight.constant
        if step is None:
            return argument.quotient(divisor)
        if step % by == 0:
            outside = outside + Affine.of(atom).scale(step // by)
        else:
            inside = inside + Affine.of(atom).scale(step)
    if not inside.terms:
        return outside
    spans = inside.bounds({v: Interval.of(*box[v]) for v in inside.variables if v in box})
    if spans is not None:
        lo, hi = spans.lo.constant, spans.hi.constant
        if lo is not None and hi is not None and lo // by == (hi - 1) // by:
            return outside + lo // by
    # (c*x + r) // (c*m) = x // m where 0 <= r < c: terms below one cell of c cannot carry.
    for common in sorted({abs(w.constant or 0) for _, w in inside.terms} - {0}, reverse=True):
        if by % common == 0 and common > 1:
            coarse = Affine((), inside.base - inside.base % common)
            fine = Affine((), inside.base % common)
            for atom, weight in inside.terms:
                step = weight.constant or 0
                if step % common == 0:
                    coarse = coarse + Affine.of(atom).scale(step)
                else:
                    fine = fine + Affine.of(atom).scale(step)
            spans = fine.bounds({v: Interval.of(*box[v]) for v in fine.variables if v in box})
            lo = None if spans is None else spans.lo.constant
            hi = None if spans is None else spans.hi.constant
            if lo is not None and hi is not None and lo >= 0 and hi <= common:
                reduced = Affine(tuple((a, w // common) for a, w in coarse.terms), coarse.base // common)
                return outside + reduced.quotient(by // common)
    return outside + inside.quotient(by)
