"""The loops of a nest: blocks with enough work, but small enough to stay in the cache and to compile."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

import tcjax
from tcjax.planning import replanning
from tcjax.planning.blocked.loop_schedules import BLOCK, MOST_CANDIDATES, NEAR, candidates, choose, parts
from tcjax.planning.blocked.vector_accumulators import plan_nest

NEAREST = "def f(float(N,D) x, float(M,D) y) -> (O) { O(i) = min[j](sum[d]((x(i,d)-y(j,d))*(x(i,d)-y(j,d)))) }"
PLACE = NEAREST.replace("min[j]", "argmin[j]")
WEIGHTED = "def f(float(N,D) q, float(M,D) k, float(M,E) v) -> (O) { O(i,e) +=! exp(sum[d](q(i,d)*k(j,d))) * v(j,e) }"


def nest_of(text, *shapes, monkeypatch):
    found = []
    replanning.plan_cpu.cache_clear()
    monkeypatch.setattr(replanning, "plan_nest", lambda nest, form: found.append(nest) or plan_nest(nest, form))
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    jax.jit(tcjax.kernel(text)).lower(*arguments)
    return found[0]


def test_a_block_has_work_for_all_cores_and_stays_in_the_cache(monkeypatch):
    nest = nest_of(NEAREST, (8192, 3), (8192, 3), monkeypatch=monkeypatch)

    form = choose(nest)

    assert (str(form.loop), form.rows * 8192, form.unroll, form.inside) == ("j", BLOCK, 8, False)


def test_long_bodies_are_unrolled_less(monkeypatch):
    short = choose(nest_of(NEAREST, (4096, 3), (4096, 3), monkeypatch=monkeypatch))
    long = choose(nest_of(NEAREST, (4096, 64), (4096, 64), monkeypatch=monkeypatch))

    assert long.unroll < short.unroll


def test_few_results_get_many_lanes(monkeypatch):
    form = choose(nest_of(PLACE, (16, 3), (1 << 20, 3), monkeypatch=monkeypatch))

    assert form.rows >= 1 << 11


def test_a_sum_of_products_is_a_matrix_product_of_each_block(monkeypatch):
    form = choose(nest_of(WEIGHTED, (2048, 64), (2048, 64), (2048, 64), monkeypatch=monkeypatch))

    assert form.inside
    assert form.rows < 2048


@pytest.mark.parametrize("text", (NEAREST, PLACE))
def test_candidates_begin_with_the_choice_and_keep_positions_apart(text, monkeypatch):
    nest = nest_of(text, (4096, 3), (4096, 3), monkeypatch=monkeypatch)

    found = candidates(nest)

    assert found[0] == choose(nest)
    assert 4 <= len(found) <= MOST_CANDIDATES
    assert len(set(found)) == len(found)
    assert text is NEAREST or not any(form.inside for form in found)


def test_a_form_that_someone_measured_is_kept_for_the_parts_of_a_guarded_nest(monkeypatch):
    text = "def f(float(N) x, float(N) y) -> (O) { O(i) = sum[j where j <= i](tanh(x(i) * y(j))) }"
    found = []
    replanning.plan_cpu.cache_clear()
    monkeypatch.setattr(replanning, "parts", lambda *given: found.append(given) or parts(*given))
    jax.jit(tcjax.kernel(text)).lower(*[jax.ShapeDtypeStruct((4096,), jnp.float32)] * 2)
    (nest, planned, _), *_ = found
    measured = replace(planned, tile=None, rows=8, unroll=4)

    axis, kept = parts(nest, measured, None)
    _, bounded = parts(nest, measured, 1 << 20)

    assert axis == nest.axes[0] and len(kept) > 1
    assert all(form.unroll == 4 for _, form in kept)
    assert all(form.rows * part.shape[0] == 8 * nest.shape[0] for part, form in kept)
    assert all(form.rows < other.rows for (_, form), (_, other) in zip(bounded, kept, strict=True))


def test_a_search_tries_a_tile_of_a_long_axis(monkeypatch):
    nest = nest_of(NEAREST, (65536, 3), (512, 3), monkeypatch=monkeypatch)

    tiles = [form for form in candidates(nest) if form.tile is not None]

    assert tiles and choose(nest).tile is None
    assert all(form.rows > choose(nest).rows for form in tiles)


DISTANCES = "def f(float(N,D) x, float(M,D) y) -> (o) { o(i,j) +=! (x(i,d) - y(j,d)) * (x(i,d) - y(j,d)) }"


@pytest.mark.parametrize(("points", "steps"), ((256, 8), (512, 8), (1024, 4), (1280, 2)))
def test_a_trip_reads_vectors_that_stay_in_the_nearest_cache(points, steps, monkeypatch):
    form = choose(nest_of(DISTANCES, (points, 32), (points, 32), monkeypatch=monkeypatch))

    assert form.unroll == steps
    assert form.unroll * 4 * points <= NEAR


def test_trips_are_longer_where_accumulators_leave_the_cache(monkeypatch):
    nest = nest_of(DISTANCES, (2048, 32), (2048, 32), monkeypatch=monkeypatch)

    form = choose(nest)
    layouts = {layout.tensor: layout for layout in plan_nest(nest, form).layouts}

    assert form.unroll == 16
    assert layouts["y"].padding > 0
    assert layouts["x"].padding == 0


def test_rows_that_share_no_lines_of_the_cache_have_no_gaps(monkeypatch):
    nest = nest_of(DISTANCES, (2040, 32), (2040, 32), monkeypatch=monkeypatch)

    assert not any(layout.padding for layout in plan_nest(nest, choose(nest)).layouts)


@pytest.mark.parametrize(("terms", "written"), [(8, True), (64, False)])
def test_few_trips_are_written_out_only_where_they_have_few_operations(terms, written, monkeypatch):
    nest = nest_of(NEAREST, (4096, terms), (4096, terms), monkeypatch=monkeypatch)

    loop = plan_nest(nest, replace(choose(nest), rows=256, unroll=4))

    assert (loop.count, loop.states.written_out) == (16, written)
