"""A machine's own template and bootstrap data on the way to its provider, and nowhere else."""

import logging
from collections.abc import MutableMapping
from dataclasses import replace

import pytest
import structlog

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
    yard = FakeScene(fleet)
    yard.provider.bootstraps["secrets/ann"] = SECRET
    return yard


async def grow(yard: FakeScene, spec: MachineSpec) -> None:
    made = await yard.request(RequestKind.PROTECT)
    await yard.store.request(
        replace(made, number=0, kind=RequestKind.GROW, machines=(ANN,), specs=(spec,))
    )


async def test_a_server_is_made_as_was_asked_and_its_bootstrap_data_is_shown_nowhere() -> None:
    yard, logged = scene(), list[str]()

    def log(_: object, __: str, event: MutableMapping[str, object]) -> str:
        logged.append(str(dict(event)))
        raise structlog.DropEvent

    structlog.configure(
        processors=[log], wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG)
    )
    spec = MachineSpec(type="large", template="gpu-1", bootstrap="secrets/ann")
    async with yard.running():
        await grow(yard, spec)
        await yard.until([Phase.READY], 2 * MIN)
    (machine,) = await yard.machines()
    (server,) = yard.world.servers()
    assert (machine.spec, machine.offer, machine.template) == (spec, LARGE, "gpu-1")
    assert server.type == "large"
    assert yard.provider.booted_with == {server.id: SECRET}
    shown = f"{await yard.store.events(limit=10_000)} {machine} {logged}"
    assert logged
    assert "geheim" not in shown


async def test_a_request_that_no_offer_can_meet_is_refused_in_the_machines_history() -> None:
    yard = scene()
    async with yard.running():
        await grow(yard, MachineSpec(type="huge"))
        await yard.pass_by(10 * S)
    (kept,) = await yard.events("request_refused")
    assert kept.event.machine == ANN
    assert "no offer of this fleet is huge" in kept.event.detail
    assert await yard.store.requests() == ()
    assert await yard.machines() == ()
