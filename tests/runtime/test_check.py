"""`k.check()`: what it compares, what it refuses, and the counterexamples that it shows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax.runtime.checking import trials
from tcjax.runtime.checking.drawing import Drawer
from tcjax.runtime.checking.report import NotFound
from tcjax.runtime.checking.samples import Sample
from tests.effort import deep

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
DEEP = deep()
PROGRAMS = {
    "sizes that one array shares with another": (MM, {}),
    "sizes of which one is larger": ("def f(float(N) I, float(K) W) -> (O) { O(i) +=! I(i+k) * W(k) }", {}),
    "a size by keyword": ("def f(int32(N) b, float(N) w) -> (float(B) H) { H(b(i)) +=! w(i) }", {}),
    "an assumption": ("def f(float(N) A) -> (B) { B(i) = A(i) * A(i) }", {"assume": ["N % 8 == 0", "N > 0"]}),
    "sizes that are numbers": ("def f(float(3,N) A) -> (B) { B(i) = A(0,i) * A(1,i) + A(2,i) }", {}),
    "no declarations": ("y(n,i) = exp(x(n,i) - max[j](x(n,j))) / sum[j](exp(x(n,j) - max[k](x(n,k))))", {}),
    "subscripts": ("def f(float(M,D) A, int32(N) I) -> (O) { O(i,d) = A(I(i), d) }", {}),
    "halves": ("def f(half(N) A) -> (S) { S +=! A(i) * A(i) }", {}),
    "a SaC program": ("{ [i,j] -> sum({ [k] -> A[i,k] * B[k,j] }) }", {}),
    "SaC of any rank": ("{ iv -> a[iv] + b[iv] | iv < shape(a) }", {}),
    "a function from Python": ("def f(float(N) A) -> (B) { B(i) = g(A(i)) }", {"fns": {"g": jax.nn.gelu}}),
    "checked data": ("def f(float(M) A, int32(N) I) -> (O) { O(i) = A(I(i)) }", {"checked": True}),
    "tiles on a GPU": (MM, {"backend": "pallas"}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_right_kernel_passes(name: str) -> None:
    text, options = PROGRAMS[name]

    found = tcjax.kernel(text, **options).check(examples=3 if DEEP else 1, seed=1)

    assert found.compared["values"] == found.compared["jit"] == found.examples
    assert found.worst <= 1


def test_the_summary_counts_and_prints() -> None:
    found = tcjax.kernel(MM).check(examples=2, seed=0)

    assert found.to_dict()["compared"] == {"values": 2, "jit": 2, "vmap": 2, "gradients": 2}
    assert str(found).startswith("mm: 2 examples agree with the interpreter: 2 values, 2 jit, 2 vmap, 2 gradients\n")
    assert 0 < found.worst < 1


def test_the_accumulating_kernel_is_checked_with_initial_values() -> None:
    with pytest.warns(tcjax.CompileWarning):
        kernel = tcjax.kernel("def f(float(N) A) -> (S) { S(i) += A(i) }")

    samples = [Drawer(kernel).draw(np.random.default_rng(seed), seed) for seed in range(8)]

    assert {len(sample.initial) for sample in samples} == {0, 1}
    assert kernel.check(examples=1).compared["values"] == 1


def test_a_scheduled_kernel_is_checked_as_it_is() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (C) { B(i) = A(i) * 2  C(i) = B(i) + B(i+1) }")
    schedule = kernel.schedule().split("C", "i", 4, outer="io", inner="ii").compute_at("B", "C", "io")

    assert kernel.with_schedule(schedule).check(examples=1, seed=3).compared["values"] == 1


def test_a_kernel_for_a_mesh_is_checked_as_it_is() -> None:
    kernel = tcjax.kernel(MM).sharded(jax.make_mesh((1,), ("data",)), {"m": "data"})

    assert kernel.check(examples=1).compared["values"] == 1


def test_a_seed_gives_the_same_calls() -> None:
    drawer = Drawer(tcjax.kernel(MM))

    first, again, other = (drawer.draw(np.random.default_rng((seed, 0)), 0) for seed in (1, 1, 2))

    for name, array in first.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])
    assert any(
        a.shape != b.shape or (a != b).any() for a, b in zip(first.arrays.values(), other.arrays.values(), strict=True)
    )


def test_sizes_of_no_and_of_one_element_are_drawn() -> None:
    drawer = Drawer(tcjax.kernel(MM))

    extents = {
        n for seed in range(30) for a in drawer.draw(np.random.default_rng(seed), seed).arrays.values() for n in a.shape
    }

    assert {0, 1, 2, 3, 5, 7} <= extents
    assert max(extents) > 8


def test_subscripts_point_inside() -> None:
    drawer = Drawer(tcjax.kernel("def f(float(M) A, int32(N) I) -> (O) { O(i) = A(I(i)) }"))

    samples = [drawer.draw(np.random.default_rng(seed), seed).arrays for seed in range(20)]

    assert all((s["I"] >= 0).all() and (s["I"] < len(s["A"])).all() for s in samples if len(s["I"]))
    assert len({int(i) for s in samples for i in s["I"]}) > 3


def wrong_above(limit: float):
    """A function that is wrong, above a limit, when JAX traces it."""

    def wrong(x):
        if isinstance(x, (np.ndarray, np.generic)):
            return x + 1
        return jnp.where(x > limit, x + 1.5, x + 1)

    return wrong


def test_a_disagreement_is_shown_by_the_smallest_call() -> None:
    text = "def f(float(M,N) A, float(N) B) -> (O) { T(i,j) = A(i,j) * B(j)  O(i) +=! g(T(i,j)) }"
    kernel = tcjax.kernel(text, fns={"g": wrong_above(0.5)})

    with pytest.raises(tcjax.CheckError) as raised:
        kernel.check()

    said = str(raised.value)
    assert "`f` (values) is not what its definition says: O[0]\n  found      2.5\n  expected   2.0\n" in said
    assert "statement  O[i] = sum[j] python g(T[i, j])" in said
    assert 'A = np.array([[1.0]], "float32")\n    B = np.array([1.0], "float32")\n    print(k(A, B))' in said
    assert isinstance(raised.value, AssertionError)


def test_what_a_counterexample_prints_runs_and_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (O) { O(i) = g(A(i)) }", fns={"g": wrong_above(0.5)})
    with pytest.raises(tcjax.CheckError) as raised:
        kernel.check()
    code = str(raised.value).partition("This shows it:\n\n")[2]

    exec("\n".join(line[4:] for line in code.splitlines()), {"k": kernel})

    assert capsys.readouterr().out == "[2.5]\n[2.]\n"


def test_a_wrong_derivative_is_found() -> None:
    square = jax.custom_jvp(lambda x: x * x)
    square.defjvp(lambda x, t: (x[0] * x[0], 3 * x[0] * t[0]))
    kernel = tcjax.kernel("def f(float(N) A) -> (O) { O(i) = square(A(i)) }", fns={"square": square})

    with pytest.raises(
        tcjax.CheckError, match=r"`f` \(gradients\) is not what its definition says: d_A\[0\]"
    ) as raised:
        kernel.check()

    assert "jax.grad(lambda A: (k(A) * d0).sum(), (0,))(A)" in str(raised.value)


def test_what_the_compiled_kernel_raises_is_a_disagreement() -> None:
    def fails(x):
        return x if isinstance(x, (np.ndarray, np.generic)) or not hasattr(x, "aval") else int(x) * x

    kernel = tcjax.kernel("def f(float(N) A) -> (O) { O(i) = g(A(i)) }", fns={"g": jnp.sin})
    kernel._frontend.options.fns["g"] = fails

    with pytest.raises(tcjax.CheckError, match=r"raises where the interpreter has a result: \w*TypeError"):
        kernel.check(examples=1)


def test_a_mistake_of_the_interpreter_is_not_said_of_a_python_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object) -> object:
        raise KeyError("ours")

    kernel = tcjax.kernel("def f(float(N) A) -> (O) { O(i) = g(A(i)) }", fns={"g": jnp.sin})
    monkeypatch.setattr(trials.interpreter, "interpret", broken)

    with pytest.raises(KeyError, match="ours"):
        kernel.check(examples=1)


def test_a_function_that_takes_no_numbers_is_left_out_and_said() -> None:
    def traced(x):
        assert isinstance(x, jax.core.Tracer)
        return x * 2

    found = tcjax.kernel("def f(float(N) A) -> (O) { O(i) = g(A(i)) }", fns={"g": traced}).check(examples=1)

    assert found.compared == {}
    assert "left out: 1 x values: a Python function does not take NumPy's numbers: AssertionError" in str(found)


def test_a_kernel_that_takes_no_arguments_at_all_says_why() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (O) { O(i) = A(i) }", assume=["N % 5000 == 4999"])

    with pytest.raises(tcjax.CheckError, match=r"found no arguments that `f` takes"):
        kernel.check(examples=1)


def test_the_search_for_arguments_ends_and_names_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (O) { O(i) = A(i) }", assume=["N % 5000 == 4999"])
    monkeypatch.setattr("tcjax.runtime.checking.drawing._PATIENCE", 0.0)

    with pytest.raises(tcjax.CheckError, match=r"takes in 1 attempt; .*assert_matches\(k, k.interpret, \*arguments\)"):
        kernel.check(examples=1)


def test_an_example_that_is_not_found_behind_others_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Drawer.draw

    def some(self: Drawer, rng: np.random.Generator, number: int) -> Sample:
        if number % 2:
            raise NotFound
        return draw(self, rng, number)

    monkeypatch.setattr(Drawer, "draw", some)

    found = tcjax.kernel(MM).check(examples=5)

    assert (found.examples, found.compared["values"]) == (3, 3)
    assert found.skipped == {"an example: no other arguments were found that the kernel takes": 2}


def test_arrays_of_any_rank_that_must_be_alike_are_found_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "float[*] add(float[*] a, float[*] b) { return { iv -> a[iv] + b[iv] | iv < shape(a) }; }"
    drawn: list[tuple[tuple[int, ...], ...]] = []
    record = Drawer.draw

    def kept(self: Drawer, rng: np.random.Generator, number: int) -> Sample:
        sample = record(self, rng, number)
        drawn.append(tuple(array.shape for array in sample.arrays.values()))
        return sample

    monkeypatch.setattr(Drawer, "draw", kept)
    tcjax.kernel(text).check(examples=6)

    assert len({a for a, _ in drawn if a}) > 2
    assert sum(a == b for a, b in drawn) >= 3


def test_a_root_of_zero_has_no_gradient_to_compare() -> None:
    kernel = tcjax.kernel("C(i,j) = sqrt(sum[d]((x(i,d) - x(j,d)) * (x(i,d) - x(j,d))))")

    found = kernel.check(examples=1)

    assert found.skipped == {"gradients: a root or a power of 0, whose slope is infinite": 1}


@pytest.mark.parametrize("options", [{"examples": -1}, {"examples": 2.5}, {"seed": "a"}, {"examples": True}])
def test_an_odd_number_of_examples_is_refused(options: dict) -> None:
    with pytest.raises(tcjax.CompileError, match="is not a number of"):
        tcjax.kernel(MM).check(**options)
