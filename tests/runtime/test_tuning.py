"""`k.tune`: which form of a kernel it finds, with clocks set by the test."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tcjax
from tcjax import lowering, planning
from tcjax.lowering.traced import nests_of
from tcjax.planning.data.nests import LoopSchedule, Nest
from tcjax.runtime.tuning import candidates
from tcjax.runtime.tuning import tune as tuning
from tcjax.runtime.tuning.choices import Choice, Tiles
from tcjax.runtime.tuning.progress import Bar, progress_bar
from tcjax.runtime.tuning.search import Candidate, Outcome, Unusable, search
from tcjax.runtime.tuning.timing import ROUNDS, Contender, Watch, race

BLUR = """
def blur(float(N,M) A) -> (C) {
    B(i,j) = A(i-1,j) + A(i,j) + A(i+1,j)
    C(i,j) = B(i,j-1) + B(i,j) + B(i,j+1)
}"""


def rows(count: int) -> Choice:
    return Choice(tiles=(Tiles("C", "i", count, ("B",)),))


def picture(height: int = 200) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(height, 30)).astype("float32")


def timed(seconds: Callable[[Contender], float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every later `tune` measures these times."""
    monkeypatch.setattr(tuning, "wall_timer", seconds)


class TestSearch:
    """`search` on names: `times` are the seconds per call of each."""

    def run(self, *statements: list[str], times: dict[str, float], left: float = 1e9, **given: Any) -> Outcome:
        def build(name: str, choice: Choice) -> Contender:
            if name not in times:
                raise Unusable("does not compile")
            return Contender(name, choice, lambda: None)

        def timer(contender: Contender) -> float:
            applied = [times[tiles.consumer] for tiles in contender.choice.tiles]
            return times["planned"] + sum(seconds - times["planned"] for seconds in applied)

        planned = Contender("planned", Choice(), lambda: None)
        candidates = [
            [Candidate(n, lambda choice, n=n: choice.with_tiles(Tiles(n, "i", 1, ()))) for n in names]
            for names in statements
        ]
        watch = Watch(left, clock=given.pop("clock", lambda: 0.0))
        return search(planned, candidates, build, given.pop("timer", timer), watch, Bar())

    def test_the_fastest_candidate_of_each_statement_wins_and_they_hold_together(self) -> None:
        outcome = self.run(["a", "b"], ["c", "d"], times={"planned": 10.0, "a": 9.0, "b": 7.0, "c": 12.0, "d": 8.0})

        assert [tiles.consumer for tiles in outcome.best.choice.tiles] == ["b", "d"]
        assert outcome.best.best == pytest.approx(5.0)
        assert [trial.name for trial in outcome.trials] == ["planned", "a", "b", "c", "d"]
        assert outcome.stopped == ""

    def test_what_is_faster_by_no_more_than_noise_does_not_win(self) -> None:
        outcome = self.run(["a"], times={"planned": 10.0, "a": 9.8})

        assert outcome.best is outcome.planned

    def test_a_candidate_that_does_not_compile_is_reported_with_its_reason(self) -> None:
        outcome = self.run(["broken", "a"], times={"planned": 10.0, "a": 5.0})

        assert [(t.name, t.seconds, t.problem) for t in outcome.trials][1] == ("broken", None, "does not compile")
        assert outcome.best.name == "a"

    def test_when_the_time_is_up_the_best_so_far_stays(self) -> None:
        now = [0.0]

        def timer(contender: Contender) -> float:
            now[0] += 1.0
            return {"planned": 3.0, "a": 2.0, "b": 1.0}[contender.name]

        outcome = self.run(["a"], ["b"], times={"a": 0.0, "b": 0.0}, left=2.0, clock=lambda: now[0], timer=timer)

        assert outcome.best.name == "a"
        assert outcome.stopped == "the time limit was reached"
        assert now[0] == 2.0

    def test_without_time_to_compile_nothing_but_the_plan_is_left(self) -> None:
        outcome = self.run(
            ["a", "b"], times={"planned": 3.0, "a": 1.0, "b": 1.0}, left=0.0, clock=iter(range(99)).__next__
        )

        assert outcome.best is outcome.planned
        assert {trial.problem for trial in outcome.trials[1:]} == {"no time left to try it"}

    @pytest.mark.parametrize(("calls", "winner"), [(0, "planned"), (1, "planned"), (2, "a"), (9, "a")])
    def test_control_c_keeps_the_best_so_far(self, calls: int, winner: str) -> None:
        count = [0]

        def timer(contender: Contender) -> float:
            if count[0] == calls:
                raise KeyboardInterrupt
            count[0] += 1
            return {"planned": 3.0, "a": 2.0, "b": 1.0}[contender.name]

        outcome = self.run(["a"], ["b"], times={"a": 0.0, "b": 0.0}, timer=timer)

        assert outcome.best.name == winner
        assert outcome.stopped == "interrupted"

    def test_a_gain_that_vanishes_in_company_is_given_up(self) -> None:
        def timer(contender: Contender) -> float:
            return {0: 10.0, 1: 8.0, 2: 7.0}[len(contender.choice.tiles)] if alone[0] else 10.0

        alone = [True]
        watch = Watch(1e9, clock=lambda: 0.0)
        planned = Contender("planned", Choice(), lambda: None)

        def build(name: str, choice: Choice) -> Contender:
            # The last candidate has been built: from now on all are equally slow.
            return Contender(name, choice, lambda: None)

        def change(name: str) -> Callable[[Choice], Choice]:
            return lambda choice: choice.with_tiles(Tiles(name, "i", 1, ()))

        class Last(Bar):
            def says(self, text: str) -> None:
                alone[0] = text != "b"

        outcome = search(
            planned, [[Candidate("a", change("a"))], [Candidate("b", change("b"))]], build, timer, watch, Last()
        )

        assert outcome.best is planned


class TestRace:
    def test_contenders_take_turns_and_the_hopeless_are_dropped(self) -> None:
        order: list[str] = []
        seconds = {"a": 1.0, "b": 1.1, "slow": 5.0}

        def timer(contender: Contender) -> float:
            order.append(contender.name)
            return seconds[contender.name]

        contenders = [Contender(name, Choice(), lambda: None) for name in seconds]
        race(contenders, timer, Watch(1e9, clock=lambda: 0.0))

        assert order[:6] == ["a", "b", "slow", "a", "b", "slow"]
        assert [order.count(name) for name in seconds] == [ROUNDS, ROUNDS, 2]

    def test_a_short_call_is_repeated_until_a_clock_can_see_it(self) -> None:
        contender = Contender("a", Choice(), lambda: None)

        race([contender], lambda _: 1e-4, Watch(1e9, clock=lambda: 0.0))

        assert contender.calls == 20


class TestKernel:
    def test_a_tuned_kernel_runs_the_fastest_way_and_computes_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        timed(lambda c: 1.0 if c.choice == rows(64) else 2.0, monkeypatch)
        kernel, A = tcjax.kernel(BLUR), picture()

        tuned = kernel.tune(A)

        assert tuned.tuned is not None and tuned.tuned.choice == rows(64)
        assert tuned.tuned.speedup == 2.0
        assert tuned.plan(A).scheduled is not None and kernel.plan(A).scheduled is None
        np.testing.assert_allclose(tuned(A), kernel(A), rtol=1e-6)

    def test_other_shapes_run_as_planned(self, monkeypatch: pytest.MonkeyPatch) -> None:
        timed(lambda c: 1.0 if c.choice == rows(64) else 2.0, monkeypatch)

        tuned = tcjax.kernel(BLUR).tune(picture())

        assert tuned.plan(picture(100)).scheduled is None

    def test_tuning_for_a_second_shape_keeps_the_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        timed(lambda c: 1.0 if c.choice == rows(64) else 2.0, monkeypatch)

        tuned = tcjax.kernel(BLUR).tune(picture()).tune(picture(100))

        assert tuned.plan(picture()).scheduled is not None and tuned.plan(picture(100)).scheduled is not None

    def test_a_way_that_computes_something_else_is_never_chosen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        timed(lambda c: 1.0 if c.choice.tiles else 2.0, monkeypatch)
        lower = lowering.lower

        def wrong(plan: Any, *rest: Any) -> tuple[jax.Array, ...]:
            return tuple(result * (1.001 if plan.scheduled else 1) for result in lower(plan, *rest))

        monkeypatch.setattr(lowering, "lower", wrong)

        tuned = tcjax.kernel(BLUR).tune(picture())

        assert tuned.tuned is not None and tuned.tuned.choice == Choice()
        assert {trial.problem for trial in tuned.tuned.trials[1:]} == {"computes something else"}

    def test_control_c_returns_a_kernel(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def timer(contender: Contender) -> float:
            raise KeyboardInterrupt

        timed(timer, monkeypatch)
        kernel, A = tcjax.kernel(BLUR), picture()

        tuned = kernel.tune(A)

        assert tuned.tuned is not None and tuned.tuned.stopped == "interrupted"
        np.testing.assert_array_equal(tuned(A), kernel(A))

    def test_the_real_clock_finds_something_that_computes_the_same(self) -> None:
        kernel, A = tcjax.kernel(BLUR), picture(70)

        tuned = kernel.tune(A, seconds=2)

        np.testing.assert_allclose(tuned(A), kernel(A), rtol=1e-6)
        assert "as planned" in str(tuned.tuned)

    def test_initial_values_and_gradients_go_through_a_tuned_kernel(self, monkeypatch: pytest.MonkeyPatch) -> None:
        timed(lambda c: 1.0 if c.choice.tiles else 2.0, monkeypatch)
        kernel, A = tcjax.kernel(BLUR), picture(70)

        tuned = kernel.tune(A)

        gradient = jax.grad(lambda k, a: (k(a) ** 2).sum(), argnums=1)
        np.testing.assert_allclose(gradient(tuned, A), gradient(kernel, A), rtol=1e-4, atol=1e-4)

    def test_a_kernel_with_nothing_to_choose_is_measured_all_the_same(self) -> None:
        kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = A(i) + 1 }")

        tuned = kernel.tune(np.ones(4, "float32"), seconds=1)

        assert tuned.tuned is not None and [trial.name for trial in tuned.tuned.trials] == ["as planned"]


class TestForms:
    NEAREST = "def nearest(float(N) x, float(M) y) -> (d) { d(i) min=! (x(i) - y(j)) * (x(i) - y(j)) }"

    def points(self) -> list[np.ndarray]:
        return [np.random.default_rng(seed).normal(size=1500).astype("float32") for seed in (0, 1)]

    def forms(self, kernel: tcjax.Kernel) -> list[LoopSchedule]:
        """The forms of the loop nests that a call runs."""
        (stage,) = kernel.plan(*self.points()).stages
        assert isinstance(stage, planning.Compute)
        return [stage.value.form] if isinstance(stage.value, planning.nodes.LoopNest) else []

    def test_another_form_of_a_loop_nest_is_found_and_remembered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path))
        kernel = tcjax.kernel(self.NEAREST)
        planned = self.forms(kernel)
        seen: list[LoopSchedule] = []

        def timer(contender: Contender) -> float:
            # The last form that is tried is the fastest.
            forms = [form for _, form in contender.choice.forms if form is not None]
            seen.extend(form for form in forms if form not in seen)
            return 1.0 / (1 + len(seen)) if forms and forms[0] == seen[-1] else 2.0

        timed(timer, monkeypatch)
        tuned = kernel.tune(*self.points())

        assert len(seen) > 1 and planned and seen[-1] not in planned
        assert self.forms(tuned) == self.forms(tcjax.kernel(self.NEAREST)) == [seen[-1]]
        np.testing.assert_allclose(tuned(*self.points()), kernel(*self.points()), rtol=1e-6)

    def test_no_nest_at_all_may_be_the_fastest(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path))
        timed(lambda contender: 1.0 if ("d", None) in contender.choice.forms else 2.0, monkeypatch)

        tuned = tcjax.kernel(self.NEAREST).tune(*self.points())

        assert self.forms(tuned) == self.forms(tcjax.kernel(self.NEAREST)) == []


class TestGradients:
    SLOPES = "def f(float(N) x, float(M) y) -> (O) { O(i) +=! fabs(x(i) - y(j)) }"

    def points(self) -> list[np.ndarray]:
        return [np.random.default_rng(seed).normal(size=1500).astype("float32") for seed in (0, 1)]

    def nests(self, kernel: tcjax.Kernel) -> dict[Nest, LoopSchedule]:
        """The nests of the derivative and their forms, without that of the result."""
        slope = jax.grad(lambda *a: kernel(*a).sum(), (0, 1))
        found = nests_of(jax.make_jaxpr(slope)(*self.points()).jaxpr)
        return {nest: form for nest, form in found.items() if nest.operands[0].name != "x"}

    def forms(self, kernel: tcjax.Kernel) -> list[LoopSchedule]:
        return list(self.nests(kernel).values())

    def test_the_nests_of_a_derivative_are_tuned_and_remembered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path))
        usual = candidates.candidates
        monkeypatch.setattr(candidates, "candidates", lambda nest: usual(nest)[:2])
        timed(lambda c: 1.0 / (1 + sum(form is not None for _, form in c.choice.gradient)), monkeypatch)
        kernel = tcjax.kernel(self.SLOPES)
        planned = self.forms(kernel)

        tuned = kernel.tune(*self.points(), seconds=1e6, gradient=True)

        assert tuned.tuned is not None and tuned.tuned.gradient_speedup == 3.0
        assert "gradient as planned" in str(tuned.tuned)
        assert len(planned) == 2 and not set(planned) & set(self.forms(tuned))
        assert self.forms(tcjax.kernel(self.SLOPES)) == self.forms(tuned)
        for found, expected in zip(
            jax.grad(lambda *a: tuned(*a).sum(), (0, 1))(*self.points()),
            jax.grad(lambda *a: kernel(*a).sum(), (0, 1))(*self.points()),
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        # Tuning only the result afterwards keeps the choice for the derivative.
        again = tcjax.kernel(self.SLOPES).tune(*self.points(), seconds=1e-3)
        assert self.forms(again) == self.forms(tuned)

    def test_a_remembered_form_that_is_no_candidate_is_passed_over(self) -> None:
        kernel = tcjax.kernel(self.SLOPES)
        planned = self.forms(kernel)
        call, _ = kernel._call(tuple(self.points()), {})
        odd = tuple((nest.name, replace(form, rows=7)) for nest, form in self.nests(kernel).items())

        other = tcjax.kernel(self.SLOPES)
        other._compiler.choices[call] = Choice(gradient=odd)

        assert self.forms(other) == planned

    def test_what_has_no_derivative_is_refused(self) -> None:
        kernel = tcjax.kernel("O(i) = int32(x(i) > 0.0)")

        with pytest.raises(tcjax.CompileError, match="no gradient to tune: no result is a float"):
            kernel.tune(self.points()[0], gradient=True)


class TestRefusals:
    def test_tracers_cannot_be_tuned_for(self) -> None:
        kernel = tcjax.kernel(BLUR)

        with pytest.raises(tcjax.CompileError, match="a tracer") as caught:
            jax.jit(lambda a: kernel.tune(a)(a))(picture())

        assert caught.value.code == "TC0901"

    def test_shapes_without_values_cannot_be_tuned_for(self) -> None:
        with pytest.raises(tcjax.CompileError, match="a shape without values"):
            tcjax.kernel(BLUR).tune(jax.ShapeDtypeStruct((8, 8), "float32"))

    def test_a_kernel_with_a_schedule_says_which_one_to_tune(self) -> None:
        kernel = tcjax.kernel(BLUR)
        kernel = kernel.with_schedule(kernel.schedule())

        with pytest.raises(tcjax.CompileError, match="has a schedule") as caught:
            kernel.tune(picture())

        assert caught.value.code == "TC0308"

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "long", None])
    def test_a_time_that_is_none_is_refused(self, seconds: Any) -> None:
        with pytest.raises(tcjax.CompileError, match="is not a search time"):
            tcjax.kernel(BLUR).tune(picture(), seconds=seconds)

    def test_wrong_arguments_are_refused_as_in_a_call(self) -> None:
        kernel = tcjax.kernel(BLUR)

        for arguments, code in [((), "TC0503"), ((picture()[0],), "TC0502"), ((picture().astype(int),), "TC0305")]:
            with pytest.raises(tcjax.CompileError) as caught:
                kernel.tune(*arguments)

            assert caught.value.code == code


def test_there_is_no_bar_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    bar = progress_bar("f", 3, True)

    bar.says("a")
    bar.advance()
    bar.close()

    assert capsys.readouterr().err == ""
