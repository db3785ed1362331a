"""The Language Server Protocol, by pygls: diagnostics, fixes, hover, definitions, completion and formatting."""

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from ... import __version__
from ...diagnostics import CompileError
from ..checking import Finding, Numbers, check_text
from ..failures import Failure
from ..formatting import formatted
from ..texts import SUFFIXES, Notation, Text
from .fixes import Fix, fixes
from .hover import hover
from .names import completions, definition
from .words import word_at

_LANGUAGES: Final[dict[str, Notation]] = {"tc": "tc", "sac": "sac", "python": "python"}
_KINDS: Final = {
    "function": types.CompletionItemKind.Function,
    "reduction": types.CompletionItemKind.Operator,
    "type": types.CompletionItemKind.TypeParameter,
    "keyword": types.CompletionItemKind.Keyword,
    "tensor": types.CompletionItemKind.Variable,
    "index": types.CompletionItemKind.Variable,
    "size": types.CompletionItemKind.Constant,
}

server: Final = LanguageServer("tcjax", __version__)

# The last checked text of each open document, and its findings.
_checked: Final[dict[str, tuple[Text, list[Finding]]]] = {}


def _text(document: TextDocument) -> Text | None:
    """A document as the commands read it; None for other languages, and for Python without kernels."""
    path = Path(unquote(urlparse(document.uri).path))
    notation = _LANGUAGES.get(document.language_id or "") or SUFFIXES.get(path.suffix.lower())
    if notation is None or (notation == "python" and "tcjax" not in document.source):
        return None
    return Text(path.name or document.uri, document.source, notation)


def _open(uri: str) -> tuple[TextDocument, Text | None]:
    document = server.workspace.get_text_document(uri)
    return document, _text(document)


def _range(document: TextDocument, line: int, start: int, end: int) -> types.Range:
    """Columns ``[start, end)`` of a line, counted from 1, as the client counts them."""
    own = types.Range(types.Position(line - 1, start - 1), types.Position(line - 1, end - 1))
    return document.position_codec.range_to_client_units(document.lines, own)


def _place(document: TextDocument, position: types.Position) -> tuple[int, int]:
    """Line and column, counted from 1."""
    own = document.position_codec.position_from_client_units(document.lines, position)
    return own.line + 1, own.character + 1


def _findings(uri: str, text: Text) -> list[Finding]:
    """The findings in a text; the last findings of a document are kept for later requests."""
    last = _checked.get(uri)
    if last is not None and last[0] == text:
        return last[1]
    try:
        found = check_text(text, Numbers())
    except Failure:
        # Python itself cannot read the file: its own tools say why.
        found = []
    _checked[uri] = (text, found)
    return found


def _diagnostic(document: TextDocument, finding: Finding) -> types.Diagnostic:
    error, span = finding.error, finding.span
    place = _range(document, span.line, span.column, span.end) if span is not None else _range(document, 1, 1, 1)
    severity = types.DiagnosticSeverity.Error if finding.is_error else types.DiagnosticSeverity.Warning
    return types.Diagnostic(place, f"{error.message}\nhelp: {error.help}", severity, error.code, source="tcjax")


def _publish(uri: str) -> None:
    document, text = _open(uri)
    found = [] if text is None else [_diagnostic(document, each) for each in _findings(uri, text)]
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, document.version))


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def _opened(params: types.DidOpenTextDocumentParams) -> None:
    _publish(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def _changed(params: types.DidChangeTextDocumentParams) -> None:
    _publish(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def _closed(params: types.DidCloseTextDocumentParams) -> None:
    _checked.pop(params.text_document.uri, None)
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))


@server.feature(types.TEXT_DOCUMENT_HOVER)
def _hover(params: types.HoverParams) -> types.Hover | None:
    document, text = _open(params.text_document.uri)
    if text is None:
        return None
    line, column = _place(document, params.position)
    said, word = hover(text, line, column), word_at(text, line, column)
    if said is None or word is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, said)
    return types.Hover(content, _range(document, line, *word[1:]))


@server.feature(types.TEXT_DOCUMENT_DEFINITION)
def _definition(params: types.DefinitionParams) -> types.Location | None:
    document, text = _open(params.text_document.uri)
    span = None if text is None else definition(text, *_place(document, params.position))
    return None if span is None else types.Location(document.uri, _range(document, span.line, span.column, span.end))


@server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["(", "[", ",", " "]))
def _completion(params: types.CompletionParams) -> types.CompletionList:
    document, text = _open(params.text_document.uri)
    found = [] if text is None else completions(text, _place(document, params.position)[0])
    items = [
        types.CompletionItem(
            each.name,
            kind=_KINDS[each.kind],
            detail=each.detail,
            sort_text=f"{number:04}",
            insert_text=f"{each.name}[" if each.kind == "reduction" else each.name,
        )
        for number, each in enumerate(found)
    ]
    return types.CompletionList(is_incomplete=False, items=items)


@server.feature(types.TEXT_DOCUMENT_FORMATTING)
def _formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    document, text = _open(params.text_document.uri)
    if text is None:
        return None
    try:
        result = formatted(text)
    except (CompileError, Failure):
        # Errors are reported as diagnostics.
        return None
    if result == text.content:
        return []
    whole = types.Range(types.Position(0, 0), types.Position(len(document.lines), 0))
    return [types.TextEdit(whole, result)]


@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
)
def _actions(params: types.CodeActionParams) -> list[types.CodeAction]:
    document, text = _open(params.text_document.uri)
    found: list[types.CodeAction] = []
    for finding in [] if text is None else _findings(document.uri, text):
        diagnostic = _diagnostic(document, finding)
        lines = range(params.range.start.line, params.range.end.line + 1)
        if text is not None and diagnostic.range.start.line in lines:
            found += [_action(document, diagnostic, fix) for fix in fixes(text, finding)]
    return found


def _action(document: TextDocument, diagnostic: types.Diagnostic, fix: Fix) -> types.CodeAction:
    edit = types.TextEdit(_range(document, fix.line, fix.start, fix.end), fix.text)
    return types.CodeAction(
        fix.title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        edit=types.WorkspaceEdit(changes={document.uri: [edit]}),
    )
