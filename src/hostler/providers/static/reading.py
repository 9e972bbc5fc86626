"""Reading: what one host says of itself, as a resource or as nothing. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime

from hostler.domain.ids import ResourceId
from hostler.domain.model.resource import Condition, Resource

from .claims import SERVER, Claim, owner_tag_of
from .planner import CLEANED, CLEANING, FAILED
from .settings import Host

CLAIMED, UNREADABLE, SILENT = "claimed", "unreadable claim", "silent"


class Senseless(Exception):
    """A host's answer is no answer: nothing is concluded from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How one host was observed: its claim as a resource, None where it is free, or an error."""

    host: Host
    begun: datetime
    resource: Resource | None = None
    error: str = ""


def resource_of(host: Host, answers: tuple[str, ...]) -> Resource | None:
    """Return the claim that a host told of, or None where it is free; Senseless where neither."""
    if answers == ("free",):
        return None
    first, last = (answers[0], answers[-1]) if answers else ("", "")
    if not first.startswith("claim") or last != "end":
        raise Senseless(first[:100] or "it said nothing")
    owner_tag = owner_tag_of(first.removeprefix("claim").strip())
    if owner_tag is None:
        return _at(host, ResourceId(f"{host.name}#unreadable"), UNREADABLE)
    claim = Claim(host.name, owner_tag.machine, owner_tag.attempt)
    status = _status(claim.tag, answers[1:-1])
    condition = Condition.UP if status == CLAIMED else Condition.STOPPING
    return replace(_at(host, claim.id, status), owner_tag=owner_tag, condition=condition)


def _at(host: Host, resource: ResourceId, status: str) -> Resource:
    return Resource(
        id=resource,
        slot=SERVER,
        zone=host.zone,
        status=status,
        name=host.name,
        address=host.address,
        type="host",
        notes=(("host", host.name),),
    )


def _status(tag: str, answers: tuple[str, ...]) -> str:
    """Return how far the cleaning of a claim is; a reboot in its midst counts as its end."""
    facts = {key: value for key, _, value in (line.partition(" ") for line in answers)}
    code = facts.get(f"cleaned.{tag}")
    if code is not None:
        return CLEANED if code == "0" else FAILED
    words = {"running": CLEANING, "rebooted": CLEANED, "ended": FAILED}
    return words.get(facts.get(f"clean.{tag}", ""), CLAIMED)


def claimed(host: Host, claim: Claim) -> Resource:
    """Return the resource of a claim whose host cannot be asked."""
    return _at(host, claim.id, SILENT)


def in_cleaning(host: Host, claim: Claim) -> Resource:
    """Return the resource of a claim whose host has begun to clean itself."""
    return replace(_at(host, claim.id, CLEANING), condition=Condition.STOPPING)


def silent(resource: Resource, *, off: bool) -> Resource:
    """Return a resource as it stands while its host is silent: unknown at first, then off."""
    condition = Condition.OFF if off else Condition.UNKNOWN
    return replace(resource, status=SILENT, condition=condition)
