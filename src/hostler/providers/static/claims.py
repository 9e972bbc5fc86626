"""Claims: the owner tag of a static host, a line in a file on it, and the resource it stands for.

The resource is the claim, not the host: a host that is claimed again is another resource, so that
nothing that is asked about one allocation can ever mean the next.
"""

import re
from dataclasses import dataclass

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId
from hostler.domain.model.resource import OwnerTag, Slot

SERVER = Slot("server")

_WORD = r"[A-Za-z0-9._-]{1,64}"
_MACHINE = r"m-[a-z2-7]{10}"
_ATTEMPT = r"[1-9][0-9]{0,5}"
_LINE = re.compile(
    rf"hostler-claim installation=({_WORD}) fleet=({_WORD}) "
    rf"machine=({_MACHINE}) attempt=({_ATTEMPT})"
)
_ID = re.compile(rf"(?P<host>[A-Za-z0-9._:-]+)#(?P<machine>{_MACHINE})\.(?P<attempt>{_ATTEMPT})")


@dataclass(frozen=True, slots=True)
class Claim:
    """One machine's claim of one host, as a resource's id names it."""

    host: str
    machine: MachineId
    attempt: int

    @property
    def tag(self) -> str:
        """What tells this claim from all others on its host."""
        return f"{self.machine}.{self.attempt}"

    @property
    def id(self) -> ResourceId:
        """The resource's id."""
        return ResourceId(f"{self.host}#{self.tag}")


def line_of(owner_tag: OwnerTag) -> str:
    """Return the line that is written at the host; ValueError where it could not be read back."""
    line = (
        f"hostler-claim installation={owner_tag.installation} fleet={owner_tag.fleet} "
        f"machine={owner_tag.machine} attempt={owner_tag.attempt}"
    )
    if owner_tag_of(line) != owner_tag:
        raise ValueError(f"no owner tag can be made of {owner_tag}")
    return line


def owner_tag_of(line: str) -> OwnerTag | None:
    """Return the owner tag that a claim's line makes, or None: strict, and never raises."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    return OwnerTag(
        installation=InstallationId(found[1]),
        fleet=FleetName(found[2]),
        machine=MachineId(found[3]),
        attempt=int(found[4]),
    )


def claim_of(resource: ResourceId | None) -> Claim | None:
    """Return the claim that a resource's id names, or None where it names none."""
    found = _ID.fullmatch(resource or "")
    if found is None:
        return None
    return Claim(found["host"], MachineId(found["machine"]), int(found["attempt"]))
