"""What plans are made of: data only, which `lowering` turns into JAX."""
