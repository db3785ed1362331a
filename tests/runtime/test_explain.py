"""What `explain` predicts: temporary bytes as XLA counts them, and how loops run."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import tcjax

N = 2048
SQUARES = "sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))"
POINTS = ((N, 3), (N, 3))
ROWS = ((N,), (N,))

PROGRAMS: dict[str, tuple[str, tuple[tuple[int, ...], ...]]] = {
    "a kernel sum": (f"O(i) = sum[j](exp(-{SQUARES}) * b(j))", (*POINTS, (N,))),
    "a logsumexp": (f"O(i) = logsumexp[j](-{SQUARES})", POINTS),
    "a nearest neighbour": (f"O(i) = min[j]({SQUARES})", POINTS),
    "a position": (f"O(i) = argmin[j]({SQUARES})", POINTS),
    "a product": ("O(i) *=! x(i) - y(j)", ROWS),
    "a mean": ("O(i) mean=! fabs(x(i) - y(j))", ROWS),
    "shortest paths": ("C(i,j) min=! A(i,k) + B(k,j)", ((256, 256), (256, 256))),
    "a band": ("O(i) = sum[j where i - j <= 64 && j - i <= 64](tanh(x(i) * y(j)) * v(j))", (*ROWS, (N,))),
    "two nests": (f"O(i) = min[j]({SQUARES}) P(j) = min[i]({SQUARES})", POINTS),
    "two products of matrices": ("C(i,j) +=! A(i,k) * B(k,j) D(i,l) +=! tanh(C(i,j)) * E(j,l)", ((512, 512),) * 3),
    "one product of matrices": ("C(i,j) +=! A(i,k) * B(k,j)", ((512, 512), (512, 512))),
    "elements": ("C(i,j) = A(i,j) * tanh(B(i,j))", ((512, 512), (512, 512))),
}


def temporary(function: Callable[..., Any], *arguments: Any) -> int:
    """As XLA counts."""
    analysis = jax.jit(function).lower(*arguments).compile().memory_analysis()
    assert analysis is not None
    return analysis.temp_size_in_bytes


# XLA's allocations for these are predicted within a tenth, or 64 KiB.
CLOSE: dict[str, tuple[str, str]] = {
    "rows that data looks up": (
        "O(t,d) +=! x(t,n) * w(e(t),n,d)",
        "x 512 64, w 4 64 64, e 512",
    ),
    "values that data sends to rows": (
        "def f(float(N,D) x, float(N,D) y, int32(N) e) -> (float(100,D) O) { O(e(i),d) +=! x(i,d) * y(i,d) }",
        "x 16384 64, y 16384 64, e 16384",
    ),
    "extrema of what data sends": (
        "def f(float(N,D) x, float(N,D) y, int32(N) e) -> (float(100,D) O) { O(e(i),d) max=! x(i,d) * y(i,d) }",
        "x 16384 64, y 16384 64, e 16384",
    ),
    "values in chunks": (
        "def f(float(N) x, float(N,D) y, int32(N,L) e) -> (float(1000,D) O) { O(e(i,l),d) +=! fabs(x(i) - y(i,d)) }",
        "x 4096, y 4096 64, e 4096 32",
    ),
    "a lane": ("O(i) min=! fabs(x(i) - y(j))", "x 65536, y 512"),
    "a few lanes": ("O(i) min=! fabs(x(i) - y(j))", "x 32768, y 512"),
    "many lanes": ("O(i) +=! exp(-fabs(x(i) - y(j)))", "x 1024, y 4096"),
    "points in space": (f"O(i) = min[j]({SQUARES})", "x 8192 3, y 8192 3"),
    "points that are left over": (f"O(i) = min[j]({SQUARES})", "x 20000 3, y 512 3"),
    "an odd number of lanes": (f"O(i) = max[j]({SQUARES})", "x 3000 5, y 3001 5"),
    "hundreds of lanes": (f"O(i) = sum[j](exp(-{SQUARES}))", "x 512 3, y 20000 3"),
    "a torus": (
        "O(i,j) +=! A((i + a) % 1024, (j + b) % 1024) where i in 0:1024, j in 0:1024, a in -1:2, b in -1:2",
        "A 1024 1024",
    ),
    "patches": ("O(p,q) = A(p / 510 + q / 3, p % 510 + q % 3) where p in 0:260100, q in 0:9", "A 512 512"),
    "a scaled product": ("O(i,m) +=! A(i,j) * B(j,m) / 64", "A 512 256, B 256 512"),
    "a scaled product of three": ("O(i,l) +=! A(i,j) * B(j,k) * C(k,l) / 64", "A 512 256, B 256 384, C 384 512"),
    "heads that lie in the middle": ("O(b,q,h,d) +=! P(b,h,q,k) * V(b,k,h,d) / 8", "P 4 8 128 128, V 4 128 8 64"),
    "matrices of several columns": ("O(b,n) +=! x(b,i) * W(n,i,j) * y(b,j)", "x 128 64, W 64 64 64, y 128 64"),
    "scores that are read three times": (
        "O(q) logsumexp=! sum[d](Q(q,d) * K(k,d)) / 8",
        "Q 1024 64, K 512 64",
    ),
    "exponentials in the place of the result": (
        "def f(float(N,D) x) -> (O) { e(n,d) = exp(x(n,d) - max[k](x(n,k)))  O(n,d) = e(n,d) / sum[k](e(n,k)) }",
        "x 512 1024",
    ),
    "a value that two reductions read": ("O(i) = -logsumexp[j](K(i,j) + g(j))", "K 1024 512, g 512"),
    "places of two dimensions": (
        "def f(float(N) w, int32(N) e) -> (float(32,48) O) { O(e(n) / 48, e(n) % 48) +=! w(n) }",
        "w 262144, e 262144",
    ),
    "ones that are scattered": ("def f(int32(N) e) -> (float(4096) O) { O(e(n)) +=! 1.0 }", "e 262144"),
    "scattered rows, scaled": (
        "def f(float(N,D) x, int32(N) e) -> (float(1024,D) O) { O(e(n),d) +=! 0.5 * x(n,d) }",
        "x 65536 32, e 65536",
    ),
    "rows that are scattered where they count": (
        "def f(float(N,D) x, int32(N) e) -> (float(1024,D) O) { O(e(n),d) +=! x(n,d) where e(n) > 3 }",
        "x 65536 32, e 65536",
    ),
    "a convolution, divided": ("O(n,f,h,w) +=! I(n,c,h+i,w+j) * K(f,c,i,j) / 9", "I 4 16 56 56, K 32 16 3 3"),
    "a temporary in the place of the result": (
        "def f(float(N,D) x) -> (O) { m(n) max=! x(n,d)  e(n,d) = exp(x(n,d) - m(n))  s(n) +=! e(n,d)\n"
        "O(n,d) = e(n,d) / s(n) }",
        "x 512 1024",
    ),
}


def near(predicted: int, found: int) -> None:
    """At most an eighth below, at most twice as much plus 1 MiB above."""
    assert found <= 1.125 * predicted + (64 << 10)
    assert predicted <= 2 * found + (1 << 20)


def shapes(name: str) -> tuple[str, list[jax.ShapeDtypeStruct]]:
    text, found = PROGRAMS[name]
    return text, [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in found]


# JAX 0.10's compiler keeps one more array in these loops; the estimates are those of 0.12.
OLDER = pytest.mark.xfail(
    jax.__version_info__ < (0, 11), reason="XLA of JAX 0.10 keeps other arrays in its loops", strict=True
)


@pytest.mark.parametrize("name", [pytest.param(n, marks=OLDER if n == "two nests" else ()) for n in PROGRAMS])
def test_the_temporaries_of_a_result_are_foretold(name: str) -> None:
    text, arguments = shapes(name)
    kernel = tcjax.kernel(text)

    explained = kernel.explain(*arguments).to_dict()

    near(explained["temporary_bytes"], temporary(kernel, *arguments))


MARKS = {"values in chunks": OLDER, "points that are left over": OLDER}


@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS.get(n, ())) for n in CLOSE])
def test_the_temporaries_of_a_result_are_told_within_a_tenth(name: str) -> None:
    text, given = CLOSE[name]
    kernel = tcjax.kernel(text)
    arguments = [
        jax.ShapeDtypeStruct(tuple(map(int, shape)), jnp.int32 if parameter == "e" else jnp.float32)
        for parameter, *shape in (one.split() for one in given.split(", "))
    ]

    predicted, found = kernel.explain(*arguments).to_dict()["temporary_bytes"], temporary(kernel, *arguments)

    assert predicted == pytest.approx(found, rel=0.1, abs=64 << 10)


def test_the_statements_of_a_called_definition_are_told_too() -> None:
    inner = "def inner(float(N) x, float(M) y) -> (O) { O(i) min=! fabs(x(i) - y(j)) }"
    outer = "def outer(float(N) x, float(M) y) -> (P) { O = inner(x, y) P(i) = O(i) * O(i) }"
    kernel = tcjax.load(f"{inner} {outer}").outer

    called, _ = kernel.explain(*shapes("a product")[1]).to_dict()["statements"]

    assert called["inside"] == "inner" and called["temporary_bytes"] > 0


def test_every_statement_tells_how_it_grows_and_what_to_change() -> None:
    inner = "def inner(float(N) x) -> (O) { O(i) = x(i) * x(i) }"
    outer = "def outer(float(N) x) -> (S) { O = inner(x) P = root(O) S(i) +=! 1 where P(j) <= x(i) }"
    kernel = tcjax.load(f"{inner} {outer}", fns={"root": jnp.sqrt}).outer

    called, foreign, ranks = kernel.explain(jnp.ones(2048)).to_dict()["statements"]

    assert (called["growth"], called["stored_growth"], called["hints"]) == ({"N": 1}, {"N": 1}, [])
    assert (foreign["growth"], foreign["stored_growth"], foreign["hints"]) == ({}, {}, [])
    assert (ranks["growth"]["N"], len(ranks["hints"])) == (1, 1)


def test_what_a_python_function_costs_is_not_counted() -> None:
    kernel = tcjax.kernel("def f(float(N) x) -> (y, z) { y = root(x) z(i) = 2 * y(i) }", fns={"root": jnp.sqrt})

    explained = kernel.explain(jnp.ones(8))

    foreign, computed = explained.to_dict()["statements"]
    assert (foreign["seconds"], foreign["bound_by"], foreign["runner_up"]) == (0.0, "", None)
    assert computed["seconds"] > 0
    assert "python function" in str(explained)


def test_a_tiled_statement_grows_as_it_does_without_tiles() -> None:
    kernel = tcjax.kernel("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
    tiled = kernel.with_schedule(kernel.schedule().tile("C", "m", "n", 8, 8))

    for chosen in (kernel, tiled):
        (statement,) = chosen.explain(jnp.ones((32, 16)), jnp.ones((16, 24))).to_dict()["statements"]
        assert statement["growth"] == {"K": 1, "M": 1, "N": 1} and ("tiles" in statement) == (chosen is tiled)


def test_the_loops_of_a_nest_are_told() -> None:
    text, arguments = shapes("a band")

    explained = tcjax.kernel(text).explain(*arguments)

    (loops,) = explained.to_dict()["statements"][0]["loops"]
    assert loops["loop"] == "j" and loops["rows"] > 1 and (loops["parts"] > 1 or loops["tile"][0] == "i")
    assert loops["temporary_bytes"] == explained.to_dict()["temporary_bytes"]
    assert f"{loops['rows']} values of `j` vectorised" in str(explained)


@pytest.mark.parametrize(
    ("text", "types", "why"),
    [
        ("O(i) = x(i) + 1", ("int32",), "no parameter is a float"),
        ("O(i) = int32(x(i) > 0.0)", ("float32",), "no result is a float"),
    ],
)
def test_where_there_is_no_derivative_the_reason_is_told(text: str, types: tuple[str, ...], why: str) -> None:
    arguments = [jax.ShapeDtypeStruct((8,), jnp.dtype(t)) for t in types]

    explained = tcjax.kernel(text).explain(*arguments)

    assert explained.to_dict()["no_gradient"] == why
    assert str(explained).endswith(f"gradient: none: {why}")


def _back(x: jax.Array) -> jax.Array:
    return jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def _halved(x: jax.Array) -> jax.Array:
    return jax.lax.while_loop(lambda c: jnp.max(jnp.abs(c)) > 1e30, lambda c: c / 2, x)


@pytest.mark.parametrize(("function", "said"), [(_back, "Pure callbacks"), (_halved, "Reverse-mode differentiation")])
@pytest.mark.parametrize("text", ["O(i) = root(x(i))", "O = root(x)", "O(i) +=! root(x(i) * x(j))"])
def test_a_python_function_without_a_derivative_does_not_stand_in_the_way(text: str, function: Any, said: str) -> None:
    kernel = tcjax.kernel(f"def f(float(N) x) -> (O) {{ {text} }}", fns={"root": function})

    explained = kernel.explain(jnp.ones(4)).to_dict()

    assert explained["no_gradient"].startswith(f"JAX finds none of `root`: {said}")


def test_nor_does_a_registered_reduction_without_one() -> None:
    tcjax.monoid("sum_halved", lambda a, b: a + _halved(b), 0.0)

    explained = tcjax.kernel("O(i) = x(i) * sum_halved[j](x(j))").explain(jnp.ones(4)).to_dict()

    assert explained["no_gradient"].startswith("JAX finds none of `sum_halved`: Reverse-mode differentiation")


@pytest.mark.parametrize("fns", [{}, {"g": jnp.sin}], ids=["alone", "beside a Python function"])
def test_a_mistake_of_the_compiler_is_not_said_of_the_program(fns: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcjax import lowering

    def broken(*given: Any) -> Any:
        raise KeyError("ours")

    kernel = tcjax.kernel(f"O(i) = {'g' if fns else 'sin'}(x(i))", fns=fns)
    explanation = kernel.explain(jnp.ones(4))
    monkeypatch.setattr(lowering, "lower", broken)

    with pytest.raises(KeyError, match="ours"):
        explanation.to_dict()


LOOPING = {
    "attention in named rows": (
        """def att(float(Q,D) q, float(K,D) k, float(K,E) v) -> (o) {
             S(a,b) +=! q(a,d) * k(b,d)
             M(a) max=! S(a,b)
             X(a,b) = exp(S(a,b) - M(a))
             Z(a) +=! X(a,b)
             o(a,e) +=! X(a,b) * v(b,e) / Z(a)
           }""",
        ("float32", (512, 64)),
        ("float32", (512, 64)),
        ("float32", (512, 64)),
    ),
    "matrices that data choose": (
        "def f(int32(T) idx, float(X,D,N) w, float(T,D) x) -> (y) { y(t,n) +=! w(idx(t),d,n) * x(t,d) }",
        ("int32", (4096,)),
        ("float32", (64, 64, 64)),
        ("float32", (4096, 64)),
    ),
}


@pytest.mark.parametrize("name", LOOPING)
def test_a_derivative_that_loops_is_one(name: str) -> None:
    text, *given = LOOPING[name]

    explained = tcjax.kernel(text).explain(*(jax.ShapeDtypeStruct(s, jnp.dtype(t)) for t, s in given))

    assert "no_gradient" not in explained.to_dict()
    assert str(explained).splitlines()[-1] == "gradient: for its costs, pass compiled=True (or --compiled)"


def test_nothing_is_traced_before_someone_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    from tcjax.runtime import explain

    asked: list[Any] = []
    usual = explain.reverse_mode
    monkeypatch.setattr(explain, "reverse_mode", lambda *given: asked.append(given) or usual(*given))

    explained = tcjax.kernel("O(i) = x(i) * x(i)").explain(jnp.ones(4))

    assert not asked
    assert str(explained) and explained.to_dict() and len(asked) == 1


def test_the_table_of_the_rows_of_a_ragged_range_is_explained() -> None:
    text = "def f(float(E) v, int32(R) ptr) -> (y) { y(i) = sum[p in ptr(i):ptr(i+1)](v(p)) }"

    explanation = tcjax.kernel(text).explain(jnp.ones(3000), jnp.arange(0, 3001, 3))

    assert "ptr.rows[p]" in str(explanation)


def test_the_statements_of_a_loop_are_told_in_the_names_of_the_program() -> None:
    kernel = tcjax.kernel("""def f(float(N) a) -> (u) {
        u(0,i) = a(i)
        for t in 1:4 { u(t,i) = u(t-1,i) * 0.5 }
    }""")

    text = str(kernel.explain(jnp.ones(8)))

    assert "~" not in text and "u[t, i] = (u[t - 1, i] * 0.5) (in each of 3 steps along t" in text


def test_an_outer_loop_has_its_index_in_the_statements_of_an_inner_one() -> None:
    kernel = tcjax.kernel("""def f(float(N) x) -> (y) {
        y(i) = 0.0 where i in 0:N
        for a in 0:2 { for b in 0:2 { y(i) = y(i) + x(clamp(i + a + b)) * a } }
    }""")

    explanation, plan = kernel.explain(jnp.ones(8)), kernel.plan(jnp.ones(8))

    assert not re.search(r"\w~", f"{explanation}{plan}{explanation.to_dict()}{explanation._repr_html_()}")
    assert "x[max(0, min(7, a + b + i))]" in str(explanation) and "f_a_b(y, b, a, x)" in str(plan)
