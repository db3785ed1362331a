"""One call of a kernel, compiled and interpreted, and the outcome of a comparison of the two."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.experimental import checkify

from ... import interpreter
from ...diagnostics import CompileError, DataError
from ...keeping import cached_property
from ...ranges import Bound
from ..frontends import Call
from .samples import Array, Sample, admitted
from .tolerances import Difference, coarsest, differences, spread

if TYPE_CHECKING:
    from ..questions import Questions


class Skipped(Exception):
    """A comparison that cannot be made, and why."""


class Raised(Exception):
    """An exception from the compiled kernel where the interpreter has values."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One call that the kernel is known to accept."""

    kernel: "Questions"
    sample: Sample
    call: Call
    bound: Bound

    @staticmethod
    def of(kernel: "Questions", sample: Sample, most: int = 2_000_000) -> "Trial":
        """Raises `CompileError` if the kernel rejects the call."""
        return Trial(kernel, sample, *admitted(kernel, sample, most))

    @cached_property
    def coarse(self) -> str:
        return coarsest(self.bound)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self.bound.function.returns)

    @cached_property
    def static(self) -> frozenset[str]:
        """The arguments whose values determine shapes."""
        return frozenset(name for name, *_ in self.call.values)

    def results(self, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
        """The results of the compiled kernel, with some arrays replaced."""
        sample = self.sample
        given = [arrays.get(name, array) for name, array in sample.arrays.items()]
        initial = {name: arrays.get(name, array) for name, array in sample.initial.items()}
        return _several(self.kernel(*given, **initial, **sample.sizes))

    def transformed(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A function that calls the kernel, compiled as a whole; errors found by a checked kernel are raised."""
        if not self.kernel._frontend.options.checked:
            return jax.jit(function)
        compiled = jax.jit(checkify.checkify(function))

        def run(argument: Any) -> Any:
            error, found = compiled(argument)
            error.throw()
            return found

        return run

    def expected(self, sample: Sample | None = None) -> tuple[Array, ...]:
        """The results of the interpreter."""
        sample = sample or self.sample
        given = self.kernel._operands(tuple(sample.arrays.values()), {**sample.initial, **sample.sizes})
        return interpreted(self.kernel, *given)

    @cached_property
    def movable(self) -> dict[str, Array]:
        """The float arrays, with respect to which results have derivatives."""
        return {n: a for n, a in self.sample.everything.items() if a.dtype.kind in "fV" and n not in self.static}

    def compare(self, found: Iterable[Any], expected: Sequence[Array], samples: Sequence[Sample]) -> "Outcome":
        """`expected` may contain the results for several samples, stacked."""
        found = [np.asarray(part) for part in found]
        worst, difference = differences(found, expected, self.outputs, self.coarse)
        if difference is not None and len(difference.place) == expected[self.outputs.index(difference.output)].ndim:
            spreads = [spread(self.kernel, self.bound, sample, self.coarse) for sample in samples]
            stacked = (
                spreads[0] if samples == [self.sample] else [np.stack(parts) for parts in zip(*spreads, strict=True)]
            )
            worst, difference = differences(found, expected, self.outputs, self.coarse, stacked)
        return Outcome(worst, difference)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The largest error relative to its tolerance, and the element if it exceeds the tolerance."""

    worst: float
    difference: Difference | None = None


def interpreted(
    kernel: "Questions", bound: Bound, arrays: Mapping[str, Array], initial: Mapping[str, Array]
) -> tuple[Array, ...]:
    """The results of the interpreter. Raises `Skipped` if a Python function of the program does not accept numbers."""

    def taking_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*values: Any) -> Any:
            try:
                return function(*values)
            except CompileError:
                raise
            except Exception as error:  # Only the user's function runs here.
                raise Skipped(f"a Python function does not take NumPy's numbers: {type(error).__name__}") from error

        return called

    fns = {name: taking_numbers(function) for name, function in kernel._frontend.options.fns.items()}
    with kernel._frontend.within_depth():
        return interpreter.interpret(bound, arrays, initial, fns)


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def compiled(run: Callable[[], Any]) -> Any:
    """The results of the kernel; a rejected call is re-raised, any other exception is a disagreement."""
    try:
        return jax.block_until_ready(run())
    except CompileError as error:
        raise Skipped(error.message) from error
    except (DataError, checkify.JaxRuntimeError) as error:
        raise Skipped("the kernel refuses the data, as `checked` says") from error
    except Exception as error:
        raise Raised(f"{type(error).__name__}: {error}".splitlines()[0]) from error
