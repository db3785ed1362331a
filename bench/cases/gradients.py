"""A case's derivative as a case: the result, and the gradient of every float input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from .case import Arrays, Case, Form

# Gradients that are the reverse direction of another case.
GROUP: Final = "gradients"


def gradient(
    case: Case,
    oracle: str,
    leave_out: tuple[str, ...] = (),
    peers: Mapping[str, Form] | None = None,
    *,
    by_hand: Mapping[str, Form] | None = None,
    weights: int = 1,
    places: tuple[int, ...] | None = None,
    groups: tuple[str, ...] = (),
) -> Case:
    """Result and gradients of a weighted sum of the results of `case`; the last arrays are the weights.

    There is an array of `weights` for each float result, and a gradient for each array at `places`, or for each with
    floats. The reference is JAX's derivative of the form `oracle` in float64; `leave_out` names forms that have none.
    Forms `by_hand` are not derived by JAX: from arrays and weights they compute the results and the gradients
    themselves.
    """
    forms = {name: with_gradient(form, weights, places) for name, form in case.forms.items() if name not in leave_out}
    family, _, sizes = case.name.partition("/")

    def make_arrays(rng: np.random.Generator) -> Arrays:
        arrays = case.make_arrays(rng)
        results = jax.tree.leaves(jax.eval_shape(case.forms[oracle], *arrays))
        return *arrays, *(rng.standard_normal(a.shape, dtype=np.float32) for a in results if _is_float(a))

    def reference(*arrays):
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, jax.jit(with_gradient(case.forms[oracle], weights, places))(*arrays))

    def compose(library) -> Form:
        kernel = library[list(library)[-1]] if case.compose is None else case.compose(library)
        return with_gradient(kernel, weights, places)

    return replace(
        case,
        name=f"{family}_gradient/{sizes}",
        make_arrays=make_arrays,
        reference=reference,
        forms={**forms, **(by_hand or {})},
        tolerance=10 * case.tolerance,
        compose=compose,
        peers=peers or {},
        groups=groups or case.groups,
    )


def with_gradient(form: Form, weights: int = 1, places: tuple[int, ...] | None = None) -> Form:
    """The results of `form`, followed by its derivatives for the weights.

    For the arrays at `places`, or for each with floats.
    """

    def both(*arrays_and_weights) -> tuple[Any, ...]:
        arrays, given = arrays_and_weights[:-weights], list(arrays_and_weights[-weights:])
        floats = places or [place for place, a in enumerate(arrays) if _is_float(a)]

        def of_floats(*values):
            merged = list(arrays)
            for place, value in zip(floats, values, strict=True):
                merged[place] = value
            results = jax.tree.leaves(form(*merged))
            return [a for a in results if _is_float(a)], [a for a in results if not _is_float(a)]

        values = (jnp.asarray(arrays[place]) for place in floats)
        results, pull_back, others = jax.vjp(of_floats, *values, has_aux=True)
        return *results, *others, *pull_back(given)

    return both


def _is_float(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jnp.floating)
