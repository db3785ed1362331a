"""The checks of a program: an independent reference, slopes of that reference, and what XLA allocates."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import jax
import jax.numpy as jnp
import numpy as np

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
        return f"{_megabytes(self.taken)} of temporaries; {_megabytes(self.allowed)} are allowed"


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
    arrays = program.arrays("small")
    size = ", ".join(f"{name}={value}" for name, value in program.small.items())
    value = _distance(jax.jit(program.function)(*arrays), program.reference(*map(as_double, arrays)))
    slope = gradient = None
    if program.gradient:
        slope, gradient = _slope(program, arrays), _gradient(program, arrays)
    return Report(size, value, slope, gradient, memory(program, "small"), program.tolerance)


def memory(program: "Program", size: str) -> tuple[Memory, ...]:
    """Of the results, and of the results with the gradient where there is one."""
    arrays = program.arrays(size)
    functions = [program.function]
    if program.gradient:
        functions.append(with_gradient(program.function, program.gradient))
    return tuple(_memory(function, arrays) for function in functions)


def with_gradient(function: Callable[..., Any], places: tuple[int, ...]) -> Callable[..., tuple[Any, ...]]:
    """The results, and the gradient by the arrays at `places` of their sum with the weights of `weights_of`."""

    def both(*arrays: Any) -> tuple[Any, ...]:
        def results(*moved: Any) -> Any:
            merged = list(arrays)
            for place, array in zip(places, moved, strict=True):
                merged[place] = array
            found = jax.tree.leaves(function(*merged))
            return [a for a in found if _is_float(a)], [a for a in found if not _is_float(a)]

        found, pull, others = jax.vjp(results, *(jnp.asarray(arrays[place]) for place in places), has_aux=True)
        weights = [jnp.asarray(w, a.dtype) for w, a in zip(weights_of(found), found, strict=True)]
        return *found, *others, *pull(weights)

    return both


def weights_of(results: list[Any]) -> list[np.ndarray]:
    """Random numbers in the shapes of some results."""
    random = np.random.default_rng(1)
    return [random.normal(size=np.shape(result)) for result in results]


def as_double(array: np.ndarray) -> np.ndarray:
    """Real numbers in 64 bits; whole ones as they are."""
    return array.astype(np.float64) if _is_float(array) else array


def _slope(program: "Program", arrays: tuple[np.ndarray, ...]) -> float:
    """The largest distance of a directional derivative from the difference of the reference."""
    count = len(program.gradient)
    pulled = jax.jit(with_gradient(program.function, program.gradient))(*arrays)[-count:]
    doubles = [as_double(array) for array in arrays]
    random = np.random.default_rng(2)
    worst = 0.0
    for place, gradient in zip(program.gradient, pulled, strict=True):
        direction = random.normal(size=doubles[place].shape)
        step = STEP * max(1.0, float(np.abs(doubles[place]).max()))
        ends = []
        for sign in (1, -1):
            moved = [*doubles]
            moved[place] = doubles[place] + sign * step * direction
            floats = [a for a in map(np.asarray, jax.tree.leaves(program.reference(*moved))) if _is_float(a)]
            ends.append(sum(float((w * a).sum()) for w, a in zip(weights_of(floats), floats, strict=True)))
        found = float((np.asarray(gradient, np.float64) * direction).sum())
        scale = max(float(np.linalg.norm(np.asarray(gradient, np.float64))), 1e-30)
        worst = max(worst, abs(found - (ends[0] - ends[1]) / (2 * step)) / scale)
    return worst


def _gradient(program: "Program", arrays: tuple[np.ndarray, ...]) -> float:
    """How far the gradient is from that of the first form by hand."""
    count = len(program.gradient)
    form = next(iter(program.by_hand.values()))
    ours, theirs = (jax.jit(with_gradient(f, program.gradient))(*arrays)[-count:] for f in (program.function, form))
    return _distance(ours, theirs)


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


def _memory(function: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> Memory:
    analysis: Any = jax.jit(function).lower(*arrays).compile().memory_analysis()
    known = int(analysis.argument_size_in_bytes) + int(analysis.output_size_in_bytes)
    return Memory(int(analysis.temp_size_in_bytes), allowance(known))


def _is_float(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))


def _megabytes(count: int) -> str:
    return f"{count / 2**20:.3g} MiB"
