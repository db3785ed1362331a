"""One benchmark case: a comprehension, its arrays, its result, and hand-written JAX forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = tuple[np.ndarray, ...]
Form = Callable[..., Any]


class Skipped(Exception):
    """A candidate that cannot take part, and why."""


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel at one size.

    `text` is the program, in TC or SaC; its last def is the kernel, unless `compose` makes the callable from the loaded
    library. `reference` computes the result in float64 with NumPy; `forms` are the hand-written JAX candidates, and the
    first of them is the usual one. All of them take `arrays` in the order of the program's parameters. `peers` are
    other libraries: from the arrays, a call that computes the result, or `Skipped`. `groups` are other names to choose
    the case by; `slack`, in bytes, is what tcjax's temporaries may exceed the best form's by, where a few megabytes buy
    time.
    """

    name: str
    text: str
    make_arrays: Callable[[np.random.Generator], Arrays]
    reference: Form
    forms: Mapping[str, Form]
    tolerance: float = 1e-4
    compose: Callable[[Any], Form] | None = None
    peers: Mapping[str, Callable[..., Callable[[], Any]]] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    slack: int = 1 << 16  # XLA's own rounding and constants.

    @property
    def family(self) -> str:
        """The name without its size: ``tmm`` of ``tmm/128x256x32``."""
        return self.name.partition("/")[0]

    def arrays(self) -> Arrays:
        """The inputs, the same in every run."""
        return self.make_arrays(np.random.default_rng(0))


def normals(rng: np.random.Generator, *shapes: tuple[int, ...]) -> Arrays:
    """One float32 array of standard normals for each shape."""
    return tuple(rng.standard_normal(shape, dtype=np.float32) for shape in shapes)


def label(*sizes: int) -> str:
    """``128x256x32``."""
    return "x".join(str(size) for size in sizes)
