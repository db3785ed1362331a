"""Initialisers that scale by the fan-in and fan-out of a program.

Those of JAX and Flax that scale a variance (`lecun_normal`, `he_uniform`, ...) already do so when they are passed to a
layer of tcjax without axes. They are here along with `by_fans`, which does it for an initialiser of your own.
"""

from flax.nnx.nn.initializers import (
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
    normal,
    ones,
    orthogonal,
    uniform,
    variance_scaling,
    zeros,
)

from ..layers import ByFans, Initializer


def by_fans(init: Initializer) -> Initializer:
    """The initialiser, called with the shape ``(windows.., fan in, fan out)``, whatever the order of the parameter's
    dimensions.
    """
    return ByFans(init)


__all__ = [
    "by_fans",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "uniform",
    "variance_scaling",
    "zeros",
]
