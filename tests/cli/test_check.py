"""`tcjax check` reports every mistake of every definition, with the position that an editor needs."""

import json

import pytest

from .commands import MM, WRONG, Shell

PYTHON = '''
import jax.numpy as jnp
import tcjax

print("this file is not run")
SCALE = 2.0


def own(x):
    return x


@tcjax.kernel
def good(A: "float(M,K)"):
    C[m] += SCALE * jnp.exp(A[m, k])
    return C


@tcjax.kernel(accumulate="float32")
def calls(A: "float(M,K)"):
    t = good(A)
    C[m] = own(t[m])
    return C


class Model:
    @tcjax.kernel
    def wrong(A: "float(N)"):
        B[i] = A[i, j]
        return B

    rows = tcjax.kernel("""
        def rows(float(M,N) A) -> (B) {
            B(m) = A(m,n)
        }""")
    mapped = tcjax.kernel("y(i) = gelu(x(i))", fns={"gelu": own})
    sac = tcjax.kernel("{ [i] -> a[i] + zz(b) }")
'''


def test_a_file_without_a_mistake_ends_with_0(shell: Shell) -> None:
    shell.write("mm.tc", MM)

    result = shell("check", "mm.tc")

    assert (result.exit_code, result.stdout, result.stderr) == (0, "1 file: 0 mistakes, 0 warnings\n", "")


def test_every_definition_of_every_file_is_reported(shell: Shell) -> None:
    shell.write(
        "a.tc", f"{MM}def f(float(N) A) -> (B) {{ B(i = A(i) }}\n{WRONG}def g(float(N) A) -> (B) {{ B(i) = Z(i) }}"
    )
    shell.write("b.sac", "float[n] f(float[n] a) { return g(a); }\nfloat[n] h(float[n] a) { return k(a); }")

    result = shell("check", "a.tc", "b.sac")

    assert result.exit_code == 1
    places = [line.strip() for line in result.stdout.splitlines() if "-->" in line]
    assert places == ["--> a.tc:2:32", "--> a.tc:3:44", "--> a.tc:4:35", "--> b.sac:1:33", "--> b.sac:2:33"]
    assert "def f(float(N) A) -> (B) { B(i = A(i) }" in result.stdout
    assert result.stdout.splitlines()[-1] == "2 files: 5 mistakes, 0 warnings"


def test_json_has_what_an_editor_needs(shell: Shell) -> None:
    shell.write("rows.tc", f"# rows\n{WRONG}")

    result = shell("check", "rows.tc", "--json")

    assert result.exit_code == 1
    (finding,) = json.loads(result.stdout)
    assert finding == {
        "file": "rows.tc",
        "line": 2,
        "column": 44,
        "end": 45,
        "severity": "error",
        "code": "TC0703",
        "kind": "index",
        "message": "`n` is not on the left, so `=` would have to reduce over it",
        "help": finding["help"],
    }
    assert "+=!" in finding["help"]


def test_a_warning_is_no_mistake(shell: Shell) -> None:
    shell.write("a.tc", "def f(float(N) A) -> (B) { B(i) += A(i) }\n" * 2)

    result = shell("check", "a.tc", "--json")

    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert [each["severity"] for each in found] == ["warning", "warning"]
    assert "without initialisation" in found[0]["message"] and found[0]["line"] == 1
    assert "defined twice" in found[1]["message"] and found[1]["line"] == 2


def test_a_definition_that_calls_a_broken_one_has_no_mistake_of_its_own(shell: Shell) -> None:
    shell.write("a.tc", "def f(float(N) A) -> (B) { B(i = A(i) }\ndef g(float(N) A) -> (B) { B = f(A) }\n")

    result = shell("check", "a.tc", "--json")

    assert [each["line"] for each in json.loads(result.stdout)] == [1]


def test_a_range_that_nothing_gives_is_found_without_shapes(shell: Shell) -> None:
    shell.write("a.tc", "def f(float(N) A) -> (B) { B(i,j) = A(i) }")

    result = shell("check", "a.tc", "--json")

    assert [each["code"] for each in json.loads(result.stdout)] == ["TC0401"]


SHIFT = "def shift(float(N) A) -> (B) { B(i) = A(i+1) where i in 0:N }\n"


def test_a_statement_that_reads_what_it_writes_is_found_without_shapes(shell: Shell) -> None:
    shell.write(
        "a.tc",
        "def running(float(N) x) -> (float(N) y) { y(0) = x(0)  y(i) = y(i-1) + x(i) where i in 1:N }\n"
        "def flipped(x) -> (y) { y(i) = x(i)  y(i) = y(x.0-1-i) }\n"
        "def halves(x) -> (y) { y(i) = x(i)  y(i) = y(i + x.0/2) where i in 0:x.0/2 }\n",
    )
    shell.write(
        "b.py",
        "import tcjax\n\n\n@tcjax.kernel\ndef running(x):\n    y[i] = x[i]\n    if i > 0:\n"
        "        y[i] = y[i - 1] + x[i]\n    return y\n",
    )

    result = shell("check", "a.tc", "b.py", "--json")

    found = [(f["file"], f["line"], f["code"], f["message"]) for f in json.loads(result.stdout)]
    step = "at i = 2 this writes y[2] and reads y[1], which the same statement writes at i = 1"
    end = "at i = x.0 - 1 this writes y[x.0 - 1] and reads y[0], which the same statement writes at i = 0"
    assert found == [("a.tc", 1, "TC0708", step), ("a.tc", 2, "TC0708", end), ("b.py", 8, "TC0708", step)]


def test_bounds_are_checked_for_numbers(shell: Shell) -> None:
    shell.write("shift.tc", SHIFT + MM)

    symbolic = shell("check", "shift.tc")
    numbers = shell("check", "shift.tc", "--shapes", "A=10")

    assert symbolic.exit_code == 0
    assert numbers.exit_code == 1
    assert "at i = 9 this reads A[10]; A has 10 rows" in numbers.stdout


def test_shapes_reach_definitions_that_have_these_parameters_alone(shell: Shell) -> None:
    shell.write("mm.tc", MM)

    assert shell("check", "mm.tc", "--shapes", "A=4x3", "B=3x5").exit_code == 0
    assert shell("check", "mm.tc", "--shapes", "A=4x3", "--shapes", "B=4x5").exit_code == 1
    assert shell("check", "mm.tc", "--shapes", "A=4x3").exit_code == 0


def test_shapes_show_elements_that_nothing_reads(shell: Shell) -> None:
    shell.write("same.tc", "def same(float(N) x, float(K) w) -> (y) { y(i) +=! x(i+k-1) * w(k) where i in 0:N }")
    shell.write("sum.sac", "{ iv -> a[iv] + b[iv] }")

    same = json.loads(shell("check", "same.tc", "--shapes", "x=5", "w=3", "--json").stdout)
    both = json.loads(shell("check", "sum.sac", "--shapes", "a=5", "b=3", "--json").stdout)

    assert [(each["code"], each["severity"]) for each in same + both] == [("TC1211", "warning")] * 2
    assert "2 of the 3 elements of `w`" in same[0]["message"] and "2 of the 5 elements of `a`" in both[0]["message"]
    (without,) = json.loads(shell("check", "same.tc", "--json").stdout)
    assert "66 of the 67 elements of `w`" in without["message"]


def test_shapes_and_sizes_reach_a_sac_expression_and_sizes_of_annotations(shell: Shell) -> None:
    shell.write("a.sac", "{ [i] -> a[i + 1] | [0] <= [i] < [4] }")
    shell.write("h.tc", "def h(int32(N) bin) -> (float(B) H) { H(bin(i)) +=! 1.0 }")

    assert shell("check", "a.sac", "--shapes", "a=5").exit_code == 0
    assert shell("check", "a.sac", "--shapes", "a=4").exit_code == 1
    assert shell("check", "h.tc", "--shapes", "bin=9", "--size", "B=4").exit_code == 0
    assert "TC0404" in shell("check", "h.tc", "--shapes", "bin=9").stdout


def test_kernels_of_a_python_file_are_checked_without_running_it(shell: Shell) -> None:
    shell.write("model.py", PYTHON)

    result = shell("check", "model.py", "--json")

    assert result.exit_code == 1
    found = [(each["line"], each["column"], each["code"]) for each in json.loads(result.stdout)]
    lines = PYTHON.splitlines()
    assert found == [
        (lines.index("        B[i] = A[i, j]") + 1, 16, "TC0501"),
        (lines.index("            B(m) = A(m,n)") + 1, 24, "TC0703"),
        (len(lines), lines[-1].index("zz") + 1, "TC0205"),
    ]
    assert "this file is not run" not in result.output


def test_a_text_in_a_docstring_is_found_where_it_stands(shell: Shell) -> None:
    shell.write("a.py", 'import tcjax\n\n\n@tcjax.kernel\ndef rows(A):\n    """B(m) = A(m,n)"""\n')

    result = shell("check", "a.py")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[1:5] == [
        " --> a.py:6:19",
        "  |",
        '6 |     """B(m) = A(m,n)"""',
        "  |                   ^",
    ]


def test_a_python_file_that_python_cannot_read_is_a_mistake_in_it(shell: Shell) -> None:
    shell.write("a.py", "def f(:\n")

    result = shell("check", "a.py")

    assert result.exit_code == 1 and "a.py:1:7" in result.stdout


def test_examples_of_the_project_have_no_mistake(shell: Shell, pytestconfig: pytest.Config) -> None:
    files = sorted(map(str, (pytestconfig.rootpath / "examples").rglob("*.py")))

    result = shell("check", *files)

    assert result.exit_code == 0, result.stdout


def test_standard_input_is_a_file_called_stdin(shell: Shell) -> None:
    result = shell("check", "-", input=WRONG)

    assert result.exit_code == 1 and "<stdin>:1:44" in result.stdout


def test_other_files_are_checked_where_one_cannot_be_read(shell: Shell) -> None:
    shell.write("rows.tc", WRONG)

    result = shell("check", "missing.tc", "rows.tc")

    assert result.exit_code == 2
    assert "rows.tc:1:44" in result.stdout and result.stderr == "Error: missing.tc: No such file or directory\n"


def test_what_a_program_has_in_vain_is_a_warning_with_a_code_and_a_comment_silences_it(shell: Shell) -> None:
    unused = "def f(float(N) A, float b) -> (B) { B(i) = A(i) }"
    shell.write("a.tc", f"{unused}\n{unused.replace('def f', 'def g')}  # tcjax: ignore[TC1203]\n")
    shell.write("b.py", 'import tcjax\nk = tcjax.kernel("int g(int x) { return x; }  a + 1")\n')

    result = shell("check", "a.tc", "b.py", "--json")

    assert result.exit_code == 0
    found = [(each["file"], each["line"], each["severity"], each["code"]) for each in json.loads(result.stdout)]
    assert found == [("a.tc", 1, "warning", "TC1203"), ("b.py", 2, "warning", "TC1208")]


def test_nothing_is_called_unused_where_there_is_a_mistake(shell: Shell) -> None:
    shell.write("a.tc", "def f(float(N) A, float(N) B) -> (C) { C(i) = A(i) + X(i) }")

    result = shell("check", "a.tc", "--json")

    assert [each["code"] for each in json.loads(result.stdout)] == ["TC0201"]


def test_exchanged_indices_are_told_without_shapes(shell: Shell) -> None:
    shell.write("a.tc", "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(k,m) * B(k,n) }")

    (finding,) = json.loads(shell("check", "a.tc", "--json").stdout)

    assert (finding["severity"], finding["code"]) == ("warning", "TC1211")
    assert finding["message"].startswith("with sizes such as M = 61, K = 67, N = 71: 426 of the 4757 elements of `B`")
    assert "did you mean `A(m, k)`?" in finding["help"]


@pytest.mark.parametrize(
    "text",
    [
        "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }",
        "def valid(float(N) x, float(K) w) -> (y) { y(i) +=! x(i+k) * w(k) }",
        "def shorter(float(N) a, float(M) b) -> (c) { c(i) = a(i) * b(i) }",
        "def gram(float(M,K) A, float(N,L) B) -> (C) { C(i,j) +=! A(i,k) * B(j,k) }",
        "def fixed(float(N) a, float(M) b) -> (c) { c(i) = a(i) * b(i+200) where i in 0:100 }",
        "def open(A, B) -> (C) { C(m,n) +=! A(k,m) * B(k,n) }",
    ],
)
def test_sizes_that_may_fit_are_not_told_without_shapes(shell: Shell, text: str) -> None:
    shell.write("a.tc", text)

    assert json.loads(shell("check", "a.tc", "--json").stdout) == []


def test_a_watched_file_is_checked_again_when_it_changes(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path = shell.write("a.tc", WRONG)
    waits = iter((lambda: path.write_text(MM), path.unlink))

    def wait(_: float) -> None:
        change = next(waits, None)
        if change is None:
            raise KeyboardInterrupt
        change()

    monkeypatch.setattr("time.sleep", wait)
    result = shell("check", "a.tc", "--watch")

    first, second = result.stdout.index("1 file: 1 mistake"), result.stdout.index("1 file: 0 mistakes, 0 warnings")
    assert first < second
    assert "Error: a.tc: No such file or directory" in result.stderr
    assert result.exit_code == 130


@pytest.mark.parametrize("more", [["--json"], ["-"]])
def test_only_files_are_watched_for_a_person(shell: Shell, more: list[str]) -> None:
    shell.write("a.tc", MM)

    result = shell("check", "a.tc", "--watch", *more, input=MM)

    assert result.exit_code == 2
    assert "leave out --json and -" in result.stderr
