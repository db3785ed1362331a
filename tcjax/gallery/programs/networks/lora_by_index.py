"""Low-rank adapters, one for each user, in one batch

All users share one layer, and each user adds two thin matrices to it. Each row of the batch names its user, and the
kernel looks up that user's adapter by number. Rows of different users can share a batch without sorting or grouping.
The gradient of each adapter comes from its user's rows.

Hu and others, "LoRA" (2021); Chen and others, "Punica: Multi-Tenant LoRA Serving" (2023).
"""

import jax
import jax.numpy as jnp
import numpy as np

import tcjax
from tcjax.gallery import Program

lora_by_index = tcjax.kernel("""
def lora_by_index(float(N,T,I) x, float(I,O) W, float(U,I,R) A, float(U,R,O) B, int32(N) user) -> (y) {
    low(n,t,r) = sum[i](x(n,t,i) * A(user(n),i,r))
    y(n,t,o)   = sum[i](x(n,t,i) * W(i,o)) + sum[r](low(n,t,r) * B(user(n),r,o))
}""")


def data(rows: int, tokens: int, width: int, users: int, rank: int) -> tuple[np.ndarray, ...]:
    """Random rows, of users of whom a few ask most."""
    random = np.random.default_rng(0)
    x = random.normal(size=(rows, tokens, width))
    W = random.normal(size=(width, width)) / np.sqrt(width)
    A = random.normal(size=(users, width, rank)) / np.sqrt(width)
    B = random.normal(size=(users, rank, width)) / np.sqrt(rank)
    user = ((random.zipf(1.5, size=rows) - 1) % users).astype(np.int32)
    return *(a.astype(np.float32) for a in (x, W, A, B)), user


def reference(x, W, A, B, user):
    """Row by row, with the sum of both layers."""
    return np.stack([row @ (W + A[u] @ B[u]) for row, u in zip(x, user, strict=True)])


def gathered(x, W, A, B, user):
    return x @ W + jnp.einsum("nti,nir,nro->nto", x, A[user], B[user])


def row_by_row(x, W, A, B, user):
    return jax.vmap(lambda row, u: row @ W + row @ A[u] @ B[u])(x, user)


def draw(figure, arrays, y):
    """What the adapters add to each row: rows of one user are alike in what their adapter can say."""
    x, W, _, _, user = arrays
    order = np.argsort(user, kind="stable")
    added = (y - x @ W)[order, 0]
    unit = added / np.linalg.norm(added, axis=1, keepdims=True)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.3))
    left.bar(*np.unique(user, return_counts=True))
    left.set(xlabel="user", ylabel="rows", title="who asks")
    right.imshow(np.abs(unit @ unit.T), aspect="auto")
    right.set(xlabel="row, by user", ylabel="row, by user", title="cosine of what adapters add to two rows")


program = Program(
    lora_by_index,
    data,
    reference,
    {"gathered adapters": gathered, "vmap over rows": row_by_row},
    draw,
    small={"rows": 6, "tokens": 3, "width": 8, "users": 4, "rank": 2},
    full={"rows": 32, "tokens": 16, "width": 512, "users": 100, "rank": 8},
    picture={"rows": 48, "tokens": 1, "width": 32, "users": 12, "rank": 1},
    gradient=(0, 1, 2, 3),
)

if __name__ == "__main__":
    program.main()
