"""The roles of a parameter's dimensions in a program."""

import pytest

from tcjax.layers import recipe


def zeros(key: object, shape: object, dtype: object) -> None:
    return None


CALLING = """
def layer(float(B,I) x, float(O,I) w) -> (y) { y = inner(x, w) }
def inner(float(B,I) a, float(O,I) b) -> (y) { y(s,o) +=! a(s,i) * b(o,i) }"""


@pytest.mark.parametrize(
    ("program", "roles"),
    [
        ("y(b,o) +=! x(b,i) * w(i,o)", "i:in o:out"),
        ("y(b,o) = sum[i](x(b,i) * w(o,i)) + x(b,o)", "o:out i:in"),
        ("y(b,o) = sum[i]((x(b,i) + v(i)) * w(o,i))", "o:out i:in"),
        ("y(b,g,o) +=! x(b,g,i) * w(g,i,o)", "g:batch i:in o:out"),
        ("y(b,e,o) +=! x(b,i) * w(e,i,o)", "e:out i:in o:out"),
        ("y(b,h,o) +=! x(b,2*h+k-1,c) * w(k,c,o) where k in 0:2, h in 1:3", "k:window c:in o:out"),
        ("y(b,o) = x(b,o) * w(o)", "o:batch"),
        ("y(b,o) = x(b,o) + w(o)", "o:out"),
        ("y(b,d) = w(x(b), d)", "-:batch d:out"),
        ("y(b,o) max=! x(b,i) - w(o,2*i)", "o:out -:in"),
        (CALLING, "o:out i:in"),
    ],
)
def test_a_dimension_is_summed_over_kept_a_window_or_one_of_a_batch(program: str, roles: str) -> None:
    params = {"w": zeros, "v": zeros} if "v(" in program else {"w": zeros}

    found = recipe(program, params).dimensions("w")

    assert " ".join(f"{dimension.index or '-'}:{dimension.role.value}" for dimension in found) == roles


def test_a_product_of_two_parameters_sums_over_what_they_share() -> None:
    own = recipe("y(b,o) +=! x(b,i) * v(i,r) * w(r,o)", {"v": zeros, "w": zeros})

    assert [dimension.role.value for dimension in own.dimensions("v")] == ["in", "in"]
    assert [dimension.role.value for dimension in own.dimensions("w")] == ["in", "out"]
