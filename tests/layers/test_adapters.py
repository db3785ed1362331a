"""What the ready-made layers delegate to Flax, in both of its interfaces, and what they do not."""

from collections.abc import Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import tcjax.linen
import tcjax.nn

pytestmark = pytest.mark.usefixtures("quickly_compiled")

SIDES = (jax.lax.Precision.HIGHEST, jax.lax.Precision.DEFAULT)
IMAGE, COMPLEX = np.ones((2, 5, 4), np.float32), np.ones((2, 5, 4), np.complex64)
IDS = np.array([[0, 1]])

# The name of a layer in each interface, its constructor arguments in each, and the input.
LINEAR = (("Linear", {"in_features": 4, "out_features": 3}), ("Dense", {"features": 3}), IMAGE)
CONV = (
    ("Conv", {"in_features": 4, "out_features": 2, "kernel_size": (3,)}),
    ("Conv", {"features": 2, "kernel_size": (3,)}),
    IMAGE,
)
EMBED = (("Embed", {"num_embeddings": 2, "features": 3}), ("Embed", {"num_embeddings": 2, "features": 3}), IDS)


def norm(name: str, x: Any = IMAGE, **options: Any) -> tuple[Any, ...]:
    return (name, {"num_features": 4, **options}), (name, options), x


LAYERS = [
    LINEAR,
    CONV,
    EMBED,
    norm("LayerNorm"),
    norm("RMSNorm"),
    norm("GroupNorm", num_groups=2),
    norm("InstanceNorm"),
    norm("BatchNorm", use_running_average=True),
]

# A layer, and an option for which it delegates to Flax.
LEFT: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (LINEAR, {"precision": SIDES}),
    (LINEAR, {"dot_general": lambda *given, **_: 2 * jax.lax.dot_general(*given[:3])}),
    (CONV, {"precision": SIDES}),
    (CONV, {"padding": "REFLECT"}),
    (CONV, {"input_dilation": 2}),
    (CONV, {"mask": jnp.ones((3, 4, 2))}),
    (EMBED, {"num_embeddings": 1}),
    (norm("GroupNorm", num_groups=2), {"reduction_axes": (1, 2)}),
    (norm("InstanceNorm"), {"feature_axes": (0, -1)}),
    *((layer, {"axis_name": "data"}) for layer in LAYERS[3:]),
    *((layer, {"param_dtype": jnp.complex64}) for layer in LAYERS[3:]),
    *(((*layer[:2], COMPLEX), {}) for layer in LAYERS[3:]),
]


def is_asked(case: tuple[Any, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether Flax computes it, in flax.nnx and in flax.linen."""
    (name, made), (linen_name, linen_made), x = case
    asked: list[int] = []

    def flax(*given: Any, **_: Any) -> jax.Array:
        asked.append(len(given))
        return jnp.zeros(())

    monkeypatch.setattr(getattr(nnx, name), "__call__", flax)
    monkeypatch.setattr(getattr(nn, linen_name), "__call__", flax)
    getattr(tcjax.nn, name)(**{**made, **options}, rngs=nnx.Rngs(0))(jnp.asarray(x))
    yield bool(asked)
    asked.clear()
    getattr(tcjax.linen, linen_name)(**{**linen_made, **options}).init(jax.random.key(0), jnp.asarray(x))
    yield bool(asked)


@pytest.mark.parametrize("case", LAYERS, ids=lambda case: case[0][0])
def test_the_usual_is_a_program(case: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(is_asked(case, {}, monkeypatch)) == [False, False]


@pytest.mark.parametrize(("case", "options"), LEFT, ids=lambda value: value[0][0] if isinstance(value, tuple) else "")
def test_the_same_is_left_to_flax_in_both_interfaces(
    case: tuple[Any, ...], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(is_asked(case, options, monkeypatch)) == [True, True]
