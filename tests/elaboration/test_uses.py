"""What is known about a definition before types are known."""

import pytest

from tcjax import elaboration, ir
from tcjax.diagnostics import CompileError
from tcjax.elaboration import Argument
from tcjax.syntax import ast, tc
from tests.elaboration.programs import elaborated, kernel, lines, mistake


def names(parameters: tuple[ast.Parameter, ...]) -> list[str]:
    return [parameter.name for parameter in parameters]


@pytest.mark.parametrize(
    ("text", "parameters", "returns"),
    [
        ("C(m,n) +=! A(m,k) * B(k,n)", ["A", "B"], ["C"]),
        ("O(i) = exp(A(i)) * s()", ["A", "s"], ["O"]),
        ("H(I(i)) +=! W(i)", ["I", "W"], ["H"]),
        ("K(i*B.0 + p) = A(i) * B(p)", ["A", "B"], ["K"]),
        ("K(i*B.0 + p) = A(i) * A(p) where p in 0:B.0", ["A", "B"], ["K"]),
        ("O(i) = A(i) where k = B(i), exists D(i), i in 0:E.0, M(i)", ["A", "B", "D", "E", "M"], ["O"]),
        ("T(i) = A(i) O(i) = T(i)", ["A"], ["O"]),
        ("P(i) = A(i) Q(i) = A(i)", ["A"], ["P", "Q"]),
        ("O(i) = A(i) O(i) = O(i) + 1", ["A"], ["O"]),
        ("s +=! A(i) O(i) = A(i) / s", ["A"], ["O"]),
        ("T(i) = A(i) O(i) = B(i) + T.0", ["A", "B"], ["T", "O"]),
        ("C(i) += A(i)", ["A"], ["C"]),
        ("y(i) = exp(x(i)) / sum[j](exp(x(j)))", ["x"], ["y"]),
        ("O = f(A, B)", ["A", "B"], ["O"]),
        ("P, Q = f(A)", ["A"], ["P", "Q"]),
        ("O(i) = f(A(i))", ["A"], ["O"]),
    ],
)
def test_a_text_without_def_takes_what_it_reads_and_gives_what_nothing_reads(
    text: str, parameters: list[str], returns: list[str]
) -> None:
    definition = kernel(text)

    completed = elaboration.completed(definition, {"f"})

    assert names(elaboration.parameters(definition, {"f"})) == parameters
    assert names(completed.returns) == returns


def test_a_definition_with_parameters_is_complete() -> None:
    definition = kernel("def f(A, float(N) B) -> (C) { C(i) = A(i) * B(i) }")

    assert elaboration.completed(definition) is definition
    assert elaboration.parameters(definition) is definition.parameters


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("def f(A, B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", {"A": 2, "B": 2}),
        ("def f(A, a) -> (C) { C(m) = A(m) * a }", {"A": 1, "a": 0}),
        ("def f(A, a) -> (C) { C(m) = A(m) * a() }", {"A": 1, "a": 0}),
        ("def f(A, float(N) B) -> (C) { C(m) = A(m) * B(m) }", {"A": 1}),
        ("def f(A, I) -> (C) { C(m) = A(I(m)) where exists A(m) }", {"A": 1, "I": 1}),
        ("def f(A) -> (C) { C = g(A) } def g(X) -> (Y) { Y(i) = X(i) }", {}),
        ("def f(A, B) -> (C) { C(i) = B(i) + A.0 }", {"B": 1}),
        ("def f(A) -> (C) { C(i) = A(i) * a where a = 2, i in 0:3 }", {"A": 1}),
        ("def f(k, A) -> (C) { C(i) = A(i) * k + sum[j](A(j)) }", {"k": 0, "A": 1}),
    ],
)
def test_the_rank_of_an_undeclared_parameter_is_the_number_of_its_subscripts(text: str, ranks: dict[str, int]) -> None:
    assert elaboration.ranks_from_uses(kernel(text)) == ranks


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def f(A) -> (C) { C(i) = A(i) + A(i,i) }", "TC0501"),
        ("def f(A) -> (C) { C(i) = A(i) + A }", "TC0501"),
        ("def f(A, B) -> (C) { C(i) = A(i) }", "TC0505"),
    ],
)
def test_conflicting_or_missing_uses_are_refused(text: str, code: str) -> None:
    with pytest.raises(CompileError) as caught:
        elaboration.ranks_from_uses(kernel(text))

    assert caught.value.code == code
    assert caught.value.help


def test_a_definition_needs_a_signature_if_a_parameter_is_undeclared_or_a_python_function_is_called() -> None:
    program = tc.read(
        """def open(A) -> (B) { B(i) = A(i) }
        def closed(float(N) A) -> (B) { B = open(A) }
        def python(float(N) A) -> (B) { B(i) = g(A(i)) }
        def below(float(N) A) -> (B) { B = python(A) }
        def hidden(float(N) g) -> (B) { B(i) = g(i) }"""
    )

    needed = {d.name: elaboration.needs_signature(d, program, {"g"}) for d in program.definitions}

    assert needed == {"open": True, "closed": False, "python": True, "below": True, "hidden": False}
    assert elaboration.needs_signature(kernel("O(i) = A(i)"))
    assert not elaboration.needs_signature(program.definitions[2], program)


def test_a_signature_types_undeclared_parameters() -> None:
    signature = {"A": Argument("float16", 2), "B": Argument("int32", 1)}

    function = elaborated("def f(A, B) -> (C) { C(i,j) = A(i,j) * B(j) }", signature)

    assert [str(size) for size in function.parameters[0].shape] == ["A.0", "A.1"]
    assert function.returns[0].dtype == "float16"


def test_a_text_without_def_elaborates_as_its_definition_would() -> None:
    signature = {"A": Argument("float32", 2), "B": Argument("float32", 2)}

    bare = elaborated("C(m,n) +=! A(m,k) * B(k,n)", signature)
    written = elaborated("def kernel(A, B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }", signature)

    assert bare == written


def test_an_argument_of_another_rank_than_its_uses_is_refused() -> None:
    error = mistake("def f(A) -> (C) { C(i) = A(i) }", signature={"A": Argument("float32", 3)})

    assert error.code == "TC0502" and "3 dimensions" in error.message


def test_a_guess_follows_what_a_tensor_is_used_for() -> None:
    definition = kernel("O(i) = m(i) && !n(i) ? A(I(i + J(i)), int32(F(i))) : (B(i) > 0 ? 1.0 : 0.0) where c(i)")

    assert elaboration.guess(definition) == {
        "m": Argument("bool", 1),
        "n": Argument("bool", 1),
        "A": Argument("float32", 2),
        "I": Argument("int32", 1),
        "J": Argument("int32", 1),
        "F": Argument("float32", 1),
        "B": Argument("float32", 1),
        "c": Argument("bool", 1),
    }


def test_there_is_no_guess_where_only_a_call_tells_the_rank() -> None:
    assert elaboration.guess(kernel("O = f(A)"), {"f"}) is None


@pytest.mark.parametrize(
    "text",
    [
        "def f(A, I) -> (C) { C(i) = A(I(i)) }",
        "def f(A, m) -> (C) { C(i) = m(i) ? A(i) : 0 }",
        "def f(A) -> (C) { C(i) = A(i) & 1 }",
        "def f(A) -> (C) { C(i) = g(A(i)) }",
        "def f(A) -> (C) { C = g(A) D(i) = nonsense(i) }",
        "def f(A, float(N) B) -> (C) { T(i) = A(i) * B(i) C = g(T) }",
    ],
)
def test_a_definition_without_types_passes_the_check(text: str) -> None:
    program = tc.read(text)

    checked = elaboration.check(program.definitions[0], program, {"g"})

    assert checked is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def f(A) -> (C) { C(i) = a(i) + A(i) }", "TC0201"),
        ("def f(A) -> (C) { C(i) = A(k) }", "TC0703"),
        ("def f(A) -> (C) { C(i) = A(i, i) + A(i) }", "TC0501"),
        ("def f(A) -> (C) { D(i) = A(i) }", "TC0206"),
        ("def f(A) -> (C) { C(i) = g(A(i)) + x(i) }", "TC0201"),
        ("C(i) = A(k)", "TC0703"),
    ],
)
def test_the_check_finds_what_no_type_can_mend(text: str, code: str) -> None:
    program = tc.read(text)

    with pytest.raises(CompileError) as caught:
        elaboration.check(program.definitions[0], program, {"g"})

    assert caught.value.code == code


def test_reading_a_size_only_takes_the_rank_of_the_argument() -> None:
    function = elaborated(
        "def f(A, B) -> (C) { C(i) = B(i) + A.1 }", {"A": Argument("float32", 3), "B": Argument("float32", 1)}
    )

    assert lines(function) == ["C[i] = (B[i] + float32(A.1))"]
    assert isinstance(function.statements[0], ir.Define)
