"""Texts of any depth and length give a tree or a `CompileError`."""

import pytest

from tcjax import CompileError
from tcjax.syntax import ast
from tcjax.syntax.embedded import read_text, write


@pytest.mark.parametrize(
    "value",
    [
        "-" * 250 + "A[i]",
        "-" * 20_000 + "A[i]",
        " + ".join(["A[i]"] * 250),
        " + ".join(["A[i]"] * 30_000),
        "f(" * 150 + "A[i]" + ")" * 150 + " + " + " + ".join(["A[i]"] * 100),
        "f(" * 5_000 + "A[i]" + ")" * 5_000,
        "A[" * 199 + "i" + "]" * 199 + " + 1" * 10,
        "not " * 5_000 + "A[i]",
        "1 if A[i] else " * 300 + "2",
        "1 ** " * 3_000 + "2",
    ],
    ids=lambda value: f"{value[:12]}…{len(value)}",
)
def test_what_is_nested_too_deep_is_refused(value: str) -> None:
    with pytest.raises(CompileError, match="nested more than 200 levels deep") as caught:
        read_text(f"def f(A):\n    C[i] = {value}\n    return C\n")

    assert caught.value.code == "TC0103"


@pytest.mark.parametrize("blocks", ["if A[i]:", "for k in range(3):", "with exists(A[i]):"])
def test_blocks_nested_too_deep_are_refused(blocks: str) -> None:
    lines = "".join(f"{' ' * depth}{blocks}\n" for depth in range(1, 250))

    with pytest.raises(CompileError) as caught:
        read_text(f"def f(A):\n{lines}{' ' * 250}C[i] = 1\n return C\n")

    assert caught.value.code == "TC0103"


def test_a_chain_of_conditions_that_is_too_long_is_refused() -> None:
    branches = "".join(f"    elif i < {n}:\n        C[i] = {n}\n" for n in range(1_000))

    with pytest.raises(CompileError) as caught:
        read_text(f"def f(A):\n    if i < 0:\n        C[i] = 0\n{branches}    return C\n")

    assert caught.value.code == "TC0103"


@pytest.mark.parametrize("depth", [50, 180])
@pytest.mark.parametrize(("before", "after"), [("-", ""), ("f(", ")"), ("A[", "]"), ("1 + (", ")"), ("sum[k](", ")")])
def test_what_is_nested_within_the_limit_is_read(depth: int, before: str, after: str) -> None:
    definition = read_text(f"def f(A):\n    C[i] = {before * depth}i{after * depth}\n    return C\n").definition

    assert definition is not None
    assert read_text(write(definition)).definition == definition


def test_a_long_chain_of_and_is_read_without_nesting() -> None:
    definition = read_text(f"def f(A):\n    C[i] = {' and '.join(['A[i]'] * 150)}\n    return C\n").definition

    assert definition is not None
    assert read_text(write(definition)).definition == definition


def test_a_body_of_many_statements_is_read() -> None:
    lines = "".join(f"    T{n}[i] = A[i] + {n}\n" for n in range(3_000))

    definition = read_text(f"def f(A):\n{lines}    return T0\n").definition

    assert definition is not None and len(definition.body) == 3_000


def test_a_tree_that_is_nested_too_deep_to_be_written_is_refused() -> None:
    value: ast.Expr = ast.Name("i")
    for _ in range(5_000):
        value = ast.Unary("-", value)
    statement = ast.Assign("C", (ast.Name("i"),), None, False, value)

    with pytest.raises(CompileError) as caught:
        write(ast.Definition("f", (), (ast.Parameter("C"),), (statement,)))

    assert caught.value.code == "TC0103"
