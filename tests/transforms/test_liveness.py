"""Statements that no result needs."""

import jax
import pytest

import tcjax
from tcjax import ir, transforms


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("O(i) = A(i)  B(i) = A(i)", ["O"]),
        ("B(i) = A(i)  O(i) = B(i)", ["B", "O"]),
        ("O(i) = 2*A(i)  O(i) = A(i)", ["O"]),
        ("O(i) = 2*A(i)  O(i) += A(i)", ["O", "O"]),
        ("O(i) = 2*A(i)  O(i) = A(i) where i in 1:N", ["O", "O"]),
        ("O(i) = 2*A(i)  O(i) = A(i) where A(i) > 0", ["O", "O"]),
        ("O(i) = A(i)  for t in 0:3 { S(t) +=! O(i)  O(i) = 2*O(i) }", ["O", "O"]),
        ("O(i) = A(i)  for t in 0:3 { S(t) +=! O(i) }", ["O"]),
        # Each step replaces O, and reads what a statement further down wrote.
        ("O(i) = A(i)  B(i) = A(i)  C(i) = A(i) for t in 0:3 { O(i) = B(i)  B(i) = C(i)  C(i) = 2*C(i) }", "BCOBC"),
        ("O(i) = A(i)  B(i) = A(i) for t in 0:3 { for s in 0:2 { O(i) = B(i) }  B(i) = 2*B(i) }", "BOB"),
        ("O(i) = A(i)  B(i) = A(i) for t in 2:2 { O(i) = 2*B(i) }", "OBO"),
        ("O(i) = A(i)  B(i) = A(i) for t in 0:3 { O(i) = B(i) where i in 0:2  B(i) = 2*B(i) }", "OBOB"),
        ("O(0,i) = A(i) for t in 1:3 { O(t,i) = 2*O(t-1,i) }", ["O", "O"]),
    ],
)
def test_statements_stay_that_a_result_needs(body: str, kept: list[str] | str) -> None:
    given = jax.ShapeDtypeStruct((4,), "float32")
    bound = tcjax.kernel(f"def f(float(N) A) -> (O) {{ {body} }}").schedule(given).bound(given)

    found = transforms.needed(bound)

    statements = found.function.statements
    assert [target.name for each in statements for target in ir.targets(each)] == [*kept]
    assert len(found.boxes) == len(statements)
    inside = [n for loop in found.function.loops for n in range(loop.first, loop.last)]
    assert all(0 <= n < len(statements) for n in inside)
