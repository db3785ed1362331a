"""Arguments of a kernel from shapes: descriptions for plans, random arrays for measurements."""

import math
from collections.abc import Iterable, Mapping
from typing import Final

import jax
import numpy as np

from ..ir import types
from ..runtime import Kernel
from .failures import Failure
from .shapes import Shape

MOST_ELEMENTS: Final = 2**31


def specs_of(kernel: Kernel, shapes: Mapping[str, Shape]) -> dict[str, jax.ShapeDtypeStruct]:
    """A `jax.ShapeDtypeStruct` for every argument. Raises `Failure` if a shape is missing or fits no argument."""
    frontend = kernel._frontend
    declared = {parameter.name: parameter.declared for parameter in frontend.parameters}
    initial = set(frontend.keywords[0])
    unknown = [name for name in shapes if name not in declared and name not in initial]
    if unknown:
        raise Failure(f"`{frontend.name}` has no argument `{unknown[0]}`; its arguments are {_listed(declared)}")
    missing = [name for name in declared if name not in shapes]
    if missing:
        wanted = " ".join(f"{name}={'x'.join('4' * max(1, _rank(kernel, name)))}" for name in missing)
        raise Failure(f"no shape for {_listed(missing)}; add --shapes {wanted}")
    likely = (
        {}
        if frontend.likely is None
        else {t.name: t.dtype for t in (*frontend.likely.parameters, *frontend.likely.returns)}
    )
    return {
        name: jax.ShapeDtypeStruct(
            shape.extents,
            jax.dtypes.canonicalize_dtype(shape.dtype or declared.get(name) or likely.get(name) or "float32"),
        )
        for name, shape in shapes.items()
    }


def _rank(kernel: Kernel, name: str) -> int:
    function = kernel._frontend.likely
    ranks = {} if function is None else {tensor.name: tensor.rank for tensor in function.parameters}
    return ranks.get(name, 2)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def random_arrays(specs: Mapping[str, jax.ShapeDtypeStruct], seed: int = 0) -> dict[str, np.ndarray]:
    """Standard normal numbers; integers are small enough to index the shortest dimension."""
    elements = sum(math.prod(spec.shape) for spec in specs.values())
    if elements > MOST_ELEMENTS:
        raise Failure(f"arrays of {elements:.3g} elements are too many to fill with random numbers")
    generator = np.random.default_rng(seed)
    extents = [extent for spec in specs.values() for extent in spec.shape if extent]
    most = max(1, min(extents, default=1))
    found: dict[str, np.ndarray] = {}
    for name, spec in specs.items():
        dtype = str(spec.dtype)
        if types.is_complex(dtype):
            real, imaginary = generator.standard_normal((2, *spec.shape))
            values = real + 1j * imaginary
        elif types.is_float(dtype):
            values = generator.standard_normal(spec.shape, dtype=np.float64 if dtype == "float64" else np.float32)
        else:
            values = generator.integers(0, 2 if dtype == "bool" else most, spec.shape)
        found[name] = np.asarray(values).astype(spec.dtype)
    return found
