"""Node groups in the fleet file: what they need, and what is told of what cannot be one."""

from pathlib import Path

import pytest

from hostler.app.compose import Composed
from hostler.config.digests import differing, digests
from hostler.config.quantities import quantity
from hostler.config.values import Config
from hostler.domain.errors import ConfigError

FILE = """
[provider.hosts]
kind = "static"
[[provider.hosts.hosts]]
address = "192.0.2.1"
[fleet.nodes]
size = 0
renews = false
maximum = 1
[fleet.nodes.node]
cpu = "4"
memory = "16Gi"
[frontend.externalgrpc]
listen = "127.0.0.1:8086"
"""


def read(folder: Path, text: str) -> Config:
    path = folder / "fleets.toml"
    path.write_text(text)
    return Composed().load(path)


def test_fleets_that_do_not_renew_themselves_are_node_groups(tmp_path: Path) -> None:
    config = read(tmp_path, FILE)
    assert config.externalgrpc is not None
    (group,) = config.externalgrpc.groups
    assert (group.fleet, group.node.cpu, config.externalgrpc.listen.port) == ("nodes", "4", 8086)
    assert read(tmp_path, FILE.partition("[frontend")[0]).externalgrpc is None


@pytest.mark.parametrize(
    ("before", "after", "place", "expected"),
    [
        ("renews = false\nmaximum = 1", "", "frontend.externalgrpc", "renews = false"),
        ("maximum = 1\n", "", "fleet.nodes.maximum", "it is missing"),
        ('cpu = "4"\n', "", "fleet.nodes.node.cpu", "beside the other"),
        ('"16Gi"', '"16 GB"', "fleet.nodes.node.memory", '"16Gi"'),
        ('"16Gi"', "16", "fleet.nodes.node.memory", '"16Gi"'),
        ('cpu = "4"', 'cpu = "4"\nminimum = 2', "fleet.nodes.node.minimum", "at most"),
        ('cpu = "4"', 'cpu = "4"\nprovider_id = "k3s://{name}"', "provider_id", "{name}"),
        ('cpu = "4"', 'cpu = "4"\nprovider_id = "k3s://{host"', "provider_id", "none but"),
        ('cpu = "4"', 'cpu = "4"\nprovider_id = "{host!r}"', "provider_id", "{host}"),
        ("127.0.0.1:8086", "0.0.0.0:8086", "frontend.externalgrpc.listen", "insecure = true"),
        ("127.0.0.1:8086", "127.0.0.1:99999", "frontend.externalgrpc.listen", "65535"),
        ("127.0.0.1:8086", "everywhere", "frontend.externalgrpc.listen", "address and a port"),
        ("externalgrpc", "grpc", "frontend.grpc", "no such key"),
    ],
)
def test_what_cannot_work_is_told_with_its_place(
    before: str, after: str, place: str, expected: str, tmp_path: Path
) -> None:
    assert before in FILE
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, FILE.replace(before, after))
    assert place in str(caught.value)
    assert expected in str(caught.value)


def test_the_last_port_and_all_nodes_as_the_minimum_are_in_order(tmp_path: Path) -> None:
    text = FILE.replace("8086", "65535").replace('cpu = "4"', 'cpu = "4"\nminimum = 1')
    config = read(tmp_path, text)
    assert config.externalgrpc is not None
    assert config.externalgrpc.listen.port == 65535
    with pytest.raises(ConfigError, match="65535"):
        read(tmp_path, text.replace("65535", "65536"))


@pytest.mark.parametrize("more", ["insecure = true", "[frontend.externalgrpc.tls]\n{tls}"])
def test_others_are_served_with_certificates_or_where_the_file_says_so(
    more: str, tmp_path: Path
) -> None:
    tls = 'certificate = "a"\nkey = "b"\nclient_ca = "c"'
    text = FILE.replace("127.0.0.1:", "0.0.0.0:") + more.format(tls=tls)
    assert read(tmp_path, text).externalgrpc is not None


def test_a_file_that_is_read_again_shows_what_changed_of_nodes(tmp_path: Path) -> None:
    first, second = (digests(read(tmp_path, FILE.replace("16Gi", size))) for size in ("1Gi", "2Gi"))
    assert differing(first, second) == ("fleet.nodes",)
    third = digests(read(tmp_path, FILE.replace("8086", "8087").replace("16Gi", "1Gi")))
    assert differing(first, third) == ("frontend",)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("4", 4.0),
        ("500m", 0.5),
        ("1.5", 1.5),
        ("16Gi", 16 * 1024.0**3),
        ("2k", 2000.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-1", -1.0),
        ("1K", None),
        ("", None),
        ("x", None),
        ("1 Gi", None),
        ("٤", None),
    ],
)
def test_quantities_are_read_as_kubernetes_writes_them(text: str, amount: float | None) -> None:
    assert quantity(text) == amount
