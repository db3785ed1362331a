"""A hook of MkDocs for the tests: builds only the pages in the variable SITE_PAGES."""

import os
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

VARIABLE = "SITE_PAGES"


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The files without the other pages."""
    kept = os.environ[VARIABLE].split()
    for file in list(files):
        if PurePosixPath(file.src_uri).suffix == ".md" and file.src_uri not in kept:
            files.remove(file)
    config.nav = _titled(config.nav, kept)
    return files


def _titled(nav: Any, kept: Sequence[str]) -> Any:
    """`nav` without pages that were left out, and without empty sections."""
    match nav:
        case list():
            inside = [_titled(each, kept) for each in nav if isinstance(each, dict) or each in kept]
            return [each for each in inside if each]
        case dict():
            return {title: inside for title, each in nav.items() if (inside := _titled(each, kept))}
        case _:
            return nav
