"""Wire: the fields that we read of Apple silicon's bodies; every one but the id may be missing."""

import msgspec

from hostler.providers.scaleway.common.wire import Shape


class MacImage(msgspec.Struct, frozen=True, gc=False):
    """The image that a Mac was installed from."""

    id: str | None = None
    name: str | None = None
    family: str | None = None


class Commitment(msgspec.Struct, frozen=True, gc=False):
    """For how long a Mac is paid at least."""

    type: str | None = None
    cancelled: bool | None = None


class Mac(msgspec.Struct, frozen=True, gc=False):
    """A server of Apple silicon v1alpha1."""

    id: str
    name: str | None = None
    type: str | None = None
    project_id: str | None = None
    status: str | None = None
    ip: str | None = None
    vnc_url: str | None = None
    ssh_username: str | None = None
    sudo_password: str | None = None
    os: MacImage | None = None
    created_at: str | None = None
    updated_at: str | None = None
    deletable_at: str | None = None
    deletion_scheduled: bool | None = None
    delivered: bool | None = None
    vpc_status: str | None = None
    commitment: Commitment | None = None


class Supported(msgspec.Struct, frozen=True, gc=False):
    """A type that an image can boot."""

    server_type: str | None = None


class Os(msgspec.Struct, frozen=True, gc=False):
    """An image that can be installed."""

    id: str
    name: str | None = None
    family: str | None = None
    version: str | None = None
    is_beta: bool | None = None
    supported_server_types: list[Supported] | None = None
    compatible_server_types: list[str] | None = None


class Attachment(msgspec.Struct, frozen=True, gc=False):
    """A Mac in a private network; its VLAN is null until it is known."""

    id: str
    server_id: str | None = None
    private_network_id: str | None = None
    vlan: int | None = None
    status: str | None = None


class Diagnostic(msgspec.Struct, frozen=True, gc=False):
    """The health of a Mac, once it is known."""

    id: str | None = None
    status: str | None = None
    is_healthy: bool | None = None
    supported_actions: list[str] | None = None
    error_message: str | None = None


class Started(msgspec.Struct, frozen=True, gc=False):
    """A diagnosis of a Mac that has begun."""

    diagnostic_id: str


class MacType(msgspec.Struct, frozen=True, gc=False):
    """A type that a zone sells."""

    name: str | None = None
    stock: str | None = None
    minimum_lease_duration: str | None = None


MACS = Shape[Mac](Mac, "server", "servers")
OSES = Shape[Os](Os, "os", "os")
ATTACHMENTS = Shape[Attachment](Attachment, "server_private_network", "server_private_networks")
TYPES = Shape[MacType](MacType, "server_type", "server_types")
DIAGNOSTICS = Shape[Diagnostic](Diagnostic, "diagnostic", "diagnostics")
STARTED = Shape[Started](Started, "diagnostic", "diagnostics")
