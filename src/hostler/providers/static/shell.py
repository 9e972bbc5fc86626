"""HostShell: the shell port with what is known of a host and its key."""

from collections.abc import Mapping

from hostler.domain.ids import HostId
from hostler.ports.shell import Login, Lost, NotReached, Printed, Shell, Stranger, pinned

from .settings import Host


class HostShell:
    """Runs commands at hosts of the fleet file; their names begin its errors.

    `keys` are the host keys on record. A fingerprint in the fleet file overrules them; where there
    is neither, any key will do.
    """

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self.keys: Mapping[HostId, str] = {}

    async def run(self, host: Host, command: str) -> Printed:
        """Run one command; raises NotReached, Stranger or Lost only."""
        key = host.fingerprint or self.keys.get(HostId(host.name), "")
        login = Login(
            address=host.address,
            port=host.port,
            user=host.user,
            keys=(host.key,) if host.key else (),
            check=pinned(key),
        )
        try:
            return await self._shell.run(login, command)
        except Stranger as error:
            hint = "set `fingerprint` if it was reinstalled"
            raise Stranger(f"{host.name}: {error}: {hint}", error.key) from error
        except (NotReached, Lost) as error:
            raise type(error)(f"{host.name}: {error}") from error
