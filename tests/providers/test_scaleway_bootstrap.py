"""Bootstrap data of one machine: on its server before that is first switched on, nowhere else."""

import dataclasses
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from msgspec.structs import replace
from scaleway_kit import (
    FLEET,
    INSTANCE,
    MACHINE,
    ZONE,
    HandClock,
    machine,
    provider,
    server_body,
)
from scaleway_steps import FULL, made
from structlog.testing import capture_logs

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused
from hostler.domain.model.machine import BootstrapFormat, MachineSpec
from hostler.domain.model.resource import Slot
from hostler.ports.bootstrap import BootstrapRefused, BootstrapUnavailable
from hostler.ports.http import NotSent
from hostler.providers.scaleway.common.settings import LARGEST_USER_DATA, Template
from hostler.testing.peers.exchanges import Exchange, Script, answer

PLACE = "secret/fleet/w-1"
TOKEN = b"abcdef.0123456789abcdef"
DATA = b"#cloud-config\nruncmd: [kubeadm join --token " + TOKEN + b"]\n"
PLAIN = Template(image="aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", ipv4=False)
FLEETS = dataclasses.replace(PLAIN, cloud_init="#cloud-config\npackages: [curl]\n")
WHOSE = (("fleet", str(FLEET)), ("machine", str(MACHINE)))
SPEC = MachineSpec(bootstrap=PLACE)
PATH = f"{INSTANCE}/servers/srv-1/user_data/cloud-init"


@dataclass(slots=True)
class Places:
    """Bootstrap data by its place, which may change; reading takes its time on a clock."""

    data: bytes | BootstrapUnavailable | BootstrapRefused = DATA
    clock: HandClock = field(default_factory=HandClock)
    takes: timedelta = timedelta(0)
    asked: list[str] = field(default_factory=list[str])

    async def read(self, place: str) -> bytes:
        self.asked.append(place)
        await self.clock.sleep(self.takes)
        if isinstance(self.data, bytes):
            return self.data
        raise self.data


def tell() -> Call:
    return Call(
        kind="server.user_data",
        slot=Slot("server"),
        zone=ZONE,
        effect=Effect.CHANGE,
        target=ResourceId("srv-1"),
        args=(*WHOSE, ("bootstrap", PLACE)),
    )


def make() -> Call:
    args = (*WHOSE, ("name", "web-1"), ("type", "DEV1-S"), ("image", PLAIN.image))
    return Call(
        kind="server.create",
        slot=Slot("server"),
        zone=ZONE,
        effect=Effect.MAKE,
        attempt=1,
        once=True,
        args=(*args, ("bootstrap", PLACE)),
    )


async def done(
    call: Call, places: Places, *exchanges: Exchange, template: Template = PLAIN
) -> tuple[Outcome, Script]:
    script = Script(list(exchanges))
    account = provider(script, template, places.clock, bootstraps=places)
    outcome = await account.do(call)
    script.finish()
    return outcome, script


def writing() -> Exchange:
    return Exchange(method="PATCH", path=PATH, answer=answer(None, 204))


def steps(template: Template, spec: MachineSpec = SPEC) -> list[Call]:
    """Return the calls of a whole creation."""
    prefixes = made(template, replace(machine(), spec=spec))
    return [calls[0] for _, _, calls in prefixes if calls]


# ---------------------------------------------------------------- in which order


def test_a_server_gets_its_machines_data_before_it_is_first_switched_on() -> None:
    kinds = [call.kind for call in steps(PLAIN)]
    assert kinds.index("server.create") < kinds.index("server.user_data")
    assert kinds[-1] == "server.poweron"
    assert "server.user_data" not in [call.kind for call in steps(PLAIN, MachineSpec())]


def test_calls_say_where_the_data_is() -> None:
    calls = steps(FULL)
    args = {call.kind: dict(call.args) for call in calls}
    assert args["server.create"]["bootstrap"] == PLACE
    assert args["server.user_data"] == {
        "fleet": str(FLEET),
        "machine": str(MACHINE),
        "bytes": len(FULL.cloud_init),
        "bootstrap": PLACE,
    }
    assert "bootstrap" not in args["server.poweron"]


def test_servers_take_what_cloud_init_takes() -> None:
    assert provider().capabilities.bootstraps == frozenset(BootstrapFormat)


# ---------------------------------------------------------------- what is written


async def test_the_data_alone_is_written_as_it_is() -> None:
    outcome, script = await done(tell(), Places(), writing())
    assert outcome == Done()
    assert script.asked[0].body == DATA


async def test_the_fleets_own_stands_before_it() -> None:
    _, script = await done(tell(), Places(), writing(), template=FLEETS)
    body = script.asked[0].body
    assert body.startswith(b"Content-Type: multipart/mixed")
    assert 0 < body.index(b"packages: [curl]") < body.index(TOKEN)


async def test_each_try_reads_it_again_for_its_tokens_are_renewed() -> None:
    places = Places()
    _, first = await done(tell(), places, writing())
    places.data = DATA.replace(TOKEN, b"fedcba.0123456789abcdef")
    _, second = await done(tell(), places, writing())
    assert places.asked == [PLACE, PLACE]
    assert first.asked[0].body != second.asked[0].body


async def test_the_same_data_is_the_same_text_at_each_try() -> None:
    tries = [await done(tell(), Places(), writing(), template=FLEETS) for _ in range(2)]
    assert len({script.asked[0].body for _, script in tries}) == 1


# ---------------------------------------------------------------- what cannot be written


@pytest.mark.parametrize("call", [make(), tell()])
async def test_data_that_is_gone_is_waited_for_and_nothing_is_made(call: Call) -> None:
    outcome, script = await done(call, Places(BootstrapUnavailable("the Secret w-1 is gone")))
    assert isinstance(outcome, Refused)
    assert (outcome.why, outcome.text) == (Refusal.NOT_SENT, "the Secret w-1 is gone")
    assert script.asked == []


@pytest.mark.parametrize("call", [make(), tell()])
@pytest.mark.parametrize(
    ("data", "template", "why"),
    [
        (BootstrapRefused("it is 'ignition'"), PLAIN, "ignition"),
        (b"#!" + b"x" * LARGEST_USER_DATA, PLAIN, "128,000 bytes"),
        (b"version: v1alpha1 " + TOKEN, FLEETS, "cannot be joined"),
        (b"\xff\xfe" + TOKEN, FLEETS, "is no text"),
    ],
)
async def test_data_that_no_server_takes_is_refused_for_good_and_nothing_is_made(
    call: Call, data: bytes | BootstrapRefused, template: Template, why: str
) -> None:
    outcome, script = await done(call, Places(data), template=template)
    assert isinstance(outcome, Refused)
    assert (outcome.why, script.asked) == (Refusal.BOOTSTRAP, [])
    assert why in outcome.text
    assert TOKEN.decode() not in outcome.text


async def test_as_much_as_a_server_takes_is_written() -> None:
    most = b"#!" + b"x" * (LARGEST_USER_DATA - 2)
    outcome, script = await done(tell(), Places(most), writing())
    assert outcome == Done()
    assert len(script.asked[0].body) == LARGEST_USER_DATA


async def test_what_took_too_long_to_be_read_is_not_written() -> None:
    """By then somebody else may lead."""
    outcome, script = await done(tell(), Places(takes=timedelta(seconds=11)))
    assert isinstance(outcome, Refused)
    assert (outcome.why, script.asked) == (Refusal.NOT_SENT, [])


async def test_a_server_is_made_where_the_data_can_be_read() -> None:
    came = answer({"server": server_body(public_ips=[], volumes={})}, 201)
    outcome, script = await done(
        make(), Places(), Exchange(method="POST", path=f"{INSTANCE}/servers", answer=came)
    )
    assert isinstance(outcome, Done)
    assert TOKEN not in script.asked[0].body


# ---------------------------------------------------------------- where it never is


async def test_no_log_call_or_outcome_has_a_word_of_it() -> None:
    bad = Exchange(method="PATCH", path=PATH, answer=answer({"type": "internal"}, 500))
    lost = Exchange(method="PATCH", path=PATH, answer=NotSent("no route"))
    with capture_logs() as logs:
        found = [await done(tell(), Places(), one) for one in (writing(), bad, lost)]
    seen = repr((logs, tell(), [outcome for outcome, _ in found]))
    assert TOKEN.decode() not in seen
