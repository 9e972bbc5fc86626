"""Reading: what one host says of itself, as the resources that it is. Pure."""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hostler.domain.ids import HostId, InstallationId, MachineId, ResourceId
from hostler.domain.model.host import HOST, allocation_of
from hostler.domain.model.resource import Condition, HostFacts, Resource, Slot, Stage

from .claims import Claim, claim_of
from .settings import Host

SERVER = Slot("server")
FREE, CLAIMED, UNREADABLE = "free", "claimed", "unreadable claim"
DIRTY, CLEANING, CLEANED, FAILED = "not clean", "cleaning", "cleaned", "cleaning failed"
_PROGRESS = frozenset({DIRTY, CLEANING, CLEANED, FAILED})
SILENT, STRANGER = "silent", "another host key"
_CONDITIONS = {
    CLEANING: Condition.WIPING,
    FAILED: Condition.FAILED,
    UNREADABLE: Condition.UNKNOWN,
    SILENT: Condition.UNKNOWN,
    STRANGER: Condition.UNKNOWN,
}


class Senseless(Exception):
    """A host's answer is no answer: nothing is concluded from it."""


class Reading(Struct, frozen=True, kw_only=True):
    """What a host said: whose it is, how far its cleaning is, and which key it showed.

    `error` is why it said nothing, `off` that it did so for too long.
    """

    host: Host
    status: str = ""
    claim: Claim | None = None
    key: str = ""
    error: str = ""
    off: bool = False


def reading_of(host: Host, key: str, answers: tuple[str, ...]) -> Reading:
    """Return what a host said; Senseless where that makes no sense."""
    if answers == ("free",):
        return Reading(host=host, status=FREE, key=key)
    first, last = (answers[0], answers[-1]) if answers else ("", "")
    if not first.startswith("claim") or last != "end":
        raise Senseless(first[:100] or "it said nothing")
    claim = claim_of(first.removeprefix("claim").strip())
    if claim is None:
        return Reading(host=host, status=UNREADABLE, key=key)
    facts = {name: value for name, _, value in (line.partition(" ") for line in answers[1:-1])}
    return Reading(host=host, claim=claim, status=status_of(claim, facts), key=key)


def status_of(claim: Claim | None, facts: Mapping[str, str]) -> str:
    """Return how far the cleaning of a claim is; a reboot in its midst counts as its end."""
    if claim is None or claim.stage is Stage.CLAIMED:
        return FREE if claim is None else CLAIMED
    code = facts.get(f"cleaned.{claim.machine}")
    if code is not None:
        return CLEANED if code == "0" else FAILED
    words = {"running": CLEANING, "rebooted": CLEANED, "ended": FAILED}
    return words.get(facts.get(f"clean.{claim.machine}", ""), DIRTY)


def resources_of(reading: Reading, installation: InstallationId) -> Iterator[Resource]:
    """Yield the host, and the allocation of it that a machine has."""
    host = _host(reading, installation)
    yield host
    claim = reading.claim
    if claim is not None and claim.stage is Stage.CLAIMED:
        yield replace(
            host,
            id=allocation_of(HostId(host.id), claim.machine),
            slot=SERVER,
            owner_tag=claim.owner_tag,
        )


def unheard(reading: Reading, machine: MachineId) -> Resource:
    """Return an allocation that is known of a host which did not say anything yet."""
    allocation = allocation_of(HostId(reading.host.name), machine)
    return replace(_host(reading, InstallationId("")), id=allocation, slot=SERVER)


def _host(reading: Reading, installation: InstallationId) -> Resource:
    host, claim = reading.host, reading.claim
    return Resource(
        id=ResourceId(host.name),
        slot=HOST,
        zone=host.zone,
        status=reading.status,
        condition=Condition.OFF if reading.off else _CONDITIONS.get(reading.status, Condition.UP),
        name=host.name,
        address=host.address,
        type="host",
        host=HostFacts(
            stage=_stage(reading, installation),
            tagged=claim.stage if claim else Stage.NONE,
            holder=claim.machine if claim else None,
            fleet=claim.fleet if claim else None,
            installation=claim.installation if claim else None,
            delivered=True,
            cleaned=reading.status in {FREE, CLEANED},
            witness=reading.status if reading.status in _PROGRESS else "",
            host_key=reading.key,
            key_vouched=bool(host.fingerprint),
        ),
        notes=(("claim", claim.line),) if claim else (),
    )


def _stage(reading: Reading, installation: InstallationId) -> Stage:
    """Return the stage that a host's claim tells; nobody may take what is silent, or unreadable."""
    if reading.claim is not None:
        ours = reading.claim.installation == installation
        return reading.claim.stage if ours else Stage.FOREIGN
    if reading.status == UNREADABLE:
        return Stage.OTHER
    return Stage.POOL if reading.status == FREE else Stage.NONE
