"""Proxmox: virtual machines and containers of a Proxmox VE node, by its API and a token."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.providers.power.switch import Reading, switch_of
from hostler.providers.power.web import Web, WebTable, faults, missing, place_of, web_of

_VERBS: Mapping[PowerAction, str] = {
    PowerAction.ON: "start",
    PowerAction.OFF_SOFT: "shutdown",
    PowerAction.OFF_HARD: "stop",
    PowerAction.CYCLE: "reset",
}
_STATES = {"running": PowerState.ON, "stopped": PowerState.OFF}
_ENDS: Mapping[PowerAction, PowerState] = {
    PowerAction.ON: PowerState.ON,
    PowerAction.OFF_SOFT: PowerState.OFF,
    PowerAction.OFF_HARD: PowerState.OFF,
}


class ProxmoxTable(WebTable, frozen=True, kw_only=True):
    """A guest of a node; `user` is the token's id, and the password its secret."""

    node: Annotated[str, Meta(pattern=r"^[A-Za-z0-9.-]+$", description="the name of the node")]
    guest: Annotated[int, Meta(ge=100, le=999_999_999, description="the number of the guest")]
    type: Annotated[
        Literal["qemu", "lxc"], Meta(description="a virtual machine, or a container")
    ] = "qemu"


class Proxmox:
    """Implements `PowerMethod`."""

    settings = ProxmoxTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it can do everything; only a virtual machine can be reset."""
        table = table_of(ProxmoxTable, settings)
        without = {PowerAction.CYCLE} if table.type == "lxc" else set[PowerAction]()
        return PowerCapabilities(
            actions=frozenset(PowerAction) - without,
            query=True,
            settles=table.settles,
            deadline=table.deadline,
        )

    def endpoint(self, settings: object) -> str:
        """Return the guest: a node does the work of many at a time."""
        table = table_of(ProxmoxTable, settings)
        return f"proxmox {place_of(table)} {table.guest}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is wrong with the address or the token."""
        table = table_of(ProxmoxTable, settings)
        token = table.user or ""
        wrong = "!" not in token or "@" not in token.partition("!")[0]
        expected = 'user: expected the id of a token, such as "hostler@pve!power"'
        return (*faults(table), *((expected,) if wrong else ()))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return which secrets and files are not here."""
        return missing(table_of(ProxmoxTable, settings), folder, environment)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one guest."""
        table = table_of(ProxmoxTable, opening.settings)
        return switch_of(Guest(web_of(table, opening), table), self.capabilities(table), opening)


class _Status(Struct, frozen=True):
    """How a guest stands."""

    status: str
    qmpstatus: str | None = None


class _Current(Struct, frozen=True):
    """The answer that has it."""

    data: _Status


class _Task(Struct, frozen=True):
    """The answer to a command: the task that carries it out."""

    data: str


class Guest:
    """Speaks for one guest. Implements `Device`."""

    def __init__(self, web: Web, table: ProxmoxTable) -> None:
        self._web = web
        self._path = f"/api2/json/nodes/{table.node}/{table.type}/{table.guest}/status"

    async def act(self, action: PowerAction) -> None:
        """Begin the task, unless the guest stands so already: a task that fails is not told."""
        if (await self.read()).state is _ENDS.get(action, PowerState.UNKNOWN):
            return
        path = f"{self._path}/{_VERBS[action]}"
        answer = await self._web.exchange("POST", path, headers=self._login())
        if answer.status // 100 != 2:
            raise self._web.judged(answer, right="VM.PowerMgmt of the guest")
        self._web.decoded(answer, _Task)

    async def read(self) -> Reading:
        """Ask how it stands; what is suspended is neither on nor off."""
        answer = await self._web.ask("GET", f"{self._path}/current", headers=self._login())
        status = self._web.decoded(answer, _Current).data
        word = status.qmpstatus or status.status
        return Reading(state=_STATES.get(word, PowerState.UNKNOWN), text=f"it is {word}")

    async def close(self) -> None:
        """Give back connections."""
        await self._web.close()

    def _login(self) -> tuple[tuple[str, str], ...]:
        known = self._web.credentials
        if known is None:
            return ()
        return (("Authorization", f"PVEAPIToken={known.user}={known.password.reveal()}"),)
