"""Addresses: the objects of a namespace, where a command takes a fleet file."""

from pathlib import Path

import pytest

from hostler.app.compose import Composed
from hostler.domain.errors import ConfigError


@pytest.mark.parametrize(
    "text", ["kubernetes:", "kubernetes:web", "kubernetes:web/rack?context=home&kubeconfig=/k.yaml"]
)
def test_an_address_says_where_records_are_and_nothing_else(text: str) -> None:
    config = Composed().load(Path(text), partial=True)
    assert str(config.store) == text
    assert (config.accounts, config.fleets, config.objects) == ((), (), None)


@pytest.mark.parametrize("text", ["kubernetes:Web", "kubernetes:a/b/c", "kubernetes:web?colour=x"])
def test_a_wrong_address_is_refused_with_what_is_right(text: str) -> None:
    with pytest.raises(ConfigError, match=r'expected "kubernetes:", "kubernetes:NAMESPACE"'):
        Composed().load(Path(text), partial=True)


def test_a_command_that_needs_a_file_says_so() -> None:
    with pytest.raises(ConfigError, match=r"kubernetes:web: this command takes a fleet file"):
        Composed().load(Path("kubernetes:web"))
