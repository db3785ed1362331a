"""Functions of a text: type patterns, guards, recursion, several results; values that decide shapes; "
"functions of JAX."""

import jax
import jax.numpy as jnp
import numpy as np

from ...program import real
from ..case import Case, iota, vector

PATTERNS = [
    Case("a scalar", "int f(int n) { return n + 1; }", [np.int32(4)], 5),
    Case("a float", "float f(float x) { return x * x; }", [np.float32(1.5)], 2.25),
    Case("a bool", "bool f(bool p) { return !p; }", [np.bool_(True)], False),
    Case("an axis of any extent", "float[.] f(float[.] x) { return x + x; }", [(3,)], lambda x: 2 * x),
    Case("two axes of any extent", "float[.,.] f(float[.,.] x) { return x + x; }", [(3, 2)], lambda x: 2 * x),
    Case("an axis of a known extent", "float[3] f(float[3] x) { return x + x; }", [(3,)], lambda x: 2 * x),
    Case("a named axis", "int[n] f(int[n] x) { return x + n; }", [iota(3)], lambda x: x + 3),
    Case("two named axes", "int f(int[m,n] x) { return 10 * m + n; }", [iota(2, 3)], 23),
    Case("a name twice in one pattern", "int[n] f(int[n,n] x) { return { [i] -> x[i,i] }; }", [iota(3, 3)], [0, 4, 8]),
    Case("a name in two parameters", "float[n] f(float[n] x, float[n] y) { return x * y; }", [(3,), (3,)], np.multiply),
    Case(
        "a product of matrices",
        "float[m,n] mm(float[m,k] a, float[k,n] b) { return { [i,j] -> sum({ [l] -> a[i,l] * b[l,j] }) }; }",
        [(2, 3), (3, 4)],
        np.matmul,
    ),
    Case(
        "a name as a bound",
        "int[n] f(int[n] x) { return { [i] -> x[n - 1 - i] | [i] < [n] }; }",
        [iota(4)],
        [3, 2, 1, 0],
    ),
    Case("any rank", "float[*] f(float[*] x) { return { iv -> x[iv] + x[iv] }; }", [(2, 3)], lambda x: 2 * x),
    Case("any rank, zero", "float[*] f(float[*] x) { return x + x; }", [()], lambda x: 2 * x),
    Case("any rank above zero", "float[*] f(float[+] x) { return x[0]; }", [(2, 3)], lambda x: x[0]),
    Case("two axes by name", "int[2] f(int[2:shp] x) { return shp; }", [iota(3, 4)], [3, 4]),
    Case("a rank and a shape by name", "int f(int[d:shp] x) { return d; }", [iota(3, 4, 2)], 3),
    Case(
        "a shape by name as a bound",
        "int[*] f(int[d:shp] x) { return { iv -> x[iv] + d | iv < shp }; }",
        [iota(3, 4)],
        lambda x: x + 2,
    ),
    Case(
        "a shape by name, no axes",
        "int[*] f(int[d:shp] x) { return { iv -> x[iv] + d | iv < shp }; }",
        [np.int32(7)],
        7,
    ),
    Case("a rank above zero by name", "int[d] f(int[d>0:shp] x) { return shp; }", [iota(3, 4)], [3, 4]),
    Case(
        "an axis before a shape",
        "int[*] f(int[n,d:shp] x) { return { iv -> x[[0] ++ iv] + n | iv < shp }; }",
        [iota(2, 3, 4)],
        lambda x: x[0] + 2,
    ),
    Case("an axis after a shape", "int f(int[d:shp,n] x) { return 10 * d + n; }", [iota(2, 3, 4)], 24),
    Case("a shape between two axes", "int f(int[m,d:shp,n] x) { return 100 * m + 10 * d + n; }", [iota(2, 3, 4)], 214),
    Case(
        "a shape between two axes, of no axes",
        "int f(int[m,d:shp,n] x) { return 100 * m + 10 * d + n; }",
        [iota(2, 4)],
        204,
    ),
    Case(
        "a rank that another parameter fixes",
        "int[*] f(int[o] idx, int[o:oshp,i:ishp] a) { return { iv -> a[idx ++ iv] | iv < ishp }; }",
        [vector(1), iota(2, 3)],
        lambda idx, a: a[1],
    ),
    Case(
        "a rank that another parameter fixes to all",
        "int[*] f(int[o] idx, int[o:oshp,i:ishp] a) { return { iv -> a[idx ++ iv] | iv < ishp }; }",
        [vector(1, 2), iota(2, 3)],
        5,
    ),
    Case(
        "a shape in two parameters",
        "int[d:shp] f(int[d:shp] x, int[d:shp] y) { return x + y; }",
        [iota(2, 3), iota(2, 3)],
        np.add,
    ),
    Case(
        "a half",
        "float16[n] f(float16[n] x) { return x + 1; }",
        [real(3).astype("float16")],
        lambda x: x + 1,
        "float16",
        tolerance=2e-3,
    ),
    Case("a byte", "uint8[n] f(uint8[n] x) { return x + 1; }", [iota(3).astype("uint8")], [1, 2, 3], "uint8"),
    Case("a number of Python for a float", "float f(float x) { return x / 2.0; }", [3], 1.5),
    Case("a list of Python for floats", "float[n] f(float[n] x) { return x / 2.0; }", [[3.0, 1.0]], [1.5, 0.5]),
]

BODIES = [
    Case("definitions", "float[n] f(float[n] x) { y = x * x; z = y + x; return z - y; }", [(3,)], lambda x: x),
    Case(
        "a definition of a definition's shape",
        "int[*] f(int[n] x) { y = x ++ x; m = shape(y)[0]; return { [i] -> y[m - 1 - i] | [i] < [m] }; }",
        [iota(2)],
        [1, 0, 1, 0],
    ),
    Case("a guard that holds", "int f(int[n] x) | n > 2 { return x[2]; }", [iota(3)], 2),
    Case("a guard by a comma", "int f(int[n] x), n > 2 { return x[2]; }", [iota(3)], 2),
    Case("two guards", "int f(int[m,n] x) | m > 1, n > 2 { return x[1,2]; }", [iota(2, 3)], 5),
    Case(
        "a guard over two parameters",
        "int[*] f(int[m] x, int[n] y) | m <= n { return { [i] -> x[i] + y[i] }; }",
        [iota(2), iota(3)],
        [0, 2],
    ),
    Case("a function before an expression", "int g(int x) { return x * 2; } g(a) + 1", [np.int32(4)], 9),
    Case("a function on cells", "int g(int x) { return x * 2; } { iv -> g(a[iv]) }", [iota(2, 3)], lambda a: 2 * a),
    Case(
        "a function on rows",
        "int[n] g(int[n] x) { return { [i] -> x[n - 1 - i] | [i] < [n] }; } { [i] -> g(a[i]) }",
        [iota(2, 3)],
        lambda a: a[:, ::-1],
    ),
    Case(
        "a function on columns",
        "int[*] g(int[n] x) { return x ++ [n]; } { [.,j] -> g(a[.,j]) }",
        [iota(2, 2)],
        [[0, 1], [2, 3], [2, 2]],
    ),
    Case(
        "a function called twice with two shapes", "int g(int[n] x) { return n; } g(a) + 10 * g(a ++ a)", [iota(3)], 63
    ),
    Case(
        "a function called at two ranks",
        "int[*] g(int[*] x) { return x + 1; } g(a) + g(a[0])",
        [iota(3)],
        lambda a: a + 2,
    ),
    Case(
        "a function with an index as argument",
        "int g(int[n] x, int k) { return x[k] * k; } { [i] -> g(a, i) | [i] < [3] }",
        [iota(3)],
        [0, 1, 4],
    ),
    Case(
        "a function with an index vector as argument",
        "int[*] g(int[*] x, int[n] iv) { return x[iv]; } { iv -> g(a, reverse(iv)) | iv < [3,2] }",
        [iota(2, 3)],
        lambda a: a.T,
    ),
    Case(
        "a function that calls a function",
        "int g(int x) { return x + 1; } int h(int x) { return g(g(x)); } h(a)",
        [np.int32(1)],
        3,
    ),
    Case(
        "a function of functions alone: the one nobody calls",
        "int g(int x) { return x + 1; } int h(int x) { return 2 * g(x); }",
        [np.int32(1)],
        4,
    ),
    Case(
        "a function of functions alone, defined first",
        "int h(int x) { return 2 * g(x); } int g(int x) { return x + 1; }",
        [np.int32(1)],
        4,
    ),
    Case("a function's names are its own", "int g(int x) { y = x + 1; return y; } y = 10; g(y) + y", [], 21),
    Case("a function's sizes are its own", "int g(int[n] x) { return n; } n = 5; g(a) + n", [iota(2)], 7),
    Case(
        "a function with a comprehension's result",
        "float g(float[n] x) { return sum({ [i] -> x[i] * x[i] }); } { [i] -> g(a[i]) }",
        [(3, 4)],
        lambda a: (a * a).sum(1),
    ),
    Case("a function in a bound", "int g(int x) { return x - 1; } { [i] -> i | [i] < [g(4)] }", [], [0, 1, 2]),
    Case(
        "a function that keeps a shape static",
        "int[n] g(int[n] x) { return x + 1; } { iv -> 1 | iv < g(shape(a)) }",
        [(1, 2)],
        np.ones((2, 3), int),
    ),
    Case("a function without parameters", "int g() { return 5; } g() + a", [np.int32(1)], 6),
    Case("an unused function before an expression", "int g(int x) { return x + 1; } a + a", [iota(2)], lambda a: 2 * a),
]

RECURSION = [
    Case(
        "over ranks", "int[*] total(int[*] x) { return dim(x) == 0 ? x : total(rsum(1, x)); }", [iota(2, 3, 4)], np.sum
    ),
    Case(
        "over ranks, none", "int[*] total(int[*] x) { return dim(x) == 0 ? x : total(rsum(1, x)); }", [np.int32(7)], 7
    ),
    Case(
        "over ranks, by rows",
        "int[*] swap(int[*] x) { return dim(x) <= 1 ? x : { [...,i] -> swap(x[i]) }; }",
        [iota(2, 3, 4)],
        np.transpose,
    ),
    Case(
        "over extents",
        "int[*] scan(int[n] x) { return n == 1 ? x : scan(drop([-1], x)) ++ [sum(x)]; }",
        [iota(5)],
        np.cumsum,
    ),
    Case("over a number that is written", "int fact(int n) { return n <= 1 ? 1 : n * fact(n - 1); } fact(5)", [], 120),
    Case(
        "over a number that is written, twice",
        "int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } fib(9)",
        [],
        34,
    ),
    Case(
        "over steps with an array",
        "int[n] steps(int k, int[n] x) { return k == 0 ? x : steps(k - 1, x + x); } steps(4, a)",
        [iota(3)],
        lambda a: 16 * a,
    ),
    Case(
        "of two functions",
        "bool even(int n) { return n == 0 ? true : odd(n - 1); "
        "} bool odd(int n) { return n == 0 ? false : even(n - 1); } even(7)",
        [],
        False,
    ),
    Case(
        "a tree of sums",
        "int tree(int[n] x) { return n == 1 ? x[0] : tree(take([n / 2], x)) + tree(drop([n / 2], x)); }",
        [iota(7)],
        21,
    ),
]

RESULTS = [
    Case("two results", "int[n], int[n] f(int[n] x) { return (x + 1, x * 2); }", [iota(3)], lambda x: (x + 1, x * 2)),
    Case(
        "two results of different types",
        "int, float[n] f(float[n] x) { return (n, x / 2.0); }",
        [(3,)],
        lambda x: (3, x / 2),
    ),
    Case("three results", "int, int, int f(int[a,b,c] x) { return (c, b, a); }", [iota(2, 3, 4)], (4, 3, 2)),
    Case(
        "two results that are named",
        "int, int f(int a, int b) { return (a / b, a % b); } q, r = f(a, b); q * 100 + r",
        [np.int32(17), np.int32(5)],
        302,
    ),
    Case(
        "two results of which one is read", "int, int f(int a) { return (a, a + 1); } q, r = f(a); r", [np.int32(1)], 2
    ),
    Case(
        "two results inside a function",
        "int, int f(int a) { return (a, a + 1); } int g(int a) { q, r = f(a); return q * r; }",
        [np.int32(3)],
        12,
    ),
    Case(
        "a comprehension of two results",
        "int, int f(int a) { return (a, a * a); } p, q = { [i] -> f(a[i]) }; q - p",
        [iota(4)],
        lambda a: a * a - a,
    ),
    Case(
        "a comprehension of two results of rows",
        "int, int[n] f(int[n] a) { return (sum(a), a + 1); } s, t = { [i] -> f(a[i]) }; { [i] -> s[i] + t[i] }",
        [iota(2, 3)],
        lambda a: a + 1 + a.sum(1, keepdims=True),
    ),
]

STATIC = [
    Case("take as many as an argument", "take(n, v)", [2, iota(5)], lambda n, v: v[:n]),
    Case("take as many as an argument, from the end", "take(n, v)", [-2, iota(5)], lambda n, v: v[n:]),
    Case("drop as many as an argument", "drop([n], v)", [2, iota(5)], lambda n, v: v[n:]),
    Case("take by an argument's vector", "take(n, v)", [[2, 1], iota(3, 4)], lambda n, v: v[:2, :1]),
    Case("reshape by an argument", "reshape(shp, v)", [[3, 2], iota(6)], lambda shp, v: v.reshape(3, 2)),
    Case("genarray by an argument", "genarray(shp, x)", [[2, 2], np.int32(7)], np.full((2, 2), 7)),
    Case("iota of an argument", "iota(n)", [4], [0, 1, 2, 3]),
    Case("iota of a computed argument", "iota(2 * n + 1)", [2], [0, 1, 2, 3, 4]),
    Case("tile by arguments", "tile(s, [1], v)", [[2], iota(4)], [1, 2]),
    Case("rsum by an argument", "rsum(r, v)", [1, iota(2, 3)], lambda r, v: v.sum(0)),
    Case("a bound through a function", "int[.] g(int m) { return { [i] -> i | [i] < [m] }; } g(n)", [3], [0, 1, 2]),
    Case("a bound through a definition", "m = 2 * n; { [i] -> i | [i] < [m] }", [2], [0, 1, 2, 3]),
    Case(
        "a parameter that decides a shape",
        "float[.] f(float[.] x, int n) { return take([n], x); }",
        [(4,), 2],
        lambda x, n: x[:2],
    ),
    Case("a value that decides a shape and is computed with", "{ [i] -> i + n | [i] < [n] }", [3], [3, 4, 5]),
    Case("a value that decides no shape may be traced", "{ [i] -> i + n | [i] < [3] }", [np.int32(5)], [5, 6, 7]),
    Case("a lower bound from an argument", "{ [i] -> v[i] | [n] <= [i] }", [iota(4), 2], [0, 0, 2, 3]),
    Case("a length of a cell", "{ [i] -> drop([n], a[i]) }", [2, iota(2, 3)], lambda n, a: a[:, n:]),
]

FOREIGN = [
    Case("a function of JAX on a cell", "{ [i] -> f(a[i]) }", [(3, 4)], lambda a: a.cumsum(1), fns={"f": jnp.cumsum}),
    Case(
        "a function of JAX on elements",
        "{ iv -> f(a[iv]) }",
        [(3, 4)],
        lambda a: a / (1 + np.exp(-a)),
        fns={"f": jax.nn.silu},
    ),
    Case(
        "a function of JAX on everything",
        "f(a)",
        [(3, 4)],
        lambda a: a.cumsum(),
        fns={"f": lambda x: jnp.cumsum(x.ravel())},
    ),
    Case(
        "a function of JAX on columns", "{ [.,j] -> f(a[.,j]) }", [(3, 4)], lambda a: np.sort(a, 0), fns={"f": jnp.sort}
    ),
    Case(
        "a function of JAX that makes a scalar", "{ [i] -> f(a[i]) }", [(3, 4)], lambda a: a.std(1), fns={"f": jnp.std}
    ),
    Case(
        "a function of JAX that makes a matrix",
        "{ [i] -> f(a[i]) }",
        [(3, 2)],
        lambda a: a[:, :, None] * a[:, None],
        fns={"f": lambda v: jnp.outer(v, v)},
    ),
    Case(
        "a function of JAX that no cell reaches",
        "{ [i] -> f(a[i]) }",
        [(0, 4)],
        np.zeros((0, 4)),
        fns={"f": jnp.cumsum},
    ),
    Case("a function of JAX of two cells", "{ [i] -> f(a[i], b) }", [(3, 4), (4,)], np.matmul, fns={"f": jnp.dot}),
    Case(
        "a function of JAX, then more",
        "{ [i] -> f(a[i]) + i }",
        [(2, 3)],
        lambda a: a.sum(1) + np.arange(2),
        fns={"f": jnp.sum},
    ),
    Case(
        "a function of JAX in a function",
        "float[*] g(float[n] x) { return f(x) * 2.0; } { [i] -> g(a[i]) }",
        [(2, 3)],
        lambda a: 2 * np.sort(a),
        fns={"f": jnp.sort},
    ),
]
