"""Tuning that is interrupted, killed, or out of disk space: the file stays intact, and every call is right."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcjax
from tcjax import files
from tcjax.keeping import Recent
from tcjax.planning.data.nests import LoopSchedule
from tcjax.runtime.tuning import store
from tcjax.runtime.tuning import tune as tuning
from tcjax.runtime.tuning.choices import Choice, Tiles, from_json
from tcjax.symbolic import IndexVar
from tests.work import at_most_seconds

BLUR = """
def blur(float(N,M) A) -> (C) {
    B(i,j) = A(i-1,j) + A(i,j) + A(i+1,j)
    C(i,j) = B(i,j-1) + B(i,j) + B(i,j+1)
}"""
A = np.random.default_rng(0).normal(size=(40, 6)).astype("float32")
TILED = Choice(tiles=(Tiles("C", "i", 32, ("B",)),))


@pytest.fixture(autouse=True)
def within_seconds() -> Iterator[None]:
    """A test that waits for ever fails."""
    with at_most_seconds(240):
        yield


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for choices, and fake timings in which tiles are fastest."""
    monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path / "choices"))
    monkeypatch.setattr(tuning, "wall_timer", lambda c: 1.0 if c.choice.tiles else 2.0)
    monkeypatch.setattr(store, "_warned", Recent())
    return tmp_path / "choices"


def key() -> dict[str, Any]:
    kernel = tcjax.kernel(BLUR)
    call, _ = kernel._call((A,), {})
    found = store.key_of(kernel._frontend, call, kernel._compiler.bound(call))
    assert found is not None
    return found


def kept() -> Path:
    """A file with tiles for the blur."""
    path = store.remember(key(), TILED, {"kernel": "blur"})
    assert path is not None
    return path


def test_a_file_that_was_cut_short_is_never_taken(cache: Path) -> None:
    path = kept()
    content = path.read_bytes()
    lengths = [0, 1, 2, 10, *range(20, len(content), len(content) // 12), len(content) - 2, len(content) - 1]

    for length in lengths:
        path.write_bytes(content[:length])
        store._warned = Recent()
        with pytest.warns(tcjax.CompileWarning, match=r"is ignored: it is not valid JSON") as said:
            assert tcjax.kernel(BLUR).plan(A).scheduled is None
        assert path.name in str(said[0].message) and "remove the file, or call `tune` again" in str(said[0].message)

    path.write_bytes(content)
    assert tcjax.kernel(BLUR).plan(A).scheduled is not None


def test_on_a_full_disk_the_old_file_stays_and_the_warning_says_what_to_do(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = kept()
    content = path.read_bytes()

    class Full:
        """A file on a disk that has room for only some bytes."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            self.file.write(data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = files.replacing

    class replacing:
        def __init__(self, *args: Any, **options: Any) -> None:
            self.real = real(*args, **options)

        def __enter__(self) -> Full:
            return Full(self.real.__enter__())

        def __exit__(self, *problem: Any) -> Any:
            return self.real.__exit__(*problem)

    monkeypatch.setattr(files, "replacing", replacing)

    with pytest.warns(tcjax.CompileWarning, match="No space left on device") as said:
        assert store.remember(key(), Choice(), {}) is None

    assert "help: make room there" in str(said[0].message)
    assert path.read_bytes() == content
    assert [each.name for each in cache.iterdir()] == [path.name]


LIMITED = """
import resource, sys, warnings
import numpy as np
import tcjax
from tcjax.runtime.tuning import store
from tests.runtime.test_faults import A, BLUR, TILED, key
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert store.remember(key(), TILED, {}) is None
    assert tcjax.kernel(BLUR).plan(A).scheduled is None
print(*(str(each.message) for each in said))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of this kind")
def test_where_no_file_may_be_so_long_nothing_is_left_behind(cache: Path) -> None:
    run = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True, cwd=Path.cwd())

    assert "cannot be kept" in run.stdout and "File too large" in run.stdout and "make room there" in run.stdout
    assert list(cache.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of this kind")
def test_a_process_without_handles_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept()

    def refused(*args: Any, **options: Any) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(files, "read", refused)

    with pytest.warns(tcjax.CompileWarning, match="Too many open files") as said:
        assert tcjax.kernel(BLUR).plan(A).scheduled is None

    assert "ulimit -n" in str(said[0].message)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere")
def test_a_directory_that_may_only_be_read_costs_a_warning(cache: Path) -> None:
    path = kept()
    cache.chmod(0o500)
    try:
        with pytest.warns(tcjax.CompileWarning, match="cannot be kept"):
            assert store.remember(key(), Choice(), {}) is None
        assert tcjax.kernel(BLUR).plan(A).scheduled is not None
    finally:
        cache.chmod(0o700)
    assert path.exists()


def test_a_file_that_may_only_be_read_is_replaced(cache: Path) -> None:
    path = kept()
    path.chmod(0o400)

    store.remember(key(), Choice(), {})

    assert from_json(json.loads(path.read_bytes())["choice"]) == Choice()


@pytest.mark.parametrize("when", ["first", "candidates", "write"])
def test_a_search_that_is_interrupted_leaves_a_whole_file_and_goes_on_next_time(
    cache: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    path = kept()
    content = path.read_bytes()

    def interrupt(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        match when:
            case "first":
                patch.setattr(tuning._Builder, "first", interrupt)
            case "candidates":
                patch.setattr(tuning._Builder, "candidates", interrupt)
            case _:
                patch.setattr(os, "replace", interrupt)
        if when == "write":
            with pytest.raises(KeyboardInterrupt):
                tcjax.kernel(BLUR).tune(A, progress=False)
        else:
            found = tcjax.kernel(BLUR).tune(A, progress=False).tuned
            assert found is not None and found.stopped == "interrupted" and found.saved is None

    assert path.read_bytes() == content and [each.name for each in cache.iterdir()] == [path.name]

    again = tcjax.kernel(BLUR).tune(A, progress=False).tuned
    assert again is not None and again.saved == path and again.choice.tiles


KILLED = """
import sys
from tests.runtime.test_faults import key, TILED
from tcjax.runtime.tuning import store
own = key()
print("ready", flush=True)
while True:
    store.remember(own, TILED, {"text": "x" * 100_000})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals of this kind")
def test_a_process_that_is_killed_while_it_writes_leaves_a_whole_file(cache: Path) -> None:
    path = kept()
    process = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
    assert process.stdout is not None and process.stdout.readline() == "ready\n"

    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)

    assert from_json(json.loads(path.read_bytes())["choice"]) == TILED
    assert tcjax.kernel(BLUR).plan(A).scheduled is not None


def test_what_another_search_finds_meanwhile_is_not_lost(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept()
    nest = (("n", LoopSchedule(IndexVar("j"), 64, 2)),)
    own = key()

    def other() -> None:
        """A search for the derivative, which keeps the choice for the result."""
        with store.alone():
            found = from_json(json.loads(path.read_bytes())["choice"])
            store.remember(own, replace(found, gradient=nest), {})

    thread = threading.Thread(target=other)
    earlier = tuning._earlier

    def slowly(*args: Any) -> Choice:
        found = earlier(*args)
        thread.start()
        time.sleep(0.5)
        return found

    monkeypatch.setattr(tuning, "_earlier", slowly)

    tcjax.kernel(BLUR).tune(A, progress=False)
    thread.join()

    found = from_json(json.loads(path.read_bytes())["choice"])
    assert found.tiles and found.gradient == nest


def test_nobody_waits_for_ever_for_another_search(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PATIENCE", 0.2)
    done: list[bool] = []

    with store.alone():
        thread = threading.Thread(target=lambda: done.append(store.alone().__enter__() is None))
        thread.start()
        thread.join(30)

    assert done == [True]


def test_warnings_are_said_of_many_files_and_not_kept_for_ever(cache: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(1000):
            store._warn_once(f"file {number}", "nothing")

    assert len(store._warned) <= 256
