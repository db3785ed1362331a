"""The statements of a called function in its caller: with the caller's tensors, subscripts and sizes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from .. import ir
from ..symbolic import Affine, Size, SizeVar

NO_SIZES: Final[Mapping[SizeVar, Size]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Place:
    """A callee's tensor in the caller: a tensor whose subscripts are larger by `shift`, if there is one."""

    tensor: ir.Tensor
    shift: tuple[int, ...] = ()

    def at(self, subscripts: Iterable[Affine]) -> tuple[Affine, ...]:
        if not self.shift:
            return tuple(subscripts)
        return tuple([subscript + by for subscript, by in zip(subscripts, self.shift, strict=True)])


def placed(
    statement: ir.Statement, places: Mapping[str, Place], sizes: Mapping[SizeVar, Size] = NO_SIZES
) -> ir.Statement:
    """The statement with its tensors and sizes replaced."""

    def expr(node: ir.Expr) -> ir.Expr:
        node = ir.rebuild(node, expr)
        match node:
            case ir.Extent(size):
                return replace(node, size=size.substitute(sizes)) if sizes else node
            case ir.Access(tensor, indices):
                place = places[tensor.name]
                return replace(node, tensor=place.tensor, indices=place.at(map(sized, indices)))
            case ir.Reduce(ranges=given) if sizes:
                return replace(node, ranges=tuple(map(sized_range, given)))
            case _:
                return node

    def sized(subscript: Affine) -> Affine:
        return subscript.rewrite(lambda atom: atom, lambda size: size.substitute(sizes)) if sizes else subscript

    def sized_range(given: ir.Range) -> ir.Range:
        return replace(given, lo=sized(given.lo), hi=sized(given.hi))

    match statement:
        case ir.Define(target) | ir.Accumulate(target):
            rebuilt = ir.rebuild_statement(statement, expr)
            domain = replace(
                rebuilt.domain,
                ranges=tuple(sized_range(ir.rebuild_range(given, expr)) for given in rebuilt.domain.ranges),
                exists=tuple(map(expr, rebuilt.domain.exists)),
            )
            own = places[target.name]
            return replace(rebuilt, target=own.tensor, indices=own.at(map(sized, rebuilt.indices)), domain=domain)
        case ir.Invoke(targets, _, arguments) | ir.ApplyForeign(targets, _, arguments):
            return replace(
                statement,
                targets=tuple([places[tensor.name].tensor for tensor in targets]),
                arguments=tuple([places[tensor.name].tensor for tensor in arguments]),
            )


def loops_from(loops: Iterable[ir.Loop], first: int, place: int) -> Iterator[ir.Loop]:
    """The loops that begin at a statement, after it was moved."""
    for loop in loops:
        if loop.first == first:
            yield replace(loop, first=place, last=place + loop.last - loop.first)
