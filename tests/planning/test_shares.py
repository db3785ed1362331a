"""Which quotients are shares of a sum of exponentials, whose derivative needs nothing else."""

import numpy as np
import pytest

import tcjax
from tcjax.planning.data.nodes import Apply
from tcjax.planning.data.stages import Compute

SHARES = {
    "named statements": """
        m(n) max=! I(n,d)
        e(n,d) = exp(I(n,d) - m(n))
        s(n) +=! e(n,d)
        O(n,d) = e(n,d) / s(n)""",
    "other names in each statement": """
        m(n) max=! I(n,d)
        s(a) +=! exp(I(a,b) - m(a))
        O(x,y) = exp(I(x,y) - m(x)) / s(x)""",
    "one expression": "O(n,d) = exp(I(n,d)) / sum[k](exp(I(n,k)))",
    "columns": "O(n,d) = exp(I(n,d)) / sum[k](exp(I(k,d)))",
    "all elements": "s +=! exp(I(n,d))  O(n,d) = exp(I(n,d)) / s",
    "a function of the data": "O(n,d) = exp(sin(I(n,d)) * 2) / sum[k](exp(sin(I(n,k)) * 2))",
    "within a sum": "O(n,d) = I(n,d) + exp(I(n,d)) / sum[k](exp(I(n,k)))",
}
OTHERS = {
    "another shift": "m(n) max=! I(n,d)  s(n) +=! exp(I(n,d))  O(n,d) = exp(I(n,d) - m(n)) / s(n)",
    "a sum under a condition": "s(n) +=! exp(I(n,d)) where d > n  O(n,d) = exp(I(n,d)) / s(n)",
    "another row": "s(n) +=! exp(I(n,d))  O(n,d) = exp(I(n,d)) / s(N-1-n)",
    "a sum of squares": "s(n) +=! exp(I(n,d)) * exp(I(n,d))  O(n,d) = exp(I(n,d)) / s(n)",
    "a sum that changed": "s(n) +=! exp(I(n,d))  s(n) = 2 * s(n)  O(n,d) = exp(I(n,d)) / s(n)",
    "data that changed": """
        t(n,d) = sin(I(n,d))
        s(n) +=! exp(t(n,d))
        t(n,d) = t(n,d) * I(n,d)
        O(n,d) = exp(t(n,d)) / s(n)""",
    "a maximum": "s(n) max=! exp(I(n,d))  O(n,d) = exp(I(n,d)) / s(n)",
}


def has_share(body: str, shape: tuple[int, ...] = (64, 512)) -> bool:
    kernel = tcjax.kernel(f"def f(float(N,D) I) -> (O) {{ {body} }}")
    stages = kernel.plan(np.zeros(shape, np.float32)).stages
    pending = [stage.value for stage in stages if isinstance(stage, Compute)]
    while pending:
        node = pending.pop()
        if isinstance(node, Apply):
            if node.operator == "share":
                return True
            pending.extend(node.arguments)
    return False


@pytest.mark.parametrize("body", SHARES.values(), ids=SHARES)
def test_a_quotient_by_the_sum_of_all_dividends_is_a_share(body: str) -> None:
    assert has_share(body)


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS)
def test_other_quotients_are_none(body: str) -> None:
    assert not has_share(body, (64, 64))
