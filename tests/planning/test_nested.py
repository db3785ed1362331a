"""Planning time of nested reductions grows with the size of the program, not exponentially with its depth."""

from time import process_time

import numpy as np
import pytest

from tcjax.planning import reductions
from tests.agreement import comparing
from tests.strategies.programs import Case

P = np.array([0, 1, 2, 3], "int32")
V, W = np.array([1, -2, 0.5], "float32"), np.array([0.5, 1, -1.5, 2], "float32")


def nested(depth: int, value: str) -> Case:
    """Nested sums over ragged rows."""
    body = f"V(r{depth})"
    for level in range(depth, 0, -1):
        own, outer = f"r{level}", f"r{level - 1}" if level > 1 else "i"
        body = f"sum[{own} in P({outer}):P({outer}+1)](V({own}) * ({value.format(body)}))"
    text = f"def f(int32(M) P, float(L) V, float(K) W) -> (y) {{ y(i) +=! {body} * W(u) where i in 0:3, u in 0:2 }}"
    return Case(text, {"P": P, "V": V, "W": W})


def test_each_level_of_nested_sums_takes_as_many_plans_as_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    planned: list[object] = []
    plan = reductions.plan_reduce
    monkeypatch.setattr(reductions, "plan_reduce", lambda *given: planned.append(given) or plan(*given))

    def plans(depth: int) -> int:
        planned.clear()
        nested(depth, "logsumexp[s in 0:2](W(s) * {0})").kernel.plan(P, V, W)
        return len(planned)

    two, three, four = map(plans, (2, 3, 4))

    assert 0 < four - three <= three - two


def test_nested_sums_are_planned_in_seconds() -> None:
    case, start = nested(4, "logsumexp[s in 0:2](W(s) * {0})"), process_time()

    case.kernel.plan(P, V, W)

    # With a depth of three it took 17 s when each way to compute a sum planned the inner sums again.
    assert process_time() - start < 8


def test_nested_sums_have_the_interpreters_values() -> None:
    comparing.values(nested(2, "logsumexp[s in 0:2](W(s) * {0})"))
    comparing.grads(nested(2, "W(1) / ({0} * {0} + 1.5)"))
