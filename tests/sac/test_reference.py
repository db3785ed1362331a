"""The reference itself, against results worked out by hand from the paper and the specification."""

from typing import Any

import numpy as np
import pytest

from tcjax.syntax import sac
from tests.sac.reference import SacError, evaluate, evaluate_with_statics


def f(*values: Any) -> np.ndarray:
    return np.array(values, "float32")


def n(*values: Any) -> np.ndarray:
    return np.array(values, "int32")


def grid(*shape: int) -> np.ndarray:
    """0, 1, 2, ... in that shape."""
    return np.arange(np.prod(shape, dtype=int), dtype="int32").reshape(shape)


CELL = "[[1,1,1],[1,1,1]]"
Case = tuple[str, dict[str, Any], Any]

VALUES: list[Case] = [
    # Arithmetic as in C, literals that adapt, the weak precedence of ++.
    ("-7 / 2", {}, np.int32(-3)),
    ("-7 % 3", {}, np.int32(-1)),
    ("mod(-7, 3)", {}, np.int32(2)),
    ("7.0 / 2", {}, np.float32(3.5)),
    ("a + 1", {"a": f(1, 2)}, f(2, 3)),
    ("[0] ++ v + 1", {"v": n(4, 5)}, n(0, 5, 6)),
    ("[]", {}, n()),
    ("[[1,2],[3,4]]", {}, n([1, 2], [3, 4])),
    ("2 < 1 || 1 == 1", {}, np.bool_(True)),
    ("p && a[7] > 0", {"p": np.bool_(False), "a": n(1)}, np.bool_(False)),
    ("where(a > 1, a, 0)", {"a": n(1, 2, 3)}, n(0, 2, 3)),
    # Selection.
    ("a[1]", {"a": grid(2, 3)}, n(3, 4, 5)),
    ("a[[1,2]]", {"a": grid(2, 3)}, np.int32(5)),
    ("a[]", {"a": grid(2)}, grid(2)),
    ("a[.,1]", {"a": grid(2, 3)}, n(1, 4)),
    ("a[...,1]", {"a": grid(2, 2, 3)}, n([1, 4], [7, 10])),
    ("a[1,...,0]", {"a": grid(2, 3)}, np.int32(3)),
    ("a[.,0,...]", {"a": grid(2, 2, 2)}, n([0, 1], [4, 5])),
    ("sel([1], a)", {"a": n(3, 4)}, np.int32(4)),
    # Functions of section 1.5.
    ("shape(a)", {"a": grid(2, 3)}, n(2, 3)),
    ("dim(a)", {"a": grid(2, 3)}, np.int32(2)),
    ("take([-2], a)", {"a": n(1, 2, 3)}, n(2, 3)),
    ("drop([1,-1], a)", {"a": grid(2, 3)}, n([3, 4])),
    ("tile([2], [1], a)", {"a": grid(4)}, n(1, 2)),
    ("take_apl([-3], a)", {"a": n(1, 2)}, n(0, 1, 2)),
    ("drop_apl([5], a)", {"a": n(1, 2)}, n()),
    ("tile_apl([3], [-1], a)", {"a": n(1, 2)}, n(0, 1, 2)),
    ("a ++ a", {"a": n([1, 2])}, n([1, 2], [1, 2])),
    ("a ++^ a", {"a": n([1, 2])}, n([1, 2, 1, 2])),
    ("reverse(a)", {"a": n(1, 2, 3)}, n(3, 2, 1)),
    ("reverse(1, a)", {"a": grid(2, 2)}, n([1, 0], [3, 2])),
    ("rotate(0, 1, a)", {"a": n(1, 2, 3)}, n(3, 1, 2)),
    ("rotate([0,-1], a)", {"a": grid(2, 3)}, n([1, 2, 0], [4, 5, 3])),
    ("shift(0, 1, 9, a)", {"a": n(1, 2, 3)}, n(9, 1, 2)),
    ("shift(0, -1, 9, a)", {"a": n(1, 2, 3)}, n(2, 3, 9)),
    ("transpose(a)", {"a": grid(2, 3)}, grid(2, 3).T),
    ("reshape([3,2], a)", {"a": grid(2, 3)}, grid(3, 2)),
    ("genarray([2], [1,2])", {}, n([1, 2], [1, 2])),
    ("iota(3)", {}, n(0, 1, 2)),
    ("iota([1,2])", {}, n([[0, 0], [0, 1]])),
    ("modarray(a, [1], 7)", {"a": n(1, 2)}, n(1, 7)),
    ("rsum(1, a)", {"a": grid(2, 3)}, n(3, 5, 7)),
    ("sum(5)", {}, np.int32(5)),
    ("take([], a)", {"a": np.int32(3)}, np.int32(3)),
    ("maxval(a)", {"a": n()}, np.int32(-(2**31))),
    ("minval(a)", {"a": f()}, np.float32(np.inf)),
    ("argmax(a)", {"a": n([1, 5], [7, 2])}, np.int32(2)),
    # One partition: bounds found in the selections, the smaller extent wins.
    ("{ [i] -> a[i] + b[i] }", {"a": n(1, 2, 3), "b": n(10, 20)}, n(11, 22)),
    ("{ iv -> a[iv] + b[iv] }", {"a": grid(2, 2), "b": n(10, 20, 30)}, n([10, 11], [22, 23])),
    ("{ [i,j] -> a[j,i] }", {"a": grid(2, 3)}, grid(2, 3).T),
    ("{ [i] -> a[...,i] }", {"a": grid(2, 3)}, grid(2, 3).T),
    ("{ [i] -> { [j] -> a[i,j] } }", {"a": grid(2, 3)}, grid(2, 3)),
    ("{ [i] -> { [j] -> a[i][j] } }", {"a": grid(2, 3)}, grid(2, 3)),
    ("{ [i,j] -> a[i][j] }", {"a": grid(2, 3)}, grid(2, 3)),
    ("{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }", {"a": n([1, 2]), "b": n([3], [4])}, n([11])),
    ("{ [i] -> i | [i] <= [3] }", {}, n(0, 1, 2, 3)),
    ("{ [i] -> i | [2] <= [i] < [4] }", {}, n(0, 0, 2, 3)),
    ("{ [i] -> i | [1] < [i] < [4] }", {}, n(0, 0, 2, 3)),
    ("{ [i] -> 1 | [1] <= [i] < [7] step [3] }", {}, n(0, 1, 0, 0, 1, 0, 0)),
    ("{ [i] -> 1 | [0] <= [i] < [7] step [4] width [2] }", {}, n(1, 1, 0, 0, 1, 1, 0)),
    ("{ iv -> iv | iv < [2] }", {}, n([0], [1])),
    ("{ iv -> 7 | iv < [] }", {}, np.int32(7)),
    ("{ iv -> a[iv] }", {"a": np.float32(2)}, np.float32(2)),
    # Several partitions: the first wins, the last decides the shape, holes are zero.
    ("{ [i] -> 1 | [i] < [2]; [i] -> 2 | [i] < [3] }", {}, n(1, 1, 2)),
    ("{ [i] -> 1 | [1] <= [i]; [i] -> 2 | [3] <= [i] < [3] }", {}, n(0, 1, 1)),
    ("{ iv -> 5 | . < iv < .; iv -> a[iv] }", {"a": grid(3, 3)}, n([0, 1, 2], [3, 5, 5], [6, 7, 8])),
    ("{ [i] -> 9 | . <= [i] <= .; [i] -> a[i] }", {"a": n(1, 2)}, n(9, 9)),
    ("{ iv -> a[iv] + 1 | 0*shape(a)+1 <= iv < shape(a)-1; iv -> a[iv] }", {"a": n(1, 1, 1)}, n(1, 2, 1)),
    ("{ iv -> a[iv] + 1 | 0*shape(a)+1 <= iv < shape(a)-1; iv -> a[iv] }", {"a": np.int32(1)}, np.int32(2)),
    ("{ [i] -> 0 | [i] < [1]; [i] -> a[i-1] | [i] < [4] }", {"a": n(1, 2, 3)}, n(0, 1, 2, 3)),
    ("{ [i] -> [7,8] | [1] <= [i] < [2]; iv -> a[iv] }", {"a": grid(3, 2)}, n([0, 1], [7, 8], [4, 5])),
    ("{ [i] -> a[i] | [i] < shape(a); [i] -> b[i-2] | [i] < [3] }", {"a": n(1, 2), "b": n(3)}, n(1, 2, 3)),
    # Patterns with dots.
    ("{ [.,j] -> a[.,j] }", {"a": grid(2, 3)}, grid(2, 3)),
    ("{ [.,s] -> reverse(a[.,s]) }", {"a": grid(2, 2)}, n([2, 3], [0, 1])),
    ("{ [...,i] -> [i,10] | [i] < [3] }", {}, n([0, 1, 2], [10, 10, 10])),
    ("{ [...] -> a }", {"a": n(1, 2)}, n(1, 2)),
    ("{ [.,j] -> [1,2] | . < [j]; [i,j] -> 0 | [i,j] < [2,3] }", {}, n([0, 1, 1], [0, 2, 2])),
    # Shapes without elements.
    ("{ [i] -> reverse(a[i]) }", {"a": np.zeros((0, 5), "float32")}, np.zeros((0, 5), "float32")),
    ("{ [i] -> a[i+7] | [i] < [0] }", {"a": grid(2, 3)}, np.zeros((0, 3), "int32")),
    ("{ [i,j] -> i | [i,j] < [0,3] }", {}, np.zeros((0, 3), "int32")),
    # Folds over boxes that hang on an index.
    ("{ [i] -> sum({ [j] -> a[j] | [j] <= [i] }) | [i] < [3] }", {"a": n(1, 2, 3)}, n(1, 3, 6)),
    ("{ [i] -> sum({ [j] -> a[j] | [j] < [l[i]] }) }", {"a": n(1, 2, 3), "l": n(2, 0)}, n(3, 0)),
    ("{ [i] -> maxval(2 * { [j] -> a[j] | [j] <= [i] }) | [i] < [2] }", {"a": n(3, 1)}, n(6, 6)),
    # Selections that leave the array where data decide, or where nobody looks.
    ("{ [i] -> a[p[i]] }", {"a": n(1, 2, 3), "p": n(-4, 1, 9)}, n(1, 2, 3)),
    ("{ [i] -> i > 0 ? a[i-1] : 0 | [i] < [3] }", {"a": n(5, 6)}, n(0, 5, 6)),
    ("{ [i] -> q[i] ? a[i+5] : 0 }", {"a": n(1, 2), "q": np.array([True, False])}, n(2, 0)),
    ("{ [i] -> i == 0 ? 1 : 2.5 | [i] < [2] }", {}, f(1, 2.5)),
    # Decided while shapes are computed.
    ("dim(a) > 0 ? a[0] : a", {"a": n(4, 5)}, np.int32(4)),
    ("dim(a) > 0 ? a[0] : a", {"a": np.int32(4)}, np.int32(4)),
    ("take(n, a)", {"n": np.int32(2), "a": n(1, 2, 3)}, n(1, 2)),
    ("m > 1 ? a : [0]", {"m": np.int32(1), "a": n(1, 2)}, n(0)),
    # Lets and functions.
    ("b = a + 1; b * b", {"a": n(1, 2)}, n(4, 9)),
    ("int sq(int x) { return x * x; } sq(3)", {}, np.int32(9)),
    ("float[m] f(float[m,k] a) { return { [i] -> sum(a[i]) | [i] < [m] }; } f(a)", {"a": f([1, 2], [3, 4])}, f(3, 7)),
    ("int[*] f(int[d:s] a) { return d == 0 ? a : { [i] -> f(a[i]) }; } f(a)", {"a": grid(2, 2)}, grid(2, 2)),
    ("int fac(int n) { return n <= 1 ? 1 : n * fac(n - 1); } fac(5)", {}, np.int32(120)),
    ("int[o] f(int[o:s, i:t] a, int[o] v) { return s; } f(a, v)", {"a": grid(2, 3), "v": n(0)}, n(2)),
    ("int, int f(int x) { return (x + 1, x + 2); }", {"x": np.int32(1)}, (np.int32(2), np.int32(3))),
    ("int, int f(int x) { return (x, 2 * x); } a, b = { [i] -> f(i) | [i] < [3] }; b - a", {}, n(0, 1, 2)),
]

LAYOUTS = [
    ("[i,j]", (5, 5, 2, 3)),
    ("[i,.,j]", (5, 2, 5, 3)),
    ("[i,...,j]", (5, 2, 3, 5)),
    ("[.,i,.,j]", (2, 5, 3, 5)),
    ("[...,i,j]", (2, 3, 5, 5)),
]

ERRORS: list[tuple[str, str, dict[str, Any]]] = [
    ("name", "a + b", {"a": n(1)}),
    ("name", "{ [i] -> i | [i] < [i] }", {}),
    ("name", "nosuch(1)", {}),
    ("type", "true + true", {}),
    ("type", "[1, true]", {}),
    ("type", "{ [i] -> 1 | [i] < 3 }", {}),
    ("type", "{ [i] -> 1 | [i] < [2.5] }", {}),
    ("type", "a[1.5]", {"a": n(1)}),
    ("type", "{ iv -> a[iv,0] }", {"a": grid(2, 2)}),
    ("type", "{ [i] -> 1.5 | [i] < [1]; [i] -> a[i] }", {"a": n(1, 2)}),
    ("type", "{ [i] -> true | [i] < [1]; [i] -> a[i] }", {"a": n(1, 2)}),
    ("type", "1 ? 2 : 3", {}),
    ("type", "bool f(bool x) { return x; } f(1)", {}),
    ("rank", "a > 0 ? 1 : 2", {"a": n(1, 2)}),
    ("rank", "a[0,0]", {"a": n(1)}),
    ("rank", "{ [i,j] -> 1 | [i,j] < [3] }", {}),
    ("rank", "{ iv -> 1 | [0] <= iv < [3,3] }", {}),
    ("rank", "{ iv -> 1 | iv < [3] step [2,2] }", {}),
    ("rank", "{ [i,.] -> 1 | [i] < [3] }", {}),
    ("rank", "int f(int[m] a) { return 1; } f(a)", {"a": grid(2, 2)}),
    ("rank", "int f(int[+] a) { return 1; } f(a)", {"a": np.int32(2)}),
    ("bound", "{ [i] -> a[i+1] }", {"a": n(1, 2)}),
    ("bound", "{ [i] -> a[i] | [i] < . }", {"a": n(1, 2)}),
    ("bound", "{ iv -> 1 }", {}),
    ("bound", "{ [i,j] -> a[i] }", {"a": n(1, 2)}),
    ("bound", "int f(int[d:s, e:t] a) { return 1; } f(a)", {"a": grid(2, 2)}),
    ("shape", "[3] + [2,3]", {}),
    ("shape", "a + b", {"a": grid(2, 3), "b": n(1, 2, 3)}),
    ("shape", "{ [i] -> 1 | [i] < [-1] }", {}),
    ("shape", "a ++ b", {"a": grid(2, 3), "b": grid(2, 2)}),
    ("shape", "reshape([4], a)", {"a": n(1, 2)}),
    ("shape", "int f(int[m] a, int[m] b) { return 1; } f(a, b)", {"a": n(1), "b": n(1, 2)}),
    ("shape", "int f(int[m] a) | m > 2 { return 1; } f(a)", {"a": n(1)}),
    ("shape", "int[3] f(int[m] a) { return a; } f(a)", {"a": n(1)}),
    ("homogeneity", "[1, [2,3]]", {}),
    ("homogeneity", "{ [i] -> take([i], a) | [i] < [3] }", {"a": n(1, 2, 3)}),
    ("homogeneity", "{ [i] -> take([i], a) | [i] < [0] }", {"a": n(1, 2, 3)}),
    ("homogeneity", "{ [i] -> { [j] -> j | [j] < [i] } | [i] < [3] }", {}),
    ("homogeneity", "{ [i] -> i > 0 ? [1] : [1,2] | [i] < [3] }", {}),
    ("homogeneity", "{ [i] -> [1,2] | [i] < [1]; [i] -> [1,2,3] | [i] < [3] }", {}),
    ("homogeneity", "{ [i] -> sum(reverse({ [j] -> j | [j] < [i] })) | [i] < [3] }", {}),
    ("generator", "{ [i] -> 1 | [i] < [4]; [i] -> 2 | [i] < [3] }", {}),
    ("generator", "{ [i] -> 1 | [-1] <= [i] < [3] }", {}),
    ("generator", "{ [i] -> 1 | [0] <= [i] < [3] step [0] }", {}),
    ("generator", "{ [i] -> 1 | [0] <= [i] < [3] step [2] width [3] }", {}),
    ("generator", "{ [i] -> a[i]; [i] -> 2 | [i] < [1] }", {"a": n(1, 2)}),
    # Concatenation with the partitions in the library's order (decision 2.8.1).
    ("generator", "{ [i] -> b[i-2] | [2] <= [i] < [5]; [i] -> a[i] | [i] < [2] }", {"a": n(1, 2), "b": n(3, 4, 5)}),
    ("index", "a[2]", {"a": n(1, 2)}),
    ("index", "a[-1]", {"a": n(1, 2)}),
    ("index", "{ [i] -> a[i+1] | [i] < [2] }", {"a": n(1, 2)}),
    ("index", "take([3], a)", {"a": n(1, 2)}),
    ("index", "drop([3], a)", {"a": n(1, 2)}),
    ("index", "tile([2], [1], a)", {"a": n(1, 2)}),
]


@pytest.mark.parametrize(("text", "arguments", "expected"), VALUES, ids=[case[0] for case in VALUES])
def test_a_program_has_the_value_worked_out_by_hand(text: str, arguments: dict[str, Any], expected: Any) -> None:
    program = sac.read(text)

    found = evaluate(program, arguments)

    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for result, reference in pairs:
        assert result.dtype == reference.dtype
        assert result.shape == reference.shape
        np.testing.assert_array_equal(result, reference)


@pytest.mark.parametrize(("pattern", "shape"), LAYOUTS)
def test_dots_put_the_axes_of_the_cell_where_the_table_says(pattern: str, shape: tuple[int, ...]) -> None:
    program = sac.read(f"{{ {pattern} -> 100*i + 10*j + c | [i,j] < [5,5] }}")
    cell = np.arange(6, dtype="int32").reshape(2, 3)

    found = evaluate(program, {"c": cell})

    assert isinstance(found, np.ndarray)
    names = pattern.strip("[]").split(",")
    frame = [axis for axis, extent in enumerate(shape) if extent == 5]
    assert found.shape == shape
    assert names.count("i") == 1
    for i, j in np.ndindex(5, 5):
        np.testing.assert_array_equal(np.moveaxis(found, frame, (0, 1))[i, j], 100 * i + 10 * j + cell)


@pytest.mark.parametrize(("kind", "text", "arguments"), ERRORS, ids=[case[1] for case in ERRORS])
def test_a_mistake_has_the_kind_of_the_specification(kind: str, text: str, arguments: dict[str, Any]) -> None:
    program = sac.read(text)

    with pytest.raises(SacError) as raised:
        evaluate(program, arguments)

    assert raised.value.kind == kind


def test_strict_bounds_ignore_arrays_that_mention_the_own_index() -> None:
    program = sac.read("{ [i,j] -> a[i][j] }")

    with pytest.raises(SacError) as raised:
        evaluate(program, {"a": grid(2, 3)}, strict=True)

    assert raised.value.kind == "bound"


def test_arguments_that_decide_a_shape_are_static_and_only_those() -> None:
    program = sac.read("{ [i] -> a[i] + c | [i] < [n + 1] }")

    _, static = evaluate_with_statics(program, {"a": n(1, 2, 3), "c": np.int32(1), "n": np.int32(1)})

    assert static == {"n"}


def test_an_argument_that_only_bounds_a_fold_inside_a_cell_is_not_static() -> None:
    program = sac.read("{ [i] -> sum({ [j] -> j | [j] < [l[i]] }) }")

    _, static = evaluate_with_statics(program, {"l": n(1, 2)})

    assert static == frozenset()


def test_a_python_function_is_applied_to_each_cell() -> None:
    program = sac.read("{ [.,j] -> f(a[.,j]) }")

    found = evaluate(program, {"a": f([1, 2], [3, 4])}, {"f": lambda cell: cell[::-1]})

    np.testing.assert_array_equal(found, f([3, 4], [1, 2]))
