"""Arguments of a kernel: whether it accepts them, which are used as subscripts, and their elements."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ... import ir
from ...keeping import cached_property
from ...ranges import Bound
from ...symbolic import Affine
from ..frontends import Call

if TYPE_CHECKING:
    from ..questions import Questions

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """One call: `arrays` by parameter name in order, `initial` values of outputs, `sizes` passed by keyword."""

    arrays: Mapping[str, Array]
    initial: Mapping[str, Array] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def everything(self) -> dict[str, Array]:
        """All arrays by name."""
        return {**self.arrays, **self.initial}

    def having(self, arrays: Mapping[str, Array]) -> "Sample":
        """The same call with some arrays replaced by name."""
        return Sample(
            {name: arrays.get(name, array) for name, array in self.arrays.items()},
            {name: arrays.get(name, array) for name, array in self.initial.items()},
            self.sizes,
        )

    @property
    def elements(self) -> int:
        """The number of elements of all arrays."""
        return sum(array.size for array in self.everything.values())


class TooMuch(Exception):
    """Arguments for which the interpreter would take too long."""


def admitted(kernel: "Questions", sample: Sample, most: int) -> tuple[Call, Bound]:
    """The call for a sample, and the result of range inference.

    Raises `CompileError` where the kernel refuses it, `TooMuch` where statements have more than `most` points.
    """
    call, _ = kernel._call(tuple(sample.arrays.values()), {**sample.initial, **sample.sizes})
    compiler = kernel._compiler
    bound = compiler.bound(call)
    if points(bound) > most:
        raise TooMuch
    if kernel._frontend.options.sharding is None:
        compiler.plan(call)
    else:
        compiler.sharded(call)
    return call, bound


def points(bound: Bound) -> int:
    """How many points the statements have, inline reductions and calls included."""
    own = sum(prod(hi - lo for lo, hi in box.values()) for box in bound.boxes)
    return own + sum(map(points, bound.calls.values()))


def subscripts(bound: Bound) -> dict[str, int]:
    """The parameters that are read as subscripts, each with the smallest extent that it points into."""
    found: dict[str, int] = {}
    for affine, extent in _data_subscripts(bound):
        for atom in ir.data_atoms(affine):
            for access in ir.accesses(atom.expr):
                name = access.tensor.name
                if ir.types.is_integral(access.tensor.dtype):
                    found[name] = min(extent, found.get(name, extent))
    return {p.name: found[p.name] for p in bound.function.parameters if p.name in found}


def _data_subscripts(bound: Bound) -> Iterator[tuple[Affine, int]]:
    """Every subscript that depends on data, in the names of the function, and the extent of its dimension."""
    for number, statement in enumerate(bound.function.statements):
        match statement:
            case ir.Define(target, indices) | ir.Accumulate(target, indices):
                yield from _of(target, indices, bound)
                for access in ir.accesses_of(statement):
                    yield from _of(access.tensor, access.indices, bound)
            case ir.Invoke(_, callee, arguments) if number in bound.calls:
                names = {p.name: a for p, a in zip(callee.parameters, arguments, strict=True)}
                for affine, extent in _data_subscripts(bound.calls[number]):
                    yield affine.rewrite(lambda atom, names=names: _renamed(atom, names)), extent
            case _:
                continue


def _of(tensor: ir.Tensor, indices: tuple[Affine, ...], bound: Bound) -> Iterator[tuple[Affine, int]]:
    for affine, extent in zip(indices, bound.shapes[tensor.name], strict=True):
        if affine.is_data:
            yield affine, extent


def _renamed(atom: Any, names: Mapping[str, ir.Tensor]) -> Any:
    return ir.Data(_renamed_reads(atom.expr, names)) if isinstance(atom, ir.Data) else atom


def _renamed_reads(expr: ir.Expr, names: Mapping[str, ir.Tensor]) -> ir.Expr:
    expr = ir.rebuild(expr, lambda inner: _renamed_reads(inner, names))
    if isinstance(expr, ir.Access) and expr.tensor.name in names:
        return ir.Access(names[expr.tensor.name], expr.indices)
    return expr


def divides_integers(function: ir.Function) -> bool:
    """Whether data decide what an integer is divided by: dividing by zero is unspecified."""
    return any(
        isinstance(expr, ir.Binary)
        and expr.operator in ("/", "//", "%", "quot", "rem")
        and ir.types.is_integral(expr.dtype)
        and any(True for _ in ir.accesses(expr.right))
        for expr in expressions(function)
    )


def expressions(function: ir.Function) -> Iterator[ir.Expr]:
    """Every expression of a function and of those that it calls."""
    for statement in function.statements:
        match statement:
            case ir.Define() | ir.Accumulate():
                yield from ir.nodes_of(statement)
            case ir.Invoke(function=callee):
                yield from expressions(callee)
            case _:
                continue


def filled(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: str, style: str, limit: int | None, *, nonzero: bool
) -> Array:
    """Random elements.

    `limit` is for subscripts, which lie below it. Of the styles, ``quarters`` are numbers whose sums and products are
    exact, ``generic`` ones of which no two are equal and none is near zero, ``positive`` the same above zero.
    """
    kind = np.dtype(jax.dtypes.canonicalize_dtype(dtype))
    if limit is not None:
        return rng.integers(0, max(1, limit), shape).astype(kind)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if ir.types.is_integral(dtype):
        lowest = 1 if nonzero else 0 if dtype in ir.types.UNSIGNED else -2
        return rng.integers(lowest, 6, shape).astype(kind)

    def reals() -> Array:
        if style == "quarters":
            return rng.integers(-8, 9, shape) / 4
        signs = 1.0 if style == "positive" else rng.choice([-1.0, 1.0], shape)
        return rng.uniform(0.3, 1.5, shape) * signs

    values = reals() + 1j * reals() if ir.types.is_complex(dtype) else reals()
    return np.asarray(values).astype(kind)
