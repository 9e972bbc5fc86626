"""The faults that there are: their names, where each can strike, and what it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

Range = tuple[float, float]


class Where(StrEnum):
    """Which requests a fault can strike; AMBIENT ones happen to resources, with no request."""

    ANY = "any request"
    CHANGE = "any request that changes something"
    NAMED = "a request that names a resource"
    NAMED_CHANGE = "a change of a resource"
    LIST = "a list"
    CREATE = "the creation of a server"
    MAKE = "the creation of a cloud server"
    BUY = "the creation of a server or an address"
    START = "a power-on"
    STOP = "a power-off or a termination"
    MAC_CHANGE = "a change of a Mac"
    MAC_UPDATE = "a change of a Mac's name or settings"
    MAC_ORDER = "the order of a Mac"
    MAC_REBOOT = "the reboot of a Mac"
    MAC_ATTACH = "the attachment of a Mac to a private network"
    REINSTALL = "the reinstallation of a Mac"
    VOLUME_DELETE = "the deletion of a volume"
    SERVERS = "a server, by the hour"
    ADDRESSES = "an address, by the hour"
    MACS = "a Mac, by the hour"
    OS_IMAGES = "an image of macOS, by the hour"


AMBIENT = frozenset({Where.SERVERS, Where.ADDRESSES, Where.MACS, Where.OS_IMAGES})


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its name, where it can strike, and what it is."""

    name: str
    where: Where
    words: str


FAULTS: tuple[Fault, ...] = (
    Fault("reply_lost", Where.ANY, "the effect happens, then the connection is reset"),
    Fault("request_lost", Where.ANY, "the connection is reset, and nothing happens"),
    Fault("effect_delayed", Where.CHANGE, "no answer; the effect comes later"),
    Fault("duplicate_delivery", Where.CHANGE, "the request is processed twice"),
    Fault("list_without_newest", Where.LIST, "a list lacks its newest item"),
    Fault("list_with_deleted", Where.LIST, "a list still shows what was just deleted"),
    Fault("empty_list", Where.LIST, "for a spell all lists of a zone are 200 and empty"),
    Fault(
        "truncated_page", Where.LIST, "a page has fewer items than it should; the total is right"
    ),
    Fault("pages_shuffled", Where.LIST, "the order changes from page to page"),
    Fault("zone_dead", Where.ANY, "for a spell a zone answers 503 or hangs"),
    Fault("forbidden_for_rate_limit", Where.ANY, "403 where 429 is meant"),
    Fault("not_found_flicker", Where.NAMED, "404 for an id that exists"),
    Fault(
        "precondition_400", Where.NAMED_CHANGE, "precondition_failed as in 2026: 400 with a name"
    ),
    Fault("transient_409", Where.NAMED_CHANGE, "transient_state, whatever the state"),
    Fault(
        "precondition_412", Where.NAMED_CHANGE, "precondition_failed as in 2025: 412, bare prose"
    ),
    Fault("locked_423", Where.NAMED_CHANGE, "for a spell a resource is locked"),
    Fault("rate_limited_429", Where.ANY, "the gateway's 429: no body, no content type"),
    Fault("html_5xx", Where.ANY, "a 502 with a page of HTML; one time in two the effect happens"),
    Fault("truncated_json", Where.ANY, "the effect happens, the answer breaks off half-way"),
    Fault("slow", Where.ANY, "the answer takes seconds longer"),
    Fault("hung", Where.ANY, "no answer comes; one time in two the effect happens"),
    Fault("out_of_stock_create", Where.CREATE, "out_of_stock at creation"),
    Fault("out_of_stock_start", Where.START, "out_of_stock at power-on"),
    Fault(
        "start_falls_back", Where.START, "the start is accepted, then the server is stopped again"
    ),
    Fault("stuck_starting", Where.START, "for a spell the server stays in starting"),
    Fault("stuck_stopping", Where.STOP, "for a spell the server stays in stopping"),
    Fault("unknown_status", Where.SERVERS, "for a spell a server shows a state nobody documented"),
    Fault("guest_poweroff", Where.SERVERS, "the guest powers off: stopped in place, still billed"),
    Fault("server_deleted_by_hand", Where.SERVERS, "somebody deletes a server in the console"),
    Fault("address_deleted_by_hand", Where.ADDRESSES, "somebody deletes an address in the console"),
    Fault("tag_edited", Where.SERVERS, "somebody takes the tags of one part away, or renames it"),
    Fault("quota_exceeded", Where.BUY, "the quota is used up"),
    Fault("volume_delete_refused", Where.VOLUME_DELETE, "the volume is said to be in use still"),
    Fault("protected_by_hand", Where.SERVERS, "for a spell somebody protects a server"),
    Fault("server_locked", Where.SERVERS, "for a spell the provider locks a server: it is down"),
    Fault("made_untagged", Where.MAKE, "reply_lost, and somebody takes the new server's tags away"),
)

SPELLS: Mapping[str, Range] = {
    "effect_delayed": (2.0, 40.0),  # how much later the effect comes
    "empty_list": (20.0, 60.0),
    "zone_dead": (20.0, 120.0),
    "locked_423": (5.0, 60.0),
    "slow": (2.0, 15.0),  # how much longer the answer takes
    "stuck_starting": (120.0, 1200.0),
    "stuck_stopping": (60.0, 600.0),
    "unknown_status": (20.0, 120.0),
    "protected_by_hand": (60.0, 600.0),
    "server_locked": (60.0, 600.0),
}
"""How long spells are, in seconds, unless a weather says otherwise."""
