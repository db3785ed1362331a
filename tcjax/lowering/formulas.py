"""The derivatives of a nest: formulas that are planned and computed like any other."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from .. import ir, planning
from ..planning.data.nests import Nest
from ..symbolic import Affine, IndexVar, Size
from ..transforms import derivatives
from .apart import BARRIERS_HOLD, keep_apart
from .chunked_scatter import lower_stage
from .context import Context
from .derived import with_derivatives

# Names that no program can use: of the result of a nest, of its cotangent, and of the tangent that is computed.
RESULT, COTANGENT, TANGENT = "result.", "cotangent.", "tangent."
# What is looked up for each element of a result takes the room of about so many results, with the places of it.
LOOKED_UP: Final = 12
Foreign = tuple[tuple[str, Callable[..., object]], ...]
Shapes = tuple[tuple[str, tuple[int, ...], tuple[int | Affine, ...]], ...]


def tangent_name(operand: str) -> str:
    """The name of the tangent of an operand."""
    return f"t.{operand}"


def found_beside(results: Sequence[jax.Array]) -> dict[str, jax.Array]:
    """What the derivative of an extremum needs, where the search for it had these results."""
    place, _, *ties = results
    names = (f"{RESULT}.{name}" for name in ("first", "chosen", "ties"))
    return dict(zip(names, (place, place, *ties), strict=False))


@functools.lru_cache(maxsize=1024)
def tangent_of(nest: Nest, moved: frozenset[str]) -> derivatives.Derivative | None:
    """How the result of a nest changes with the operands that are `moved`; None where it does not."""
    active = {
        o.name: ir.Tensor(tangent_name(o.name), o.dtype, tuple(map(Size.of, o.shape)))
        for o in nest.operands
        if o.name in moved
    }
    found = derivatives.tangent(nest.reduce, nest.axes, nest.ranges, _tensor(RESULT, nest), active)
    return None if found.value is None else found


@functools.lru_cache(maxsize=1024)
def _cotangent_of(nest: Nest, name: str) -> tuple[derivatives.Formula, ...]:
    """What an operand, in which the nest is linear, receives."""
    operand = next(o for o in nest.operands if o.name == name)
    target = ir.Tensor(TANGENT, operand.dtype, tuple(map(Size.of, operand.shape)))
    origin = tuple(first for first in operand.origin if isinstance(first, int))
    assert len(origin) == len(operand.origin), "nests have no loops around them"
    origins = {name: origin, TANGENT: origin}
    return derivatives.adjoint(nest.reduce, nest.axes, nest.ranges, _tensor(COTANGENT, nest), {name: target}, origins)


def _tensor(name: str, nest: Nest) -> ir.Tensor:
    return ir.Tensor(name, nest.reduce.dtype, tuple(map(Size.of, nest.shape)))


@functools.lru_cache(maxsize=4096)
def _planned(
    statement: ir.Define | ir.Accumulate,
    box: tuple[tuple[IndexVar, tuple[int, int]], ...],
    shapes: Shapes,
    defined: bool,
    backend: planning.Backend,
) -> planning.Compute:
    by_name = {name: shape for name, shape, _ in shapes}
    origins = {name: origin for name, _, origin in shapes}
    preferences = planning.Preferences(backend=backend)
    return planning.plan_formula(statement, dict(box), by_name, origins, defined=defined, preferences=preferences)


def _stage(
    formula: derivatives.Formula,
    nest: Nest,
    arrays: Mapping[str, tuple[int, ...]],
    origin: tuple[int | Affine, ...],
    *,
    defined: bool,
    backend: planning.Backend,
) -> planning.Compute:
    """A formula of a nest's derivative planned; `arrays` are the shapes of what it may read."""
    target = formula.statement.target
    lows = tuple(nest.ranges[axis][0] for axis in nest.axes)
    origins = {o.name: o.origin for o in nest.operands}
    origins |= {tangent_name(o.name): o.origin for o in nest.operands}
    shapes = {**arrays, target.name: tuple(size.constant or 0 for size in target.shape)}
    origins[target.name] = origin
    listed = tuple((name, shape, tuple(origins.get(name, lows))) for name, shape in sorted(shapes.items()))
    box = tuple(sorted(formula.box.items(), key=lambda pair: str(pair[0])))
    return _planned(formula.statement, box, listed, defined, backend)


def _tangent(derivative: derivatives.Derivative, value: ir.Expr, nest: Nest) -> derivatives.Formula:
    """The statement that gives a nest's tangent by one of its formulas."""
    statement = ir.Define(_tensor(TANGENT, nest), tuple(map(Affine.of, nest.axes)), value)
    return derivatives.Formula(statement, derivative.box)


def _read_again(
    derivative: derivatives.Derivative, nest: Nest, known: frozenset[str], backend: planning.Backend
) -> frozenset[str]:
    """What a tangent needs beside what is `known`, and XLA would compute again wherever the tangent reads it.

    Each point of a window reads the place of its extremum: cheaper stored than found as often as the window has points.
    """
    before = [formula for formula in derivative.before if formula.statement.target.name not in known]
    # In JAX 0.10 the update that stands for a barrier is one loop with what finds a place, and with what reads it.
    if not before or derivative.value is None or derivative.single is not None or not BARRIERS_HOLD:
        return frozenset()
    formulas = (*before, _tangent(derivative, derivative.value, nest))
    changed = {access.tensor.name for access in ir.accesses(derivative.value)}
    shapes = {o.name: o.shape for o in nest.operands} | {RESULT: nest.shape}
    shapes |= {name: o.shape for o in nest.operands if (name := tangent_name(o.name)) in changed}
    lows = tuple(nest.ranges[axis][0] for axis in nest.axes)
    stages: list[planning.Compute] = []
    for formula in formulas:
        stages.append(_stage(formula, nest, shapes, lows, defined=False, backend=backend))
        shapes[formula.statement.target.name] = nest.shape
    stored = planning.stored_apart(stages, (TANGENT,))
    found = [stage for stage in stored if isinstance(stage, planning.Compute) and stage.apart]
    taken = sum(prod(stage.shape) * ir.types.width(stage.dtype) for stage in found)
    fits = backend.memory is None or taken <= backend.memory
    return frozenset(stage.target for stage in found) if fits else frozenset()


@functools.lru_cache(maxsize=1024)
def _shared(
    nest: Nest, names: tuple[str, ...], backend: planning.Backend
) -> tuple[tuple[str, planning.Compute], ...] | None:
    """The statements of what several operands receive, by their names, if one pass computes some of them."""
    shapes = {o.name: o.shape for o in nest.operands if o.name not in names} | {COTANGENT: nest.shape}
    stages: list[tuple[str, planning.Compute]] = []
    for name in names:
        operand = next(o for o in nest.operands if o.name == name)
        formulas = _cotangent_of(nest, name)
        if not formulas:
            return None
        for number, formula in enumerate(formulas):
            stage = _stage(formula, nest, shapes, operand.origin, defined=number > 0, backend=backend)
            stages.append((name, stage))
    found = planning.share([stage for _, stage in stages], (), planning.Preferences(backend=backend))
    if all(new is old for new, (_, old) in zip(found, stages, strict=True)):
        return None
    names = tuple(name for name, _ in stages)
    return tuple((name, stage) for name, stage in zip(names, found, strict=True) if isinstance(stage, planning.Compute))


@dataclass(frozen=True, slots=True)
class Runner:
    """Computes formulas with the functions that a program calls."""

    foreign: Foreign
    backend: planning.Backend

    def looked_up(
        self, derivative: derivatives.Derivative, arrays: Mapping[str, jax.Array], nest: Nest
    ) -> tuple[jax.Array | None, Mapping[str, jax.Array]]:
        """The result of a nest, if its derivative's formulas find it, and the arrays with the targets of these."""
        if derivative.primal is None:
            return None, arrays
        known = self.needed(derivative, arrays, nest)
        return self.value(derivative, derivative.primal, known, nest), known

    def needed(
        self, derivative: derivatives.Derivative, arrays: Mapping[str, jax.Array], nest: Nest
    ) -> Mapping[str, jax.Array]:
        """The arrays, and what a derivative needs beside them."""
        known = dict(arrays)
        lows = tuple(nest.ranges[axis][0] for axis in nest.axes)
        apart = _read_again(derivative, nest, frozenset(known), self.backend)
        for formula in derivative.before:
            name = formula.statement.target.name
            if name not in known:
                found = self.compute(formula, known, nest, lows)
                known[name] = keep_apart(found, found) if name in apart else found
        return known

    def derivative(self, derivative: derivatives.Derivative, arrays: Mapping[str, jax.Array], nest: Nest) -> jax.Array:
        """The tangent of a nest; `arrays` has its operands, its result and the tangents of its operands."""
        known = self.needed(derivative, arrays, nest)
        assert derivative.value is not None
        memory = self.backend.memory
        if derivative.single is None or (memory is not None and memory < LOOKED_UP * known[RESULT].nbytes):
            return self.value(derivative, derivative.value, known, nest)
        whole, (alone, ties) = derivative.value, derivative.single
        # Found again, the place of the only point that counts takes the place of all points.
        return lax.cond(
            jnp.all(known[ties] == 1),
            lambda: self.value(derivative, alone, known, nest),
            lambda: Runner(self.foreign, replace(self.backend, rare=True)).value(derivative, whole, known, nest),
        )

    def value(
        self, derivative: derivatives.Derivative, value: ir.Expr, arrays: Mapping[str, jax.Array], nest: Nest
    ) -> jax.Array:
        """The tangent of a nest by one of its formulas."""
        lows = tuple(nest.ranges[axis][0] for axis in nest.axes)
        return self.compute(_tangent(derivative, value, nest), arrays, nest, lows)

    def cotangent(self, nest: Nest, name: str, arrays: Mapping[str, jax.Array]) -> jax.Array:
        """What the operand `name` receives; `arrays` has the others and the result's cotangent."""
        operand = next(o for o in nest.operands if o.name == name)
        found: jax.Array | None = None
        for formula in _cotangent_of(nest, name):
            found = self.compute(formula, arrays, nest, operand.origin, found)
        return jnp.zeros(operand.shape, operand.dtype) if found is None else found

    def cotangents(
        self, nest: Nest, names: Sequence[str], arrays: Mapping[str, jax.Array]
    ) -> dict[str, jax.Array] | None:
        """What several operands receive, if one pass computes it; None where it does not."""
        from .lower import lower_node

        stages = _shared(nest, tuple(names), self.backend)
        if stages is None:
            return None
        context = Context(arrays, with_derivatives(dict(self.foreign)))
        found: dict[str, jax.Array] = {}
        for name, stage in stages:
            found[name] = lower_stage(stage, found.get(name), context, lower_node)
        return found

    def compute(
        self,
        formula: derivatives.Formula,
        arrays: Mapping[str, Any],
        nest: Nest,
        origin: tuple[int | Affine, ...],
        old: jax.Array | None = None,
    ) -> jax.Array:
        """The target of a formula, whose first element has the subscripts `origin`."""
        from .lower import lower_node

        shapes = {name: tuple(array.shape) for name, array in arrays.items()}
        stage = _stage(formula, nest, shapes, origin, defined=old is not None, backend=self.backend)
        context = Context(arrays, with_derivatives(dict(self.foreign)))
        return lower_stage(stage, old, context, lower_node)


__all__ = ["COTANGENT", "RESULT", "Runner", "tangent_name", "tangent_of"]
