"""libvirt: a guest of a hypervisor, by `virsh` over SSH at the host that it runs on.

What `virsh` prints is read in English, and its exit status decides.
"""

import re
import shlex
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
from hostler.providers.power.switch import Failed, Reading, nonsense, refused, switch_of

_VERBS = {
    PowerAction.ON: "start",
    PowerAction.OFF_SOFT: "shutdown",
    PowerAction.OFF_HARD: "destroy",
    PowerAction.CYCLE: "reset",
}
_STATES = {
    "running": PowerState.ON,
    "idle": PowerState.ON,
    "paused": PowerState.ON,
    "in shutdown": PowerState.ON,
    "shut off": PowerState.OFF,
}
"""What `virsh domstate` prints. Crashed and suspended guests are unknown: neither is off."""
_END = "virsh ended with"
_ENDED = re.compile(rf"{_END} (\d{{1,3}})")
_NO_PROGRAM = frozenset({126, 127})
_SHOWN = 120


class LibvirtTable(LoginTable, frozen=True, kw_only=True):
    """A guest of a host with libvirt, such as KVM."""

    guest: Annotated[
        str,
        Meta(
            pattern=r"^(?![0-9]+$)[A-Za-z0-9_][A-Za-z0-9._+:-]{0,127}$",
            description="the name or UUID of its domain; of one that is called by a number its "
            "UUID, for `virsh` takes a number for whichever guest has that id since its start",
            extra={
                "expected": "letters, digits and . _ + : -, and no number alone: name its UUID then"
            },
        ),
    ]
    uri: Annotated[
        str,
        Meta(
            pattern=r"^[a-z][A-Za-z0-9+.:/_?=-]*$",
            description="the hypervisor, as the host names it",
            extra={"expected": "an address such as qemu:///system"},
        ),
    ] = "qemu:///system"


class Libvirt:
    """Implements `PowerMethod`."""

    settings = LibvirtTable

    def capabilities(self, settings: object) -> PowerCapabilities:
        """Return that it can do everything but tell a draw."""
        table = table_of(LibvirtTable, settings)
        return PowerCapabilities(
            actions=frozenset(_VERBS), query=True, settles=table.settles, deadline=table.deadline
        )

    def endpoint(self, settings: object) -> str:
        """Return the host, whichever guest of it."""
        return f"libvirt {place_of(table_of(LibvirtTable, settings))}"

    def check(self, settings: object) -> tuple[str, ...]:
        """Return what is no address; the patterns of the table say all else that is wrong."""
        return tuple(faults_of("address", table_of(LibvirtTable, settings).address))

    def missing(
        self, settings: object, folder: Path, environment: Mapping[str, str]
    ) -> tuple[Lack, ...]:
        """Return whether the private key can be read here."""
        del environment
        return missing(table_of(LibvirtTable, settings), folder)

    def open(self, opening: PowerOpening) -> Power:
        """Return the way to one guest."""
        table = table_of(LibvirtTable, opening.settings)
        device = Domain(opening.shell, login_of(table, opening.folder), table)
        return switch_of(device, self.capabilities(table), opening)


class Domain:
    """Asks `virsh` for one guest. Implements `Device`."""

    def __init__(self, shell: Shell, login: Login, table: LibvirtTable) -> None:
        self._shell, self._login, self._table = shell, login, table

    async def act(self, action: PowerAction) -> None:
        """Run the verb of an action. What stands so already is done."""
        status, printed = await self._virsh(_VERBS[action])
        if status == 0 or _stands(action, printed):
            return
        raise _failed(status, printed)

    async def read(self) -> Reading:
        """Ask for the state of the domain."""
        status, printed = await self._virsh("domstate")
        if status != 0:
            raise _failed(status, printed)
        state = _STATES.get(printed, PowerState.UNKNOWN)
        return Reading(state=state, text=f"the domain is {printed[:_SHOWN]!r}")

    async def close(self) -> None:
        """Nothing stays open."""

    async def _virsh(self, verb: str) -> tuple[int, str]:
        """Return the exit status of `virsh`, and what it printed, in one line."""
        words = shlex.join(["virsh", "-c", self._table.uri, verb, "--domain", self._table.guest])
        script = f'LC_ALL=C {words} 2>&1; s=$?; echo; echo "{_END} $s"'
        output = (await run(self._shell, self._login, shlex.join(["sh", "-c", script]))).text
        printed, _, last = output.rstrip().rpartition("\n")
        ended = _ENDED.fullmatch(last)
        if ended is None:
            raise nonsense(f"what ran there was not virsh: {' '.join(output.split())[:_SHOWN]!r}")
        return int(ended[1]), " ".join(printed.split())


def _stands(action: PowerAction, printed: str) -> bool:
    if action is PowerAction.ON:
        return "already active" in printed or "already running" in printed
    return action is not PowerAction.CYCLE and "domain is not running" in printed


def _failed(status: int, printed: str) -> Failed:
    """Return what an error of `virsh` promises."""
    text = printed[:_SHOWN] or f"exit status {status}"
    if status in _NO_PROGRAM or "failed to get domain" in printed:
        return refused(Refusal.INVALID, text)
    if "failed to connect to the hypervisor" in printed:
        return refused(Refusal.NOT_SENT, text)
    if "cannot acquire state change lock" in printed:
        return refused(Refusal.BUSY, text)
    if "domain is not running" in printed:
        return refused(Refusal.WRONG_STATE, text)
    return nonsense(text)
