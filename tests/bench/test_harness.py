"""The harness detects wrong results, counts temporaries, and reports failures."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bench import compare, report
from bench.cases import Case, Skipped, keops
from bench.cases.case import normals
from bench.cases.gradients import gradient
from bench.harness import Candidate, CaseResult, Measurement, measure, time_interleaved
from bench.run import is_chosen


def doubling(**forms) -> Case:
    return Case(
        name="double/4",
        text="def double(float(N) A) -> (B) { B(i) = 2.0 * A(i) }",
        make_arrays=lambda rng: normals(rng, (4,)),
        reference=lambda A: 2 * A,
        forms=forms or {"times_two": lambda A: 2 * A},
    )


def test_a_wrong_form_is_reported_and_not_timed() -> None:
    case = doubling(right=lambda A: A + A, wrong=lambda A: A + 1, failing=lambda A: A[:, :])

    result = measure(case, None, seconds=0.0)

    problems = {form.name: form.problem for form in result.forms}
    assert problems["right"] == ""
    assert problems["wrong"].startswith("wrong: relative error")
    assert problems["failing"].startswith("IndexError")
    assert result.best is not None and result.best.name == "right"


def test_a_kernel_that_failed_to_build_is_the_verdict() -> None:
    result = measure(doubling(), ValueError("no such index"), seconds=0.0)

    assert report.verdict(result) == "ValueError: no such index"


def test_a_result_of_another_shape_is_wrong() -> None:
    result = measure(doubling(column=lambda A: (2 * A)[:, None]), None, seconds=0.0)

    assert result.forms[0].problem == "wrong: relative error inf"


def test_every_form_is_timed_at_least_seven_times() -> None:
    result = measure(doubling(), lambda A: jnp.asarray(A) * 2, seconds=0.0)

    assert result.tcjax is not None
    assert all(measurement.samples >= 7 for measurement in (*result.forms, result.tcjax))


def result_with(tcjax: Measurement) -> CaseResult:
    form = Measurement("form", median=1e-3, minimum=1e-3, samples=7, compile_seconds=0.1, temporary_bytes=1000)
    return CaseResult("case/1", (form,), tcjax)


def test_the_verdict_names_a_slow_and_a_large_kernel() -> None:
    slow = result_with(Measurement("tcjax", median=1.2e-3, minimum=1.2e-3, temporary_bytes=1000))
    large = result_with(Measurement("tcjax", median=1e-3, minimum=1e-3, temporary_bytes=1_000_000))
    good = result_with(Measurement("tcjax", median=1.05e-3, minimum=1e-3, temporary_bytes=1000))

    assert [report.verdict(result) for result in (slow, large, good)] == ["slow", "memory", "ok"]


def test_a_slow_median_with_a_fast_minimum_is_noise() -> None:
    noisy = result_with(Measurement("tcjax", median=1.5e-3, minimum=1e-3, temporary_bytes=1000))

    assert report.verdict(noisy) == "ok"


def test_temporaries_beyond_the_memory_contract_are_a_fault_whoever_else_needs_them() -> None:
    form = Measurement("form", median=1e-3, minimum=1e-3, temporary_bytes=30 << 20)
    kernel = Measurement("tcjax", median=1e-3, minimum=1e-3, temporary_bytes=20 << 20, limit_bytes=16 << 20)

    assert report.verdict(CaseResult("case/1", (form,), kernel)) == "contract"


def test_the_limit_of_temporaries_grows_with_arguments_and_results() -> None:
    case = replace(doubling(), name="double/big", make_arrays=lambda rng: normals(rng, (1 << 21,)))

    (small,), (large,) = (measure(some, None, seconds=0.0).forms for some in (doubling(), case))

    assert small.limit_bytes == 16 << 20
    assert large.limit_bytes == 4 * 2 * (4 << 21)


def test_another_library_takes_part_or_says_why_not() -> None:
    def missing(A):
        raise Skipped("it is not installed")

    case = replace(doubling(), peers={"numpy": lambda A: lambda: 2 * A, "other": missing})

    result = measure(case, None, seconds=0.0)

    assert result.peer is not None and result.peer.name == "numpy"
    assert [peer.problem for peer in result.peers] == ["", "Skipped: it is not installed"]
    assert result.best is not None and result.best.name == "times_two"


def test_without_keops_its_candidate_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pykeops", None)

    with pytest.raises(Skipped, match="KeOps is not installed"):
        keops.reduction(keops.DISTANCE, "Min")(*normals(np.random.default_rng(0), (4, 3), (5, 3)))


def test_a_gradient_has_the_result_and_the_derivative_of_each_float_array() -> None:
    case = Case(
        name="scaled/3",
        text="def scaled(float(N) A, int32(N) k) -> (B) { B(i) = A(i) * A(i) * float(k(i)) }",
        make_arrays=lambda rng: (*normals(rng, (3,)), np.array([1, 2, 3], np.int32)),
        reference=lambda A, k: A * A * k,
        forms={"jnp": lambda A, k: A * A * k},
    )

    derived = gradient(case, "jnp")

    A, k, weights = derived.arrays()
    result, d_A = jax.jit(derived.forms["jnp"])(A, k, weights)
    assert derived.name == "scaled_gradient/3"
    np.testing.assert_allclose(result, A * A * k, rtol=1e-6)
    np.testing.assert_allclose(d_A, 2 * A * k * weights, rtol=1e-6)
    np.testing.assert_allclose(derived.reference(A, k, weights)[1], d_A, rtol=1e-6)


def test_a_gradient_of_several_results_takes_weights_for_each_float_one() -> None:
    def by_hand(A, d_twice, d_square):
        return 2 * A, A * A, A > 0, 2 * d_twice + 2 * A * d_square

    case = Case(
        name="several/3",
        text="def several(float(N) A) -> (B, C, D) { B(i) = 2 * A(i)  C(i) = A(i) * A(i)  D(i) = A(i) > 0 }",
        make_arrays=lambda rng: normals(rng, (3,)),
        reference=lambda A: (2 * A, A * A, A > 0),
        forms={"jnp": lambda A: (2 * A, A * A, A > 0)},
    )

    derived = gradient(case, "jnp", by_hand={"by_hand": by_hand}, weights=2)

    A, first, second = derived.arrays()
    expected = (2 * A, A * A, A > 0, 2 * first + 2 * A * second)
    assert list(derived.forms) == ["jnp", "by_hand"]
    for results in (derived.forms["jnp"](A, first, second), derived.reference(A, first, second)):
        for result, value in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-6)


def timed(case: str, form: float, tcjax: float) -> CaseResult:
    return CaseResult(
        case, (Measurement("form", median=form, minimum=form),), Measurement("tcjax", median=tcjax, minimum=tcjax)
    )


def test_the_summary_names_the_worst_case_of_each_direction() -> None:
    results = [timed("a/1", 1.0, 2.0), timed("b/1", 2.0, 1.0), timed("a_gradient/1", 3.0, 9.0)]

    forward, backward = report.summary(results).splitlines()

    assert forward == "forward: geometric mean 1.00x of the best form, worst 2.00x (a/1), 1 of 2 within 1.3x"
    assert backward == (
        "gradient: geometric mean 3.00x of the best form, worst 3.00x (a_gradient/1), 0 of 1 within 1.3x; "
        "4.5 forward passes, at most 4.5 (a_gradient/1), 1 above 4 where the best form is not"
    )


def test_the_summary_is_of_what_was_measured() -> None:
    failed = CaseResult("a/1", (Measurement("form", median=1.0, minimum=1.0),), Measurement("tcjax", problem="wrong"))
    alone = timed("b_gradient/1", 1.0, 1.0)

    assert report.summary([failed]) == ""
    assert report.summary([failed, alone]) == (
        "gradient: geometric mean 1.00x of the best form, worst 1.00x (b_gradient/1), 1 of 1 within 1.3x"
    )


def test_a_comparison_judges_by_the_ratio_to_the_best_form() -> None:
    fast = report.as_json([result_with(Measurement("tcjax", median=1e-3, minimum=1e-3))], [], "tiny")
    slow = report.as_json([result_with(Measurement("tcjax", median=2e-3, minimum=2e-3))], [], "tiny")

    rows = compare.compare(fast, slow)

    assert [row[:2] for row in rows] == [("case/1", "slower")]


def test_cases_are_chosen_by_family_or_by_part_of_a_full_name() -> None:
    case = doubling()

    assert is_chosen(case, "") and is_chosen(case, "tmm,double") and is_chosen(case, "double/4")
    assert not is_chosen(case, "doub")
    assert is_chosen(replace(case, groups=("nests", "kernels")), "kernels") and not is_chosen(case, "kernels")


def test_arrays_are_the_same_in_every_run() -> None:
    first, second = doubling().arrays(), doubling().arrays()

    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_form_that_trades_digits_for_speed_is_no_rival() -> None:
    exact = Measurement("exact", median=2.0, minimum=2.0, error=1e-7)
    rough = Measurement("rough", median=1.0, minimum=1.0, error=1e-5)

    result = CaseResult("sum", (exact, rough), Measurement("tcjax", median=2.0, minimum=2.0, error=1e-7))

    assert result.best is exact
    assert result.rough == [rough]
    assert result.ratio == result.minimum_ratio == 1.0


def test_no_candidate_always_follows_the_same_one() -> None:
    called: list[str] = []

    def candidate(name: str) -> Candidate:
        def call() -> int:
            called.append(name)
            time.sleep(1e-3)
            return len(called)

        return Candidate(name, call, 0.0, 0)

    names = ["a", "b", "c", "d"]

    time_interleaved([candidate(name) for name in names], 0.02)

    pairs = set(pairwise(called[len(names) :]))
    assert all(len({before for before, after in pairs if after == name}) >= len(names) - 1 for name in names)
