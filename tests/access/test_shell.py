"""The SSH shell: what comes back of one command, and what is raised where nothing does."""

import dataclasses
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import asyncssh
import pytest
from msgspec.structs import replace

from hostler.access.preparer import SshPreparer
from hostler.access.prober import SystemProber
from hostler.access.shell import SshShell
from hostler.app.compose import Composed
from hostler.domain.ids import AccountName, FleetName, InstallationId, MachineId
from hostler.domain.model.fleet import Probe, ProbeKind
from hostler.frontends.cli.context import ClusterOptions
from hostler.ports.command import Question
from hostler.ports.provider import Connection
from hostler.ports.shell import Denied, Login, Lost, NotReached, Printed, Stranger, pinned
from hostler.stores.memory import MemoryStore
from hostler.testing.scenes.builders import FLEET

USER_KEY = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there
HOST_KEY = asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - untyped there


async def serve(process: asyncssh.SSHServerProcess[str]) -> None:
    """Print a lot, hang, or say hello, as the command asks."""
    match process.command:
        case "flood":
            process.stdout.write("x" * 200_000 + "the end")
        case "hang":
            await process.wait_closed()
        case _:
            process.stdout.write(f"hello {process.command}")
    process.exit(3)


@pytest.fixture
async def login() -> AsyncGenerator[Login]:
    server = await asyncssh.create_server(
        asyncssh.SSHServer,
        "127.0.0.1",
        0,
        server_host_keys=[HOST_KEY],
        authorized_client_keys=asyncssh.import_authorized_keys(
            USER_KEY.export_public_key().decode()
        ),
        process_factory=serve,
    )
    async with server:
        port: int = server.sockets[0].getsockname()[1]
        yield Login(
            address="127.0.0.1", port=port, user="root", keys=(USER_KEY.export_private_key(),)
        )


async def test_the_output_comes_back_whatever_the_exit_status(login: Login) -> None:
    assert (await SshShell().run(login, "there")).text == "hello there"


async def test_only_the_end_of_much_output_is_kept(login: Login) -> None:
    output = (await SshShell().run(login, "flood")).text
    assert output.endswith("xthe end")
    assert len(output) == 65536


async def test_a_command_that_does_not_end_in_time_is_lost(login: Login) -> None:
    with pytest.raises(Lost, match="no answer within"):
        await SshShell(call=timedelta(seconds=0.2)).run(login, "hang")


async def test_another_host_key_is_refused_before_anything_is_sent(login: Login) -> None:
    other = dataclasses.replace(login, check=pinned(f"SHA256:{'A' * 43}="))
    with pytest.raises(Stranger, match=r"it shows the key SHA256:.*, not SHA256:A{43}$") as caught:
        await SshShell().run(other, "there")
    assert caught.value.key == HOST_KEY.get_fingerprint()
    right = dataclasses.replace(login, check=pinned(HOST_KEY.get_fingerprint() + "="))
    printed = await SshShell().run(right, "there")
    assert printed == Printed("hello there", HOST_KEY.get_fingerprint(), status=3)


async def test_a_refused_login_is_not_reached_and_no_key_is_repeated(login: Login) -> None:
    stranger = HOST_KEY.export_private_key()
    with pytest.raises(Denied) as caught:
        await SshShell().run(dataclasses.replace(login, keys=(stranger,)), "there")
    assert stranger.decode().splitlines()[2] not in f"{caught.value} {login!r}"
    assert USER_KEY.export_private_key().decode().splitlines()[2] not in repr(login)


async def test_a_key_file_is_read_when_it_is_used(login: Login, tmp_path: Path) -> None:
    file = tmp_path / "key"
    by_file = dataclasses.replace(login, keys=(file,))
    with pytest.raises(NotReached, match=r"our own key cannot be read \(No such file"):
        await SshShell().run(by_file, "there")
    file.write_bytes(b"not a key")
    with pytest.raises(NotReached, match="KeyImportError"):
        await SshShell().run(by_file, "there")
    file.write_bytes(USER_KEY.export_private_key())
    assert (await SshShell().run(by_file, "there")).text == "hello there"


# ---------------------------------------------------------------- whose keys are tried


@pytest.fixture
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The key of the user who runs hostler, where SSH looks for it."""
    path = tmp_path / ".ssh" / "id_ed25519"
    path.parent.mkdir(mode=0o700)
    path.write_bytes(USER_KEY.export_private_key())
    path.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return path


@pytest.mark.usefixtures("own_key")
async def test_the_users_own_key_is_used_where_none_is_named(login: Login) -> None:
    nameless = dataclasses.replace(login, keys=())
    assert (await SshShell().run(nameless, "there")).text == "hello there"
    machine = MachineId("m-aaaaaaaaaa")
    assert (await SystemProber().probe(machine, _reached(login), SSH))[0]


@pytest.mark.usefixtures("own_key")
async def test_objects_of_a_cluster_are_lent_no_key_of_the_engine(login: Login) -> None:
    """By the shell, by the probe, and by the preparer; a key that is named is used as ever."""
    with pytest.raises(Denied, match="no private key is named"):
        await SshShell(lends=False).run(dataclasses.replace(login, keys=()), "there")
    assert (await SshShell(lends=False).run(login, "there")).text == "hello there"
    machine = MachineId("m-aaaaaaaaaa")
    passed, why = await SystemProber(lends=False).probe(machine, _reached(login), SSH)
    assert (passed, "no private key is named" in why) == (False, True)
    lent = dataclasses.replace(_reached(login), lent=True)
    assert (await SystemProber(lends=False).probe(machine, lent, SSH))[0]
    question = Question(machine=machine, command="true", fingerprint="SHA256:any")
    reply = await SshPreparer(lends=False).ask(_reached(login), question)
    assert (reply.status, "no private key is named" in reply.text) == (None, True)
    assert (await SshPreparer(lends=False).ask(lent, question)).text != reply.text


BESIDE = """
[provider.rack]
kind = "power"
[fleet.own]
provider = "rack"
[fleet.strange]
provider = "object"
"""


@pytest.mark.parametrize(
    ("fleet", "account", "lends"),
    [
        ("own", "rack", True),
        ("own", "object", False),
        ("object", "rack", False),
        ("object", "object", False),
    ],
)
def test_an_engine_of_objects_lends_its_keys_to_what_stands_in_its_file_alone(
    tmp_path: Path, fleet: str, account: str, *, lends: bool
) -> None:
    """An object that has a say in a login is lent nothing: an account leads there too."""
    file = tmp_path / "fleets.toml"
    file.write_text(BESIDE)
    services = Composed().for_objects(ClusterOptions(file=file), {})
    ports = services.ports(MemoryStore(InstallationId("i")))
    one = replace(FLEET, name=FleetName(fleet), account=AccountName(account))
    assert ports.lent(Connection(address="a"), one).lent is lends
    assert services.lends_to(AccountName(account)) is (account == "rack")


def test_an_engine_of_objects_alone_lends_its_keys_to_nobody_and_another_one_to_all() -> None:
    services = Composed()
    assert services.lends_to(AccountName("any"))
    alone = services.for_objects(ClusterOptions(), {})
    assert not alone.lends_to(AccountName("any"))
    assert not alone.ports(MemoryStore(InstallationId("i"))).lends(FLEET)


SSH = Probe(kind=ProbeKind.SSH)


def _reached(login: Login) -> Connection:
    return Connection(address=login.address, port=login.port, user=login.user)
