"""Scatters: dimensions that each point writes completely are rows, wherever they are in the target."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tcjax
from tcjax.planning import Compute, choice, operations
from tcjax.planning.operations import scatter, sorted_scatter
from tcjax.planning.operations.placement import Placement

N, B, D, E = 40, 7, 5, 3
RNG = np.random.default_rng(0)
ARRAYS: dict[str, NDArray[np.generic]] = {
    "X": RNG.normal(size=(N, D)).astype(np.float32),
    "Y": RNG.normal(size=(D, N, E)).astype(np.float32),
    "v": RNG.normal(size=N).astype(np.float32),
    "w": RNG.normal(size=D).astype(np.float32),
    # Some are outside.
    "I": RNG.integers(-2, B + 2, N).astype(np.int32),
    "J": RNG.integers(0, E, N).astype(np.int32),
    "c": np.int32(2),
}
TYPES = {
    "X": "float(N,D)",
    "Y": "float(D,N,E)",
    "v": "float(N)",
    "w": "float(D)",
    "I": "int(N)",
    "J": "int(N)",
    "c": "int",
}

# A statement, the target's shape, and which of its dimensions are rows (None: that depends on the reduction).
CASES = {
    "a row at the end": ("O(I(n),d) {} X(n,d)", (B, D), (1,)),
    "a row in front": ("O(d,I(n)) {} X(n,d)", (D, B), (0,)),
    "rows on both sides": ("O(d,I(n),e) {} Y(d,n,e)", (D, B, E), (0, 2)),
    "two rows in another order": ("O(I(n),e,d) {} Y(d,n,e)", (B, E, D), (1, 2)),
    "a row between two places": ("O(I(n),d,J(n)) {} X(n,d)", (B, D, E), (1,)),
    "a row that the target is longer than": ("O(I(n),d) {} X(n,d) where d in 0:5", (B, D + 1), ()),
    "a row backwards": ("O(I(n),4-d) {} X(n,d)", (B, D), (1,)),
    "an index twice": ("O(I(n)+d,d) {} X(n,d)", (B, D), ()),
    "a value of points alone": ("O(I(n),d) {} v(n) where d in 0:5", (B, D), ()),
    "a value of rows alone": ("O(I(n),d) {} w(d)", (B, D), (1,)),
    "points of which some count": ("O(I(n),d) {} X(n,d) where v(n) > 0", (B, D), (1,)),
    "elements of which some count": ("O(I(n),d) {} X(n,d) where X(n,d) > 0", (B, D), None),
    "one place": ("O(c(),d) {} w(d)", (B, D), (1,)),
    "a sum before": ("O(I(n),d) {} sum[e](Y(d,n,e))", (B, D), (1,)),
}
ELEMENTS = ("argmax=!", "*=!")
# A position needs a reduced index.
COMBINED = [
    (case, operator)
    for case in CASES
    for operator in ("+=!", "max=!", "mean=!", "logsumexp=!", *ELEMENTS)
    if (case, operator) != ("one place", "argmax=!")
]


def kernel_of(case: str, operator: str) -> tcjax.Kernel:
    statement, shape, _ = CASES[case]
    text = statement.format(operator)
    used = [name for name in ARRAYS if f"{name}(" in text]
    given = ", ".join(f"{TYPES[name]} {name}" for name in used)
    return tcjax.kernel(f"def f({given}) -> (float({','.join(map(str, shape))}) O) {{ {text} }}")


def arguments(kernel: tcjax.Kernel) -> dict[str, NDArray[np.generic]]:
    return {tensor.name: ARRAYS[tensor.name] for tensor in kernel.ir().parameters}


@pytest.mark.parametrize(("case", "operator"), COMBINED)
def test_values_meet_as_in_the_interpreter(case: str, operator: str) -> None:
    kernel = kernel_of(case, operator)
    given = arguments(kernel)
    np.testing.assert_allclose(kernel(**given), kernel.interpret(**given), rtol=2e-5, atol=2e-5)


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
@pytest.mark.parametrize("bins", [3, 20])
@pytest.mark.parametrize("operator", ["+=!", "*=!", "min=!", "max=!", "mean=!", "logsumexp=!"])
@pytest.mark.parametrize("statement", ["O(b) {} v(n) where b == I(n)", "O(I(n)) {} v(n)", "O(I(n)) {} X(n,d)"])
@pytest.mark.parametrize("points", [(0, D), (2, 0), (0, 0)])
def test_no_points_leave_what_the_interpreter_leaves(
    points: tuple[int, int], statement: str, operator: str, bins: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements that a statement addresses start from the identity; data addresses some if there are any points."""
    text = statement.format(operator)
    given = {"v": np.ones(points[0], np.float32), "X": np.ones(points, np.float32), "I": np.zeros(points[0], np.int32)}
    used = [name for name in given if f"{name}(" in text]
    text += f"{',' if 'where' in text else ' where'} b in 0:{bins}" if "b" in text.split("=")[0] else ""
    kernel = tcjax.kernel(f"def f({', '.join(f'{TYPES[n]} {n}' for n in used)}) -> (float({bins}) O) {{ {text} }}")
    arguments = [given[name] for name in used]
    expected = kernel.interpret(*arguments)

    for ways in ([*operations.PLACEMENTS], *([one] for one in operations.PLACEMENTS)):
        monkeypatch.setattr(choice, "PLACEMENTS", (*ways, *(one for one in operations.PLACEMENTS if one not in ways)))
        monkeypatch.setattr(choice, "NOISE", 1.0)
        np.testing.assert_array_equal(tcjax.kernel(kernel.to("tc"))(*arguments), expected)


TYPED = {
    "bool": ("+", "*", "min", "max", "any", "all", "argmax"),
    "uint8": ("+", "*", "min", "max", "argmax"),
    "int32": ("+", "*", "min", "max", "argmin"),
    "half": ("+", "*", "min", "max", "argmin", "mean", "logsumexp"),
    "bfloat16": ("+", "*", "min", "max", "argmin", "mean", "logsumexp"),
    "complex64": ("+", "*"),
}


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("places", ["I(n)", "n / 3", "n % 20"])
@pytest.mark.parametrize(("kind", "reducer"), [(kind, r) for kind, reducers in TYPED.items() for r in reducers])
def test_values_of_every_type_have_a_way_to_their_places(kind: str, reducer: str, places: str, goes_on: bool) -> None:
    number = {"half": "float16"}.get(kind, kind)
    values = (RNG.normal(size=N) + 1j * RNG.normal(size=N)) if kind == "complex64" else RNG.integers(0, 3, N)
    target = "int32" if reducer.startswith("arg") else kind
    # More positions than would be written as conditions.
    start = np.ones(20, {"half": "float16"}.get(target, target) if target != "bfloat16" else jnp.bfloat16)
    statement = f"O({places}) {reducer}={'' if goes_on else '!'} V(n) where n in 0:{N}"
    text = f"def f({kind}(N) V, int(N) I{', ' + target + '(20) S' if goes_on else ''}) -> ({target}(20) O) {{ "
    kernel = tcjax.kernel(text + ("O(b) = S(b)  " if goes_on else "") + statement + " }")
    given = (jnp.asarray(values).astype(number), np.multiply(ARRAYS["I"], 2), *([start] if goes_on else []))

    np.testing.assert_allclose(
        np.asarray(kernel(*given), complex if kind == "complex64" else float),
        kernel.interpret(*given).astype(complex if kind == "complex64" else float),
        rtol={"half": 1e-2, "bfloat16": 6e-2}.get(kind, 2e-5),
    )


@pytest.mark.parametrize(("case", "operator"), [pair for pair in COMBINED if CASES[pair[0]][2] is not None])
def test_what_every_point_writes_whole_is_a_row(case: str, operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "PLACEMENTS", (scatter.propose, sorted_scatter.propose))
    kernel = kernel_of(case, operator)
    (stage,) = kernel.plan(**arguments(kernel)).stages
    assert isinstance(stage, Compute)
    assert stage.store.scatter is not None
    assert stage.store.scatter.rows == (() if operator in ELEMENTS else CASES[case][2])


@pytest.mark.parametrize("case", ["a row at the end", "a row in front", "a row between two places"])
def test_the_derivative_of_a_scatter_gathers(case: str) -> None:
    kernel = kernel_of(case, "+=!")
    given = arguments(kernel)
    value, back = jax.vjp(lambda X: kernel(**{**given, "X": X}), given["X"])
    way = RNG.normal(size=value.shape).astype(np.float32)
    where, inside = np.clip(ARRAYS["I"], 0, B - 1), (ARRAYS["I"] >= 0) & (ARRAYS["I"] < B)
    rows = {
        "a row at the end": lambda: way[where],
        "a row in front": lambda: way[:, where].T,
        "a row between two places": lambda: way[where, :, ARRAYS["J"]],
    }[case]()
    np.testing.assert_array_equal(back(jnp.asarray(way))[0], np.where(inside[:, None], rows, 0))


@pytest.mark.filterwarnings("ignore:.*TC1201")
@pytest.mark.parametrize("operator", ["+=", "max="])
@pytest.mark.parametrize("case", ["a row at the end", "a row in front"])
def test_rows_go_on_from_what_is_there_and_have_batches(case: str, operator: str) -> None:
    kernel = kernel_of(case, operator)
    given = arguments(kernel)
    begin = RNG.normal(size=(4, *CASES[case][1])).astype(np.float32)
    found = jax.vmap(lambda O: kernel(**given, O=O))(begin)
    for number in range(4):
        wanted = kernel.interpret(**given, O=begin[number])
        np.testing.assert_allclose(found[number], wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.filterwarnings("ignore::tcjax.CompileWarning")
@pytest.mark.parametrize("operator", ["+=!", "*=!", "min=!", "max=!", "mean=!", "logsumexp=!", "argmax=!"])
@pytest.mark.parametrize(
    "statement", ["O(I(n)) {} v(n)", "O(I(n),d) {} X(n,d)", "O(b) {} v(n) where b == I(n), b in 0:B"]
)
def test_where_there_are_no_places_all_values_are_dropped(statement: str, operator: str) -> None:
    names = ("v", "I") if "v(" in statement else ("X", "I")
    head = f"def f({', '.join(f'{TYPES[name]} {name}' for name in names)}) -> "
    extents, dtype = "B, D" if "X(" in statement else "B", "int32" if operator == "argmax=!" else "float"
    kernel = tcjax.kernel(f"{head}({dtype}({extents}) O) {{ {statement.format(operator)} }}")
    value, places = (ARRAYS[name] for name in names)
    expected = kernel.interpret(value, places, B=0)

    np.testing.assert_array_equal(kernel(value, places, B=0), expected)
    if dtype == "float":
        slope = jax.grad(lambda value: kernel(value, places, B=0).sum())(value)
        np.testing.assert_array_equal(slope, np.zeros(value.shape))


def test_rows_take_no_room() -> None:
    kernel = tcjax.kernel("def f(float(N,D) X, int(N) I) -> (float(64,D) O) { O(I(n),d) +=! X(n,d) }")
    given = jax.ShapeDtypeStruct((65536, 32), jnp.float32), jax.ShapeDtypeStruct((65536,), jnp.int32)
    analysis = jax.jit(kernel).lower(*given).compile().memory_analysis()
    assert analysis is not None and analysis.temp_size_in_bytes <= 65536 * 4 + 2 * 64 * 32 * 4


@pytest.mark.parametrize("operation", operations.PLACEMENTS, ids=lambda propose: propose.__module__.rpartition(".")[2])
@pytest.mark.parametrize(("case", "operator"), COMBINED)
def test_every_operation_gives_the_same(
    case: str, operator: str, operation: choice.Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only(placement: Placement) -> Iterator[Compute]:
        found = list(operation(placement))
        yield from found or (stage for propose in operations.PLACEMENTS for stage in propose(placement))

    monkeypatch.setattr(choice, "PLACEMENTS", (only,))
    kernel = kernel_of(case, operator)
    given = arguments(kernel)
    np.testing.assert_allclose(kernel(**given), kernel.interpret(**given), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("operator", ["+=!", "max=!", "*=!", "mean=!"])
def test_values_go_to_a_few_places_in_one_way_however_that_is_written(operator: str) -> None:
    shapes = jax.ShapeDtypeStruct((65536,), jnp.float32), jax.ShapeDtypeStruct((65536,), jnp.int32)
    head = "def f(float(N) v, int(N) I) -> (float(4) O)"
    one, other = (
        tcjax.kernel(f"{head} {{ {text} }}").plan(*shapes).stages[-1]
        for text in (f"O(I(n)) {operator} v(n)", f"O(b) {operator} v(n) where I(n) == b")
    )
    assert isinstance(one, Compute) and isinstance(other, Compute)
    assert one.store.scatter == other.store.scatter and one.runner_up is not None
    # XLA has no scatter for products, and sorting positions takes long.
    assert operator != "*=!" or one.store.scatter is None


def test_what_lies_in_several_dimensions_is_one_place() -> None:
    text = "O(i,j) +=! v(n) where I(n) == i, J(n) == j"
    kernel = tcjax.kernel(f"def f(float(N) v, int(N) I, int(N) J) -> (float(7,3) O) {{ {text} }}")
    given = {"v": ARRAYS["v"], "I": ARRAYS["I"], "J": np.roll(ARRAYS["I"], 5)}
    (stage,) = kernel.plan(**given).stages
    assert isinstance(stage, Compute) and stage.store.open == (0, 1)
    np.testing.assert_allclose(kernel(**given), kernel.interpret(**given), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("statement", "places"),
    [
        ("O(J(i)) = sum[k](A(i,k)) where unique J(i)", {3: 6, 1: 15}),
        ("O(J(i)) = sum[k](A(i,k) * A(i,0)) where unique J(i)", {3: 6, 1: 60}),
        ("O(J(i)) = max[k](A(i,k)) where unique J(i)", {3: 3, 1: 6}),
        ("O(j()) = sum[i](A(i,1))", {2: 7}),
        ("O(j()) = A(1,2) * sum[i](A(i,1))", {2: 42}),
    ],
)
def test_reductions_stored_in_places_of_data_keep_all_other_elements(statement: str, places: dict[int, float]) -> None:
    text = "def f(float(N,K) A, int32(N) J, int32() j) -> (float(R) O) { O(r) = 7.0 where r in 0:R " + statement + " }"
    A = np.float32([[1, 2, 3], [4, 5, 6]])

    found = tcjax.kernel(text)(A, np.int32([3, 1]), np.int32(2), R=5)

    assert found.tolist() == [places.get(place, 7) for place in range(5)]
