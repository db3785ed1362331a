"""Fully connected layers: MLP1 and the fused MLP3."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from .case import Arrays, Case, label, normals

MLP1_SIZES = {"tiny": [(3, 5, 4)], "small": [(128, 2000, 128)], "full": [(128, 2000, 128)]}
MLP3_SIZES = {"tiny": [(3, 5, 4, 3, 2)], "small": [(128, 128, 64, 32, 2)], "full": [(128, 128, 64, 32, 2)]}


def cases(size: str) -> Iterator[Case]:
    """The layers at the sizes that `size` names."""
    yield from (mlp1(*sizes) for sizes in MLP1_SIZES[size])
    yield from (mlp3(*sizes) for sizes in MLP3_SIZES[size])


def mlp1(b: int, m: int, n: int) -> Case:
    return Case(
        name=f"mlp1/{label(b, m, n)}",
        text="""
        def mlp1(float(B,M) I, float(M,N) W1, float(N) B1) -> (O1) {
            O1(b,n) +=! I(b,m) * W1(m,n)
            O1(b,n)   = O1(b,n) + B1(n)
            O1(b,n)   = fmax(O1(b,n), 0)
        }""",
        make_arrays=lambda rng: normals(rng, (b, m), (m, n), (n,)),
        reference=lambda I, W, B: np.maximum(I @ W + B, 0),
        forms={
            "matmul": lambda I, W, B: jax.nn.relu(I @ W + B),
            "einsum": lambda I, W, B: jnp.maximum(jnp.einsum("bm,mn->bn", I, W) + B, 0),
        },
        tolerance=1e-3,
    )


def mlp(b: int, *widths: int) -> Case:
    """Consecutive layers; only the last one's values are returned."""
    count = len(widths) - 1

    def layers(np, dense, x, *parameters):
        for W, B in zip(parameters[::2], parameters[1::2], strict=True):
            x = np.maximum(dense(x, W) + B, 0)
        return x

    parameters = ", ".join(f"float(N{i + 1},N{i}) W{i + 1}, float(N{i + 1}) B{i + 1}" for i in range(count))
    statements = "".join(
        f"""
            h{i + 1}(b,o) +=! h{i}(b,i) * W{i + 1}(o,i)
            h{i + 1}(b,o) = fmax(h{i + 1}(b,o) + B{i + 1}(o), 0)"""
        for i in range(count)
    )
    shapes = [shape for i in range(count) for shape in ((widths[i + 1], widths[i]), (widths[i + 1],))]

    def arrays(rng: np.random.Generator) -> Arrays:
        """Weights that preserve the magnitude of their inputs."""
        x, *others = normals(rng, (b, widths[0]), *shapes)
        scaled = (np.asarray(a / np.sqrt(a.shape[-1]), np.float32) if a.ndim == 2 else a for a in others)
        return x, *scaled

    return Case(
        name=f"mlp/{label(b, *widths)}",
        text=f"""
        def mlp(float(B,N0) h0, {parameters}) -> (h{count}) {{{statements}
        }}""",
        make_arrays=arrays,
        reference=lambda *arrays: layers(np, lambda x, W: x @ W.T, *arrays),
        forms={
            "matmul": lambda *arrays: layers(jnp, lambda x, W: x @ W.T, *arrays),
            "einsum": lambda *arrays: layers(jnp, lambda x, W: jnp.einsum("bi,oi->bo", x, W), *arrays),
            "turned_product": lambda *arrays: layers(jnp, lambda x, W: (W @ x.T).T, *arrays),
            "broadcast_sum": lambda *arrays: layers(jnp, lambda x, W: (x[:, None, :] * W[None]).sum(-1), *arrays),
        },
        tolerance=1e-3,
    )


def mlp3(b: int, n: int, o: int, p: int, q: int) -> Case:
    def layers(np, dense, I, W2, B2, W3, B3, W4, B4):
        O2 = np.maximum(dense(I, W2) + B2, 0)
        O3 = np.maximum(dense(O2, W3) + B3, 0)
        return O2, O3, np.maximum(dense(O3, W4) + B4, 0)

    def einsum(x, W):
        return jnp.einsum("bi,oi->bo", x, W)

    def broadcast(x, W):
        return (x[:, None, :] * W[None]).sum(-1)

    return Case(
        name=f"mlp3/{label(b, n, o, p, q)}",
        text="""
        def mlp3(float(B,N) I, float(O,N) W2, float(O) B2, float(P,O) W3, float(P) B3, float(Q,P) W4, float(Q) B4)
            -> (O2, O3, O4) {
            O2(b,o) +=! I(b,n) * W2(o,n)
            O2(b,o)   = O2(b,o) + B2(o)
            O2(b,o)   = fmax(O2(b,o), 0)
            O3(b,p) +=! O2(b,o) * W3(p,o)
            O3(b,p)   = O3(b,p) + B3(p)
            O3(b,p)   = fmax(O3(b,p), 0)
            O4(b,q) +=! O3(b,p) * W4(q,p)
            O4(b,q)   = O4(b,q) + B4(q)
            O4(b,q)   = fmax(O4(b,q), 0)
        }""",
        make_arrays=lambda rng: normals(rng, (b, n), (o, n), (o,), (p, o), (p,), (q, p), (q,)),
        reference=lambda *arrays: layers(np, lambda x, W: x @ W.T, *arrays),
        forms={
            "matmul": lambda *arrays: layers(jnp, lambda x, W: x @ W.T, *arrays),
            "einsum": lambda *arrays: layers(jnp, einsum, *arrays),
            "broadcast_sum": lambda *arrays: layers(jnp, broadcast, *arrays),
        },
        tolerance=1e-3,
    )
