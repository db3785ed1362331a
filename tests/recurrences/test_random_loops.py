"""Random loops: the compiled kernel against the interpreter, its gradient against the interpreter's differences."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings

import tcjax
from tests.effort import examples, phases
from tests.strategies.programs import Case
from tests.strategies.recurrences import recurrences, texts


@given(recurrences())
@settings(max_examples=examples(12), phases=phases(), deadline=None)
def test_a_random_loop_computes_what_the_interpreter_does(program: Case) -> None:
    kernel = tcjax.kernel(program.text)

    wanted = kernel.interpret(**program.arguments)

    for one, other in zip(kernel(**program.arguments), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


@given(recurrences())
@settings(max_examples=examples(4), phases=phases(), deadline=None)
def test_a_random_loop_has_the_derivative_of_its_steps_in_python(program: Case) -> None:
    """Chunks of steps, and rows before the loop treated as steps, do not change results."""
    plain, small = tcjax.kernel(program.text), tcjax.kernel(program.text, memory_limit=2**30)
    x, W, q = program.arguments.values()

    def total(kernel, x, W):
        return sum(
            (jnp.sum(result * (1 + jnp.arange(result.size).reshape(result.shape)))) for result in kernel(x, W, q)
        )

    one = jax.grad(lambda x, W: total(plain, x, W), (0, 1))(x, W)
    two = jax.grad(lambda x, W: total(small, x, W), (0, 1))(x, W)
    tangent = jax.jvp(lambda x, W: total(plain, x, W), (x, W), (np.ones_like(x), np.ones_like(W)))[1]

    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    assert all(np.isfinite(each).all() for each in one)
    np.testing.assert_allclose(tangent, sum(float(each.sum()) for each in one), rtol=1e-3, atol=1e-3)


@given(texts())
@settings(max_examples=examples(20), phases=phases(), deadline=None)
def test_a_random_loop_reads_back_from_tc_and_python(text: str) -> None:
    kernel = tcjax.kernel(text)

    assert str(tcjax.kernel(str(kernel))) == str(kernel)
    assert tcjax.kernel(kernel.to("tc")).ir() == kernel.ir()
    assert "for t in range(" in kernel.to("python")
