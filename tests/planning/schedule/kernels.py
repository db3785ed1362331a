"""The kernels whose schedules are checked, with small argument shapes, because every point is visited."""

from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp

import tcjax

from .program import Program, program_of


@dataclass(frozen=True, slots=True)
class Example:
    """A kernel's text and arguments, ``"5,16 int32:7"``."""

    text: str
    arguments: str
    dialect: str = "tc"


def kernel_of(name: str) -> tcjax.Kernel:
    """The compiled kernel of an example."""
    return _compiled(name)[0]


def arguments_of(name: str) -> list[jax.ShapeDtypeStruct]:
    return specs(EXAMPLES[name].arguments)


def program(name: str) -> Program:
    """The program as the oracle visits it."""
    return _compiled(name)[1]


@cache
def _compiled(name: str) -> tuple[tcjax.Kernel, Program]:
    example = EXAMPLES[name]
    kernel = tcjax.kernel(example.text, dialect=example.dialect)
    return kernel, program_of(kernel, specs(example.arguments))


def specs(text: str) -> list[jax.ShapeDtypeStruct]:
    """The arguments of a line."""
    found = []
    for word in text.split():
        dtype, _, shape = word.rpartition(":")
        extents = tuple(int(n) for n in shape.split(",")) if shape != "-" else ()
        found.append(jax.ShapeDtypeStruct(extents, jnp.dtype(dtype or "float32")))
    return found


EXAMPLES: dict[str, Example] = {
    # The six examples of the InferBound document, and its pictures.
    "pointwise": Example("def f(float(I,J) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(di,dj) = C(di,dj) + 1.0 }", "5,16"),
    "square": Example("def f(float(I,J) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(di,dj) = C(di,dj) + 1.0 }", "4,4"),
    "broadcast": Example(
        "def f(float(J,K) A, float(I) B) -> (D) { C(j,k) = A(j,k) * 2.0  D(di,dj,dk) = C(dj,dk) + B(di) }", "5,16 4"
    ),
    "chain": Example(
        """def f(float(I,J) A) -> (E) {
             C(i,j) = A(i,j) * 2.0
             D(di,dj) = C(di,dj) + 1.0
             E(ei,ej) = D(ei,ej) * 3.0
           }""",
        "5,16",
    ),
    "line": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(di) = C(di) + 1.0 }", "20"),
    "hundred": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(di) = C(di) + 1.0 }", "100"),
    "far_parts": Example("def f(float(N) A) -> (D) { T(i) = A(i) * 2.0  D(j) = T(j) + T(j+10) where j in 0:3 }", "20"),
    "corners": Example(
        """def f(float(N,M) A) -> (D, E) {
             T(i,j) = A(i,j) * 2.0
             D(x,y) = T(x,y) where x in 0:2, y in 0:2
             E(u,v) = T(u+2,v+2) where u in 0:2, v in 0:2
           }""",
        "8,8",
    ),
    # Stencils.
    "stencil": Example("def f(float(N) A) -> (B) { C(i) = A(i) * 2.0  B(x) = C(x-1) + C(x) + C(x+1) }", "30"),
    "stencil_2d": Example(
        """def f(float(H,W) A) -> (B) {
             C(i,j) = A(i,j) * 2.0
             B(y,x) = C(y-1,x) + C(y+1,x) + C(y,x) + C(y,x-1) + C(y,x+1)
           }""",
        "15,19",
    ),
    "blur": Example(
        """def f(float(H,W) A) -> (B) {
             C(i,j) = A(i,j) + A(i,j+1) + A(i,j+2)
             B(y,x) = C(y,x) + C(y+1,x) + C(y+2,x)
           }""",
        "14,18",
    ),
    "inner": Example(
        "def f(float(N) A) -> (B) { C(i) = A(i) * 2.0 where i in 1:N-1  B(x) = C(x) + A(x-1) where x in 2:N-2 }", "25"
    ),
    "sheared": Example(
        "def f(float(H,W) A) -> (B) { C(i,j) = A(i,j) * 2.0  B(y,x) = C(y,x+y) where y in 0:6, x in 0:10 }", "6,16"
    ),
    # Convolutions and pools.
    "conv_1d": Example("def f(float(N) A, float(K) W) -> (O) { C(i) = A(i) * 2.0  O(x) +=! C(x+k) * W(k) }", "24 5"),
    "conv_conv": Example(
        """def f(float(H,W) A, float(KH,KW) U, float(KH,KW) V) -> (O) {
             C(i,j) +=! A(i+p,j+q) * U(p,q)
             O(y,x) +=! C(y+ky,x+kx) * V(ky,kx)
           }""",
        "15,19 3,3 3,3",
    ),
    "conv_relu_pool": Example(
        """def f(float(H,W) A, float(KH,KW) U) -> (O) {
             C(i,j) +=! A(i+p,j+q) * U(p,q)
             R(u,v) = fmax(C(u,v), 0.0)
             O(y,x) max=! R(2*y+s,2*x+t) where s in 0:2, t in 0:2
           }""",
        "14,18 3,3",
    ),
    "strided_conv": Example(
        "def f(float(N) A, float(K) W) -> (O) { C(i) = A(i) * 2.0  O(x) +=! C(3*x+k) * W(k) }", "26 4"
    ),
    "dilated": Example("def f(float(N) A, float(K) W) -> (O) { C(i) = A(i) * 2.0  O(x) +=! C(x+5*k) * W(k) }", "24 3"),
    # Reductions and layers.
    "mlp": Example(
        """def f(float(B,I) x, float(I,H) w1, float(H,O) w2) -> (y) {
             h(b,n) +=! x(b,i) * w1(i,n)
             y(r,o) +=! fmax(h(r,m), 0.0) * w2(m,o)
           }""",
        "7,5 5,10 10,6",
    ),
    "mlp_bias": Example(
        """def f(float(B,I) x, float(I,H) w1, float(H) c, float(H,O) w2) -> (y) {
             h(b,n) +=! x(b,i) * w1(i,n)
             a(u,v) = fmax(h(u,v) + c(v), 0.0)
             y(r,o) +=! a(r,m) * w2(m,o)
           }""",
        "6,4 4,9 9 9,5",
    ),
    "softmax": Example(
        """def f(float(N,D) x) -> (y) {
             m(a) max=! x(a,b)
             e(c,d) = exp(x(c,d) - m(c))
             s(p) +=! e(p,q)
             y(u,v) = e(u,v) / s(u)
           }""",
        "6,11",
    ),
    "moments": Example(
        """def f(float(N,D) x) -> (y) {
             s(a) +=! x(a,b)
             v(c) +=! (x(c,d) - s(c)) * (x(c,d) - s(c))
             y(p,q) = (x(p,q) - s(p)) * rsqrt(v(p))
           }""",
        "5,8",
    ),
    "matmul_scaled": Example(
        "def f(float(M,K) A, float(K,N) B) -> (C) { S(a,b) = A(a,b) * 0.5  C(i,j) +=! S(i,k) * B(k,j) }", "9,13 13,7"
    ),
    "row_sums": Example("def f(float(N,M) A) -> (D) { C(i) +=! A(i,k)  D(u,v) = A(u,v) - C(u) }", "7,9"),
    "inline_sum": Example(
        "def f(float(N,M) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u) = sum[k](C(u,k)) + max[l](C(u,l)) }", "7,9"
    ),
    "inline_triangle": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(t) = mean[s where s <= t](C(s)) where t in 0:N }", "13"
    ),
    "window_sum": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(t) = sum[s in 0:4](C(t+s)) }", "15"),
    "total": Example("def f(float(N,M) A) -> (s) { C(i,j) = A(i,j) * 2.0  s +=! C(u,v) }", "6,7"),
    "from_scalar": Example("def f(float(N) A) -> (D) { s +=! A(k)  D(i) = A(i) / s }", "9"),
    # How elements are read.
    "transposed": Example("def f(float(N,M) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u,v) = C(v,u) + 1.0 }", "7,10"),
    "diagonal": Example("def f(float(N,N) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u) = C(u,u) + 1.0 }", "12,12"),
    "antidiagonal": Example("def f(float(N,N) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u) = C(u,N-1-u) + 1.0 }", "12,12"),
    "reversed": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = C(N-1-u) + 1.0 }", "22"),
    "every_fifth": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = C(5*u) + 1.0 }", "41"),
    "downsampled": Example(
        "def f(float(H,W) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(y,x) = C(2*y,3*x+1) + 1.0 }", "11,17"
    ),
    "repeated": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = C(u/3) + 1.0 }", "9"),
    "wrapped": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = C(u % 6) + A(u) }", "26"),
    "rotated": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = C((u + 5) % N) + 1.0 where u in 0:N }", "16"
    ),
    "flattened": Example(
        "def f(float(N,M) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u) = C(u/6,u%6) where u in 0:N*6 }", "5,6"
    ),
    "folded": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u,v) = C(4*u+v) where v in 0:4 }", "28"),
    "rows_of_columns": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u,v) = C(u+7*v) where u in 0:7, v in 0:4 }", "28"
    ),
    "mirrored": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = C(min(u, N-1-u)) + 1.0 where u in 0:N }", "19"
    ),
    "clamped": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = C(max(u-2, 0)) + C(min(u+2, N-1)) where u in 0:N }", "21"
    ),
    "gathered": Example(
        "def f(float(N,M) A, int32(K) I) -> (D) { C(i,j) = A(i,j) * 2.0  D(u,v) = C(I(u),v) + 1.0 }", "6,8 int32:10"
    ),
    "gathered_index": Example("def f(float(N) A, int32(K) I) -> (D) { J(i) = I(i) + 1  D(u) = A(J(u)) }", "9 int32:14"),
    # Conditions around reads.
    "padded": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = u >= 3 && u < N+3 ? C(u-3) : 0.0 where u in 0:N+6 }", "17"
    ),
    "padded_conv": Example(
        """def f(float(N) A, float(K) W) -> (O) {
             C(i) = A(i) * 2.0
             P(u) = u >= 2 && u < N+2 ? C(u-2) : 0.0 where u in 0:N+4
             O(x) +=! P(x+k) * W(k)
           }""",
        "19 5",
    ),
    "two_sides": Example(
        "def f(float(N) A, float(N) B) -> (D) { C(i) = A(i) * 2.0  D(u) = u < 7 ? C(u) : B(u) }", "20 20"
    ),
    "either": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = A(u) > 0.0 ? C(u) : 0.0 where u in 0:N }", "18"
    ),
    "triangle": Example("def f(float(N,N) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u) +=! C(u,v) where v <= u }", "11,11"),
    "band": Example(
        "def f(float(N,N) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u) +=! C(u,v) where v in u-1:u+2, u in 1:N-1 }", "12,12"
    ),
    "even_only": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = u % 2 == 0 ? C(u) : 0.0 where u in 0:N }", "21"
    ),
    "moving_ends": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) +=! C(v) where u in 0:6, v in 2*u:2*u+3 }", "14"
    ),
    # Several consumers, longer chains.
    "two_halos": Example(
        """def f(float(N) A) -> (D) {
             C(i) = A(i) * 2.0
             L(l) = C(l) + C(l+1)
             D(u) = L(u) + C(u+3)
           }""",
        "27",
    ),
    "two_outputs": Example(
        """def f(float(N) A) -> (D, E) {
             C(i) = A(i) * 2.0
             D(u) = C(u) + 1.0
             E(v) = C(v+1) * 2.0
           }""",
        "23",
    ),
    "diamond": Example(
        """def f(float(N,M) A) -> (D) {
             C(i,j) = A(i,j) * 2.0
             P(a,b) = C(a,b) + C(a+1,b)
             Q(c,d) = C(c,d) + C(c,d+2)
             D(u,v) = P(u,v) * Q(u,v)
           }""",
        "9,12",
    ),
    "three_stencils": Example(
        """def f(float(N) A) -> (E) {
             B(a) = A(a) * 2.0
             C(c) = B(c) + B(c+1) + B(c+2)
             D(d) = C(d) + C(d+1)
             E(e) = D(e) + D(e+3)
           }""",
        "31",
    ),
    # Loops of one name, shapes of 1 and 0, other notations.
    "same_names": Example(
        """def f(float(N,M) A) -> (E) {
             C(i,j) = A(i,j) * 2.0
             D(i,j) = C(i,j) + C(i,j+1)
             E(i,j) = D(i,j) + D(i+1,j)
           }""",
        "6,9",
    ),
    "ones": Example("def f(float(I,J) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(di,dj) = C(di,dj) + 1.0 }", "1,7"),
    "nothing": Example("def f(float(I,J) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(di,dj) = C(di,dj) + 1.0 }", "0,7"),
    "empty_sum": Example("def f(float(M,K) A) -> (C) { S(a,b) = A(a,b) * 0.5  C(i) +=! S(i,k) }", "4,0"),
    "sac_layer": Example(
        """float[n,o] layer(float[n,m] x, float[m,o] w, float[o] b) {
             h = { [i,k] -> x[i,k] * 2.0f };
             g = { [p,q] -> sum({ [k] -> h[p,k] * w[k,q] }) };
             return { [r,s] -> fmax(g[r,s] + b[s], 0.0f) };
           }""",
        "6,4 4,9 9",
        "sac",
    ),
    "sac_stencil": Example(
        """float[*] relax(float[n] a) {
             c = { [i] -> 2.0f * a[i] };
             return { [j] -> c[j-1] + c[j+1] | . < [j] < .; [j] -> c[j] };
           }""",
        "18",
        "sac",
    ),
    # Statements on one tensor, left sides that are more than indices, and other oddities.
    "bias_first": Example(
        """def f(float(B,I) x, float(I,H) w, float(H) c) -> (y) {
             t(a,i) = x(a,i) * 2.0
             h(b,n) = c(n) where b in 0:B
             h(p,q) += t(p,k) * w(k,q)
             y(u,v) = fmax(h(u,v), 0.0)
           }""",
        "6,4 4,9 9",
    ),
    "histogram": Example(
        "def f(int32(N) bin, float(N) A) -> (float(12) H) { C(i) = A(i) * 2.0  H(bin(k)) +=! C(k) }", "int32:15 15"
    ),
    "interleaved": Example("def f(float(N,2) A) -> (O) { C(i,r) = A(i,r) * 2.0  O(2*u+v) = C(u,v) }", "9,2"),
    "on_the_diagonal": Example("def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u,u) = C(u) }", "8"),
    "between": Example("def f(float(M,N) A) -> (O) { C(i,j) = A(i,j) * 2.0  O(n,0,m) = C(m,n) }", "5,6"),
    "turned_left": Example("def f(float(M,N) A) -> (D) { C(j,i) = A(i,j) * 2.0  D(u,v) = C(v,u) + C(v,0) }", "6,8"),
    "below_zero": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i+3) where i in -3:N-3  D(u) = C(u-1) + C(u+2) where u in -2:N-5 }", "20"
    ),
    "far_from_zero": Example(
        """def f(float(N) A) -> (E) {
             C(i) = A(i-10) where i in 10:N+10
             D(u) = C(u) + C(u+1) where u in 12:N+8
             E(e) = D(e) + D(e+2) where e in 13:N+4
           }""",
        "24",
    ),
    "products": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u,v) = C(u*v) where u in 0:5, v in 0:6 }", "21"
    ),
    "largest": Example("def f(float(N,M) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u) argmax=! C(u,v) }", "7,9"),
    "second_largest": Example(
        "def f(float(N,M) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(u,r) = maxk[v](C(u,v), r) where r in 0:2 }", "7,9"
    ),
    "nested_sums": Example(
        """def f(float(N,M) A) -> (D) {
             C(i,j) = A(i,j) * 2.0
             D(u) = sum[k where k >= u](C(u,k) * max[l where l <= k](C(k,l))) where u in 0:6
           }""",
        "8,8",
    ),
    "elses": Example(
        """def f(float(N) A) -> (D) {
             C(i) = A(i) * 2.0
             D(u) = u < 5 ? C(u) : u < 9 && u % 2 == 0 ? C(u+2) : u > 12 || u == 10 ? C(u-4) : 0.0 where u in 0:N
           }""",
        "18",
    ),
    "not_here": Example(
        "def f(float(N) A) -> (D) { C(i) = A(i) * 2.0  D(u) = !(u < 4 || u >= 11) ? C(u) : A(u) where u in 0:N }", "16"
    ),
    "attention": Example(
        """def f(float(T,D) q, float(T,D) k, float(T,D) v) -> (o) {
             s(a,b) +=! q(a,d) * k(b,d) where b <= a
             m(c) max=! s(c,e)
             p(f,g) = exp(s(f,g) - m(f))
             z(h) +=! p(h,l)
             r(t,n) +=! p(t,w) * v(w,n)
             o(x,y) = r(x,y) / z(x)
           }""",
        "8,3 8,3 8,3",
    ),
    "grouped_conv": Example(
        """def f(float(N,G,C,W) I, float(G,F,C,K) V) -> (O) {
             R(n,g,c,w) = fmax(I(n,g,c,w), 0.0)
             O(b,h,f,x) +=! R(b,h,a,x+k) * V(h,f,a,k)
           }""",
        "2,2,3,9 2,2,3,3",
    ),
    "upsampled": Example(
        """def f(float(H,W) A) -> (D) {
             C(i,j) = A(i,j) * 2.0
             U(a,b) = C(a/2,b/2)
             D(y,x) = U(y,x) + U(y+1,x) + U(y,x+1)
           }""",
        "5,6",
    ),
    "shuffled": Example(
        "def f(float(N,M) A) -> (D) { C(i,j) = A(i,j) * 2.0  D(y,x) = C(y/2, 4*(y%2)+x) where y in 0:8, x in 0:4 }",
        "4,8",
    ),
    "sac_columns": Example(
        "c = { [i,j] -> 2.0f * x[i,j] }; { [u,v] -> c[u,v] / sum({ [k] -> c[k,v] }) | [u,v] < shape(x) }",
        "6,5",
        "sac",
    ),
    "sac_steps": Example(
        "c = { [i] -> 2.0f * x[i] }; { [u] -> c[2*u] + c[2*u+1] | [u] < shape(x) / 2 }",
        "14",
        "sac",
    ),
    "sac_rotated": Example("c = { [i] -> 2.0f * x[i] }; { [u] -> c[(u + 3) % 12] | [u] < [12] }", "12", "sac"),
}
