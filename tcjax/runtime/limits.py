"""Enforces `memory_limit`: XLA's allocation for a call, and for each of its derivatives, is checked before it runs.

The results of a kernel with a limit pass through an identity primitive. When the primitive is compiled, the kernel is
compiled separately for its shapes, and XLA's figure must not exceed the limit. Derivatives work the same way and are
checked only when they are compiled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import jax
import jax.extend
from jax.interpreters import ad, batching, mlir

from ..diagnostics import Code, CompileError, Span
from ..keeping import Recent
from .compiled import directed, temporary_bytes

# Bytes that XLA allocates itself, for pointers and constants.
OWN: Final = 1 << 10
# The argument's array axis for each batch dimension; None if it is not batched.
Dimensions = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Watched:
    """The call of a kernel: `run` returns its results, and `limit` is the number of bytes that it may need.

    `direction` says which derivative is checked, if any, with respect to the arguments in `moving`. Batches are those
    of `jax.vmap`, innermost first. `places` are the arguments' shardings on a mesh. `measured` caches the figures of
    all calls of a kernel.

    JAX keeps its trace as long as the traced function exists, and the trace keeps this object: it must not refer to the
    kernel, or neither could be freed.
    """

    run: Callable[..., Sequence[Any]]
    limit: int
    name: str
    span: Span
    direction: str = "forward"
    moving: tuple[int, ...] = ()
    batches: tuple[Dimensions, ...] = ()
    places: tuple[Any, ...] = ()
    measured: Recent[Any, int] = field(default_factory=Recent, compare=False, repr=False)

    def check(self, shapes: Sequence[Any]) -> None:
        """Raises `CompileError` (TC0810) if XLA needs more than the limit for arguments of these shapes."""
        places = self.places if self.places and not self.batches else (None,) * len(shapes)
        specs = [
            jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=place) for s, place in zip(shapes, places, strict=True)
        ]
        key = (self.run, self.batches, self.direction, self.moving, *specs)
        needed = self.measured.of(key, lambda: self._needed(specs))
        if needed <= self.limit + OWN:
            return
        what = {"forward": "", "ahead": "the tangent of ", "reverse": "the gradient of "}[self.direction]
        raise CompileError(
            Code.MEMORY_LIMIT,
            f"{what}`{self.name}` needs {needed} bytes beside arguments and results, as XLA compiles it, more than "
            f"memory_limit={self.limit}",
            self.span,
            help="raise the limit, or compute less at a time, in several calls; explain(..., compiled=True) counts",
        )

    def _needed(self, specs: Sequence[jax.ShapeDtypeStruct]) -> int:
        """The bytes needed besides arguments and results; 0 if the device does not tell."""
        run = self.run
        for dimensions in self.batches:
            run = jax.vmap(run, dimensions)
        if any(spec.sharding is not None for spec in specs):
            return temporary_bytes(*directed(run, specs, self.moving, self.direction)) or 0
        # On one device of a mesh it is the same as on any device: what surrounds it, such as `jax.shard_map`, does not
        # matter.
        with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ())):
            return temporary_bytes(*directed(run, specs, self.moving, self.direction)) or 0


def watched(results: Sequence[Any], arguments: Sequence[Any], watch: Watched) -> list[Any]:
    """The results, checked when they are compiled."""
    return [_watch.bind(result, *arguments, watch=watch) for result in results]


# A result of the kernel, followed by all of its arguments.
_watch = jax.extend.core.Primitive("tcjax_limit")


@_watch.def_impl
def _(value: Any, *arguments: Any, watch: Watched) -> Any:
    watch.check(arguments)
    return value


@_watch.def_abstract_eval
def _(value: Any, *arguments: Any, watch: Watched) -> Any:
    return value


def _lowered(context: Any, value: Any, *arguments: Any, watch: Watched) -> Any:
    watch.check(context.avals_in[1:])
    return [value]


mlir.register_lowering(_watch, _lowered)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, watch: Watched) -> Any:
    (value, *arguments), (tangent, *changes) = primals, tangents
    result = _watch.bind(value, *arguments, watch=watch)
    if isinstance(tangent, ad.Zero) or tangent.dtype == jax.dtypes.float0 or watch.direction != "forward":
        # Higher derivatives are not checked.
        return result, tangent
    moving = tuple(number for number, change in enumerate(changes) if not isinstance(change, ad.Zero))
    return result, _watch.bind(tangent, *arguments, watch=replace(watch, direction="ahead", moving=moving))


ad.primitive_jvps[_watch] = _jvp


def _transpose(cotangent: Any, value: Any, *arguments: Any, watch: Watched) -> list[Any]:
    if not isinstance(cotangent, ad.Zero):
        cotangent = _watch.bind(cotangent, *arguments, watch=replace(watch, direction="reverse"))
    return [cotangent, *(None for _ in arguments)]


ad.primitive_transposes[_watch] = _transpose


def _batch(arrays: Sequence[Any], dimensions: Sequence[int | None], *, watch: Watched) -> Any:
    value, *own = dimensions
    if any(dimension is not None for dimension in own):
        watch = replace(watch, batches=(*watch.batches, tuple(own)))
    return _watch.bind(*arrays, watch=watch), value


batching.primitive_batchers[_watch] = _batch
