"""Whatever SaC text is written and called: an answer, or a `CompileError` that helps, soon and in little memory."""

import functools
import inspect
import random
import resource
import sys
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tcjax
from tcjax.diagnostics import CompileError, CompileWarning
from tcjax.syntax import sac
from tests.effort import examples, phases
from tests.sac.strategies import Case, programs
from tests.work import within

SOME = examples(40)
# Seconds of the processor, after which a text hangs: the longest take about three. Megabytes beside what there is.
MOST_SECONDS = 60.0
MOST_MEMORY = 300

A = np.arange(12, dtype="float32").reshape(3, 4)
V = np.arange(4, dtype="int32")
ARGUMENTS: dict[str, Any] = {"a": A, "v": V, "n": np.int32(3), "x0": V, "f": np.float32(1), "c": A.astype("complex64")}


def listed(pattern: str, count: int, separator: str = ", ") -> str:
    """The pattern with each number from 0 on, and the next one."""
    return separator.join(pattern.format(k, k + 1) for k in range(count))


def nested(before: str, inner: str, after: str, depth: int) -> str:
    return before * depth + inner + after * depth


def chain(pattern: str, count: int) -> str:
    """Lets, each of which uses the one before."""
    return listed(pattern, count, " ") + f" x{count}"


def functions(body: str, count: int) -> str:
    """Functions, each of which uses the one before, the last one applied."""
    first = "int[*] f0(int[*] x) { return x; } "
    return first + listed("int[*] f{1}(int[*] x) {{ return " + body + "; }}", count, " ") + f" f{count}(v)"


TEXTS = {
    # Many partitions.
    "100 partitions": "{ " + listed("[i] -> {0} | [{0}] <= [i] < [{1}]", 100, "; ") + "; [i] -> 0 | [i] < [100] }",
    "100 shadowed partitions": "{ " + listed("iv -> a[iv] + {0}", 100, "; ") + " }",
    "100 overlapping partitions": "{ "
    + listed("[i,j] -> {0} + i | [{0},0] <= [i,j] < [200,{1}]", 100, "; ")
    + "; [i,j] -> 0 | [i,j] < [200,200] }",
    "100 cubes": "{ "
    + listed("[i,j,k] -> {0} | [{0},{0},{0}] <= [i,j,k] < [{0}+30,{0}+30,{0}+30]", 50, "; ")
    + "; [i,j,k] -> 0 | [i,j,k] < [100,100,100] }",
    "100 partitions of steps": "{ "
    + listed("[i] -> {0} | [i] < [1000] step [{1} + 1]", 100, "; ")
    + "; [i] -> 0 | [i] < [1000] }",
    "a fold of 50 partitions": "sum({ " + listed("[i] -> i*{1} | [i] < [100] step [{1}]", 50, "; ") + " })",
    # Large extents.
    "a bound of 10^9 that is folded": "sum({ [i] -> i | [i] < [1000000000] })",
    "a bound of 10^9": "{ [i] -> 1 | [i] < [1000000000] }[5]",
    "a frame of 10^9": "shape({ [i,j,k] -> 1 | [i,j,k] < [1000,1000,1000] })",
    "a frame of 10^27": "shape({ [i,j,k] -> 1 | [i,j,k] < [1000000000,1000000000,1000000000] })",
    "a bound beyond an int32": "{ [i] -> i | [i] <= [2147483647] }",
    "a bound beyond an int64": "{ [i] -> 1 | [i] < [10000000000000000000000] }",
    "a bound that overflows": "{ [i] -> i | [i] < [2147483647 + 1] }",
    "a vector of 10^9": "iota(1000000000)[7]",
    "a vector of 10^9 that is folded": "sum(iota(1000000000))",
    "a constant of 10^9": "genarray([1000000000], 1)[5]",
    "zeros of 10^9": "take_apl([1000000000], v)[3]",
    "a step of 10^9": "{ [i] -> i | [i] < [10] step [1000000000] width [999999999] }",
    "a step of 10^18": "{ [i] -> i | [i] < [10] step [1000000000000000000] }",
    "a lower bound of -10^9": "{ [i] -> i | [-1000000000] <= [i] < [10] }",
    "a rotation by 10^9": "rotate(0, 1000000000, v)",
    "a shift by 10^18": "shift(0, 1000000000000000000, 0, v)",
    "an index of 10^18": "{ [i] -> v[i * 1000000000000000000] | [i] < [1] }",
    "an index that is a product": "{ [i] -> v[i*i*i*i*i*i*i] | [i] < [2] }",
    "10^9 axes": "{ iv -> 1 | iv < genarray([1000000000], 1) }",
    "10^6 axes": "{ iv -> 1 | iv < iota(1000000) }",
    "10^6 axes of a constant": "genarray(genarray([1000000], 1), 1)",
    "1000 axes": "{ iv -> 1 | iv < genarray([1000], 1) }",
    # No extents.
    "nothing, many times": "{ [i,j,k] -> a[i,j+k] | [i,j,k] < [1000000000,0,1000000000] }",
    "sums of nothing": "{ [i] -> sum({ [j] -> a[i,j] | [j] < [0] }) | [i] < [0] }",
    "an empty generator far away": "{ [i] -> 1 | [1000000000] <= [i] < [-1000000000]; [i] -> 2 | [i] < [3] }",
    # Values.
    "a number beyond a double": "a + 1e400",
    "a shift of a literal": "1 << 1000000000",
    "a negative shift": "1 << -1",
    "a shift of data": "v << 1000000000",
    "a power of a literal": "pow(10, 1000000000)",
    "a product of literals": "2147483647 * 2147483647 * 2147483647 * 2147483647 * v",
    "a long product of literals": "*".join(["2147483647"] * 150) + " * v",
    "not a number as a bound": "{ [i] -> i | [i] < [toi(0.0 / 0.0)] }",
    "infinity as a bound": "{ [i] -> i | [i] < [toi(1.0 / 0.0)] }",
    "a bound divided by zero": "{ [i] -> i | [i] < [1 / 0] }",
    "a bound divided by an index that is zero": "{ [i] -> v[4 / i] | [i] < [3] }",
    "a bound of a root": "{ [i] -> i | [i] < [toi(sqrt(-1.0))] }",
    "bools everywhere": "v[true] + a[false, v > 0]",
    "complex numbers compared": "c < c",
    # Depth.
    "comprehensions in comprehensions": nested("{ [i] -> ", "1", " | [i] < [1] }", 60),
    "comprehensions in comprehensions, deeper": nested("{ [i] -> ", "1", " | [i] < [1] }", 5000),
    "large comprehensions in comprehensions": "shape(" + nested("{ [i] -> ", "1", " | [i] < [10] }", 30) + ")",
    "sums of sums": nested("sum({ [i] -> ", "i", " | [i] < [2] })", 60),
    "vectors in vectors": nested("[", "1", "]", 60),
    "brackets": nested("(", "v", ")", 5000),
    "selections": "v" + "[0]" * 1000,
    "indices in indices": nested("v[", "0", "]", 150),
    "choices": "v[0] > 0 ? 1 : " * 150 + "0",
    "static choices": "dim(v) > 3 ? 1 : " * 150 + "0",
    "conjunctions": "v[0] > 0 && " * 150 + "true",
    "reversed indices": "{ iv -> a[" + nested("reverse(", "iv", ")", 100) + "] | iv < shape(a) }",
    "least numbers in an index": "{ [i] -> v[" + nested("min(i, ", "i", ")", 150) + "] | [i] < [4] }",
    "remainders in an index": "{ [i] -> v[" + nested("mod(i + ", "1", ", 4)", 100) + "] | [i] < [4] }",
    "halves in an index": "{ [i] -> v[" + nested("(", "i", " / 2)", 90) + "] | [i] < [4] }",
    "a wide vector": "[" + listed("v[{0} % 4]", 400) + "]",
    "a wide vector of literals": "[" + listed("{0}", 1500) + "]",
    "long sums": "+".join(["v"] * 3000),
    "long lets": chain("x{1} = reverse(x{0});", 400),
    # Growth.
    "sums that double": chain("x{1} = x{0} + x{0};", 100),
    "comprehensions that double": chain("x{1} = {{ [i] -> x{0}[i] + x{0}[3-i] | [i] < [4] }};", 60),
    "vectors that double": chain("x{1} = [x{0}, x{0}];", 30),
    "arrays that double": chain("x{1} = x{0} ++ x{0};", 60),
    "indices that double": "{ [i] -> " + nested("v[min(3, ", "i", ")]", 40) + " | [i] < [4] }",
    "calls that double": functions("f{0}(x) + f{0}(x + 1)", 30),
    "calls that double in a shape": functions("take(shape(f{0}(x)), f{0}(x))", 25),
    "a function of itself": functions("f{0}(f{0}(x))", 25),
    # Recursion.
    "recursion": "int f(int x) { return f(x); } f(1)",
    "recursion that grows": "int f(int x) { return f(x + 1); } f(1)",
    "recursion that misses its end": "int f(int x) { return x == 0 ? 0 : f(x + 1); } f(1)",
    "recursion of two": "int f(int x) { return g(x + 1); } int g(int x) { return f(x + 1); } f(1)",
    "recursion that branches": "int f(int x) { return f(x + 1) + f(x + 2); } f(1)",
    "recursion of growing arrays": "int[*] f(int[*] x) { return f(x ++ x); } f(v)",
    "recursion of growing ranks": "int[*] f(int[*] x) { return f([x]); } f(1)",
    "recursion in a guard": "int f(int x) | f(x) > 0 { return x; } f(1)",
    "recursion in a bound": "int[*] f(int x) { return { [i] -> i | [i] < shape(f(x)) }; } f(1)",
    "recursion in a body": "int f(int[*] x) { return sum({ [i] -> f(x[i]) }); } f(v)",
    "recursion in a fold": "int f(int x) { return sum({ [i] -> f(i) | [i] < [2] }); } f(1)",
    "recursion by an argument": "int f(int x) { return x == 0 ? 0 : f(x + 1); } f(n)",
    "recursion as of Fibonacci": "int f(int x) { return x < 2 ? x : f(x - 1) + f(x - 2); } f(40)",
    # Names.
    "functions of the library as arrays": "sum[0] + shape[1] + take[0,0] + v[0]",
    "words of the notation as arrays": "{ [step] -> v[step] + width[step] | [step] < [2] step [1] width [1] }",
    "a function of the library as an index": "{ [sum] -> sum(v) + sum | [sum] < [3] }",
    "a function of the library as a parameter": "int f(int[*] take) { return sum(take(take, take)); } f(v)",
    "a function of the library as a function": "int[*] take(int[*] x, int[*] y) { return y; } take(v, v)",
    "an array as an index": "{ [v] -> v[v] | [v] < [3] }",
    "a name of its own": "v = v; v = v + 1; v",
    "the same function twice": "int f(int x) { return x; } int f(int x) { return x + 1; } f(1)",
    "a function that no one calls": "int f(int x) { return x; } int g(int x) { return f(y); } 1",
    "types as names": "float[0] + int",
    "40 names": "{ [" + listed("i{0}", 40) + "] -> 1 | [" + listed("i{0}", 40) + "] < [" + listed("1", 40) + "] }",
    "30 dots": "{ [" + ".," * 30 + "i] -> v | [i] < [2] }",
    "many arguments": listed("b{0}[0]", 150, " + "),
    "noise": "".join(random.Random(1).choice("{}[]()->|<=+-*/.,;? :ivab01") for _ in range(50_000)),
}
NAMES = ("sum", "shape", "take", "width", "step", "float", "int")
ARGUMENTS |= dict.fromkeys(NAMES, V) | {f"b{k}": V for k in range(150)}


def attempt(make: Callable[[], Any]) -> CompileError | None:
    """What the attempt was refused with. Anything but a `CompileError` with help comes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        try:
            make()
        except CompileError as error:
            assert error.help and str(error) and error.kind
            return error
    return None


def compiled(text: str) -> Any:
    """The text called with arrays, up to what XLA would have to do."""
    kernel = tcjax.kernel(text, dialect="sac")
    names = [name for name in repr(kernel).partition("(")[2].rstrip(">)").split(", ") if name]
    given = {name: ARGUMENTS[name] for name in names if name in ARGUMENTS}
    return jax.jit(lambda: kernel(**given)).lower()


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_a_program_or_refused_and_takes_little_memory(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    within(MOST_SECONDS, lambda: attempt(lambda: compiled(TEXTS[name])))

    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < MOST_MEMORY


# ---------------------------------------------------------------- mutated programs

TOKENS = (
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "->",
    "|",
    "<",
    "<=",
    ";",
    ",",
    ".",
    "...",
    "+",
    "-",
    "*",
    "/",
    "%",
    "++",
    "?",
    ":",
)
WORDS = (
    "0",
    "1",
    "-1",
    "7",
    "2.5",
    "true",
    "iv",
    "i",
    "[]",
    "[0]",
    "[i]",
    "step [2]",
    "sum",
    "shape",
    "1000000000",
    "a1",
)


@settings(max_examples=SOME * 3, phases=phases())
@given(programs(), st.randoms(use_true_random=False))
def test_a_text_with_a_few_changes_is_a_program_or_refused(case: Case, source: random.Random) -> None:
    text = sac.write(case.program)
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(text) + 1)
        length = source.choice([0, 0, 1, 1, 2, 5])
        text = (
            text[:place]
            + source.choice(["", " ", source.choice(TOKENS), source.choice(WORDS)])
            + text[place + length :]
        )

    def call() -> Any:
        kernel = tcjax.kernel(text, dialect="sac")
        names = [name for name in repr(kernel).partition("(")[2].rstrip(">)").split(", ") if name]
        given = {name: case.arguments.get(name, V) for name in names}
        return kernel.plan(**given)

    within(MOST_SECONDS, lambda: attempt(call))


@settings(max_examples=SOME, phases=phases())
@given(programs(), st.randoms(use_true_random=False))
def test_a_program_called_with_other_arrays_is_computed_or_refused(case: Case, source: random.Random) -> None:
    others = [
        np.zeros((0,), "int32"),
        A,
        V,
        np.float32(2),
        np.bool_(True),
        np.zeros((2, 0, 3), "float32"),
        np.ones((2, 2), bool),
    ]
    given = {name: source.choice([array, *others]) for name, array in case.arguments.items()}

    within(MOST_SECONDS, lambda: attempt(lambda: tcjax.kernel(case.text, dialect="sac").plan(**given)))


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_a_value_that_is_no_int_decides_no_shape(value: float) -> None:
    assert attempt(lambda: tcjax.kernel("take([toi(x)], v)", dialect="sac")(x=np.float32(value), v=V)) is not None


@pytest.mark.parametrize("value", [2**31 - 1, -1, -(2**31), 10])
@pytest.mark.parametrize(
    "text",
    [
        "take([n], v)",
        "drop([n], v)",
        "{ [i] -> v[i] | [i] < [n] }",
        "genarray([n], 1)[0]",
        "iota(n)",
        "rotate(n, 1, v)",
    ],
)
def test_a_value_that_decides_a_shape_may_be_any(text: str, value: int) -> None:
    if value == 2**31 - 1 and "iota" in text:
        return

    def call() -> Any:
        kernel = tcjax.kernel(text, dialect="sac")
        return kernel.plan(**{"n": np.int32(value), **({"v": V} if "v" in text else {})})

    within(MOST_SECONDS, lambda: attempt(call))


@pytest.mark.parametrize(
    "given", [{}, {"a": None}, {"a": "text"}, {"a": object()}, {"a": [[1], [1, 2]]}, {"b": 1}, {"a": 1, "b": 2}]
)
def test_what_is_no_argument_is_refused(given: dict[str, Any]) -> None:
    kernel = tcjax.kernel("{ [i] -> a[i] }", dialect="sac")

    for door in (kernel, kernel.interpret, kernel.plan, kernel.explain):
        assert attempt(functools.partial(door, **given)) is not None


def test_a_tracer_decides_no_shape() -> None:
    for text in ["take([n], v)", "{ [i] -> v[i] | [i] < [n] }", "n > 1 ? v : [0]", "iota(n)", "reshape([n], v)"]:
        given = {"n": np.int32(2), **({"v": V} if "v" in text else {})}

        error = attempt(functools.partial(jax.jit(tcjax.kernel(text, dialect="sac")), **given))

        assert error is not None and error.kind == "static", text


# ---------------------------------------------------------------- deep inside of Python

NESTED = "{ [i] -> sum({ [j] -> " + nested("abs(", "a[i,j]", ")", 60) + " }) }"


def at_depth(depth: int, make: Callable[[], Any]) -> Any:
    return make() if depth == 0 else at_depth(depth - 1, make)


@pytest.mark.parametrize(
    "text", [NESTED, TEXTS["recursion"], TEXTS["comprehensions in comprehensions"], "{ iv -> a[iv] }"]
)
@pytest.mark.parametrize("left", [60, 120, 200, 300, 400, 600])
def test_deep_inside_of_python_a_text_is_a_program_or_refused(text: str, left: int) -> None:
    def call() -> Any:
        kernel = tcjax.kernel(text, dialect="sac")
        return kernel.plan(**({"a": A} if "a[" in text else {}))

    depth = sys.getrecursionlimit() - left - len(inspect.stack(0))

    within(MOST_SECONDS, lambda: attempt(lambda: at_depth(depth, call)))


def test_a_program_that_was_too_deep_is_computed_where_there_is_room() -> None:
    kernel = tcjax.kernel(NESTED, dialect="sac")
    depth = sys.getrecursionlimit() - 150 - len(inspect.stack(0))
    attempt(lambda: at_depth(depth, lambda: kernel.plan(a=A)))

    np.testing.assert_allclose(kernel(A), np.abs(A).sum(1), rtol=1e-6)


def test_deep_in_a_recursion_selections_show_the_same_bounds() -> None:
    body = "{ [i] -> sum({ jv -> c[jv] * m[jv][i] }) }"
    function = f"float[*] f(int k, float[*] c, float[*] m) {{ return k == 0 ? {body} : f(k - 1, c, m); }}"
    c, m = np.arange(3, dtype="float32"), np.arange(12, dtype="float32").reshape(3, 4)

    results = [tcjax.kernel(f"{function} f({depth}, c, m)")(c, m) for depth in (0, 7, 30)]

    for result in results:
        np.testing.assert_allclose(result, c @ m)
