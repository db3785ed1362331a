"""Only regular files are read, and they are replaced atomically."""

import os
import stat
from pathlib import Path

import pytest

from tcjax import files


@pytest.mark.parametrize("kind", ["folder", "pipe", "zero", "null", "loop", "nothing", "long"])
def test_only_a_regular_file_is_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "zero" | "null":
            path.symlink_to(f"/dev/{kind}")
        case "loop":
            path.symlink_to(path)
        case "long":
            path = tmp_path / ("x" * 300)

    with pytest.raises(OSError):
        files.read(path, 100)


def test_a_file_is_read_through_a_link_and_up_to_a_length(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")

    assert files.read(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError):
        files.read(tmp_path / "file", 4)


def test_a_replaced_file_keeps_its_permissions_and_a_new_one_has_the_usual_ones(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("old")
    old.chmod(0o750)
    (tmp_path / "usual").write_text("")

    for name in ("old", "new"):
        with files.replacing(tmp_path / name, follow=True) as file:
            file.write(b"written")

    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("old", "new", "usual")}
    assert modes["old"] == 0o750 and modes["new"] == modes["usual"]
    assert old.read_text() == (tmp_path / "new").read_text() == "written"


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")

    with pytest.raises(KeyboardInterrupt), files.replacing(tmp_path / "file", follow=True) as file:
        file.write(b"half")
        raise KeyboardInterrupt

    assert (tmp_path / "file").read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_link_is_followed_or_replaced_as_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")

    with files.replacing(tmp_path / "link", follow=True) as file:
        file.write(b"through")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "through"

    with files.replacing(tmp_path / "link", follow=False) as file:
        file.write(b"instead")
    assert not (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "through"
    assert (tmp_path / "link").read_text() == "instead"


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str, follow: bool) -> None:
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)

    with pytest.raises(OSError), files.replacing(path, follow=follow):
        pass

    assert [found.name for found in tmp_path.iterdir()] == [kind] and not path.is_file()
    with pytest.raises(OSError), files.replacing(Path("/dev/null"), follow=True):
        pass


def test_temporary_files_of_killed_writers_go_and_nothing_else_does(tmp_path: Path) -> None:
    long_ago = {f".{'a' * 16}.tmp", ".notes.tmp", f".{'b' * 16}.json"}
    for name in (*long_ago, f".{'c' * 16}.tmp"):
        (tmp_path / name).write_text("begun")
    for name in long_ago:
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / f".{'d' * 16}.tmp").symlink_to("nowhere")

    files.remove_abandoned(tmp_path, 60)
    files.remove_abandoned(tmp_path / "nothing", 60)

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".notes.tmp", f".{'b' * 16}.json", f".{'c' * 16}.tmp", f".{'d' * 16}.tmp"}
