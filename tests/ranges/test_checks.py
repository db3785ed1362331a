"""A read is refused exactly when it is out of bounds at some point where it is evaluated."""

import re
from dataclasses import dataclass
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax import ir
from tcjax.diagnostics import CompileError
from tcjax.ranges import bind
from tcjax.symbolic import Affine, IndexVar, Size, SizeVar

from .texts import function

I, J = IndexVar("i"), IndexVar("j")
A = ir.Tensor("A", "float32", (Size.of(SizeVar("N")),))
O = ir.Tensor("O", "float32", (Size.of(SizeVar("O.0")), Size.of(SizeVar("O.1"))))
ZERO = ir.Const(0.0, "float32")


# ---------------------------------------------------------------- against enumeration


@dataclass(frozen=True)
class Term:
    """``(a*i + b*j + c) op n``, as an expression and as a function."""

    a: int
    b: int
    c: int
    operator: str
    n: int

    def affine(self) -> Affine:
        total = Affine.of(I).scale(self.a) + Affine.of(J).scale(self.b) + self.c
        match self.operator:
            case "//":
                return total.quotient(self.n)
            case "%":
                return total.remainder(self.n)
            case _:
                return total

    def expr(self) -> ir.Expr:
        i = ir.Binary("*", ir.Const(self.a, "int32"), ir.Index(I), "int32")
        j = ir.Binary("*", ir.Const(self.b, "int32"), ir.Index(J), "int32")
        total = ir.Binary("+", ir.Binary("+", i, j, "int32"), ir.Const(self.c, "int32"), "int32")
        if self.operator == "+":
            return total
        return ir.Binary(self.operator, total, ir.Const(self.n, "int32"), "int32")

    def at(self, i: int, j: int) -> int:
        total = self.a * i + self.b * j + self.c
        return total // self.n if self.operator == "//" else total % self.n if self.operator == "%" else total


terms = st.builds(
    Term,
    st.integers(-3, 3),
    st.integers(-3, 3),
    st.integers(-8, 8),
    st.sampled_from(["+", "+", "//", "%"]),
    st.integers(1, 4),
)
ranges = st.tuples(st.integers(-4, 4), st.integers(0, 6)).map(lambda ends: (ends[0], ends[0] + ends[1]))
COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@dataclass(frozen=True)
class Guard:
    """A condition as an expression, and its value at a point."""

    expr: ir.Expr
    points: frozenset[tuple[int, int]]


EVERYWHERE = frozenset(product(range(-4, 11), range(-4, 11)))


def comparison(operator: str, left: Term, right: Term) -> Guard:
    holds = {(i, j) for i, j in EVERYWHERE if COMPARE[operator](left.at(i, j), right.at(i, j))}
    return Guard(ir.Binary(operator, left.expr(), right.expr(), "bool"), frozenset(holds))


def joined(operator: str, left: Guard, right: Guard) -> Guard:
    points = left.points & right.points if operator == "&&" else left.points | right.points
    return Guard(ir.Binary(operator, left.expr, right.expr, "bool"), points)


def negated(guard: Guard) -> Guard:
    return Guard(ir.Unary("!", guard.expr, "bool"), EVERYWHERE - guard.points)


def chosen(condition: Guard, then: Guard, otherwise: Guard) -> Guard:
    points = (condition.points & then.points) | (otherwise.points - condition.points)
    return Guard(ir.Select(condition.expr, then.expr, otherwise.expr, "bool"), points)


guards = st.recursive(
    st.builds(comparison, st.sampled_from(sorted(COMPARE)), terms, terms),
    lambda inner: st.one_of(
        st.builds(joined, st.sampled_from(["&&", "||"]), inner, inner),
        inner.map(negated),
        st.builds(chosen, inner, inner, inner),
    ),
    max_leaves=4,
)


def accepted(value: ir.Expr, guard: ir.Expr | None, i: tuple[int, int], j: tuple[int, int], extent: int) -> bool:
    """Whether ``O(i,j) = value where i in .., j in .., guard`` binds with an `A` of this extent."""
    given_ranges = tuple(ir.Range(index, Affine.of(lo), Affine.of(hi)) for index, (lo, hi) in ((I, i), (J, j)))
    statement = ir.Define(O, (Affine.of(I), Affine.of(J)), value, ir.Domain(given_ranges, guard))
    try:
        bind(ir.Function("f", (A,), (O,), (statement,)), {"A": (extent,)})
    except CompileError as error:
        assert error.code == "TC0701"
        return False
    return True


@given(terms, ranges, ranges, st.integers(0, 9))
def test_an_unguarded_read_is_refused_exactly_when_it_leaves_the_tensor(
    term: Term, i: tuple[int, int], j: tuple[int, int], extent: int
) -> None:
    safe = all(0 <= term.at(*point) < extent for point in product(range(*i), range(*j)))

    assert accepted(ir.Access(A, (term.affine(),)), None, i, j, extent) == safe


@given(terms, guards, ranges, ranges, st.integers(0, 9))
def test_a_read_under_a_where_guard_is_refused_exactly_when_it_leaves_the_tensor_where_that_holds(
    term: Term, guard: Guard, i: tuple[int, int], j: tuple[int, int], extent: int
) -> None:
    domain = guard.points.intersection(product(range(*i), range(*j)))
    safe = all(0 <= term.at(*point) < extent for point in domain)

    assert accepted(ir.Access(A, (term.affine(),)), guard.expr, i, j, extent) == safe


@given(terms, guards, guards, ranges, ranges, st.integers(0, 9))
def test_a_read_in_an_else_branch_is_refused_exactly_when_it_leaves_the_tensor_there(
    term: Term, guard: Guard, condition: Guard, i: tuple[int, int], j: tuple[int, int], extent: int
) -> None:
    value = ir.Select(condition.expr, ZERO, ir.Access(A, (term.affine(),)), "float32")
    domain = (guard.points - condition.points).intersection(product(range(*i), range(*j)))
    safe = all(0 <= term.at(*point) < extent for point in domain)

    assert accepted(value, guard.expr, i, j, extent) == safe


# ---------------------------------------------------------------- by example


def refused(text: str, **shapes: tuple[int, ...]) -> CompileError:
    with pytest.raises(CompileError) as caught:
        bind(function(text), shapes)
    return caught.value


def test_a_read_past_the_end_names_the_index_the_element_and_the_extent() -> None:
    error = refused("def f(float(N) A) -> (O) { O(i) = A(i+1) where i in 0:N }", A=(10,))

    assert error.code == "TC0701"
    assert error.kind == "index"
    assert error.message == "at i = 9 this reads A[10]; A has 10 rows"
    assert "where i in 0:9" in error.help


def test_the_range_that_the_help_suggests_is_accepted() -> None:
    text = "def f(float(N) A, float(K) W) -> (O) { O(i) +=! A(2*i+k) * W(k) where i in -1:N, k in 0:K }"
    error = refused(text, A=(10,), W=(3,))
    clause = re.search(r"where (i in \S+:\d+)", error.help)

    assert clause is not None
    mended = bind(function(text.replace("i in -1:N", clause[1])), {"A": (10,), "W": (3,)})

    assert mended.boxes[0][I] == (0, 4)


def test_a_read_before_the_start_is_refused() -> None:
    error = refused("def f(float(N,M) A) -> (O) { O(i,j) = A(i,j-2) where j in 0:M }", A=(3, 4))

    assert error.message == "at j = 0 this reads A[0, -2]; dimension 1 of A has 4 elements"
    assert "where j in 2:4" in error.help


def test_a_constant_subscript_is_checked() -> None:
    assert refused("def f(float(10) A) -> (O) { O = A(10) }", A=(10,)).message == "this reads A[10]; A has 10 rows"
    assert bind(function("def f(float(10) A) -> (O) { O = A(9) }"), {"A": (10,)}).shapes["O"] == ()


def test_a_guard_makes_a_read_safe() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = i < N-1 ? A(i+1) : 0.0 where i in 0:N }"

    assert bind(function(text), {"A": (10,)}).shapes["O"] == (10,)


def test_a_guard_that_is_one_too_weak_is_refused_with_the_condition_it_needs() -> None:
    error = refused("def f(float(N) A) -> (O) { O(i) = i < N ? A(i+1) : 0.0 where i in 0:N }", A=(10,))

    assert error.message.startswith("at i = 9 this reads A[10]")
    assert "i + 1 < 10" in error.help


def test_a_guard_that_depends_on_data_does_not_make_a_read_safe() -> None:
    error = refused("def f(float(N) A) -> (O) { O(i) = A(i) > 0.0 ? A(i+1) : 0.0 }", A=(10,))

    assert error.code == "TC0701"
    assert "`where i in 0:N - 1`" in error.help


def test_what_comes_after_a_guard_in_a_conjunction_is_read_only_where_it_holds() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = 1.0 where i in 0:N, i >= 1, A(i-1) < A(i) }"
    swapped = "def f(float(N) A) -> (O) { O(i) = 1.0 where i in 0:N, A(i-1) < A(i), i >= 1 }"

    assert bind(function(text), {"A": (10,)}).shapes["O"] == (10,)
    assert refused(swapped, A=(10,)).code == "TC0701"


def test_a_moving_range_guards_its_reads() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(i-k) where i in 0:N, k in 0:i+1 }"

    assert bind(function(text), {"A": (10,)}).boxes[0] == {I: (0, 10), IndexVar("k"): (0, 10)}


def test_an_inline_guard_guards_its_reads() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = sum[k in 0:N where k <= i](A(i-k)) where i in 0:N }"
    wrong = "def f(float(N) A) -> (O) { O(i) = sum[k in 0:N where k <= i+1](A(i-k)) where i in 0:N }"

    assert bind(function(text), {"A": (10,)}).shapes["O"] == (10,)
    assert refused(wrong, A=(10,)).code == "TC0701"


def test_reads_in_an_empty_domain_are_fine() -> None:
    text = "def f(float(N) A) -> (O) { O(i) +=! A(i+100) * A(k) where i in 0:0, k in 0:N }"

    assert bind(function(text), {"A": (3,)}).shapes["O"] == (0,)


def test_reads_inside_an_empty_inline_reduction_are_fine() -> None:
    text = "def f(float(N) A) -> (O) { O(i) = A(i) + sum[k in 0:0](A(k+100)) }"

    assert bind(function(text), {"A": (3,)}).shapes["O"] == (3,)


def test_a_subscript_that_depends_on_data_is_not_checked() -> None:
    text = "def f(float(E) T, int32(B) J) -> (O) { O(b) = T(J(b) + 1000) }"

    assert bind(function(text), {"T": (3,), "J": (4,)}).shapes["O"] == (4,)


def test_a_subscript_that_depends_on_data_needs_an_element_to_read() -> None:
    text = "def f(float(E) T, int32(B) J) -> (O) { O(b) = T(J(b)) }"

    assert refused(text, T=(0,), J=(4,)).code == "TC0701"
    assert bind(function(text), {"T": (0,), "J": (0,)}).shapes["O"] == (0,)


def test_a_read_inside_a_subscript_is_checked() -> None:
    error = refused("def f(float(E) T, int32(B) J) -> (O) { O(b) = T(J(b+1)) where b in 0:B }", T=(3,), J=(4,))

    assert error.message == "at b = 3 this reads J[4]; J has 4 rows"


def test_a_read_of_a_tensor_with_an_origin_is_checked_at_logical_indices() -> None:
    text = """def f(float(N) A) -> (B, C) {
        B(i) = A(i-2)
        C(i) = B(i) where i in 0:N
    }"""

    error = refused(text, A=(5,))

    assert error.message == "at i = 0 this reads B[0]; B has 5 rows, numbered from 2"


def test_a_diagonal_sum_is_proved_with_numbers() -> None:
    text = "def f(float(N,NM,M) I) -> (O) { O(i,j) = I(i, i+j, j) }"

    assert bind(function(text), {"I": (10, 19, 10)}).shapes["O"] == (10, 10)
    assert refused(text, I=(10, 18, 10)).message.startswith("at i = 9, j = 9 this reads I[9, 18, 9]")


def test_a_hundred_nested_conditions_are_checked() -> None:
    chain = "".join(f"i == {n} ? A(i+{n}) : " for n in range(100)) + "0.0"

    bound = bind(function(f"def f(float(N) A) -> (O) {{ O(i) = {chain} where i in 0:N }}"), {"A": (199,)})

    assert bound.shapes["O"] == (199,)
    assert refused(f"def f(float(N) A) -> (O) {{ O(i) = {chain} where i in 0:N }}", A=(198,)).code == "TC0701"


def test_a_read_a_hundred_and_ninety_subscripts_deep_is_bound() -> None:
    nested = "J(" * 190 + "i" + ")" * 190

    bound = bind(function(f"def f(int32(N) J) -> (O) {{ O(i) = {nested} }}"), {"J": (10,)})

    assert bound.shapes["O"] == (10,)


def test_a_huge_range_is_decided_without_enumeration() -> None:
    text = "def f(float(N) A) -> (O) { O +=! i < j ? A(j-i-1) : A(i-j) where i in 0:N, j in 0:N }"

    assert bind(function(text), {"A": (10**9,)}).shapes["O"] == ()
