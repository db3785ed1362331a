"""`tcjax run` computes with arrays from files and writes arrays to files."""

import sys

import numpy as np
import pytest

from .commands import MM, Shell

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.arange(12, dtype=np.float32).reshape(3, 4)
SCALE = "def scale(float(H,W) image, float factor) -> (out) { out(y,x) = image(y,x) * factor }\n"


@pytest.fixture
def products(shell: Shell) -> Shell:
    """A folder with a product, and arrays in every format."""
    shell.write("mm.tc", MM)
    np.save(shell.folder / "a.npy", A)
    np.savez(shell.folder / "data.npz", weights=B, other=A)
    np.savetxt(shell.folder / "b.csv", B, delimiter=",", fmt="%g")
    return shell


def test_arrays_of_numpy_go_through_a_program(products: Shell) -> None:
    result = products("run", "mm.tc", "--input", "A=a.npy", "B=data.npz:weights", "--out", "results")

    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(products.folder / "results" / "C.npy"), A @ B)
    first, *_, last = result.stdout.splitlines()
    assert first == "C  float32[2, 4]" and last == "wrote results/C.npy"
    assert "compiled in " in result.stdout and "ran in " in result.stdout


@pytest.mark.parametrize("format", ["npz", "csv"])
def test_results_are_written_in_other_formats_and_read_back(products: Shell, format: str) -> None:
    written = products("run", "mm.tc", "--input", "A=a.npy", "B=b.csv", "--out", ".", "--format", format)
    file = "results.npz:C" if format == "npz" else "C.csv"
    again = products("run", "mm.tc", "--input", f"A={file}", "B=[[1],[0],[0],[0]]", "--out", "again")

    assert (written.exit_code, again.exit_code) == (0, 0), written.output + again.output
    np.testing.assert_array_equal(np.load(products.folder / "again" / "C.npy"), (A @ B)[:, :1])


def test_a_picture_is_zero_to_one_where_floats_are_declared_and_can_be_written(shell: Shell) -> None:
    image = pytest.importorskip("PIL.Image")
    levels = np.array([[0, 51], [102, 255]], np.uint8)
    image.fromarray(levels).save(shell.folder / "photo.png")
    shell.write("scale.tc", SCALE)

    result = shell(
        "run", "scale.tc", "--input", "image=photo.png", "factor=0.5", "--out", "out", "--format", "png", "--check"
    )

    assert result.exit_code == 0, result.output
    with image.open(shell.folder / "out" / "out.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture), np.floor(levels / 255 * 0.5 * 255 + 0.5))
    assert "out agrees with the interpreter: largest difference 0" in result.stdout


def test_pictures_without_pillow_are_refused_with_the_name_of_the_extra(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.write("scale.tc", SCALE)
    shell.write("photo.png", b"")
    monkeypatch.setitem(sys.modules, "PIL", None)

    result = shell("run", "scale.tc", "--input", "image=photo.png", "factor=1")

    assert (result.exit_code, result.stderr) == (2, "Error: pictures need Pillow: pip install 'tcjax[png]'\n")


def test_values_are_shown_where_nothing_is_written_and_a_program_may_come_from_standard_input(shell: Shell) -> None:
    result = shell("run", "-", "--input", "A=[1, 2, 3]", input="B(i) = 2 * A(2 - i) where i in 0:3\n")

    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[:2] == ["B  int32[3]", "[6 4 2]"]


def test_sizes_initial_values_and_definitions_are_chosen_by_name(shell: Shell) -> None:
    shell.write(
        "two.tc",
        "def h(int32(N) bin) -> (float(B) H) { H(bin(i)) +=! 1.0 }\n"
        "def acc(float(N) A) -> (float(N) S) { S(i) += A(i) }\n",
    )

    histogram = shell("run", "two.tc", "--def", "h", "--input", "bin=[0,2,2]", "--size", "B=4")
    sums = shell("run", "two.tc", "--def", "acc", "--input", "A=[1,2]", "S=[10,20]")

    assert "[1. 0. 2. 0.]" in histogram.stdout
    assert "[11. 22.]" in sums.stdout


def test_the_definition_that_no_other_calls_is_the_one_that_runs(shell: Shell) -> None:
    shell.write(
        "net.tc",
        "def twice(float(N) x) -> (y) { y(i) = 2.0 * x(i) }\n"
        "def net(float(N) x) -> (z) { y = twice(x) z(i) = y(i) + 1.0 }\n",
    )

    assert "[3. 5.]" in shell("run", "net.tc", "--input", "x=[1,2]").stdout


def test_a_kernel_of_a_python_file_runs_without_the_file(shell: Shell) -> None:
    shell.write(
        "model.py",
        "import tcjax\n\nraise SystemExit('this file is not run')\nSCALE = 3.0\n\n\n@tcjax.kernel\n"
        'def inner(A: "float(N)"):\n    B[i] = SCALE * A[i]\n    return B\n\n\n@tcjax.kernel\n'
        'def outer(A: "float(N)"):\n    t = inner(A)\n    C[i] = t[i] + 1\n    return C\n',
    )

    result = shell("run", "model.py", "--def", "outer", "--input", "A=[1,2]", "--check")

    assert result.exit_code == 0, result.output
    assert "[4. 7.]" in result.stdout


def test_x64_computes_doubles_in_64_bits(shell: Shell) -> None:
    shell.write("third.tc", "def third(double(N) A) -> (B) { B(i) = A(i) / 3.0 }\n")

    result = shell("run", "third.tc", "--input", "A=[1]", "--x64", "--out", ".", "--check")

    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(shell.folder / "B.npy"), np.array([1 / 3]))


def test_cast_converts_what_would_otherwise_be_a_wrong_type(products: Shell) -> None:
    np.save(products.folder / "ints.npy", A.astype(np.int64))

    refused = products("run", "mm.tc", "--input", "A=ints.npy", "B=b.csv")
    cast = products("run", "mm.tc", "--input", "A=ints.npy", "B=b.csv", "--cast", "--out", ".")

    assert refused.exit_code == 2 and "TC0305" in refused.stderr
    assert cast.exit_code == 0
    np.testing.assert_array_equal(np.load(products.folder / "C.npy"), A @ B)


def test_a_result_that_is_not_the_interpreters_ends_with_1(products: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcjax.Kernel.interpret", lambda self, **given: A @ B + 1)

    result = products("run", "mm.tc", "--input", "A=a.npy", "B=b.csv", "--check")

    assert result.exit_code == 1
    assert result.stderr == "Error: `C` differs from the interpreter by 1: this is a mistake in tcjax\n"


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("A=missing.npy", "missing.npy: No such file or directory"),
        ("A=objects.npy", "objects.npy: holds Python objects"),
        ("A=broken.npy", "broken.npy: is damaged, or is not a NumPy file"),
        ("A=data.npz:nope", "data.npz: no array `nope`; its arrays are weights, other"),
        ("A=data.npz", "data.npz: no array `A`"),
        ("A=words.csv", "words.csv:2: 'two' is not a number"),
        ("A=ragged.csv", "ragged.csv:2: 1 numbers, where line 1 has 2"),
        ("A=bytes.csv", "bytes.csv: not UTF-8 text"),
        ("A=broken.png", "broken.png: cannot be read as a picture"),
        ("A=what.txt", "an array is a .npy, .npz, .csv or .png file, a number, or a list"),
        ("A=null", "an array is a file, a number, or a list of numbers"),
        ("A=.", "an array is a .npy"),
        ("A", "'A' is not NAME=VALUE"),
        ("A=[[1,2],[3]]", "is not an array of numbers"),
        ('A=["x"]', "is not an array of numbers"),
    ],
)
def test_an_input_that_cannot_be_read_is_one_line(products: Shell, setting: str, said: str) -> None:
    np.save(products.folder / "objects.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    products.write("broken.npy", b"\x93NUMPY\x01\x00garbage")
    products.write("broken.png", b"\x89PNG garbage")
    products.write("words.csv", "1,2\n1,two\n")
    products.write("ragged.csv", "1,2\n1\n")
    products.write("bytes.csv", b"\xff\xfe\x00")

    result = products("run", "mm.tc", "--input", setting, "B=b.csv")

    assert result.exit_code == 2
    assert said in result.stderr and result.stdout == ""


def test_results_that_a_format_cannot_hold_and_folders_that_cannot_be_written_are_one_line(products: Shell) -> None:
    products.write("file", "")
    products.write("cube.tc", "def cube(float(N) A) -> (B) { B(i,j,k) = A(i) * A(j) * A(k) }")

    folder = products("run", "mm.tc", "--input", "A=a.npy", "B=b.csv", "--out", "file")
    table = products("run", "cube.tc", "--input", "A=[1,2]", "--out", "out", "--format", "csv")
    picture = products("run", "cube.tc", "--input", "A=[1,2]", "--out", "out", "--format", "png")

    assert [each.exit_code for each in (folder, table, picture)] == [2, 2, 2]
    assert "--out file: this is a file" in folder.stderr and len(folder.stderr.splitlines()) == 1
    assert "CSV holds vectors and matrices of real numbers" in table.stderr
    assert "a picture has the shape (H, W)" in picture.stderr
