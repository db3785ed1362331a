"""Which sums are computed by matrix products, forward and in derivatives."""

import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import Contract, Fold, LoopNest, Node, groups, sums_products
from tcjax.planning.data.stages import Compute

SLABS = "def f(float(M,X,K) A, float(M,Y,K) B) -> (O) { O(x,y) +=! A(m,x,k) * B(m,y,k) }"
SMALL = "def f(float(M,K,L) A, float(X,K) W) -> (O) { O(m,x,l) +=! A(m,k,l) * W(x,k) }"
ROWS = "def f(float(M,N,K) A, float(X,K) W) -> (O) { O(m,n,x) +=! A(m,n,k) * W(x,k) }"
MATRICES = "def f(float(X,K) A, float(K,Y) B) -> (O) { O(x,y) +=! A(x,k) * B(k,y) }"


def value(text: str, *shapes: tuple[int, ...], dtype: type = np.float32) -> Node:
    (stage,) = tcjax.kernel(text).plan(*(np.zeros(shape, dtype) for shape in shapes)).stages
    assert isinstance(stage, Compute)
    return stage.value


def test_slabs_of_two_tensors_are_multiplied_one_by_one_and_nothing_is_transposed() -> None:
    node = value(SLABS, (256, 16, 256), (256, 32, 256))
    assert isinstance(node, Fold) and sums_products(node)
    assert isinstance(node.operand, Contract)
    batch, summed, left, right = (tuple(map(str, axes)) for axes in groups(node.operand))
    assert (batch, summed, left, right) == (("m",), ("k",), ("x",), ("y",))


def test_an_explanation_foretells_no_memory_for_the_products_of_slabs() -> None:
    arrays = np.zeros((256, 16, 256), np.float32), np.zeros((256, 32, 256), np.float32)
    assert tcjax.kernel(SLABS).explain(*arrays).to_dict()["temporary_bytes"] == 0


def test_integers_are_one_product() -> None:
    node = value(SLABS.replace("float(", "int32("), (256, 16, 256), (256, 32, 256), dtype=np.int32)
    assert isinstance(node, Contract)


def test_what_lies_between_two_products_is_multiplied_from_the_side_that_copies_nothing() -> None:
    chain = "def f(float(I,J) A, float(J,K) B, float(K,L) C) -> (O) { O(i,l) +=! A(i,j) * B(j,k) * C(k,l) }"
    turned = chain.replace("O(i,l) +=!", "O(i,l) = sum[k, j]").replace(
        "A(i,j) * B(j,k) * C(k,l)", "(C(k,l) * B(j,k) * A(i,j))"
    )

    for text in (chain, turned):
        node = value(text, (512, 256), (256, 384), (384, 128))
        assert isinstance(node, Contract)
        inner = node.operands[1]
        assert isinstance(inner, Contract)
        assert [getattr(operand, "tensor", None) for operand in (node.operands[0], *inner.operands)] == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (SLABS, ((256, 16, 256), (256, 32, 256))),
        (SMALL, ((256, 32, 256), (16, 32))),
        (ROWS, ((1024, 256, 32), (16, 32))),
    ],
    ids=["slabs", "a small matrix times slabs", "many rows times a small matrix"],
)
def test_a_derivative_is_planned_where_other_products_than_jaxs_are_cheaper(
    text: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    node = value(text, *shapes)
    assert isinstance(node, (Contract, Fold)) and isinstance(node.derivative, LoopNest)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [(MATRICES, ((512, 512), (512, 512))), (ROWS, ((8, 64, 512), (512, 512)))],
    ids=["matrices", "rows times a large matrix"],
)
def test_jax_differentiates_a_product_that_has_no_better_derivative(
    text: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    node = value(text, *shapes)
    assert isinstance(node, Contract) and node.derivative is None


COLUMNS = "def f(float(K,X) A, float(K,Y) B) -> (O) { O(x,y) +=! A(k,x) * B(k,y) }"


@pytest.mark.parametrize("text", [COLUMNS, COLUMNS.replace("A(k,x) * B(k,y)", "B(k,y) * A(k,x)")])
def test_a_matrix_whose_long_columns_are_summed_is_copied_before_it_is_multiplied(text: str) -> None:
    node = value(text, (1024, 512), (1024, 16))
    assert isinstance(node, Contract) and node.copied
    batch, summed, left, right = (tuple(map(str, axes)) for axes in groups(node))
    assert (batch, summed, left, right) == ((), ("k",), ("x",), ("y",))


@pytest.mark.parametrize(
    ("text", "shapes", "dtype"),
    [
        pytest.param(COLUMNS, ((1024, 500), (1024, 16)), np.float32, id="rows the cache holds many of"),
        pytest.param(COLUMNS, ((1021, 512), (1021, 16)), np.float32, id="a prime number of terms"),
        pytest.param(COLUMNS, ((1024, 512), (1024, 1)), np.float32, id="a vector"),
        pytest.param(MATRICES, ((512, 1024), (1024, 16)), np.float32, id="rows are summed"),
        pytest.param(COLUMNS.replace("float(", "int32("), ((1024, 512), (1024, 16)), np.int32, id="integers"),
    ],
)
def test_other_matrices_are_multiplied_as_they_lie(text: str, shapes: tuple[tuple[int, ...], ...], dtype: type) -> None:
    node = value(text, *shapes, dtype=dtype)
    assert not (isinstance(node, Contract) and node.copied)


def test_an_explanation_foretells_the_copy_of_a_matrix() -> None:
    arrays = np.zeros((1024, 512), np.float32), np.zeros((1024, 16), np.float32)
    assert tcjax.kernel(COLUMNS).explain(*arrays).to_dict()["temporary_bytes"] == arrays[0].nbytes


CHAIN = "def f(float(M,I) A, float(I,J) B, float(J,N) C) -> (O) { O(m,n) +=! A(m,i) * B(i,j) * C(j,n) }"


@pytest.mark.parametrize(
    ("text", "shapes", "turned"),
    [
        pytest.param(MATRICES, ((1024, 512), (512, 16)), (False, True), id="few columns"),
        pytest.param(ROWS.replace("W(x,k)", "W(k,x)").replace("X,K", "K,X"), ((512, 2, 512), (512, 64)), (False, True)),
        pytest.param(MATRICES, ((1024, 512), (512, 512)), (False, False), id="as many columns as rows"),
        pytest.param(MATRICES, ((256, 1024), (1024, 256)), (False, False), id="a cotangent read across rows"),
        pytest.param(MATRICES, ((1024, 512), (512, 128)), (False, True), id="longer rows"),
        pytest.param(MATRICES, ((1024, 500), (500, 16)), (False, False), id="rows the cache holds many of"),
        pytest.param(MATRICES, ((1024, 64), (64, 512)), (False, False), id="short rows"),
    ],
)
def test_what_a_matrix_of_few_columns_receives_is_multiplied_turned(
    text: str, shapes: tuple[tuple[int, ...], ...], turned: tuple[bool, bool]
) -> None:
    node = value(text, *shapes)
    assert isinstance(node, Contract) and node.turned == turned


def test_products_within_a_product_are_turned_too() -> None:
    node = value(CHAIN, (512, 1024), (1024, 512), (512, 16))
    assert isinstance(node, Contract) and node.turned == (False, True)
    inner = node.operands[1]
    assert isinstance(inner, Contract) and inner.turned == (False, True)
