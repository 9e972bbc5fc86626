"""The faults of the Apple silicon part, those of single calls, and their rates in presets."""

from collections.abc import Mapping

from .catalogue import Fault, Range, Where

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
