"""Boundaries on the left side of a growing tensor: they end where other statements have written."""

import numpy as np
import pytest

import tcjax

PLACES = {
    "clamp": lambda at, extent: np.clip(at, 0, extent - 1),
    "wrap": lambda at, extent: at % extent,
    "mirror": lambda at, extent: np.where(at >= extent, 2 * extent - 1 - at, at),
    "reflect": lambda at, extent: np.where(at >= extent, 2 * extent - 2 - at, at),
}


@pytest.mark.parametrize("name", sorted(PLACES))
def test_a_boundary_beside_a_loop_ends_where_the_loop_does(name: str) -> None:
    program = tcjax.kernel(
        "def f(float(T) x) -> (y) { y(i) = 0.5 * x(i)  for t in 0:T-1 { y(t) += x(t) }"
        f" y({name}(t+3)) += x(t) where t in 0:T }}"
    )
    x = np.arange(1, 6, dtype=np.float32)

    found = program.interpret(x)

    meant = 0.5 * x
    meant[:-1] += x[:-1]
    np.add.at(meant, PLACES[name](np.arange(5) + 3, 5), x)
    np.testing.assert_array_equal(found, meant)


def test_the_adjoint_of_a_loop_that_reads_beyond_an_end_is_a_program_that_runs() -> None:
    program = tcjax.kernel(
        "def f(float(T) x) -> (h, z) { h(T-1) = x(T-1) z = 0.0 * x(0)"
        " for t in T-2:-1:-1 { z = 0.5 * z() + x(t)  h(t) = x(wrap(t+3)) + 0.5 * h(t+1) } }"
    )
    x, weights = np.arange(1, 5, dtype=np.float32), np.array([1, -2, 3, 0.5], np.float32)

    found = program.adjoint()(x, weights, np.float32(2))

    # It is linear: column by column.
    columns = [program.interpret(column) for column in np.eye(4, dtype=np.float32)]
    np.testing.assert_allclose(found, [weights @ h + 2 * z for h, z in columns], rtol=1e-6)


def test_a_boundary_alone_says_no_extent() -> None:
    with pytest.raises(tcjax.CompileError, match="nothing says how large dimension 0 of `y` is") as caught:
        tcjax.kernel("def f(float(T) x) -> (y) { y(0) = x(0) for t in 1:T { y(wrap(t)) = x(t) } }").ranges(np.ones(3))

    assert caught.value.code == "TC0401"
