"""The kernel object: calls, what it says about itself, and JAX's transformations of it."""

import copy
import inspect
import pickle
import pydoc
import runpy
import warnings
from pathlib import Path

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
IN_PLACE = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) += A(m,k) * B(k,n) }"


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


def in_place() -> tcjax.Kernel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcjax.CompileWarning)
        return tcjax.kernel(IN_PLACE)


def test_arguments_go_by_position_or_by_name() -> None:
    kernel = tcjax.kernel(MM)
    A, B = arrays((4, 3), (3, 5))

    results = [kernel(A, B), kernel(A, B=B), kernel(B=B, A=A), kernel(jnp.asarray(A), B)]

    for result in results:
        np.testing.assert_allclose(result, A @ B, rtol=1e-5)


def test_python_numbers_and_lists_take_the_parameters_type() -> None:
    kernel = tcjax.kernel("def f(float(N) A, float s, int32 k) -> (B) { B(i) = A(i) * s + k }")

    result = kernel([1, 2, 3], 2, np.int32(1))

    assert result.dtype == jnp.float32
    np.testing.assert_array_equal(result, [3.0, 5.0, 7.0])


def test_several_returns_come_as_a_tuple_in_their_order() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (C, B) { B(i) = A(i) + 1  C(i) = B(i) * 2 }")

    C, B = kernel(np.zeros(3, "float32"))

    np.testing.assert_array_equal(B, [1, 1, 1])
    np.testing.assert_array_equal(C, [2, 2, 2])


def test_an_initial_value_is_passed_under_the_outputs_name() -> None:
    A, B, C = arrays((4, 3), (3, 5), (4, 5))

    result = in_place()(A, B, C=C)

    np.testing.assert_allclose(result, C + A @ B, rtol=1e-5)


def test_without_an_initial_value_an_accumulation_starts_from_the_identity() -> None:
    A, B = arrays((4, 3), (3, 5))

    with pytest.warns(tcjax.CompileWarning, match="without initialisation"):
        kernel = tcjax.kernel(IN_PLACE)

    np.testing.assert_allclose(kernel(A, B), A @ B, rtol=1e-5)


def test_a_size_that_only_an_annotation_mentions_is_passed_by_keyword() -> None:
    kernel = tcjax.kernel("def f(int32(N) I, float(N) x) -> (float(B) H) { H(I(n)) +=! x(n) }")
    I, x = np.array([0, 5, 5, 1], "int32"), np.ones(4, "float32")

    result = kernel(I, x, B=6)

    np.testing.assert_array_equal(result, np.bincount(I, x, 6))


def test_a_definition_without_types_takes_what_it_is_called_with() -> None:
    kernel = tcjax.kernel("C(m,n) +=! A(m,k) * B(k,n)")
    A, B = np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)

    whole = kernel(A.astype("int32"), B.astype("int32"))
    real = kernel(A.astype("float32"), B.astype("float32"))

    assert (whole.dtype, real.dtype) == (jnp.int32, jnp.float32)
    np.testing.assert_array_equal(whole, A @ B)
    np.testing.assert_array_equal(real, A @ B)


def test_a_kernel_is_traced_once_for_arguments_of_one_kind() -> None:
    traced = []

    def seen(x: jax.Array) -> jax.Array:
        traced.append(x.shape)
        return x * 2

    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = seen(A(i)) }", fns={"seen": seen})
    A = jnp.ones(3)
    kernel(A)
    before = len(traced)

    kernel(A + 1)

    assert len(traced) == before
    kernel(jnp.ones(4))
    assert len(traced) > before


def test_a_kernel_works_under_every_transformation() -> None:
    kernel = tcjax.kernel(MM)
    A, B = map(jnp.asarray, arrays((4, 3), (3, 5)))
    G = jnp.asarray(arrays((4, 5))[0])

    jitted = jax.jit(kernel)(A, B)
    _, pulled = jax.vjp(kernel, A, B)
    _, pushed = jax.jvp(kernel, (A, B), (A, B))
    batched = jax.vmap(kernel, in_axes=(0, None))(jnp.stack([A, 2 * A]), B)
    hessian = jax.hessian(lambda a: jnp.sum(kernel(a, B) ** 2))(A)
    exported = jax.export.deserialize(jax.export.export(jax.jit(kernel))(A, B).serialize()).call(A, B)

    np.testing.assert_allclose(jitted, A @ B, rtol=1e-5)
    np.testing.assert_allclose(pulled(G)[0], G @ B.T, rtol=1e-5)
    np.testing.assert_allclose(pulled(G)[1], A.T @ G, rtol=1e-5)
    np.testing.assert_allclose(pushed, 2 * (A @ B), rtol=1e-5)
    np.testing.assert_allclose(batched, jnp.stack([A @ B, 2 * A @ B]), rtol=1e-5)
    # The second derivative of |AB|^2 couples the elements of one row of A only.
    expected = 2 * np.einsum("ac,bd->abcd", np.eye(4), B @ B.T)
    np.testing.assert_allclose(hessian, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(exported, A @ B, rtol=1e-5)


def test_interpret_gives_numpy_arrays_in_the_same_structure() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (B, s) { B(i) = A(i) * 2  s +=! A(i) }")

    B, s = kernel.interpret([1.0, 2.0])

    assert isinstance(B, np.ndarray)
    assert isinstance(s, np.ndarray)
    np.testing.assert_array_equal(B, [2, 4])
    assert s == 3


def test_ranges_are_numbers_with_arguments_and_symbols_without() -> None:
    kernel = tcjax.kernel("def c(float(N) I, float(K) W) -> (O) { O(i) +=! I(i+k) * W(k) }")

    numbers = kernel.ranges(np.ones(10, "float32"), jax.ShapeDtypeStruct((3,), "float32"))
    symbols = kernel.ranges()

    assert numbers == [{"i": (0, 8), "k": (0, 3)}]
    assert [{name: str(interval) for name, interval in ranges.items()} for ranges in symbols] == [
        {"i": "[0, N - K + 1)", "k": "[0, K)"}
    ]


def test_ranges_of_a_called_definition_stand_in_its_place() -> None:
    library = tcjax.load(MM + " def f(float(N,N) A) -> (D) { B(i,j) = A(j,i)  D = mm(A, B) }")

    ranges = library.f.ranges(np.ones((2, 2), "float32"))

    assert ranges == [{"i": (0, 2), "j": (0, 2)}, {"m": (0, 2), "n": (0, 2), "k": (0, 2)}]


def test_an_output_that_starts_elsewhere_is_stored_from_its_minimum() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (B, C) { B(i) = A(i-1)  C(i) = B(i) + A(i) }")
    A = np.arange(5, dtype="float32")

    B, C = kernel(A)

    np.testing.assert_array_equal(B, A)
    np.testing.assert_array_equal(C, A[:-1] + A[1:])
    assert kernel.ranges(A) == [{"i": (1, 6)}, {"i": (1, 5)}]
    assert "first element at [1]" in str(kernel.explain(A))


def test_the_explanation_names_ranges_operation_reason_and_cost() -> None:
    kernel = tcjax.kernel(MM)

    explained = kernel.explain(*arrays((64, 32), (32, 16)))

    (statement,) = explained.to_dict()["statements"]
    assert statement["operation"] == "dot_general"
    assert (statement["ranges"]["k"]["lo"], statement["ranges"]["k"]["hi"]) == (0, 32)
    assert statement["flops"] == 2 * 64 * 32 * 16
    assert statement["bytes"] == 4 * (64 * 32 + 32 * 16 + 64 * 16)
    assert all(word in str(explained) for word in ("dot_general", "because", "65.5 k operations", "temporary"))


def test_a_program_is_written_back_in_either_notation() -> None:
    kernel = tcjax.kernel(MM)
    A, B = arrays((4, 3), (3, 5))

    again = tcjax.kernel(kernel.to("tc"))

    assert str(kernel) == kernel.to("tc")
    assert "C[m, n] += A[m, k] * B[k, n]" in kernel.to("python")
    np.testing.assert_array_equal(again(A, B), kernel(A, B))
    assert again.ir() == kernel.ir()


@pytest.mark.parametrize("notation", ["tc", "python", "sac"])
def test_a_program_is_written_with_what_it_calls(notation: str, tmp_path: Path) -> None:
    text = (
        "def twice(float(N) x) -> (y) { y(i) = 2.0 * x(i) }"
        "  def more(float(N) x) -> (y) { t = twice(x)  y(i) = t(i) + 1.0 }"
        "  def most(float(N) x) -> (y, z) { y = more(x)  z = twice(x) }"
    )
    kernel = tcjax.load(text)["most"]
    x = np.array([1, 2], "float32")

    written = kernel.to(notation)

    assert [written.count(name) for name in ("2.0 *", "+ 1.0")] == [1, 1]
    if notation == "python":
        (tmp_path / "most.py").write_text(f"import tcjax\n\n{written}")
        again = runpy.run_path(str(tmp_path / "most.py"))["most"]
    else:
        again = tcjax.kernel(written)
    np.testing.assert_array_equal(again.interpret(x), np.array([[3, 5], [2, 4]]))


def test_plan_and_ir_are_printable() -> None:
    kernel = tcjax.kernel(MM)

    assert "dot_general" in str(kernel.plan(*arrays((64, 32), (32, 16))))
    assert "sum[k]" in str(kernel.ir())
    assert "mm(A, B)" in repr(kernel)


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        (lambda k, A, B: k(A), "TC0503", ["takes 2 inputs but got 1", "`B` missing"]),
        (lambda k, A, B: k(A, B, B), "TC0503", ["takes 2 inputs but got 3"]),
        (lambda k, A, B: k(A, B, A=A), "TC0503", ["`A` is given twice"]),
        (lambda k, A, B: k(A, B, D=A), "TC0503", ["no argument `D`"]),
        (lambda k, A, B: k(A[0], B), "TC0502", ["`A`", "2 dimensions", "1 dimension"]),
        (lambda k, A, B: k(A, A), "TC0601", ["`K` is 3 in dimension 1 of `A`", "4 in dimension 0 of `B`"]),
        (lambda k, A, B: k(A.astype("int32"), B), "TC0305", ["`A` is declared float32", "int32"]),
        (lambda k, A, B: k("text", B), "TC0305", ["`A`", "str"]),
        (lambda k, A, B: k(None, B), "TC0305", ["`A`", "NoneType"]),
        (lambda k, A, B: k([[1, 2], [3]], B), "TC0305", ["`A`", "list"]),
        (lambda k, A, B: k(np.array([object()]), B), "TC0305", ["`A`"]),
        (lambda k, A, B: k.to("fortran"), "TC0308", ["'fortran'"]),
    ],
)
def test_a_wrong_call_is_a_compile_error_that_names_the_argument(call, code: str, words: list[str]) -> None:
    kernel = tcjax.kernel(MM)
    A, B = arrays((4, 3), (3, 5))

    with pytest.raises(tcjax.CompileError) as caught:
        call(kernel, A, B)

    assert caught.value.code == code
    assert all(word in str(caught.value) for word in words)
    assert caught.value.help


def test_a_wrong_size_under_jit_is_the_same_compile_error() -> None:
    kernel = tcjax.kernel(MM)
    A, B = arrays((4, 3), (4, 5))

    with pytest.raises(tcjax.CompileError, match="TC0601"):
        jax.jit(kernel)(A, B)


def test_an_initial_value_of_a_wrong_size_is_refused() -> None:
    A, B, C = arrays((4, 3), (3, 5), (5, 4))

    with pytest.raises(tcjax.CompileError) as caught:
        in_place()(A, B, C=C)

    assert caught.value.kind == "shape"


def test_64_bit_types_without_x64_mode_are_computed_in_32_bits_and_say_so_once() -> None:
    with pytest.warns(tcjax.CompileWarning, match="x64 mode is off"):
        kernel = tcjax.kernel("def f(double(N) A) -> (B) { B(i) = A(i) * 0.1 }")

    result = kernel(np.ones(3))

    assert result.dtype == jnp.float32
    assert kernel.interpret(np.ones(3)).dtype == np.float64


def test_a_python_function_that_does_not_fit_is_a_compile_error() -> None:
    def broken(x: jax.Array) -> jax.Array:
        raise RuntimeError("not today")

    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = broken(A(i)) }", fns={"broken": broken})

    with pytest.raises(tcjax.CompileError, match="not today"):
        kernel(np.ones(3, "float32"))


def test_whole_tensors_go_through_python_functions() -> None:
    kernel = tcjax.kernel(
        "def f(float(N,M) A) -> (B) { S = sorted_rows(A)  B(i) = S(i,0) }",
        fns={"sorted_rows": lambda x: jnp.sort(x, axis=-1)},
    )
    (A,) = arrays((3, 4))

    np.testing.assert_array_equal(kernel(A), A.min(1))
    np.testing.assert_array_equal(kernel.interpret(A), A.min(1))


@pytest.mark.parametrize(("dtype", "number"), [("uint8", 256), ("uint8", -1), ("int32", 2**31)])
def test_a_python_number_that_the_type_does_not_hold_is_refused(dtype: str, number: int) -> None:
    kernel = tcjax.kernel(f"def f({dtype} a) -> (b) {{ b = a }}")

    with pytest.raises(tcjax.CompileError) as caught:
        kernel(number)

    assert caught.value.code == "TC0305"
    assert str(number) in caught.value.message


def test_python_numbers_take_the_parameters_type_under_jit_too() -> None:
    kernel = tcjax.kernel("def f(float a) -> (b) { b = a }")

    assert jax.jit(kernel)(3) == kernel(3) == 3.0


def test_an_empty_list_has_the_parameters_type() -> None:
    assert tcjax.kernel("def f(int32(N) a) -> (b) { b(i) = a(i) }")([]).dtype == jnp.int32


def test_an_initial_value_has_the_outputs_type() -> None:
    A, B = arrays((2, 3), (3, 4))

    np.testing.assert_allclose(in_place()(A, B, C=[[1] * 4] * 2), A @ B + 1, rtol=1e-5)
    with pytest.raises(tcjax.CompileError) as caught:
        in_place()(A, B, C=np.zeros((2, 4), np.int32))
    assert caught.value.code == "TC0305"


def test_a_stack_too_short_for_a_program_is_a_compile_error() -> None:
    guards = ", ".join(f"i != {k}" for k in range(400))
    kernel = tcjax.kernel(f"def f(float(N) A) -> (B) {{ B(i) = A(i) where {guards} }}")

    with pytest.raises(tcjax.CompileError) as caught:
        kernel(*arrays((3,)))

    assert caught.value.code == "TC0103"


@pytest.mark.parametrize("text", ["C(i) = maxk[j](A(i,j), 1)", "{ [i] -> sum(A[i]) }"])
def test_a_symbolic_size_is_refused_as_not_static(text: str) -> None:
    kernel = tcjax.kernel(text)
    shape = jax.export.symbolic_shape("n, 3")

    with pytest.raises(tcjax.CompileError) as caught:
        jax.export.export(jax.jit(kernel))(jax.ShapeDtypeStruct(shape, "float32"))

    assert caught.value.code == "TC0901"


@tcjax.kernel
def halved(A):
    C[i, j] = A[i, j] / 2
    return C


@pytest.mark.parametrize(
    ("kernel", "shapes"),
    [
        (tcjax.kernel(MM, assume=["K % 3 == 0"], accumulate="float64"), ((2, 3), (3, 4))),
        (tcjax.kernel("{ [i] -> sum(2 * a[i]) }"), ((2, 3),)),
        (tcjax.kernel("float[.] twice(float[.] a) { return(a + a); }"), ((3,),)),
        (tcjax.kernel("O(i) = g(x(i))", fns={"g": abs}), ((3,),)),
        (tcjax.kernel("O(i) +=! x(i, j)").adjoint(), ((2, 3), (2,))),
        (halved, ((2, 3),)),
    ],
    ids=["index notation", "comprehension", "function", "python function", "adjoint", "decorated"],
)
def test_a_kernel_is_pickled_as_what_is_written(kernel: tcjax.Kernel, shapes: tuple[tuple[int, ...], ...]) -> None:
    given = arrays(*shapes)
    expected = kernel(*given)

    restored = pickle.loads(pickle.dumps(kernel))

    assert str(restored) == str(kernel)
    assert str(restored.explain(*given)) == str(kernel.explain(*given))
    np.testing.assert_array_equal(restored(*given), expected)
    assert copy.deepcopy(kernel) is kernel


def test_a_signature_tells_parameters_types_and_initial_values() -> None:
    signature = inspect.signature(in_place())

    assert str(signature) == "(A: 'float(M,K)', B: 'float(K,N)', *, C=None) -> 'C'"
    assert inspect.signature(tcjax.Kernel).parameters.keys() == {"frontend"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("C(m,n) +=! A(m,k) * B(k,n)", "(A, B) -> 'C'"),
        ("def f(float(N) A) -> (C, B) { B(i) = A(i) + 1  C(i) = B(i) * 2 }", "(A: 'float(N)') -> '(C, B)'"),
        ("def f(float(...,N) A) -> (B) { B(...,i) = A(...,i) }", "(A: 'float(...,N)') -> 'B'"),
        ("def f(float x) -> (float(N) B) { B(i) = x }", "(x: 'float', *, N: 'int') -> 'B'"),
        ("float[m] f(float[m,n] a) { return { [i] -> sum({ [j] -> a[i,j] }) }; }", "(a: 'float[m, n]') -> 'float[m]'"),
        ("{ iv -> a[iv] + 1 }", "(a)"),
    ],
)
def test_signatures_of_the_notations(text: str, shown: str) -> None:
    assert str(inspect.signature(tcjax.kernel(text))) == shown


def test_a_parameter_with_a_name_that_python_keeps_leaves_the_general_signature() -> None:
    kernel = tcjax.kernel("def f(float(N) lambda) -> (B) { B(i) = lambda(i) }")

    assert str(inspect.signature(kernel)) == "(*args: Any, **kwargs: Any) -> Any"


def test_help_tells_how_to_call_the_program() -> None:
    shown = pydoc.plain(pydoc.render_doc(in_place()))

    assert "mm(A: 'float(M,K)', B: 'float(K,N)', *, C=None) -> 'C'" in shown
    assert "C(m, n) += A(m, k) * B(k, n)" in shown


def test_only_public_names_are_listed() -> None:
    listed = set(dir(tcjax))

    assert set(tcjax.__all__) <= listed
    assert listed - set(tcjax.__all__) == {"__version__", "gallery", "linen", "nn", "symbolic", "testing"}
