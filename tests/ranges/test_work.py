"""The work of binding does not depend on array sizes, and is linear in the number of statements."""

import pytest

from tcjax.ranges import bind
from tests.work import calls

from .texts import function

PRODUCT = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
CONVOLUTION = """def conv(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {
    O(n,m,h,w) +=! I(n,c,2*h+kh,2*w+kw) * W1(m,c,kh,kw)
}"""


@pytest.mark.parametrize(
    ("text", "small", "large"),
    [
        (PRODUCT, {"A": (3, 4), "B": (4, 5)}, {"A": (3000, 40_000), "B": (40_000, 500_000)}),
        (
            CONVOLUTION,
            {"I": (2, 3, 9, 8), "W1": (4, 3, 3, 3)},
            {"I": (200, 300, 9000, 8000), "W1": (4, 300, 3, 3)},
        ),
    ],
)
def test_large_arrays_are_bound_with_the_work_of_small_ones(text: str, small: dict, large: dict) -> None:
    defined = function(text)
    bind(defined, small)

    assert calls(lambda: bind(defined, large)) <= 1.5 * calls(lambda: bind(defined, small))


def test_work_grows_in_proportion_to_the_statements() -> None:
    def chain(length: int) -> int:
        statements = " ".join(f"T{n + 1}(i) = T{n}(i) + 1" for n in range(length))
        defined = function(f"def f(float(N) A) -> (T{length}) {{ T0(i) = A(i) {statements} }}")
        return calls(lambda: bind(defined, {"A": (10,)}))

    chain(2)
    assert chain(80) < 3 * chain(40)
