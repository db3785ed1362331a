"""Type patterns: several parts of unknown rank, and names that are parameters too."""

from typing import Any

import numpy as np
import pytest

import tcjax

CUBE = np.arange(24, dtype="int32").reshape(2, 3, 4)
BODY = "{ return { iv -> a[iv] + sum(rshp) | iv < rshp ++ ishp }; }"
SPLITS = {
    "a parameter before it": ("int[*] f(int r, int[r:rshp,i:ishp] a)", lambda r: (r, CUBE)),
    "a parameter behind it": ("int[*] f(int[r:rshp,i:ishp] a, int r)", lambda r: (CUBE, r)),
    "the other part's": ("int[*] f(int[r:rshp,i:ishp] a, int i)", lambda r: (CUBE, 3 - r)),
    "both": ("int[*] f(int r, int i, int[r:rshp,i:ishp] a)", lambda r: (r, 3 - r, CUBE)),
    "an extent": ("int[*] f(int[r:rshp,i:ishp] a, int[r] q)", lambda r: (CUBE, np.zeros(r, "int32"))),
    "another array's rank": (
        "int[*] f(int[i:s] q, int[r:rshp,i:ishp] a)",
        lambda r: (np.zeros((1,) * (3 - r), "int32"), CUBE),
    ),
}


@pytest.mark.parametrize("rank", range(4))
@pytest.mark.parametrize("name", SPLITS)
def test_a_value_splits_the_axes(name: str, rank: int) -> None:
    head, arguments = SPLITS[name]

    found = tcjax.kernel(f"{head} {BODY}").interpret(*map(np.int32, arguments(rank)))

    np.testing.assert_array_equal(found, CUBE + sum(CUBE.shape[:rank]))


@pytest.mark.parametrize(
    ("call", "parameters", "arguments"),
    [
        ("g(2, x)", "int[*] x", (CUBE,)),
        ("g(dim(x) - 1, x)", "int[*] x", (CUBE,)),
        ("g(n + 1, x)", "int n, int[*] x", (np.int32(1), CUBE)),
    ],
)
def test_so_does_what_a_call_gives(call: str, parameters: str, arguments: tuple[Any, ...]) -> None:
    text = f"int[*] g(int r, int[r:rshp,i:ishp] a) {BODY} int[*] f({parameters}) {{ return {call}; }}"

    np.testing.assert_array_equal(tcjax.kernel(text).interpret(*arguments), CUBE + 5)


def test_parts_of_one_name_have_as_many_axes_each() -> None:
    kernel = tcjax.kernel(f"int[*] f(int[r:rshp,r:ishp] a) {BODY}")

    np.testing.assert_array_equal(kernel.interpret(CUBE[0]), CUBE[0] + 3)
    with pytest.raises(tcjax.CompileError, match="multiples of 2, this has 3") as caught:
        kernel.interpret(CUBE)
    assert caught.value.kind == "rank"


REFUSED = {
    "no value": ("int[*] f(int[r:rshp,i:ishp] a)", (CUBE,), "bound", "the values of `r` and `i` are not known"),
    "a value of a float": ("int[*] f(float r, int[r:rshp,i:ishp] a)", (np.float32(1), CUBE), "bound", "not known"),
    "too many axes": ("int[*] f(int r, int[r:rshp,i:ishp] a)", (np.int32(5), CUBE), "rank", "at least 5 axes"),
    "less than none": ("int[*] f(int r, int[r:rshp,i:ishp] a)", (np.int32(-1), CUBE), "shape", "r = -1"),
    "less than the least": ("int[*] f(int r, int[r>1:rshp,i:ishp] a)", (np.int32(1), CUBE), "shape", "r >= 2"),
    "both, and they do not fit": (
        "int[*] f(int r, int i, int[r:rshp,i:ishp] a)",
        (np.int32(1), np.int32(1), CUBE),
        "rank",
        "has 2 axes, this has 3",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_pattern_that_no_value_solves_says_what_is_needed(name: str) -> None:
    head, arguments, kind, words = REFUSED[name]

    with pytest.raises(tcjax.CompileError, match=words) as caught:
        tcjax.kernel(f"{head} {BODY}").interpret(*arguments)

    assert caught.value.kind == kind


def test_a_literal_that_disagrees_with_a_pattern_is_refused() -> None:
    text = "int[*] g(int n, int[n] x) { return x; } int[*] f(int[*] x) { return g(COUNT, x); }"

    assert tcjax.kernel(text.replace("COUNT", "3")).interpret(np.int32([1, 2, 3])).tolist() == [1, 2, 3]
    with pytest.raises(tcjax.CompileError, match="`n` is 4, and 3 in the type patterns") as caught:
        tcjax.kernel(text.replace("COUNT", "4")).interpret(np.int32([1, 2, 3]))
    assert caught.value.kind == "shape"


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        ("int[n] f(int n) { return [n, n]; }", (2,), [2, 2]),
        ("int[n] f(int n) { return [n, n]; }", (3,), "shape"),
        ("int[n] f(int[n] n) { return n; }", ([5, 6],), [5, 6]),
        ("int[1:s] f(int[1] s) { return [1, 2]; }", ([2],), [1, 2]),
        ("int[1:s] f(int[1] s) { return [1, 2]; }", ([3],), "shape"),
        ("int[n] f(int[.] n) { return n; }", ([5, 6],), "rank"),
        ("int[n:s] f(int[.] n) { return n; }", ([5, 6],), "rank"),
        ("int[s:n] f(int[n] s, int[m] n) { return s; }", ([2], [2]), "rank"),
        ("int[*] f(int[n:s,s] a) { return a; }", ([[2, 3]],), "rank"),
        ("int[*] f(int[3:s] r, int[s] q) { return q; }", (CUBE, [1, 2]), "rank"),
        ("int[1:s] f(int[1,1] s) { return [1, 2]; }", ([[2]],), "type"),
        ("int[n] f(bool n) { return [1, 1]; }", (True,), "type"),
        ("float[n] f(float n) { return [n, n]; }", (2.0,), "type"),
        ("int[1:s] f(float[1] s) { return [1, 2]; }", ([2.0],), "type"),
    ],
)
def test_a_name_of_a_pattern_that_is_a_parameter_means_its_value(
    text: str, arguments: tuple[Any, ...], expected: Any
) -> None:
    try:
        found: Any = tcjax.kernel(text).interpret(*arguments).tolist()
    except tcjax.CompileError as error:
        found = error.kind

    assert found == expected
