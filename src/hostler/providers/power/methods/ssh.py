"""SSH: a machine is asked to shut itself down, by a login that may do nothing else.

That it cannot be reached does not mean that it is off: it is never asked how it stands.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hostler.domain.model.calls import Refusal
from hostler.ports.files import unreadable
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.ports.shell import Denied, Login, Lost, NotReached, Shell, Stranger, pinned
from hostler.providers.power.switch import MethodTable, Reading, nonsense, refused, switch_of

_FINGERPRINT = r"^SHA256:[A-Za-z0-9+/]{43}=?$"


class SshTable(MethodTable, frozen=True, kw_only=True):
    """A machine that lets somebody log in to shut it down."""

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
    command: Annotated[
        str,
        Meta(
            description="what is run; where the key is restricted to a command on the machine, "
            "that one is run instead"
        ),
    ] = "sudo -n systemctl poweroff"


class Ssh:
    """Implements `PowerMethod`."""

    settings = SshTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it asks a machine to shut down."""
        table = table_of(SshTable, settings)
        return PowerCapabilities(
            actions=frozenset({PowerAction.OFF_SOFT}),
            query=False,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the machine."""
        table = table_of(SshTable, settings)
        return f"ssh {table.address}:{table.port}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return an empty command."""
        empty = not table_of(SshTable, settings).command.strip()
        return ("command: expected what shuts it down",) if empty else ()

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return whether the private key can be read here."""
        del environment
        key = _key(table_of(SshTable, settings), folder)
        why = unreadable(key) if key is not None else ""
        return (Lack(key="key", text=f"{key} cannot be read: {why}"),) if why else ()

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to the machine; the private key is read at each login."""
        table = table_of(SshTable, opening.settings)
        key = _key(table, opening.folder)
        login = Login(
            address=table.address,
            port=table.port,
            user=table.user,
            keys=() if key is None else (key,),
            check=pinned(table.fingerprint),
        )
        device = Guest(opening.shell, login, table.command)
        return switch_of(device, self.capabilities(table), opening)


def _key(table: SshTable, folder: Path) -> Path | None:
    return folder / Path(table.key).expanduser() if table.key else None


class Guest:
    """Logs in to one machine. Implements `Device`."""

    def __init__(self, shell: Shell, login: Login, command: str) -> None:
        self._shell, self._login, self._command = shell, login, command

    async def act(self, action: PowerAction) -> None:
        """Run the command. A connection that goes away with it says nothing: it may be off."""
        del action
        try:
            await self._shell.run(self._login, self._command)
        except Stranger as error:
            raise refused(Refusal.DENIED, f"it is another host: {error}") from None
        except Denied as error:
            raise refused(Refusal.DENIED, str(error)) from None
        except NotReached as error:
            raise refused(Refusal.NOT_SENT, str(error)) from None
        except Lost as error:
            raise nonsense(
                f"the connection went away after the command was sent: {error}"
            ) from None

    async def read(self) -> Reading:
        """Nobody is asked: what does not answer may be on."""
        return Reading(state=PowerState.UNKNOWN, text="a login does not tell how a machine stands")

    async def close(self) -> None:
        """Nothing is kept open."""
