"""A machine's own template and bootstrap data on the way to its provider, and nowhere else."""

import logging
from collections.abc import MutableMapping

import pytest
import structlog
from msgspec.structs import replace

from hostler.domain.ids import machine_id
from hostler.domain.model.machine import MachineSpec, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.lab.scenes.fake import FakeScene
from hostler.testing.scenes.builders import FLEET, MIN, OFFER, ZONE, S

pytestmark = pytest.mark.looptime

SECRET = b"#cloud-config: geheim"
LARGE = Offer(type="large", zone=ZONE)
ANN = machine_id(4711)


def scene() -> FakeScene:
    fleet = replace(FLEET, size=0, renews=False, maximum=5, offers=(OFFER, LARGE))
    rig = FakeScene(fleet)
    rig.provider.bootstraps["secrets/ann"] = SECRET
    return rig


async def grow(rig: FakeScene, spec: MachineSpec) -> None:
    made = await rig.request(RequestKind.PROTECT)
    await rig.store.request(
        replace(made, number=0, kind=RequestKind.GROW, machines=(ANN,), specs=(spec,))
    )


async def test_a_server_is_made_as_was_asked_and_its_bootstrap_data_is_shown_nowhere() -> None:
    rig, logged = scene(), list[str]()

    def log(_: object, __: str, event: MutableMapping[str, object]) -> str:
        logged.append(str(dict(event)))
        raise structlog.DropEvent

    structlog.configure(
        processors=[log], wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG)
    )
    spec = MachineSpec(type="large", template="gpu-1", bootstrap="secrets/ann")
    async with rig.running():
        await grow(rig, spec)
        await rig.until([Phase.READY], 2 * MIN)
    (machine,) = await rig.machines()
    (server,) = rig.world.servers()
    assert (machine.spec, machine.offer, machine.template) == (spec, LARGE, "gpu-1")
    assert server.type == "large"
    assert rig.provider.booted_with == {server.id: SECRET}
    written = f"{await rig.store.events(limit=10_000)} {machine} {logged}"
    assert logged
    assert "geheim" not in written


async def test_a_request_that_no_offer_can_meet_is_refused_in_the_machines_history() -> None:
    rig = scene()
    async with rig.running():
        await grow(rig, MachineSpec(type="huge"))
        await rig.pass_by(10 * S)
    (entry,) = await rig.events("request_refused")
    assert entry.event.machine == ANN
    assert "no offer of this fleet is huge" in entry.event.detail
    assert await rig.store.requests() == ()
    assert await rig.machines() == ()


async def test_a_machine_whose_request_was_repeated_before_it_was_read_is_made_once() -> None:
    """Whoever got no answer asks again under the same id; both requests may be on record then."""
    rig = scene()
    await grow(rig, MachineSpec(type="large"))
    await grow(rig, MachineSpec(type="large"))
    async with rig.running():
        await rig.until([Phase.READY], 2 * MIN)
        await rig.pass_by(1 * MIN)
    assert [machine.id for machine in await rig.machines()] == [ANN]
    assert len(rig.world.servers()) == 1
    assert await rig.store.requests() == ()
    assert await rig.events("request_refused") == ()
