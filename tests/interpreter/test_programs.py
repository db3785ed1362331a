import numpy as np
import pytest

from tcjax.interpreter import differences

from .programs import bind, compute

rng = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def integers(hi: int, *shape: int) -> np.ndarray:
    return rng.integers(0, hi, shape).astype(np.int32)


def test_a_two_dimensional_convolution() -> None:
    I, W, b = floats(2, 3, 6, 7), floats(4, 3, 3, 2), floats(4)

    O = compute(
        """def conv(float(N,C,H,W) I, float(M,C,KH,KW) W1, float(M) B) -> (O) {
            O(n,m,h,w) +=! I(n,c,h+kh,w+kw) * W1(m,c,kh,kw)
            O(n,m,h,w) = O(n,m,h,w) + B(m)
        }""",
        I,
        W,
        b,
    )

    windows = np.lib.stride_tricks.sliding_window_view(I, (3, 2), axis=(2, 3))
    np.testing.assert_allclose(O, np.einsum("nchwkl,mckl->nmhw", windows, W) + b[:, None, None], rtol=2e-5, atol=1e-5)


def test_softmax_attention() -> None:
    Q, K, V = floats(3, 4), floats(5, 4), floats(5, 2)

    O = compute(
        """def attention(float(T,D) Q, float(S,D) K, float(S,E) V) -> (O) {
            L(q,k) +=! Q(q,d) * K(k,d)
            P(q,k) = exp(L(q,k) - logsumexp[j](L(q,j)))
            O(q,e) +=! P(q,k) * V(k,e)
        }""",
        Q,
        K,
        V,
    )

    P = np.exp(Q @ K.T)
    np.testing.assert_allclose(O, P / P.sum(1, keepdims=True) @ V, rtol=1e-5)


def test_a_recurrent_row_of_statements_reads_earlier_results() -> None:
    A = floats(8)

    C = compute(
        """def chain(float(N) A) -> (C) {
            B(i) = A(i-1)
            C(i) = B(i) + A(i)
        }""",
        A,
    )

    np.testing.assert_array_equal(C, A[:-1] + A[1:])


def test_a_flip_reads_from_the_end() -> None:
    A = floats(5)

    assert compute("def f(float(N) A) -> (B) { B(i) = A(N-1-i) }", A).tolist() == A[::-1].tolist()


def test_a_concatenation_reads_only_the_branch_that_it_takes() -> None:
    A, B = floats(3), floats(4)

    O = compute("def f(float(N) A, float(M) B) -> (O) { O(i) = i < N ? A(i) : B(i-N) where i in 0:N+M }", A, B)

    np.testing.assert_array_equal(O, np.concatenate([A, B]))


def test_an_embedding_bag_sums_rows() -> None:
    T, I = floats(10, 3), integers(10, 4, 2)

    O = compute("def f(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }", T, I)

    np.testing.assert_allclose(O, T[I].sum(1), rtol=1e-6)


def test_a_histogram() -> None:
    I = integers(6, 20)

    H = compute("def f(int32(N) I) -> (float(6) H) { H(I(i)) +=! 1.0 }", I)

    np.testing.assert_array_equal(H, np.bincount(I, minlength=6))


def test_a_causal_mean_skips_the_future() -> None:
    A = floats(4, 4)

    O = compute("def f(float(T,T) A) -> (O) { O(q) = mean[k where k <= q](A(q,k)) }", A)

    np.testing.assert_allclose(O, [A[q, : q + 1].mean() for q in range(4)], rtol=1e-6)


def test_a_triangular_range_sums_the_triangle() -> None:
    A = floats(4, 4)

    O = compute("def f(float(N,N) A) -> (O) { O(i) +=! A(i,j) where j in 0:i+1 }", A)

    np.testing.assert_allclose(O, np.tril(A).sum(1), rtol=1e-5, atol=1e-6)


def test_nearest_neighbours_are_ranked_positions() -> None:
    X, Y = floats(3, 2), floats(6, 2)

    O = compute(
        """def f(float(N,D) X, float(M,D) Y) -> (O) {
            S(i,j) +=! (X(i,d) - Y(j,d)) * (X(i,d) - Y(j,d))
            O(i,r) = argmink[j](S(i,j), r) where r in 0:2
        }""",
        X,
        Y,
    )

    distance = ((X[:, None] - Y[None]) ** 2).sum(-1)
    np.testing.assert_array_equal(O, np.argsort(distance, 1, kind="stable")[:, :2])
    assert O.dtype == np.int32


def test_integer_division_floors() -> None:
    A = np.array([-7, -1, 0, 5], np.int32)

    O = compute("def f(int32(N) A) -> (O, P) { O(i) = A(i) / 2  P(i) = A(i) % 3 }", A)

    np.testing.assert_array_equal(O[0], A // 2)
    np.testing.assert_array_equal(O[1], A % 3)


def test_a_product_accumulates_onto_the_initial_value() -> None:
    A, B, C = floats(2, 3), floats(3, 4), floats(2, 4)

    with pytest.warns(Warning, match="reduction without initialisation"):
        O = compute("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }", A, B, initial={"C": C})

    np.testing.assert_allclose(O, C + A @ B, rtol=1e-5)


def test_one_definition_calls_another() -> None:
    A, B = floats(2, 3), floats(3, 4)

    O = compute(
        """def twice(float(M,K) A, float(K,N) B) -> (O) {
            P = product(A, B)
            O(i,j) = 2.0 * P(i,j)
        }
        def product(float(M,K) X, float(K,N) Y) -> (Z) { Z(i,j) +=! X(i,k) * Y(k,j) }""",
        A,
        B,
    )

    np.testing.assert_allclose(O, 2 * (A @ B), rtol=1e-5)


def test_a_python_function_of_scalars_and_one_of_tensors() -> None:
    A = floats(3)

    O = compute(
        "def f(float(N) A) -> (O) { O(i) = cube(A(i)) }",
        A,
        fns={"cube": lambda x: x**3},
    )

    np.testing.assert_allclose(O, A**3, rtol=1e-6)


def test_a_product_of_bytes_declared_int_is_exact() -> None:
    A, B = rng.integers(-128, 128, (2, 5)).astype(np.int8), rng.integers(-128, 128, (5, 3)).astype(np.int8)

    C = compute("def f(int8(M,K) A, int8(K,N) B) -> (int32(M,N) C) { C(m,n) +=! A(m,k) * B(k,n) }", A, B)

    np.testing.assert_array_equal(C, A.astype(np.int32) @ B.astype(np.int32))


def test_a_product_of_halves_is_rounded_once() -> None:
    A, B = floats(2, 64).astype(np.float16), floats(64, 3).astype(np.float16)

    C = compute("def f(half(M,K) A, half(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", A, B)

    assert C.dtype == np.float16
    np.testing.assert_allclose(C, A.astype(np.float64) @ B.astype(np.float64), rtol=2**-11, atol=1e-5)


def test_a_boundary_is_a_clamped_subscript() -> None:
    A = floats(6)

    O = compute("def f(float(N) A) -> (O) { O(i) = A(max(i-1,0)) + A(min(i+1,N-1)) where i in 0:N }", A)

    padded = np.pad(A, 1, mode="edge")
    np.testing.assert_array_equal(O, padded[:-2] + padded[2:])


def test_differences_of_a_program_are_its_gradient() -> None:
    X, T = floats(3, 4), floats(3, 4)

    bound = bind(
        """def loss(float(N,C) X, float(N,C) T) -> (L) {
            L +=! logsumexp[c](X(n,c)) - sum[c](X(n,c) * T(n,c))
        }""",
        (X, T),
    )
    d_X = differences(bound, {"X": X, "T": T}, "X", [1.0])

    P = np.exp(X.astype(np.float64))
    np.testing.assert_allclose(d_X, P / P.sum(1, keepdims=True) - T, rtol=1e-6, atol=1e-8)
