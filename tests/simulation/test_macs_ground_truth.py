import dataclasses

import pytest
from msgspec.structs import replace

from hostler.domain.ids import HostId, InstallationId
from hostler.lab.macs.ground_truth import Asked, Change, Fact
from hostler.simulators.scaleway.state.mac_records import MacStatus

NEW, OLD, OTHER = InstallationId("i2"), InstallationId("i1"), InstallationId("i3")
M, ANOTHER = "m-aaaaaaaaaa", "m-bbbbbbbbbb"
COPIED = Fact(
    name=f"hostler.claimed.{OLD}.macs.{M}.d4b1c5.9996659a",
    named=0.0,
    cycle=0,
    status=MacStatus.READY,
    moved=0.0,
    used=0,
    by_person=True,
)
ADOPTER = Asked(ours=(NEW, OLD), machine=M, act="update", name="", begun=9.0)
ADOPTED = Change(what="renamed", host=HostId("h1"), by=ADOPTER, before=COPIED, late=False)


def test_an_adopter_can_but_believe_a_name_that_a_person_copied_onto_a_host() -> None:
    assert ADOPTED.adopts


@pytest.mark.parametrize(
    "change",
    [
        replace(ADOPTED, by=None),
        replace(ADOPTED, before=dataclasses.replace(COPIED, by_person=False)),
        replace(ADOPTED, before=dataclasses.replace(COPIED, name="pool-1")),
        replace(ADOPTED, by=replace(ADOPTER, machine=ANOTHER)),
        replace(ADOPTED, by=replace(ADOPTER, machine="")),
        replace(ADOPTED, by=replace(ADOPTER, ours=(OLD,))),
        replace(ADOPTED, by=replace(ADOPTER, ours=(NEW, OTHER))),
    ],
    ids=["a person", "not copied", "no name", "another", "no machine", "its own", "not adopted"],
)
def test_whoever_gets_a_host_in_any_other_way_must_find_it_wiped(change: Change) -> None:
    assert not change.adopts
