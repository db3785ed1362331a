"""What type checkers see of the package.

Pyright and mypy check these lines in `make lint`, and running them proves them true. A line that must be a mistake says
so: the lint step fails where a checker no longer finds it.
"""

# Of what JAX and NumPy export, some is only partly typed.
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, assert_type, no_type_check

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tcjax
from tcjax.testing import assert_gradients, assert_matches, assert_no_large_temporaries

ARRAY = np.ones((2, 3), np.float32)
ROWS = "B(i) +=! A(i,j)"


def test_a_text_and_a_function_are_kernels() -> None:
    from_text = tcjax.kernel(ROWS)
    with_options = tcjax.kernel(ROWS, accumulate="float32")

    @tcjax.kernel
    def plain(A: jax.Array) -> None:
        """B(i) +=! A(i,j)"""

    @tcjax.kernel(memory_limit="64MiB")
    def limited(A: Any) -> None:
        """B(i) +=! A(i,j)"""

    assert_type(from_text, tcjax.Kernel)
    assert_type(with_options, tcjax.Kernel)
    assert_type(plain, tcjax.Kernel)
    assert_type(limited, tcjax.Kernel)
    assert all(isinstance(k, tcjax.Kernel) for k in (from_text, with_options, plain, limited))


def test_index_notation_in_python_is_passed_over_and_makes_a_kernel() -> None:
    @no_type_check
    @tcjax.kernel
    def rows(A: "float(N,M)"):
        B[i] += A[i, j]
        return B

    # mypy takes what `no_type_check` decorates for Any, pyright for what it is.
    typed: tcjax.Kernel = rows
    assert typed(ARRAY).tolist() == [3.0, 3.0]


def test_index_names_bound_for_a_linter_are_names() -> None:
    names = tcjax.indices("i j")

    assert [name.name for name in names] == ["i", "j"]
    assert_type(names[0].name, str)


def test_every_option_has_its_type() -> None:
    fns: Mapping[str, Callable[..., Any]] = {"gelu": jax.nn.gelu}
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))

    kernel = tcjax.kernel(
        "def f(float(N) A) -> (B) { B(i) = gelu(A(s*i)) }",
        dialect="tc",
        fns=fns,
        consts={"s": 2},
        memory_limit=1 << 20,
        schedule=None,
        accumulate="float32",
        backend="xla",
        assume=["N % 2 == 0"],
        checked=False,
        deterministic=True,
        sharding=None,
        strict=True,
    )
    on_devices = tcjax.kernel(ROWS, sharding=(mesh, {"i": "data"}))
    unlimited = tcjax.kernel(ROWS, checked="nan", memory_limit=None)

    assert_type(kernel, tcjax.Kernel)
    assert_type(on_devices, tcjax.Kernel)
    assert_type(unlimited, tcjax.Kernel)


def test_a_wrong_option_or_source_is_a_mistake_to_all() -> None:
    with pytest.raises(tcjax.CompileError, match="there is no option `memory`"):
        tcjax.kernel(ROWS, memory="64MiB")  # type: ignore[call-overload]
    with pytest.raises(tcjax.CompileError, match="strict"):
        tcjax.kernel(ROWS, strict="yes")  # type: ignore[call-overload]
    with pytest.raises(tcjax.CompileError, match="consts"):
        tcjax.kernel(ROWS, consts=["s"])  # type: ignore[call-overload]
    with pytest.raises(tcjax.CompileError):
        tcjax.kernel(3)  # type: ignore[call-overload]
    with pytest.raises(tcjax.CompileError, match="there is no option `source`"):
        tcjax.kernel(source=ROWS)  # type: ignore[call-overload]
    with pytest.raises(tcjax.CompileError):
        tcjax.kernel(ROWS).to(3)  # type: ignore[arg-type]
    with pytest.raises(tcjax.CompileError):
        tcjax.kernel(ROWS).explain(ARRAY, compiled="yes")  # type: ignore[arg-type]


def test_a_misspelt_name_is_a_mistake_to_all() -> None:
    with pytest.raises(AttributeError, match="kernl"):
        tcjax.kernl  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="expain"):
        tcjax.kernel(ROWS).expain(ARRAY)  # type: ignore[attr-defined]
    assert_type(tcjax.__version__, str)


def test_a_kernel_answers_in_types() -> None:
    kernel = tcjax.kernel(ROWS)

    assert_type(kernel(ARRAY), Any)
    assert_type(kernel.interpret(ARRAY), Any)
    assert_type(kernel.explain(ARRAY), tcjax.Explanation)
    assert_type(kernel.explain(ARRAY).to_dict(), dict[str, Any])
    assert_type(kernel.explain(ARRAY).html, str)
    assert_type(kernel.ranges(ARRAY), list[dict[str, Any]])
    assert_type(kernel.constraints(), tuple[str, ...])
    assert_type(kernel.adjoint(wrt=("A",)), tcjax.Kernel)
    assert_type(kernel.schedule(ARRAY), tcjax.Schedule)
    assert_type(kernel.with_schedule(kernel.schedule()), tcjax.Kernel)
    assert_type(kernel.to("tc"), str)
    assert_type(kernel.__name__, str)
    assert_type(str(kernel.plan(ARRAY)), str)
    assert_type(kernel.ir(ARRAY).name, str)
    assert isinstance(kernel.explain(ARRAY), tcjax.Explanation)
    assert isinstance(kernel.schedule(ARRAY), tcjax.Schedule)


def test_a_picture_is_svg_and_text() -> None:
    picture = tcjax.kernel(ROWS).picture(ARRAY, kind="reads")

    assert_type(picture.svg(), str)
    assert picture.svg(across=1).startswith("<svg")
    with pytest.raises(AttributeError):
        tcjax.kernel(ROWS).picture(ARRAY).png()  # type: ignore[attr-defined]


def test_a_cost_has_figures() -> None:
    cost = tcjax.kernel(ROWS).cost(ARRAY, mesh={"data": 2}, shard={"i": "data"}, device="gpu", links="nvlink")

    assert_type(cost, tcjax.DeviceCost)
    assert_type(cost.devices, int)
    assert_type(cost.seconds, float)
    for collective in cost.collectives:
        assert_type(collective.seconds, float)
    assert_type(cost.to_dict(), dict[str, Any])
    assert (cost.devices, cost.device) == (2, "gpu")


def test_a_kernel_on_a_mesh_is_a_kernel() -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))

    sharded = tcjax.kernel(ROWS).sharded(mesh, {"i": "data"})

    assert_type(sharded, tcjax.Kernel)
    assert_type(tcjax.kernel(ROWS).sharded(mesh, {"i": ("data",)}), tcjax.Kernel)
    assert sharded(ARRAY).tolist() == [3.0, 3.0]


def test_an_element_and_a_region_have_types() -> None:
    kernel = tcjax.kernel(ROWS)
    element = kernel.at(i=1)(ARRAY)
    region = kernel.schedule().split("B", "i", factor=1).infer_bounds(ARRAY)["B"]

    assert_type(element.value, Any)
    assert_type(element.text(depth=2), str)
    assert_type(element.to_dict(), dict[str, Any])
    assert_type(region, tcjax.Region)
    assert_type(region.extent, tuple[int, ...])
    assert element.value == 3.0


def test_a_schedule_is_commands_that_give_schedules() -> None:
    schedule = tcjax.kernel("def f(float(N) A) -> (C) { B(i) = A(i)  C(i) = B(i) }").schedule()

    assert_type(schedule.split("C", "i", factor=2, outer="io"), tcjax.Schedule)
    assert_type(schedule.split("C", "i", factor=2, outer="io").compute_at("B", "C", "io"), tcjax.Schedule)
    assert_type(schedule.compute_root("B").reorder("C", "i"), tcjax.Schedule)
    assert_type(schedule.show().svg(), str)
    with pytest.raises(tcjax.CompileError):
        schedule.split("C", "i", factor="2")  # type: ignore[arg-type]


def test_a_check_a_search_and_an_export_have_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path))
    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = A(i) }")
    vector = ARRAY[0]

    check = kernel.check(examples=1)
    tuned = kernel.tune(vector, seconds=0.01, progress=False)

    assert_type(check, tcjax.Check)
    assert_type(check.compared, Mapping[str, int])
    assert_type(check.to_dict(), dict[str, object])
    assert_type(kernel.export("float32[N]"), jax.export.Exported)
    assert_type(tuned, tcjax.Kernel)
    if tuned.tuned is not None:
        assert_type(tuned.tuned.speedup, float)
        assert_type(tuned.tuned.saved, Path | None)
    assert issubclass(tcjax.CheckError, AssertionError)


def test_a_kernel_is_a_function_to_jax_and_to_inspect() -> None:
    kernel = tcjax.kernel(ROWS)
    function: Callable[[NDArray[np.float32]], Any] = kernel

    assert_type(inspect.signature(kernel), inspect.Signature)
    assert jax.jit(kernel)(ARRAY).tolist() == [3.0, 3.0]
    assert jax.vmap(function)(ARRAY[None]).shape == (1, 2)


def test_a_library_is_kernels_by_name() -> None:
    library = tcjax.load("def f(float(N) A) -> (B) { B(i) = A(i) }", strict=True)

    assert_type(library, tcjax.Library)
    assert_type(library["f"], tcjax.Kernel)
    assert_type(library.f, tcjax.Kernel)
    assert_type(list(library), list[str])
    assert_type(len(library), int)
    assert "f" in library and list(library) == ["f"]
    with pytest.raises(tcjax.CompileError):
        tcjax.load(3)  # type: ignore[arg-type]


def test_einsum_gives_an_array_and_a_monoid_nothing() -> None:
    assert_type(tcjax.einsum("ij->i", ARRAY, reduce="max"), jax.Array)
    assert_type(tcjax.einsum("ij->i", ARRAY, combine="+", precision="highest"), jax.Array)

    tcjax.monoid("larger_typed", jnp.maximum, float("-inf"), commutative=True)
    with pytest.raises(tcjax.CompileError):
        tcjax.monoid("larger_typed", jnp.maximum, 0.0, commutative="no")  # type: ignore[arg-type]


def test_an_error_has_a_code_a_place_and_help() -> None:
    with pytest.raises(tcjax.CompileError) as caught:
        tcjax.kernel("B(i) = A(i,j)")

    error = caught.value
    assert_type(error.code, str)
    assert_type(error.help, str)
    assert_type(error.message, str)
    line, column, end = error.span
    assert_type(line, int)
    assert (line, column, end) == (1, 12, 13)
    kind: str = error.kind
    assert kind == "index" and isinstance(error, ValueError)
    if error.kind == "indx":  # type: ignore[comparison-overlap]
        raise AssertionError


def test_a_warning_and_an_error_of_data_have_places() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tcjax.kernel("def f(float(N) A, float(M) unused) -> (B) { B(i) = A(i) }")
    for each in caught:
        if isinstance(each.message, tcjax.CompileWarning):
            assert_type(each.message.code, str)
            assert_type(each.message.is_ignored, bool)
            line, _, _ = each.message.span
            assert line == 1
    with pytest.raises(tcjax.DataError) as raised:
        tcjax.kernel("B(i) = A(I(i))", checked=True)(ARRAY[0], np.array([9]))
    assert_type(raised.value.message, str)


def test_facts_answer_in_types() -> None:
    facts = tcjax.symbolic.Facts().define("n", 0, None).assume("n > 3")

    assert_type(facts, tcjax.symbolic.Facts)
    assert_type(facts.prove("n > 2"), bool)
    assert_type(facts.bounds("n % 4"), tuple[int | None, int | None])
    assert_type(facts.simplify("(8*n + 3) // 8"), tcjax.symbolic.Expr)
    assert facts.prove("n > 2")


def test_assertions_about_a_kernel_have_types() -> None:
    kernel = tcjax.kernel("def f(float(N) A) -> (B) { B(i) = A(i) }")

    assert_matches(kernel, np.copy, ARRAY[0])
    assert_gradients(kernel, ARRAY[0])
    assert_no_large_temporaries(kernel, ARRAY[0], limit="1MiB", gradient=False)
    assert_type(tcjax.testing.CheckError("no"), tcjax.CheckError)
    with pytest.raises(tcjax.CompileError):
        assert_no_large_temporaries(kernel, ARRAY[0], limit=[1])  # type: ignore[arg-type]


def test_programs_of_the_gallery_have_types() -> None:
    entry = tcjax.gallery.entry("layer_norm")
    program = tcjax.gallery.load("layer_norm")
    size: Literal["small"] = "small"

    assert_type(entry.title, str)
    assert_type(program, tcjax.gallery.Program)
    assert_type(program.formulas, tuple[tcjax.Kernel, ...])
    assert len(program.arrays(size)) == 3


def test_these_lines_use_every_public_name() -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    methods = [name for name in dir(tcjax.Kernel) if not name.startswith("_")]

    unused = [name for name in [*dir(tcjax), *methods] if not re.search(rf"\.{name}\b", text)]

    assert len(methods) > 10 and unused == []
