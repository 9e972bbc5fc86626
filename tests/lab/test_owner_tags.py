"""The judge's own reading of owner tags and of Macs' names, stated by literal texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId, machine_id
from hostler.domain.model.resource import OwnerTag, Slot, Stage
from hostler.lab.macs.names import HostName, digest_of, parse_name, read_name
from hostler.lab.scaleway.owner_tags import Owned, owned_by, tags_for
from hostler.providers.scaleway.common import owner_tags
from hostler.providers.scaleway.macs.plan import names

OWNER = OwnerTag(
    installation=InstallationId("inst-1"),
    fleet=FleetName("web.eu"),
    machine=MachineId("m-abcdefghij"),
    attempt=3,
)
TAGS = (
    "hostler=inst-1",
    "hostler-fleet=web.eu",
    "hostler-machine=m-abcdefghij",
    "hostler-attempt=address1.3",
)
VOLUME = "hostler.inst-1.web.eu.m-abcdefghij.volume0.3.1a08d09d"
CLAIMED = "hostler.claimed.inst-1.web.eu.m-abcdefghij.d4b1c5.8146a309"
ORDERED = "hostler.ordered.inst-1.web.eu.m-abcdefghij.000000.e122e925"

WORDS = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True).map(InstallationId)
FLEETS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", fullmatch=True).map(
    FleetName
)
MACHINES = st.integers(0, 2**50).map(machine_id)
KINDS = st.sampled_from(["server", "address", "volume"])
SLOTS = st.builds(Slot, KINDS, st.integers(0, 999)).filter(
    lambda slot: slot.kind != "server" or slot.index == 0
)
OWNERS = st.builds(
    OwnerTag,
    installation=WORDS,
    fleet=FLEETS,
    machine=MACHINES,
    attempt=st.integers(0, 999_999),
)


def test_four_tags_say_whose_an_address_is() -> None:
    assert owned_by(TAGS, "", "address") == Owned(OWNER, Slot("address", 1))
    assert owned_by(("mine", *TAGS), "", "address") == Owned(OWNER, Slot("address", 1))
    assert tags_for(Owned(OWNER, Slot("address", 1))) == TAGS


def test_a_name_says_whose_a_volume_is() -> None:
    assert owned_by((), VOLUME, "volume") == Owned(OWNER, Slot("volume", 0))


@pytest.mark.parametrize(
    "tags",
    [
        TAGS[1:],
        (*TAGS, TAGS[0]),
        ("hostler", *TAGS[1:]),
        ("hostler=", *TAGS[1:]),
        ("hostler=in st", *TAGS[1:]),
        (TAGS[0], "hostler-fleet=.web", *TAGS[2:]),
        (*TAGS[:2], "hostler-machine=m-ABCDEFGHIJ", TAGS[3]),
        (*TAGS[:2], "hostler-machine=m-abcdefghi", TAGS[3]),
        (*TAGS[:3], "hostler-attempt=server1.3"),
        (*TAGS[:3], "hostler-attempt=address.3"),
        (*TAGS[:3], "hostler-attempt=address01.3"),
        (*TAGS[:3], "hostler-attempt=address1"),
        (*TAGS[:3], "hostler-attempt=address1.3.4"),
    ],
)
def test_tags_that_are_not_whole_say_nothing(tags: tuple[str, ...]) -> None:
    assert owned_by(tags, "", "address") is None
    assert owner_tags.claim_of(tags, "", "address") is None


@pytest.mark.parametrize(
    "name",
    ["", "hostler.", VOLUME[:-1], VOLUME[:-9], VOLUME[:-1] + "0", VOLUME.replace("eu", "us")],
)
def test_a_name_that_is_not_whole_says_nothing(name: str) -> None:
    assert owned_by((), name, "volume") is None


def test_a_name_says_what_is_done_with_a_mac() -> None:
    assert parse_name(CLAIMED) == ("claimed", replace(OWNER, attempt=0))
    name = HostName(
        stage=Stage.ORDERED,
        installation=OWNER.installation,
        fleet=OWNER.fleet,
        machine=OWNER.machine,
        pool=digest_of(""),
    )
    assert read_name(ORDERED) == name
    assert str(name) == ORDERED
    assert digest_of("pool-") == "d4b1c5"


@pytest.mark.parametrize(
    "name",
    [
        "pool-1",
        "hostler.claimed.inst-1.web.eu.m-abcdefghij.d4b1c5",
        CLAIMED.replace("claimed", "ordered"),
        CLAIMED.replace("claimed", "invented"),
        CLAIMED.replace("inst-1", "inst-2"),
        CLAIMED[:-1],
    ],
)
def test_a_macs_name_that_is_not_whole_says_nothing(name: str) -> None:
    assert parse_name(name) is None


@given(owner=OWNERS, slot=SLOTS, kind=KINDS)
def test_judge_and_provider_read_the_same_of_each_others_tags(
    owner: OwnerTag, slot: Slot, kind: str
) -> None:
    claim = owner_tags.Claim(owner, slot)
    theirs, ours = owner_tags.tags_of(claim), tags_for(Owned(owner, slot))
    assert theirs == ours
    fits = kind == slot.kind
    assert owned_by(theirs, "", kind) == (Owned(owner, slot) if fits else None)
    assert owner_tags.claim_of(ours, "", kind) == (claim if fits else None)
    assert owned_by((), owner_tags.name_of(claim), kind) == (Owned(owner, slot) if fits else None)


@given(st.sampled_from(sorted(names.STAGES)), WORDS, FLEETS, MACHINES, st.text(max_size=12))
def test_judge_and_provider_read_the_same_of_each_others_names(
    stage: Stage, installation: InstallationId, fleet: FleetName, machine: MachineId, prefix: str
) -> None:
    theirs = names.Name(
        stage=stage,
        installation=installation,
        fleet=fleet,
        machine=machine,
        pool=names.pool_digest(prefix),
    )
    ours = HostName(
        stage=stage,
        installation=installation,
        fleet=fleet,
        machine=machine,
        pool=digest_of(prefix),
    )
    assert str(theirs) == str(ours)
    assert read_name(str(theirs)) == ours
    assert names.name_of(str(ours)) == theirs
