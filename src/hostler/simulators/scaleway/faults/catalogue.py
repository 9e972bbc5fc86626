"""The faults that there are: their names, where each can strike, and what it is."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

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


class Fault(Struct, frozen=True):
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
    Fault("address_detached_by_hand", Where.ADDRESSES, "somebody takes an address off its server"),
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
"""How long spells are, in seconds, unless the fault rates say otherwise."""


CALLS: tuple[Fault, ...] = (
    Fault("failed_500", Where.ANY, "a 500 of the API, and nothing happens"),
    Fault("failed_500_after", Where.ANY, "the effect happens, then a 500 of the API"),
    Fault("hung_after", Where.ANY, "the effect happens, and no answer comes"),
    Fault("effect_too_late", Where.CHANGE, "no answer; the effect comes minutes later"),
    Fault("list_shifted", Where.LIST, "between two pages an item goes: the next is passed over"),
)


MAC_CALLS: tuple[Fault, ...] = (
    Fault("mac_os_not_found", Where.REINSTALL, "404 that names the image and not the Mac"),
    Fault("mac_transient_409", Where.MAC_CHANGE, "transient_state of any status but reinstalling"),
    Fault("mac_precondition_412", Where.MAC_CHANGE, "precondition_failed: 412 with a name"),
    Fault("mac_precondition_untyped", Where.MAC_CHANGE, "412 with a message and no type"),
    Fault("mac_rename_late", Where.MAC_UPDATE, "200 for a rename that is seen seconds later"),
    Fault("mac_rename_too_late", Where.MAC_UPDATE, "200 for a rename that is seen minutes later"),
    Fault("mac_stuck_starting", Where.MAC_ORDER, "for a spell a new Mac stays in starting"),
    Fault("mac_order_lost", Where.MAC_ORDER, "the order is taken, and no answer comes"),
    Fault("mac_never_delivered", Where.MAC_ORDER, "a new Mac stays in starting for a month"),
    Fault("mac_delivery_fails", Where.MAC_ORDER, "a new Mac is handed over in error"),
    Fault("mac_stuck_rebooting", Where.MAC_REBOOT, "for a spell a Mac stays in rebooting"),
    Fault("mac_stuck_reinstalling", Where.REINSTALL, "for a spell a Mac stays in reinstalling"),
    Fault(
        "mac_reinstall_fails", Where.REINSTALL, "a wipe ends in error, and the disk is as it was"
    ),
    Fault("mac_reinstall_ignored", Where.REINSTALL, "200 for a wipe that never begins"),
    Fault("mac_ssh_late", Where.REINSTALL, "after a wipe SSH is refused for a spell"),
    Fault("mac_vlan_late", Where.MAC_ATTACH, "the VLAN is null for some more looks"),
    Fault("mac_attach_fails", Where.MAC_ATTACH, "an attachment ends in error, without a VLAN"),
)


MAC_AMBIENT: tuple[Fault, ...] = (
    Fault("mac_renamed_by_hand", Where.MACS, "somebody renames a Mac, perhaps like another one"),
    Fault("mac_pooled_by_hand", Where.MACS, "somebody renames a Mac into a pool"),
    Fault("mac_reinstalled_by_hand", Where.MACS, "somebody wipes a Mac in the console"),
    Fault("mac_deleted_by_hand", Where.MACS, "somebody deletes a Mac in the console"),
    Fault("mac_locked", Where.MACS, "for a spell the provider locks a Mac"),
    Fault("mac_stuck_locking", Where.MACS, "for a spell a Mac is in locking or unlocking"),
    Fault("mac_broken", Where.MACS, "a Mac that was ready is in error"),
    Fault("mac_busy", Where.MACS, "for a spell a Mac is busy or updating"),
    Fault("mac_unknown_status", Where.MACS, "for a spell a Mac shows a status nobody documented"),
    Fault("mac_sealed", Where.MACS, "for a spell the password of a Mac is sealed again"),
    Fault("mac_ssh_refused", Where.MACS, "for a spell a Mac refuses connections to SSH"),
    Fault("mac_ssh_hung", Where.MACS, "for a spell SSH on a Mac accepts and says nothing"),
    Fault("mac_ssh_wrong_key", Where.MACS, "for one connection a Mac shows another host key"),
    Fault("mac_image_retired", Where.OS_IMAGES, "an image of macOS is no longer published"),
)


MAC_FAULTS: tuple[Fault, ...] = (*CALLS, *MAC_CALLS, *MAC_AMBIENT)
"""The faults of the Apple silicon part, and those of single calls, which older presets lack."""


MAC_SPELLS: Mapping[str, Range] = {
    "effect_too_late": (90.0, 600.0),  # how much later the effect comes
    "mac_rename_late": (2.0, 40.0),
    "mac_rename_too_late": (90.0, 600.0),
    "mac_stuck_starting": (600.0, 5400.0),
    "mac_stuck_rebooting": (300.0, 1800.0),
    "mac_stuck_reinstalling": (600.0, 5400.0),
    "mac_ssh_late": (30.0, 300.0),
    "mac_vlan_late": (4.0, 20.0),  # how many more looks
    "mac_locked": (60.0, 600.0),
    "mac_stuck_locking": (60.0, 1200.0),
    "mac_busy": (30.0, 300.0),
    "mac_unknown_status": (20.0, 300.0),
    "mac_sealed": (60.0, 600.0),
    "mac_ssh_refused": (20.0, 300.0),
    "mac_ssh_hung": (20.0, 300.0),
}


LIVELY_RATES: Mapping[str, float] = {
    "failed_500": 0.01,
    "failed_500_after": 0.01,
    "mac_transient_409": 0.02,
    "mac_rename_late": 0.03,
    "mac_reinstall_fails": 0.03,
    "mac_stuck_rebooting": 0.05,
    "mac_ssh_late": 0.1,
    "mac_busy": 0.1,
    "mac_broken": 0.03,
    "mac_sealed": 0.05,
    "mac_unknown_status": 0.05,
}
"""What the preset mac-lively has beside what lively has."""


STORM_RATES: Mapping[str, float] = {
    "failed_500": 0.02,
    "failed_500_after": 0.02,
    "hung_after": 0.01,
    "list_shifted": 0.05,
    "mac_os_not_found": 0.02,
    "mac_transient_409": 0.03,
    "mac_precondition_412": 0.01,
    "mac_precondition_untyped": 0.01,
    "mac_rename_late": 0.05,
    "mac_stuck_starting": 0.05,
    "mac_order_lost": 0.05,
    "mac_never_delivered": 0.02,
    "mac_delivery_fails": 0.03,
    "mac_stuck_rebooting": 0.05,
    "mac_stuck_reinstalling": 0.05,
    "mac_reinstall_fails": 0.05,
    "mac_reinstall_ignored": 0.03,
    "mac_ssh_late": 0.1,
    "mac_vlan_late": 0.2,
    "mac_attach_fails": 0.05,
    "mac_renamed_by_hand": 0.005,
    "mac_pooled_by_hand": 0.005,
    "mac_reinstalled_by_hand": 0.005,
    "mac_deleted_by_hand": 0.002,
    "mac_locked": 0.01,
    "mac_stuck_locking": 0.01,
    "mac_broken": 0.02,
    "mac_busy": 0.05,
    "mac_unknown_status": 0.03,
    "mac_sealed": 0.02,
    "mac_ssh_refused": 0.05,
    "mac_ssh_hung": 0.03,
    "mac_ssh_wrong_key": 0.02,
    "mac_image_retired": 0.002,
}
"""What the preset mac-storm has beside what storm has: all but effects later than a minute."""
