"""The parts of messages that quote or suggest code, in the notation of the text: TC, Python or SaC."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .source import Span


def ranged(index: Any, lo: Any, hi: Any, span: Span) -> str:
    """A range: ``where i in 0:N``, or the head of a loop."""
    if span.source.is_python:
        return f"`for {index} in range({_pythonic(lo)}, {_pythonic(hi)}):`"
    return f"`where {index} in {lo}:{hi}`"


def all_ranged(ranges: Sequence[tuple[Any, Any, Any]], span: Span) -> str:
    """Several ranges: ``where i in 0:M, j in 0:N``, or the heads of loops."""
    if span.source.is_python:
        return " and ".join(ranged(*each, span) for each in ranges)
    return f"`where {', '.join(f'{index} in {lo}:{hi}' for index, lo, hi in ranges)}`"


def letters(rank: int) -> list[str]:
    """Names for the sizes of a tensor."""
    return ["MNKLPQ"[dimension % 6] for dimension in range(rank)]


def limits(index: Any, lo: Any, hi: Any, span: Span) -> str:
    """A range as written in a text: ``i in 0:N`` or ``i in range(0, N)``."""
    if span.source.is_python:
        return f"`{index} in range({_pythonic(lo)}, {_pythonic(hi)})`"
    return f"`{index} in {lo}:{hi}`"


def guarded(condition: str, span: Span) -> str:
    """A guard of a statement: ``where i < N``, or the head of an ``if``."""
    return f"`if {_pythonic(condition)}:`" if span.source.is_python else f"`where {condition}`"


def promised(subscript: Any, span: Span) -> str:
    """The promise that a subscript differs at every point."""
    return f"`with unique({subscript}):`" if span.source.is_python else f"`where unique {_in_tc(subscript)}`"


def chosen(condition: str, tensor: str, indices: Sequence[Any], span: Span, zero: str = "0") -> str:
    """A read under a condition, and 0 where it does not hold; in parentheses, so that it can go anywhere."""
    read = element(tensor, indices, span)
    if span.source.is_python:
        return f"`({read} if {_pythonic(condition)} else {zero})`"
    return f"`({condition} ? {read} : {zero})`"


def element(tensor: str, indices: Sequence[Any], span: Span) -> str:
    """``A(i, j)`` or ``A[i, j]``, without quotes; a scalar is its name."""
    subscripts = ", ".join(map(str, indices))
    if not indices:
        return tensor
    brackets = span.source.is_python or span.source.is_sac
    return f"{tensor}[{subscripts}]" if brackets else f"{tensor}({subscripts})"


def reductions(tensor: str, indices: Sequence[Any], span: Span) -> str:
    """How a statement combines values: a sum, a maximum."""
    left = element(tensor, indices, span)
    return f'`{left} += ...`, `{left}: "max=!" = ...`' if span.source.is_python else f"`{left} +=! ...`, `max=!`"


def scalar(dtype: str) -> str:
    """An element type as declarations write it."""
    return {"float32": "float", "float64": "double"}.get(dtype, dtype)


def typed(scalar: str, sizes: Sequence[str], tensor: str, span: Span) -> str:
    """The declaration of a parameter."""
    if span.source.is_sac:
        return f"`{scalar}[{','.join(sizes)}] {tensor}`"
    type = f"{scalar}({','.join(sizes)})" if sizes else scalar
    return f'`{tensor}: "{type}"`' if span.source.is_python else f"`{type} {tensor}`"


def returned(scalar: str, sizes: Sequence[str], tensor: str, span: Span) -> str:
    """The type of an output."""
    type = f"{scalar}({', '.join(sizes)})"
    return f'`-> "{type}"`' if span.source.is_python else f"`-> ({type} {tensor})`"


def power(span: Span) -> str:
    """A power."""
    return "`a ** b`" if span.source.is_python else "`pow(a, b)`"


def recurrence(span: Span) -> str:
    """What to write instead of a statement that needs its own earlier values."""
    return f"only the steps of a loop read what earlier ones wrote: {steps(span)}"


def steps(span: Span) -> str:
    """How to write steps that each need the one before."""
    if span.source.is_python:
        return "a running sum is `sum[s, s <= t](x[s])`; write other steps as `for t in range(1, T):`"
    return "a running sum is `sum[s where s <= t](x(s))`; write other steps as `for t in 1:T { y(t) = y(t-1) * x(t) }`"


def stepped(index: Any, lo: Any, hi: Any, step: int, body: str, span: Span) -> str:
    """A loop around a statement."""
    if span.source.is_python:
        third = "" if step == 1 else f", {step}"
        return f"`for {index} in range({_pythonic(lo)}, {_pythonic(hi)}{third}):`"
    return f"`for {index} in {lo}:{hi}{'' if step == 1 else f':{step}'} {{ {body} }}`"


def operator(sign: str, span: Span) -> str:
    """An operator: ``&&`` or ``and``."""
    return f"`{_WORDS.get(sign, sign)}`" if span.source.is_python else f"`{sign}`"


def written(span: Span, otherwise: str) -> str:
    """What was written there, in parentheses if it is more than one read or call; `otherwise` if it is long."""
    text = span.text.strip()
    if not 0 < len(text) <= 60 or text.count("(") != text.count(")") or text.count("[") != text.count("]"):
        return otherwise
    return text if _PRIMARY.fullmatch(text) else f"({text})"


def update(reducer: str, span: Span) -> str:
    """The operator that starts from the identity: ``max=!``, as written in TC and in Python annotations."""
    return f'`"{reducer}=!"`' if span.source.is_python else f"`{reducer}=!`"


def condition(text: str, span: Span) -> str:
    """A condition, without quotes."""
    return _pythonic(text) if span.source.is_python else text


def choice(span: Span) -> str:
    """The operator that chooses between two values."""
    return "`if`" if span.source.is_python else "`? :`"


def clauses(span: Span) -> str:
    """What a statement's ranges and guards are called."""
    return "the heads of `for` and `if`" if span.source.is_python else "the clauses of `where`"


def size(tensor: str, dimension: int, span: Span) -> str:
    """The size of a dimension: ``A.0`` or ``A.shape[0]``."""
    return f"`{tensor}.shape[{dimension}]`" if span.source.is_python else f"`{tensor}.{dimension}`"


def scalar_value(tensor: str, span: Span) -> str:
    """The value of a tensor without dimensions; its name alone would be an index."""
    return f"`{tensor}[()]`" if span.source.is_python else f"`{tensor}()`"


def only_at(name: str) -> str:
    """How to name one place on the left side by a size or a constant; its name alone would be an index."""
    return f"to write only at the place {name}, write `{name} + 0`"


def value(given: object) -> str:
    """A value passed from Python, as quoted in a message: its `repr`, on one line and cut to sixty characters."""
    try:
        shown = " ".join(repr(given).split())
    except Exception:
        # A number with more digits than Python prints, or an object whose `repr` fails.
        kind = type(given).__name__
        return f"a number of {given.bit_length()} bits" if isinstance(given, int) else f"a {kind}"
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def bytes_text(number: int) -> str:
    """A number of bytes in a suitable unit."""
    return _scaled(number, ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1))


def count_text(number: int) -> str:
    """A number of operations in a suitable unit."""
    return _scaled(number, ("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3), ("", 1)).rstrip()


def time_text(seconds: float) -> str:
    """A time in a suitable unit."""
    return _scaled(seconds, ("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


def _scaled(number: float, *units: tuple[str, float]) -> str:
    """The number in the first unit that it reaches, else the last, with three significant digits and no exponent."""
    unit, size = next((each for each in units if number >= each[1]), units[-1])
    scaled = number / size
    return f"{scaled:.3g} {unit}" if scaled < 999.5 else f"{scaled:.0f} {unit}"


def place_text(described: Mapping[str, Any]) -> str:
    """Where a statement of an explanation is computed: inside which definition, and in which steps."""
    inside = [f"inside {described['inside']}"] if "inside" in described else []
    return ", ".join([*inside, *([f"in each of {described['steps']}"] if "steps" in described else [])])


_WORDS: Final = {"&&": "and", "||": "or", "!": "not"}
_PRIMARY: Final = re.compile(r"[\w.]+|\w+\([^()]*\)|\w+\[[^][]*\]")
_SIZE: Final = re.compile(r"\b([A-Za-z_]\w*)\.(\d+)\b")


def _in_tc(text: Any) -> str:
    return str(text).replace("[", "(").replace("]", ")")


def _pythonic(text: Any) -> str:
    return _SIZE.sub(r"\1.shape[\2]", str(text)).replace("&&", "and").replace("||", "or")
