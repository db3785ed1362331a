"""The examples of layers learn in a few steps; `main` runs all of their steps."""

import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import nnx

from examples.layers import characters
from tests.examples.test_examples import example

pytestmark = pytest.mark.usefixtures("quickly_compiled")

TINY = characters.Size(context=24, width=16, heads=2, depth=1, batch=8)


@pytest.mark.parametrize("name", ["digits_nnx", "digits_linen"])
def test_the_digits_are_read_with_either_interface(name: str) -> None:
    assert example(f"layers/{name}").main(epochs=2) > 0.5


def test_the_writer_learns_as_in_plain_flax_and_resumes_to_the_same_bits(tmp_path: Path) -> None:
    options = {"checkpoints": tmp_path, "every": 15}

    training, losses = characters.train(TINY, 30, **options)
    shutil.rmtree(tmp_path / "30")
    resumed, rest = characters.train(TINY, 30, **options, resume=True)
    _, plain = characters.train(TINY, 30, plain=True)

    assert losses[-1] < losses[0] - 0.3
    np.testing.assert_allclose(losses, plain, rtol=1e-5)
    assert rest == losses[15:]
    jax.tree.map(np.testing.assert_array_equal, resumed.state, training.state)
    assert characters.write(training.trained(), TINY.context, "The ", 3).startswith("The ")


def test_the_models_begin_with_the_same_numbers_under_the_same_names() -> None:
    found, expected = (nnx.state(characters.Writer(TINY, plain=plain), nnx.Param) for plain in (False, True))

    jax.tree.map(np.testing.assert_array_equal, nnx.to_pure_dict(found), nnx.to_pure_dict(expected))


def test_the_scores_of_many_places_are_never_stored() -> None:
    size = characters.SIZES["large"]
    kernel = characters.attention_kernel(size.width // size.heads, "bfloat16")
    array = jax.ShapeDtypeStruct((size.batch, size.context, size.heads, size.width // size.heads), "bfloat16")

    norm, values = kernel.explain(array, array, array).to_dict()["statements"]

    assert (norm["operation"], values["operation"]) == ("online softmax (logsumexp)", "online softmax (sum)")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--size", "huge"], "invalid choice: 'huge'"),
        (["--steps", "0"], "--steps and --every must be at least 1"),
        (["--resume"], "--resume needs --checkpoints"),
        (["--compare", "--plain"], "--compare cannot be combined with --plain"),
    ],
)
def test_bad_options_are_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        characters.main(arguments)

    assert stopped.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_the_layer_finds_the_equation_of_heat() -> None:
    assert example("layers/heat").main(steps=200) < 1e-3
