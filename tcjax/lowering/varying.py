"""Arrays inside `jax.shard_map`: their types say whether they vary between devices."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
from jax import lax


def equally_varying(arrays: Sequence[jax.Array]) -> list[jax.Array]:
    """Operands of one operation, cast to vary alike: JAX's own operations do this, and transpose it to a sum."""
    varying = frozenset[str]().union(*map(_axes, arrays))
    return [_varied(array, varying) for array in arrays]


def steady(body: Callable[[Any], Any], carry: Any, arrays: Iterable[jax.Array]) -> Any:
    """A loop's carry, cast to vary as it does after each step; `arrays` are those that a step may use."""
    if not any(map(_axes, arrays)):
        return carry
    leaves, tree = jax.tree.flatten(carry)
    # A part that varies more may make others vary more in the next step.
    for _ in range(len(leaves)):
        after = jax.make_jaxpr(body)(jax.tree.unflatten(tree, leaves)).out_avals
        leaves = [_varied(leaf, _varying(aval)) for leaf, aval in zip(leaves, after, strict=True)]
    return jax.tree.unflatten(tree, leaves)


def varies(array: jax.Array) -> bool:
    """Whether an array varies between devices."""
    return bool(_axes(array))


def _axes(array: jax.Array) -> frozenset[str]:
    return _varying(jax.typeof(array))


def _varying(aval: Any) -> frozenset[str]:
    return aval.manual_axis_type.varying


def _varied(array: jax.Array, varying: frozenset[str]) -> jax.Array:
    missing = tuple(sorted(varying - _axes(array)))
    return lax.pcast(array, missing, to="varying") if missing else array
