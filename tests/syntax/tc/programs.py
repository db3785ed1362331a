"""Programs of TC's documents, papers and benchmarks, and of tcjax's additions: all of them read."""

PROGRAMS = (
    "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
    """
# A comment before a def,
def conv(float(N,C,H,W) I, float(M,C,KH,KW) W1) -> (O) {  # behind a brace,
  O(n,m,h,w) +=!  # inside of a statement
    I(n,c,h+kh,w+kw) * W1(m,c,kh,kw)
}
# and behind the last def.""",
    "def strided(float(N,C,H,W) I, float(C,KH) W1) -> (O) { O(n,h) +=! I(n,c,2*h+kh,3*kh) * W1(c,kh) }",
    "def maxpool(float(B,C,H,W) I) -> (O) { O(b,c,h,w) max=! I(b,c,2*h+kh,2*w+kw) where kh in 0:3, kw in 0:3 }",
    "def maxpool(float(B,C,H,W) I) -> O { O(b,c,h,w) max= I(b,c,2*h+kh,2*w+kw) where kh in 0..2, kw in 0..2 }",
    "def sub(float(N) A) -> (B) { B(i) = A(123 * i) }",
    "def flip(float(N) A) -> (B) { B(i) = A(N - 1 - i) }",
    "def stencil(float(N) A) -> (B) { B(i) = A(i-1) + A(i) + A(i+1) }",
    """
def backward(float(N,M,OH,OW) d_O, float(M,C,KH,KW) W, float(N,C,H,W_) I) -> (d_I, d_W) {
  d_I(n,c,h,w) +=! d_O(n,m,h-kh,w-kw) * W(m,c,kh,kw)
  d_W(m,c,kh,kw) +=! d_O(n,m,h-kh,w-kw) * I(n,c,h,w)
}""",
    "def diagonal(float(N,M) A) -> (B, t) { B(i) = A(i,i) t +=! A(i,i) }",
    "def concat(float(M,N) A, float(M,N) B) -> (O) { O(n,i,m) = i == 0 ? A(m,n) : B(m,n) where i in 0:2 }",
    "def lut(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }",
    "def perforated(float(N,C,L) I, int32(N,L) index) -> (O) { O(n,l) +=! I(n,c,index(n,l)+kh) where kh in 0:3 }",
    "def moments(float(N,K) I) -> (mean, var) { mean(n) +=! I(n,r) mean(n) = mean(n) / K var(n) +=! I(n,r) * I(n,r) }",
    """
def softmax(float(N,D) I) -> (O, top, total) {
  top(n) max=! I(n,d)
  O(n,d) = exp(I(n,d) - top(n))
  total(n) +=! O(n,d)
  O(n,d) = O(n,d) / total(n)
}""",
    "def argmin(float(N) S) -> (v, idx) { v min=! S(i) idx min=! (S(i) == v) ? i : N }",
    "def weird(float(N) A) -> (B) { B(i) = -3%2+4*5+7-A(i) }",
    "def lets(float(N) A) -> (B) { B(i) = A(j) + t where j = i+3, t = A(j) * 2.0, exists A(i), i in 0:N }",
    "def scalars(float a, float() b) -> (O) { O() = a + b() }",
    "def relu(float(B,N) X) -> (Y) { Y(b,n) = fmax(X(b,n), 0) <=> relu(X, 3) where b in 0:B }",
    "def typed(bool(N) a, double(N) b) -> (double(N) O) { O(i) = a(i) && !(b(i) < .5) ? double(1.) : float64(3E-5) }",
    "def nothing() -> () {}",
    "def two(float(N) A) -> (B) { B(i) = A(i) } def names(float(N) A) -> (C) { C = A(0) }",
    "c(i) = a(i) b(i) = c(i)",
    "O = A(i) where i in 0:N  P(j) = B(j)",
    "y(i) = exp(x(i)) / sum[j](exp(x(j)))",
    "O(q) = sum[k, l in 0:3 where k <= q, l != k](A(k, l)) + max[k](A(k, q)) * mink[j in 0:4](A(j, 0), 1)",
    "O(i) any=! A(i,j) > 0.0 P(i) all= A(i,j) != 0 Q(i) logsumexp=! A(i,j) R(i) argmin=! A(i,j) S argmax= A(i,j)",
    "H(I(i,j)) +=! 1.0; O(2*i + r) = A(i, r); O(n, 0, m) = A(m, n);",
    "float(K) z; z(i) = A(i) * A.0 + B.1; half w; w = z(0)",
    "O1, O2 = f(A, B) O3, O4, O5 = g() C(i) = O1(i) + O5(i)",
    "P(i) = ~A(i) & B(i) | A(i) ^ 0xFF << 2 >> 1",
    "Z(i) = 2i * A(i) + 1.5e-3i",
    "O(i) = A(i) and not B(i) or i =< 3 and i // 2 == 1",
    "def lenient(half(N) A, byte(N) B, int s, bfloat16(N) C, complex64(N) D) -> half(N) O { O(i) = A(i) * half(s) }",
    "O(i) gcd=! A(i, j)",
)
