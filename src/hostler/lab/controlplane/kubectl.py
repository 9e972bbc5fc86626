"""Kubectl: Kubernetes' own command line, as whoever a context of the kubeconfig names."""

import subprocess
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from hostler.domain.errors import HostlerError

from .api_server import ApiServer


class Refused(HostlerError):
    """What kubectl was asked to do failed; the text is its reason."""


class Kubectl(Struct, frozen=True):
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
        done = subprocess.run(  # noqa: S603 - our own program
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
        dry = ("--dry-run=server",) if dry_run else ()
        strict = () if warnings else ("--warnings-as-errors",)
        options = ("--server-side", "--force-conflicts", *dry, *strict)
        self.run("apply", *options, "-f", "-", text=_list_of(objects))

    def delete(self, *objects: dict[str, Any]) -> None:
        """Delete objects, those that are there. Raises Refused."""
        self.run("delete", "--ignore-not-found", "-f", "-", text=_list_of(objects))

    def write_status(self, resource: str, name: str, namespace: str, **status: Any) -> None:
        """Merge into the status of an object. Raises Refused."""
        patch = msgspec.json.encode({"status": status}).decode()
        place = (resource, name, f"--namespace={namespace}", "--subresource=status")
        self.run("patch", *place, "--type=merge", "--patch", patch)


def _list_of(objects: Sequence[dict[str, Any]]) -> str:
    whole = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return msgspec.json.encode(whole).decode()
