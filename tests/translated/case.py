"""A translated kernel's reference, and the arguments on which they are compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tcjax

Array = np.ndarray
Results = tuple[Array, ...]


@dataclass(frozen=True)
class Text:
    """A program that is read when a test needs it, as most runs take few of the programs."""

    text: str
    consts: Mapping[str, int | float]


@dataclass(frozen=True)
class Case:
    """A kernel in several spellings, all of which compute what `reference` does.

    `arguments` are those of the reference, by name, in float64 where they are floats. `smooth` names the arguments in
    which the reference is differentiable at this point; `sizes` are keyword arguments.
    """

    name: str
    reference: Callable[..., Array | Results]
    programs: Mapping[str, Any]
    arguments: Mapping[str, Array]
    smooth: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    tolerance: float = 2e-5

    def kernel(self, spelling: str) -> Any:
        """The program in this spelling."""
        program = self.programs[spelling]
        return tcjax.kernel(program.text, consts=dict(program.consts)) if isinstance(program, Text) else program

    def expected(self, **others: Array) -> Results:
        """The reference's results for copies of the arguments, because it may work in place."""
        copies = {name: np.array(value) for name, value in {**self.arguments, **others}.items()}
        result = self.reference(**copies)
        return result if isinstance(result, tuple) else (result,)


def one(
    name: str,
    text: str | tcjax.Kernel,
    reference: Callable[..., Array | Results],
    arguments: dict[str, Array],
    smooth: str = "",
    sizes: dict[str, int] | None = None,
    consts: dict[str, int | float] | None = None,
    **others: tcjax.Kernel | Text,
) -> Case:
    """A case of one spelling, a text or a kernel, and of `others`; `smooth` lists the arguments with a gradient."""
    first = Text(text, consts or {}) if isinstance(text, str) else text
    return Case(name, reference, {"text": first} | others, arguments, tuple(smooth.split()), sizes or {})


def normal(*shape: int, seed: int = 0) -> Array:
    """Normal numbers, different for each shape and seed, exact in float32."""
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32).astype(np.float64)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> Array:
    """Evenly spaced numbers, exact in float32."""
    numbers = np.random.default_rng([seed, *shape]).uniform(low, high, size=shape)
    return numbers.astype(np.float32).astype(np.float64)


def integers(*shape: int, low: int = 0, high: int, seed: int = 0) -> Array:
    """Whole numbers from `low` up to but excluding `high`."""
    return np.random.default_rng([seed, *shape]).integers(low, high, size=shape).astype(np.int32)


def number(value: float) -> Array:
    """A number as an array of rank 0."""
    return np.array(np.float32(value), np.float64)


def positive(size: int, seed: int = 0) -> Array:
    """A symmetric positive definite matrix."""
    root = uniform(size, size, low=-0.5, high=0.5, seed=seed)
    return (root @ root.T + size * np.eye(size)).astype(np.float32).astype(np.float64)
