"""Invalid loops, and what loops cannot do: with a position and something to write instead."""

import jax
import numpy as np
import pytest

import tcjax

X = np.ones(5, np.float32)
HEAD = "def f(float(N) x, int32(N) q) -> (y) {{ {} }}"
LINEAR = "def f(float(N) x) -> (y) { y(0) = x(0) for t in 1:N { y(t) = 0.5 * y(t-1) + x(t) } }"

MISTAKES = {
    "a later step": ("y(i) = x(i) for t in 0:N-1 { y(t) = y(t+1) }", "TC0708", "y[1], which is written at t = 1"),
    "a later step, backwards": (
        "y(i) = x(i) for t in N-1:0:-1 { y(t) = y(t-1) }",
        "TC0708",
        "y[1], which is written at t = 1",
    ),
    "a later step, beside an element that each step writes": (
        "y(i) = x(i) for t in 1:N-1 { y(0) = y(0) + x(t) y(t) = y(t+1) }",
        "TC0708",
        "y[2], which is written at t = 2",
    ),
    "further down in the step": (
        "for t in 1:N { y(t) = z(t) z(t) = x(t) }",
        "TC0708",
        "z[1], which is written at t = 1",
    ),
    "the same step": (
        "y(i,j) = x(i) * q(j) for t in 1:N { y(t,j) = y(t,j+1) where j in 0:4 }",
        "TC0708",
        "at t = 1, j = 0",
    ),
    "data": ("y(i) = x(i) for t in 1:N { y(t) = y(q(t)) }", "TC0708", "may be written"),
    "before the tensor": ("for t in 0:N { y(t) = y(t-1) + x(t) }", "TC0701", "reads y[-1]"),
    "no step": ("for t in 0:N:0 { y(t) = x(t) }", "TC0403", "a number other than 0"),
    "the same index twice": ("for t in 0:N { for t in 0:N { y(t) = x(t) } }", "TC0202", "around this one"),
    "a range for the index": ("for t in 1:N { y(t) = x(t) where t in 0:N }", "TC0202", "one value here"),
    "a declaration": ("for t in 1:N { float(N) z y(t) = x(t) }", "TC0105", "declared inside of a `for`"),
    "a size as index": ("for N in 0:5 { y(N) = x(N) }", "TC0307", "is a size"),
    "going on from nothing": ("for t in 0:N { y(t) += x(t) }", "TC0208", "has no value before the loop"),
    "an initial value": ("y(0) += x(0) for t in 1:N { y(t) = y(t-1) }", "TC0208", "a program with a `for`"),
    "an input": ("for t in 1:N { x(t) = x(t-1) } y(0) = 1", "TC0204", "is an input"),
    "ends that depend on data": ("for t in q(0):N { y(t) = x(t) }", "TC0405", "depends on data"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_loop_is_told(name: str) -> None:
    body, code, words = MISTAKES[name]

    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(HEAD.format(body))(X, np.zeros(5, np.int32))

    assert caught.value.code == code
    assert words in caught.value.message
    assert caught.value.help
    assert caught.value.span.line == 1


def test_a_call_in_a_loop_is_refused() -> None:
    with pytest.raises(tcjax.CompileError, match="called on whole tensors inside of a `for`"):
        tcjax.load("""def g(float(N) a) -> (b) { b(i) = a(i) }
                      def f(float(N) x) -> (y) { for t in 0:3 { y = g(x) } }""")["f"](X)


def test_a_statement_that_needs_steps_is_told_its_loop_which_compiles() -> None:
    wrong = "def f(float(N) x) -> (y) { y(0) = x(0) y(t) = 0.5 * y(t-1) + x(t) where t in 1:N }"
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(wrong)(X)

    loop = caught.value.help.split("`")[1]

    assert loop == "for t in 1:N { y(t) = 0.5 * y(t-1) + x(t) }"
    right = tcjax.kernel(f"def f(float(N) x) -> (y) {{ y(0) = x(0) {loop} }}")
    np.testing.assert_allclose(right(X), tcjax.kernel(LINEAR)(X))


def test_a_read_beyond_the_steps_is_told_how_far_the_loop_may_run() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel("def f(float(N) x) -> (y) { for t in 0:N { y(t) = x(t+1) } }")(X)

    assert caught.value.code == "TC0701"
    limits = caught.value.help.split("`")[1]
    right = tcjax.kernel(f"def f(float(N) x) -> (y) {{ for {limits} {{ y(t) = x(t+1) }} }}")
    np.testing.assert_allclose(right(X), X[1:])


def test_what_a_program_with_a_loop_cannot_do_is_a_compile_error() -> None:
    kernel = tcjax.kernel(LINEAR)
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))

    for ask, code in (
        (lambda: kernel.to("sac"), "TC0109"),
        (lambda: kernel.sharded(mesh, {"t": "d"})(X), "TC0811"),
        (lambda: kernel.with_schedule(kernel.schedule().split("y.1", "t", 2))(X), "TC0801"),
    ):
        with pytest.raises(tcjax.CompileError) as caught:
            ask()
        assert caught.value.code == code
        assert caught.value.help


def test_checks_look_into_loops() -> None:
    text = "def f(float(T) x, int32(T) q) -> (y) { y(0) = x(0) for t in 1:T { y(t) = y(t-1) + x(q(t)) } }"
    kernel = tcjax.kernel(text, checked=True)

    kernel(X, np.zeros(5, np.int32))

    with pytest.raises(Exception, match="x"):
        kernel(X, np.full(5, 7, np.int32))


def test_an_element_says_that_a_loop_made_it() -> None:
    element = tcjax.kernel(LINEAR).at(t=3)(X)

    assert "by the loop over t" in str(element)


def test_a_read_of_what_a_later_step_writes_is_told_how_to_keep_the_old_values() -> None:
    wrong = "def f(float(N) x) -> (y) { y(i) = x(i) for t in 0:N-1 { y(t) = y(t) + y(t+1) } }"
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(wrong)(X)

    copy, read = caught.value.help.split("`")[-4::2]

    right = wrong.replace("for t", f"{copy} for t").replace("y(t+1)", read)
    np.testing.assert_allclose(tcjax.kernel(right)(X), [2, 2, 2, 2, 1])
