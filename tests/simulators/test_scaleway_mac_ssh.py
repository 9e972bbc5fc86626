"""SSH on simulated Macs: who may log in, what is on the disk, and what a wipe leaves of it."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import asyncssh
import pytest
import requests

from hostler.simulators.scaleway.faults.rates import Rule
from hostler.simulators.scaleway.listeners.sshd import Shells, holder, shells
from hostler.simulators.scaleway.state.options import MacOptions, Options
from hostler.simulators.scaleway.world import World

from .conftest import Bench, Start

SERVERS = "/apple-silicon/v1alpha1/zones/fr-par-1/servers"
KEYS = "/iam/v1alpha1/ssh-keys"
OTHER = "22222222-2222-2222-2222-222222222222"
LIMIT = 20.0
HOUR = 3600.0


class Host:
    """One Mac with SSH, under a clock of ours, and ways to log in to it."""

    def __init__(self, bench: Bench, served: Shells, mac_id: str) -> None:
        self.bench, self.served, self.mac_id = bench, served, mac_id
        record = bench.world.cloud.macs.get(mac_id)
        assert record is not None
        self.mac = record

    async def log_in(self, **options: Any) -> asyncssh.SSHClientConnection:
        """Log in with the password, unless there is something else."""
        asked = {"password": self.mac.password, "client_keys": None, **options}
        async with asyncio.timeout(LIMIT):
            return await asyncssh.connect(
                self.mac.ip,
                port=self.served.port,
                username=asked.pop("username", "m1"),
                known_hosts=None,
                agent_path=None,
                config=None,
                **asked,
            )

    async def run(self, command: str, **options: Any) -> tuple[int | None, str]:
        """Log in, run one command, and return its exit code and what it printed."""
        connection = await self.log_in(**options)
        try:
            done = await connection.run(command, timeout=LIMIT)
        finally:
            connection.abort()
        return done.exit_status, str(done.stdout)

    async def key(self) -> str:
        """Return the fingerprint of the host key that is shown now."""
        async with asyncio.timeout(LIMIT):
            found = await asyncssh.get_server_host_key(
                self.mac.ip, port=self.served.port, config=None
            )
        assert found is not None
        return found.get_fingerprint()

    def wipe(self) -> None:
        """Reinstall the Mac and wait until it is done."""
        self.bench.json("POST", f"{SERVERS}/{self.mac_id}/reinstall", {})
        self.served.follow()
        self.pass_time(HOUR)

    def pass_time(self, seconds: float) -> None:
        """Move the clock on."""
        self.bench.now += seconds
        self.served.follow()


@asynccontextmanager
async def host_with(*keys: str) -> AsyncGenerator[Host]:
    """Serve one Mac that was installed when a project had some keys."""
    bench = Bench(options=Options(guests=True, macs=MacOptions(sealed=0.0)))
    for key in keys:
        bench.json("POST", KEYS, {"public_key": key, "project_id": bench.options.project})
    (mac,) = bench.world.stock_macs(1)
    async with shells(bench.world) as served:
        yield Host(bench, served, mac)


@pytest.fixture
async def host() -> AsyncGenerator[Host]:
    async with host_with() as found:
        yield found


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("true", 0, ""),
        ("echo hello", 0, "hello\n"),
        ("exit 7", 7, ""),
        ("test -f mark", 1, ""),
        ("touch mark && test -f mark", 0, ""),
        ("printf 'a b' > file; cat file", 0, "a b"),
        ("sleep 0.01; echo done", 0, "done\n"),
        ("sudo -n true", 0, ""),
        ("sudo -u root -- echo as root", 0, "as root\n"),
        ("sw_vers -productVersion", 0, "26.5\n"),
        ("cd; ls -A", 0, ""),
        ("whoami >/dev/null; echo $USER $LOGNAME", 0, "m1 m1\n"),
        ("kill -9 $$", 137, ""),
        ("no-such-command-at-all 2>/dev/null", 127, ""),
    ],
)
async def test_a_command_runs_in_the_macs_own_home(
    host: Host, command: str, code: int, message: str
) -> None:
    assert await host.run(command) == (code, message)


async def test_what_is_sent_reaches_the_command_and_what_it_says_comes_back_whole(
    host: Host,
) -> None:
    async with asyncio.timeout(LIMIT), await host.log_in() as connection:
        done = await connection.run("cat > file; cat file; echo wrong >&2", input="x" * 300_000)
        assert (done.stdout, done.stderr) == ("x" * 300_000, "wrong\n")
        script = await connection.run(input="echo one\nexit 3\n")
        assert (script.exit_status, script.stdout) == (3, "one\n")


async def test_sudo_asks_for_the_password_where_it_is_told_to(host: Host) -> None:
    async with asyncio.timeout(LIMIT), await host.log_in() as connection:
        asked = f"{host.mac.password}\nmore\n"
        done = await connection.run("sudo -S cat", input=asked)
        assert (done.exit_status, done.stdout, done.stderr) == (0, "more\n", "Password:")
        done = await connection.run("SUDO_PROMPT=ask: sudo -S echo never", input="wrong\n")
        assert (done.exit_status, done.stdout) == (1, "")
        assert done.stderr == "ask:Sorry, try again.\n"


async def test_a_command_sees_nothing_of_the_simulators_environment(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "x")
    _, message = await host.run("env")
    names = {line.split("=")[0] for line in message.splitlines()} - {"PWD", "SHLVL", "_", "OLDPWD"}
    assert names == {"HOME", "USER", "LOGNAME", "SHELL", "LANG", "PATH", "MACOS_VERSION"}


async def test_a_reinstallation_empties_the_disk_and_changes_key_and_password(host: Host) -> None:
    await host.run("touch mark")
    before, password = await host.key(), host.mac.password
    host.wipe()
    assert await host.key() != before
    assert host.mac.password != password
    with pytest.raises(asyncssh.PermissionDenied):
        await host.run("true", password=password)
    assert await host.run("ls -A") == (0, "")


async def test_a_wipe_that_nobody_observed_is_one_all_the_same(host: Host) -> None:
    await host.run("touch mark")
    before = await host.key()
    host.bench.json("POST", f"{SERVERS}/{host.mac_id}/reinstall", {})
    host.pass_time(HOUR)
    assert await host.key() != before
    assert await host.run("ls -A") == (0, "")


async def test_a_reboot_keeps_disk_key_and_password(host: Host) -> None:
    await host.run("touch mark")
    before = await host.key(), host.mac.password
    host.bench.json("POST", f"{SERVERS}/{host.mac_id}/reboot", {})
    host.pass_time(HOUR)
    assert (await host.key(), host.mac.password) == before
    assert await host.run("ls -A") == (0, "mark\n")


async def test_a_wipe_that_fails_keeps_the_disk(host: Host) -> None:
    await host.run("touch mark")
    host.bench.world.script(Rule(fault="mac_reinstall_fails"))
    host.wipe()
    with pytest.raises(ConnectionRefusedError):
        await host.run("true")
    host.bench.json("POST", f"{SERVERS}/{host.mac_id}/reboot", {})
    host.pass_time(HOUR)
    assert await host.run("ls -A") == (0, "mark\n")


async def test_the_key_that_is_shown_is_the_one_that_the_world_tells(host: Host) -> None:
    output = host.bench.world.reach(host.mac.ip)
    assert output is not None
    assert await host.key() == output.host_key


async def test_the_keys_of_the_project_at_installation_may_log_in_and_no_later_ones() -> None:
    early, late = new_key(), new_key()
    async with host_with(public(early), "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA") as host:
        body = {"public_key": public(late), "project_id": host.bench.options.project}
        host.bench.json("POST", KEYS, body)
        assert await host.run("true", password=None, client_keys=[early]) == (0, "")
        with pytest.raises(asyncssh.PermissionDenied):
            await host.run("true", password=None, client_keys=[late])
        host.wipe()
        assert await host.run("true", password=None, client_keys=[late]) == (0, "")


def new_key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")  # pyright: ignore[reportUnknownMemberType] - its own types are partial


async def test_keys_of_others_and_disabled_ones_may_not_log_in() -> None:
    ours, theirs, disabled = new_key(), new_key(), new_key()
    async with host_with() as host:
        project, last = host.bench.options.project, dict[str, str]()
        for key, whose in ((ours, project), (theirs, OTHER), (disabled, project)):
            body = {"public_key": public(key), "project_id": whose}
            last = host.bench.json("POST", KEYS, body)
        host.bench.json("PATCH", f"{KEYS}/{last['id']}", {"disabled": True})
        host.wipe()
        assert await host.run("true", password=None, client_keys=[ours]) == (0, "")
        for key in (theirs, disabled):
            with pytest.raises(asyncssh.PermissionDenied):
                await host.run("true", password=None, client_keys=[key])


def public(key: asyncssh.SSHKey) -> str:
    return key.export_public_key().decode()


@pytest.mark.parametrize("wrong", [{"password": "wrong"}, {"username": "root"}])
async def test_others_may_not_log_in(host: Host, wrong: dict[str, str]) -> None:
    with pytest.raises(asyncssh.PermissionDenied):
        await host.run("true", **wrong)


async def test_nothing_is_forwarded(host: Host) -> None:
    async with asyncio.timeout(LIMIT), await host.log_in() as connection:
        with pytest.raises(asyncssh.ChannelOpenError):
            await connection.create_connection(asyncssh.SSHTCPSession, "127.0.0.1", 1)


async def process_end(pid: int) -> None:
    """Wait until a process is no more."""
    for _ in range(2000):
        if not there(f"/proc/{pid}"):
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"process {pid} goes on")


def there(path: str) -> bool:
    return Path(path).exists()


@pytest.mark.parametrize("action", ["reboot", "reinstall"])
async def test_a_mac_on_its_way_is_down_and_cuts_what_ran(host: Host, action: str) -> None:
    async with asyncio.timeout(LIMIT), await host.log_in() as connection:
        process = await connection.create_process("echo $$; sleep 600")
        pid = int(await process.stdout.readline())
        host.bench.json("POST", f"{SERVERS}/{host.mac_id}/{action}", {})
        host.served.follow()
        await connection.wait_closed()
        await process_end(pid)
    with pytest.raises(ConnectionRefusedError):
        await host.run("true")
    host.pass_time(HOUR)
    assert await host.run("true") == (0, "")


async def test_a_command_whose_client_leaves_is_ended(host: Host) -> None:
    async with asyncio.timeout(LIMIT):
        connection = await host.log_in()
        process = await connection.create_process("echo $$; sleep 600")
        pid = int(await process.stdout.readline())
        connection.abort()
        await process_end(pid)


async def test_ssh_that_is_refused_or_silent_is_so_for_its_spell(host: Host) -> None:
    assert host.bench.world.act("mac_ssh_refused", host.mac_id, 100.0)
    host.served.follow()
    with pytest.raises(ConnectionRefusedError):
        await host.run("true")
    host.pass_time(101.0)
    assert host.bench.world.act("mac_ssh_hung", host.mac_id, 100.0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await host.run("true")
    host.pass_time(101.0)
    assert await host.run("true") == (0, "")


async def test_after_a_wipe_ssh_may_be_late(host: Host) -> None:
    host.bench.world.script(Rule(fault="mac_ssh_late"))
    host.bench.json("POST", f"{SERVERS}/{host.mac_id}/reinstall", {})
    while host.bench.json("GET", f"{SERVERS}/{host.mac_id}")["status"] != "ready":
        host.pass_time(5.0)
    with pytest.raises(ConnectionRefusedError):
        await host.run("true")
    host.pass_time(301.0)
    assert await host.run("true") == (0, "")


async def test_a_wrong_key_is_shown_once(host: Host) -> None:
    usual = await host.key()
    assert host.bench.world.act("mac_ssh_wrong_key", host.mac_id)
    assert await host.key() != usual
    assert await host.key() == usual


async def test_a_deleted_mac_leaves_no_disk_and_no_listener(host: Host) -> None:
    _, message = await host.run("pwd")
    assert host.bench.world.act("mac_deleted_by_hand", host.mac_id)
    host.served.follow()
    assert not there(message.strip())
    with pytest.raises(ConnectionRefusedError):
        await host.run("true")


async def test_macs_answer_on_one_port_at_addresses_of_their_own(host: Host) -> None:
    (second,) = host.bench.world.stock_macs(1)
    host.served.follow()
    other = Host(host.bench, host.served, second)
    assert other.mac.ip != host.mac.ip
    await host.run("touch mark")
    assert await other.run("ls -A") == (0, "")
    assert await other.key() != await host.key()


async def test_without_loopback_addresses_there_is_no_ssh() -> None:
    with pytest.raises(ValueError, match="127"):
        async with shells(World(lambda: 0.0, Random(1))):
            pass


async def test_a_port_that_is_taken_is_told_of_at_once(bench: Bench) -> None:
    world = World(lambda: bench.now, Random(1), Options(guests=True))
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        async with shells(world, taken.getsockname()[1]):
            pass


async def test_what_goes_wrong_in_the_block_is_told_as_it_is(host: Host) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with shells(host.bench.world):
            raise KeyError("mine")


def test_the_user_at_the_other_end_is_read_from_the_kernels_table() -> None:
    table = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 1100407F:08AE 0100007F:D431 01 00000000:00000000 00:00000000 00000000  1000  0 1\n"
        "   1: 0100007F:D431 1100407F:08AE 01 00000000:00000000 00:00000000 00000000  1001  0 2\n"
    )
    theirs, ours = ("127.0.0.1", 0xD431), ("127.64.0.17", 0x08AE)
    assert holder(table, theirs, ours) == 1001
    assert holder(table, ours, theirs) == 1000
    assert holder(table, ours, ours) is None


async def test_another_user_of_the_machine_is_sent_away(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stranger(connection: socket.socket) -> bool:
        return connection.fileno() < 0

    monkeypatch.setattr("hostler.simulators.scaleway.listeners.sshd.same_user", stranger)
    with pytest.raises((asyncssh.ConnectionLost, ConnectionResetError)):
        await host.run("true")


def test_the_simulator_serves_ssh_and_tells_where(start: Start) -> None:
    simulator = start(ssh_port=0, macs=("1",))
    (mac,) = requests.get(f"{simulator.url}/_sim/macs", timeout=10).json()["macs"]
    address, port = mac["ssh"].split(":")
    assert address == mac["ip"]
    assert address.startswith("127.64.")

    async def log_in() -> str:
        async with (
            asyncio.timeout(LIMIT),
            asyncssh.connect(
                address,
                port=int(port),
                username=mac["user"],
                password=mac["password"],
                client_keys=None,
                agent_path=None,
                config=None,
                known_hosts=None,
            ) as connection,
        ):
            return str((await connection.run("echo hello", check=True)).stdout)

    assert asyncio.run(log_in()) == "hello\n"
