"""What the tests of the Scaleway provider share: names, bodies, and a clock moved by hand."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hostler.domain.ids import FleetName, InstallationId, MachineId, Zone
from hostler.domain.model.machine import Machine, Offer
from hostler.domain.model.phases import Phase
from hostler.domain.model.resource import OwnerTag, Slot
from hostler.ports.bootstrap import ReadsBootstraps
from hostler.ports.secret import Secret
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.owner_tags import Claim, tags_of
from hostler.providers.scaleway.common.settings import Account, Template
from hostler.providers.scaleway.instances.provider import Instances
from hostler.testing.peers.exchanges import Exchange, Script, answer

NOW = datetime(2026, 8, 1, 12, 0, tzinfo=UTC)
ZONE = Zone("fr-par-1")
HOME = InstallationId("home1234")
FLEET = FleetName("web")
MACHINE = MachineId("m-abcdefghij")
SECRET = "11111111-2222-3333-4444-555555555555"
PROJECT = "proj-1"
INSTANCE = f"/instance/v1/zones/{ZONE}"
BLOCK = f"/block/v1/zones/{ZONE}"


@dataclass(slots=True)
class HandClock:
    """A clock that stands still until it is moved."""

    at: datetime = NOW
    slept: list[timedelta] = field(default_factory=list[timedelta])

    def now(self) -> datetime:
        return self.at

    def boot(self) -> float:
        return (self.at - NOW).total_seconds()

    async def sleep(self, time: timedelta) -> None:
        self.slept.append(time)
        self.at += time


def account() -> Account:
    return Account(project=PROJECT, secret_key=Secret(SECRET))


def provider(
    script: Script | None = None,
    template: Template | None = None,
    clock: HandClock | None = None,
    zones: tuple[Zone, ...] = (ZONE,),
    bootstraps: ReadsBootstraps | None = None,
) -> Instances:
    clock = clock or HandClock()
    client = Client(script or Script([]), account(), clock)
    return Instances(
        client,
        clock,
        installation=HOME,
        zones=zones,
        templates={FLEET: template or Template()},
        bootstraps=bootstraps,
    )


def machine(zone: Zone = ZONE) -> Machine:
    return Machine(
        id=MACHINE,
        fleet=FLEET,
        serial=1,
        created=NOW,
        phase=Phase.STARTING,
        version=1,
        since=NOW,
        offer=Offer("DEV1-S", zone, "ubuntu_noble"),
    )


def claim(slot: Slot, attempt: int = 1, machine: MachineId = MACHINE, home: str = HOME) -> Claim:
    owner_tag = OwnerTag(
        installation=InstallationId(home), fleet=FLEET, machine=machine, attempt=attempt
    )
    return Claim(owner_tag, slot)


def tags(slot: Slot, attempt: int = 1, machine: MachineId = MACHINE, home: str = HOME) -> list[str]:
    return list(tags_of(claim(slot, attempt, machine, home)))


def server_body(
    server: str = "srv-1", state: str = "stopped", **fields: object
) -> dict[str, object]:
    allowed = {
        "stopped": ["poweron", "backup"],
        "starting": ["stop_in_place", "backup"],
        "running": ["poweroff", "terminate", "reboot", "stop_in_place", "backup"],
        "stopping": ["stop_in_place", "backup"],
        "stopped in place": ["poweron", "poweroff", "terminate", "reboot", "backup"],
    }
    return {
        "id": server,
        "name": "web-1",
        "state": state,
        "commercial_type": "DEV1-S",
        "project": PROJECT,
        "tags": tags(Slot("server")),
        "allowed_actions": allowed.get(state, []),
        "public_ips": [],
        "private_nics": [],
        "volumes": {"0": {"id": "vol-1", "volume_type": "sbs_volume", "zone": ZONE}},
        "creation_date": "2026-07-30T12:54:36.209806+00:00",
        "protected": False,
        **fields,
    }


def ip_body(ip: str = "ip-1", **fields: object) -> dict[str, object]:
    return {
        "id": ip,
        "address": "51.15.0.1",
        "prefix": None,
        "type": "routed_ipv4",
        "state": "detached",
        "server": None,
        "project": PROJECT,
        "tags": tags(Slot("address", 0)),
        **fields,
    }


def block_body(volume: str = "vol-1", **fields: object) -> dict[str, object]:
    return {
        "id": volume,
        "name": "x",
        "type": "sbs_5k",
        "size": 20_000_000_000,
        "status": "in_use",
        "project_id": PROJECT,
        "tags": tags(Slot("volume", 0)),
        "references": [
            {
                "product_resource_type": "instance_server",
                "product_resource_id": "srv-1",
                "status": "attached",
            }
        ],
        "specs": {"perf_iops": 5000, "class": "sbs"},
        "created_at": "2026-07-30T12:54:36.209806Z",
        **fields,
    }


def listed(key: str, *bodies: object, total: int | None = None) -> tuple[dict[str, object], int]:
    return {key: list(bodies)}, len(bodies) if total is None else total


def get(path: str, body: object, *, query: tuple[tuple[str, str], ...] = ()) -> Exchange:
    return Exchange(method="GET", path=path, query=query, answer=answer(body))


def page(
    path: str, key: str, *bodies: object, total: int | None = None, number: int = 1
) -> Exchange:
    count = len(bodies) if total is None else total
    return Exchange(
        method="GET",
        path=path,
        query=(("page", str(number)),),
        answer=answer({key: list(bodies)}, headers=(("X-Total-Count", str(count)),)),
    )


def block_page(*bodies: object, query: tuple[tuple[str, str], ...] = ()) -> Exchange:
    return Exchange(
        method="GET",
        path=f"{BLOCK}/volumes",
        query=query,
        answer=answer({"volumes": list(bodies), "total_count": len(bodies)}),
    )


def no_prices() -> Exchange:
    return get(f"{INSTANCE}/products/servers", {"servers": {"DEV1-S": {"hourly_price": 0.01368}}})
