"""What loops mean: the interpreter against NumPy, the compiled kernel against both."""

import linecache
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tcjax

rng = np.random.default_rng(3)


def real(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def linear(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    h = b.copy()
    for t in range(1, len(a)):
        h[t] = a[t] * h[t - 1] + b[t]
    return h


def backwards(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    for t in range(len(x) - 2, -1, -1):
        y[t] = 0.5 * y[t + 1] + x[t]
    return y


def fibonacci(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    for t in range(2, len(x)):
        y[t] = 0.5 * y[t - 1] + 0.25 * y[t - 2]
    return y


def rnn(W: np.ndarray, x: np.ndarray) -> np.ndarray:
    h = x.copy()
    for t in range(1, len(x)):
        h[t] = np.tanh(W @ h[t - 1] + x[t])
    return h


def coupled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    u, v = x.copy(), np.zeros_like(x)
    for t in range(1, len(x)):
        u[t] = u[t - 1] + 0.5 * v[t - 1]
        v[t] = v[t - 1] - 0.5 * u[t]
    return u, v


def warping(c: np.ndarray) -> np.ndarray:
    D = np.zeros_like(c)
    D[:, 0], D[0] = c[:, 0], c[0]
    for i in range(1, c.shape[0]):
        for j in range(1, c.shape[1]):
            D[i, j] = c[i, j] + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D


def shortest(w: np.ndarray) -> np.ndarray:
    p = w.copy()
    for k in range(len(w)):
        p = np.minimum(p, p[:, k, None] + p[None, k])
    return p


def solved(L: np.ndarray, b: np.ndarray) -> np.ndarray:
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def every_other(x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    y[0] = x[0]
    for t in range(2, len(x), 2):
        y[t] = y[t - 2] + x[t] * x[t - 1]
    return y


def total(x: np.ndarray) -> np.ndarray:
    return np.sum(x, dtype=np.float32)


def looked_up(x: np.ndarray, idx: np.ndarray, W: np.ndarray) -> np.ndarray:
    y = x.copy()
    for t in range(1, len(x)):
        y[t] = W[idx[t]] * y[t - 1] + t * x[t]
    return y


def masked(x: np.ndarray) -> np.ndarray:
    y = np.zeros_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = np.where(x[t] > 0, y[t - 1] + x[t], 0)
    return y


def along_rows(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    for n in range(1, x.shape[1]):
        y[:, n] = y[:, n - 1] * x[:, n]
    return y


def diagonals(x: np.ndarray) -> np.ndarray:
    y = np.zeros(len(x), np.float32)
    y[0] = x[0, 0]
    for t in range(1, len(x)):
        y[t] = y[t - 1] + x[t, t] * x[t - 1, t]
    return y


def seidel(x: np.ndarray) -> np.ndarray:
    A = x.copy()
    for _ in range(2):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / np.float32(5)
    return A


def factors(x: np.ndarray) -> np.ndarray:
    U = x.copy()
    for k in range(len(x) - 1):
        U[k + 1 :, k] /= U[k, k]
        U[k + 1 :, k + 1 :] -= U[k + 1 :, k, None] * U[k, None, k + 1 :]
    return U


def inverse(x: np.ndarray) -> np.ndarray:
    return np.linalg.inv(x.astype(np.float64))


def windows(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    y = x.copy()
    for t in range(2, len(x)):
        y[t] = 0.5 * y[t - 1] + x[t - 2 : t + 1] @ w
    return y


def attending(x: np.ndarray) -> np.ndarray:
    h = x.copy()
    for t in range(1, len(x)):
        h[t] = x[t] + 0.25 * h[:t].sum(0)
    return h


well_behaved = real(5, 5) + 4 * np.eye(5, dtype=np.float32)
places = np.array([0, 2, 1, 1, 0, 2, 2], np.int32)

PROGRAMS: dict[str, tuple[str, Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "linear": (
        "def f(float(T,D) a, float(T,D) b) -> (h) {"
        " h(0,d) = b(0,d) for t in 1:T { h(t,d) = a(t,d) * h(t-1,d) + b(t,d) } }",
        linear,
        (real(7, 3), real(7, 3)),
    ),
    "backwards": (
        "def f(float(T) x) -> (y) { y(T-1) = x(T-1) for t in T-2:-1:-1 { y(t) = 0.5 * y(t+1) + x(t) } }",
        backwards,
        (real(6),),
    ),
    "of order two": (
        "def f(float(T) x) -> (y) { y(0) = x(0) y(1) = x(1) for t in 2:T { y(t) = 0.5 * y(t-1) + 0.25 * y(t-2) } }",
        fibonacci,
        (real(6),),
    ),
    "a reduction inside": (
        "def f(float(N,N) W, float(T,N) x) -> (h) { h(0,n) = x(0,n)"
        " for t in 1:T { z(n) +=! W(n,m) * h(t-1,m) h(t,n) = tanh(z(n) + x(t,n)) } }",
        rnn,
        (real(3, 3), real(6, 3)),
    ),
    "an inline reduction inside": (
        "def f(float(N,N) W, float(T,N) x) -> (h) { h(0,n) = x(0,n)"
        " for t in 1:T { h(t,n) = tanh(sum[m](W(n,m) * h(t-1,m)) + x(t,n)) } }",
        rnn,
        (real(3, 3), real(6, 3)),
    ),
    "several tensors": (
        "def f(float(T) x) -> (u, v) { u(0) = x(0) v(0) = 0.0"
        " for t in 1:T { u(t) = u(t-1) + 0.5 * v(t-1) v(t) = v(t-1) - 0.5 * u(t) } }",
        coupled,
        (real(6),),
    ),
    "two indices": (
        "def f(float(N,M) c) -> (D) { D(i,0) = c(i,0) D(0,j) = c(0,j) for i in 1:N { for j in 1:M {"
        " D(i,j) = c(i,j) + min(D(i-1,j), min(D(i,j-1), D(i-1,j-1))) } } }",
        warping,
        (real(4, 6),),
    ),
    "a state": (
        "def f(float(N,N) w) -> (p) { p(i,j) = w(i,j) for k in 0:N {"
        " r(i,j) = min(p(i,j), p(i,k) + p(k,j)) p(i,j) = r(i,j) } }",
        shortest,
        (np.abs(real(5, 5)),),
    ),
    "all earlier rows": (
        "def f(float(N,N) L, float(N) b) -> (x) { for i in 0:N {"
        " x(i) = (b(i) - sum[j where j < i](L(i,j) * x(j))) / L(i,i) } }",
        solved,
        (well_behaved, real(5)),
    ),
    "all earlier rows, which are added to what the step has begun": (
        "def f(float(N,N) L, float(N) b) -> (x) { for i in 0:N {"
        " x(i) = b(i) x(i) += -L(i,j) * x(j) where j in 0:i x(i) = x(i) / L(i,i) } }",
        solved,
        (well_behaved, real(5)),
    ),
    "a step": (
        "def f(float(T) x) -> (float(T) y) { y(0) = x(0) for t in 2:T:2 { y(t) = y(t-2) + x(t) * x(t-1) } }",
        every_other,
        (real(7),),
    ),
    "a scalar": ("def f(float(T) x) -> (s) { s() = 0.0 for t in 0:T { s() = s() + x(t) } }", total, (real(7),)),
    "data and the index": (
        "def f(float(T,N) x, int32(T) idx, float(K,N) W) -> (y) { y(0,n) = x(0,n)"
        " for t in 1:T { y(t,n) = W(idx(t),n) * y(t-1,n) + t * x(t,n) } }",
        looked_up,
        (real(7, 3), places, real(3, 3)),
    ),
    "a guard": (
        "def f(float(T,N) x) -> (y) { y(0,n) = x(0,n) for t in 1:T { y(t,n) = y(t-1,n) + x(t,n) where x(t,n) > 0 } }",
        masked,
        (real(6, 3),),
    ),
    "the second dimension": (
        "def f(float(T,N) x) -> (y) { y(t,0) = x(t,0) for n in 1:N { y(t,n) = y(t,n-1) * x(t,n) where t in 0:T } }",
        along_rows,
        (real(4, 6),),
    ),
    "a diagonal": (
        "def f(float(T,T) x) -> (y) { y(0) = x(0,0) for t in 1:T { y(t) = y(t-1) + x(t,t) * x(t-1,t) } }",
        diagonals,
        (real(5, 5),),
    ),
    "in place": (
        "def f(float(N,M) x) -> (A) { A(i,j) = x(i,j) for t in 0:2 { for i in 1:N-1 { for j in 1:M-1 {"
        " A(i,j) = (A(i-1,j) + A(i,j-1) + A(i,j) + A(i,j+1) + A(i+1,j)) / 5.0 } } } }",
        seidel,
        (real(5, 6),),
    ),
    "in place, a column and a block": (
        "def f(float(N,N) x) -> (U) { U(i,j) = x(i,j) for k in 0:N-1 { U(i,k) = U(i,k) / U(k,k) where i in k+1:N"
        " U(i,j) = U(i,j) - U(i,k) * U(k,j) where i in k+1:N, j in k+1:N } }",
        factors,
        (well_behaved,),
    ),
    "in place, a row and the others": (
        "def f(float(N,N) x) -> (B) { A(i,j) = x(i,j) B(i,j) = i == j ? 1.0 : 0.0 where i in 0:N, j in 0:N"
        " for k in 0:N { p() = A(k,k) f(i) = A(i,k)"
        " B(k,j) = B(k,j) / p() where j in 0:N B(i,j) = B(i,j) - f(i) * B(k,j) where i in 0:N, j in 0:N, i != k"
        " A(k,j) = A(k,j) / p() where j in 0:N A(i,j) = A(i,j) - f(i) * A(k,j) where i in 0:N, j in 0:N, i != k } }",
        inverse,
        (well_behaved,),
    ),
    "windows": (
        "def f(float(T) x, float(3) w) -> (y) { y(0) = x(0) y(1) = x(1) for t in 2:T {"
        " y(t) = 0.5 * y(t-1) + sum[k in 0:3](x(t-2+k) * w(k)) } }",
        windows,
        (real(8), real(3)),
    ),
    "a sum over what was": (
        "def f(float(T,D) x) -> (h) { h(0,d) = x(0,d) for t in 1:T {"
        " h(t,d) = x(t,d) + 0.25 * sum[s where s < t](h(s,d)) } }",
        attending,
        (real(6, 2),),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_computes_what_numpy_computes(name: str) -> None:
    text, expected, arguments = PROGRAMS[name]
    kernel = tcjax.kernel(text)

    wanted = expected(*arguments)

    for found in (kernel.interpret(*arguments), kernel(*arguments), jax.jit(kernel)(*arguments)):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5), found, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_has_a_gradient_and_a_batch(name: str) -> None:
    text, *_ = PROGRAMS[name]

    tcjax.kernel(text).check(examples=2, seed=1)


def from_python(source: str) -> tcjax.Kernel:
    """The kernel of a text in the Python notation, which is read from its source."""
    file = f"<loop {len(linecache.cache)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"tcjax": tcjax}
    exec(compile(source, file, "exec"), scope)
    [kernel] = [value for value in scope.values() if isinstance(value, tcjax.Kernel)]
    return kernel


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_written_of_a_loop_reads_back(name: str) -> None:
    text, _, arguments = PROGRAMS[name]
    kernel = tcjax.kernel(text)

    again = tcjax.kernel(kernel.to("tc"))

    assert again.ir(*arguments) == kernel.ir(*arguments)
    assert from_python(kernel.to("python")).ir(*arguments) == kernel.ir(*arguments)
    assert str(again) == str(kernel)
    assert "\\" in kernel.to("latex")


def test_python_reads_a_loop_where_a_statement_reads_earlier_steps() -> None:
    @tcjax.kernel
    def cell(W: "float(N,N)", x: "float(T,N)"):
        h[0, n] = x[0, n]
        for t in range(1, T):
            z[n] = sum[m](W[n, m] * h[t - 1, m])
            h[t, n] = tanh(z[n] + x[t, n])
        return h

    W, x = real(3, 3), real(6, 3)

    np.testing.assert_allclose(cell(W, x), rnn(W, x), rtol=1e-5, atol=1e-6)
    assert tcjax.kernel(cell.to("tc")).ir(W, x) == cell.ir(W, x)


def test_python_reads_a_loop_backwards_and_in_another() -> None:
    @tcjax.kernel
    def suffix(x: "float(T)"):
        y[T - 1] = x[T - 1]
        for t in range(T - 2, -1, -1):
            y[t] = 0.5 * y[t + 1] + x[t]
        return y

    @tcjax.kernel
    def dtw(c: "float(N,M)"):
        D[i, 0] = c[i, 0]
        D[0, j] = c[0, j]
        for i in range(1, N):
            for j in range(1, M):
                D[i, j] = c[i, j] + min(D[i - 1, j], min(D[i, j - 1], D[i - 1, j - 1]))
        return D

    x, c = real(6), real(4, 5)

    np.testing.assert_allclose(suffix(x), backwards(x), rtol=1e-5)
    np.testing.assert_allclose(dtw(c), warping(c), rtol=1e-5)


def test_in_python_a_range_around_other_statements_stays_a_range() -> None:
    @tcjax.kernel
    def plain(c: "float(N,M)"):
        for i in range(1, N):
            s[()] += c[i, 0]
            for j in range(1, M):
                D[i, j] = c[i, j]
                E[i, j] = D[i, j] * 2
        return s, D, E

    assert "for " not in str(plain)
    assert "where i in 1:N, j in 1:M" in str(plain)


def test_a_loop_in_a_definition_that_is_called() -> None:
    library = tcjax.load("""
        def suffix(float(T) x) -> (y) { y(T-1) = x(T-1) for t in T-2:-1:-1 { y(t) = 0.5 * y(t+1) + x(t) } }
        def f(float(T) a) -> (z) { b(i) = 2 * a(i) y = suffix(b) z(i) = y(i) + a(i) }""")
    a = real(6)

    np.testing.assert_allclose(library["f"](a), backwards(2 * a) + a, rtol=1e-5)


def test_a_loop_without_steps_and_without_elements() -> None:
    text, _, _ = PROGRAMS["linear"]
    kernel = tcjax.kernel(text)
    a, b = real(1, 3), real(1, 3)

    np.testing.assert_array_equal(kernel(a, b), b)
    assert kernel(real(4, 0), real(4, 0)).shape == (4, 0)


def test_integers_and_wide_floats_stay_what_they_are() -> None:
    text = "def f(int8(T) x) -> (y) { for t in 0:T { y(t) = x(t) + (t > 0 ? y(t-1) : 0) } }"
    x = np.array([100, 27, 1, 5], np.int8)

    for found in (tcjax.kernel(text)(x), tcjax.kernel(text).interpret(x)):
        assert found.dtype == np.int8
        np.testing.assert_array_equal(found, [100, 127, -128, -123])


def test_python_reads_the_nest_of_a_factorisation() -> None:
    @tcjax.kernel
    def cholesky(A: "float(N,N)"):
        L[i, j] = A[i, j] if j <= i else 0.0
        for i in range(N):
            for j in range(i):
                for k in range(j):
                    L[i, j] += -L[i, k] * L[j, k]
                L[i, j] = L[i, j] / L[j, j]
            for k in range(i):
                L[i, i] += -L[i, k] * L[i, k]
            L[i, i] = sqrt(L[i, i])
        return L

    root = np.tril(real(5, 5)) + 3 * np.eye(5, dtype=np.float32)

    np.testing.assert_allclose(cholesky(root @ root.T), np.linalg.cholesky(root @ root.T), rtol=1e-4, atol=1e-5)
    # One element is written, and others are read: the innermost range adds up.
    assert "L(i, j) += -L(i, k) * L(j, k) where k in 0:j" in str(cholesky)
    assert from_python(cholesky.to("python")).ir(root) == cholesky.ir(root)


def test_python_adds_up_step_by_step_what_a_loop_reads() -> None:
    @tcjax.kernel
    def balance(rate: "float(T)", paid: "float(T,N)", first: "float(N)"):
        for n in range(N):
            sum_[n] = first[n]
        for t in range(T):
            sum_[n] += rate[t] * sum_[n]
            sum_[n] += paid[t, n]
            after[t, n] = sum_[n]
        return after

    @tcjax.kernel
    def grown(rate: "float(T)", first: "float(N)"):
        value[n] = first[n]
        for t in range(T):
            value[n] += rate[t] * value[n]
        return value

    @tcjax.kernel
    def root(x: "float(N)"):
        y[n] = x[n]
        for _ in range(6):
            y[n] = (y[n] + x[n] / y[n]) / 2
        return y

    rate, paid, first = np.abs(real(4)), real(4, 3), np.abs(real(3)) + 1
    sums = [first]
    for t in range(4):
        sums.append(sums[-1] * (1 + rate[t]) + paid[t])

    np.testing.assert_allclose(balance(rate, paid, first), np.stack(sums[1:]), rtol=1e-5)
    np.testing.assert_allclose(grown(rate, first), first * np.prod(1 + rate), rtol=1e-5)
    np.testing.assert_allclose(root(first), np.sqrt(first), rtol=1e-5)


def test_python_reduces_once_what_no_step_reads() -> None:
    @tcjax.kernel
    def product(A: "float(N,K)", x: "float(K)", first: "float(N)"):
        y[n] = first[n]
        for k in range(K):
            y[n] += A[n, k] * x[k]
        return y

    assert "for " not in str(product)


def test_points_that_python_would_take_for_steps_are_not_written_in_it() -> None:
    once = tcjax.kernel("def f(float(T) x, float(N) a) -> (s) { s(n) = a(n) s(n) += s(n) * x(t) where t in 0:T }")
    x, a = real(4), real(3)

    np.testing.assert_allclose(once(x, a), a * (1 + x.sum()), rtol=1e-5)
    with pytest.raises(tcjax.CompileError, match="would take the points of `t` for steps"):
        once.to("python")


UPDATES = {
    "in place": ("y(i) = x(i) for t in 0:N { y(t) = y(t) + 1 y(t) = y(t) * 2 }", lambda x: 2 * (x + 1)),
    "of what the step wrote": (
        "for t in 0:N { y(t) = x(t) y(t) = y(t) + (t > 0 ? y(t-1) : 0.0) y(t) = y(t) * 0.5 }",
        lambda x: [sum(x[s] * 0.5 ** (t - s + 1) for s in range(t + 1)) for t in range(len(x))],
    ),
    "by a temporary": ("y(i) = x(i) for t in 0:N { z() = y(t) y(t) = z() * z() }", np.square),
    "under one guard": (
        "y(i) = 0.0 * x(i) for t in 0:N { y(t) = x(t) where t > 1 y(t) = y(t) * y(t) where t > 1 y(t) = y(t) + 1 }",
        lambda x: np.where(np.arange(len(x)) > 1, x * x, 0) + 1,
    ),
}


@pytest.mark.parametrize("name", UPDATES)
def test_a_step_updates_an_element_as_often_as_one_likes(name: str) -> None:
    body, expected = UPDATES[name]
    kernel = tcjax.kernel(f"def f(float(N) x) -> (y) {{ {body} }}")
    x = real(6)

    np.testing.assert_allclose(kernel(x), expected(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(kernel.interpret(x), expected(x), rtol=1e-5, atol=1e-6)


def test_a_condition_that_its_statements_change_is_kept_before() -> None:
    @tcjax.kernel
    def largest(x: "float(N)"):
        most[()] = x[0]
        place[()] = 0
        for i in range(1, N):
            met[i] = x[i] > most[()]
            if met[i]:
                most[()] = x[i]
                place[()] = i
        return most, place

    @tcjax.kernel
    def sorted_(x: "float(N)"):
        y[i] = x[i]
        for _ in range(N):
            for i in range(N - 1):
                met[()] = y[i] > y[i + 1]
                if met[()]:
                    first[()] = y[i]
                    y[i] = y[i + 1]
                    y[i + 1] = first[()]
        return y

    x = real(7)
    most, place = largest(x)

    assert (most, place) == (x.max(), x.argmax())
    np.testing.assert_array_equal(sorted_(x), np.sort(x))


def test_in_python_a_condition_may_read_another_element_than_its_statements_write() -> None:
    @tcjax.kernel
    def highest(x: "float(N)"):
        y[0] = x[0]
        for i in range(1, N):
            if x[i] > y[i - 1]:
                y[i] = x[i]
            else:
                y[i] = y[i - 1]
        return y

    x = real(8)

    np.testing.assert_array_equal(highest(x), np.maximum.accumulate(x))


def test_in_python_a_number_that_every_step_starts_anew_is_that_of_the_step() -> None:
    @tcjax.kernel
    def product(A: "float(N,K)", x: "float(K)"):
        for i in range(N):
            total[()] = 0.0
            for k in range(K):
                total[()] += A[i, k] * x[k]
            y[i] = total[()]
        return y

    A, x = real(4, 5), real(5)

    np.testing.assert_allclose(product(A, x), A @ x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("returned", ["h", "float(T,N,J) h"])
def test_a_step_reads_with_pad_what_a_later_statement_of_it_writes(returned: str) -> None:
    text = f"""def g(float(T,N,J) x, float(K,J) U) -> ({returned}) {{
        for t in 0:T {{
            old(n,j) = sum[k](pad(h(t-1,n,k), 0) * U(k,j)) where n in 0:N
            h(t,n,j) = x(t,n,j) + old(n,j)
        }}
    }}"""
    x, U = real(5, 3, 2), real(2, 2)
    expected = x.copy()
    for t in range(1, 5):
        expected[t] += expected[t - 1] @ U

    np.testing.assert_allclose(tcjax.kernel(text)(x, U), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("step", "want"),
    [
        ("y(t) = x(t) > 0.0 && !pad(y(t-1), 0)", [True, False, False, True, False]),
        ("y(t) = !any[s in 0:t](y(s) && abs(x(t) - x(s)) < 2.0)", [True, False, True, True, False]),
        ("y(t) any=! y(s) == (x(s) < 0.0) where s in 0:t", [False, True, True, True, True]),
    ],
)
def test_a_step_reads_bools_that_it_wrote_as_bools(step: str, want: list[bool]) -> None:
    kernel = tcjax.kernel(f"def f(float(T) x) -> (y) {{ for t in 0:T {{ {step} }} }}")
    x = np.float32([1, 2, -3, 5, 4])

    assert np.asarray(kernel(x)).tolist() == want
    assert np.asarray(kernel.interpret(x)).tolist() == want


@pytest.mark.parametrize(
    "text",
    [
        "y(t) +=! y(s) * x(t) + x(s) where s in 0:t",
        "y(t) max=! 0.5 * y(s) + x(s) where s in 0:t",
        "y(2*t-1) +=! y(s) * x(t) where s in 0:t y(2*t) = x(t)",
        "y(t) +=! y(s) * x(t) where s in 0:t y(t) += x(t)",
    ],
)
def test_a_reduction_that_a_step_begins_anew_keeps_what_earlier_steps_wrote(text: str) -> None:
    kernel = tcjax.kernel(f"def f(float(T) x) -> (float(R) y) {{ y(0) = 2.0 for t in 1:T {{ {text} }} }}")
    x = np.float32([1, 2, -3, 0.5, 4])

    found = kernel(x, R=10)

    np.testing.assert_allclose(found, kernel.interpret(x, R=10), rtol=1e-5)
    y = np.zeros(10)
    y[0] = 2
    for t in range(1, 5):
        match text[:7]:
            case "y(t) ma":
                y[t] = max(0.5 * y[:t] + x[:t])
            case "y(2*t-1":
                y[2 * t - 1], y[2 * t] = sum(y[:t] * x[t]), x[t]
            case _:
                y[t] = sum(y[:t] * x[t]) + (sum(x[:t]) if "y(t) +=" not in text[7:] else x[t])
    np.testing.assert_allclose(found, y, rtol=1e-5)


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        # Along a dimension where data names the elements, `!` resets all of them, in each step.
        ("for t in 0:3 { s(0, q(t)) +=! v(t) }", [[0, 4, 0, 0], [9, 9, 9, 9], [9, 9, 9, 9]]),
        ("for t in 0:3 { s(0, (q(i) + t) % 4) +=! v(i) }", [[2, 0, 0, 5], [9, 9, 9, 9], [9, 9, 9, 9]]),
        ("for t in 0:3 { s(t, q(t)) +=! v(t) }", [[0, 1, 0, 0], [0, 0, 2, 0], [0, 4, 0, 0]]),
        ("for t in 0:2 { s(2*t, q(i)) +=! v(i) }", [[0, 5, 2, 0], [9, 9, 9, 9], [0, 5, 2, 0]]),
        (
            "for t in 0:2 { s(2*t, q(i)) max=! v(i) where i > 0 }",
            [[-np.inf, 4, 2, -np.inf], [9] * 4, [-np.inf, 4, 2, -np.inf]],
        ),
    ],
)
def test_a_step_resets_every_element_that_data_can_name(step: str, expected: list[list[float]]) -> None:
    head = "def f(float(3) v, int32(3) q) -> (float(3,4) s)"
    kernel = tcjax.kernel(f"{head} {{ s(j,k) = 9.0 where j in 0:3, k in 0:4 {step} }}")
    v, q = np.array([1, 2, 4], "float32"), np.array([1, 2, 1], "int32")

    for found in (kernel(v, q), kernel.interpret(v, q)):
        np.testing.assert_array_equal(found, np.array(expected, "float32"))
