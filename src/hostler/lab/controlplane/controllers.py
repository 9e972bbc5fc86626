"""A cluster without a kubelet: controllers, scheduler, and Nodes whose pods kwok plays.

Every Node is Ready at once, and its pods run as soon as they are scheduled; pods of Jobs succeed,
but for those with the annotations `test/hangs` and `test/exit-code`. A Node with the label
`test/unmanaged` stays as its status is written, by a test.
"""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

from hostler.simulators.ports import free_port

from .api_server import ApiServer
from .kubectl import Kubectl, Refused
from .processes import NEVER, process, wait

STAGES = Path(__file__).parent / "stages.yaml"


@contextmanager
def controllers(server: ApiServer, ended: Event = NEVER) -> Generator[ApiServer]:
    """Run controllers, scheduler and kwok beside a server for as long as this lasts.

    NotServing, or Ended.
    """
    with ExitStack() as stack:
        for name, command in _commands(server).items():
            log = server.folder / f"{name}.log"
            begun = stack.enter_context(process([str(server.program), name, *command], log))
            # what a pod needs last is made by the controllers; the others have nothing to wait for
            if name == "kube-controller-manager":
                wait(begun, lambda: _has_account(server), ended)
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
