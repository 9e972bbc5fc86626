"""Core: Cluster API's own manager, outside of the cluster that it manages, with its webhooks.

Its kinds come from the folder of its module, without what only a cluster with a kubelet can run:
no Deployment, no Service, no cert-manager. Webhooks are called on loopback, with a certificate made
here.
"""

import base64
import datetime as dt
import ipaddress
import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from hostler.simulators.ports import free_port
from hostler.testing.peers.go_hosts import go_program

from .api_server import ApiServer
from .kubectl import Kubectl
from .processes import NEVER, answers, process, wait
from .programs import CLUSTER_API, MODULE

NAMESPACE = "capi-system"


@contextmanager
def core(server: ApiServer, program: Path, ended: Event = NEVER) -> Generator[ApiServer]:
    """Install Cluster API's core on a server, and run its manager for as long as this lasts.

    NotServing, or Ended.
    """
    folder = server.folder / "core"
    folder.mkdir()
    hooks, health, diagnostics = (free_port() for _ in range(3))
    certificate = _certificate(folder)
    kubectl = Kubectl(server)
    found = [_adapted(one, hooks, certificate) for one in _components(kubectl, program.parent)]
    kubectl.apply(*found)
    kubectl.run(
        *("wait", "--for=condition=Established", "crd", "--timeout=60s"),
        *("-l", "cluster.x-k8s.io/provider=cluster-api"),
    )
    command = (
        *(str(program), f"--kubeconfig={server.kubeconfig}", "--leader-elect=false"),
        *(f"--webhook-cert-dir={folder}", f"--webhook-port={hooks}"),
        *(f"--health-addr=127.0.0.1:{health}", "--feature-gates=MachinePool=true"),
        *(f"--diagnostics-address=127.0.0.1:{diagnostics}", "--insecure-diagnostics=true"),
    )
    pod = {"POD_NAMESPACE": NAMESPACE, "POD_NAME": "core", "POD_UID": "core"}
    with process(command, server.folder / "core.log", {**os.environ, **pod}) as begun:
        wait(begun, lambda: answers(f"http://127.0.0.1:{health}/readyz"), ended)
        yield server


def _components(kubectl: Kubectl, cache: Path) -> list[dict[str, Any]]:
    """Return what core consists of, as its module has it; made once, beside the program."""
    path = cache / "components.yaml"
    if not path.exists():
        text = kubectl.run("kustomize", str(_module() / "core" / "config" / "default"))
        path.write_text(text)
    whole: list[dict[str, Any]] = [one for one in yaml.load_all(path.read_text(), _LOADER) if one]
    return [
        one
        for one in whole
        if one["kind"] not in {"Deployment", "Service"} and "cert-manager" not in one["apiVersion"]
    ]


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _module() -> Path:
    """Return the folder of the module, which is read-only."""
    listed = subprocess.run(  # noqa: S603 - the go that was found
        [go_program(CLUSTER_API.oldest), "list", "-m", "-f", "{{.Dir}}", MODULE],
        cwd=CLUSTER_API.sources,
        env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(listed.stdout.strip())


def _adapted(one: dict[str, Any], port: int, certificate: bytes) -> dict[str, Any]:
    """Let a webhook, or the conversion of a kind, be called on loopback."""
    called = [hook["clientConfig"] for hook in one.get("webhooks", [])]
    if one["kind"] == "CustomResourceDefinition":
        conversion = one["spec"].get("conversion", {}).get("webhook")
        called += [conversion["clientConfig"]] if conversion else []
    for config in called:
        path = config.pop("service")["path"]
        config["url"] = f"https://127.0.0.1:{port}{path}"
        config["caBundle"] = base64.b64encode(certificate).decode()
    return one


def _certificate(folder: Path) -> bytes:
    """Write a certificate for loopback, and its key, under the names that webhooks look for."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "webhooks")])
    begun = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(begun)
        .not_valid_after(begun + dt.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([loopback]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    (folder / "tls.crt").write_bytes(made)
    (folder / "tls.key").touch(0o600)
    (folder / "tls.key").write_bytes(secret)
    return made
