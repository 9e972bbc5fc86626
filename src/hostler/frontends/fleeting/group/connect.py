"""Connect: where does an instance answer, and does it answer now?"""

from dataclasses import replace
from datetime import datetime, timedelta

from hostler.domain.model.fleet import ProbeKind
from hostler.domain.model.machine import Machine
from hostler.domain.model.phases import Phase
from hostler.frontends.fleeting.contract import ConnectInfo, Connector, Refused
from hostler.ports.provider import Connection

from .records import GroupRecords
from .states import Aspect, aspect

_FIRST_OBSERVATION = timedelta(seconds=8)
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
    """Return where the machine is; right after a start, wait for the first observation."""
    clock, live = records.context.clock, records.context.live
    last = clock.boot() + _FIRST_OBSERVATION.total_seconds()
    while True:
        connection = live.connection(machine)
        if connection is not None:
            return connection
        if live.has_observed or clock.boot() >= last:
            status = machine.observed or "not observed yet"
            raise Refused(f"{machine.id} has no address now: it is {machine.phase} ({status})")
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
        _require_recent_observation(records, machine, now)
        return
    connection = await _connection(records, machine)
    passed, text = await context.prober.probe(machine.id, connection, probe)
    if not passed:
        raise Refused(f"{machine.id} does not answer: {text}")


def _require_recent_observation(records: GroupRecords, machine: Machine, now: datetime) -> None:
    observed = records.context.live.observed_at(machine)
    if observed is None or now - observed > _OLD:
        raise Refused(f"{machine.id} was not observed for {_OLD}: nothing is known of it")
