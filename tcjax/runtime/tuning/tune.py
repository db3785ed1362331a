"""`tune`: measures the ways to run one kernel on this device, keeps the fastest, and remembers it."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from ... import lowering, planning
from ...diagnostics import Code, CompileError
from ..arguments import Arguments
from ..compiler import Compiler
from ..fronts import Call, Front
from .candidates import candidates_of
from .choices import Choice
from .progress import progress_bar
from .report import Tuning
from .search import Unusable, search
from .store import device_kind, key_of, remember
from .timing import Contender, Watch, wall_timer

# How far results may be apart, relative to the largest: forms add in other orders.
TOLERANCES = {"float64": 1e-9, "complex128": 1e-9, "float32": 1e-4, "complex64": 1e-4, "float16": 2e-2}
ROUGHEST = 1e-1  # bfloat16 and below.


def tune(compiler: Compiler, call: Call, arguments: Arguments, *, seconds: float, progress: bool) -> Tuning:
    """What is fastest for these arguments, checked against what the planner decides by itself."""
    bound = compiler.bound(call)
    build = _Builder(compiler, call, arguments)
    watch = Watch(seconds)
    name, device = bound.function.name, device_kind() or "no device"
    try:
        planned = build.first()
    except KeyboardInterrupt:
        return Tuning(name, device, None, None, Choice(), (), "interrupted")
    statements = candidates_of(compiler.planned(call, Choice()))
    bar = progress_bar(name, sum(map(len, statements)), progress)
    try:
        outcome = search(planned, statements, build, wall_timer, watch, bar)
    finally:
        bar.close()
    key = key_of(compiler.front, call, bound)
    best = outcome.best
    about = {
        "kernel": name,
        "choice": str(best.choice),
        "planned_seconds": _finite(planned.best),
        "best_seconds": _finite(best.best),
        "stopped": outcome.stopped,
    }
    # An interrupted search that measured nothing has nothing to say.
    saved = remember(key, best.choice, about) if key is not None and planned.samples else None
    return Tuning(
        name,
        device,
        _finite(planned.best),
        _finite(best.best),
        best.choice,
        tuple(outcome.trials),
        outcome.stopped,
        saved,
    )


def check_tunable(front: Front, arguments: Arguments, seconds: object) -> None:
    """Raises `CompileError` for a kernel with a schedule, a time that is none, and arguments that cannot be run."""
    if front.options.schedule is not None:
        raise CompileError(
            Code.BAD_OPTION,
            f"`{front.name}` has a schedule, and tuning would choose another",
            front.span,
            help="tune `k.with_schedule(None)`",
        )
    if front.options.sharding is not None:
        raise CompileError(
            Code.BAD_OPTION,
            f"`{front.name}` runs on the devices of a mesh, and tuning measures one device",
            front.span,
            help="tune the kernel for the shapes of one device's blocks, before `sharded`",
        )
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < np.inf:
        raise CompileError(
            Code.BAD_OPTION, f"seconds={seconds!r} is no time to search", help="write seconds=30, for instance"
        )
    for name, value in {**arguments.arrays, **arguments.initial}.items():
        if isinstance(value, (Tracer, jax.ShapeDtypeStruct)):
            what = "a tracer" if isinstance(value, Tracer) else "a shape without values"
            raise CompileError(
                Code.NOT_STATIC,
                f"`{front.name}` cannot be tuned for `{name}`, which is {what}: candidates are run and timed",
                front.span,
                help="tune outside of jax.jit, with arrays like those that will be passed; later calls of the same "
                "shapes use what was found, under jax.jit too",
            )


def _finite(seconds: float) -> float | None:
    return seconds if np.isfinite(seconds) else None


class _Builder:
    """Compiles choices for one call; each must compute what the plan computes."""

    def __init__(self, compiler: Compiler, call: Call, arguments: Arguments) -> None:
        self._compiler = compiler
        self._call = call
        self._arrays = {name: jax.numpy.asarray(array) for name, array in arguments.arrays.items()}
        self._initial = {name: jax.numpy.asarray(array) for name, array in arguments.initial.items()}
        self._expected: list[np.ndarray] = []

    def first(self) -> Contender:
        """What the planner decides."""
        run, _ = self._compiled(Choice())
        self._expected = [np.asarray(result) for result in run()]
        return Contender("as planned", Choice(), run)

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
        except Exception as error:  # Whatever a compiler says of a candidate, the others are still there.
            raise Unusable(f"{type(error).__name__}: {error}".splitlines()[0][:200]) from None
        if not all(map(_agree, results, self._expected)):
            raise Unusable("computes something else")
        return Contender(name, choice, run)

    def _compiled(self, choice: Choice) -> tuple[Callable[[], Any], Any]:
        plan: planning.Plan = self._compiler.planned(self._call, choice)
        foreign = self._compiler.front.options.fns

        def run(arrays: Mapping[str, jax.Array], initial: Mapping[str, jax.Array]) -> tuple[jax.Array, ...]:
            return lowering.lower(plan, arrays, initial, foreign)

        with self._compiler.within_depth():
            compiled = jax.jit(run).lower(self._arrays, self._initial).compile()
        return lambda: compiled(self._arrays, self._initial), compiled.memory_analysis()


def _agree(result: np.ndarray, expected: np.ndarray) -> bool:
    if result.dtype.kind in "biu":
        return bool(np.array_equal(result, expected))
    tolerance = TOLERANCES.get(str(result.dtype), ROUGHEST)
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    result, expected = result.astype(wide), expected.astype(wide)
    largest = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
    return bool(np.allclose(result, expected, rtol=tolerance, atol=tolerance * largest, equal_nan=True))
