"""Random kernels of two to four stages, with subscripts and guards of every kind.

They are made from the last stage backwards: subscripts are made first and visited, and the extents of what they read
follow. So every kernel is valid, however odd its subscripts are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

_NAMES = ("B", "C", "D", "E")
_LETTERS = ("ab", "ij", "uv", "xy")
# Subscripts that are data: a vector of integers, read at remainders.
_DATA = 8


@dataclass(frozen=True, slots=True)
class _Index:
    """An index variable and its half-open range."""

    name: str
    lo: int
    hi: int


@dataclass(slots=True)
class _Tensor:
    """A stage's tensor: where it begins, and how far it has been read, per dimension."""

    name: str
    letters: str
    origin: tuple[int, ...]
    reach: list[int] = field(default_factory=list)


def random_kernel(rng: Random) -> tuple[str, str]:
    """The text of a kernel and its arguments."""
    count = rng.choice((2, 2, 2, 3, 3, 4))
    same = rng.random() < 0.2
    names = zip(_NAMES[-count:], _LETTERS[-count:], strict=True)
    tensors = [_tensor(rng, name, "ij" if same else letters) for name, letters in names]
    source = _Tensor("A", "", (0,) * len(tensors[0].origin))
    statements = [_statement(rng, [source, *tensors[:number]], tensors[number]) for number in reversed(range(count))]
    outputs = [tensors[-1].name]
    if count > 2 and rng.random() < 0.1:
        outputs.insert(0, tensors[-2].name)
    sizes = ",".join(f"N{number}" for number in range(len(source.origin)))
    body = "\n".join(f"  {statement}" for statement in reversed(statements))
    text = f"def f(float({sizes}) A, int32(NK) K) -> ({', '.join(outputs)}) {{\n{body}\n}}"
    return text, f"{','.join(map(str, source.reach))} int32:{_DATA}"


def _tensor(rng: Random, name: str, letters: str) -> _Tensor:
    rank = rng.choice((1, 1, 2))
    letters = letters[::-1] if rng.random() < 0.2 else letters
    return _Tensor(name, letters[:rank], tuple(rng.choice((0, 0, 0, 0, 2, -3)) for _ in range(rank)))


def _statement(rng: Random, before: Sequence[_Tensor], target: _Tensor) -> str:
    if not target.reach:
        target.reach = [rng.randint(1, 8) for _ in target.origin]
    elif rng.random() < 0.3:
        # More than is read.
        target.reach = [extent + rng.choice((0, 2)) for extent in target.reach]
    indices = [
        _Index(letter, origin, origin + extent)
        for letter, origin, extent in zip(target.letters, target.origin, target.reach, strict=True)
    ]
    reduction = [_Index(target.letters + "r", rng.choice((0, 0, 1)), 4)] if rng.random() < 0.35 else []
    everything = [*indices, *reduction]
    if len(before) == 1:
        # The first stage reads the argument as it is, so that its size follows.
        before[0].reach = target.reach
        inside = (f"{index.name} - {index.lo}".replace("- -", "+ ") for index in indices)
        terms = [f"A({', '.join(inside)})"]
    else:
        also = [tensor for tensor in before[1:-1] if rng.random() < 0.4]
        terms = [_term(rng, t, everything) for t in (*also, before[-1]) for _ in range(rng.choice((1, 1, 2)))]
    # A product: every term of a sum over an index must mention the index.
    value = " * ".join([*terms, reduction[0].name]) if reduction else " + ".join(terms)
    clauses = [f"{index.name} in {index.lo}:{index.hi}" for index in everything]
    if reduction and rng.random() < 0.4:
        clauses.append(_guard(rng, everything))
    left = ",".join(index.name for index in indices)
    return f"{target.name}({left}) {'+=!' if reduction else '='} {value} where {', '.join(clauses)}"


def _term(rng: Random, tensor: _Tensor, indices: Sequence[_Index]) -> str:
    if rng.random() < 0.15:
        inner = _Index("q", 0, rng.randint(1, 4))
        guard = f" where q <= {rng.choice(indices).name}" if rng.random() < 0.3 else ""
        return f"sum[q in 0:{inner.hi}{guard}]({_read(rng, tensor, [*indices, inner])} * q)"
    return _read(rng, tensor, indices)


def _read(rng: Random, tensor: _Tensor, indices: Sequence[_Index]) -> str:
    points = [
        dict(zip((index.name for index in indices), point, strict=True))
        for point in product(*(range(index.lo, index.hi) for index in indices))
    ]
    texts, reach = [], []
    for origin in tensor.origin:
        if rng.random() < 0.06:
            texts.append(f"K({rng.choice(indices).name} % {_DATA})")
            reach.append(rng.randint(1, 6))
            continue
        text = _subscript(rng, indices)
        values = [_value(text, point) for point in points]
        shift = origin + rng.choice((0, 0, 1)) - min(values)
        texts.append(text if not shift else f"{text} {'+' if shift > 0 else '-'} {abs(shift)}")
        reach.append(max(values) + shift + 1 - origin)
    tensor.reach = [max(a, b) for a, b in zip(tensor.reach or reach, reach, strict=True)]
    read = f"{tensor.name}({', '.join(texts)})"
    if rng.random() < 0.25:
        other = "0.0" if rng.random() < 0.7 else "1.0"
        sides = (read, other) if rng.random() < 0.7 else (other, read)
        return f"({_guard(rng, indices)} ? {sides[0]} : {sides[1]})"
    return read


def _subscript(rng: Random, indices: Sequence[_Index]) -> str:
    one, other = rng.choice(indices).name, rng.choice(indices).name
    number = rng.randint(2, 5)
    match rng.randrange(15):
        case 0 | 1 | 2 | 3:
            return one
        case 4 | 5:
            return f"{one} + {other}" if other != one else f"{number}*{one}"
        case 6:
            return f"{number}*{one}"
        case 7:
            return f"{number}*{one} + {other}" if other != one else f"-{one}"
        case 8:
            return f"-{one}"
        case 9:
            return f"{one}/{number}"
        case 10:
            return f"{one} % {number}"
        case 11:
            return f"({one} + {number}) % {number + 2}"
        case 12:
            return f"min({one}, {number})" if other == one else f"max({one}, {other})"
        case 13:
            return f"{one}/2 + {one} % 2" if other == one else f"({one} + {other})/{number}"
        case _:
            return f"{one} - {other}" if other != one else f"({number}*{one})/2"


def _guard(rng: Random, indices: Sequence[_Index], depth: int = 0) -> str:
    if depth < 2 and rng.random() < 0.2:
        left, right = _guard(rng, indices, depth + 1), _guard(rng, indices, depth + 1)
        return rng.choice((f"({left} && {right})", f"({left} || {right})", f"!({left})"))
    one, other = rng.choice(indices), rng.choice(indices)
    operator = rng.choice(("<", "<=", ">", ">=", "==", "!="))
    match rng.randrange(10):
        case 0 | 1:
            return f"{one.name} % 2 == {rng.randrange(2)}"
        case 2:
            return f"K({one.name} % {_DATA}) > 0"
        case 3:
            return f"{one.name}/2 {operator} {rng.randint(0, 2)}"
        case _ if other.name != one.name:
            return f"{one.name} {operator} {other.name}"
        case _:
            return f"{one.name} {operator} {rng.randint(one.lo, max(one.lo, one.hi - 1))}"


def _value(text: str, point: dict[str, int]) -> int:
    # TC writes floor division as `/`.
    return int(eval(text.replace("/", "//"), {"min": min, "max": max}, dict(point)))
