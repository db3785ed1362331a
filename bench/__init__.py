"""The benchmark: TC's own kernels, each against the best JAX that people write by hand."""
