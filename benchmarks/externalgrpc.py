"""Cluster Autoscaler's calls over a fleet of a thousand nodes: latencies, and what they cost.

The frontend serves from a process of its own, over the records of an engine that stands still; the
caller is gRPC's other half on loopback, so its own time is in every latency.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from unittest.mock import Mock

from figures import Figure, show
from google.protobuf.message import Message
from grpclib.client import Channel, UnaryUnaryMethod
from msgspec.structs import replace

from hostler.app.clock import SystemClock
from hostler.app.collector import collect_seldom
from hostler.app.null_metrics import NullMetrics
from hostler.config.node_tables import NodeTable
from hostler.config.values import ExternalGrpc, Listen
from hostler.controllers.runtime.settings import Ports
from hostler.domain.ids import HostId, InstallationId, machine_id
from hostler.domain.model.fleet import Fleet
from hostler.domain.model.machine import Machine, MachineHealth, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import Resource
from hostler.domain.reporting.hosts import HostStatus
from hostler.domain.reporting.room import room
from hostler.frontends.externalgrpc.group import open_group
from hostler.frontends.externalgrpc.schema import METHODS, SERVICE, class_of, message
from hostler.frontends.externalgrpc.serve import serving
from hostler.frontends.externalgrpc.service import CloudProvider
from hostler.queries.live import LiveRecords
from hostler.stores.memory import MemoryStore
from hostler.testing.fakes.prober import FakeProber
from hostler.testing.scenes.builders import BEGIN, FLEET, OFFER
from hostler.testing.scenes.hosts import box

NODES, CALLS, WARM = 1000, 2000, 200
GROUP = replace(FLEET, size=0, maximum=2 * NODES, renews=False)
BOX = box()
TICKS = os.sysconf("SC_CLK_TCK")


def machine(number: int) -> Machine:
    """Return one that is ready."""
    return Machine(
        id=machine_id(number),
        fleet=GROUP.name,
        serial=number,
        created=BEGIN,
        phase=Phase.READY,
        since=BEGIN,
        offer=OFFER,
        host=HostId(f"box-{number}"),
        health=MachineHealth(was_ready=BEGIN),
    )


def provider_id(of: Machine) -> str:
    """Return what a machine's node is called."""
    return f"bench://{of.host}"


def _fits(offer: Offer, resource: Resource) -> str:
    del offer, resource
    return ""


def records() -> LiveRecords:
    """Return what an engine has on record that stands still."""
    machines = tuple(machine(number) for number in range(1, NODES + 1))
    live = Mock(spec=LiveRecords, has_observed=True)
    live.row.return_value = None
    live.machines.return_value = machines
    live.creation_blocker.return_value = ""
    hosts = [
        HostStatus(id=one.host, account=GROUP.account, resource=BOX, binding=one.id)
        for one in machines
        if one.host is not None
    ]
    known = {one.id for one in machines}

    def room_of(fleet: Fleet, now: datetime) -> int:
        return room(hosts, known, fleet, _fits, now)

    live.room.side_effect = room_of
    live.provider_id.side_effect = provider_id
    return live


async def serve() -> None:
    """Serve until standard input ends."""
    clock = SystemClock()
    store = MemoryStore(InstallationId("bench"))
    ports = Ports(
        store=store,
        clock=clock,
        prober=FakeProber(),
        metrics=NullMetrics(),
        fresh=lambda: machine_id(1),
    )
    provider = CloudProvider()
    asked = ExternalGrpc(listen=Listen(host="127.0.0.1", port=0), tls=None, groups=())
    async with serving(asked, Path(), provider) as listen:
        group = await open_group(
            GROUP, NodeTable(cpu="4", memory="8Gi"), records(), ports, lambda: None
        )
        provider.attach([group])
        collect_seldom()
        print(listen.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


CASES: Mapping[str, Mapping[str, object]] = {
    "NodeGroupForNode": {"node": {"providerID": f"bench://box-{NODES // 2}", "name": "x"}},
    "NodeGroupTargetSize": {"id": GROUP.name},
    "NodeGroupNodes": {"id": GROUP.name},
    "NodeGroupTemplateNodeInfo": {"id": GROUP.name},
    "Refresh": {},
}


async def latencies(channel: Channel, name: str, fields: Mapping[str, object]) -> list[float]:
    """Return the milliseconds of many calls, one after the other, the shortest first."""
    kinds = (class_of(f"{METHODS[name]}{half}") for half in ("Request", "Response"))
    call = UnaryUnaryMethod[Message, Message](channel, f"/{SERVICE}/{name}", *kinds)
    request, found = message(f"{METHODS[name]}Request", **fields), list[float]()
    many = CALLS // 10 if name == "NodeGroupNodes" else CALLS
    for number in range(WARM + many):
        begun = time.perf_counter()
        await call(request)
        if number >= WARM:
            found.append(1000 * (time.perf_counter() - begun))
    return sorted(found)


def cpu_of(process: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


async def measure(port: int, process: int) -> list[Figure]:
    """Call, and return what it took."""
    found = list[Figure]()
    channel = Channel("127.0.0.1", port)
    try:
        for name, fields in CASES.items():
            before = cpu_of(process)
            took = await latencies(channel, name, fields)
            cpu = (cpu_of(process) - before) / (len(took) + WARM) * 1000
            goal = 1.0 if name == "NodeGroupForNode" else 20.0
            title = f"externalgrpc over {NODES:,}: {name}"
            found += [
                Figure(f"{title} p50 (wall)", None, took[len(took) // 2], "ms"),
                Figure(f"{title} p99 (wall)", goal, took[len(took) * 99 // 100], "ms"),
                Figure(f"{title}, CPU of 1,000 calls", None, cpu, "s"),
            ]
    finally:
        channel.close()
    return found


def main() -> None:
    """Serve in a process of its own, call it, and print the figures."""
    if "serve" in sys.argv:
        asyncio.run(serve())
        return
    words = [sys.executable, __file__, "serve"]
    with subprocess.Popen(  # noqa: S603 - ourselves
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        port = int(server.stdout.readline())
        show(asyncio.run(measure(port, server.pid)))
        server.stdin.close()


if __name__ == "__main__":
    main()
