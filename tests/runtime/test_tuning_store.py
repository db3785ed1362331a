"""What `k.tune` stores on disk, and how it treats other files."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import jax
import numpy as np
import pytest

import tcjax
from tcjax.keeping import Recent
from tcjax.runtime.tuning import memory, store
from tcjax.runtime.tuning import tune as tuning

BLUR = """
def blur(float(N,M) A) -> (C) {
    B(i,j) = A(i-1,j) + A(i,j) + A(i+1,j)
    C(i,j) = B(i,j-1) + B(i,j) + B(i,j+1)
}"""
A = np.random.default_rng(0).normal(size=(70, 30)).astype("float32")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory for choices, and fake timings in which tiles of 64 rows are fastest."""
    monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path / "choices"))
    monkeypatch.setattr(
        tuning, "wall_timer", lambda c: 1.0 if [tiles.rows for tiles in c.choice.tiles] == [64] else 2.0
    )
    monkeypatch.setattr(store, "_warned", Recent())
    return tmp_path / "choices"


def is_tuned(kernel: tcjax.Kernel) -> bool:
    return kernel.plan(A).scheduled is not None


# The first search's file: name and content. Most tests begin with one, and a search compiles a lot.
FOUND: dict[str, bytes] = {}


def tuned_file(cache: Path) -> Path:
    """The file of a tuned kernel."""
    if not FOUND:
        tcjax.kernel(BLUR).tune(A)
        (file,) = cache.iterdir()
        FOUND[file.name] = file.read_bytes()
    ((name, content),) = FOUND.items()
    cache.mkdir(exist_ok=True)
    (cache / name).write_bytes(content)
    return cache / name


def test_another_kernel_of_the_same_program_uses_what_was_found(cache: Path) -> None:
    tuned = tcjax.kernel(BLUR).tune(A)

    assert tuned.tuned is not None and tuned.tuned.saved == tuned_file(cache)
    assert is_tuned(tcjax.kernel(BLUR))
    assert jax.jit(tcjax.kernel(BLUR)).lower(A).as_text().count("while") > 0


def test_another_process_uses_what_was_found(cache: Path) -> None:
    tuned_file(cache)
    code = f"import tcjax, jax; print(tcjax.kernel({BLUR!r}).plan(jax.ShapeDtypeStruct((70, 30), 'float32')).scheduled)"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "Tiled" in said.stdout


def test_layout_of_the_text_does_not_matter_but_the_program_does(cache: Path) -> None:
    tuned_file(cache)

    assert is_tuned(tcjax.kernel(BLUR.replace("    ", " ")))
    assert not is_tuned(tcjax.kernel(BLUR.replace("A(i+1,j)", "2*A(i+1,j)")))


def test_a_schedule_of_the_users_own_comes_first(cache: Path) -> None:
    tuned_file(cache)
    kernel = tcjax.kernel(BLUR)

    plan = kernel.with_schedule(kernel.schedule()).plan(A)

    assert plan.scheduled == plan.stages


def test_other_shapes_types_and_options_are_other_keys(cache: Path) -> None:
    tuned_file(cache)
    kernel = tcjax.kernel(BLUR)

    assert kernel.plan(A[:66]).scheduled is None
    assert not is_tuned(tcjax.kernel(BLUR, accumulate="float64"))
    assert not is_tuned(tcjax.kernel(BLUR, assume=["N >= 3"]))


def test_another_version_of_jax_or_another_device_looks_for_another_file(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned_file(cache)

    with monkeypatch.context() as patch:
        patch.setattr(jax, "__version__", "99.0")
        assert not is_tuned(tcjax.kernel(BLUR))
    with monkeypatch.context() as patch:
        patch.setattr(tcjax, "__version__", "99.0")
        assert not is_tuned(tcjax.kernel(BLUR))
    monkeypatch.setattr(store, "device_kind", lambda: "an abacus")
    assert not is_tuned(tcjax.kernel(BLUR))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b'{"key": {}}',
        b"[" * 100_000,
        b'{"choice": {"forms": [], "tiles": []}}',
    ],
    ids=["empty", "cut", "binary", "list", "null", "number", "text", "other key", "deep", "no key"],
)
def test_a_broken_file_is_ignored_with_a_warning_that_names_it(cache: Path, content: bytes) -> None:
    file = tuned_file(cache)
    file.write_bytes(content)

    with pytest.warns(tcjax.CompileWarning, match=file.name):
        assert not is_tuned(tcjax.kernel(BLUR))

    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "choice",
    [
        None,
        [],
        {"forms": []},
        {"forms": 3, "tiles": []},
        {"forms": [], "tiles": [["C", "i", 64]]},
        {"forms": [], "tiles": [["C", "i", "many", ["B"]]]},
        {"forms": [], "tiles": [["C", "i", -1, ["B"]]]},
        {"forms": [], "tiles": [["Q", "i", 64, ["B"]]]},
        {"forms": [], "tiles": [["C", "j", 64, ["B"]]]},
        {"forms": [["C", {"loop": {"index": "i", "tag": 0}, "rows": 4, "unroll": 1}]], "tiles": []},
        {"forms": [["C", {"loop": "i", "rows": 4, "unroll": 1}]], "tiles": []},
        {"forms": [["C", {"loops": 1}]], "tiles": []},
        {"forms": [["C", None]], "tiles": []},
    ],
)
def test_a_choice_that_the_program_does_not_offer_is_ignored_with_a_warning(cache: Path, choice: object) -> None:
    file = tuned_file(cache)
    file.write_text(json.dumps({**json.loads(file.read_text()), "choice": choice}))

    with pytest.warns(tcjax.CompileWarning, match=file.name):
        assert not is_tuned(tcjax.kernel(BLUR))


def test_a_warning_comes_once(cache: Path, recwarn: pytest.WarningsRecorder) -> None:
    tuned_file(cache).write_text("")

    tcjax.kernel(BLUR).plan(A)
    tcjax.kernel(BLUR).plan(A)

    assert len(recwarn) == 1


def test_a_broken_file_is_replaced_by_the_next_search(cache: Path) -> None:
    file = tuned_file(cache)
    file.write_text("{")

    tcjax.kernel(BLUR).tune(A)

    assert is_tuned(tcjax.kernel(BLUR))


def test_a_directory_that_cannot_be_written_costs_a_warning_and_nothing_else(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TCJAX_CACHE_DIR", str(tmp_path / "file" / "choices"))

    with pytest.warns(tcjax.CompileWarning, match="cannot be kept") as caught:
        tuned = tcjax.kernel(BLUR).tune(A)
        tcjax.kernel(BLUR).tune(A)

    assert len(caught) == 1
    assert is_tuned(tuned) and not is_tuned(tcjax.kernel(BLUR))
    assert tuned.tuned is not None and tuned.tuned.saved is None


def test_an_empty_variable_keeps_nothing_and_says_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCJAX_CACHE_DIR", "")

    tuned = tcjax.kernel(BLUR).tune(A)

    assert is_tuned(tuned) and not is_tuned(tcjax.kernel(BLUR))
    assert not cache.exists()


def test_without_the_variable_choices_are_in_the_users_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TCJAX_CACHE_DIR")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert memory.directory() == tmp_path / "tcjax"

    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert memory.directory() == tmp_path / ".cache" / "tcjax"


WRITER = """
import json, sys
from pathlib import Path
from tcjax.runtime.tuning import store
from tcjax.runtime.tuning.choices import Choice, Tiles
key, own = json.loads(sys.argv[1]), int(sys.argv[2])
for number in range(100):
    store.remember(key, Choice(tiles=(Tiles("C", "i", own, ("B",) * 50),)), {"number": number})
"""


def test_processes_that_write_one_file_leave_a_whole_one_at_any_time(cache: Path) -> None:
    file = tuned_file(cache)
    key = json.loads(file.read_text())["key"]
    command = [sys.executable, "-c", WRITER, json.dumps(key)]
    writers = [subprocess.Popen([*command, str(own)]) for own in (32, 128)]
    seen: set[int] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(store.from_json(json.loads(file.read_text())["choice"]).tiles[0].rows)

    reader = threading.Thread(target=read)
    reader.start()
    codes = [writer.wait(timeout=120) for writer in writers]
    done.set()
    reader.join()

    assert codes == [0, 0]
    assert seen <= {64, 32, 128} and len(seen) > 1
    assert [found.name for found in cache.iterdir()] == [file.name]


def test_what_a_killed_writer_left_is_removed_by_the_next_search(cache: Path) -> None:
    file = tuned_file(cache)
    left = cache / f".{'0' * 16}.tmp"
    left.write_text("begun")
    os.utime(left, (0, 0))

    store.remember(json.loads(file.read_text())["key"], store.from_json(json.loads(file.read_text())["choice"]), {})

    assert [found.name for found in cache.iterdir()] == [file.name]


def test_importing_tcjax_reads_no_choices() -> None:
    code = "import sys, tcjax; print([name for name in sys.modules if 'tuning' in name])"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)

    assert "store" not in said.stdout and "tune'" not in said.stdout
