"""Decrease: which instances are to go, to standby, or to come back from there?"""

import asyncio
from collections.abc import Callable, Sequence

import structlog
from msgspec import Struct

from hostler.domain.errors import RequestRefused, StoreError
from hostler.domain.ids import MachineId, is_machine_id
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.frontends.fleeting.contract import Refused
from hostler.requests.machines import stand_by, wake
from hostler.requests.recording import Accepted, Author

from .records import GroupRecords

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

_WITHOUT_STANDBY = frozenset({Phase.FAILED, Phase.PENDING})
"""The phases of machines that neither go to standby nor come back from there."""


async def decrease(records: GroupRecords, ids: Sequence[str]) -> Sequence[str]:
    """Request the deletion of each; what is deleted, or was never ours, is accepted as well."""
    machines = {machine.id: machine for machine in records.machines()}
    records.deleting &= machines.keys() | records.requested.keys()
    answers = await asyncio.gather(
        *(_delete(records, MachineId(name), machines.get(MachineId(name))) for name in ids)
    )
    records.context.engine.hear()
    return [name for name, accepted in zip(ids, answers, strict=True) if accepted]


async def _delete(records: GroupRecords, instance: MachineId, machine: Machine | None) -> bool:
    """Request the deletion of one machine; tell whether it will go, or has gone."""
    if machine is not None and machine.is_protected(records.context.clock.now()):
        log.warning("not deleted: somebody protects it", machine=instance)
        return False
    deleted = machine is None and instance not in records.requested
    requested = instance in records.deleting or (
        machine is not None and machine.deletion is not None
    )
    if deleted or requested:
        return True
    if records.lost or not is_machine_id(instance):
        return False
    try:
        await records.delete(instance, why="Decrease")
    except (StoreError, RequestRefused) as error:
        log.warning("not deleted", machine=instance, why=str(error))
        return False
    return True


class _Move(Struct, frozen=True):
    """One way between ready and standby: where it begins, its goal, and the request for it."""

    begins: Phase
    goal: Goal
    request: Callable[[Author, Fleet, Machine], Accepted]


_SUSPEND = _Move(Phase.READY, Goal.STANDBY, stand_by)
_RESUME = _Move(Phase.STANDBY, Goal.PRESENT, wake)


async def suspend(records: GroupRecords, ids: Sequence[str]) -> Sequence[str]:
    """Request standby for those that are up."""
    return await _move(records, ids, _SUSPEND)


async def resume(records: GroupRecords, ids: Sequence[str]) -> Sequence[str]:
    """Request that those in standby come back."""
    return await _move(records, ids, _RESUME)


async def _move(records: GroupRecords, ids: Sequence[str], move: _Move) -> Sequence[str]:
    """Request it of each that can; what is on its way there, or arrived, is accepted too."""
    context = records.context
    if not context.live.supports_standby:
        raise Refused("this group's provider keeps no machine in standby")
    accepted = list[str]()
    for machine in records.machines():
        if machine.id not in ids or machine.deletion is not None:
            continue
        on_its_way = machine.goal is move.goal and machine.phase not in _WITHOUT_STANDBY
        begins = machine.phase is move.begins
        if on_its_way or (begins and await _recorded(records, machine, move)):
            accepted.append(machine.id)
    context.engine.hear()
    return [name for name in ids if name in accepted]


async def _recorded(records: GroupRecords, machine: Machine, move: _Move) -> bool:
    """Record the request for one machine; tell whether that could be done."""
    try:
        await records.record(move.request(records.author(), records.context.fleet, machine))
    except StoreError as error:
        log.warning("not requested", machine=machine.id, goal=str(move.goal), why=str(error))
        return False
    return True
