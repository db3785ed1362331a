"""Tables whose elements depend on others: shortest paths and RNA folding."""

import tcjax
from tests.translated.case import Array, Case, integers


def floyd_warshall_reference(path: Array) -> Array:
    for k in range(len(path)):
        for i in range(len(path)):
            for j in range(len(path)):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])
    return path


FLOYD_WARSHALL = """
def floyd_warshall(int32(N,N) path) -> (D) {
    D(i,j) = path(i,j)
    for k in 0:N {
        E(i,j) = min(D(i,j), D(i,k) + D(k,j))
        D(i,j) = E(i,j)
    }
}"""

FLOYD_WARSHALL_BY_LENGTHS = """
def floyd_warshall(int32(N,N) path) -> (D) {
    E(0,i,j) = path(i,j)
    for k in 0:N { E(k+1,i,j) = min(E(k,i,j), E(k,i,k) + E(k,k,j)) }
    D(i,j) = E(N,i,j)
}"""


@tcjax.kernel
def floyd_warshall(path: "int32(N,N)"):
    D[i, j] = path[i, j]
    for k in range(N):
        for i in range(N):
            row[i] = D[i, k]
        for j in range(N):
            column[j] = D[k, j]
        for i in range(N):
            for j in range(N):
                D[i, j] = min(D[i, j], row[i] + column[j])
    return D


def nussinov_reference(seq: Array) -> Array:
    N = len(seq)
    table = integers(N, N, high=1)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            best = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                best = max(best, table[i + 1, j])
                pair = int(seq[i] + seq[j] == 3) if i < j - 1 else 0
                best = max(best, table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


NUSSINOV = """
def nussinov(int32(N) seq) -> (int32(N,N) table) {
    for i in N-1:-1:-1 {
        for j in i+1:N {
            pair() = i < j-1 && seq(i) + seq(j) == 3 ? 1 : 0
            split() = max[k in i+1:j](table(i,k) + table(k+1,j))
            table(i,j) = max(max(table(i,j-1), table(i+1,j)), max(table(i+1,j-1) + pair(), split()))
        }
    }
}"""


@tcjax.kernel
def nussinov(seq: "int32(N)") -> "int32(N,N)":
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            table[i, j] = max(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


CASES = (
    Case(
        "floyd_warshall",
        floyd_warshall_reference,
        {
            "text": tcjax.kernel(FLOYD_WARSHALL),
            "lengths": tcjax.kernel(FLOYD_WARSHALL_BY_LENGTHS),
            "python": floyd_warshall,
        },
        {"path": integers(6, 6, low=1, high=20)},
    ),
    Case(
        "nussinov",
        nussinov_reference,
        {"text": tcjax.kernel(NUSSINOV), "python": nussinov},
        {"seq": integers(9, high=4)},
    ),
)
