"""Shrinking: which instances are to go, to standby, or to come back from there?"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import structlog

from hostler.domain.errors import StoreError
from hostler.domain.ids import MachineId, is_machine_id
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Goal, Phase
from hostler.domain.model.snapshot import RequestKind
from hostler.frontends.fleeting.contract import Refused

from .known import Known

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.fleeting")

_ENDS = frozenset({Phase.FAILED, Phase.PENDING})
"""What neither goes to standby nor comes back from there."""


async def decrease(known: Known, ids: Sequence[str]) -> Sequence[str]:
    """Wish the end of each; what is gone, or was never ours, has ended."""
    machines = {machine.id: machine for machine in known.machines()}
    known.ended &= machines.keys() | known.named.keys()
    answers = await asyncio.gather(
        *(_end(known, name, machines.get(MachineId(name))) for name in ids)
    )
    known.opened.engine.hear()
    return [name for name, accepted in zip(ids, answers, strict=True) if accepted]


async def _end(known: Known, name: str, machine: Machine | None) -> bool:
    """Wish the end of one machine; tell whether it will go, or has gone."""
    own, ports = MachineId(name), known.opened.ports
    if machine is not None and machine.is_protected(ports.clock.now()):
        log.warning("not ended: somebody holds it", machine=name)
        return False
    going = machine is None and own not in known.named
    if going or own in known.ended or (machine is not None and machine.deletion is not None):
        return True
    if known.lost or not is_machine_id(name):
        return False
    request = replace(known.request(RequestKind.DELETE), machine=own, now=True, why="Decrease")
    try:
        await ports.store.request(request)
    except StoreError as error:
        log.warning("not ended", machine=name, why=str(error))
        return False
    known.ended.add(own)
    return True


async def suspend(known: Known, ids: Sequence[str]) -> Sequence[str]:
    """Wish that those which are up go to standby."""
    return await _stand_by(known, RequestKind.STANDBY, ids, Phase.READY, Goal.STANDBY)


async def resume(known: Known, ids: Sequence[str]) -> Sequence[str]:
    """Wish that those which stand by come back."""
    return await _stand_by(known, RequestKind.WAKE, ids, Phase.STANDBY, Goal.PRESENT)


async def _stand_by(
    known: Known, kind: RequestKind, ids: Sequence[str], begins: Phase, goal: Goal
) -> Sequence[str]:
    """Wish it of each that can; what is on its way there, or arrived, is accepted too."""
    opened = known.opened
    if not known.loop.rests:
        raise Refused("this group's provider keeps no machine in standby")
    accepted = list[str]()
    for machine in known.machines():
        if machine.id not in ids or machine.deletion is not None:
            continue
        if machine.goal is goal and machine.phase not in _ENDS:
            accepted.append(machine.id)
        elif machine.phase is begins:
            await opened.ports.store.request(replace(known.request(kind), machine=machine.id))
            accepted.append(machine.id)
    opened.engine.hear()
    return [name for name in ids if name in accepted]
