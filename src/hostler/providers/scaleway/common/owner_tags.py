"""Owner tags: how a server, an address or a volume says whose it is, by its tags or by its name.

Tags are the rule. A volume that is made together with its server can carry no tags yet, so its name
is the owner tag: it must parse whole and end in a check keyed with the installation's id.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from sys import intern

from msgspec import Struct

from hostler.domain.ids import FleetName, InstallationId, MachineId, ResourceId, is_machine_id
from hostler.domain.model.resource import OwnerTag, PartialTag, Slot

_INSTALLATION = r"[A-Za-z0-9_-]{1,64}"
_FLEET = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_MACHINE = r"m-[a-z2-7]{10}"
_PLACE = r"(?P<kind>server(?=0)|address|volume)(?P<index>0|[1-9][0-9]{0,2})"
_ATTEMPT = r"(?P<attempt>0|[1-9][0-9]{0,5})"

_TAGS = ("hostler", "hostler-fleet", "hostler-machine", "hostler-attempt")
_IS_INSTALLATION = re.compile(_INSTALLATION)
_IS_FLEET = re.compile(_FLEET)
_IS_ATTEMPT = re.compile(rf"{_PLACE}\.{_ATTEMPT}")
_BEGINS_A_NAME = re.compile(rf"hostler\.(?P<installation>{_INSTALLATION})\.")
_IS_NAME = re.compile(
    rf"hostler\.(?P<installation>{_INSTALLATION})\.(?P<fleet>{_FLEET})\.(?P<machine>{_MACHINE})"
    rf"\.{_PLACE}\.{_ATTEMPT}\.(?P<check>[0-9a-f]{{8}})"
)


class Claim(Struct, frozen=True):
    """What a whole owner tag says: whose the resource is, and which slot it was made for."""

    owner_tag: OwnerTag
    slot: Slot


@lru_cache(maxsize=256)
def writable(installation: InstallationId, fleet: FleetName) -> bool:
    """Tell whether owner tags with these names can be read back."""
    return bool(_IS_INSTALLATION.fullmatch(installation) and _IS_FLEET.fullmatch(fleet))


def tags_of(claim: Claim) -> tuple[str, ...]:
    """Return the four tags that make the owner tag."""
    owner_tag, slot = claim.owner_tag, claim.slot
    return (
        f"hostler={owner_tag.installation}",
        f"hostler-fleet={owner_tag.fleet}",
        machine_tag(owner_tag.machine),
        f"hostler-attempt={slot.kind}{slot.index}.{owner_tag.attempt}",
    )


def is_part(tag: str) -> bool:
    """Tell whether a tag is one of the four that make an owner tag, whoever's."""
    return tag.partition("=")[0] in _TAGS


def machine_tag(machine: MachineId) -> str:
    """Return the tag by which everything of one machine can be listed."""
    return f"hostler-machine={machine}"


def from_tags(tags: Sequence[str], kind: str) -> Claim | None:
    """Return the owner tag that the tags of a resource of this kind make, or None.

    Strict: each tag once and well formed, and the slot of this kind. Never raises. Observations
    read the same tags again and again, so what they say is remembered, each tag as one object.
    """
    return _from_tags(tuple(map(intern, tags)), kind)


@lru_cache(maxsize=65536)
def _from_tags(tags: tuple[str, ...], kind: str) -> Claim | None:
    found = dict[str, str]()
    for tag in tags:
        if not tag.startswith("hostler"):
            continue
        key, _, value = tag.partition("=")
        if key in _TAGS:
            if key in found:
                return None
            found[key] = intern(value)
    return _claim(found, kind) if len(found) == len(_TAGS) else None


def _claim(found: dict[str, str], kind: str) -> Claim | None:
    installation, fleet, machine, attempt = (found[key] for key in _TAGS)
    place = _place(attempt)
    if (
        place is None
        or place[0].kind != kind
        or not is_machine_id(machine)
        or not writable(InstallationId(installation), FleetName(fleet))
    ):
        return None
    owner_tag = OwnerTag(
        installation=InstallationId(installation),
        fleet=FleetName(fleet),
        machine=MachineId(machine),
        attempt=place[1],
    )
    return Claim(owner_tag, place[0])


@lru_cache(maxsize=256)
def _place(text: str) -> tuple[Slot, int] | None:
    """Return the slot and the attempt that a tag names, or None; there are few different ones."""
    place = _IS_ATTEMPT.fullmatch(text)
    if place is None:
        return None
    return Slot(intern(place["kind"]), int(place["index"])), int(place["attempt"])


def name_of(claim: Claim) -> str:
    """Return the name that is the owner tag where no tags can be written."""
    owner_tag, slot = claim.owner_tag, claim.slot
    body = f"{owner_tag.fleet}.{owner_tag.machine}.{slot.kind}{slot.index}.{owner_tag.attempt}"
    return f"hostler.{owner_tag.installation}.{body}.{_check(owner_tag.installation, body)}"


def server_name(fleet: FleetName, machine: MachineId) -> str:
    """Return what a machine's server is called: no owner tag, for it has no check.

    It is its host name too, which may have no underscore.
    """
    return f"{fleet[:48].replace('_', '-')}-{machine}"


def from_name(name: str, kind: str) -> Claim | None:
    """Return the owner tag that a name is, or None: a bare prefix or a wrong check is none."""
    if not name.startswith("hostler."):
        return None
    match = _IS_NAME.fullmatch(name)
    if match is None or match["kind"] != kind:
        return None
    owner_tag = OwnerTag(
        installation=InstallationId(match["installation"]),
        fleet=FleetName(match["fleet"]),
        machine=MachineId(match["machine"]),
        attempt=int(match["attempt"]),
    )
    claim = Claim(owner_tag, Slot(kind, int(match["index"])))
    return claim if name_of(claim) == name else None


def _check(installation: str, body: str) -> str:
    """Return a keyed check: no secret, but no name typed by hand passes by accident."""
    key = installation.encode()
    return hashlib.blake2s(
        body.encode(), key=key[:32], digest_size=4, person=b"hostler1"
    ).hexdigest()


def claim_of(tags: Sequence[str], name: str, kind: str) -> Claim | None:
    """Return the owner tag of a resource: its tags, or else its name."""
    return from_tags(tags, kind) or from_name(name, kind)


def partial_of(tags: Sequence[str], name: str = "") -> PartialTag | None:
    """Return what can be read of an owner tag that is not whole: whose installation it names.

    It is asked about what has no whole one. None where no installation can be read.
    """
    found, fleets = list[InstallationId](), set[str]()
    for tag in tags:
        key, _, value = tag.partition("=")
        if key == _TAGS[0] and _IS_INSTALLATION.fullmatch(value):
            found.append(InstallationId(value))
        elif key == _TAGS[1] and _IS_FLEET.fullmatch(value):
            fleets.add(value)
    if match := _BEGINS_A_NAME.match(name):
        found.append(InstallationId(match["installation"]))
    if not found:
        return None
    fleet = FleetName(fleets.pop()) if len(fleets) == 1 else None
    return PartialTag(tuple(dict.fromkeys(found)), fleet)


POOL_TAG = "hostler-pool"
"""On an address of a pool while it is taken, with the pool's own tag as its value."""


def pool_of(tags: Sequence[str]) -> str:
    """Return the pool that a taken address goes back to, or an empty string."""
    prefix = taken_tag("")
    return next((tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)), "")


def taken_tag(pool: str) -> str:
    """Return the tag that a taken address has beside its pool's own."""
    return f"{POOL_TAG}={pool}"


def pooled(resource: ResourceId) -> bool:
    """Tell whether an id is that of a pool's address: it is given back, never deleted."""
    return "@" in resource


def address_id(resource: str) -> str:
    """Return the provider's id of an address, whether it is a pool's or not."""
    return resource.partition("@")[0]
