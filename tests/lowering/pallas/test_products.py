"""Which sums of products are matrix products of tiles: the factors are those that planning sees."""

import pytest

import tcjax
from tcjax import ir
from tcjax.lowering.pallas_triton.products import as_product


@pytest.mark.parametrize(
    "body",
    (
        "A(i,k) * B(j,k)",
        "-(A(i,k) * B(j,k))",
        "A(i,k) * B(j,k) / 8.0",
        "A(i,k) / B(j,k)",
        "0.5 * (A(i,k) * (W(i) * B(j,k)))",
        "k < 7 ? A(i,k) * B(j,k) : 0.0",
    ),
)
def test_a_product_is_a_product_however_it_is_written(body: str) -> None:
    kernel = tcjax.kernel(
        f"def f(float(N,K) A, float(M,K) B, float(N) W) -> (O) {{ O(i,j) = sum[k](W(i) > 0 ? {body} : 0.0) }}"
    )
    (statement,) = kernel.ir().statements
    assert isinstance(statement, ir.Define) and isinstance(statement.value, ir.Reduce)
    i, j = (index.bare for index in statement.indices)

    assert as_product(statement.value, statement.value.indices[0], i, j, 16) is not None
