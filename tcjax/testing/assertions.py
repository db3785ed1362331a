"""Assertions about a kernel: its values, its gradients, its memory."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..diagnostics import CompileError
from ..planning.cost.memory import allowance
from ..runtime import Kernel
from ..runtime.checking import CheckError
from ..runtime.checking.drawing import Drawer
from ..runtime.checking.gradients import gradients
from ..runtime.checking.reproducing import explained
from ..runtime.checking.samples import Sample
from ..runtime.checking.shrinking import shrink
from ..runtime.checking.tolerances import Difference, differences
from ..runtime.checking.trials import Raised, Skipped, Trial
from ..runtime.options import bytes_of


def assert_matches(
    kernel: Kernel,
    reference: Callable[..., Any],
    /,
    *args: Any,
    examples: int = 20,
    seed: int = 0,
    tolerance: float | None = None,
    **kwargs: Any,
) -> None:
    """Asserts that the kernel computes what a function of NumPy arrays computes.

    Compares on the arguments given, or, if there are none, on `examples` random calls, and then shows the smallest that
    differs. The reference gets the arguments as NumPy arrays, and sizes by keyword. Shapes must be equal, types need
    not be. `tolerance` is relative to the largest magnitude of a result; the default is what rounding explains.
    """

    def compared(sample: Sample) -> Difference | None:
        trial = Trial.of(kernel, sample)
        found = trial.results({})
        wanted = reference(*sample.arrays.values(), **sample.initial, **sample.sizes)
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        assert len(wanted) == len(found), f"the reference has {len(wanted)} results, the kernel {len(found)}"
        typed = [np.asarray(w).astype(f.dtype) for w, f in zip(wanted, found, strict=True)]
        return differences(found, typed, trial.outputs, trial.coarse, relative=tolerance)[1]

    _assert(kernel, compared, "reference", _samples(kernel, args, kwargs, examples, seed), seed)


def assert_gradients(kernel: Kernel, /, *args: Any, examples: int = 20, seed: int = 0, **kwargs: Any) -> None:
    """Asserts that the kernel's reverse-mode derivatives match finite differences of its definition in float64.

    Uses the arguments given, or, if there are none, `examples` random calls.
    """

    def compared(sample: Sample) -> Difference | None:
        try:
            return gradients(Trial.of(kernel, sample)).difference
        except Skipped:
            return None

    _assert(kernel, compared, "gradients", _samples(kernel, args, kwargs, examples, seed), seed)


def assert_no_large_temporaries(
    kernel: Kernel, /, *args: Any, limit: int | str | None = None, gradient: bool = False, **kwargs: Any
) -> None:
    """Asserts how much the compiled kernel allocates besides its arguments and results, in bytes or as ``"256MiB"``.

    The default limit is the memory contract of tcjax: four times the arguments and results, or 16 MiB. With `gradient`
    it applies to the kernel together with its derivatives with respect to all float arguments. Arguments may be
    `jax.ShapeDtypeStruct`: nothing is computed.
    """
    arguments = kernel._arguments(args, kwargs)
    specs = {
        name: jax.ShapeDtypeStruct(array.shape, jax.dtypes.canonicalize_dtype(array.dtype))
        for name, array in {**arguments.arrays, **arguments.initial}.items()
    }
    floats = [name for name, spec in specs.items() if jnp.issubdtype(spec.dtype, jnp.floating)]

    def results(moved: dict[str, Any], rest: dict[str, Any]) -> tuple[Any, ...]:
        found = kernel(**moved, **rest, **arguments.sizes)
        return found if isinstance(found, tuple) else (found,)

    def pulled(moved: dict[str, Any], rest: dict[str, Any]) -> Any:
        found, pull = jax.vjp(lambda moved: results(moved, rest), moved)
        return found, pull(tuple(jnp.ones_like(part) for part in found))

    function = pulled if gradient else results
    moved = {name: specs[name] for name in floats}
    rest = {name: spec for name, spec in specs.items() if name not in floats}
    analysis: Any = jax.jit(function).lower(moved, rest).compile().memory_analysis()
    assert analysis is not None, "this platform does not tell what a program allocates"
    taken = int(analysis.temp_size_in_bytes)
    known = int(analysis.argument_size_in_bytes) + int(analysis.output_size_in_bytes)
    allowed = allowance(known) if limit is None else bytes_of(limit)
    if taken > allowed:
        raise CheckError(
            f"`{kernel.__name__}` allocates {taken} bytes of temporaries for {known} bytes of arguments and results; "
            f"{allowed} are allowed\n\n{kernel.explain(*args, **kwargs)}"
        )


def _samples(
    kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any], examples: int, seed: int
) -> Iterator[tuple[Sample, bool]]:
    """The calls to compare, and whether smaller ones may be tried."""
    if args or kwargs:
        given = kernel._arguments(args, kwargs)
        arrays = {name: np.asarray(array) for name, array in given.arrays.items()}
        yield Sample(arrays, {name: np.asarray(array) for name, array in given.initial.items()}, given.sizes), False
        return
    drawer = Drawer(kernel)
    for number in range(examples):
        yield drawer.draw(np.random.default_rng((seed, number)), number), True


def _assert(
    kernel: Kernel,
    compared: Callable[[Sample], Difference | None],
    comparison: str,
    samples: Iterator[tuple[Sample, bool]],
    seed: int,
) -> None:
    def failure(sample: Sample) -> Difference | str | None:
        try:
            return compared(sample)
        except CompileError:
            return None
        except Raised as raised:
            return str(raised)

    for number, (sample, free) in enumerate(samples):
        # The caller should see why the given arguments are refused.
        found = failure(sample) if free else compared(sample)
        if found is None:
            continue
        tried = 0
        if free:
            sample, tried = shrink(kernel, sample, lambda candidate: failure(candidate) is not None)
            found = failure(sample) or found
        raise CheckError(explained(Trial.of(kernel, sample), comparison, found, number, seed, tried))
