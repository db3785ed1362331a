"""Elements escape their contents; the style is readable, self-contained, and the same everywhere."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcjax.markup import block, element, table
from tcjax.markup.style import COLOURS, DARK, LIGHT, STYLE


@given(st.text(max_size=8), st.text(max_size=8))
def test_any_text_comes_back_from_a_reader_of_xml(text: str, attribute: str) -> None:
    printable = [re.sub(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", t) for t in (text, attribute)]

    root = ElementTree.fromstring(str(element("p", text, title=attribute)))

    assert (root.text or "") == printable[0]
    assert (root.get("title") or "") == re.sub(r"[\t\n]", " ", printable[1])


def test_attributes_are_named_as_in_html_and_numbers_are_short() -> None:
    assert str(element("rect", class_="c0", stroke_width=1.0, x=2.345, y=3)) == (
        '<rect class="c0" stroke-width="1" x="2.35" y="3"></rect>'
    )


def test_a_table_puts_numbers_to_the_right() -> None:
    root = ElementTree.fromstring(str(table(("name", "value"), [("a", 3), ("b", 4.5)])))

    assert [cell.get("class") for cell in root.iter("th")] == [None, "number"]
    assert [cell.text for cell in root.iter("td")] == ["a", "3", "b", "4.5"]


def test_a_block_needs_nothing_from_elsewhere() -> None:
    page = str(block("text"))

    assert not re.search(r"script|https?:|url\(|@import|src=", page)


def luminance(colour: str) -> float:
    """The relative luminance of the Web Content Accessibility Guidelines."""
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_colours_stand_out_from_what_is_behind_them(palette: dict[str, str]) -> None:
    for ground in ("ground", "panel"):
        assert contrast(palette["ink"], palette[ground]) >= 7
        assert contrast(palette["faint"], palette[ground]) >= 4.5
        assert all(contrast(palette[f"c{n}"], palette[ground]) >= 3 for n in range(COLOURS))


def test_every_colour_has_both_schemes_and_hosts_choose_between_them() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert "@media (prefers-color-scheme:dark)" in STYLE
    assert '[data-jp-theme-light="true"] .tcjax' in STYLE


def test_a_notebook_s_own_rules_for_tables_and_code_give_way() -> None:
    # JupyterLab's and Material's rules name up to two classes: `.jp-RenderedHTMLCommon tbody tr:nth-child(odd)`.
    rules = [
        rule for rule in re.findall(r"[^{}]+(?={)", STYLE) if re.search(r" (pre|code|table|th|td|tr|tbody)\b", rule)
    ]

    assert rules and all(part.count(".tcjax") == 3 for rule in rules for part in rule.split(","))
