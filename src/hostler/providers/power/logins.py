"""Logins: hosts that are asked over SSH: their table, and what becomes of a command there."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hostler.domain.model.calls import Refusal
from hostler.ports.addresses import canonical
from hostler.ports.files import unreadable
from hostler.ports.kind import Lack
from hostler.ports.shell import Denied, Login, Lost, NotReached, Printed, Shell, Stranger, pinned

from .switch import MethodTable, nonsense, refused

_FINGERPRINT = r"^SHA256:[A-Za-z0-9+/]{43}=?$"


class LoginTable(MethodTable, frozen=True, kw_only=True):
    """What may be said of every host that is asked over SSH."""

    address: Annotated[str, Meta(min_length=1, description="its address or name in the network")]
    fingerprint: Annotated[
        str,
        Meta(
            pattern=_FINGERPRINT,
            description="of its host key, as `ssh-keygen -lf` prints it: no other host is told "
            "anything",
            extra={"expected": 'a fingerprint such as "SHA256:…"'},
        ),
    ]
    port: Annotated[int, Meta(ge=1, le=65535, description="the port of its SSH server")] = 22
    user: Annotated[str, Meta(min_length=1, description="the login")] = "root"
    key: Annotated[
        str | None,
        Meta(
            description="the file of the private key, without a passphrase, seen from the fleet "
            "file; left out: what the SSH agent and ~/.ssh offer"
        ),
    ] = None


def place_of(table: LoginTable) -> str:
    """Return the host that a table leads to."""
    return f"{canonical(table.address)}:{table.port}"


def missing(table: LoginTable, folder: Path) -> tuple[Lack, ...]:
    """Return whether the private key can be read here."""
    key = _key(table, folder)
    why = unreadable(key) if key is not None else ""
    return (Lack(key="key", text=f"{key} cannot be read: {why}"),) if why else ()


def login_of(table: LoginTable, folder: Path) -> Login:
    """Return the login; the private key is read at each."""
    key = _key(table, folder)
    return Login(
        address=table.address,
        port=table.port,
        user=table.user,
        keys=() if key is None else (key,),
        check=pinned(table.fingerprint),
    )


def _key(table: LoginTable, folder: Path) -> Path | None:
    return folder / Path(table.key).expanduser() if table.key else None


async def run(shell: Shell, login: Login, command: str) -> Printed:
    """Run a command at a host, whatever its exit status; `Failed` where it did not run."""
    try:
        return await shell.run(login, command)
    except Stranger as error:
        raise refused(Refusal.DENIED, f"it is another host: {error}") from None
    except Denied as error:
        raise refused(Refusal.DENIED, str(error)) from None
    except NotReached as error:
        raise refused(Refusal.NOT_SENT, str(error)) from None
    except Lost as error:
        raise nonsense(f"the connection went away after the command was sent: {error}") from None
