"""Solved ranges are safe and as large as they can be, by enumeration."""

from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax import ir
from tcjax.diagnostics import CompileError
from tcjax.ranges import bind
from tcjax.symbolic import Affine, IndexVar, Size, SizeVar

from .texts import function

I = IndexVar("i")
FAR = range(-400, 401)


@dataclass(frozen=True)
class Subscript:
    """``(a*i + b*k + c) // d`` of a tensor with `extent` elements."""

    a: int
    b: int
    c: int
    d: int
    extent: int

    def at(self, i: int, k: int) -> int:
        return (self.a * i + self.b * k + self.c) // self.d

    def affine(self) -> Affine:
        total = Affine.of(I).scale(self.a) + Affine.of(IndexVar("k")).scale(self.b) + self.c
        return total.quotient(self.d)

    def allows(self, i: int, ks: Iterable[int]) -> bool:
        return all(0 <= self.at(i, k) < self.extent for k in ks)


weights = st.integers(-4, 4).filter(bool)
single = st.builds(Subscript, weights, st.just(0), st.integers(-9, 9), st.integers(1, 4), st.integers(0, 15))
# Each waits for k: otherwise one would be solved a round before the others, which would then be refused.
double = st.builds(
    Subscript, weights, st.integers(-3, 3).filter(bool), st.integers(-9, 9), st.integers(1, 3), st.integers(0, 20)
)


def program(subscripts: list[Subscript], width: int | None) -> tuple[ir.Function, dict[str, tuple[int, ...]]]:
    """``O(i) +=! A0(..) + A1(..) + ... + W(k)``, without the last term when there is no `width`."""
    tensors = [ir.Tensor(f"A{n}", "float32", (Size.of(SizeVar(f"A{n}.0")),)) for n in range(len(subscripts))]
    value: ir.Expr = ir.Const(0.0, "float32")
    for tensor, subscript in zip(tensors, subscripts, strict=True):
        value = ir.Binary("+", value, ir.Access(tensor, (subscript.affine(),)), "float32")
    shapes = {f"A{n}": (subscript.extent,) for n, subscript in enumerate(subscripts)}
    reduction: tuple[IndexVar, ...] = ()
    if width is not None:
        reduction = (IndexVar("k"),)
        window = ir.Tensor("W", "float32", (Size.of(SizeVar("W.0")),))
        value = ir.Binary("+", value, ir.Access(window, (Affine.of(IndexVar("k")),)), "float32")
        tensors.append(window)
        shapes["W"] = (width,)
    target = ir.Tensor("O", "float32", (Size.of(SizeVar("O.0")),))
    statement = ir.Accumulate(target, (Affine.of(I),), ir.Reducer.SUM, True, reduction, value, "float32")
    return ir.Function("f", tuple(tensors), (target,), (statement,)), shapes


@given(st.lists(single, min_size=1, max_size=3))
def test_the_range_of_a_single_index_is_the_largest_that_is_safe(subscripts: list[Subscript]) -> None:
    defined, shapes = program(subscripts, None)
    safe = [i for i in FAR if all(subscript.allows(i, [0]) for subscript in subscripts)]

    found = solved(defined, shapes)

    assert found == safe


@given(st.lists(double, min_size=1, max_size=3), st.integers(1, 5))
def test_the_range_beside_a_solved_index_is_the_largest_that_is_safe_for_all_its_values(
    subscripts: list[Subscript], width: int
) -> None:
    defined, shapes = program(subscripts, width)
    safe = [i for i in FAR if all(subscript.allows(i, range(width)) for subscript in subscripts)]

    found = solved(defined, shapes)

    assert found == safe


def solved(defined: ir.Function, shapes: dict[str, tuple[int, ...]]) -> list[int]:
    """The values of `i`; none if the range would have a negative extent."""
    try:
        bound = bind(defined, shapes)
    except CompileError as error:
        assert error.code == "TC0602"
        return []
    return list(range(*bound.boxes[0][I]))


# ---------------------------------------------------------------- by example


def boxes(text: str, **shapes: tuple[int, ...]) -> list[dict[str, tuple[int, int]]]:
    bound = bind(function(text), shapes)
    return [{str(index): ends for index, ends in box.items()} for box in bound.boxes]


def test_a_size_may_multiply_an_index() -> None:
    text = "def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(K*i+k) * W(k) }"

    assert boxes(text, A=(14,), W=(4,)) == [{"i": (0, 3), "k": (0, 4)}]


def test_a_size_of_zero_that_multiplies_an_index_leaves_it_open() -> None:
    with pytest.raises(CompileError) as caught:
        boxes("def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(K*i) * W(k) }", A=(14,), W=(0,))

    assert caught.value.code == "TC0401"


def test_solutions_of_one_round_do_not_influence_each_other() -> None:
    # One after the other, i would take [0, 10) and j what A(i + j) then allows; together, i + j must be in range.
    text = "def f(float(N) A, float(M) B) -> (O) { O(i,j) = A(i) * A(j) * B(i+j) }"

    assert boxes(text, A=(4,), B=(7,)) == [{"i": (0, 4), "j": (0, 4)}]


def test_every_affine_argument_of_a_clamp_constrains() -> None:
    assert boxes("def f(float(N) A) -> (O) { O(i) = A(max(i-1, 0)) }", A=(5,)) == [{"i": (1, 6)}]
    assert boxes("def f(float(N) A) -> (O) { O(i) = A(min(i, N-1)) }", A=(5,)) == [{"i": (0, 5)}]
    assert boxes("def f(float(N) A) -> (O) { O(i) = A(min(max(i-1, 0), N-1)) }", A=(5,)) == [{"i": (1, 6)}]


def test_a_clamped_subscript_with_a_given_range_is_safe() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = A(min(max(i-3, 0), N-1)) where i in 0:N+6 }"

    assert boxes(text, A=(5,)) == [{"i": (0, 11)}]


def test_a_resolved_remainder_contributes_its_interval() -> None:
    text = "def f(float(N) A, float(M) B) -> (O) { O(i) +=! A(i + k % 3) * B(k) }"

    assert boxes(text, A=(10,), B=(7,)) == [{"i": (0, 8), "k": (0, 7)}]


def test_nested_floors_are_inverted() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = A((i/2 + 1)/3) }"
    safe = [i for i in FAR if 0 <= (i // 2 + 1) // 3 < 4]

    assert boxes(text, A=(4,)) == [{"i": (safe[0], safe[-1] + 1)}]


def test_a_given_range_replaces_what_reads_would_say() -> None:
    assert boxes("def f(float(N) A) -> (O) { O(i) = A(i) where i in 2:4 }", A=(9,)) == [{"i": (2, 4)}]


def test_the_last_of_two_given_ranges_counts() -> None:
    assert boxes("def f(float(N) A) -> (O) { O(i) = A(i) where i in 0:9, i in 1:3 }", A=(9,)) == [{"i": (1, 3)}]


def test_exists_adds_constraints_and_no_read() -> None:
    text = "def f(float(N) A, float(M) B) -> (O) { O(i) = A(i) where exists B(2*i) }"

    assert boxes(text, A=(9,), B=(5,)) == [{"i": (0, 3)}]


def test_a_given_range_may_end_at_another_index_and_runs_over_the_hull() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(k) where k in 0:i+1, i in 0:N }"

    assert boxes(text, A=(6,)) == [{"i": (0, 6), "k": (0, 6)}]


def test_a_moving_range_over_an_empty_one_is_empty() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(i) * A(k) where k in i+1:N }"

    assert boxes(text, A=(0,)) == [{"i": (0, 0), "k": (1, 1)}]
    assert boxes(text, A=(3,)) == [{"i": (0, 3), "k": (1, 3)}]


def test_an_inline_reductions_index_is_solved_with_the_statements() -> None:
    text = "def f(float(N) A, float(K) W) -> (O) { O(i) = sum[k](A(i+k) * W(k)) / sum[k](W(k)) }"

    found = boxes(text, A=(10,), W=(3,))

    assert found == [{"i": (0, 8), "k": (0, 3), "k.1": (0, 3)}]


def test_an_inline_range_binds_the_index_before_it() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = max[k in 0:3](A(2*i+k)) }"

    assert boxes(text, A=(10,)) == [{"i": (0, 4), "k": (0, 3)}]


def test_a_bare_subscript_constrains_even_under_a_condition() -> None:
    text = "def f(float(N) A, float(M) B) -> (O) { O(i) = i < M ? A(i) : 0.0 }"

    assert boxes(text, A=(9,), B=(5,)) == [{"i": (0, 9)}]


def test_a_compound_subscript_under_a_condition_constrains_nothing() -> None:
    text = """def f(float(N,M,OH,OW) d_O, float(M,C,KH,KW) W1, float(H) h0) -> (d_I) {
        d_I(n,c,h) +=! (h-kh >= 0 && h-kh < OH) ? d_O(n,m,h-kh,w) * W1(m,c,kh,kw) : 0.0 where h in 0:H
    }"""

    found = boxes(text, d_O=(1, 2, 4, 5), W1=(2, 3, 3, 1), h0=(6,))

    assert found[0]["kh"] == (0, 3)
    assert found[0]["h"] == (0, 6)


def test_a_where_guard_frees_compound_subscripts_too() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = A(i) + A(i-1) where i >= 1 }"

    assert boxes(text, A=(6,)) == [{"i": (0, 6)}]


def test_a_condition_that_cannot_keep_a_subscript_inside_does_not_free_it() -> None:
    text = "def f(float(N) A, float(K) mask) -> (O) { O(i) +=! mask(k) > 0.0 ? A(i+k) : 0.0 }"

    assert boxes(text, A=(9,), mask=(3,)) == [{"i": (0, 7), "k": (0, 3)}]


def test_a_condition_that_compares_an_index_of_a_subscript_frees_it() -> None:
    with pytest.raises(CompileError) as caught:
        boxes("def f(float(N) A, float(K) W) -> (O) { O(i) +=! k > 0 ? A(i+k) * W(k) : 0.0 }", A=(9,), W=(3,))

    assert caught.value.code == "TC0401"


def test_an_extent_of_zero_is_fine() -> None:
    text = "def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(i+k) * W(k) }"

    assert boxes(text, A=(3,), W=(4,)) == [{"i": (0, 0), "k": (0, 4)}]


def test_earlier_reads_of_a_size_may_use_a_dimension_by_number() -> None:
    text = """def f(float(N,M) A) -> (B, C) {
        B(i,j) = A(i+1,j)
        C(j) +=! B(i,j) where i in 0-1:B.0-1
    }"""

    assert boxes(text, A=(5, 2)) == [{"i": (-1, 4), "j": (0, 2)}, {"i": (-1, 4), "j": (0, 2)}]


def test_the_name_of_what_fixed_a_range_is_kept() -> None:
    text = "def f(float(N) A, float(M) B) -> (O) { O(i) +=! A(i) * B(i-k) where k in 0:3 }"

    bound = bind(function(text), {"A": (5,), "B": (6,)})

    assert bound.reasons[0] == {I: "`B(i-k)` at every `k in 0:3` and `A(i)`", IndexVar("k"): "`k in 0:3`"}


@pytest.mark.parametrize(
    ("condition", "index"),
    [
        ("M(k) > 0", {"i": (0, 4), "k": (0, 3)}),
        ("M(0) > 0", {"i": (0, 4), "k": (0, 3)}),
        ("s > 0 && M(k) > 0", {"i": (0, 4), "k": (0, 3)}),
    ],
)
def test_a_condition_that_cannot_keep_a_subscript_inside_leaves_its_constraint(
    condition: str, index: dict[str, tuple[int, int]]
) -> None:
    text = f"def f(float(N) A, float(K) M, float s) -> (O) {{ O(i) +=! {condition} ? A(i+k) * M(k) : 0.0 }}"

    assert boxes(text, A=(6,), M=(3,), s=()) == [index]


@pytest.mark.parametrize("condition", ["k < 2", "i > 0", "M(i) > 0", "k < 2 && M(k) > 0"])
def test_a_condition_on_a_subscripts_indices_lifts_its_constraint(condition: str) -> None:
    text = f"def f(float(N) A, float(K) M) -> (O) {{ O(i) +=! {condition} ? A(i+k) * M(k) : 0.0 where k in 0:K }}"

    with pytest.raises(CompileError) as caught:
        boxes(text, A=(4,), M=(3,))

    assert caught.value.code in ("TC0401", "TC0701")
