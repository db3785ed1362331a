"""The benchmark: TC's own kernels, each against the best hand-written JAX."""
