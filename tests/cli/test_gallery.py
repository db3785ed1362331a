"""`tcjax gallery`: the list, a program, a copy of one."""

from tcjax import gallery

from .commands import Shell


def test_the_list_has_every_program_under_its_group(shell: Shell) -> None:
    result = shell("gallery")

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    for each in gallery.entries():
        (line,) = [line for line in lines if line.split()[:1] == [each.name] and line.startswith("  ")]
        assert line.endswith(each.title)
        assert gallery.GROUPS[each.group] in lines[: lines.index(line)]


def test_a_program_is_shown_as_it_is(shell: Shell) -> None:
    assert shell("gallery", "show", "alibi").stdout == gallery.entry("alibi").source


def test_a_copy_is_written_and_another_file_stays(shell: Shell) -> None:
    (shell.folder / "there").mkdir()

    assert shell("gallery", "copy", "alibi").stdout == "wrote alibi.py; `python alibi.py` checks it\n"
    assert shell("gallery", "copy", "alibi", "there").exit_code == 0
    assert shell("gallery", "copy", "alibi", "mine.py").exit_code == 0
    for copy in ("alibi.py", "there/alibi.py", "mine.py"):
        assert (shell.folder / copy).read_text() == gallery.entry("alibi").source

    (shell.folder / "mine.py").write_text("changed")
    refused = shell("gallery", "copy", "alibi", "mine.py")
    assert (refused.exit_code, refused.stderr) == (2, "Error: mine.py exists; --force replaces it\n")
    assert (shell.folder / "mine.py").read_text() == "changed"
    assert shell("gallery", "copy", "alibi", "mine.py", "--force").exit_code == 0
    assert (shell.folder / "mine.py").read_text() == gallery.entry("alibi").source


def test_mistakes_get_one_line_and_exit_code_2(shell: Shell) -> None:
    unknown = shell("gallery", "show", "alibbi")
    assert unknown.exit_code == 2 and "did you mean `alibi`?" in unknown.stderr
    nowhere = shell("gallery", "copy", "alibi", "no/such/file.py")
    assert (nowhere.exit_code, nowhere.stderr) == (2, "Error: no/such/file.py: No such file or directory\n")
    assert shell("gallery", "show").exit_code == 2
    assert shell("gallery", "copi").exit_code == 2
