"""`tcjax lsp`, driven by a client like an editor: every feature once, in TC, SaC and Python files."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tcjax.cli.checking import Finding, Numbers, check_text
from tcjax.cli.editing import server
from tcjax.cli.texts import Text

ROOT = Path(__file__).parents[2]
SECONDS = 120

TC = """def mm(float(M,K) A, float(K,N) B) -> (C) {
    C(m,n) += A(m,k) * exq(B(k,n))
}
"""
RIGHT = TC.replace("+=", "+=!").replace("exq", "exp")
FORMATTED = """def mm(float(M,K) A, float(K,N) B) -> (C) {
  C(m, n) +=! A(m, k) * exp(B(k, n))
}
"""
PYTHON = """import tcjax

π = 3.14  # the columns of what follows are not those of its bytes
both = "𝛼", tcjax.kernel("y(i) = x(i) + 1")


@tcjax.kernel
def rows(A: "float(M,N)"):
    B[m] = sum[n](A[m, n])
    return B


@tcjax.kernel
def columns(A):
    \"\"\"
    B(j) +=! A(i,j)
    \"\"\"
"""


class Editor:
    """A client that opens documents one by one."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.found: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: types.PublishDiagnosticsParams) -> None:
            self.found.put_nowait(params)

    async def open(self, name: str, language: str, text: str) -> list[types.Diagnostic]:
        self.uri = f"file:///somewhere/{name}"
        item = types.TextDocumentItem(self.uri, language, 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.diagnostics()

    async def diagnostics(self) -> list[types.Diagnostic]:
        return list((await asyncio.wait_for(self.found.get(), SECONDS)).diagnostics)

    async def edit(self, version: int, *edits: tuple[int, int, int, str]) -> list[types.Diagnostic]:
        """What a keystroke sends: for a line and columns ``[start, end)`` of it, another text."""
        document = types.VersionedTextDocumentIdentifier(version, self.uri)
        changes = [
            types.TextDocumentContentChangePartial(
                range=types.Range(types.Position(line, start), types.Position(line, end)), text=text
            )
            for line, start, end, text in edits
        ]
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))
        return await self.diagnostics()

    async def replace(self, text: str, version: int = 2) -> list[types.Diagnostic]:
        document = types.VersionedTextDocumentIdentifier(version, self.uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        return await self.diagnostics()

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    async def hover(self, line: int, character: int) -> str | None:
        params = types.HoverParams(self.document, types.Position(line, character))
        found = await self.client.text_document_hover_async(params)
        return None if found is None else found.contents.value

    async def definition(self, line: int, character: int) -> types.Range | None:
        params = types.DefinitionParams(self.document, types.Position(line, character))
        found = await self.client.text_document_definition_async(params)
        return None if found is None else found.range

    async def completions(self, line: int) -> dict[str, types.CompletionItem]:
        params = types.CompletionParams(self.document, types.Position(line, 0))
        found = await self.client.text_document_completion_async(params)
        return {item.label: item for item in found.items}

    async def formatted(self) -> str:
        options = types.FormattingOptions(2, True)
        params = types.DocumentFormattingParams(self.document, options)
        (edit,) = await self.client.text_document_formatting_async(params)
        return edit.new_text

    async def fixes(self, line: int) -> dict[str, types.TextEdit]:
        place = types.Range(types.Position(line, 0), types.Position(line, 0))
        params = types.CodeActionParams(self.document, place, types.CodeActionContext([]))
        actions = await self.client.text_document_code_action_async(params)
        return {action.title: action.edit.changes[self.uri][0] for action in actions}


class Client(LanguageClient):
    """Keeps the exit code of its server."""

    code: int | None = None

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        self.code = server.returncode


def session(steps: Callable[[Editor], Awaitable[None]]) -> None:
    """Runs steps against a server of its own, which must end well when it is told to."""

    async def run() -> None:
        client = Client("tests", "0")
        editor = Editor(client)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        await client.start_io(sys.executable, "-W", "error", "-m", "tcjax", "lsp", env=environment)
        capabilities = types.ClientCapabilities()
        await client.initialize_async(types.InitializeParams(capabilities, root_uri="file:///somewhere"))
        client.initialized(types.InitializedParams())
        await steps(editor)
        await client.shutdown_async(None)
        client.exit(None)
        await asyncio.wait_for(client.stop(), SECONDS)
        assert client.code == 0

    asyncio.run(asyncio.wait_for(run(), SECONDS))


def places(found: types.Range) -> tuple[int, int, int]:
    return found.start.line, found.start.character, found.end.character


async def tc(editor: Editor) -> None:
    (wrong,) = await editor.open("a.tc", "tc", TC)
    assert (wrong.code, places(wrong.range)) == ("TC0201", (1, 23, 26))
    assert "help: did you mean `exp`?" in wrong.message
    fix = (await editor.fixes(1))["write `exp`"]
    assert (fix.new_text, places(fix.range)) == ("exp", (1, 23, 26))

    (warned,) = await editor.replace(TC.replace("exq", "exp"))
    assert (warned.code, warned.severity) == ("TC1201", types.DiagnosticSeverity.Warning)
    titles = await editor.fixes(1)
    assert titles["start from the identity at every call: `+=!`"].new_text == "!"
    assert places(titles["start from the identity at every call: `+=!`"].range) == (1, 13, 13)
    assert titles["ignore TC1201 in this line"].new_text == "  # tcjax: ignore[TC1201]"

    assert await editor.replace(RIGHT, 3) == []
    hover = await editor.hover(1, 19)
    assert hover is not None
    assert "**`k`** index, runs over `[0, K)`" in hover
    assert "from `A(m,k)` (dimension 1)" in hover
    assert "```text\nC[m, n] = ∑[k] A[m, k] · exp(B[k, n])\n```" in hover
    assert "| index | range | from |" in hover
    assert "| `n` | `[0, N)` | `B(k,n)` (dimension 1) |" in hover
    assert "`float32[M, N]`" in (await editor.hover(1, 4) or "")
    assert "dimension 1 of `A`, dimension 0 of `B`" in (await editor.hover(0, 15) or "")
    assert await editor.hover(1, 10) is None

    found = await editor.definition(1, 28)
    assert found is not None
    assert places(found) == (0, 32, 33)
    offered = await editor.completions(1)
    assert offered["k"].detail == "index over [0, K)"
    assert offered["logsumexp"].insert_text == "logsumexp["
    assert {"A", "C", "exp", "clamp", "float", "where"} <= offered.keys()
    assert await editor.formatted() == FORMATTED


async def sac(editor: Editor) -> None:
    (wrong,) = await editor.open("a.sac", "sac", "{ [i] -> a[i] + zz(b) }")
    assert wrong.code == "TC0205"
    assert await editor.replace("float[n] f(float[n] a) { return { [i] -> a[i]+1f }; }\n") == []
    assert await editor.hover(0, 9) == "```sac\nfloat[n] f(float[n] a)\n```"
    assert await editor.formatted() == "float[n] f(float[n] a) {\n  return { [i] -> a[i] + 1f };\n}\n"
    assert "exp" in await editor.completions(0)


async def python(editor: Editor) -> None:
    (wrong,) = await editor.open("a.py", "python", PYTHON.replace("+ 1", "+ z(q)"))
    # A mathematical letter outside the basic plane is two UTF-16 units.
    assert (wrong.code, wrong.range.start.line, wrong.range.start.character) == ("TC0703", 3, 43)
    assert await editor.replace(PYTHON) == []
    assert "runs over `[0, N)`" in (await editor.hover(8, 23) or "")
    assert "runs over" in (await editor.hover(3, 29) or "")
    found = await editor.definition(8, 18)
    assert found is not None
    assert places(found) == (7, 9, 10)
    assert "n" in await editor.completions(8)
    assert await editor.completions(1) == {}
    assert "x" in await editor.completions(3)
    wrong, warned = await editor.edit(3, (8, 18, 19, "exq(A"), (8, 29, 30, "))"), (15, 11, 12, ""))
    assert (wrong.code, places(wrong.range)) == ("TC0201", (8, 18, 21))
    assert (warned.code, places(warned.range)) == ("TC1201", (15, 4, 18))
    fix = (await editor.fixes(8))["write `exp`"]
    assert (fix.new_text, places(fix.range)) == ("exp", (8, 18, 21))
    fix = (await editor.fixes(15))["start from the identity at every call: `+=!`"]
    assert (fix.new_text, places(fix.range)) == ("!", (15, 11, 11))
    assert await editor.edit(4, (8, 18, 22, ""), (8, 25, 26, ""), (15, 11, 11, "!")) == []
    assert "**`A`** parameter" in (await editor.hover(15, 13) or "")
    found = await editor.definition(15, 17)
    assert found is not None
    assert places(found) == (15, 6, 7)
    assert (await editor.completions(15))["i"].detail == "index over [0, A.0)"
    spaced = PYTHON.replace("y(i) = x(i) + 1", "y(i)=x(i)+1")
    assert await editor.replace(spaced, 5) == []
    assert await editor.formatted() == PYTHON.replace("A(i,j)", "A(i, j)")
    assert await editor.open("b.py", "python", "x = = 1\n") == []


@pytest.mark.parametrize("steps", [tc, sac, python])
def test_an_editor_gets_what_it_asks_for(steps: Callable[[Editor], Awaitable[None]]) -> None:
    session(steps)


def test_fixes_are_those_of_the_diagnostics_which_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    def check(text: Text, numbers: Numbers) -> list[Finding]:
        checked.append(text.content)
        return check_text(text, numbers)

    monkeypatch.setattr(server, "check_text", check)
    monkeypatch.setattr(server, "_checked", {})
    first, second = Text("a.tc", TC, "tc"), Text("a.tc", RIGHT, "tc")

    (wrong,) = server._findings("file:///a.tc", first)

    assert server._findings("file:///a.tc", Text("a.tc", TC, "tc")) == [wrong]
    assert server._findings("file:///a.tc", second) == []
    assert checked == [TC, RIGHT]
