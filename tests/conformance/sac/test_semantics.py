"""What comprehensions and functions mean."""

import pytest

from . import semantics
from .case import Case, check

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("case", semantics.INFERRED, ids=str)
def test_selections_say_how_far_an_index_runs(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.WRITTEN, ids=str)
def test_bounds_say_how_far_an_index_runs(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.DOTS, ids=str)
def test_a_dot_is_the_smallest_or_largest_index(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.STEPS, ids=str)
def test_a_step_leaves_indices_out(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.PATTERNS, ids=str)
def test_dots_place_the_axes_of_the_cell(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.PLACES, ids=str)
def test_patterns_and_selections_with_dots_go_together(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.SELECTED, ids=str)
def test_a_dot_in_a_selection_keeps_its_axis(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.PRIORITY, ids=str)
def test_the_first_partition_that_applies_wins(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.HOLES, ids=str)
def test_an_element_that_no_partition_covers_is_zero(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.EMPTY_GENERATORS, ids=str)
def test_an_empty_generator_may_lie_anywhere(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.EVALUATION, ids=str)
def test_a_body_is_evaluated_where_it_counts(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.MIXED, ids=str)
def test_partitions_may_differ_in_their_indices(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.NESTED + semantics.UNNEEDED_SHAPES, ids=str)
def test_a_cell_may_be_any_array_of_one_shape(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.EMPTY, ids=str)
def test_an_empty_array_has_a_shape(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.RAGGED, ids=str)
def test_a_fold_may_run_over_a_ragged_range(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.RANKS, ids=str)
def test_one_text_serves_every_rank(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.TYPE_PATTERNS, ids=str)
def test_a_type_pattern_binds_what_it_names(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.BODIES, ids=str)
def test_a_function_is_called(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.RECURSION, ids=str)
def test_a_function_may_call_itself(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.RESULTS, ids=str)
def test_a_function_may_have_several_results(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.STATIC, ids=str)
def test_a_value_that_decides_a_shape_is_static(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", semantics.FOREIGN, ids=str)
def test_a_function_of_jax_is_applied_to_cells(case: Case) -> None:
    check(case)
