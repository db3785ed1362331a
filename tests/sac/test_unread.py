"""Elements that no selection reaches: where the text does not say how far an index runs."""

import numpy as np
import pytest

import tcjax

A, B = np.array([1, 2, 3, 4, 5], np.float32), np.array([10, 20, 30], np.float32)
M, N = np.ones((5, 2), np.float32), np.ones((3, 4), np.float32)


def told(text: str, *arrays: np.ndarray) -> list[str]:
    with pytest.warns(tcjax.CompileWarning) as caught:
        tcjax.kernel(text, dialect="sac").ranges(*arrays)
    found = [warning.message for warning in caught]
    assert all(isinstance(each, tcjax.CompileWarning) and each.code == "TC1211" for each in found)
    return [each.message.partition(":")[0] for each in found if isinstance(each, tcjax.CompileWarning)]


@pytest.mark.parametrize(
    ("text", "arrays", "expected"),
    [
        ("{ iv -> a[iv] + b[iv] }", (A, B), ["2 of the 5 elements of `a` are never read"]),
        ("{ [i] -> b[i] + a[i] }", (A, B), ["2 of the 5 elements of `b` are never read"]),
        ("sum({ iv -> a[iv] * b[iv] })", (A, B), ["2 of the 5 elements of `a` are never read"]),
        ("{ [i] -> (a + 1)[i] * b[i] }", (A, B), ["2 of the 5 elements of `a` are never read"]),
        (
            "float[*] f(float[*] x, float[*] y) { return { iv -> x[iv] * y[iv] }; } f(a, b)",
            (A, B),
            ["2 of the 5 elements of `a` are never read"],
        ),
        (
            "{ iv -> m[iv] + n[iv] }",
            (M, N),
            [
                "4 of the 10 elements of `m` are never read, 2 of 5 along dimension 0",
                "6 of the 12 elements of `n` are never read, 2 of 4 along dimension 1",
            ],
        ),
        (
            "{ [i,j] -> sum({ [k] -> m[i,k] * n[k,j] }) }",
            (M, N),
            ["4 of the 12 elements of `n` are never read, 1 of 3 along dimension 0"],
        ),
    ],
)
def test_the_smallest_of_several_extents_leaves_elements_out(
    text: str, arrays: tuple[np.ndarray, ...], expected: list[str]
) -> None:
    assert told(text, *arrays) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{ iv -> a[iv] + b[iv] | iv < shape(b) }",
        "{ [i] -> a[i] + b[i] | [0] <= [i] < [3] }",
        "{ [i] -> a[i] + b[i] | [i] < shape(b); [i] -> a[i] }",
        "{ [i] -> a[i] + b[i]; [i] -> a[i] }",
        "{ [i] -> take([3], a)[i] + b[i] }",
        "take([3], a) + b",
        "{ [i] -> drop([2], a)[i] * b[i] }",
        "{ [i] -> i < 3 ? a[i] + b[i] : a[i] | [i] < shape(a) }",
        "{ [i] -> a[i] + sum(b) }",
        "{ [i] -> a[i] + a[i+1] + b[0] | [i] < shape(a) - 1 }",
        "{ [i] -> a[2*i] + b[i] | [i] < [3] }",
    ],
)
def test_bounds_and_parts_of_arrays_say_what_is_meant(text: str) -> None:
    kernel = tcjax.kernel(text, dialect="sac", strict=True)

    assert kernel.ranges(A, B)


def test_a_row_and_a_matrix_share_an_index_vector_over_the_rows_alone() -> None:
    kernel = tcjax.kernel("{ iv -> m[iv] * b[iv] }", strict=True)

    np.testing.assert_array_equal(kernel(np.ones((3, 4), np.float32), B), np.ones((3, 4)) * B[:, None])


def test_the_bound_that_the_help_names_is_silent() -> None:
    with pytest.warns(tcjax.CompileWarning) as caught:
        tcjax.kernel("{ [i,j] -> sum({ [k] -> m[i,k] * n[k,j] }) }")(M, N)
    assert "`| [0] <= [k] < [shape(m)[1]]`" in str(caught[0].message)

    kernel = tcjax.kernel("{ [i,j] -> sum({ [k] -> m[i,k] * n[k,j] | [0] <= [k] < [shape(m)[1]] }) }", strict=True)

    np.testing.assert_array_equal(kernel(M, N), M @ N[:2])
