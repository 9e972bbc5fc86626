"""SSH: a machine is asked to shut itself down, by a login that may do nothing else.

That it cannot be reached does not mean that it is off: it is never asked how it stands.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from hostler.domain.model.calls import Refusal
from hostler.ports.kind import Lack, table_of
from hostler.ports.power import Power, PowerAction, PowerCapabilities, PowerOpening, PowerState
from hostler.ports.shell import Login, Shell
from hostler.providers.power.addresses import faults_of
from hostler.providers.power.logins import LoginTable, login_of, missing, place_of, run
from hostler.providers.power.programs import NOT_RUN
from hostler.providers.power.switch import Reading, nonsense, refused, switch_of

_SHOWN = 120


class SshTable(LoginTable, frozen=True, kw_only=True):
    """A machine that lets somebody log in to shut it down."""

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
        return f"ssh {place_of(table_of(SshTable, settings))}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is no address, and an empty command."""
        table = table_of(SshTable, settings)
        empty = () if table.command.strip() else ("command: expected what shuts it down",)
        return (*faults_of("address", table.address), *empty)

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return whether the private key can be read here."""
        del environment
        return missing(table_of(SshTable, settings), folder)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to the machine; the private key is read at each login."""
        table = table_of(SshTable, opening.settings)
        device = Guest(opening.shell, login_of(table, opening.folder), table.command)
        return switch_of(device, self.capabilities(table), opening)


class Guest:
    """Logs in to one machine. Implements `Device`."""

    def __init__(self, shell: Shell, login: Login, command: str) -> None:
        self._shell, self._login, self._command = shell, login, command

    async def act(self, action: PowerAction) -> None:
        """Run the command. A connection that goes away with it says nothing: it may be off."""
        del action
        printed = await run(self._shell, self._login, self._command)
        text = " ".join(printed.text.split())[-_SHOWN:]
        if printed.status in NOT_RUN:
            raise refused(Refusal.INVALID, f"the command cannot be run there: {text}")
        if printed.status != 0:
            raise nonsense(f"the command ended with the exit status {printed.status}: {text}")

    async def read(self) -> Reading:
        """Nobody is asked: what does not answer may be on."""
        return Reading(state=PowerState.UNKNOWN, text="a login does not tell how a machine stands")

    async def close(self) -> None:
        """Nothing is kept open."""
