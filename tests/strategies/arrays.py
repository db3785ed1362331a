"""Arrays for random programs."""

import ml_dtypes
import numpy as np

# What a writer may declare, and NumPy's name for it.
NUMPY = {"float": "float32", "double": "float64", "half": "float16"}


def dtype_of(scalar: str) -> np.dtype:
    """The NumPy type of a TC scalar type."""
    return np.dtype(ml_dtypes.bfloat16) if scalar == "bfloat16" else np.dtype(NUMPY.get(scalar, scalar))


def exact(shape: tuple[int, ...], scalar: str, seed: int) -> np.ndarray:
    """Small values whose sums and products every type holds: multiples of 1/4 in [-2, 2], integers in [0, 5]."""
    rng = np.random.default_rng(seed)
    dtype = dtype_of(scalar)
    if scalar == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 6, shape).astype(dtype)
    quarters = rng.integers(-8, 9, shape) / 4
    if dtype.kind == "c":
        return (quarters + 1j * rng.integers(-8, 9, shape) / 4).astype(dtype)
    return quarters.astype(dtype)


def special(shape: tuple[int, ...], scalar: str, seed: int) -> np.ndarray:
    """Exact values, some replaced by infinities and NaN if the type has them."""
    values = exact(shape, scalar, seed)
    if np.dtype(dtype_of(scalar)).kind in "biuc":
        return values
    rng = np.random.default_rng(seed + 1)
    odd = rng.choice(np.array([np.inf, -np.inf, np.nan]), shape).astype(values.dtype)
    return np.where(rng.integers(0, 4, shape) == 0, odd, values)


def odd(shape: tuple[int, ...], scalar: str, seed: int) -> np.ndarray:
    """Exact values, a few replaced by infinities of one or both signs, NaN and zeros of both signs."""
    values = exact(shape, scalar, seed)
    rng = np.random.default_rng(seed + 2)
    kinds = (np.inf,), (-np.inf,), (np.inf, -np.inf), (np.nan,), (0.0, -0.0), (np.inf, -np.inf, np.nan, 0.0, -0.0)
    replaced = rng.choice(np.array(kinds[rng.integers(len(kinds))]), shape).astype(values.dtype)
    return np.where(rng.integers(0, 5, shape) == 0, replaced, values)


def large(shape: tuple[int, ...], scalar: str, seed: int) -> np.ndarray:
    """Small integers, a few of them replaced by the least and the greatest of the type."""
    values = exact(shape, scalar, seed)
    limits = np.iinfo(values.dtype)
    rng = np.random.default_rng(seed + 3)
    ends = rng.choice(np.array([limits.min, limits.max], values.dtype), shape)
    return np.where(rng.integers(0, 5, shape) == 0, ends, values)


def generic(shape: tuple[int, ...], scalar: str, seed: int) -> np.ndarray:
    """Values in general position: no two are equal and none is near zero, so that kinks and ties are far away."""
    rng = np.random.default_rng(seed)
    if dtype_of(scalar).kind in "biu":
        return exact(shape, scalar, seed)
    sizes = rng.uniform(0.3, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    return sizes.astype(dtype_of(scalar))


def positions(shape: tuple[int, ...], scalar: str, seed: int) -> np.ndarray:
    """Subscripts for arrays of a few elements, sometimes out of bounds."""
    rng = np.random.default_rng(seed)
    return rng.integers(0 if scalar.startswith("u") else -2, 9, shape).astype(dtype_of(scalar))


def rising(shape: tuple[int, ...], scalar: str, seed: int) -> np.ndarray:
    """Positions that do not decrease: pointers to rows."""
    return np.sort(positions(shape, scalar, seed))
