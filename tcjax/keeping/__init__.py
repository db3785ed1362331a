"""Caches: bounded, thread-safe, and safe across a fork."""

from .forks import lock
from .properties import cached_property
from .recent import MOST_SIGNATURES, Recent

__all__ = ["MOST_SIGNATURES", "Recent", "cached_property", "lock"]
