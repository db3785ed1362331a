"""Returns, temporaries, declarations, and what a caller may pass."""

from tcjax.symbolic import Size, SizeVar
from tests.elaboration.programs import body, elaborated, lines


def test_returns_stand_in_the_order_of_the_list() -> None:
    function = body("P(i) = A(i) Q(i) = A(i)", "Q, P, Q")

    assert [tensor.name for tensor in function.returns] == ["Q", "P", "Q"]


def test_an_input_may_be_returned() -> None:
    function = elaborated("def f(float(N) A) -> (A) { }")

    assert function.returns == function.parameters


def test_a_definition_may_return_nothing() -> None:
    assert elaborated("def f(float(N) A) -> () { }").returns == ()


def test_an_annotation_fixes_type_and_extents() -> None:
    function = elaborated("def h(int32(N) I) -> (float(B) H) { H(I(i)) +=! 1.0 }")

    (histogram,) = function.returns

    assert (histogram.dtype, histogram.shape) == ("float32", (Size.of(SizeVar("B")),))
    assert function.declared == (histogram,)
    assert function.free_sizes == (SizeVar("B"),)


def test_a_declaration_fixes_a_temporarys_type_and_extents() -> None:
    function = body("double(K) t t(i) = A(i) O(i) = t(i)", "O")

    (temporary,) = function.declared

    assert (temporary.name, temporary.dtype, temporary.shape) == ("t", "float64", (Size.of(SizeVar("K")),))
    assert function.free_sizes == (SizeVar("K"),)
    assert function.returns[0].dtype == "float64"


def test_a_declared_return_is_declared_once() -> None:
    function = body("float(N) O O(i) = A(i)", "O")

    assert function.declared == function.returns


def test_what_is_declared_and_never_written_is_left_out() -> None:
    assert body("float(N) t O(i) = A(i)", "O").declared == ()


def test_a_size_of_an_annotation_is_a_value_in_the_body() -> None:
    assert lines(body("O(i) = A(i) * K", "float(K) O")) == ["O[i] = (A[i] * float32(K))"]


def test_what_is_accumulated_without_a_restart_may_be_passed() -> None:
    function = body("O +=! A(i) P += A(i) P += d(i) Q(i) = A(i) Q(i) += A(i)", "O, P, Q")

    assert [(tensor.name, tensor.dtype) for tensor in function.initial] == [("P", "float64")]
    assert function.initial[0] == function.returns[1]


def test_a_restart_on_a_defined_tensor_is_kept() -> None:
    assert lines(body("O(i) = A(i) O(i) +=! A(i)")) == ["O[i] = A[i]", "O[i] = sum[] A[i]"]


def test_an_equal_annotation_of_an_input_is_accepted() -> None:
    function = elaborated("def f(float(N) A) -> (float(N) A, B) { B(i) = A(i) }")

    assert function.returns[0] == function.parameters[0]
    assert function.declared == ()
