"""A cluster without a kubelet: controllers, scheduler, and Nodes whose pods kwok plays.

Every Node is Ready at once, and its pods run as soon as they are scheduled; pods of Jobs succeed,
but for those with the annotations `test/hangs` and `test/exit-code`. A Node with the label
`test/unmanaged` stays as its status is written, by a test.
"""

import subprocess
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from api_server import ApiServer
from processes import free_port, process, wait

STAGES = Path(__file__).parent / "stages.yaml"


class Refused(Exception):
    """What kubectl was asked to do failed; the text is its reason."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Kubernetes' own command line, as a context of the kubeconfig."""

    server: ApiServer
    context: str = "admin"

    def run(self, *arguments: str, text: str = "") -> str:
        """Return what it prints. Raises Refused."""
        code, output, errors = self._done(arguments, text)
        if code != 0:
            raise Refused(f"kubectl {' '.join(arguments)}: {errors}")
        return output

    def asked(self, *arguments: str) -> str:
        """Return what it prints, whatever its exit code: some answer by that."""
        return self._done(arguments, "")[1]

    def _done(self, arguments: Sequence[str], text: str) -> tuple[int, str, str]:
        options = (f"--kubeconfig={self.server.kubeconfig}", f"--context={self.context}")
        done = subprocess.run(
            [self.server.program, "kubectl", *options, *arguments],
            input=text,
            capture_output=True,
            text=True,
            env={"HOME": str(self.server.folder), "PATH": "/usr/bin:/bin"},
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def read(self, *arguments: str) -> dict[str, Any]:
        """Return one object, or a list of them, as the server has it. Raises Refused."""
        found: dict[str, Any] = msgspec.json.decode(self.run("get", *arguments, "-o", "json"))
        return found

    def apply(self, *objects: dict[str, Any], dry_run: bool = False, warnings: bool = True) -> None:
        """Apply objects on the server's side. Raises Refused, without `warnings` for them too."""
        whole = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        dry = ("--dry-run=server",) if dry_run else ()
        strict = () if warnings else ("--warnings-as-errors",)
        text = msgspec.json.encode(whole).decode()
        self.run("apply", "--server-side", "--force-conflicts", *dry, *strict, "-f", "-", text=text)

    def write_status(self, resource: str, name: str, namespace: str, **status: Any) -> None:
        """Merge into the status of an object. Raises Refused."""
        patch = msgspec.json.encode({"status": status}).decode()
        place = (resource, name, f"--namespace={namespace}", "--subresource=status")
        self.run("patch", *place, "--type=merge", "--patch", patch)


@contextmanager
def controllers(server: ApiServer) -> Generator[ApiServer]:
    """Run the controllers, the scheduler and kwok beside a server for as long as this lasts."""
    with ExitStack() as stack:
        for name, command in _commands(server).items():
            log = server.folder / f"{name}.log"
            begun = stack.enter_context(process([str(server.program), name, *command], log))
            # what a pod needs last is made by the controllers; the others have nothing to wait for
            if name == "kube-controller-manager":
                wait(begun, lambda: _has_account(server))
        yield server


def _has_account(server: ApiServer) -> bool:
    try:
        Kubectl(server).run("get", "serviceaccount", "default")
    except Refused:
        return False
    return True


def _commands(server: ApiServer) -> dict[str, Sequence[str]]:
    kubeconfig = f"--kubeconfig={server.kubeconfig}"
    shared = (kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", "--v=1")
    own = ("--authentication-skip-lookup=true", "--authorization-always-allow-paths=/*")
    certificates = server.folder / "managers"
    return {
        "kube-controller-manager": (
            *(*shared, *own, f"--secure-port={free_port()}", f"--cert-dir={certificates}"),
            f"--service-account-private-key-file={server.accounts_key}",
            *("--use-service-account-credentials=true", f"--root-ca-file={server.authority}"),
        ),
        "kube-scheduler": (
            *(*shared, *own, f"--secure-port={free_port()}", f"--cert-dir={certificates}"),
        ),
        "kwok": (
            *(kubeconfig, f"--config={STAGES}", "--node-lease-duration-seconds=40"),
            *("--manage-all-nodes=true", "--cidr=10.128.0.0/16"),
            *("--node-ip=127.0.0.1", f"--server-address=127.0.0.1:{free_port()}"),
        ),
    }
