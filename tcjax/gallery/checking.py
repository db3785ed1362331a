"""The checks of a program: an independent reference, slopes of that reference, and what XLA allocates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from ..diagnostics.phrases import bytes_text
from ..planning.cost.memory import allowance

if TYPE_CHECKING:
    from .program import Program

# How far the two points of a slope lie from the middle, relative to the largest number of the array.
STEP: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Memory:
    """Temporaries of a compiled function and what it may take, both in bytes."""

    taken: int
    allowed: int

    def __str__(self) -> str:
        return f"{bytes_text(self.taken)} of temporaries; {bytes_text(self.allowed)} are allowed"


@dataclass(frozen=True, slots=True)
class Report:
    """How far a program is from what it is compared with, relative to the largest number, and what it allocates.

    `slope` compares a derivative in a random direction with a difference of the reference, `gradient` every number of
    the gradient with JAX's derivative of the first form by hand; None where nothing is derived.
    """

    size: str
    value: float
    slope: float | None
    gradient: float | None
    memory: tuple[Memory, ...]
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether everything agrees and fits."""
        far = [self.value / self.tolerance]
        far += [each / (10 * self.tolerance) for each in (self.slope, self.gradient) if each is not None]
        return all(each <= 1 for each in far) and all(each.taken <= each.allowed for each in self.memory)

    def __str__(self) -> str:
        lines = [f"size       {self.size}", f"value      differs from the reference by {self.value:.1e}"]
        if self.slope is not None and self.gradient is not None:
            lines.append(f"gradient   differs from slopes of the reference by {self.slope:.1e},")
            lines.append(f"           from JAX's gradient of the form by hand by {self.gradient:.1e}")
        for name, memory in zip(("memory", "           and with the gradient"), self.memory, strict=False):
            lines.append(f"{name:10} {memory}")
        return "\n".join([*lines, f"           {'all is well' if self.holds else 'NOT AS IT SHOULD BE'}"])


def check(program: "Program") -> Report:
    """Compares a program at its small size with everything that it brings along."""
    with jax.default_matmul_precision("highest"):
        return _checked(program)


def _checked(program: "Program") -> Report:
    arrays = program.arrays("small")
    size = ", ".join(f"{name}={value}" for name, value in program.small.items())
    value = _distance(jax.jit(program.function)(*arrays), program.reference(*map(as_double, arrays)))
    slope = gradient = None
    if program.gradient:
        pulled = _pulled(program, program.function, arrays)
        slope = _slope(program, arrays, pulled)
        gradient = _distance(pulled, _pulled(program, next(iter(program.by_hand.values())), arrays))
    return Report(size, value, slope, gradient, _memory(program, arrays), program.tolerance)


def _memory(program: "Program", arrays: tuple[np.ndarray, ...]) -> tuple[Memory, ...]:
    """Of the results, and of the results with the gradient where there is one."""
    found = [_allocated(program.function, *arrays)]
    if program.gradient:
        both = with_gradient(program.function, program.gradient)
        found.append(_allocated(both, arrays, weights_of(jax.eval_shape(program.function, *arrays))))
    return tuple(found)


def with_gradient(
    function: Callable[..., Any], places: tuple[int, ...]
) -> Callable[[tuple[Any, ...], list[Any]], tuple[list[Any], tuple[Any, ...]]]:
    """From arrays and a weight for each number of the float results: all results, and the gradient of the weighted sum.

    One derives by the arrays at `places`.
    """

    def both(arrays: tuple[Any, ...], weights: list[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        def results(*moved: Any) -> Any:
            merged = list(arrays)
            for place, array in zip(places, moved, strict=True):
                merged[place] = array
            found = jax.tree.leaves(function(*merged))
            return [a for a in found if _is_float(a)], [a for a in found if not _is_float(a)]

        found, pull, others = jax.vjp(results, *(jnp.asarray(arrays[place]) for place in places), has_aux=True)
        return [*found, *others], pull([jnp.asarray(w, a.dtype) for w, a in zip(weights, found, strict=True)])

    return both


def weights_of(results: Any) -> list[np.ndarray]:
    """Random numbers in the shapes of the float arrays among some results."""
    random = np.random.default_rng(1)
    return [random.normal(size=each.shape).astype(np.float32) for each in jax.tree.leaves(results) if _is_float(each)]


def as_double(array: np.ndarray) -> np.ndarray:
    """Real numbers in 64 bits; whole ones as they are."""
    return array.astype(np.float64) if _is_float(array) else array


def _pulled(program: "Program", function: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
    """The gradient of `function` with random weights."""
    weights = weights_of(jax.eval_shape(function, *arrays))
    return jax.jit(with_gradient(function, program.gradient))(arrays, weights)[1]


def _slope(program: "Program", arrays: tuple[np.ndarray, ...], gradient: tuple[Any, ...]) -> float:
    """The largest distance of a directional derivative from the difference of the reference."""
    doubles = [as_double(array) for array in arrays]
    random = np.random.default_rng(2)

    def weighted(place: int, moved: np.ndarray) -> float:
        found = [
            np.asarray(a) for a in jax.tree.leaves(program.reference(*doubles[:place], moved, *doubles[place + 1 :]))
        ]
        floats = [a for a in found if _is_float(a)]
        return sum(float((w * a).sum()) for w, a in zip(weights_of(floats), floats, strict=True))

    worst = 0.0
    for place, part in zip(program.gradient, gradient, strict=True):
        middle, slopes = doubles[place], np.asarray(part, np.float64)
        direction = random.normal(size=middle.shape)
        step = STEP * max(1.0, float(np.abs(middle).max(initial=0)))
        difference = weighted(place, middle + step * direction) - weighted(place, middle - step * direction)
        distance = abs(float((slopes * direction).sum()) - difference / (2 * step))
        worst = max(worst, distance / max(float(np.linalg.norm(slopes)), 1e-30))
    return worst


def _distance(found: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest wanted number of its array; infinite where shapes differ."""
    ours, theirs = ([np.asarray(a) for a in jax.tree.leaves(each)] for each in (found, wanted))
    if [a.shape for a in ours] != [a.shape for a in theirs]:
        return float("inf")
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        if not _is_float(b):
            worst = max(worst, float((a != b).any()))
        elif b.size:
            scale = max(float(np.abs(b).max()), 1e-30)
            difference = np.abs(a.astype(np.float64) - b.astype(np.float64)).max() / scale
            worst = max(worst, float(difference) if np.isfinite(difference) else float("inf"))
    return worst


def _allocated(function: Callable[..., Any], *arguments: Any) -> Memory:
    analysis: Any = jax.jit(function).lower(*arguments).compile().memory_analysis()
    known = int(analysis.argument_size_in_bytes) + int(analysis.output_size_in_bytes)
    return Memory(int(analysis.temp_size_in_bytes), allowance(known))


def _is_float(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))
