"""Go hosts launch the real plugin as GitLab Runner does, over a simulated Scaleway."""

import os
import re
import signal
import stat
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
from fleeting_kit import (
    PLUGIN,
    SECRET,
    Cloud,
    all_running,
    plugin_config,
    present,
    simulated,
)
from msgspec.structs import replace
from waiting import wait_until

from hostler.testing.peers.go_hosts import Build, GoHosts
from hostler.testing.peers.plugin_host import GoHost, HostError, Launch

pytestmark = pytest.mark.timeout(300)  # the first test may have to build the programs

SCHEMAS = ("alder", "birch", "cedar", "dogwood", "dogwoodold", "elder")
"""Those that can be mapped; `fir` cannot."""
TERMS = (90_000_000_000, 7_000_000_000)
"""The keepalive and timeout that are handed over in Init, in nanoseconds, and come back."""
DURATIONLESS = {"dogwoodold"}


@pytest.fixture(scope="module")
def cloud() -> Generator[Cloud]:
    with simulated(speed=50) as cloud:
        yield cloud


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    """The plugin as installed, its state in a folder of the test's own."""
    return Launch(plugin=PLUGIN, environment={"HOSTLER_STATE_DIR": str(tmp_path / "state")})


def lives(
    host: GoHost, launch: Launch, cloud: Cloud, folder: Path, terms: tuple[int, int] = TERMS
) -> None:
    """Live one whole life, from Init to Kill, with three instances in between."""
    host.launch(launch)
    host.ping()
    config = plugin_config(cloud, folder)
    info = host.init(config, username="root", keepalive_ns=terms[0], timeout_ns=terms[1])
    assert info.id
    assert info.max_size == 12
    assert host.states() == {}
    assert host.increase(3) == 3
    assert len(host.states()) == 3
    wait_until(lambda: all_running(present(host), 3), 45, host.states)
    ids = sorted(host.states())
    for number in ids:
        reached = host.connect_info(number)
        assert reached.id == number
        assert (reached.os, reached.arch) == ("linux", "amd64")
        assert (reached.protocol, reached.username) == ("ssh", "root")
        assert (reached.keepalive_ns, reached.timeout_ns) == terms
        assert reached.key.startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
        assert reached.external
        host.heartbeat(number)
    assert sorted(host.decrease(ids)) == ids
    assert sorted(host.decrease(ids)) == ids
    wait_until(lambda: not present(host), 45, host.states)
    host.shutdown()
    ended, took = host.kill()
    assert (ended.exit, ended.signal) == (0, "")
    assert took < 2_000
    wait_until(lambda: not cloud.leaks(), 20, cloud.leaks)


def only_calm(host: GoHost) -> None:
    """A life where nothing goes wrong logs no warnings but of names, and never a secret."""
    logs = host.logs()
    problems = [line for line in logs if line["@level"] in {"warn", "error"}]
    assert [line for line in problems if "neutral" not in str(line)] == []
    assert any(line["@module"].endswith(PLUGIN.name) for line in logs)
    assert not any(secret in str(logs) for secret in (SECRET, "PRIVATE KEY"))


@pytest.mark.parametrize("auto_mtls", [False, True], ids=["plain", "mtls"])
@pytest.mark.parametrize("schema", SCHEMAS)
def test_every_schema_is_served_for_a_whole_life(
    schema: str, launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path, *, auto_mtls: bool
) -> None:
    with GoHost(go_hosts.program(schema), tmp_path / "host.log") as host:
        terms = (0, 0) if schema in DURATIONLESS else TERMS
        lives(host, replace(launch, auto_mtls=auto_mtls), cloud, tmp_path, terms)
        only_calm(host)


def test_a_position_independent_runner_is_read_too(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    with GoHost(go_hosts.program("cedar", Build.PIE), tmp_path / "host.log") as host:
        lives(host, launch, cloud, tmp_path)


def test_a_wrapper_may_stand_between_the_runner_and_the_plugin(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    """The schema is learnt from the grandparent, and the wrapper's end is the plugin's own."""
    wrapper = tmp_path / "fleeting-plugin-wrapped"
    wrapper.write_text(f"#!/bin/sh\n{PLUGIN}\nexit $?\n")
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    with GoHost(go_hosts.program("alder"), tmp_path / "host.log") as host:
        lives(host, replace(launch, plugin=wrapper, auto_mtls=True), cloud, tmp_path)


def test_a_runner_that_was_replaced_on_disk_is_read_from_memory(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    program = tmp_path / "runner"
    program.write_bytes(go_hosts.program("elder").read_bytes())
    program.chmod(0o755)
    with GoHost(program, tmp_path / "host.log") as host:
        program.unlink()
        lives(host, launch, cloud, tmp_path)


def test_a_runner_that_wants_its_broker_multiplexed_is_told_that_there_is_none(
    launch: Launch, go_hosts: GoHosts, tmp_path: Path
) -> None:
    with (
        GoHost(go_hosts.program("birch"), tmp_path / "host.log") as host,
        pytest.raises(HostError, match="plugin does not support the feature"),
    ):
        host.launch(replace(launch, multiplex=True))


def test_every_fault_of_a_configuration_is_in_the_error_of_init(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    with GoHost(go_hosts.program("dogwood"), tmp_path / "host.log") as host:
        host.launch(launch)
        config = plugin_config(cloud, tmp_path, zoned="x", volume_size=True, token="t")
        with pytest.raises(HostError) as raised:
            host.init(config)
        for key in ("zoned", "volume_size", "token"):
            assert key in raised.value.text
        with pytest.raises(HostError):
            host.increase(1)
        assert host.init(plugin_config(cloud, tmp_path)).id
        assert cloud.leaks() == []


def test_a_schema_that_says_something_else_is_refused_whole_until_the_operator_settles_it(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    """The lines of the refusal, pasted into the file that it names, are enough for a whole life.

    That nothing tells what succeeded is asked, and a person must say that it is so.
    """
    with GoHost(go_hosts.program("fir"), tmp_path / "refused.log") as host:
        host.launch(launch)
        host.ping()
        with pytest.raises(HostError) as raised:
            host.init(plugin_config(cloud, tmp_path))
        text = raised.value.text
        for call in (host.update, lambda: host.increase(1), lambda: host.decrease(["x"])):
            with pytest.raises(HostError):
                call()
        assert host.kill()[0].exit == 0
    assert "Increase.reply" in text
    assert "Decrease.reply" in text
    paste(text, tmp_path, answer='succeeded = ""')
    with GoHost(go_hosts.program("fir"), tmp_path / "host.log") as host:
        host.launch(launch)
        host.init(plugin_config(cloud, tmp_path))
        assert host.increase(1) == 1
        wait_until(lambda: all_running(present(host), 1), 45, host.states)
        (one,) = host.states()
        assert host.decrease([one]) == (one,)
        wait_until(lambda: not present(host), 45, host.states)
        host.shutdown()
    wait_until(lambda: not cloud.leaks(), 20, cloud.leaks)


def paste(text: str, inside: Path, *, answer: str) -> None:
    """Do what a refusal says: put its lines into the file that it names, one question answered."""
    named = re.search(r"Put these lines into (\S+)", text)
    assert named is not None, text
    file = Path(named[1])
    assert file.is_relative_to(inside)
    lines = text[named.end() :].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("["))
    file.parent.mkdir(parents=True, exist_ok=True)
    content = "\n".join(lines[start:])
    assert f"# {answer}" in content
    file.write_text(content.replace(f"# {answer}", answer))


def test_standby_goes_through_where_the_schema_has_it(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    with GoHost(go_hosts.program("alder"), tmp_path / "host.log") as host:
        host.launch(launch)
        info = host.init(plugin_config(cloud, tmp_path))
        assert "suspend_resume" in info.capabilities
        host.increase(1)
        wait_until(lambda: all_running(present(host), 1), 45, host.states)
        (one,) = host.states()
        assert host.suspend([one]) == (one,)
        wait_until(lambda: host.states() == {one: "suspended"}, 45, host.states)
        assert host.resume([one]) == (one,)
        wait_until(lambda: host.states() == {one: "running"}, 45, host.states)
        assert host.connect_info(one).external
        host.decrease([one])
        wait_until(lambda: not present(host), 45, host.states)
        host.shutdown()
    wait_until(lambda: not cloud.leaks(), 20, cloud.leaks)


STOPPED = {"alder": "stopped", "birch": "creating"}


@pytest.mark.parametrize("schema", STOPPED)
def test_a_machine_that_stopped_is_told_as_deleting_only_while_it_is_deleted_and_then_gone(
    schema: str, launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    """The frozen autoscaler: a stopped machine ends by our own delete, and its place is free."""
    with GoHost(go_hosts.program(schema), tmp_path / "host.log") as host:
        host.launch(launch)
        host.init(plugin_config(cloud, tmp_path))
        host.increase(2)
        wait_until(lambda: all_running(present(host), 2), 45, host.states)
        before = host.states()
        server = next(leak for leak in cloud.leaks() if leak["kind"] == "server")
        cloud.act("guest_poweroff", server["id"])
        seen = set[str]()

        def healed() -> bool:
            seen.update(host.states().values())
            return len(present(host)) == 1

        wait_until(healed, 45, host.states)
        assert set(present(host)) < set(before)
        assert seen <= {"running", "deleting", "deleted", STOPPED[schema]}
        host.decrease(sorted(present(host)))
        wait_until(lambda: not present(host), 45, host.states)
        host.shutdown()
    wait_until(lambda: not cloud.leaks(), 20, cloud.leaks)


def test_a_restarted_plugin_knows_its_instances_and_reaches_them_with_the_same_key(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    """Shutdown keeps instances; another host, even of another schema, finds them."""
    config = plugin_config(cloud, tmp_path)
    with GoHost(go_hosts.program("cedar"), tmp_path / "first.log") as host:
        host.launch(launch)
        host.init(config)
        host.increase(2)
        wait_until(lambda: all_running(present(host), 2), 45, host.states)
        before = {one: host.connect_info(one) for one in present(host)}
        host.shutdown()
        host.kill()
    with GoHost(go_hosts.program("birch"), tmp_path / "second.log") as host:
        host.launch(launch)
        host.init(config)
        assert set(host.states()) == set(before)
        wait_until(lambda: all_running(present(host), 2), 20, host.states)
        for one, known in before.items():
            now = host.connect_info(one)
            assert (now.key, now.external) == (known.key, known.external)
            host.heartbeat(one)
        host.decrease(sorted(before))
        wait_until(lambda: not present(host), 45, host.states)
        host.shutdown()
    wait_until(lambda: not cloud.leaks(), 20, cloud.leaks)


def test_many_calls_at_once_some_of_them_cut_off_are_all_answered(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    """And nothing is left of them: no open file, no memory to speak of."""
    with GoHost(go_hosts.program("dogwood"), tmp_path / "host.log") as host:
        plugin = host.launch(replace(launch, auto_mtls=True)).pid
        patient = {"tcp": cloud.guest_port, "timeout": "20s"}  # hundreds of probes at one guest
        host.init(plugin_config(cloud, tmp_path, ready=patient))
        host.increase(2)
        wait_until(lambda: all_running(present(host), 2), 45, host.states)
        one, other = present(host)
        host.storm(8, one, 1)
        files, memory = taken(plugin)
        came = host.storm(24, other, 3)
        assert came.errors == {}
        assert came.answered > 100
        assert came.cut > 10
        more_files, more_memory = taken(plugin)
        assert more_files <= files + 3
        assert more_memory < memory + 20_000
        assert host.ping() < 2_000
        host.decrease([one, other])
        wait_until(lambda: not present(host), 45, host.states)
        host.shutdown()
    wait_until(lambda: not cloud.leaks(), 20, cloud.leaks)


def taken(pid: int) -> tuple[int, int]:
    """Return how many files a process has open, and its memory in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    rss = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), int(rss.split()[1])


def test_sigterm_ends_a_plugin_at_rest_whose_host_holds_its_streams_open(
    go_hosts: GoHosts, launch: Launch, tmp_path: Path
) -> None:
    """Go-plugin opens the streams of stdio and of its broker at the launch: they are no calls."""
    with GoHost(go_hosts.program("alder"), tmp_path / "host.log") as host:
        launched = host.launch(replace(launch, auto_mtls=True))
        host.ping()
        os.kill(launched.pid, signal.SIGTERM)
        wait_until(host.exited, 5, host.logs)
        assert "SIGTERM" in {line.get("reason") for line in host.logs()}


def test_a_pinned_mapping_refuses_a_runner_that_means_something_else(
    launch: Launch, cloud: Cloud, go_hosts: GoHosts, tmp_path: Path
) -> None:
    pinned, changed = go_hosts.program("cedar"), go_hosts.program("elder")
    subprocess.run(
        [PLUGIN.parent / "hostler", "fleeting", "pin", pinned],
        env={**os.environ, **launch.environment},
        check=True,
        capture_output=True,
        timeout=60,
    )
    config = plugin_config(cloud, tmp_path)
    with GoHost(pinned, tmp_path / "pinned.log") as host:
        host.launch(launch)
        assert host.init(config).id
    with GoHost(changed, tmp_path / "changed.log") as host:
        host.launch(launch)
        with pytest.raises(HostError, match="not as it was pinned"):
            host.init(config)


def test_inspect_says_what_a_runner_is_served(go_hosts: GoHosts) -> None:
    """An operator can see before anything runs whether a schema passes."""
    for schema, code in (("alder", 0), ("fir", 1)):
        done = subprocess.run(
            [PLUGIN.parent / "hostler", "fleeting", "inspect", go_hosts.program(schema), "--json"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert bool(done.returncode) == bool(code), done.stderr
        for key in ("service", "methods", "mapping", "unmapped"):
            assert f'"{key}"' in done.stdout
