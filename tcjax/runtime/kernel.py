"""A compiled definition: a function of arrays that explains itself."""

from collections.abc import Callable, Mapping
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
from .options import DIALECTS, check_schedule
from .values import ValueNeeded, value_of
from .writing import written

if TYPE_CHECKING:
    from ..planning.schedule import Schedule
    from ..ranges import Bound

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
        call, arguments = self._call(args, kwargs)
        run = self._jitted(tuple(arguments.initial), call.sizes, call.values)
        return run(*arguments.arrays.values(), *arguments.initial.values())

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
                plan = self._compiler.plan(_call(given, dict(zip(initial, starts, strict=True)), sizes, values))
                by_name = {p.name: array for p, array in zip(self._front.parameters, given, strict=True)}
                with self._compiler.within_depth():
                    results = lowering.lower(
                        plan, by_name, dict(zip(initial, starts, strict=True)), self._front.options.fns
                    )
                return results[0] if len(results) == 1 else results

            run.__name__ = self._front.name
            self._compiled[key] = jax.jit(run)
        return self._compiled[key]

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
        function = self._front.function(_call(tuple(arrays.values()), {}, ()))
        dtypes = {tensor.name: tensor.dtype for tensor in function.initial}
        return {name: as_array(value, name, dtypes.get(name), self._front.span) for name, value in initial.items()}

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Call, Arguments]:
        """The call with the values of the arguments that decide shapes."""
        arguments = self._arguments(args, kwargs)
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
            return call, arguments

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
