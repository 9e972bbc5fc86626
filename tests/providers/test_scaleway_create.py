"""How a server is made: its body, its image, and what a refusal or a lost answer comes to."""

import pytest
from msgspec.structs import replace
from scaleway_kit import (
    FLEET,
    INSTANCE,
    MACHINE,
    NOW,
    PROJECT,
    ZONE,
    HandClock,
    claim,
    get,
    provider,
    server_body,
    tags,
)

from hostler.domain.ids import ResourceId
from hostler.domain.model.calls import Call, Done, Effect, Outcome, Refusal, Refused, Unknown
from hostler.domain.model.resource import Condition, Slot
from hostler.ports.http import NoAnswer, NotSent
from hostler.providers.scaleway.common.owner_tags import name_of
from hostler.providers.scaleway.common.settings import Disk, Template
from hostler.testing.peers.exchanges import Exchange, Script, answer

UUID = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
TEMPLATE = Template(
    cloud_init="#cloud-config\n",
    disks=(Disk(size=10, type="l_ssd"),),
    tags=("team=a",),
    security_group="sg-1",
    placement_group="pg-1",
)
WHOSE = (("fleet", str(FLEET)), ("machine", str(MACHINE)))
IMAGES = "/marketplace/v2/local-images"
MISSING = answer({"type": "not_found", "message": "resource is not found"}, 404)


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


def images(*entries: dict[str, object]) -> Exchange:
    body = {"local_images": list(entries), "total_count": len(entries)}
    query = (("image_label", "ubuntu_noble"), ("zone", str(ZONE)), ("type", "instance_sbs"))
    return get(IMAGES, body, query=query)


ARM: dict[str, object] = {"id": "img-arm", "compatible_commercial_types": ["COPARM1-2C-8G"]}
X86: dict[str, object] = {"id": "img-x86", "compatible_commercial_types": ["PRO2-S", "DEV1-S"]}


async def test_a_server_is_made_with_tagged_volumes_and_its_addresses():
    body = {
        "name": "web-1",
        "commercial_type": "DEV1-S",
        "image": "img-x86",
        "project": PROJECT,
        "tags": [*tags(Slot("server"), 2), "team=a"],
        "dynamic_ip_required": False,
        "public_ips": ["ip-1"],
        "security_group": "sg-1",
        "placement_group": "pg-1",
        "volumes": {
            "0": {
                "name": name_of(claim(Slot("volume", 0), 2)),
                "size": 20_000_000_000,
                "volume_type": "sbs_volume",
                "boot": True,
            },
            "1": {
                "name": name_of(claim(Slot("volume", 1), 2)),
                "size": 10_000_000_000,
                "volume_type": "l_ssd",
            },
        },
    }
    came = server_body(
        tags=body["tags"],
        volumes={
            "0": {"id": "vol-0", "volume_type": "sbs_volume"},
            "1": {"id": "vol-1", "volume_type": "l_ssd", "name": "x"},
        },
        public_ips=[
            {"id": "ip-1", "family": "inet", "state": "attached", "tags": tags(Slot("address"))}
        ],
    )
    outcome = await done(
        create(),
        images(ARM, X86),
        asked("POST", f"{INSTANCE}/servers", body, {"server": came}, 201),
    )
    assert isinstance(outcome, Done)
    server, root, data, address = outcome.resources
    assert (server.id, server.slot, server.condition) == ("srv-1", Slot("server"), Condition.OFF)
    assert server.allowed == ("poweron", "backup")
    for index, volume in enumerate((root, data)):
        slot = Slot("volume", index)
        assert (volume.id, volume.slot, volume.owner) == (f"vol-{index}", slot, "srv-1")
        assert volume.owner_tag == claim(slot, 2).owner_tag
        assert volume.condition is Condition.BUSY
    assert (address.id, address.slot, address.owner) == ("ip-1", Slot("address", 0), "srv-1")


async def test_an_image_id_is_used_as_it_is():
    script = Script([Exchange(method="POST", path=f"{INSTANCE}/servers", answer=NoAnswer("reset"))])
    outcome = await provider(script, TEMPLATE).do(create(UUID))
    assert outcome == Unknown(text="reset")
    assert f'"image":"{UUID}"'.encode() in script.asked[0].body


async def test_a_label_is_resolved_once_and_again_after_its_time():
    clock = HandClock()
    full = answer({"type": "out_of_stock", "message": "no"}, 503)
    post = Exchange(method="POST", path=f"{INSTANCE}/servers", answer=full)
    script = Script([images(X86), post, post])
    source = provider(script, TEMPLATE, clock)
    for _ in range(2):
        outcome = await source.do(create())
        assert isinstance(outcome, Refused)
        assert outcome.why is Refusal.STOCK
    script.finish()
    assert source.cost(create()) == 1
    clock.at = NOW.replace(hour=19)
    assert source.cost(create()) == 2
    script.exchanges += [images(X86), post]
    await source.do(create())
    script.finish()


@pytest.mark.parametrize(
    ("exchange", "why", "text"),
    [
        (
            Exchange(method="GET", path=IMAGES, answer=MISSING),
            Refusal.INVALID,
            "there is no image called 'ubuntu_noble' in fr-par-1",
        ),
        (
            images(ARM),
            Refusal.INVALID,
            "image 'ubuntu_noble' has no instance_sbs version for DEV1-S in fr-par-1",
        ),
        (
            Exchange(method="GET", path=IMAGES, answer=NoAnswer("reset")),
            Refusal.BUSY,
            "image: reset",
        ),
        (Exchange(method="GET", path=IMAGES, answer=NotSent("x")), Refusal.NOT_SENT, "image: x"),
        (Exchange(method="GET", path=IMAGES, answer=answer(b"", 502)), Refusal.BUSY, None),
        (Exchange(method="GET", path=IMAGES, answer=answer(b"", 429)), Refusal.RATE, None),
        (Exchange(method="GET", path=IMAGES, answer=answer(b"{")), Refusal.BUSY, None),
    ],
)
async def test_an_image_that_cannot_be_resolved_makes_nothing(
    exchange: Exchange, why: Refusal, text: str | None
):
    outcome = await done(create(), exchange)
    assert isinstance(outcome, Refused)
    assert outcome.why is why
    assert text is None or outcome.text == text


async def test_a_withdrawn_image_is_resolved_anew():
    not_found = answer({"type": "not_found", "message": "no", "resource": "instance_image"}, 404)
    post = Exchange(method="POST", path=f"{INSTANCE}/servers", answer=not_found)
    script = Script([images(X86), post])
    source = provider(script, TEMPLATE)
    outcome = await source.do(create())
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.WRONG_STATE
    script.exchanges += [images(X86), post]
    await source.do(create())
    script.finish()
    outcome = await done(create(UUID), post)
    assert isinstance(outcome, Refused)
    assert outcome.why is Refusal.INVALID


async def test_an_answer_that_breaks_off_leaves_a_creation_unknown():
    post = Exchange(
        method="POST", path=f"{INSTANCE}/servers", answer=answer(b'{"server": {"id": "s', 201)
    )
    assert isinstance(await done(create(UUID), post), Unknown)
