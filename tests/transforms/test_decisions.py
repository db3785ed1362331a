"""Conditions that ranges and guards decide are removed, all others stay."""

import numpy as np
import pytest

import tcjax
from tcjax import planning
from tcjax.planning.data import nodes


def _tests(plan: planning.Plan) -> list[str]:
    """The remaining comparisons, and ``mask`` if some elements are not written."""
    found: list[str] = []
    for stage in plan.stages:
        assert isinstance(stage, planning.Compute)
        found += ["mask"] if stage.store.mask is not None else []
        pending: list[nodes.Node] = [stage.value]
        while pending:
            node = pending.pop()
            if isinstance(node, nodes.Apply) and node.operator in ("<", "<=", ">", ">=", "==", "!=", "where"):
                found.append(node.operator)
            pending.extend(nodes.operands(node))
    return sorted(found)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("O(i) = i < 9 ? A(i) : 0.0 where i in 0:9", []),
        ("O(i) = i < 8 ? A(i) : 0.0 where i in 0:9", ["<", "where"]),
        ("O(i) = i >= 9 ? A(i-9) : 1.0 where i in 0:9", []),
        # Padding of ones.
        ("O(i) = i >= 8 ? A(i-8) : 1.0 where i in 0:9", []),
        ("O(i) = i >= 8 ? A(i-8) : A(i) where i in 0:9", [">=", "where"]),
        ("O(i) = (i >= 0 && i < 5) ? A(i) : 2.0 where i in 0:9", ["<", "where"]),
        ("O(i) = (i < 0 || i < 5) ? A(i) : 2.0 where i in 0:9", ["<", "where"]),
        ("O(i) = (i >= 0 || i < 5) ? A(i) : 2.0 where i in 0:9", []),
        ("O(i) = !(i % 4 == 4) ? A(i) : 3.0 where i in 0:9", []),
        ("O(i) = i / 4 < 3 ? A(i) : 3.0 where i in 0:9", []),
        ("O(i) = i / 4 < 2 ? A(i) : 3.0 where i in 0:9", ["<", "where"]),
        # Facts from an outer condition.
        ("O(i) = i < 4 ? (i < 5 ? A(i) : 3.0) : A(i-4) where i in 0:9", ["<", "where"]),
        ("O(i) = i < 4 ? A(i) : (i > 3 ? A(i-4) : 3.0) where i in 0:9", ["<", "where"]),
        ("O(i) = i < 5 ? (i < 4 ? A(i) : 3.0) : A(i-4) where i in 0:9", ["<", "<", "where", "where"]),
        ("O(i) = A(i) where i in 0:9, i < 20", []),
        ("O(i) = A(i) where i in 0:9, i < 2, i < 20", ["mask"]),
        ("O(i) +=! i + k < 11 ? A(i) : 0.0 where i in 0:9, k in 0:3", []),
        # How often it holds, and whether it holds anywhere: else neither the count nor `A(i)` takes part.
        ("O(i) +=! i + k < 10 ? A(i) : 0.0 where i in 0:9, k in 0:3", ["<", "<", "<", "where", "where"]),
        ("O(i,j) = (i*4 + j < 36) ? A(i) : 0.0 where i in 0:9, j in 0:4", []),
        # Padding of zeros.
        ("O(i) = sum[k in 0:4](i + k >= 0 && i + k < 9 ? A(i+k) : 0.0) where i in 0:9", []),
        ("O(i) = sum[k in 0:4](i + k >= 0 && i + k < 8 ? A(i+k) : 0.0) where i in 0:9", ["<", "where"]),
        # Numbers that wrap around.
        ("O(i) = i * 100000 * 100000 > -1 ? A(i) : 0.0 where i in 0:9", [">", "where"]),
        ("O(i) = i * 100000 * 10000 / 100000 > -1 ? A(i) : 0.0 where i in 0:9", [">", "where"]),
        ("O(i) = i * 1000 * 1000 > -1 ? A(i) : 0.0 where i in 0:9", []),
        # Data decides.
        ("O(i) = A(i) < 0.0 ? 1.0 : A(i) where i in 0:9", ["<", "where"]),
    ],
)
def test_only_what_is_not_decided_is_tested(text: str, left: list[str]) -> None:
    kernel = tcjax.kernel(text)
    A = np.random.default_rng(0).normal(size=9).astype("float32")

    plan = kernel.plan(A)

    assert _tests(plan) == left
    np.testing.assert_allclose(kernel(A), kernel.interpret(A), rtol=1e-6)


def test_the_reason_names_the_ranges_and_the_guards() -> None:
    kernel = tcjax.kernel("O(i) = i < 4 ? (i < 5 ? A(i) : 3.0) : A(i-4) where i in 0:9")

    (stage,) = kernel.plan(np.zeros(9, "float32")).stages

    assert isinstance(stage, planning.Compute)
    assert stage.decided == ("the guard `i < 5` always holds: i in 0:9, inside `i < 4`",)
