"""`tune`: measures the ways to run one kernel on this device, keeps the fastest, and remembers it."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ... import planning, ranges
from ...diagnostics import Code, CompileError, phrases, silenced
from .. import forked, pipeline
from ..arguments import Arguments
from ..compiler import Compiler
from ..frontends import Call, Frontend
from ..gradients import cotangents, weights, without_derivative
from .candidates import candidates_of, gradient_candidates_of
from .choices import Choice
from .memory import remembered
from .progress import progress_bar
from .report import Tuning
from .search import Candidate, Outcome, Unusable, search
from .store import alone, device_kind, key_of, remember
from .timing import Contender, Watch, wall_timer

# Tolerance of results relative to the largest: forms add in different orders.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 2e-2}
ROUGHEST = 1e-1  # bfloat16 and below.

_LONGEST = 1e9  # Seconds.


def tune(
    compiler: Compiler, call: Call, arguments: Arguments, *, seconds: float, progress: bool, gradient: bool = False
) -> Tuning:
    """The fastest choice for these arguments, checked against the planner's own plan."""
    bound = compiler.bound(call)
    # A search for both gives the derivative as much time as the result.
    share = seconds / 2 if gradient else seconds
    name, device = bound.function.name, device_kind() or "no device"
    outcome = _searched(_Builder(compiler, call, arguments), name, "as planned", Choice(), share, progress)
    if outcome is None:
        return Tuning(name, device, None, None, Choice(), (), "interrupted")
    planned, best, trials, stopped = outcome.planned, outcome.best, outcome.trials, outcome.stopped
    start = replace(best.choice, gradient=())
    found: Outcome | None = None
    slopes: tuple[float | None, ...] = ()
    if gradient and stopped != "interrupted":
        build, title = _Gradients(compiler, call, arguments), f"gradient of {compiler.frontend.name}"
        found = _searched(build, title, "gradient as planned", start, share, progress)
        if found is None:
            stopped = stopped or "interrupted"
        else:
            slopes = _finite(found.planned.best), _finite(found.best.best)
            trials, stopped = [*trials, *found.trials], stopped or found.stopped
    key = key_of(compiler.frontend, call, bound)
    # A search without measurements has no result.
    keeps = key is not None and bool(planned.samples)
    # Under the lock: otherwise a choice that another search saves in between would be lost.
    with alone() if keeps else nullcontext():
        derivative = _earlier(compiler, call, bound) if found is None else found.best.choice
        choice = replace(start, gradient=derivative.gradient)
        about = {
            "kernel": name,
            "choice": str(choice),
            "planned_seconds": _finite(planned.best),
            "best_seconds": _finite(best.best),
            "stopped": stopped,
        }
        saved = remember(key, choice, about) if keeps and key is not None else None
    times = _finite(planned.best), _finite(best.best)
    return Tuning(name, device, *times, choice, tuple(trials), stopped, saved, *slopes)


def _earlier(compiler: Compiler, call: Call, bound: ranges.Bound) -> Choice:
    """The choice of an earlier search."""
    # This search replaces a damaged file.
    with silenced():
        return compiler.choices.get(call) or remembered(compiler.frontend, call, bound, compiler.planned) or Choice()


def _searched(
    build: "_Builder", name: str, label: str, start: Choice, seconds: float, progress: bool
) -> Outcome | None:
    """The fastest choice, one statement after another; None if Ctrl-C comes before anything is measured."""
    watch = Watch(seconds)
    try:
        planned = build.first(label, start)
        statements = build.candidates(start)
    except KeyboardInterrupt:
        return None
    bar = progress_bar(name, sum(map(len, statements)), progress)
    try:
        return search(planned, statements, build, wall_timer, watch, bar)
    finally:
        bar.close()


def check_tunable(frontend: Frontend, arguments: Arguments, seconds: object) -> None:
    """Raises `CompileError` for a kernel with a schedule, an invalid time, and arguments that cannot be run."""
    forked.refuse()
    options = frontend.options
    for given, what, help in (
        (options.schedule, "has a schedule, and tuning would choose another", "tune `k.with_schedule(None)`"),
        (
            options.sharding,
            "runs on the devices of a mesh, and tuning measures one device",
            "tune the kernel for the shapes of one device's blocks, before `sharded`",
        ),
        (
            options.deterministic or None,
            "is deterministic, and tuning may find a different form in each run",
            "choose tiles by a schedule, or leave out `deterministic`",
        ),
    ):
        if given is not None:
            raise CompileError(Code.BAD_OPTION, f"`{frontend.name}` {what}", frontend.span, help=help)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= _LONGEST:
        raise CompileError(
            Code.BAD_OPTION,
            f"seconds={phrases.value(seconds)} is not a search time",
            help="write seconds=30, for instance",
        )
    for name, value in {**arguments.arrays, **arguments.initial}.items():
        if isinstance(value, (Tracer, jax.ShapeDtypeStruct)):
            what = "a tracer" if isinstance(value, Tracer) else "a shape without values"
            raise CompileError(
                Code.NOT_STATIC,
                f"`{frontend.name}` cannot be tuned for `{name}`, which is {what}: candidates are run and timed",
                frontend.span,
                help="tune outside of jax.jit, with arrays like those that will be passed; later calls of the same "
                "shapes use what was found, under jax.jit too",
            )


def check_differentiable(compiler: Compiler, call: Call) -> None:
    """Raises `CompileError` for a kernel that has no derivative to tune."""
    reason = without_derivative(compiler.plan(call))
    if reason:
        raise CompileError(
            Code.BAD_OPTION,
            f"`{compiler.frontend.name}` has no gradient to tune: {reason}",
            compiler.frontend.span,
            help="leave `gradient` out",
        )


def _finite(seconds: float) -> float | None:
    return seconds if np.isfinite(seconds) else None


class _Builder:
    """Compiles choices for one call; each must compute the same as the plan."""

    def __init__(self, compiler: Compiler, call: Call, arguments: Arguments) -> None:
        self._compiler = compiler
        self._call = call
        self._arrays = {name: jax.numpy.asarray(array) for name, array in arguments.arrays.items()}
        self._initial = {name: jax.numpy.asarray(array) for name, array in arguments.initial.items()}
        self._expected: list[np.ndarray] = []

    def candidates(self, choice: Choice) -> list[list[Candidate]]:
        """For each statement, its alternatives."""
        return candidates_of(self._compiler.planned(self._call, choice))

    def first(self, name: str, choice: Choice) -> Contender:
        """The baseline of the comparisons."""
        run, _ = self._compiled(choice)
        self._expected = [np.asarray(result) for result in run()]
        return Contender(name, choice, run)

    def __call__(self, name: str, choice: Choice) -> Contender:
        """A choice, compiled and checked. Raises `Unusable`."""
        try:
            run, analysis = self._compiled(choice)
            if analysis is not None:
                moved = analysis.argument_size_in_bytes + analysis.output_size_in_bytes
                if analysis.temp_size_in_bytes > planning.allowance(moved):
                    raise Unusable(f"needs {analysis.temp_size_in_bytes / 2**20:.0f} MiB of temporary memory")
            results = [np.asarray(result) for result in run()]
        except Unusable:
            raise
        except CompileError as error:
            raise Unusable(error.message) from None
        except jax.errors.JaxRuntimeError as error:
            # The device's compiler rejects a candidate, or has too little memory for it: the others remain.
            raise Unusable(f"{type(error).__name__}: {error}".splitlines()[0][:200]) from None
        if not all(map(_agree, results, self._expected)):
            raise Unusable("computes something else")
        return Contender(name, choice, run)

    def _compiled(self, choice: Choice) -> tuple[Callable[[], Any], Any]:
        run, given = self._function(self._compiler.planned(self._call, choice))
        with self._compiler.frontend.within_depth():
            compiled = jax.jit(run).lower(*given).compile()
        return lambda: compiled(*given), compiled.memory_analysis()

    def _function(self, plan: planning.Plan) -> tuple[Callable[..., tuple[jax.Array, ...]], tuple[Any, ...]]:
        """The function that is measured, and its arguments."""
        return partial(pipeline.lower, self._compiler.frontend, plan), (self._arrays, self._initial)


class _Gradients(_Builder):
    """Compiles the derivative of choices: from cotangents of the float results to those of the float parameters."""

    def candidates(self, choice: Choice) -> list[list[Candidate]]:
        return gradient_candidates_of(self._compiler.planned(self._call, choice), self._compiler.frontend.options.fns)

    def _function(self, plan: planning.Plan) -> tuple[Callable[..., tuple[jax.Array, ...]], tuple[Any, ...]]:
        pulled = cotangents(plan, self._compiler.frontend.options.fns)
        random = np.random.default_rng(0)
        given = [jax.numpy.asarray(random.standard_normal(w.shape), w.dtype) for w in weights(plan)]

        def run(*arguments: Any) -> tuple[jax.Array, ...]:
            return tuple(pulled(*arguments).values())

        return run, (self._arrays, self._initial, given)


def _agree(result: np.ndarray, expected: np.ndarray) -> bool:
    if result.dtype.kind in "biu":
        return bool(np.array_equal(result, expected))
    tolerance = TOLERANCES.get(str(result.dtype), ROUGHEST)
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    result, expected = result.astype(wide), expected.astype(wide)
    largest = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
    return bool(np.allclose(result, expected, rtol=tolerance, atol=tolerance * largest, equal_nan=True))
