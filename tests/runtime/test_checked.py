"""``checked=True``: invalid data of a call are reported, and nothing else is."""

import jax
import numpy as np
import pytest
from jax.experimental import checkify

import tcjax

TABLE = np.arange(30, dtype="float32").reshape(10, 3)
LOOK = "def look(float(M,D) A, int32(N) I) -> (O) { O(i,d) = A(I(i), d) * 2 }"
INSIDE = np.array([0, 3, 9], "int32")
OUTSIDE = np.array([0, 3, 9, 12], "int32")


def look() -> tcjax.Kernel:
    return tcjax.kernel(LOOK, checked=True)


def test_good_data_give_what_they_give_without_checks() -> None:
    np.testing.assert_array_equal(look()(TABLE, INSIDE), TABLE[INSIDE] * 2)


def test_a_read_outside_names_the_point_the_subscript_and_the_extent() -> None:
    with pytest.raises(tcjax.DataError) as raised:
        look()(TABLE, OUTSIDE)

    assert raised.value.message == "at i = 3 this reads A[12, d]; A has 10 rows"
    assert (raised.value.span.line, raised.value.span.column) == (1, LOOK.index("A(I(i)") + 1)
    assert "^^^^^^^^^^" in str(raised.value)
    assert isinstance(raised.value, ValueError)


# A program, its arguments, and the expected message.
WRONG = {
    "a negative subscript": (
        "def f(float(M) A, int32(N) I) -> (O) { O(i) = A(I(i) - 4) }",
        [TABLE[:, 0], INSIDE],
        "at i = 0 this reads A[-4]; A has 10 rows",
    ),
    "a later dimension": (
        "def f(float(M,D) A, int32(N) I) -> (O) { O(i) = A(i, I(i)) }",
        [TABLE, INSIDE],
        "at i = 1 this reads A[1, 3]; dimension 1 of A has 3 elements",
    ),
    "a subscript inside of a subscript": (
        "def f(float(M) A, int32(N) I) -> (O) { O(i) = A(I(I(i))) }",
        [TABLE[:, 0], INSIDE],
        "at i = 1 this reads I[3]; I has 3 rows",
    ),
    "a point of a reduction": (
        "def f(float(M) A, int32(N,L) I) -> (O) { O(n) +=! A(I(n,l)) }",
        [TABLE[:, 0], np.array([[0, 1], [2, 10]], "int32")],
        "at n = 1, l = 1 this reads A[10]; A has 10 rows",
    ),
    "an inline reduction": (
        "def f(float(M) A, int32(N,L) I) -> (O) { O(n) = 1 + max[l](A(I(n,l))) }",
        [TABLE[:, 0], np.array([[0, 1], [2, 10]], "int32")],
        "at n = 1, l = 1 this reads A[10]; A has 10 rows",
    ),
    "a target": (
        "def f(int32(N) b) -> (float(4) H) { H(b(i)) +=! 1.0 }",
        [INSIDE],
        "at i = 2 this writes H[9]; H has 4 rows",
    ),
    "a quotient": (
        "def f(int32(N) a) -> (O) { O(i) = 7 / (a(i) - 3) }",
        [INSIDE],
        "at i = 1 this divides by zero: (a[i] - 3) is 0",
    ),
    "a remainder": (
        "def f(int32(N) a) -> (O) { O(i) = 7 % a(i) }",
        [INSIDE],
        "at i = 0 this divides by zero: a[i] is 0",
    ),
    "a temporary": (
        "def f(float(M) A, float(N) x) -> (O) { T(i) = int32(x(i) * 4)  O(i) = A(T(i)) }",
        [TABLE[:, 0], np.array([0, 2, 3], "float32")],
        "at i = 2 this reads A[12]; A has 10 rows",
    ),
    "indices that do not begin at 0": (
        "def f(float(M) A, int32(N) I) -> (O) { O(i) = A(I(i-1) + 7) }",
        [TABLE[:, 0], INSIDE],
        "at i = 2 this reads A[10]; A has 10 rows",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    text, arrays, said = WRONG[name]

    with pytest.raises(tcjax.DataError) as raised:
        tcjax.kernel(text, checked=True)(*arrays)

    assert raised.value.message == said


RIGHT = {
    "a guarded read": (
        "def f(float(M) A, int32(N) I) -> (O) { O(i) +=! A(I(i)) where I(i) < 10 }",
        [TABLE[:, 0], OUTSIDE],
    ),
    "a branch that is not taken": (
        "def f(float(M) A, int32(N) I) -> (O) { O(i) = I(i) < 10 ? A(I(i)) : 0.0 }",
        [TABLE[:, 0], OUTSIDE],
    ),
    "the second half of a condition": (
        "def f(float(M) A, int32(N) I) -> (O) { O(i) = I(i) >= 10 || A(I(i)) > 1.0 ? 1.0 : 0.0 }",
        [TABLE[:, 0], OUTSIDE],
    ),
    "a guarded reduction": (
        "def f(float(M) A, int32(N) I) -> (O) { O(j) = sum[i where I(i) < 10 && i <= j](A(I(i))) where j in 0:4 }",
        [TABLE[:, 0], OUTSIDE],
    ),
    "a guarded division": ("def f(int32(N) a) -> (O) { O(i) = a(i) != 0 ? 7 / a(i) : 0 }", [INSIDE]),
    "no points at all": (
        "def f(float(M) A, int32(N) I) -> (O) { O(j,i) = A(I(i)) where j in 0:0 }",
        [TABLE[:, 0], OUTSIDE],
    ),
    "a division of floats": ("def f(float(N) a) -> (O) { O(i) = 1.0 / a(i) }", [np.zeros(3, "float32")]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_does_not_happen_is_not_reported(name: str) -> None:
    text, arrays = RIGHT[name]

    found = tcjax.kernel(text, checked=True)(*arrays)

    np.testing.assert_array_equal(found, tcjax.kernel(text).interpret(*arrays))


def test_initial_values_and_sizes_go_by_keyword() -> None:
    histogram = tcjax.kernel("def h(int32(N) b) -> (float(B) H) { H(b(i)) +=! 1.0 }", checked=True)

    np.testing.assert_array_equal(histogram(INSIDE, B=10), np.bincount(INSIDE, minlength=10))
    with pytest.raises(tcjax.DataError, match=r"at i = 2 this writes H\[9\]; H has 9 rows"):
        histogram(INSIDE, B=9)


def test_a_called_definition_is_looked_at_too() -> None:
    lib = tcjax.load(
        "def inner(float(M) A, int32(N) I) -> (O) { O(i) = A(I(i)) }"
        "def outer(float(M) A, int32(N) I) -> (P) { J(i) = I(i) + 1  O = inner(A, J)  P(i) = O(i) }",
        checked=True,
    )

    np.testing.assert_array_equal(lib.outer(TABLE[:, 0], INSIDE[:2]), TABLE[INSIDE[:2] + 1, 0])
    with pytest.raises(tcjax.DataError, match=r"at i = 2 this reads A\[10\]"):
        lib.outer(TABLE[:, 0], INSIDE)


def test_a_sac_program_is_looked_at() -> None:
    kernel = tcjax.kernel("{ [i] -> a[ix[i]] }", checked=True)

    np.testing.assert_array_equal(kernel(TABLE[:, 0], INSIDE), TABLE[INSIDE, 0])
    with pytest.raises(tcjax.DataError, match=r"at i = 3 this reads a\[12\]"):
        kernel(TABLE[:, 0], OUTSIDE)


def test_nan_is_looked_for_where_it_is_asked_for() -> None:
    text = "def f(float(N) a) -> (S) { T(i) = log(a(i))  S +=! T(i) }"
    a = np.array([1, 2, -4], "float32")

    with pytest.raises(tcjax.DataError, match=r"at i0 = 2 T\[2\] is NaN"):
        tcjax.kernel(text, checked="nan")(a)

    assert np.isnan(tcjax.kernel(text, checked=True)(a))
    assert float(tcjax.kernel(text, checked="nan")(np.ones(3, "float32"))) == 0


def test_an_eager_gradient_is_looked_at() -> None:
    kernel = look()

    found = jax.grad(lambda A: kernel(A, INSIDE).sum())(TABLE)
    with pytest.raises(tcjax.DataError, match="this reads A"):
        jax.grad(lambda A: kernel(A, OUTSIDE).sum())(TABLE)

    np.testing.assert_array_equal(found[:, 0], np.bincount(INSIDE, minlength=10) * 2)


@pytest.mark.parametrize(
    "transformed",
    [
        lambda k: checkify.checkify(k),
        lambda k: jax.jit(checkify.checkify(k)),
        lambda k: checkify.checkify(jax.jit(k)),
        lambda k: jax.jit(checkify.checkify(jax.grad(lambda A, I: k(A, I).sum()))),
        lambda k: checkify.checkify(lambda A, I: jax.vmap(lambda A: k(A, I))(A[None])),
    ],
    ids=["checkify", "jit of checkify", "checkify of jit", "gradient", "vmap"],
)
def test_it_composes_with_checkify(transformed) -> None:
    function = transformed(look())

    good, _ = function(TABLE, INSIDE)
    bad, _ = function(TABLE, OUTSIDE)

    assert good.get() is None
    assert bad.get().startswith("at i = 3 this reads A[12, d]; A has 10 rows")


def test_an_eager_vmap_raises_checkifys_error() -> None:
    kernel = look()

    with pytest.raises(checkify.JaxRuntimeError, match="this reads A"):
        jax.vmap(lambda I: kernel(TABLE, I))(np.stack([OUTSIDE, OUTSIDE]))


def test_a_kernel_without_anything_to_look_at_works_inside_of_jit() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = A(i) * 2 }", checked=True)

    np.testing.assert_array_equal(jax.jit(kernel)(TABLE[:, 0]), TABLE[:, 0] * 2)


def test_a_schedule_and_a_mesh_are_looked_at() -> None:
    kernel = look()
    scheduled = kernel.with_schedule(kernel.schedule().split("O", "i", 2))
    sharded = kernel.sharded(jax.make_mesh((1,), ("data",)), {"i": "data"})

    for other in (scheduled, sharded):
        np.testing.assert_array_equal(other(TABLE, INSIDE), TABLE[INSIDE] * 2)
        with pytest.raises(tcjax.DataError, match=r"at i = 3 this reads A\[12, d\]"):
            other(TABLE, OUTSIDE)


def test_an_exported_kernel_is_exported_without_checks() -> None:
    exported = look().export("float32[10, 3]", "int32[4]")

    np.testing.assert_array_equal(exported.call(TABLE, OUTSIDE), TABLE[np.minimum(OUTSIDE, 9)] * 2)


def test_an_odd_value_of_the_option_is_refused() -> None:
    with pytest.raises(tcjax.CompileError, match="checked='yes' is not an option"):
        tcjax.kernel(LOOK, checked="yes")
