"""Numbers in explanations: three digits and a unit."""

import pytest

from tcjax.diagnostics import phrases


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1023 << 10, "1023 KiB"),
        (1014 << 20, "1014 MiB"),
        (5 << 30, "5 GiB"),
        (10**15, "909 TiB"),
        (10**16, "9095 TiB"),
    ],
)
def test_bytes_have_no_exponent(number: int, text: str) -> None:
    assert phrases.bytes_text(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 us"),
        (1.2345e-6, "1.23 us"),
        (9.999e-4, "1000 us"),
        (0.0123, "12.3 ms"),
        (3.0, "3 s"),
        (86400.0, "86400 s"),
    ],
)
def test_times_have_no_exponent(seconds: float, text: str) -> None:
    assert phrases.time_text(seconds) == text


@pytest.mark.parametrize(("number", "text"), [(999, "999"), (1000, "1 k"), (999_999, "1000 k"), (3 * 10**15, "3000 T")])
def test_counts_have_no_exponent(number: int, text: str) -> None:
    assert phrases.count_text(number) == text
