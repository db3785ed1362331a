"""`einsum`: jnp.einsum's subscripts, over products and sums and over other semirings."""

import itertools
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tcjax import CompileError
from tests.effort import examples

pytestmark = pytest.mark.usefixtures("quickly_compiled")

Array = np.ndarray[Any, Any]

COMBINE = {
    "*": np.multiply,
    "+": np.add,
    "-": np.subtract,
    "/": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "hypot": np.hypot,
    "<": np.less,
    "!=": np.not_equal,
}
REDUCE = {
    "+": np.sum,
    "*": np.prod,
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
    "any": np.any,
    "all": np.all,
    "logsumexp": lambda values: np.log(np.sum(np.exp(values))),
    "argmin": np.argmin,
    "argmax": np.argmax,
}


def numbers(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).uniform(0.25, 2.0, shape).astype(np.float32)


def brute(operands: list[list[str]], result: list[str], arrays: list[Array], combine: Any, reduce: Any) -> Array:
    """The einsum over the semiring, point by point."""
    sizes: dict[str, int] = {}
    for labels, array in zip(operands, arrays, strict=True):
        for label, extent in zip(labels, array.shape, strict=True):
            sizes[label] = max(sizes.get(label, 1), extent)
    reduced = [label for label in dict.fromkeys(itertools.chain(*operands)) if label not in result]

    def at(array: Array, labels: list[str], point: dict[str, int]) -> Any:
        return array[tuple(point[label] if n > 1 else 0 for label, n in zip(labels, array.shape, strict=True))]

    found = np.empty([sizes[label] for label in result], object)
    for place in np.ndindex(*found.shape):
        values = []
        for inner in itertools.product(*(range(sizes[label]) for label in reduced)):
            point = {**dict(zip(result, place, strict=True)), **dict(zip(reduced, inner, strict=True))}
            value = at(arrays[0].astype(np.float64), operands[0], point)
            for labels, array in zip(operands[1:], arrays[1:], strict=True):
                value = combine(value, at(array.astype(np.float64), labels, point))
            values.append(value)
        found[place] = reduce(np.array(values))
    return found.astype(float)


@st.composite
def subscripts(draw: st.DrawFn) -> tuple[list[list[str]], list[str], list[Array]]:
    """Labels of one to three operands with diagonals and dimensions of size 1, of a result, and arrays."""
    sizes = {label: draw(st.integers(1, 3)) for label in "abcd"}
    operands = draw(st.lists(st.lists(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=3))
    used = sorted(set(itertools.chain(*operands)))
    result = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    arrays = []
    for number, labels in enumerate(operands):
        alone = {label for label in labels if draw(st.integers(0, 7)) == 0}
        shape = [1 if label in alone else sizes[label] for label in labels]
        arrays.append(numbers(*shape, seed=draw(st.integers(0, 99)) + number))
    return operands, list(result), arrays


def written(operands: list[list[str]], result: list[str] | None) -> str:
    left = ",".join("".join(labels) for labels in operands)
    return left if result is None else f"{left}->{''.join(result)}"


# ---------------------------------------------------------------- values


@settings(max_examples=examples(30), deadline=None)
@given(subscripts(), st.booleans())
def test_products_and_sums_are_jnp_einsum(drawn: tuple[list[list[str]], list[str], list[Array]], implied: bool) -> None:
    operands, result, arrays = drawn
    text = written(operands, None if implied else result)

    np.testing.assert_array_equal(tcjax.einsum(text, *arrays), jnp.einsum(text, *arrays))


@settings(max_examples=examples(30), deadline=None)
@given(subscripts(), st.sampled_from(sorted(COMBINE)), st.sampled_from(sorted(REDUCE)))
def test_a_semiring_is_what_it_is_point_by_point(
    drawn: tuple[list[list[str]], list[str], list[Array]], combine: str, reduce: str
) -> None:
    operands, result, arrays = drawn
    truth = combine in ("<", "!=") and len(operands) == 2
    if truth != (reduce in ("any", "all")) or (combine in ("<", "!=") and len(operands) > 2):
        combine, reduce = "+", "max"

    found = tcjax.einsum(written(operands, result), *arrays, combine=combine, reduce=reduce)

    wanted = brute(operands, result, arrays, COMBINE[combine], REDUCE[reduce])
    np.testing.assert_allclose(np.asarray(found, float), wanted, rtol=1e-4, atol=1e-4)


@settings(max_examples=examples(20), deadline=None)
@given(subscripts())
def test_the_general_path_is_jnp_einsum_too(drawn: tuple[list[list[str]], list[str], list[Array]]) -> None:
    operands, result, arrays = drawn
    text = written(operands, result)

    found = tcjax.einsum(text, *arrays, combine=lambda a, b: a * b)

    np.testing.assert_allclose(found, jnp.einsum(text, *arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ki,jk", [(2, 3), (4, 2)]),
        ("Ba,ab", [(2, 3), (3, 2)]),
        (" i j , j k -> i k ", [(2, 3), (3, 4)]),
        ("αβ,βγ->αγ", [(2, 3), (3, 4)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
        ("...ij,jk", [(5, 1, 2, 3), (3, 4)]),
        ("i...,i...", [(2, 3, 1), (2, 4)]),
        ("...i->...", [(2, 3)]),
        ("...->", [(2, 3)]),
        ("i...->i", [(2, 3, 4)]),
        ("ii->i", [(3, 3)]),
        ("iij,j->ij", [(3, 3, 2), (2,)]),
        ("ij,jk->ik", [(1, 3), (1, 4)]),
        ("", [()]),
        (",->", [(), ()]),
        (",i,->i", [(), (3,), ()]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
    ],
)
def test_every_form_of_subscripts_is_understood(text: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [numbers(*shape, seed=number) for number, shape in enumerate(shapes)]
    wanted = jnp.einsum(text, *arrays)

    np.testing.assert_array_equal(tcjax.einsum(text, *arrays), wanted)
    np.testing.assert_allclose(tcjax.einsum(text, *arrays, combine=lambda a, b: a * b), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "arguments",
    [
        (numbers(2, 3), [0, 1], numbers(3, 4), [1, 2]),
        (numbers(2, 3), [0, 1], numbers(3, 4), [1, 2], [2, 0]),
        (numbers(2, 3), (7, 3), numbers(3, 4), (3, 5)),
        (numbers(2, 3), ["b", "a"], numbers(3, 4), ["a", "c"]),
        (numbers(5, 2, 3), [..., 1], numbers(3, 4), [1, 2], [..., 2]),
        (numbers(3, 3), [0, 0]),
    ],
)
def test_labels_may_stand_behind_the_operands(arguments: tuple[Any, ...]) -> None:
    wanted = jnp.einsum(*arguments)

    np.testing.assert_array_equal(tcjax.einsum(*arguments), wanted)
    np.testing.assert_allclose(tcjax.einsum(*arguments, combine=lambda a, b: a * b), wanted, rtol=1e-5)


def test_a_position_is_row_major_over_the_labels_in_order() -> None:
    a = numbers(3, 4, 5)

    found = tcjax.einsum("iab->i", a, combine="+", reduce="argmax")

    assert found.dtype == jnp.int32
    assert found.tolist() == a.reshape(3, 20).argmax(1).tolist()


def test_truth_values_have_their_semiring() -> None:
    a, b = np.eye(4, k=1, dtype=bool), np.eye(4, k=1, dtype=bool)

    found = tcjax.einsum("ij,jk->ik", a, b, combine="&&", reduce="any")

    assert found.dtype == bool
    np.testing.assert_array_equal(found, np.eye(4, k=2, dtype=bool))


def test_registered_reductions_and_functions_take_part() -> None:
    tcjax.monoid("smoothest", jnp.logaddexp, -jnp.inf)
    a, b = numbers(3, 4), numbers(4, 2, seed=1)

    found = tcjax.einsum("ik,kj->ij", a, b, combine=lambda x, y: -jnp.square(x - y), reduce="smoothest")

    wanted = np.logaddexp.reduce(-((a[:, :, None] - b[None]) ** 2), axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    tcjax.monoid("smoothest", jnp.maximum, -jnp.inf)
    assert float(tcjax.einsum("i->", a[0], combine="+", reduce="smoothest")) == a[0].max()


def test_types_are_those_of_jnp() -> None:
    a, b = np.int8([[100, 100]]), np.int8([[3], [4]])

    assert tcjax.einsum("ij,jk", a, b, preferred_element_type=jnp.int32).tolist() == [[700]]
    wide = tcjax.einsum("ij,jk", a, b, combine="+", reduce="max", preferred_element_type=jnp.int32)
    assert (wide.dtype, wide.tolist()) == (jnp.int32, [[104]])
    half = tcjax.einsum("ij,jk", numbers(2, 3), numbers(3, 2), combine="+", preferred_element_type=jnp.bfloat16)
    assert half.dtype == jnp.bfloat16
    assert tcjax.einsum("i,->i", numbers(3), 2, combine="+", reduce="max").dtype == jnp.float32
    assert tcjax.einsum("i,i->i", np.arange(3), numbers(3), combine="+", reduce="max").dtype == jnp.float32


def test_precision_and_lists_are_taken() -> None:
    a = [[1.0, 2.0], [3.0, 4.0]]

    np.testing.assert_allclose(tcjax.einsum("ij,jk", a, a, precision="highest"), np.array(a) @ np.array(a))
    np.testing.assert_allclose(tcjax.einsum("ij->i", a, combine="+", reduce="max"), [2.0, 4.0])


# ---------------------------------------------------------------- transformations


def min_plus(a: Any, b: Any) -> jax.Array:
    return tcjax.einsum("ik,kj->ij", a, b, combine="+", reduce="min")


def test_it_is_compiled_mapped_and_differentiated() -> None:
    a, b = numbers(3, 4), numbers(4, 5, seed=1)
    wanted = (a[:, :, None] + b[None]).min(1)
    place = (a[:, :, None] + b[None]).argmin(1)

    gradient = jax.jit(jax.grad(lambda a: jnp.sum(min_plus(a, b))))(a)

    np.testing.assert_allclose(jax.jit(min_plus)(a, b), wanted, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(min_plus)(np.stack([a, a]), np.stack([b, b])), [wanted, wanted], rtol=1e-6)
    np.testing.assert_allclose(gradient, (place[:, None] == np.arange(4)[None, :, None]).sum(2))
    assert jax.jvp(min_plus, (a, b), (a, b))[1].shape == (3, 5)


def test_a_layer_of_flax_takes_it() -> None:
    nnx = pytest.importorskip("flax.nnx")
    layer = nnx.Einsum("ij,jk->ik", (4, 3), (3,), rngs=nnx.Rngs(0), einsum_op=tcjax.einsum)
    plain = nnx.Einsum("ij,jk->ik", (4, 3), (3,), rngs=nnx.Rngs(0))

    np.testing.assert_array_equal(layer(jnp.ones((2, 4))), plain(jnp.ones((2, 4))))


def test_the_same_subscripts_are_compiled_once() -> None:
    from tcjax.runtime.einsum import _cached

    before = _cached.cache_info().misses
    for _ in range(3):
        tcjax.einsum("pq,qr->pr", numbers(2, 3), numbers(3, 4), combine="max", reduce="min")

    assert _cached.cache_info().misses == before + 1


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize("semiring", [{}, {"combine": "+", "reduce": "min"}])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ij,jk->ik", numbers(2, 3)), "TC0503"),
        (("ij", numbers(2, 3), numbers(2, 3)), "TC0503"),
        (("ij",), "TC0503"),
        (("ij->i", numbers(3)), "TC0502"),
        (("...ij", numbers(3)), "TC0502"),
        (("ij,jk", numbers(2, 3), numbers(4, 5)), "TC0601"),
        (("ii", numbers(2, 3)), "TC0601"),
        (("i->j", numbers(3)), "TC0401"),
        (("i->ii", numbers(3)), "TC0101"),
        (("i->i->i", numbers(3)), "TC0101"),
        (("i.j", numbers(2, 3)), "TC0102"),
        (("i-j", numbers(2, 3)), "TC0102"),
        (("i>", numbers(2, 3)), "TC0102"),
        (("......", numbers(2, 3)), "TC0101"),
        (("i", "abc"), "TC0305"),
        (("i", [1, [2]]), "TC0305"),
        (("i", None), "TC0305"),
        ((3, [0]), "TC0502"),
        ((numbers(3),), "TC0101"),
        ((None,), "TC0101"),
        ((numbers(3), 3), "TC0101"),
        ((numbers(3), [[0]]), "TC0101"),
        ((numbers(3, 3), [0, "a"]), "TC0101"),
    ],
)
def test_mistakes_are_compile_errors(arguments: tuple[Any, ...], code: str, semiring: dict[str, str]) -> None:
    with pytest.raises(CompileError) as caught:
        tcjax.einsum(*arguments, **semiring)

    assert caught.value.code == code
    assert caught.value.help


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"combine": "@"}, "TC0308"),
        ({"combine": "exp"}, "TC0308"),
        ({"combine": 3}, "TC0308"),
        ({"combine": None}, "TC0308"),
        ({"reduce": "median"}, "TC0308"),
        ({"reduce": "mink"}, "TC0308"),
        ({"reduce": jnp.sum}, "TC0308"),
        ({"reduce": None}, "TC0308"),
        ({"reduce": ["+"]}, "TC0308"),
        ({"combine": "&&", "reduce": "any"}, "TC0302"),
        ({"combine": "&"}, "TC0301"),
        ({"combine": lambda a: a}, "TC0205"),
        ({"preferred_element_type": "floaty"}, "TC0308"),
        ({"precision": "silly"}, "TC0308"),
        ({"out_sharding": "silly"}, "TC0308"),
        ({"out_sharding": "silly", "reduce": "min"}, "TC0308"),
        ({"preferred_element_type": "floaty", "reduce": "min"}, "TC0305"),
    ],
)
def test_options_are_checked(options: dict[str, Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        tcjax.einsum("ij,jk->ik", numbers(2, 3), numbers(3, 4), **options)

    assert caught.value.code == code


@settings(max_examples=examples(80), deadline=None)
@given(st.text("ij.,-> 0%é\n", max_size=8), st.booleans())
def test_any_text_is_computed_or_a_compile_error(text: str, plain: bool) -> None:
    semiring = {} if plain else {"combine": "+", "reduce": "max"}
    try:
        tcjax.einsum(text, numbers(2, 2), numbers(2, 2), **semiring)
    except CompileError as error:
        assert error.help


def test_it_needs_no_more_to_import() -> None:
    code = "import tcjax, sys; assert 'tcjax.lowering' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
