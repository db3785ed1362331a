"""The data structures of plans, which `lowering` turns into JAX."""
