"""Arrays that XLA must not fuse into their readers."""

import jax.numpy as jnp
import numpy as np
import pytest

from tcjax.lowering.apart import as_stored, keep_apart


@pytest.mark.parametrize("shape", [(0, 6), (6, 0), (2, 3)])
def test_arrays_without_elements_are_kept_apart_too(shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    np.testing.assert_array_equal(keep_apart(jnp.asarray(array), jnp.asarray(array)), array)
    np.testing.assert_array_equal(as_stored(jnp.asarray(array), (1, 0)), array.T)
