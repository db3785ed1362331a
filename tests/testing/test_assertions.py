"""`tcjax.testing`: assertions that pass for right kernels and fail for wrong ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
import tcjax.testing

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
NEAREST = "def nearest(float(N,D) x, float(M,D) y) -> (O) { O(i) min=! sum[d]((x(i,d)-y(j,d)) * (x(i,d)-y(j,d))) }"


def test_a_kernel_matches_a_function_of_numpy_on_random_calls() -> None:
    tcjax.testing.assert_matches(tcjax.kernel(MM), np.matmul, examples=2)


def test_a_kernel_matches_a_function_of_numpy_for_given_arguments() -> None:
    A, B = np.ones((3, 2), "float32"), np.ones((2, 4), "float32")

    tcjax.testing.assert_matches(tcjax.kernel(MM), lambda a, b: np.full((3, 4), 2.0), A, B)
    with pytest.raises(tcjax.CheckError, match=r"C\[1, 2\]\n  found      2.0\n  expected   2.5\n"):
        tcjax.testing.assert_matches(
            tcjax.kernel(MM), lambda a, b: a @ b + 0.5 * (np.arange(12).reshape(3, 4) == 6), A, B
        )


def test_sizes_and_several_results_reach_the_reference() -> None:
    kernel = tcjax.kernel("def f(int32(N) b) -> (float(B) H, S) { H(b(i)) +=! 1.0  S +=! b(i) }")

    def reference(b, B):
        return np.bincount(b[b < B], minlength=B), b.sum()

    tcjax.testing.assert_matches(kernel, reference, examples=2)


def test_a_mismatch_is_shown_by_the_smallest_call() -> None:
    with pytest.raises(tcjax.CheckError) as raised:
        tcjax.testing.assert_matches(tcjax.kernel(MM), lambda A, B: A @ B + (B.shape[1] > 1), examples=5)

    assert "`mm` (reference) is not what its definition says: C[0, 0]" in str(raised.value)
    assert 'A = np.zeros((1, 0), "float32")\n    B = np.zeros((0, 2), "float32")' in str(raised.value)
    assert str(raised.value).endswith("print(k(A, B))\n    print(reference(A, B))")


def test_the_tolerance_can_be_said() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = A(i) }")
    A = np.array([1.0, 2.0], "float32")

    tcjax.testing.assert_matches(kernel, lambda A: A * 1.01, A, tolerance=0.02)
    with pytest.raises(tcjax.CheckError, match="as asked for"):
        tcjax.testing.assert_matches(kernel, lambda A: A * 1.01, A, tolerance=0.001)


def test_a_refusal_of_given_arguments_is_a_refusal() -> None:
    with pytest.raises(tcjax.CompileError, match="TC0601"):
        tcjax.testing.assert_matches(
            tcjax.kernel(MM), np.matmul, np.ones((3, 2), "float32"), np.ones((3, 2), "float32")
        )


def test_gradients_are_asserted() -> None:
    cube = jax.custom_jvp(lambda x: x * x * x)
    cube.defjvp(lambda x, t: (x[0] ** 3, 4 * x[0] ** 2 * t[0]))
    wrong = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = cube(A(i)) }", fns={"cube": cube})

    tcjax.testing.assert_gradients(tcjax.kernel(MM), examples=1)
    tcjax.testing.assert_gradients(tcjax.kernel(MM), np.ones((2, 3), "float32"), np.ones((3, 2), "float32"))
    with pytest.raises(tcjax.CheckError, match=r"`f` \(gradients\) is not what its definition says: d_A\[0\]"):
        tcjax.testing.assert_gradients(wrong, np.ones(1, "float32"))


def test_temporaries_are_bounded_without_computing_anything() -> None:
    x = jax.ShapeDtypeStruct((1500, 3), "float32")
    nearest = tcjax.kernel(NEAREST)

    tcjax.testing.assert_no_large_temporaries(nearest, x, x)
    tcjax.testing.assert_no_large_temporaries(nearest, x, x, limit="8MiB", gradient=True)
    with pytest.raises(tcjax.CompileError, match="is not an option"):
        tcjax.testing.assert_no_large_temporaries(nearest, x, x, limit="much")


def test_temporaries_that_are_larger_are_told_with_the_plan() -> None:
    wide = tcjax.kernel("def wide(float(N) A) -> (S) { T(i,j) = sin(A(i) * A(j))  S +=! T(i,j) * T(j,i) * T(0,j) }")

    with pytest.raises(
        tcjax.CheckError, match=r"`wide` allocates \d+ bytes of temporaries .*; 1000 are allowed"
    ) as raised:
        tcjax.testing.assert_no_large_temporaries(wide, jnp.ones(500), limit=1000)

    assert "T[i, j] = sin((A[i] * A[j]))" in str(raised.value)
