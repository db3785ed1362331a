"""Layers for flax.nnx: any comprehension with parameters, and Flax's layers as comprehensions."""

from ..layers.requirement import require_flax

require_flax("tcjax.nn")

from ..layers.pooling import avg_pool, max_pool, min_pool  # noqa: E402
from . import initializers  # noqa: E402
from .attention import MultiHeadAttention, dot_product_attention  # noqa: E402
from .classes import (  # noqa: E402
    BatchNorm,
    Bilinear,
    Conv,
    Embed,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    Linear,
    LinearGeneral,
    MixtureOfExperts,
    RMSNorm,
)
from .comprehensions import Comprehension  # noqa: E402

__all__ = [
    "BatchNorm",
    "Bilinear",
    "Comprehension",
    "Conv",
    "Embed",
    "GroupNorm",
    "InstanceNorm",
    "LayerNorm",
    "Linear",
    "LinearGeneral",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "RMSNorm",
    "avg_pool",
    "dot_product_attention",
    "initializers",
    "max_pool",
    "min_pool",
]
