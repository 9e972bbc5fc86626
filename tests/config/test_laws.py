"""Settings that contradict each other are refused, each with its path and what it must be."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostler.app.provider_registry import KINDS
from hostler.app.store_registry import STORES
from hostler.config import laws
from hostler.config.load import load
from hostler.config.values import WrongFile

CLOUD = '[provider.scaleway]\n{account}\n[fleet.web]\nsize = 2\ntypes = ["DEV1-S"]\n{fleet}'
MACS = """
[provider.scaleway-macs]
pool_prefix = "pool-"
[fleet.ci]
size = 1
types = ["M2-L"]
order = {{ most = 2, spend_per_day = {spend}, patience = "{patience}" }}
"""
STATIC = """
[provider.static]
hosts = [{hosts}]
"""

TWO = """
[provider.first]
kind = "static"
hosts = [{{ address = "a.test" }}]
[provider.second]
kind = "static"
hosts = [{hosts}]
[fleet.x]
provider = "first"
size = 1
groups = ["static"]
[fleet.y]
provider = "second"
size = 1
groups = ["static"]
"""


def cloud(fleet: str = "", account: str = "") -> str:
    return CLOUD.format(fleet=fleet, account=account)


def hosts(*names: str) -> str:
    """Return a static provider with these hosts, each of the group before its dash."""
    entries = (
        f'{{ address = "{name}.test", group = "{name.partition("-")[0]}" }}' for name in names
    )
    return STATIC.format(hosts=", ".join(entries))


def fleet(name: str, size: int, groups: str, more: str = "") -> str:
    return f"[fleet.{name}]\nsize = {size}\ngroups = {groups.split()}\n{more}\n"


def refused(folder: Path, text: str) -> dict[str, str]:
    """Return the faults of a file by their paths; none where it is taken."""
    file = folder / "web.toml"
    file.write_text(text)
    try:
        load(file, KINDS, STORES)
    except WrongFile as wrong:
        return {fault.path: str(fault) for fault in wrong.faults}
    return {}


BROKEN = {
    "lease_beat": (cloud("[engine]\nlease_ttl = '2m'\nlease_beat = '61s'"), "engine.lease_beat"),
    "busy_first": (cloud("[engine]\nbusy_first = '1m'"), "engine.busy_first"),
    "lease_ttl": (cloud("[engine]\nlease_ttl = '20s'\nlease_beat = '5s'"), "engine.lease_ttl"),
    "lease_ttl of hosts": (
        hosts("a-1") + fleet("x", 1, "a") + "[engine]\nlease_ttl = '40s'",
        "engine.lease_ttl",
    ),
    "maximum": (cloud("maximum = 1"), "fleet.web.maximum"),
    "surge": (cloud("maximum = 2\nreplace_outdated = true"), "fleet.web.maximum"),
    "surge by age": (
        cloud("maximum = 3\nsurge = 2\n[fleet.web.timers]\nmax_age = '1d'"),
        "fleet.web.maximum",
    ),
    "size": (cloud("renews = false"), "fleet.web.size"),
    "max_age": (cloud("[fleet.web.timers]\nmax_age = '10m'"), "fleet.web.timers.max_age"),
    "command": (cloud("ready = { probe = 'command' }"), "fleet.web.ready.command"),
    "commands": (
        cloud("ready = { probe = 'tcp', commands = ['true'] }"),
        "fleet.web.ready.commands",
    ),
    "busy": (cloud("ready = { probe = 'tcp', busy = 'true' }"), "fleet.web.ready.busy"),
    "node": (cloud("ready = { probe = 'node' }"), "fleet.web.ready.probe"),
    "key": (cloud("ready = { probe = 'tcp', key = 'x' }"), "fleet.web.ready.key"),
    "timeout": (
        cloud("ready = { probe = 'tcp', timeout = '10m' }"),
        "fleet.web.ready.timeout",
    ),
    "probe_every": (
        cloud("ready = { probe = 'tcp' }\n[fleet.web.timers]\nprobe_every = '10m'"),
        "fleet.web.timers.probe_every",
    ),
    "start": (cloud("[fleet.web.timers]\nstart = '1m'"), "fleet.web.timers.start"),
    "stop": (cloud("[fleet.web.timers]\nstop = '1m'"), "fleet.web.timers.stop"),
    "port": (
        cloud(account='endpoint = "http://127.0.0.1:99999"'),
        "provider.scaleway.endpoint",
    ),
    "plain http": (
        cloud(account='endpoint = "http://api.scaleway.com"'),
        "provider.scaleway.endpoint",
    ),
    "spend": (MACS.format(spend="5.03", patience="0s"), "fleet.ci.order.spend_per_day"),
    "patience": (MACS.format(spend="5.04", patience="1441m"), "fleet.ci.order.patience"),
    "a host twice": (
        STATIC.format(hosts='{ address = "a" }, { address = "a", name = "b" }')
        + fleet("x", 1, "static"),
        "provider.static.hosts",
    ),
    "a host of two accounts": (
        TWO.format(hosts='{ address = "b.test" }, { address = "c.test", name = "a.test" }'),
        "provider.second",
    ),
    "too few hosts": (hosts("a-1", "b-1") + fleet("x", 2, "a"), "fleet.x.size"),
    "too few for two": (
        hosts("a-1", "a-2", "b-1") + fleet("x", 2, "a b") + fleet("y", 2, "a"),
        "fleet.y.size",
    ),
    "too few to replace": (
        hosts("a-1") + fleet("x", 1, "a", "replace_outdated = true"),
        "fleet.x.size",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_combination_that_cannot_work_is_refused(name: str, tmp_path: Path) -> None:
    text, path = BROKEN[name]
    found = refused(tmp_path, text)
    assert set(found) == {path}
    assert "expected" in found[path]


WORKING = {
    "the least lease": cloud("[engine]\nlease_ttl = '26s'\nlease_beat = '5s'"),
    "room for the surge": cloud("maximum = 3\nreplace_outdated = true"),
    "no surge": cloud("maximum = 2\nsurge = 0\nreplace_outdated = true"),
    "a surge that is never needed": cloud("maximum = 2"),
    "no probe": cloud("[fleet.web.timers]\nprobe_every = '10m'"),
    "older than its start": cloud("[fleet.web.timers]\nmax_age = '601s'"),
    "asked for by itself": cloud("renews = false").replace("size = 2", "size = 0"),
    "a simulator": cloud(account='endpoint = "http://127.0.0.1:8100"'),
    "one host a day": MACS.format(spend="5.04", patience="24h"),
    "two accounts": TWO.format(hosts='{ address = "b.test" }'),
    "one moves for the other": (
        hosts("a-1", "a-2", "b-1") + fleet("x", 1, "a b") + fleet("y", 2, "a")
    ),
    "one after the other": hosts("a-1") + fleet("x", 1, "a", "replace_outdated = true\nsurge = 0"),
}


@pytest.mark.parametrize("name", WORKING)
def test_what_can_just_work_is_taken(name: str, tmp_path: Path) -> None:
    assert refused(tmp_path, WORKING[name]) == {}


def every_law() -> Iterator[str]:
    for found in (laws.ENGINE, laws.ENGINE_AND_CALLS, laws.FLEET, laws.FLEET_AND_CALLS):
        yield from (law.key for law in found)


@pytest.mark.parametrize("key", sorted(set(every_law())))
def test_every_law_has_a_file_that_breaks_it(key: str) -> None:
    assert any(path.endswith(f".{key}") for _, path in BROKEN.values())


def test_all_that_is_wrong_is_shown_at_once(tmp_path: Path) -> None:
    text = cloud("maximum = 1\nrenews = false\n[engine]\nlease_ttl = '20s'\nlease_beat = '5s'")
    found = refused(tmp_path, text.replace("scaleway]", "scalewai]"))
    assert set(found) == {"provider.scalewai.kind", "fleet.web.maximum", "fleet.web.size"}
    found = refused(tmp_path, text)
    assert set(found) == {"fleet.web.maximum", "fleet.web.size", "engine.lease_ttl"}
