"""Binding is fast enough to be done at every new shape."""

import time

from tcjax.ranges import bind

from .texts import function


def best_of(repeats: int, text: str, shapes: dict[str, tuple[int, ...]]) -> float:
    """Seconds of the fastest of some calls: what it costs when nothing else runs."""
    defined = function(text)
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        bind(defined, shapes)
        times.append(time.perf_counter() - start)
    return min(times)


def test_a_matrix_product_binds_within_a_millisecond() -> None:
    text = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"

    assert best_of(50, text, {"A": (256, 512), "B": (512, 128)}) < 1e-3


def test_a_convolution_binds_within_three_milliseconds() -> None:
    text = """def conv(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {
        O(n,m,h,w) +=! I(n,c,2*h+kh,2*w+kw) * W1(m,c,kh,kw)
    }"""

    assert best_of(50, text, {"I": (32, 64, 56, 56), "W1": (64, 64, 3, 3)}) < 3e-3
