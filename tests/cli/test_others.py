"""`tcjax explain`, `translate`, `grad`, `bench`, `errors` and `completion`."""

import json

import pytest

import tcjax
from tcjax.diagnostics import Code

from .commands import MM, WRONG, Shell


@pytest.fixture
def mm(shell: Shell) -> Shell:
    """A folder with a product."""
    shell.write("mm.tc", MM)
    return shell


def test_explain_prints_what_the_kernel_explains(mm: Shell) -> None:
    result = mm("explain", "mm.tc", "--shapes", "A=8x4", "B=4x6")

    assert result.exit_code == 0, result.output
    assert "float32[8, 6]" in result.stdout and "k          0:4" in result.stdout
    assert "\n  operation  " in result.stdout and "\ntotal: " in result.stdout


def test_explain_compiles_where_it_is_asked_to(mm: Shell) -> None:
    without = mm("explain", "mm.tc", "--shapes", "A=8x4", "B=4x6")
    with_figures = mm("explain", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--compiled")

    assert with_figures.exit_code == 0, with_figures.output
    *estimates, advice = without.stdout.splitlines()
    assert advice.startswith("gradient: ")
    *same, forward, vjp = with_figures.stdout.splitlines()
    assert same == estimates
    assert forward.startswith("compiled: ") and forward.endswith(" (by XLA)")
    assert vjp.startswith("compiled vjp: ")


def test_explain_writes_a_page(mm: Shell) -> None:
    if not hasattr(tcjax.Explanation, "_repr_html_"):
        pytest.skip("no pictures in this version")

    result = mm("explain", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--html", "mm.html")

    page = (mm.folder / "mm.html").read_text()
    assert (result.exit_code, result.stdout) == (0, "wrote mm.html\n")
    assert page.startswith("<!doctype html>") and "C[m, n]" in page and page.rstrip().endswith("</html>")
    assert mm("explain", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--html", "no/mm.html").exit_code == 2


def test_explain_tells_what_a_device_of_a_mesh_does(mm: Shell) -> None:
    command = ["explain", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--mesh", "data=4", "model=2", "--shard"]

    result = mm(*command, "m=data", "k=model", "--device", "gpu", "--links", "pcie")

    assert result.exit_code == 0, result.output
    *_, head, arrays, computes, gets, time = result.stdout.splitlines()
    assert head == "8 devices (gpu), data=4, model=2; each has"
    assert arrays.endswith("112 B of arguments and results")
    assert "48 operations" in computes and time.startswith("time: ")
    assert "48 B of C by all-reduce among 2 along 'model' (pcie)" in gets
    assert "is not an axis of the mesh" in mm(*command, "m=row").stderr
    assert "nothing says on which mesh" in mm("explain", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--shard", "m=x").stderr
    assert (
        "is not a number of devices" in mm("explain", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--mesh", "data=-1").stderr
    )


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (["A=8x4"], "no shape for `B`; add --shapes B=4x4"),
        (["A=8x4", "B=4x6", "Z=3"], "`mm` has no argument `Z`; its arguments are `A`, `B`"),
        (["A=8y4"], "'8y4' is not a shape; write extents with an x between, A=1024x512"),
        (["A=floatt:8x4"], "'floatt' is not an element type"),
        (["A=8x"], "'8x' is not a shape"),
        (["A=8x99999999999"], "is not a shape"),
        (["A=8x4", "A=8x4"], "`A` is given twice"),
        (["A=8x4", "B=5x6"], "TC0601"),
        (["A=8", "B=4x6"], "TC0502"),
        (["A=int32:8x4", "B=4x6"], "TC0305"),
    ],
)
def test_shapes_that_do_not_fit_are_one_message(mm: Shell, shapes: list[str], said: str) -> None:
    result = mm("explain", "mm.tc", "--shapes", *shapes)

    assert result.exit_code == 2
    assert said in result.stderr and result.stdout == ""


def test_a_translated_program_reads_back_as_the_same_one(mm: Shell) -> None:
    sac = mm("translate", "mm.tc", "--to", "sac").stdout
    mm.write("mm.sac", sac)
    python = mm("translate", "mm.tc", "--to", "python").stdout
    mm.write("mm.py", f"import tcjax\n\n\n{python}")

    assert "sum({ [k] -> A[m, k] * B[k, n] })" in sac
    assert mm("translate", "mm.sac", "--to", "tc").stdout.replace("int", "float").count("+=!") == 1
    assert mm("translate", "mm.py", "--to", "tc").stdout == mm("fmt", "mm.tc").stdout


def test_translate_needs_shapes_where_ranks_are_open(shell: Shell) -> None:
    shell.write("relax.sac", "{ iv -> a[iv] + 1.0 }")

    without = shell("translate", "relax.sac", "--to", "tc")
    matrices = shell("translate", "relax.sac", "--to", "tc", "--shapes", "a=4x4")

    assert without.exit_code == 2 and "TC0505" in without.stderr
    assert matrices.exit_code == 0 and "a(" in matrices.stdout


def test_grad_prints_the_adjoint_as_a_program(mm: Shell) -> None:
    result = mm("grad", "mm.tc", "--wrt", "A")

    assert result.exit_code == 0, result.output
    assert list(tcjax.load(result.stdout)) == ["mm_adjoint"]
    assert "-> (d_A)" in result.stdout
    assert mm("grad", "mm.tc", "--wrt", "Q").exit_code == 2


def test_bench_times_the_program_its_gradient_and_the_same_by_hand(mm: Shell) -> None:
    result = mm("bench", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--against", "A @ B", "--seconds", "0.01", "--json")

    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == ["tcjax", "by hand", "gradient", "gradient by hand"]
    assert all(row["median"] > 0 and row["compile_seconds"] > 0 for row in rows)
    assert rows[1]["difference"] < 1e-5 and rows[3]["difference"] < 1e-5


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("A @", "--against is no Python expression"),
        ("A @ Q", "--against fails: NameError: name 'Q' is not defined"),
        ("A", "--against gives arrays of shape [[8, 4]], the program [[8, 6]]"),
    ],
)
def test_an_expression_that_is_not_the_same_is_refused(mm: Shell, expression: str, said: str) -> None:
    result = mm("bench", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--against", expression, "--seconds", "0.01")

    assert result.exit_code == 2 and said in result.stderr


def test_tune_tells_what_it_tried(mm: Shell) -> None:
    result = mm("tune", "mm.tc", "--shapes", "A=8x4", "B=4x6", "--seconds", "0.2")

    assert result.exit_code == 0, result.output
    assert "mm" in result.stdout


def test_sizes_beyond_memory_are_one_line(mm: Shell) -> None:
    result = mm("bench", "mm.tc", "--shapes", "A=2000000000x2", "B=2x2000000000")

    assert result.exit_code == 2
    assert result.stderr == "Error: arrays of 8e+09 elements are too many to fill with random numbers\n"


def test_errors_shows_every_page_and_lists_them(shell: Shell) -> None:
    listed = shell("errors").stdout.splitlines()

    assert [line.split()[0] for line in listed] == [code.value for code in Code]
    assert shell("errors", "TC0401").stdout.startswith("# TC0401: nothing says how far an index runs")
    assert (
        shell("errors", "401").stdout
        == shell("errors", "0401").stdout
        == shell("errors", "tc0401").stdout
        == shell("errors", "TC0401").stdout
    )


def test_an_unknown_code_gets_near_ones(shell: Shell) -> None:
    result = shell("errors", "TC0409")

    assert result.exit_code == 2
    assert "there is no error 'TC0409'; similar codes are TC0401" in result.stderr


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_command(shell: Shell, name: str) -> None:
    script = shell("completion", name).stdout

    assert f"_TCJAX_COMPLETE={name}_complete" in script and "tcjax" in script


def test_a_mistake_in_a_program_is_the_message_with_its_caret(shell: Shell) -> None:
    shell.write("rows.tc", WRONG)

    for arguments in (["run"], ["grad"], ["translate", "--to", "sac"], ["explain"], ["bench"]):
        command, *others = arguments
        result = shell(command, "rows.tc", *others)
        assert (result.exit_code, result.stdout) == (2, ""), command
        assert "rows.tc:1:44" in result.stderr and "help: " in result.stderr


def test_constants_are_given_by_name(shell: Shell) -> None:
    shell.write("f.tc", "def f(float(N) x) -> (y) { y(i) = s * x(stride*i) }\n")

    assert shell("check", "f.tc").exit_code == 1
    assert shell("check", "f.tc", "--const", "s=2.5", "stride=2").exit_code == 0
    assert "2.5 * x[2 * i]" in shell("translate", "f.tc", "--to", "python", "--const", "s=2.5", "stride=2").output
    assert "2.0i * x(1 * i)" in shell("translate", "f.tc", "--to", "tc", "--const", "s=2i", "stride=1").output
    run = shell("run", "f.tc", "--input", "x=[1,2,3]", "--const", "s=-2", "stride=2")
    assert "[-2. -6.]" in run.output
    assert "is not a number" in shell("check", "f.tc", "--const", "s=a").output
    assert "nothing is called `q`" in shell("check", "f.tc", "--const", "q=1", "s=1", "stride=1").output


def test_constants_of_python_files_are_read(shell: Shell) -> None:
    shell.write(
        "model.py",
        "import tcjax, other\n"
        "EPS = 1e-5\n"
        "@tcjax.kernel(consts={'eps': EPS, 's': 2})\n"
        "def f(x: 'float(N)'):\n"
        "    y[i] = s * x[i] + eps\n"
        "    return y\n"
        "g = tcjax.kernel('h(i) = s * x(i) where i in 0:n', consts={'s': 2, 'n': 4})\n"
        "unknown = tcjax.kernel('h(i) = s * x(i)', consts={'s': other.number})\n"
        "twice = tcjax.kernel('h(i) = s * x(i)', consts={'s': 2, 'i': 3})\n",
    )

    checked = shell("check", "model.py").output

    assert "1 file: 1 mistake" in checked
    assert "`i` is an index of the left side here" in checked
    assert "2 * x(i) + 1e-05" in shell("translate", "model.py", "--def", "f", "--to", "tc").output
    assert "known only when the file runs" in shell("translate", "model.py", "--def", "unknown", "--to", "tc").output


def test_batches_are_checked_formatted_and_explained(shell: Shell) -> None:
    shell.write("mm.tc", "def mm(float(...,M,K) A,float(...,K,N) B)->(C){C(...,m,n) +=! A(...,m,k)*B(...,k,n)}\n")
    shell.write("wrong.tc", "def total(float(...,N) A) -> (s) { s() +=! A(...,i) }\n")
    shell.write(
        "model.py", 'import tcjax\n@tcjax.kernel\ndef f(A: "float(..., N)"):\n    y[..., i] = A[..., i]\n    return y\n'
    )

    assert shell("check", "mm.tc", "model.py").exit_code == 0
    assert "batches do not fit" in shell("check", "mm.tc", "--shapes", "A=2x3x4", "B=3x4x5").output
    assert "nothing reduces the batch" in shell("check", "wrong.tc").output
    assert "C(..., m, n) +=! A(..., m, k) * B(..., k, n)" in shell("fmt", "mm.tc", "--diff").output
    assert "C[b0, b1, m, n]" in shell("explain", "mm.tc", "--shapes", "A=2x1x3x4", "B=5x4x6").output


def test_a_word_finds_the_errors_whose_pages_have_it(shell: Shell) -> None:
    result = shell("errors", "Missing Reduction")

    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["TC0703"]


def test_a_word_that_no_page_has_is_said_in_a_line(shell: Shell) -> None:
    result = shell("errors", "qwertz")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: no error page mentions 'qwertz'; `tcjax errors` lists all\n"
