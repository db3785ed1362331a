"""The pictures in the documentation are those that the code draws."""

import importlib.util

from tcjax import gallery
from tests.docs.markdown import ROOT


def test_the_pictures_of_the_documents_are_up_to_date(update_golden: bool) -> None:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "examples" / "pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    for name, svg in module.pictures():
        path = ROOT / "docs" / "pictures" / name
        if update_golden:
            path.write_text(f"{svg}\n", encoding="utf-8")
        assert update_golden or path.read_text(encoding="utf-8") == f"{svg}\n", name


def test_every_page_of_the_gallery_has_its_picture() -> None:
    pictures = {path.stem for path in (ROOT / "docs" / "pictures" / "gallery").glob("*.png")}

    assert pictures == {entry.name for entry in gallery.entries()}
