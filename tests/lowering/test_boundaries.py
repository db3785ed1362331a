"""Plans and compiled code of boundaries: pieces, padding, no gather; gradients go to the elements that were read."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tcjax
from tcjax.planning import Compute
from tcjax.planning.data.nodes import Read, Unroll, operands
from tcjax.planning.data.views import Halo, View, blocks

BOUNDARIES = ("clamp", "wrap", "mirror", "reflect")
LAPLACE = "def f(float(M,N) u) -> (v) {{ v(i,j) = {0} + {1} + {2} + {3} - 4 * u(i,j) }}"


def normals(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def agrees(kernel: tcjax.Kernel, *arrays: np.ndarray) -> None:
    """Compiled values equal interpreted ones; derivatives and the adjoint program are those of the read elements."""
    found, wanted = kernel(*arrays), kernel.interpret(*arrays)
    assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    cotangent = normals(*found.shape, seed=1)
    floats = [n for n, array in enumerate(arrays) if array.dtype == np.float32]

    def of_floats(*given: jax.Array) -> jax.Array:
        every = list(arrays)
        for n, array in zip(floats, given, strict=True):
            every[n] = array
        return kernel(*every)

    _, vjp = jax.vjp(of_floats, *(jnp.asarray(arrays[n]) for n in floats))
    adjoint = kernel.adjoint()
    by_program = adjoint.interpret(*arrays, cotangent)
    compiled = adjoint(*arrays, cotangent)
    by_program, compiled = (x if isinstance(x, tuple) else (x,) for x in (by_program, compiled))
    for own, other, again in zip(vjp(jnp.asarray(cotangent)), by_program, compiled, strict=True):
        assert_allclose(own, other, rtol=1e-4, atol=1e-4)
        assert_allclose(again, other, rtol=1e-4, atol=1e-4)


def reads(kernel: tcjax.Kernel, *arrays: np.ndarray) -> str:
    """The primitives of the compiled kernel, by name."""
    return str(jax.make_jaxpr(kernel)(*arrays))


def views(kernel: tcjax.Kernel, *arrays: np.ndarray) -> list[View]:
    """The views through which the first statement reads."""
    found: list[View] = []
    nodes = [stage.value for stage in kernel.plan(*arrays).stages[:1] if isinstance(stage, Compute)]
    while nodes:
        node = nodes.pop()
        found += node.views if isinstance(node, Read) else ()
        nodes += operands(node)
    return found


@st.composite
def read(draw: st.DrawFn) -> str:
    """A read of `u` at (i, j), which may be out of bounds, or of another tensor in bounds."""
    subscripts = []
    for index in ("i", "j"):
        moved = draw(
            st.sampled_from((f"{index} - 1", f"{index} + 1", f"{index} + 3", f"2 * {index} - 2", index, f"1 - {index}"))
        )
        subscripts.append(f"{draw(st.sampled_from(BOUNDARIES))}({moved})")
    padded = draw(st.integers(0, 3))
    if padded < 2:
        subscripts[padded] = draw(st.sampled_from(("i - 2", "j + 1", "i + j - 1", "2 * j - 1")))
        return f"pad(u({', '.join(subscripts)}), {draw(st.sampled_from(('0', '1.5', '-2')))})"
    return f"u({', '.join(subscripts)})"


@settings(max_examples=12, deadline=None)
@given(st.lists(read(), min_size=1, max_size=3), st.integers(1, 5), st.integers(1, 5))
def test_stencils_over_boundaries_agree(parts: list[str], m: int, n: int) -> None:
    text = f"def f(float(M,N) u) -> (v) {{ v(i,j) = {' + 0.5 * '.join(parts)} where i in 0:{m + 1}, j in 0:4 }}"

    agrees(tcjax.kernel(text), normals(m, n))


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
@settings(max_examples=8, deadline=None)
@given(read(), read(), st.integers(1, 4), st.sampled_from(("+=!", "max=!")))
def test_windows_over_boundaries_agree(one: str, other: str, n: int, operator: str) -> None:
    inside = one.replace("i", "(i + a)").replace("m(i + a)rror", "mirror")
    value = f"({inside} + {other}) * w(a)"
    text = f"def f(float(M,N) u, float(K) w) -> (v) {{ v(i) {operator} {value} where i in 0:3, j in 0:4 }}"
    if operator == "max=!":
        # The derivatives of extrema have tests of their own.
        kernel, arrays = tcjax.kernel(text), (normals(3, n), normals(2, seed=2))
        assert_allclose(kernel(*arrays), kernel.interpret(*arrays), rtol=1e-5, atol=1e-5)
        return
    agrees(tcjax.kernel(text), normals(3, n), normals(2, seed=2))


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_data_decide_within_a_boundary(boundary: str) -> None:
    text = f"def f(float(N) x, int(M) I) -> (y) {{ y(i) = x({boundary}(I(i) - 1)) * pad(x(I(i)), 2) }}"

    agrees(tcjax.kernel(text), normals(4), np.array([-5, -1, 0, 3, 4, 9], "int32"))


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_stencil_over_a_boundary_gathers_nothing(boundary: str) -> None:
    parts = [f"u({boundary}(i {s} 1), j)" for s in "-+"] + [f"u(i, {boundary}(j {s} 1))" for s in "-+"]
    kernel = tcjax.kernel(LAPLACE.format(*parts))
    u = normals(8, 9)

    assert "gather" not in reads(kernel, u)
    assert "scatter" not in reads(kernel.adjoint(), u, u)
    agrees(kernel, u)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_products_of_neighbours_read_one_extended_array(boundary: str) -> None:
    text = f"""def f(float(M,N) u) -> (v) {{
        v(i,j) = u({boundary}(i - 1), j) * u(i, {boundary}(j + 1)) + u({boundary}(i + 2), {boundary}(j - 1))
    }}"""
    kernel, u = tcjax.kernel(text), normals(7, 9)

    halos = {view for view in views(kernel, u) if isinstance(view, Halo)}

    assert len(halos) == 1 and blocks(*halos) == 9
    assert "gather" not in reads(kernel, u)
    agrees(kernel, u)
    _, along = jax.jvp(kernel, (u,), (u,))
    assert_allclose(along, jax.jacfwd(lambda t: kernel(u + t * u))(0.0), rtol=1e-4, atol=1e-5)
    assert_allclose(jax.vmap(kernel)(np.stack([u, 2 * u]))[1], kernel(2 * u), rtol=1e-6)
    assert_allclose(kernel(u[:1, :2]), kernel.interpret(u[:1, :2]), rtol=1e-5)


def test_a_sum_over_weights_of_neighbours_is_written_out_with_its_derivative() -> None:
    text = """def f(float(M,N) u, float(K) w) -> (v) {
        v(i,j) +=! w(k) * (u(wrap(i + k - K/2), j) + u(i, wrap(j + k - K/2))) where i in 0:M, j in 0:N
    }"""
    kernel, u, w = tcjax.kernel(text), normals(6, 7), normals(5, seed=2)

    (stage,) = kernel.plan(jax.ShapeDtypeStruct((2048, 2048), "float32"), w).stages

    assert isinstance(stage, Compute) and isinstance(stage.value, Unroll) and stage.value.derivative is None
    agrees(kernel, u, w)


def test_what_is_read_beyond_its_ends_in_pieces_is_stored() -> None:
    kernel = tcjax.kernel("""def f(float(M,N) c) -> (v) {
        rows(i,j) = c(wrap(i - 1), j) + c(i,j) + c(wrap(i + 1), j)
        v(i,j) = rows(i, wrap(j - 1)) + rows(i,j) + rows(i, wrap(j + 1))
    }""")

    first, *_ = kernel.plan(jax.ShapeDtypeStruct((512, 512), "float32")).stages

    assert isinstance(first, Compute) and first.apart
    agrees(kernel, normals(5, 6))


@pytest.mark.parametrize("dtype", ["float16", "int8", "bool", "complex64"])
def test_extended_arrays_are_exact_in_every_type(dtype: str) -> None:
    x = jnp.asarray(np.arange(12).reshape(3, 4) % 5).astype(dtype)
    kernel = tcjax.kernel("y(i,j) = x(wrap(i - 1), wrap(j + 1)) == x(clamp(i), wrap(j - 1)) where i in 0:3, j in 0:4")

    assert_array_equal(kernel(x), kernel.interpret(np.asarray(x)))


def test_a_padded_stencil_has_no_mask() -> None:
    parts = [f"pad(u(i {s} 1, j), 0)" for s in "-+"] + [f"pad(u(i, j {s} 1), 0)" for s in "-+"]
    kernel = tcjax.kernel(LAPLACE.format(*parts))

    found = reads(kernel, normals(8, 9))

    assert "pad[" in found
    assert "select_n" not in found


@pytest.mark.parametrize("value", ["0", "1.5"])
def test_a_padded_convolution_has_no_mask(value: str) -> None:
    text = f"""def f(float(B,C,H,W) I, float(D,C,3,3) K) -> (O) {{
        O(b,d,h,w) +=! pad(I(b,c,h + p - 1,w + q - 1), {value}) * K(d,c,p,q) where h in 0:H, w in 0:W
    }}"""
    kernel, image, taps = tcjax.kernel(text), normals(2, 8, 12, 12), normals(8, 8, 3, 3, seed=1)

    assert "select_n" not in reads(kernel, image, taps)
    assert_allclose(kernel(image, taps), kernel.interpret(image[:, :, :12], taps), rtol=1e-4, atol=1e-4)


def test_a_padded_maximum_is_a_pool() -> None:
    kernel = tcjax.kernel("O(c,h) max=! pad(I(c,2*h + p - 1), -inf) where h in 0:6, p in 0:3")
    image = normals(3, 12)

    assert "pool max" in str(kernel.plan(image))
    assert_array_equal(kernel(image), kernel.interpret(image))


def test_what_is_not_finite_meets_the_number_around() -> None:
    kernel = tcjax.kernel(
        "def f(float(N) x, float(3) w) -> (y) { y(i) +=! pad(x(i + a - 1), 0) * w(a) where i in 0:N }"
    )
    x, w = normals(6), np.array([np.inf, 1, np.nan], "float32")

    assert_array_equal(kernel(x, w), kernel.interpret(x, w))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint32", "bool", "complex64", "float32"])
def test_pieces_are_exact_in_every_type(dtype: str) -> None:
    x = np.array([-0.0, np.inf, 0.0, 3.0], "float32")
    x = jnp.asarray(x if dtype.endswith(("16", "32", "64")) and "int" not in dtype else [0, 1, 1, 3]).astype(dtype)
    kernel = tcjax.kernel("y(i) = x(wrap(i - 1)) where i in 0:x.0")

    found, wanted = np.asarray(kernel(x)), np.roll(np.asarray(x), 1)

    assert found.dtype == wanted.dtype
    assert_array_equal(found.view("uint8"), wanted.view("uint8"))


def test_boundaries_are_batched_and_exported() -> None:
    kernel = tcjax.kernel(
        "def f(float(M,N) u) -> (v) { v(i,j) = u(wrap(i - 1),j) + u(i,mirror(j + 1)) + pad(u(i + 1,j), 0) + u(i,j) }"
    )
    u = normals(4, 5)
    sizes = jax.export.symbolic_shape("m, n")

    exported = kernel.export(jax.ShapeDtypeStruct(sizes, np.float32))

    assert_allclose(jax.vmap(kernel)(np.stack([u, -u]))[1], kernel(-u), rtol=1e-6)
    assert_allclose(exported.call(u), kernel(u), rtol=1e-6)


def test_a_boundary_goes_through_both_notations() -> None:
    value = "x(wrap(i + 1)) * pad(x(i - 1), -inf) + x(reflect(i / 2 - 1))"
    kernel = tcjax.kernel(f"def f(float(N) x) -> (y) {{ y(i) = {value} where i in 0:N }}")

    again = tcjax.kernel(kernel.to("tc"))

    assert again.ir() == kernel.ir()
    assert "pad(x[i - 1], -inf)" in kernel.to("python")
    assert "x[reflect(i // 2 - 1)]" in kernel.to("python")


def test_python_subscripts_have_boundaries() -> None:
    @tcjax.kernel
    def blur(u: "float(N)"):
        v[i] = (u[clamp(i - 1)] + 2 * u[i] + pad(u[i + 1], 1)) / 4
        return v

    u = normals(5)

    assert_allclose(blur(u), (u[[0, 0, 1, 2, 3]] + 2 * u + np.append(u[1:], 1)) / 4, rtol=1e-6)


def test_checked_kernels_report_no_boundary() -> None:
    places = np.array([-1, 4], "int32")
    kernel = tcjax.kernel("def f(float(N) x, int(M) I) -> (y) { y(i) = x(wrap(I(i))) + pad(x(I(i)), 0) }", checked=True)

    assert_array_equal(kernel(np.array([1, 2, 3, 4], "float32"), places), [4, 1])


def test_a_left_side_of_one_element_takes_everything() -> None:
    kernel = tcjax.kernel("def f(float(N) x, float(M) z) -> (float(N) y) { y(i % M) +=! x(i) }")

    assert_array_equal(kernel(np.ones(3, "float32"), np.ones(1, "float32")), [3, 0, 0])
