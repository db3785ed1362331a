"""Layers, gradients and algorithms that TC"s database, benchmarks and examples write down, with small sizes."""

from .convolutions import CONVOLUTIONS
from .lookups import LOOKUPS
from .networks import NETWORKS
from .norms import NORMS
from .pools import POINTWISE, POOLS
from .products import PRODUCTS

__all__ = ["CONVOLUTIONS", "LOOKUPS", "NETWORKS", "NORMS", "POINTWISE", "POOLS", "PRODUCTS"]
