"""A compiled definition: a function of arrays that explains itself, and makes other kernels."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from .arguments import arrange
from .assumptions import checked_assumptions
from .frontends import Call, Frontend
from .options import check_schedule, shard_options
from .questions import Questions
from .signatures import signature_of

if TYPE_CHECKING:
    import jax.export

    from ..planning.schedule import Schedule
    from .checking import Check
    from .tuning.choices import Choice
    from .tuning.report import Tuning


class _Documented:
    """A class's docstring, while that of an instance is its program."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, kernel: "Kernel | None", owner: type) -> str | None:
        if kernel is None:
            return self.text
        signature = getattr(kernel, "__signature__", "")
        return f"{kernel.__name__}{signature}\n\nThe tensor comprehension\n\n{kernel}"


class _Signed:
    """The signature of a kernel's calls, while the class has its own."""

    def __get__(self, kernel: "Kernel | None", owner: type) -> inspect.Signature:
        if kernel is None:
            raise AttributeError("__signature__")
        try:
            return signature_of(kernel._frontend)
        except ValueError as error:
            # A parameter has a name that is reserved in Python.
            raise AttributeError("__signature__") from error


class Kernel(Questions):
    """A tensor comprehension as a pure function of arrays.

    Call it with arrays in parameter order or by name; it returns one array, or a tuple in the order of the return list.
    It works under `jax.jit`, `jax.grad`, `jax.jvp`, `jax.vmap` and `jax.export`. An output that accumulates without
    ``!`` starts from the array passed under its name, ``k(A, B, C=C0)``. Raises `CompileError` where the number, rank,
    type or size of arguments does not fit.
    """

    # Made on demand.
    __doc__ = _Documented(__doc__)  # pyright: ignore[reportAssignmentType]

    __signature__ = _Signed()

    def __init__(self, frontend: Frontend) -> None:
        checked_assumptions(frontend)
        schedule = frontend.options.schedule
        if schedule is not None and frontend.likely is not None:
            schedule.on(frontend.likely).checked()
        super().__init__(frontend)
        # The result of the last `tune`, None for other kernels.
        self.tuned: Tuning | None = None
        self.__name__ = frontend.name
        self.__qualname__ = frontend.name

    def __reduce__(self) -> Any:
        # Pickled as its program and options, like a function: compiled code is not included.
        return _restored, (self._frontend, self._compiler.choices, self.tuned)

    def __deepcopy__(self, memo: object) -> "Kernel":
        # Kernels are immutable, and a copy would compile everything again.
        return self

    def with_schedule(self, schedule: "Schedule | None") -> "Kernel":
        """The same kernel, run by a schedule: the results do not change.

        Loops over tiles, and loops in which other statements are computed, run sequentially; derivatives are those of
        the kernel without a schedule. Raises `CompileError` of kind ``schedule`` where a stage is read outside the loop
        in which it is computed, or where the schedule names a stage or loop that does not exist.
        """
        options = check_schedule(self._frontend.options, schedule)
        return Kernel(replace(self._frontend, options=options))

    def sharded(self, mesh: jax.sharding.Mesh, axes: Mapping[str, str | tuple[str, ...]]) -> "Kernel":
        """The same kernel on the devices of a mesh: ``k.sharded(mesh, {"m": "data", "k": "model"})``.

        `axes` maps an index to an axis of the mesh, or to several (a tuple). Each device computes its block of the
        index, and holds that block of the dimensions that the index addresses. A reduction over such an index is
        combined across the devices (sums by `psum`, minima by `pmin`, and so on); what is read beyond a block comes
        from neighbours (`ppermute`). Works under `jax.jit` and `jax.grad` like any kernel. Raises `CompileError`
        (TC0811) at a call whose statements cannot be split over devices.
        """
        return Kernel(replace(self._frontend, options=shard_options(self._frontend.options, mesh, axes)))

    def tune(
        self, /, *args: Any, seconds: float = 30.0, progress: bool = True, gradient: bool = False, **kwargs: Any
    ) -> "Kernel":
        """The same kernel, with the plan that is fastest on this device for arguments of these shapes.

        Tries other forms of its loop nests and other tiles for about `seconds`, and keeps one only where it computes
        the same and is measurably faster. The choice is saved in a file in the user's cache directory (or in
        ``TCJAX_CACHE_DIR``; empty: not at all), and used from then on by every kernel with the same program and shapes,
        in other processes too. The kernel's `tuned` says what was tried. Ctrl-C ends the search and keeps the best so
        far. With `gradient` half of the time goes to the loop nests of the derivative, reverse mode with respect to all
        float parameters; without it, an earlier choice for the derivative is kept. Pass an argument called ``seconds``,
        ``progress`` or ``gradient`` by position.

        Raises `CompileError` as a call does, for tracers, and for a kernel that has a schedule.
        """
        from .tuning.tune import check_differentiable, check_tunable, tune

        call, arguments = self._call(args, kwargs)
        check_tunable(self._frontend, arguments, seconds)
        kernel = Kernel(self._frontend)
        if gradient:
            check_differentiable(self._compiler, call)
        found = tune(
            self._compiler, call, arguments, seconds=float(seconds), progress=bool(progress), gradient=bool(gradient)
        )
        kernel._compiler.choices = {**self._compiler.choices, call: found.choice}
        kernel.tuned = found
        return kernel

    def check(self, examples: int = 20, seed: int = 0) -> "Check":
        """Compares the kernel with its interpreter: values, `jax.jit`, `jax.vmap`, and gradients.

        Draws `examples` calls with random sizes (including 0, 1 and odd ones), types and elements; the same `seed`
        gives the same calls. Gradients are compared with finite differences in float64. Returns a printable summary.
        Raises `CheckError` for a disagreement, with the smallest call that shows it, as Python code.
        """
        from .checking import check

        return check(self, examples, seed)

    def adjoint(self, /, *args: Any, wrt: Iterable[str] | None = None, **kwargs: Any) -> "Kernel":
        """The derivative as a kernel, in index notation: ``k.adjoint(wrt=("A",))(A, B, d_C=d_C)`` gives ``d_A``.

        It takes the kernel's inputs and then the cotangents of its float outputs, ``d_C`` for ``C``, and returns the
        cotangents of the parameters that `wrt` names (None: of every float parameter) in that order. It can be printed,
        parsed again, and differentiated again. The type of an undeclared parameter is guessed, unless arguments (arrays
        or `jax.ShapeDtypeStruct`) are passed. Raises `CompileError`: TC0308 for a name that is not a float parameter,
        TC0309 for a derivative that the language cannot express.
        """
        from .adjoints import adjoint_of

        return Kernel(adjoint_of(self._frontend, self.ir(*args, **kwargs), wrt))

    def export(self, /, *specs: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> "jax.export.Exported":
        """The kernel as `jax.export` serialises it: ``k.export("float32[N, M]", platforms=("cpu", "cuda"))``.

        Give a spec for each argument: an array, a `jax.ShapeDtypeStruct`, or a text whose sizes are numbers and
        symbols. The conditions of `constraints` apply to symbols with the names of sizes. Without specs, all declared
        sizes are symbols. With numbers only, the kernel is exported as planned. With symbols there is no plan:
        contractions become einsum, other reductions scans. Pass initial values and sizes by keyword, as in a call. The
        default of `platforms` is this machine's. Raises `CompileError` for arguments that do not fit, and where a
        program needs numbers.
        """
        from .exporting import exported, read_specs

        by_name = [name for name, value in kwargs.items() if not isinstance(value, (int, np.integer))]
        has_symbols = any(isinstance(spec, str) for spec in (*specs, *kwargs.values())) or not (specs or kwargs)
        constraints = self.constraints() if has_symbols and self._frontend.likely is not None else ()
        read = read_specs(self._frontend, [*specs, *(kwargs[name] for name in by_name)], constraints)
        given = read[: len(read) - len(by_name)]
        named = dict(zip(by_name, read[len(given) :], strict=True))
        sizes = {name: value for name, value in kwargs.items() if name not in named}
        # Errors are those of a call, before JAX sees anything.
        arrange(self._frontend, given, {**named, **sizes})

        # An exported program cannot report errors in its data.
        plain = replace(self._frontend.options, checked=False)
        kernel = Kernel(replace(self._frontend, options=plain)) if self._frontend.options.checked else self

        def run(*arrays: jax.Array, **others: jax.Array) -> Any:
            return kernel(*arrays, **others, **sizes)

        run.__name__ = self._frontend.name
        return exported(run, given, named, platforms)


def _restored(frontend: Frontend, choices: "Mapping[Call, Choice]", tuned: "Tuning | None") -> Kernel:
    kernel = Kernel(frontend)
    kernel._compiler.choices.update(choices)
    kernel.tuned = tuned
    return kernel
