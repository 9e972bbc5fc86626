"""`connect`: where it leads, as whom and with which key, and what it refuses."""

import shlex
import subprocess
from pathlib import Path

import pytest
from cli_kit import FILE, FLEET, HOME, OFFER, WEB, InMemory, cli, fill, made, run
from msgspec.structs import replace

from hostler.app.compose import Composed
from hostler.domain.errors import RequestRefused
from hostler.domain.ids import ResourceId, machine_id
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.domain.model.machine import Known, Place
from hostler.domain.model.resource import Condition, OwnerTag, Resource, Slot
from hostler.queries.reaching import Reach

Out = pytest.CaptureFixture[str]
FIRST = machine_id(1)


def up(services: InMemory, condition: Condition = Condition.UP) -> str:
    """Let the first machine have a server; return its address."""
    resource = Resource(
        id=ResourceId("server-1"),
        slot=Slot("server"),
        zone=OFFER.zone,
        owner_tag=OwnerTag(installation=HOME, fleet=WEB, machine=FIRST, attempt=1),
        condition=condition,
        status=str(condition),
        created=services.clock_.at,
        address="192.0.2.7",
    )
    services.cloud().world.add(resource)
    known = Known(id=resource.id, zone=resource.zone, since=made(1).created, attempt=1)
    place = Place(slot=resource.slot, attempt=1, bound=resource.id, known=(known,))
    run(fill(services.store_, made(1, places=(place,), was_ready=made(1).since)))
    return resource.address


def test_it_goes_on_as_ssh_which_remembers_the_machine_and_not_its_address(capsys: Out) -> None:
    services = InMemory()
    address = up(services)
    assert cli(services, capsys, "connect", str(FILE), FIRST[:4]).code == 0
    (words,) = services.became
    assert words == (
        *("ssh", "-o", f"HostKeyAlias={FIRST}", "-p", "22", "-l", "root", "--", address),
    )


def test_what_is_to_run_there_is_given_to_ssh_as_it_is(capsys: Out) -> None:
    services = InMemory()
    address = up(services)
    cli(services, capsys, "connect", str(FILE), FIRST, "--", "ls", "-l", "a b")
    assert services.became[0][-4:] == (address, "ls", "-l", "a b")


def test_the_probe_says_who_logs_in_and_with_which_key(capsys: Out) -> None:
    probe = Probe(kind=ProbeKind.SSH, user="builder", key="/keys/builder", port=2222)
    services = InMemory(fleets=(replace(FLEET, probe=probe),))
    up(services)
    printed = cli(services, capsys, "connect", str(FILE), FIRST, "--print").out
    words = shlex.split(printed)
    assert words[:3] == ["ssh", "-i", "/keys/builder"]
    assert words[5:9] == ["-p", "2222", "-l", "builder"]
    assert services.became == []


def test_a_program_reads_where_it_is(capsys: Out) -> None:
    services = InMemory()
    address = up(services)
    value = cli(services, capsys, "connect", str(FILE), FIRST, "--json").json
    assert (value["machine"], value["phase"], value["address"]) == (FIRST, "ready", address)
    assert (value["port"], value["user"], value["keys"]) == (22, "root", [])
    assert value["command"][0] == "ssh"
    assert services.became == []


def test_a_pinned_host_key_is_the_only_one_that_ssh_takes() -> None:
    way = Reach(
        machine=made(1),
        address="192.0.2.7",
        internal="",
        port=22,
        user="root",
        keys=(),
        fingerprint="SHA256:pinned",
    )
    words = way.command(internal=False, remote=())
    assert "StrictHostKeyChecking=yes" in words
    (asked,) = (word for word in words if word.startswith("KnownHostsCommand="))
    _, *program = shlex.split(asked.partition("=")[2])
    for fingerprint, printed in (("SHA256:pinned", "name type key\n"), ("SHA256:other", "")):
        values = {"%f": fingerprint, "%H": "name", "%t": "type", "%K": "key"}
        filled = ["/bin/sh", *(values.get(word, word) for word in program)]
        found = subprocess.run(filled, capture_output=True, text=True, check=True)  # noqa: S603
        assert found.stdout == printed


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((FIRST,), "has no address now: it is ready"),
        (("m-nobody",), "no machine"),
    ],
)
def test_what_cannot_be_reached_is_refused(words: tuple[str, ...], why: str, capsys: Out) -> None:
    services = InMemory()
    up(services, Condition.OFF)
    result = cli(services, capsys, "connect", str(FILE), *words)
    assert result.code == 2
    assert why in result.err
    assert services.became == []


def test_a_private_address_is_taken_only_where_there_is_one(capsys: Out) -> None:
    services = InMemory()
    up(services)
    result = cli(services, capsys, "connect", str(FILE), FIRST, "--internal")
    assert result.code == 2
    assert "has no address in a private network" in result.err


def test_a_program_that_is_not_there_is_named(tmp_path: Path, capsys: Out) -> None:
    with pytest.raises(RequestRefused, match="cannot be run: No such file"):
        Composed().become([str(tmp_path / "ssh")])
    assert capsys.readouterr().out == ""
