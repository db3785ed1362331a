"""Random programs as trees: any TC text, meaningful or not."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tcjax.syntax import ast

_BINARY = ("||", "&&", "|", "^", "&", "<", ">", "<=", ">=", "==", "!=", "<<", ">>", "+", "-", "*", "/", "%", "//")
_REDUCERS = ("sum", "prod", "max", "min", "any", "all", "mean", "logsumexp", "argmax", "argmin", "mink", "gcd")
_SCALARS = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


def names() -> SearchStrategy[str]:
    """Names that are not keywords of TC: ordinary ones, and some that look like other tokens."""
    return st.sampled_from(
        (
            "A",
            "B",
            "C",
            "O1",
            "x",
            "i",
            "j",
            "k",
            "N",
            "_",
            "e5",
            "inf",
            "nano",
            "true",
            "sum",
            "any",
            "all",
            "minx",
            "inx",
        )
    )


def numbers() -> SearchStrategy[ast.Number]:
    floats = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False).map(abs)
    imaginary = floats.map(lambda value: complex(0.0, value))
    return st.builds(ast.Number, st.one_of(st.integers(0, 2**64 - 1), floats, imaginary))


def expressions() -> SearchStrategy[ast.Expr]:
    leaves = st.one_of(numbers(), st.builds(ast.Name, names()), st.builds(ast.SizeOf, names(), st.integers(0, 12)))
    return st.recursive(leaves, _operations, max_leaves=12)


def _operations(parts: SearchStrategy[ast.Expr]) -> SearchStrategy[ast.Expr]:
    bounds = st.one_of(st.builds(ast.Bound, names()), st.builds(ast.Bound, names(), parts, parts))
    return st.one_of(
        st.builds(ast.Apply, names(), _subscripts(parts)),
        st.builds(ast.Apply, st.sampled_from(("min", "max")), st.tuples(parts, parts)),
        st.builds(ast.Cast, st.sampled_from(_SCALARS), parts),
        st.builds(ast.Unary, st.sampled_from(("-", "!", "~")), parts),
        st.builds(ast.Binary, st.sampled_from(_BINARY), parts, parts),
        st.builds(ast.Conditional, parts, parts, parts),
        st.builds(
            ast.Reduction, st.sampled_from(_REDUCERS), _tuples(bounds, 1, 3), _tuples(parts, 0, 2), _tuples(parts, 1, 2)
        ),
    )


def statements() -> SearchStrategy[ast.Statement]:
    clauses = st.one_of(
        st.builds(ast.RangeClause, names(), expressions(), expressions()),
        st.builds(ast.LetClause, names(), expressions()),
        st.builds(ast.ExistsClause, expressions()),
        st.builds(ast.UniqueClause, st.builds(ast.Apply, names(), _tuples(expressions(), 1, 2))),
        st.builds(ast.GuardClause, expressions()),
    )
    reducers = ("+", "*", "min", "max", "any", "all", "logsumexp", "argmin", "argmax", "gcd")
    assignments = st.one_of(st.just((None, False)), st.tuples(st.sampled_from(reducers), st.booleans()))
    return st.one_of(
        st.builds(
            lambda target, indices, assignment, value, equivalent, where: ast.Assign(
                target, indices, *assignment, value, equivalent, where
            ),
            names(),
            st.none() | _subscripts(expressions()),
            assignments,
            expressions(),
            st.none() | st.builds(ast.Equivalent, names(), _tuples(expressions(), 0, 2)),
            _tuples(clauses, 0, 2),
        ),
        st.builds(ast.CallAssign, _tuples(names(), 2, 3), names(), _tuples(expressions(), 0, 3)),
        st.builds(ast.Declare, names(), _types()),
    )


def definitions() -> SearchStrategy[ast.Definition]:
    parameters = _tuples(st.builds(ast.Parameter, names(), st.none() | _types()), 0, 3)
    return st.builds(ast.Definition, names(), parameters, parameters, _tuples(statements(), 0, 3))


def programs() -> SearchStrategy[ast.Program]:
    """Some definitions under different names, or the statements of a text without ``def``."""
    defs = st.lists(definitions(), min_size=1, max_size=3, unique_by=lambda definition: definition.name).map(tuple)
    bare = st.builds(ast.Definition, st.just("kernel"), st.none(), st.just(()), _tuples(statements(), 1, 3))
    return st.builds(ast.Program, st.one_of(defs, st.tuples(bare)))


def _types() -> SearchStrategy[ast.TensorType]:
    dimensions = _tuples(st.one_of(names(), st.integers(0, 64)), 0, 3)
    return st.builds(ast.TensorType, st.sampled_from(_SCALARS), dimensions, st.booleans())


def _subscripts(expressions: SearchStrategy[ast.Expr]) -> SearchStrategy[tuple[ast.Expr, ...]]:
    """Subscripts, or ``...`` and subscripts."""
    plain = _tuples(expressions, 0, 3)
    return st.one_of(plain, plain, plain.map(lambda behind: (ast.Batch(), *behind)))


def _tuples(elements: SearchStrategy, least: int, most: int) -> SearchStrategy[tuple]:
    return st.lists(elements, min_size=least, max_size=most).map(tuple)
