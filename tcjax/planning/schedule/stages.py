"""The stages of a function and their loops, which schedule commands rearrange."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ... import ir
from ...ranges.survey import survey
from ...symbolic import IndexVar


@dataclass(frozen=True, slots=True)
class Split:
    """``parent = outer * extent(inner) + inner``; either `factor`, for the inner loop, or `nparts`, for the outer."""

    parent: str
    outer: str
    inner: str
    factor: int | None
    nparts: int | None


@dataclass(frozen=True, slots=True)
class Fuse:
    """``fused = outer * extent(inner) + inner``."""

    outer: str
    inner: str
    fused: str


Relation = Split | Fuse


@dataclass(frozen=True, slots=True)
class Attach:
    """A stage is computed inside `loop` of `consumer`; the loops `relax` of its path share one copy."""

    consumer: str
    loop: str
    relax: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A statement and its loops.

    `roots` are its original loops: those of the left side, then those of the reduction; a call has none. `spatial` of
    them belong to the left side. `relations` produced the present `leaves` (outermost first) from them. `reads` are the
    tensors that it reads. `fixed` says why it cannot leave the root, and is empty if it can.
    """

    name: str
    number: int
    statement: ir.Statement
    roots: Mapping[str, IndexVar]
    spatial: int
    leaves: tuple[str, ...]
    reads: frozenset[str]
    fixed: str
    relations: tuple[Relation, ...] = ()
    attach: Attach | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The tensors that it writes."""
        return targets_of(self.statement)

    @property
    def target(self) -> ir.Tensor:
        """The first tensor that it writes."""
        return self.statement.targets[0] if isinstance(self.statement, CALLS) else self.statement.target

    @property
    def is_call(self) -> bool:
        return isinstance(self.statement, CALLS)

    def loops(self) -> Iterator[str]:
        """Every loop that the stage has or had."""
        yield from self.roots
        for relation in self.relations:
            match relation:
                case Split(_, outer, inner):
                    yield from (outer, inner)
                case Fuse(fused=fused):
                    yield fused

    def replaced(self, loop: str) -> Relation | None:
        """The relation that replaced a loop."""
        for relation in self.relations:
            consumed = (relation.parent,) if isinstance(relation, Split) else (relation.outer, relation.inner)
            if loop in consumed:
                return relation
        return None


CALLS = (ir.Invoke, ir.ApplyForeign)

Stages = Mapping[str, Stage]


def stages_of(function: ir.Function) -> dict[str, Stage]:
    """The stages of a function in order, all at root, by name: the tensor, then ``C.1`` for the next on ``C``."""
    writers: dict[str, int] = {}
    for statement in function.statements:
        for target in targets_of(statement):
            writers[target] = writers.get(target, 0) + 1
    seen: dict[str, int] = {}
    stages: dict[str, Stage] = {}
    for number, statement in enumerate(function.statements):
        target = targets_of(statement)[0]
        name = target if target not in seen else f"{target}.{seen[target]}"
        for written in targets_of(statement):
            seen[written] = seen.get(written, 0) + 1
        roots, spatial = _roots_of(statement)
        reads = _reads_of(statement)
        fixed = _why_fixed(statement, function, writers, reads)
        stages[name] = Stage(name, number, statement, roots, spatial, tuple(roots), reads, fixed)
    return stages


def targets_of(statement: ir.Statement) -> tuple[str, ...]:
    """The tensors that a statement writes."""
    return tuple(target.name for target in ir.targets(statement))


def path_of(stage: Stage, stages: Stages) -> tuple[tuple[str, str], ...]:
    """The loops around a stage, ``(stage, loop)``, outermost first, including those that share a copy."""
    path: list[tuple[str, str]] = []
    while stage.attach is not None:
        consumer = stages[stage.attach.consumer]
        last = consumer.leaves.index(stage.attach.loop)
        path[:0] = [(consumer.name, loop) for loop in consumer.leaves[: last + 1]]
        stage = consumer
    return tuple(path)


def prefix_of(stage: Stage, stages: Stages) -> tuple[tuple[str, str], ...]:
    """The loops of the path that each have their own copy, outermost first."""
    if stage.attach is None:
        return ()
    consumer = stages[stage.attach.consumer]
    last = consumer.leaves.index(stage.attach.loop)
    path = (*prefix_of(consumer, stages), *((consumer.name, loop) for loop in consumer.leaves[: last + 1]))
    return tuple(place for place in path if place[1] not in stage.attach.relax)


def consumers_of(stage: Stage, stages: Stages) -> list[Stage]:
    """The stages that read what a stage writes, in order."""
    return [other for other in stages.values() if other.reads & set(stage.targets) and other.number != stage.number]


def _roots_of(statement: ir.Statement) -> tuple[dict[str, IndexVar], int]:
    if isinstance(statement, CALLS):
        return {}, 0
    left: dict[IndexVar, None] = {}
    for index in statement.indices:
        for atom, _ in index.terms:
            left.update(dict.fromkeys((atom,) if isinstance(atom, IndexVar) else sorted(index.variables, key=str)))
    reduction = statement.reduction if isinstance(statement, ir.Accumulate) else ()
    indices = dict.fromkeys((*left, *reduction))
    names = [index.name for index in indices]
    return {index.name if names.count(index.name) == 1 else str(index): index for index in indices}, len(left)


def _reads_of(statement: ir.Statement) -> frozenset[str]:
    if isinstance(statement, CALLS):
        return frozenset(argument.name for argument in statement.arguments)
    return frozenset(read.access.tensor.name for read in survey(statement).reads)


def _why_fixed(
    statement: ir.Statement, function: ir.Function, writers: Mapping[str, int], reads: frozenset[str]
) -> str:
    if isinstance(statement, CALLS):
        return "a call of another function computes whole tensors"
    name = statement.target.name
    if name in {tensor.name for tensor in function.returns}:
        return f"`{name}` is an output"
    if name in {tensor.name for tensor in function.initial}:
        return f"`{name}` starts from a value that the caller passes"
    if writers[name] > 1:
        return f"{writers[name]} statements write `{name}`"
    left = [index.bare for index in statement.indices]
    if None in left or len(set(left)) < len(left):
        subscripts = ", ".join(map(str, statement.indices))
        return f"`{name}({subscripts})` does not name each of its elements by indices alone"
    if name in reads:
        return f"`{name}` reads itself"
    return ""
