"""The rest of the port: secrets, logs, connections, costs."""

from collections.abc import Generator

import pytest
import structlog
from msgspec.structs import replace
from scaleway_kit import (
    FLEET,
    HOME,
    INSTANCE,
    MACHINE,
    NOW,
    SECRET,
    ZONE,
    HandClock,
    account,
    machine,
    provider,
)
from structlog.testing import capture_logs

from hostler.domain.errors import ConfigError
from hostler.domain.ids import FleetName, InstallationId, ResourceId, Zone
from hostler.domain.model.calls import Call, Effect, Outcome, Refused
from hostler.domain.model.phases import Goal
from hostler.domain.model.resource import Condition, Resource, Scope, Slot
from hostler.ports.http import NoAnswer
from hostler.providers.scaleway.common.client import Client
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.providers.scaleway.common.wire import Server
from hostler.providers.scaleway.instances.observe.read import Reader
from hostler.providers.scaleway.instances.provider import Instances
from hostler.testing.peers.exchanges import Exchange, Script, answer

TEMPLATE = Template(
    cloud_init="#cloud-config\n",
    disks=(Disk(size=10, type="l_ssd"),),
    tags=("team=a",),
    security_group="sg-1",
    placement_group="pg-1",
)
WHOSE = (("fleet", str(FLEET)), ("machine", str(MACHINE)))


def call(kind: str, slot: Slot, target: str | None = None, **fields: object) -> Call:
    base = Call(
        kind=kind,
        slot=slot,
        zone=ZONE,
        effect=Effect.CHANGE,
        target=ResourceId(target) if target else None,
        attempt=2,
        args=WHOSE,
    )
    return replace(base, **fields)


def create(image: str = "ubuntu_noble") -> Call:
    args = (
        *WHOSE,
        ("name", "web-1"),
        ("type", "DEV1-S"),
        ("image", image),
        ("addresses", ("ip-1",)),
    )
    return call("server.create", Slot("server"), effect=Effect.MAKE, once=True, args=args)


def asked(method: str, path: str, sent: object, came: object = None, status: int = 200) -> Exchange:
    return Exchange(method=method, path=path, sent=sent, answer=answer(came, status))


async def done(call_: Call, *exchanges: Exchange, template: Template = TEMPLATE) -> Outcome:
    script = Script(list(exchanges))
    outcome = await provider(script, template).do(call_)
    script.finish()
    return outcome


@pytest.fixture
def _all_logs() -> Generator[None]:
    """Log everything, however another test has set up the logs of this process."""
    saved = structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.configure(**saved)


@pytest.mark.usefixtures("_all_logs")
async def test_the_secret_is_sent_in_its_header_and_shown_nowhere():
    echo = answer(
        {"type": SECRET, "message": f"bad key {SECRET}", "details": [{"resource": SECRET}]},
        400,
        headers=(("X-Request-Id", f"req {SECRET}"),),
    )
    script = Script(
        [
            Exchange(method="POST", path=f"{INSTANCE}/ips", answer=echo),
            Exchange(method="GET", path=f"{INSTANCE}/servers", answer=NoAnswer(f"x {SECRET}")),
        ]
    )
    source = provider(script)
    with capture_logs() as logs:
        outcome = await source.do(source.next_calls(Goal.PRESENT, machine(), (), NOW)[0])
        observation = await source.observe((Scope(ZONE, "server", MACHINE),))
    assert ("X-Auth-Token", SECRET) in script.asked[0].headers
    assert isinstance(outcome, Refused)
    assert "bad key ***" in outcome.text
    assert {entry["log_level"] for entry in logs} == {"debug", "warning"}
    displayed = repr((outcome, observation, logs, script.asked, account(), account().secret_key))
    assert SECRET not in displayed
    assert SECRET not in f"{account().secret_key} {account().secret_key!r:>9}"


@pytest.mark.usefixtures("_all_logs")
async def test_each_call_is_logged_with_its_request_id():
    headers = (("X-Request-Id", "req-7"),)
    ok = Exchange(
        method="DELETE", path=f"{INSTANCE}/ips/ip-1", answer=answer(None, 204, headers=headers)
    )
    busy = Exchange(
        method="DELETE",
        path=f"{INSTANCE}/ips/ip-1",
        answer=answer({"type": "locked", "message": "m"}, 423, headers=headers),
    )
    deleted = call("ip.delete", Slot("address"), "ip-1", effect=Effect.DESTROY)
    with capture_logs() as logs:
        await done(deleted, ok)
        await done(deleted, busy)
    called, _, refused = logs
    assert called["log_level"] == "debug"
    assert (called["event"], called["status"], called["request"]) == ("called", 204, "req-7")
    assert (refused["log_level"], refused["type"], refused["request"]) == (
        "warning",
        "locked",
        "req-7",
    )


# ------------------------------------------------------------------ the rest of the port


def test_a_machine_that_is_up_can_be_reached():
    record = machine()
    place = replace(record.place(Slot("server")), bound=ResourceId("srv-1"))
    record = record.with_place(place)
    source = provider(template=Template(user="admin"))
    up = replace(resource_of("running"), address="51.15.0.1")
    found = source.connection(record, (up,))
    assert found is not None
    assert (found.address, found.user) == ("51.15.0.1", "admin")
    assert source.connection(record, (replace(up, address=""),)) is None
    assert source.connection(record, (replace(up, condition=Condition.UNKNOWN),)) == found
    for down in (Condition.STARTING, Condition.OFF, Condition.FAILED, Condition.LOCKED):
        assert source.connection(record, (replace(up, condition=down),)) is None
    assert source.connection(machine(), (up,)) is None


def resource_of(state: str) -> Resource:
    return Reader(ZONE).server(Server(id="srv-1", state=state))


def test_costs_are_requests():
    source = provider()
    known = (ResourceId("a"), ResourceId("b"))
    assert source.cost(Scope(ZONE, "server")) == 1
    assert source.cost(Scope(ZONE, "volume")) == 2
    assert source.cost(Scope(ZONE, "server", MACHINE, known)) == 3
    assert source.cost(create()) == 2
    assert source.cost(call("ip.delete", Slot("address"), "x")) == 1


def test_a_fleet_that_no_owner_tag_can_hold_is_refused():
    client = Client(Script([]), account(), HandClock())
    for installation, fleet in ((HOME, "a b"), ("a=,b", "web")):
        with pytest.raises(ConfigError, match="cannot be written into an owner tag"):
            Instances(
                client,
                HandClock(),
                installation=InstallationId(installation),
                zones=(ZONE,),
                templates={FleetName(fleet): Template()},
            )


async def test_closing_gives_back_the_connections():
    script = Script([])
    await provider(script).close()
    assert script.closed


def test_traits_say_what_the_engine_must_know():
    capabilities = provider(zones=(ZONE, Zone("nl-ams-1"))).capabilities
    assert capabilities.kinds == ("server", "address", "volume")
    assert capabilities.main == Slot("server")
    assert capabilities.zones == (ZONE, "nl-ams-1")
    assert capabilities.standby
