"""The message for users without Flax."""

import pytest

from tcjax.layers import requirement


def test_without_flax_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirement, "find_spec", lambda name: None)

    with pytest.raises(ImportError) as caught:
        requirement.require_flax("tcjax.nn")

    assert str(caught.value) == "tcjax.nn needs Flax, which is not installed: pip install 'tcjax[flax]'"
