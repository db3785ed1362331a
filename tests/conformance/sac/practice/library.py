"""The functions of SaC's library, defined by comprehensions as the library defines them."""

import numpy as np

from ...program import mask, real
from ..case import Case, iota, vector

# Each definition is a program of functions alone, named `my...` so that it hides nothing of the library.
TAKE = """
int[*] mytake(int[n] v, int[n:shp,m:rest] a)
{
    from = where(v < 0, shp + v, 0);
    return { iv -> a[iv + from] | iv < abs(v) };
}
"""

DROP = """
int[*] mydrop(int[n] v, int[n:shp,m:rest] a)
{
    from = max(v, 0);
    return { iv -> a[iv + from] | iv < shp - abs(v) };
}
"""

TILE = "int[*] mytile(int[n] s, int[n] off, int[n:shp,m:rest] a) { return { iv -> a[iv + off] | iv < s }; }"

REVERSE = "int[*] myreverse(int[n,d:shp] a) { return { [i] -> a[n - 1 - i] | [i] < [n] }; }"

REVERSE_AXIS = """
int[*] myreverse(int axis, int[d:shp] a)
{
    return { iv -> a[modarray(iv, [axis], shp[axis] - 1 - iv[axis])] | iv < shp };
}
"""

ROTATE = "int[*] myrotate(int k, int[n,d:shp] a) { return { [i] -> a[mod(i - k, n)] | [i] < [n] }; }"

ROTATE_ALL = "int[*] myrotate(int[d] k, int[d:shp] a) { return { iv -> a[mod(iv - k, shp)] | iv < shp }; }"

SHIFT = """
int[*] myshift(int k, int fill, int[n,d:shp] a)
{
    return { [i] -> a[i - k] | [k] <= [i] < [n]; [i] -> genarray(shp, fill) | [i] < [n] };
}
"""

TRANSPOSE = "int[*] mytranspose(int[d:shp] a) { return { iv -> a[reverse(iv)] | iv < reverse(shp) }; }"

CONCATENATE = """
int[*] myconcatenate(int[m,d:shp] a, int[n,d:shp] b)
{
    return { [i] -> a[i] | [i] < [m]; [i] -> b[i - m] | [i] < [m + n] };
}
"""

CONCATENATE_LAST = "int[*] mylast(int[*] a, int[*] b) { return { [...,i] -> (transpose(a) ++ transpose(b))[i] }; }"

WHERE = (
    "int[*] mywhere(bool[d:shp] p, int[d:shp] a, int[d:shp] b) { return { iv -> p[iv] ? a[iv] : b[iv] | iv < shp }; }"
)

IOTA = "int[.] myiota(int n) { return { [i] -> i | [i] < [n] }; }"

GENARRAY = "int[*] mygenarray(int[n] shp, int[*] x) { return { iv -> x | iv < shp }; }"

MODARRAY = (
    "int[*] mymodarray(int[d:shp] a, int[d] ix, int x) { return { iv -> x | ix <= iv <= ix; iv -> a[iv] | iv < shp }; }"
)

OFFSET = (
    "int myoffset(int[d] iv, int[d] shp) { return d == 0 ? 0 : myoffset(drop([-1], iv), drop([-1], shp)) * shp[d "
    "- 1] + iv[d - 1]; }"
)

INDEX = (
    "int[*] myindex(int k, int[d] shp) { return d == 0 ? [] : myindex(k / shp[d - 1], drop([-1], shp)) ++ [k % "
    "shp[d - 1]]; }"
)

RAVEL = f"{INDEX} int[.] myravel(int[d:shp] a) {{ return {{ [k] -> a[myindex(k, shp)] | [k] < [prod(shp)] }}; }}"

RESHAPE = (
    f"{OFFSET} {INDEX} int[*] myreshape(int[n] new, int[d:shp] a) {{ return {{ iv -> a[myindex(myoffset(iv, new), "
    f"shp)] | iv < new }}; }}"
)

SUM_FIRST = "int[*] mysum(int[n,d:shp] a) { return { jv -> sum({ [i] -> a[[i] ++ jv] | [i] < [n] }) | jv < shp }; }"

SCAN = "int[n] myscan(int[n] a) { return { [i] -> sum({ [j] -> a[j] | [j] <= [i] }) | [i] < [n] }; }"

SELECT = "int[*] mysel(int[o] idx, int[o:oshp,i:ishp] a) { return { iv -> a[idx ++ iv] | iv < ishp }; }"

COMPRESS = "int mycount(bool[*] p) { return sum({ iv -> p[iv] ? 1 : 0 }); }"

INNER = (
    "float[*] myproduct(float[d:shp,k] a, float[k,e:rest] b) { return { iv -> { jv -> sum({ [l] -> a[iv ++ [l]] "
    "* b[[l] ++ jv] | [l] < [k] }) | jv < rest } | iv < shp }; }"
)

PAD = (
    "int[*] mypad(int[d:shp] a, int w) { return { iv -> a[iv - w] | 0 * shp + w <= iv < shp + w; "
    "iv -> 0 | iv < shp + 2 * w }; }"
)

TRIANGLE = "int[m,n] mytriangle(int[m,n] a) { return { [i,j] -> j <= i ? a[i,j] : 0 }; }"

BLOCKS = (
    "int[*] myblocks(int[m,n] a, int s) { return { [i,j] -> { [p,q] -> a[s * i + p, s * j + q] | [p,q] < [s,s] } "
    "| [i,j] < [m / s, n / s] }; }"
)

PAIRS = "int[*] mypairs(int[m] a, int[n] b) { return { [i,j] -> [a[i], b[j]] }; }"


LIBRARY = [
    Case("take", TAKE, [[2], iota(5)], lambda v, a: a[:2]),
    Case("take from the end", TAKE, [[-2], iota(5)], lambda v, a: a[-2:]),
    Case("take of two axes", TAKE, [[-1, 2], iota(3, 4)], lambda v, a: a[-1:, :2]),
    Case("take of the leading axis", TAKE, [[2], iota(3, 4)], lambda v, a: a[:2]),
    Case("take of none", TAKE, [[0, 2], iota(3, 4)], lambda v, a: a[:0, :2]),
    Case("drop", DROP, [[2], iota(5)], lambda v, a: a[2:]),
    Case("drop from the end", DROP, [[-2], iota(5)], lambda v, a: a[:-2]),
    Case("drop of two axes", DROP, [[-1, 2], iota(3, 4)], lambda v, a: a[:-1, 2:]),
    Case("drop of everything", DROP, [[3], iota(3, 4)], lambda v, a: a[3:]),
    Case("tile", TILE, [[2, 2], [1, 0], iota(3, 4)], lambda s, off, a: a[1:3, :2]),
    Case("tile of the leading axis", TILE, [[2], [1], iota(3, 4)], lambda s, off, a: a[1:3]),
    Case("reverse of a vector", REVERSE, [iota(4)], lambda a: a[::-1]),
    Case("reverse of a cube", REVERSE, [iota(2, 3, 4)], lambda a: a[::-1]),
    Case("reverse of nothing", REVERSE, [iota(0, 3)], lambda a: a),
    Case("reverse of the last axis", REVERSE_AXIS, [1, iota(3, 4)], lambda axis, a: a[:, ::-1]),
    Case("reverse of the first axis", REVERSE_AXIS, [0, iota(3, 4)], lambda axis, a: a[::-1]),
    Case("rotate", ROTATE, [1, iota(4)], lambda k, a: np.roll(a, 1)),
    Case("rotate backwards", ROTATE, [-3, iota(4, 2)], lambda k, a: np.roll(a, -3, 0)),
    Case("rotate by data", ROTATE, [np.int32(5), iota(4)], lambda k, a: np.roll(a, 5)),
    Case("rotate of every axis", ROTATE_ALL, [vector(1, -1), iota(3, 4)], lambda k, a: np.roll(a, (1, -1), (0, 1))),
    Case("shift", SHIFT, [1, 9, iota(4)], [9, 0, 1, 2]),
    Case("shift of rows", SHIFT, [2, 9, iota(3, 2)], [[9, 9], [9, 9], [0, 1]]),
    Case("shift of everything", SHIFT, [3, 9, iota(3)], [9, 9, 9]),
    Case("transpose of a matrix", TRANSPOSE, [iota(2, 3)], np.transpose),
    Case("transpose of a cube", TRANSPOSE, [iota(2, 3, 4)], np.transpose),
    Case("transpose of a scalar", TRANSPOSE, [np.int32(5)], 5),
    Case("concatenation", CONCATENATE, [iota(2), iota(3) + 9], lambda a, b: np.concatenate([a, b])),
    Case("concatenation of rows", CONCATENATE, [iota(2, 3), iota(1, 3)], lambda a, b: np.concatenate([a, b])),
    Case("concatenation with nothing", CONCATENATE, [iota(0, 3), iota(2, 3)], lambda a, b: b),
    Case("nothing is appended", CONCATENATE, [iota(2), iota(0)], lambda a, b: a),
    Case("concatenation of the last axes", CONCATENATE_LAST, [iota(2, 1), iota(2, 3)], lambda a, b: np.hstack([a, b])),
    Case("where", WHERE, [mask(2, 3), iota(2, 3), -iota(2, 3)], np.where),
    Case("where of scalars", WHERE, [np.bool_(True), np.int32(3), np.int32(4)], 3),
    Case("iota", IOTA, [4], [0, 1, 2, 3]),
    Case("iota of nothing", IOTA, [0], np.zeros(0, int)),
    Case("genarray", GENARRAY, [[2, 3], np.int32(7)], np.full((2, 3), 7)),
    Case("genarray of rows", GENARRAY, [[2], iota(3)], lambda shp, x: np.stack([x, x])),
    Case("modarray", MODARRAY, [iota(2, 3), [1, 2], 9], [[0, 1, 2], [3, 4, 9]]),
    Case("modarray of a vector", MODARRAY, [iota(3), [0], 9], [9, 1, 2]),
    Case("the index of an offset, and back", RAVEL, [iota(2, 3, 4) * 3], np.ravel),
    Case("ravel of a scalar", RAVEL, [np.int32(5)], [5]),
    Case("reshape", RESHAPE, [[3, 4], iota(2, 6)], lambda new, a: a.reshape(3, 4)),
    Case("reshape to one axis", RESHAPE, [[12], iota(2, 6)], lambda new, a: a.ravel()),
    Case("reshape to three axes", RESHAPE, [[2, 3, 2], iota(12)], lambda new, a: a.reshape(2, 3, 2)),
    Case("sum over the first axis", SUM_FIRST, [iota(2, 3, 4)], lambda a: a.sum(0)),
    Case("sum over the first axis of a vector", SUM_FIRST, [iota(4)], 6),
    Case("sum over an empty first axis", SUM_FIRST, [iota(0, 2)], [0, 0]),
    Case("scan", SCAN, [iota(6)], np.cumsum),
    Case("select a row", SELECT, [vector(1), iota(2, 3)], lambda idx, a: a[1]),
    Case("select an element", SELECT, [vector(1, 2), iota(2, 3)], 5),
    Case("select everything", SELECT, [iota(0), iota(2, 3)], lambda idx, a: a),
    Case("count", COMPRESS, [mask(3, 4)], np.sum),
    Case("inner product of matrices", INNER, [real(2, 3), real(3, 4)], np.matmul),
    Case("inner product of vectors", INNER, [real(3), real(3, seed=1)], np.dot),
    Case("inner product of a cube and a matrix", INNER, [real(2, 2, 3), real(3, 4)], np.matmul),
    Case("inner product of a vector and a matrix", INNER, [real(3), real(3, 4)], np.matmul),
    Case("padding of a matrix", PAD, [iota(2, 3) + 1, 1], lambda a, w: np.pad(a, 1)),
    Case("padding of a vector", PAD, [iota(3) + 1, 2], lambda a, w: np.pad(a, 2)),
    Case("padding by nothing", PAD, [iota(2, 3) + 1, 0], lambda a, w: a),
    Case("triangle", TRIANGLE, [iota(3, 4)], np.tril),
    Case("blocks", BLOCKS, [iota(4, 6), 2], lambda a, s: a.reshape(2, 2, 3, 2).swapaxes(1, 2)),
    Case("pairs", PAIRS, [iota(2), iota(3)], lambda a, b: np.stack(np.meshgrid(a, b, indexing="ij"), -1)),
]
