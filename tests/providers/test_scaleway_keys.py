"""SSH keys of IAM: registered once, recognized by themselves, and only ours taken out."""

import pytest
from scaleway_kit import PROJECT, provider
from scaleway_rig import InstancesRig

from hostler.ports.http import NoAnswer, Response
from hostler.ports.keys import RegistersKeys
from hostler.providers.scaleway.common.ssh_keys import same_key
from hostler.providers.scaleway.common.wire import SshKey
from hostler.simulators.scaleway.instances.account.keys import fingerprint_of
from hostler.testing.peers.exchanges import Exchange, Script, answer

PATH = "/iam/v1alpha1/ssh-keys"
BLOB = "AAAAC3NzaC1lZDI1NTE5AAAAIFf7c8FDU6v2PVjXXy7Nlb/jQt7+/K5MRxby53/PH/bp"
KEY = f"ssh-ed25519 {BLOB}"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGBcr8Q1npdMrCH6sNtXptdwqhR4T+B1izc1sMOH0nBB"
DENIED = answer({"type": "permissions_denied", "message": "insufficient permissions"}, 403)


def key(name: str, public: str = KEY, **fields: object) -> dict[str, object]:
    body = {"id": f"id-{name}", "name": name, "fingerprint": fingerprint_of(public)}
    return {**body, "public_key": f"{public} somebody", "disabled": False, **fields}


def listed(*bodies: dict[str, object]) -> Exchange:
    body = {"ssh_keys": list(bodies), "total_count": len(bodies)}
    query = (("project_id", PROJECT),)
    return Exchange(method="GET", path=PATH, query=query, answer=answer(body))


def added(name: str) -> Exchange:
    body = {"name": name, "public_key": KEY, "project_id": PROJECT}
    return Exchange(method="POST", path=PATH, sent=body, answer=answer(key(name)))


async def registered(*exchanges: Exchange) -> tuple[bool, bool, str]:
    script = Script(list(exchanges))
    found = await provider(script).register_key(KEY, "hostler-ci")
    script.finish()
    return found.well, found.there, found.text


async def released(*exchanges: Exchange) -> tuple[bool, bool, str]:
    script = Script(list(exchanges))
    found = await provider(script).release_key(KEY, "hostler-ci")
    script.finish()
    return found.well, found.there, found.text


def test_instances_register_keys():
    assert isinstance(provider(), RegistersKeys)


async def test_a_new_key_is_registered_under_its_name():
    done = await registered(listed(), added("hostler-ci"))
    assert done == (True, True, "was registered as 'hostler-ci'")


async def test_a_key_that_is_there_under_any_name_is_used():
    done = await registered(listed(key("x", OTHER), key("a colleague's")))
    assert done == (True, True, 'is registered as "a colleague\'s"')


async def test_a_name_that_another_key_has_is_left_to_it():
    names = (key("hostler-ci", OTHER), key("hostler-ci-2", OTHER))
    assert (await registered(listed(*names), added("hostler-ci-3")))[2].endswith("'hostler-ci-3'")


async def test_a_disabled_key_is_told():
    well, there, text = await registered(listed(key("x", disabled=True)))
    assert (well, there) == (False, False)
    assert "disabled" in text


@pytest.mark.parametrize(
    "exchanges",
    [
        (Exchange(method="GET", path=PATH, answer=DENIED),),
        (listed(), Exchange(method="POST", path=PATH, answer=DENIED)),
    ],
)
async def test_a_missing_permission_is_told_with_its_name(exchanges: tuple[Exchange, ...]):
    well, there, text = await registered(*exchanges)
    assert (well, there) == (False, False)
    assert "lacks the permission SSHKeysFullAccess" in text


@pytest.mark.parametrize("trouble", [NoAnswer("reset"), answer(b"<html>", 502), answer(b"{", 200)])
async def test_nothing_is_raised_for_what_the_outside_does(trouble: Response | NoAnswer):
    exchange = Exchange(method="GET", path=PATH, answer=trouble)
    assert not (await registered(exchange))[0]
    assert not (await released(exchange))[0]


async def test_our_own_registration_is_taken_out():
    deletion = Exchange(method="DELETE", path=f"{PATH}/id-hostler-ci-2", answer=answer(b"", 204))
    done = await released(listed(key("hostler-ci", OTHER), key("hostler-ci-2")), deletion)
    assert done == (True, False, "was taken out")


async def test_a_registration_of_somebody_else_stays():
    well, there, _ = await released(listed(key("a colleague's"), key("hostler-ci-old")))
    assert (well, there) == (True, False)


async def test_a_key_that_cannot_be_taken_out_is_told():
    refused = Exchange(method="DELETE", path=f"{PATH}/id-hostler-ci", answer=DENIED)
    assert (await released(listed(key("hostler-ci")), refused))[:2] == (False, True)


@pytest.mark.parametrize(
    ("fingerprint", "same"),
    [
        (fingerprint_of(KEY), True),
        (fingerprint_of(KEY).upper(), True),
        (fingerprint_of(KEY).split(" ")[1].removeprefix("MD5:"), True),
        ("256 SHA256:C0FskGTy0u28zZre2ox9KvZw1Ex4HPiwm94gos6YTDc (ssh-ed25519)", True),
        (fingerprint_of(OTHER), False),
        ("", False),
        ("256 MD5: (ssh-ed25519)", False),
    ],
)
def test_fingerprints_are_compared_by_their_digits(fingerprint: str, same: bool):
    assert same_key(f"{KEY} comment", SshKey(id="1", fingerprint=fingerprint)) is same


def test_a_key_itself_counts_more_than_its_fingerprint():
    listed = SshKey(id="1", public_key=OTHER, fingerprint=fingerprint_of(KEY))
    assert not same_key(KEY, listed)
    assert same_key(KEY, SshKey(id="1", public_key=f"ssh-ed25519 {BLOB} x", fingerprint="?"))


@pytest.mark.parametrize("line", ["", "ssh-ed25519", "ssh-ed25519 !!!"])
def test_what_is_no_key_is_nobodys(line: str):
    assert not same_key(line, SshKey(id="1", public_key=line))
    assert not same_key(KEY, SshKey(id="1", public_key=line or "x"))


async def test_at_the_simulator_a_key_is_there_once_whatever_is_done():
    rig = InstancesRig()
    instances = await rig.open()
    assert isinstance(instances, RegistersKeys)
    for _ in range(3):
        assert (await instances.register_key(KEY, "hostler-ci")).well
    names = [one.name for one in rig.world.cloud.keys]
    assert names == ["hostler-ci"]
    assert (await instances.release_key(KEY, "hostler-ci")).well
    assert not list(rig.world.cloud.keys)
