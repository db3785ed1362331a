"""Pictures of programs: one size and one look, on light and dark pages alike."""

from typing import TYPE_CHECKING, Any, Final

import jax
import numpy as np

from ..diagnostics import Code, CompileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .program import Program

# In inches, at `DOTS` for each: 768 points are as wide as the column of a page.
WIDTH, HEIGHT, DOTS = 6.4, 2.8, 120
# Readable on white and on black.
INK: Final = "#808890"
STYLE: Final[dict[Any, Any]] = {
    "font.size": 8,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 9,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "image.cmap": "viridis",
    "image.interpolation": "nearest",
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
}


def figure(program: "Program") -> "Figure":
    """The picture of a program. Raises `CompileError` (TC0308) where matplotlib is not installed."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CompileError(
            Code.BAD_OPTION,
            "a picture needs matplotlib, which is not installed",
            help='`pip install "tcjax[examples]"`, or leave the picture out',
        ) from error
    arrays = program.arrays("picture")
    results = jax.tree.map(np.asarray, jax.jit(program.function)(*arrays))
    with matplotlib.rc_context(STYLE):
        drawn = Figure(figsize=(WIDTH, HEIGHT), dpi=DOTS, layout="constrained")
        program.draw(drawn, arrays, results)
        # Ticks and labels take their looks from the settings when they are drawn.
        drawn.canvas.draw()
    return drawn
