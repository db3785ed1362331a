"""`Kernel.adjoint`: its numbers, its text, and its own adjoint."""

# ruff: noqa: E501 - a program is easier to read on a line of its own.

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import CompileError
from tests.agreement import compiling

pytestmark = pytest.mark.usefixtures("quickly_compiled")

rng = np.random.default_rng(23)


def real(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return rng.uniform(0.5, 1.5, size=shape).astype(np.float32)


def whole(high: int, *shape: int) -> np.ndarray:
    return rng.integers(0, high, size=shape).astype(np.int32)


PROGRAMS = {
    "matmul": ("def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", (real(3, 4), real(4, 2))),
    "without !": ("def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }", (real(3, 4), real(4, 2))),
    "elementwise": ("def f(float(N) x) -> (y) { y(i) = tanh(x(i)) * x(i) }", (real(5),)),
    "convolution": (
        "def f(float(B,C,H,W) x, float(F,C,KH,KW) w) -> (O) { O(b,f,h,v) +=! x(b,c,h+p,v+q) * w(f,c,p,q) }",
        (real(2, 3, 6, 5), real(4, 3, 3, 2)),
    ),
    "strided convolution": (
        "def f(float(C,H) x, float(F,C,K) w) -> (O) { O(f,h) +=! x(c,2*h+p) * w(f,c,p) }",
        (real(3, 8), real(4, 3, 3)),
    ),
    "softmax": (
        "def f(float(B,N) x) -> (O) { m(b) max=! x(b,n)  e(b,n) = exp(x(b,n) - m(b))  s(b) +=! e(b,n)  O(b,n) = e(b,n) / s(b) }",
        (real(3, 4),),
    ),
    "inline softmax": (
        "def f(float(B,N) x) -> (O) { O(b,n) = exp(x(b,n) - max[k](x(b,k))) / sum[k](exp(x(b,k) - max[l](x(b,l)))) }",
        (real(3, 4),),
    ),
    "rbf": (
        "def f(float(N,D) x, float(M,D) y, float(M) b) -> (O) "
        "{ O(i) +=! exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * b(j) }",
        (real(3, 2), real(4, 2), real(4)),
    ),
    "means of points that meet, over an index that a count does not show": (
        "def f(float(N) A, float(M) B) -> (O) { O(i / 3) mean=! A(i) * B(k) where i in 0:7 }",
        (real(7), real(2)),
    ),
    "an axis without elements": (
        """def f(float(N) E, float(M) I) -> (O) {
            O(k, l) = 2*k - l + 2 < N ? E(2*k - l + 2) : 0.0 where k in 0:5, l in 2:2
            O(2*k + 1, l) = I(l) where k in 0:2, l in 2:2
        }""",
        (real(1), real(4)),
    ),
    "logsumexp": ("def f(float(N) x, float(M) y) -> (O) { O(i) logsumexp=! x(i) * y(j) }", (real(3), real(4))),
    "minimum": (
        "def f(float(N,D) x, float(M,D) y) -> (O) { O(i) min=! sum[d](abs(x(i,d) - y(j,d))) }",
        (real(4, 2), real(5, 2)),
    ),
    "product": ("def f(float(N,M) x) -> (O) { O(i) *=! x(i,j) + x(j,i) }", (real(3, 3),)),
    "mean": ("def f(float(N,M) x) -> (O) { O(i) mean=! x(i,j) * x(i,j) where j <= i }", (real(3, 4),)),
    "ranked": ("def f(float(N,M) x) -> (O) { O(i) = mink[j](x(i,j), 1) * maxk[j](x(i,j) * x(i,j), 0) }", (real(3, 4),)),
    "layers": (
        "def f(float(B,I) x, float(I,H) w, float(H) c, float(H,O) v) -> (y) "
        "{ h(b,k) +=! x(b,i) * w(i,k)  a(b,k) = max(h(b,k) + c(k), 0)  y(b,o) +=! a(b,k) * v(k,o) }",
        (real(3, 4), real(4, 5), real(5), real(5, 2)),
    ),
    "two outputs": (
        "def f(float(N) x, float(N) w) -> (y, z) { y(i) = x(i) * x(i)  z(i) = y(i) * w(i)  s +=! z(i) }",
        (real(4), real(4)),
    ),
    "an output read again": (
        "def f(float(N) x, float(N) w) -> (y, s) { y(i) = x(i) * x(i)  s +=! y(i) * w(i) * y(i) }",
        (real(4), real(4)),
    ),
    "scalar": ("def f(float(N) x, float a) -> (s) { s +=! a * x(i) * x(i) }", (real(4), real())),
    "slice": ("def f(float(N) x) -> (O) { O(i) = x(i + 2) * x(i) where i in 0:3 }", (real(6),)),
    "part": ("def f(float(N) x) -> (O) { O(i) = x(i) * x(i) where i in 2:4 }", (real(6),)),
    "padded": ("def f(float(N) x) -> (O) { O(i) = i >= 2 ? x(i - 2) * x(i - 2) : 0.0 where i in 0:5 }", (real(6),)),
    "stencil": ("def f(float(N) x) -> (O) { O(i) = x(i-1) * x(i+1) - 2 * x(i) where i in 1:5 }", (real(6),)),
    "clamped": ("def f(float(N) x) -> (O) { O(i) = x(min(max(i - 1, 0), N - 1)) * x(i) where i in 0:N }", (real(5),)),
    "diagonal": ("def f(float(N,N) A) -> (d) { d(i) = A(i,i) * A(i,0) }", (real(3, 3),)),
    "to the diagonal": ("def f(float(N) x) -> (D) { D(i,i) = x(i) * x(i) }", (real(3),)),
    "strided left": ("def f(float(N) x) -> (float(12) O) { O(2*i+1) = x(i) * x(i) }", (real(5),)),
    "gathered": (
        "def f(float(N,D) x, int32(M) at) -> (O) { O(m,d) = x(at(m),d) * x(at(m)+1,d) }",
        (real(4, 2), whole(6, 5)),
    ),
    "scattered": (
        "def f(float(M) x, int32(M) at, int32 n) -> (float(5) O) { O(at(m)) +=! x(m) * x(m) }",
        (real(6), whole(7, 6) - 1, whole(2)),
    ),
    "scattered maximum": (
        "def f(float(M) x, int32(M) at) -> (float(4) O) { O(at(m)) max=! x(m) * x(m) }",
        (real(6), np.array([0, 1, 2, 3, 1, 2], np.int32)),
    ),
    "a maximum of one point each, in every second place": (
        "def f(float(N) x, float(N) y) -> (O) { O(k, j, i) = 0.0 where k in -1:0, j in 0:1, i in 0:79  O(k, 0, 2*i) max=! x(i - k - 1) / (y(i) * y(i) + 1.5) where k in -1:0, i in 0:40 }",
        (real(40), real(40)),
    ),
    "maxima in places that two indices tell": (
        "def f(float(N) x, float(M) y) -> (O) { O(2*i, i + j) max=! x(i + j + k) / (y(j) * y(j) + 1.5) where i in 0:5, j in 0:6, k in 0:3 }",
        (real(12), real(6)),
    ),
    "a guarded product of one point each": (
        "def f(float(N) x) -> (float(12) O) { O(2*i + 1) *=! x(i) * x(i) where x(i) > 0 }",
        (real(6),),
    ),
    "triangle": (
        "def f(float(N,N) A, float(N) b) -> (O) { O(i) +=! A(i,k) * b(k) where k <= i }",
        (real(4, 4), real(4)),
    ),
    "moving range": (
        "def f(float(N,N) A, float(N) b) -> (O) { O(i) +=! A(i,k) * b(k) where i in 0:N, k in i:N }",
        (real(4, 4), real(4)),
    ),
    "updated": (
        "def f(float(N) x) -> (O) { O(i) = x(i)  O(i) = O(i) * x(i) where i in 1:3  O(i) += x(i) * O(i) }",
        (real(5),),
    ),
    "overwritten": (
        "def f(float(N) x, float(N) y) -> (O) { O(i) = x(i) * x(i)  O(i) = y(i) where i in 1:3 }",
        (real(5), real(5)),
    ),
    "multiplied": (
        "def f(float(N,M) x, float(N) y) -> (O) { O(i) = y(i)  O(i) *= x(i,j)  O(i) max= x(i,j) }",
        (real(3, 4), real(3)),
    ),
    "called": (
        "def g(float(N) v) -> (w) { w(i) = v(i) * v(i) } "
        "def f(float(N,M) x, float(M) y) -> (O) { s(i) +=! x(i,j) * y(j)  t = g(s)  O(i) = t(i) * s(i) }",
        (real(3, 4), real(4)),
    ),
    "halves": (
        "def f(half(N,M) x, float(M) y) -> (O) { O(i) +=! x(i,j) * x(i,j) * y(j) }",
        (real(3, 4).astype(np.float16), real(4)),
    ),
    "powers": (
        "def f(float(N) x, float(N) y) -> (O) { O(i) = pow(x(i), y(i)) + pow(x(i), 2) }",
        (positive(4), positive(4)),
    ),
    "floors": (
        "def f(float(N) x) -> (O) { O(i) +=! x(2*i + k) * x(i) where i in 0:3, k in 0:2  P(i) = O(i / 2) * 2 where i in 0:6 }",
        (real(6),),
    ),
    "position": ("def f(float(N,M) x) -> (O) { a(i) argmax=! x(i,j)  O(i) = x(i, a(i)) * 3 }", (real(3, 4),)),
    "doubles in": ("def f(float(N) x) -> (O) { O(i) = float(double(x(i)) * x(i)) }", (real(4),)),
    "loops over nothing": ("def f(float(N) x) -> (O) { O(i) = 1.0 where i in 0:N }", (real(4),)),
    "without declarations": ("def f(A, B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", (real(3, 4), real(4, 2))),
    "inside twice": (
        "def f(float(N,M) x) -> (O) { O(i) +=! exp(-logsumexp[k](x(i,k) * sum[l](x(l,k) * x(i,j))) * mean[k](x(i,k) * x(j,k))) where j in 0:3 }",
        (real(3, 3),),
    ),
    "shifted output": ("def f(float(N) x) -> (O) { O(i) = x(i - 2) * x(i - 2) where i in 2:5 }", (real(4),)),
}


@pytest.fixture(params=PROGRAMS, ids=PROGRAMS)
def program(request: pytest.FixtureRequest) -> tuple[tcjax.Kernel, tuple[np.ndarray, ...]]:
    text, arrays = PROGRAMS[request.param]
    return (tcjax.load(text)["f"], arrays)


def cotangents(kernel: tcjax.Kernel, arrays: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    outputs = jax.eval_shape(kernel, *arrays)
    results = outputs if isinstance(outputs, tuple) else (outputs,)
    names = [tensor.name for tensor in kernel.ir(*arrays).returns]
    return {f"d_{name}": np.asarray(rng.normal(size=r.shape), r.dtype) for name, r in zip(names, results, strict=True)}


def by_jax(kernel, arrays, given):
    smooth = [n for n, array in enumerate(arrays) if array.dtype.kind == "f"]

    def run(*moved):
        every = list(arrays)
        for n, array in zip(smooth, moved, strict=True):
            every[n] = array
        return kernel(*every)

    def pulled(moved, values):
        outputs, pull = jax.vjp(run, *moved)
        return pull(values if isinstance(outputs, tuple) else values[0])

    moved = [jnp.asarray(arrays[n]) for n in smooth]
    return compiling.whole(pulled, str(kernel))(moved, tuple(map(jnp.asarray, given.values())))


@pytest.mark.filterwarnings("ignore::tcjax.diagnostics.CompileWarning")
def test_an_adjoint_is_what_jax_says(program) -> None:
    kernel, arrays = program
    given = cotangents(kernel, arrays)
    expected = by_jax(kernel, arrays, given)

    adjoint = kernel.adjoint()
    found = adjoint(*arrays, **given)

    for ours, theirs in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        atol = 1e-2 if ours.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=atol)


@pytest.mark.filterwarnings("ignore::tcjax.diagnostics.CompileWarning")
def test_an_adjoint_reads_back(program) -> None:
    kernel, _ = program
    adjoint = kernel.adjoint()

    again = tcjax.kernel(str(adjoint))

    assert again.ir() == adjoint.ir()
    assert str(again) == str(adjoint)


AGAIN = (
    "matmul",
    "elementwise",
    "convolution",
    "strided convolution",
    "softmax",
    "rbf",
    "logsumexp",
    "two outputs",
    "padded",
    "stencil",
    "diagonal",
    "gathered",
    "scattered",
    "triangle",
    "updated",
    "called",
    "shifted output",
    "powers",
)


@pytest.mark.filterwarnings("ignore::tcjax.diagnostics.CompileWarning")
@pytest.mark.parametrize("name", AGAIN)
def test_an_adjoint_has_an_adjoint(name: str) -> None:
    text, arrays = PROGRAMS[name]
    adjoint = tcjax.load(text)["f"].adjoint()
    every = (*arrays, *cotangents(tcjax.load(text)["f"], arrays).values())
    given = cotangents(adjoint, every)
    expected = by_jax(adjoint, every, given)

    found = adjoint.adjoint()(*every, **given)

    for ours, theirs in zip(found if isinstance(found, tuple) else (found,), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-4)


def test_wrt_says_what_comes_back_and_in_which_order() -> None:
    kernel = tcjax.kernel(PROGRAMS["matmul"][0])
    A, B = PROGRAMS["matmul"][1]
    d_C = real(3, 2)

    d_B, d_A = kernel.adjoint(wrt=("B", "A"))(A, B, d_C=d_C)

    np.testing.assert_allclose(d_A, d_C @ B.T, rtol=1e-5)
    np.testing.assert_allclose(d_B, A.T @ d_C, rtol=1e-5)
    assert str(kernel.adjoint(wrt=("A",))) == (
        "def f_adjoint(float(M,K) A, float(K,N) B, float(M,N) d_C) -> (d_A) {\n  d_A(m, k) +=! d_C(m, n) * B(k, n)\n}"
    )


def test_an_adjoint_does_not_warn_of_how_it_is_written() -> None:
    # The two sums of the derivative share nothing; warnings are errors here.
    kernel = tcjax.kernel(
        "def f(float(N) A, float(M) B) -> (O) { O(i) +=! u / (A(1) * A(1) + 1.5) where i in 0:M, u in 1:5 }"
    )
    d_O = real(4)

    d_A, d_B = kernel.adjoint()(np.float32([1, 2, 3]), np.ones(4, np.float32), d_O)

    np.testing.assert_allclose(d_A, [0, -2 * 2 * (1 + 2 + 3 + 4) * d_O.sum() / (2 * 2 + 1.5) ** 2, 0], rtol=1e-4)
    assert not np.any(d_B)


def test_the_adjoint_of_a_convolution_is_a_convolution() -> None:
    ones = np.ones
    for name in ("convolution", "strided convolution"):
        kernel = tcjax.kernel(PROGRAMS[name][0].replace("def f", "def conv"))
        x = ones((2, 8, 33, 33), "float32") if name == "convolution" else ones((16, 65), "float32")
        w = ones((16, 8, 3, 3), "float32") if name == "convolution" else ones((32, 16, 10), "float32")
        d_O = np.asarray(kernel(x, w))

        plan = str(kernel.adjoint(wrt=("x",)).plan(x, w, d_O=d_O))

        assert "conv " in plan
        assert "scatter" not in plan


def test_a_product_of_matrices_stays_one() -> None:
    A, B = np.ones((64, 32), "float32"), np.ones((32, 48), "float32")
    adjoint = tcjax.kernel(PROGRAMS["matmul"][0]).adjoint()

    assert str(adjoint.plan(A, B, d_C=A @ B)).count("dot_general") == 2


@pytest.mark.parametrize(
    ("wrt", "code"), [(("Z",), "TC0308"), (("n",), "TC0308"), (("x", "x"), "TC0308"), ((), "TC0308")]
)
def test_what_is_no_float_parameter_is_refused(wrt: tuple[str, ...], code: str) -> None:
    kernel = tcjax.kernel("def f(float(N) x, int32(N) n) -> (y) { y(i) = x(i) * n(i) }")

    with pytest.raises(CompileError, match=code):
        kernel.adjoint(wrt=wrt)


def test_what_has_no_derivative_is_refused() -> None:
    with pytest.raises(CompileError, match="TC0309"):
        tcjax.kernel("def f(float(N) x) -> (y) { y(i) = lgamma(x(i)) }").adjoint()
    with pytest.raises(CompileError, match="TC0309"):
        tcjax.kernel("def f(float(N) x) -> (y) { y = g(x) }", fns={"g": jnp.cumsum}).adjoint()
    with pytest.raises(CompileError, match=r"`y` goes on by `logsumexp`.*TC0309"):
        tcjax.kernel("def f(float(N) x) -> (y) { y(i) = x(i)  y(2*i) logsumexp= x(i) }").adjoint()
    with pytest.raises(CompileError, match=r"`y` goes on by `logsumexp`.*TC0309"):
        tcjax.kernel("def f(float(N) x, float(N) z) -> (y) { y(i) = z(i)  y(i) logsumexp= x(i) }").adjoint()
    # Nothing is needed of values that do not depend on `wrt`.
    tcjax.kernel("def f(float(N) x, float(N) z) -> (y) { y(i) = lgamma(x(i)) * z(i) }").adjoint(wrt="z")


def test_python_functions_are_differentiated_by_jax() -> None:
    kernel = tcjax.kernel(
        "def f(float(N) x, float(N) z) -> (y) { y(i) = g(x(i), z(i)) * x(i) }", fns={"g": lambda a, b: jnp.sin(a) * b}
    )
    x, z, d_y = real(4), real(4), real(4)
    expected = jax.grad(lambda x, z: jnp.sum(kernel(x, z) * d_y), (0, 1))(x, z)

    found = kernel.adjoint()(x, z, d_y)
    (again, _, _) = kernel.adjoint(wrt="x").adjoint()(x, z, d_y, np.ones(4, "float32"))

    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5, atol=1e-6)
    second = jax.grad(lambda x: jnp.sum(jax.grad(lambda x: jnp.sum(kernel(x, z) * d_y))(x)))(x)
    np.testing.assert_allclose(again, second, rtol=1e-5, atol=1e-6)


def test_a_sac_program_has_an_adjoint_in_index_notation() -> None:
    kernel = tcjax.kernel("{ [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }")
    A, B, d = real(3, 4), real(4, 2), real(3, 2)

    adjoint = kernel.adjoint(wrt=("A",))

    np.testing.assert_allclose(adjoint(A, B, d), d @ B.T, rtol=1e-5)
    assert str(adjoint).startswith("def ")


def test_names_that_are_taken_are_left_alone() -> None:
    kernel = tcjax.kernel(
        "def f(float(N) x, float(N) d_y, float(N) x_next) -> (y) { y(i) = x(i) * d_y(i) * x_next(i) }"
    )
    x, z, w, d = real(4), real(4), real(4), real(4)

    found = kernel.adjoint()(x, z, w, d)

    np.testing.assert_allclose(found[0], z * w * d, rtol=1e-5)
    np.testing.assert_allclose(found[1], x * w * d, rtol=1e-5)


@pytest.mark.parametrize(
    ("value", "power"), [("B(i) * F(u)", 1), ("B(i) * F(u) * F(u)", 2), ("-F(u) / 2 * B(i)", -0.5)]
)
def test_sums_of_an_adjoint_that_share_nothing_are_said_apart(value: str, power: float) -> None:
    kernel = tcjax.kernel(f"def f(float(N) B, float(M) F) -> (O) {{ O(i,j) +=! {value} where j in 0:3 }}")
    rng = np.random.default_rng(0)
    B, F, d_O = (rng.standard_normal(shape).astype(np.float32) for shape in (4, 5, (4, 3)))
    adjoint = kernel.adjoint(wrt=("B",))

    # A warning would be an error here.
    again = tcjax.kernel(str(adjoint))

    times = (F**power).sum() if power > 0 else power * F.sum()
    np.testing.assert_allclose(again(B, F, d_O=d_O), d_O.sum(1) * times, rtol=1e-4)
