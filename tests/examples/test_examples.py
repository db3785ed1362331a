"""The examples do what they say: real data in, a verifiable result out."""

import importlib.util
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import jax
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


@pytest.mark.parametrize("size", [(16, 24), (7, 50)])
def test_the_edges_in_tiles_are_what_scipy_makes_of_the_photograph(size: tuple[int, int]) -> None:
    blur = example("blur")
    crop = np.random.default_rng(0).uniform(size=(54, 70, 3)).astype(np.float32)

    found = blur.edges.with_schedule(blur.tiled(*size))(crop, *blur.WEIGHTS)

    gray = ndimage.correlate1d(ndimage.correlate1d(crop @ blur.LUMA, blur.GAUSSIAN, 0), blur.GAUSSIAN, 1)
    slopes = [ndimage.sobel(gray, axis) / 8 for axis in (0, 1)]
    np.testing.assert_allclose(found, np.hypot(*slopes)[11:-11, 11:-11], atol=1e-5)


def test_a_tile_of_edges_follows_from_the_box_that_the_schedule_names() -> None:
    blur = example("blur")
    crop = np.random.default_rng(0).uniform(size=(54, 70, 3)).astype(np.float32)
    whole = blur.edges(crop, *blur.WEIGHTS)
    regions = blur.tiled(16, 24).infer_bounds(crop, *blur.WEIGHTS)

    boxes = blur.boxes(regions, {"ty": 1, "tx": 1}, (16, 24))

    top, left, tall, wide = boxes["gray"]
    part = blur.edges(crop[top : top + tall, left : left + wide], *blur.WEIGHTS)
    np.testing.assert_allclose(part, whole[16:32, 24:48], atol=1e-6)
    assert boxes["edge"] == [16 + 11, 24 + 11, 16, 24]


def test_tiles_of_edges_need_less_memory_than_whole_pictures(tmp_path: Path) -> None:
    needed = example("blur").main(tmp_path)

    whole = needed.pop("whole")
    assert whole > 4 * 405 * 618
    assert all(tiles < whole / 3 for tiles in needed.values())
    assert needed["in tiles of 81 x 103"] < whole / 15
    assert size_of(tmp_path / "blur.png") == (640, 2 * 427 + 18)


def bilateral(values: np.ndarray, contrast: float) -> float:
    """The filtered centre of a window, from its values in row-major order."""
    rank = round(np.log(len(values)) / np.log(3))
    middle = values[len(values) // 2]
    nearness = np.ones(1)
    for _ in range(rank):
        nearness = np.kron(nearness, [1, 2, 1])
    weights = nearness * np.exp(-(((values - middle) / contrast) ** 2))
    return float(weights @ values / weights.sum())


@pytest.mark.parametrize("shape", [(40,), (9, 11), (5, 6, 7)])
def test_the_stencil_without_a_rank_is_the_bilateral_filter(shape: tuple[int, ...]) -> None:
    stencil = example("stencil")
    noisy = np.random.default_rng(0).uniform(size=shape)

    once = np.asarray(stencil.smoothed(noisy.astype(np.float32), passes=1))

    everywhere = ndimage.generic_filter(noisy, bilateral, size=3, extra_arguments=(stencil.CONTRAST,))
    inside = (slice(1, -1),) * noisy.ndim
    np.testing.assert_allclose(once[inside], everywhere[inside], atol=1e-5)
    rim = np.ones(shape, bool)
    rim[inside] = False
    np.testing.assert_array_equal(once[rim], noisy.astype(np.float32)[rim])


def test_smoothing_brings_a_profile_a_picture_and_a_film_closer_to_the_truth(tmp_path: Path) -> None:
    gains = example("stencil").main(tmp_path)

    assert all(gain > 3 for gain in gains.values())
    assert gains["profile"] < gains["picture"] < gains["film"]
    with Image.open(tmp_path / "stencil.png") as image:
        values = np.asarray(image) / 255
    # Two by two, three pixels for a value: the first is the photograph itself.
    truth = example("stencil").scenes()["picture"]
    np.testing.assert_allclose(values[30 : 30 + 360 : 3, 46 : 46 + 480 : 3], truth, atol=0.005)
    assert (values[:29, 46:526] < 0.5).any(), "the photograph has a title"
    assert values.shape[1] > 2 * 480 and values.shape[0] > 2 * 360


@pytest.mark.parametrize(("rank", "intervals"), [(1, 32), (2, 16), (3, 8)])
def test_multigrid_converges_to_the_known_solution_in_any_number_of_dimensions(rank: int, intervals: int) -> None:
    residuals, errors = zip(*example("multigrid").solve(intervals, cycles=16, rank=rank), strict=True)

    assert all(after < max(before / 5, 1e-12) for before, after in pairwise(residuals))
    assert errors[-1] < 1e-12


def test_multigrid_draws_residuals_that_fall_and_slices_in_colour() -> None:
    history = [(10.0**-n, 10.0 ** -(n + 1)) for n in range(9)]
    x = np.linspace(0, 1, 9)
    solution = x[:, None, None] * x[:, None] * x
    multigrid = example("multigrid")

    drawn = np.asarray(multigrid.sheet(history, solution, [-solution, 1e-9 * solution])).astype(int)

    top, left = multigrid.TOP, multigrid.LEFT
    curve = drawn[top + 5 : top + multigrid.HEIGHT - 5, left + 1 : left + multigrid.WIDTH - 140]
    marked = (np.abs(curve - np.array(multigrid.BLUE)) < 3).all(axis=2)
    heights = [np.flatnonzero(column).mean() for column in marked.T if column.any()]
    assert len(heights) > 100 and heights[-1] > heights[0] + 50
    # The corner where the solution is 1, and where the first error is -1 halfway.
    right = left + multigrid.WIDTH + 110 + left
    assert drawn[top + multigrid.HEIGHT - 4, right + multigrid.WIDTH - 4].tolist() == list(multigrid.ORANGE)
    below = top + multigrid.HEIGHT + 50 + top
    assert drawn[below + multigrid.HEIGHT - 4, left + multigrid.WIDTH - 4].tolist() == list(multigrid.BLUE)


def test_the_correction_of_multigrid_is_linear_interpolation() -> None:
    multigrid = example("multigrid").multigrid
    correction = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    correction = np.pad(correction, 1)

    with jax.enable_x64(True):
        grid = np.zeros((13, 11))
        added = np.asarray(multigrid.corrected(grid, multigrid.spread(correction.astype(np.float64))))

    expected = ndimage.zoom(correction.astype(np.float64), (13 / 7, 11 / 6), order=1)
    np.testing.assert_allclose(added, np.asarray(expected), atol=1e-6)
