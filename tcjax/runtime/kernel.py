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
    """A class's docstring; that of one of its kernels is the program."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, kernel: "Kernel | None", owner: type) -> str | None:
        if kernel is None:
            return self.text
        signature = getattr(kernel, "__signature__", "")
        return f"{kernel.__name__}{signature}\n\nThe tensor comprehension\n\n{kernel}"


class _Signed:
    """The signature of a kernel's calls; the class has its own."""

    def __get__(self, kernel: "Kernel | None", owner: type) -> inspect.Signature:
        if kernel is None:
            raise AttributeError("__signature__")
        try:
            return signature_of(kernel._frontend)
        except ValueError as error:
            # A parameter has a name that Python keeps for itself.
            raise AttributeError("__signature__") from error


class Kernel(Questions):
    """A tensor comprehension as a pure function of arrays.

    Call it with arrays in parameter order or by name; it returns one array, or a tuple in the order of the
    return list. It works under `jax.jit`, `jax.grad`, `jax.jvp`, `jax.vmap` and `jax.export`. An output that
    accumulates without ``!`` starts from the array passed under its name, ``k(A, B, C=C0)``. Raises `CompileError`
    where count, rank, type or size of an argument does not fit.
    """

    # Written out when somebody asks.
    __doc__ = _Documented(__doc__)  # pyright: ignore[reportAssignmentType]

    __signature__ = _Signed()

    def __init__(self, frontend: Frontend) -> None:
        checked_assumptions(frontend)
        schedule = frontend.options.schedule
        if schedule is not None and frontend.likely is not None:
            schedule.on(frontend.likely).checked()
        super().__init__(frontend)
        # What the last `tune` found, None for a kernel that does not come from one.
        self.tuned: Tuning | None = None
        self.__name__ = frontend.name
        self.__qualname__ = frontend.name

    def __reduce__(self) -> Any:
        # The program and its options, as for a function: what is compiled stays here.
        return _restored, (self._frontend, self._compiler.choices, self.tuned)

    def __deepcopy__(self, memo: object) -> "Kernel":
        # Nothing changes a kernel, and a copy would compile everything again.
        return self

    def with_schedule(self, schedule: "Schedule | None") -> "Kernel":
        """The same kernel, its statements computed in the loops of a schedule: the numbers do not change.

        Loops around tiles, and loops in which other statements are computed, run one after the other; derivatives
        are those of the kernel without a schedule. Raises `CompileError` of kind ``schedule`` where a stage is read
        outside of the loop that it is computed in, or where the schedule names what the kernel does not have.
        """
        options = check_schedule(self._frontend.options, schedule)
        return Kernel(replace(self._frontend, options=options))

    def sharded(self, mesh: jax.sharding.Mesh, axes: Mapping[str, str | tuple[str, ...]]) -> "Kernel":
        """The same kernel on the devices of a mesh: ``k.sharded(mesh, {"m": "data", "k": "model"})``.

        `axes` says along which axis of the mesh an index runs (a tuple: along several). Each device computes its block
        of the index, and holds that block of the dimensions that the index addresses; a reduction over such an index is
        combined across the devices (sums by `psum`, minima by `pmin`, and so on), and what is read beyond a block its
        neighbours give (`ppermute`). Works under `jax.jit` and `jax.grad` like any kernel. Raises `CompileError` at a
        call whose statements devices cannot compute in parts (TC0811).
        """
        return Kernel(replace(self._frontend, options=shard_options(self._frontend.options, mesh, axes)))

    def tune(
        self, /, *args: Any, seconds: float = 30.0, progress: bool = True, gradient: bool = False, **kwargs: Any
    ) -> "Kernel":
        """The same kernel, in the way that is fastest on this device for arguments of these shapes.

        Tries other forms of its loop nests and other tiles, for about so many `seconds`, and keeps one only where it
        computes the same and is measurably faster. What was found is remembered in a file of the user's cache directory
        (or in ``TCJAX_CACHE_DIR``; empty: nowhere), and used from then on by every kernel with the same program and
        shapes, in other processes too. The kernel's `tuned` tells what was tried. Ctrl-C ends the search and
        keeps the best so far. With `gradient` half of the time goes to the loop nests of the derivative, reverse mode
        by all float parameters; what was found for it before is kept otherwise. An argument called ``seconds``,
        ``progress`` or ``gradient`` goes by position.

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

        Draws `examples` calls with random sizes (0, 1 and odd ones among them), types and elements, the same ones for
        a `seed`; gradients are compared with differences in float64. Returns a summary that prints. Raises
        `CheckError` for a disagreement, with the smallest call that shows it, as Python code.
        """
        from .checking import check

        return check(self, examples, seed)

    def adjoint(self, /, *args: Any, wrt: Iterable[str] | None = None, **kwargs: Any) -> "Kernel":
        """The derivative as a kernel, in index notation: ``k.adjoint(wrt=("A",))(A, B, d_C=d_C)`` gives ``d_A``.

        It takes the kernel's inputs and then the cotangents of its float outputs, ``d_C`` for ``C``, and returns the
        cotangents of the parameters that `wrt` names (None: of every float parameter) in that order. Its text prints
        and reads back, and it has an adjoint itself. Where nothing declares a parameter, its type is a likely one,
        unless arguments (arrays or `jax.ShapeDtypeStruct`) are passed to tell. Raises `CompileError`: TC0308 for a name
        that is no float parameter, TC0309 for what has no derivative in the language.
        """
        from .adjoints import adjoint_of

        return Kernel(adjoint_of(self._frontend, self.ir(*args, **kwargs), wrt))

    def export(self, /, *specs: Any, platforms: Sequence[str] | None = None, **kwargs: Any) -> "jax.export.Exported":
        """The kernel as `jax.export` serialises it: ``k.export("float32[N, M]", platforms=("cpu", "cuda"))``.

        A spec for each argument: an array, a `jax.ShapeDtypeStruct`, or a text whose sizes are numbers and symbols; the
        conditions of `constraints` hold for symbols with the names of sizes. Without specs, all declared sizes
        are symbols. With numbers alone the kernel is exported as planned; for symbols there is no plan: contractions
        are einsum, other reductions scans. Initial values and sizes go by keyword, as in a call. Without `platforms` it
        is for this machine's. Raises `CompileError` for arguments that do not fit, and where a program takes numbers.
        """
        from .exporting import exported, read_specs

        by_name = [name for name, value in kwargs.items() if not isinstance(value, (int, np.integer))]
        has_symbols = any(isinstance(spec, str) for spec in (*specs, *kwargs.values())) or not (specs or kwargs)
        constraints = self.constraints() if has_symbols and self._frontend.likely is not None else ()
        read = read_specs(self._frontend, [*specs, *(kwargs[name] for name in by_name)], constraints)
        given = read[: len(read) - len(by_name)]
        named = dict(zip(by_name, read[len(given) :], strict=True))
        sizes = {name: value for name, value in kwargs.items() if name not in named}
        # Mistakes are those of a call, before JAX looks at anything.
        arrange(self._frontend, given, {**named, **sizes})

        # Nobody is there to be told of what the data of an exported program do.
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
