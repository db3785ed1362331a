"""Compares the compiled kernel with its interpreter: called, inside a larger function, mapped, differentiated."""

from collections.abc import Callable
from typing import Final

import jax
import numpy as np

from .gradients import gradients
from .samples import Array
from .trials import Outcome, Skipped, Trial, compiled


def values(trial: Trial) -> Outcome:
    """The kernel called with arrays."""
    return trial.compare(compiled(lambda: trial.results({})), trial.expected(), [trial.sample])


def jit(trial: Trial) -> Outcome:
    """The kernel inside a larger function that is compiled as a whole."""
    traced = {name: array for name, array in trial.sample.everything.items() if name not in trial.static}
    found = compiled(lambda: trial.transformed(trial.results)(traced))
    return trial.compare(found, trial.expected(), [trial.sample])


def mapped(trial: Trial) -> str | None:
    """The name of the argument that `vmap` maps: the largest one that does not determine a shape."""
    names = [name for name in trial.sample.everything if name not in trial.static]
    return max(names, key=lambda name: trial.sample.everything[name].size, default=None)


def batch(trial: Trial, name: str) -> Array:
    """Three arrays stacked in place of one."""
    array = trial.sample.everything[name]
    return np.stack([array, np.roll(array, 1), array[::-1] if array.ndim else array])


def vmap(trial: Trial) -> Outcome:
    """The kernel mapped over an argument, against a loop over the interpreter."""
    name = mapped(trial)
    if name is None:
        raise Skipped("no argument to map over")
    rows = batch(trial, name)
    samples = [trial.sample.having({name: row}) for row in rows]
    expected = [np.stack(parts) for parts in zip(*map(trial.expected, samples), strict=True)]
    found = compiled(lambda: trial.transformed(jax.vmap(lambda row: trial.results({name: row})))(rows))
    return trial.compare(found, expected, samples)


COMPARISONS: Final[dict[str, Callable[[Trial], Outcome]]] = {
    "values": values,
    "jit": jit,
    "vmap": vmap,
    "gradients": gradients,
}
