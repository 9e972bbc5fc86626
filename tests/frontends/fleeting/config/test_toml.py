"""Tables that are written as TOML read back as they are."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.frontends.fleeting.config.toml import write_toml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = TEXTS | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, width=32)
TABLES = st.recursive(
    st.dictionaries(TEXTS, VALUES | st.lists(VALUES, max_size=3), max_size=4),
    lambda inner: st.dictionaries(TEXTS, VALUES | inner, max_size=4),
    max_leaves=6,
)


@given(TABLES)
def test_whatever_is_written_reads_back(tables: dict[str, object]) -> None:
    assert tomllib.loads(write_toml(tables)) == tables


@pytest.mark.parametrize("text", ["\x7f", "🐎", 'a"b\\', "line\nline\r\n", "", "a.b", "\x00\x1f"])
def test_odd_texts_read_back_as_keys_and_values(text: str) -> None:
    tables = {"table": {text: text, "list": [text]}}
    assert tomllib.loads(write_toml(tables)) == tables


def test_what_toml_has_no_word_for_is_refused() -> None:
    with pytest.raises(TypeError):
        write_toml({"key": None})
