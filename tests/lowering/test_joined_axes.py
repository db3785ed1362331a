"""Products of arrays with contiguous axes, which become one axis of a matrix that XLA need not copy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tcjax
from tcjax.lowering.reductions import side_by_side
from tcjax.symbolic import IndexVar

# Axes of both operands and of the result; `label` is their layout.
PRODUCTS = (
    "bj,nij->bni",
    "bij,nij->bn",
    "bij,nji->bn",
    "abcd,ecd->abe",
    "abcd,cde->eab",
    "bhqk,bkhe->bqhe",
    "zabc,zdab->zcd",
    "abc,abc->",
    "ab,cd->abcd",
    "abc,cd->adb",
    "cd,abc->adb",
    "zab,zbc->czab",
    "zbhk,zbkhe->zeb",
)
SIZES = dict(zip("abcdehijknqz", (2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7, 3), strict=True))


def operands(labels: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    inputs = labels.split("->")[0].split(",")
    return [rng.standard_normal([SIZES[axis] for axis in own]).astype(np.float32) for own in inputs]


@pytest.mark.parametrize("labels", PRODUCTS)
def test_products_and_their_derivatives_are_those_of_numpy(labels: str) -> None:
    arrays = operands(labels)
    (first, second), result = labels.split("->")[0].split(","), labels.split("->")[1]

    def run(a: jax.Array, b: jax.Array) -> jax.Array:
        return tcjax.einsum(labels, a, b)

    found, back = jax.vjp(run, *map(jnp.asarray, arrays))
    weight = np.random.default_rng(1).standard_normal(found.shape)
    moved = back(jnp.asarray(weight, jnp.float32))

    a, b = (array.astype(np.float64) for array in arrays)
    np.testing.assert_allclose(found, np.einsum(labels, a, b), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moved[0], np.einsum(f"{result},{second}->{first}", weight, b), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(moved[1], np.einsum(f"{result},{first}->{second}", weight, a), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("labels", PRODUCTS)
def test_the_text_of_a_product_agrees_with_its_interpreter(labels: str) -> None:
    arrays = operands(labels)
    inputs, result = labels.split("->")
    reads = [f"{name}({','.join(own)})" for name, own in zip("AB", inputs.split(","), strict=True)]
    kernel = tcjax.kernel(f"O({','.join(result)}) +=! {' * '.join(reads)}" if result else f"O +=! {' * '.join(reads)}")

    np.testing.assert_allclose(kernel(*arrays), kernel.interpret(*arrays), rtol=1e-4, atol=1e-4)


def test_no_operand_is_copied_for_its_order() -> None:
    kernel = tcjax.kernel("O(b,n) +=! x(b,i,j) * W(n,i,j)")
    shapes = jax.ShapeDtypeStruct((64, 32, 32), jnp.float32), jax.ShapeDtypeStruct((48, 32, 32), jnp.float32)

    analysis = jax.jit(kernel).lower(*shapes).compile().memory_analysis()

    assert analysis is not None and analysis.temp_size_in_bytes == 0


def names(text: str) -> tuple[IndexVar, ...]:
    return tuple(map(IndexVar, text))


ORDERS = st.lists(st.permutations("abcdef").flatmap(lambda axes: st.integers(0, 6).map(lambda n: axes[:n])), min_size=1)


@given(ORDERS)
def test_a_run_is_in_an_array_as_a_whole_or_not_at_all(orders: list[list[str]]) -> None:
    texts = ["".join(axes) for axes in orders]

    runs = ["".join(map(str, run)) for run in side_by_side([names(text) for text in texts])]

    assert sorted("".join(runs)) == sorted(set("".join(texts)))
    for text in texts:
        for run in runs:
            assert run in text or not set(run) & set(text)
    # No two of them can be merged.
    for first in runs:
        for second in runs:
            joined = first + second
            apart = any((set(joined) & set(text)) and joined not in text for text in texts)
            assert first == second or apart


def test_axes_that_lie_side_by_side_are_one() -> None:
    found = side_by_side([names("bij"), names("nij"), names("bn")])

    assert found == [names("b"), names("ij"), names("n")]
