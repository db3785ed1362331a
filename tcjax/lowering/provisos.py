"""Statements planned for finite values: with a run-time test, and the general plan if it fails."""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.extend
import jax.numpy as jnp
from jax import lax
from jax.extend.core import jaxpr_as_fun
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

from ..planning.data.stages import Compute
from .context import Context
from .placing import is_placed
from .varying import equally_varying

LowerStage = Callable[[Compute, jax.Array | None, Context], jax.Array]
Traced = Callable[..., Any]
ClosedJaxpr = jax.extend.core.ClosedJaxpr  # pyright: ignore[reportPrivateImportUsage]

# The operands are those of three functions: the test for finite values, and the two ways to compute the result. The
# operands in `finite` must be finite as well. If there is a fourth function, `placed`, and it is true, then a finite
# result answers the test.
either_p = jax.extend.core.Primitive("tcjax_either")
either_p.multiple_results = True


def lower_proviso(stage: Compute, old: jax.Array | None, context: Context, lower: LowerStage) -> jax.Array:
    """The target after a statement with a proviso; `lower` computes a stage without one."""
    proviso = stage.proviso
    assert proviso is not None
    names = sorted(context.arrays)
    given = [*(context.arrays[name] for name in names), *(() if old is None else (old,))]
    if any(map(is_placed, given)):
        # Along explicit mesh axes the two ways could have different layouts.
        return lower(proviso.otherwise, old, context)

    def computed(part: Compute, arrays: Sequence[jax.Array], before: jax.Array | None) -> jax.Array:
        return lower(part, before, Context(dict(zip(names, arrays, strict=False)), context.foreign))

    def way(part: Compute, *arrays: jax.Array) -> jax.Array:
        return computed(part, arrays, None if old is None else arrays[-1])

    def holds(*arrays: jax.Array) -> jax.Array:
        return functools.reduce(jnp.logical_and, [computed(test, arrays, None) == 0 for test in proviso.tests])

    def every_place(every: Compute, *arrays: jax.Array) -> jax.Array:
        return computed(every, arrays, None)

    first, second = (functools.partial(way, part) for part in (replace(stage, proviso=None), proviso.otherwise))
    placed = None if proviso.placed is None else functools.partial(every_place, proviso.placed)
    return either(holds, first, second, given, placed)


def either(
    holds: Callable[..., jax.Array],
    first: Callable[..., jax.Array],
    second: Callable[..., jax.Array],
    arrays: Sequence[jax.Array],
    placed: Callable[..., jax.Array] | None = None,
) -> jax.Array:
    """The result of `first` if `holds` is true of the arrays, else that of `second`.

    A batch is tested once. If `placed` is true, the first result is tested for being finite instead.
    """
    (found,) = either_of(holds, lambda *a: [first(*a)], lambda *a: [second(*a)], arrays, placed)
    return found


def either_of(
    holds: Callable[..., jax.Array],
    first: Callable[..., Sequence[jax.Array]],
    second: Callable[..., Sequence[jax.Array]],
    arrays: Sequence[jax.Array],
    placed: Callable[..., jax.Array] | None = None,
) -> list[jax.Array]:
    """The same for functions with several results."""

    def way(compute: Callable[..., Sequence[jax.Array]], *given: jax.Array) -> tuple[jax.Array, ...]:
        found = compute(*given)
        return tuple(equally_varying([*found, *given])[: len(found)])

    ways = functools.partial(way, first), functools.partial(way, second)
    return _bind([holds, *ways], equally_varying(arrays), [False] * len(arrays), placed)


def _bind(
    ways: Sequence[Traced],
    arrays: Sequence[Any],
    finite: Sequence[bool],
    placed: Traced | None = None,
    *,
    derived: bool = False,
) -> list[Any]:
    """Binds the primitive for the test and the two ways; its operands are those that these use.

    A derivative (`derived`) that does not use the tested values needs no test.
    """
    test, *both = (jax.make_jaxpr(way)(*arrays) for way in ways)
    used = list(map(operator.or_, *map(_used, both)))
    tested = [own and _is_inexact(array) for own, array in zip(_used(test), arrays, strict=True)]
    if any(_used(test)) and not any(tested):
        # The test is about integers, which are independent of the values.
        finite = [False] * len(finite)
    elif derived and not any(map(operator.and_, tested, used)):
        # A derivative without these values: zero times anything else.
        test = jax.make_jaxpr(lambda *_: jnp.array(True))(*arrays)
    kept = list(map(operator.or_, used, _used(test)))
    quick = None if placed is None else jax.make_jaxpr(placed)(*arrays)
    if quick is not None:
        kept = list(map(operator.or_, kept, _used(quick)))
        quick = _over(quick, kept)
    test, first, second = (_over(way, kept) for way in (test, *both))
    flags = tuple(must and own for must, own, has in zip(finite, used, kept, strict=True) if has)
    own = [array for array, has in zip(arrays, kept, strict=True) if has]
    return either_p.bind(*own, test=test, first=first, second=second, finite=flags, placed=quick)


def _used(way: ClosedJaxpr) -> list[bool]:
    return pe.dce_jaxpr(way.jaxpr, [True] * len(way.jaxpr.outvars))[1]


def _over(way: ClosedJaxpr, kept: Sequence[bool]) -> ClosedJaxpr:
    """The function of only those operands that are kept."""
    return ClosedJaxpr(pe.dce_jaxpr(way.jaxpr, [True] * len(way.jaxpr.outvars), kept)[0], way.consts)


def _is_inexact(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jnp.inexact)


def _with(arrays: Sequence[Any], places: Sequence[int], values: Iterable[Any]) -> list[Any]:
    """The arrays with some of them replaced."""
    found = list(arrays)
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return found


def _is_moved(tangent: Any) -> bool:
    return type(tangent) is not ad.Zero and tangent.dtype != jax.dtypes.float0


def _run(
    *arrays: jax.Array,
    test: ClosedJaxpr,
    first: ClosedJaxpr,
    second: ClosedJaxpr,
    finite: tuple[bool, ...],
    placed: ClosedJaxpr | None,
) -> Any:
    def tested(*own: jax.Array) -> jax.Array:
        (holds,) = jaxpr_as_fun(test)(*own)
        for array, must in zip(own, finite, strict=True):
            holds = holds & jnp.all(jnp.isfinite(array)) if must else holds
        return holds

    shapes = [(shape.shape, shape.dtype) for shape in jax.eval_shape(jaxpr_as_fun(first), *arrays)]

    def quickly(_: jax.Array, *own: jax.Array) -> list[jax.Array]:
        return jaxpr_as_fun(first)(*own)

    def slowly(holds: jax.Array, *own: jax.Array) -> list[jax.Array]:
        """The second way in a branch of its own, whose results are flat.

        XLA gives the results of both ways the layout of the longer one, and transposes the others: flat results have no
        layout. Those of the first way keep their dimensions: a loop over all values as one row would find the position
        of each by divisions.
        """

        def nothing(*own: jax.Array) -> list[jax.Array]:
            empty = [jnp.zeros(math.prod(shape), dtype) for shape, dtype in shapes]
            return equally_varying([*empty, *own])[: len(shapes)]

        def flat(*own: jax.Array) -> list[jax.Array]:
            return [lax.reshape(result, (result.size,)) for result in jaxpr_as_fun(second)(*own)]

        found = lax.cond(holds, nothing, flat, *own)
        return [lax.reshape(result, shape) for result, (shape, _) in zip(found, shapes, strict=True)]

    if placed is None:
        holds = tested(*arrays)
        return lax.cond(holds, quickly, slowly, holds, *arrays)
    found = jaxpr_as_fun(first)(*arrays)
    (shown,) = jaxpr_as_fun(placed)(*arrays)
    for array in found:
        shown = shown & jnp.all(jnp.isfinite(array))
    holds = lax.cond(shown, lambda *own: equally_varying([jnp.array(True), *own])[0], tested, *arrays)
    return lax.cond(holds, lambda found, *_: found, lambda _, *own: slowly(*own), found, holds, *arrays)


@either_p.def_abstract_eval
def _(*avals: Any, first: ClosedJaxpr, **_: Any) -> Any:
    return first.out_avals


either_p.def_impl(_run)
mlir.register_lowering(either_p, mlir.lower_fun(_run, multiple_results=True))


def _jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    test: ClosedJaxpr,
    first: ClosedJaxpr,
    second: ClosedJaxpr,
    finite: tuple[bool, ...],
    placed: ClosedJaxpr | None,
) -> Any:
    results = either_p.bind(*primals, test=test, first=first, second=second, finite=finite, placed=placed)
    moved = [n for n, tangent in enumerate(tangents) if _is_moved(tangent)]
    count = len(primals)

    def change(way: ClosedJaxpr) -> Traced:
        def changed(*arrays: Any) -> Any:
            def of(*moving: Any) -> Any:
                return jaxpr_as_fun(way)(*_with(arrays[:count], moved, moving))

            return jax.jvp(of, [arrays[n] for n in moved], list(arrays[count:]))[1]

        return changed

    ways = [lambda *arrays: jaxpr_as_fun(test)(*arrays[:count])[0], change(first), change(second)]
    return results, _bind(
        ways, [*primals, *(tangents[n] for n in moved)], [*finite, *(True for _ in moved)], derived=True
    )


ad.primitive_jvps[either_p] = _jvp


def _transpose(
    cotangents: Sequence[Any],
    *arrays: Any,
    test: ClosedJaxpr,
    first: ClosedJaxpr,
    second: ClosedJaxpr,
    finite: tuple[bool, ...],
    **_: Any,
) -> list[Any]:
    linear = [n for n, array in enumerate(arrays) if ad.is_undefined_primal(array)]
    kept = [n for n in range(len(arrays)) if n not in linear]
    shapes = [arrays[n].aval for n in linear]

    def turned(way: ClosedJaxpr) -> Traced:
        def run(*given: Any) -> Any:
            known, moved = given[: len(kept)], given[len(kept) :]

            def of(*moving: Any) -> Any:
                return jaxpr_as_fun(way)(*_with(_with([None] * len(arrays), kept, known), linear, moving))

            return jax.linear_transpose(of, *shapes)(list(moved))

        return run

    def holds(*given: Any) -> Any:
        # The test does not depend on linear operands.
        nothing = [jnp.zeros(shape.shape, shape.dtype) for shape in shapes]
        return jaxpr_as_fun(test)(*_with(_with([None] * len(arrays), kept, given[: len(kept)]), linear, nothing))[0]

    moved = [ad.instantiate_zeros(cotangent) for cotangent in cotangents]
    flags = [*(finite[n] for n in kept), *(True for _ in moved)]
    found = iter(
        _bind([holds, turned(first), turned(second)], [*(arrays[n] for n in kept), *moved], flags, derived=True)
    )
    return [next(found) if n in linear else None for n in range(len(arrays))]


ad.primitive_transposes[either_p] = _transpose


def _batch(
    arrays: Sequence[Any],
    dimensions: Sequence[int | None],
    *,
    test: ClosedJaxpr,
    first: ClosedJaxpr,
    second: ClosedJaxpr,
    finite: tuple[bool, ...],
    placed: ClosedJaxpr | None,
) -> Any:
    # One decision for the whole batch: with one per element, `cond` would compute both ways.
    def holds(way: ClosedJaxpr, *given: Any) -> Any:
        return jnp.all(jax.vmap(jaxpr_as_fun(way), dimensions)(*given)[0])

    both = (jax.vmap(jaxpr_as_fun(way), dimensions) for way in (first, second))
    quick = None if placed is None else functools.partial(holds, placed)
    found = _bind([functools.partial(holds, test), *both], arrays, finite, quick)
    return found, [0] * len(found)


batching.primitive_batchers[either_p] = _batch
