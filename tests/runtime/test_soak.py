"""`make soak`, for seconds: random programs leave nothing behind, and threads do not disturb each other."""

import warnings
import weakref

import numpy as np
import pytest

import tcjax
from tcjax.diagnostics import Code, CompileWarning, silenced, warn
from tests.soak.census import Census, census
from tests.soak.soak_programs import soak
from tests.soak.soak_threads import once, together


def test_random_programs_leave_nothing_behind() -> None:
    said: list[str] = []

    assert soak(0, 7, warm=10, say=said.append) == []
    assert said[0].startswith("10 programs: ") and said[1].startswith("20 programs: ")
    assert said[2].split() == ["cache", "most", "10", "20"]


def test_what_grows_is_told() -> None:
    kept = tcjax.kernel("B(i) = A(i)")
    now = census([weakref.ref(kept)])
    warm = Census(now.memory - (1 << 30), now.handles - 100, now.threads - 100, 0, {})

    found = " ".join(now.beyond(warm))

    assert all(word in found for word in ("bytes of memory", "handles", "threads", "kernels that nobody holds"))
    assert now.beyond(now) == [text for text in now.beyond(now) if "kernels" in text] != []


def test_threads_may_use_the_same_kernels_at_once_and_first_of_all() -> None:
    assert once(3, threads=4, each=2, tunes=False) == []


def test_threads_that_tune_at_once_find_something_right(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path))
    text = "def f(float(N,K) A, float(M,K) B) -> (C) { C(i,j) min=! fabs(A(i,k) - B(j,k)) }"
    kernel = tcjax.kernel(text)
    a, b = np.random.default_rng(0).normal(size=(2, 6, 4)).astype("float32")
    wanted = np.abs(a[:, None].astype("float64") - b[None]).min(-1)
    filters = list(warnings.filters)

    def tune() -> None:
        found = kernel.tune(a, b, seconds=0.1, progress=False)(a, b)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)

    assert together([tune] * 3) == []
    assert warnings.filters == filters


def test_only_this_thread_is_silenced() -> None:
    warning = CompileWarning(Code.TUNING_FILE, "something", help="nothing")
    other = CompileWarning(Code.NARROWED_TYPE, "something else", help="nothing")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with silenced():
            warn(warning)
            together([lambda: warn(other)])
        with silenced(Code.TUNING_FILE):
            warn(warning)
            warn(other)
        warn(warning)

    assert [each.message for each in said] == [other, other, warning]
