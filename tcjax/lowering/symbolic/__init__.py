"""Functions of arrays whose sizes are symbols of `jax.export`."""

from .functions import lower_symbolic

__all__ = ["lower_symbolic"]
