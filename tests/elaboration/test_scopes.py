"""What names mean, and what is wrong with them."""

import numpy as np
import pytest

import tcjax
from tcjax import ir
from tcjax.symbolic import IndexVar, Size, SizeVar
from tests.elaboration.programs import body, elaborated, lines, mistake, mistake_in


def test_an_unknown_name_in_a_value_is_an_index_and_on_the_right_alone_a_reduction_index() -> None:
    (statement,) = elaborated("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }").statements

    assert isinstance(statement, ir.Accumulate)
    assert statement.reduction == (IndexVar("k"),)
    assert [index.bare for index in statement.indices] == [IndexVar("m"), IndexVar("n")]


def test_reduction_indices_stand_in_order_of_appearance_on_the_right_and_then_in_guards() -> None:
    (statement,) = body("O(i) +=! B(k, j) * A(i) where q <= k, q in 0:3").statements

    assert isinstance(statement, ir.Accumulate)
    assert [str(index) for index in statement.reduction] == ["k", "j", "q"]


def test_positions_count_ranged_indices_first() -> None:
    (statement,) = body("O(i) argmin=! B(k, j) * A(i) where j in 0:3").statements

    assert isinstance(statement, ir.Accumulate)
    assert [str(index) for index in statement.reduction] == ["j", "k"]


def test_indices_and_sizes_are_values_too() -> None:
    assert lines(body("O(i) = A(i) + i + N + A.0 + 3")) == [
        "O[i] = ((((A[i] + float32(i)) + float32(N)) + float32(N)) + 3.0)"
    ]


def test_a_constant_dimension_is_a_size() -> None:
    (statement,) = elaborated("def f(float(10) A) -> (B) { B(i) = A(9 - i) where i in 0:A.0 }").statements

    assert isinstance(statement, ir.Define)
    assert statement.domain.ranges[0].hi.constant == 10


def test_dimensions_that_nobody_named_are_sizes_of_the_tensor() -> None:
    function = body("T(i) = A(i) O(i) = T(i) + T.0", "O")

    assert function.returns[0].shape == (Size.of(SizeVar("O.0")),)
    assert lines(function)[1] == "O[i] = (T[i] + float32(T.0))"


def test_lets_are_inlined_and_may_use_earlier_lets_and_tensors() -> None:
    assert lines(body("O(i) = A(k) * x where k = i + 1, x = A(k) + 1, k >= 0")) == [
        "O[i] = (A[i + 1] * (A[i + 1] + 1.0)) where ((i + 1) >= 0)"
    ]


def test_a_let_shadows_a_size_and_a_tensor() -> None:
    assert lines(body("O(i) = s + N + A(i) where N = 1, s = 2")) == ["O[i] = (3.0 + A[i])"]


def test_a_lets_indices_appear_where_the_let_does() -> None:
    (statement,) = body("O +=! A(j) * x where x = B(k, i)").statements

    assert isinstance(statement, ir.Accumulate)
    assert [str(index) for index in statement.reduction] == ["j", "k", "i"]


def test_a_lets_literal_stays_open() -> None:
    assert body("O(i) = d(i) * x where x = 0.1", "O") == body("O(i) = d(i) * 0.1", "O")


def test_an_index_in_brackets_is_another_one_than_outside() -> None:
    (statement,) = body("O(k) = sum[k](A(k)) + sum[k](B(k, k)) + A(k)").statements

    assert isinstance(statement, ir.Define)
    assert lines(body("O(k) = sum[k](A(k)) + sum[k](B(k, k)) + A(k)")) == [
        "O[k] = ((sum[k.1](A[k.1]) + sum[k.2](B[k.2, k.2])) + A[k])"
    ]


def test_inner_brackets_shadow_outer_ones() -> None:
    assert lines(body("O = sum[k](A(k) * sum[k](d(k)))")) == ["O[] = sum[k]((float64(A[k]) * sum[k.1](d[k.1])))"]


def test_a_let_with_brackets_is_one_reduction_wherever_it_is_used() -> None:
    (statement,) = body("O(i) = x + sum[k](x * A(k)) where x = sum[k](B(i, k))").statements

    assert isinstance(statement, ir.Define) and isinstance(statement.value, ir.Binary)
    assert statement.value.left == ir.Reduce(
        ir.Reducer.SUM,
        (IndexVar("k"),),
        (),
        None,
        body("O(i,k) = B(i, k)").statements[0].value,  # type: ignore[union-attr]
        None,
        "float32",
        "float32",
    )


def test_brackets_have_ranges_and_guards() -> None:
    assert lines(body("O(i) = sum[j, k in 0:i where k <= j, j < 3](B(j, k)) where i in 0:N")) == [
        "O[i] = sum[j, k, k in 0:i where ((k <= j) && (j < 3))](B[j, k]) where i in 0:N"
    ]


def test_guards_are_joined_and_ranges_kept() -> None:
    assert lines(body("O(i) = A(i) where i in 0:3, i in 1:N-1, b(i), i != 2")) == [
        "O[i] = A[i] where i in 1:N - 1, (b[i] && (i != 2))"
    ]


def test_exists_takes_part_in_nothing_but_the_domain() -> None:
    assert lines(body("O(i) = s where exists A(i)")) == ["O[i] = s[] where exists A[i]"]


def test_the_ends_of_a_range_may_use_other_indices() -> None:
    assert lines(body("O(i) +=! A(j) where j in i:2*i+1, i in 0:N")) == [
        "O[i] = sum[j] A[j] where j in i:2*i + 1, i in 0:N"
    ]


def test_a_scalar_tensor_is_read_with_and_without_parentheses() -> None:
    assert body("O(i) = A(i) * s") == body("O(i) = A(i) * s()")
    assert body("O +=! A(i)", "O") == body("O() +=! A(i)", "O")


def test_a_repeated_left_index_and_computed_left_sides_are_kept() -> None:
    assert lines(body("D(i,i) = A(i)")) == ["D[i, i] = A[i]"]
    assert lines(body("O(2*i + r, 0) = B(i, r)")) == ["O[2*i + r, 0] = B[i, r]"]
    assert lines(body("H(I(i)) +=! 1.0")) == ["H[I[i]] = sum[] 1.0"]


def test_an_index_on_the_left_alone_is_iterated() -> None:
    (statement,) = body("O(i) = 1.0").statements

    assert isinstance(statement, ir.Define) and [str(index) for index in statement.indices] == ["i"]


def test_a_left_index_in_a_computed_subscript_is_no_reduction() -> None:
    (statement,) = body("H(I(i) + j) +=! B(i, j) * A(k)").statements

    assert isinstance(statement, ir.Accumulate) and statement.reduction == (IndexVar("k"),)


def test_tcjaxs_own_builtins_may_be_tensor_names() -> None:
    assert lines(body("relu(i) = max(A(i), 0.0) O(i) = relu(i)")) == [
        "relu[i] = max(A[i], 0.0)",
        "O[i] = relu[i]",
    ]


def test_names_of_reductions_may_be_tensor_names() -> None:
    assert lines(body("sum +=! A(i) O(i) = A(i) / sum + sum[j](A(j))")) == [
        "sum[] = sum[i] A[i]",
        "O[i] = ((A[i] / sum[]) + sum[j](A[j]))",
    ]


def test_the_equivalence_is_ignored() -> None:
    assert body("O(i) = A(i) <=> copy(A, i, A(i) + 1)") == body("O(i) = A(i)")


@pytest.mark.parametrize(
    ("statements", "code", "told"),
    [
        ("O(i) = a(i)", "TC0201", "no tensor and no function `a`"),
        ("O(i) = expp(A(i))", "TC0201", "did you mean `exp`"),
        ("O(i) = AA(i)", "TC0201", "did you mean `A`"),
        ("O(i) = A(i) + X.0", "TC0201", "`X`"),
        ("O(i) = A(i) <=> f(A, x)", "TC0201", "`x`"),
        ("O(i) = A(i) where k = 1, k = 2", "TC0202", "already a let"),
        ("O(k) = A(k) where k = 1", "TC0202", "already an index"),
        ("O(i) = A(k) where k = k + 1", "TC0202", "in terms of itself"),
        ("O(i) = sum[k, k](A(k))", "TC0202", "twice"),
        ("N(i) = A(i)", "TC0202", "`N` is a tensor"),
        ("T(i) = A(i) float(T) R", "TC0202", "`T` is a tensor"),
        ("exp(i) = A(i)", "TC0203", "`exp`"),
        ("O(erf) = A(erf)", "TC0203", "`erf`"),
        ("O(i) = A(i) where floor = 3", "TC0203", "`floor`"),
        ("A(i) = 1.0", "TC0204", "`A` is an input"),
        ("O(i) = T(i) T(i) = A(i)", "TC0208", "`T`"),
        ("O(i) = O(i) + 1", "TC0208", "`O`"),
        ("t = t + 1", "TC0208", "`t`"),
        ("O(i) = A(i) + t t = 1", "TC0208", "`t`"),
        ("O(i) = T.0 T(i) = A(i)", "TC0208", "`T`"),
        ("O(i) = i(3)", "TC0307", "`i` is an index"),
        ("O(i) = N(3)", "TC0307", "`N` is a size"),
        ("O(i) = k(3) where k = 3", "TC0307", "`k` is a let"),
        ("O(i) = sum[k](k(3))", "TC0307", "`k` is an index"),
        ("O(i) = N.0", "TC0307", "`N` is a size"),
        ("O(N) = A(N)", "TC0307", "`N` is a size"),
        ("O(s) = A(0)", "TC0307", "`s` is a tensor"),
        ("O(O) = A(O)", "TC0307", "`O`"),
        ("O(i) = A(i) where N in 0:3", "TC0307", "`N` is a size"),
        ("O(i) = A(i) where k = 3, k in 0:3", "TC0307", "`k` is a let"),
        ("O(i) = sum[N](A(N))", "TC0307", "`N` is a size"),
        ("O(i) = A(i) where k in 0:3", "TC0402", "`k`"),
        ("O(i) +=! A(i) where exists B(i, k)", "TC0402", "`k`"),
        ("O(i) = A(i) where x = A(k)", "TC0402", "`k`"),
        ("O(i) = A(i) where i in 0:NN", "TC0402", "did you mean `N`"),
        ("O(i) = A(i) where i in 0:s", "TC0303", "integer"),
        ("O(i) = A(i) where i in 0:I(i)", "TC0403", "itself"),
        ("O(i) = A(i) where i in 0:N*0.5", "TC0303", "integer"),
        ("O(i) = A(i) where i in 0:i+1", "TC0403", "itself"),
        ("O(i,j) = B(i,j) where i in 0:j, j in 0:i", "TC0403", "itself"),
        ("O(i,j) = B(i,j) where i in 0:j*j, j in 0:3", "TC0403", "affine"),
        ("O(i) = sum[k in 0:k](A(k))", "TC0403", "itself"),
        ("O(i) = A(i, i)", "TC0501", "1 dimension"),
        ("O(i) = s(i)", "TC0501", "0 dimensions"),
        ("O(i) = s(i)", "TC0501", "`float32(N) s`"),
        ("O(I(i)) = A(i) where unique", "TC0302", "`where unique I(i)`"),
        ("O(i) = A(i) + A.1", "TC0501", "`A.1`"),
        ("O(i) = s.0", "TC0501", "no sizes"),
        ("O(i) = A(i) O(i,j) = B(i,j)", "TC0501", "`O`"),
        ("O(i) = A(i) float(N) O", "TC0202", "`O`"),
        ("float(N) A", "TC0204", "`A`"),
        ("O(i) = A", "TC0504", "A(i)"),
        ("O(i) = A(B)", "TC0504", "B(i, j)"),
        ("O(i) = pow(A(i))", "TC0503", "2 values"),
        ("O(i) = exp()", "TC0503", "1 value"),
        ("O(i) = mink[j](A(j))", "TC0503", "2 values"),
        ("O(i) = sum[j](A(j), 1)", "TC0503", "1 value"),
        ("O(i) = summ[j](A(j))", "TC0205", "did you mean `sum`"),
        ("O(i) maxx= A(i)", "TC0205", "did you mean `max=`"),
        ("O(i) mink= A(i)", "TC0205", "there is no reduction"),
        ("O(i) = A(k)", "TC0703", "`k`"),
        ("Order(i) = A(i) * Ordre", "TC0703", "`Ordre`"),
        ("O(i) = A(i) * NN where M = N", "TC0703", "did you mean `N`"),
        ("O(i) = A(i) where k <= i", "TC0703", "`k`"),
        ("O(I(i)) = A(i)", "TC0704", "+=!"),
        ("O(i * j) = B(i, j)", "TC0704", "+=!"),
    ],
)
def test_a_mistaken_name_is_refused(statements: str, code: str, told: str) -> None:
    error = mistake_in(statements)

    assert error.code == code
    assert error.help and told in f"{error.message} {error.help}"


def test_a_size_that_nothing_declares_is_that_of_a_dimension() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel("y(i) +=! A(i,j) where j in i:N")(np.ones((3, 3), np.float32))

    assert caught.value.code == "TC0402"
    assert caught.value.help.startswith("write the size of a dimension, such as `A.0`")


@pytest.mark.parametrize(
    "text",
    [
        "def f(float(N) A, int N) -> (C) { C(i) = A(i) }",
        "def f(int N, float(N) A) -> (C) { C(i) = A(i) }",
        "def f(float(E) x, int32(E) I, int N) -> (C) { float(N) C C(I(e)) +=! x(e) }",
    ],
)
def test_a_size_as_in_c_is_not_a_parameter(text: str) -> None:
    error = mistake(text)

    assert error.code == "TC0202"
    assert error.help.startswith("leave out the parameter `N`: sizes follow from the arrays")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def f(float(N) A, float(N) A) -> (C) { C(i) = A(i) }", "TC0202"),
        ("def f(float(N) A, float(A) B) -> (C) { C(i) = A(i) }", "TC0202"),
        ("def f(float(C) A) -> (C) { C(i) = A(i) }", "TC0202"),
        ("def f(float(N) N) -> (C) { C(i) = 1 }", "TC0202"),
        ("def f(float(N) A) -> (float(A) C) { C(i) = A(i) }", "TC0202"),
        ("def f(float(N) A) -> (float(N) C, double(N) C) { C(i) = A(i) }", "TC0202"),
        ("def f(float(N) A) -> (float(N) C) { float(N) C C(i) = A(i) }", "TC0202"),
        ("def f(float(N) A) -> (double(N) A) { C(i) = A(i) }", "TC0202"),
        ("def f(float(exp) A) -> (C) { C(i) = A(i) }", "TC0203"),
        ("def f(float(N) exp) -> (C) { C = 1 }", "TC0203"),
        ("def f(float(N) A) -> (C) { D(i) = A(i) }", "TC0206"),
        ("def f(float(N) A) -> (Out) { Ouv(i) = A(i) }", "TC0206"),
        ("def f(float(N) A) -> (float(N,N) C) { C(i) = A(i) }", "TC0501"),
    ],
)
def test_a_mistaken_signature_is_refused(text: str, code: str) -> None:
    error = mistake(text)

    assert error.code == code
    assert error.help


def test_an_error_points_at_what_it_is_about() -> None:
    error = mistake("def f(float(N) A) -> (C) {\n  C(i) = A(i) + typo\n}")

    assert tuple(error.span) == (2, 17, 21)
    assert "^^^^" in str(error)
