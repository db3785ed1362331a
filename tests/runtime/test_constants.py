"""``consts``: names of a program that stand for numbers."""

import copy
import pickle
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tests.effort import examples, phases

X = np.arange(12, dtype=np.float32)


def mistake(source: Any, **options: Any) -> tcjax.CompileError:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(source, **options)
    return caught.value


@pytest.mark.parametrize(
    "value", [2, 2.5, True, np.int32(2), np.float32(2.5), np.uint8(2), np.bool_(True), 2 - 3j, np.complex64(2 - 3j)]
)
def test_a_constant_is_the_literal_that_has_its_value(value: Any) -> None:
    kernel = tcjax.kernel("y(i) = s * x(i)", consts={"s": value})

    expected = X * complex(value) if isinstance(value, complex | np.complexfloating) else X * float(value)
    np.testing.assert_allclose(np.asarray(kernel(X)), expected)
    np.testing.assert_allclose(kernel.interpret(X), expected)


def test_a_constant_stands_in_subscripts_ranges_guards_lets_and_brackets() -> None:
    kernel = tcjax.kernel(
        "y(i) = top + sum[k in 0:width where k != hole](x(stride*i + k)) where i in 0:n, i < most, top = 2*base",
        consts={"width": 3, "stride": 2, "n": 5, "hole": 1, "most": 4, "base": 10},
    )

    expected = [20 + X[2 * i] + X[2 * i + 2] for i in range(4)] + [0]
    np.testing.assert_allclose(np.asarray(kernel(X)), expected)


def test_a_constant_is_an_extent_that_only_a_result_or_a_temporary_has() -> None:
    counts = tcjax.kernel(
        "def counts(int32(N) bin) -> (int32(B) h) { int32(B) t  t(b) = 1 where b in 0:B  h(bin(i)) +=! t(bin(i)) }",
        consts={"B": 3},
    )

    np.testing.assert_array_equal(np.asarray(counts(np.array([0, 2, 2], np.int32))), [1, 0, 2])


def test_constants_are_weak_as_literals_are() -> None:
    kernel = tcjax.kernel("y(i) = s * x(i)", consts={"s": np.float64(0.5)})

    assert kernel(X.astype(np.float16)).dtype == np.float16
    assert kernel(jnp.asarray(X, jnp.bfloat16)).dtype == jnp.bfloat16


def test_signs_infinities_and_what_is_no_number_stay() -> None:
    consts = {"s": -2, "zero": -0.0, "inf_": float("inf"), "nan_": float("nan")}
    kernel = tcjax.kernel(
        "a(i) = x(i) - s  b(i) = copysign(x(i) + 1, zero)  c(i) = x(i) - inf_  d(i) = x(i) + nan_", consts=consts
    )

    a, b, c, d = kernel(X)

    np.testing.assert_allclose(a, X + 2)
    np.testing.assert_allclose(b, -X - 1)
    assert np.all(np.isneginf(c))
    assert np.all(np.isnan(d))


def test_constants_are_in_what_a_kernel_prints_pickles_and_becomes() -> None:
    kernel = tcjax.kernel("y(i) = s * x(st*i) * x(st*i) where i in 0:n", consts={"s": 1.5, "st": 2, "n": 3})

    expected = 1.5 * X[:6:2] ** 2
    others = [
        pickle.loads(pickle.dumps(kernel)),
        copy.deepcopy(kernel),
        tcjax.kernel(str(kernel)),
        tcjax.kernel(kernel.to("sac")),
        kernel.with_schedule(kernel.schedule()),
    ]
    for other in others:
        np.testing.assert_allclose(np.asarray(other(X)), expected)
    gradient = jax.grad(lambda x: kernel(x).sum())(jnp.asarray(X))
    adjoint = kernel.adjoint()(X, np.ones(3, np.float32))
    np.testing.assert_allclose(gradient, np.where(np.isin(X, X[:6:2]), 3 * X, 0))
    np.testing.assert_allclose(np.asarray(adjoint), gradient)
    exported = kernel.export(jax.ShapeDtypeStruct((12,), np.float32))
    np.testing.assert_allclose(np.asarray(exported.call(X)), expected)


def test_other_constants_are_another_kernel() -> None:
    kernels = [tcjax.kernel("y(i) = s * x(i)", consts={"s": s}) for s in (2, 3)]

    assert [float(kernel(X)[1]) for kernel in kernels] == [2, 3]


def test_all_definitions_of_a_text_see_the_constants() -> None:
    both = tcjax.load(
        "def f(float(N) x) -> (y) { y(i) = s * x(i) } def whole(float(N) x) -> (z) { t = f(x) z(i) = t(i) + s }",
        consts={"s": 0.5},
    )

    np.testing.assert_allclose(np.asarray(both.whole(X)), 0.5 * X + 0.5)


def test_functions_take_constants_before_what_surrounds_them() -> None:
    s = 7

    @tcjax.kernel(consts={"s": 2, "n": 4})
    def scaled(x: "float(N)"):
        for i in range(n):
            y[i] = s * x[i]
        return y

    assert s == 7
    np.testing.assert_allclose(np.asarray(scaled(X)), 2 * X[:4])


def test_a_docstring_takes_constants() -> None:
    @tcjax.kernel(consts={"s": 2})
    def scaled(x):
        """y(i) = s * x(i)"""

    np.testing.assert_allclose(np.asarray(scaled(X)), 2 * X)


def test_sac_takes_constants() -> None:
    kernel = tcjax.kernel("{ [i] -> s * x[st * i] | [0] <= [i] < [n] }", consts={"s": -1.5, "st": 2, "n": 4})

    np.testing.assert_allclose(np.asarray(kernel(X)), -1.5 * X[:8:2])
    assert [p.name for p in kernel._frontend.parameters] == ["x"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("y(s) = x(s)", "s"),
        ("y(i) = sum[s](x(s)) where i in 0:2", "s"),
        ("y(i) = x(i) where s in 0:2, i < s", "s"),
        ("y(i) = s * x(i) where s = 2", "s"),
        ("s(i) = x(i)  y(i) = s(i)", "s"),
        ("def f(float(s) x) -> (y) { y(i) = x(i) }", "s"),
        ("def f(float s, float(N) x) -> (y) { y(i) = s * x(i) }", "s"),
        ("y(i) = s() * x(i)", "s"),
        ("{ [s] -> x[s] }", "s"),
        ("s = 2; { [i] -> s * x[i] }", "s"),
        ("float[n] f(float[s] x) { return { [i] -> x[i] }; }", "s"),
    ],
)
def test_a_constant_with_a_name_that_the_text_declares_is_refused(text: str, name: str) -> None:
    error = mistake(text, consts={name: 2})

    assert error.code == "TC0202"
    assert name in error.message and name in error.help


@pytest.mark.parametrize("text", ["y(i) = scale * x(i)", "{ [i] -> scale * x[i] }"])
def test_a_constant_that_nothing_uses_is_refused(text: str) -> None:
    error = mistake(text, consts={"scale": 2, "scales": 2})

    assert error.code == "TC0201"
    assert "did you mean `scale`" in error.help


@pytest.mark.parametrize(
    "consts",
    [
        3,
        ["s"],
        {"s": "2"},
        {"s": None},
        {"s": np.ones(2)},
        {"s": np.ones(())},
        {"s": np.timedelta64(3, "s")},
        {"s": 2**64},
        {"s": 10**5000},
        {"s": jnp.float32(2)},
        {2: 2},
        {"2s": 2},
        {"exp": 2},
        {"float": 2},
        {"inf": 2},
    ],
)
def test_what_is_no_number_under_a_name_is_refused(consts: Any) -> None:
    assert mistake("y(i) = s * x(i)", consts=consts).code == "TC0308"


def test_mistakes_with_constants_are_those_of_literals() -> None:
    assert mistake("def f(float(N) x) -> (y) { y(i) = x(s*i) }", consts={"s": 2.5}).kind == "type"
    assert mistake("def f(float(N) x) -> (float(B) y) { y(i) = x(i) }", consts={"B": -1}).code == "TC0303"
    assert mistake("{ [i] -> s * x[i] }", consts={"s": 2j}).code == "TC0301"


@given(
    st.fixed_dictionaries({"a": st.integers(-3, 3), "b": st.integers(0, 3), "c": st.floats(-4, 4, width=16)}),
    st.sampled_from(
        ["a*x(i+b) + c", "(x(i) > c ? a : b) * x(i)", "sum[k in 0:b+1](x(i+k)) - c/2.0", "pow(x(i), b) * a"]
    ),
)
@settings(max_examples=examples(5), phases=phases())
def test_a_program_with_constants_is_the_program_with_their_values_in_parentheses(
    consts: dict[str, int | float], value: str
) -> None:
    used = {name: number for name, number in consts.items() if name in value}
    written = value
    for name, number in used.items():
        written = "".join(f"({number!r})" if part == name else part for part in _words(written))

    named = tcjax.kernel(f"y(i) = {value} where i in 0:4", consts=used)
    plain = tcjax.kernel(f"y(i) = {written} where i in 0:4")

    np.testing.assert_array_equal(named.interpret(X), plain.interpret(X))
    np.testing.assert_array_equal(np.asarray(named(X)), np.asarray(plain(X)))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|\W", text)
