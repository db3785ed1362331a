"""Every subcommand on a table of bad files: exit code 0, 1 or 2, one line, no waiting, and nothing overwritten."""

import os
import random
import struct
import zipfile
import zlib
from collections.abc import Iterator

import numpy as np
import pytest

from tests.work import at_most_seconds

from .commands import MM, Result, Shell

ID = "def f(float(N) A) -> (B) { B(i) = A(i) }\n"
CHANCE = random.Random(0)
SHAPES = ["--shapes", "A=2x3", "B=3x4"]
COMMANDS: list[list[str]] = [
    ["check"],
    ["check", "--json"],
    ["fmt"],
    ["fmt", "--check"],
    ["fmt", "--diff"],
    ["fmt", "--write"],
    ["translate", "--to", "sac"],
    ["explain", *SHAPES],
    ["run", "--input", "A=[[1.0]]", "B=[[1.0]]"],
    ["grad"],
    ["bench", "--seconds", "0.01", *SHAPES],
    ["tune", "--seconds", "0.1", *SHAPES],
]
TEXTS: dict[str, bytes] = {
    "garbage.tc": CHANCE.randbytes(3000),
    "garbage.sac": CHANCE.randbytes(3000),
    "garbage.py": CHANCE.randbytes(3000),
    "ascii.tc": bytes(CHANCE.randrange(32, 127) for _ in range(3000)),
    "latin.tc": b"# \xe9",
    "utf16.tc": MM.encode("utf-16"),
    "utf16.py": "import tcjax".encode("utf-16"),
    "nul.tc": b"\0" * 100,
    "nul.py": b"import tcjax\0",
    "line.tc": b"a" * 200_000,
    "blank.tc": b" \n" * 50_000,
    "brackets.tc": b"B(i) = " + b"(" * 20_000,
    "brackets.sac": b"[" * 10_000,
    "brackets.py": b"x = " + b"(" * 10_000,
    "signs.py": b"x = " + b"-" * 100_000 + b"1",
    "digits.tc": b"B(i) = A(i) where i in 0:" + b"9" * 5000,
    "coding.py": b"# -*- coding: nope -*-\nx = 1",
    "empty.tc": b"",
    "new\nline.tc": b"B(",
    "bell\a.tc": b"\xff",
    "long.tc": b"#" * (17 << 20),
}
OTHERS = [
    "folder",
    "folder.tc",
    "pipe",
    "loop.tc",
    "dangling.tc",
    "zero.tc",
    "/dev/zero",
    "/dev/null",
    "mm.tc/",
    "",
    "x" * 300,
]


def npy(shape: str = "(4,)", descr: str = "'<f4'", data: bytes = b"\0" * 16, version: int = 1) -> bytes:
    """A file in NumPy's format with the given header."""
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(head)) + head + data


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")
    )


ARRAYS: dict[str, bytes] = {
    "empty.npy": b"",
    "magic.npy": b"\x93NUMPY",
    "short.npy": npy()[:-5],
    "shorter.npy": npy()[:30],
    "huge.npy": npy("(100000000000,)"),
    "overflow.npy": npy("(4294967296, 4294967296)"),
    "long.npy": npy("(99999999999999999999999,)"),
    "negative.npy": npy("(-1,)"),
    "number.npy": npy("4"),
    "objects.npy": npy(descr="'|O'", data=b"\x80\x04K\x01."),
    "texts.npy": npy(descr="'<U4'"),
    "dates.npy": npy(descr="'<M8[s]'", data=b"\0" * 32),
    "records.npy": npy(descr="[('a', '<f4')]"),
    "code.npy": npy(descr="__import__('os').mkdir('ran')"),
    "deep.npy": npy(descr="[" * 90 + "'<f4'" + "]" * 90),
    "version.npy": npy(version=9),
    "dimensions.npy": npy(f"({'1, ' * 70})"),
    "head.npy": b"\x93NUMPY\2\0\xff\xff\xff\x7f" + b"{" * 60_000,
    "pickle.npy": b"\x80\x04K\x01.",
    "zip.npy": b"PK\3\4" + b"\0" * 50,
    "text.npy": b"hello",
    "empty.npz": b"",
    "array.npz": npy(),
    "empty.png": b"",
    "other.png": b"\xff\xd8\xff\xe0" + b"\0" * 100,
    "none.png": png(0, 0),
    "large.png": png(60_000, 60_000),
    "empty.csv": b"",
    "ragged.csv": b"1,2\n3\n",
    "infinite.csv": b"1e999\n",
    "digits.csv": b"9" * 5000,
    "commas.csv": b",,,\n",
    "nul.csv": b"\0",
    "utf16.csv": "1,2".encode("utf-16"),
    "names.csv": b"a,b\n1,2\n",
}
NO_FILES = ["folder", "pipe.npy", "pipe.npz", "pipe.csv", "pipe.png", "zero.npy", "zero.csv", "zero.png", "loop.npy"]
VALUES = ["[1", "[" * 100_000, "[" * 300 + "]" * 300, "9" * 5000, "true", "{}", "[[1],[2,3]]", "[null]", ":", ".npz:"]
DIRECTORIES = ["id.tc", "pipe", "/dev/null", "/dev/null/x", "loop.tc", "x" * 300, "id.tc/x", "", "/proc/x"]


@pytest.fixture(autouse=True)
def within_seconds() -> Iterator[None]:
    """Fails if a command waits for a file."""
    with at_most_seconds(120):
        yield


@pytest.fixture
def odd(shell: Shell) -> Shell:
    """A folder with everything that is not a regular file."""
    shell.write("mm.tc", MM)
    shell.write("id.tc", ID)
    (shell.folder / "folder").mkdir()
    (shell.folder / "folder.tc").mkdir()
    for name in ("pipe", "pipe.npy", "pipe.npz", "pipe.csv", "pipe.png"):
        os.mkfifo(shell.folder / name)
    for name in ("loop.tc", "loop.npy"):
        (shell.folder / name).symlink_to(name)
    (shell.folder / "dangling.tc").symlink_to("nowhere")
    for name in ("zero.tc", "zero.npy", "zero.csv", "zero.png"):
        (shell.folder / name).symlink_to("/dev/zero")
    return shell


def check(result: Result, what: object) -> None:
    """An exit code from the command's page, and one line, or a mistake with its help."""
    assert result.exit_code in (0, 1, 2), (what, result.output, result.exception)
    if result.exit_code == 2:
        lines = result.stderr.splitlines()
        errors = [line for line in lines if not line.startswith("warning: ")]
        assert len(errors) == 1 or "help: " in result.output, (what, result.stderr)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_survives_every_text(odd: Shell, command: list[str]) -> None:
    for name, content in TEXTS.items():
        odd.write(name, content)
        check(odd(command[0], name, *command[1:]), name)
        assert (odd.folder / name).read_bytes() == content or (command[-1] == "--write" and name == "blank.tc")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_waits_for_nothing_that_is_no_file(odd: Shell, command: list[str]) -> None:
    for name in OTHERS:
        result = odd(command[0], name, *command[1:])
        check(result, name)
        assert result.exit_code == 2, name


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_survives_every_standard_input(odd: Shell, command: list[str]) -> None:
    for given in (b"", b"\xff", b"\0", MM.encode("utf-16"), b"#" * (17 << 20)):
        check(odd(command[0], "-", *command[1:], input=given), given[:10])


def test_a_file_that_nobody_may_read_is_one_line(odd: Shell) -> None:
    odd.write("private.tc", MM).chmod(0)
    if os.access(odd.folder / "private.tc", os.R_OK):
        pytest.skip("this user may read everything")

    for command in COMMANDS:
        assert "Permission denied" in odd(command[0], "private.tc", *command[1:]).stderr


@pytest.mark.parametrize("name", [*ARRAYS, *NO_FILES, *VALUES], ids=lambda name: name[:20])
def test_an_input_that_is_no_array_is_one_line(odd: Shell, name: str) -> None:
    for file, content in ARRAYS.items():
        odd.write(file, content)

    result = odd("run", "id.tc", "--input", f"A={name}")

    check(result, name)
    assert result.exit_code == 2 or name == "infinite.csv"
    assert not (odd.folder / "ran").exists()


@pytest.mark.parametrize("member", ["huge", "objects", "text", "cut", "changed", "bomb"])
def test_an_archive_that_is_damaged_is_one_line(odd: Shell, member: str) -> None:
    contents = {"huge": npy("(1000000000000,)"), "objects": ARRAYS["objects.npy"], "text": b"hello"}
    contents["bomb"] = npy("(2500000000,)", data=b"\0" * 5_000_000)
    with zipfile.ZipFile(odd.folder / "data.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("A.npy", contents.get(member, npy()))
    whole = (odd.folder / "data.npz").read_bytes()
    if member == "cut":
        odd.write("data.npz", whole[:-10])
    elif member == "changed":
        odd.write("data.npz", whole[:60] + b"\xff\xff" + whole[62:])

    result = odd("run", "id.tc", "--input", "A=data.npz")

    check(result, member)
    assert result.exit_code == 2


def test_arrays_in_another_byte_order_are_numbers(odd: Shell) -> None:
    np.save(odd.folder / "swapped.npy", np.array([1, 2, 3], ">f4"))

    result = odd("run", "id.tc", "--input", "A=swapped.npy")

    assert "[1. 2. 3.]" in result.stdout, result.output


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda name: name[:20])
def test_results_go_nowhere_but_into_a_directory(odd: Shell, directory: str) -> None:
    result = odd("run", "id.tc", "--input", "A=[1, 2]", "--out", directory)

    check(result, directory)
    assert (odd.folder / "id.tc").read_text() == ID


@pytest.mark.parametrize(("format", "name"), [("npy", "B.npy"), ("npz", "results.npz"), ("csv", "B.csv")])
def test_a_planted_link_does_not_lead_results_elsewhere(odd: Shell, format: str, name: str) -> None:
    odd.write("precious", "mine")
    (odd.folder / "out").mkdir()
    (odd.folder / "out" / name).symlink_to(odd.folder / "precious")
    run = ["run", "id.tc", "--input", "A=[1, 2]", "--out", "out", "--format", format]

    assert odd(*run).exit_code == 0

    assert (odd.folder / "precious").read_text() == "mine"
    assert (odd.folder / "out" / name).is_file() and not (odd.folder / "out" / name).is_symlink()
    (odd.folder / "out" / name).unlink()
    os.mkfifo(odd.folder / "out" / name)
    check(odd(*run), "pipe")


def test_formatting_writes_through_a_link_beside_nothing_that_was_planted(odd: Shell) -> None:
    odd.write("precious", "mine")
    odd.write("messy.tc", "def f(float(N) A) -> (B) { B(i)=A(i) }").chmod(0o640)
    (odd.folder / "link.tc").symlink_to("messy.tc")
    # What the command once called its temporary file.
    (odd.folder / ".messy.tc.tcjax").symlink_to("precious")

    assert odd("fmt", "--write", "link.tc").exit_code == 0

    assert (odd.folder / "precious").read_text() == "mine"
    assert (odd.folder / "link.tc").is_symlink() and "B(i) = A(i)" in (odd.folder / "messy.tc").read_text()
    assert (odd.folder / "messy.tc").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("page", ["folder", "pipe", "loop.tc", "/dev/null", "nowhere/x.html", "x" * 300, ""])
def test_a_page_is_written_to_a_file_or_not_at_all(odd: Shell, page: str) -> None:
    result = odd("explain", "id.tc", "--shapes", "A=4", "--html", page)

    check(result, page)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "id.tc", "--size", "B=" + "9" * 5000],
        ["run", "id.tc", "--input", "A=1", "--memory-limit", "9" * 5000 + "GiB"],
        ["explain", "id.tc", "--shapes", "A=" + "9" * 5000],
        ["explain", "id.tc", "--shapes", "A=" + "x".join(["2"] * 70)],
        ["explain", "mm.tc", "--shapes", "A=2147483647x2147483647", "B=2147483647x2147483647"],
        ["check", "id.tc", "--shapes", "A=" + "9" * 4301],
        ["errors", "9" * 5000],
        ["errors", "\udcff"],
        ["bench", "id.tc", "--shapes", "A=2", "--against", "("],
        ["bench", "id.tc", "--shapes", "A=2", "--against", "exit(3)"],
        ["bench", "id.tc", "--shapes", "A=2", "--against", "9" * 5000],
        ["check", "bad\udcff.tc"],
        ["run", "id.tc", "--def", "\udcff"],
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-1][:12]!r}",
)
def test_odd_options_are_one_line(odd: Shell, arguments: list[str]) -> None:
    result = odd(*arguments)

    check(result, arguments)
    assert result.exit_code == 2
