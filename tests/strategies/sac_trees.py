"""Random SaC programs as trees: any SaC text, meaningful or not."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tcjax.syntax.sac import tree

_BINARY = (
    "||",
    "&&",
    "|",
    "^",
    "&",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "++",
    "++^",
    "<<",
    ">>",
    "+",
    "-",
    "*",
    "/",
    "%",
)
_SCALARS = (
    *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
# The largest value of each type of whole numbers that a suffix names.
_LARGEST = {f"{sign}int{bits}": 2 ** (bits - (not sign)) - 1 for sign in ("", "u") for bits in (8, 16, 32, 64)}


def names() -> SearchStrategy[str]:
    """Names that are not keywords: ordinary ones, and some that look like other tokens."""
    words = "a b iv i j k n _ e5 inf f step width truely returns with where def int1 x2f"
    return st.sampled_from(words.split())


def numbers() -> SearchStrategy[tree.Number]:
    floats = st.floats(min_value=0.0, allow_nan=False, allow_infinity=False).map(abs)
    typed = st.sampled_from(sorted(_LARGEST)).flatmap(
        lambda scalar: st.builds(tree.Number, st.integers(0, _LARGEST[scalar]), st.just(scalar))
    )
    return st.one_of(
        st.builds(tree.Number, st.one_of(st.booleans(), st.integers(0, 2**64 - 1), floats)),
        st.builds(tree.Number, floats, st.sampled_from(("float32", "float64"))),
        typed,
    )


def expressions(most: int = 10) -> SearchStrategy[tree.Expr]:
    return st.recursive(st.one_of(numbers(), st.builds(tree.Name, names())), _operations, max_leaves=most)


def _operations(parts: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Expr]:
    return st.one_of(
        st.builds(tree.Unary, st.sampled_from("-+!~"), parts),
        st.builds(tree.Binary, st.sampled_from(_BINARY), parts, parts),
        st.builds(tree.Conditional, parts, parts, parts),
        st.builds(tree.Call, names(), _tuples(parts, 0, 3)),
        st.builds(tree.Call, st.sampled_from(_SCALARS), st.tuples(parts)),
        st.builds(tree.Vector, _tuples(parts, 0, 3)),
        st.builds(tree.Select, parts, _with_dots(parts)),
        st.builds(tree.Comprehension, _tuples(_partitions(parts), 1, 3)),
    )


def _partitions(parts: SearchStrategy[tree.Expr]) -> SearchStrategy[tree.Partition]:
    pattern = _with_dots(names()).map(_once)
    index = st.one_of(st.builds(tree.IndexVector, names()), st.builds(tree.IndexPattern, pattern))
    return index.flatmap(
        lambda chosen: st.builds(tree.Partition, st.just(chosen), parts, st.none() | _generators(chosen, parts))
    )


def _generators(
    index: tree.IndexVector | tree.IndexPattern, parts: SearchStrategy[tree.Expr]
) -> SearchStrategy[tree.Generator]:
    """Generators whose bounds may look like the index that they bound."""
    itself = (
        tree.Name(index.name)
        if isinstance(index, tree.IndexVector)
        else tree.Vector(tuple(tree.Name(name) for name in index.names))
    )
    bounds = st.builds(tree.Bound, st.one_of(parts, parts, st.just(tree.Dot()), st.just(itself)), st.booleans())
    limits = st.one_of(st.tuples(bounds, bounds), st.tuples(bounds, st.none()), st.tuples(st.none(), bounds))
    strides = st.one_of(st.just((None, None)), st.tuples(parts, st.none()), st.tuples(parts, parts))
    return st.builds(lambda limit, stride: tree.Generator(*limit, *stride), limits, strides)


def _with_dots(elements: SearchStrategy) -> SearchStrategy[tuple]:
    """Some of `elements` and dots, at most one of them ``...``."""
    mixed = _tuples(st.one_of(elements, elements, st.just(tree.Dot())), 0, 2)
    gap = st.sampled_from(((), (tree.Dot(many=True),)))
    return st.builds(lambda before, gap, after: before + gap + after, mixed, gap, mixed)


def _once(elements: tuple) -> tuple:
    """`elements` without repeated names."""
    return tuple(
        element
        for position, element in enumerate(elements)
        if not isinstance(element, str) or element not in elements[:position]
    )


def functions() -> SearchStrategy[tree.Function]:
    return st.builds(
        tree.Function,
        names(),
        _tuples(types(), 1, 2),
        _tuples(st.builds(tree.Parameter, names(), types()), 0, 3),
        _tuples(expressions(4), 0, 2),
        _tuples(lets(), 0, 2),
        _tuples(expressions(4), 1, 3),
    )


def types() -> SearchStrategy[tree.TypePattern]:
    axis = st.builds(tree.Axis, st.one_of(st.none(), st.integers(0, 64), names()))
    axes = st.one_of(
        st.sampled_from((tree.Axes(), tree.Axes(least=1))),
        st.builds(tree.Axes, st.integers(0, 4), st.just(0), names()),
        st.builds(tree.Axes, names(), st.integers(0, 3), names()),
    )
    return st.builds(tree.TypePattern, st.sampled_from(_SCALARS), _tuples(st.one_of(axis, axes), 0, 3))


def lets() -> SearchStrategy[tree.Let]:
    return st.builds(tree.Let, _tuples(names(), 1, 2), expressions(4))


def programs() -> SearchStrategy[tree.Program]:
    """Functions alone, or functions, lets and an expression."""
    return st.one_of(
        st.builds(tree.Program, _tuples(functions(), 1, 2), st.just(()), st.none()),
        st.builds(tree.Program, _tuples(functions(), 0, 2), _tuples(lets(), 0, 2), expressions()),
    )


def _tuples(elements: SearchStrategy, least: int, most: int) -> SearchStrategy[tuple]:
    return st.lists(elements, min_size=least, max_size=most).map(tuple)
