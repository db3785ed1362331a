"""Programs as SaC's users write them."""

from .library import LIBRARY
from .products import PRODUCTS, STATISTICS, TABLES
from .stencils import PICTURES, STENCILS

__all__ = ["LIBRARY", "PICTURES", "PRODUCTS", "STATISTICS", "STENCILS", "TABLES"]
