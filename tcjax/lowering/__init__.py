"""Lowers plans to JAX."""

from .lower import lower

__all__ = ["lower"]
