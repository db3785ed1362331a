"""Points, clouds and kernels."""
