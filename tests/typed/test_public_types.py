"""What a type checker sees of the package: `make lint` checks these lines, and running them proves it true."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type, no_type_check

import jax
import numpy as np
from flax import nnx

import tcjax
import tcjax.nn as tnn

ARRAY = np.ones((2, 3), np.float32)


def test_a_text_and_a_function_are_kernels() -> None:
    from_text = tcjax.kernel("B(i) +=! A(i,j)")
    with_options = tcjax.kernel("B(i) +=! A(i,j)", accumulate="float32")

    @tcjax.kernel
    def plain(A):
        """B(i) +=! A(i,j)"""

    @tcjax.kernel(memory_limit="64MiB")
    def limited(A):
        """B(i) +=! A(i,j)"""

    assert_type(from_text, tcjax.Kernel)
    assert_type(with_options, tcjax.Kernel)
    assert_type(plain, tcjax.Kernel)
    assert_type(limited, tcjax.Kernel)
    assert all(isinstance(k, tcjax.Kernel) for k in (from_text, with_options, plain, limited))


def test_index_notation_in_python_is_passed_over_and_makes_a_kernel() -> None:
    @no_type_check
    @tcjax.kernel
    def rows(A: "float(N,M)"):
        B[i] += A[i, j]
        return B

    assert_type(rows, tcjax.Kernel)
    assert rows(ARRAY).tolist() == [3.0, 3.0]


def test_a_parameter_of_a_layer_is_an_attribute_and_inputs_may_be_of_numpy() -> None:
    rngs = nnx.Rngs(0)
    layer = tnn.Comprehension(
        "y(b,o) +=! x(b,i) * w(i,o)", params={"w": nnx.initializers.ones}, sizes={"i": 3, "o": 2}, rngs=rngs
    )

    assert_type(layer.w, Any)
    assert_type(tnn.Linear(3, 4, rngs=rngs)(ARRAY), jax.Array)
    assert_type(tnn.LayerNorm(3, rngs=rngs)(ARRAY), jax.Array)
    assert layer.w.shape == (3, 2)


def test_a_kernel_answers_in_types() -> None:
    kernel = tcjax.kernel("B(i) +=! A(i,j)")

    assert_type(kernel(ARRAY), Any)
    assert_type(kernel.explain(ARRAY), tcjax.Explanation)
    assert_type(kernel.explain(ARRAY, compiled=True), tcjax.Explanation)
    assert_type(kernel.explain(ARRAY).to_dict(), dict[str, Any])
    assert_type(kernel.ranges(ARRAY), list[dict[str, Any]])
    assert_type(kernel.adjoint(ARRAY), tcjax.Kernel)
    assert_type(kernel.schedule(ARRAY), tcjax.Schedule)
    assert_type(kernel.to("tc"), str)
    assert isinstance(kernel.explain(ARRAY), tcjax.Explanation)
    assert isinstance(kernel.schedule(ARRAY), tcjax.Schedule)


def test_a_library_is_kernels_by_name() -> None:
    library = tcjax.load("def f(float(N) A) -> (B) { B(i) = A(i) }")

    assert_type(library, tcjax.Library)
    assert_type(library["f"], tcjax.Kernel)
    assert_type(library.f, tcjax.Kernel)
    assert_type(list(library), list[str])
    assert list(library) == ["f"]


def test_einsum_gives_an_array_and_an_error_its_place() -> None:
    assert_type(tcjax.einsum("ij->i", ARRAY), jax.Array)
    try:
        tcjax.kernel("B(i) = A(i,j)")
    except tcjax.CompileError as error:
        assert_type(error.code, str)
        assert_type(error.help, str)
        line, column, end = error.span
        assert_type(line, int)
        assert (line, column, end) == (1, 12, 13)


def test_a_misspelt_name_is_a_mistake_to_both() -> None:
    try:
        tcjax.kernl  # type: ignore[attr-defined]
    except AttributeError as error:
        assert "kernl" in str(error)
    assert_type(tcjax.__version__, str)
    assert tcjax.symbolic.Facts().prove("1 > 0")
