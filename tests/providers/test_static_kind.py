"""Static hosts in a fleet file: what is read from it, and what is said of what is wrong."""

from pathlib import Path
from textwrap import dedent

import pytest

from hostler.access.http import AiohttpTransport
from hostler.access.shell import SshShell
from hostler.app.store_registry import STORES
from hostler.config.load import load
from hostler.config.values import Config, WrongFile
from hostler.domain.ids import AccountName, FleetName, InstallationId
from hostler.ports.kind import Opening
from hostler.providers.static.kind import StaticKind
from hostler.providers.static.provider import StaticHosts
from hostler.providers.static.settings import StaticTable, hosts_of
from hostler.testing.time.clock import RigClock

WHOLE = """
    [provider.lab]
    kind = "static"
    user = "builder"
    key = "keys/lab"
    hosts = [
      { address = "192.0.2.1" },
      { address = "192.0.2.2", name = "big", port = 2222, user = "root", group = "large" },
    ]

    [fleet.builders]
    size = 1
    groups = ["large", "static"]
    release = "git clean -fdx"
"""


def read(tmp_path: Path, text: str) -> Config:
    file = tmp_path / "fleet.toml"
    file.write_text(dedent(text))
    return load(file, {"static": StaticKind}, STORES)


def faults(tmp_path: Path, text: str) -> str:
    with pytest.raises(WrongFile) as caught:
        read(tmp_path, text)
    return str(caught.value)


def test_a_file_becomes_hosts_and_offers(tmp_path: Path) -> None:
    config = read(tmp_path, WHOLE)
    assert [str(offer) for offer in config.fleets[0].offers] == ["host in large", "host in static"]
    settings = config.accounts[0].settings
    assert isinstance(settings, StaticTable)
    first, second = hosts_of(settings, config.folder)
    assert (first.name, first.port, first.user) == ("192.0.2.1", 22, "builder")
    assert first.key == tmp_path / "keys" / "lab"
    assert (second.name, second.port, second.user) == ("big", 2222, "root")


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ('{ address = "192.0.2.9", name = "big" }', "each name once, and big is not"),
        ('{ address = "192.0.2.1" }', "each name once, and 192.0.2.1 is not"),
        (
            '{ address = "192.0.2.1", name = "small" }',
            "each address and port once, and 192.0.2.1:22 is not",
        ),
    ],
)
def test_a_host_that_is_listed_twice_is_a_fault_of_the_list(
    tmp_path: Path, entry: str, what: str
) -> None:
    text = faults(tmp_path, WHOLE.replace("hosts = [", f"hosts = [ {entry},", 1))
    assert "1 error\n  provider.lab.hosts\n" in text
    assert f"expected {what}" in text


def test_an_account_is_opened_with_what_its_fleets_ask(tmp_path: Path) -> None:
    config = read(tmp_path, WHOLE)
    provider = StaticKind().open(
        Opening(
            name=AccountName("lab"),
            settings=config.accounts[0].settings,
            templates=config.templates,
            installation=InstallationId("home1234"),
            folder=config.folder,
            environment={},
            clock=RigClock(),
            shell=SshShell(),
            connect=AiohttpTransport,
        )
    )
    assert isinstance(provider, StaticHosts)
    assert provider.capabilities.zones == ("static", "large")
    assert provider._cleaning(FleetName("builders")) == "git clean -fdx"


def test_another_release_command_makes_machines_outdated(tmp_path: Path) -> None:
    before = read(tmp_path, WHOLE).fleets[0].template
    after = read(tmp_path, WHOLE.replace("-fdx", "-fd")).fleets[0].template
    assert before != after


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["large", "static"]', '["huge"]', "huge has none"),
        ('name = "big"', 'name = "192.0.2.1"', "192.0.2.1 is not"),
        ('name = "big"', 'name = "a#b"', "hosts[1].name"),
        ('name = "big"', 'fingerprint = "MD5:00"', 'a fingerprint such as "SHA256:'),
        ("port = 2222", "port = 0", "hosts[1].port"),
        ('group = "large"', 'kroup = "large"', "kroup"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in faults(tmp_path, WHOLE.replace(old, new))


def test_a_list_without_hosts_is_wrong(tmp_path: Path) -> None:
    text = "[provider.static]\nhosts = []\n[fleet.a]\nsize = 0\n"
    message = faults(tmp_path, text)
    assert "1 error" in message, "and nothing that follows from it"
    assert "provider.static.hosts\n      expected at least one entry; it is empty" in message
