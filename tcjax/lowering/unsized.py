"""Functions of arrays whose sizes are symbols of `jax.export`: planned one statement at a time, as it is lowered."""

from collections.abc import Mapping
from typing import assert_never

import jax
import jax.numpy as jnp

from .. import ir, ranges, transforms
from ..diagnostics import Code, CompileError, Span
from ..planning.replanning import open_question, plan_unsized_formula
from ..ranges.sizes import as_variable
from ..symbolic import Affine, IndexVar, Size, SizeVar
from .context import Context, numeric
from .elementwise import convert
from .lower import Foreign, lower_compute
from .sizes import Dim, evaluate, same


def lower_unsized(
    function: ir.Function,
    arrays: Mapping[str, jax.Array],
    initial: Mapping[str, jax.Array],
    sizes: Mapping[str, int],
    foreign: Foreign,
) -> tuple[jax.Array, ...]:
    """The function's results; traceable for arrays whose sizes are symbols.

    Raises `CompileError`: TC0601 where two sizes are not the same
    symbol, TC0901 where it takes numbers to know what to do.
    """
    return _Function(function, arrays, initial, sizes, foreign).run()


class _Function:
    """The arrays so far, the values of sizes, and the logical index of each tensor's first element."""

    def __init__(
        self,
        function: ir.Function,
        arrays: Mapping[str, jax.Array],
        initial: Mapping[str, jax.Array],
        sizes: Mapping[str, int],
        foreign: Foreign,
    ) -> None:
        self.function = function
        self.foreign = foreign
        self.arrays: dict[str, jax.Array] = {}
        self.origins: dict[str, tuple[Affine, ...]] = {}
        self.sizes: dict[SizeVar, Dim] = {SizeVar(name): value for name, value in sizes.items()}
        for loop in function.loops:
            raise open_question(f"how many steps the loop over `{loop.index}` has", loop.span)
        self.found = ranges.infer_ranges(function)
        for access in self.found.undecided:
            raise open_question(
                f"whether this statement writes elements of `{access.tensor.name}` that it reads here", access.span
            )
        for parameter in function.parameters:
            self.put(parameter, arrays[parameter.name])
        for parameter in function.parameters:
            self.check_shape(parameter)
        for tensor in function.initial:
            if tensor.name in initial:
                self.put(tensor, convert(jnp.asarray(initial[tensor.name]), tensor.dtype))

    def run(self) -> tuple[jax.Array, ...]:
        """The results, after all statements."""
        for number, statement in enumerate(self.function.statements):
            match statement:
                case ir.Define() | ir.Accumulate():
                    self.compute(statement, number)
                case ir.Invoke(targets, callee, arguments):
                    passed = {p.name: self.arrays[a.name] for p, a in zip(callee.parameters, arguments, strict=True)}
                    results = lower_unsized(callee, passed, {}, {}, self.foreign)
                    for target, result in zip(targets, results, strict=True):
                        self.put(target, result)
                case ir.ApplyForeign():
                    self.apply(statement)
                case _:
                    assert_never(statement)
        return tuple(self.arrays[tensor.name] for tensor in self.function.returns)

    def put(self, tensor: ir.Tensor, array: jax.Array) -> None:
        """A whole tensor, and the sizes that its shape gives."""
        if array.ndim != tensor.rank:
            raise CompileError(
                Code.ARGUMENT_RANK,
                f"`{tensor.name}` has {tensor.rank} dimensions, but the argument has {array.ndim}",
                tensor.span,
                help=f"pass an array with {tensor.rank} dimensions",
            )
        self.arrays[tensor.name] = array
        self.origins[tensor.name] = (Affine.of(0),) * tensor.rank
        for size, extent in zip(tensor.shape, array.shape, strict=True):
            variable = as_variable(size)
            if variable is not None:
                self.sizes.setdefault(variable, extent)

    def check_shape(self, parameter: ir.Tensor) -> None:
        """Raises `CompileError` (TC0601) where a declared size has another value elsewhere."""
        for dimension, (size, extent) in enumerate(
            zip(parameter.shape, self.arrays[parameter.name].shape, strict=True)
        ):
            wanted = self.dim(size, parameter.span)
            if not same(wanted, extent):
                raise CompileError(
                    Code.SIZE_MISMATCH,
                    f"dimension {dimension} of `{parameter.name}` is `{size}`, and {size} = {wanted}, but the argument "
                    f"has {extent} there",
                    parameter.span,
                    help="write the same symbol for the same size",
                )

    def dim(self, size: Size, span: Span) -> Dim:
        """The value of a size. Raises `CompileError` (TC0901) where nothing gives it."""
        try:
            return evaluate(size, self.sizes)
        except KeyError as unknown:
            raise open_question(f"nothing says how large `{unknown.args[0]}` is", span) from None

    def compute(self, statement: ir.Define | ir.Accumulate, number: int) -> None:
        """One statement."""
        target, span = statement.target, statement.span
        box: dict[IndexVar, tuple[Size, Size]] = {}
        for index, interval in self.found.statements[number].intervals.items():
            if interval is None:
                raise open_question(f"how far `{index}` runs has no formula", span)
            box[index] = interval.lo, interval.hi
        old = self.arrays.get(target.name)
        shapes = {name: array.shape for name, array in self.arrays.items()}
        if old is None:
            places = [place for place in self.found.locals[target.name] if place is not None]
            if len(places) < target.rank:
                raise open_question(f"how large `{target.name}` is has no formula", span)
            shapes[target.name] = tuple(self.dim(place.extent, span) for place in places)
            self.origins[target.name] = tuple(Affine.of(place.lo) for place in places)
        stage = plan_unsized_formula(
            transforms.guard_ranges(statement),
            box,
            shapes,
            self.origins,
            lambda size: self.dim(size, span),
            defined=old is not None,
        )
        found = lower_compute(stage, old, Context(self.arrays, self.foreign, sizes=self.sizes))
        if old is None:
            origins = self.origins[target.name]
            self.put(target, found)
            self.origins[target.name] = origins
        self.arrays[target.name] = found

    def apply(self, statement: ir.ApplyForeign) -> None:
        """A Python function on whole arrays, or on the cells of a frame."""
        called = self.foreign[statement.function]
        for _ in range(statement.frame):
            called = jax.vmap(called, tuple(0 if varies else None for varies in statement.varying))
        results = called(*(self.arrays[argument.name] for argument in statement.arguments))
        parts = tuple(results) if isinstance(results, (tuple, list)) else (results,)
        for target, part in zip(statement.targets, parts, strict=True):
            self.put(target, jnp.asarray(part, numeric(target.dtype)))
