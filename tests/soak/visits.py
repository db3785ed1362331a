"""What is done with a random program: mostly reading, planning and tracing, which take milliseconds, else compiling."""

import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.diagnostics import CompileError
from tests.agreement import comparing
from tests.strategies.programs import Case


def _planned(case: Case, kernel: tcjax.Kernel) -> None:
    assert str(kernel.plan(*case.arguments.values(), **case.initial))


def _explained(case: Case, kernel: tcjax.Kernel) -> None:
    initial: Mapping[str, Any] = case.initial
    assert str(kernel.explain(*case.arguments.values(), **initial))


def _traced(case: Case, kernel: tcjax.Kernel) -> None:
    jax.eval_shape(kernel, *case.arguments.values(), **case.initial)


def _mapped(case: Case, kernel: tcjax.Kernel) -> None:
    stacks = [np.stack([array, array]) for array in case.arguments.values()]
    if stacks:
        jax.eval_shape(jax.vmap(lambda *arrays: kernel(*arrays, **case.initial)), *stacks)


def _read_again(case: Case, kernel: tcjax.Kernel) -> None:
    """The same program as new objects, which nothing of the first may hold."""
    _traced(case, _read(case.text))
    jax.eval_shape(_read(kernel.to("sac")), *case.arguments.values())


def _derived(case: Case, kernel: tcjax.Kernel) -> None:
    slope = _slope(case, kernel)
    if slope is not None:
        jax.eval_shape(*slope)


def _run_slope(case: Case, kernel: tcjax.Kernel) -> None:
    slope = _slope(case, kernel)
    if slope is not None:
        jax.block_until_ready(jax.jit(slope[0])(*slope[1:]))


def _called(case: Case, kernel: tcjax.Kernel) -> None:
    jax.block_until_ready(kernel(*case.arguments.values(), **case.initial))


def _compared(case: Case, kernel: tcjax.Kernel) -> None:
    comparing.values(case)


def _jitted(case: Case, kernel: tcjax.Kernel) -> None:
    """Inside a function that somebody else compiles and lets go."""
    jax.block_until_ready(jax.jit(lambda **arrays: kernel(**arrays))(**case.arguments, **case.initial))


# In turn; a quarter of them compiles and runs.
_WAYS: Final[Sequence[Callable[[Case, tcjax.Kernel], None]]] = (
    _compared,
    _planned,
    _derived,
    _explained,
    _called,
    _traced,
    _mapped,
    _read_again,
    _planned,
    _derived,
    _compared,
    _traced,
    _read_again,
    _derived,
    _jitted,
    _mapped,
    _planned,
    _read_again,
    _run_slope,
    _derived,
    _traced,
)
# Not every program has a derivative, or can be written in the other notation.
_MAY_REFUSE: Final = (_derived, _run_slope, _read_again)


def visit(case: Case, number: int) -> "weakref.ref[Any]":
    """Does with a program what is next in turn; the kernel, which nobody holds afterwards."""
    kernel, way = case.kernel, _WAYS[number % len(_WAYS)]
    try:
        way(case, kernel)
    except CompileError:
        if way not in _MAY_REFUSE:
            raise
    # A case keeps its kernel, and hypothesis may keep the case.
    vars(case).pop("kernel", None)
    return weakref.ref(kernel)


def _read(text: str) -> tcjax.Kernel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tcjax.load(text)["f"]


def _slope(case: Case, kernel: tcjax.Kernel) -> tuple[Any, ...] | None:
    """The gradient of the sum of all real results with respect to the real arguments, and these; None without any."""
    arrays = list(case.arguments.values())
    places = [place for place, array in enumerate(arrays) if jnp.issubdtype(array.dtype, jnp.floating)]

    def total(*real: jax.Array) -> jax.Array:
        given: list[Any] = list(arrays)
        for place, array in zip(places, real, strict=True):
            given[place] = array
        results = jax.tree.leaves(kernel(*given, **case.initial))
        real_results = [result for result in results if jnp.issubdtype(result.dtype, jnp.floating)]
        return sum((result.astype(jnp.float32).sum() for result in real_results), start=jnp.float32(0))

    return (jax.grad(total, tuple(range(len(places)))), *(arrays[place] for place in places)) if places else None
