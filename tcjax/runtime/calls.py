"""Calls of a program: assigns arrays to arguments, with one jitted function for everything static."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ..diagnostics import Code, CompileError
from ..elaboration import ValueNeeded
from ..keeping import MOST_SIGNATURES, Recent, cached_property
from . import forked
from .arguments import Arguments, arrange, as_array, is_plain
from .compiler import Compiler
from .definitions import Definition
from .frontends import Call, Frontend, Value
from .values import value_of

_Variant = tuple[tuple[str, ...], tuple[tuple[str, int], ...], tuple[Value, ...]]


class Calls:
    """A program that can be called with arrays."""

    def __init__(self, frontend: Frontend) -> None:
        self._frontend = frontend
        self._compiler = Compiler(frontend)
        self._arity = len(frontend.parameters)
        self._compiled: dict[_Variant, Callable[..., Any]] = {}
        self._traced = 0
        # The parameters whose values determine shapes, by the shapes and types of a call.
        self._static: Recent[Call, tuple[str, ...]] = Recent()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            # The usual call goes straight to jit: any more work would cost more than a small kernel itself.
            if not kwargs and len(args) == self._arity and not forked.orphaned:
                for value in args:
                    if type(value) not in _ARRAYS and not _is_array(value):
                        break
                else:
                    if not self._static:
                        try:
                            return self._plain(*args)
                        except ValueNeeded:
                            pass
            return self._called(args, kwargs)
        except Exception as error:
            self._check_placed(error, args, kwargs)
            raise

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of any other form, or one with mistakes."""
        if forked.orphaned:
            forked.refuse()
        arguments = self._arguments(args, kwargs)
        given = (*arguments.arrays.values(), *arguments.initial.values())
        if any(isinstance(value, jax.ShapeDtypeStruct) for value in given):
            raise CompileError(
                Code.ARGUMENT_TYPE,
                "a `jax.ShapeDtypeStruct` has no values to compute with",
                self._frontend.span,
                help="pass arrays; `k.ranges(...)`, `k.explain(...)` and `jax.eval_shape(k, ...)` take shapes",
            )
        if any(map(_is_symbolic, given)):
            return self._jitted(tuple(arguments.initial), tuple(sorted(arguments.sizes.items())))(*given)
        call = self._call_of(arguments)
        return self._jitted(tuple(arguments.initial), call.sizes, call.values)(*given)

    def _check_placed(self, error: Exception, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Raises `CompileError` (TC0811) for an error of JAX's about arguments whose types say how they are sharded."""
        if isinstance(error, CompileError):
            return
        from .placements import is_cut, unplaceable

        cut = [value for value in (*args, *kwargs.values()) if is_cut(value)]
        if not cut or any(map(_is_symbolic, cut)):
            return
        call, arguments = self._call(args, kwargs)
        replaced = unplaceable(error, self._compiler, call, {**arguments.arrays, **arguments.initial})
        if replaced is not None:
            raise replaced from error

    @cached_property
    def _plain(self) -> Callable[..., Any]:
        """The usual call, created on first use."""
        return self._jitted((), ())

    def _jitted(
        self, initial: tuple[str, ...], sizes: tuple[tuple[str, int], ...], values: tuple[Value, ...] = ()
    ) -> Callable[..., Any]:
        key = (initial, sizes, values)
        compiled = self._compiled.get(key)
        if compiled is None:
            results = self._results(initial, sizes, values)

            def run(*arrays: jax.Array) -> Any:
                self._count_trace()
                found = results(*arrays)
                if self._frontend.options.memory is not None and not any(map(_is_symbolic, arrays)):
                    found = self._watched(results, arrays, found, initial, sizes, values)
                return found[0] if len(found) == 1 else tuple(found)

            run.__name__ = self._frontend.name
            compiled = jax.jit(run)
            if self._frontend.options.checked:
                from .inspecting import inspected

                compiled = inspected(self, compiled, initial, sizes, values)
            self._compiled[key] = compiled
        return compiled

    def _results(
        self, initial: tuple[str, ...], sizes: tuple[tuple[str, int], ...], values: tuple[Value, ...]
    ) -> Callable[..., Sequence[jax.Array]]:
        """The results as a function of the arguments and of initial values, without a reference to the kernel."""
        compiler, frontend = self._compiler, self._frontend

        def results(*arrays: jax.Array) -> Sequence[jax.Array]:
            by_name, begin = named(frontend, initial, arrays)
            if frontend.options.sharding is None and any(map(_is_symbolic, arrays)):
                return _symbolic(frontend, by_name, begin, dict(sizes))
            return compiler.results(call_of(tuple(by_name.values()), begin, sizes, values), by_name, begin)

        return results

    def _watched(
        self,
        results: Callable[..., Sequence[jax.Array]],
        arrays: Sequence[jax.Array],
        found: Sequence[jax.Array],
        initial: tuple[str, ...],
        sizes: tuple[tuple[str, int], ...],
        values: tuple[Value, ...],
    ) -> Sequence[jax.Array]:
        """The results of ``results(*arrays)``, checked against the memory limit."""
        # Imported only if a limit is set.
        from .limits import Watched, watched

        options = self._frontend.options
        assert options.memory is not None, "a kernel with a limit asks"
        places: tuple[Any, ...] = ()
        if options.sharding is not None:
            by_name, begin = named(self._frontend, initial, arrays)
            places = self._compiler.placed(call_of(tuple(by_name.values()), begin, sizes, values), (*by_name, *begin))
        name, span, measured = self._frontend.name, self._frontend.span, self._compiler.measured
        watch = Watched(results, options.memory, name, span, places=places, measured=measured)
        return watched(found, arrays, watch)

    def _count_trace(self) -> None:
        """Drops everything that is compiled once there are more signatures than a kernel keeps.

        JAX drops the code compiled for a function when the function is garbage collected; it cannot drop the oldest.
        """
        self._traced += 1
        if self._traced > MOST_SIGNATURES:
            self._traced = 1
            self._compiled = {}
            self.__dict__.pop("_plain", None)

    def _arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Arguments:
        arguments = arrange(self._frontend, args, kwargs)
        arrays, _ = named(self._frontend, (), tuple(arguments.arrays.values()))
        starts = self._starts(arguments.initial, arrays) if arguments.initial else {}
        return Arguments(arrays, starts, arguments.sizes)

    def _starts(self, initial: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The initial values as arrays of their outputs' types."""
        # Types of outputs do not depend on sizes.
        function = self._frontend.function(_ranks_of(arrays.values()))
        dtypes = {tensor.name: tensor.dtype for tensor in function.initial}
        return {name: as_array(value, name, dtypes.get(name), self._frontend.span) for name, value in initial.items()}

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Call, Arguments]:
        """The call, with the values of the arguments that determine shapes."""
        arguments = self._arguments(args, kwargs)
        return self._call_of(arguments), arguments

    def _call_of(self, arguments: Arguments) -> Call:
        sizes = tuple(sorted(arguments.sizes.items()))
        plain = call_of(tuple(arguments.arrays.values()), arguments.initial, sizes)
        names = self._static.get(plain) or ()
        while True:
            values = tuple(value_of(name, arguments.arrays[name], self._frontend.span) for name in names)
            call = replace(plain, values=values)
            try:
                self._frontend.function(call)
            except ValueNeeded as needed:
                value_of(needed.name, arguments.arrays[needed.name], needed.span)
                names = (*names, needed.name)
                continue
            if names:
                self._static.keep(plain, names)
            return call


# The array types seen so far: `isinstance` with jax.Array costs as much as a small kernel.
_ARRAYS: set[type] = set()


def _is_array(value: object) -> bool:
    """Whether jit accepts the value as it is; other NumPy arrays are rejected, or converted to native byte order."""
    if isinstance(value, jax.Array):
        _ARRAYS.add(type(value))
        return True
    return type(value) is np.ndarray and is_plain(value)


def named(frontend: Frontend, initial: tuple[str, ...], arrays: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments, in their parameters' types, and the initial values, by name."""
    by_name = {
        parameter.name: as_array(array, parameter.name, parameter.declared, parameter.span)
        for parameter, array in zip(frontend.parameters, arrays, strict=False)
    }
    return by_name, dict(zip(initial, arrays[len(frontend.parameters) :], strict=True))


def _symbolic(
    frontend: Frontend, arrays: Mapping[str, jax.Array], initial: Mapping[str, jax.Array], sizes: Mapping[str, int]
) -> tuple[jax.Array, ...]:
    """The results for arrays with symbolic sizes, by a plan that needs no numbers."""
    from ..lowering.unsized import lower_unsized

    if not isinstance(frontend, Definition):
        # A SaC program is elaborated for shapes: this raises the error.
        call_of(tuple(arrays.values()), initial, ())
    with frontend.within_depth():
        function = frontend.function(_ranks_of(arrays.values()))
        return lower_unsized(function, arrays, initial, sizes, frontend.options.fns)


def call_of(
    arrays: tuple[Any, ...],
    initial: Mapping[str, Any],
    sizes: tuple[tuple[str, int], ...],
    values: tuple[Value, ...] = (),
) -> Call:
    shapes = tuple(_known_shape(array) for array in arrays)
    begin = tuple((name, _known_shape(array)) for name, array in initial.items())
    return Call(shapes, _types_of(arrays), begin, sizes, values)


def _ranks_of(arrays: Collection[Any]) -> Call:
    """A call reduced to types, ranks and numeric extents; other extents are -1."""
    shapes = [tuple(extent if isinstance(extent, int) else -1 for extent in array.shape) for array in arrays]
    return Call(tuple(shapes), _types_of(arrays))


def _types_of(arrays: Collection[Any]) -> tuple[str, ...]:
    return tuple(str(jax.dtypes.canonicalize_dtype(array.dtype)) for array in arrays)


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
