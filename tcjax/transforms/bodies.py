"""Inlines calls of definitions: replaces each call by the callee's statements."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from .. import ir
from ..ranges import Bound
from ..symbolic import Affine, Box, IndexVar, Size
from .callees import Place, loops_from, placed
from .specialize import specialize


def with_bodies(bound: Bound) -> Bound:
    """The program with all calls inlined, and with numbers for sizes."""
    if not bound.calls:
        return bound
    return _Bodies(bound).all()


class _Bodies:
    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.statements: list[ir.Statement] = []
        self.boxes: list[Box] = []
        self.reasons: list[Mapping[IndexVar, str]] = []
        self.loops: list[ir.Loop] = []
        self.shapes, self.origins = dict(bound.shapes), dict(bound.origins)

    def all(self) -> Bound:
        bound = self.bound
        function = bound.function
        defined = {tensor.name for tensor in (*function.parameters, *function.initial)}
        for number, statement in enumerate(function.statements):
            self.loops += loops_from(function.loops, number, len(self.statements))
            if isinstance(statement, ir.Invoke):
                self.call(statement, with_bodies(bound.calls[number]), defined)
            else:
                self.add(statement, bound.boxes[number], bound.reasons[number] if bound.reasons else {})
            defined |= {tensor.name for tensor in ir.targets(statement)}
        return replace(
            bound,
            function=replace(function, statements=tuple(self.statements), loops=tuple(self.loops)),
            boxes=tuple(self.boxes),
            shapes=self.shapes,
            origins=self.origins,
            calls={},
            reasons=tuple(self.reasons),
        )

    def add(self, statement: ir.Statement, box: Box, reasons: Mapping[IndexVar, str]) -> None:
        self.statements.append(statement)
        self.boxes.append(box)
        self.reasons.append(reasons)

    def call(self, call: ir.Invoke, callee: Bound, defined: Collection[str]) -> None:
        function = callee.function
        written = {target.name for statement in function.statements for target in ir.targets(statement)}
        found: dict[str, Place] = {}
        for parameter, argument in zip(function.parameters, call.arguments, strict=True):
            if parameter.name in written:
                own = self.local(parameter, callee, call.function.name)
                self.copy(Place(argument, self.origins[argument.name]), own, _axes(function, parameter.name))
                found[parameter.name] = own
            else:
                # A call passes elements from 0 on, wherever the argument begins.
                found[parameter.name] = Place(argument, self.origins[argument.name])
        copied: list[tuple[ir.Tensor, ir.Tensor]] = []
        for target, result in zip(call.targets, function.returns, strict=True):
            if result.name in found or target.name in defined:
                copied.append((target, result))
            else:
                begins = zip(self.origins[target.name], callee.origins[result.name], strict=True)
                found[result.name] = Place(target, tuple(own - inner for own, inner in begins))
        for statement in function.statements:
            for target in ir.targets(statement):
                if target.name not in found:
                    found[target.name] = self.local(target, callee, call.function.name)
        for number, statement in enumerate(function.statements):
            self.loops += loops_from(function.loops, number, len(self.statements))
            if isinstance(statement, (ir.Define, ir.Accumulate)):
                statement = specialize(statement, callee.sizes)
            reasons = callee.reasons[number] if callee.reasons else {}
            self.add(placed(statement, found), callee.boxes[number], reasons)
        for target, result in copied:
            own = found.get(result.name) or self.local(result, callee, call.function.name)
            begins = zip(self.origins[target.name], callee.origins[result.name], strict=True)
            shift = tuple(outer - inner for outer, inner in begins)
            self.copy(own, Place(target, shift), _axes(function, result.name), callee.origins[result.name])

    def local(self, tensor: ir.Tensor, callee: Bound, name: str) -> Place:
        """A local tensor of the callee, under an unused name."""
        shape = callee.shapes[tensor.name]
        own = f"{name}.{tensor.name}.{len(self.shapes)}"
        self.shapes[own], self.origins[own] = shape, callee.origins[tensor.name]
        return Place(ir.Tensor(own, tensor.dtype, tuple(map(Size.of, shape))), (0,) * tensor.rank)

    def copy(
        self, source: Place, target: Place, axes: tuple[IndexVar, ...], first: tuple[int, ...] | None = None
    ) -> None:
        """``target(i) = source(i)``, over the indices with which the callee addresses it."""
        lows = (0,) * len(axes) if first is None else first
        box = {i: (lo, lo + n) for i, lo, n in zip(axes, lows, self.shapes[target.tensor.name], strict=True)}
        value = ir.Access(source.tensor, source.at(map(Affine.of, axes)))
        self.add(ir.Define(target.tensor, target.at(map(Affine.of, axes)), value), box, {})


def _axes(function: ir.Function, name: str) -> tuple[IndexVar, ...]:
    """The indices that address a tensor on a left side of the function; new ones if that has no bare indices."""
    rank = 0
    for statement in function.statements:
        if isinstance(statement, (ir.Define, ir.Accumulate)) and statement.target.name == name:
            found = [index for subscript in statement.indices if (index := subscript.bare) is not None]
            rank = len(statement.indices)
            if len({*found}) == rank:
                return tuple(found)
    tensors = (*function.parameters, *function.returns)
    rank = next((tensor.rank for tensor in tensors if tensor.name == name), rank)
    return tuple(IndexVar(f"{name}.{dimension}") for dimension in range(rank))
