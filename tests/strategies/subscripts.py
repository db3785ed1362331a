"""Random subscripts, each with the least and the greatest value that it takes."""

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

# Half-open ranges of the indices that are in scope.
Box = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Subscript:
    """An integer expression and its least and greatest value over the box."""

    text: str
    lo: int
    hi: int

    def plus(self, offset: int) -> "Subscript":
        if offset == 0:
            return self
        return Subscript(f"{self.text} {'+' if offset > 0 else '-'} {abs(offset)}", self.lo + offset, self.hi + offset)


def ends(box: Box, index: str) -> tuple[int, int]:
    """The least and the greatest value of an index; of an empty range, its start."""
    lo, hi = box[index]
    return lo, max(lo, hi - 1)


def affine(terms: list[tuple[int, str]], box: Box) -> Subscript:
    """The sum of `weight * index`."""
    text, lo, hi = "", 0, 0
    for weight, index in terms:
        sign = (" - " if text else "-") if weight < 0 else (" + " if text else "")
        text += f"{sign}{index if abs(weight) == 1 else f'{abs(weight)} * {index}'}"
        values = [weight * end for end in ends(box, index)]
        lo, hi = lo + min(values), hi + max(values)
    return Subscript(text, lo, hi)


@st.composite
def subscripts(draw: st.DrawFn, box: Box) -> Subscript:
    """An affine subscript, a floor, a remainder or a clamp of the box's indices; a constant where there is none."""
    names = sorted(box)
    if not names:
        return _constant(draw(st.integers(0, 3)))
    i = draw(st.sampled_from(names))
    j = draw(st.sampled_from(names))
    form = draw(st.sampled_from(FORMS))
    if i == j and form in TWO:
        form = "bare"
    match form:
        case "bare":
            return affine([(1, i)], box)
        case "offset":
            return affine([(1, i)], box).plus(draw(st.integers(-2, 3)))
        case "strided":
            return affine([(draw(st.sampled_from((2, 3))), i)], box).plus(draw(st.integers(0, 1)))
        case "reversed":
            return affine([(-1, i)], box)
        case "window":
            return affine([(1, i), (1, j)], box)
        case "strided window":
            return affine([(2, i), (draw(st.sampled_from((1, 2, -1))), j)], box)
        case "difference":
            return affine([(1, i), (-1, j)], box)
        case "radix":
            lo, hi = box[j]
            return affine([(max(1, hi - lo), i), (1, j)], box)
        case "floor":
            inner = draw(st.sampled_from((affine([(1, i)], box), affine([(1, i), (1, j)], box))))
            by = draw(st.sampled_from((2, 3)))
            return Subscript(f"({inner.text}) / {by}", inner.lo // by, inner.hi // by)
        case "remainder":
            by = draw(st.sampled_from((2, 3, 4)))
            return Subscript(f"({affine([(1, i)], box).plus(draw(st.integers(0, 1))).text}) % {by}", 0, by - 1)
        case "clamp":
            inner = affine([(1, i)], box).plus(draw(st.integers(-1, 1)))
            lo, hi = draw(st.integers(0, 1)), draw(st.integers(1, 4))
            return Subscript(f"min(max({inner.text}, {lo}), {hi})", lo, hi)
        case "rotation":
            lo, hi = box[i]
            by = max(1, hi - lo + draw(st.sampled_from((0, 0, 0, 1))))
            turned = affine([(draw(st.sampled_from((1, -1))), i)], box).plus(draw(st.integers(-9, 9)))
            return Subscript(f"({turned.text}) % {by}", 0, by - 1)
        case "circle":
            by = draw(st.sampled_from((3, 4, 5)))
            return Subscript(f"({affine([(1, i), (draw(st.sampled_from((1, -1))), j)], box).text}) % {by}", 0, by - 1)
        case "digit":
            inner = affine([(draw(st.sampled_from((1, 1, 2))), i)], box).plus(draw(st.integers(0, 2)))
            low, by = draw(st.sampled_from((2, 3))), draw(st.sampled_from((2, 3)))
            return Subscript(f"({inner.text}) / {low} % {by}", 0, by - 1)
        case "row":
            width, by = draw(st.sampled_from((4, 6))), draw(st.sampled_from((2, 3, 4)))
            whole = affine([(width, i), (1, j)], box)
            if draw(st.booleans()):
                return Subscript(f"({whole.text}) % {by}", 0, by - 1)
            return Subscript(f"({whole.text}) / {by}", whole.lo // by, whole.hi // by)
        case "edge":
            inner = affine([(1, i), (1, j)], box).plus(draw(st.integers(-2, 1)))
            hi = draw(st.integers(0, 4))
            return Subscript(f"max(min({inner.text}, {hi}), 0)", 0, hi)
        case "boundary":
            terms = [(draw(st.sampled_from((1, 1, -1, 2))), i)] + ([(1, j)] if i != j and draw(st.booleans()) else [])
            inner = affine(terms, box).plus(draw(st.integers(-4, 4)))
            kind = draw(st.sampled_from(("clamp", "wrap", "mirror", "reflect")))
            return Subscript(f"{kind}({inner.text})", 0, draw(st.integers(0, 4)))
        case "block":
            by = draw(st.sampled_from((2, 3)))
            inner = affine([(1, i)], box)
            whole = inner.lo // by * by, inner.hi // by * by + by - 1
            return Subscript(f"{i} / {by} * {by} + ({i} + {draw(st.integers(0, 2))}) % {by}", *whole)
        case _:
            return _constant(draw(st.integers(0, 3)))


FORMS = (
    *("bare",) * 8,
    *("offset",) * 2,
    *("strided",) * 2,
    *("reversed",) * 2,
    *("window",) * 3,
    *("strided window",) * 2,
    *("difference", "radix", "radix", "floor", "remainder", "clamp", "constant"),
    *("rotation", "circle", "digit", "row", "edge", "block"),
    *("boundary",) * 2,
)
TWO = ("window", "strided window", "difference", "radix", "circle", "row", "edge")


def _constant(value: int) -> Subscript:
    return Subscript(str(value), value, value)
