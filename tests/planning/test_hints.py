"""Hints: given where they apply; what they advise computes the same, and is the better form."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

N = 2048
DISTANCES = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def hints(text: str, *arguments: Any) -> list[str]:
    told = tcjax.kernel(text).explain(*arguments).to_dict()["statements"]
    return [hint for statement in told for hint in statement["hints"]]


@pytest.mark.parametrize(
    "body",
    [
        "O(i) logsumexp=! x(j) where i in 0:N, j in 0:i+1",
        "O(i) +=! x(j) where i in 0:N",
        "O(i) +=! x(j) where j <= i, i - 5 <= j, i in 0:N",
        "O(i) +=! x(j) * x(i - j) where j <= i, i in 0:N",
        "O(i) max=! x(i) * x(j) where j <= i",
        "O(i) +=! exp(x(i) - x(j)) where j <= i",
        "O(i) +=! x(j) where j <= 2 * i, i in 0:N",
        "O(i) +=! x(j) where j <= i && x(i) > 0.0",
    ],
)
def test_prefixes_and_other_reductions_have_no_hint(body: str) -> None:
    assert not hints(f"def f(float(N) x) -> (O) {{ {body} }}", floats(N))


@pytest.mark.parametrize(
    ("body", "side"),
    [
        ("O(i) +=! 1 where y(j) <= x(i)", "right"),
        ("O(i) = sum[j](int32(y(j) < x(i)))", "left"),
        ("O(i) = sum[j](y(j) <= x(i) ? 1.0 : 0.0)", "right"),
    ],
)
def test_counting_what_is_smaller_is_a_search(body: str, side: str) -> None:
    text = f"def f(float(N) x, float(M) y) -> (O) {{ {body} }}"

    (hint,) = hints(text, floats(N), floats(N))

    assert hint == (
        "linear in M and N: all pairs are compared; outside of the kernel, `jnp.searchsorted(jnp.sort(y), ...)` finds "
        "each count in a sorted `y`"
    )
    x, y = np.random.default_rng(0).integers(0, 20, (2, 50)).astype(np.float32)
    expected = np.searchsorted(np.sort(y), x, side=side)  # type: ignore[call-overload]
    np.testing.assert_array_equal(tcjax.kernel(text)(x, y), expected)


@pytest.mark.parametrize(
    "body",
    [
        "O(i) +=! y(j) where y(j) <= x(i)",
        "O(i) +=! 1 where y(j) == x(i)",
        "O(i) +=! 1 where y(j) + x(j) <= x(i)",
        "O +=! 1 where y(j) <= 0.5",
    ],
)
def test_other_counts_are_no_searches(body: str) -> None:
    assert not hints(f"def f(float(N) x, float(M) y) -> (O) {{ {body} }}", floats(N), floats(N))


def test_hints_and_growth_are_printed() -> None:
    text = "def f(float(N) x, float(N) y) -> (O) { O(i) +=! 1 where y(j) <= x(i) }"
    explained = tcjax.kernel(text).explain(floats(N), floats(N))

    assert "\n  grows      operations quadratic in N; bytes stored linear in N\n" in str(explained)
    assert "\n  hint       quadratic in N: all pairs are compared; " in str(explained)
    page = explained._repr_html_()
    assert "Operations grow: quadratic in N." in page and "Hint: " in page and "all pairs are compared" in page
