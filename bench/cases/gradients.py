"""A case's derivative as a case: the result, and the gradient of every float input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .case import Arrays, Case, Form


def gradient(case: Case, oracle: str, leave_out: tuple[str, ...] = (), peers: Mapping[str, Form] | None = None) -> Case:
    """Result and gradients of a weighted sum of the results of `case`; the last array has the weights.

    The reference is JAX's derivative of the form `oracle` in float64; `leave_out` names forms that have none.
    """
    forms = {name: with_gradient(form) for name, form in case.forms.items() if name not in leave_out}
    family, _, sizes = case.name.partition("/")

    def make_arrays(rng: np.random.Generator) -> Arrays:
        arrays = case.make_arrays(rng)
        out = jax.eval_shape(case.forms[oracle], *arrays)
        return *arrays, rng.standard_normal(out.shape, dtype=np.float32)

    def reference(*arrays):
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, jax.jit(with_gradient(case.forms[oracle]))(*arrays))

    def compose(library) -> Form:
        kernel = library[list(library)[-1]] if case.compose is None else case.compose(library)
        return with_gradient(kernel)

    return replace(
        case,
        name=f"{family}_gradient/{sizes}",
        make_arrays=make_arrays,
        reference=reference,
        forms=forms,
        tolerance=10 * case.tolerance,
        compose=compose,
        peers=peers or {},
    )


def with_gradient(form: Form) -> Form:
    """The result of `form`, and behind it what its derivative makes of the weights, for each float array."""

    def both(*arrays_and_weights) -> tuple[Any, ...]:
        *arrays, weights = arrays_and_weights
        floats = [place for place, a in enumerate(arrays) if jnp.issubdtype(a.dtype, jnp.floating)]

        def of_floats(*values):
            merged = list(arrays)
            for place, value in zip(floats, values, strict=True):
                merged[place] = value
            return form(*merged)

        result, pull_back = jax.vjp(of_floats, *(jnp.asarray(arrays[place]) for place in floats))
        return result, *pull_back(weights)

    return both
