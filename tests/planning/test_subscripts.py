"""Facts about subscripts turn gathers into slices, reshapes and concatenations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import planning
from tcjax.planning.data import nodes
from tcjax.planning.data.views import Pieces

pytestmark = pytest.mark.usefixtures("quickly_compiled")

Array = np.ndarray


def _life(A: Array) -> Array:
    return sum(np.roll(A, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1))


# Text, shapes of A and W, and the result computed independently.
SLICED = {
    # Digits of an index.
    "transposed reshape": ("B(i) = A(i % 4, i / 4) where i in 0:16", [(4, 4)], lambda A: A.T.reshape(-1)),
    "transposed rectangle": ("B(i) = A(i % 4, i / 4) where i in 0:12", [(4, 3)], lambda A: A.T.reshape(-1)),
    "three digits": ("B(i) = A(i/12, i/4%3, i%4) where i in 0:24", [(2, 3, 4)], lambda A: A.reshape(-1)),
    "three digits, permuted": (
        "B(i) = A(i%4, i/12, i/4%3) where i in 0:24",
        [(4, 2, 3)],
        lambda A: A.transpose(1, 2, 0).reshape(-1),
    ),
    "four digits, reversed": (
        "B(i) = A(i%2, i/2%2, i/4%3, i/12) where i in 0:24",
        [(2, 2, 3, 2)],
        lambda A: A.transpose(3, 2, 1, 0).reshape(-1),
    ),
    "digits of a part": ("B(i) = A(i/3, i%3) where i in 1:11", [(4, 3)], lambda A: A.reshape(-1)[1:11]),
    "transposed digits of a part": ("B(i) = A(i%4, i/4) where i in 2:11", [(4, 3)], lambda A: A.T.reshape(-1)[2:11]),
    "digits after a shift": ("B(i) = A((i+5)/3, (i+5)%3) where i in 0:6", [(4, 3)], lambda A: A.reshape(-1)[5:11]),
    "digits, backwards": ("B(i) = A((11-i)/3, (11-i)%3) where i in 0:12", [(4, 3)], lambda A: A.reshape(-1)[::-1]),
    "every other digit": ("B(i) = A(2*i/3, 2*i%3) where i in 0:6", [(4, 3)], lambda A: A.reshape(-1)[::2]),
    "divisors of two kinds": (
        "B(i) = A(i/6, i%6) * W(i/4, i%4) where i in 0:12",
        [(2, 6), (3, 4)],
        lambda A, W: A.reshape(-1) * W.reshape(-1),
    ),
    "divided on the left in another way": (
        "B(i/4, i%4) = A(i/6, i%6) where i in 0:12",
        [(2, 6)],
        lambda A: A.reshape(3, 4),
    ),
    "rows of another length": (
        "B(i,k) = A((i*6 + k) / 4, (i*6 + k) % 4) where i in 0:4, k in 0:6",
        [(6, 4)],
        lambda A: A.reshape(4, 6),
    ),
    "rows that divide": (
        "B(i,j) = A((i*4 + j) / 2, (i*4 + j) % 2) where i in 0:3, j in 0:4",
        [(6, 2)],
        lambda A: A.reshape(3, 4),
    ),
    "columns of another length": (
        "B(i,k) = A((i*6 + k) % 4, (i*6 + k) / 4) where i in 0:4, k in 0:6",
        [(4, 6)],
        lambda A: A.T.reshape(4, 6),
    ),
    "repeated": ("B(i) = A(i/3) where i in 0:12", [(4,)], lambda A: np.repeat(A, 3)),
    "repeated, a part": ("B(i) = A(i/3) where i in 1:61", [(21,)], lambda A: np.repeat(A, 3)[1:61]),
    "tiled, a part": ("B(i) = A(i%3) where i in 1:68", [(3,)], lambda A: np.tile(A, 23)[1:68]),
    "tiled rows, a part": (
        "B(i,j) = A(i/2%3,j) where i in 1:68",
        [(3, 2)],
        lambda A: np.tile(A.repeat(2, 0), (12, 1))[1:68],
    ),
    # Layouts.
    "heads split": (
        "Q(b,t,h,d) = A(b,t,h*4+d) where h in 0:3, d in 0:4",
        [(2, 5, 12)],
        lambda A: A.reshape(2, 5, 3, 4),
    ),
    "heads merged": (
        "Y(b,t,e) = A(b, e/4, t, e%4) where e in 0:12",
        [(2, 3, 5, 4)],
        lambda A: A.transpose(0, 2, 1, 3).reshape(2, 5, 12),
    ),
    "pixel shuffle": (
        "O(c,h,w) = A(c*4 + (h%2)*2 + w%2, h/2, w/2) where c in 0:3, h in 0:8, w in 0:10",
        [(12, 4, 5)],
        lambda A: A.reshape(3, 2, 2, 4, 5).transpose(0, 3, 1, 4, 2).reshape(3, 8, 10),
    ),
    "pixel unshuffle": (
        "O(c,h,w) = A(c/4, h*2 + c%4/2, w*2 + c%2) where c in 0:12, h in 0:4, w in 0:5",
        [(3, 8, 10)],
        lambda A: A.reshape(3, 4, 2, 5, 2).transpose(0, 2, 4, 1, 3).reshape(12, 4, 5),
    ),
    "channel shuffle": ("O(c) = A((c%3)*4 + c/3) where c in 0:12", [(12,)], lambda A: A.reshape(3, 4).T.reshape(-1)),
    "blocks of a matrix": (
        "O(i,j) = A(i/2, j/3, i%2, j%3) where i in 0:4, j in 0:6",
        [(2, 2, 2, 3)],
        lambda A: A.transpose(0, 2, 1, 3).reshape(4, 6),
    ),
    "im2col": (
        "O(p,q) = A(p/6 + q/3, p%6 + q%3) where p in 0:30, q in 0:9",
        [(7, 8)],
        lambda A: np.array([[A[p // 6 + q // 3, p % 6 + q % 3] for q in range(9)] for p in range(30)]),
    ),
    "overlapping rows": (
        "O(i,j) = A(2*i + j) where i in 0:4, j in 0:5",
        [(11,)],
        lambda A: np.array([A[2 * i : 2 * i + 5] for i in range(4)]),
    ),
    "overlapping rows, backwards": (
        "O(i,j) = A(i - j + 2) where i in 0:4, j in 0:3",
        [(6,)],
        lambda A: np.array([A[i : i + 3][::-1] for i in range(4)]),
    ),
    # Rotations.
    "rotation": ("O(i) = A((i+3) % 7) where i in 0:7", [(7,)], lambda A: np.roll(A, -3)),
    "rotation back": ("O(i) = A((i-3) % 7) where i in 0:7", [(7,)], lambda A: np.roll(A, 3)),
    "rotation of a part": ("O(i) = A((i+5) % 7) where i in 0:4", [(9,)], lambda A: np.array([A[5], A[6], A[0], A[1]])),
    "rotation, backwards": ("O(i) = A((3-i) % 7) where i in 0:7", [(7,)], lambda A: np.roll(A[::-1], 4)),
    "rotation in strides": ("O(i) = A((2*i+1) % 7) where i in 0:7", [(7,)], lambda A: A[(2 * np.arange(7) + 1) % 7]),
    "rotation of both axes": (
        "O(i,j) = A((i+2) % 5, (j-1) % 4) where i in 0:5, j in 0:4",
        [(5, 4)],
        lambda A: np.roll(A, (-2, 1), (0, 1)),
    ),
    "rotation inside of blocks": (
        "O(i) = A(i/4*4 + (i+1)%4) where i in 0:16",
        [(16,)],
        lambda A: np.roll(A.reshape(4, 4), -1, 1).reshape(-1),
    ),
    "rotation under other digits": (
        "O(i/4, i%4) = A((i+1) % 12) where i in 0:12",
        [(12,)],
        lambda A: np.roll(A, -1).reshape(3, 4),
    ),
    "rotation on the left": ("O((i+3) % 7) = A(i) where i in 0:7", [(7,)], lambda A: np.roll(A, 3)),
    "reflection on the left": (
        "O((3-i) % 7, j) = A(i, j) where i in 2:9",
        [(9, 2)],
        lambda A: A[2:][(np.arange(3, -4, -1) - 2) % 7],
    ),
    "rotation on both sides": ("O((i+3) % 7) = A((i+5) % 7) where i in 0:7", [(7,)], lambda A: np.roll(A, -2)),
    "sum into a rotation": (
        "O((i+3) % 7) +=! A(i, k) * W(k) where i in 0:7",
        [(7, 2), (2,)],
        lambda A, W: np.roll(A @ W, 3),
    ),
    "ring buffer": ("O(t) = A((5+t) % 8) where t in 0:8", [(8,)], lambda A: np.roll(A, -5)),
    "circular convolution": (
        "O(i) +=! A((i-k) % 9) * W(k) where i in 0:9",
        [(9,), (4,)],
        lambda A, W: np.fft.irfft(np.fft.rfft(A) * np.fft.rfft(W, 9), 9),
    ),
    "stencil on a torus": (
        "O(i,j) +=! A((i+a) % 6, (j+b) % 8) where i in 0:6, j in 0:8, a in -1:2, b in -1:2",
        [(6, 8)],
        _life,
    ),
    "neighbours on a torus": (
        "O(i,j) = A((i-1)%5, j) + A((i+1)%5, j) + A(i, (j-1)%6) + A(i, (j+1)%6) where i in 0:5, j in 0:6",
        [(5, 6)],
        lambda A: np.roll(A, 1, 0) + np.roll(A, -1, 0) + np.roll(A, 1, 1) + np.roll(A, -1, 1),
    ),
    "neighbours on a line": (
        "O(i) = A(min(i+1, 8)) - 2.0 * A(i) + A(max(i-1, 0)) where i in 0:9",
        [(9,)],
        lambda A: np.diff(np.pad(A, 1, "edge"), 2),
    ),
    "circulant matrix": (
        "O(i,j) = A((i+j) % 5) where i in 0:5, j in 0:5",
        [(5,)],
        lambda A: np.array([np.roll(A, -i) for i in range(5)]),
    ),
    # Edges.
    "edge on the right": ("O(i) = A(min(i+1, 8)) where i in 0:9", [(9,)], lambda A: np.append(A[1:], A[8])),
    "edge on the left": ("O(i) = A(max(i-2, 0)) where i in 0:9", [(9,)], lambda A: np.pad(A, (2, 0), "edge")[:9]),
    "convolution of edges": (
        "O(i) +=! A(min(max(i+k-1, 0), 8)) * W(k) where i in 0:9, k in 0:3",
        [(9,), (3,)],
        lambda A, W: np.convolve(np.pad(A, 1, "edge"), W[::-1], "valid"),
    ),
    "pool of edges": (
        "O(i) max=! A(min(max(i+k-1, 0), 8)) where i in 0:9, k in 0:3",
        [(9,)],
        lambda A: np.lib.stride_tricks.sliding_window_view(np.pad(A, 1, "edge"), 3).max(1),
    ),
    "reflection": (
        "O(i) = A(max(i-2, 2-i)) where i in 0:9",
        [(9,)],
        lambda A: np.pad(A, (2, 0), "reflect")[:9],
    ),
    "edges of a flat image": (
        "O(i,j) = A(min(i+1, 3)*5 + max(j-1, 0)) where i in 0:4, j in 0:5",
        [(20,)],
        lambda A: np.pad(A.reshape(4, 5), ((0, 1), (1, 0)), "edge")[1:, :5],
    ),
    # What ranges decide.
    "always the first": ("O(i) = A(i/9, i) where i in 0:9", [(1, 9)], lambda A: A[0]),
    "a quotient that never carries": ("O(i,j) = A((4*i+j)/4, j) where i in 0:5, j in 0:4", [(5, 4)], lambda A: A),
    "a remainder that keeps one index": ("O(i,j) = A(i, (i*5+j)%5) where i in 0:4, j in 0:5", [(4, 5)], lambda A: A),
    "a clamp that never clamps": ("O(i) = A(min(max(i, 0), 8)) where i in 0:9", [(9,)], lambda A: A),
}


# Subscripts of which only bounds are known.
LOOKED_UP = {
    "a square": ("O(i) = A(i*i % 7) where i in 0:7", [(7,)]),
    "many short runs": ("O(i) = A(37*i % 1009) where i in 0:1009", [(1009,)]),
    "two remainders": ("O(i) = A(i % 3, i % 5) where i in 0:15", [(3, 5)]),
    "a diagonal on a torus": ("O(i) = A(i, (i+1) % 5) where i in 0:5", [(5, 5)]),
    "wide overlaps": ("O(i,j) = A((i+j) % 40) where i in 0:40, j in 0:40", [(40,)]),
}


def _arrays(shapes: list[tuple[int, ...]]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


def _lookups(plan: planning.Plan) -> list[str]:
    """The tensors that are read by gathers."""
    found: list[str] = []
    for stage in plan.stages:
        assert isinstance(stage, planning.Compute)
        pending: list[nodes.Node] = [stage.value]
        found += [stage.target for d in stage.store.dimensions if isinstance(d, nodes.Lookup)]
        while pending:
            node = pending.pop()
            if isinstance(node, nodes.Read) and any(isinstance(d, nodes.Lookup) for d in node.dimensions):
                found.append(node.tensor)
            pending.extend(nodes.operands(node))
    return found


@pytest.mark.parametrize(("text", "shapes", "expected"), SLICED.values(), ids=SLICED.keys())
def test_what_is_read_in_slices_is_what_the_text_says(text: str, shapes, expected) -> None:
    kernel, arrays = tcjax.kernel(text), _arrays(shapes)

    result = jax.jit(kernel)(*arrays)

    np.testing.assert_allclose(result, expected(*arrays), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result, kernel.interpret(*arrays), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("text", "shapes", "expected"), SLICED.values(), ids=SLICED.keys())
def test_neither_the_value_nor_its_derivative_gathers_or_scatters(text: str, shapes, expected) -> None:
    kernel, arrays = tcjax.kernel(text), _arrays(shapes)

    def total(*arrays):
        return (kernel(*arrays) ** 2).sum()

    forward = str(jax.make_jaxpr(kernel)(*arrays))
    backward = str(jax.make_jaxpr(jax.grad(total, argnums=tuple(range(len(arrays)))))(*arrays))

    assert _lookups(kernel.plan(*arrays)) == []
    assert "gather[" not in forward
    assert "gather[" not in backward
    assert "scatter" not in backward


@pytest.mark.parametrize(("text", "shapes", "expected"), SLICED.values(), ids=SLICED.keys())
def test_the_derivative_is_the_one_of_the_interpreter(text: str, shapes, expected) -> None:
    kernel, arrays = tcjax.kernel(text), _arrays(shapes)
    weights = np.random.default_rng(1).normal(size=kernel.interpret(*arrays).shape)
    ways = _arrays([(1, *shape) for shape in shapes])
    step = 1e-2

    found = jax.grad(lambda *a: (kernel(*a) * weights).sum(), argnums=tuple(range(len(arrays))))(*arrays)

    along = sum(float((np.asarray(d) * way[0]).sum()) for d, way in zip(found, ways, strict=True))
    ends = [
        (expected(*(a.astype("float64") + s * w[0] for a, w in zip(arrays, ways, strict=True))) * weights).sum()
        for s in (-step, step)
    ]
    assert along == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(("text", "shapes"), LOOKED_UP.values(), ids=LOOKED_UP.keys())
def test_what_no_view_says_is_looked_up(text: str, shapes) -> None:
    kernel, arrays = tcjax.kernel(text), _arrays(shapes)

    assert _lookups(kernel.plan(*arrays)) == ["A"]
    np.testing.assert_array_equal(kernel(*arrays), kernel.interpret(*arrays))


def test_a_few_elements_of_a_large_tensor_are_no_copy_of_it() -> None:
    rows, columns = "O(i) = A(i / 999, i % 999) where i in 995:1012", "O(i) = A(i % 999, i / 999) where i in 995:1012"
    A = _arrays([(999, 999)])[0]

    reshaped, transposed = (tcjax.kernel(text).plan(A) for text in (rows, columns))

    assert _lookups(reshaped) == []
    assert _lookups(transposed) == ["A"]


def test_neighbours_on_a_torus_are_pieces_that_nothing_stores() -> None:
    text, shapes, _ = SLICED["neighbours on a torus"]
    A = _arrays(shapes)[0]

    (stage,) = tcjax.kernel(text).plan(A).stages

    assert isinstance(stage, planning.Compute)
    views = [view for read in _reads(stage.value) for view in read.views]
    assert views and all(isinstance(view, Pieces) and view.fused for view in views)


def _reads(node: nodes.Node) -> list[nodes.Read]:
    inner = [read for operand in nodes.operands(node) for read in _reads(operand)]
    return [node] if isinstance(node, nodes.Read) else inner


def test_a_rotation_beside_data_is_a_rotation() -> None:
    kernel = tcjax.kernel("O(i,j) = A(I(i), (j+2) % 5) where j in 0:5")
    (A,), I = _arrays([(4, 5)]), np.array([3, 0, 3], "int32")

    result = kernel(A, I)

    np.testing.assert_array_equal(result, np.roll(A, -2, 1)[I])


def test_a_read_where_a_guard_is_false_may_be_outside() -> None:
    kernel = tcjax.kernel("O(i) = i < 5 ? A((i+1)/2, (i+1)%2) : 3.0 where i in 0:9")
    (A,) = _arrays([(3, 2)])

    result = kernel(A)

    np.testing.assert_array_equal(result, [*A.reshape(-1)[1:], 3, 3, 3, 3])


def test_one_element_further_the_guard_stays() -> None:
    text = "O(i) +=! i + k < 9 ? A(i + k) : 0.0 where i in 0:{}, k in 0:3"
    A = _arrays([(9,)])[0]

    inside, outside = (tcjax.kernel(text.format(extent)).plan(A).stages[0] for extent in (7, 8))

    assert isinstance(inside, planning.Compute)
    assert isinstance(outside, planning.Compute)
    assert inside.decided == ("the guard `(i + k) < 9` always holds: i in 0:7, k in 0:3",)
    assert outside.decided == ()


def test_explain_cites_the_facts() -> None:
    kernel = tcjax.kernel("B(i) = i < 12 ? A(i / 4, i % 4) * W(i % 5) : 0.0 where i in 1:12")

    said = str(kernel.explain(*_arrays([(3, 4), (5,)])))

    assert "the guard `i < 12` always holds: i in 1:12" in said
    assert "`i // 4` and `i % 4` split `i`: 3 values in rows of 4" in said
    assert "`i % 5` is read in 3 pieces" in said


@pytest.mark.parametrize("names", ["yxc", "ijk", "zay"])
def test_points_that_data_send_come_in_the_order_in_which_they_are_read(names: str) -> None:
    text = "def f(int32(H,W,C) b, float(H,W,C) s) -> (float(C,64) n) { n(c, b(y,x,c)) +=! s(y,x,c) }"
    renamed = text.translate(str.maketrans("yxc", names))

    (stage,) = (
        tcjax.kernel(renamed)
        .plan(jax.ShapeDtypeStruct((40, 60, 3), jnp.int32), jax.ShapeDtypeStruct((40, 60, 3), jnp.float32))
        .stages
    )

    assert isinstance(stage, planning.Compute) and stage.store.scatter is not None
    assert [str(index) for index in stage.store.scatter.points] == list(names)
