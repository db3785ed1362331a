"""Written programs read back to the same tree, are valid Python, and look hand-written."""

import ast as python
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax import CompileError
from tcjax.syntax import ast, tc
from tcjax.syntax.embedded import read_text, write
from tests.strategies import trees

READS = frozenset({"sum", "any", "all"})


def from_tc(text: str) -> ast.Definition:
    (definition,) = tc.read(text).definitions
    return definition


def again(definition: ast.Definition) -> ast.Definition | None:
    return read_text(write(definition)).definition


def exactly(tree: object) -> object:
    """A tree with the Python types of its numbers: ``1``, ``1.0`` and ``True`` are equal otherwise."""
    match tree:
        case tuple():
            return tuple(map(exactly, tree))
        case ast.Node():
            fields = (getattr(tree, field.name) for field in dataclasses.fields(tree) if field.compare)
            return (type(tree).__name__, *map(exactly, fields))
        case _:
            return (type(tree).__name__, repr(tree))


def with_divisions(tree: object, operator: str) -> object:
    """The tree with `operator` for every one of the three divisions."""
    match tree:
        case tuple():
            return tuple(with_divisions(part, operator) for part in tree)
        case ast.Binary("/" | "//" | "truediv", left, right):
            return ast.Binary(operator, with_divisions(left, operator), with_divisions(right, operator))  # type: ignore
        case ast.Node():
            changed = {f.name: with_divisions(getattr(tree, f.name), operator) for f in dataclasses.fields(tree)}
            return type(tree)(**changed)
        case _:
            return tree


def is_in_the_notation(definition: ast.Definition) -> bool:
    """TC may write to an input, and may call a reducer's name for several results; the Python notation cannot.

    Nor may a statement over the points of an index do the same at each, or read what it writes: Python's `for` would
    make these steps of a loop.
    """
    parameters = {parameter.name for parameter in definition.parameters or ()}
    written: set[str] = set()
    for statement in definition.body:
        match statement:
            case ast.Assign(target, indices, value=value, where=where):
                if target in parameters:
                    return False
                runs = {clause.index for clause in where if isinstance(clause, ast.RangeClause)}
                if (
                    target in written
                    and runs - names_in(indices)
                    and (target in names_in(value, where) or runs - names_in(value))
                ):
                    return False
                written.add(target)
            case ast.CallAssign(targets, function):
                if function in READS:
                    return False
                written.update(targets)
            case _:
                pass
    return True


def names_in(*parts: object) -> set[str]:
    """All names in trees, of tensors, functions and indices alike."""
    found: set[str] = set()
    for part in parts:
        match part:
            case tuple():
                found |= names_in(*part)
            case ast.Name(name):
                found.add(name)
            case ast.Node():
                found |= names_in(*(getattr(part, field.name) for field in dataclasses.fields(part)))
                if isinstance(part, ast.Apply):
                    found.add(part.function)
            case _:
                pass
    return found


@given(trees.definitions().filter(is_in_the_notation))
def test_a_definition_reads_back_to_the_same_tree(definition: ast.Definition) -> None:
    # How `/` is written depends on types, and has a separate test below.
    for operator in ("truediv", "//"):
        tree = with_divisions(definition, operator)
        assert isinstance(tree, ast.Definition)

        found = again(tree)

        assert found == tree
        assert exactly(found) == exactly(tree)


@given(trees.definitions().filter(is_in_the_notation))
def test_tcs_division_reads_back_as_one_of_the_divisions(definition: ast.Definition) -> None:
    found = again(definition)

    assert with_divisions(found, "/") == with_divisions(definition, "/")


@given(trees.definitions().filter(is_in_the_notation))
def test_what_is_written_is_stable_and_python(definition: ast.Definition) -> None:
    text = write(definition)
    found = read_text(text).definition

    assert found is not None
    assert write(found) == text
    assert isinstance(python.parse(text).body[0], python.FunctionDef)


PYTHON_VALUES = st.recursive(
    st.sampled_from(
        (
            *map(ast.Number, (0, 7, 10**4000, 2.5, 1e22, 1e-7, float("inf"), 3j, 1e300j, True, False)),
            ast.Name("i"),
            ast.SizeOf("A", 1),
        )
    ),
    lambda parts: st.one_of(
        st.builds(
            ast.Binary,
            st.sampled_from(("**", "truediv", "-", "*", "%", "<<", "&", "^", "==", "<", "&&", "||")),
            parts,
            parts,
        ),
        st.builds(ast.Unary, st.sampled_from(("-", "!", "~")), parts),
        st.builds(ast.Conditional, parts, parts, parts),
        st.builds(ast.Apply, st.sampled_from(("A", "f", "div", "min", "sum", "half")), st.tuples(parts, parts)),
        st.builds(
            ast.Reduction, st.just("mink"), st.just((ast.Bound("k"),)), st.tuples(parts), st.tuples(parts, parts)
        ),
    ),
    max_leaves=20,
)


@given(PYTHON_VALUES)
def test_pythons_own_operators_and_numbers_read_back(value: ast.Expr) -> None:
    statement = ast.Assign("C", (ast.Name("i"),), None, False, value)
    definition = ast.Definition("f", (ast.Parameter("A"),), (ast.Parameter("C"),), (statement,))

    assert exactly(again(definition)) == exactly(definition)


@pytest.mark.parametrize("reducer", [None, "+"])
def test_points_that_python_takes_for_steps_are_refused(reducer: str | None) -> None:
    start = ast.Assign("A", None, None, False, ast.Number(0))
    points = ast.RangeClause("A", ast.Number(0), ast.Number(4))
    another = ast.Assign("A", None, reducer, False, ast.Number(0), where=(points, ast.ExistsClause(ast.Name("A"))))
    definition = ast.Definition("f", (), (ast.Parameter("A"),), (start, another))

    with pytest.raises(CompileError, match="for steps: each would see what the one before has written"):
        write(definition)


def test_an_integer_that_python_refuses_in_decimal_reads_back() -> None:
    statement = ast.Assign("C", None, None, False, ast.Number(10**5000))
    definition = ast.Definition("f", (), (ast.Parameter("C"),), (statement,))

    same = again(definition) == definition

    assert same


def test_not_a_number_reads_back() -> None:
    statement = ast.Assign("C", None, None, False, ast.Number(float("nan")))
    definition = ast.Definition("f", (), (ast.Parameter("C"),), (statement,))

    assert exactly(again(definition)) == exactly(definition)


def test_a_number_with_a_sign_is_written_as_a_negation() -> None:
    value = ast.Binary("*", ast.Number(-2), ast.Binary("+", ast.Number(1 - 2j), ast.Number(-0.5)))
    statement = ast.Assign("C", None, None, False, value)

    text = write(ast.Definition("f", (), (ast.Parameter("C"),), (statement,)))

    assert "C = -2 * (1.0 + -2.0j + -0.5)\n" in text


def test_a_program_looks_as_a_person_would_write_it() -> None:
    definition = from_tc(
        """def attention(float(T,D) Q, float(S,D) K, float(S,E) V, double(3) w) -> (float(T,E) out, peak) {
            float(T) z
            s(q,k) = sum[d](Q(q,d) * K(k,d)) / sqrt(float(Q.1)) where k <= q
            m(q) max=! s(q,k)
            out(q,e) += exp(s(q,k) - m(q)) * V(k,e) * (q < 2 && !(k == 3) ? 1 : -1) where k in 0:S, exists K(k,0)
            out(q,e) *= 0.5
            peak = max[q, k in 0:3 where k <= q](min(s(q,k), 0))
        }"""
    )

    assert write(definition) == (
        """@tcjax.kernel
def attention(Q: "float(T,D)", K: "float(S,D)", V: "float(S,E)", w: "double(3)") -> ("float(T,E)", None):
    z: "float(T)"
    if k <= q:
        s[q, k] = sum[d](Q[q, d] * K[k, d]) / sqrt(float32(Q.shape[1]))
    m[q]: "max=!" = s[q, k]
    for k in range(0, S):
        with exists(K[k, 0]):
            out[q, e]: "+=" = exp(s[q, k] - m[q]) * V[k, e] * (1 if q < 2 and not k == 3 else -1)
    out[q, e] *= 0.5
    peak = max[q, k in range(0, 3), k <= q](min(s[q, k], 0))
    return out, peak
"""
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("C(i) = A(i)", "C[i] = A[i]"),
        ("C(i) +=! A(i,j)", "C[i] += A[i, j]"),
        ("C(i) += A(i,j)", 'C[i]: "+=" = A[i, j]'),
        ("C() = A()", "C[()] = A[()]"),
        ("C any=! A(i) > 0", "C |= A[i] > 0"),
        ("C logsumexp= A(i)", 'C: "logsumexp=" = A[i]'),
        ("C = g(A, 2)", "C = g(A, 2)"),
        ("C, D = g(A)", "C, D = g(A)"),
        ("C(i) = A(i) where t = i + 1", "with let(t=i + 1):\n        C[i] = A[i]"),
        (
            "C(i) = A(i) <=> g(A) where i in 0:3",
            "with equivalent(g(A)):\n        for i in range(0, 3):\n            C[i] = A[i]",
        ),
        ("C(i) = sum[k where A](k)", "C[i] = sum[k, +A](k)"),
        ("C(i) = (i < 3) == (i < 2)", "C[i] = (i < 3) == (i < 2)"),
        ("C(i) = A(i) - (A(i) - 1)", "C[i] = A[i] - (A[i] - 1)"),
    ],
)
def test_every_statement_has_its_python_form(text: str, line: str) -> None:
    definition = from_tc(f"def f(A) -> (C) {{ {text} }}")

    written = write(definition)

    assert written == f"@tcjax.kernel\ndef f(A):\n    {line}\n    return C\n"
    assert read_text(written).definition == definition


def test_a_restarted_tensor_is_restarted_again() -> None:
    definition = from_tc("def f(float(N) A) -> (C) { C +=! A(i) C +=! A(i) C += A(i) }")

    assert write(definition).splitlines()[2:5] == ["    C += A[i]", '    C: "+=!" = A[i]', "    C += A[i]"]


@pytest.mark.parametrize(
    ("statements", "line"),
    [
        ("C(i) = A(i) / 2", "C[i] = A[i] / 2"),
        ("C(i) = N(i) / 2", "C[i] = N[i] // 2"),
        ("C(i) = U(i) / 2", "C[i] = div(U[i], 2)"),
        ("C(i) = U(i) / 2.0", "C[i] = U[i] / 2.0"),
        ("C(i) = (i + A.0) / 2", "C[i] = (i + A.shape[0]) // 2"),
        ("C(i) = A(i / 2)", "C[i] = A[i // 2]"),
        ("C(i) = 1 / (exp(U(i)) / 3)", "C[i] = 1 / (exp(U[i]) / 3)"),
        ("C(i) = h(i) / 3", "C[i] = div(h(i), 3)"),
        ("C(i) = float(N(i)) / int32(A(i))", "C[i] = float32(N[i]) / int32(A[i])"),
        ("C(i) = int32(A(i)) / 2", "C[i] = int32(A[i]) // 2"),
        ("C(i) = (i < 2 ? A(i) : 3) / 2", "C[i] = (A[i] if i < 2 else 3) / 2"),
        ("C(i) = sum[k](A(k)) / argmax[k](A(k))", "C[i] = sum[k](A[k]) / argmax[k](A[k])"),
        ("C(i) = argmax[k](A(k)) / 2", "C[i] = argmax[k](A[k]) // 2"),
        ("C(i) = mean[k](N(k)) / 2", "C[i] = div(mean[k](N[k]), 2)"),
        ("C(i) = -A(i) / popcount(N(i))", "C[i] = -A[i] / popcount(N[i])"),
        ("C(i) = popcount(N(i)) / 2", "C[i] = popcount(N[i]) // 2"),
        ("C(i) = max(N(i), 1) / 2", "C[i] = max(N[i], 1) // 2"),
        ("C(i) = t / 2 where t = A(i)", "C[i] = t / 2"),
        ("C(i) = D(i) / 2 D(i) = N(i)", "C[i] = D[i] // 2"),
        ("C(i) = D(i) / 2 D(i) = N(i) D(i) += A(i)", "C[i] = D[i] / 2"),
        ("C(i) = D(i) / 2 D(i) = A(i) / 3", "C[i] = D[i] / 2"),
        ("C(i) = D(i) / 2 D = g(A)", "C[i] = div(D[i], 2)"),
        ("C(i) = D(i) / 2 D, E = g(A)", "C[i] = div(D[i], 2)"),
        ("C(i) = z(i) / 2 float(N) z", "C[i] = z[i] / 2"),
        ("C(i) = A(i) / 2 / 3", "C[i] = A[i] / 2 / 3"),
    ],
)
def test_tcs_division_divides_floats_and_floors_integers(statements: str, line: str) -> None:
    definition = from_tc(f"def f(float(K) A, int32(K) N, U) -> (C) {{ {statements} }}")

    lines = [written.strip() for written in write(definition).splitlines()]

    assert line in lines


@pytest.mark.parametrize(
    "text",
    [
        "def class(A) -> (C) { C(i) = A(i) }",
        "def f(lambda) -> (C) { C(i) = lambda(i) }",
        "def f(A) -> (is) { is(i) = A(i) }",
        "def f(A) -> (C) { C(from) = A(from) }",
        "def f(A) -> (C) { C(i) = async(A(i)) }",
        "def f(A) -> (C) { C(i) = A(i + k) where pass in 0:3 }",
        "def f(A) -> (C) { C(i) = A(i) where del = 1 }",
        "def f(A) -> (C) { C(i) = sum[del](A(i)) }",
        "def f(A) -> (C) { float(N) del }",
        "def f(A) -> (C) { C, del = g(A) }",
        "def f(A) -> (C) { C = del.0 }",
    ],
)
def test_a_keyword_of_python_cannot_be_a_name(text: str) -> None:
    with pytest.raises(CompileError, match="is a keyword of Python") as caught:
        write(from_tc(text))

    assert (caught.value.code, caught.value.kind) == ("TC0203", "name")
    assert "rename it" in caught.value.help
