"""A compiled definition: a function of arrays that explains itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import ir, planning, ranges
from ..diagnostics import Code, CompileError
from ..ranges import Bound
from ..symbolic import Interval
from .arguments import Arguments, arrange, as_array
from .assumptions import checked_assumptions, facts_of
from .compiler import Compiler
from .explain import Explanation
from .fronts import Call, Front, Value
from .options import DIALECTS, check_schedule, shard_options
from .values import ValueNeeded, value_of
from .writing import written

if TYPE_CHECKING:
    import jax.export

    from ..planning.schedule import Schedule
    from ..ranges import Bound
    from .tuning.report import Tuning

_Variant = tuple[tuple[str, ...], tuple[tuple[str, int], ...], tuple[Value, ...]]

# So many combinations of names, sizes and values are kept compiled.
_MOST_VARIANTS = 1000


class Kernel:
    """A tensor comprehension as a pure function of arrays.

    Call it with arrays in parameter order or by name; it returns one array, or a tuple in the order of the
    return list. It works under `jax.jit`, `jax.grad`, `jax.jvp`, `jax.vmap` and `jax.export`. An output that
    accumulates without ``!`` starts from the array passed under its name, ``k(A, B, C=C0)``. Raises `CompileError`
    where count, rank, type or size of an argument does not fit.
    """

    def __init__(self, front: Front) -> None:
        checked_assumptions(front)
        self._front = front
        schedule = front.options.schedule
        if schedule is not None and front.likely is not None:
            schedule.on(front.likely).checked()
        self._compiler = Compiler(front)
        # What the last `tune` found, None for a kernel that does not come from one.
        self.tuned: Tuning | None = None
        self._arity = len(front.parameters)
        self._compiled: dict[_Variant, Callable[..., Any]] = {}
        # The parameters whose values decide shapes, by the shapes and types of a call.
        self._static: dict[Call, tuple[str, ...]] = {}
        self._plain = self._jitted((), ())
        self.__name__ = front.name
        self.__qualname__ = front.name
        self.__doc__ = f"The tensor comprehension\n\n{self}"

    # ------------------------------------------------------------ calls

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        # The usual call goes straight to jit: anything more would cost more than a small kernel itself.
        if not kwargs and len(args) == self._arity:
            for value in args:
                if type(value) not in _ARRAYS and not _is_array(value):
                    break
            else:
                if not self._static:
                    try:
                        return self._plain(*args)
                    except ValueNeeded:
                        pass
        arguments = self._arguments(args, kwargs)
        given = (*arguments.arrays.values(), *arguments.initial.values())
        if any(map(_is_symbolic, given)):
            return self._jitted(tuple(arguments.initial), tuple(sorted(arguments.sizes.items())))(*given)
        call = self._call_of(arguments)
        return self._jitted(tuple(arguments.initial), call.sizes, call.values)(*given)

    def _jitted(
        self, initial: tuple[str, ...], sizes: tuple[tuple[str, int], ...], values: tuple[Value, ...] = ()
    ) -> Callable[..., Any]:
        key = (initial, sizes, values)
        if key not in self._compiled:
            if len(self._compiled) > _MOST_VARIANTS:
                self._compiled.clear()

            def run(*arrays: jax.Array) -> Any:
                # Only who calls a kernel needs the lowerings: `import tcjax` stays light.
                from .. import lowering

                starts = arrays[self._arity :]
                given = tuple(
                    as_array(array, parameter.name, parameter.declared, parameter.span)
                    for parameter, array in zip(self._front.parameters, arrays, strict=False)
                )
                begin = dict(zip(initial, starts, strict=True))
                by_name = {p.name: array for p, array in zip(self._front.parameters, given, strict=True)}
                fns, sharding = self._front.options.fns, self._front.options.sharding
                if sharding is None and any(map(_is_symbolic, (*given, *starts))):
                    results = self._symbolic(by_name, begin, dict(sizes))
                    return results[0] if len(results) == 1 else results
                call = _call(given, begin, sizes, values)
                if sharding is None:
                    plan = self._compiler.plan(call)
                    with self._compiler.within_depth():
                        results = lowering.lower(plan, by_name, begin, fns)
                else:
                    from ..lowering.sharding import lower_sharded

                    shards = self._compiler.sharded(call)
                    with self._compiler.within_depth():
                        results = lower_sharded(shards, sharding.mesh, by_name, begin, fns)
                return results[0] if len(results) == 1 else results

            run.__name__ = self._front.name
            self._compiled[key] = jax.jit(run)
        return self._compiled[key]

    def _symbolic(
        self, arrays: Mapping[str, jax.Array], initial: Mapping[str, jax.Array], sizes: Mapping[str, int]
    ) -> tuple[jax.Array, ...]:
        """The results for arrays whose sizes are symbols: without a plan, which is for numbers."""
        from ..lowering.symbolic import lower_symbolic
        from .fronts import Definition

        if not isinstance(self._front, Definition):
            # A SaC program is elaborated for shapes: this says so.
            _call(tuple(arrays.values()), initial, ())
        ranks = Call(
            tuple((0,) * array.ndim for array in arrays.values()),
            tuple(str(jax.dtypes.canonicalize_dtype(array.dtype)) for array in arrays.values()),
        )
        with self._compiler.within_depth():
            return lower_symbolic(self._front.function(ranks), arrays, initial, sizes, self._front.options.fns)

    def _arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Arguments:
        arguments = arrange(self._front, args, kwargs)
        parameters = {p.name: p for p in self._front.parameters}
        arrays = {
            name: as_array(value, name, parameters[name].declared, parameters[name].span)
            for name, value in arguments.arrays.items()
        }
        starts = self._starts(arguments.initial, arrays) if arguments.initial else {}
        return Arguments(arrays, starts, arguments.sizes)

    def _starts(self, initial: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The initial values as arrays of their outputs' types."""
        # Types of outputs do not depend on sizes.
        shapes = [
            jax.ShapeDtypeStruct(tuple(n if isinstance(n, int) else 0 for n in a.shape), a.dtype)
            for a in arrays.values()
        ]
        function = self._front.function(_call(tuple(shapes), {}, ()))
        dtypes = {tensor.name: tensor.dtype for tensor in function.initial}
        return {name: as_array(value, name, dtypes.get(name), self._front.span) for name, value in initial.items()}

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Call, Arguments]:
        """The call with the values of the arguments that decide shapes."""
        arguments = self._arguments(args, kwargs)
        return self._call_of(arguments), arguments

    def _call_of(self, arguments: Arguments) -> Call:
        sizes = tuple(sorted(arguments.sizes.items()))
        plain = _call(tuple(arguments.arrays.values()), arguments.initial, sizes)
        names = self._static.get(plain, ())
        while True:
            values = tuple(value_of(name, arguments.arrays[name], self._front.span) for name in names)
            call = replace(plain, values=values)
            try:
                self._front.function(call)
            except ValueNeeded as needed:
                value_of(needed.name, arguments.arrays[needed.name], needed.span)
                names = (*names, needed.name)
                continue
            if names:
                self._static[plain] = names
            return call

    def interpret(self, /, *args: Any, **kwargs: Any) -> Any:
        """The same call through the reference interpreter: plain loops, slow and obviously right.

        Returns NumPy arrays in the same structure.
        """
        # SciPy's special functions take longer to import than everything else: only who interprets waits for them.
        from .. import interpreter

        call, arguments = self._call(args, kwargs)
        bound = self._compiler.bound(call)
        arrays = {
            tensor.name: np.asarray(arguments.arrays[tensor.name]).astype(jnp.dtype(tensor.dtype))
            for tensor in bound.function.parameters
        }
        initial = {
            tensor.name: np.asarray(arguments.initial[tensor.name]).astype(jnp.dtype(tensor.dtype))
            for tensor in bound.function.initial
            if tensor.name in arguments.initial
        }
        with self._compiler.within_depth():
            results = interpreter.interpret(bound, arrays, initial, self._front.options.fns)
        return results[0] if len(results) == 1 else results

    # ------------------------------------------------------------ what it knows

    def ranges(self, /, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """For each statement in order the half-open range of each index.

        With arguments (arrays or `jax.ShapeDtypeStruct`) pairs of ints, ``{"i": (0, 8)}``; without, symbolic
        `Interval`s.
        """
        if not args and not kwargs and self._arity:
            return self._symbolic_ranges()
        call, _ = self._call(args, kwargs)
        return _boxes(self._compiler.bound(call))

    def _symbolic_ranges(self) -> list[dict[str, Interval | None]]:
        function = self._likely()
        return _intervals(ranges.infer_ranges(function, facts_of(self._front, function)))

    def constraints(self) -> tuple[str, ...]:
        """What must hold for the sizes, as texts for ``jax.export.symbolic_shape(..., constraints=...)``.

        These are the assumptions of ``assume``, then what the program itself needs: that no range ends before it
        begins and that reads and writes stay inside their arrays, as far as sizes alone decide it. A dimension
        without a name, ``A.0``, is called ``A_0``. Conditions that JAX cannot state (``!=``, ``or``) are left out.
        """
        from .constraints import constraints_of

        return constraints_of(self._likely(), self._front)

    def _likely(self) -> ir.Function:
        function = self._front.likely
        if function is None:
            raise CompileError(
                Code.UNKNOWN_RANK,
                f"without arguments nothing says what the parameters of `{self._front.name}` are",
                self._front.span,
                help="pass arguments, or declare the parameters: `float(N) A` in index notation, `float[n] a` in SaC",
            )
        return function

    def ir(self, /, *args: Any, **kwargs: Any) -> ir.Function:
        """The typed program; without arguments, undeclared parameters have likely types."""
        if not args and not kwargs and self._arity:
            return self._likely()
        call, _ = self._call(args, kwargs)
        return self._compiler.bound(call).function

    def plan(self, /, *args: Any, **kwargs: Any) -> planning.Plan:
        """Which operation computes each statement for arguments (or `jax.ShapeDtypeStruct`s) of these shapes."""
        call, _ = self._call(args, kwargs)
        return self._compiler.plan(call)

    def explain(self, /, *args: Any, **kwargs: Any) -> Explanation:
        """Ranges and what fixed them, the operation chosen for each statement and why, and what it costs."""
        call, _ = self._call(args, kwargs)
        return Explanation.of(self._front.text(), self._compiler.plan(call))

    def schedule(self, /, *args: Any, **kwargs: Any) -> "Schedule":
        """A schedule without commands: every statement is computed whole, in the order of the program.

        The statements of a SaC program depend on the ranks of its arguments: they are the smallest that its selections
        show, unless arguments (arrays or `jax.ShapeDtypeStruct`) are passed to tell. Where nothing tells, names of
        stages and loops are looked up when the schedule is used.
        """
        from ..planning.schedule import Schedule

        function = self.ir(*args, **kwargs) if args or kwargs or not self._arity else self._front.likely
        return Schedule(self._front.name, function, bind=self._bound)

    def _bound(self, /, *args: Any, **kwargs: Any) -> Bound:
        call, _ = self._call(args, kwargs)
        return self._compiler.bound(call)

    def with_schedule(self, schedule: "Schedule | None") -> "Kernel":
        """The same kernel, its statements computed in the loops of a schedule: the numbers do not change.

        Loops around tiles, and loops in which other statements are computed, run one after the other; derivatives
        are those of the kernel without a schedule. Raises `CompileError` of kind ``schedule`` where a stage is read
        outside of the loop that it is computed in, or where the schedule names what the kernel does not have.
        """
        options = check_schedule(self._front.options, schedule)
        return Kernel(replace(self._front, options=options))

    def sharded(self, mesh: jax.sharding.Mesh, axes: Mapping[str, str | tuple[str, ...]]) -> "Kernel":
        """The same kernel on the devices of a mesh: ``k.sharded(mesh, {"m": "data", "k": "model"})``.

        `axes` says along which axis of the mesh an index runs (a tuple: along several). Each device computes its block
        of the index, and holds that block of the dimensions that the index addresses; a reduction over such an index is
        combined across the devices (sums by `psum`, minima by `pmin`, and so on). Works under `jax.jit` and `jax.grad`
        like any kernel. Raises `CompileError` at a call where an index does not divide into equal blocks (TC0601) or
        where devices would need other parts of a tensor than they hold (TC0811).
        """
        return Kernel(replace(self._front, options=shard_options(self._front.options, mesh, axes)))

    def tune(self, /, *args: Any, seconds: float = 30.0, progress: bool = True, **kwargs: Any) -> "Kernel":
        """The same kernel, in the way that is fastest on this device for arguments of these shapes.

        Tries other forms of its loop nests and other tiles, for about so many `seconds`, and keeps one only where it
        computes the same and is measurably faster. What was found is remembered in a file of the user's cache directory
        (or in ``TCJAX_CACHE_DIR``; empty: nowhere), and used from then on by every kernel with the same program and
        shapes, in other processes too. The kernel's `tuned` tells what was tried. Ctrl-C ends the search and
        keeps the best so far. An argument called ``seconds`` or ``progress`` goes by position.

        Raises `CompileError` as a call does, for tracers, and for a kernel that has a schedule.
        """
        from .tuning.tune import check_tunable, tune

        call, arguments = self._call(args, kwargs)
        check_tunable(self._front, arguments, seconds)
        kernel = Kernel(self._front)
        found = tune(self._compiler, call, arguments, seconds=float(seconds), progress=bool(progress))
        kernel._compiler.choices = {**self._compiler.choices, call: found.choice}
        kernel.tuned = found
        return kernel

    def adjoint(self, /, *args: Any, wrt: Iterable[str] | None = None, **kwargs: Any) -> "Kernel":
        """The derivative as a kernel, in index notation: ``k.adjoint(wrt=("A",))(A, B, d_C=d_C)`` gives ``d_A``.

        It takes the kernel's inputs and then the cotangents of its float outputs, ``d_C`` for ``C``, and returns the
        cotangents of the parameters that `wrt` names (None: of every float parameter) in that order. Its text prints
        and reads back, and it has an adjoint itself. Where nothing declares a parameter, its type is a likely one,
        unless arguments (arrays or `jax.ShapeDtypeStruct`) are passed to tell. Raises `CompileError`: TC0308 for a name
        that is no float parameter, TC0309 for what has no derivative in the language.
        """
        from .adjoints import adjoint_of

        function = self.ir(*args, **kwargs) if args or kwargs or not self._arity else self._likely()
        return Kernel(adjoint_of(self._front, function, wrt))

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
        constraints = self.constraints() if has_symbols and self._front.likely is not None else ()
        read = read_specs(self._front, [*specs, *(kwargs[name] for name in by_name)], constraints)
        given = read[: len(read) - len(by_name)]
        named = dict(zip(by_name, read[len(given) :], strict=True))
        sizes = {name: value for name, value in kwargs.items() if name not in named}
        # Mistakes are those of a call, before JAX looks at anything.
        arrange(self._front, given, {**named, **sizes})

        def run(*arrays: jax.Array, **others: jax.Array) -> Any:
            return self(*arrays, **others, **sizes)

        run.__name__ = self._front.name
        return exported(run, given, named, platforms)

    def to(self, dialect: str, /, *args: Any, **kwargs: Any) -> str:
        """The program in another notation: "tc", "sac" or "python".

        What a SaC program is in index notation depends on the ranks of its arguments: they are the smallest that its
        selections show, unless arguments (arrays or `jax.ShapeDtypeStruct`) are passed to tell. An output that
        accumulates without ``!`` begins from the identity in SaC. Raises `CompileError` (TC0109) for what the other
        notation cannot say.
        """
        if dialect not in DIALECTS:
            raise CompileError(
                Code.BAD_OPTION,
                f"this version of tcjax does not write {dialect!r}",
                help=f"write to({' or '.join(repr(name) for name in DIALECTS)})",
            )
        function = self.ir(*args, **kwargs) if args or kwargs else None
        return written(self._front, dialect, function)

    def __str__(self) -> str:
        return self._front.text()

    def __repr__(self) -> str:
        names = ", ".join(parameter.name for parameter in self._front.parameters)
        return f"<tcjax.Kernel {self._front.name}({names})>"


# The array types that were passed so far: `isinstance` with jax.Array costs as much as a small kernel.
_ARRAYS: set[type] = set()


def _is_array(value: object) -> bool:
    """Whether jit takes the value as it is; a NumPy array of objects or strings has to be refused first."""
    if isinstance(value, jax.Array):
        _ARRAYS.add(type(value))
        return True
    return type(value) is np.ndarray and value.dtype.kind in "biufc"


def _call(
    arrays: tuple[Any, ...],
    initial: Mapping[str, Any],
    sizes: tuple[tuple[str, int], ...],
    values: tuple[Value, ...] = (),
) -> Call:
    return Call(
        tuple(_known_shape(array) for array in arrays),
        tuple(str(jax.dtypes.canonicalize_dtype(array.dtype)) for array in arrays),
        tuple((name, _known_shape(array)) for name, array in initial.items()),
        sizes,
        values,
    )


def _is_symbolic(array: Any) -> bool:
    """Whether a size is a symbol of `jax.export`."""
    return not all(isinstance(extent, int) for extent in array.shape)


def _known_shape(array: Any) -> tuple[int, ...]:
    """The shape. Raises `CompileError` (TC0901) for the symbolic sizes of `jax.export.symbolic_shape`."""
    shape = tuple(array.shape)
    if not all(isinstance(extent, int) for extent in shape):
        raise CompileError(
            Code.NOT_STATIC,
            f"the sizes ({', '.join(map(str, shape))}) are not all numbers, and a kernel is planned for one shape",
            help="export it for the shapes that will be passed, one `jax.ShapeDtypeStruct` of numbers each",
        )
    return shape


def _intervals(found: ranges.SymbolicRanges) -> list[dict[str, Interval | None]]:
    """The symbolic ranges of every statement, those of called definitions in their place."""
    listed: list[dict[str, Interval | None]] = []
    for number, (statement, given) in enumerate(zip(found.function.statements, found.statements, strict=True)):
        if isinstance(statement, ir.Invoke):
            listed.extend(_intervals(found.calls[number]))
        else:
            listed.append({str(index): interval for index, interval in given.intervals.items()})
    return listed


def _boxes(bound: ranges.Bound) -> list[dict[str, tuple[int, int]]]:
    """The ranges of every statement, those of called definitions in their place."""
    found: list[dict[str, tuple[int, int]]] = []
    for number, (statement, box) in enumerate(zip(bound.function.statements, bound.boxes, strict=True)):
        if isinstance(statement, ir.Invoke):
            found.extend(_boxes(bound.calls[number]))
        else:
            found.append({str(index): (lo, hi) for index, (lo, hi) in box.items()})
    return found
