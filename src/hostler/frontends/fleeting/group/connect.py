"""Connect: where does an instance answer, and does it answer now?"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.frontends.fleeting.contract import ConnectInfo, Connector, Refused
from hostler.ports.provider import Connection

from .records import GroupRecords
from .states import Aspect, aspect

_OBSERVATION = timedelta(seconds=8)
_STEP = timedelta(milliseconds=50)
_OLD = timedelta(minutes=10)


async def connect_info(records: GroupRecords, asked: Connector, instance: str) -> ConnectInfo:
    """Return addresses and credentials of a machine that is up."""
    context, machine = records.context, records.machine(instance)
    connection = await _connection(records, machine)
    static = asked.use_static_credentials
    connector = replace(
        asked,
        os=asked.os or context.os,
        arch=asked.arch or connection.arch,
        protocol=asked.protocol or "ssh",
        protocol_port=asked.protocol_port or connection.port,
        username=asked.username or ("" if static else connection.user or context.user),
        key=asked.key or (b"" if static else context.key),
    )
    external = "" if connection.address == connection.internal else connection.address
    return ConnectInfo(
        id=machine.id, connector=connector, external=external, internal=connection.internal
    )


async def _connection(records: GroupRecords, machine: Machine) -> Connection:
    """Return where the machine is."""
    live = records.context.live
    await _observed(records, lambda: live.has_observed or live.connection(machine) is not None)
    connection = live.connection(machine)
    if connection is None:
        status = machine.observed or "not observed yet"
        raise Refused(f"{machine.id} has no address now: it is {machine.phase} ({status})")
    return connection


async def _observed(records: GroupRecords, is_enough: Callable[[], bool]) -> None:
    """Wait for a moment until what the engine has observed is enough.

    It may have begun or taken the lead just now, or its clock may have jumped: it observes anew
    within seconds, and a runner would take a healthy machine for one that is not.
    """
    clock = records.context.clock
    last = clock.boot() + _OBSERVATION.total_seconds()
    while not is_enough() and clock.boot() < last:
        await clock.sleep(_STEP)


async def heartbeat(records: GroupRecords, instance: str) -> None:
    """Return if the newest observation and the probe find the machine well."""
    context, machine = records.context, records.machine(instance)
    now = context.clock.now()
    if machine.phase not in {Phase.READY, Phase.DRAINING}:
        raise Refused(f"{machine.id} is {machine.phase}: {machine.reason}")
    if machine.health.doubt is not None and aspect(machine, context.fleet, now) is Aspect.DOWN:
        raise Refused(f"{machine.id} is not up: {machine.health.doubt.what}")
    probe = context.fleet.probe
    if probe.kind is ProbeKind.API:
        await _require_recent_observation(records, machine)
        return
    connection = await _connection(records, machine)
    passed, text = await context.prober.probe(machine.id, connection, probe)
    if not passed:
        raise Refused(f"{machine.id} does not answer: {text}")


async def _require_recent_observation(records: GroupRecords, machine: Machine) -> None:
    clock, live = records.context.clock, records.context.live

    def is_recent() -> bool:
        observed = live.observed_at(machine)
        return observed is not None and clock.now() - observed <= _OLD

    await _observed(records, is_recent)
    if not is_recent():
        since = f"for {_OLD}" if live.observed_at(machine) is not None else "yet"
        raise Refused(f"{machine.id} was not observed {since}: nothing is known of it")
