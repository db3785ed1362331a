"""Where written tensors have their elements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.diagnostics import CompileError
from tcjax.ranges import Bound, bind
from tcjax.symbolic import SizeVar

from .texts import function


def bound(text: str, sizes: dict[str, int] | None = None, **shapes: tuple[int, ...]) -> Bound:
    return bind(function(text), shapes, sizes)


def refused(text: str, sizes: dict[str, int] | None = None, **shapes: tuple[int, ...]) -> CompileError:
    with pytest.raises(CompileError) as caught:
        bind(function(text), shapes, sizes)
    return caught.value


def test_an_output_starts_where_its_range_starts() -> None:
    found = bound("def f(float(N) A) -> (B) { B(i) = A(i-1) }", A=(4,))

    assert found.origins["B"] == (1,)
    assert found.shapes["B"] == (4,)


def test_the_extent_of_a_local_tensor_becomes_a_size() -> None:
    found = bound("def f(float(N) A) -> (C) { B(i) = A(i+2)  C(i) = B(i) where i in 0-2:0 }", A=(4,))

    assert found.sizes[SizeVar("B.0")] == 4
    assert found.sizes[SizeVar("C.0")] == 2
    assert found.sizes[SizeVar("N")] == 4


def test_a_scalar_output_has_no_dimensions() -> None:
    found = bound("def f(float(N) A) -> (s) { s +=! A(i) }", A=(4,))

    assert found.shapes["s"] == ()
    assert found.origins["s"] == ()


# ---------------------------------------------------------------- single places first


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ("y(0) = 0.0  y(i) = A(i-1)", (0, 6)),
        ("y(0) = A(0)  y(i) = A(i)", (0, 5)),
        ("y(0) = A(0)  y(i) = A(i) where i in 1:N", (0, 5)),
        ("y(N-1) = 0.0  y(i) = A(i+1)", (-1, 6)),
        ("y(2) = A(0)  y(7) = A(1)", (2, 6)),
        ("y(0) +=! A(i)  y(1) max=! A(i)", (0, 2)),
        ("y(0) = A(0)  y(1) = 2 * y(0)  z(i) = y(i)  y(2) = z(1)", (0, 3)),
        ("y(0) = A(0)  y(i) = A(i)  y(i) = 3.0 where A(0) > 0", (0, 5)),
        ("y(0) = A(0)  for t in 1:N { y(t) = y(t-1) + A(t) }  y(A.0) = 1.0", (0, 6)),
    ],
)
def test_who_begins_with_single_places_goes_on_with_others(body: str, places: tuple[int, int]) -> None:
    found = bound(f"def f(float(N) A) -> (y) {{ {body} }}", A=(5,))

    assert (found.origins["y"], found.shapes["y"]) == ((places[0],), (places[1],))


def test_only_dimensions_that_are_written_at_single_places_grow() -> None:
    found = bound("def f(float(N) A) -> (y) { y(0,i) = A(i)  y(1,i) = 2.0 }", A=(5,))
    error = refused("def f(float(N) A) -> (y) { y(0,i) = A(i)  y(1,i) = 2.0 where i in 0:N+1 }", A=(5,))

    assert found.shapes["y"] == (2, 5)
    assert error.code == "TC0702"


def test_what_begins_with_whole_ranges_keeps_its_extent() -> None:
    error = refused("def f(float(N) A) -> (y) { y(i) = A(i)  y(7) = 0.0 }", A=(5,))

    assert error.code == "TC0702"


def test_data_do_not_say_how_far_single_places_go_on() -> None:
    error = refused("def f(int32(N) A) -> (y) { y(0) = 1  y(A(i)) += 1 }", A=(5,))

    assert error.code == "TC0401"
    assert "annotate the return" in error.help


# ---------------------------------------------------------------- annotations


def test_an_annotation_that_agrees_is_accepted() -> None:
    found = bound("def f(float(N) A, float(K) W) -> (float(N) O) { O(i) = A(i) * W(0) }", A=(4,), W=(2,))

    assert found.shapes["O"] == (4,)


def test_an_inferred_range_that_does_not_fill_the_annotation_is_refused() -> None:
    error = refused("def f(float(N) A, float(M) B) -> (float(N) O) { O(i) = A(i) * B(i) }", A=(4,), B=(3,))

    assert error.code == "TC0603"
    assert error.message == "the declaration gives dimension 0 of `O` 4 elements, but `i` runs over [0, 3) here"
    assert "where i in 0:3" in error.help


def test_an_inferred_range_beyond_the_annotation_is_refused() -> None:
    assert refused("def f(float(N) A) -> (float(3) O) { O(i) = A(i) }", A=(4,)).code == "TC0603"


def test_an_inferred_range_with_another_origin_than_the_annotation_is_refused() -> None:
    assert refused("def f(float(N) A) -> (float(N) O) { O(i) = A(i-1) }", A=(4,)).code == "TC0603"


def test_a_given_range_inside_the_annotation_is_accepted() -> None:
    found = bound("def f(float(N) A) -> (float(N) O) { O(i) = A(i) where i in 1:N-1 }", A=(5,))

    assert found.shapes["O"] == (5,)
    assert found.origins["O"] == (0,)
    assert list(found.boxes[0].values()) == [(1, 4)]


def test_a_given_range_beyond_the_annotation_is_refused() -> None:
    error = refused("def f(float(N) A) -> (float(N) O) { O(i) = A(0) where i in 0:N+1 }", A=(5,))

    assert error.code == "TC0702"
    assert error.message == "at i = 5 this writes O[5]; O has 5 rows"
    assert "where i in 0:5" in error.help


def test_an_annotation_bounds_an_index_that_is_only_on_the_left() -> None:
    found = bound("def f(float(N) A) -> (float(N,3) O) { O(i,j) = A(i) }", A=(5,))

    assert [list(box.values()) for box in found.boxes] == [[(0, 5), (0, 3)]]


def test_a_declared_temporary_bounds_indices_and_keeps_its_extents() -> None:
    found = bound("def f(float(N) A) -> (O) { float(N) z  z(i) = 1.0  O(i) = z(i) * A(i) }", A=(5,))

    assert found.shapes["z"] == (5,)
    assert found.shapes["O"] == (5,)


def test_an_index_only_on_the_left_of_an_update_runs_over_the_tensor() -> None:
    found = bound("def f(float(N) A) -> (O) { O(i) = A(i-1)  O(j) += 2.0 }", A=(5,))

    assert list(found.boxes[1].values()) == [(1, 6)]


# ---------------------------------------------------------------- sizes that only an annotation mentions


def test_a_free_size_is_taken_from_its_keyword() -> None:
    found = bound("def f(int32(N) J) -> (float(B) H) { H(J(i)) +=! 1.0 }", {"B": 6}, J=(9,))

    assert found.shapes["H"] == (6,)
    assert found.sizes[SizeVar("B")] == 6


def test_a_free_size_takes_the_inferred_extent() -> None:
    found = bound("def f(float(N) A) -> (float(P) O) { O(i) = A(i) + A(i+1) where i in 0:N-1 }", A=(9,))

    assert found.shapes["O"] == (8,)
    assert found.sizes[SizeVar("P")] == 8


def test_a_free_size_may_be_given_for_an_inferred_dimension_if_it_agrees() -> None:
    text = "def f(float(N) A) -> (float(P) O) { O(i) = A(2*i) }"

    assert bound(text, {"P": 5}, A=(9,)).shapes["O"] == (5,)
    assert refused(text, {"P": 4}, A=(9,)).code == "TC0603"


def test_a_free_size_that_nothing_gives_is_asked_for() -> None:
    error = refused("def f(int32(N) J) -> (float(B) H) { H(J(i)) +=! 1.0 }", J=(9,))

    assert error.code == "TC0404"
    assert error.kind == "bound"
    assert "`B=...`" in error.help


def test_a_free_size_in_a_given_range_is_asked_for() -> None:
    text = "def f(float(N) A) -> (float(B) H) { H(i) = A(0) where i in 0:B }"

    assert refused(text, A=(9,)).code == "TC0404"
    assert bound(text, {"B": 4}, A=(9,)).shapes["H"] == (4,)


# ---------------------------------------------------------------- computed left sides


def test_a_computed_left_side_covers_what_it_writes() -> None:
    found = bound("def f(float(N,R) A) -> (O) { O(2*i+r) = A(i,r) }", A=(4, 2))

    assert found.shapes["O"] == (8,)
    assert found.origins["O"] == (0,)


def test_a_computed_left_side_starts_at_its_minimum() -> None:
    found = bound("def f(float(N) A) -> (O) { O(i-2) = A(i) }", A=(4,))

    assert found.origins["O"] == (-2,)
    assert found.shapes["O"] == (4,)


def test_floors_and_remainders_on_the_left_cover_their_interval() -> None:
    found = bound("def f(float(N) A) -> (O) { O(i/4, i%4) = A(i) }", A=(10,))

    assert found.shapes["O"] == (3, 4)


def test_constant_left_subscripts_fill_an_annotated_tensor() -> None:
    text = "def f(float(M,N) A, float(M,N) B) -> (float(N,2,M) O) { O(n,0,m) = A(m,n)  O(n,1,m) = B(m,n) }"

    assert bound(text, A=(3, 4), B=(3, 4)).shapes["O"] == (4, 2, 3)


def test_a_constant_left_subscript_beyond_the_first_definition_goes_on() -> None:
    text = "def f(float(N) A) -> (O) { O(n,0) = A(n)  O(n,1) = A(n) }"

    assert bound(text, A=(3,)).shapes["O"] == (3, 2)


def test_a_repeated_left_index_has_its_range_in_both_dimensions() -> None:
    found = bound("def f(float(N) A) -> (D) { D(i,i) = A(i) }", A=(3,))

    assert found.shapes["D"] == (3, 3)


def test_an_affine_target_beyond_the_tensor_is_refused_unless_guarded() -> None:
    text = "def f(float(N) A) -> (B) {{ B(i) = A(i)  B(i+1) = A(i) {where} }}"

    assert refused(text.format(where=""), A=(4,)).code == "TC0702"
    assert bound(text.format(where="where i < N-1"), A=(4,)).shapes["B"] == (4,)
    assert refused(text.format(where="where i < N"), A=(4,)).message == "at i = 3 this writes B[4]; B has 4 rows"


def test_a_target_that_data_decides_needs_an_extent() -> None:
    error = refused("def f(int32(N) J) -> (H) { H(J(i)) +=! 1.0 }", J=(9,))

    assert error.code == "TC0401"
    assert "-> (float(M) H)" in error.help


def test_a_target_that_data_decides_writes_into_a_tensor_that_is_there() -> None:
    found = bound("def f(int32(N) J, float(M) A) -> (H) { H(i) = A(i)  H(J(i)) += 1.0 }", J=(9,), A=(4,))

    assert found.shapes["H"] == (4,)
    assert list(found.boxes[1].values()) == [(0, 9)]


# ---------------------------------------------------------------- initial values


def test_an_initial_value_of_the_inferred_shape_is_accepted() -> None:
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }"

    found = bind(function(text), {"A": (2, 3), "B": (3, 4)}, initial={"C": (2, 4)})

    assert found.shapes["C"] == (2, 4)


def test_an_initial_value_of_another_shape_is_refused() -> None:
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }"

    with pytest.raises(CompileError) as caught:
        bind(function(text), {"A": (2, 3), "B": (3, 4)}, initial={"C": (2, 5)})

    assert caught.value.code == "TC0603"
    assert caught.value.message.startswith("the initial value gives dimension 1 of `C` 5 elements")


def test_an_initial_value_of_another_rank_is_refused() -> None:
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }"

    with pytest.raises(CompileError) as caught:
        bind(function(text), {"A": (2, 3), "B": (3, 4)}, initial={"C": (2,)})

    assert caught.value.code == "TC0502"


def test_an_initial_value_bounds_an_index_that_is_only_on_the_left() -> None:
    text = "def f(float(N) A) -> (C) { C(i) += A(0) }"

    found = bind(function(text), {"A": (2,)}, initial={"C": (7,)})

    assert list(found.boxes[0].values()) == [(0, 7)]


def test_without_an_initial_value_such_an_index_has_no_bounds() -> None:
    with pytest.raises(CompileError) as caught:
        bind(function("def f(float(N) A) -> (C) { C(i) += A(0) }"), {"A": (2,)})

    assert caught.value.code == "TC0401"


def test_an_initial_value_takes_the_origin_of_the_statement() -> None:
    text = "def f(float(N) A) -> (C) { C(i) += A(i-1) }"

    found = bind(function(text), {"A": (2,)}, initial={"C": (2,)})

    assert found.origins["C"] == (1,)


def test_a_given_range_may_update_a_part_of_an_initial_value() -> None:
    text = "def f(float(N) A) -> (C) { C(i) += A(i) where i in 2:4 }"

    found = bind(function(text), {"A": (9,)}, initial={"C": (6,)})

    assert found.shapes["C"] == (6,)
    assert found.origins["C"] == (0,)


def test_an_initial_value_gives_a_free_size() -> None:
    text = "def f(int32(N) J) -> (float(B) H) { H(J(i)) += 1.0 }"

    found = bind(function(text), {"J": (9,)}, initial={"H": (5,)})

    assert found.sizes[SizeVar("B")] == 5


SUBSCRIPTS = st.sampled_from(
    ["i", "j", "i+j", "2*i+j", "3*i-j", "i/2", "i%2", "j/3", "j%3", "2-i", "min(i,2)", "i+2*j"]
)
GUARDS = st.sampled_from(["", "i < j", "j == 1", "i+j > 2", "i != 2 && j < 2"])


@given(st.lists(SUBSCRIPTS, min_size=1, max_size=2), GUARDS, st.integers(1, 4), st.integers(1, 4))
def test_an_assignment_is_refused_exactly_when_two_points_meet(
    subscripts: list[str], guard: str, rows: int, columns: int
) -> None:
    if not {"i", "j"} <= set("".join(subscripts)):
        subscripts = [*subscripts, "i+j"]
    clause = f" where {guard}" if guard else ""
    text = f"def f(float(N,M) A) -> (O) {{ O({', '.join(subscripts)}) = A(i,j){clause} }}"
    python = [eval(f"lambda i, j: ({s.replace('/', '//')})") for s in subscripts]
    holds = eval(f"lambda i, j: {guard.replace('&&', 'and') or True}")
    points = [(i, j) for i in range(rows) for j in range(columns) if holds(i, j)]
    distinct = len({tuple(each(i, j) for each in python) for i, j in points}) == len(points)

    try:
        bind(function(text), {"A": (rows, columns)})
    except CompileError as error:
        assert error.code == "TC0704" and not distinct
    else:
        assert distinct


def test_targets_that_meet_are_named() -> None:
    with pytest.raises(CompileError) as caught:
        bind(function("def f(float(N,M) A) -> (O) { O(2*i+j) = A(i,j) }"), {"A": (10**6, 3)})

    assert caught.value.code == "TC0704"
    assert caught.value.message == "both i = 0, j = 2 and i = 1, j = 0 write O[2]"
    assert "O(...) +=! ..." in caught.value.help


@pytest.mark.parametrize(
    "statement",
    [
        "B(i) = A(i / 4000000000)",
        "B(i) +=! A(j) * i where i in 0:4000000000",
        "B(4000000000 * i) = A(i)",
    ],
)
def test_more_elements_than_an_int32_counts_are_refused(statement: str) -> None:
    with pytest.raises(CompileError) as caught:
        bind(function(f"def f(float(N) A) -> (B) {{ {statement} }}"), {"A": (3,)})

    assert caught.value.code == "TC0604"
    assert "where i in 0:N" in caught.value.help


def test_a_temporary_whose_size_only_the_data_could_tell_is_told_its_declaration() -> None:
    text = "def f(int32(N) b) -> (r) { h(b(n)) +=! 1.0 r(i) = h(i) * 2 }"
    with pytest.raises(CompileError) as caught:
        bound(text, b=(3,))

    declaration = caught.value.help.split("`")[1]

    assert caught.value.code == "TC0401"
    assert declaration == "float(M) h"
    bound(text.replace("h(b", f"{declaration} h(b"), {"M": 4}, b=(3,))
