"""Program: IPMI by ipmitool. The password comes by its environment, never by its arguments."""

import re
from collections.abc import Mapping

from hostler.domain.model.calls import Refusal
from hostler.ports.http import NoAnswer, NotSent
from hostler.ports.power import PowerAction
from hostler.providers.power.passwords import hidden_in
from hostler.providers.power.programs import run
from hostler.providers.power.switch import nonsense, refused

from .controller import NoSuite, Place

NAME = "ipmitool"
_VERBS = {
    PowerAction.ON: "on",
    PowerAction.OFF_SOFT: "soft",
    PowerAction.OFF_HARD: "off",
    PowerAction.CYCLE: "cycle",
}
_NO_SUITE = re.compile(
    r"invalid (authentication|integrity|confidentiality) algorithm|no (matching )?cipher",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"HMAC is invalid|unauthorized (name|role)|integrity check|insufficient privilege"
    r"|privilege level .* failed: ",
    re.IGNORECASE,
)
_SHOWN = 120


class Program:
    """Implements `Client`. `environment` is what the program sees."""

    def __init__(self, place: Place, environment: Mapping[str, str]) -> None:
        self._place = place
        self._environment = {**environment, "IPMI_PASSWORD": place.password.reveal(), "LC_ALL": "C"}

    async def command(self, action: PowerAction, suite: int) -> None:
        """Give a chassis control command."""
        printed = await self._run(_VERBS[action], suite)
        if "Chassis Power Control" not in printed:
            raise nonsense(f"it printed {printed!r}")

    async def is_on(self, suite: int) -> bool:
        """Ask for the chassis status."""
        printed = await self._run("status", suite)
        found = re.search(r"Chassis Power is (on|off)", printed)
        if found is None:
            raise nonsense(f"it printed {printed!r}")
        return found[1] == "on"

    async def _run(self, verb: str, suite: int) -> str:
        place = self._place
        words = (
            *(NAME, "-v", "-I", "lanplus", "-C", str(suite)),
            *("-H", place.address, "-p", str(place.port), "-U", place.user),
            *("-L", place.privilege.upper(), "-E", "-R", "1"),
            *("-N", str(max(1, round(place.patience))), "chassis", "power", verb),
        )
        status, output = await run(words, self._environment)
        text = hidden_in(output.decode(errors="replace"), place.password)
        printed = " ".join(text.split())
        if status == 0:
            return printed[-_SHOWN:]
        raise _failed(printed)


def _failed(printed: str) -> Exception:
    """Return what it means that the program failed, by what it printed."""
    if _NO_SUITE.search(printed):
        return NoSuite(printed)
    if _DENIED.search(printed):
        return refused(Refusal.DENIED, "the login is refused")
    if "Unable to establish" in printed or "Address lookup" in printed:
        return NotSent("there is no session with it")
    return NoAnswer(f"{NAME} failed: {printed[-_SHOWN:]}")
