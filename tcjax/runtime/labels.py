"""The labels in the first argument of `einsum`: one for every dimension of every operand and of the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from ..diagnostics import Code, CompileError, Source, Span, phrases

# The dimensions that `...` stands for, counted from the last one.
Dots = int
Label = str | Dots

_DOTS: Final = "..."


@dataclass(frozen=True, slots=True)
class Labels:
    """One label for each dimension: a letter, or a number for a dimension that an ellipsis stands for."""

    operands: tuple[tuple[Label, ...], ...]
    result: tuple[Label, ...]

    @property
    def reduced(self) -> tuple[Label, ...]:
        """The labels missing from the result, in order of first appearance."""
        every = dict.fromkeys(label for operand in self.operands for label in operand)
        return tuple(label for label in every if label not in self.result)


@dataclass(frozen=True, slots=True)
class _Terms:
    """The labels as written, each an ellipsis or a letter; `result` is None if it is implied."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...] | None
    spans: tuple[Span, ...]


def separate(arguments: Sequence[Any]) -> tuple[list[Any], list[Any] | None, Any]:
    """The operands and label lists of ``(A, [0, 1], B, [1, 2], [0, 2])``, and the result's labels or None."""
    if len(arguments) < 2:
        raise _wrong("an operand is followed by the list of its labels", help="write `einsum(A, [0, 1], B, [1, 2])`")
    paired = len(arguments) // 2 * 2
    result = arguments[-1] if len(arguments) % 2 else None
    return list(arguments[0:paired:2]), list(arguments[1:paired:2]), result


def read_text(text: str, shapes: Sequence[tuple[int, ...]]) -> Labels:
    """The labels of ``"ij,jk->ik"``. Raises `CompileError` for a text or ranks that do not fit."""
    source = Source(text, "<subscripts>")
    left, arrow, right = text.partition("->")
    if "->" in right:
        at = text.rindex("->") + 1
        raise _wrong("a second `->`", Span(1, at, at + 2, source), help="write the labels of the result once")
    operands: list[tuple[str, ...]] = []
    spans: list[Span] = []
    start = 0
    for part in left.split(","):
        operands.append(_letters(part, start, source))
        spans.append(Span(1, start + 1, start + len(part) + 1, source))
        start += len(part) + 1
    begin = len(left) + 2
    result = _letters(right, begin, source) if arrow else None
    spans.append(Span(1, begin + 1, max(begin + 2, len(text) + 1), source) if arrow else Span(1, 1, 2, source))
    return _complete(_Terms(tuple(operands), result, tuple(spans)), shapes)


def read_lists(lists: Sequence[Any], result: Any, shapes: Sequence[tuple[int, ...]]) -> Labels:
    """The labels in lists of hashable and comparable objects. Raises `CompileError` as `read_text` does."""
    given = [_listed(labels) for labels in (*lists, *([] if result is None else [result]))]
    try:
        names = sorted({label for labels in given for label in labels if label is not ...})
        numbers = {label: number for number, label in enumerate(names)}
    except TypeError:
        raise _wrong(
            "labels that cannot be put in order", help="use integers, or texts, and `...` for an ellipsis"
        ) from None
    terms = [tuple(_DOTS if label is ... else _symbol(numbers[label]) for label in labels) for labels in given]
    operands, own = (terms, None) if result is None else (terms[:-1], terms[-1])
    return _complete(_Terms(tuple(operands), own, (Span(),) * (len(lists) + 1)), shapes)


def _symbol(number: int) -> str:
    """A letter for a number, in the order of the implied result: a to z, A to Z, then others."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return letters[number] if number < len(letters) else chr(0x4E00 + number)


def _listed(labels: Any) -> list[Any]:
    try:
        found = list(labels)
        hash(tuple(found))
    except TypeError:
        raise _wrong(
            f"{phrases.value(labels)} is not a list of labels",
            help="write one label for each dimension: `einsum(A, [0, 1])`",
        ) from None
    return found


def _letters(part: str, start: int, source: Source) -> tuple[str, ...]:
    """The labels of one term; spaces are ignored."""
    found: list[str] = []
    position = 0
    while position < len(part):
        character = part[position]
        span = Span(1, start + position + 1, start + position + 2, source)
        if part.startswith(_DOTS, position):
            if _DOTS in found:
                raise _wrong("a second ellipsis in one term", span, help="write `...` once")
            found.append(_DOTS)
            position += 2
        elif character not in ".->" and not character.isspace():
            found.append(character)
        elif not character.isspace():
            raise CompileError(
                Code.UNEXPECTED_CHARACTER,
                f"`{character}` is not a label",
                span,
                help="write one letter for each dimension, `...` for any number of them, `,` and `->`",
            )
        position += 1
    return tuple(found)


def _complete(terms: _Terms, shapes: Sequence[tuple[int, ...]]) -> Labels:
    if len(terms.operands) != len(shapes):
        raise CompileError(
            Code.WRONG_ARGUMENT_COUNT,
            f"the subscripts are for {len(terms.operands)} operands, but got {len(shapes)}",
            terms.spans[0],
            help="write one term for each operand, with `,` between them",
        )
    most = 0
    operands: list[tuple[Label, ...]] = []
    for number, (labels, shape) in enumerate(zip(terms.operands, shapes, strict=True)):
        dotted = len(shape) - (len(labels) - 1) if _DOTS in labels else 0
        if dotted < 0 or (_DOTS not in labels and len(labels) != len(shape)):
            raise CompileError(
                Code.ARGUMENT_RANK,
                f"operand {number} has {len(shape)} dimensions, its subscripts are for "
                f"{'at least ' if _DOTS in labels else ''}{len(labels) - (_DOTS in labels)}",
                terms.spans[number],
                help="write one label for each dimension, or `...` for those that need no name",
            )
        operands.append(_expanded(labels, dotted))
        most = max(most, dotted)
    if terms.result is None:
        seen = [label for labels in terms.operands for label in labels if label != _DOTS]
        once = sorted(label for label in seen if seen.count(label) == 1)
        return Labels(tuple(operands), (*_expanded((_DOTS,), most), *once))
    for label in terms.result:
        if terms.result.count(label) > 1:
            raise _wrong(
                f"`{label}` appears twice in the result", terms.spans[-1], help="give the result every label once"
            )
        if label != _DOTS and not any(label in labels for labels in terms.operands):
            raise CompileError(
                Code.UNBOUND_INDEX,
                f"no operand has the label `{label}` of the result",
                terms.spans[-1],
                help="use the labels of the operands",
            )
    return Labels(tuple(operands), _expanded(terms.result, most))


def _expanded(labels: tuple[str, ...], dotted: int) -> tuple[Label, ...]:
    numbers: list[Label] = list(range(dotted - 1, -1, -1))
    return tuple(part for label in labels for part in (numbers if label == _DOTS else [label]))


def extents(labels: Labels, shapes: Sequence[tuple[int, ...]]) -> dict[Label, int]:
    """The extent of each label. Raises `CompileError` (TC0601) if two dimensions disagree.

    Size 1 is compatible with any other, except on a diagonal.
    """
    found: dict[Label, int] = {}
    for number, (own, shape) in enumerate(zip(labels.operands, shapes, strict=True)):
        diagonal: dict[Label, int] = {}
        for label, extent in zip(own, shape, strict=True):
            before = diagonal.get(label, found.get(label, 1))
            if (extent != 1 and before not in (1, extent)) or diagonal.setdefault(label, extent) != extent:
                shown = f"`{label}`" if isinstance(label, str) else "a dimension of `...`"
                raise CompileError(
                    Code.SIZE_MISMATCH,
                    f"{shown} runs over {before} elements before, and over {extent} in operand {number}",
                    help="give dimensions with the same label the same size, or the size 1",
                )
            found[label] = extent if found.get(label, 1) == 1 else found[label]
    return found


def names(labels: Labels) -> dict[Label, str]:
    """An index variable's name for each label."""
    numbers = count()
    every = (label for own in (*labels.operands, labels.result) for label in own)
    return {label: f"i{next(numbers)}" for label in dict.fromkeys(every)}


def _wrong(message: str, span: Span | None = None, *, help: str) -> CompileError:
    return CompileError(Code.UNEXPECTED_TOKEN, message, span, help=help)
