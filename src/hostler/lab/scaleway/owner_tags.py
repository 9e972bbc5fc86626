"""Owner tags as the judge reads and writes them: by the documented format alone.

The format stands in docs/reference/owner-tags.md. No code of the provider is used for it: what one
of the two misreads, the first seed shows.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_letters, ascii_lowercase, digits

import msgspec
from msgspec import Struct

from hostler.domain.ids import FleetName, InstallationId, MachineId
from hostler.domain.model.resource import OwnerTag, Slot

_KINDS = ("server", "address", "volume")
_KEYS = ("hostler", "hostler-fleet", "hostler-machine", "hostler-attempt")
_WORD = frozenset(ascii_letters + digits + "_-")
_ENDS = frozenset(ascii_letters + digits)
_ID = frozenset(ascii_lowercase + "234567")
_HEX = frozenset("0123456789abcdef")


class Owned(Struct, frozen=True):
    """Whose a resource says that it is, and which slot it was made for."""

    owner_tag: OwnerTag
    slot: Slot


def owner_tag_of(installation: str, fleet: str, machine: str, attempt: int = 0) -> OwnerTag | None:
    """Return the owner tag of these words, or None where one of them cannot be what it should."""
    if not (is_word(installation) and _is_fleet(fleet) and _is_machine(machine)):
        return None
    return OwnerTag(
        installation=InstallationId(installation),
        fleet=FleetName(fleet),
        machine=MachineId(machine),
        attempt=attempt,
    )


def is_word(text: str) -> bool:
    """Tell whether a text can be an installation's id."""
    return 0 < len(text) <= 64 and _WORD.issuperset(text)


def is_digest(text: str, length: int) -> bool:
    """Tell whether a text is so many hexadecimal digits."""
    return len(text) == length and _HEX.issuperset(text)


def _is_fleet(text: str) -> bool:
    inner = _WORD.issuperset(text.replace(".", ""))
    return 0 < len(text) <= 64 and inner and {text[0], text[-1]} <= _ENDS


def _is_machine(text: str) -> bool:
    return len(text) == 12 and text[:2] == "m-" and _ID.issuperset(text[2:])


class _Asked(msgspec.Struct, frozen=True):
    """What a request that makes something says of it."""

    tags: tuple[str, ...] = ()
    name: str = ""


@lru_cache(maxsize=4096)
def owned_by(tags: tuple[str, ...], name: str, kind: str) -> Owned | None:
    """Return whose a resource of a kind is by its tags, or else by its name; None: nobody's."""
    return _by_tags(tags, kind) or _by_name(name, kind)


def owned_in(body: bytes, kind: str) -> Owned | None:
    """Return whose a resource is to be that a request makes, by the tags or the name in it."""
    try:
        asked = msgspec.json.decode(body, type=_Asked)
    except msgspec.DecodeError:
        return None
    return owned_by(asked.tags, asked.name, kind)


def _by_tags(tags: Sequence[str], kind: str) -> Owned | None:
    pairs = [tag.split("=", 1) for tag in tags if tag.split("=", 1)[0] in _KEYS]
    found = {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
    if len(pairs) != len(_KEYS) or len(found) != len(_KEYS):
        return None
    installation, fleet, machine, place = (found[key] for key in _KEYS)
    return _owned((installation, fleet, machine), place, kind)


def _by_name(name: str, kind: str) -> Owned | None:
    words = name.split(".")
    if len(words) < 7 or words[0] != "hostler":
        return None
    installation, check = words[1], words[-1]
    body = name[len(f"hostler.{installation}.") : -len(check) - 1]
    if not is_word(installation) or check != _check(installation, body):
        return None
    return _owned((installation, ".".join(words[2:-4]), words[-4]), ".".join(words[-3:-1]), kind)


def _check(installation: str, body: str) -> str:
    key, person = installation[:32].encode(), b"hostler1"
    return hashlib.blake2s(body.encode(), digest_size=4, key=key, person=person).hexdigest()


def _owned(words: tuple[str, str, str], place: str, kind: str) -> Owned | None:
    """Return whose a resource is; `place` is like *address1.3*: its slot, and which attempt."""
    slot, _, attempt = place.partition(".")
    index = slot.removeprefix(kind)
    if kind not in _KINDS or index == slot or not (_is_number(index, 3) and _is_number(attempt, 6)):
        return None
    if kind == "server" and index != "0":
        return None
    owner_tag = owner_tag_of(*words, int(attempt))
    return Owned(owner_tag, Slot(kind, int(index))) if owner_tag is not None else None


def _is_number(text: str, most: int) -> bool:
    """Tell whether a text is a number of so many digits at most, written with no zero ahead."""
    plain = text.isascii() and text.isdigit() and len(text) <= most
    return plain and (text == "0" or text[0] != "0")


def tags_for(owned: Owned) -> tuple[str, ...]:
    """Return the four tags by which a resource says whose it is."""
    tag, slot = owned.owner_tag, owned.slot
    place = f"{slot.kind}{slot.index}.{tag.attempt}"
    words = (tag.installation, tag.fleet, tag.machine, place)
    return tuple(f"{key}={word}" for key, word in zip(_KEYS, words, strict=True))
