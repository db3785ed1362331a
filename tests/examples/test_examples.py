"""The examples do what they say: real data in, a result that can be checked out."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def size_of(picture: Path) -> tuple[int, int]:
    with Image.open(picture) as image:
        return image.size


def test_the_network_of_comprehensions_reads_handwritten_digits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accuracy = example("digits").main(tmp_path)

    assert accuracy >= 0.97
    assert size_of(tmp_path / "digits.png") == (880, 290)
    assert sorted(np.load(tmp_path / "digits.npz")) == ["bias", "bias 1", "bias 2", "filter 1", "filter 2", "weight"]
    assert "convolution" in capsys.readouterr().out


def test_the_filtered_photograph_is_what_scipy_makes_of_it() -> None:
    photo = example("photo")
    crop = np.random.default_rng(0).uniform(size=(24, 32, 3)).astype(np.float32)

    pictures = photo.filtered(crop)

    window = np.outer(photo.GAUSSIAN, photo.GAUSSIAN)[:, :, None]
    np.testing.assert_allclose(pictures["blurred"], ndimage.convolve(crop, window)[2:-2, 2:-2], atol=1e-5)
    cross = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32)[:, :, None]
    np.testing.assert_allclose(pictures["sharpened"], ndimage.convolve(crop, cross)[1:-1, 1:-1], atol=1e-5)
    gray = crop.sum(axis=2)
    slopes = [ndimage.sobel(gray, axis)[1:-1, 1:-1] / 8 for axis in (0, 1)]
    np.testing.assert_allclose(pictures["edges"], np.hypot(*slopes), atol=1e-5)
    tiles = crop.reshape(3, 8, 4, 8, 3)
    np.testing.assert_allclose(pictures["largest of 8 x 8"], tiles.max(axis=(1, 3)), atol=1e-6)
    np.testing.assert_allclose(pictures["mean of 8 x 8"], tiles.mean(axis=(1, 3)), atol=1e-5)


def test_the_photograph_is_saved_side_by_side(tmp_path: Path) -> None:
    saved = example("photo").main(tmp_path)

    assert size_of(saved) == (3 * 644, 2 * (427 + 22))
