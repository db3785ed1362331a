"""Statements of derivatives, evaluated by the interpreter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tcjax
from tcjax import ir, transforms
from tcjax.interpreter import differences, in_float64, interpret
from tcjax.ranges import Bound
from tcjax.symbolic import Affine, Box, IndexVar, Size
from tcjax.transforms.derivatives import Formula, adjoint, tangent

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Unit:
    """``O(axes) = value``: the only statement of a program, with numbers for sizes and guards for ranges."""

    bound: Bound
    value: ir.Expr
    axes: tuple[IndexVar, ...]
    box: Box
    output: ir.Tensor
    arrays: Mapping[str, Array]

    @staticmethod
    def of(text: str, arrays: Mapping[str, Array], fns: Mapping[str, Any] | None = None) -> "Unit":
        kernel = tcjax.kernel(text, fns=dict(fns or {}))
        bound = in_float64(kernel._bound(*arrays.values()))
        (statement,) = bound.function.statements
        assert isinstance(statement, (ir.Define, ir.Accumulate))
        plain = transforms.guard_ranges(transforms.specialize(statement, bound.sizes))
        axes = tuple([index.bare for index in plain.indices])
        value = plain.value
        if isinstance(plain, ir.Accumulate) and plain.reduction:
            value = ir.Reduce(
                plain.reducer, plain.reduction, (), plain.domain.guard, value, None, plain.accumulate, value.dtype
            )
        output = ir.Tensor("O", value.dtype, tuple(map(Size.of, bound.shapes[plain.target.name])))
        return Unit(bound, value, tuple(a for a in axes if a is not None), bound.boxes[0], output, arrays)

    @property
    def real(self) -> list[str]:
        return [p.name for p in self.bound.function.parameters if ir.types.is_float(p.dtype)]

    def named(self, prefix: str) -> dict[str, ir.Tensor]:
        """A tangent tensor for each real parameter."""
        parameters = {p.name: p for p in self.bound.function.parameters}
        shapes = self.bound.shapes
        return {n: replace(parameters[n], name=prefix + n, shape=tuple(map(Size.of, shapes[n]))) for n in self.real}

    @property
    def cotangent(self) -> ir.Tensor:
        return replace(self.output, name="d_O")

    def differences(self, name: str, cotangent: Array) -> Array:
        return differences(self.bound, self.arrays, name, [cotangent])

    def known(self, fns: Mapping[str, Any] | None = None) -> dict[str, Array]:
        """The arguments and the result."""
        double = {n: np.asarray(a, np.float64) if n in self.real else np.asarray(a) for n, a in self.arrays.items()}
        (result,) = interpret(self.bound, double, foreign=dict(fns or {}))
        return {**double, "O": result}

    def evaluated(
        self, formulas: Sequence[Formula], known: Mapping[str, Array], fns: Mapping[str, Any] | None = None
    ) -> dict[str, Array]:
        """The targets of the formulas, whose tensors start where the axes do."""
        tensors = {}
        for formula in formulas:
            statement = formula.statement
            exprs = [statement.value, *([] if statement.domain.guard is None else [statement.domain.guard])]
            exprs += [data.expr for index in statement.indices for data in ir.data_atoms(index)]
            for expr in exprs:
                tensors |= {access.tensor.name: access.tensor for access in ir.accesses(expr)}
        targets = {f.statement.target.name: f.statement.target for f in formulas}
        parameters = tuple([t for name, t in tensors.items() if name not in targets])
        function = ir.Function(
            "f", parameters, tuple(targets.values()), tuple(f.statement for f in formulas), declared=()
        )
        ir.verify(function)
        every = {**tensors, **targets}
        shapes = {name: tuple([size.constant or 0 for size in t.shape]) for name, t in every.items()}
        shapes |= {name: self.bound.shapes[name] for name in every if name in self.bound.function.parameters}
        shapes |= {name: np.shape(known[name]) for name in every if name in known}
        starts = tuple([self.box[axis][0] for axis in self.axes])
        along = {"O", "d_O"} | {name for name in every if name.startswith("O.")} | {"t_O"}
        origins = {name: starts if name in along else (0,) * len(shapes[name]) for name in every}
        bound = Bound(function, {}, tuple(f.box for f in formulas), origins, shapes)
        results = interpret(bound, {p.name: known[p.name] for p in parameters}, foreign=dict(fns or {}))
        return dict(zip(targets, results, strict=True))

    def adjoints(self, cotangent: Array, fns: Mapping[str, Any] | None = None) -> dict[str, Array]:
        """Directly from the value."""
        formulas = adjoint(self.value, self.axes, self.box, self.cotangent, self.named("d_"))
        found = self.evaluated(formulas, {**self.known(fns), "d_O": cotangent}, fns)
        return {name: found.get(f"d_{name}", np.zeros(self.bound.shapes[name])) for name in self.real}

    def tangents(self, changes: Mapping[str, Array], fns: Mapping[str, Any] | None = None) -> Array:
        """The tangent of the result from those of the arguments."""
        assert isinstance(self.value, ir.Reduce)
        found = tangent(self.value, self.axes, self.box, self.output, self.named("t_"))
        if found.value is None:
            return np.zeros([size.constant or 0 for size in self.output.shape])
        known = {**self.known(fns), **{f"t_{name}": change for name, change in changes.items()}}
        known |= self.evaluated(found.before, known, fns)
        target = replace(self.output, name="t_O")
        define = ir.Define(target, tuple(map(Affine.of, self.axes)), found.value)
        return self.evaluated([Formula(define, found.box)], known, fns)["t_O"]

    def transposed(self, cotangent: Array, fns: Mapping[str, Any] | None = None) -> dict[str, Array]:
        """Through the tangent, which is linear."""
        assert isinstance(self.value, ir.Reduce)
        found = tangent(self.value, self.axes, self.box, self.output, self.named("t_"))
        if found.value is None:
            return {name: np.zeros(self.bound.shapes[name]) for name in self.real}
        known = self.known(fns)
        known |= self.evaluated(found.before, known, fns)
        wrt = {f"t_{name}": tensor for name, tensor in self.named("d_").items()}
        formulas = adjoint(found.value, self.axes, found.box, self.cotangent, wrt)
        results = self.evaluated(formulas, {**known, "d_O": cotangent}, fns)
        return {name: results.get(f"d_{name}", np.zeros(self.bound.shapes[name])) for name in self.real}
