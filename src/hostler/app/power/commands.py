"""Commands for Jobs: `hostler wake-on-lan` and `hostler ssh-shutdown`; each imports its work."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hostler.frontends.cli.console.guard import guarded
from hostler.frontends.cli.console.options import Whole

Json = Annotated[bool, Parameter(name="--json", negative=(), help="print JSON")]


def wake_on_lan(
    mac: Annotated[str, Parameter(help="its network card's address, as 52:54:00:12:34:56")],
    /,
    *,
    broadcast: Annotated[
        str, Parameter(help="the broadcast address of its network")
    ] = "255.255.255.255",
    interface: Annotated[
        str | None, Parameter(help="the network interface that the packets leave by")
    ] = None,
    port: Annotated[Whole, Parameter(help="the UDP port: any will do")] = 9,
    json: Json = False,
) -> int:
    """Send magic packets to one machine; whether it starts, nobody answers."""
    from .switching import wake

    keys = {"mac": mac, "broadcast": broadcast, "interface": interface, "port": port}
    return guarded(json, lambda screen: wake(keys, screen))


def ssh_shutdown(  # noqa: PLR0913 - each is an option
    host: Annotated[str, Parameter(help="its address or name in the network")],
    /,
    *,
    fingerprint: Annotated[
        str, Parameter(help="of its host key, as `ssh-keygen -lf` prints it: SHA256:…")
    ],
    key: Annotated[
        Path | None, Parameter(help="the file of the private key; default: an agent's, ~/.ssh")
    ] = None,
    user: Annotated[str, Parameter(help="the login")] = "root",
    port: Annotated[Whole, Parameter(help="the port of its SSH server")] = 22,
    command: Annotated[str, Parameter(help="what is run there")] = "sudo -n systemctl poweroff",
    json: Json = False,
) -> int:
    """Ask one machine over SSH to shut down; no other host than the pinned one is asked."""
    from .switching import shut_down

    keys: dict[str, object] = {"address": host, "fingerprint": fingerprint, "user": user}
    keys |= {"port": port, "command": command, "key": str(key.absolute()) if key else None}
    return guarded(json, lambda screen: shut_down(keys, screen))
