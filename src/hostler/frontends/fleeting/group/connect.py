"""Reaching: where does an instance answer, and does it answer now?"""

from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.frontends.fleeting.contract import ConnectInfo, Connector, Refused
from hostler.ports.provider import Connection

from .known import Known
from .states import Aspect, aspect

_FIRST_LOOK = timedelta(seconds=8)
_STEP = timedelta(milliseconds=50)
_OLD_LOOK = timedelta(minutes=10)


async def connect_info(known: Known, asked: Connector, instance: str) -> ConnectInfo:
    """Return addresses and credentials of a machine that is up."""
    opened, machine = known.opened, known.one(instance)
    reach = await _reach(known, machine)
    static = asked.use_static_credentials
    connector = replace(
        asked,
        os=asked.os or opened.os,
        arch=asked.arch or reach.arch,
        protocol=asked.protocol or "ssh",
        protocol_port=asked.protocol_port or reach.port,
        username=asked.username or ("" if static else reach.user or opened.user),
        key=asked.key or (b"" if static else opened.key),
    )
    external = "" if reach.address == reach.internal else reach.address
    return ConnectInfo(
        id=machine.id, connector=connector, external=external, internal=reach.internal
    )


async def _reach(known: Known, machine: Machine) -> Connection:
    """Return where the machine is; right after a start, wait for the first look."""
    clock, loop = known.opened.ports.clock, known.loop
    last = clock.boot() + _FIRST_LOOK.total_seconds()
    while True:
        reach = loop.connection(machine)
        if reach is not None:
            return reach
        if loop.state.observed_once or clock.boot() >= last:
            told = machine.observed or "not seen yet"
            raise Refused(f"{machine.id} has no address now: it is {machine.phase} ({told})")
        await clock.sleep(_STEP)


async def heartbeat(known: Known, instance: str) -> None:
    """Return if the newest look and the probe find the machine well."""
    opened, machine = known.opened, known.one(instance)
    now = opened.ports.clock.now()
    if machine.phase not in {Phase.READY, Phase.DRAINING}:
        raise Refused(f"{machine.id} is {machine.phase}: {machine.reason}")
    if machine.doubt is not None and aspect(machine, opened.fleet, now) is Aspect.DOWN:
        raise Refused(f"{machine.id} is not up: {machine.doubt.what}")
    probe = opened.fleet.probe
    if probe.kind is ProbeKind.API:
        _observed_lately(known, machine, now)
        return
    reach = await _reach(known, machine)
    passed, text = await opened.ports.prober.probe(machine.id, reach, probe)
    if not passed:
        raise Refused(f"{machine.id} does not answer: {text}")


def _observed_lately(known: Known, machine: Machine, now: datetime) -> None:
    loop = known.loop
    seen = loop.state.inventory.covered(machine.offer.zone, loop.main, machine.id)
    if seen is None or now - seen > _OLD_LOOK:
        raise Refused(f"{machine.id} was not looked at for {_OLD_LOOK}: nothing is known of it")
