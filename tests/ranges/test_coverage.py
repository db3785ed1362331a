"""Which elements of the inputs no read covers, and when the program says that this is intended."""

from collections.abc import Mapping

import pytest

from tcjax.elaboration import Argument, completed, elaborate
from tcjax.ranges import Bound, bind, read_assumption, settled
from tcjax.symbolic import IndexVar
from tcjax.syntax import tc

Shapes = Mapping[str, tuple[int, ...]]


def bound(text: str, shapes: Shapes, *assumptions: str) -> Bound:
    """The last definition of the text; parameters without a type are float32."""
    program = tc.read(text)
    definition = completed(program.definitions[-1], ())
    parameters = [p for p in definition.parameters or () if p.type is None]
    known = {p.name: Argument("float32", len(shapes[p.name])) for p in parameters}
    function = elaborate(definition, program, known, {})
    return bind(function, shapes, assumptions=settled(map(read_assumption, assumptions), function))


def unread(text: str, shapes: Shapes, *assumptions: str) -> dict[tuple[str, int], int]:
    """The number of unread elements, by parameter and dimension."""
    found = bound(text, shapes, *assumptions).unread
    return {(each.read.read.access.tensor.name, each.read.dimension): each.count for each in found}


MM = "def mm(float(M,K) A, float(K,N) B) -> (C) {{ {} }}"
FIVE = {"x": (5,), "w": (3,)}


@pytest.mark.parametrize(
    ("text", "shapes", "expected"),
    [
        ("y(i) +=! x(i+k-1) * w(k) where i in 0:x.0", FIVE, {("w", 0): 2}),
        ("y(i) = sum[k](x(i+k-1) * w(k)) where i in 0:x.0", FIVE, {("w", 0): 2}),
        (
            "def f(float(N) x, w) -> (y) { p(i) = x(i) where i in 0:N  y(i) +=! p(i+k-1) * w(k) where i in 0:N }",
            FIVE,
            {("w", 0): 2},
        ),
        ("y(i) +=! x(i-k+1) * w(k) where i in 0:x.0", FIVE, {("w", 0): 2}),
        (MM.format("C(m,n) +=! A(k,m) * B(k,n)"), {"A": (3, 4), "B": (4, 5)}, {("B", 0): 1}),
        (MM.format("C(m,n) +=! A(m,k) * B(n,k)"), {"A": (3, 4), "B": (4, 5)}, {("B", 1): 1}),
        ("C(m,n) +=! A(k,m) * B(k,n)", {"A": (5, 4), "B": (3, 2)}, {("A", 0): 2}),
        ("y(i) = a(i) * b(i) * c(i)", {"a": (5,), "b": (3,), "c": (4,)}, {("a", 0): 2, ("c", 0): 1}),
        ("y(i) = a(i) * b(i+1)", {"a": (2,), "b": (5,)}, {("b", 0): 3}),
        ("y(i) = x(i) * a(i) + x(i+5) * a(i)", {"x": (12,), "a": (3,)}, {("x", 0): 6}),
        ("y(k) +=! x(i+k-1) * w(k) where i in 0:x.0", FIVE, {("w", 0): 2}),
        ("y(i) = x(2*i) * w(i)", {"x": (9,), "w": (9,)}, {("w", 0): 4}),
        ("H(i,j) = c(i+j) * a(i) * b(j)", {"c": (9,), "a": (3,), "b": (2,)}, {("c", 0): 5}),
        ("y(i) = a(i) + (i < 2 ? b(i) : 0.0)", {"a": (5,), "b": (2,)}, {("a", 0): 3}),
        ("O(i,m) = i == 0 ? A(m) : B(m) where i in 0:2", {"A": (3,), "B": (4,)}, {("B", 0): 1}),
        ("def f(a, b) -> (y) { y(i) = a(i)  y(i) += b(i) }", {"a": (2,), "b": (5,)}, {("b", 0): 3}),
        ("def f(a, b) -> (y) { t(i) = a(i)  y(i) = t(i) + b(i) }", {"a": (2,), "b": (5,)}, {("b", 0): 3}),
        (
            "def f(x, w, r) -> (y) { y(i) +=! x(i+k) * w(k)  y(i) += r(i) }",
            {"x": (9,), "w": (3,), "r": (9,)},
            {("r", 0): 2},
        ),
        (
            "def f(float(T,D) Q, float(T,D) K, float(S,E) V) -> (O) { O(q,e) +=! Q(q,d) * K(k,d) * V(k,e) }",
            {"Q": (3, 2), "K": (3, 2), "V": (4, 2)},
            {("V", 0): 1},
        ),
    ],
)
def test_elements_that_other_reads_cut_off_are_counted(
    text: str, shapes: Shapes, expected: dict[tuple[str, int], int]
) -> None:
    assert unread(text, shapes) == expected


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("y(i) = x(i-1) + x(i) + x(i+1)", {"x": (9,)}),
        ("y(i) = x(i) + c(i) * (x(i-1) - 2 * x(i) + x(i+1))", {"x": (9,), "c": (9,)}),
        ("def f(x, c) -> (y) { t(i) = x(i-1) + x(i+1)  y(i) = t(i) * c(i) }", {"x": (9,), "c": (9,)}),
        ("y(i) = a(i) * b(i+1)", {"a": (9,), "b": (9,)}),
        ("y(i) +=! c(i) * x(i+k) where k in 0:3", {"x": (9,), "c": (9,)}),
        ("y(i) +=! x(i+k) * w(k)", FIVE),
        ("y(i,j) +=! x(i+k,j+l) * w(k,l)", {"x": (5, 6), "w": (3, 2)}),
        ("d(i) +=! y(i-k) * w(k)", {"y": (5,), "w": (3,)}),
        ("y(i) = x(2*i)", {"x": (9,)}),
        ("y(i) max=! x(2*i+k) where k in 0:2", {"x": (9,)}),
        ("y(i) = x(4-i)", {"x": (5,)}),
        ("y(i) = x(0) + 0 * i where i in 0:3", {"x": (5,)}),
        ("y(i) = x(i%3) * w(i/2)", FIVE),
        ("y(i) = x(min(i, 2)) * w(i)", FIVE),
        ("d(i) = A(i,i)", {"A": (3, 5)}),
        ("y(i) = a(i) + b(i) where i in 0:3", {"a": (5,), "b": (4,)}),
        ("y(i) = sum[k in 0:2](x(i+k) * w(k))", FIVE),
        ("y(i) = a(i) + b(i) where i < 3", {"a": (5,), "b": (4,)}),
        ("y() = sum[i where a(i) > 0.0](a(i) * b(i))", {"a": (5,), "b": (4,)}),
        ("y(i) = i < 3 ? a(i) + b(i) : 0.0", {"a": (5,), "b": (4,)}),
        ("y(i) = a(i) where exists b(i)", {"a": (5,), "b": (4,)}),
        ("y(i) +=! (i+k-1 >= 0 && i+k-1 < x.0 ? x(i+k-1) : 0.0) * w(k) where i in 0:x.0", FIVE),
        ("def f(a, b) -> (y, z) { y(i) = a(i) * b(i)  z(i) = a(i) }", {"a": (5,), "b": (3,)}),
        ("def f(a, b) -> (y, z) { y(i) = a(i) * b(i)  z(i) = a(i+2) * b(i) }", {"a": (5,), "b": (3,)}),
        ("def f(float(N) a, float(M) b) -> (y) { y(i) = a(i) * b(i) }", {"a": (5,), "b": (3,)}),
        ("def f(float(N) a, float(M) b) -> (y) { t(i) = a(i)  y(i) = t(i) * b(i) }", {"a": (3,), "b": (5,)}),
        ("def f(float(6) a, float(3) b) -> (y) { y(i) = a(i) * b(i) }", {"a": (6,), "b": (3,)}),
        ("def f(a) -> (y) { float(3) t  t(i) = 0.0  t(i) += a(i)  y(i) = t(i) }", {"a": (5,)}),
        ("def f(a) -> (y) { t(i) = 1.0 where i in 0:3  y(i) = t(i) * a(i) }", {"a": (5,)}),
        (
            "def g(p) -> (q) { q(i) = p(i) } def f(a, b) -> (y, z) { z = g(a)  y(i) = a(i) * b(i) }",
            {"a": (5,), "b": (3,)},
        ),
        ("y(i,j) = a(i,j) * b(j)", {"a": (0, 5), "b": (3,)}),
        ("y(i) = a(i) * b(i)", {"a": (0,), "b": (3,)}),
    ],
)
def test_what_the_program_says_itself_is_meant(text: str, shapes: Shapes) -> None:
    assert unread(text, shapes) == {}


@pytest.mark.parametrize("assumption", ["N >= M", "b.0 <= N"])
def test_an_assumption_on_a_size_says_that_it_may_differ(assumption: str) -> None:
    text = "def f(float(N) a, float(M) b, float(N,M) c) -> (y) { y(i,j) = a(i) * b(i) * c(j,i) }"
    shapes = {"a": (5,), "b": (3,), "c": (5, 3)}

    assert unread(text, shapes) == {("a", 0): 2}
    assert unread(text, shapes, assumption) == {}


def test_a_definition_that_is_called_is_looked_at_too() -> None:
    text = """def smooth(float(N) x, float(K) w) -> (y) { y(i) +=! x(i+k-1) * w(k) where i in 0:N }
        def f(float(N) a, float(K) b) -> (z) { y = smooth(a, b)  z(i) = 2 * y(i) }"""

    found = bound(text, {"a": (5,), "b": (3,)})

    assert [warning.message.partition(":")[0] for warning in found.warnings] == [
        "2 of the 3 elements of `w` are never read"
    ]


def test_an_index_that_is_cut_short_says_so_beside_what_fixed_its_range() -> None:
    found = bound("C(m,n) +=! A(m,k) * B(k,n)", {"A": (2, 3), "B": (5, 4)})

    assert found.reasons[0][IndexVar("k")] == "`A(m,k)` (dimension 1); `B(k,n)` (dimension 0) has 5"


def test_the_message_counts_elements_and_names_what_cut_the_range() -> None:
    (warning,) = bound(MM.format("C(m,n) +=! A(k,m) * B(k,n)"), {"A": (3, 4), "B": (4, 5)}).warnings

    assert warning.code == "TC1211"
    assert warning.span.text == "B(k,n)"
    assert warning.message == (
        "5 of the 20 elements of `B` are never read, 1 of 4 along dimension 0: "
        "`k` runs only from 0 to 2, because of `A(k,m)` (dimension 0)"
    )
