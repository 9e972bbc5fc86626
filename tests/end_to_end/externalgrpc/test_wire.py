"""The wire: real clients of both generations of Cluster Autoscaler, before a real `hostler run`."""

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import grpc
import pytest
from client_kit import GENERATIONS, SERVICE, Client, compiled
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

FILE = """
store = "memory:"
[engine]
busy_first = "200ms"
busy_last = "200ms"
quiet = "300ms"
poll = "50ms"
[provider.rack]
kind = "power"
rate = 100
cleaning = "trusted"
{boxes}
[fleet.nodes]
size = 0
renews = false
maximum = 3
[fleet.nodes.node]
provider_id = "k3s://{{host}}"
minimum = 0
cpu = "4"
memory = "16Gi"
price = 0.5
labels = {{ "hostler.dev/gpu" = "t4", "room" = "cellar" }}
taints = [{{ key = "metal", effect = "NoSchedule" }}]
[fleet.nodes.node.options]
scale_down_unneeded = "90s"
[frontend.externalgrpc]
listen = "127.0.0.1:0"
{tls}
"""
BOX = """
[[provider.rack.boxes]]
name = "box-{n}"
[provider.rack.boxes.command]
settles = "1s"
on = ["touch", "{folder}/box-{n}"]
off_hard = ["rm", "-f", "{folder}/box-{n}"]
query = ["test", "-e", "{folder}/box-{n}"]
status_off = 1
"""


class Running:
    """A `hostler run` in a process of its own."""

    def __init__(self, folder: Path, tls: str = "") -> None:
        self.folder = folder
        boxes = "".join(BOX.format(n=n, folder=folder) for n in (1, 2, 3))
        (folder / "fleets.toml").write_text(FILE.format(boxes=boxes, tls=tls))
        script = "from hostler.app.main import main; main()"
        words = [sys.executable, "-c", script, "run", str(folder / "fleets.toml")]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        self.address, output = "", list[str]()
        for line in self.process.stdout:
            output.append(line)
            if found := re.search(r'"listen": "([^"]+)"', line):
                self.address = found[1]
                break
        assert self.address, "".join(output)

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, output
        return output

    def is_on(self, number: int) -> bool:
        return (self.folder / f"box-{number}").exists()


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds, for as long as a machine may take."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@pytest.fixture(scope="module", params=GENERATIONS)
def messages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return compiled(tmp_path_factory.mktemp("messages"), request.param)


@pytest.fixture
def client(messages: Any, tmp_path: Path) -> Iterator[tuple[Client, Running]]:
    running = Running(tmp_path)
    with grpc.insecure_channel(running.address) as channel:
        generation = messages.__name__.removesuffix("_pb2")
        yield Client(generation, messages, channel), running
    running.stop()


def refreshed(client: Client) -> bool:
    try:
        client.call("Refresh")
    except grpc.RpcError as error:
        if error.code() is not grpc.StatusCode.UNAVAILABLE:
            raise
        return False
    return True


def states(client: Client) -> dict[str, int]:
    answer = client.call("NodeGroupNodes", id="nodes")
    return {one.id: one.status.instanceState for one in answer.instances}


RUNNING, CREATING, DELETING = 1, 2, 3
SECOND = 1_000_000_000


@pytest.mark.timeout(120)
def test_a_day_of_cluster_autoscaler(client: tuple[Client, Running]) -> None:
    ca, rack = client
    until(lambda: refreshed(ca), "it is never observed")
    (group,) = ca.call("NodeGroups").nodeGroups
    assert (group.id, group.minSize, group.maxSize) == ("nodes", 0, 3)
    assert ca.call("NodeGroupTargetSize", id="nodes").targetSize == 0

    ca.call("NodeGroupIncreaseSize", id="nodes", delta=2)
    assert ca.call("NodeGroupTargetSize", id="nodes").targetSize == 2
    assert {*states(ca).values()} == {CREATING}
    until(lambda: [*states(ca).values()] == [RUNNING] * 2, "two boxes never ran")
    first, second = sorted(states(ca))
    assert {first, second} < {f"k3s://box-{n}" for n in (1, 2, 3)}
    assert [rack.is_on(n) for n in (1, 2, 3)].count(True) == 2

    node = {"providerID": first, "name": "whatever"}
    assert ca.call("NodeGroupForNode", node=node).nodeGroup == group
    assert ca.call("NodeGroupForNode", node={"name": "stranger"}).nodeGroup.id == ""

    ca.call("NodeGroupDeleteNodes", id="nodes", nodes=[node])
    assert ca.call("NodeGroupTargetSize", id="nodes").targetSize == 1
    until(lambda: [*states(ca)] == [second], "the deleted one never went")
    until(lambda: [rack.is_on(n) for n in (1, 2, 3)].count(True) == 1, "its box stays on")


def test_what_a_new_node_is_and_costs(client: tuple[Client, Running]) -> None:
    ca, _ = client
    until(lambda: refreshed(ca), "it is never observed")
    node = ca.template("nodes")
    assert {n: q.string for n, q in node.status.allocatable.items()} == {
        "cpu": "4",
        "memory": "16Gi",
        "pods": "110",
    }
    assert node.status.capacity == node.status.allocatable
    assert [(taint.key, taint.effect) for taint in node.spec.taints] == [("metal", "NoSchedule")]
    assert node.metadata.labels["room"] == "cellar"
    assert {one.type: one.status for one in node.status.conditions}["Ready"] == "True"
    template = {"name": "template-x", "labels": dict(node.metadata.labels)}
    assert ca.call("PricingNodePrice", node=template, **ca.window(2)).price == 1.0
    pod = ca.pod(cpu="500m", memory="8Gi")
    assert ca.call("PricingPodPrice", **pod, **ca.window(1)).price == 0.25
    large = ca.pod(cpu="5")
    assert code(lambda: ca.call("PricingPodPrice", **large, **ca.window(1))) == "UNIMPLEMENTED"
    assert ca.call("GPULabel").label == "hostler.dev/gpu"
    ca.call("GetAvailableGPUTypes")
    ca.call("Cleanup")


def test_options_are_whole_and_begin_with_the_defaults(client: tuple[Client, Running]) -> None:
    ca, _ = client
    until(lambda: refreshed(ca), "it is never observed")
    longest: dict[str, object] = (
        {"maxNodeProvisionTime": {"duration": 900 * SECOND + SECOND // 4}}
        if ca.is_old
        else {"MaxNodeProvisionDuration": {"seconds": 900, "nanos": SECOND // 4}}
    )
    defaults = {"scaleDownUtilizationThreshold": 0.5} | longest
    answer = ca.call("NodeGroupGetOptions", id="nodes", defaults=defaults)
    found = answer.nodeGroupAutoscalingOptions
    assert found.scaleDownUtilizationThreshold == 0.5
    if ca.is_old:
        assert found.scaleDownUnneededTime.duration == 90 * SECOND
        assert found.maxNodeProvisionTime.duration == 900 * SECOND + SECOND // 4
        assert found.HasField("scaleDownUnreadyTime")
    else:
        assert found.scaleDownUnneededDuration.seconds == 90
        assert found.MaxNodeProvisionDuration.seconds == 900
        assert found.MaxNodeProvisionDuration.nanos == SECOND // 4
        assert found.HasField("scaleDownUnreadyDuration")


def code(call: Callable[[], object]) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return str(caught.value.code().name)


def test_what_makes_no_sense_is_refused_in_a_sentence(client: tuple[Client, Running]) -> None:
    ca, _ = client
    until(lambda: refreshed(ca), "it is never observed")
    asked: dict[str, tuple[str, dict[str, object]]] = {
        "NOT_FOUND": ("NodeGroupTargetSize", {"id": "n\u00f6" * 5000}),
        "INVALID_ARGUMENT": ("NodeGroupIncreaseSize", {"id": "nodes", "delta": 4}),
    }
    for status, (method, fields) in asked.items():
        assert code(lambda method=method, fields=fields: ca.call(method, **fields)) == status
    stranger = [{"providerID": "k3s://stranger"}]
    delete = {"id": "nodes", "nodes": stranger}
    assert code(lambda: ca.call("NodeGroupDeleteNodes", **delete)) == "NOT_FOUND"
    assert ca.call("NodeGroupTargetSize", id="nodes").targetSize == 0
    assert code(lambda: ca.call("PricingNodePrice", node={"name": "x"})) == "UNIMPLEMENTED"


# ---------------------------------------------------------------- who may call


def certificate(folder: Path, name: str, signer: str = "") -> None:
    """Write NAME.pem and NAME.key, signed by another one of them or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    by = signer or name
    issuer_key = (
        serialization.load_pem_private_key((folder / f"{by}.key").read_bytes(), None)
        if signer
        else key
    )
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, by)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=not signer, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(issuer_key, hashes.SHA256())
    )
    (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / f"{name}.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


TLS = """[frontend.externalgrpc.tls]
certificate = "server.pem"
key = "server.key"
client_ca = "ca.pem"
"""


def test_only_callers_with_a_certificate_of_the_authority_are_answered(
    messages: Any, tmp_path: Path
) -> None:
    certificate(tmp_path, "ca")
    certificate(tmp_path, "other")
    for name, signer in {"server": "ca", "caller": "ca", "stranger": "other"}.items():
        certificate(tmp_path, name, signer)
    running = Running(tmp_path, TLS)

    def calls(name: str) -> str:
        parts = (tmp_path / "ca.pem", *(tmp_path / f"{name}.{end}" for end in ("key", "pem")))
        root, key, chain = (part.read_bytes() if name else None for part in parts)
        root = (tmp_path / "ca.pem").read_bytes()
        credentials = grpc.ssl_channel_credentials(root, key, chain)
        with grpc.secure_channel(running.address, credentials) as channel:
            ca = Client("", messages, channel)
            try:
                ca.call("NodeGroups")
            except grpc.RpcError as error:
                return str(error.code().name)
        return "OK"

    assert [calls(name) for name in ("caller", "stranger", "")] == [
        "OK",
        "UNAVAILABLE",
        "UNAVAILABLE",
    ]
    with grpc.insecure_channel(running.address) as channel:
        ca = Client("", messages, channel)
        assert code(lambda: ca.call("NodeGroups")) == "UNAVAILABLE"
    running.stop()


def test_health_and_reflection_are_served(client: tuple[Client, Running]) -> None:
    ca, _ = client
    empty: Callable[[bytes], bytes] = bytes
    until(lambda: refreshed(ca), "it is never observed")
    check = ca.channel.unary_unary(
        "/grpc.health.v1.Health/Check", request_serializer=empty, response_deserializer=empty
    )
    assert check(b"", timeout=5) == b"\x08\x01"
    listed = ca.channel.stream_stream(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        request_serializer=empty,
        response_deserializer=empty,
    )
    (answer,) = listed(iter([b"\x3a\x00"]), timeout=5)  # list_services
    assert SERVICE.strip("/").encode() in answer


def test_the_address_is_of_another_program(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        boxes = BOX.format(n=1, folder=tmp_path)
        text = FILE.format(boxes=boxes, tls="").replace("127.0.0.1:0", f"127.0.0.1:{port}")
        (tmp_path / "fleets.toml").write_text(text.replace("maximum = 3", "maximum = 1"))
        script = "from hostler.app.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", script, "run", str(tmp_path / "fleets.toml")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode != 0
    assert "frontend.externalgrpc.listen: cannot listen on 127.0.0.1" in done.stderr
