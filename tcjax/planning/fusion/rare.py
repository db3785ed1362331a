"""Plans for code that hardly ever runs: they should compile fast rather than run fast."""

from dataclasses import fields, replace
from typing import Any, cast

from ...ir import Reducer
from ..data.nodes import Computation, FusedReduction, LoopNest, Node, Unroll
from ..data.stages import Compute


def as_rare(stage: Compute) -> Compute:
    """The statement with its sums as run-time loops, one term after another, and without unrolled loops."""
    return replace(stage, value=_rare(stage.value, {}), before=tuple(map(as_rare, stage.before)))


def _rare(node: Node, done: dict[int, Node]) -> Node:
    """The node and all nodes below it; shared nodes stay shared."""
    if id(node) not in done:
        values = {field.name: getattr(node, field.name) for field in fields(node)}
        done[id(node)] = _itself(replace(node, **{name: _changed(value, done) for name, value in values.items()}))
    return done[id(node)]


def _itself(node: Node) -> Node:
    match node:
        case Unroll(reducer=Reducer.SUM):
            return replace(node, rolled=True)
        case LoopNest(whole=whole) if node.is_alone:
            return node.changed(schedule=replace(node.form, unroll=1), backend=replace(whole.backend, rare=True))
        case _:
            return node


def _changed(value: Any, done: dict[int, Node]) -> Any:
    """Nodes, and tuples of them, rewritten for rare use; anything else unchanged."""
    if isinstance(value, Computation):
        return _rare(cast(Node, value), done)
    if isinstance(value, FusedReduction):
        return replace(value, sources=_changed(value.sources, done))
    if isinstance(value, tuple):
        return tuple(_changed(part, done) for part in cast(tuple[Any, ...], value))
    return value
