"""Sliding windows in plain NumPy, for the expected values of convolutions and pools."""

import numpy as np


def windows(image: np.ndarray, height: int, width: int, down: int = 1, right: int = 1) -> np.ndarray:
    """The windows of the last two dimensions: shape (..., rows, columns, height, width)."""
    view = np.lib.stride_tricks.sliding_window_view(image, (height, width), axis=(-2, -1))
    return view[..., ::down, ::right, :, :]


def convolution(image: np.ndarray, weights: np.ndarray, down: int = 1, right: int = 1) -> np.ndarray:
    """``(N, C, H, W)`` with ``(M, C, KH, KW)``, without padding and without flipping."""
    return np.einsum("nchwyx,mcyx->nmhw", windows(image, *weights.shape[-2:], down, right), weights)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)
