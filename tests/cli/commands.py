"""The command in this process, on files in a temporary folder."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import click.testing
import pytest

from tcjax.cli.command import command

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }\n"
WRONG = "def rows(float(M,N) A) -> (B) { B(m) = A(m,n) }\n"

Result = click.testing.Result


class Shell:
    """Runs the command in the folder of the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def __call__(self, *args: str, input: str | bytes | None = None, color: bool = False) -> Result:
        with contextlib.chdir(self.folder):
            runner = click.testing.CliRunner(env={"NO_COLOR": os.environ.get("NO_COLOR")})
            result = runner.invoke(command, list(args), input=input, prog_name="tcjax", color=color)
        assert "Traceback" not in result.output
        return result


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    """A folder, and the command in it."""
    yield Shell(tmp_path)
