from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.config.units import format_duration, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("10m", 600),
        ("1h30m", 5400),
        ("24h", 86400),
        ("2d", 172800),
        ("1w", 604800),
        ("250ms", 0.25),
        ("0s", 0),
        ("1.5h", 5400),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text",
    ["", "5", "s", "5 s", "-5s", "5x", "1h 30m", "5S", "٣s", "1e3s", "5s\n", "9999999999s", "∞"],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**12))
def test_a_written_duration_reads_back(milliseconds: int) -> None:
    time = timedelta(milliseconds=milliseconds)
    assert parse_duration(format_duration(time)) == time


@pytest.mark.parametrize(
    ("text", "size"),
    [("20GB", 20 * 10**9), ("1 TB", 10**12), ("1GiB", 2**30), ("0.5GB", 5 * 10**8), ("7B", 7)],
)
def test_a_size_is_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "20", "20G", "20gb", "-1GB", "GB", "1iB", "1TBB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a size such as"):
        parse_size(text)
