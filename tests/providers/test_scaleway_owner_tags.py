"""The provider's words in ours, and the owner tags that say whose a resource is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scaleway_kit import FLEET, HOME, claim, tags

from hostler.domain.ids import FleetName, InstallationId, machine_id
from hostler.domain.model.resource import Condition, OwnerTag, PartialTag, Slot
from hostler.providers.scaleway.common.owner_tags import (
    Claim,
    claim_of,
    from_name,
    from_tags,
    name_of,
    partial_of,
    tags_of,
    writable,
)
from hostler.providers.scaleway.instances.observe.statuses import condition, strange

WORDS = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
FLEETS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", fullmatch=True)
CLAIMS = st.builds(
    Claim,
    st.builds(
        OwnerTag,
        installation=WORDS.map(InstallationId),
        fleet=FLEETS.map(FleetName),
        machine=st.integers(0, 2**50).map(machine_id),
        attempt=st.integers(0, 999_999),
    ),
    st.one_of(
        st.just(Slot("server")),
        st.builds(Slot, st.sampled_from(["address", "volume"]), st.integers(0, 999)),
    ),
)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("stopped", Condition.OFF),
        ("stopped in place", Condition.STANDBY),
        ("starting", Condition.STARTING),
        ("running", Condition.UP),
        ("stopping", Condition.STOPPING),
        ("locked", Condition.LOCKED),
        ("rebooting", Condition.UNKNOWN),
        ("", Condition.UNKNOWN),
    ],
)
def test_server_states(word: str, ours: Condition):
    assert condition("server", word) is ours
    assert bool(strange("server", word)) == (ours is Condition.UNKNOWN)


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("available", Condition.FREE),
        ("error", Condition.FREE),
        ("in_use", Condition.BUSY),
        *((w, Condition.BUSY) for w in ("creating", "updating", "resizing", "snapshotting")),
        *((w, Condition.BUSY) for w in ("saving", "fetching", "attaching", "hotsyncing")),
        ("deleting", Condition.STOPPING),
        ("deleted", Condition.STOPPING),
        ("locked", Condition.LOCKED),
        ("melting", Condition.UNKNOWN),
    ],
)
def test_volume_states(word: str, ours: Condition):
    assert condition("volume", word) is ours


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("detached", Condition.FREE),
        ("error", Condition.FREE),
        ("attached", Condition.BUSY),
        ("pending", Condition.BUSY),
        ("odd", Condition.UNKNOWN),
    ],
)
def test_address_states(word: str, ours: Condition):
    assert condition("address", word) is ours


@given(st.sampled_from(["server", "volume", "address"]), st.text())
def test_the_tables_are_total(kind: str, word: str):
    assert isinstance(condition(kind, word), Condition)
    assert len(strange(kind, word)) < 400


@given(CLAIMS)
def test_tags_are_read_back_in_any_order_among_others(claimed: Claim):
    assert writable(claimed.owner_tag.installation, claimed.owner_tag.fleet)
    found = (*reversed(tags_of(claimed)), "team=a", "hostler-extra=1", "hostlers")
    assert from_tags(found, claimed.slot.kind) == claimed


@given(CLAIMS)
def test_a_name_is_read_back_whole(claimed: Claim):
    name = name_of(claimed)
    assert len(name) < 255
    assert from_name(name, claimed.slot.kind) == claimed


@given(CLAIMS, st.data())
def test_a_name_with_one_letter_changed_is_no_owner_tag(claimed: Claim, data: st.DataObject):
    name = name_of(claimed)
    place = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.characters(codec="ascii").filter(lambda c: c != name[place]))
    assert from_name(name[:place] + letter + name[place + 1 :], claimed.slot.kind) is None


@given(CLAIMS)
def test_a_part_of_a_name_is_no_owner_tag(claimed: Claim):
    name = name_of(claimed)
    assert from_name(name[:-1], claimed.slot.kind) is None
    assert from_name(name + "0", claimed.slot.kind) is None
    assert from_name(name.rpartition(".")[0], claimed.slot.kind) is None


@given(st.lists(st.text() | st.sampled_from(tags(Slot("server")))), st.text())
def test_hostile_tags_and_names_never_fail(found: list[str], name: str):
    claimed = claim_of(found, name, "server")
    assert claimed is None or set(tags_of(claimed)) <= set(found)


GOOD = tags(Slot("server"))


@pytest.mark.parametrize(
    "found",
    [
        [],
        GOOD[:3],
        GOOD[1:],
        [*GOOD, "hostler-machine=m-zzzzzzzzzz"],
        [*GOOD, GOOD[0]],
        [*GOOD[:2], "hostler-machine=m-short", GOOD[3]],
        [*GOOD[:3], "hostler-attempt=volume0.1"],
        [*GOOD[:3], "hostler-attempt=server.1"],
        [*GOOD[:3], "hostler-attempt=server0.01"],
        [*GOOD[:3], "hostler-attempt=server0.1 "],
        [*GOOD[:3], "hostler-attempt=server0.٣"],
        ["hostler=", *GOOD[1:]],
        [GOOD[0], "hostler-fleet=a b", *GOOD[2:]],
        [GOOD[0], "hostler-fleet=a\n", *GOOD[2:]],
    ],
)
def test_a_damaged_owner_tag_is_none(found: list[str]):
    assert from_tags(found, "server") is None


def test_tags_win_over_a_name():
    here, there = claim(Slot("volume")), claim(Slot("volume", 1), home="elsewhere")
    assert claim_of(tags_of(there), name_of(here), "volume") == there
    assert claim_of((), name_of(here), "volume") == here


@pytest.mark.parametrize(
    ("installation", "fleet"),
    [("a,b", "web"), ("", "web"), (HOME, ""), (HOME, "a,b"), (HOME, "a b"), (HOME, "x" * 65)],
)
def test_names_that_no_owner_tag_can_hold_are_refused(installation: str, fleet: str):
    assert not writable(InstallationId(installation), FleetName(fleet))


@pytest.mark.parametrize(
    ("tags", "name", "part"),
    [
        (("hostler=h1",), "", PartialTag((InstallationId("h1"),))),
        (("hostler-fleet=web", "hostler=h1"), "", PartialTag((InstallationId("h1"),), FLEET)),
        (
            ("hostler=h1", "hostler-fleet=web", "hostler-fleet=ci"),
            "",
            PartialTag((InstallationId("h1"),)),
        ),
        (
            ("hostler=h1", "hostler=h2"),
            "",
            PartialTag((InstallationId("h1"), InstallationId("h2"))),
        ),
        ((), "hostler.h1.web.m-abcdefghij.volume0.1", PartialTag((InstallationId("h1"),))),
        (
            ("hostler", "hostler=", "hostler=ü", "hostlers=h1", "hostler-fleet=web"),
            "hostler.",
            None,
        ),
        (("team=a",), "hostler-h1.x", None),
    ],
)
def test_of_a_tag_that_is_not_whole_the_installation_is_read(
    tags: tuple[str, ...], name: str, part: PartialTag | None
) -> None:
    assert partial_of(tags, name) == part


def test_a_server_fills_one_slot_alone() -> None:
    """Nobody of ours ever makes a second one of a machine, and no record has a place for it."""
    assert from_tags(tags(Slot("server", 1)), "server") is None
    assert from_tags(tags(Slot("server")), "server") == claim(Slot("server"))
