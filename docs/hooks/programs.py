"""The pages of the gallery, from the programs themselves: text, picture, formula, times, plan and source.

MkDocs calls `on_files` and `on_page_read_source`. Pictures and times are those that ``make gallery`` measured and drew
last.
"""

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# MkDocs imports a hook with its folder on the path.
from outside import expanded

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs/pictures/gallery"
MEASURED = ROOT / "bench/results/gallery.json"
MATHEMATICS = re.compile(r"<math.*?</math>", re.DOTALL)


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The files with a page for each program, the pictures below the introduction; `nav` has them for `gallery/`."""
    gallery, record = _imported()
    contents: list[Any] = ["gallery/index.md"]
    overview = [(ROOT / "docs/gallery/index.md").read_text(encoding="utf-8")]
    for group, title in gallery.GROUPS.items():
        inside = [each for each in gallery.entries() if each.group == group]
        overview += [f"## {title}\n", '<div class="gallery" markdown="0">']
        for each in inside:
            files.append(File.generated(config, f"gallery/{each.name}.md", content=""))
            picture = f'<img src="../pictures/gallery/{each.name}.png" alt="" loading="lazy">'
            overview.append(f'<a href="{each.name}.html">{picture}<span>{each.title}</span></a>')
        overview.append("</div>\n")
        contents.append({title: [f"gallery/{each.name}.md" for each in inside]})
    overview.append(f"Times: {record.machine}.\n")
    files.remove(files.src_uris["gallery/index.md"])
    files.append(File.generated(config, "gallery/index.md", content="\n".join(overview)))
    config.nav = expanded(config.nav, {"gallery/": contents}.get)
    return files


def on_page_read_source(page: Page, *, config: MkDocsConfig) -> str | None:
    """The text of a program's page, which is written when the page is built: its plans take a while."""
    folder, _, name = page.file.src_uri.removesuffix(".md").rpartition("/")
    gallery, record = _imported()
    entry = next((each for each in gallery.entries() if (folder, each.name) == ("gallery", name)), None)
    return None if entry is None else _page(entry, record)


@cache
def _imported() -> tuple[Any, Any]:
    """The gallery and its measurements; hooks are imported without the repository on the path."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from bench.records import read
    from tcjax import gallery

    return gallery, read(MEASURED)


def _page(entry: Any, record: Any) -> str:
    from tcjax import gallery

    program = gallery.load(entry.name)
    parts = [f"# {entry.title}", entry.text, f"![{entry.title}](../pictures/gallery/{entry.name}.png)"]
    parts += [_formula(kernel) for kernel in program.formulas]
    size = ", ".join(f"{name} {value}" for name, value in program.full.items())
    parts += [f"## What it costs\n\nFor {size}:", _times(entry.name, record)]
    arrays = program.arrays("full")
    if program.formulas == (program.function,):
        said = str(program.function.explain(*arrays)).replace("\n", "\n    ")
        parts.append(f'??? note "What it becomes"\n\n    ```text\n    {said}\n    ```')
    parts.append(f"## The program\n\n```sh\ntcjax gallery copy {entry.name}\npython {entry.name}.py\n```")
    parts.append(f"```python\n{entry.source}```")
    return "\n\n".join(parts) + "\n"


def _formula(kernel: Any) -> str:
    """MathML, which browsers show without scripts, from what a notebook shows; nothing where only arguments tell."""
    found = MATHEMATICS.search(kernel._repr_html_())
    return "" if found is None else f'<div class="formula" markdown="0">{" ".join(found[0].split())}</div>'


def _times(name: str, record: Any) -> str:
    """A row for tcjax, for each form by hand, and for each other library."""
    found = {result.case.partition("/")[0]: result for result in record.results}
    forward, backward = found[name], found.get(f"{name}_gradient")
    both = [result for result in (forward, backward) if result is not None]
    heading = ["", "time", "with gradient", "temporaries", "with gradient"]
    columns = [0, 1, 2, 3, 4] if backward is not None else [0, 1, 3]
    lines = [[heading[column] for column in columns], ["---", *["---:"] * (len(columns) - 1)]]
    names = {form.name: f"{form.name}, by hand" for form in forward.forms} | {p.name: p.name for p in forward.peers}
    for form, shown in {"tcjax": "tcjax", **names}.items():
        measured = [_of(result, form) for result in both]
        memory = ["" if form in {p.name for p in forward.peers} else _megabytes(each) for each in measured]
        lines.append([shown, *(_time(each) for each in measured), *memory])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _of(result: Any, name: str) -> Any:
    return next((each for each in (result.tcjax, *result.forms, *result.peers) if each.name == name), None)


def _time(measured: Any) -> str:
    from tcjax.cli.measuring import seconds_text

    return "" if measured is None or measured.problem else seconds_text(measured.median)


def _megabytes(measured: Any) -> str:
    return "" if measured is None or measured.problem else f"{measured.temporary_bytes / 1e6:.1f} MB"
