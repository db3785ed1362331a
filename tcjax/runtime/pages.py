"""What a notebook shows of a kernel."""

from typing import TYPE_CHECKING

from .. import planning
from ..diagnostics import CompileError
from . import pipeline
from .frontends import Frontend
from .writing import written

if TYPE_CHECKING:
    from ..display import Picture


def kernel_page(frontend: Frontend) -> str:
    """HTML: formula and ranges where the text alone says what the program is, else the text."""
    from ..display import show_kernel

    function = frontend.likely
    if function is not None:
        try:
            return show_kernel(frontend.name, frontend.text(), pipeline.infer(frontend, function))
        except (CompileError, RecursionError):
            # Showing a kernel raises nothing: a call will say what is wrong.
            pass
    return show_kernel(frontend.name, frontend.text(), None)


def kernel_formula(frontend: Frontend) -> str | None:
    """LaTeX for notebooks that become documents; None where only arguments tell what the program is."""
    try:
        return f"$\\displaystyle {written(frontend, 'latex', None)}$"
    except CompileError:
        return None


def kernel_picture(frontend: Frontend, plan: planning.Plan) -> "Picture":
    """The pictures of a plan, with what one tile needs where the kernel has a schedule."""
    from ..display import draw

    schedule = frontend.options.schedule
    if schedule is None:
        with frontend.within_depth():
            return draw(plan)
    from ..planning.schedule.pictures import draw as draw_tiles

    drawings = draw_tiles(schedule.on(plan.bound.function).checked(), plan.bound).drawings
    return draw(plan, {drawing.stage: drawing.plane() for drawing in drawings})
