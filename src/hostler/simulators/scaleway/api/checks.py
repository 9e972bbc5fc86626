"""What many handlers ask of a body: texts, tags, owners, sizes, quotas."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any, cast

from hostler.simulators.scaleway.state import errors
from hostler.simulators.scaleway.state.calls import Body, Call, checked_id
from hostler.simulators.scaleway.state.catalogue import quota_name
from hostler.simulators.scaleway.state.inventory import Cloud
from hostler.simulators.scaleway.state.record import Owner, Record


def text_of(body: Body, name: str) -> str:
    """Return a text, an empty one where it is absent or null; refuse what is no text."""
    value = body.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise errors.invalid((name, "format", "must be a string"))
    return value


def choice_of(body: Body, name: str, *known: str) -> str:
    """Return a value of an enumeration; the Go client says unknown_… for what is not set."""
    value = text_of(body, name)
    if value.startswith("unknown_"):
        return ""
    if value and known and value not in known:
        raise errors.invalid((name, "constraint", "not a valid value"))
    return value


def id_of(body: Body, name: str) -> str:
    """Return an id, an empty text where it is absent or null; refuse what is no UUID."""
    return checked_id(name, text_of(body, name))


def ids_of(body: Body, name: str) -> list[str]:
    """Return a list of ids, an empty one where it is absent or null."""
    return [checked_id(name, one) for one in texts_of(body, name)]


def flag_of(body: Body, name: str, *, default: bool) -> bool:
    """Return a boolean; refuse what is none."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise errors.invalid((name, "format", "must be a boolean"))
    return value


LARGEST = 2**53
"""The largest whole number that every client reads as it was written."""


def size_of(body: Body, name: str = "size") -> int:
    """Return a size in bytes, 0 where it is absent; refuse what is no whole number above 0."""
    value = body.get(name)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST:
        raise errors.invalid((name, "format", "must be a whole number"))
    return value


def texts_of(body: Body, name: str) -> list[str]:
    """Return a list of texts, an empty one where it is absent or null."""
    value: Any = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise errors.invalid((name, "format", "must be a list of strings"))
    found = cast("list[object]", value)
    if not all(isinstance(item, str) for item in found):
        raise errors.invalid((name, "format", "must be a list of strings"))
    return [str(item) for item in found]


def objects_of(body: Body, name: str) -> list[Body]:
    """Return a list of objects, an empty one where it is absent or null."""
    value: Any = body.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise errors.invalid((name, "format", "must be a list of objects"))
    found = cast("list[object]", value)
    if not all(isinstance(item, dict) for item in found):
        raise errors.invalid((name, "format", "must be a list of objects"))
    return [cast("Body", item) for item in found]


def tags_of(body: Body) -> list[str]:
    """Return the tags of a body."""
    return texts_of(body, "tags")


def labels_of(body: Body, record: Record) -> tuple[str, list[str]]:
    """Return the name and the tags that a record has after a change."""
    tags = tags_of(body) if body.get("tags") is not None else record.tags
    return text_of(body, "name") or record.name, tags


def object_of(body: Body, name: str) -> Body:
    """Return an object, an empty one where it is absent or null."""
    value: Any = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise errors.invalid((name, "format", "must be an object"))
    return cast("Body", value)


def slots_of(body: Body, name: str) -> dict[str, Body]:
    """Return the objects of a map by their slots, which are numbers; refuse other keys."""
    templates = object_of(body, name)
    if not all(slot.isascii() and slot.isdecimal() for slot in templates):
        raise errors.invalid((name, "format", "keys must be numbers"))
    return {slot: object_of(templates, slot) for slot in templates}


def net_of(name: str, text: str, *, strict: bool = True) -> IPv4Network | IPv6Network:
    """Read a range of addresses; refuse what is none, and a scope, which no client can read.

    strict: refuse one address of a range in place of the range, too.
    """
    try:
        if "%" not in text:
            return ip_network(text, strict=strict)
    except ValueError:
        pass
    raise errors.invalid((name, "format", "must be a range of addresses"))


CARD = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)


def card_of(body: Body, name: str = "mac_address") -> str:
    """Return a hardware address, an empty text where it is absent or null; refuse what is none."""
    text = text_of(body, name)
    if text and not CARD.fullmatch(text):
        raise errors.invalid((name, "format", "must be a MAC address"))
    return text


def owner_of(call: Call) -> Owner:
    """Return where and whose is what a body asks for; it reads both API generations' names.

    A body that names only an organisation means that organisation's default project.
    """
    body = call.body
    organization = id_of(body, "organization") or id_of(body, "organization_id")
    project = id_of(body, "project") or id_of(body, "project_id")
    if organization and organization != call.organization:
        raise errors.forbidden("write", "organization")
    return Owner(call.place, call.organization, project or call.project)


def check_quota(cloud: Cloud, organization: str, key: str, limit: int | None) -> None:
    """Refuse what would go beyond a quota."""
    current = cloud.count(organization, key)
    if limit is not None and current >= limit:
        name = quota_name(key)
        raise errors.quota(cloud.generation(), name, limit, current, organization)
