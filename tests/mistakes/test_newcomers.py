"""Mistakes of NumPy users who are new to index notation: the help says what to write, in their notation."""

import jax
import numpy as np
import pytest

import tcjax

VECTOR = np.arange(5, dtype=np.float32)
MATRIX = np.ones((2, 3), np.float32)

TEXTS = {
    "a sum without its operator": ("r(m) = A(m,n)", [], "TC0703", "`r(m) +=! ...`"),
    "a keyword with another letter": ("y(i) = x(i) were i in 0:3", [], "TC0101", "did you mean `where`?"),
    "a transpose": ("r(j) +=! A.T(j,i)", [], "TC0102", "the transpose of `A(i, j)` is `A(j, i)`"),
    "a boundary by another name": (
        "def f(float(N) x) -> (y) { y(i) = x(periodic(i+1)) where i in 0:N }",
        [],
        "TC0201",
        "`x(wrap(i + 1))`",
    ),
    "a reduction without its indices": ("y(i) = sum(A(i,j))", [MATRIX], "TC0201", "square brackets: `sum[k](...)`"),
    "braces for the indices of a reduction": ("w(q) = max{k}(A(q,k))", [], "TC0101", "brackets: `max[k](e)`"),
    "a condition in brackets": ("y(t) = sum[s < t](x(s))", [], "TC0101", "`sum[s where s <= t](e)`"),
    "a space in an operator": ("r(m) + =! A(m,n)", [], "TC0101", "`+=!` as one word, without a space"),
    "a length": ("y(i) = x(i) where i in 0:len(x)", [], "TC0501", "its sizes are `x.0`"),
    "another name of the largest": ("t(i) = topk[j](A(i,j), 3)", [], "TC0205", "`maxk[k](A(i, k), r)`"),
    "a function that is written out": (
        "def f(float(N,D) x) -> (y) { y(n,d) = softmax(x(n,d)) }",
        [],
        "TC0201",
        "write it out: `exp(x(n, d) - max[j](x(n, j)))",
    ),
    "infinity in capitals": ("w(i) = A(i) > 0.0 ? A(i) : -INFINITY", [], "TC0201", "write `inf`"),
    "a number by its name": ("w(i) = A(i) * pi", [], "TC0201", "3.141592653589793"),
    "a size that no type mentions": (
        "def ma(float(N) x) -> (y) { y(i) +=! x(i+k) / W where k in 0:W }",
        [VECTOR],
        "TC0401",
        "a size is a number, or stands in a type: `float(W) a`",
    ),
    "arguments in another order": ("y(i) +=! A(i,j) * x(j)", [VECTOR, MATRIX], "TC0502", "the order is A, x"),
    "a recurrence": ("y(t) = x(t) + y(t-1) where t in 1:5", [VECTOR], "TC0208", "`sum[s where s <= t](x(s))`"),
    "a recurrence with its beginning": (
        "def c(float(N) x) -> (y) { y(0) = x(0)  y(t) = x(t) + y(t-1) where t in 1:N }",
        [VECTOR],
        "TC0708",
        "`for t in 1:N { y(t) = x(t) + y(t-1) }`",
    ),
    "subscripts of an einsum": ("bi,oij,bj->bo", [], "TC0101", '`tcjax.einsum("bi,oij,bj->bo", A, B, C)`'),
    "a comprehension without braces": ("{ [i] -> sum([k] -> A[i,k]) }", [], "TC0101", "`sum({ [i] -> e })`"),
    "an if in an expression": ("{ [i] -> if (a[i] > 0) 1 else 0 }", [], "TC0101", "`c ? a : b`"),
    "an increment": ("{ [i] -> i++ | [i] < [3] }", [], "TC0101", "give the new value a name"),
    "a remainder of negative numbers": ("{ [i] -> g[(i-1) % 5] | [i] < [5] }", [VECTOR], "TC0706", "`mod(i, n)`"),
}


@pytest.mark.parametrize(("text", "arguments", "code", "help"), TEXTS.values(), ids=list(TEXTS))
def test_the_help_says_what_to_write(text: str, arguments: list, code: str, help: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text)(*arguments)

    assert caught.value.code == code
    assert help in caught.value.help


def test_the_order_of_reductions_in_a_message_is_always_the_same() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel("y(i) = zzz[j](A(i,j))")

    names = caught.value.help.removeprefix("use one of ").split(", ")
    # Registered reducers follow, and other tests register some.
    built_in = [name for name in names if name in ("all", "any", "argmax", "logsumexp", "max", "mean", "min", "sum")]
    assert built_in == sorted(built_in) and len(built_in) == 8


def test_a_keyword_for_what_is_an_index_says_so() -> None:
    kernel = tcjax.kernel("def conv(float(H) x, float(K) w) -> (y) { y(h) +=! x(S*h+k) * w(k) }")

    with pytest.raises(tcjax.CompileError, match="`S` is an index in the text: write a number there"):
        kernel(VECTOR, VECTOR[:2], S=2)
    with pytest.raises(tcjax.CompileError, match=r"call it as conv\(x, w\)$"):
        kernel(VECTOR, VECTOR[:2], other=2)


def test_one_argument_too_many_names_the_sizes_that_go_by_keyword() -> None:
    kernel = tcjax.kernel("def h(int32(N) b) -> (float(B) H) { H(b(i)) +=! 1.0 }")

    with pytest.raises(tcjax.CompileError, match=r"it also takes B=\.\.\."):
        kernel(np.zeros(3, np.int32), 4)


def test_a_warning_at_a_call_points_at_the_call_and_not_into_jax() -> None:
    kernel = tcjax.kernel("s += A(i)")

    with pytest.warns(tcjax.CompileWarning) as caught:
        kernel(VECTOR)

    assert caught[0].filename == __file__


# ---------------------------------------------------------------- the Python notation


def no_operator():
    @tcjax.kernel
    def rows(A: "float(M,N)"):
        r[m] = A[m, n]
        return r


def numpys_sum():
    @tcjax.kernel
    def scores(Q, K):
        s[q, k] = np.sum(Q[q, d] * K[k, d])
        return s


def nobody_reads():
    @tcjax.kernel
    def first(A, B):
        r[m] = A[m]
        return r


def nothing_bounds():
    @tcjax.kernel
    def fill(A: "float(N)"):
        B[i, j] = A[i]
        return B

    fill(VECTOR)


def beyond_the_end():
    @tcjax.kernel
    def shift(A: "float(N)"):
        for i in range(0, N):
            B[i] = A[i + 1]
        return B

    shift(VECTOR)


def a_read_that_may_leave():
    @tcjax.kernel
    def apart(A: "float(N)"):
        for i in range(0, N):
            for j in range(0, N):
                B[i, j] = A[i - j]
        return B

    apart(VECTOR)


def where_the_data_say():
    @tcjax.kernel
    def histogram(b: "int32(N)"):
        H[b[i]] += 1
        return H

    histogram(np.zeros(3, np.int32))


def two_values_in_one_place():
    @tcjax.kernel
    def last(b: "int32(N)") -> "float(B)":
        H[b[i]] = 1.0
        return H


def a_data_dependent_end():
    @tcjax.kernel
    def some(A: "float(N)", n: "int32"):
        for i in range(0, n):
            s[()] += 1.0 * i
        return s

    some(np.zeros(3), 2)


def bits_for_a_power():
    @tcjax.kernel
    def square(A: "float(N)"):
        B[i] = A[i] ^ 2
        return B


def too_few_subscripts():
    @tcjax.kernel
    def row(A: "float(M,N)"):
        B[i] = A[i]
        return B


def a_guard_for_an_index():
    @tcjax.kernel
    def running(x: "float(N)"):
        y[t] = sum[s <= t](x[s])
        return y


def a_loop_over_time():
    @tcjax.kernel
    def running(x: "float(N)"):
        y[t] = x[t]
        if t > 0:
            y[t] = y[t - 1] + x[t]
        return y

    running(VECTOR)


def a_function_of_numpys():
    @tcjax.kernel
    def running(x: "float(N)"):
        y[t] = cumsum(x[t])
        return y


def a_size_that_is_not_there():
    @tcjax.kernel
    def mean(A: "float(N)"):
        B[i] = A[i] / A.shape[1]
        return B


def a_truth_that_is_none():
    @tcjax.kernel
    def signs(A: "float(N)"):
        B[i] = 1.0 if A[i] and A[i] > 0.0 else 0.0
        return B


def a_size_that_no_type_mentions():
    @tcjax.kernel
    def head(A: "float(N)"):
        for i in range(0, N):
            for k in range(i, W):
                B[i, k] = A[k]
        return B


def a_transposed_matrix():
    @tcjax.kernel
    def transposed(A: "float(M,N)"):
        B[i, j] = A.T[i, j]
        return B


def an_array_to_fill():
    @tcjax.kernel
    def filled(A: "float(N)"):
        B = np.zeros((3,))
        B[i] = A[i]
        return B


def a_value_with_a_name():
    @tcjax.kernel
    def twice(A: "float(N)"):
        t = A[i] * 2.0
        B[i] = t
        return B


def a_constant_of_nowhere():
    @tcjax.kernel
    def shifted(A: "float(N)"):
        B[i] = A[i] + bias
        return B


def half_an_index():
    @tcjax.kernel
    def halves(A: "float(N)"):
        B[i] = A[i / 2]
        return B


PYTHON = {
    a_size_that_is_not_there: "counted from 0",
    a_truth_that_is_none: "`A[i] != 0`",
    a_size_that_no_type_mentions: "`N`",
    a_transposed_matrix: "`A[j, i]`",
    an_array_to_fill: "`B[i, j] = …`",
    a_value_with_a_name: "`t[i] = ...`",
    a_constant_of_nowhere: '`bias: "float"`',
    half_an_index: "`//`",
    no_operator: '`r[m] += ...`, `r[m]: "max=!" = ...`, or `sum[n](...)`',
    numpys_sum: "`s[q, k] += ...`",
    nobody_reads: '`B: "float(N)"`',
    nothing_bounds: "`for j in range(0, N):`",
    beyond_the_end: "`for i in range(0, 4):`",
    a_read_that_may_leave: "for ",
    where_the_data_say: '`-> "int32(M)"`',
    two_values_in_one_place: "`H[...] += ...`",
    a_data_dependent_end: "`with exists(A[i]):`",
    bits_for_a_power: "`a ** b`",
    too_few_subscripts: "`A[i, j]`",
    a_guard_for_an_index: "`sum[s, s <= t](...)`",
    a_loop_over_time: "`for t in range(0, 5):`",
    a_function_of_numpys: "`sum[j, j <= t](x[j])`",
}


@pytest.mark.parametrize("write", PYTHON, ids=lambda write: write.__name__)
def test_help_for_the_python_notation_is_in_the_python_notation(write) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        write()

    assert PYTHON[write] in caught.value.help
    for text in (caught.value.help, caught.value.message):
        assert not any(sign in text for sign in ("+=!", "`where", "A(i", "B(i", "x(i", "y(i", " ? ", "&&", "A.1"))


# ---------------------------------------------------------------- what is silent in NumPy


def test_arrays_of_other_lengths_are_told_once_for_their_shapes_and_in_the_notation_of_the_program() -> None:
    @tcjax.kernel
    def mm(A, B):
        C[m, n] += A[m, k] * B[k, n]
        return C

    with pytest.warns(tcjax.CompileWarning, match=r'`A: "float\(M,K\)"` and `B: "float\(K,N\)"`'):
        first = mm(MATRIX, np.ones((5, 4), np.float32))
    again = mm(MATRIX, np.ones((5, 4), np.float32))

    assert first.tolist() == again.tolist() == np.full((2, 4), 3.0).tolist()
    shown = str(mm.explain(MATRIX, np.ones((5, 4), np.float32)))
    assert "`A[m, k]` (dimension 1); `B[k, n]` (dimension 0) has 5" in shown


@pytest.mark.parametrize(
    "text",
    [
        "y(i) = a(i) * b(i) where i in 0:2",
        "def f(float(M) a, float(N) b) -> (y) { y(i) = a(i) * b(i) }",
        "y(i) +=! w(k) * x(i+k)",
        "y(i) = i < 2 ? a(i) + b(i) : 0.0",
        "y(i) = a(i) + sum[j](b(j))",
    ],
)
def test_who_says_how_far_an_index_runs_or_computes_it_is_not_warned(text: str) -> None:
    ranges = tcjax.kernel(text).ranges(np.ones(2, np.float32), np.ones(5, np.float32))

    assert ranges


def test_equal_lengths_are_silent() -> None:
    assert tcjax.kernel("y(i) = a(i) * b(i)")(VECTOR, VECTOR).tolist() == [0, 1, 4, 9, 16]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tcjax.kernel(3), "pass a text"),
        (lambda: tcjax.kernel("mm.tc"), "tcjax.load('mm.tc')"),
        (lambda: tcjax.kernel("y(i) = x(i)")(jax.random.key(0)), "jax.random.normal"),
        (lambda: tcjax.kernel("y(i) = x(i)")(jax.ShapeDtypeStruct((3,), "float32")), "k.ranges"),
        (lambda: tcjax.kernel("y(i) = x(i)")([2**40]), "from -2147483648 to 2147483647"),
        (lambda: tcjax.kernel("def f(float(N) x) -> (y) { y(i) = x(i) }")(VECTOR, N=3), "that of the arrays"),
        (lambda: tcjax.kernel("y(i) = x(i)")([[1.0], [1.0, 2.0]]), "equal length"),
        (lambda: tcjax.kernel("{ [i] => a[i] }"), "`->`"),
        (lambda: tcjax.kernel("{ [i] -> a[i]^2 }")(VECTOR), "`pow(a, b)`"),
        (lambda: tcjax.kernel("{ [i] -> 0 < a[i] < 3 ? 1 : 0 }")(VECTOR), "`&&`"),
        (lambda: tcjax.kernel("b h w c -> b (h w) c"), "`B(b, h * A.2 + w, c) = A(b, h, w, c)`"),
    ],
)
def test_what_is_no_program_and_no_array_is_told_what_to_pass(call, said: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        call()

    assert said in caught.value.help
