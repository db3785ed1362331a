"""The numbers of kernels on a GPU.

Run with ``JAX_PLATFORMS=cuda,cpu python -m pytest -m gpu tests/lowering/pallas``.
"""

from collections.abc import Iterator

import jax
import numpy as np
import pytest

import tcjax
from tcjax.lowering import pallas_triton

from .nests import arrays_of, nest_of
from .test_lowering import PROGRAMS
from .test_numbers import GATHERS, GUARDS, OTHERS, REDUCERS, Case

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(jax.default_backend() != "gpu", reason="JAX finds no GPU here"),
]


@pytest.fixture(autouse=True)
def exact_products() -> Iterator[None]:
    """Full-precision matrix products, like the expected values."""
    with jax.default_matmul_precision("highest"):
        yield


@pytest.mark.parametrize("case", REDUCERS + GUARDS + GATHERS + OTHERS, ids=lambda case: case.name)
def test_a_gpu_computes_the_numbers_of_the_interpreter(case: Case) -> None:
    kernel = tcjax.kernel(case.text)

    found = np.asarray(jax.jit(pallas_triton.emit(nest_of(kernel, *case.arrays)))(arrays_of(kernel, *case.arrays)))

    expected = kernel.interpret(*case.arrays)
    tolerance = 10 * case.tolerance
    np.testing.assert_allclose(found.astype("float64"), expected.astype("float64"), tolerance, tolerance)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gpu_computes_what_the_interpreted_kernel_does(name: str) -> None:
    text, arrays = PROGRAMS[name]
    kernel = tcjax.kernel(text)
    nest, given = nest_of(kernel, *arrays), arrays_of(kernel, *arrays)

    found = np.asarray(jax.jit(pallas_triton.emit(nest))(given)).astype("float64")

    # On the CPU: interpreted, all lanes of a tile store at once, masked ones the old value, and a GPU has no order.
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        interpreted = jax.jit(pallas_triton.emit(nest, interpret=True))(arrays_of(kernel, *arrays))
    expected = np.asarray(interpreted).astype("float64")
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)
