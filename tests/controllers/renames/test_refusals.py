"""What cannot be carried over is refused in a sentence, and nothing changes; boxes go along."""

import pytest
from msgspec.structs import replace
from rename_kit import BUILDERS, LEFT, NEW, OLD, READY, adopt, grown, ids, refused, rename, rows

from hostler.domain.ids import FleetName
from hostler.domain.model.fleet import Fleet, OnRemove
from hostler.domain.model.host import HostCondition
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.lab.scenes.metal import MetalScene
from hostler.ports.store import Fence
from hostler.testing.scenes.builders import MIN, WEB, S

pytestmark = pytest.mark.looptime

CI = replace(OLD, name=FleetName("ci"), size=0)


@pytest.mark.parametrize(
    ("fleets", "source", "why"),
    [
        ((replace(NEW, size=0), LEFT), BUILDERS, "that is its own name"),
        ((replace(NEW, size=0), OLD), WEB, "no fleet web of its provider left the file"),
        ((replace(NEW, size=0), LEFT), CI.name, "no fleet ci of its provider left the file"),
        ((replace(NEW, size=0, removed=True), LEFT), WEB, "it is not in the file"),
    ],
    ids=["its own", "in the file", "unknown", "gone itself"],
)
async def test_what_is_no_fleet_that_left_the_file_is_refused(
    fleets: tuple[Fleet, ...], source: FleetName, why: str
) -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    before = await ids(rig, WEB)
    rename(rig, *fleets)
    await adopt(rig, source)
    async with rig.running():
        await rig.pass_by(1 * MIN)
    (text,) = await refused(rig)
    assert why in text
    assert await ids(rig, WEB) == before
    assert await rig.machines() == ()
    assert (await rows(rig))[BUILDERS].adopts is None


async def test_fleet_that_ends_is_not_carried_over() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    rename(rig, replace(NEW, size=0), replace(LEFT, on_remove=OnRemove.END))
    async with rig.running():
        await rig.pass_by(1 * S)
        await adopt(rig)
        await rig.pass_by(10 * MIN)
    assert await refused(rig) == ["web is being deleted with all that it has"]
    assert await ids(rig, WEB) == set()
    assert await rig.machines() == ()


async def test_a_fleet_that_would_end_is_carried_over_where_that_was_asked_before() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    before = await ids(rig, WEB)
    rename(rig, NEW, replace(LEFT, on_remove=OnRemove.END))
    await adopt(rig)
    async with rig.running():
        await rig.pass_by(10 * MIN)
        assert await rig.phases() == [READY] * 3
    assert await ids(rig) == before


async def test_of_two_fleets_that_ask_for_the_same_machines_the_first_one_gets_them() -> None:
    rig = FakeScene(OLD)
    await grown(rig)
    before = await ids(rig, WEB)
    rename(rig, NEW, CI, LEFT)
    await adopt(rig)
    await rig.store.request(replace(rig.blank(RequestKind.ADOPT_FLEET), fleet=CI.name, source=WEB))
    async with rig.running():
        await rig.pass_by(10 * MIN)
    (text,) = await refused(rig)
    assert text == "another fleet is taking over the machines of web already"
    assert await ids(rig) == before
    assert {row.former for row in (await rows(rig)).values()} == {(WEB,), ()}


async def test_boxes_go_along_with_their_machines_and_are_cleaned_for_the_next_one() -> None:
    rig = MetalScene(replace(OLD, size=1))
    async with rig.running():
        await rig.until([READY], 10 * MIN)
        await rig.pass_by(5 * MIN)
    (machine,) = await rig.machines()
    rename(rig, replace(NEW, size=1), replace(LEFT, size=1))
    await adopt(rig)
    async with rig.running():
        await rig.until([READY], 10 * S)
        await rig.pass_by(30 * MIN)
        (after,) = await rig.machines()
        assert (after.id, after.host) == (machine.id, machine.host)
        assert await rig.store.bindings() == ((machine.host, machine.id),)
        await rig.request(RequestKind.DELETE, machine=machine.id)
        await rig.pass_by(60 * MIN)
        (other,) = await rig.machines()
        assert other.id != machine.id
        assert other.phase is Phase.READY
    host = await rig.host(str(machine.host))
    assert host is not None
    assert host.fleet == BUILDERS
    assert host.condition in {HostCondition.FREE, HostCondition.ALLOCATED}
    assert not rig.metrics.faults()


async def test_hosts_that_a_fleet_bought_are_the_other_ones_by_now() -> None:
    rig = MetalScene(replace(OLD, size=1))
    async with rig.running():
        await rig.until([READY], 10 * MIN)
        await rig.pass_by(5 * MIN)
    (machine,) = await rig.machines()
    host = await rig.host(str(machine.host))
    assert host is not None
    lease = await rig.store.take_lease("test", "test", None)
    assert lease is not None
    bought = replace(host.with_purchase(buyer=WEB), fleet=WEB)
    await rig.store.save_host(bought, (), Fence(lease="test", epoch=lease.epoch))
    rename(rig, replace(NEW, size=1), replace(LEFT, size=1))
    await adopt(rig)
    async with rig.running():
        await rig.pass_by(2 * MIN)
    host = await rig.host(str(machine.host))
    assert host is not None
    assert (host.fleet, host.purchase.buyer) == (BUILDERS, BUILDERS)
