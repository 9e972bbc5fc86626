"""Claims: the owner tag of a static host, a line in a file on it."""

import re

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.resource import OwnerTag, Stage

_WORD = r"[A-Za-z0-9._-]{1,64}"
_MACHINE = r"m-[a-z2-7]{10}"
_LINE = re.compile(
    rf"hostler-(claim|clean) installation=({_WORD}) fleet=({_WORD}) machine=({_MACHINE})"
)
_STAGES = {"claim": Stage.CLAIMED, "clean": Stage.WIPING}
_WORDS = {stage: word for word, stage in _STAGES.items()}


class Claim(Struct, frozen=True, kw_only=True):
    """Whose a host is: a machine's, or its own while it is cleaned after that machine."""

    installation: InstallationId
    fleet: FleetName
    machine: MachineId
    stage: Stage = Stage.CLAIMED

    @property
    def released(self) -> "Claim":
        """The host's own claim, after its machine let go of it."""
        return replace(self, stage=Stage.WIPING)

    @property
    def owner_tag(self) -> OwnerTag:
        """The claim as the owner tag of an allocation."""
        return OwnerTag(
            installation=self.installation, fleet=self.fleet, machine=self.machine, attempt=0
        )

    @property
    def line(self) -> str:
        """The line that is written at the host."""
        return (
            f"hostler-{_WORDS[self.stage]} installation={self.installation} "
            f"fleet={self.fleet} machine={self.machine}"
        )


def claim_of(line: str) -> Claim | None:
    """Return the claim that a line makes, or None: strict, and never raises."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    return Claim(
        stage=_STAGES[found[1]],
        installation=InstallationId(found[2]),
        fleet=FleetName(found[3]),
        machine=MachineId(found[4]),
    )
