"""Annotations: TC's strings, jaxtyping, and invalid ones."""

from __future__ import annotations

import pytest

from tcjax import CompileError
from tcjax.syntax import ast
from tcjax.syntax.embedded import read, read_text


def parameter_type(annotation: str, scope: dict[str, object] | None = None) -> ast.TensorType | None:
    definition = read_text(f"def f(A: {annotation}):\n    return A\n", scope).definition
    assert definition is not None and definition.parameters is not None
    return definition.parameters[0].type


@pytest.mark.parametrize(
    ("annotation", "type"),
    [
        ('"float(M,K)"', ast.TensorType("float32", ("M", "K"))),
        ("'double( M , 3 )'", ast.TensorType("float64", ("M", 3))),
        ('"int32"', ast.TensorType("int32", ())),
        ('"half()"', ast.TensorType("float16", ())),
        ('"byte(N)"', ast.TensorType("uint8", ("N",))),
        ('Float[Array, "M K"]', ast.TensorType("float32", ("M", "K"))),
        ('Float64[jax.Array, "M 3"]', ast.TensorType("float64", ("M", 3))),
        ('jaxtyping.Int[Array, "N"]', ast.TensorType("int32", ("N",))),
        ('Int8[Array, "N"]', ast.TensorType("int8", ("N",))),
        ('UInt8[Array, "N"]', ast.TensorType("uint8", ("N",))),
        ('Bool[Array, ""]', ast.TensorType("bool", ())),
        ('BFloat16[Array, "N"]', ast.TensorType("bfloat16", ("N",))),
        ('Complex128[Array, "N"]', ast.TensorType("complex128", ("N",))),
        ("\"Float32[Array, 'M K']\"", ast.TensorType("float32", ("M", "K"))),
        ("float", ast.TensorType("float32", ())),
        ("jnp.float64", ast.TensorType("float64", ())),
        ("None", None),
        ("jax.Array", None),
        ("Any", None),
        ("np.ndarray", None),
        ("ArrayLike", None),
    ],
)
def test_an_annotation_declares_a_type(annotation: str, type: ast.TensorType | None) -> None:
    assert parameter_type(annotation) == type


def test_a_name_bound_to_a_string_is_that_type() -> None:
    assert parameter_type("MATRIX", {"MATRIX": "float(M,N)"}) == ast.TensorType("float32", ("M", "N"))


def test_annotations_that_python_does_not_evaluate_are_read_all_the_same() -> None:
    def f(A: "float(M,K)", B: Float32[Array, "K 3"], C) -> ("float(M)", None):  # noqa: F722, UP037
        D[m] = A[m, k] * B[k, 0]
        return D, D

    definition = read(f).definition

    assert definition is not None and definition.parameters is not None
    types = [parameter.type for parameter in (*definition.parameters, *definition.returns)]
    matrix, thin, vector = (("M", "K"), ("K", 3), ("M",))
    assert types == [ast.TensorType("float32", d) if d else None for d in (matrix, thin, None, vector, None)]


@pytest.mark.parametrize(
    "annotation", ['tuple["float(N)", "int(N)"]', '("float(N)", "int(N)")', '"float(N)", "int(N)"']
)
def test_several_results_have_a_tuple_of_types(annotation: str) -> None:
    arrow = annotation if annotation.startswith(("tuple", "(")) else f"({annotation})"
    definition = read_text(f"def f(A) -> {arrow}:\n    return A, A\n").definition

    assert definition is not None
    float_type, int_type = (ast.TensorType(scalar, ("N",)) for scalar in ("float32", "int32"))
    assert [result.type for result in definition.returns] == [float_type, int_type]


@pytest.mark.parametrize(
    ("annotation", "code", "message"),
    [
        ('"float(M"', "TC0101", "is not a type"),
        ('"float(M,K) A"', "TC0101", "is not a type"),
        ('""', "TC0101", "is not a type"),
        ('"floaty(M)"', "TC0301", "`floaty` is not a scalar type"),
        ('"float(M+1)"', "TC0105", "`M\\+1` is not a dimension"),
        ('"float(,)"', "TC0105", "`` is not a dimension"),
        ('"float(where)"', "TC0203", "`where` is a word of the notation"),
        ('"float(99999999999999999999)"', "TC0107", "too large"),
        ('Float[Array, "N ..."]', "TC0105", "`...` is not a dimension"),
        ('"float(N, ...)"', "TC0105", "`...` is not a dimension"),
        ('Float[Array, "*batch N"]', "TC0105", "is not a dimension"),
        ('Num[Array, "N"]', "TC0301", "`Num` is not one scalar type"),
        ('Float["N"]', "TC0105", "not a tensor's type"),
        ("list[int]", "TC0105", "not a tensor's type"),
        ("Tensor", "TC0105", "not a tensor's type"),
        ("3", "TC0105", "not a tensor's type"),
        ("lambda: 0", "TC0105", "not a tensor's type"),
    ],
)
def test_an_annotation_that_is_no_type_is_refused(annotation: str, code: str, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        parameter_type(annotation)

    assert caught.value.code == code
    assert caught.value.help
    assert (caught.value.span.line, caught.value.span.column) == (1, 10)


def test_as_many_types_as_results_are_needed() -> None:
    with pytest.raises(CompileError, match="the annotation has 1 types, and 2 tensors are returned") as caught:
        read_text('def f(A) -> "float(N)":\n    return A, A\n')

    assert (caught.value.code, tuple(caught.value.span)) == ("TC0301", (1, 13, 23))
