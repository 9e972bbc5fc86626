"""Prefixes of a creation, as the engine folds it: what the tests of next_calls start from."""

from datetime import timedelta

from msgspec.structs import replace
from scaleway_kit import NOW, ZONE, claim, machine, provider

from hostler.domain.ids import Epoch, ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource, Slot
from hostler.domain.model.subject import ask
from hostler.domain.observation.outcomes import apply_outcome, apply_to_resources
from hostler.providers.scaleway.common.settings import Disk, Template

FULL = Template(
    cloud_init="#cloud-config",
    ipv6=True,
    disks=(Disk(size=50, iops=15000), Disk(size=10, type="l_ssd")),
    networks=("net-1",),
)
RUNNING = ("poweroff", "terminate", "reboot", "stop_in_place", "backup")
STOPPED = ("poweron", "backup")


def answered(call: Call, template: Template) -> Done:
    """Answer a call as the API would: parts with ids, marked, on their servers."""
    match call.kind:
        case "ip.create":
            return Done(resources=(resource(call.slot, f"ip-{call.slot.index}", Condition.FREE),))
        case "server.create":
            volumes = (
                resource(Slot("volume", i), f"vol-{i}", Condition.BUSY, owner=ResourceId("srv-1"))
                for i in range(len(template.volumes))
            )
            addresses = (
                resource(Slot("address", i), f"ip-{i}", Condition.BUSY, owner=ResourceId("srv-1"))
                for i in template.addresses
            )
            return Done(resources=(server(Condition.OFF, STOPPED), *volumes, *addresses))
        case "server.poweron":
            return Done(resources=(server(Condition.STARTING, ()),))
        case _:
            return (
                Done(absent=(call.target,))
                if call.effect is Effect.DESTROY and call.target
                else Done()
            )


def resource(slot: Slot, id_: str, condition: Condition, **fields: object) -> Resource:
    base = Resource(
        id=ResourceId(id_),
        slot=slot,
        zone=ZONE,
        owner_tag=claim(slot).owner_tag,
        condition=condition,
        type="sbs_volume",
    )
    return replace(base, **fields)


def server(condition: Condition, allowed: tuple[str, ...], **fields: object) -> Resource:
    return resource(
        Slot("server"), "srv-1", condition, **{"allowed": allowed, "notes": (), **fields}
    )


State = tuple[Machine, tuple[Resource, ...]]
Prefix = tuple[Machine, tuple[Resource, ...], tuple[Call, ...]]


def take(
    record: Machine, resources: tuple[Resource, ...], call: Call, outcome: Outcome, step: int
) -> State:
    """Fold one call and its outcome, as the engine does."""
    now = NOW + timedelta(seconds=step)
    if call.once:
        record = ask(record, call, now, Epoch(1))
    return apply_outcome(record, call, outcome, now), apply_to_resources(resources, outcome)


def made(template: Template, begun: Machine | None = None) -> list[Prefix]:
    """Return every prefix of a creation: the record and parts before each call, and the call."""
    source = provider(template=template)
    record, resources = begun or machine(), tuple[Resource, ...]()
    prefixes = list[Prefix]()
    for step in range(40):
        calls = source.next_calls(Goal.PRESENT, record, resources, NOW)
        prefixes.append((record, resources, calls))
        if not calls:
            return prefixes
        record, resources = take(
            record, resources, calls[0], answered(calls[0], template), step + 1
        )
    raise AssertionError("the creation never ends")


def first_calls(template: Template) -> list[str]:
    return [str(calls[0]) for _, _, calls in made(template) if calls]
