"""Ranges as formulas."""

from tcjax.ranges import infer_ranges
from tcjax.symbolic import IndexVar

from .texts import function

I = IndexVar("i")


def test_a_strided_window_rounds_its_extent_down() -> None:
    ranges = infer_ranges(function("def f(float(N) I) -> (O) { O(i) max=! I(2*i + k) where k in 0:2 }"))

    assert ranges.statements[0].show(I) == "[0, N // 2)"


def test_what_fixed_each_range_is_told() -> None:
    text = "def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(i+k) * W(k) }"

    ranges = infer_ranges(function(text))

    assert str(ranges.statements[0]) == "i in [0, N - K + 1) from `A(i+k)`\nk in [0, K) from `W(k)`"


def test_the_extents_of_written_tensors_are_formulas_of_the_parameters_sizes() -> None:
    text = """def f(float(N) A, float(K) W) -> (C) {
        B(i) +=! A(i+k) * W(k)
        C(i) = B(i+1) where i in 0:B.0-1
    }"""

    ranges = infer_ranges(function(text))

    assert [str(extent) for extent in ranges.extents("B")] == ["N - K + 1"]
    assert [str(extent) for extent in ranges.extents("C")] == ["N - K"]


def test_a_sign_that_sizes_decide_is_said_to_depend_on_them() -> None:
    text = "def f(float(N) A, float(M) B) -> (O) { O(i) = A((N-M)*i) }"

    ranges = infer_ranges(function(text))

    assert ranges.statements[0].intervals[I] is None
    assert ranges.statements[0].show(I) == "depends on sizes"
    assert ranges.extents("O") == (None,)


def test_what_builds_on_an_undecided_range_depends_on_sizes_too() -> None:
    text = "def f(float(N) A, float(M) B) -> (P) { O(i) = A((N-M)*i)  P(j) = O(j) }"

    ranges = infer_ranges(function(text))

    assert ranges.statements[1].show(IndexVar("j")) == "depends on sizes"


def test_an_annotated_tensor_has_its_declared_extents() -> None:
    ranges = infer_ranges(function("def f(int32(N) J) -> (float(B) H) { H(J(i)) +=! 1.0 }"))

    assert [str(interval) for interval in ranges.locals["H"]] == ["[0, B)"]


def test_an_index_that_only_an_initial_value_bounds_has_that_ones_extent() -> None:
    ranges = infer_ranges(function("def f(float(N) A) -> (C) { C(i) += A(0) }"))

    assert ranges.statements[0].show(I) == "[0, C.0)"


def test_a_call_takes_the_extents_of_the_callee() -> None:
    text = """def g(float(M,K) X) -> (Y) { Y(k,m) = X(m,k) }
        def f(float(A,B) T) -> (O) { S = g(T)  O(i,j) = S(i,j) }"""

    ranges = infer_ranges(function(text))

    assert ranges.statements[0].intervals == {}
    assert [str(extent) for extent in ranges.extents("O")] == ["B", "A"]


def test_long_extents_keep_their_name_so_that_formulas_stay_short() -> None:
    steps = " ".join(f"B{n + 1}(i) = B{n}(i/2) + B{n}(3*i+1) + B{n}(i)" for n in range(40))

    ranges = infer_ranges(function(f"def f(float(N) B0) -> (B40) {{ {steps} }}"))

    assert all(len(each.show(I)) < 400 for each in ranges.statements)
    assert "B39.0" in ranges.statements[39].show(I)


def test_all_ranges_print_with_the_tensors_they_make() -> None:
    ranges = infer_ranges(function("def f(float(N) A) -> (O) { O(i) = A(i-1) }"))

    assert str(ranges) == "i in [1, N + 1) from `A(i-1)`\nO([1, N + 1))"
