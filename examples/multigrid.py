"""Solves Poisson's equation on a cube by multigrid: every part of the V-cycle is a SaC comprehension.

The solution is a polynomial for which second differences are exact, so the error falls with the residual. Nothing in
the program depends on space having three dimensions. Saves residuals, errors and slices as ``out/multigrid.png``.
"""

import time
from pathlib import Path

import jax
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import tcjax

OUT = Path(__file__).resolve().parents[1] / "out"

MULTIGRID = """
// The neighbours of a place along the axes from `axis` on.
double neighbours(double[*] u, int[.] iv, int axis) {
    ahead = { [a] -> a == axis ? 1 : 0 | [a] < [dim(u)] };
    return axis == dim(u) ? 0.0 : u[iv - ahead] + u[iv + ahead] + neighbours(u, iv, axis + 1);
}

// Half a sweep of Gauss and Seidel: the places of one colour, as on a chessboard.
double[*] relaxed(double[d:shp] u, double[d:shp] f, double h, int colour) {
    one = 0 * shp + 1;
    return { iv -> sum(iv) % 2 == colour ? (neighbours(u, iv, 0) + h * h * f[iv]) / tod(2 * d) : u[iv]
                   | one <= iv < shp - one;
             iv -> u[iv] };
}

double[*] smoothed(double[*] u, double[*] f, double h, int sweeps) {
    return sweeps == 0 ? u : smoothed(relaxed(relaxed(u, f, h, 0), f, h, 1), f, h, sweeps - 1);
}

double[*] residual(double[d:shp] u, double[d:shp] f, double h) {
    one = 0 * shp + 1;
    return { iv -> f[iv] - (tod(2 * d) * u[iv] - neighbours(u, iv, 0)) / (h * h) | one <= iv < shp - one;
             iv -> 0.0 | iv < shp };
}

// The weights 1 2 1 along every axis.
double nearness(int[.] ov) { return tod(prod(2 - abs(ov - 1))); }

double[*] restricted(double[d:shp] fine) {
    one = 0 * shp + 1;
    return { iv -> sum({ ov -> nearness(ov) * fine[2 * iv + ov - 1] | ov < 3 * one }) / tod(prod(4 * one))
                   | one <= iv < shp / 2;
             iv -> 0.0 | iv < shp / 2 + 1 };
}

// The coarse values at every second place of the fine grid.
double[*] spread(double[d:shp] coarse) {
    return { iv -> coarse[iv / 2] | 0 * shp <= iv < 2 * shp - 1 step 0 * shp + 2;
             iv -> 0.0            | iv < 2 * shp - 1 };
}

// A correction, interpolated from every second place, and added.
double[*] corrected(double[d:shp] u, double[d:shp] correction) {
    one = 0 * shp + 1;
    return { iv -> u[iv] + sum({ ov -> nearness(ov) * correction[iv + ov - 1] | ov < 3 * one }) / tod(prod(2 * one))
                   | one <= iv < shp - one;
             iv -> u[iv] };
}

double[*] coarse(double[*] u, double[*] f, double h) {
    zero = genarray(shape(f), 0.0);
    return corrected(u, spread(cycle(zero, f, 2.0 * h)));
}

double[*] cycle(double[*] u, double[*] f, double h) {
    v = smoothed(u, f, h, 2);
    return shape(u)[0] == 3 ? v : smoothed(coarse(v, restricted(residual(v, f, h)), h), f, h, 2);
}
"""
multigrid = tcjax.load(MULTIGRID)


def problem(points: int, rank: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """A function that is zero around the cube ``[0, 1]**rank``, on a grid, and minus its second derivatives' sum."""
    x = np.linspace(0, 1, points)
    # x (1 - x) (1 + x), scaled to a maximum of 1, and its second derivative.
    along, curved = x * (1 - x * x) * 1.5 * 3**0.5, -6 * x * 1.5 * 3**0.5
    axes = range(rank)

    def product(special: int | None) -> np.ndarray:
        shapes = np.eye(rank, dtype=int) * (points - 1) + 1
        factors = [(curved if axis == special else along).reshape(shapes[axis]) for axis in axes]
        return np.prod(np.broadcast_arrays(*factors), axis=0)

    return product(None), -sum((product(axis) for axis in axes), np.zeros(()))


History = list[tuple[float, float]]


def solve(intervals: int, cycles: int, rank: int = 3) -> History:
    """Solves the problem from zero; the residual over the first one, and the largest error, before and after cycles."""
    return solved(intervals, cycles, rank)[0]


def solved(intervals: int, cycles: int, rank: int = 3) -> tuple[History, np.ndarray, list[np.ndarray]]:
    """The same with the solution that is found, and the error after the first cycle and after the last."""
    with jax.enable_x64(True):
        solution, f = problem(intervals + 1, rank)
        h = 1 / intervals
        u = jax.numpy.zeros_like(f)
        start = time.perf_counter()
        cycle = jax.jit(multigrid.cycle).lower(u, f, h).compile()
        print(f"{' x '.join(map(str, f.shape))} places; compiled in {time.perf_counter() - start:.1f} s\n")
        residual = jax.jit(multigrid.residual)
        first = float(np.linalg.norm(residual(u, f, h)))
        history = [(1.0, float(np.abs(solution).max()))]
        errors: list[np.ndarray] = []
        for _ in range(cycles):
            u = cycle(u, f, h)
            errors = [*errors[:1], np.asarray(u - solution)]
            history.append((float(np.linalg.norm(residual(u, f, h))) / first, float(np.abs(u - solution).max())))
        start = time.perf_counter()
        jax.block_until_ready(cycle(u, f, h))
        print(f"one cycle: {(time.perf_counter() - start) * 1e3:.1f} ms")
    return history, np.asarray(u), errors


WIDTH, HEIGHT, LEFT, TOP = 320, 256, 74, 34
BLUE, ORANGE, INK, LINE = (0, 114, 178), (213, 94, 0), (27, 31, 36), (200, 208, 216)


def sheet(history: History, solution: np.ndarray, errors: list[np.ndarray]) -> Image.Image:
    """Residual and error against cycles, and the middle slices of the solution and of errors, each with its scale."""
    slices = {"the solution": solution, "error after 1 cycle": errors[0], f"error after {len(history) - 1}": errors[-1]}
    image = Image.new("RGB", (2 * (LEFT + WIDTH + 110), 2 * (TOP + HEIGHT + 50)), "white")
    _curves(image, history, LEFT, TOP)
    for number, (title, values) in enumerate(slices.items(), start=1):
        while values.ndim > 2:
            values = values[values.shape[0] // 2]
        x, y = number % 2 * (LEFT + WIDTH + 110) + LEFT, number // 2 * (TOP + HEIGHT + 50) + TOP
        _slice(image, title, values, x, y)
    return image


def _curves(image: Image.Image, history: History, x: int, y: int) -> None:
    """Both columns of the history on a logarithmic axis."""
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(15)
    logs = np.log10(np.maximum(np.array(history), 1e-17))
    low, high = np.floor(logs.min()), np.ceil(logs.max())
    across, up = WIDTH / max(1, len(history) - 1), HEIGHT / (high - low)
    for exponent in np.arange(low, high + 1, max(1, (high - low) // 5)):
        at = y + (high - exponent) * up
        draw.line((x, at, x + WIDTH, at), LINE)
        draw.text((x - 6, at), f"1e{exponent:.0f}", INK, font, anchor="rm")
    for number in range(0, len(history), max(1, len(history) // 7)):
        draw.text((x + number * across, y + HEIGHT + 6), str(number), INK, font, anchor="ma")
    for column, (name, colour) in enumerate((("residual / first", BLUE), ("largest error", ORANGE))):
        points = [(x + n * across, y + (high - value) * up) for n, value in enumerate(logs[:, column])]
        draw.line(points, colour, 2)
        for px, py in points:
            draw.ellipse((px - 3, py - 3, px + 3, py + 3), colour)
        draw.text((x + WIDTH - 8, y + 8 + 20 * column), name, colour, font, anchor="ra")
    draw.rectangle((x, y, x + WIDTH, y + HEIGHT), outline=INK)
    draw.text((x + WIDTH / 2, y - 8), "what a V-cycle leaves", INK, font, anchor="ms")
    draw.text((x + WIDTH / 2, y + HEIGHT + 26), "V-cycles", INK, font, anchor="ma")


def _slice(image: Image.Image, title: str, values: np.ndarray, x: int, y: int) -> None:
    """A plane in blue below zero and orange above, and the scale beside it."""
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(15)
    most = float(np.abs(values).max()) or 1.0
    picture = Image.fromarray(_coloured(np.atleast_2d(values) / most))
    image.paste(picture.resize((WIDTH, HEIGHT), Image.Resampling.NEAREST), (x, y))
    scale = Image.fromarray(_coloured(np.linspace(1, -1, HEIGHT)[:, None].repeat(16, axis=1)))
    image.paste(scale, (x + WIDTH + 12, y))
    for left, right in ((x, x + WIDTH), (x + WIDTH + 12, x + WIDTH + 28)):
        draw.rectangle((left, y, right, y + HEIGHT), outline=INK)
    for part in (1, 0, -1):
        draw.text((x + WIDTH + 34, y + (1 - part) * HEIGHT / 2), f"{part * most:.0e}", INK, font, anchor="lm")
    for part in (0, 0.5, 1):
        draw.text((x + part * WIDTH, y + HEIGHT + 6), f"{part:g}", INK, font, anchor="ma")
        draw.text((x - 6, y + part * HEIGHT), f"{part:g}", INK, font, anchor="rm")
    draw.text((x + WIDTH / 2, y - 8), f"{title}, middle slice", INK, font, anchor="ms")
    draw.text((x + WIDTH / 2, y + HEIGHT + 26), "place along the last axis, of the cube [0, 1]", INK, font, anchor="ma")


def _coloured(values: np.ndarray) -> np.ndarray:
    """Values from -1 to 1 as colours, white at 0."""
    ends = np.where(values[..., None] < 0, BLUE, ORANGE)
    return (255 + np.abs(values)[..., None] * (ends - 255)).astype(np.uint8)


def main(intervals: int = 32, cycles: int = 14, out: Path = OUT) -> History:
    """Solves the problem, prints the history of residuals and errors, draws them, and returns it."""
    print(MULTIGRID)
    history, solution, errors = solved(intervals, cycles)
    print("cycle  residual            error")
    previous = None
    for number, (residual, error) in enumerate(history):
        factor = "" if previous is None else f"1/{previous / residual:.1f}"
        print(f"{number:5}  {residual:.1e}  {factor:>7}  {error:.1e}")
        previous = residual
    assert history[10][0] < 1e-8, "the residual does not fall as it should"
    assert history[-1][1] < 1e-12, "the solution is not the known one"
    out.mkdir(exist_ok=True)
    sheet(history, solution, errors).save(out / "multigrid.png")
    print(f"residuals, errors and slices: {out.name}/multigrid.png")
    return history


if __name__ == "__main__":
    main()
