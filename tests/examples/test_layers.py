"""The examples of layers learn, in a few steps; all of their steps run with `main`."""

import pytest

from tests.examples.test_examples import example

pytestmark = pytest.mark.usefixtures("quickly_compiled")


@pytest.mark.parametrize("name", ["digits_nnx", "digits_linen"])
def test_the_digits_are_read_with_either_interface(name: str) -> None:
    assert example(f"layers/{name}").main(epochs=2) > 0.5


def test_the_writer_learns_which_letters_follow_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = example("layers/characters").main(steps=30, width=16, heads=2, depth=1, batch=8)

    assert after < before - 0.3
    assert "The " in capsys.readouterr().out


def test_the_layer_finds_the_equation_of_heat() -> None:
    assert example("layers/heat").main(steps=200) < 1e-3
