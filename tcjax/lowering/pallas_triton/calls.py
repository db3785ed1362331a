"""Kernels as JAX operations: without the deprecation warning of the Triton dialect, and testable without a GPU."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.extend
from jax.interpreters import mlir
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

from .refusals import Unsupported

# A kernel is bound through its own primitive because the warning is issued where it is lowered, not where it is called:
# only there can it be silenced for this kernel alone.
_triton_p = jax.extend.core.Primitive("tcjax_triton")
_triton_p.multiple_results = True


def quiet(call: Callable[..., Sequence[jax.Array]]) -> Callable[..., Sequence[jax.Array]]:
    """The same call of a kernel, lowered without a `DeprecationWarning`."""
    return lambda *arrays: _triton_p.bind(*arrays, call=call)


@_triton_p.def_impl
def _(*arrays: jax.Array, call: Callable[..., Any]) -> Sequence[jax.Array]:
    return jax.jit(lambda *given: _triton_p.bind(*given, call=call))(*arrays)


@_triton_p.def_abstract_eval
def _(*avals: Any, call: Callable[..., Any]) -> Sequence[Any]:
    return jax.make_jaxpr(call)(*avals).out_avals


def _lower(ctx: Any, *operands: Any, call: Callable[..., Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return mlir.lower_fun(call, multiple_results=True)(ctx, *operands)


mlir.register_lowering(_triton_p, _lower)


def lowered(function: Callable[..., Any], *avals: Any, device: str = "NVIDIA H100", cores: int = 132) -> str:
    """The text of the function lowered for a CUDA device, which need not be present."""
    with _on(device, cores):
        return jax.jit(function).trace(*avals).lower(lowering_platforms=("cuda",)).as_text()


def probe(function: Callable[..., Any], *avals: Any) -> None:
    """Raises `Unsupported` if JAX cannot lower the function to Triton."""
    with _on():
        # Our own code runs while it is traced: its errors are not JAX's refusals.
        traced = jax.jit(function).trace(*avals)
        try:
            text = traced.lower(lowering_platforms=("cuda",)).as_text()
        except Exception as error:
            # Whatever Pallas raises for a missing rule: NotImplementedError, ValueError, AssertionError.
            message = str(error).strip().splitlines()
            raise Unsupported(f"Pallas does not lower it: {message[0] if message else type(error).__name__}") from error
    assert "__gpu$xla.gpu.triton" in text


def _on(device: str = "NVIDIA H100", cores: int = 132) -> AbstractContextManager[Any]:
    """The description of a device, which need not be present."""
    abstract = AbstractDevice(device_kind=device, num_cores=cores, platform="cuda")
    return use_abstract_mesh(AbstractMesh((), (), abstract_device=abstract))
