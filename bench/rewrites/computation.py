"""One computation in several spellings, and as hand-written JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import indent
from typing import Any

import jax
import numpy as np

import tcjax

from ..allocations import Specs, towards
from ..cases.case import Arrays, Case, Form
from ..harness import as_double

# A text in TC or SaC, or a Python function in index notation, which is read and never run.
Spelling = str | Callable[..., Any]
SIZES = ("small", "full")


@dataclass(frozen=True, slots=True)
class Computation:
    """A function of arrays at one size, and all the ways to write it.

    Every spelling and every form takes `arrays` in this order and gives the same result. `reference` computes it in
    float64 with NumPy. The first of the `forms` is differentiable, and says what the gradient is.
    """

    name: str
    make_arrays: Callable[[np.random.Generator], Arrays]
    reference: Form
    forms: Mapping[str, Form]
    spellings: Mapping[str, Spelling]
    tolerance: float = 1e-4

    def arrays(self) -> Arrays:
        """The inputs, the same in every run."""
        return self.make_arrays(np.random.default_rng(0))

    def case(self) -> Case:
        """The computation without its spellings, as a case for the harness."""
        return Case(self.name, "", self.make_arrays, self.reference, self.forms, self.tolerance)

    def kernel(self, spelling: str) -> tcjax.Kernel:
        """The kernel that a user of this spelling gets."""
        return tcjax.kernel(self.spellings[spelling])

    def expected(self) -> list[np.ndarray]:
        """The results in float64."""
        return [np.asarray(result) for result in jax.tree.leaves(self.reference(*map(as_double, self.arrays())))]

    def gradient(self, function: Form) -> tuple[Form, Arrays] | None:
        """`function` and its derivative with respect to every float input, with their arguments; None if there is none.

        The arguments are the inputs, and a fixed random cotangent for each float result. The results are those of
        `function`, and then the cotangents of the inputs.
        """
        arrays = self.arrays()
        directed = towards(function, specs(arrays), "reverse")
        if directed is None:
            return None
        reverse, (_, results) = directed
        rng = np.random.default_rng(1)
        weights = tuple(np.asarray(rng.standard_normal(result.shape), np.float32) for result in results)
        count = len(arrays)
        return lambda *given: reverse(given[:count], given[count:]), (*arrays, *weights)

    def expected_gradient(self) -> list[np.ndarray]:
        """The derivative of the first form, in float64; empty if there is none."""
        with jax.enable_x64(True):
            found = self.gradient(next(iter(self.forms.values())))
            if found is None:
                return []
            function, arguments = found
            return [np.asarray(one) for one in jax.tree.leaves(jax.jit(function)(*map(as_double, arguments)))]


def specs(arrays: Arrays) -> Specs:
    """Only shapes and types."""
    return tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in arrays)


def definitions(header: str, bodies: Mapping[str, str]) -> dict[str, Spelling]:
    """Definitions in TC: `header` with each of the `bodies`."""
    return {name: f"{header} {{\n{indent(body.strip(), '  ')}\n}}" for name, body in bodies.items()}
