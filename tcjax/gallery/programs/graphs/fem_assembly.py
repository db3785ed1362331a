"""Finite elements: the stiffness matrix of a mesh, applied to a field

Each triangle has a matrix with three rows, as in the textbook. It multiplies the field at its corners and scatters the
result to its nodes, which are given by number. The matrix of the whole mesh is never stored: conjugate gradients solve
with this product. The gradient with respect to the conductivities is the power that each triangle dissipates; the
gradient with respect to the node positions moves the mesh.

Zienkiewicz and Taylor, "The Finite Element Method" (1989), volume 1.
"""

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
import scipy.spatial

import tcjax
from tcjax.gallery import Program

stiffness = tcjax.kernel("""
def stiffness(float(N,2) x, float(E) c, int32(E,3) corner, float(N) u) -> (float(N) flow) {
    side(e,a,d) = x(corner(e, (a+2) % 3), d) - x(corner(e, (a+1) % 3), d) where a in 0:3
    twice(e) = side(e,0,0) * side(e,1,1) - side(e,0,1) * side(e,1,0)
    k(e,a,b) = c(e) * sum[d](side(e,a,d) * side(e,b,d)) / (2 * twice(e))
    flow(corner(e,a)) +=! k(e,a,b) * u(corner(e,b))
}""")


HOLE, RADIUS = np.array([0.7, 0.5]), 0.22


def data(side: int) -> tuple[np.ndarray, ...]:
    """A plate with a round hole and discs that conduct badly, and temperatures that fall to the right, with noise."""
    random = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.linspace(0, 2, 2 * side - 1), np.linspace(0, 1, side)), -1)
    grid[1:-1, 1:-1] += random.uniform(-0.3, 0.3, grid[1:-1, 1:-1].shape) / side
    grid = grid.reshape(-1, 2)
    angle = np.linspace(0, 2 * np.pi, int(1.4 * side), endpoint=False)
    ring = HOLE + RADIUS * np.stack([np.cos(angle), np.sin(angle)], -1)
    x = np.concatenate([grid[np.linalg.norm(grid - HOLE, axis=1) > RADIUS + 0.5 / side], ring])
    corner = scipy.spatial.Delaunay(x).simplices
    middle = x[corner].mean(1)
    corner = corner[np.linalg.norm(middle - HOLE, axis=1) > RADIUS * np.cos(np.pi / len(ring))]
    middle = x[corner].mean(1)
    c = np.ones(len(corner), np.float32)
    for disc in ((1.25, 0.25), (1.35, 0.75), (1.75, 0.5)):
        c[np.linalg.norm(middle - disc, axis=1) < 0.16] = 0.05
    u = 1 - x[:, 0] / 2 + 0.05 * random.normal(size=len(x))
    return x.astype(np.float32), c, corner.astype(np.int32), u.astype(np.float32)


def reference(x, c, corner, u):
    # Shape functions are linear: the inverse of the corners' coordinates has their slopes.
    corners = np.concatenate([np.ones_like(x[corner][..., :1]), x[corner]], -1)
    slopes = np.linalg.inv(corners)[:, 1:]
    k = (c * np.linalg.det(corners) / 2)[:, None, None] * (slopes.swapaxes(1, 2) @ slopes)
    rows, columns = np.repeat(corner, 3, 1), np.tile(corner, (1, 3))
    matrix = scipy.sparse.coo_matrix((k.ravel(), (rows.ravel(), columns.ravel())), (len(x), len(x)))
    return matrix.tocsr() @ u


def scattered(x, c, corner, u):
    p = x[corner]
    side = jnp.roll(p, -2, 1) - jnp.roll(p, -1, 1)
    twice = side[:, 0, 0] * side[:, 1, 1] - side[:, 0, 1] * side[:, 1, 0]
    k = jnp.einsum("e,ead,ebd->eab", c / (2 * twice), side, side)
    return jnp.zeros_like(u).at[corner].add(jnp.einsum("eab,eb->ea", k, u[corner]))


def columns(x, c, corner, u):
    (ax, bx, dx), (ay, by, dy) = (x[:, d][corner.T] for d in (0, 1))
    sx, sy = (dx - bx, ax - dx, bx - ax), (dy - by, ay - dy, by - ay)
    values = [u[corner[:, a]] for a in range(3)]
    # The slope of the field, turned by a right angle, is the same for the three corners.
    scale = c / (2 * (sx[0] * sy[1] - sy[0] * sx[1]))
    gx = scale * sum(s * v for s, v in zip(sx, values, strict=True))
    gy = scale * sum(s * v for s, v in zip(sy, values, strict=True))
    flow = jnp.concatenate([sx[a] * gx + sy[a] * gy for a in range(3)])
    return jax.ops.segment_sum(flow, corner.T.reshape(-1), len(u))


def draw(figure, arrays, _):
    """The temperatures that the plate takes with the left side at 1 and the right one at 0, and the power they cost."""
    x, c, corner, _ = arrays
    fixed = (x[:, 0] == 0) | (x[:, 0] == 2)
    given = jnp.asarray((x[:, 0] == 0).astype(np.float32))

    def free(v):
        return jnp.where(fixed, v, stiffness(x, c, corner, jnp.where(fixed, 0, v)))

    right = jnp.where(fixed, 0, -stiffness(x, c, corner, given))
    u = given + jax.scipy.sparse.linalg.cg(free, right, tol=1e-5, maxiter=2000)[0]
    power = np.asarray(jax.grad(lambda c: u @ stiffness(x, c, corner, u))(c))
    left, middle = figure.subplots(1, 2, subplot_kw={"xticks": [], "yticks": [], "aspect": "equal", "frame_on": False})
    left.tripcolor(*x.T, corner, np.asarray(u), shading="gouraud", cmap="plasma")
    left.triplot(*x.T, corner, color="0.8", linewidth=0.25)
    left.set_title("temperature")
    middle.tripcolor(*x.T, corner, facecolors=power / np.linalg.det(np.insert(x[corner], 0, 1, -1)), cmap="inferno")
    middle.set_title("power for each area, the slope by c")


program = Program(
    stiffness,
    data,
    reference,
    {"einsum, at": scattered, "columns, segment_sum": columns},
    draw,
    small={"side": 8},
    full={"side": 200},
    picture={"side": 32},
    gradient=(0, 1, 3),
    peers={"scipy.sparse": reference},
)

if __name__ == "__main__":
    program.main()
