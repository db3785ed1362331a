"""Every spelling of a computation, and every hand-written form, computes the same, and so does its gradient."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from bench.harness import Measurement, disagreement
from bench.rewrites import Computation, all_computations, measuring, report, run
from bench.rewrites.measuring import Outcome, measure
from bench.rewrites.operations import operations

COMPUTATIONS = {computation.name: computation for computation in all_computations("small")}
SPELLINGS = [(name, spelling) for name, computation in COMPUTATIONS.items() for spelling in computation.spellings]

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@cache
def expected(name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The results, and the results with the gradient."""
    return COMPUTATIONS[name].expected(), COMPUTATIONS[name].expected_gradient()


def check(computation: Computation, function: Callable[..., Any]) -> None:
    """Checks the results of a function and of its gradient."""
    results, with_gradient = expected(computation.name)

    assert disagreement(computation.case(), jax.jit(function)(*computation.arrays()), results) <= computation.tolerance
    found = computation.gradient(function)
    assert (found is not None) == bool(with_gradient)
    if found is not None:
        pulled, arguments = found
        error = disagreement(computation.case(), jax.jit(pulled)(*arguments), with_gradient)
        assert error <= 10 * computation.tolerance


@pytest.mark.parametrize(("name", "spelling"), SPELLINGS, ids=[f"{name}-{spelling}" for name, spelling in SPELLINGS])
def test_a_spelling_computes_the_result_and_its_gradient(name: str, spelling: str) -> None:
    check(COMPUTATIONS[name], COMPUTATIONS[name].kernel(spelling))


@pytest.mark.parametrize("name", COMPUTATIONS)
def test_every_hand_written_form_computes_the_result_and_its_gradient(name: str) -> None:
    for form in COMPUTATIONS[name].forms.values():
        check(COMPUTATIONS[name], form)


def test_there_are_many_computations_with_many_spellings_each_at_both_sizes() -> None:
    full = {computation.name: computation for computation in all_computations("full")}

    assert len(COMPUTATIONS) >= 24
    assert [(name, list(c.spellings), list(c.forms)) for name, c in full.items()] == [
        (name, list(c.spellings), list(c.forms)) for name, c in COMPUTATIONS.items()
    ]
    for computation in full.values():
        assert len(set(computation.spellings.values())) == len(computation.spellings) >= 8, computation.name
        assert len(computation.forms) >= 2, computation.name


def test_every_computation_is_written_in_all_three_notations() -> None:
    for computation in COMPUTATIONS.values():
        texts = [written for written in computation.spellings.values() if isinstance(written, str)]

        assert any(text.startswith("\ndef ") or text.startswith("def ") for text in texts), computation.name
        assert any(callable(written) for written in computation.spellings.values()), computation.name
        assert "sac" in computation.spellings, computation.name


def example(**spellings: str) -> Computation:
    """Doubling, in the given spelling."""
    return Computation(
        name="double",
        make_arrays=lambda rng: (np.arange(4, dtype=np.float32),),
        reference=lambda x: 2 * x,
        forms={"sum": lambda x: x + x},
        spellings=spellings,
    )


def test_a_spelling_that_fails_or_is_wrong_is_a_line_with_the_problem() -> None:
    computation = example(right="y(i) = 2 * x(i)", failing="y(i) = 2 * x(i", wrong="y(i) = 3 * x(i)")

    found = measure(computation, list(computation.spellings), seconds=0.0)

    problems = {one.name: one.problem for one in found["gradient"].spellings}
    assert problems["right"] == ""
    assert problems["failing"].startswith("CompileError") and problems["wrong"].startswith("wrong")
    assert {row[1]: row[-1] for row in report.rows(found)} == {"(by hand: sum)": "", **problems}
    assert "2 not measured" in report.summary([found])


def test_a_hopeless_spelling_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_OPERATIONS", 3)

    found = measure(example(right="y(i) = 2 * x(i)"), ["right"], seconds=0.0)

    assert found["forward"].spellings[0].problem.startswith("hopeless: ")


def test_operations_are_counted_in_products_loops_and_nests() -> None:
    full = {computation.name: computation for computation in all_computations("full")}
    chain, min_plus = full["chain"], full["min_plus"]
    i, j, k, l, m = 512, 256, 384, 128, 512

    by_hand = operations(chain.forms["left_to_right"], *chain.arrays())
    nest = operations(min_plus.kernel("statement"), *min_plus.arrays())
    loop = operations(lambda x: jax.lax.map(lambda row: row @ row, x), np.ones((3, 5), np.float32))

    assert 2 * i * (j * k + k * l + l * m) <= by_hand < 3 * i * (j * k + k * l + l * m)
    assert 192**3 <= nest < 5 * 192**3
    assert 30 <= loop < 100


def test_the_summary_counts_near_and_far_spellings() -> None:
    form = Measurement("form", median=1.0)
    times = {"near": 1.25, "further": 1.5, "far": 4.0}
    spellings = tuple(Measurement(name, median=time, temporary_bytes=2, limit_bytes=1) for name, time in times.items())
    outcome = Outcome("double", "forward", (form,), (*spellings, Measurement("failing", problem="TypeError")))

    text = report.summary([{"forward": outcome}])

    assert text.startswith("forward: 1 of 4 within 1.3x of the best form, 1 above 2x, 1 not measured, 3 beyond")
    assert "geometric mean 1.96x" in text and "3.20x" in text and "gradient" not in text


def test_a_form_that_loses_digits_is_no_rival_of_a_spelling_that_keeps_them() -> None:
    forms = Measurement("exact", median=2.0, error=1e-7), Measurement("rough", median=1.0, error=1e-5)
    kept, lost = Measurement("kept", median=2.4, error=1e-7), Measurement("lost", median=1.2, error=9e-6)
    outcome = Outcome("distances", "forward", forms, (kept, lost))

    lines = {row[1]: row for row in report.rows({"forward": outcome})}

    assert {name: row[3] for name, row in lines.items()} == {
        "(by hand: rough / -)": "1.00",
        "(more exact: exact / -)": "1.00",
        "kept": "1.20",
        "lost": "1.20",
    }
    assert lines["kept"][-1] == "forward: rough is less exact, 1e-05 for 1e-07" and not lines["lost"][-1]
    assert "1 beside a slower form that is as exact as they are" in report.summary([{"forward": outcome}])


def test_a_run_prints_a_line_for_each_spelling_and_keeps_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rewrites.json"

    assert run.main(["mttkrp", "--sizes", "small", "--seconds", "0", "--spelling", "sac", "--json", str(file)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines[2:4]] == ["(by", "sac"]
    assert lines[-1].startswith("gradient: ") and '"direction": "gradient"' in file.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["other"], "no computation is called `other`; there are chain, "),
        (["chain", "--spelling", "other"], "no spelling of chain has `other` in its name"),
        (["chain", "--json", "no/such/folder.json"], "no/such/folder.json: No such file or directory"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(arguments) == 2

    captured = capsys.readouterr()
    assert captured.err.startswith(f"bench.rewrites: {said}") and captured.err.count("\n") == 1 and not captured.out
