"""Statements in Python read to the same tree as their TC text."""

from collections.abc import Callable

import pytest

from tcjax.syntax import ast, tc
from tcjax.syntax.embedded import read, read_text


def from_tc(text: str) -> ast.Definition:
    (definition,) = tc.read(text).definitions
    return definition


def body(lines: str, parameters: str = "A, B") -> tuple[ast.Statement, ...]:
    """The statements of a function with those lines; a ``return`` is added."""
    indented = "".join(f"    {line}\n" for line in lines.strip("\n").splitlines())
    definition = read_text(f"def f({parameters}):\n{indented}    return C\n").definition
    assert definition is not None
    return definition.body


def tc_body(text: str) -> tuple[ast.Statement, ...]:
    return from_tc(f"def f(float A) -> (C) {{ {text} }}").body


def matmul(A: "float(M,K)", B: "float(K,N)"):
    C[m, n] += A[m, k] * B[k, n]
    return C


def attention(Q: "float(T, D)", K: "float(S, D)", V: "float(S, E)"):
    s[q, k] = sum[d](Q[q, d] * K[k, d]) * rsqrt(Q.shape[1])
    m[q] = max[k](s[q, k])
    w[q, k] = exp(s[q, k] - m[q])
    out[q, e] = sum[k](w[q, k] * V[k, e])
    return out


def histogram(I: "int(N)", weight: "float") -> "float(B)":
    H[I[i]] += weight
    return H


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (matmul, "def matmul(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"),
        (
            attention,
            """def attention(float(T,D) Q, float(S,D) K, float(S,E) V) -> (out) {
                s(q,k) = sum[d](Q(q,d) * K(k,d)) * rsqrt(Q.1)
                m(q) = max[k](s(q,k))
                w(q,k) = exp(s(q,k) - m(q))
                out(q,e) = sum[k](w(q,k) * V(k,e))
            }""",
        ),
        (histogram, "def histogram(int32(N) I, float weight) -> (float(B) H) { H(I(i)) +=! weight }"),
    ],
)
def test_a_function_reads_to_the_tree_of_its_tc_text(function: Callable, text: str) -> None:
    reading = read(function)

    assert reading.definition == from_tc(text)
    assert reading.text is None
    assert reading.parameters == tuple(p.name for p in from_tc(text).parameters or ())


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("C[i] = A[i]", "C(i) = A(i)"),
        ("C = 3.0", "C = 3.0"),
        ("C += A[i]", "C +=! A(i)"),
        ("C[()] = A[i]", "C() = A(i)"),
        ("C[i] += A[i, j]", "C(i) +=! A(i, j)"),
        ("C[i] *= A[i, j]", "C(i) *=! A(i, j)"),
        ("C[i] |= A[i, j]", "C(i) any=! A(i, j)"),
        ("C[i] &= A[i, j]", "C(i) all=! A(i, j)"),
        ("C[i] ^= A[i, j]", "C(i) +=! !!A(i, j)"),
        ("C[2*i + k] += A[i] * B[k]", "C(2*i + k) +=! A(i) * B(k)"),
        ("C[i, 0] = A[i]", "C(i, 0) = A(i)"),
        ("C = f(A, B)", "C = f(A, B)"),
        ("C, D = f(A, B)", "C, D = f(A, B)"),
        ("(C, D) = f(A)", "C, D = f(A)"),
        ("C, = f(A)", "C = f(A)"),
        ('z: "float(K)"\nC[i] = A[i]', "float(K) z C(i) = A(i)"),
        ('C[i]: "max=!" = A[i, j]', "C(i) max=! A(i, j)"),
        ('C[i]: "min=" = A[i, j]', "C(i) min= A(i, j)"),
        ('C: "argmax=!" = A[i]', "C argmax=! A(i)"),
        ('C[i]: "+=" = A[i, j]', "C(i) += A(i, j)"),
        ("pass\nC[i] = A[i]\n...", "C(i) = A(i)"),
    ],
)
def test_every_statement_reads_to_its_tc_form(lines: str, text: str) -> None:
    assert body(lines) == tc_body(text)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("for k in range(0, 3):\n    C[i] += A[i + k]", "C(i) +=! A(i + k) where k in 0:3"),
        ("for k in range(3):\n    C[i] += A[i + k]", "C(i) +=! A(i + k) where k in 0:3"),
        ("for k in range(-1, A.shape[0]):\n    C[i] += A[i + k]", "C(i) +=! A(i + k) where k in -1:A.0"),
        (
            "for i in range(2):\n    for j in range(1, 3):\n        C[i, j] = A[i]\n        D[j] += B[i, j]",
            "C(i, j) = A(i) where i in 0:2, j in 1:3 D(j) +=! B(i, j) where i in 0:2, j in 1:3",
        ),
        ("if k <= q:\n    C[q] += A[k]", "C(q) +=! A(k) where k <= q"),
        (
            "if k <= q:\n    C[q] += A[k]\nelse:\n    D[q] = B[q]",
            "C(q) +=! A(k) where k <= q D(q) = B(q) where !(k <= q)",
        ),
        (
            "if i < 1:\n    C[i] = A[i]\nelif i < 2:\n    C[i] = B[i]\nelse:\n    C[i] = 0.0",
            "C(i) = A(i) where i < 1 C(i) = B(i) where !(i < 1), i < 2 C(i) = 0.0 where !(i < 1), !(i < 2)",
        ),
        (
            "for k in range(0, 3):\n    if k != 1:\n        C[i] += A[i + k]",
            "C(i) +=! A(i + k) where k in 0:3, k != 1",
        ),
        (
            "if doc[q] == doc[k]:\n    for k in range(0, 3):\n        C[q] += A[k]",
            "C(q) +=! A(k) where doc(q) == doc(k), k in 0:3",
        ),
        ("with let(t=k + 1):\n    C[i] += A[i + t]", "C(i) +=! A(i + t) where t = k + 1"),
        ("with exists(A[i + k]):\n    C[i] = B[i]", "C(i) = B(i) where exists A(i + k)"),
        (
            "with let(t=2, u=t), exists(A[i], B[i]):\n    C[i] = u",
            "C(i) = u where t = 2, u = t, exists A(i), exists B(i)",
        ),
        ("with equivalent(mv(A, B)):\n    C[i] += A[i, k] * B[k]", "C(i) +=! A(i, k) * B(k) <=> mv(A, B)"),
        ("for k in range(0, 3):\n    pass\nC[i] = A[i]", "C(i) = A(i)"),
    ],
)
def test_what_stands_around_a_statement_is_its_where(lines: str, text: str) -> None:
    assert body(lines) == tc_body(text)


def test_the_first_sum_into_a_local_starts_it_and_the_next_continues() -> None:
    first, second, third, fourth = body("C[i] += A[i, k]\nC[i] += B[i]\nD[i] = 1.0\nD[i] *= B[i]")

    assert [s.restart for s in (first, second, third, fourth) if isinstance(s, ast.Assign)] == [
        True,
        False,
        False,
        False,
    ]
    assert isinstance(third, ast.Assign) and third.reducer is None


@pytest.mark.parametrize(
    ("lines", "same"),
    [
        ("C[i] -= A[i, k] - 1", "C[i] += -(A[i, k] - 1)"),
        ("C[i] = A[i]\nC[i] /= B[i] + 1", "C[i] = A[i]\nC[i] = C[i] / (B[i] + 1)"),
        ("C[i] = A[i]\nC[i] //= 2", "C[i] = A[i]\nC[i] = C[i] // 2"),
        ("s = A[0]\ns **= 2\nC[i] = s", "s = A[0]\ns = s ** 2\nC[i] = s"),
        (
            "C[0] = 1.0\nfor k in range(1, 5):\n    C[k] /= C[k - 1]",
            "C[0] = 1.0\nfor k in range(1, 5):\n    C[k] = C[k] / C[k - 1]",
        ),
    ],
)
def test_what_python_joins_in_place_is_joined_to_what_is_there(lines: str, same: str) -> None:
    assert body(lines) == body(same)


def test_a_result_of_a_call_is_continued() -> None:
    call, update = body("C, D = f(A)\nC[i] += B[i]")

    assert isinstance(call, ast.CallAssign)
    assert isinstance(update, ast.Assign) and not update.restart


def test_a_declared_temporary_is_not_yet_defined() -> None:
    _, update = body('z: "float(K)"\nz[k] += A[k, j]')

    assert isinstance(update, ast.Assign) and update.restart


def test_a_sum_into_a_parameter_accumulates_into_a_copy() -> None:
    def update(A: "float(N,K)", C: "float(N)") -> "float(N)":
        C[i] += A[i, k] * C[i]
        return C

    definition = read(update).definition

    text = """def update(float(N,K) A, float(N) C) -> (float(N) C_out) {
        C_out(i0) = C(i0)
        C_out(i) += A(i,k) * C_out(i)
    }"""
    assert definition == from_tc(text)


def test_the_copy_of_an_undeclared_parameter_has_the_rank_of_its_target_and_free_names() -> None:
    definition = read_text("def f(A, C, C_out):\n    C[i0, j] *= A[i0, j, C_out[k]]\n    return C\n").definition

    assert definition is not None
    copy, update = definition.body
    assert copy == tc_body("C_out_(i0_, i1) = C(i0_, i1)")[0]
    assert update == tc_body("C_out_(i0, j) *= A(i0, j, C_out(k))")[0]
    assert [result.name for result in definition.returns] == ["C_out_"]


def test_a_scalar_parameter_is_accumulated_too() -> None:
    definition = read_text('def f(A, s: "float"):\n    s += A[i]\n    return s\n').definition

    assert definition is not None
    assert definition.body == tc_body("s_out() = s() s_out += A(i)")


def test_a_plain_assignment_to_a_parameter_is_left_for_elaboration_to_refuse() -> None:
    (statement,) = body("A[i] = B[i]")

    assert isinstance(statement, ast.Assign) and statement.target == "A"


def test_results_are_returned_in_order() -> None:
    def two(A: "float(N)") -> ("float(N)", None):
        C[i] = A[i]
        D += A[i]
        return D, C

    definition = read(two).definition

    assert definition is not None
    assert definition.returns == (ast.Parameter("D", ast.TensorType("float32", ("N",))), ast.Parameter("C"))


def test_a_function_may_return_nothing_and_its_argument() -> None:
    nothing = read_text("def f(A):\n    return ()\n").definition
    argument = read_text("def f(A):\n    return A\n").definition

    assert nothing == ast.Definition("f", (ast.Parameter("A"),), (), ())
    assert argument == ast.Definition("f", (ast.Parameter("A"),), (ast.Parameter("A"),), ())


def test_spans_are_those_of_the_file() -> None:
    def scaled(A: "float(N)"):
        # é: columns are counted in characters, not in bytes.
        B[i] = 2.0 * A[i + 1]  # the statement
        return B

    reading = read(scaled)

    assert reading.definition is not None
    (statement,) = reading.definition.body
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Binary)
    read_of_a = statement.value.right.span
    with open(__file__) as file:
        line = file.read().splitlines()[read_of_a.line - 1]
    assert line[read_of_a.column - 1 : read_of_a.end - 1] == "A[i + 1]"
    assert line.endswith("# the statement")
    assert reading.source.name == __file__
    assert reading.source.line(read_of_a.line) == line


def test_columns_count_characters() -> None:
    reading = read_text("def f(A):\n    größe[i] = A[i] + q\n    return größe\n", first_line=41)

    assert reading.definition is not None
    (statement,) = reading.definition.body
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Binary)
    assert tuple(statement.value.left.span) == (42, 16, 20)
