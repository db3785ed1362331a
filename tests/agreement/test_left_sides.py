"""Every reduction into every kind of target, including points that share an element."""

import numpy as np
import pytest

import tcjax

from .comparing import agree

N, K, P = 7, 8, 5
RNG = np.random.default_rng(0)
A = RNG.normal(size=N).astype(np.float32)
B = RNG.normal(size=K).astype(np.float32)
# Some are outside.
I = RNG.integers(-1, P + 1, N).astype(np.int32)

REDUCERS = ("+", "*", "min", "max", "mean", "logsumexp", "argmin", "argmax")
PLACES = ("i", "i / 3", "i % 3", "2*i", "2*i / 3", "6 - i", "i / 2, i % 2", "i, i / 4", "i, i", "I(i)", "I(i), i", "2")
VALUES = (
    "A(i) * B(k)",
    "-(A(i) * B(k))",
    "A(i) + B(k)",
    "k < 4 ? A(i) * B(k) : A(i) - B(k)",
    "(A(i) * B(k) + A(i)) / 2",
    "mean[j](A(i) * B(j) * B(k))",
    "max[j](-(A(i) * B(j)) - B(k))",
)


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("reducer", REDUCERS)
def test_points_that_share_a_place_meet_there(reducer: str, places: str, value: str) -> None:
    rank = places.count(",") + 1
    sizes = ",".join(["14"] * rank)
    statement = f"O({places}) {reducer}=! {value} where i in 0:{N}"
    text = f"def f(float(N) A, float(M) B, int(N) I) -> (float({sizes}) O) {{ {statement} }}"
    try:
        kernel = tcjax.kernel(text)
    except tcjax.CompileError as error:
        # The position of an extremum needs one index, over which the statement reduces.
        assert reducer.startswith("arg"), error
        return

    agree(kernel(A, B, I), kernel.interpret(A, B, I))
