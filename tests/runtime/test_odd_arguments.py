"""Anything passed as an array computes like its `jnp.asarray`, or is refused with the argument's name."""

import collections
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import tcjax

BASE = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
OPEN = tcjax.kernel("def f(A) -> (B) { B(i) = A(i) + A(i) }")
FLOATS = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = A(i) + A(i) }")
SAC = tcjax.kernel("{ [i] -> A[i] + A[i] | [i] < shape(A) }")


class WithArray:
    """Gives NumPy an array."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return BASE


class WithJaxArray:
    """Gives JAX an array."""

    def __jax_array__(self) -> jax.Array:
        return jnp.asarray(BASE)


class Swapped:
    """An array of foreign byte order, through NumPy's interface."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"shape": (4,), "typestr": ">f4", "data": BASE.astype(">f4").tobytes(), "version": 3}


class Failing:
    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("no")


class Sparse:
    """Like SciPy's: a shape and a type, but no elements for NumPy."""

    dtype, shape = np.dtype("float32"), (4,)

    def toarray(self) -> np.ndarray:
        return BASE


class Table:
    """Like a pandas frame: an array, without a dtype."""

    shape = (4,)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return BASE


def cyclic() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def nested(depth: int) -> Any:
    items: Any = 1.0
    for _ in range(depth):
        items = [items]
    return items


GOOD: dict[str, Any] = {
    **{
        f"{order}{kind}": BASE.astype(f"{order}{kind}")
        for order in "<>"
        for kind in ("f4", "f2", "i4", "i2", "u4", "c8")
    },
    "swapped bfloat16": BASE.astype(ml_dtypes.bfloat16).astype(np.dtype(ml_dtypes.bfloat16).newbyteorder(">")),
    "a swapped view with strides": np.arange(8, dtype=">f4")[::-2],
    "backwards": BASE[::-1],
    "strides": np.arange(8, dtype=np.float32)[::2],
    "a column": np.arange(8, dtype=np.float32).reshape(4, 2)[:, 1],
    "one element four times": np.broadcast_to(np.float32(3), (4,)),
    "read only": np.frombuffer(BASE.tobytes(), np.float32),
    "unaligned": np.frombuffer(b"\0" + BASE.tobytes(), np.uint8)[1:].view(np.float32),
    "empty": np.zeros(0, np.float32),
    "a record array of numbers": np.rec.array(BASE),
    "scalars of several byte orders": [np.float32(1), np.array(2, ">f4")],
    "range": range(4),
    "deque": collections.deque([1.0, 2.0]),
    "tuple": (1, 2),
    "array of array": WithArray(),
    "array of jax": WithJaxArray(),
    "interface": Swapped(),
    "table": Table(),
    "memoryview": memoryview(BASE),
    "jax scalars": [jnp.float32(1), jnp.float32(2)],
    "nan": [float("nan"), 1.0],
}

BAD: dict[str, Callable[[], Any]] = {
    "objects": lambda: BASE.astype(object),
    "texts": lambda: np.array(["1", "2"]),
    "bytes": lambda: np.array([b"1"]),
    "dates": lambda: np.array(["2020-01-01"], "M8[D]"),
    "durations": lambda: np.array([1], "m8[s]"),
    "structured": lambda: np.zeros(4, [("a", "f4")]),
    "swapped and structured": lambda: np.zeros(4, [("a", ">f4")]),
    "void": lambda: np.zeros(4, "V4"),
    "long double": lambda: BASE.astype("g"),
    "complex long double": lambda: BASE.astype("G"),
    "masked": lambda: np.ma.array(BASE, mask=[0, 1, 0, 0]),
    "masked nowhere": lambda: np.ma.array(BASE),
    "ragged": lambda: [[1, 2], [3]],
    "generator": lambda: (x for x in BASE),
    "None": lambda: None,
    "None inside": lambda: [1.0, None],
    "set": lambda: {1, 2},
    "dict": lambda: {"a": 1},
    "text": lambda: "abc",
    "function": lambda: len,
    "type": lambda: np.float32,
    "failing": Failing,
    "sparse": Sparse,
    "a key": lambda: jax.random.key(0),
    "a number of 5000 digits": lambda: [10**5000],
    "a list in itself": cyclic,
    "a hundred brackets": lambda: nested(100),
}


@pytest.mark.parametrize("kernel", [OPEN, SAC], ids=["tc", "sac"])
@pytest.mark.parametrize("name", GOOD)
def test_what_jax_takes_computes_as_in_jax(kernel: tcjax.Kernel, name: str) -> None:
    given = GOOD[name]
    array = given.__jax_array__() if name == "array of jax" else np.asarray(given)
    expected = 2 * np.asarray(array.astype(np.float32) if name == "swapped bfloat16" else array.tolist())

    for found in (kernel(given), kernel(A=given), kernel.interpret(given), kernel(given)):
        np.testing.assert_allclose(np.asarray(found, expected.dtype), expected)
    assert kernel.ranges(given)[-1] == {next(iter(kernel.ranges(given)[-1])): (0, len(expected))}
    np.testing.assert_allclose(np.asarray(tcjax.einsum("i,i->i", given, np.ones(len(expected), "f4"))), expected / 2)


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_array_of_numbers_is_refused_by_the_name_of_the_argument(name: str) -> None:
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("`A`", lambda: OPEN(BAD[name]())),
        ("`A`", lambda: FLOATS(A=BAD[name]())),
        ("`A`", lambda: SAC(BAD[name]())),
        ("`A`", lambda: FLOATS.interpret(BAD[name]())),
        ("`A`", lambda: FLOATS.plan(BAD[name]())),
        ("operand 0", lambda: tcjax.einsum("i->i", BAD[name]())),
        ("operand 1", lambda: tcjax.einsum("i,i->i", BASE, BAD[name](), combine="+", reduce="min")),
    ]

    for argument, call in calls:
        with pytest.raises(tcjax.CompileError) as caught:
            call()
        assert caught.value.code == "TC0305", str(caught.value)
        assert argument in caught.value.message and caught.value.help


def test_a_masked_array_and_a_sparse_matrix_are_told_what_to_pass() -> None:
    with pytest.raises(tcjax.CompileError, match=r"\.filled\(0\)"):
        OPEN(np.ma.array(BASE))
    with pytest.raises(tcjax.CompileError, match=r"\.toarray\(\)"):
        OPEN(Sparse())


def test_initial_values_shapes_and_static_values_come_in_any_byte_order() -> None:
    total = tcjax.kernel("def f(float(N) A) -> (float(N) S) {\n  S(i) += A(i)  # tcjax: ignore[TC1201]\n}")
    taken = tcjax.kernel("take([n], a)")

    np.testing.assert_array_equal(total(BASE.astype(">f4"), S=BASE.astype(">f4")), 2 * BASE)
    np.testing.assert_array_equal(total.interpret(BASE.astype(">f4"), S=BASE.astype(">f4")), 2 * BASE)
    np.testing.assert_array_equal(taken(np.array(2, ">i4"), BASE.astype(">f4")), BASE[:2])
    swapped = jax.ShapeDtypeStruct((4,), np.dtype(">f4"))
    assert str(OPEN.plan(swapped)) == str(OPEN.plan(BASE))
    assert FLOATS.export(swapped).in_avals[0].dtype == np.float32


def test_a_compiled_kernel_still_looks_at_the_byte_order() -> None:
    kernel = tcjax.kernel("def f(A) -> (B) { B(i) = 2 * A(i) }")

    for given in (BASE, BASE.astype(">f4"), BASE, BASE.astype(">f4")):
        np.testing.assert_array_equal(kernel(given), 2 * BASE)


def test_a_list_may_hold_what_jax_traces() -> None:
    np.testing.assert_array_equal(jax.jit(lambda t: OPEN([t, 2 * t]))(1.5), [3.0, 6.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: tcjax.kernel("def h(int32(N) b) -> (float(B) H) { H(b(i)) +=! 1.0 }")(np.zeros(3, "i4"), B=10**5000),
        lambda: OPEN.at(i=10**5000)(BASE),
        lambda: OPEN.check(examples=-(10**5000)),
        lambda: OPEN.tune(BASE, seconds=10**5000),
        lambda: OPEN.export(10**5000),
        lambda: OPEN.schedule().split("B", "i", factor=10**5000),
        lambda: tcjax.kernel("B(i) = A(i)", memory_limit=-(10**5000)),
        lambda: tcjax.kernel("B(i) = A(i)", assume=["A.0 == " + "9" * 5000]),
        lambda: tcjax.kernel("B(i) = A(i) where i in 0:" + "9" * 5000),
        lambda: tcjax.kernel("{ [i] -> a[i] | [0] <= [i] < [" + "9" * 5000 + "] }"),
        lambda: tcjax.kernel("def f(float(" + "9" * 5000 + ") A) -> (B) { B(i) = A(i) }"),
        lambda: tcjax.monoid("far", lambda a, b: a, 10**5000),
        lambda: tcjax.einsum("i,i->i", [1], [10**5000], reduce="min"),
        lambda: tcjax.einsum("->", 10**5000),
        lambda: tcjax.einsum("i,i->i", [1], [1], reduce=10**5000),  # type: ignore[arg-type]
    ],
)
def test_numbers_that_python_does_not_print_are_refused_in_words(call: Callable[[], Any]) -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        call()

    assert len(str(caught.value)) < 10_000 and caught.value.help


def test_a_limit_beyond_all_machines_is_no_limit() -> None:
    for limit in (10**5000, "9" * 5000 + "GiB", "1e3", "9TiB"):
        if limit == "1e3":
            with pytest.raises(tcjax.CompileError):
                tcjax.kernel("B(i) = A(i)", memory_limit=limit)
        else:
            np.testing.assert_array_equal(tcjax.kernel("B(i) = A(i)", memory_limit=limit)(BASE), BASE)
