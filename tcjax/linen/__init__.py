"""Layers for flax.linen: any comprehension with parameters, and Flax's layers as comprehensions."""

from ..layers.requirement import require_flax

require_flax("tcjax.linen")

from ..layers.pooling import avg_pool, max_pool, min_pool  # noqa: E402
from .attention import MultiHeadDotProductAttention, dot_product_attention  # noqa: E402
from .classes import (  # noqa: E402
    BatchNorm,
    Bilinear,
    Conv,
    Dense,
    DenseGeneral,
    Embed,
    GroupNorm,
    InstanceNorm,
    LayerNorm,
    MixtureOfExperts,
    RMSNorm,
)
from .comprehensions import Comprehension  # noqa: E402

__all__ = [
    "BatchNorm",
    "Bilinear",
    "Comprehension",
    "Conv",
    "Dense",
    "DenseGeneral",
    "Embed",
    "GroupNorm",
    "InstanceNorm",
    "LayerNorm",
    "MixtureOfExperts",
    "MultiHeadDotProductAttention",
    "RMSNorm",
    "avg_pool",
    "dot_product_attention",
    "max_pool",
    "min_pool",
]
