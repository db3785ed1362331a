"""Functions of NumPy and other libraries, written out in index notation."""

from collections.abc import Iterator, Sequence
from typing import Final

from ..diagnostics import Span, phrases
from ..syntax import ast

# In TC's and Python's notation, which differ in brackets and in conditional expressions.
_Written = tuple[str, str]


def elsewhere(name: str, span: Span, arguments: Sequence[ast.Expr] = ()) -> str:
    """How to write a function of another library; empty for unknown names.

    Uses the `arguments` of the call if they are sufficient, so that the suggestion can be copied.
    """
    python = span.source.is_python
    written = _of_values(name, arguments, python)
    if written:
        return f"write it out: `{written}`"
    return _along_an_axis(name, arguments, span) or _GENERAL.get(name, ("", ""))[python]


def constant(name: str) -> str:
    """What to write for a constant that other languages name; empty for unknown names."""
    return _CONSTANTS.get(name.lower(), "")


def _of_values(name: str, arguments: Sequence[ast.Expr], python: bool) -> str:
    """An element-wise function of the given values."""
    forms = _OF_VALUES.get((name, len(arguments)))
    texts = [argument.span.text.strip() for argument in arguments]
    return forms[python].format(*texts) if forms and all(texts) else ""


def _along_an_axis(name: str, arguments: Sequence[ast.Expr], span: Span) -> str:
    """A function of a whole axis, along the last index of the given read."""
    match name in _ALONG, list(arguments):
        case True, [ast.Apply(tensor, (*others, ast.Name(last)))] if all(isinstance(o, ast.Name) for o in others):
            names = [other.id for other in others if isinstance(other, ast.Name)]
            free = _fresh({tensor, last, *names})
            j, k = next(free), next(free)
            reads = {
                at: phrases.element(tensor, [*names, index], span) for at, index in (("i", last), ("j", j), ("k", k))
            }
            form = _ALONG[name][span.source.is_python]
            written = form.format(last, J=j, K=k, **{f"x{at}": read for at, read in reads.items()})
            if "{xi}" in form:
                return f"write it out: `{written}`"
            # Nothing is read at the last index any more.
            size = phrases.size(tensor, len(others), span).strip("`")
            return f"write it out: `{written}` with {phrases.ranged(last, 0, size, span)}"
        case _:
            return ""


def _fresh(taken: set[str]) -> Iterator[str]:
    yield from (letter for letter in "jklmnpqrst" if letter not in taken)


def _both(tc: str, python: str | None = None) -> _Written:
    return tc, python or tc


_OF_VALUES: Final[dict[tuple[str, int], _Written]] = {
    ("maximum", 2): _both("max({0}, {1})"),
    ("minimum", 2): _both("min({0}, {1})"),
    ("clip", 3): _both("min(max({0}, {1}), {2})"),
    ("clamp", 3): _both("min(max({0}, {1}), {2})"),
    ("square", 1): _both("pow({0}, 2)", "({0}) ** 2"),
    ("power", 2): _both("pow({0}, {1})", "({0}) ** ({1})"),
    ("ln", 1): _both("log({0})"),
    ("len", 1): _both("{0}.0", "{0}.shape[0]"),
    ("where", 3): _both("({0} ? {1} : {2})", "({1} if {0} else {2})"),
}

# `xi` is the given read, `xj` and `xk` the same at other indices.
_ALONG: Final[dict[str, _Written]] = {
    "softmax": _both("exp({xi} - max[{J}]({xj})) / sum[{J}](exp({xj} - max[{K}]({xk})))"),
    "log_softmax": _both("{xi} - logsumexp[{J}]({xj})"),
    "cumsum": _both("sum[{J} where {J} <= {0}]({xj})", "sum[{J}, {J} <= {0}]({xj})"),
    "cumprod": _both("prod[{J} where {J} <= {0}]({xj})", "prod[{J}, {J} <= {0}]({xj})"),
    "cummax": _both("max[{J} where {J} <= {0}]({xj})", "max[{J}, {J} <= {0}]({xj})"),
}


def _out(tc: str, python: str | None = None) -> _Written:
    return f"write it out: `{tc}`", f"write it out: `{python or tc}`"


_SOFTMAX: Final = _out(
    "exp(x(i, k) - max[l](x(i, l))) / sum[j](exp(x(i, j) - max[l](x(i, l))))",
    "exp(x[i, k] - max[l](x[i, l])) / sum[j](exp(x[i, j] - max[l](x[i, l])))",
)
_RUNNING: Final = _out("sum[s where s <= t](x(s))", "sum[s, s <= t](x[s])")
_PRODUCT: Final = _out("sum[k](A(i, k) * B(k, j))", "sum[k](A[i, k] * B[k, j])")
_NORM: Final = _out("sqrt(sum[d](v(i, d) * v(i, d)))", "sqrt(sum[d](v[i, d] * v[i, d]))")
_LARGEST: Final = _both(
    "the r-th largest, counted from 0, is `maxk[k](A(i, k), r)`, the r-th smallest `mink[k](A(i, k), r)`",
    "the r-th largest, counted from 0, is `maxk[k](A[i, k], r)`, the r-th smallest `mink[k](A[i, k], r)`",
)
_POSITIONS: Final = _both(
    "the position of the r-th smallest is `argmink[k](A(i, k), r)`",
    "the position of the r-th smallest is `argmink[k](A[i, k], r)`",
)
_SIZES: Final = _both("the size of dimension 0 of `A` is `A.0`", "the size of dimension 0 of `A` is `A.shape[0]`")
_WRAP: Final = _both("to go around, read `x(wrap(i + 1))`", "to go around, read `x[wrap(i + 1)]`")
_CLAMP: Final = _both("to repeat the edge, read `x(clamp(i + 1))`", "to repeat the edge, read `x[clamp(i + 1)]`")
_CHOICE: Final = _both("write a choice as `c ? a : b`", "write a choice as `a if c else b`")
_GENERAL: Final[dict[str, _Written]] = {
    "softmax": _SOFTMAX,
    "log_softmax": _out("x(i, k) - logsumexp[j](x(i, j))", "x[i, k] - logsumexp[j](x[i, j])"),
    "cumsum": _RUNNING,
    "cumprod": _out("prod[s where s <= t](x(s))", "prod[s, s <= t](x[s])"),
    "cummax": _out("max[s where s <= t](x(s))", "max[s, s <= t](x[s])"),
    "dot": _PRODUCT,
    "matmul": _PRODUCT,
    "einsum": _PRODUCT,
    "norm": _NORM,
    "topk": _LARGEST,
    "top_k": _LARGEST,
    "sort": _LARGEST,
    "argsort": _POSITIONS,
    "len": _SIZES,
    "shape": _SIZES,
    "size": _SIZES,
    "where": _CHOICE,
    "maximum": _both(
        "write `max(a, b)` for two values, `max[k](A(i, k))` for the largest along an index",
        "write `max(a, b)` for two values, `max[k](A[i, k])` for the largest along an index",
    ),
    "minimum": _both(
        "write `min(a, b)` for two values, `min[k](A(i, k))` for the smallest along an index",
        "write `min(a, b)` for two values, `min[k](A[i, k])` for the smallest along an index",
    ),
    "clip": _out("min(max(x, lo), hi)"),
    "clamp": _both(
        "write it out: `min(max(x, lo), hi)`; around all of a subscript, `y(i) = x(clamp(i - 1)) where i in 0:x.0`",
        "write it out: `min(max(x, lo), hi)`; around all of a subscript, `x[clamp(i - 1)]`",
    ),
    "average": _out("mean[k](A(i, k))", "mean[k](A[i, k])"),
    "periodic": _WRAP,
    "circular": _WRAP,
    "edge": _CLAMP,
    "replicate": _CLAMP,
    "square": _out("x * x"),
    "power": _out("pow(a, b)", "a ** b"),
    "ln": _out("log(x)"),
}

_PI: Final = "write the number, `3.141592653589793`; `sinpi(x)` and `cospi(x)` include it"
_CONSTANTS: Final = {
    "infinity": "write `inf`",
    "end": "write the last position with the name of the tensor, `A.0 - 1`",
    "pi": _PI,
    "m_pi": _PI,
    "true": "write a condition that holds, `0 == 0`",
    "false": "write a condition that does not hold, `0 == 1`",
}
