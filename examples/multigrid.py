"""Solves Poisson's equation on a cube by multigrid: every part of the V-cycle is a SaC comprehension.

The solution is a polynomial for which second differences are exact, so the error falls with the residual. Nothing in
the program depends on space having three dimensions.
"""

import time

import jax
import numpy as np

import tcjax

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


def solve(intervals: int, cycles: int, rank: int = 3) -> list[tuple[float, float]]:
    """Solves the problem from zero; the residual over the first one, and the largest error, before and after cycles."""
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
        for _ in range(cycles):
            u = cycle(u, f, h)
            history.append((float(np.linalg.norm(residual(u, f, h))) / first, float(np.abs(u - solution).max())))
        start = time.perf_counter()
        jax.block_until_ready(cycle(u, f, h))
        print(f"one cycle: {(time.perf_counter() - start) * 1e3:.1f} ms")
    return history


def main(intervals: int = 32, cycles: int = 14) -> list[tuple[float, float]]:
    """Solves the problem, prints the history of residuals and errors, and returns it."""
    print(MULTIGRID)
    history = solve(intervals, cycles)
    print("cycle  residual            error")
    previous = None
    for number, (residual, error) in enumerate(history):
        factor = "" if previous is None else f"1/{previous / residual:.1f}"
        print(f"{number:5}  {residual:.1e}  {factor:>7}  {error:.1e}")
        previous = residual
    assert history[10][0] < 1e-8, "the residual does not fall as it should"
    assert history[-1][1] < 1e-12, "the solution is not the known one"
    return history


if __name__ == "__main__":
    main()
