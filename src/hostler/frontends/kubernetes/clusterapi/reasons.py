"""Reasons: why a HostlerMachine is not ready, and whether waiting helps. Pure.

They stand in its condition `Ready`; core shows that as the Machine's `InfrastructureReady`.
"""

from enum import StrEnum


class ReadyReason(StrEnum):
    """The word of the condition `Ready`."""

    PROVISIONED = "Provisioned"
    WAITING_FOR_CLUSTER = "WaitingForClusterInfrastructure"
    WAITING_FOR_BOOTSTRAP = "WaitingForBootstrapData"
    BOOTSTRAP_UNREADABLE = "BootstrapDataUnreadable"
    BOOTSTRAP_UNSUPPORTED = "BootstrapFormatUnsupported"
    BOOTSTRAP_MISSING = "BootstrapDataMissing"
    BOOTSTRAP_FAILED = "BootstrapFailed"
    PROVISIONING = "Provisioning"
    NO_CAPACITY = "NoCapacity"
    NO_AVAILABLE_HOST = "NoAvailableHost"
    RETRYING = "Retrying"
    FLEET_NOT_FOUND = "FleetNotFound"
    FLEET_UNSUITABLE = "FleetUnsuitable"
    NO_SUCH_OFFER = "NoSuchOffer"
    REFUSED = "Refused"
    MACHINE_FAILED = "MachineFailed"
    MACHINE_ENDING = "MachineEnding"
    MACHINE_LOST = "MachineLost"
    MACHINE_UNKNOWN = "MachineUnknown"
    IDENTITY_CHANGED = "IdentityChanged"
    IDENTITY_TAKEN = "IdentityTaken"
    STANDBY = "Standby"
    DELETING = "Deleting"
    DELETION_BLOCKED = "DeletionBlocked"


TERMINAL = frozenset(
    {
        ReadyReason.BOOTSTRAP_UNSUPPORTED,
        ReadyReason.BOOTSTRAP_FAILED,
        ReadyReason.FLEET_UNSUITABLE,
        ReadyReason.NO_SUCH_OFFER,
        ReadyReason.REFUSED,
        ReadyReason.MACHINE_LOST,
        ReadyReason.MACHINE_UNKNOWN,
        ReadyReason.IDENTITY_CHANGED,
    }
)
"""What does not heal by waiting: somebody changes the fleet, or replaces the Machine."""
