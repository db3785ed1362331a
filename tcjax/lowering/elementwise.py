"""Lowers operators and builtins, element by element."""

import jax
import jax.numpy as jnp
from jax import lax

from ..planning.data.nodes import Apply, CallBuiltin, Fill, Iota, Node, Step
from .builtins import BUILTINS, SAFE_ARGUMENT
from .context import Context, Lower, align, numeric
from .powers import of_number


def lower_fill(node: Fill, context: Context) -> jax.Array:
    return jnp.asarray(_representable(node.value, node.dtype), numeric(node.dtype))


def _representable(value: bool | int | float | complex, dtype: str) -> bool | int | float | complex:
    """An extreme value of a 64-bit integer type, fitted to the 32 bits used while x64 mode is off."""
    kind = numeric(dtype)
    if isinstance(value, int) and not isinstance(value, bool) and jnp.issubdtype(kind, jnp.integer):
        info = jnp.iinfo(kind)
        return min(max(value, int(info.min)), int(info.max))
    return value


def lower_iota(node: Iota, context: Context) -> jax.Array:
    return lax.iota(jnp.int32, node.extent) + jnp.int32(node.start)


def lower_step(node: Step, context: Context) -> jax.Array:
    return jnp.int32(context.steps[node.index])


def lower_call(node: CallBuiltin, context: Context, lower: Lower) -> jax.Array:
    given = _together(node) if node.function == "logaddexp" and node.live is None else node.arguments
    arguments = [align(lower(argument, context), argument.axes, node.axes) for argument in given]
    if node.foreign:
        arguments = jnp.broadcast_arrays(*arguments) if len(arguments) > 1 else arguments
        result = context.foreign[node.function](*arguments)
        return jnp.asarray(result, numeric(node.dtype))
    if node.live is not None:
        live = align(lower(node.live, context), node.live.axes, node.axes)
        safe = SAFE_ARGUMENT[node.function]
        arguments = [jnp.where(live, a, jnp.asarray(s, a.dtype)) for a, s in zip(arguments, safe, strict=True)]
    power = of_number(node.arguments[1], arguments[0]) if node.function == "pow" else None
    result = BUILTINS[node.function](*arguments) if power is None else power(arguments[0])
    return lax.convert_element_type(result, numeric(node.dtype))


def _together(node: CallBuiltin) -> tuple[Node, ...]:
    """The arguments of a logaddexp, with nested ones flattened: a single logarithm is enough."""
    found: list[Node] = []
    for part in node.arguments:
        if isinstance(part, CallBuiltin) and part.function == node.function and part.live is None:
            found += _together(part)
        else:
            found.append(part)
    return tuple(found)


def lower_apply(node: Apply, context: Context, lower: Lower) -> jax.Array:
    if node.operator == "share":
        return _share(node, context, lower)
    arguments = [align(lower(argument, context), argument.axes, node.axes) for argument in node.arguments]
    match node.operator:
        case "cast":
            return convert(arguments[0], node.dtype)
        case "where":
            return jnp.where(*arguments)
        case "stop":
            return lax.stop_gradient(arguments[0])
        case "power":
            exponent = _whole(node.arguments[1], context)
            # In a run-time loop the exponent is not yet known.
            return jnp.power(*arguments) if exponent is None else lax.integer_pow(arguments[0], exponent)
        case operator:
            power = of_number(node.arguments[1], arguments[0]) if operator == "**" else None
            return OPERATORS[operator](*arguments) if power is None else power(arguments[0])


def _share(node: Apply, context: Context, lower: Lower) -> jax.Array:
    """An exponential divided by the sum of all exponentials; the sum has no separate derivative here."""
    part, total = node.arguments
    assert isinstance(part, CallBuiltin)
    (exponent,) = part.arguments
    summed = tuple(number for number, axis in enumerate(node.axes) if axis not in total.axes)

    @jax.custom_jvp
    def run(exponents: jax.Array, sums: jax.Array) -> jax.Array:
        return jnp.true_divide(BUILTINS[part.function](exponents), sums)

    @run.defjvp
    def derive(
        primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        share, moved = run(*primals), tangents[0]
        # Otherwise XLA would recompute the share from stored exponentials.
        share = lax.optimization_barrier(share)
        return share, share * (moved - jnp.sum(share * moved, summed, keepdims=True))

    return run(*(align(lower(each, context), each.axes, node.axes) for each in (exponent, total)))


def _whole(node: Node, context: Context) -> int | None:
    """The integer value of an expression of numbers and steps; None while a step is unknown."""
    match node:
        case Fill(value=value):
            return int(value.real)
        case Step(index=index):
            step = context.steps[index]
            return step if isinstance(step, int) else None
        case Apply(operator="cast", arguments=(operand,)):
            return _whole(operand, context)
        case Apply(operator=operator, arguments=arguments):
            values = [_whole(argument, context) for argument in arguments]
            return None if None in values else _WHOLE[operator](*values)
        case _:
            raise AssertionError(node)


# For known integers.
_WHOLE = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "==": int.__eq__,
    "where": lambda test, then, otherwise: then if test else otherwise,
}


def convert(array: jax.Array, dtype: str) -> jax.Array:
    """A C-like conversion; complex to real drops the imaginary part."""
    kind = numeric(dtype)
    if jnp.issubdtype(array.dtype, jnp.complexfloating) and not jnp.issubdtype(kind, jnp.complexfloating):
        array = lax.real(array)
    if kind == jnp.bool_ and array.dtype != jnp.bool_:
        return array != 0
    return lax.convert_element_type(array, kind)


def _add(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.logical_xor(a, b) if a.dtype == jnp.bool_ else jnp.add(a, b)


def _subtract(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.logical_xor(a, b) if a.dtype == jnp.bool_ else jnp.subtract(a, b)


def _negate(a: jax.Array) -> jax.Array:
    return a if a.dtype == jnp.bool_ else jnp.negative(a)


def _floor(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.floor_divide(a, b) if jnp.issubdtype(a.dtype, jnp.integer) else jnp.floor(a / b)


def _power(a: jax.Array, b: jax.Array) -> jax.Array:
    if not jnp.issubdtype(a.dtype, jnp.signedinteger):
        return jnp.power(a, b)
    # The truncated reciprocal is nonzero only for 1 and -1.
    unit = jnp.where(b % 2 == 0, a * a, a)
    return jnp.where(b < 0, jnp.where(jnp.abs(a) == 1, unit, 0), jnp.power(a, jnp.maximum(b, 0)))


OPERATORS = {
    "+": _add,
    "-": _subtract,
    "*": jnp.multiply,
    "/": jnp.true_divide,
    "//": _floor,
    "%": jnp.remainder,
    "quot": lax.div,
    "rem": lax.rem,
    "**": _power,
    "min": jnp.minimum,
    "max": jnp.maximum,
    "<": jnp.less,
    "<=": jnp.less_equal,
    ">": jnp.greater,
    ">=": jnp.greater_equal,
    "==": jnp.equal,
    "!=": jnp.not_equal,
    "&&": jnp.logical_and,
    "||": jnp.logical_or,
    "!": jnp.logical_not,
    "~": jnp.bitwise_not,
    "&": jnp.bitwise_and,
    "|": jnp.bitwise_or,
    "^": jnp.bitwise_xor,
    "<<": jnp.left_shift,
    ">>": jnp.right_shift,
    "neg": _negate,
}
