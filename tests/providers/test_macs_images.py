"""Which image a host is wiped to: the newest of its family that its type can boot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostler.providers.scaleway.macs.api.images import (
    family_key,
    is_family,
    newest,
    version_key,
)
from hostler.providers.scaleway.macs.api.wire import Os, Supported


def image(
    name: str, family: str = "Tahoe", version: str = "", types: tuple[str, ...] = ("M2-L",)
) -> Os:
    supported = [Supported(server_type=one) for one in types]
    return Os(
        id=f"id of {name}",
        name=name,
        family=family,
        version=version or name.rsplit("-", 1)[-1],
        is_beta=False,
        supported_server_types=supported,
    )


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Tahoe", "tahoe"),
        (" tahoe ", "tahoe"),
        ("TAHOE", "tahoe"),
        ("macos-tahoe", "tahoe"),
        ("macos-tahoe-26.6.1", "tahoe"),
        ("macOS Tahoe", "tahoe"),
        ("Golden Gate", "goldengate"),
        ("macos-golden-gate-27.0", "goldengate"),
        ("golden_gate", "goldengate"),
        ("DevOS", "devos"),
        ("devos-tahoe-2026.06.30", "devostahoe"),
        ("Sequoia", "sequoia"),
        ("", ""),
    ],
)
def test_families_are_compared_by_their_key(text: str, key: str) -> None:
    assert family_key(text) == key


@given(st.text(max_size=60))
def test_a_key_is_its_own_key(text: str) -> None:
    key = family_key(text)
    assert key == key.strip()
    assert not set(key) & {" ", "_", "-"}


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("Tahoe", True),
        ("macos-golden-gate", True),
        ("Golden Gate", True),
        ("macos-tahoe-26.6.1", False),
        ("tahoe-26", False),
        ("", False),
        ("  ", False),
    ],
)
def test_one_image_is_no_family(text: str, family: bool) -> None:
    assert is_family(text) is family


@pytest.mark.parametrize(
    ("older", "newer"),
    [("26.5", "26.6.1"), ("26.9", "26.10"), ("9.9", "10.0"), ("26.6", "26.6.1"), ("26", "27")],
)
def test_versions_are_ordered_by_their_numbers(older: str, newer: str) -> None:
    assert version_key(image("a", version=older)) < version_key(image("b", version=newer))
    found = newest((image("b", version=newer), image("a", version=older)), "Tahoe", "M2-L")
    assert found is not None
    assert found.name == "b"


def test_a_version_that_is_no_number_does_not_break_the_order() -> None:
    names = [image(f"macos-tahoe-{version}") for version in ("26.5", "rc", "", "26.6-rc1")]
    found = newest(names, "Tahoe", "M2-L")
    assert found is not None


def test_a_beta_is_never_chosen() -> None:
    beta = image("macos-tahoe-27.0")
    assert newest((as_beta(beta),), "Tahoe", "M2-L") is None


def as_beta(one: Os) -> Os:
    return Os(
        id=one.id,
        name=one.name,
        family=one.family,
        version=one.version,
        is_beta=True,
        supported_server_types=one.supported_server_types,
    )


def test_devos_never_satisfies_tahoe_although_its_name_tells_it() -> None:
    """DevOS images are named `devos-tahoe-…`, and a host that runs one cannot be reinstalled."""
    devos = image("devos-tahoe-2026.06.30", family="DevOS", version="20260630-26")
    assert newest((devos,), "Tahoe", "M2-L") is None
    assert newest((devos, image("macos-tahoe-26.5")), "Tahoe", "M2-L") is not None


def test_an_image_that_the_type_cannot_boot_is_passed_by() -> None:
    new = image("macos-tahoe-26.6", types=("M4-M",))
    old = image("macos-tahoe-26.5", types=("M2-L", "M4-M"))
    assert newest((new, old), "Tahoe", "M2-L") == old
    assert newest((new,), "Tahoe", "M2-L") is None


def test_the_deprecated_list_of_types_counts_too() -> None:
    old = Os(id="1", name="macos-tahoe-26.5", family="Tahoe", compatible_server_types=["M2-L"])
    assert newest((old,), "Tahoe", "M2-L") == old
    assert newest((old,), "Tahoe", "M4-S") is None


def test_a_name_stands_in_for_a_family_that_is_blank() -> None:
    nameless = Os(id="1", name="macos-tahoe-26.5", family="", version="26.5")
    assert newest((nameless,), "Tahoe", "M2-L") == nameless


def test_a_family_that_nobody_publishes_has_no_newest() -> None:
    assert newest((image("macos-tahoe-26.5"),), "Sonoma", "M2-L") is None
    assert newest((), "Tahoe", "M2-L") is None
