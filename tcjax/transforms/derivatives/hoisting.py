"""Inline reductions as separate statements, where their values take no more memory than what is read or written."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ... import ir
from ...symbolic import Affine, IndexVar
from ..definitions import is_one_to_one
from .calls import Namer
from .forward import Known, depends
from .steps import Place, Step


def hoisted(step: Step, moving: Mapping[str, object], namer: Namer, places: dict[str, Place]) -> Iterator[Step]:
    """The step, preceded by those that compute its inline reductions that depend on the `moving` tensors."""
    statement = step.statement
    if not isinstance(statement, (ir.Define, ir.Accumulate)) or statement.domain.guard is not None:
        yield step
        return
    hoist = _Hoist(step, statement, moving, namer, places)
    value = hoist.expr(statement.value, at_root=isinstance(statement, ir.Define))
    for earlier in hoist.found:
        yield from hoisted(earlier, moving, namer, places)
    yield replace(step, statement=replace(statement, value=value))


class _Hoist:
    def __init__(
        self,
        step: Step,
        statement: ir.Define | ir.Accumulate,
        moving: Mapping[str, object],
        namer: Namer,
        places: dict[str, Place],
    ) -> None:
        self.step = step
        self.statement = statement
        self.moving = moving
        self.namer = namer
        self.places = places
        self.known: Known = {}
        self.found: list[Step] = []
        self.targets: dict[ir.Reduce, ir.Tensor] = {}
        left = ir.left_indices(statement)
        reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
        self.order = list(dict.fromkeys((*left, *reduction)))
        self.rooms = [frozenset(left)] + [
            frozenset(index.bare for index in access.indices if index.bare is not None)
            for access in ir.accesses(statement.value)
        ]

    def expr(self, expr: ir.Expr, at_root: bool = False) -> ir.Expr:
        match expr:
            case ir.Select():
                # The reads of a branch may be out of range outside it.
                return expr
            case ir.Reduce() if depends(expr, self.moving, self.known):
                free = ir.free_indices(expr)
                if at_root and free == frozenset(self.order):
                    return expr
                if self.step.fixed <= free <= set(self.order) and any(free <= room for room in self.rooms):
                    return self.hoist(expr, free)
                return expr
            case ir.Reduce() | ir.Access():
                return expr
            case _:
                return ir.rebuild(expr, self.expr)

    def hoist(self, reduce: ir.Reduce, free: frozenset[IndexVar]) -> ir.Expr:
        axes = tuple([index for index in self.order if index in free])
        subscripts = tuple(map(Affine.of, axes))
        if reduce not in self.targets:
            intervals = self.step.intervals
            name = self.namer.new(f"{self.statement.target.name}_{reduce.reducer.value}")
            target = ir.Tensor(name, reduce.dtype, tuple([intervals[axis].extent for axis in axes]))
            self.targets[reduce] = target
            self.places[name] = tuple([intervals[axis] for axis in axes])
            self.found.append(Step(reduction(target, subscripts, reduce), intervals, loops=self.step.loops))
        return ir.Access(self.targets[reduce], subscripts)


def reduction(target: ir.Tensor, subscripts: tuple[Affine, ...], reduce: ir.Reduce) -> ir.Define | ir.Accumulate:
    """``target(subscripts) = reduce``."""
    used = ir.free_indices(reduce.body) | (frozenset() if reduce.guard is None else ir.free_indices(reduce.guard))
    unused = tuple(index for index in reduce.indices if index not in used)
    if reduce.rank is not None or (unused and is_one_to_one(subscripts)):
        return ir.Define(target, subscripts, reduce)
    if unused:
        # Several points write one element; a reduction over an index missing from the text goes inside their sum.
        inner = replace(reduce, indices=unused, guard=None)
        reduce = replace(reduce, indices=tuple(index for index in reduce.indices if index in used), body=inner)
    domain = ir.Domain(guard=reduce.guard)
    return ir.Accumulate(
        target, subscripts, reduce.reducer, True, reduce.indices, reduce.body, reduce.accumulate, domain
    )
