"""Impossible arrays are refused before NumPy or XLA see them: more than 64 dimensions, more than 2**63 bytes."""

import jax
import numpy as np
import pytest

import tcjax

ONE = np.ones(3, np.float32)
FAR = "2000000000"


def indices(count: int) -> str:
    return ", ".join(f"i{n}" for n in range(count))


def brackets(depth: int, inside: str = "1") -> str:
    return "[" * depth + inside + "]" * depth


def cells(count: int, extent: int) -> str:
    """An output with this many dimensions."""
    ranges = ", ".join(f"i{n} in 0:{extent}" for n in range(1, count))
    return f"def f(float(N) A) -> (B) {{ B({indices(count)}) = A(i0) where {ranges} }}"


@pytest.mark.parametrize(
    "text",
    [
        cells(65, 1),
        cells(65, 2),
        cells(64, 2),
        cells(100, 2),
        f"def f(float(N) A) -> (B) {{ T({indices(65)}) = A(i0) where {', '.join(f'i{n} in 0:1' for n in range(1, 65))} "
        f"B(i) = T(i{', 0' * 64}) }}",
        f"def f(float(N) A) -> (B) {{ B(i0) = sum[{', '.join(f'i{n} in 0:2' for n in range(1, 66))}](A(i0)) }}",
        f"B(i,j) = A(0) where i in 0:{FAR}, j in 0:{FAR}",
        f"B(i,j,k) = A(0) where i in 0:{FAR}, j in 0:{FAR}, k in 0:{FAR}",
        f"B(i,j,k,l) = A(0) where i in 0:{FAR}, j in 0:{FAR}, k in 0:{FAR}, l in 0:0",
        f"B(i) = sum[j in 0:{FAR}, k in 0:{FAR}, l in 0:{FAR}](A(i) * (j + k + l))",
        f"B(i) +=! A(i) * (j + k + l) where j in 0:{FAR}, k in 0:{FAR}, l in 0:{FAR}",
        "B(i) = A(0) where i in 0:18446744073709551615",
        brackets(65, "A[0]"),
        brackets(100, "A[0]"),
        brackets(64, "A"),
        f"{{ [i,j,k] -> A[0] | [i,j,k] < [{FAR},{FAR},{FAR}] }}",
        f"sum({{ [i,j,k] -> A[0] | [i,j,k] < [{FAR},{FAR},{FAR}] }})",
    ],
    ids=lambda text: text[-28:],
)
def test_what_no_array_holds_is_a_mistake_of_the_program(text: str) -> None:
    kernel = tcjax.kernel(text)

    for ask in (kernel, kernel.ranges, kernel.plan, kernel.interpret):
        with pytest.raises(tcjax.CompileError) as caught:
            ask(ONE)
        assert caught.value.code == "TC0604", str(caught.value)


@pytest.mark.parametrize("text", [brackets(65), brackets(100), "[" * 100 + "]" * 100])
def test_nested_brackets_without_an_argument_are_refused_too(text: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text)()

    assert caught.value.code == "TC0604"


@pytest.mark.parametrize("shape", [(2**31 - 1,) * 3, (2**62,) * 3, (2**31 - 1, 2**31 - 1)])
def test_a_shape_that_is_passed_is_looked_at_first(shape: tuple[int, ...]) -> None:
    kernel = tcjax.kernel(f"B({indices(len(shape))}) = A({indices(len(shape))})")

    for ask in (kernel.plan, kernel.explain, lambda spec: jax.eval_shape(kernel, spec)):
        with pytest.raises(tcjax.CompileError) as caught:
            ask(jax.ShapeDtypeStruct(shape, "float32"))
        assert caught.value.code == "TC0604"


def test_64_dimensions_are_an_array() -> None:
    found = tcjax.kernel(cells(64, 1))(ONE)

    assert found.shape == (3, *[1] * 63) and np.asarray(found).sum() == 3
    assert np.asarray(tcjax.kernel("{ [i] -> A[i] | [i] < shape(A) }")(ONE)).sum() == 3


def test_sums_beside_each_other_do_not_multiply_their_points() -> None:
    sums = " + ".join(f"sum[k in 0:1000000](A(i) * k * {n})" for n in range(6))

    assert tcjax.kernel(f"B(i) = {sums}").ranges(ONE)


def test_sums_inside_each_other_multiply_their_points_where_one_changes_with_the_other() -> None:
    def nested(innermost: str) -> str:
        return f"B(i) = max[j in 0:{FAR}](A(i) - sum[k in 0:{FAR}](j - max[l in 0:{FAR}]({innermost})))"

    assert tcjax.kernel(nested("l")).ranges(ONE)
    assert tcjax.kernel(nested("l + k")).ranges(ONE)
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(nested("l + k + j")).ranges(ONE)
    assert caught.value.code == "TC0604"


@pytest.mark.parametrize("count", [65, 100])
@pytest.mark.parametrize("reduce", ["+", "min"])
def test_einsum_over_more_labels_than_dimensions_is_refused_in_words(count: int, reduce: str) -> None:
    parts = [part for n in range(count) for part in (np.ones(1, np.float32), [n])]

    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.einsum(*parts, list(range(count)), reduce=reduce)

    assert caught.value.code == "TC0604"
