"""Programs as one line of Unicode per statement, as an editor shows them under the cursor."""

import warnings

import pytest

import tcjax
from tcjax.typesetting import plain, typeset

# A statement, and the line that a person would write for it.
LINES = [
    ("C(m,n) +=! A(m,k) * B(k,n)", "C[m, n] = ∑[k] A[m, k] · B[k, n]"),
    ("D(i,j) +=! (X(i,d) - Y(j,d)) * (X(i,d) - Y(j,d))", "D[i, j] = ∑[d] (X[i, d] - Y[j, d])²"),
    ("y(i) = x(i) / (x(i) + 1.0)", "y[i] = x[i] / (x[i] + 1)"),
    ("y(i) = (x(i) + 1.0) / x(i) * z(i)", "y[i] = (x[i] + 1) / x[i] · z[i]"),
    ("y(i) = sqrt(x(i)) + fabs(x(i))", "y[i] = √(x[i]) + |x[i]|"),
    ("y(i) = cbrt(x(i)) + pow(x(i), 0.5*x(i))", "y[i] = ∛(x[i]) + (x[i])^(0.5 · x[i])"),
    ("y(i) = x(i) * 0.00001", "y[i] = x[i] ⋅ 10⁻⁵"),
    ("y(i) +=! x(2*i + k) where k in 0:2", "y[i] = ∑[0 ≤ k < 2] x[2i + k]"),
    ("y(i) +=! A(i,k) where k <= i", "y[i] = ∑[k, k ≤ i] A[i, k]"),
    ("y(i) = x(i) where 2 <= i, i < 5", "y[i] = { x[i] if 2 ≤ i < 5; 0 otherwise }"),
    ("y(i) = x(i/4) where i in 0:8", "y[i] = x[⌊i / 4⌋]  0 ≤ i < 8"),
    ("H(I(i)) +=! 1.0", "H[I[i]] += 1  for all i"),
    ("y(i) = sum[k](A(i,k)) * x(i)", "y[i] = (∑[k] A[i, k]) · x[i]"),
    ("y(i) logsumexp=! x(i,j)", "y[i] = log ∑[j] exp(x[i, j])"),
    ("alpha(i) any=! x(i,j) > 0.0", "α[i] = ⋁[j] (x[i, j] > 0)"),
]


@pytest.mark.parametrize("text, expected", LINES)
def test_a_statement_is_one_readable_line(text: str, expected: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        function = tcjax.kernel(text, dialect="tc")._frontend.likely

    assert function is not None
    assert plain(typeset(function)) == expected
