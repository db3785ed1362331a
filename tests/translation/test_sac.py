"""Programs written as SaC read back equal, and compute the same."""

import numpy as np
import pytest

import tcjax
from tcjax import ir, ranges
from tcjax.diagnostics import CompileError
from tcjax.interpreter import interpret
from tcjax.symbolic import Affine, IndexVar, Size, SizeVar
from tcjax.syntax import sac, tc
from tcjax.translation import to_sac

from .evaluation import run
from .programs import PROGRAMS, Called, elaborated

# What SaC cannot say, by what it lacks.
REFUSED = {
    "a scatter": {
        "inference several: interleaving on the left",
        "inference several: a histogram",
        "inference several: an embedding's gradient",
    },
    "a size that only a result has": {
        "inference several: a size that only an annotation mentions is inferred",
        "inference several: a size that only an annotation mentions is given",
        "layers convolutions: a transposed convolution",
    },
    "a recurrence": {"golden: recurrence", "golden: rnn"},
    "a range whose ends read tensors": {"golden: ragged"},
    "no result": {"language spelling: no results", "language spelling: no statements"},
}
SAID = [program for program in PROGRAMS if all(program.name not in names for names in REFUSED.values())]


def written(text: str, *arrays: np.ndarray) -> str:
    """The last definition of a TC text as SaC."""
    return sac.write(to_sac(elaborated(tc.read(text), arrays))).strip()


def floats(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("program", SAID, ids=str)
def test_a_function_written_as_sac_reads_back(program: Called) -> None:
    tree = to_sac(program.function)

    assert sac.read(sac.write(tree)) == tree


@pytest.mark.parametrize("program", [p for p in SAID if p.is_small and not p.has_initial], ids=str)
def test_a_function_written_as_sac_computes_the_same(program: Called) -> None:
    bound = ranges.bind(program.function, {name: array.shape for name, array in program.arrays.items()})
    expected = interpret(bound, program.arrays)

    found = run(to_sac(program.function), program.arguments, list(program.arrays))

    assert [result.shape for result in found] == [np.asarray(result).shape for result in expected]
    assert [result.dtype for result in found] == [np.asarray(result).dtype for result in expected]
    for result, wanted in zip(found, expected, strict=True):
        wide = _wide(wanted)
        np.testing.assert_allclose(result.astype(wide), np.asarray(wanted).astype(wide), 1e-4, 1e-4)


def _wide(result: object) -> str:
    kind = np.asarray(result).dtype.kind
    return "complex128" if kind == "c" else "int64" if kind in "biu" else "float64"


@pytest.mark.parametrize("name", sorted(set().union(*REFUSED.values())))
def test_what_sac_cannot_say_is_refused(name: str) -> None:
    (program,) = [program for program in PROGRAMS if program.name == name]

    with pytest.raises(CompileError) as caught:
        to_sac(program.function)

    assert caught.value.code == "TC0109" and caught.value.message.startswith("SaC cannot say")


def test_declared_parameters_become_type_patterns() -> None:
    text = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"

    assert written(text, floats(2, 3), floats(3, 4)) == (
        "float[M, N] mm(float[M, K] A, float[K, N] B) {\n"
        "  C = { [m, n] -> sum({ [k] -> A[m, k] * B[k, n] }) };\n"
        "  return C;\n"
        "}"
    )


def test_parameters_of_any_type_make_an_expression() -> None:
    text = "y(n,i) = exp(x(n,i) - max[j](x(n,j))) / sum[j](exp(x(n,j)))"

    assert written(text, floats(2, 3)) == (
        "{ [n, i] -> exp(x[n, i] - maxval({ [j] -> x[n, j] })) / sum({ [j] -> exp(x[n, j]) }) }"
    )


def test_parameters_in_another_order_than_they_appear_in_need_a_function() -> None:
    text = "def f(A, B) -> (C) { C(i) = B(i) - A(i) }"

    assert written(text, floats(3), floats(3)).startswith("float[.] f(float[.] A, float[.] B) {")


def test_a_bound_that_sac_finds_is_not_written() -> None:
    found = written("def f(float(N) A, float(M) B) -> (C) { C(i) = A(i) * B(i) where i in 0:N }", floats(3), floats(3))
    same = written("def f(float(N) A, float(N) B) -> (C) { C(i) = A(i) * B(i) }", floats(3), floats(3))

    assert "{ [i] -> A[i] * B[i] | [i] < [N] }" in found
    assert "{ [i] -> A[i] * B[i] }" in same


def test_an_extent_with_a_floor_is_one_quotient() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(2*i) }"

    assert "| [i] < [(N + 1) / 2]" in written(text, floats(5))


def test_a_floor_of_what_may_be_negative_is_no_quotient_of_c() -> None:
    text = "def f(int32(N) A) -> (B) { B(i) = A(i) / 2 }"

    assert "(A[i] - mod(A[i], 2)) / 2" in written(text, np.ones(3, "i"))


def test_a_triangle_is_a_ragged_bound() -> None:
    text = "def f(float(N) x) -> (y) { y(t) = mean[s where s <= t](x(s)) where t in 0:N }"

    assert "mean({ [s] -> x[s] | [s] < [t + 1] })" in written(text, floats(4))


def test_a_guard_that_is_no_bound_chooses_the_neutral_element() -> None:
    text = "def f(float(N) x, bool(N) on) -> (y) { y min=! x(s) where on(s) }"

    assert "minval({ [s] -> on[s] ? x[s] : 1.0 / 0.0 })" in written(text, floats(4), np.ones(4, bool))


def test_a_fold_counts_from_the_lower_end_of_its_range() -> None:
    text = "def f(float(N) x) -> (y) { y *=! x(s) where s in 2:N }"

    assert "prod({ [s] -> x[s + 2] | [s] < [N - 2] })" in written(text, floats(4))


def test_a_fold_counts_from_a_lower_end_that_moves_with_a_shifted_index() -> None:
    kernel = tcjax.kernel("def f(float(N) C) -> (O) { O(i) max=! C(u) where i in 1:3, u in 0:4, u > i }")
    C = np.array([9, 8, 7, 6, 9], "float32")

    again = tcjax.kernel(kernel.to("sac"))

    np.testing.assert_array_equal(again.interpret(C), np.array([7, 6]))
    np.testing.assert_array_equal(kernel.interpret(C), np.array([7, 6]))


def test_an_update_of_a_part_keeps_the_rest() -> None:
    text = "def f(float(N) A) -> (B) { B(i) = A(i)  B(i) = 0.0 where i in 1:3 }"

    assert "B_1 = { [i] -> 0.0 | [1] <= [i] < [3]; iv -> B[iv] };\n  return B_1;" in written(text, floats(4))


def test_accumulation_adds_to_what_was_there() -> None:
    text = "def f(float(N,K) A) -> (B) { B(i) = 1.0 where i in 0:N  B(i) += A(i,k) }"

    assert "B_1 = { [i] -> B[i] + sum({ [k] -> A[i, k] }) };" in written(text, floats(3, 2))


def test_a_definition_that_is_called_is_a_function() -> None:
    text = "def g(float(N) x) -> (y) { y(i) = 2 * x(i) } def f(float(N) A) -> (B) { B = g(A) }"

    assert written(text, floats(3)).endswith("float[N] f(float[N] A) {\n  B = g(A);\n  return B;\n}")


def test_names_of_the_library_and_words_of_the_language_are_not_taken() -> None:
    text = "def sum(float(N) step) -> (width) { width(i) = step(i) }"

    assert written(text, floats(3)).startswith("float[N] sum_1(float[N] step_1) {\n  width_1 = { [i] -> step_1[i] };")


def test_a_function_on_cells_is_applied_at_every_index() -> None:
    inputs = tuple([ir.Tensor(name, "float32", (Size.of(SizeVar("N")), Size.of(SizeVar("M")))) for name in "AB"])
    target = ir.Tensor("C", "float32", (Size.of(SizeVar("C.0")),))
    source = ir.Function("f", inputs, (target,), (ir.ApplyForeign((target,), "g", inputs, 1, (True, False)),))

    assert "C = { [i0] -> g(A[i0], B) };" in sac.write(to_sac(source))


@pytest.mark.parametrize(
    ("statement", "lack"),
    [
        ("B(i) = mink[j](A(j), i) where i in 0:N", "the value at a rank"),
        ("B(i) = float32(argmin[j where A(j) > 0.0](A(j))) + A(i)", "where a condition holds"),
        ("B(i) = A(i)  B(i) logsumexp= A(i) * A(j)", "goes on from what is there"),
    ],
)
def test_what_sac_lacks_is_named(statement: str, lack: str) -> None:
    with pytest.raises(CompileError) as caught:
        written(f"def f(float(N) A) -> (B) {{ {statement} }}", floats(3))

    assert caught.value.code == "TC0109" and lack in caught.value.message


def test_truth_values_are_not_computed_with() -> None:
    text = "def f(bool(N) p, bool(N) q) -> (r, s) { r(i) = p(i) + q(i)  s +=! p(i) * q(i) }"

    found = written(text, np.ones(3, bool), np.ones(3, bool))

    assert "p[i] != q[i]" in found and "mod(sum({ [i] -> toi(p[i] && q[i]) }), 2) == 1" in found


def test_what_nests_too_deeply_is_a_mistake() -> None:
    x, i = ir.Tensor("x", "float32", (Size.of(3),)), Affine.of(IndexVar("i"))
    value: ir.Expr = ir.Access(x, (i,))
    for _ in range(20_000):
        value = ir.Unary("-", value, "float32")
    target = ir.Tensor("y", "float32", (Size.of(SizeVar("y.0")),))

    with pytest.raises(CompileError) as caught:
        to_sac(ir.Function("f", (x,), (target,), (ir.Define(target, (i,), value),)))

    assert caught.value.code == "TC0103"
