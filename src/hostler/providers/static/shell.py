"""HostShell: the shell port with what the fleet file says of a host and its key."""

from hostler.ports.shell import Login, Lost, NotReached, Shell, pinned

from .host_keys import HostKeys
from .settings import Host


class HostShell:
    """Runs commands at hosts of the fleet file; their names begin its errors."""

    def __init__(self, shell: Shell, host_keys: HostKeys) -> None:
        self._shell, self._host_keys = shell, host_keys

    async def run(self, host: Host, command: str) -> str:
        """Run one command and return what it printed; raises NotReached or Lost only."""
        try:
            return await self._shell.run(self._login(host), command)
        except (NotReached, Lost) as error:
            raise type(error)(f"{host.name}: {error}") from error

    def _login(self, host: Host) -> Login:
        """A host's key is judged by the fleet file, or by the first one that the host showed."""
        first = self._host_keys.check
        return Login(
            address=host.address,
            port=host.port,
            user=host.user,
            keys=(host.key,) if host.key else (),
            check=pinned(host.fingerprint) if host.fingerprint else lambda k: first(host.name, k),
        )
