"""Times of compiled functions, measured in turn, so that noise affects all of them alike."""

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from ..diagnostics.phrases import bytes_text
from ..runtime import Kernel
from .failures import Failure

LEAST_ROUNDS: Final = 5
MOST_ROUNDS: Final = 2000


@dataclass(slots=True)
class Candidate:
    """A compiled function. Times in seconds, memory in bytes; `difference` from the program's results."""

    name: str
    compile_seconds: float
    temporary_bytes: int
    call: Callable[[], Any]
    samples: list[float] = field(default_factory=list)
    difference: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.samples)


def measure(
    kernel: Kernel, arrays: Mapping[str, np.ndarray], sizes: Mapping[str, int], against: str | None, seconds: float
) -> list[Candidate]:
    """The program, its gradient, and the same for an expression. Raises `Failure` if the expression computes something
    else.
    """
    given = {name: jnp.asarray(array) for name, array in arrays.items()}

    def program(given: dict[str, jax.Array]) -> Any:
        return kernel(**given, **sizes)

    candidates = [_prepared("tcjax", program, given)]
    functions: dict[str, Callable[[dict[str, jax.Array]], Any]] = {"": program}
    if against is not None:
        functions[" by hand"] = _by_hand(against)
        candidates.append(_prepared("by hand", functions[" by hand"], given))
        _compare(candidates[0], candidates[1])
    differentiable = [name for name, array in given.items() if jnp.issubdtype(array.dtype, jnp.floating)]
    results = jax.tree.leaves(jax.eval_shape(program, given))
    if differentiable and any(jnp.issubdtype(result.dtype, jnp.floating) for result in results):
        for label, function in functions.items():
            candidates.append(_prepared(f"gradient{label}", _gradient(function, differentiable), given))
        if against is not None:
            _compare(candidates[2], candidates[3])
    _run(candidates, seconds)
    return candidates


def _by_hand(expression: str) -> Callable[[dict[str, jax.Array]], Any]:
    try:
        code = compile(expression, "<--against>", "eval")
    except (SyntaxError, ValueError) as error:
        raise Failure(f"--against is no Python expression: {getattr(error, 'msg', None) or error}") from None
    scope = {"jax": jax, "jnp": jnp, "lax": jax.lax, "np": np}

    def function(given: dict[str, jax.Array]) -> Any:
        return eval(code, {**scope, **given})

    return function


def _gradient(function: Callable[[dict[str, jax.Array]], Any], names: list[str]) -> Callable[..., Any]:
    def total(some: dict[str, jax.Array], given: dict[str, jax.Array]) -> jax.Array:
        results = jax.tree.leaves(function({**given, **some}))
        return sum((jnp.sum(r) for r in results if jnp.issubdtype(r.dtype, jnp.floating)), jnp.float32(0))

    return lambda given: jax.grad(total)({name: given[name] for name in names}, given)


def _prepared(name: str, function: Callable[..., Any], given: dict[str, jax.Array]) -> Candidate:
    start = time.perf_counter()
    try:
        compiled = jax.jit(function).lower(given).compile()
    except Failure:
        raise
    except (Exception, SystemExit) as error:
        if not name.endswith("by hand"):
            raise
        raise Failure(f"--against fails: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}") from None
    seconds = time.perf_counter() - start
    needed = compiled.memory_analysis()
    return Candidate(
        name, seconds, int(needed.temp_size_in_bytes) if needed is not None else 0, lambda: compiled(given)
    )


def _compare(ours: Candidate, other: Candidate) -> None:
    """Records the largest difference relative to the largest number. Raises `Failure` if the shapes differ."""
    one, two = (jax.tree.leaves(candidate.call()) for candidate in (ours, other))
    shapes = [[list(array.shape) for array in each] for each in (one, two)]
    if shapes[0] != shapes[1]:
        raise Failure(f"--against gives arrays of shape {shapes[1]}, the program {shapes[0]}")
    other.difference = max(
        (_relative(np.asarray(a), np.asarray(b)) for a, b in zip(one, two, strict=True)), default=0.0
    )


def _relative(one: np.ndarray, two: np.ndarray) -> float:
    wide = np.complex128 if "c" in (one.dtype.kind, two.dtype.kind) else np.float64
    a, b = one.astype(wide), two.astype(wide)
    if not a.size:
        return 0.0
    return float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(a)))))


def _run(candidates: list[Candidate], seconds: float) -> None:
    for candidate in candidates:
        jax.block_until_ready(candidate.call())
    for round in range(MOST_ROUNDS):
        running = [c for c in candidates if round < LEAST_ROUNDS or sum(c.samples) < seconds]
        if not running:
            return
        for candidate in running:
            start = time.perf_counter()
            jax.block_until_ready(candidate.call())
            candidate.samples.append(time.perf_counter() - start)


def show(candidates: list[Candidate], as_json: bool) -> str:
    """The table, or the same as JSON."""
    if as_json:
        rows = [
            {**{key: value for key, value in asdict(c).items() if key not in ("call", "samples")}, "median": c.median}
            for c in candidates
        ]
        return json.dumps(rows, indent=2)
    lines = [f"{'':18}{'median':>12}{'runs':>7}{'compile':>11}{'temporary':>12}"]
    for c in candidates:
        line = f"{c.name:18}{seconds_text(c.median):>12}{len(c.samples):>7}{seconds_text(c.compile_seconds):>11}"
        line += f"{bytes_text(c.temporary_bytes):>12}"
        if c.difference is not None:
            line += f"   differs by {c.difference:.1e}"
        lines.append(line)
    return "\n".join(lines)


def seconds_text(time: float) -> str:
    """A time in a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if time >= size:
            return f"{time / size:.3g} {unit}"
    return f"{time / 1e-6:.3g} µs"
