"""A typed program for the oracle: stages with ranges, and every read of every point, by evaluation.

Points are tables: columns of equal length, one row for each point. Nothing here is symbolic.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

import tcjax
from tcjax import ir
from tcjax.symbolic import Affine, Box, IndexVar, Size, SizeVar
from tcjax.symbolic.affine import Atom, Clamp, Quotient, Remainder

# Columns by loop, ``("D", "djo")``, and by index variable.
Table = dict[Hashable, np.ndarray]
# A condition at every row: whether it may be true, and whether it may be false; both if it depends on data.
Truth = tuple[np.ndarray, np.ndarray]
Statement = ir.Define | ir.Accumulate


@dataclass(frozen=True, slots=True)
class Stage:
    """One statement.

    `axes` are its left-side indices if all of them are bare (else None). `ranges` are half open and include the indices
    of inline reductions. If several statements write a tensor, all of them are `is_update`.
    """

    name: str
    position: int
    statement: Statement
    axes: tuple[IndexVar, ...] | None
    reductions: tuple[IndexVar, ...]
    ranges: Box
    is_output: bool
    is_update: bool

    @property
    def tensor(self) -> str:
        return self.statement.target.name

    @property
    def indices(self) -> tuple[IndexVar, ...]:
        """Its loops before any schedule."""
        if self.axes is not None:
            return (*self.axes, *self.reductions)
        left = dict.fromkeys(v for index in self.statement.indices for v in sorted(index.variables, key=str))
        return (*left, *(v for v in self.reductions if v not in left))

    def loop(self, index: IndexVar) -> str:
        """The loop of an index: its name, with the tag if another index has the same name."""
        return index.name if [v.name for v in self.indices].count(index.name) == 1 else str(index)


@dataclass(frozen=True, slots=True)
class Read:
    """Elements that rows of a table need: per dimension the first and last index, which differ only for data."""

    tensor: str
    table: Table
    first: np.ndarray
    last: np.ndarray


@dataclass(frozen=True, slots=True)
class Program:
    """The stages in order, and each tensor's first logical index and extents."""

    stages: tuple[Stage, ...]
    sizes: Mapping[SizeVar, int]
    origins: Mapping[str, tuple[int, ...]]
    shapes: Mapping[str, tuple[int, ...]]

    def stage(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)

    def readers(self, stage: Stage) -> list[Stage]:
        """The later stages that read its tensor."""
        return [other for other in self.stages[stage.position + 1 :] if stage.tensor in _tensors_read(other.statement)]

    def reads(self, stage: Stage, table: Table) -> Iterator[Read]:
        """What the statement reads at those points of the table that its ranges and guard admit."""
        domain = stage.statement.domain
        table = self._kept(table, self._within(domain.ranges, table))
        if domain.guard is not None:
            yield from self._walk(stage, domain.guard, table)
            table = self._kept(table, self._truth(domain.guard, table)[0])
        for index in stage.statement.indices:
            for data in ir.data_atoms(index):
                yield from self._walk(stage, data.expr, table)
        yield from self._walk(stage, stage.statement.value, table)

    def _walk(self, stage: Stage, expr: ir.Expr, table: Table) -> Iterator[Read]:
        match expr:
            case ir.Access(tensor, indices):
                if tensor.name in self.origins:
                    yield self._read(tensor.name, indices, table)
                for child in ir.children(expr):
                    yield from self._walk(stage, child, table)
            case ir.Select(condition, then, otherwise):
                yield from self._walk(stage, condition, table)
                true, false = self._truth(condition, table)
                yield from self._walk(stage, then, self._kept(table, true))
                yield from self._walk(stage, otherwise, self._kept(table, false))
            case ir.Binary("&&" | "||" as operator, left, right):
                yield from self._walk(stage, left, table)
                true, false = self._truth(left, table)
                yield from self._walk(stage, right, self._kept(table, true if operator == "&&" else false))
            case ir.Reduce(_, indices, ranges, guard, body, rank):
                if rank is not None:
                    yield from self._walk(stage, rank, table)
                for index in indices:
                    table = _crossed(table, index, *stage.ranges[index])
                table = self._kept(table, self._within(ranges, table))
                if guard is not None:
                    yield from self._walk(stage, guard, table)
                    table = self._kept(table, self._truth(guard, table)[0])
                yield from self._walk(stage, body, table)
            case _:
                for child in ir.children(expr):
                    yield from self._walk(stage, child, table)

    def _read(self, tensor: str, indices: Sequence[Affine], table: Table) -> Read:
        first, last = [], []
        rows = length(table)
        for index, origin, extent in zip(indices, self.origins[tensor], self.shapes[tensor], strict=True):
            value = self.affine(index, table)
            end = origin + extent - 1
            if value is None:
                first.append(np.full(rows, origin))
                last.append(np.full(rows, end))
            else:
                value = np.broadcast_to(value, (rows,))
                value = np.clip(value, origin, end) if index.is_data else value
                first.append(value)
                last.append(value)
        empty = np.zeros((rows, 0), int)
        return Read(tensor, table, np.stack(first, 1) if first else empty, np.stack(last, 1) if last else empty)

    def _within(self, ranges: Sequence[ir.Range], table: Table) -> np.ndarray:
        inside = np.ones(length(table), bool)
        for given in {given.index: given for given in ranges}.values():
            if given.index in table:
                lo, hi = self.affine(given.lo, table), self.affine(given.hi, table)
                assert lo is not None and hi is not None
                inside &= (lo <= table[given.index]) & (table[given.index] < hi)
        return inside

    def affine(self, index: Affine, table: Table) -> np.ndarray | int | None:
        """The values at every row, or None if they depend on data."""
        total: np.ndarray | int = self.size(index.base)
        for atom, weight in index.terms:
            value = self._atom(atom, table)
            if value is None:
                return None
            total = total + self.size(weight) * value
        return total

    def size(self, size: Size) -> int:
        return size.evaluate(self.sizes)

    def _atom(self, atom: Atom, table: Table) -> np.ndarray | int | None:
        match atom:
            case IndexVar():
                return table[atom]
            case Quotient(argument, divisor):
                value = self.affine(argument, table)
                return None if value is None else value // self.size(divisor)
            case Remainder(argument, divisor):
                value = self.affine(argument, table)
                return None if value is None else value % self.size(divisor)
            case Clamp(kind, arguments):
                values = [self.affine(argument, table) for argument in arguments]
                known = [value for value in values if value is not None]
                return reduce(_ARITHMETIC[kind], known) if len(known) == len(values) else None
            case ir.Data(expr):
                return self._integer(expr, table)
            case _:
                raise AssertionError(atom)

    def _integer(self, expr: ir.Expr, table: Table) -> np.ndarray | int | None:
        """The integer at every row, or None if it depends on data."""
        match expr:
            case ir.Const(value) if isinstance(value, (int, bool)):
                return int(value)
            case ir.Const(value) if isinstance(value, float) and value == int(value):
                return int(value)
            case ir.Extent(size):
                return self.size(size)
            case ir.Index(variable):
                return table[variable]
            case ir.Cast(operand):
                return self._integer(operand, table)
            case ir.Unary("-", operand):
                value = self._integer(operand, table)
                return None if value is None else -value
            case ir.Binary(operator, left, right) if operator in _ARITHMETIC:
                a, b = self._integer(left, table), self._integer(right, table)
                return None if a is None or b is None else _ARITHMETIC[operator](a, b)
            case _:
                return None

    def _truth(self, expr: ir.Expr, table: Table) -> Truth:
        rows = length(table)
        match expr:
            case ir.Const(bool() as value):
                return np.full(rows, value), np.full(rows, not value)
            case ir.Unary("!", operand):
                true, false = self._truth(operand, table)
                return false, true
            case ir.Binary("&&" | "||" as operator, left, right):
                (a, not_a), (b, not_b) = self._truth(left, table), self._truth(right, table)
                return (a & b, not_a | not_b) if operator == "&&" else (a | b, not_a & not_b)
            case ir.Binary(operator, left, right) if operator in _COMPARISONS:
                a, b = self._integer(left, table), self._integer(right, table)
                if a is not None and b is not None:
                    true = np.broadcast_to(_COMPARISONS[operator](a, b), (rows,))
                    return true, ~true
        return np.ones(rows, bool), np.ones(rows, bool)

    @staticmethod
    def _kept(table: Table, mask: np.ndarray) -> Table:
        return {name: column[mask] for name, column in table.items()}


_ARITHMETIC = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "//": np.floor_divide,
    "%": np.mod,
    "min": np.minimum,
    "max": np.maximum,
}
_COMPARISONS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def length(table: Table) -> int:
    return len(next(iter(table.values())))


def _crossed(table: Table, name: Hashable, lo: int, hi: int) -> Table:
    """Every row with every value of one more column."""
    rows, width = length(table), max(0, hi - lo)
    crossed = {key: np.repeat(column, width) for key, column in table.items()}
    crossed[name] = np.tile(np.arange(lo, lo + width), rows)
    return crossed


def has_calls(kernel: tcjax.Kernel, arguments: Sequence[Any]) -> bool:
    """Whether a statement computes whole tensors by a function; the oracle knows formulas only."""
    statements = kernel.ir(*arguments).statements
    return any(isinstance(statement, (ir.Invoke, ir.ApplyForeign)) for statement in statements)


def program_of(kernel: tcjax.Kernel, arguments: Sequence[Any]) -> Program:
    """The stages of a kernel for arguments of these shapes."""
    function, boxes = kernel.ir(*arguments), kernel.ranges(*arguments)
    sizes: dict[SizeVar, int] = {}
    for tensor, argument in zip(function.parameters, arguments, strict=True):
        for size, extent in zip(tensor.shape, argument.shape, strict=True):
            for variable in size.variables():
                if size == Size.of(variable):
                    sizes[variable] = extent
    origins: dict[str, tuple[int, ...]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    outputs = {tensor.name for tensor in function.returns}
    written = [s.target.name for s in function.statements if isinstance(s, (ir.Define, ir.Accumulate))]
    counts: dict[str, int] = {}
    stages = []
    for position, (statement, box) in enumerate(zip(function.statements, boxes, strict=True)):
        assert isinstance(statement, (ir.Define, ir.Accumulate))
        name = statement.target.name
        variables = {str(v): v for v in _variables(statement)}
        ranges = {variables[index]: interval for index, interval in box.items() if index in variables}
        bare = tuple(index.bare for index in statement.indices if index.bare is not None)
        axes = bare if len(set(bare)) == len(statement.indices) else None
        if name not in shapes:
            origins[name], shapes[name] = _extents(statement.target, axes, ranges, sizes)
            for size, extent in zip(statement.target.shape, shapes[name], strict=True):
                for variable in size.variables():
                    if size == Size.of(variable):
                        sizes.setdefault(variable, extent)
        number = counts.get(name, 0)
        counts[name] = number + 1
        reductions = statement.reduction if isinstance(statement, ir.Accumulate) else ()
        full = f"{name}.{number}" if number else name
        is_update = written.count(name) > 1
        stages.append(Stage(full, position, statement, axes, reductions, ranges, name in outputs, is_update))
    return Program(tuple(stages), sizes, origins, shapes)


def _extents(
    target: ir.Tensor,
    axes: tuple[IndexVar, ...] | None,
    ranges: Box,
    sizes: Mapping[SizeVar, int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The declared sizes, from 0, or else the ranges of the first statement."""
    if all(variable in sizes for size in target.shape for variable in size.variables()):
        return (0,) * target.rank, tuple(size.evaluate(sizes) for size in target.shape)
    if axes is None:
        return (0,) * target.rank, (0,) * target.rank
    return tuple(ranges[i][0] for i in axes), tuple(max(0, ranges[i][1] - ranges[i][0]) for i in axes)


def _variables(statement: Statement) -> frozenset[IndexVar]:
    found: set[IndexVar] = set()
    for index in statement.indices:
        found |= index.variables
    if isinstance(statement, ir.Accumulate):
        found |= set(statement.reduction)
    for expr in (statement.value, statement.domain.guard):
        for node in ir.walk(expr) if expr is not None else ():
            match node:
                case ir.Index(variable):
                    found.add(variable)
                case ir.Access(_, indices):
                    found = found.union(*(index.variables for index in indices))
                case ir.Reduce(indices=indices):
                    found |= set(indices)
    return frozenset(found)


def _tensors_read(statement: Statement) -> set[str]:
    guard = statement.domain.guard
    parts = (statement.value, *((guard,) if guard is not None else ()))
    left = (data.expr for index in statement.indices for data in ir.data_atoms(index))
    return {access.tensor.name for part in (*parts, *left) for access in ir.accesses(part)}
