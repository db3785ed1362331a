"""The derivatives of a nest: formulas that are planned and computed like any other."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from .. import ir, planning
from ..planning.nests import Nest
from ..symbolic import Affine, IndexVar, Size
from ..transforms import derivatives
from .context import Context
from .derived import with_derivatives
from .rounds import lower_stage

# Names that no program can use: of the result of a nest, of its cotangent, and of the tangent that is computed.
RESULT, COTANGENT, TANGENT = "result.", "cotangent.", "tangent."
Foreign = tuple[tuple[str, Callable[..., object]], ...]
Shapes = tuple[tuple[str, tuple[int, ...], tuple[int | Affine, ...]], ...]


def tangent_name(operand: str) -> str:
    """The name of the tangent of an operand."""
    return f"t.{operand}"


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


@dataclass(frozen=True, slots=True)
class Runner:
    """Computes formulas with the functions that a program calls."""

    foreign: Foreign
    backend: planning.Backend

    def derivative(self, derivative: derivatives.Derivative, arrays: Mapping[str, jax.Array], nest: Nest) -> jax.Array:
        """The tangent of a nest; `arrays` has its operands, its result and the tangents of its operands."""
        known = dict(arrays)
        lows = tuple(nest.ranges[axis][0] for axis in nest.axes)
        for formula in derivative.before:
            known[formula.statement.target.name] = self.compute(formula, known, nest, lows)
        assert derivative.value is not None
        target = _tensor(TANGENT, nest)
        subscripts = tuple(map(Affine.of, nest.axes))
        formula = derivatives.Formula(ir.Define(target, subscripts, derivative.value), derivative.box)
        return self.compute(formula, known, nest, lows)

    def cotangent(self, nest: Nest, name: str, arrays: Mapping[str, jax.Array]) -> jax.Array:
        """What the operand `name` receives; `arrays` has the others and the result's cotangent."""
        operand = next(o for o in nest.operands if o.name == name)
        found: jax.Array | None = None
        for formula in _cotangent_of(nest, name):
            found = self.compute(formula, arrays, nest, operand.origin, found)
        return jnp.zeros(operand.shape, operand.dtype) if found is None else found

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

        statement = formula.statement
        target = statement.target
        lows = tuple(nest.ranges[axis][0] for axis in nest.axes)
        origins = {o.name: o.origin for o in nest.operands}
        origins |= {tangent_name(o.name): o.origin for o in nest.operands}
        shapes: dict[str, tuple[int, ...]] = {name: tuple(array.shape) for name, array in arrays.items()}
        shapes[target.name] = tuple(size.constant or 0 for size in target.shape)
        origins[target.name] = origin
        listed = tuple((name, shape, tuple(origins.get(name, lows))) for name, shape in sorted(shapes.items()))
        box = tuple(sorted(formula.box.items(), key=lambda pair: str(pair[0])))
        stage = _planned(statement, box, listed, old is not None, self.backend)
        context = Context(arrays, with_derivatives(dict(self.foreign)))
        return lower_stage(stage, old, context, lower_node)


__all__ = ["COTANGENT", "RESULT", "Runner", "tangent_name", "tangent_of"]
