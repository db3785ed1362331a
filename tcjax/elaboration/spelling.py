"""Words for messages: the name that a writer probably meant, and how many there are."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from ..diagnostics import Span


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that is spelt most like `name`, None if none is close."""
    # Matching takes time quadratic in the length, and nobody misspells a name of a hundred letters.
    if len(name) > 60:
        return None
    known = dict.fromkeys(c for c in candidates if c != name and len(c) <= 60)
    found = get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else None


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str) -> str:
    """A help text: the closest candidate if there is one, and what to write otherwise."""
    known = list(candidates)
    candidate = closest(name, known) or next((c for c in known if c != name and c.lower() == name.lower()), None)
    return otherwise if candidate is None else f"did you mean `{candidate}`? Otherwise {otherwise}"


def elsewhere(name: str, span: Span) -> str:
    """How to write what NumPy and others have a function for, and index notation writes out; else nothing."""
    tc, python = _ELSEWHERE.get(name, ("", ""))
    return python if span.source.is_python else tc


def _written(tc: str, python: str | None = None) -> tuple[str, str]:
    """The help in TC's notation and in Python's, which differ by their brackets."""
    return f"write it out: `{tc}`", f"write it out: `{python or tc}`"


_SOFTMAX: Final = _written(
    "exp(x(i, k) - max[l](x(i, l))) / sum[j](exp(x(i, j) - max[l](x(i, l))))",
    "exp(x[i, k] - max[l](x[i, l])) / sum[j](exp(x[i, j] - max[l](x[i, l])))",
)
_PRODUCT: Final = _written("sum[k](A(i, k) * B(k, j))", "sum[k](A[i, k] * B[k, j])")
_NORM: Final = _written("sqrt(sum[d](v(i, d) * v(i, d)))", "sqrt(sum[d](v[i, d] * v[i, d]))")
_LARGEST: Final = (
    "the r-th largest, counted from 0, is `maxk[k](A(i, k), r)`, the r-th smallest `mink[k](A(i, k), r)`",
    "the r-th largest, counted from 0, is `maxk[k](A[i, k], r)`, the r-th smallest `mink[k](A[i, k], r)`",
)
_POSITIONS: Final = (
    "the position of the r-th smallest is `argmink[k](A(i, k), r)`",
    "the position of the r-th smallest is `argmink[k](A[i, k], r)`",
)
_SIZES: Final = ("the size of dimension 0 of `A` is `A.0`", "the size of dimension 0 of `A` is `A.shape[0]`")
_CHOICE: Final = ("write a choice as `c ? a : b`", "write a choice as `a if c else b`")
_ELSEWHERE: Final[dict[str, tuple[str, str]]] = {
    "softmax": _SOFTMAX,
    "cumsum": _written("sum[s where s <= t](x(s))", "sum[s, s <= t](x[s])"),
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
    "maximum": _written("max(a, b)"),
    "minimum": _written("min(a, b)"),
    "clip": _written("min(max(x, lo), hi)"),
    "average": _written("mean[k](e)"),
    "square": _written("x * x"),
    "power": _written("pow(a, b)", "a ** b"),
    "ln": _written("log(x)"),
}


def counted(number: int, noun: str) -> str:
    """``1 dimension``, ``2 dimensions``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
