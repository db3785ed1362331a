"""Nests on eight devices: ``python -m tests.runtime.on_devices 83`` prints one line of JSON: the failures, by name.

With ``all``, every check takes every formula that it can; with a number, two of them, and with the next number two
others.

The tests run this in a process of its own, because XLA_FLAGS must request the CPU devices before JAX starts.
"""

import json
import sys
import traceback
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import tcjax
from tests.agreement.formulas import Formula, distances
from tests.agreement.nesting import nesting
from tests.processes import warnings_are_errors

P = PartitionSpec
CHECKS: dict[str, Callable[[], None]] = {}

KERNEL_SUM = Formula(
    "O(i) = sum[j](exp(-sum[d]((x(i,d) - y(j,d)) * (x(i,d) - y(j,d)))) * b(j))",
    lambda x, y, b: jnp.exp(-distances(x, y)) @ b,
    ((16, 3), (24, 3), (24,)),
)
NEAREST = Formula("O(i) min=! fabs(x(i) - y(j))", lambda x, y: jnp.abs(x[:, None] - y).min(1), ((16,), (24,)))
POSITION = Formula("O(i) argmin=! fabs(x(i) - y(j))", lambda x, y: jnp.abs(x[:, None] - y).argmin(1), ((16,), (24,)))
LEAST_SUMS = Formula(
    "C(i,j) min=! A(i,k) + B(k,j)", lambda a, b: jnp.min(a[:, :, None] + b[None], axis=1), ((8, 16), (16, 8))
)
WEIGHTED = Formula(
    "O(i) = sum[j](exp(x(i) * y(j) - logsumexp[l](x(i) * y(l))) * v(j))",
    lambda x, y, v: jax.nn.softmax(x[:, None] * y, axis=1) @ v,
    ((16,), (24,), (24,)),
)
EXPONENTS = Formula(
    "O(i) = logsumexp[j](x(i) * y(j))", lambda x, y: jax.nn.logsumexp(x[:, None] * y, axis=1), ((16,), (24,))
)


def some(*formulas: Formula) -> tuple[Formula, ...]:
    """Two of them, others with the next seed; all with ``all``."""
    if sys.argv[1] == "all":
        return formulas
    begin = int(sys.argv[1]) % len(formulas)
    return (*formulas, *formulas)[begin : begin + 2]


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS[function.__name__] = function
    return function


def near(found: object, expected: object) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4, atol=1e-5)


def arrays(formula: Formula) -> tuple[jax.Array, ...]:
    return tuple(map(jnp.asarray, formula.arrays()))


@cache
def values(formula: Formula) -> jax.Array:
    """The results of jnp on one device."""
    return jax.jit(formula.jnp)(*arrays(formula))


@cache
def slopes(formula: Formula) -> tuple[jax.Array, ...]:
    """The derivatives of the sum of sines with respect to every argument, by jnp on one device."""
    given = arrays(formula)
    return jax.jit(jax.grad(lambda *a: jnp.sin(formula.jnp(*a)).sum(), tuple(range(len(given)))))(*given)


def mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((8,), ("x",), axis_types=(AxisType.Auto,))


def explicit() -> jax.sharding.Mesh:
    return jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


@check
def rows_lie_on_devices() -> None:
    for formula in some(POSITION, EXPONENTS, KERNEL_SUM, NEAREST, LEAST_SUMS):
        given = arrays(formula)
        specs = (P("x"), *(P(),) * (len(given) - 1))
        mapped = jax.shard_map(formula.fresh(), mesh=mesh(), in_specs=specs, out_specs=P("x"))
        near(jax.jit(mapped)(*given), values(formula))


@check
def the_gradient_of_rows_on_devices() -> None:
    for formula in some(KERNEL_SUM, LEAST_SUMS, NEAREST, EXPONENTS):
        given = arrays(formula)
        specs = (P("x"), *(P(),) * (len(given) - 1))
        mapped = jax.shard_map(formula.fresh(), mesh=mesh(), in_specs=specs, out_specs=P("x"))
        every = tuple(range(len(given)))
        found = jax.jit(jax.grad(lambda *a, f=mapped: jnp.sin(f(*a)).sum(), every))(*given)
        near(found, slopes(formula))


@check
def points_lie_on_devices_and_meet_in_a_collective() -> None:
    x, y, b = arrays(KERNEL_SUM)
    kernel = KERNEL_SUM.fresh()
    mapped = jax.shard_map(
        lambda x, y, b: jax.lax.psum(kernel(x, y, b), "x"),
        mesh=mesh(),
        in_specs=(P(), P("x"), P("x")),
        out_specs=P(),
    )
    near(jax.jit(mapped)(x, y, b), values(KERNEL_SUM))
    found = jax.jit(jax.grad(lambda *a: jnp.sin(mapped(*a)).sum(), (0, 1, 2)))(x, y, b)
    near(found, slopes(KERNEL_SUM))


@check
def least_values_meet_in_a_collective() -> None:
    x, y = arrays(NEAREST)
    kernel = NEAREST.fresh()
    mapped = jax.shard_map(
        lambda x, y: jax.lax.pmin(kernel(x, y), "x"), mesh=mesh(), in_specs=(P(), P("x")), out_specs=P()
    )
    near(jax.jit(mapped)(x, y), values(NEAREST))


@check
def a_gradient_inside_of_shard_map() -> None:
    x, y = arrays(EXPONENTS)
    kernel = EXPONENTS.fresh()
    mapped = jax.shard_map(
        lambda x, y: jax.grad(lambda x: jnp.sin(kernel(x, y)).sum())(x),
        mesh=mesh(),
        in_specs=(P("x"), P()),
        out_specs=P("x"),
    )
    near(jax.jit(mapped)(x, y), slopes(EXPONENTS)[0])


@check
def a_second_derivative_on_devices() -> None:
    x, y = arrays(EXPONENTS)
    mapped = jax.shard_map(EXPONENTS.fresh(), mesh=mesh(), in_specs=(P("x"), P()), out_specs=P("x"))
    found = jax.jit(jax.jvp, static_argnums=0)(jax.grad(lambda y: jnp.sin(mapped(x, y)).sum()), (y,), (y,))
    near(found, jax.jvp(jax.grad(lambda y: jnp.sin(EXPONENTS.jnp(x, y)).sum()), (y,), (y,)))


@check
def a_batch_on_devices() -> None:
    x, y = arrays(NEAREST)
    kernel = NEAREST.fresh()
    stack = jnp.stack([x + n for n in range(8)])
    mapped = jax.shard_map(
        lambda s, y: jax.vmap(lambda row: kernel(row, y))(s), mesh=mesh(), in_specs=(P("x"), P()), out_specs=P("x")
    )
    near(jax.jit(mapped)(stack, y), jax.vmap(lambda row: NEAREST.jnp(row, y))(stack))
    spread = jax.vmap(kernel, in_axes=(0, None), spmd_axis_name="x")
    with jax.set_mesh(mesh()):
        near(jax.jit(spread)(stack, y), jax.vmap(lambda row: NEAREST.jnp(row, y))(stack))


@check
def zeros_meet_what_is_finite_on_devices() -> None:
    rows = jnp.sin(jnp.arange(1024.0 * 8)).reshape(1024, 8)
    places = jnp.arange(1024, dtype=jnp.int32) * 7 % 40
    kernel = tcjax.kernel("def f(float(N,D) X, int(N) I) -> (float(40,D) O) { O(b,d) +=! float(b == I(n)) * X(n,d) }")
    mapped = jax.shard_map(
        lambda X, I: jax.lax.psum(kernel(X, I), "x"), mesh=mesh(), in_specs=(P("x"), P("x")), out_specs=P()
    )

    def expected(X: jax.Array) -> jax.Array:
        return jax.ops.segment_sum(X, places, num_segments=40)

    near(jax.jit(mapped)(rows, places), expected(rows))
    found = jax.jit(jax.grad(lambda X: jnp.sin(mapped(X, places)).sum()))(rows)
    near(found, jax.grad(lambda X: jnp.sin(expected(X)).sum())(rows))
    # One device adds in the order of the text, several do not.
    spoiled = rows.at[3, 2].set(jnp.inf)
    assert jnp.isnan(jax.jit(mapped)(spoiled, places)).sum() == 39
    where = explicit()
    with jax.set_mesh(where):
        placed = jax.device_put(rows, NamedSharding(where, P(None, "y")))
        near(jax.jit(kernel)(placed, jax.device_put(places, NamedSharding(where, P()))), expected(rows))


@check
def the_compiler_divides_the_work() -> None:
    for formula in some(LEAST_SUMS, POSITION, KERNEL_SUM, NEAREST, EXPONENTS):
        given = arrays(formula)
        for which in range(len(given)):
            where = mesh()
            placed = [
                jax.device_put(a, NamedSharding(where, P("x") if n == which else P())) for n, a in enumerate(given)
            ]
            near(jax.jit(formula.fresh())(*placed), values(formula))


@check
def the_type_says_where_rows_lie() -> None:
    for formula in some(KERNEL_SUM, POSITION, NEAREST, LEAST_SUMS, EXPONENTS):
        given, expected = arrays(formula), values(formula)
        with jax.set_mesh(explicit()):
            placed = [jax.device_put(a, P("x") if n == 0 else P()) for n, a in enumerate(given)]
            found = jax.jit(formula.fresh())(*placed)
            assert jax.typeof(found).sharding.spec[0] == "x", jax.typeof(found)
            near(found, expected)


@check
def the_type_says_where_gradients_lie() -> None:
    for formula in some(NEAREST, EXPONENTS, KERNEL_SUM):
        given, expected = arrays(formula), slopes(formula)[0]
        with jax.set_mesh(explicit()):
            placed = [jax.device_put(a, P("x") if n == 0 else P()) for n, a in enumerate(given)]
            kernel = formula.fresh()
            found = jax.jit(jax.grad(lambda *a, f=kernel: jnp.sin(f(*a)).sum()))(*placed)
            assert jax.typeof(found).sharding.spec[0] == "x", jax.typeof(found)
            near(found, expected)


@check
def the_type_says_where_every_gradient_lies() -> None:
    for formula in some(KERNEL_SUM, WEIGHTED, NEAREST, EXPONENTS):
        given = arrays(formula)
        every, expected = tuple(range(len(given))), slopes(formula)
        with jax.set_mesh(explicit()):
            placed = [jax.device_put(a, P("x") if n == 0 else P("y")) for n, a in enumerate(given)]
            kernel = formula.fresh()
            found = jax.jit(jax.grad(lambda *a, f=kernel: jnp.sin(f(*a)).sum(), every))(*placed)
            assert [jax.typeof(a) for a in found] == [jax.typeof(a) for a in placed]
            near(found, expected)


@check
def the_type_says_where_a_batch_lies() -> None:
    x, y = arrays(NEAREST)
    stack = jnp.stack([x + n for n in range(8)])
    batch = jax.vmap(lambda row: NEAREST.jnp(row, y))
    expected, slopes = jax.jit(batch)(stack), jax.jit(jax.grad(lambda s: jnp.sin(batch(s)).sum()))(stack)
    with jax.set_mesh(explicit()):
        kernel = NEAREST.fresh()
        for spec in (P(None, "y"), P("x"), P("x", "y")):
            placed, points = jax.device_put(stack, spec), jax.device_put(y, P())
            spread = jax.vmap(lambda row, points: kernel(row, points), in_axes=(0, None))
            near(jax.jit(spread)(placed, points), expected)
            slope = jax.grad(lambda s, p, f=spread: jnp.sin(f(s, p)).sum())
            near(jax.jit(slope)(placed, points), slopes)


@check
def every_device_runs_its_blocks_and_asks_no_other() -> None:
    n = 8192
    # What it stores is what is tested here.
    jax.config.update("jax_disable_most_optimizations", False)
    with jax.set_mesh(explicit()):
        for formula in some(POSITION, WEIGHTED, KERNEL_SUM, EXPONENTS):
            shapes = [(n, *shape[1:]) for shape in formula.shapes]
            specs = [P("x"), *(P(),) * (len(shapes) - 1)]
            given = [jax.device_put(jnp.ones(shape), spec) for shape, spec in zip(shapes, specs, strict=True)]
            compiled = jax.jit(formula.fresh()).lower(*given).compile()
            analysis, text = compiled.memory_analysis(), str(compiled.as_text())
            assert analysis is not None and analysis.temp_size_in_bytes < 16 << 20, analysis
            assert " while(" in text
            # The tiles of a softmax do not align with the blocks of devices.
            apart = formula is WEIGHTED
            assert apart or not any(word in text for word in ("all-gather(", "all-reduce(", "all-to-all("))


@check
def what_a_guard_leaves_out_counts_for_nothing_on_explicit_axes() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(8, 6)), rng.normal(size=(6, 4))
    B[5] = np.nan
    expected = np.where(np.tril(np.ones((8, 6), bool))[:, :, None], A[:, :, None] * B, 0).sum(1)
    triangle = tcjax.kernel("y(m,n) +=! A(m,k) * B(k,n) where k <= m")
    with jax.set_mesh(explicit()):
        placed = jax.device_put(A.astype("float32"), P("x")), jax.device_put(B.astype("float32"), P(None, "y"))
        found = jax.jit(triangle)(*placed)
        near(found, expected)
        assert jax.typeof(found).sharding.spec == P("x", "y")


@check
def order_statistics_lie_as_what_they_are_of() -> None:
    x = np.random.default_rng(0).normal(size=(8, 6)).astype("float32")
    second = tcjax.kernel("O(i) = maxk[j](x(i,j), 1)")
    with jax.set_mesh(explicit()):
        found = jax.jit(second)(jax.device_put(x, P("x")))
        near(found, np.sort(x, axis=1)[:, -2])
        assert jax.typeof(found).sharding.spec == P("x")


@check
def exported_for_eight_devices() -> None:
    x, y = arrays(NEAREST)
    where = mesh()
    rows, whole = NamedSharding(where, P("x")), NamedSharding(where, P())
    placed = jax.device_put(x, rows), jax.device_put(y, whole)
    exported = jax.export.export(jax.jit(NEAREST.fresh(), in_shardings=(rows, whole)))(*placed)
    again = jax.export.deserialize(exported.serialize())
    assert again.nr_devices == 8
    near(jax.jit(again.call)(*placed), values(NEAREST))


def main() -> None:
    warnings_are_errors()
    failed: dict[str, str] = {}
    assert jax.device_count() == 8
    for name, function in CHECKS.items():
        try:
            with nesting(rows=3, unroll=2):
                function()
        except Exception:
            failed[name] = traceback.format_exc(limit=-6)[-3000:]
    print(json.dumps(failed))


if __name__ == "__main__":
    main()
