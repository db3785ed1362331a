"""What help tells to write, in the notation of the text that it is about: TC, or Python's subscripts."""

from collections.abc import Sequence
from typing import Any

from .source import Span


def ranged(index: Any, lo: Any, hi: Any, span: Span) -> str:
    """A range: ``where i in 0:N``, or the head of a loop."""
    return f"`for {index} in range({lo}, {hi}):`" if span.source.is_python else f"`where {index} in {lo}:{hi}`"


def guarded(condition: str, span: Span) -> str:
    """A guard of a statement: ``where i < N``, or the head of an ``if``."""
    return f"`if {_pythonic(condition)}:`" if span.source.is_python else f"`where {condition}`"


def chosen(condition: str, tensor: str, indices: Sequence[Any], span: Span) -> str:
    """A read under a condition, and 0 where it does not hold."""
    read = element(tensor, indices, span)
    return f"`{read} if {_pythonic(condition)} else 0`" if span.source.is_python else f"`{condition} ? {read} : 0`"


def element(tensor: str, indices: Sequence[Any], span: Span) -> str:
    """``A(i, j)`` or ``A[i, j]``, without quotes; a scalar is its name."""
    subscripts = ", ".join(map(str, indices))
    if not indices:
        return tensor
    return f"{tensor}[{subscripts}]" if span.source.is_python else f"{tensor}({subscripts})"


def reductions(tensor: str, indices: Sequence[Any], span: Span) -> str:
    """How a statement combines values: a sum, a maximum."""
    left = element(tensor, indices, span)
    return f'`{left} += ...`, `{left}: "max=!" = ...`' if span.source.is_python else f"`{left} +=! ...`, `max=!`"


def typed(scalar: str, sizes: Sequence[str], tensor: str, span: Span) -> str:
    """The declaration of a parameter."""
    type = f"{scalar}({','.join(sizes)})"
    return f'`{tensor}: "{type}"`' if span.source.is_python else f"`{type} {tensor}`"


def returned(scalar: str, sizes: Sequence[str], tensor: str, span: Span) -> str:
    """The type of an output."""
    type = f"{scalar}({', '.join(sizes)})"
    return f'`-> "{type}"`' if span.source.is_python else f"`-> ({type} {tensor})`"


def extent(tensor: str, span: Span) -> str:
    """The first size of a tensor whose sizes have no names."""
    return f"`{tensor}.shape[0]`" if span.source.is_python else f"`{tensor}.0`"


def power(span: Span) -> str:
    """A power."""
    return "`a ** b`" if span.source.is_python else "`pow(a, b)`"


def recurrence(span: Span) -> str:
    """What there is instead of a statement that needs its own earlier values."""
    running = "sum[s, s <= t](x[s])" if span.source.is_python else "sum[s where s <= t](x(s))"
    return f"no statement reads its own earlier elements: a running sum is `{running}`, other steps are `jax.lax.scan`"


def _pythonic(condition: str) -> str:
    return condition.replace("&&", "and").replace("||", "or")
