"""Pages whose source lies outside of docs/: explanations of errors, examples, golden pages, CONTRIBUTING.

MkDocs calls `on_files` and `on_page_markdown`. A source has one place on the site (`_uri_of`), and a link that leads to
it in a checkout leads there on the site too.
"""

import ast
import os
import posixpath
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
EXPLANATIONS = "tcjax/diagnostics/explanations"
# Files and folders outside of docs/, and where they are on the site.
FILES = {"CONTRIBUTING.md": "contributing.md", "README.md": "index.md"}
PROGRAMS = "tcjax/gallery/programs"
FOLDERS = {
    PROGRAMS: "gallery",
    EXPLANATIONS: "errors",
    "tests/golden/schedules": "golden/schedules",
    "examples": "examples",
}
INTRODUCTIONS = {
    "examples": "# Programs\n\nThe programs of `make demo`, `make methods` and `make layers`, and those that run in "
    "[several processes](../sharding.md#several-processes), with their sources.",
    "golden/schedules": "# Stages by example\n\nThe worked examples of TVM's InferBound, and more: the test suite "
    "compares these pages with what the compiler does. [Schedules](../../schedules.md) explains the words.",
}
# Code is matched first and left alone; the label of a link may contain some.
LINK = re.compile(r"```.*?^```|`(?:[^`\n]|\n(?!\n))*`|(\[[^]]*\]\()([^)#\s]+)((?:#[^)]*)?\))", re.DOTALL | re.MULTILINE)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The files with the pages from outside; the folders of `nav` are replaced by their pages."""
    pages = _pages()
    for uri, source in pages.items():
        files.append(File.generated(config, uri, content=_content(source)))
    for path in (ROOT / "examples").rglob("*.ipynb"):
        # Not a page: the browser gets it as it is.
        files.append(File.generated(config, _uri_of(path), abs_src_path=str(path)))
    for folder, introduction in INTRODUCTIONS.items():
        inside = {uri: source for uri, source in pages.items() if uri.startswith(f"{folder}/")}
        rows = [f"* [{_title(source)}]({posixpath.relpath(uri, folder)})" for uri, source in sorted(inside.items())]
        files.append(File.generated(config, f"{folder}/index.md", content="\n".join([introduction, "", *rows, ""])))
    config.nav = expanded(config.nav, _contents)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text with every link that leaves docs/ turned to the page on the site."""
    here = page.file.src_uri
    source = _pages().get(here, ROOT / "docs" / here)

    def turned(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        if target is None or "://" in target:
            return match[0]
        uri = _uri_of(Path(os.path.normpath(source.parent / target)))
        return f"{before}{posixpath.relpath(uri, posixpath.dirname(here))}{after}"

    return LINK.sub(turned, markdown)


@cache
def _pages() -> dict[str, Path]:
    """The pages from outside of docs/: the place on the site, and the source."""
    found = [*(ROOT / EXPLANATIONS).glob("*.md"), *(ROOT / "tests/golden/schedules").glob("*.md")]
    examples = [path for path in (ROOT / "examples").rglob("*.py") if path.name != "__init__.py"]
    return {_uri_of(source): source for source in sorted([ROOT / "CONTRIBUTING.md", *found, *examples])}


def _uri_of(source: Path) -> str:
    """Where a file or folder of the repository is on the site."""
    path = source.relative_to(ROOT).as_posix()
    if path in FILES:
        return FILES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if source.suffix == ".py" and path.startswith(f"{PROGRAMS}/"):
        # docs/hooks/programs.py makes these pages, without the folders of the groups.
        return f"gallery/{source.stem}.md"
    for folder, uri in FOLDERS.items():
        if path == folder:
            return f"{uri}/index.md"
        if path.startswith(f"{folder}/"):
            return uri + re.sub(r"\.py$", ".md", path.removeprefix(folder))
    # Not on the site: MkDocs says so.
    return posixpath.relpath(path, "docs")


def _content(source: Path) -> str:
    """A Markdown page as it is, a program below its docstring."""
    text = source.read_text(encoding="utf-8")
    if source.suffix != ".py":
        return text
    said = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[2].strip()
    # A program that is not just run says how.
    command = "" if "    python " in said else f"```sh\npython {source.relative_to(ROOT).as_posix()}\n```\n\n"
    return f"# {_title(source)}\n\n{said}\n\n{command}```python\n{text}```\n"


def _title(source: Path) -> str:
    """The first line of a page, or of a program's docstring."""
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".py":
        return (ast.get_docstring(ast.parse(text)) or source.stem).splitlines()[0].rstrip(".")
    return text.splitlines()[0].removeprefix("# ")


def expanded(nav: Any, contents: Callable[[str], list[Any] | None]) -> Any:
    """`nav` with what `contents` says in the place of an entry, where that is anything."""
    match nav:
        case list():
            return [expanded(entry, contents) for entry in nav]
        case dict():
            return {title: expanded(entry, contents) for title, entry in nav.items()}
        case str():
            return contents(nav) or nav
        case _:
            return nav


def _contents(entry: str) -> list[Any] | None:
    """The pages of a folder for an entry that ends in a slash: its index, then the others."""
    if not entry.endswith("/"):
        return None
    inside = {uri: page for uri, page in _pages().items() if uri.startswith(entry)}
    return ["errors/README.md", *_by_kind(inside)] if entry == "errors/" else [f"{entry}index.md", *sorted(inside)]


def _by_kind(errors: Mapping[str, Path]) -> list[dict[str, list[str]]]:
    """The pages of errors below the kinds that they name in their third lines."""
    kinds: dict[str, list[str]] = {}
    for uri, page in sorted(errors.items()):
        kind = page.read_text(encoding="utf-8").splitlines()[2].removeprefix("Kind: ").removesuffix(" (reserved)")
        kinds.setdefault(kind.capitalize(), []).append(uri)
    return [{kind: uris} for kind, uris in kinds.items()]
