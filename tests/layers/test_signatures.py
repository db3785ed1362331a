"""The ready-made layers take the same arguments as Flax's, in the same order, with the same defaults."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import flax.linen as nn
import pytest
from flax import nnx

import tcjax.linen
import tcjax.nn
from tcjax.layers.programs.dense import dot_general

# What Flax does not have, and `initializers`, where Flax has more.
OWN = {
    "tcjax.nn": {"Bilinear", "Comprehension", "MixtureOfExperts", "initializers"},
    "tcjax.linen": {"Bilinear", "Comprehension", "MixtureOfExperts", "min_pool"},
}

# Where flax.linen multiplies with a given function, the default is a comprehension.
OTHER_DEFAULTS: dict[str, Any] = {
    "tcjax.linen.DenseGeneral.dot_general": dot_general,
    "tcjax.linen.MultiHeadDotProductAttention.attention_fn": tcjax.linen.dot_product_attention,
    "tcjax.linen.MultiHeadDotProductAttention.qkv_dot_general": dot_general,
    "tcjax.linen.MultiHeadDotProductAttention.out_dot_general": dot_general,
}


def pairs() -> Iterator[Any]:
    """Each of our functions, constructors and public methods, with Flax's."""
    for room, flax in ((tcjax.nn, nnx), (tcjax.linen, nn)):
        for name in sorted(set(room.__all__) - OWN[room.__name__]):
            ours, theirs = getattr(room, name), getattr(flax, name)
            called = f"{room.__name__}.{name}"
            if not inspect.isclass(ours):
                yield pytest.param(called, ours, theirs, id=called)
                continue
            methods = ["__init__", "__call__", *(method for method in vars(ours) if not method.startswith("_"))]
            for method in methods:
                mine, other = getattr(ours, method), getattr(theirs, method)
                if inspect.isfunction(mine) and inspect.isfunction(other):
                    place = called if method == "__init__" else f"{called}.{method}"
                    yield pytest.param(place, mine, other, id=place)


@pytest.mark.parametrize(("place", "ours", "theirs"), list(pairs()))
def test_the_arguments_are_those_of_flax(place: str, ours: Callable[..., Any], theirs: Callable[..., Any]) -> None:
    found, expected = (inspect.signature(function).parameters for function in (ours, theirs))

    assert [(p.name, p.kind) for p in found.values()] == [(p.name, p.kind) for p in expected.values()]
    for name, parameter in found.items():
        default = OTHER_DEFAULTS.get(f"{place}.{name}", expected[name].default)
        assert parameter.default is default or parameter.default == default
