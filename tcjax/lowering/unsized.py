"""Functions of arrays with symbolic sizes (`jax.export`): planned one statement at a time while lowering."""

from collections.abc import Mapping
from typing import Any, assert_never

import jax
import jax.numpy as jnp

from .. import ir, ranges, transforms
from ..diagnostics import Code, CompileError, Span
from ..planning.replanning import open_question, plan_unsized_formula, plan_unsized_loop
from ..ranges.sizes import as_variable
from ..symbolic import Affine, IndexVar, Size, SizeVar
from .context import Context, numeric
from .elementwise import convert
from .lower import Foreign, lower_compute
from .sizes import Dim, evaluate, same
from .unsized_steps import lower_unsized_steps


def lower_unsized(
    function: ir.Function,
    arrays: Mapping[str, jax.Array],
    initial: Mapping[str, jax.Array],
    sizes: Mapping[str, int],
    foreign: Foreign,
) -> tuple[jax.Array, ...]:
    """The function's results; traceable for arrays with symbolic sizes.

    Raises `CompileError`: TC0601 if two sizes are not the same symbol, TC0901 if a decision needs numbers.
    """
    found = _Function(_bound(function), {SizeVar(name): value for name, value in sizes.items()}, foreign)
    for parameter in function.parameters:
        found.put(parameter, arrays[parameter.name])
    for parameter in function.parameters:
        found.check_shape(parameter)
    for tensor in function.initial:
        if tensor.name in initial:
            found.put(tensor, convert(jnp.asarray(initial[tensor.name]), tensor.dtype))
    return found.run()


def _bound(function: ir.Function) -> ranges.Bound:
    """The function with symbolic ranges where they are not numbers; a tensor written only by calls has no shape."""
    found = ranges.infer_ranges(function)
    for access in found.undecided:
        raise open_question(
            f"whether this statement writes elements of `{access.tensor.name}` that it reads here", access.span
        )
    for access in found.untimely():
        raise open_question(
            f"whether a later step writes elements of `{access.tensor.name}` that this one reads", access.span
        )
    boxes: list[dict[IndexVar, tuple[int | Size, int | Size]]] = []
    for statement, known in zip(function.statements, found.statements, strict=True):
        box: dict[IndexVar, tuple[int | Size, int | Size]] = {}
        for index, interval in known.intervals.items():
            if interval is None:
                raise open_question(f"how far `{index}` runs has no formula", statement.span)
            box[index] = _plain(interval.lo), _plain(interval.hi)
        boxes.append(box)
    shapes = {tensor.name: tuple(map(_plain, tensor.shape)) for tensor in function.parameters}
    origins: dict[str, tuple[int | Size, ...]] = {name: (0,) * len(shape) for name, shape in shapes.items()}
    for name, intervals in found.locals.items():
        places = [interval for interval in intervals if interval is not None]
        if len(places) == len(intervals):
            shapes[name] = tuple([_plain(place.extent) for place in places])
            origins[name] = tuple([_plain(place.lo) for place in places])
    # These are never compared with numbers.
    given: Any = function, {}, tuple(boxes), origins, shapes, {}, ({},) * len(boxes)
    return ranges.Bound(*given)


def _plain(size: Size) -> int | Size:
    return size if size.constant is None else size.constant


class _Function:
    """The arrays so far, the values of sizes, and the logical index of each tensor's first element."""

    def __init__(self, bound: ranges.Bound, sizes: Mapping[SizeVar, Dim], foreign: Foreign) -> None:
        self.bound, self.function = bound, bound.function
        self.foreign = foreign
        self.arrays: dict[str, jax.Array] = {}
        self.origins = {name: tuple(map(Affine.of, origin)) for name, origin in bound.origins.items()}
        self.sizes: dict[SizeVar, Dim] = dict(sizes)

    def run(self) -> tuple[jax.Array, ...]:
        """The results, after all statements."""
        number = 0
        while number < len(self.function.statements):
            around = self.function.around(number)
            if around:
                self.loop(around[0])
                number = around[0].last
                continue
            statement = self.function.statements[number]
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
            number += 1
        return tuple(self.arrays[tensor.name] for tensor in self.function.returns)

    def loop(self, loop: ir.Loop) -> None:
        """The loop, with each step as a program of its own."""
        run = self.function.statements[loop.first : loop.last]
        written = {target.name: target for statement in run for target in ir.targets(statement)}
        for target in written.values():
            self.place(target, target.span)
        inner, steps = plan_unsized_loop(self.bound, loop, self.arrays, lambda size: self.dim(size, loop.span))

        def step(arrays: Mapping[str, jax.Array]) -> tuple[jax.Array, ...]:
            found = _Function(inner, self.sizes, self.foreign)
            for parameter in inner.function.parameters:
                found.put(parameter, arrays[parameter.name])
            return found.run()

        for name, array in lower_unsized_steps(steps, self.arrays, step).items():
            self.put(written[name], array)

    def place(self, tensor: ir.Tensor, span: Span) -> tuple[Dim, ...]:
        """The extents of a tensor that statements write."""
        if tensor.name not in self.bound.shapes:
            raise open_question(f"how large `{tensor.name}` is has no formula", span)
        return tuple([self.dim(Size.of(extent), span) for extent in self.bound.shapes[tensor.name]])

    def put(self, tensor: ir.Tensor, array: jax.Array) -> None:
        """Stores a whole tensor, and the sizes given by its shape."""
        if array.ndim != tensor.rank:
            raise CompileError(
                Code.ARGUMENT_RANK,
                f"`{tensor.name}` has {tensor.rank} dimensions, but the argument has {array.ndim}",
                tensor.span,
                help=f"pass an array with {tensor.rank} dimensions",
            )
        self.arrays[tensor.name] = array
        self.origins.setdefault(tensor.name, (Affine.of(0),) * tensor.rank)
        for size, extent in zip(tensor.shape, array.shape, strict=True):
            variable = as_variable(size)
            if variable is not None:
                self.sizes.setdefault(variable, extent)

    def check_shape(self, parameter: ir.Tensor) -> None:
        """Raises `CompileError` (TC0601) if a declared size has another value elsewhere."""
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
        """The value of a size. Raises `CompileError` (TC0901) if it is unknown."""
        try:
            return evaluate(size, self.sizes)
        except KeyError as unknown:
            raise open_question(f"nothing says how large `{unknown.args[0]}` is", span) from None

    def compute(self, statement: ir.Define | ir.Accumulate, number: int) -> None:
        """One statement."""
        target, span = statement.target, statement.span
        box = {index: (Size.of(lo), Size.of(hi)) for index, (lo, hi) in self.bound.boxes[number].items()}
        old = self.arrays.get(target.name)
        shapes = {name: array.shape for name, array in self.arrays.items()}
        if old is None:
            shapes[target.name] = self.place(target, span)
        stage = plan_unsized_formula(
            transforms.guard_ranges(statement),
            box,
            shapes,
            self.origins,
            lambda size: self.dim(size, span),
            defined=old is not None,
        )
        found = lower_compute(stage, old, Context(self.arrays, self.foreign, sizes=self.sizes))
        self.put(target, found)

    def apply(self, statement: ir.ApplyForeign) -> None:
        """A Python function on whole arrays, or on the cells of a frame."""
        called = self.foreign[statement.function]
        for _ in range(statement.frame):
            called = jax.vmap(called, tuple(0 if varies else None for varies in statement.varying))
        results = called(*(self.arrays[argument.name] for argument in statement.arguments))
        parts = tuple(results) if isinstance(results, (tuple, list)) else (results,)
        for target, part in zip(statement.targets, parts, strict=True):
            self.put(target, jnp.asarray(part, numeric(target.dtype)))
