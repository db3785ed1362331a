"""Any text gives a typed program that verifies, or a `CompileError` with help."""

from hypothesis import given
from hypothesis import strategies as st

from tcjax import ir
from tcjax.diagnostics import CompileError
from tests.elaboration.programs import body

LEAVES = st.sampled_from(
    ["i", "j", "k", "N", "s", "1", "2.5", "2i", "A(i)", "B(i,j)", "I(k)", "b(i)", "u(j)", "B.1", "T(i)"]
)
BINARY = st.sampled_from(["+", "-", "*", "/", "%", "//", "<", "==", "&&", "||", "&", "<<"])
PREFIX = st.sampled_from(["-", "!", "~", "int32", "half", "exp", "A", "I", "abs", "popcount", "f"])
BRACKETS = st.sampled_from(["sum[k]", "max[k in 0:j]", "any[k, j where k < j]", "argmin[i]", "mean[j]"])


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(inner, BINARY, inner).map(lambda parts: f"({' '.join(parts)})")
        | st.tuples(PREFIX, inner).map(lambda parts: f"{parts[0]}({parts[1]})")
        | st.tuples(BRACKETS, inner).map(lambda parts: f"{parts[0]}({parts[1]})")
        | st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} ? {parts[1]} : {parts[2]})")
        | st.tuples(inner, inner).map(lambda parts: f"min({parts[0]}, {parts[1]})")
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=8)
CLAUSES = st.one_of(
    EXPRESSIONS,
    EXPRESSIONS.map(lambda e: f"x = {e}"),
    EXPRESSIONS.map(lambda e: f"exists {e}"),
    st.tuples(st.sampled_from("ijk"), EXPRESSIONS).map(lambda parts: f"{parts[0]} in 0:{parts[1]}"),
)
STATEMENTS = st.builds(
    lambda target, operator, value, clauses: (
        f"{target} {operator} {value}{' where ' * bool(clauses)}{', '.join(clauses)}"
    ),
    st.sampled_from(["T", "T(i)", "O(i)", "O(i, j)", "O(i, i)", "O(2*i + j)", "H(I(i))", "A(i)"]),
    st.sampled_from(["=", "+=!", "+=", "max=!", "argmin=!", "any=", "mean=!"]),
    EXPRESSIONS,
    st.lists(CLAUSES, max_size=2),
)


@given(st.lists(STATEMENTS, min_size=1, max_size=3))
def test_it_is_typed_or_refused(statements: list[str]) -> None:
    try:
        function = body(" ".join(statements))
    except CompileError as error:
        assert error.help and str(error)
    else:
        ir.verify(function)
