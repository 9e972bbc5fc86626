"""Secrets that whoever reads beside an engine may not read: named all the same, with nothing in."""

from pathlib import Path

import pytest

from hostler.domain.errors import ConfigError
from hostler.frontends.kubernetes.objects.secrets import SecretData, SecretPlaces

PROBLEM = "the Secret cloud cannot be read: forbidden"
UNREAD = SecretData(name="cloud", place="team_cloud", problem=PROBLEM)


def test_one_that_cannot_be_read_is_named_and_its_cause_is_told(tmp_path: Path) -> None:
    variables = dict[str, str]()
    places = SecretPlaces(tmp_path / "secrets", variables, b"salt", unread=True)
    name, file = places.variable(UNREAD, "KEY"), places.file(UNREAD, "id", stable=True)
    assert variables == {}
    assert not Path(file).exists()
    assert places.worded(f"the environment variable {name} is not set") == PROBLEM
    assert places.worded(f"{file}: no such file") == PROBLEM
    assert places.worded("there is no type DEV1-S") == "there is no type DEV1-S"
    assert places.variable(UNREAD, "KEY") == name != places.variable(UNREAD, "OTHER")


def test_what_one_lacks_is_named_too(tmp_path: Path) -> None:
    variables = dict[str, str]()
    places = SecretPlaces(tmp_path / "secrets", variables, b"salt", unread=True)
    secret = SecretData(name="cloud", values={"KEY": b"x", "bytes": b"\xff"})
    assert variables == {places.variable(secret, "KEY"): "x"}
    assert "has no key OTHER; it has KEY" in places.worded(places.variable(secret, "OTHER"))
    assert "the key bytes" in places.worded(places.variable(secret, "bytes"))
    assert len(variables) == 1


def test_an_object_that_names_no_secret_is_wrong_for_everybody(tmp_path: Path) -> None:
    places = SecretPlaces(tmp_path / "secrets", {}, b"salt", unread=True)
    with pytest.raises(ConfigError, match="name that in secretName"):
        places.variable(SecretData(name=""), "KEY")


def test_an_engine_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    places = SecretPlaces(tmp_path / "secrets", {}, b"salt")
    with pytest.raises(ConfigError, match="cannot be read: forbidden"):
        places.variable(UNREAD, "KEY")
    with pytest.raises(ConfigError, match="cannot be read: forbidden"):
        places.file(UNREAD, "KEY", stable=False)
