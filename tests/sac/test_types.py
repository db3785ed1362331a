"""SaC programs over all scalar types: types of results, literals that adapt, casts, and division as in C."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tcjax
from tcjax import ir
from tcjax.diagnostics import CompileWarning
from tcjax.syntax import sac
from tests.agreement.comparing import agree
from tests.sac.reference import SacError, evaluate
from tests.strategies.arrays import dtype_of, exact

pytestmark = pytest.mark.usefixtures("quickly_compiled")

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
COMPLEX = ("complex64", "complex128")
ALL = (*FLOATS, *INTEGERS, *COMPLEX, "bool")


def array(scalar: str, *shape: int, seed: int = 0) -> np.ndarray:
    return exact(shape, scalar, seed)


def outcome(run: Callable[[], Any]) -> Any:
    """The values, or the kind of the mistake."""
    try:
        return run()
    except tcjax.CompileError as error:
        assert error.help
        return error.kind
    except SacError as error:
        return error.kind


def check(text: str, loosest: str = "float32", **arguments: np.ndarray) -> None:
    """The kernel and the interpreter say what the reference says; everything in 64-bit mode."""
    expected = outcome(lambda: evaluate(sac.read(text), arguments))
    with jax.enable_x64(True):
        for door in ("__call__", "interpret"):
            kernel = tcjax.kernel(text, dialect="sac")
            found = outcome(lambda kernel=kernel, door=door: getattr(kernel, door)(**arguments))
            if isinstance(expected, str) or isinstance(found, str):
                assert str(found) == str(expected), (text, door)
            else:
                agree(found, expected, loosest=loosest)


def loose(scalar: str) -> str:
    """The type whose rounding a comparison must allow."""
    return (
        scalar if scalar in ("float16", "bfloat16") else "float64" if scalar in ("float64", "complex128") else "float32"
    )


# ---------------------------------------------------------------- programs over a type

PROGRAMS = {
    "a copy": "{ iv -> a[iv] }",
    "a sum of elements": "{ iv -> a[iv] + a[iv] }",
    "a literal beside it": "{ iv -> a[iv] * 2 + 1 }",
    "a literal of another kind beside it": "{ iv -> a[iv] + 1.5 }",
    "a negative literal": "a + (-1)",
    "a literal that is computed": "a * (2 + 1)",
    "a matrix product": "{ [i,j] -> sum({ [k] -> a[i,k] * b[k,j] }) }",
    "a sum": "{ [i] -> sum(a[i]) }",
    "a sum over axes": "rsum(1, a)",
    "a product": "prod(a)",
    "the largest": "{ [i] -> maxval(a[i]) }",
    "the smallest of nothing": "minval(take([0], a))",
    "the largest of nothing": "maxval(take([0], a))",
    "a product of nothing": "prod(take([0], a))",
    "a mean": "{ [i] -> mean(a[i]) }",
    "where the largest is": "argmax(a)",
    "partitions": "{ iv -> a[iv] + a[iv] | . < iv < .; iv -> a[iv] }",
    "a partition of a literal": "{ iv -> 0 | . < iv < .; iv -> a[iv] }",
    "a partition of a float literal": "{ iv -> 0.5 | . < iv < .; iv -> a[iv] }",
    "holes": "{ [i,j] -> a[i,j] | [1,1] <= [i,j] < [3,4] }",
    "beyond the array": "take_apl([5], a)",
    "joined": "a ++ a",
    "a literal vector": "[a[0,0], 1, a[1,1]]",
    "a literal vector of floats": "[a[0,0], 0.5]",
    "a choice": "a[0,0] == a[1,1] ? a[0] : 0 * a[1]",
    "a choice with a literal": "a[0,0] == a[1,1] ? a[0,0] : 1",
    "a choice with a float literal": "a[0,0] == a[1,1] ? a[0,0] : 1.5",
    "where": "where(a > 1, a, 0)",
    "equal": "a == a[0,0]",
    "less": "a < 2",
    "absolute": "abs(a)",
    "negative": "-a",
    "plus": "+a",
    "an exponential": "exp(a)",
    "a root": "sqrt(abs(a))",
    "a logarithm": "log(abs(a) + 1)",
    "min": "min(a, 1)",
    "max of two": "max(a, transpose(transpose(a)))",
    "a quotient": "a / 2",
    "a quotient by a float": "a / 2.0",
    "bits": "(a & 3) | (a ^ 1)",
    "shifts": "(a << 1) >> 1",
    "not": "!a",
    "any": "any(a)",
    "a modified array": "modarray(a, [0,0], 1)",
    "a modified row": "modarray(a, [0], a[1])",
    "a frame around it": "genarray([2], a[0])",
    "the index beside it": "{ [i,j] -> a[i,j] + i | [i,j] < [3,4] }",
    "an index of its type": "reshape([3,4], iota(12))[toi(abs(a[0,0]))]",
    "an index of its type, uncast": "{ [i] -> v[a[0,i]] | [i] < [4] }",
    "a strong float": "a + 1f",
    "a strong double": "a + 1d",
    "a strong int": "a + 1i",
    "a strong long": "a + 1l",
}
# tcjax has these of complex numbers too, the reference has not.
OF_REAL_NUMBERS = ("a mean", "absolute", "an exponential", "a root", "a logarithm", "an index of its type")
TYPES = ("float16", "bfloat16", "float64", "int8", "uint8", "int64", "uint32", "complex64", "bool")


@pytest.mark.parametrize("scalar", TYPES)
def test_every_program_over_a_type_gives_what_the_reference_gives(scalar: str) -> None:
    given = {"a": array(scalar, 3, 4), "b": array(scalar, 4, 2, seed=1), "v": array("int32", 4, seed=2)}
    wrong = []
    for name, text in PROGRAMS.items():
        if scalar in COMPLEX and name in OF_REAL_NUMBERS:
            continue
        used = {parameter: given[parameter] for parameter in given if f"{parameter}[" in text or parameter == "a"}
        try:
            check(text, loose(scalar), **used)
        except Exception as error:
            wrong.append(f"{name}: {text}\n    {type(error).__name__}: {str(error).strip()[:300]}")

    assert not wrong, "\n" + "\n".join(wrong)


LENIENT = {
    "an int literal comes in": "shift(0, 1, 0, a)",
    "all bits of a bool": "~(a > 0)",
    "a remainder of floats": "a % 2",
    "a floored remainder of floats": "mod(a, 2)",
    "a narrower argument of float": "float[*] f(float[*] x) { return x + 1; } f(a)",
    "a narrower argument of int": "int[*] f(int[*] x) { return x + 1; } f(a)",
    "a narrower argument of double": "double[*] f(double[*] x) { return x + 1; } f(a)",
}


@pytest.mark.parametrize("scalar", ["float16", "float32", "float64", "int8", "int32"])
@pytest.mark.parametrize("name", LENIENT)
def test_a_program_that_converts_gives_what_the_reference_gives(name: str, scalar: str) -> None:
    check(LENIENT[name], loose(scalar), a=array(scalar, 3, 4))


def pairs_that_differ(text: str) -> list[str]:
    """The pairs of types for which the kernel says something else than the reference."""
    differ = []
    for number, left in enumerate(ALL):
        for right in ALL[: number + 1]:
            try:
                check(text, "bfloat16", a=array(left, 2), b=array(right, 2, seed=1))
            except AssertionError as error:
                differ.append(f"{left} {right}: {str(error).strip()[:200]}")
    return differ


def test_two_types_join_as_in_the_reference() -> None:
    assert not pairs_that_differ("a + b")


def test_partitions_of_two_types_of_one_kind_join_as_in_the_reference() -> None:
    assert not pairs_that_differ("{ [i] -> a[i] | [i] < [1]; [i] -> b[i] }")


@pytest.mark.parametrize("target", ALL)
def test_a_cast_gives_the_type_that_it_names(target: str) -> None:
    for source in ALL:
        if source in COMPLEX and target not in COMPLEX:
            continue
        given = np.abs(array(source, 6)).astype(dtype_of(source)) if target in UNSIGNED else array(source, 6)
        text = f"{target}(a)"
        with jax.enable_x64(True):
            found = outcome(lambda text=text, given=given: tcjax.kernel(text, dialect="sac")(a=given))

        assert not isinstance(found, str), (source, target, found)
        assert found.dtype == dtype_of(target), (source, target)
        wanted = given != 0 if target == "bool" else given.astype(dtype_of(target))
        np.testing.assert_array_equal(np.asarray(found), wanted, f"{source} to {target}")


@pytest.mark.parametrize("name", ["toi", "tof", "tod", "tob"])
def test_a_short_cast_is_that_of_the_reference(name: str) -> None:
    for source in ("float16", "int8", "uint8", "int64", "float64", "bool"):
        check(f"{name}(a)", "bfloat16", a=array(source, 5))


@pytest.mark.parametrize("source", COMPLEX)
@pytest.mark.parametrize("target", ["float32", "int32", "bool", "float64"])
def test_a_complex_number_is_cast_or_refused_as_a_type(source: str, target: str) -> None:
    with jax.enable_x64(True):
        kernel = tcjax.kernel(f"{target}(a)", dialect="sac")
        found, plain = (outcome(lambda run=run: run(a=array(source, 3))) for run in (kernel, kernel.interpret))

    assert isinstance(found, str) == isinstance(plain, str)
    assert found == "type" if isinstance(found, str) else found.dtype == dtype_of(target)


# ---------------------------------------------------------------- literals

LITERALS = {
    "1": "int32",
    "1.5": "float32",
    "true": "bool",
    "1i": "int32",
    "1l": "int64",
    "1f": "float32",
    "1d": "float64",
    "[1, 2]": "int32",
    "[1.5, 2.5]": "float32",
    "1 + 1.5": "float32",
    "1 / 2": "int32",
    "1l + 1": "int64",
    "1f + 1.5": "float32",
    "1d * 2.5": "float64",
    "{ [i] -> 1 | [i] < [2] }": "int32",
    "{ [i] -> 0.5 | [i] < [2] }": "float32",
    "{ [i] -> 1l | [i] < [2] }": "int64",
    "true ? 1 : 2.5": "int32",
    "iota(3)": "int32",
    "shape([1,2])": "int32",
    "sum([1,2])": "int32",
    "sum([1.5,2.5])": "float32",
    "mean([1,2])": "float32",
    "exp(1)": "float32",
    "exp(1d)": "float64",
}


@pytest.mark.parametrize("text", LITERALS)
def test_literals_alone_have_these_types(text: str) -> None:
    check(text)
    with jax.enable_x64(True):
        assert tcjax.kernel(text, dialect="sac")().dtype == LITERALS[text]


@pytest.mark.parametrize("scalar", [*FLOATS, *INTEGERS])
def test_a_literal_takes_the_type_of_its_partner(scalar: str) -> None:
    texts = [
        "a + 1",
        "1 - a",
        "a * 2 + 1",
        "max(a, 1)",
        "a > 0 ? a : 1",
    ]
    # Elements and partitions are of one kind.
    own = "1" if scalar in INTEGERS else "0.5"
    texts += [f"[a, {own}]", "{ [i] -> " + own + " | [i] < [1]; [i] -> a | [i] < [2] }"]
    for text in texts:
        with jax.enable_x64(True):
            found = tcjax.kernel(text, dialect="sac")(a=np.asarray(array(scalar)))

        assert found.dtype == dtype_of(scalar), text


@pytest.mark.parametrize(("text", "scalar"), [("a + 300", "uint8"), ("a + 200", "int8"), ("a + (-1)", "uint8")])
def test_a_literal_that_its_partners_type_does_not_hold_makes_it_wider_or_wraps_as_in_the_interpreter(
    text: str, scalar: str
) -> None:
    kernel = tcjax.kernel(text, dialect="sac")
    given = np.array([1, 2], scalar)

    agree(kernel(a=given), kernel.interpret(a=given))


# ---------------------------------------------------------------- division

NUMERATORS = (-7, -6, -1, 0, 1, 6, 7, 100)
DENOMINATORS = (-7, -3, -2, -1, 1, 2, 3, 7)


def c_quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "a / b": c_quotient,
    "a % b": lambda a, b: a - b * c_quotient(a, b),
    "mod(a, b)": lambda a, b: a % b,
}


def pairs(scalar: str) -> tuple[np.ndarray, np.ndarray]:
    """All combinations of signs; for unsigned types those that they have, and their largest number."""
    info = np.iinfo(scalar)
    tops = [int(info.max), int(info.max) - 1]
    lows = [int(info.min)] if info.min else []
    found = [
        (a, b)
        for a in (*NUMERATORS, *tops, *lows)
        for b in (*DENOMINATORS, *tops, *lows)
        if info.min <= a <= info.max and info.min <= b <= info.max and b and not (a == info.min and b == -1)
    ]
    a, b = zip(*found, strict=True)
    return np.array(a, scalar), np.array(b, scalar)


@pytest.mark.parametrize("scalar", INTEGERS)
@pytest.mark.parametrize("text", DIVISIONS)
def test_integers_divide_as_in_c(text: str, scalar: str) -> None:
    a, b = pairs(scalar)
    expected = np.array([DIVISIONS[text](int(x), int(y)) for x, y in zip(a, b, strict=True)], scalar)

    with jax.enable_x64(True):
        kernel = tcjax.kernel(text, dialect="sac")
        found, plain, jitted = kernel(a=a, b=b), kernel.interpret(a=a, b=b), jax.jit(kernel)(a=a, b=b)

    for result in (found, plain, jitted):
        assert result.dtype == scalar
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("scalar", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("divisor", [-3, -2, -1, 1, 2, 3, 8])
def test_integers_divide_by_a_literal_as_in_c(scalar: str, divisor: int) -> None:
    if scalar.startswith("u") and divisor < 0:
        divisor = -divisor
    a = np.array([x for x in (*NUMERATORS, 126) if x >= np.iinfo(scalar).min], scalar)
    for text, divide in DIVISIONS.items():
        expected = np.array([divide(int(x), divisor) for x in a], scalar)

        with jax.enable_x64(True):
            kernel = tcjax.kernel(text.replace("b", f"({divisor})"), dialect="sac")
            found, plain = kernel(a=a), kernel.interpret(a=a)

        np.testing.assert_array_equal(found, expected, text)
        np.testing.assert_array_equal(plain, expected, text)


def test_literals_and_indices_divide_as_in_c_too() -> None:
    for text, divide in DIVISIONS.items():
        for a in NUMERATORS:
            for b in DENOMINATORS:
                literal = tcjax.kernel(text.replace("a", f"({a})", 1).replace("b", f"({b})"), dialect="sac")
                if text.startswith("mod"):
                    literal = tcjax.kernel(f"mod({a}, {b})", dialect="sac")
                assert int(literal.interpret()) == divide(a, b), (text, a, b)


@pytest.mark.parametrize("text", DIVISIONS)
@pytest.mark.parametrize("divisor", [-5, -2, 2, 3])
def test_an_index_divides_as_in_c(text: str, divisor: int) -> None:
    body = text.replace("a", "(i - 6)").replace("b", f"({divisor})").replace("mod((i - 6)", "mod(i - 6")
    kernel = tcjax.kernel("{ [i] -> " + body + " | [i] < [13] }", dialect="sac")
    expected = np.array([DIVISIONS[text](i - 6, divisor) for i in range(13)], "int32")

    np.testing.assert_array_equal(kernel(), expected)
    np.testing.assert_array_equal(kernel.interpret(), expected)


@pytest.mark.parametrize(
    "text", ["(i - 4) / 2", "-(i / 3)", "(i - 4) % 3", "-(i % 2)", "mod(i - 4, 3)", "(4 - i) / (-2)"]
)
def test_a_selection_at_a_divided_index_reads_what_c_reads(text: str) -> None:
    v = np.arange(10, 20, dtype="int32")
    check("{ [i] -> v[4 + " + text + "] | [i] < [9] }", v=v)


def test_the_typed_program_says_which_division_it_means() -> None:
    shown = {text: ir.show(tcjax.kernel(text).ir(np.array([1], "int32"), np.array([2], "int32"))) for text in DIVISIONS}

    assert len({s.split("=")[-1] for s in shown.values()}) == 3


FLOAT_DIVISIONS = {"a / b": np.divide, "a % b": np.fmod, "mod(a, b)": np.mod}


@pytest.mark.parametrize("scalar", FLOATS)
@pytest.mark.parametrize("text", FLOAT_DIVISIONS)
def test_floats_divide_truly_and_their_remainder_has_the_sign_of_c(text: str, scalar: str) -> None:
    a, b = (
        np.array(x, dtype_of(scalar))
        for x in zip(*[(x, y) for x in (-5.5, -1, 2, 7) for y in (-2, 1.5, 4)], strict=True)
    )
    expected = FLOAT_DIVISIONS[text](a.astype("float64"), b.astype("float64")).astype(dtype_of(scalar))

    with jax.enable_x64(True):
        kernel = tcjax.kernel(text, dialect="sac")
        agree(kernel(a=a, b=b), expected, loosest=loose(scalar))
        agree(kernel.interpret(a=a, b=b), expected, loosest=loose(scalar))


@pytest.mark.parametrize(
    "text",
    ["v / 0", "v % 0", "mod(v, 0)", "1 / 0", "1 % 0", "mod(1, 0)", "{ [i] -> i / (1 - 1) | [i] < [2] }", "v / (2 - 2)"],
)
def test_a_division_by_the_constant_zero_is_refused(text: str) -> None:
    arguments = {"v": np.array([1, 2], "int32")} if "v" in text else {}

    with pytest.raises(tcjax.CompileError):
        tcjax.kernel(text, dialect="sac")(**arguments)


def test_a_division_of_floats_by_zero_is_what_ieee_says() -> None:
    found = tcjax.kernel("a / 0.0", dialect="sac")(a=np.array([1, -1, 0], "float32"))

    np.testing.assert_array_equal(found, np.array([np.inf, -np.inf, np.nan], "float32"))


# ---------------------------------------------------------------- mistakes

WRONG = {
    "a[1.0]": "type",
    "a + true": "type",
    "[a[0], true]": "type",
    "{ [i] -> a[i] | [i] < [2.0] }": "type",
    "{ [i] -> a[i] | [i] < [true] }": "type",
    "{ [i] -> 1.5 | [i] < [1]; [i] -> n[i] }": "type",
    "{ [i] -> a[i] | [i] < [1]; [i] -> n[i] }": "type",
    "[1, 2.5]": "type",
    "n[0] ? 1 : 2": "type",
    "a[0] && true": "type",
    "!n": "type",
    "~a": "type",
    "a & a": "type",
    "a << 1": "type",
    "-(n > 0)": "type",
    "sum(n > 0)": "type",
    "any(n)": "type",
    "all(a)": "type",
    "c < c": "type",
    "max(c, c)": "type",
    "maxval(c)": "type",
    "c % c": "type",
    "n + [true, false, true]": "type",
    "take(1.5, a)": "type",
    "take([1.5], a)": "type",
    "reverse(1.5, a)": "type",
    "iota(2.5)": "type",
    "int f(int x) { return x; } f(1.5)": "type",
    "int f(int x) { return x; } f(a[0])": "type",
    "int f(float x) { return x; } f(a[0])": "type",
    "bool f(int x) { return x; } f(1)": "type",
    "float f(bool x) { return 1.0; } f(1)": "type",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_of_types_is_one_of_types(text: str) -> None:
    given = {"a": np.ones(3, "float32"), "n": np.ones(3, "int32"), "c": np.ones(3, "complex64")}
    used = {name: x for name, x in given.items() if name in _parameters(text)}

    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel(text, dialect="sac")(**used)

    assert caught.value.kind == WRONG[text] and caught.value.help


def _parameters(text: str) -> set[str]:
    try:
        kernel = tcjax.kernel(text, dialect="sac")
    except tcjax.CompileError:
        return set()
    return set(repr(kernel).partition("(")[2].rstrip(">)").split(", "))


# ---------------------------------------------------------------- declared types


@pytest.mark.parametrize("scalar", [*FLOATS, *INTEGERS, *COMPLEX, "bool"])
def test_a_function_may_name_any_type(scalar: str) -> None:
    text = f"{scalar}[n] f({scalar}[n] x) {{ return reverse(x); }}"
    given = array(scalar, 4)

    with jax.enable_x64(True):
        kernel = tcjax.kernel(text, dialect="sac")
        found = kernel(given)

        assert found.dtype == dtype_of(scalar)
        np.testing.assert_array_equal(np.asarray(found), given[::-1])
        np.testing.assert_array_equal(kernel.interpret(given), given[::-1])


def test_a_wide_type_without_64_bits_is_narrow_and_warned_of() -> None:
    text = "double[n] f(double[n] x) { return x + 1; }"

    with pytest.warns(CompileWarning):
        found = tcjax.kernel(text)(np.ones(3, "float32"))

    assert found.dtype == np.float32


@pytest.mark.parametrize("scalar", ["float16", "bfloat16"])
def test_a_sum_of_halves_accumulates_in_32_bits(scalar: str) -> None:
    given = np.full(3000, 1, dtype_of(scalar))

    found = tcjax.kernel("sum(a)", dialect="sac")(given)

    assert found.dtype == dtype_of(scalar)
    np.testing.assert_allclose(np.float64(found), 3000, rtol=1e-2)


@pytest.mark.parametrize("scalar", ["int8", "uint8", "int32"])
def test_a_sum_of_integers_wraps_in_its_type(scalar: str) -> None:
    top = int(np.iinfo(scalar).max)

    found = tcjax.kernel("sum(a)", dialect="sac")(np.array([top, 1], scalar))

    assert found.dtype == scalar and int(found) == int(np.iinfo(scalar).min)


@pytest.mark.parametrize("scalar", ["float16", "bfloat16", "float64", "complex64"])
def test_a_gradient_has_the_type_of_its_argument(scalar: str) -> None:
    given = array(scalar, 3, 2)

    with jax.enable_x64(True), warnings.catch_warnings():
        kernel = tcjax.kernel("sum({ iv -> a[iv] * a[iv] })", dialect="sac")
        gradient = jax.grad(kernel, holomorphic=scalar in COMPLEX)(jnp.asarray(given))

    assert gradient.dtype == dtype_of(scalar)
    np.testing.assert_allclose(np.asarray(gradient).astype("complex128"), 2 * given.astype("complex128"), rtol=1e-2)


@pytest.mark.parametrize("scalar", ["uint8", "int16", "uint32"])
def test_a_ragged_end_is_any_integer(scalar: str) -> None:
    ends = np.array([0, 2, 3], scalar)

    found = tcjax.kernel("{ [i] -> sum({ [j] -> a[i, j] | [j] < [ends[i]] }) }")(np.ones((3, 4), "float32"), ends)

    np.testing.assert_array_equal(found, ends)


@pytest.mark.parametrize(
    ("body", "quotient", "instead", "rounded"),
    [
        ("1/2 * x[i]", "1/2", "1.0/2", "tof(1/2)"),
        ("(i+1)/3 * x[i]", "(i+1)/3", "1.0 * (i+1)/3", "tof((i+1)/3)"),
        ("n[i]/2 * x[i]", "n[i]/2", "1.0 * n[i]/2", "tof(n[i]/2)"),
        ("sin(i/2) * x[i]", "i/2", "1.0 * i/2", "tof(i/2)"),
        ("x[i] > 0 ? 1/2 : x[i]", "1/2", "1.0/2", "tof(1/2)"),
        ("sum({ [k] -> k/2 | [k] < [4] }) * x[i]", "k/2", "1.0 * k/2", "tof(k/2)"),
        ("scaled(i/2, x[i])", "i/2", "1.0 * i/2", "tof(i/2)"),
    ],
)
def test_a_quotient_of_ints_that_becomes_a_float_warns(body: str, quotient: str, instead: str, rounded: str) -> None:
    def run(body: str) -> list[CompileWarning]:
        text = f"""float scaled(float s, float y) {{ return s * y; }}
            float[m] f(float[m] x, int[m] n) {{ return {{ [i] -> {body} }}; }}"""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tcjax.load(text)["f"].ir(np.ones(4, np.float32), np.arange(4, dtype=np.int32))
        return [w.message for w in caught if isinstance(w.message, CompileWarning) and w.message.code == "TC1210"]

    (warning,) = run(body)

    assert f"`{quotient}`" in warning.message and f"`{instead}`" in warning.help and f"`{rounded}`" in warning.help
    assert run(body.replace(quotient, instead)) == []
    assert run(body.replace(quotient, rounded)) == []


@pytest.mark.parametrize("body", ["n[i]/2", "x[n[i]/2]", "x[i]/2", "4/2 * x[i]", "1.0/2 * x[i]"])
def test_ints_that_are_meant_are_silent(body: str) -> None:
    kernel = tcjax.kernel(f"{{ [i] -> {body} | [i] < [4] }}")
    arrays = {"x": np.ones(4, np.float32), "n": np.arange(4, dtype=np.int32)}
    order = sorted((name for name in arrays if f"{name}[" in body), key=lambda name: body.index(f"{name}["))

    # A warning is an error in these tests.
    kernel.ir(*[arrays[name] for name in order])


@pytest.mark.parametrize(
    ("vector", "body"),
    [
        ("int[.]", "v = { [a] -> a == axis ? 1 : 0 | [a] < [dim(u)] }; return u[iv + v];"),
        ("int[.]", "v = { [a] -> a == axis ? 1 : 0 | [a] < [dim(u)] }; return tof(v[0]) + u[1 - v];"),
        ("int64[.]", "v = { [a] -> a == axis ? 1 : 0 | [a] < [dim(u)] }; return u[iv + v];"),
    ],
)
def test_a_vector_of_integer_literals_that_is_stored_holds_integers(vector: str, body: str) -> None:
    u, iv = array("float32", 3, 4), np.array([1, 2], {"int[.]": "int32", "int64[.]": "int64"}[vector])

    check(f"float f(float[*] u, {vector} iv, int axis) {{ {body} }}", u=u, iv=iv, axis=np.int32(1))
