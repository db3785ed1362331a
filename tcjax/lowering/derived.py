"""Python functions and their partial derivatives, under the names used in derivatives."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp


def with_derivatives(functions: Mapping[str, Callable[..., object]]) -> Mapping[str, Callable[..., object]]:
    """The functions, and ``d0_f``, ``d1_f``, ... of each `f`, recursively; only functions are listed."""
    return _Derived(functions) if functions else functions


class _Derived(Mapping[str, Callable[..., object]]):
    def __init__(self, functions: Mapping[str, Callable[..., object]]) -> None:
        self.functions = functions

    def __getitem__(self, name: str) -> Callable[..., object]:
        if name in self.functions:
            return self.functions[name]
        place, _, rest = name.partition("_")
        if not (place[:1] == "d" and place[1:].isdigit() and rest):
            raise KeyError(name)
        return _partial(self[rest], int(place[1:]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)


def _partial(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """The derivative of an elementwise function with respect to one of its arguments."""

    def derivative(*arguments: Any) -> jax.Array:
        arrays = [jnp.asarray(argument) for argument in arguments]

        def alone(array: jax.Array) -> jax.Array:
            return jnp.asarray(function(*arrays[:place], array, *arrays[place + 1 :]))

        return jax.jvp(alone, (arrays[place],), (jnp.ones_like(arrays[place]),))[1]

    return derivative
