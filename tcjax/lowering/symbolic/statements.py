"""One statement: values at every point of the left side, and where they go."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ... import ir, ranges
from ...diagnostics import Code, CompileError, Span
from ...ir import Reducer
from ...symbolic import Affine, IndexVar, Size
from ...symbolic.affine import Atom, Clamp, Quotient, Remainder
from ..builtins import BUILTINS
from ..context import numeric
from ..elementwise import OPERATORS, convert
from ..reductions import combine
from .folds import fold, nothing
from .sizes import Dim, as_int32, same

Formula = ir.Define | ir.Accumulate
# The value of each index that is known, int32, a dimension for each index of the left side.
Frame = Mapping[IndexVar, jax.Array]

_UNARY = {"-": "neg", "!": "!", "~": "~"}


class Run:
    """A statement with the `intervals` (first, extent) of its indices; `axes` are those of the left side."""

    def __init__(
        self,
        statement: Formula,
        intervals: Mapping[IndexVar, tuple[Dim, Dim]],
        arrays: Mapping[str, jax.Array],
        origins: Mapping[str, tuple[Dim, ...]],
        foreign: Mapping[str, Callable[..., object]],
        dim: Callable[[Size, Span], Dim],
    ) -> None:
        self.statement = statement
        self.intervals = intervals
        self.arrays = arrays
        self.origins = origins
        self.foreign = foreign
        self.dim = dim
        variables = (index for subscript in statement.indices for index in sorted(subscript.variables, key=str))
        self.axes = tuple(dict.fromkeys(variables))
        self.space = tuple(intervals[index][1] for index in self.axes)
        self.frame = {index: self.line(place) for place, index in enumerate(self.axes)}

    def line(self, place: int) -> jax.Array:
        """The values of one index of the left side, along its dimension."""
        lo, extent = self.intervals[self.axes[place]]
        shape = tuple(extent if other == place else 1 for other in range(len(self.axes)))
        return jnp.reshape(jnp.arange(extent, dtype="int32"), shape) + as_int32(lo)

    def target(self, old: jax.Array, *, is_new: bool) -> jax.Array:
        """The target after the statement."""
        statement, dtype = self.statement, self.statement.target.dtype
        guard = ranges.effective_guard(statement)
        if isinstance(statement, ir.Define):
            value = jnp.broadcast_to(convert(self.expr(statement.value, self.frame), dtype), self.space)
            live = None if guard is None else jnp.broadcast_to(self.expr(guard, self.frame), self.space)
            return self.store(old, value, live, None)
        reducer, running = statement.reducer, statement.accumulate
        value = self.contraction(statement) if guard is None else None
        if value is None:
            value = self.reduce(reducer, statement.reduction, guard, statement.value, running, self.frame)
        value = jnp.broadcast_to(value, self.space)
        if not (statement.restart or is_new):
            return self.store(old, convert(value, dtype), None, reducer)
        if self.is_box:
            return self.store(old, convert(value, dtype), None, None)
        # Several points may meet in one element: all that the left side can name begin from the identity.
        return self.store(
            self.cleared(old, convert(nothing(reducer, running), dtype)), convert(value, dtype), None, reducer
        )

    # ------------------------------------------------------------ stores

    @property
    def is_box(self) -> bool:
        """Whether the left side is a box of the target, each index one of its dimensions."""
        return tuple(subscript.bare for subscript in self.statement.indices) == self.axes

    def store(
        self, old: jax.Array, value: jax.Array, live: jax.Array | None, reducer: Reducer | ir.Monoid | None
    ) -> jax.Array:
        """The target with the values in their places, where they are `live`, joined by `reducer` to what is there."""
        statement = self.statement
        origins = self.origins[statement.target.name]
        if self.is_box:
            starts = [self.intervals[index][0] - origin for index, origin in zip(self.axes, origins, strict=True)]
            is_whole = all(same(s, 0) for s in starts) and all(map(same, old.shape, value.shape))
            begin = [as_int32(start) for start in starts]
            before = old if is_whole else lax.dynamic_slice(old, begin, value.shape)
            if reducer is not None:
                value = convert(self.joined(reducer)(before, value), statement.target.dtype)
            if live is not None:
                value = jnp.where(live, value, before)
            return value if is_whole else lax.dynamic_update_slice(old, value, begin)
        places = [self.affine(s, self.frame) - as_int32(o) for s, o in zip(statement.indices, origins, strict=True)]
        if live is not None:
            # Behind the end nothing is written.
            places[0] = jnp.where(live, places[0], as_int32(old.shape[0]))
        at = old.at[tuple(jnp.broadcast_to(place, self.space) for place in places)]
        updates: dict[Reducer | ir.Monoid | None, Callable[..., jax.Array]] = {
            None: at.set,
            Reducer.SUM: at.add,
            Reducer.PRODUCT: at.multiply,
            Reducer.MIN: at.min,
            Reducer.MAX: at.max,
        }
        if reducer not in updates or (reducer is not None and old.dtype == jnp.bool_):
            assert reducer is not None
            raise open_question(f"`{reducer.value}` into computed places needs a plan", statement.span)
        return updates[reducer](value, mode="drop", wrap_negative_indices=False)

    def cleared(self, old: jax.Array, start: jax.Array) -> jax.Array:
        """The target with `start` in all elements that the left side can name: all of a dimension that data choose."""
        indices, origins = self.statement.indices, self.origins[self.statement.target.name]
        named = {index for subscript in indices if not subscript.is_data for index in subscript.variables}
        space = tuple(extent if axis in named else 1 for axis, extent in zip(self.axes, self.space, strict=True))
        chosen = [number for number, subscript in enumerate(indices) if subscript.is_data]
        shape = (*space, *(old.shape[number] for number in chosen))
        places = []
        for number, (subscript, origin) in enumerate(zip(indices, origins, strict=True)):
            if number in chosen:
                place = lax.broadcasted_iota(jnp.int32, shape, len(space) + chosen.index(number))
            else:
                place = jnp.broadcast_to(self.affine(subscript, self.frame) - as_int32(origin), space)
                place = jnp.broadcast_to(lax.expand_dims(place, range(len(space), len(shape))), shape)
            places.append(place)
        return old.at[tuple(places)].set(start, mode="drop", wrap_negative_indices=False)

    def joined(self, reducer: Reducer | ir.Monoid) -> Callable[[jax.Array, jax.Array], jax.Array]:
        """How a statement goes on from what its target holds."""
        if isinstance(reducer, ir.Monoid) or reducer.continues:
            return combine(reducer)
        raise open_question(f"`{reducer.value}` does not go on from another", self.statement.span)

    # ------------------------------------------------------------ reductions

    def contraction(self, statement: ir.Accumulate) -> jax.Array | None:
        """A sum of products of whole tensors as einsum; None for anything else."""
        factors = _factors(statement.value)
        if statement.reducer is not Reducer.SUM or not factors or statement.accumulate == "bool":
            return None
        labels = {index: number for number, index in enumerate((*self.axes, *statement.reduction))}
        operands: list[Any] = []
        used: set[IndexVar] = set()
        for factor in factors:
            indices = self.whole(factor)
            if indices is None or not set(indices) <= labels.keys():
                return None
            used.update(indices)
            operands += [self.arrays[factor.tensor.name], [labels[index] for index in indices]]
        if used != labels.keys():
            return None
        output = [labels[index] for index in self.axes]
        return jnp.einsum(*operands, output, preferred_element_type=numeric(statement.accumulate))

    def whole(self, access: ir.Access) -> tuple[IndexVar, ...] | None:
        """The indices of a read, each of which runs over a whole dimension of its own; None for other reads."""
        indices: list[IndexVar] = []
        shape, origins = self.arrays[access.tensor.name].shape, self.origins[access.tensor.name]
        for subscript, extent, origin in zip(access.indices, shape, origins, strict=True):
            index = subscript.bare
            if index is None or index in indices or not all(map(same, self.intervals[index], (origin, extent))):
                return None
            indices.append(index)
        return tuple(indices)

    def reduce(
        self,
        reducer: Reducer | ir.Monoid,
        indices: tuple[IndexVar, ...],
        guard: ir.Expr | None,
        body: ir.Expr,
        running: str,
        frame: Frame,
    ) -> jax.Array:
        """The reduction at every point of the left side, in the type `running`."""

        def element(at: Frame) -> tuple[jax.Array, jax.Array | None]:
            inside = {**frame, **at}
            value = jnp.broadcast_to(convert(self.expr(body, inside), running), self.space)
            return value, None if guard is None else jnp.broadcast_to(self.expr(guard, inside), self.space)

        box = [(index, *self.intervals[index]) for index in indices]
        found = fold(reducer, box, element, running, self.space)
        if found is None:
            raise open_question(f"`{reducer.value}` needs a plan", self.statement.span)
        return found

    # ------------------------------------------------------------ expressions

    def expr(self, expr: ir.Expr, frame: Frame) -> jax.Array:
        """The value at every point of the left side; a dimension along which it does not change may have extent 1."""
        match expr:
            case ir.Const(value, dtype):
                return jnp.asarray(value, numeric(dtype))
            case ir.Extent(size, dtype):
                return convert(as_int32(self.dim(size, expr.span)), dtype)
            case ir.Index(variable):
                return frame[variable]
            case ir.Access():
                return self.read(expr, frame)
            case ir.Unary(operator, operand):
                return OPERATORS[_UNARY[operator]](self.expr(operand, frame))
            case ir.Binary(operator, left, right):
                return OPERATORS[operator](self.expr(left, frame), self.expr(right, frame))
            case ir.Call(function, arguments, dtype):
                return convert(BUILTINS[function](*(self.expr(a, frame) for a in arguments)), dtype)
            case ir.Foreign(function, arguments, dtype):
                given = jnp.broadcast_arrays(*(self.expr(a, frame) for a in arguments))
                return jnp.asarray(self.foreign[function](*given), numeric(dtype))
            case ir.Cast(operand, dtype):
                return convert(self.expr(operand, frame), dtype)
            case ir.Select(condition, then, otherwise):
                return jnp.where(*(self.expr(part, frame) for part in (condition, then, otherwise)))
            case ir.Reduce(reducer, indices, _, _, body, _, accumulate, dtype):
                guard = ranges.effective_guard(expr)
                return convert(self.reduce(reducer, indices, guard, body, accumulate, frame), dtype)

    def read(self, access: ir.Access, frame: Frame) -> jax.Array:
        """A tensor's elements; where nothing would read outside anyway, the nearest element stands in."""
        array, origins = self.arrays[access.tensor.name], self.origins[access.tensor.name]
        if not access.indices:
            return array
        whole = self.whole(access)
        if whole is not None and set(whole) <= set(self.axes):
            ordered = [index for index in self.axes if index in whole]
            array = lax.transpose(array, [whole.index(index) for index in ordered])
            return lax.expand_dims(array, [n for n, index in enumerate(self.axes) if index not in whole])
        places = []
        for subscript, extent, origin in zip(access.indices, array.shape, origins, strict=True):
            place = self.affine(subscript, frame) - as_int32(origin)
            places.append(jnp.clip(place, 0, as_int32(extent) - 1))
        return array.at[tuple(jnp.broadcast_arrays(*places))].get(mode="promise_in_bounds")

    def affine(self, subscript: Affine, frame: Frame) -> jax.Array:
        """The value of a subscript, int32."""
        span = self.statement.span
        total = as_int32(self.dim(subscript.base, span))
        for atom, weight in subscript.terms:
            total = total + self.atom(atom, frame) * as_int32(self.dim(weight, span))
        return total

    def atom(self, atom: Atom, frame: Frame) -> jax.Array:
        match atom:
            case IndexVar():
                return frame[atom]
            case Quotient(argument, divisor):
                by = as_int32(self.dim(divisor, self.statement.span))
                return jnp.floor_divide(self.affine(argument, frame), by)
            case Remainder(argument, divisor):
                by = as_int32(self.dim(divisor, self.statement.span))
                return jnp.remainder(self.affine(argument, frame), by)
            case Clamp(kind, arguments):
                values = [self.affine(argument, frame) for argument in arguments]
                for value in values[1:]:
                    values[0] = OPERATORS[kind](values[0], value)
                return values[0]
            case ir.Data(expr):
                return convert(self.expr(expr, frame), "int32")
            case _:
                raise AssertionError(atom)


def _factors(expr: ir.Expr) -> list[ir.Access] | None:
    """The reads that are multiplied; None for any other expression."""
    match expr:
        case ir.Access():
            return [expr]
        case ir.Binary("*", left, right):
            first, second = _factors(left), _factors(right)
            return None if first is None or second is None else first + second
        case _:
            return None


def open_question(message: str, span: Span) -> CompileError:
    """What only numbers for the sizes would answer (TC0901)."""
    return CompileError(
        Code.NOT_STATIC,
        f"{message}: this takes numbers for the sizes",
        span,
        help="export it for the shapes that will be passed, one `jax.ShapeDtypeStruct` of numbers each",
    )
