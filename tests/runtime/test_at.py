"""`k.at(...)`: one element of a result, explained step by step."""

import json

import numpy as np
import pytest

import tcjax

A = np.arange(12, dtype="float32").reshape(4, 3) / 4
B = np.arange(24, dtype="float32").reshape(3, 8) / 8
MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"


def test_a_sum_is_told_point_by_point_with_its_running_value() -> None:
    told = tcjax.kernel(MM).at(m=3, n=2)(A, B)

    assert str(told) == (
        "C[3, 2] = 9.875    at m = 3, n = 2: 3 points\n"
        "  by C[m, n] = sum[k] (A[m, k] * B[k, n])\n"
        "  k = 0: (A[m, k] * B[k, n]) = 0.5625    so far 0.5625\n"
        "    A[3, 0] = 2.25\n"
        "    B[0, 2] = 0.25\n"
        "  k = 1: (A[m, k] * B[k, n]) = 3.125    so far 3.6875\n"
        "    A[3, 1] = 2.5\n"
        "    B[1, 2] = 1.25\n"
        "  k = 2: (A[m, k] * B[k, n]) = 6.1875    so far 9.875\n"
        "    A[3, 2] = 2.75\n"
        "    B[2, 2] = 2.25"
    )
    assert told.value == (A @ B)[3, 2]


@pytest.mark.parametrize("place", [(0, 0), (3, 7), (2, 5)])
def test_an_element_is_named_by_position_too(place: tuple[int, int]) -> None:
    assert tcjax.kernel(MM).at(*place)(A, B).value == (A @ B)[place]


def test_a_long_reduction_shows_its_first_and_last_points() -> None:
    told = str(tcjax.kernel("def f(float(N) x) -> (S) { S +=! x(i) }").at()(np.ones(100, "float32")))

    assert [line.split(":")[0].strip() for line in told.splitlines()[2:]] == [
        "i = 0",
        "i = 1",
        "i = 2",
        "i = 3",
        "... 94 more",
        "i = 98",
        "i = 99",
    ]
    assert told.endswith("i = 99: x[99] = 1    so far 100")


def test_temporaries_are_followed_once() -> None:
    softmax = tcjax.kernel(
        "def softmax(float(N) x) -> (y) { m max=! x(j)  e(i) = exp(x(i) - m)  y(i) = e(i) / sum[j](e(j)) }"
    )

    told = str(softmax.at(i=1)(np.array([0, 1, 3], "float32")))

    assert told.count("by m[] = max[j] x[j]") == 1
    assert "m = 3    see above" in told
    assert "e[1] = 0.1353353    at i = 1" in told
    assert "..." in softmax.at(i=1)(np.array([0, 1, 3], "float32")).text(depth=2)


def test_it_marks_where_a_nan_appears() -> None:
    softmax = tcjax.kernel("def f(float(N) x) -> (y) { m max=! x(j)  y(i) = exp(x(i) - m) }")

    told = softmax.at(i=2)(np.array([0, 1, np.inf], "float32"))

    marked = [line.strip() for line in str(told).splitlines() if "<--" in line]
    assert marked == [
        "(x[i] - m[]) = nan    <-- the NaN appears here",
        "x[2] = inf    <-- the infinity appears here",
        "j = 2: x[2] = inf    so far inf    <-- the infinity appears here",
    ]


def test_the_point_with_a_nan_is_among_those_that_are_shown() -> None:
    x = np.ones(100, "float32")
    x[50] = np.nan

    told = str(tcjax.kernel("def f(float(N) x) -> (S) { S +=! x(i) }").at()(x))

    assert "i = 50: x[50] = nan    so far nan    <-- the NaN appears here" in told


def test_guards_that_are_false_and_reads_that_are_clamped_are_told() -> None:
    kernel = tcjax.kernel("def f(float(M,D) A, int32(N) I) -> (O) { O(i) +=! A(I(i), d) where d > 0 }")

    told = str(kernel.at(i=1)(A, np.array([0, 7], "int32")))

    assert "O[1] = 5.25    at i = 1: 3 points, 1 without a part\n" in told
    assert "  d = 0: takes no part\n    (d > 0) = False\n" in told
    assert "  d = 1: A[3, 1] = 2.5    clamped: A[7, 1] is outside, so far 2.5\n    I[1] = 7\n" in told


def test_a_branch_that_is_not_taken_is_not_told() -> None:
    kernel = tcjax.kernel("def f(float(N) a) -> (B) { B(i) = i > 0 ? a(i-1) : -1.0 where i in 0:N }")

    first, second = (str(kernel.at(i=i)(np.array([5, 6], "float32"))) for i in (0, 1))

    assert "condition is false" in first and "a[-1]" not in first and "a[0]" not in first
    assert "a[0] = 5" in second


def test_all_points_that_reach_an_element_of_a_scatter_are_told() -> None:
    kernel = tcjax.kernel("def h(int32(N) b, float(N) w) -> (float(B) H) { H(b(i)) +=! w(i) }")
    bins, weights = np.array([1, 0, 1, 1], "int32"), np.array([1, 2, 3, 4], "float32")

    told = kernel.at(1)(bins, weights, B=3)

    assert told.value == 8
    assert [part["label"] for part in told.to_dict()["parts"]] == ["i = 0", "i = 2", "i = 3"]
    assert str(kernel.at(2)(bins, weights, B=3)) == "H[2] = 0    never written"


def test_an_initial_value_comes_before_the_points() -> None:
    with pytest.warns(tcjax.CompileWarning):
        kernel = tcjax.kernel("def f(float(N) x) -> (S) { S += x(i) }")

    told = kernel.at()(np.ones(2, "float32"), S=np.float32(5))

    assert told.value == 7
    assert "before: S = 5    initial value" in str(told)


def test_elements_of_called_definitions_are_followed() -> None:
    lib = tcjax.load(
        "def twice(float(M) A) -> (O) { O(i) = A(i) * 2 }"
        "def net(float(M) A) -> (P, O) { O = twice(A)  P(i-1) = O(i) + 1 }"
    )

    inner, outer = lib.net.at("O", i=2)(A[:, 0]), lib.net.at("P", i=2)(A[:, 0])

    assert (inner.value, outer.value) == (3, 4)
    assert str(outer).startswith("P[1] = 4    at i = 2\n")
    assert "O[2] = 3    by twice" in str(outer) and "A[2] = 1.5" in str(outer)


def test_a_sac_program_is_told() -> None:
    told = tcjax.kernel("{ [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }").at(i=1, j=2)(A, B)

    assert told.value == (A @ B)[1, 2]
    assert "k = 2" in str(told)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("def f(float(N,M) x) -> (O) { O(i) mean=! x(i,j) }", (1,)),
        ("def f(float(N,M) x) -> (O) { O(i) argmax=! x(i,j) }", (2,)),
        ("def f(float(N,M) x) -> (O) { O(i,r) = mink[j](x(i,j), r) where r in 0:2 }", (1, 1)),
        ("def f(float(N,M) x) -> (O) { O(2*i+j) = x(i,j) where j in 0:2 }", (5,)),
        ("def f(half(N,M) x) -> (O) { O(i) +=! x(i,j) * x(i,j) }", (0,)),
        ("def f(float(N,M) x) -> (O) { O(i,j) = int32(x(i,j) * 3) / 2 }", (3, 1)),
        ("def f(float(N,M) x) -> (O) { O(i,j) = x(i,j)  O(i,0) max= x(i,j) }", (3, 0)),
    ],
)
def test_the_value_is_the_interpreters(text: str, place: tuple[int, ...]) -> None:
    kernel = tcjax.kernel(text)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float16" if "half" in text else "float32")

    told = kernel.at(*place)(x)

    assert told.value == kernel.interpret(x)[place]
    assert len(str(told).splitlines()) > 1


def test_it_is_plain_data_and_a_page() -> None:
    told = tcjax.kernel(MM).at(m=0, n=1)(A, B)

    data = json.loads(json.dumps(told.to_dict()))

    assert data["text"] == "C[0, 1]" and len(data["parts"]) == 3
    assert data["parts"][1]["parts"][0] == {"text": "A[0, 1]", "value": 0.25}
    assert "<details>" in told._repr_html_() and "A[0, 1] = 0.25" in told._repr_html_()


@pytest.mark.parametrize(
    ("where", "indices", "said"),
    [
        ((), {"m": 3}, "nothing says what `n` is"),
        ((), {"m": 3, "j": 2}, "`j` is not an index of `C`"),
        ((), {"m": 4, "n": 0}, r"there is no C\[4, 0\]: dimension 0 runs from 0 to below 4"),
        ((0, -1), {}, r"there is no C\[0, -1\]"),
        ((1,), {}, "`C` has 2 dimensions, and 1 numbers were given"),
        ((1, 2), {"m": 1}, "by indices or by numbers, not by both"),
        (("D", 1, 2), {}, "`D` is not a result of `mm`"),
        ((1.5, 2), {}, "1.5 is not the position of an element"),
        ((), {"m": True, "n": 0}, "True is not the position"),
    ],
)
def test_what_is_no_element_is_an_error(where: tuple, indices: dict, said: str) -> None:
    with pytest.raises(tcjax.CompileError, match=said) as raised:
        tcjax.kernel(MM).at(*where, **indices)(A, B)

    assert raised.value.code == "TC0707"


def test_of_several_results_one_is_named() -> None:
    kernel = tcjax.kernel("def f(float(N) x) -> (P, Q) { P(i) = x(i)  Q(i) = x(i) }")

    with pytest.raises(tcjax.CompileError, match=r'write k\.at\("P", \.\.\.\) or k\.at\("Q", \.\.\.\)'):
        kernel.at(i=0)(A[0])
