"""Several steps of a loop as one program: what one step writes, the next reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .. import ir, ranges
from ..symbolic import Affine, Box, IndexVar
from .decisions import decide_alone
from .recurrences import OneStep, Row, Taken, copied


def together(step: OneStep, count: int) -> OneStep | None:
    """`count` steps of a loop as one step, with the number of whole such groups; None where this is not possible.

    A tensor that is written again after it has been read gets a new name.
    """
    values = step.values
    is_plain = abs(step.loop.step) == 1 and not step.bound.function.loops and 1 < count <= len(values)
    kinds = {(taken.kind, taken.lag) for taken in step.taken.values()}
    formulas = all(isinstance(s, (ir.Define, ir.Accumulate)) for s in step.bound.function.statements)
    if not is_plain or not formulas or ("row", 0) in kinds:
        return None
    return _Together(step).of(count)


@dataclass
class _Together:
    step: OneStep
    statements: list[ir.Statement] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    origins: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # The parameters, by what they receive; and what each step writes of every tensor, under a new name.
    names: dict[Taken, ir.Tensor] = field(default_factory=dict)
    left: list[dict[str, ir.Tensor]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def of(self, count: int) -> OneStep:
        step, bound, function = self.step, self.step.bound, self.step.bound.function
        for number in range(count):
            self.left.append({})
            for statement, box in zip(function.statements, bound.boxes, strict=True):
                assert isinstance(statement, (ir.Define, ir.Accumulate))
                self.add(statement, box, number)
        returns: list[ir.Tensor] = []
        rows: list[Row] = []
        for row, tensor in zip(step.rows, function.returns, strict=True):
            for number in range(count) if row.dimension is not None else (count - 1,):
                own = self.left[number][tensor.name]
                is_new = own not in (*returns, *self.names.values()) and own.name not in self.seen
                returns.append(own if is_new and number == count - 1 else self.kept(tensor, number))
            many = 1 if row.dimension is None else count
            rows.append(replace(row, many=many, offset=row.offset - (many - 1 if step.loop.step < 0 else 0)))
        lo, hi = step.ends
        rest = len(step.values) % count
        ends = (lo, hi - rest) if step.loop.step > 0 else (lo + rest, hi)
        program = replace(
            function, parameters=tuple(self.names.values()), returns=tuple(returns), statements=tuple(self.statements)
        )
        nothing = tuple({} for _ in self.statements)
        found = ranges.Bound(
            program, {}, tuple(self.boxes), self.origins, self.shapes, {}, nothing, bound.assumptions, is_part=True
        )
        taken = {tensor.name: given for given, tensor in self.names.items()}
        return OneStep(found, taken, tuple(rows), replace(step.loop, step=count * step.loop.step), ends, count)

    def kept(self, tensor: ir.Tensor, number: int) -> ir.Tensor:
        """What one of the steps writes, separately from what the others read."""
        own = self.left[number][tensor.name]
        new = self.named(replace(tensor, name=f"{tensor.name}.row{number}"), tensor.name)
        copy, box = copied(new, own, self.shapes[own.name], self.origins[own.name])
        self.state(copy, box)
        return new

    def named(self, tensor: ir.Tensor, like: str) -> ir.Tensor:
        self.shapes[tensor.name], self.origins[tensor.name] = (
            self.step.bound.shapes[like],
            self.step.bound.origins[like],
        )
        return tensor

    def state(self, statement: ir.Define | ir.Accumulate, box: Box) -> None:
        self.seen |= {tensor.name for tensor in ir.tensors_read(statement)}
        self.statements.append(statement)
        self.boxes.append(box)

    def add(self, statement: ir.Define | ir.Accumulate, box: Box, number: int) -> None:
        """A statement as part of one of the steps."""
        name, here = statement.target.name, self.left[number]
        found = ir.rebuild_statement(statement, lambda expr: self.expr(expr, number))
        guard, value = decide_alone(found.domain.guard, found.value, box)
        found = replace(found, value=value, domain=replace(found.domain, guard=guard))
        same = self.copied(found, box)
        if same is not None:
            here[name] = same
            self.seen.add(same.name)
            return
        old = here.get(name)
        reads = {tensor.name for tensor in ir.tensors_read(found)}
        if old is None or old.name in self.seen | reads:
            # No program can contain this name.
            here[name] = self.named(replace(statement.target, name=f"{name}.step{len(self.shapes)}"), name)
            if old is not None and not self.fills(statement, box):
                self.state(*copied(here[name], old, self.shapes[old.name], self.origins[old.name]))
        self.state(replace(found, target=here[name]), box)

    def copied(self, statement: ir.Define | ir.Accumulate, box: Box) -> ir.Tensor | None:
        """The tensor that a statement copies unchanged."""
        match statement:
            case ir.Define(target, indices, ir.Access(tensor, places)) if places == indices and self.fills(
                statement, box
            ):
                own, other = self.step.bound, tensor.name
                lies = self.shapes[other], self.origins[other]
                same = lies == (own.shapes[target.name], own.origins[target.name]) and target.dtype == tensor.dtype
                return tensor if same else None
            case _:
                return None

    def fills(self, statement: ir.Define | ir.Accumulate, box: Box) -> bool:
        """Whether a statement overwrites all elements."""
        if statement.domain.guard is not None or (isinstance(statement, ir.Accumulate) and not statement.restart):
            return False
        return _covers(statement.indices, statement.target.name, box, self.step.bound)

    def expr(self, expr: ir.Expr, number: int) -> ir.Expr:
        found = ir.rebuild(expr, lambda part: self.expr(part, number))
        if not isinstance(found, ir.Access):
            return found
        name = found.tensor.name
        taken = self.step.taken.get(name)
        if taken is None:
            return replace(found, tensor=self.left[number].get(name, found.tensor))
        match taken.kind:
            case "value":
                value = replace(found, tensor=self.parameter(taken, found.tensor))
                later = ir.Const(number * self.step.loop.step, found.dtype)
                return ir.Binary("+", value, later, found.dtype, span=found.span) if number else value
            case "state" if number:
                return replace(found, tensor=self.left[number - 1][taken.tensor])
            case "row" if taken.lag <= number:
                return replace(found, tensor=self.left[number - taken.lag][taken.tensor])
            case "row":
                taken = replace(taken, lag=taken.lag - number)
            case "part":
                moved = number * self.step.loop.step
                taken = replace(taken, begins=tuple((weight, lo + weight * moved) for weight, lo in taken.begins))
            case _:
                pass
        return replace(found, tensor=self.parameter(taken, found.tensor))

    def parameter(self, taken: Taken, given: ir.Tensor) -> ir.Tensor:
        """The parameter that receives this, like the one of the original step."""
        if taken not in self.names:
            is_own = self.step.taken[given.name] == taken
            name = given.name if is_own else f"{given.name}.{len(self.names)}"
            self.names[taken] = self.named(replace(given, name=name), given.name)
        return self.names[taken]


def _covers(subscripts: Sequence[Affine], name: str, box: Mapping[IndexVar, object], bound: ranges.Bound) -> bool:
    indices = [subscript.bare for subscript in subscripts]
    ends = zip(indices, bound.shapes[name], bound.origins[name], strict=True)
    return len({*indices}) == len(indices) and all(
        index is not None and box[index] == (origin, origin + extent) for index, extent, origin in ends
    )
