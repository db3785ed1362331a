"""The ways in: texts, files, Python functions, options."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax

TWO = """
def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }
def tr(float(M,N) A) -> (B) { B(n,m) = A(m,n) }
"""


def test_load_gives_every_definition_by_name() -> None:
    library = tcjax.load(TWO)
    A = np.arange(6, dtype="float32").reshape(2, 3)

    assert list(library) == ["mm", "tr"]
    assert "tr" in library
    assert len(library) == 2
    np.testing.assert_array_equal(library["tr"](A), A.T)
    np.testing.assert_array_equal(library.mm(A, A.T), A @ A.T)


def test_load_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "layers.tc"
    path.write_text(TWO, encoding="utf-8")

    assert list(tcjax.load(path)) == list(tcjax.load(str(path))) == ["mm", "tr"]


def test_a_mistake_in_a_file_shows_the_files_name_and_line(tmp_path: Path) -> None:
    path = tmp_path / "layers.tc"
    path.write_text("# a comment\ndef f(float(N) A) -> (B) {\n  B(i) = A(i,i)\n}\n", encoding="utf-8")

    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.load(path)

    assert caught.value.span.line == 3
    assert "layers.tc:3" in str(caught.value)


@pytest.mark.parametrize("source", ["no such file", Path("no/such/file.tc"), ".", "\0"])
def test_what_is_neither_text_nor_file_is_a_compile_error(source: object) -> None:
    with pytest.raises(tcjax.CompileError):
        tcjax.load(source)  # type: ignore[arg-type]


def test_a_definition_that_others_call_is_not_the_kernel() -> None:
    kernel = tcjax.kernel(
        "def twice(float(N) A) -> (B) { B(i) = 2 * A(i) } def f(float(N) A) -> (C) { T = twice(A)  C(i) = T(i) + 1 }"
    )

    np.testing.assert_array_equal(kernel(np.ones(2, "float32")), [3, 3])


def test_several_definitions_are_loaded_not_made_a_kernel() -> None:
    with pytest.raises(tcjax.CompileError, match=r"tcjax.load\(text\)"):
        tcjax.kernel(TWO)


def test_an_unknown_definition_names_the_known() -> None:
    library = tcjax.load(TWO)

    with pytest.raises(tcjax.CompileError, match="mm, tr"):
        library["mn"]
    with pytest.raises(AttributeError):
        library.mn


def test_a_function_is_read_and_never_run() -> None:
    @tcjax.kernel
    def rowsum(A: "float(N,M)"):
        s[i] += A[i, j]
        return s

    A = np.arange(6, dtype="float32").reshape(2, 3)

    np.testing.assert_array_equal(rowsum(A), A.sum(1))
    assert rowsum.__name__ == "rowsum"


def test_the_decorator_takes_options() -> None:
    @tcjax.kernel(fns={"twice": lambda x: 2 * x})
    def f(A: "float(N)"):
        B[i] = twice(A[i])
        return B

    np.testing.assert_array_equal(f(np.ones(2, "float32")), [2, 2])


def test_a_docstring_holds_the_text_and_the_parameters_name_the_arguments() -> None:
    @tcjax.kernel
    def mm(B, A):
        """C(m,n) +=! A(m,k) * B(k,n)"""

    A, B = np.ones((2, 3), "float32"), np.ones((3, 4), "float32")

    np.testing.assert_array_equal(mm(B, A), A @ B)


def test_a_mistake_in_a_docstring_shows_the_line_of_the_python_file() -> None:
    with pytest.raises(tcjax.CompileError) as caught:

        @tcjax.kernel
        def broken(A):
            """B(i) = A(i"""

    assert Path(__file__).name in str(caught.value)
    assert "broken" not in caught.value.message


def test_kernels_and_python_functions_of_the_scope_are_called_by_name() -> None:
    inner = tcjax.kernel("def scale(float(N) A) -> (B) { B(i) = 3 * A(i) }")

    @tcjax.kernel
    def outer(A: "float(N)"):
        T = inner(A)
        B[i] = T[i] + 1
        return B

    np.testing.assert_array_equal(outer(np.ones(2, "float32")), [4, 4])


def test_decorators_above_apply_to_the_kernel() -> None:
    @jax.jit
    @tcjax.kernel
    def twice(A: "float(N)"):
        B[i] = 2 * A[i]
        return B

    np.testing.assert_array_equal(twice(jnp.ones(2)), [2, 2])


def test_indices_can_be_declared_for_linters() -> None:
    i, j = tcjax.indices("i j")

    @tcjax.kernel
    def transpose(A: "float(N,M)"):
        B[j, i] = A[i, j]
        return B

    A = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(transpose(A), A.T)


@pytest.mark.parametrize("names", ["", "1a", 3, "i, j"])
def test_index_names_are_identifiers(names: object) -> None:
    with pytest.raises(tcjax.CompileError):
        tcjax.indices(names)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bogus": 1}, "no option `bogus`"),
        ({"dialect": "fortran"}, "dialect='fortran'"),
        ({"fns": [1]}, "fns="),
        ({"fns": {"f": 3}}, "fns="),
        ({"accumulate": "float7"}, "accumulate='float7'"),
        ({"backend": "tpu"}, "backend='tpu'"),
        ({"strict": "yes"}, "strict='yes'"),
    ],
)
def test_a_wrong_option_is_a_compile_error_that_names_it(options: dict, words: str) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel("B(i) = A(i)", **options)

    assert words in str(caught.value)
    assert caught.value.code == "TC0308"


@pytest.mark.parametrize("source", [3, None.__class__, print, [], object()])
def test_what_is_no_program_is_a_compile_error(source: object) -> None:
    with pytest.raises(tcjax.CompileError):
        tcjax.kernel(source)  # type: ignore[arg-type]


def test_halves_accumulate_in_the_type_that_is_asked_for() -> None:
    text = "def s(half(N) A) -> (B) { B +=! A(i) }"
    A = np.full(5000, 0.25, "float16")

    wide = tcjax.kernel(text)
    narrow = tcjax.kernel(text, accumulate="half")

    assert float(wide(A)) == 1250.0
    assert "in float32" in str(wide.ir())
    assert "in float32" not in str(narrow.ir())


def test_a_function_given_for_an_added_builtin_takes_its_place() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = relu(A(i)) }", fns={"relu": lambda x: x + 10})

    np.testing.assert_array_equal(kernel(np.array([-1.0], "float32")), [9.0])
    np.testing.assert_array_equal(kernel.interpret(np.array([-1.0], "float32")), [9.0])


def test_a_function_cannot_take_the_name_of_one_of_tcs_builtins() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel("def f(float(N) A) -> (B) { B(i) = sqrt(A(i)) }", fns={"sqrt": lambda x: x})

    assert caught.value.code == "TC0203"


def test_a_librarys_function_of_a_builtins_name_is_the_builtin() -> None:
    from jax.numpy import exp

    @tcjax.kernel
    def f(A: "float(N)"):
        B[i] = exp(A[i])
        return B

    assert exp is not None
    assert "python exp" not in str(f.ir())


def test_an_attribute_that_is_no_definition_says_which_there_are() -> None:
    library = tcjax.load("def first(float(N) x) -> (y) { y(i) = x(i) }")

    with pytest.raises(AttributeError, match="no definition `second`; the definitions are first"):
        _ = library.second
    assert not hasattr(library, "second")
