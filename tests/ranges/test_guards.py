"""The effective guard of a statement or an inline reduction."""

from tcjax import ir
from tcjax.ranges import effective_guard

from .texts import function


def statement(text: str) -> ir.Statement:
    return function(text).statements[0]


def shown(node: ir.Statement | ir.Reduce) -> str | None:
    guard = effective_guard(node)
    return None if guard is None else ir.show_expr(guard)


def test_without_a_guard_there_is_none() -> None:
    assert shown(statement("def f(float(N) A) -> (O) { O(i) = A(i) where i in 0:N }")) is None


def test_a_written_guard_is_kept() -> None:
    assert shown(statement("def f(float(N) A) -> (O) { O(i) = A(i) where i >= 2 }")) == "(i >= 2)"


def test_a_moving_end_becomes_a_comparison() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(k) where i in 0:N, k in 0:i+1 }"

    assert shown(statement(text)) == "(k < (i + 1))"


def test_both_ends_may_move() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(k) where i in 0:N, k in 2*i:2*i+3 }"

    assert shown(statement(text)) == "(((2 * i) <= k) && (k < ((2 * i) + 3)))"


def test_moving_ends_come_before_the_written_guard() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(k) where i in 0:N, k in i/2:N, A(k) > 0.0 }"

    assert shown(statement(text)) == "(((i // 2) <= k) && (A[k] > 0.0))"


def test_only_the_last_range_of_an_index_counts() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(k) where i in 0:N, k in i:N, k in 0:N }"

    assert shown(statement(text)) is None


def test_an_inline_reduction_has_its_own_guard() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = sum[k in 0:min(i, 3) where k != 1](A(k)) where i in 0:N }"
    define = statement(text)
    assert isinstance(define, ir.Define)
    reduce = next(node for node in ir.walk(define.value) if isinstance(node, ir.Reduce))

    assert shown(define) is None
    assert shown(reduce) == "((k < min(3, i)) && (k != 1))"


def test_a_call_has_no_guard() -> None:
    text = "def g(float(N) A) -> (O) { O(i) = A(i) } def f(float(N) A) -> (O) { O = g(A) }"

    assert shown(statement(text)) is None
