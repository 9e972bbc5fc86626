"""What tests of the chart share: who an account is to the server, and the manager run as one."""

import os
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rendering import Manifest, of_kind, one_of

from hostler.lab.controlplane.api_server import ApiServer
from hostler.lab.controlplane.kubectl import Kubectl
from hostler.lab.controlplane.processes import Running, answers, process, wait

HOSTLER = Path(sys.executable).parent / "hostler"
STATE = "/var/lib/hostler"


def kubeconfig_of(server: ApiServer, token: str) -> Path:
    """Return a kubeconfig like the server's own, for whoever has this token."""
    config = msgspec.json.decode(server.kubeconfig.read_bytes())
    config["users"] = [{"name": "account", "user": {"token": token}}]
    context = {"cluster": config["clusters"][0]["name"], "user": "account"}
    config["contexts"] = [{"name": "account", "context": context}]
    config["current-context"] = "account"
    path = server.folder / "account.kubeconfig"
    path.touch(0o600)
    path.write_bytes(msgspec.json.encode(config))
    return path


@contextmanager
def manager(
    found: Sequence[Manifest], kubectl: Kubectl, namespace: str, folder: Path
) -> Generator[Running]:
    """Run what the Deployment of a release runs, as its account, with its rights and its file.

    The rights end with it: those of one release are never found by the next.
    """
    own = [one for one in found if "helm.sh/hook" not in str(one["metadata"])]
    rights = of_kind(own, "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    kubectl.apply(*of_kind(own, "ServiceAccount"), *rights)
    try:
        yield from _running(found, kubectl, namespace, folder)
    finally:
        kubectl.delete(*rights)


def _running(
    found: Sequence[Manifest], kubectl: Kubectl, namespace: str, folder: Path
) -> Generator[Running]:
    deployment = one_of(found, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    name = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    token = kubectl.run("create", "token", name, "-n", namespace).strip()
    text = one_of(found, "ConfigMap")["data"]["fleet.toml"].replace(STATE, str(folder))
    (folder / "fleet.toml").write_text(re.sub(r'listen = "[^:]*:', 'listen = "127.0.0.1:', text))
    environment = {
        "KUBECONFIG": str(kubeconfig_of(kubectl.server, token)),
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
    }
    command = [str(HOSTLER), *(one.replace(STATE, str(folder)) for one in container["args"])]
    (port,) = (one["containerPort"] for one in container["ports"] if one["name"] == "metrics")
    with process(command, folder / "manager.log", environment) as one:
        wait(one, lambda: answers(f"http://127.0.0.1:{port}/healthz"))
        yield one
