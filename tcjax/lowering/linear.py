"""Linear functions with custom transposes: tangents of loops, and their adjoints."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
from jax.interpreters import ad, batching, mlir

Function = Callable[[Sequence[Any], Sequence[Any]], list[Any]]

linear_p = jax.extend.core.Primitive("tcjax_linear")
linear_p.multiple_results = True


def linear(forward: Function, backward: Function, given: Sequence[Any], moving: Sequence[Any], like: Any) -> list[Any]:
    """``forward(given, moving)``, linear in `moving`; its transpose is ``backward(given, cotangents)``.

    The results have the types of `like`.
    """
    results = tuple(map(jax.typeof, like))
    return linear_p.bind(*given, *moving, forward=forward, backward=backward, count=len(given), results=results)


def _run(*arrays: Any, forward: Function, count: int, **_: Any) -> list[Any]:
    return forward(arrays[:count], arrays[count:])


mlir.register_lowering(linear_p, mlir.lower_fun(_run, multiple_results=True))


@linear_p.def_impl
def _(*arrays: Any, **parameters: Any) -> list[Any]:
    return jax.jit(functools.partial(_run, **parameters))(*arrays)


@linear_p.def_abstract_eval
def _(*_: Any, results: tuple[Any, ...], **__: Any) -> Any:
    return results


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **parameters: Any) -> tuple[list[Any], list[Any]]:
    count = parameters["count"]
    found = linear_p.bind(*primals, **parameters)
    if all(type(tangent) is ad.Zero for tangent in tangents[:count]):
        moving = map(ad.instantiate_zeros, tangents[count:])
        return found, linear_p.bind(*primals[:count], *moving, **parameters)
    # If the given arrays have tangents, it is differentiated like any function.
    run = functools.partial(_run, **parameters)
    return found, jax.jvp(run, tuple(primals), tuple(map(ad.instantiate_zeros, tangents)))[1]


ad.primitive_jvps[linear_p] = _jvp


def _transpose(cotangents: Sequence[Any], *arrays: Any, backward: Function, count: int, **_: Any) -> list[Any]:
    return [*[None] * count, *backward(arrays[:count], list(map(ad.instantiate_zeros, cotangents)))]


ad.primitive_transposes[linear_p] = _transpose


def _batch(arrays: Sequence[Any], dimensions: Sequence[Any], **parameters: Any) -> tuple[list[Any], list[int]]:
    count, results = parameters["count"], parameters["results"]
    size = next(a.shape[d] for a, d in zip(arrays, dimensions, strict=True) if d is not None)

    def spread(array: Any, dimension: Any) -> Any:
        if dimension is None:
            return jnp.broadcast_to(array, (size, *jnp.shape(array)))
        return jnp.moveaxis(array, dimension, 0)

    wide = [spread(array, dimension) for array, dimension in zip(arrays, dimensions, strict=True)]
    forward, backward = (jax.vmap(parameters[name]) for name in ("forward", "backward"))
    avals = tuple([each.update(shape=(size, *each.shape)) for each in results])
    found = linear_p.bind(*wide, forward=forward, backward=backward, count=count, results=avals)
    return found, [0] * len(found)


batching.primitive_batchers[linear_p] = _batch
