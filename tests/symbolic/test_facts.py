"""Facts about names: every answer is compared with all points of a box, or with a result worked out by hand."""

import pickle
from collections.abc import Callable
from itertools import product

import pytest

from tcjax import CompileError
from tcjax.symbolic.facts import Expr, Prover


def values(text: str, **ranges: range) -> list[int]:
    """Every value of `text` over a box, without points that divide by zero."""
    found = []
    expr = Expr.of(text)
    for point in product(*ranges.values()):
        try:
            found.append(expr.evaluate(dict(zip(ranges, point, strict=True))))
        except ZeroDivisionError:
            continue
    return found


@pytest.mark.parametrize(
    "text",
    [
        "a - (b - c) - -3",
        "-x*y // -(z + 1)",
        "select(a < b and not c == 3, min(a, b), tdiv(a, -3)) % 4",
        "0 - 3",
        "(a < b or c != d) and A.0 <= i' < k.1",
        "a < b and (true or c < d)",
    ],
)
def test_what_is_printed_reads_back_as_the_same_object(text: str) -> None:
    expr = Expr.of(text)

    assert Expr.of(str(expr)) is expr


@pytest.mark.parametrize(
    ("text", "column"),
    [("x +", 4), ("x ? y", 3), ("min(x", 6), ("x < ", 5), ("tdiv(x)", 1), ("(x < 1) + 2", 1), ("3x", 2)],
)
def test_a_mistake_in_a_text_has_a_place_and_a_caret(text: str, column: int) -> None:
    with pytest.raises(CompileError) as mistake:
        Prover().prove(text)

    assert mistake.value.span.column == column
    assert "^" in str(mistake.value)


def test_a_text_that_nests_too_deeply_is_a_compile_error_and_a_long_sum_is_none() -> None:
    with pytest.raises(CompileError, match="nests"):
        Prover().bounds("(" * 5000 + "x" + ")" * 5000)
    with pytest.raises(CompileError, match="nests"):
        Prover().bounds("-" * 5000 + "x")

    facts = Prover().define("x", 0, 1)

    assert facts.bounds(" + ".join(["x"] * 5000)) == (0, 5000)


def test_a_scope_never_learns_from_an_inner_one() -> None:
    outer = Prover().define("i", 0, None)
    assert not outer.prove("i < 8")

    inner = outer.assume("i < 8")

    assert inner.prove("i < 8")
    assert not outer.prove("i < 8")
    assert inner.without({"guard"}).bounds("i") == (0, None)


def test_a_definition_that_contradicts_names_both_facts_and_a_guard_only_says_so() -> None:
    facts = Prover().define("i", 0, 7)

    with pytest.raises(CompileError, match=r"`i > 9` contradicts `i <= 7`"):
        facts.assume("i > 9", why="user")
    with pytest.raises(CompileError):
        Prover().define("n", 3, 2)
    assert facts.contradiction is None
    assert "i <= 7" in str(facts.assume("i > 9").contradiction)


def test_the_words_of_a_contradiction_leave_out_what_has_no_part_in_it() -> None:
    facts = Prover().define("i", 0, 9).define("n", 1)

    assert facts.replace("i", 15).contradiction == "`15 <= 9` never holds"
    assert facts.assume("n > 4", "i > 20", "i < n").contradiction == "`i > 20` contradicts `i <= 9`"


def test_a_range_of_expressions_may_be_empty_and_one_of_numbers_may_not() -> None:
    empty = Prover().define("n", 0, 0).define("i", 0, "n - 1")

    assert empty.contradiction is not None
    assert empty.define("j", 0, 7).contradiction == empty.contradiction
    with pytest.raises(CompileError, match="contradicts"):
        Prover().define("n", 3, 5).define("n", equals=7)


@pytest.mark.parametrize(
    "ask",
    [
        lambda facts: facts.define("i", equals="j < 3"),
        lambda facts: facts.define("i", 0, "j < 3"),
        lambda facts: facts.replace("i", "j < 3"),
        lambda facts: facts.replace("i", "j", j=3),
        lambda facts: facts.linear("i", 3),
        lambda facts: facts.linear("i", ["i", 3]),
        lambda facts: facts.bijective(3),
        lambda facts: facts.solve("i < 3", 3),
        lambda facts: facts.hull("i", 3),
    ],
)
def test_what_is_no_number_no_name_or_no_list_is_refused(ask: Callable[[Prover], object]) -> None:
    with pytest.raises(CompileError) as refused:
        ask(Prover().define("i", 0, 9))

    assert refused.value.help


def test_one_text_is_a_list_of_one() -> None:
    facts = Prover().define("ij", 0, 9)

    assert facts.linear("ij*2 + 1", "ij") == (2, 1)
    assert facts.bijective("ij") is True


def test_facts_are_copied_without_what_was_remembered() -> None:
    facts = Prover().define("i", 0, 9).assume("i < n")
    facts.simplify("min(i, n)")

    copied = pickle.loads(pickle.dumps(facts))

    assert copied == facts
    assert copied.prove("i < n")


def test_a_divisor_of_a_fact_is_not_zero() -> None:
    assert Prover().assume("i // j == 3").prove("j != 0")
    assert Prover().assume("k > 1 and i // j == 3").prove("j != 0")
    assert not Prover().assume("k > 1 or i // j == 3").prove("j != 0")


def test_a_contradiction_may_need_products() -> None:
    facts = Prover().define("n", 1).define("m", 1).define("i", 0, "n - 1").define("j", 0, "m - 1")

    assert facts.contradiction is None
    assert facts.assume("i*m + j >= n*m").contradiction is not None


def test_a_split_carries_the_facts_of_its_parent_over() -> None:
    facts = Prover().define("n", 1).define("i", 0, "n - 1")

    split = facts.replace("i", "io*8 + ii", io=(0, None), ii=(0, 7))

    assert split.prove("io*8 + ii < n")
    assert split.bounds("(io*8 + ii) % 8") == (0, 7)
    assert split.prove("(io*8 + ii) // 8 == io")


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("x % y", {"x": range(-30, 31), "y": range(2, 6)}),
        ("x % y", {"x": range(-30, 31), "y": range(-5, 5)}),
        ("tmod(x, y)", {"x": range(-9, 0), "y": range(0, 8)}),
        ("x // 3 - x // 6*2", {"x": range(-30, 31)}),
        ("(x + 1) // 2 - x // 2", {"x": range(-30, 31)}),
        ("(x*320 + 255) % 256", {"x": range(0, 1001)}),
        ("min(x, 16) - min(x, 4)", {"x": range(-30, 31)}),
        ("(x + 7) // 8*8 - x", {"x": range(0, 64)}),
        ("n + x % n - x % n", {"n": range(0, 10), "x": range(0, 10)}),
    ],
)
def test_bounds_are_those_of_all_points(text: str, ranges: dict[str, range]) -> None:
    facts = Prover()
    for name, span in ranges.items():
        facts = facts.define(name, span.start, span.stop - 1)

    all_values = values(text, **ranges)

    assert facts.bounds(text) == (min(all_values), max(all_values))


def test_bounds_of_names_without_ends_come_from_residues_and_cases() -> None:
    facts = Prover()

    assert facts.bounds("x // 3 - x // 6*2") == (0, 1)
    assert facts.bounds("select(x < y, y - x, x - y)") == (0, None)
    assert facts.define("y", 2, 5).bounds("x % y") == (0, 4)
    assert facts.define("n", 1).define("i", 0).assume("i < n*8").bounds("i // n") == (0, 7)


def test_congruences_merge_and_buckets_join() -> None:
    merged = Prover().assume("x // 8 == 3", "x % 8 == 4")
    buckets = Prover().assume("n == 16 or n == 48")

    assert merged.bounds("x") == (28, 28)
    assert Prover().assume("x % 4 == 1", "x % 6 == 3").modulus("x") == (12, 9)
    assert buckets.modulus("n") == (32, 16)
    assert buckets.prove("n != 32")


@pytest.mark.parametrize(
    ("text", "want"),
    [("x*x + x", (2, 0)), ("x*(x + 1)*(x + 2)", (6, 0)), ("4*x + 6*y + 3", (2, 1)), ("7", (0, 7)), ("x // 2", (1, 0))],
)
def test_the_modulus_is_the_greatest(text: str, want: tuple[int, int]) -> None:
    assert Prover().modulus(text) == want


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ([], "x*x >= x"),
        ([], "x*x*x % 2 == x % 2"),
        ([], "2*x*y <= x*x + y*y"),
        (["i < m", "j < n", "i >= 0", "j >= 0"], "i*n + j < m*n"),
        (["0 <= i < n*n", "n >= 1"], "i % n*n + i // n < n*n"),
        (["x != y", "x >= y"], "x > y"),
        (["x // 4 == y // 4", "x % 4 < y % 4"], "x < y"),
        (["n < 0"], "x % n <= 0"),
        (["x <= y"], "tdiv(x, 4) <= tdiv(y, 4)"),
    ],
)
def test_it_is_proved_with_the_facts_and_not_without_a_needed_one(given: list[str], condition: str) -> None:
    assert Prover().assume(*given).prove(condition)
    if given:
        assert not Prover().assume(*given[1:]).prove(condition)


@pytest.mark.parametrize("condition", ["tmod(x, 10) >= 0", "x // y*y <= x", "x - 1 < x // 1*2", "x*y >= x"])
def test_what_fails_at_one_point_is_not_proved(condition: str) -> None:
    assert not Prover().define("x", -9, None).prove(condition)


def test_the_hull_of_a_split_ends_at_the_guard() -> None:
    facts = Prover().define("n", 1).define("o", 0, 3).define("i", 0, 7).assume("o*8 + i < n")

    lo, hi = facts.hull("o*8 + i", ["i"]) or pytest.fail("no hull")

    for n, o in product(range(1, 33), range(4)):
        inner = [o * 8 + i for i in range(8) if o * 8 + i < n]
        if inner:
            assert (lo.evaluate({"n": n, "o": o}), hi.evaluate({"n": n, "o": o})) == (min(inner), max(inner))
