"""The Go hosts against plugins in Go: what a scenario reads is what the other side said."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hostler.testing.peers.go_hosts import Build, GoHosts
from hostler.testing.peers.plugin_host import GoHost, HostError, HostGone, Launch, Reached

pytestmark = pytest.mark.timeout(400)  # the first test may have to build the programs

SCHEMAS = ("alder", "birch", "cedar", "dogwood", "elder", "fir")
CONFIG = {"name": "peers", "instances": 1, "start_ms": 60, "stop_ms": 40, "max_size": 4}
SETTINGS: dict[str, Any] = {
    "protocol": "winrm+https",
    "protocol_port": 5986,
    "username": "jobs",
    "password": "hidden",
    "use_static_credentials": True,
    "keepalive_ns": 90_000_000_000,
    "timeout_ns": 7_000_000_000,
}
PARTLY: dict[str, set[str]] = {
    "fir": {"protocol_port", "use_static_credentials", "keepalive_ns", "timeout_ns", "expires"}
}
"""What a schema cannot say."""


@pytest.fixture(params=SCHEMAS)
def schema(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def host(schema: str, go_hosts: GoHosts, tmp_path: Path) -> Iterator[GoHost]:
    with GoHost(go_hosts.program(schema), tmp_path / "host.log") as host:
        yield host


def until(host: GoHost, wanted: dict[str, str]) -> None:
    end = time.monotonic() + 5  # noqa: TID251 - a real process
    while (found := host.states()) != wanted:
        assert time.monotonic() < end, found  # noqa: TID251 - a real process


def expected(schema: str) -> Reached:
    settings: dict[str, Any] = {
        "protocol_port": 0,
        "use_static_credentials": False,
        "keepalive_ns": 0,
        "timeout_ns": 0,
    } | {name: value for name, value in SETTINGS.items() if name not in PARTLY.get(schema, set())}
    ends = None if schema in PARTLY else datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    return Reached(
        id="peers-1",
        os="linux",
        arch="amd64",
        key="a key",
        external="198.51.100.1",
        internal="10.0.0.1",
        expires=ends,
        **settings,
    )


@pytest.mark.parametrize("auto_mtls", [False, True])
def test_a_host_lives_a_whole_life_with_a_plugin_in_go(
    host: GoHost, schema: str, go_hosts: GoHosts, *, auto_mtls: bool
) -> None:
    """Every call passes through every schema both ways, unchanged."""
    host.launch(Launch(plugin=go_hosts.program("goplugins"), auto_mtls=auto_mtls))
    assert host.ping() < 5_000
    info = host.init(CONFIG, **SETTINGS)
    assert (info.id, info.max_size, info.version) == ("peer/peers", 4, "1.2.3")
    assert host.states() == {"peers-1": "running"}
    assert host.increase(9) == 3
    assert host.states()["peers-2"] == "creating"
    until(host, {f"peers-{number}": "running" for number in (1, 2, 3, 4)})
    assert host.connect_info("peers-1") == expected(schema)
    host.heartbeat("peers-1")
    assert host.decrease(["peers-1", "stranger", "peers-3"]) == ("peers-1", "peers-3")
    assert host.states()["peers-3"] == "deleting"
    until(host, {"peers-2": "running", "peers-4": "running"})
    host.shutdown()
    ended, took = host.kill()
    assert (ended.exit, ended.signal) == (0, "")
    assert took < 2_000


@pytest.mark.parametrize("schema", ["alder", "dogwood", "elder"], indirect=True)
def test_suspend_and_resume_pass_where_the_schema_has_them(host: GoHost, go_hosts: GoHosts) -> None:
    host.launch(Launch(plugin=go_hosts.program("goplugins")))
    host.init(CONFIG)
    assert host.suspend(["peers-1"]) == ("peers-1",)
    until(host, {"peers-1": "suspended"})
    assert host.resume(["peers-1"]) == ("peers-1",)
    assert host.states() == {"peers-1": "resuming"}


@pytest.mark.parametrize("schema", ["birch", "cedar", "fir"], indirect=True)
def test_suspend_is_an_error_where_the_schema_lacks_it(host: GoHost, go_hosts: GoHosts) -> None:
    host.launch(Launch(plugin=go_hosts.program("goplugins")))
    host.init(CONFIG)
    with pytest.raises(HostError, match="no such call"):
        host.suspend(["peers-1"])


@pytest.mark.parametrize("schema", ["alder"], indirect=True)
def test_an_error_of_the_plugin_arrives_with_its_text_and_code(
    host: GoHost, go_hosts: GoHosts
) -> None:
    host.launch(Launch(plugin=go_hosts.program("goplugin")))
    with pytest.raises(HostError, match="expected a name") as raised:
        host.init({})
    assert raised.value.code == "Unknown"
    with pytest.raises(HostError, match="no such instance: x"):
        host.connect_info("x")
    with pytest.raises(HostError, match="no such instance: x"):
        host.heartbeat("x")


@pytest.mark.parametrize("schema", ["birch"], indirect=True)
def test_a_plugin_of_another_schema_is_not_answered(host: GoHost, go_hosts: GoHosts) -> None:
    host.launch(Launch(plugin=go_hosts.program("goplugin")))
    with pytest.raises(HostError) as raised:
        host.update()
    assert raised.value.code == "Unimplemented"


@pytest.mark.parametrize("schema", ["cedar"], indirect=True)
def test_what_prints_no_handshake_fails_the_launch(host: GoHost) -> None:
    with pytest.raises(HostError, match="stdout"):
        host.launch(Launch(plugin=Path("/bin/true")))


@pytest.mark.parametrize("schema", ["elder"], indirect=True)
def test_a_murdered_host_says_so(host: GoHost) -> None:
    host.murder()
    with pytest.raises(HostGone):
        host.launch(Launch(plugin=Path("/bin/true")))


@pytest.mark.parametrize("build", [Build.PLAIN, Build.PIE])
def test_a_host_runs_however_it_is_built(build: Build, go_hosts: GoHosts, tmp_path: Path) -> None:
    with GoHost(go_hosts.program("cedar", build), tmp_path / "host.log") as host:
        host.launch(Launch(plugin=go_hosts.program("goplugins")))
        assert host.init(CONFIG).id == "peer/peers"


def test_bench_measures_a_life(go_hosts: GoHosts, tmp_path: Path) -> None:
    with GoHost(go_hosts.program("alder"), tmp_path / "host.log") as host:
        found = host.bench(
            Launch(plugin=go_hosts.program("goplugin")),
            {"name": "peers", "instances": 10},
            instances=15,
            updates=3,
            more=100,
        )
    assert (found.instances, found.increased) == (15, 100)
    assert 0 < found.ping_ms < found.init_ms
    assert 0 < found.update_median_ms <= found.update_worst_ms
    assert found.rss_kib > 1_000
