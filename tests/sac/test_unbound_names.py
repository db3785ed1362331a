"""Names that nothing binds, wherever they stand: an error about the name, at the name."""

import numpy as np
import pytest

import tcjax

PLACES = {
    "a body with a bound": "{ [i] -> a[i] + zz | [i] < [5] }",
    "a body without one": "{ [i] -> a[i] + zz }",
    "a body of an index vector": "{ iv -> a[iv] + zz | iv < shape(a) }",
    "a body that reads no element": "{ [i] -> zz + sum(a) | [i] < [5] }",
    "an upper bound": "{ [i] -> a[i] | [i] < [zz] }",
    "a whole bound": "{ [i] -> a[i] | [i] < zz }",
    "a lower bound": "{ [i] -> a[i] | zz <= [i] < [5] }",
    "a step": "{ [i] -> a[i] | [0] <= [i] < [5] step [zz] }",
    "a width": "{ [i] -> a[i] | [0] <= [i] < [5] step [2] width [zz] }",
    "a nested body": "{ [i] -> { [j] -> a[j] + zz | [j] < [3] } | [i] < [2] }",
    "a fold": "{ [i] -> sum({ [j] -> a[j] * zz }) | [i] < [2] }",
    "a nested bound": "{ [i] -> sum({ [j] -> a[j] | [j] < [zz] }) | [i] < [2] }",
    "a later partition": "{ [i] -> a[i] | [i] < [2]; [i] -> a[i] + zz | [i] < [5] }",
    "a selected array": "{ [i] -> zz[i] + a[i] | [i] < [5] }",
    "a subscript": "{ [i] -> a[i + zz] | [i] < [5] }",
    "a vector": "take([zz], a)",
    "a conditional": "{ [i] -> (i < 2 ? a[i] : zz) | [i] < [5] }",
    "no comprehension": "a + zz",
}
FORMS = {
    "an expression": "{0}",
    "a function": "float[*] f(float[n] a) {{ return {0}; }}",
    "a function that another calls": "float[*] g(float[n] a) {{ return {0}; }} "
    "float[*] f(float[n] a) {{ return g(a); }}",
    "a let": "float[*] f(float[n] a) {{ b = {0}; return b; }}",
    "a let that nobody reads": "float[n] f(float[n] a) {{ b = {0}; return a; }}",
    "a let before an expression": "b = {0}; b",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", PLACES)
def test_a_name_that_nothing_binds_is_told_where_it_stands(place: str, form: str) -> None:
    text = FORMS[form].format(PLACES[place])

    with pytest.raises(tcjax.CompileError, match="there is no `zz` here") as caught:
        tcjax.kernel(text, dialect="sac").interpret(a=np.ones(5, "float32"))

    error = caught.value
    assert error.kind == "name" and error.help
    assert text[text.index("zz") :] == text[error.span.column - 1 :]


def test_a_free_name_of_an_expression_is_an_argument() -> None:
    kernel = tcjax.kernel("{ [i] -> a[i] + zz | [i] < [2] }", dialect="sac")

    assert kernel.interpret(np.float32([1, 2, 3]), np.float32(4)).tolist() == [5, 6]
    with pytest.raises(tcjax.CompileError) as caught:
        kernel(np.float32([1, 2, 3]))
    assert "pass it, `kernel(a, zz)`" in (caught.value.help or "")
