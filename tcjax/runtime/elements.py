"""Explains one element of a result: which statement wrote it, what it read, and each step of its computation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import interpreter, ir
from ..diagnostics import Code, CompileError, phrases
from ..interpreter import Step, show_value
from ..markup import block, code, details, title
from ..markup.elements import Element as Markup
from ..ranges import Bound

if TYPE_CHECKING:
    from .questions import Questions


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """How one element was computed. `str()` shows it, `to_dict()` gives it as data, `value` is the element."""

    step: Step

    @property
    def value(self) -> Any:
        """The element, a NumPy scalar."""
        return self.step.value

    def text(self, depth: int = 12) -> str:
        """The steps as indented lines, down to `depth` levels."""
        return "\n".join(_lines(self.step, 0, depth))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The steps as plain dicts, lists, strings and numbers."""
        return _plain(self.step)

    def _repr_html_(self) -> str:
        return str(block(title(_headline(self.step)), *_children(self.step)))


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A requested element: call it with a kernel's arguments."""

    kernel: "Questions"
    output: str | None
    position: tuple[int, ...]
    indices: dict[str, int]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Element:
        """The element for these arguments, computed by the interpreter. Raises `CompileError` as a call does."""
        kernel = self.kernel
        bound, arrays, initial = kernel._operands(args, kwargs)
        output = self._output(bound)
        place = self._place(bound, output)
        with kernel._frontend.within_depth():
            return Element(interpreter.trace(bound, arrays, initial, kernel._frontend.options.fns, output, place))

    def _output(self, bound: Bound) -> str:
        names = [tensor.name for tensor in bound.function.returns]
        if self.output in names:
            return self.output
        if self.output is None and len(names) == 1:
            return names[0]
        listed = " or ".join(f'k.at("{name}", ...)' for name in names)
        what = "there are several results" if self.output is None else f"`{self.output}` is not a result"
        raise _missing(bound, f"{what} of `{bound.function.name}`", f"write {listed}")

    def _place(self, bound: Bound, output: str) -> tuple[int, ...]:
        """Where the element is stored. Raises `CompileError` (TC0707) if it does not exist."""
        shape, origin = bound.shapes[output], bound.origins[output]
        if self.indices and self.position:
            raise _missing(bound, "an element is named by indices or by numbers, not by both", "write k.at(i=3, j=2)")
        if not self.indices:
            if len(self.position) != len(shape):
                what = f"`{output}` has {len(shape)} dimensions, and {len(self.position)} numbers were given"
                raise _missing(bound, what, _example(bound, output))
            place = self.position
        else:
            place = tuple(at - o for at, o in zip(self._named(bound, output), origin, strict=True))
        for d, (at, extent) in enumerate(zip(place, shape, strict=True)):
            if not 0 <= at < extent:
                first = origin[d] if self.indices else 0
                shown = ", ".join(
                    phrases.value(p + (o if self.indices else 0)) for p, o in zip(place, origin, strict=True)
                )
                what = f"there is no {output}[{shown}]: dimension {d} runs from {first} to below {first + extent}"
                raise _missing(bound, what, "stay inside")
        return place

    def _named(self, bound: Bound, output: str) -> tuple[int, ...]:
        """The subscripts of the left side at these indices."""
        sides = list(_left_sides(bound, output))
        for subscripts, sizes in sides:
            names = {str(index) for affine in subscripts for index in affine.variables}
            if names == set(self.indices) and not any(affine.is_data for affine in subscripts):
                return tuple(int(a.evaluate(lambda atom: self.indices[str(atom)], sizes)) for a in subscripts)
        known = sorted({str(i) for subscripts, _ in sides for affine in subscripts for i in affine.variables})
        unknown = [name for name in self.indices if name not in known]
        missing = [name for name in known if name not in self.indices]
        what = (
            f"`{unknown[0]}` is not an index of `{output}`"
            if unknown
            else f"nothing says what `{missing[0]}` is"
            if missing
            else "these indices name no element"
        )
        raise _missing(bound, what, _example(bound, output))


def place_of(kernel: "Questions", where: tuple[Any, ...], indices: dict[str, Any]) -> Place:
    """The element requested by ``k.at(*where, **indices)``. Raises `CompileError` for an invalid position."""
    output = where[0] if where and isinstance(where[0], str) else None
    position = where[1:] if output is not None else where
    for value in (*position, *indices.values()):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise CompileError(
                Code.NO_SUCH_ELEMENT,
                f"{phrases.value(value)} is not the position of an element",
                kernel._frontend.span,
                help='write k.at(i=3, j=2), k.at(3, 2), or k.at("C", i=3, j=2), with whole numbers',
            )
    return Place(kernel, output, tuple(map(int, position)), {name: int(value) for name, value in indices.items()})


def _left_sides(bound: Bound, output: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The left sides that write an output, the last one first, including those in calls; each with its sizes."""
    for number in reversed(range(len(bound.function.statements))):
        match bound.function.statements[number]:
            case ir.Define(target, indices) | ir.Accumulate(target, indices) if target.name == output:
                yield indices, bound.sizes
            case ir.Invoke(targets, callee) if output in [t.name for t in targets]:
                result = callee.returns[[t.name for t in targets].index(output)].name
                yield from _left_sides(bound.calls[number], result)
            case _:
                continue


def _example(bound: Bound, output: str) -> str:
    for subscripts, _ in _left_sides(bound, output):
        names = dict.fromkeys(str(i) for affine in subscripts for i in sorted(affine.variables, key=str))
        if names:
            named = ", ".join(f"{name}=0" for name in names)
            return f"write k.at({named}), or k.at({', '.join('0' for _ in bound.shapes[output])}) by position"
    return f"write k.at({', '.join('0' for _ in bound.shapes[output])})"


def _missing(bound: Bound, message: str, help: str) -> CompileError:
    return CompileError(Code.NO_SUCH_ELEMENT, message, bound.function.span, help=help)


# ------------------------------------------------------------ shown


def _headline(step: Step) -> str:
    label = f"{step.label}: " if step.label else ""
    if step.value is None:
        return f"{label}{step.text}"
    note = f"    {step.note}" if step.note else ""
    mark = f"    <-- the {step.begins} appears here" if step.begins else ""
    return f"{label}{step.text} = {show_value(step.value)}{note}{mark}"


def _lines(step: Step, indent: int, depth: int) -> Iterator[str]:
    margin = "  " * indent
    yield margin + _headline(step)
    if depth == 0:
        if step.parts:
            yield f"{margin}  ..."
        return
    if step.statement:
        yield f"{margin}  by {step.statement}"
    for number, part in enumerate(step.parts):
        if step.omitted and number and _skips(step, number):
            yield f"{margin}  ... {step.omitted} more"
        yield from _lines(part, indent + 1, depth - 1)


def _skips(step: Step, number: int) -> bool:
    """Whether points are omitted before this part: after the first ones."""
    return number == min(interpreter.FIRST + (step.parts[0].label == "before"), len(step.parts) - 1)


def _children(step: Step) -> Iterator[Markup]:
    if step.statement:
        yield code(f"by {step.statement}")
    for number, part in enumerate(step.parts):
        if step.omitted and number and _skips(step, number):
            yield code(f"... {step.omitted} more")
        yield details(_headline(part), *_children(part)) if part.parts else code(_headline(part))


def _plain(step: Step) -> dict[str, Any]:
    found: dict[str, Any] = {"text": step.text, "value": None if step.value is None else np.asarray(step.value).item()}
    for name in ("label", "note", "statement", "omitted"):
        if getattr(step, name):
            found[name] = getattr(step, name)
    if step.begins:
        found["begins"] = step.begins
    if step.parts:
        found["parts"] = [_plain(part) for part in step.parts]
    return found
