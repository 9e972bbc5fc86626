"""What fleeting asks of a plugin, whatever its wire looks like: calls, states and values.

From reference/fleeting.md sections 2.3 and 3: the schema on the wire is learnt from the runner and
mapped onto these.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from google.protobuf.message import Message
from msgspec import Struct

Handler = Callable[[Message], Awaitable[Sequence[Message]]]
"""Answers one request with the messages of the reply: exactly one unless the method streams."""


class Method(Struct, frozen=True, kw_only=True):
    """One method to serve: its path (`/package.Service/Name`), classes, and what answers it.

    A handler raises `Refused` for an error whose text the caller is to read.
    """

    path: str
    request: type[Message]
    reply: type[Message]
    streams: bool
    handle: Handler


class State(StrEnum):
    """What a runner may hear of an instance; a schema may lack any but the first three."""

    CREATING = "creating"
    RUNNING = "running"
    DELETING = "deleting"
    DELETED = "deleted"
    TIMEOUT = "timeout"
    STOPPED = "stopped"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    RESUMING = "resuming"


CORE = frozenset({State.CREATING, State.RUNNING, State.DELETING})
"""The states without which no schema can be served."""


class Instance(Struct, frozen=True, kw_only=True):
    """One instance as Update reports it; job logs show the id."""

    id: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """How jobs reach instances, as the runner's `connector_config` says and Init hands it over.

    Empty and zero mean that the runner says nothing. `opaque` holds what the plugin does not
    interpret (keepalive, timeout), as the wire had it, to be handed back unchanged.
    """

    os: str = ""
    arch: str = ""
    protocol: str = ""
    protocol_port: int = 0
    username: str = ""
    password: str = field(default="", repr=False)
    key: bytes = field(default=b"", repr=False)
    use_static_credentials: bool = False
    opaque: tuple[tuple[str, object], ...] = ()


class ConnectInfo(Struct, frozen=True, kw_only=True):
    """How to reach one instance now: the connector's values filled in, its addresses, an end."""

    id: str
    connector: Connector
    external: str = ""
    internal: str = ""
    expires: datetime | None = None


class ProviderInfo(Struct, frozen=True, kw_only=True):
    """What Init answers: a stable id of the group, its true maximum, and what it is made by."""

    id: str
    max_size: int
    version: str
    build_info: str = ""
    capabilities: tuple[str, ...] = ()


class Refused(Exception):
    """A call that is answered with an error; its text is what the operator reads."""


class Group(Protocol):
    """One group of instances. Each call is answered within seconds; Refused carries a reason."""

    async def init(
        self, config: bytes, connector: Connector, states: frozenset[State]
    ) -> ProviderInfo:
        """Begin: validate the JSON of `plugin_config`, adopt what is ours, start the engine.

        `states` are those that the runner's schema can say. Refused names every fault at once.
        """
        ...

    async def update(self) -> Sequence[Instance]:
        """Return every instance of the group, from memory; only states of `init` are used."""
        ...

    async def increase(self, count: int) -> int:
        """Accept up to `count` new instances; return how many. Refused only where none was."""
        ...

    async def decrease(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept the end of these; return those accepted. Repeating it changes nothing."""
        ...

    async def connect_info(self, instance: str) -> ConnectInfo:
        """Return how to reach an instance; Refused where it cannot be reached yet or any more."""
        ...

    async def heartbeat(self, instance: str) -> None:
        """Return if the instance is known to be well; Refused says why it is not."""
        ...

    async def suspend(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept that these go to standby; return those accepted."""
        ...

    async def resume(self, ids: Sequence[str]) -> Sequence[str]:
        """Accept that these come back from standby; return those accepted."""
        ...

    async def shutdown(self) -> None:
        """End: stop the engine and release what is the plugin's own; instances stay."""
        ...
