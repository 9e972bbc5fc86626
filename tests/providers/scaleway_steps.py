"""Prefixes of a creation, as the engine folds it: what the tests of next_calls start from."""

from dataclasses import replace
from datetime import timedelta

from scaleway_kit import NOW, ZONE, claim, machine, provider

from hostler.domain.ids import Epoch, PartId
from hostler.domain.model.calls import Call, Done, Effect, Outcome
from hostler.domain.model.machine import Machine, ask
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Part, Slot
from hostler.domain.observation.outcomes import fold, fold_parts
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
            return Done(parts=(part(call.slot, f"ip-{call.slot.index}", Condition.FREE),))
        case "server.create":
            volumes = (
                part(Slot("volume", i), f"vol-{i}", Condition.BUSY, owner=PartId("srv-1"))
                for i in range(len(template.volumes))
            )
            addresses = (
                part(Slot("address", i), f"ip-{i}", Condition.BUSY, owner=PartId("srv-1"))
                for i in template.addresses
            )
            return Done(parts=(server(Condition.OFF, STOPPED), *volumes, *addresses))
        case "server.poweron":
            return Done(parts=(server(Condition.STARTING, ()),))
        case _:
            return (
                Done(gone=(call.target,))
                if call.effect is Effect.DESTROY and call.target
                else Done()
            )


def part(slot: Slot, id_: str, condition: Condition, **fields: object) -> Part:
    base = Part(
        id=PartId(id_),
        slot=slot,
        zone=ZONE,
        mark=claim(slot).mark,
        condition=condition,
        notes=(("type", "sbs_volume"),),
    )
    return replace(base, **fields)


def server(condition: Condition, allowed: tuple[str, ...], **fields: object) -> Part:
    return part(Slot("server"), "srv-1", condition, **{"allowed": allowed, "notes": (), **fields})


State = tuple[Machine, tuple[Part, ...]]
Prefix = tuple[Machine, tuple[Part, ...], tuple[Call, ...]]


def take(
    record: Machine, parts: tuple[Part, ...], call: Call, outcome: Outcome, step: int
) -> State:
    """Fold one call and its outcome, as the engine does."""
    now = NOW + timedelta(seconds=step)
    if call.once:
        record = ask(record, call, now, Epoch(1))
    return fold(record, call, outcome, now), fold_parts(parts, outcome)


def made(template: Template) -> list[Prefix]:
    """Return every prefix of a creation: the record and parts before each call, and the call."""
    source = provider(template=template)
    record, parts = machine(), tuple[Part, ...]()
    prefixes = list[Prefix]()
    for step in range(40):
        calls = source.next_calls(Goal.PRESENT, record, parts, NOW)
        prefixes.append((record, parts, calls))
        if not calls:
            return prefixes
        record, parts = take(record, parts, calls[0], answered(calls[0], template), step + 1)
    raise AssertionError("the creation never ends")


def first_calls(template: Template) -> list[str]:
    return [str(calls[0]) for _, _, calls in made(template) if calls]
