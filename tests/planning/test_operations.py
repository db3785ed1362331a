"""Each access pattern gets the operation that fits it, and no array of the size of the iteration space."""

import jax
import pytest

import tcjax
from tcjax.planning.data import nodes

FLOAT = "float32"


def spec(*shape: int, dtype: str = FLOAT) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


MM = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"

# Program, argument shapes, the operation of each statement, and its limit of temporary bytes.
CASES = {
    "matrix product": (MM, (spec(64, 512), spec(512, 64)), ["dot_general"], 0),
    "matrix times vector": (
        "def f(float(M,K) A, float(K) b) -> (c) { c(m) +=! A(m,k) * b(k) }",
        (spec(256, 512), spec(512)),
        ["dot_general"],
        0,
    ),
    "vector times matrix": (
        "def f(float(M,K) A, float(M) b) -> (c) { c(k) +=! A(m,k) * b(m) }",
        (spec(256, 512), spec(256)),
        ["dot_general"],
        0,
    ),
    "rows times rows": (
        "def f(float(N,D) A, float(N,D) B) -> (c) { c(n) +=! A(n,d) * B(n,d) }",
        (spec(256, 512), spec(256, 512)),
        ["reduce sum"],
        4096,
    ),
    "an affine layer": (
        "def f(float(B,I) x, float(I,O) w, float(O) b) -> (y) { y(n,o) = max(b(o) + sum[i](x(n,i) * w(i,o)), 0) }",
        (spec(64, 512), spec(512, 64), spec(64)),
        ["dot_general"],
        64 * 64 * 4,
    ),
    "a sum of two products": (
        "def f(float(M,K) A, float(K,N) B, float(M,K) D, float(K,N) E) -> (C)"
        " { C(m,n) +=! A(m,k) * B(k,n) + D(m,k) * E(k,n) }",
        (spec(64, 512), spec(512, 64), spec(64, 512), spec(512, 64)),
        ["dot_general"],
        2 * 64 * 64 * 4,
    ),
    "three operands": (
        "def f(float(I,J,K) T, float(J,R) B, float(K,R) C) -> (A) { A(i,r) +=! T(i,j,k) * B(j,r) * C(k,r) }",
        (spec(64, 64, 64), spec(64, 16), spec(64, 16)),
        ["dot_general"],
        64 * 64 * 16 * 4,
    ),
    "tiny matrices, one for each pixel": (
        "def f(float(N,A,B,H,W) I, float(N,B,C,H,W) J) -> (O) { O(n,a,c,h,w) +=! I(n,a,b,h,w) * J(n,b,c,h,w) }",
        (spec(2, 16, 8, 14, 14), spec(2, 8, 2, 14, 14)),
        ["unrolled sum"],
        0,
    ),
    "convolution with many channels": (
        "def f(float(N,C,H,W) I, float(O,C,KH,KW) K) -> (R) { R(n,o,h,w) +=! I(n,c,h+kh,w+kw) * K(o,c,kh,kw) }",
        (spec(4, 32, 30, 30), spec(64, 32, 3, 3)),
        ["conv_general_dilated"],
        2_000_000,
    ),
    "convolution, channels last, strided and dilated": (
        "def f(float(N,H,W,C) I, float(KH,KW,C,O) K) -> (R) { R(n,h,w,o) +=! I(n,2*h+kh,w+2*kw,c) * K(kh,kw,c,o) }",
        (spec(4, 30, 30, 32), spec(3, 3, 32, 64)),
        ["conv_general_dilated"],
        2_000_000,
    ),
    "convolution in three dimensions": (
        "def f(float(N,C,D,H,W) I, float(O,C,P,Q,R) K) -> (O)"
        " { O(n,o,d,h,w) +=! I(n,c,d+p,h+q,w+r) * K(o,c,p,q,r) }".replace("-> (O)", "-> (Z)").replace("{ O(", "{ Z("),
        (spec(2, 16, 8, 8, 8), spec(16, 16, 3, 3, 3)),
        ["conv_general_dilated"],
        2_000_000,
    ),
    "convolution padded by a guard": (
        "def f(float(N,C,H) I, float(O,C,K) W) -> (R)"
        " { R(n,o,h) +=! (h+k-1 >= 0 && h+k-1 < H) ? I(n,c,h+k-1) * W(o,c,k) : 0.0 where h in 0:H }",
        (spec(4, 32, 64), spec(64, 32, 3)),
        ["conv_general_dilated"],
        1_000_000,
    ),
    "grouped convolution with few channels": (
        "def f(float(N,G,C,H,W) I, float(G,F,C,KH,KW) K) -> (R)"
        " { R(n,g,f,h,w) +=! I(n,g,c,h+kh,w+kw) * K(g,f,c,kh,kw) }",
        (spec(2, 8, 4, 20, 20), spec(8, 4, 4, 3, 3)),
        ["shifted slices"],
        0,
    ),
    "depthwise convolution": (
        "def f(float(N,C,H,W) I, float(C,KH,KW) K) -> (R) { R(n,c,h,w) +=! I(n,c,h+kh,w+kw) * K(c,kh,kw) }",
        (spec(4, 32, 30, 30), spec(32, 3, 3)),
        ["shifted slices"],
        0,
    ),
    "correlation": (
        "def f(float(C,X) F, float(C,Y) G) -> (O) { O(x,d) +=! F(c,x) * G(c,x+d) }",
        (spec(32, 8192), spec(32, 8192 + 31)),
        ["dot_general by blocks"],
        8_000_000,
    ),
    "scores of a sliding window": (
        "def f(float(N,D) Q, float(M,D) K) -> (S) { S(q,w) +=! Q(q,d) * K(q+w,d) }",
        (spec(2048, 64), spec(2048 + 127, 64)),
        ["dot_general by blocks"],
        8_000_000,
    ),
    "values of a sliding window": (
        "def f(float(N,W) S, float(M,D) V) -> (O) { O(q,d) +=! S(q,w) * V(q+w,d) }",
        (spec(4096, 256), spec(4096 + 255, 64)),
        ["dot_general by blocks"],
        20_000_000,
    ),
    "few shifts of few channels": (
        "def f(float(C,X) F, float(C,Y) G) -> (O) { O(x,d) +=! F(c,x) * G(c,x+d) }",
        (spec(3, 64), spec(3, 64 + 2)),
        ["reduce sum"],
        8_000_000,
    ),
    "a small pool": (
        "def f(float(N,C,H,W) I) -> (R) { R(n,c,h,w) max=! I(n,c,2*h+kh,2*w+kw) where kh in 0:2, kw in 0:2 }",
        (spec(4, 32, 30, 30),),
        ["shifted slices"],
        0,
    ),
    "a median filter": (
        "def f(float(H,W) I) -> (R) { R(h,w) = mink[i in 0:3, j in 0:3](I(h+i,w+j), 4) }",
        (spec(200, 200),),
        ["shifted slices"],
        0,
    ),
    "a wide pool": (
        "def f(float(N,C,H,W) I) -> (R) { R(n,c,h,w) max=! I(n,c,h+kh,w+kw) where kh in 0:9, kw in 0:9 }",
        (spec(4, 8, 30, 30),),
        ["reduce_window"],
        4 * 8 * 30 * 30 * 4,
    ),
    "a product": ("def f(float(N,M) A) -> (p) { p(i) *=! A(i,j) }", (spec(64, 512),), ["reduce prod"], 16384),
    "a stencil": (
        "def f(float(N) A) -> (B) { B(i) = A(i-1) + A(i) + A(i+1) }",
        (spec(4096),),
        ["elementwise"],
        0,
    ),
    "a strided, reversed, transposed read": (
        "def f(float(N,M) A) -> (B) { B(j,i) = A(N-1-i,2*j) }",
        (spec(64, 64),),
        ["slice"],
        0,
    ),
    "a flattened matrix": (
        "def f(float(N,M) A) -> (B) { B(i) = A(i/M, i%M) where i in 0:N*M }",
        (spec(64, 32),),
        ["slice"],
        0,
    ),
    "an unflattened vector": (
        "def f(float(N) A) -> (B) { B(i,j) = A(8*i+j) where j in 0:8 }",
        (spec(4096),),
        ["slice"],
        0,
    ),
    "where the largest element of a window is": (
        "def f(float(N,C,H,W) I) -> (P) { P(n,c,h,w) argmax=! I(n,c,2*h+i,2*w+j) where i in 0:2, j in 0:2 }",
        (spec(2, 8, 32, 32),),
        ["shifted slices"],
        0,
    ),
    "where the largest element of a long row is": (
        "def f(float(N,K) A) -> (P) { P(n) argmax=! A(n,k) }",
        (spec(64, 512),),
        ["argmax"],
        1024,
    ),
    "an embedding bag": (
        "def f(float(E,D) T, int32(B,L) I) -> (O) { O(b,d) +=! T(I(b,l),d) }",
        (spec(1000, 64), spec(128, 20, dtype="int32")),
        ["unrolled gather"],
        0,
    ),
    "an embedding": (
        "def f(float(E,D) T, int32(B) I) -> (O) { O(b,d) = T(I(b),d) }",
        (spec(1000, 64), spec(128, dtype="int32")),
        ["gather"],
        0,
    ),
    "8-bit products accumulated in 32": (
        "def f(int8(M,K) A, int8(K,N) B) -> (int32(M,N) C) { C(m,n) +=! A(m,k) * B(k,n) }",
        (spec(64, 512, dtype="int8"), spec(512, 64, dtype="int8")),
        ["dot_general"],
        0,
    ),
    "softmax": (
        "def f(float(N,D) x) -> (y) { y(n,d) = exp(x(n,d) - max[j](x(n,j))) / sum[j](exp(x(n,j) - max[k](x(n,k)))) }",
        (spec(64, 256),),
        ["reduce sum"],
        65536,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_statement_gets_the_operation_that_fits_it(name: str) -> None:
    text, specs, operations, _ = CASES[name]

    explained = tcjax.kernel(text).explain(*specs).to_dict()

    assert [statement["operation"] for statement in explained["statements"]] == operations


@pytest.mark.parametrize("name", CASES)
def test_a_statement_takes_no_more_temporary_memory_than_its_operation_needs(name: str) -> None:
    text, specs, _, most = CASES[name]

    compiled = jax.jit(tcjax.kernel(text)).lower(*specs).compile()

    # Constants of a few bytes (the start of a reduction, indices) are not arrays.
    assert compiled.memory_analysis().temp_size_in_bytes <= most + 128


@pytest.mark.parametrize("name", CASES)
def test_the_predicted_temporary_memory_is_near_what_xla_takes(name: str) -> None:
    text, specs, _, _ = CASES[name]
    kernel = tcjax.kernel(text)
    actual = jax.jit(kernel).lower(*specs).compile().memory_analysis().temp_size_in_bytes

    predicted = kernel.explain(*specs).to_dict()["temporary_bytes"]

    assert predicted <= 2 * actual + 40_000
    assert actual <= 2 * predicted + 40_000


def _kinds(node: nodes.Node) -> list[type]:
    return [type(node), *(kind for operand in nodes.operands(node) for kind in _kinds(operand))]


@pytest.mark.parametrize(
    "text",
    [
        "def f(float(N) A) -> (B) { B(i) = A(i) + A(N-1-i) }",
        "def f(float(N) A) -> (B) { B(i) = A(i+1) * A(i) where i in 0:N-1 }",
        "def f(float(N) A) -> (B) { B(i) = i > 0 ? A(i-1) : 0.0 where i in 0:N }",
        "def f(float(N) A) -> (B) { B(i) = A(i/2) }",
        "def f(float(N) A) -> (B) { B(i) = A(3*i+1) }",
        "def f(float(N) A) -> (B) { B(i,j) = A(4*i+j) where j in 0:4 }",
        "def f(float(N) A) -> (B) { B(i,j) = A(4*i+j) where j in 0:3, i in 0:2 }",
    ],
)
def test_affine_reads_are_slices_never_lookups(text: str) -> None:
    plan = tcjax.kernel(text).plan(spec(12))

    reads = []
    pending = [stage.value for stage in plan.stages]
    while pending:
        node = pending.pop()
        reads += [node] if isinstance(node, nodes.Read) else []
        pending += nodes.operands(node)
    assert reads
    assert all(isinstance(d, nodes.Strip) for read in reads for d in read.dimensions)


def test_what_does_not_change_with_the_reduction_is_multiplied_afterwards() -> None:
    text = "def f(float(M,K) A, float(K,N) B, float(N) s) -> (C) { C(m,n) +=! A(m,k) * s(n) * B(k,n) * 2.0 }"

    plan = tcjax.kernel(text).plan(spec(8, 64), spec(64, 32), spec(32))

    value = plan.stages[0].value
    assert isinstance(value, nodes.Apply)
    (contraction,) = [kind for kind in _kinds(value) if kind is nodes.Contract]
    assert contraction is nodes.Contract


def test_an_index_that_a_summand_lacks_multiplies_it_by_its_extent() -> None:
    text = "def f(float(N) x, float(N,M) A) -> (y) { y(i) +=! x(i) + A(i,j) }"

    with pytest.warns(tcjax.CompileWarning, match="sum"):
        kernel = tcjax.kernel(text)

    import numpy as np

    x, A = np.arange(3, dtype=FLOAT), np.ones((3, 5), FLOAT)
    np.testing.assert_allclose(kernel(x, A), 5 * x + A.sum(1))


def test_a_causal_mask_is_laid_over_the_operand_that_has_its_indices() -> None:
    text = "def f(float(Q,K) w, float(K,E) v) -> (o) { o(q,e) +=! w(q,k) * v(k,e) where k <= q }"

    plan = tcjax.kernel(text).plan(spec(64, 64), spec(64, 32))

    assert isinstance(plan.stages[0].value, nodes.Contract)


def test_a_pool_that_counts_in_some_places_stays_a_pool() -> None:
    text = "def f(float(N) x, int(M) c) -> (y) { y(i) = c(i) > 0 ? max[k in 0:300](x(i+k)) : 0 }"

    plan = tcjax.kernel(text).plan(spec(302), spec(3, dtype="int32"))

    assert nodes.Pool in _kinds(plan.stages[0].value)


def test_an_unrolled_window_of_one_step_is_not_a_loop() -> None:
    text = "def f(float(H) I, float(K) W) -> (O) { O(h) +=! I(h+k) * W(k) }"

    plan = tcjax.kernel(text).plan(spec(9), spec(1))

    assert nodes.Unroll not in _kinds(plan.stages[0].value)


def test_a_difference_is_multiplied_out_where_it_alone_has_every_index() -> None:
    text = "def f(float(N,D) A, float(M,D) B, float(D) w) -> (O) { O(i,j) +=! (A(i,d) - B(j,d)) * w(d) }"

    plan = tcjax.kernel(text).plan(spec(30, 20), spec(40, 20), spec(20))

    assert _kinds(plan.stages[0].value).count(nodes.Contract) == 2


def test_a_square_of_a_difference_is_not_multiplied_out() -> None:
    text = "def f(float(N,D) A, float(M,D) B) -> (O) { O(i,j) +=! (A(i,d) - B(j,d)) * (A(i,d) - B(j,d)) }"

    plan = tcjax.kernel(text).plan(spec(30, 20), spec(40, 20))

    assert nodes.Contract not in _kinds(plan.stages[0].value)


def test_the_adjoint_of_a_band_is_one_too() -> None:
    text = "def f(float(C,X) F, float(C,Y) G) -> (O) { O(x,d) +=! F(c,x) * G(c,x+d) }"
    adjoint = tcjax.kernel(text).adjoint(wrt=("F",))

    plan = adjoint.plan(spec(32, 8192), spec(32, 8192 + 63), spec(8192, 64))

    assert nodes.Band in _kinds(plan.stages[0].value)


def test_a_band_is_taken_only_where_a_loop_over_its_shifts_costs_more() -> None:
    text = "def f(float(C,X) F, float(C,Y) G) -> (O) { O(x,d) +=! F(c,x) * G(c,x+d) }"
    few, many = (tcjax.kernel(text).plan(spec(c, 16384), spec(c, 16384 + 31)) for c in (3, 32))

    assert nodes.Band not in _kinds(few.stages[0].value) and nodes.Band in _kinds(many.stages[0].value)


def test_a_difference_under_a_condition_on_both_operands_is_one_loop() -> None:
    text = "def f(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) > B(k,n) ? A(m,k) - B(k,n) : 0.0 }"

    plan = tcjax.kernel(text).plan(spec(512, 512), spec(512, 512))

    assert _kinds(plan.stages[0].value).count(nodes.LoopNest) == 1


def test_overlapping_windows_are_summed_dimension_by_dimension_in_one_padded_array() -> None:
    text = (
        "def f(float(H,W) A) -> (O) {"
        " O(i,j) +=! A((i+a) % H, (j+b) % W) where i in 0:H, j in 0:W, a in -3:4, b in -3:4 }"
    )

    plan = tcjax.kernel(text).plan(spec(4096, 4096))

    assert nodes.Pool in _kinds(plan.stages[0].value)


@pytest.mark.parametrize(("channels", "width"), [(16, 14), (32, 7)])
def test_groups_of_many_channels_are_a_convolution_each(channels: int, width: int) -> None:
    text = (
        "def f(float(N,G,C,H,W) I, float(G,F,C,KH,KW) K) -> (O) {"
        " O(n,g,f,h,w) +=! I(n,g,c,h+kh,w+kw) * K(g,f,c,kh,kw) }"
    )

    plan = tcjax.kernel(text).plan(spec(32, 32, channels, width, width), spec(32, channels, channels, 3, 3))

    value = plan.stages[0].value
    assert isinstance(value, nodes.Convolve) and value.split


def test_groups_that_a_subscript_computes_are_a_convolution_each() -> None:
    text = (
        "def f(float(N,H,W,I) x, float(K,K,C,O) filter) -> (y) {"
        " y(n,h,w,o) = sum[k,l,c](x(n, h+k, w+l, C * (o / (O/3)) + c) * filter(k,l,c,o)) }"
    )

    value = tcjax.kernel(text).plan(spec(2, 56, 56, 96), spec(3, 3, 32, 96)).stages[0].value

    assert isinstance(value, nodes.Convolve) and value.split
    assert [str(index) for index in value.groups] == ["o/"]


def test_a_transposed_convolution_is_one_of_its_phases() -> None:
    text = (
        "def f(float(N,H,W,C) x, float(K,K,C,O) filter) -> (y) {"
        " y(n, 4*i+k, 4*j+l, o) +=! x(n,i,j,c) * filter(k,l,c,o) }"
    )

    (stage,) = tcjax.kernel(text).plan(spec(64, 8, 8, 16), spec(8, 8, 16, 16)).stages

    assert isinstance(stage.value, nodes.Convolve) and not stage.store.is_scatter
    assert [str(index) for index in stage.value.features] == ["k%", "l%", "o"]
