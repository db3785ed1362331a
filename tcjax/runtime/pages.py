"""A kernel's display in a notebook."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, Final

from .. import planning, ranges
from ..diagnostics import Code, CompileError, phrases
from ..symbolic import Affine, IndexVar
from . import pipeline
from .frontends import Frontend
from .writing import written

if TYPE_CHECKING:
    from ..display import Kind, Mesh, Picture
    from ..markup import Plane


def kernel_page(frontend: Frontend) -> str:
    """HTML: formula and ranges if the text alone determines the program, else the text."""
    from ..display import show_kernel

    function = frontend.likely
    if function is not None:
        try:
            return show_kernel(frontend.name, frontend.text(), pipeline.infer(frontend, function))
        except (CompileError, RecursionError):
            # Displaying a kernel never raises: a call will report the error.
            pass
    return show_kernel(frontend.name, frontend.text(), None)


def kernel_formula(frontend: Frontend) -> str | None:
    """LaTeX for notebooks converted to documents; None if only arguments determine the program."""
    try:
        return f"$\\displaystyle {written(frontend, 'latex', None)}$"
    except CompileError:
        return None


def kernel_picture(
    frontend: Frontend,
    plan: planning.Plan,
    kind: str | None,
    values: Mapping[str, Any],
    initial: Mapping[str, Any],
    mesh: "Mesh | None",
) -> "Picture":
    """The pictures of a plan, all or those of one kind; `values` are the arguments that are arrays, not only shapes.

    `initial` are the initial values that the call passes; None for one that is only a shape.

    Raises `CompileError` (TC0308) for an unknown kind of picture, and for one that the plan does not have.
    """
    from ..display import KINDS, Subject, draw

    kinds = tuple(each for each in KINDS if kind in (None, each.name))
    if not kinds:
        raise _bad_kind(f"kind={phrases.value(kind)} is no kind of picture", KINDS)
    with frontend.within_depth():
        compute = partial(_computed, frontend.options.fns, initial)
        subject = Subject(plan, _needed(frontend, plan), values, _value_of, compute, mesh)
        picture = draw(subject, kinds)
        if kind is not None and not picture.statements:
            others = [each for each in KINDS if draw(subject, (each,)).statements]
            message = f"`{frontend.name}` has no picture of the kind {phrases.value(kind)}: {kinds[0].help(subject)}"
            raise _bad_kind(message, others)
        return picture


def _value_of(end: Affine, bound: ranges.Bound, point: Mapping[IndexVar, int], values: Mapping[str, Any]) -> int:
    """The end of a range at a point, as the interpreter has it."""
    # SciPy's special functions take longer to import than everything else: only who draws data waits for them.
    from ..interpreter import value_of

    return value_of(end, bound, point, values)


# Points that the interpreter computes for a picture, about a second.
_MOST_POINTS: Final = 100_000


def _computed(
    fns: Mapping[str, Callable[..., Any]],
    initial: Mapping[str, Any],
    bound: ranges.Bound,
    number: int,
    values: Mapping[str, Any],
) -> Mapping[str, Any]:
    """The tensors before a statement; only `values` where some argument is not known, or where they take long."""
    function = bound.function
    points = sum(prod(hi - lo for lo, hi in box.values()) for box in bound.boxes[:number])
    begun = {tensor.name: initial[tensor.name] for tensor in function.initial if tensor.name in initial}
    is_known = all(tensor.name in values for tensor in function.parameters) and all(
        value is not None for value in begun.values()
    )
    if not is_known or points > _MOST_POINTS or any(called < number for called in bound.calls):
        return values
    from ..interpreter import states

    return next(islice(states(bound, values, begun, fns), number, None))


def _bad_kind(message: str, kinds: "Iterable[Kind]") -> CompileError:
    told = "; ".join(f"{phrases.value(each.name)}, {each.shows}" for each in kinds)
    return CompileError(Code.BAD_OPTION, message, help=f"it can draw {told}" if told else "nothing of it can be drawn")


def _needed(frontend: Frontend, plan: planning.Plan) -> "dict[str, Plane]":
    """What one tile of a schedule needs, by name."""
    schedule = frontend.options.schedule
    if schedule is None:
        return {}
    from ..planning.schedule.pictures import draw as draw_tiles

    drawings = draw_tiles(schedule.on(plan.bound.function).checked(), plan.bound).drawings
    return {drawing.stage: drawing.plane() for drawing in drawings}
