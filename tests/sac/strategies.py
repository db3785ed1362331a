"""Random SaC programs with their arguments, most of them right, some with one mistake."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tcjax.diagnostics import Code, CompileError
from tcjax.syntax import sac
from tcjax.syntax.sac import tree

from .random_functions import ProgramWriter
from .reference import SacError, calls, evaluate_with_statics


@dataclass(frozen=True)
class Case:
    """A program, its arguments, and what the reference says of it: values, or the kind of its mistake."""

    program: tree.Program
    arguments: dict[str, np.ndarray]
    expected: np.ndarray | tuple[np.ndarray, ...] | None
    kind: str | None
    static: frozenset[str]

    @property
    def text(self) -> str:
        """The program. What is drawn at random may well leave elements unread: every line says that this is meant."""
        lines = sac.write(self.program).splitlines()
        return "".join(f"{line}  // tcjax: ignore[{Code.UNREAD_ELEMENTS.value}]\n" for line in lines)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={array!r}" for name, array in self.arguments.items())
        return f"Case({sac.write(self.program)!r}, {values})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What hypothesis shows: the text, not the tree."""
        printer.text(repr(self))


def kind_of(error: CompileError) -> str:
    """The kind of a kernel's mistake. A ragged comprehension has scalars as cells, which the reference does not ask."""
    assume(error.diagnosis is not Code.SHAPE_NEEDS_INDEX or "cells must be scalars" not in error.message)
    return error.kind


def need_not_read(case: Case, found: Any) -> bool:
    """Whether a kernel need not see a selection outside: where an array has no elements, `modarray` overwrites them, or
    they are the only place that a smallest one can have, nothing is read.
    """
    results = () if isinstance(found, str) else found if isinstance(found, tuple) else (found,)
    unneeded = bool(results) and any(name in case.text for name in ("modarray(", "argmin(", "argmax("))
    return unneeded or any(np.size(array) == 0 for array in (*case.arguments.values(), *results))


def case_of(program: tree.Program, arguments: dict[str, np.ndarray]) -> Case:
    """The program with the reference's word on it."""
    try:
        expected, static = evaluate_with_statics(program, arguments)
    except SacError as error:
        return Case(program, arguments, None, error.kind, frozenset())
    return Case(program, arguments, expected, None, static)


@st.composite
def programs(draw: st.DrawFn, depth: int = 3, mistakes: bool = False) -> Case:
    """A program of any shape of rank 0 to 4; with `mistakes` one place of it is changed."""
    writer = ProgramWriter(draw)
    lets = []
    for _ in range(draw(st.sampled_from([0, 0, 0, 1]))):
        kind, shape = draw(st.sampled_from(["int", "float"])), draw(shapes(2))
        value = writer.expr(kind, shape, depth - 1)
        name = writer.fresh("x")
        lets.append(tree.Let((name,), value))
        writer.arrays[name] = (kind, shape)
    kind = draw(st.sampled_from(["int", "int", "float", "float", "bool"]))
    shape = draw(shapes(4))
    make = writer.comprehension if draw(st.integers(0, 9)) else writer.expr
    result = make(kind, shape, depth)
    program = tree.Program(tuple(writer.functions), tuple(lets), result)
    if mistakes:
        program = draw(changed(program, tuple(writer.arguments)))
    # What of a let or a function that nobody uses is looked at is nobody's business.
    kept = tuple(let for let in program.lets if let.names[0] in names_in(program.result))
    called = [function for function in program.functions if function.name in calls((kept, program.result))]
    program = tree.Program(tuple(called), kept, program.result)
    used = names_in(program)
    return case_of(program, {name: array for name, array in writer.arguments.items() if name in used})


def shapes(most: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Small extents, 0 and 1 among them; fewer elements along more axes."""
    return st.integers(0, most).flatmap(
        lambda rank: st.tuples(*[st.sampled_from([0, 1, 2, 2, 3, 3, 4] if rank < 3 else [0, 1, 2, 2, 3])] * rank)
    )


def names_in(node: object) -> set[str]:
    """All names below a node."""
    own = {node.id} if isinstance(node, tree.Name) else set()
    return own.union(*(names_in(child) for _, child in children(node)))


def children(node: object) -> list[tuple[str | int, object]]:
    """What lies directly below, and where."""
    if isinstance(node, tuple):
        return list(enumerate(node))
    fields = [name for name in getattr(node, "__dataclass_fields__", {}) if name != "span"]
    return [(name, getattr(node, name)) for name in fields if isinstance(getattr(node, name), tuple | tree.Node)]


# ---------------------------------------------------------------- mistakes


def places(node: object) -> list[tuple[str | int, ...]]:
    """The paths to all nodes that can be changed."""
    here: list[tuple[str | int, ...]] = [()] if isinstance(node, tree.Node) else []
    return here + [(at, *path) for at, child in children(node) for path in places(child)]


def node_at(node: object, path: tuple[str | int, ...]) -> object:
    for at in path:
        node = node[at] if isinstance(at, int) else getattr(node, at)  # type: ignore[index]
    return node


def with_node(node, path: tuple[str | int, ...], new):
    """The tree with another node at the path."""
    if not path:
        return new
    at, *rest = path
    if isinstance(node, tuple):
        assert isinstance(at, int)
        return (*node[:at], with_node(node[at], tuple(rest), new), *node[at + 1 :])
    return replace(node, **{str(at): with_node(getattr(node, str(at)), tuple(rest), new)})


@st.composite
def changed(draw: st.DrawFn, program: tree.Program, arguments: tuple[str, ...]) -> tree.Program:
    """The program with one change that may or may not make it wrong."""
    paths = [path for path in places(program) if changes(node_at(program, path), arguments)]
    if not paths:
        return program
    path = draw(st.sampled_from(paths))
    return with_node(program, path, draw(st.sampled_from(changes(node_at(program, path), arguments))))


def changes(node: object, arguments: tuple[str, ...]) -> list:
    """What may stand in a node's place."""
    match node:
        case tree.Number(bool()):
            return [tree.Number(1)]
        case tree.Number(int(value)):
            return [tree.Number(value + 1), tree.Number(value + 9), tree.Number(True), tree.Number(1.5)]
        case tree.Number():
            return [tree.Number(1), tree.Number(True)]
        case tree.Binary(operator, left, right) if operator in "+-*":
            return [tree.Binary("++", left, right), left]
        case tree.Comprehension(partitions) if len(partitions) > 1:
            return [tree.Comprehension(partitions[::-1]), tree.Comprehension(partitions[1:])]
        case tree.Select(array, index):
            return [array, tree.Select(array, (*index, tree.Number(0)))]
        case tree.Partition(index, body, generator) if generator is not None:
            dot = tree.Bound(tree.Dot(), strict=True)
            own = (
                tree.Name(index.name)
                if isinstance(index, tree.IndexVector)
                else tree.Vector(tuple(tree.Name(name) for name in index.names))
            )
            return [
                tree.Partition(index, body, tree.Generator(tree.Bound(tree.Unary("-", own), False), generator.upper)),
                tree.Partition(index, body),
                tree.Partition(index, body, tree.Generator(generator.lower, dot)),
                tree.Partition(index, body, tree.Generator(dot, generator.upper, generator.step, generator.width)),
            ]
        case tree.Name(name) if name in arguments:
            return [tree.Name(other) for other in arguments if other != name]
        case tree.Vector(elements) if elements:
            return [tree.Vector(elements[1:]), tree.Vector((*elements, elements[0]))]
        case _:
            return []
