"""The real preparer: logs in by SSH, and runs a fleet's setup script on a host."""

from hostler.ports.command import Question, Reply
from hostler.ports.preparer import Order, Prepared
from hostler.ports.provider import Connection
from hostler.ports.shell import Login, pinned


class SshPreparer:
    """Prepares hosts by SSH.

    `keys` are private keys, as files hold them; without any, those that the connection names, or
    else of an agent and the user's own files, are tried. A private address is tried where the
    public one does not answer at all. Only the first login imports asyncssh: it takes 15 MB, and a
    quarter of a second.
    """

    def __init__(self, keys: tuple[bytes, ...] = (), *, lends: bool = True) -> None:
        """Try these keys; `lends` to all logins what an agent and the user's own files offer."""
        self._keys, self._lends = keys, lends

    async def prepare(self, connection: Connection, order: Order) -> Prepared:
        """Log in, and run the commands if the host does not carry them yet."""
        from .login import prepared

        found = Prepared(error="the host has no address yet: observe again")
        for address in dict.fromkeys(a for a in (connection.address, connection.internal) if a):
            found = await prepared(self._login(address, connection, order), order)
            if found.login or found.fingerprint:
                break
        return found

    async def ask(self, connection: Connection, question: Question) -> Reply:
        """Log in and run the command; see the port."""
        from .login import replied

        found = Reply(text="the host has no address yet: observe again")
        for address in dict.fromkeys(a for a in (connection.address, connection.internal) if a):
            found = await replied(self._login(address, connection, question), question)
            if found.status is not None:
                break
        return found

    def _login(self, address: str, connection: Connection, order: Order | Question) -> Login:
        return Login(
            address=address,
            port=order.port or connection.port,
            user=order.user or connection.user,
            keys=self._keys or connection.keys,
            check=pinned(order.fingerprint),
            lent=self._lends or connection.lent,
        )
